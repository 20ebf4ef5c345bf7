"""Scenes in PyBullet. Frames of links are principal axes: the engine takes a diagonal inertia alone."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from itertools import product

import numpy as np
import pybullet as bullet
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.interop.forms import chords
from trundle.interop.peers import Contact, PeerRun, divide_interval
from trundle.interop.scene import PeerBody, PeerGeom, PeerScene

__all__ = ["run"]

MARGIN = 1e-3
"""What the engine adds round a hull, m: points are drawn in by it."""
_LIGHT = 1e-6  # kg, of links that only carry a joint
_SLAB = 2.0  # m, half sides of a plane that moves, and four times half its thickness
_STILL = dict.fromkeys(("linearDamping", "angularDamping", "rollingFriction", "spinningFriction", "restitution"), 0.0)
_FIXED, _HINGE, _SLIDE = bullet.JOINT_FIXED, bullet.JOINT_REVOLUTE, bullet.JOINT_PRISMATIC
_KEYS = (
    "linkMasses",
    "linkCollisionShapeIndices",
    "linkPositions",
    "linkOrientations",
    "linkInertialFramePositions",
    "linkParentIndices",
    "linkJointTypes",
    "linkJointAxis",
)
_ARRAYED = {
    "sphere": bullet.GEOM_SPHERE,
    "box": bullet.GEOM_BOX,
    "capsule": bullet.GEOM_CAPSULE,
    "cylinder": bullet.GEOM_CYLINDER,
}
"""Forms that several shapes of one body may have."""
_SOLVER = {
    "numSolverIterations": 200,
    "solverResidualThreshold": 1e-14,
    "erp": 0.2,
    "contactERP": 0.2,
    "frictionERP": 0.0,
    "globalCFM": 0.0,
    "contactBreakingThreshold": 1e-3,
}


class _BulletWorld:
    """A scene built in a physics client."""

    def __init__(self, scene: PeerScene, client: int, step: float, hard: bool) -> None:
        self.scene, self.to = scene, {"physicsClientId": client}
        bullet.setGravity(*scene.gravity, **self.to)
        bullet.setPhysicsEngineParameter(fixedTimeStep=step, **(_SOLVER if hard else {}), **self.to)
        self.turn: dict[str, FloatArray] = {}
        self.at: dict[str, FloatArray] = {}
        self.links: dict[str, tuple[int, int]] = {}
        for body in scene.bodies:
            _refuse(scene, body)
            _, axes = np.linalg.eigh(body.inertia)
            diagonal = np.count_nonzero(body.inertia - np.diag(np.diag(body.inertia))) == 0
            turn = np.eye(3) if diagonal else axes * np.linalg.det(axes)
            self.turn[body.name] = turn
            self.at[body.name] = body.com if body.joint == "free" else np.zeros(3)
        for body in scene.bodies:
            if not body.parent:
                self._add_root(body)
        self.fixed = {geom.name: [self._add_fixed(part) for part in _parts(geom)] for geom in scene.on("")}
        self._set_contacts()

    def _add_root(self, root: PeerBody) -> None:
        keys: dict[str, list[object]] = {key: [] for key in _KEYS}
        numbers: dict[str, int] = {}
        base: dict[str, object] = {"baseMass": 0.0, "basePosition": [0.0, 0.0, 0.0]}
        if root.joint == "free":
            R = root.R @ self.turn[root.name]
            base = {
                "baseMass": root.mass,
                "baseCollisionShapeIndex": self._shape(root.name),
                "basePosition": (root.position + root.R @ root.com).tolist(),
                "baseOrientation": _quaternion(R),
            }
            numbers[root.name] = -1
        for body in self._below(root):
            if body.joint != "free":
                self._add_link(keys, numbers, body)
        count = len(keys["linkMasses"])
        keys["linkVisualShapeIndices"] = [-1] * count
        keys["linkInertialFrameOrientations"] = [[0.0, 0.0, 0.0, 1.0]] * count
        made = bullet.createMultiBody(**base, **keys, **self.to)
        for name, number in numbers.items():
            self.links[name] = made, number
        for name in numbers:
            self._settle(self.scene.body(name), made, numbers[name])

    def _below(self, root: PeerBody) -> list[PeerBody]:
        """Return a body and all that hang on it, depth first: so the engine numbers links."""
        children = (body for body in self.scene.bodies if body.parent == root.name)
        return [root, *(found for child in children for found in self._below(child))]

    def _add_link(self, keys: dict[str, list[object]], numbers: dict[str, int], body: PeerBody) -> None:
        turn, parent = self.turn[body.name], 0
        position, R = body.position, body.R @ turn
        if body.parent:
            parent = numbers[body.parent] + 1
            before = self.turn[body.parent]
            position, R = before.T @ (position - self.at[body.parent]), before.T @ R
        kind, axis = {"weld": _FIXED, "hinge": _HINGE}.get(body.joint, _SLIDE), turn.T @ body.axis
        if body.joint == "in-plane":
            for along in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]):
                carrier = (_LIGHT, -1, [0.0] * 3, [0.0, 0.0, 0.0, 1.0], [0.0] * 3, parent, _SLIDE, along)
                for key, value in zip(_KEYS, carrier, strict=True):
                    keys[key].append(value)
                parent = len(keys["linkMasses"])
            kind, axis, position, R = _HINGE, turn.T @ np.array([0.0, -1.0, 0.0]), np.zeros(3), turn
        own = (
            body.mass, self._shape(body.name), position.tolist(), _quaternion(R), (turn.T @ body.com).tolist(), parent,
            kind, axis.tolist(),
        )  # fmt: skip
        for key, value in zip(_KEYS, own, strict=True):
            keys[key].append(value)
        numbers[body.name] = len(keys["linkMasses"]) - 1

    def _settle(self, body: PeerBody, made: int, link: int) -> None:
        """Set a body's inertia, joint and velocity."""
        turn, to = self.turn[body.name], self.to
        moments = np.diag(turn.T @ body.inertia @ turn).tolist()
        dynamics = {"localInertiaDiagonal": moments, "jointDamping": body.damping, "linearDamping": 0.0}
        for key, value in (dynamics | {"angularDamping": 0.0}).items():  # several at once are dropped for links
            bullet.changeDynamics(made, link, **{key: value}, **to)
        if body.joint == "free":
            spin = body.twist[:3]
            velocity = body.twist[3:] + np.cross(spin, body.R @ body.com)
            bullet.resetBaseVelocity(made, velocity.tolist(), spin.tolist(), **to)
            return
        states = [(body.value, body.rate)]
        if body.joint == "in-plane":
            angle = np.arctan2(body.R[2, 0], body.R[0, 0])
            states = list(zip((*body.position[::2], angle), (*body.twist[3::2], -body.twist[1]), strict=True))
        for i, (value, rate) in enumerate(states if body.joint != "weld" else []):
            joint = link - len(states) + 1 + i
            bounded = np.isfinite(body.low) or np.isfinite(body.high)
            low, high = (max(body.low, -1e6), min(body.high, 1e6)) if bounded else (1.0, -1.0)
            bullet.changeDynamics(made, joint, jointLowerLimit=low, jointUpperLimit=high, **to)
            bullet.setJointMotorControl2(made, joint, bullet.VELOCITY_CONTROL, force=body.dry_friction, **to)
            bullet.resetJointState(made, joint, value, rate, **to)

    def _shape(self, body: str) -> int:
        geoms = self.scene.on(body)
        if not geoms:
            return -1
        turn = self.turn[body]
        places = [(turn.T @ (geom.position - self.at[body]), turn.T @ geom.R) for geom in geoms]
        if len(geoms) == 1:
            return self._collision(geoms[0], *places[0])
        numbers = [_ARRAYED.get(geom.form.kind) for geom in geoms]
        if None in numbers:
            told = [geom.form.kind for geom in geoms]
            allowed = f"of {', '.join(_ARRAYED)}, where there are several, for PyBullet"
            raise InputError(f"shapes of {body}", told, allowed)
        sizes = [geom.form.size for geom in geoms]
        boxes = [geom.form.kind == "box" for geom in geoms]
        return bullet.createCollisionShapeArray(
            shapeTypes=numbers,
            radii=[0.0 if box else size[0] for box, size in zip(boxes, sizes, strict=True)],
            halfExtents=[list(size) if box else [0.0] * 3 for box, size in zip(boxes, sizes, strict=True)],
            lengths=[2 * size[1] if len(size) == 2 else 0.0 for size in sizes],
            collisionFramePositions=[at.tolist() for at, _ in places],
            collisionFrameOrientations=[_quaternion(R) for _, R in places],
            **self.to,
        )

    def _collision(self, geom: PeerGeom, at: FloatArray, R: FloatArray) -> int:
        """Return the collision shape of a geom at a place in its link."""
        form = geom.form
        if form.kind == "plane" and not geom.body:
            return bullet.createCollisionShape(bullet.GEOM_PLANE, **self.to)
        if form.kind == "heights":
            rows, columns = form.heights.shape
            scale = [*(2 * np.array(form.size) / (columns - 1, rows - 1)), 1.0]
            return bullet.createCollisionShape(
                bullet.GEOM_HEIGHTFIELD, meshScale=scale, heightfieldData=form.heights.ravel().tolist(),
                numHeightfieldRows=columns, numHeightfieldColumns=rows, **self.to,
            )  # fmt: skip
        size = np.array(form.size)
        if form.kind == "plane":  # one that moves
            at, kind, options = at - R[:, 2] * _SLAB / 4, bullet.GEOM_BOX, {"halfExtents": [_SLAB, _SLAB, _SLAB / 4]}
        elif form.kind == "box":
            kind, options = bullet.GEOM_BOX, {"halfExtents": list(size)}
        elif form.kind == "sphere":
            kind, options = bullet.GEOM_SPHERE, {"radius": size[0]}
        elif form.kind in ("capsule", "cylinder"):
            kind = getattr(bullet, f"GEOM_{form.kind.upper()}")
            options = {"radius": size[0], "height": 2 * size[1]}
        else:
            kind, options = bullet.GEOM_MESH, {"vertices": (form.points - MARGIN * form.normals).tolist()}
        place = {"collisionFramePosition": at.tolist(), "collisionFrameOrientation": _quaternion(R)}
        return bullet.createCollisionShape(kind, **options, **place, **self.to)

    def _add_fixed(self, geom: PeerGeom) -> tuple[int, int]:
        at = geom.position
        if geom.form.kind == "heights":  # centred on its own height
            at = at + geom.R[:, 2] * 0.5 * (geom.form.heights.min() + geom.form.heights.max())
        shape = self._collision(geom, np.zeros(3), np.eye(3))
        made = bullet.createMultiBody(0, shape, -1, at.tolist(), _quaternion(geom.R), **self.to)
        if geom.form.kind == "heights":
            bullet.changeDynamics(made, -1, collisionMargin=0.0, **self.to)
        return made, -1

    def _set_contacts(self) -> None:
        """Let the pairs of the scene touch, and no others; the engine multiplies the coefficients of both sides."""
        of = {geom.name: [self.links[geom.body]] if geom.body else self.fixed[geom.name] for geom in self.scene.geoms}
        for place in (place for places in of.values() for place in places):
            for key, value in _STILL.items():
                bullet.changeDynamics(*place, **{key: value}, **self.to)
            bullet.setCollisionFilterGroupMask(*place, 0, 0, **self.to)
        carrier = {geom.name: geom.body or geom.name for geom in self.scene.geoms}
        sides = [(carrier[one.first], carrier[one.second]) for one in self.scene.contacts]
        friction = factors("friction", sides, [one.friction for one in self.scene.contacts])
        restitution = factors("restitution", sides, [one.restitution for one in self.scene.contacts])
        for one, (A, B) in zip(self.scene.contacts, sides, strict=True):
            # Moments of one side are multiplied by the friction of the other one.
            moments = {"spinningFriction": one.torsional, "rollingFriction": one.rolling}
            numbers = {key: value / (friction[B] or 1.0) for key, value in moments.items()}
            for first, second in product(of[one.first], of[one.second]):
                for key, value in numbers.items():
                    bullet.changeDynamics(*first, **{key: value}, **self.to)
                for place, side in ((first, A), (second, B)):
                    bullet.changeDynamics(*place, lateralFriction=friction[side], **self.to)
                    bullet.changeDynamics(*place, restitution=restitution[side], **self.to)
                bullet.setCollisionFilterPair(first[0], second[0], first[1], second[1], 1, **self.to)

    def centers(self) -> dict[str, FloatArray]:
        """Return the centres of mass of the bodies, world."""
        found = {}
        for name, (made, link) in self.links.items():
            state = bullet.getBasePositionAndOrientation(made, **self.to)
            found[name] = np.array(state[0] if link < 0 else bullet.getLinkState(made, link, **self.to)[0])
        return found

    def keep_pushes(self, found: PeerRun, i: int, centers: dict[str, FloatArray], step: float) -> None:
        """Keep what contacts gave in the step that was made, from `centers` of mass before it."""
        names = {place: name for name, place in self.links.items()}
        for one in bullet.getContactPoints(**self.to):
            bodies = names.get((one[1], one[3]), ""), names.get((one[2], one[4]), "")
            normal = np.array(one[7])  # out of the second
            force = one[9] * normal + one[10] * np.array(one[11]) + one[12] * np.array(one[13])
            if np.any(force):
                found.push(i, bodies, (np.array(one[5]), np.array(one[6])), normal, step * force, centers)

    def read(self, found: PeerRun, i: int) -> None:
        """Keep the sample `i`."""
        for k, body in enumerate(self.scene.bodies):
            made, link = self.links[body.name]
            if link < 0:
                center, q = bullet.getBasePositionAndOrientation(made, **self.to)
                v, w = bullet.getBaseVelocity(made, **self.to)
            else:
                state = bullet.getLinkState(made, link, 1, 1, **self.to)
                center, q, v, w = state[0], state[5], state[6], state[7]
            R = Rotation.from_quat(q).as_matrix() @ self.turn[body.name].T
            arm = R @ body.com
            turn = Rotation.from_matrix(R).as_quat(scalar_first=True)
            found.bodies[i, k] = [*(np.array(center) - arm), *turn, *w, *(np.array(v) - np.cross(w, arm))]
            if body.joint in ("hinge", "slide"):
                found.joints[i, k] = bullet.getJointState(made, link, **self.to)[:2]


