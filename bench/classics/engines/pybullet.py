"""PyBullet on a scene. Link frames are principal axes, because the engine takes a diagonal inertia alone."""

from __future__ import annotations

import time as clock

import numpy as np
import pybullet as bullet
from scipy.spatial.transform import Rotation

from bench.classics.engines import Setting
from bench.classics.scene import Body, Geom, Scene, principal

NAME = "PyBullet"
SETTINGS = (Setting("defaults", 1 / 240, False), Setting("200 iterations", 1e-4, True))

STILL = {"linearDamping": 0.0, "angularDamping": 0.0, "jointDamping": 0.0, "rollingFriction": 0.0}
STILL |= {"spinningFriction": 0.0, "restitution": 0.0}


class World:
    """One physics client: steps over the output grid and is closed at the end."""

    def __init__(self, step: float, stiff: bool) -> None:
        self.client = bullet.connect(bullet.DIRECT)
        bullet.setTimeStep(step, physicsClientId=self.client)
        if stiff:
            bullet.setPhysicsEngineParameter(
                numSolverIterations=200,
                solverResidualThreshold=1e-14,
                erp=0.2,
                contactERP=0.2,
                frictionERP=0.0,
                globalCFM=0.0,
                contactBreakingThreshold=1e-3,
                physicsClientId=self.client,
            )

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        bullet.disconnect(self.client)


def _turn(quaternion: object) -> Rotation:
    return Rotation.from_quat(np.asarray(quaternion, float), scalar_first=True)


def _ellipsoid(size: tuple[float, ...]) -> list[list[float]]:
    """Return 4,000 points of an ellipsoid: the engine has none, and takes no more corners in a hull."""
    k = np.arange(4000) + 0.5
    z, phi = 1 - 2 * k / 4000, np.pi * (1 + np.sqrt(5)) * k
    ring = np.sqrt(1 - z * z)
    return (np.stack([ring * np.cos(phi), ring * np.sin(phi), z], axis=1) * size).tolist()


def _shape(geoms: tuple[Geom, ...], body_from_link: Rotation, to: dict) -> int:
    """Return a collision shape of one geom, in link axes; -1 without any."""
    if not geoms:
        return -1
    (geom,) = geoms
    where = body_from_link.inv().apply(geom.at).tolist()
    turn = (body_from_link.inv() * _turn(geom.quaternion)).as_quat().tolist()
    place = {"collisionFramePosition": where, "collisionFrameOrientation": turn, **to}
    if geom.kind == "plane":
        return bullet.createCollisionShape(bullet.GEOM_PLANE, **to)
    if geom.kind == "sphere":
        return bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=geom.size[0], **place)
    if geom.kind == "disc":
        return bullet.createCollisionShape(bullet.GEOM_CYLINDER, radius=geom.size[0], height=2 * RIM, **place)
    if geom.kind == "box":
        return bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=list(geom.size), **place)
    return bullet.createCollisionShape(bullet.GEOM_MESH, vertices=_ellipsoid(geom.size), **place)


