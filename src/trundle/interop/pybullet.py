"""Scenes in PyBullet. Frames of links are principal axes: the engine takes a diagonal inertia alone."""

from __future__ import annotations

import time as clock
from itertools import product

import numpy as np
import pybullet as bullet
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.interop.forms import chords
from trundle.interop.peers import Contact, PeerRun, spaced
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
_SOLVER = {
    "numSolverIterations": 200,
    "solverResidualThreshold": 1e-14,
    "erp": 0.2,
    "contactERP": 0.2,
    "frictionERP": 0.0,
    "globalCFM": 0.0,
    "contactBreakingThreshold": 1e-3,
}


class _World:
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
        first, *more = geoms
        if more:
            raise InputError(f"shapes of {body}", [geom.name for geom in geoms], "one, for PyBullet")
        turn = self.turn[body]
        return self._collision(first, turn.T @ (first.position - self.at[body]), turn.T @ first.R)

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
            bullet.changeDynamics(*place, lateralFriction=1.0, **self.to)
            for key, value in _STILL.items():
                bullet.changeDynamics(*place, **{key: value}, **self.to)
            bullet.setCollisionFilterGroupMask(*place, 0, 0, **self.to)
        for one in self.scene.contacts:
            numbers = {"lateralFriction": one.friction, "spinningFriction": one.torsional}
            numbers |= {"rollingFriction": one.rolling, "restitution": one.restitution}
            for first, second in product(of[one.first], of[one.second]):
                for key, value in numbers.items():
                    bullet.changeDynamics(*first, **{key: value}, **self.to)
                bullet.changeDynamics(*second, restitution=1.0, **self.to)
                bullet.setCollisionFilterPair(first[0], second[0], first[1], second[1], 1, **self.to)

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
    scene: PeerScene, times: FloatArray, step: float, limit: float = np.inf, *, contact: Contact = "hard"
) -> PeerRun:
    """Return a scene's run, sampled at even `times` (n,) s, with `step` (s) or the next that divides their spacing.

    It ends early where stepping takes more than `limit` (s) of CPU. Hard contact: 200 iterations of the solver and no
    softness.

    Raises
    ------
    InputError
        If PyBullet has no such thing: springs of joints, pins, a hand that slides, several shapes of one body.
    """
    step, every = spaced(times, step)
    found = PeerRun.of(scene, len(times), limit)
    client = bullet.connect(bullet.DIRECT)
    try:
        world = _World(scene, client, step, contact == "hard")
        for i in range(len(times)):
            begin = clock.process_time()
            for _ in range(every if i else 0):
                bullet.stepSimulation(**world.to)
            found.seconds += clock.process_time() - begin
            world.read(found, i)
            if found.late(i, times[i]):
                break
    finally:
        bullet.disconnect(client)
    return found


def _refuse(scene: PeerScene, body: PeerBody) -> None:
    if body.stiffness:
        raise InputError(f"stiffness of {body.name}", body.stiffness, "0, for PyBullet")
    if body.weightless:
        raise InputError(f"motion of {body.name}", "a slide", "a turn, for PyBullet")
    if scene.pins:
        raise InputError("pins", len(scene.pins), "none, for PyBullet")


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