def run(
    scene: PeerScene,
    times: FloatArray,
    step: float,
    limit: float = np.inf,
    *,
    contact: Contact = "hard",
    pushes: bool = False,
) -> PeerRun:
    """Return a scene's run, sampled at even `times` (n,) s, with `step` (s) or the next that divides their spacing.

    It ends early where stepping takes more than `limit` (s) of CPU. Hard contact: 200 iterations of the solver and no
    softness. With `pushes` it keeps what contacts gave in each step.

    Raises
    ------
    InputError
        If PyBullet has no such thing: springs of joints, pins, couplings, a hand that slides, hulls among several
        shapes of one body, coefficients of contacts that are no products of those of bodies.
    """
    step, every = divide_interval(times, step)
    found = PeerRun.of(scene, len(times), limit)
    client = bullet.connect(bullet.DIRECT)
    try:
        world = _BulletWorld(scene, client, step, contact == "hard")
        for i in range(len(times)):
            for _ in range(every if i else 0):
                centers = world.centers() if pushes else {}
                begin = clock.process_time()
                bullet.stepSimulation(**world.to)
                found.seconds += clock.process_time() - begin
                if pushes:
                    world.keep_pushes(found, i, centers, step)
            world.read(found, i)
            if found.late(i, times[i]):
                break
    finally:
        bullet.disconnect(client)
    return found