class _Built:
    """A multibody: base and links of one root of the scene."""

    def __init__(self, scene: Scene, root: Body, to: dict) -> None:
        self.to, self.scene = to, scene
        self.fixed = root.joint is not None
        self.order = _below(scene, root) if self.fixed else _below(scene, root)[1:]
        self.root = root
        self.turns = {b.name: Rotation.from_matrix(principal(b.moments)[1]) for b in scene.bodies}
        self.id = self._make()
        self.links = {body.name: i for i, body in enumerate(self.order)}
        self._settle()

    def _frame(self, name: str | None) -> tuple[np.ndarray, Rotation]:
        """Return origin of the link frame (the joint) and its axes at the start, world."""
        if name is None:
            return np.zeros(3), Rotation.identity()
        body = next(b for b in self.scene.bodies if b.name == name)
        origin = body.position if body.joint is None else body.joint.at
        return np.asarray(origin, float), self.turns[name]

    def _make(self) -> int:
        links: dict[str, list] = {key: [] for key in _LINK_KEYS}
        number = {None: 0} if self.fixed else {self.root.name: 0}
        for i, body in enumerate(self.order):
            joint = body.joint
            assert joint is not None
            origin, axes = self._frame(joint.parent)
            own = self.turns[body.name]
            values = (
                body.mass,
                _shape(body.geoms, own, self.to) if body.joint is None else self._offset_shape(body, own),
                -1,
                axes.inv().apply(np.asarray(joint.at) - origin).tolist(),
                (axes.inv() * own).as_quat().tolist(),
                own.inv().apply(np.asarray(body.position) - np.asarray(joint.at)).tolist(),
                [0.0, 0.0, 0.0, 1.0],
                number[joint.parent],
                bullet.JOINT_REVOLUTE if joint.kind == "hinge" else bullet.JOINT_PRISMATIC,
                own.inv().apply(joint.axis).tolist(),
            )
            for key, value in zip(_LINK_KEYS, values, strict=True):
                links[key].append(value)
            number[body.name] = i + 1
        if self.fixed:
            return bullet.createMultiBody(baseMass=0, **links, **self.to)
        root, own = self.root, self.turns[self.root.name]
        turn = (_turn(root.quaternion) * own).as_quat().tolist()
        return bullet.createMultiBody(
            root.mass, _shape(root.geoms, own, self.to), -1, list(root.position), turn, **links, **self.to
        )

    def _offset_shape(self, body: Body, own: Rotation) -> int:
        """Return the shape of a jointed body, whose link frame is at the joint."""
        assert body.joint is not None
        shift = np.asarray(body.position) - np.asarray(body.joint.at)
        geoms = tuple(Geom(g.kind, g.size, tuple(np.asarray(g.at) + shift), g.quaternion) for g in body.geoms)
        return _shape(geoms, own, self.to)

    def _settle(self) -> None:
        """Set inertia, friction, rates of joints and no collisions of its own."""
        to, bodies = self.to, [(self.links[b.name], b) for b in self.order]
        if not self.fixed:
            bodies.append((-1, self.root))
            bullet.resetBaseVelocity(self.id, list(self.root.velocity), list(self.root.spin), **to)
        facts = STILL | {"lateralFriction": self.scene.friction, "restitution": self.scene.restitution}
        facts["maxJointVelocity"] = 1e6  # 100 rad/s unless told otherwise
        for i, body in bodies:
            own = facts | {"localInertiaDiagonal": principal(body.moments)[0].tolist()}
            if any(geom.kind == "disc" for geom in body.geoms):
                own["collisionMargin"] = RIM
            for key, value in own.items():  # several at once are dropped for links
                bullet.changeDynamics(self.id, i, **{key: value}, **to)
            if body.joint is not None and i >= 0:
                bullet.changeDynamics(self.id, i, jointLowerLimit=1, jointUpperLimit=-1, **to)
                bullet.setJointMotorControl2(self.id, i, bullet.VELOCITY_CONTROL, force=0, **to)
                bullet.resetJointState(self.id, i, 0.0, body.joint.rate, **to)
        for i in range(-1, len(self.order)):
            for j in range(i):
                bullet.setCollisionFilterPair(self.id, self.id, i, j, 0, **to)

    def sample(self, body: Body) -> np.ndarray:
        """Return a body's sample (13,)."""
        if body.name == self.root.name and not self.fixed:
            at, turn = bullet.getBasePositionAndOrientation(self.id, **self.to)
            v, w = bullet.getBaseVelocity(self.id, **self.to)
        else:
            state = bullet.getLinkState(self.id, self.links[body.name], 1, 1, **self.to)
            at, turn, v, w = state[0], state[1], state[6], state[7]
        q = (Rotation.from_quat(turn) * self.turns[body.name].inv()).as_quat(scalar_first=True)
        return np.concatenate([at, q, w, v])

    def joint(self, name: str) -> tuple[float, float]:
        """Return position and rate of a joint."""
        return bullet.getJointState(self.id, self.links[name], **self.to)[:2]

    def push(self, told: dict[str, float]) -> None:
        """Set the torques of actuated joints for one step."""
        for name, torque in told.items():
            if name in self.links:
                bullet.setJointMotorControl2(self.id, self.links[name], bullet.TORQUE_CONTROL, force=torque, **self.to)


RIM = 1e-4  # m: a disc is a flat one of no height inside this margin, so that its rim is round and not a cylinder's

_LINK_KEYS = (
    "linkMasses",
    "linkCollisionShapeIndices",
    "linkVisualShapeIndices",
    "linkPositions",
    "linkOrientations",
    "linkInertialFramePositions",
    "linkInertialFrameOrientations",
    "linkParentIndices",
    "linkJointTypes",
    "linkJointAxis",
)


def _below(scene: Scene, root: Body) -> list[Body]:
    """Return a body and all that hang on it, depth first: the order in which the engine numbers links."""
    found = [root]
    for body in scene.bodies:
        if body.joint is not None and body.joint.parent == root.name:
            found += _below(scene, body)
    return found


def run(scene: Scene, setting: Setting) -> tuple[np.ndarray, float]:
    """Return samples (n, bodies, 13) and the seconds of stepping."""
    setting, every = setting.fitted(scene.spacing)
    with World(setting.step, setting.stiff) as world:
        to = {"physicsClientId": world.client}
        bullet.setGravity(*scene.gravity, **to)
        for geom in scene.ground:
            shape = _shape((Geom(geom.kind, geom.size),), Rotation.identity(), to)
            turn = _turn(geom.quaternion).as_quat().tolist()
            fixed = bullet.createMultiBody(0, shape, -1, list(geom.at), turn, **to)
            bullet.changeDynamics(fixed, -1, **STILL | {"lateralFriction": 1.0, "restitution": 1.0}, **to)
        roots = [b for b in scene.bodies if b.joint is None or b.joint.parent is None]
        built = {b.name: m for m in [_Built(scene, root, to) for root in roots] for b in _below(scene, m.root)}
        driven = [b.name for b in scene.bodies if b.joint is not None and b.joint.actuated]
        rows, wall = [], 0.0
        for time in scene.times:
            rows.append([built[b.name].sample(b) for b in scene.bodies])
            told = {}
            if scene.torques is not None:
                told = dict(scene.torques(float(time), {name: built[name].joint(name) for name in driven}))
            begin = clock.perf_counter()
            for _ in range(every):
                for name in told:
                    built[name].push({name: told[name]})
                bullet.stepSimulation(**to)
            wall += clock.perf_counter() - begin
    return np.array(rows), wall
