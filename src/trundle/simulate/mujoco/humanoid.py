"""A humanoid in MuJoCo: bodies written from its description at run time, soles and hands that collide, its sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, number, positive
from trundle.errors import MissingExtraError
from trundle.models.robots.capsules import Capsule
from trundle.models.robots.humanoid import Humanoid, Pad, Sole
from trundle.models.robots.obstacles import Obstacle
from trundle.models.robots.terrain import Terrain
from trundle.numerics.rotations import quaternion_of, rotation_of, rotation_rpy
from trundle.simulate.mujoco.plant import Fall, MujocoPlant, PlantView, Sensors

_FLOOR = Terrain()
_BALL = 0.005
"""Radius of the balls at the corners of a sole or pad, m."""
_LIMB = 2
"""Bit of MuJoCo's masks by which obstacles meet the robot's capsules, which meet nothing else."""
_PAD = {"solimp": [0.99, 0.995, 0.001, 0.5, 2.0], "priority": 1}
"""MuJoCo's impedance of pads, ten times harder than its default, which lets what is held creep."""


@dataclass(frozen=True)
class FreeBox:
    """A box that moves freely, of even density.

    Parameters
    ----------
    size : (3,) m
        Whole sides.
    mass : float, kg
    position : (3,) m
        Of its centre at the start; it is upright and turned by `yaw` (rad).
    """

    size: Any
    mass: float
    position: Any
    yaw: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", array("size", self.size, (3,), above=0.0, unit="m"))
        object.__setattr__(self, "position", array("position", self.position, (3,), unit="m"))
        positive("mass", self.mass, "kg")
        number("yaw", self.yaw, unit="rad")

    @property
    def inertia(self) -> FloatArray:
        """About the centre, (3, 3) kg m2."""
        x, y, z = self.size**2
        return self.mass / 12 * np.diag([y + z, x + z, x + y])


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of what a robot's sensors tell.

    Parameters
    ----------
    position, rate : float rad, rad/s
        Of joints.
    attitude, gyro : float rad, rad/s
    force : float, N
        Of each component at each foot and hand.
    """

    position: float = 1e-4
    rate: float = 0.01
    attitude: float = 0.002
    gyro: float = 0.01
    force: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            number(name, getattr(self, name), minimum=0.0)


@dataclass(frozen=True, eq=False)
class HumanoidPlant:
    """A robot in MuJoCo; the masses of its plant may differ from those the controller believes (final).

    A measurement is (joint positions (n), joint rates (n), turn of the base as rotation vector (3), angular velocity
    of the base in its own axes (3), forces on soles and hands (3 each), world axes). A command is (n,) N m, limited
    by the torque limits of the description.

    MuJoCo regularises friction: a contact that bears the tangential force f creeps by R f / b, however far inside its
    cone, R = (1 - d) / (d impratio) times the bodies' inverse mass there, d its impedance, b = 2 / (d time constant).
    With the default d = 0.9 a box of 2 kg creeps by 0.5 mm/s in the pads of a robot's hands; pads have d = 0.99.

    Parameters
    ----------
    humanoid : Humanoid
    terrain : Terrain
        Boxes, and the floor.
    friction : float
    mass_factor : float
        Of all masses and inertias of the robot.
    step : float, s
    sole_part : float
        Of the soles' sides, between the corners that touch the ground.
    box : FreeBox, optional
        Something to hold.
    obstacles : sequence of Obstacle
        They meet soles, hands and box, and all capsules of the robot's file, which weigh nothing.
    shunned : mapping of str to tuple of str
        Capsules that meet a block of the terrain, by its name; of soles and hands all do.
    """

    humanoid: Humanoid
    terrain: Terrain = _FLOOR
    friction: float = 0.8
    mass_factor: float = 1.0
    step: float = 0.001
    sole_part: float = 1.0
    box: FreeBox | None = None
    obstacles: Sequence[Obstacle] = ()
    shunned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("friction", "mass_factor", "step"):
            positive(name, getattr(self, name))
        number("sole_part", self.sole_part, above=0.0, maximum=1.0)

    @property
    def ends(self) -> tuple[str, ...]:
        """Geoms' names of soles and hands, in the order of the forces of a measurement."""
        return tuple(self.humanoid.ends)

    def specification(self) -> Any:
        """Return a fresh MjSpec: bodies and joints are named as in the description."""
        mj = _mujoco()
        spec = mj.MjSpec()
        spec.modelname = self.humanoid.name
        spec.compiler.degree = False
        option = spec.option
        option.timestep, option.gravity = self.step, self.humanoid.robot.gravity
        option.integrator, option.cone = mj.mjtIntegrator.mjINT_IMPLICITFAST, mj.mjtCone.mjCONE_ELLIPTIC
        option.impratio = 10.0
        ground = {"contype": 0, "conaffinity": 1, "friction": [self.friction, 0.005, 0.0001]}
        if self.terrain.floor:
            spec.worldbody.add_geom(name="floor", type=mj.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], **ground)
        for i, block in enumerate(self.terrain.blocks):
            spec.worldbody.add_geom(
                name=f"block{i}",
                type=mj.mjtGeom.mjGEOM_BOX,
                size=block.half_size,
                pos=block.center,
                quat=quaternion_of(block.R),
                **ground,
            )
        made = self._add_robot(spec, mj)
        if self.obstacles or self.shunned:
            self._add_obstacles(spec, made)
        if self.box:
            turn = quaternion_of(rotation_rpy(np.array([0.0, 0.0, self.box.yaw])))
            body = spec.worldbody.add_body(name="box", pos=self.box.position, quat=turn)
            body.add_freejoint(name="box")
            meets = {"contype": 1, "conaffinity": 1, "friction": [self.friction, 0.005, 0.0001]}
            half = self.box.size / 2
            body.add_geom(name="box", type=mj.mjtGeom.mjGEOM_BOX, size=half, mass=self.box.mass, **meets)
        return spec

    def _add_obstacles(self, spec: Any, made: Sequence[Any]) -> None:
        """Add obstacles, the robot's capsules, and the pairs of capsules and blocks that meet."""
        friction = [self.friction, 0.005, 0.0001]
        rub = [self.friction, self.friction, 0.005, 0.0001, 0.0001]
        for obstacle in self.obstacles:
            kind, size = _form(obstacle.kind, obstacle.size)
            at, turn = obstacle.position, quaternion_of(obstacle.R_world_obstacle)
            meets = {"contype": 0, "conaffinity": 1 | _LIMB, "friction": friction}
            spec.worldbody.add_geom(name=f"obstacle_{obstacle.name}", type=kind, size=size, pos=at, quat=turn, **meets)
        for name, capsule in self.limbs.items():
            i, R, p = self.humanoid.robot.place_on_body(capsule.link)
            kind, size = _form("capsule", np.array([capsule.radius, capsule.length]))
            at, turn = p + R @ capsule.middle, quaternion_of(R @ capsule.turned)
            meets = {"contype": _LIMB, "conaffinity": 0, "mass": 0.0, "friction": friction}
            made[i].add_geom(name=f"limb_{name}", type=kind, size=size, pos=at, quat=turn, **meets)
        blocks = {block.name: f"block{i}" for i, block in enumerate(self.terrain.blocks)}
        for block, limbs in self.shunned.items():
            for name in limbs:
                spec.add_pair(geomname1=blocks[block], geomname2=f"limb_{name}", condim=3, friction=rub)

    @property
    def limbs(self) -> Mapping[str, Capsule]:
        """Capsules of the robot, by name."""
        return self.humanoid.clearance.capsules if self.humanoid.clearance else {}

    def _add_robot(self, spec: Any, mj: Any) -> list[Any]:
        h, robot, made = self.humanoid, self.humanoid.robot, []
        for i, body in enumerate(robot.bodies()):
            parent = spec.worldbody if body.parent < 0 else made[body.parent]
            inertia, k = _thick(body.inertia), self.mass_factor
            here = parent.add_body(
                name=body.name,
                pos=body.p,
                quat=quaternion_of(body.R),
                mass=k * body.mass,
                ipos=body.com,
                fullinertia=k * inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
                explicitinertial=True,
            )
            made.append(here)
            if i == 0:
                here.add_freejoint(name="base")
                continue
            kind = mj.mjtJoint.mjJNT_SLIDE if body.slides else mj.mjtJoint.mjJNT_HINGE
            here.add_joint(name=body.name, type=kind, axis=body.axis, armature=h.joint_armature[i - 1])
            motor = spec.add_actuator(name=body.name, target=body.name, trntype=mj.mjtTrn.mjTRN_JOINT)
            motor.gainprm[0] = 1.0
        touching = {"contype": 1, "conaffinity": 0, "mass": 0.0, "friction": [self.friction, 0.005, 0.0001]}
        for name, sole in h.feet.items():
            part = replace(sole, length=self.sole_part * sole.length, width=self.sole_part * sole.width)
            self._add_rectangle(made, f"{name}_foot", part, np.eye(3), touching)
        for name, palm in h.hands.items():
            if isinstance(palm, Pad):
                self._add_rectangle(made, f"{name}_hand", palm, palm.R_link_pad, touching | _PAD)
                continue
            i, R, p = robot.place_on_body(palm.link)
            at, size = p + R @ palm.at, [palm.radius, 0, 0]
            made[i].add_geom(name=f"{name}_hand0", type=mj.mjtGeom.mjGEOM_SPHERE, size=size, pos=at, **touching)
        return made

    def _add_rectangle(
        self, made: Sequence[Any], name: str, flat: Sole | Pad, R_link: FloatArray, touching: dict[str, Any]
    ) -> None:
        """Add balls at the corners of a sole or pad, tangent to it from inside."""
        i, R, p = self.humanoid.robot.place_on_body(flat.link)
        x, y = flat.length / 2, flat.width / 2
        for j, corner in enumerate([(x, y), (-x, y), (-x, -y), (x, -y)]):
            at = p + R @ (flat.at + R_link @ np.array([*corner, _BALL]))
            kind = _mujoco().mjtGeom.mjGEOM_SPHERE
            made[i].add_geom(name=f"{name}{j}", type=kind, size=[_BALL, 0, 0], pos=at, **touching)

    def plant(self, q: Any, nu: Any = None, lowest: float = 0.4, tilt: float = math.radians(60.0)) -> MujocoPlant:
        """Return the plant that starts at the state q (nq,), nu (nv,) of the robot.

        It has fallen when the base is below the part `lowest` of its height at the start, or leans by `tilt` (rad).
        """
        robot = self.humanoid.robot
        start = array("q", q, (robot.nq,))
        rates = np.zeros(robot.nv) if nu is None else array("nu", nu, (robot.nv,))
        falls = (Fall("base", lowest * float(start[2])), Fall("base", 0.0, tilt))

        def put(view: PlantView) -> None:
            view.data.qpos[: robot.nq], view.data.qvel[: robot.nv] = start, to_mujoco(start, rates)

        limit = robot.torque_limit
        return MujocoPlant(self._model, lambda view, u: np.clip(u, -limit, limit), falls, put)

    def sensors(self, noise: SensorNoise | None = None, delay: float = 0.0, seed: int = 0) -> Sensors:
        """Return the sensors with this noise and delay (s)."""
        n = len(self.humanoid.robot.joints)
        if noise is None:
            return Sensors(self.measure, 0.0, delay, seed)
        counts = (n, n, 3, 3, 3 * len(self.ends))
        deviations = (noise.position, noise.rate, noise.attitude, noise.gyro, noise.force)
        return Sensors(self.measure, np.repeat(deviations, counts), delay, seed)

    def measure(self, view: PlantView) -> FloatArray:
        """Return a measurement."""
        q, v = view.data.qpos[: self.humanoid.robot.nq], view.data.qvel[: self.humanoid.robot.nv]
        turn = np.zeros(3)
        view.mujoco.mju_quat2Vel(turn, q[3:7], 1.0)
        return np.concatenate([q[7:], v[6:], turn, v[3:6], self.forces(view).ravel()])

    @cached_property
    def _geoms(self) -> list[list[int]]:
        count = [4] * len(self.humanoid.feet)
        count += [4 if isinstance(hand, Pad) else 1 for hand in self.humanoid.hands.values()]
        model, ends = self._model.compile(), zip(self.ends, count, strict=True)
        return [[int(model.geom(f"{end}{j}").id) for j in range(k)] for end, k in ends]

    @cached_property
    def _model(self) -> Any:
        return self.specification()

    def forces(self, view: PlantView) -> FloatArray:
        """Return the forces (ends, 3) of the world on soles and hands, world axes, N."""
        return np.array([sum(view.contact_force(geom) for geom in geoms) for geoms in self._geoms])

    def gaps(self, view: PlantView) -> FloatArray:
        """Return the distance (ends,) of each sole's and hand's lowest point from the ground, at most 1 m."""
        ground = [view.geom("floor")] if self.terrain.floor else []
        ground += [view.geom(f"block{i}") for i in range(len(self.terrain.blocks))]
        each = [[view.distance(g, geom, 1.0) for g in ground for geom in geoms] for geoms in self._geoms]
        return np.array([min(found, default=1.0) for found in each])

    @cached_property
    def fixtures(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Of each obstacle, then of each block that capsules shun: its geom, and the robot's that may meet it."""
        limbs = tuple(f"limb_{name}" for name in self.limbs)
        own = [f"{end}{j}" for end, geoms in zip(self.ends, self._geoms, strict=True) for j in range(len(geoms))]
        found = {obstacle.name: (f"obstacle_{obstacle.name}", (*own, *limbs)) for obstacle in self.obstacles}
        blocks = {block.name: f"block{i}" for i, block in enumerate(self.terrain.blocks)}
        return found | {
            block: (blocks[block], tuple(f"limb_{name}" for name in names)) for block, names in self.shunned.items()
        }

    def nearness(self, view: PlantView) -> FloatArray:
        """Return the force (N) on the robot, and the least distance (m, at most 1) from it, of `fixtures`: (k, 2).

        Of a block only what its capsules bear counts, not what stands or leans on it.
        """
        found = []
        for geom, others in self.fixtures.values():
            number, numbers = view.geom(geom), [view.geom(name) for name in others]
            force = sum((view.force_between(other, number) for other in numbers), np.zeros(3))
            gap = min((view.distance(number, other, 1.0) for other in numbers), default=1.0)
            found.append((float(np.linalg.norm(force)), gap))
        return np.array(found).reshape(-1, 2)

    def state(self, view: PlantView) -> tuple[FloatArray, FloatArray]:
        """Return the true q (nq,), nu (nv,) of the robot."""
        robot = self.humanoid.robot
        q = np.array(view.data.qpos[: robot.nq])
        return q, from_mujoco(q, np.array(view.data.qvel[: robot.nv]))

    def box_pose(self, view: PlantView) -> FloatArray:
        """Return position (3,) m and quaternion (4,) (w, x, y, z) of the box; NaN without one."""
        nq = self.humanoid.robot.nq
        return np.array(view.data.qpos[nq : nq + 7]) if self.box else np.full(7, np.nan)


def to_mujoco(q: FloatArray, nu: FloatArray) -> FloatArray:
    """Return MuJoCo's velocities (linear in the world, angular in the base's axes, joints) of nu (nv,)."""
    return np.concatenate([nu[3:6], rotation_of(q[3:7]).T @ nu[:3], nu[6:]])


def from_mujoco(q: FloatArray, v: FloatArray) -> FloatArray:
    """Return nu (angular and linear in the world, joints) of MuJoCo's velocities; accelerations map alike."""
    return np.concatenate([rotation_of(q[3:7]) @ v[3:6], v[:3], v[6:]])


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("mujoco", "sim") from None
    return mujoco


def _form(kind: str, size: FloatArray) -> tuple[Any, list[float]]:
    """Return MuJoCo's type and size of one of `obstacles.KINDS`; a capsule without length is a ball."""
    types = _mujoco().mjtGeom
    if kind == "box":
        return types.mjGEOM_BOX, (size / 2).tolist()
    if kind == "half-space":
        return types.mjGEOM_PLANE, [0.0, 0.0, 0.1]
    if kind == "capsule" and size[1] > 1e-9:
        return types.mjGEOM_CAPSULE, [float(size[0]), float(size[1]) / 2, 0.0]
    return types.mjGEOM_SPHERE, [float(size[0]), 0.0, 0.0]


def _thick(inertia: FloatArray) -> FloatArray:
    """Return an inertia (3, 3) with A + B > C by more than round-off: that of a flat body is refused by MuJoCo."""
    a, b, c = np.linalg.eigvalsh(inertia)
    return inertia if a + b > c * (1 + 1e-9) else inertia + 1e-8 * c * np.eye(3)