def factors(name: str, sides: Sequence[tuple[str, str]], values: Sequence[float]) -> dict[str, float]:
    """Return numbers of bodies whose products are the coefficients of their contacts.

    Raises
    ------
    InputError
        If there are none: `name` says of what.
    """
    found = {body: 1.0 for pair in sides for body in pair}
    found.update({first: value for (first, _), value in zip(sides, values, strict=True)})

    def fits() -> bool:
        products = [found[first] * found[second] for first, second in sides]
        return bool(np.allclose(products, values, rtol=1e-9, atol=0.0))

    if not fits() and min(values) > 0.0:
        # Products of bodies are sums of their logarithms.
        names = list(found)
        rows = np.array([[(body == first) + (body == second) for body in names] for first, second in sides], float)
        logarithms = np.linalg.lstsq(rows, np.log(values), rcond=None)[0]
        found = dict(zip(names, np.exp(logarithms).tolist(), strict=True))
    if not fits():
        raise InputError(name, sorted(set(values)), "products of one number a body, for PyBullet")
    return found


def _refuse(scene: PeerScene, body: PeerBody) -> None:
    if body.stiffness:
        raise InputError(f"stiffness of {body.name}", body.stiffness, "0, for PyBullet")
    if body.weightless:
        raise InputError(f"motion of {body.name}", "a slide", "a turn, for PyBullet")
    if scene.pins:
        raise InputError("pins", len(scene.pins), "none, for PyBullet")
    if scene.couplings:
        raise InputError("couplings", len(scene.couplings), "none, for PyBullet")


def _parts(geom: PeerGeom) -> list[PeerGeom]:
    """Return a geom of the world; of heights in the plane boxes, on which the engine is faster than on a field."""
    boxes = chords(geom.form) if geom.form.kind == "heights" else None
    if boxes is None:
        return [geom]
    place = geom.position, geom.R
    return [PeerGeom(geom.name, "", box, place[0] + place[1] @ box.at, place[1] @ box.R) for box in boxes]


def _quaternion(R: FloatArray) -> list[float]:
    """Return (x, y, z, w), as the engine has it."""
    return Rotation.from_matrix(R).as_quat().tolist()
