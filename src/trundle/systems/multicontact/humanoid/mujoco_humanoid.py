"""A humanoid in MuJoCo: bodies made of its description at run time, soles and hands that collide, its sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from trundle.checks import ArrayField, Converted, FloatArray, array, number, positive, vector
from trundle.models.robots.capsules import LimbCapsule
from trundle.models.robots.ends import Pad
from trundle.models.robots.humanoid import Humanoid
from trundle.models.robots.servo import SensorNoise
from trundle.models.urdf.checks import nearest_possible
from trundle.numerics.rotations import quaternion_of, rotation_of, rotation_rpy
from trundle.parameters import Checked, Period, Positive, PositiveFraction, check_parameters, parameter
from trundle.simulate.mujoco.mjcf import (
    GeomContact,
    add_geom,
    add_motor,
    add_pair,
    compile_mjcf,
    load_mujoco,
    new_spec,
    set_inertia,
)
from trundle.simulate.mujoco.plant import Fall, MujocoPlant
from trundle.simulate.mujoco.sensors import Sensors
from trundle.simulate.mujoco.view import PlantView
from trundle.systems.multicontact.humanoid.obstacles import Obstacle
from trundle.systems.multicontact.humanoid.terrain import Terrain
from trundle.threads import cached_property

if TYPE_CHECKING:
    import mujoco
    from numpy.typing import ArrayLike

_FLOOR = Terrain()
_BALL = 0.005
"""Radius of the balls at the corners of a sole or pad, m."""
_LIMB = 2
"""Bit of MuJoCo's masks by which obstacles collide with the robot's capsules, which collide with nothing else."""
_PAD_IMPEDANCE = (0.99, 0.995, 0.001, 0.5, 2.0)
"""MuJoCo's impedance of pads, ten times harder than its default, which lets what is held creep."""
_THINNEST = 1e-5
"""Least radius of gyration, m, along any axis of a body."""
_LIGHTEST = 1e-4
"""Least mass, kg, of a body."""


@dataclass(frozen=True)
class FreeBox(Checked):
    """A box that moves freely, of even density.

    Parameters
    ----------
    size : (3,) m
        Whole sides.
    mass : float, kg
    position : (3,) m
        Of its centre at the start; it is upright and turned by `yaw` (rad).
    """

    size: ArrayField = vector("m", above=0.0)
    mass: Converted[float, float] = Converted(keep=partial(positive, unit="kg"))
    position: ArrayField = vector("m")
    yaw: Converted[float, float] = Converted(0.0, keep=partial(number, unit="rad"))

    @property
    def inertia(self) -> FloatArray:
        """About the centre, (3, 3) kg m2."""
        x, y, z = self.size**2
        return self.mass / 12 * np.diag([y + z, x + z, x + y])


@dataclass(frozen=True, eq=False)
class HumanoidPlant:
    """A robot in MuJoCo; the masses of its plant may differ from those the controller believes (final).

    A measurement is (joint positions (n), joint rates (n), turn of the base as rotation vector (3), angular velocity
    of the base in its own axes (3), forces on soles and hands (3 each), world axes). A command is (n,) N m, or (n,) rad
    of drives that follow it at every step (`actuation`); torques stay within the limits of the description.

    MuJoCo regularises friction: a contact that bears the tangential force f creeps by R f / b, however far inside its
    cone, R = (1 - d) / (d impratio) times the bodies' inverse mass there, d its impedance, b = 2 / (d time constant).
    With the default d = 0.9 a box of 2 kg creeps by 0.5 mm/s in the pads of a robot's hands; pads have d = 0.99.

    Parameters
    ----------
    humanoid : Humanoid
    terrain : Terrain
        Boxes, and the floor.
    mass_factor : float
        Of all masses and inertias of the robot.
    box : FreeBox, optional
        Something to hold.
    obstacles : sequence of Obstacle
        They collide with soles, hands and box, and with all capsules of the robot's file, which weigh nothing.
    avoidance_pairs : mapping of str to tuple of str
        Capsules that collide with a block of the terrain, by its name; soles and hands collide with all blocks.
    """

    humanoid: Humanoid
    terrain: Terrain = _FLOOR
    friction: Positive = parameter(0.8, "coefficient of friction of soles and ground")
    mass_factor: float = 1.0
    step: Period = parameter(0.001, "s")
    sole_part: PositiveFraction = parameter(1.0, "of the soles' sides, between the corners that touch the ground")
    actuation: Literal["torque", "position"] = parameter(
        "torque", "what a command is: 'torque', or 'position', which the drives of the robot's file ([servo]) follow"
    )
    box: FreeBox | None = None
    obstacles: Sequence[Obstacle] = ()
    avoidance_pairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_parameters(self)
        positive("mass_factor", self.mass_factor)
        if self.actuation == "position":
            _ = self.humanoid.drives

    @property
    def ends(self) -> tuple[str, ...]:
        """Geoms' names of soles and hands, in the order of the forces of a measurement."""
        return tuple(self.humanoid.ends)

    def specification(self) -> mujoco.MjSpec:
        """Return a fresh MjSpec: bodies and joints are named as in the description."""
        spec = new_spec(self.humanoid.name, self.step, self.humanoid.robot.gravity)
        ground = GeomContact(0, 1, self.friction)
        if self.terrain.floor:
            add_geom(spec.worldbody, "floor", "plane", [0, 0, 0.1], ground)
        for i, block in enumerate(self.terrain.blocks):
            add_geom(spec.worldbody, f"block{i}", "box", block.half_size, ground, position=block.center, R=block.R)
        made = self._add_robot(spec)
        if self.obstacles or self.avoidance_pairs:
            self._add_obstacles(spec, made)
        if self.box:
            turn = quaternion_of(rotation_rpy(np.array([0.0, 0.0, self.box.yaw])))
            body = spec.worldbody.add_body(name="box", pos=self.box.position, quat=turn)
            body.add_freejoint(name="box")
            add_geom(body, "box", "box", self.box.size / 2, GeomContact(1, 1, self.friction), mass=self.box.mass)
        return spec

    def _add_obstacles(self, spec: mujoco.MjSpec, made: Sequence[mujoco.MjsBody]) -> None:
        """Add obstacles, the robot's capsules, and the pairs of capsules and blocks that collide."""
        for obstacle in self.obstacles:
            kind, size = _form(obstacle.kind, obstacle.size)
            name, contact = f"obstacle_{obstacle.name}", GeomContact(0, 1 | _LIMB, self.friction)
            at, R = obstacle.position, obstacle.R_world_obstacle
            add_geom(spec.worldbody, name, kind, size, contact, position=at, R=R)
        for name, capsule in self.limbs.items():
            i, R, p = self.humanoid.robot.place_on_body(capsule.link)
            kind, size = _form("capsule", np.array([capsule.radius, capsule.length]))
            at = {"position": p + R @ capsule.middle, "R": R @ capsule.turned}
            add_geom(made[i], f"limb_{name}", kind, size, GeomContact(_LIMB, 0, self.friction), mass=0.0, **at)
        blocks = {block.name: f"block{i}" for i, block in enumerate(self.terrain.blocks)}
        for block, limbs in self.avoidance_pairs.items():
            for name in limbs:
                add_pair(spec, blocks[block], f"limb_{name}", self.friction)

    @property
    def limbs(self) -> Mapping[str, LimbCapsule]:
        """Capsules of the robot, by name."""
        return self.humanoid.clearance.capsules if self.humanoid.clearance else {}

    def _add_robot(self, spec: mujoco.MjSpec) -> list[mujoco.MjsBody]:
        h, robot, types = self.humanoid, self.humanoid.robot, load_mujoco().mjtJoint
        made: list[mujoco.MjsBody] = []
        for i, body in enumerate(robot.bodies()):
            parent = spec.worldbody if body.parent < 0 else made[body.parent]
            here = parent.add_body(name=body.name, pos=body.p, quat=quaternion_of(body.R))
            mass, inertia = _thick(body.mass, body.inertia)
            set_inertia(here, self.mass_factor * mass, body.com, self.mass_factor * inertia)
            made.append(here)
            if i == 0:
                here.add_freejoint(name="base")
                continue
            kind = types.mjJNT_SLIDE if body.slides else types.mjJNT_HINGE
            here.add_joint(name=body.name, type=kind, axis=body.axis, armature=h.joint_armature[i - 1])
            add_motor(spec, body.name, body.name)
        sole_or_ball = GeomContact(1, 0, self.friction)
        for name, sole in h.feet.items():
            part = replace(sole, length=self.sole_part * sole.length, width=self.sole_part * sole.width)
            self._add_rectangle(made, f"{name}_foot", part, sole_or_ball)
        for name, hand in h.hands.items():
            if isinstance(hand, Pad):
                pad = replace(sole_or_ball, solimp=_PAD_IMPEDANCE, priority=1)
                self._add_rectangle(made, f"{name}_hand", hand, pad)
                continue
            i, R, p = robot.place_on_body(hand.link)
            at = p + R @ hand.at
            add_geom(made[i], f"{name}_hand0", "sphere", [hand.radius], sole_or_ball, position=at, mass=0.0)
        return made

    def _add_rectangle(self, made: Sequence[mujoco.MjsBody], name: str, flat: Pad, surface: GeomContact) -> None:
        """Add balls at the corners of a sole or pad, tangent to it from inside."""
        i, R, p = self.humanoid.robot.place_on_body(flat.link)
        x, y = flat.length / 2, flat.width / 2
        for j, corner in enumerate([(x, y), (-x, y), (-x, -y), (x, -y)]):
            at = p + R @ (flat.at + flat.R_link_pad @ np.array([*corner, _BALL]))
            add_geom(made[i], f"{name}{j}", "sphere", [_BALL], surface, position=at, mass=0.0)

    def plant(
        self, q: ArrayLike, nu: ArrayLike | None = None, lowest: float = 0.4, tilt: float = math.radians(60.0)
    ) -> MujocoPlant:
        """Return the plant that starts at the state q (nq,), nu (nv,) of the robot.

        It has fallen when the base is below the part `lowest` of its height at the start, or leans by `tilt` (rad).
        """
        robot = self.humanoid.robot
        start = array("q", q, (robot.nq,))
        rates = np.zeros(robot.nv) if nu is None else array("nu", nu, (robot.nv,))
        upright = tuple(self.humanoid.R_ahead_base[2].tolist())
        falls = (Fall("base", lowest * float(start[2])), Fall("base", 0.0, tilt, upright))

        def put(view: PlantView) -> None:
            view.data.qpos[: robot.nq], view.data.qvel[: robot.nv] = start, to_mujoco(start, rates)

        return MujocoPlant(self._model, self._torques, falls, put)

    def _torques(self, view: PlantView, command: FloatArray) -> FloatArray:
        """Return the torques (n,) of the drives, N m, at this step of the plant."""
        robot = self.humanoid.robot
        if self.actuation == "torque":
            return np.clip(command, -robot.torque_limit, robot.torque_limit)
        return self.humanoid.drives.torques(command, view.data.qpos[7 : robot.nq], view.data.qvel[6 : robot.nv])

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
        model, ends = compile_mjcf(self._model), zip(self.ends, count, strict=True)
        return [[int(model.geom(f"{end}{j}").id) for j in range(k)] for end, k in ends]

    @cached_property
    def _model(self) -> mujoco.MjSpec:
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
        """Allowed collision pairs, obstacles first, then blocks: name -> (its geom, geoms of the robot)."""
        limbs = tuple(f"limb_{name}" for name in self.limbs)
        own = [f"{end}{j}" for end, geoms in zip(self.ends, self._geoms, strict=True) for j in range(len(geoms))]
        found = {obstacle.name: (f"obstacle_{obstacle.name}", (*own, *limbs)) for obstacle in self.obstacles}
        blocks = {block.name: f"block{i}" for i, block in enumerate(self.terrain.blocks)}
        for block, names in self.avoidance_pairs.items():
            found[block] = (blocks[block], tuple(f"limb_{name}" for name in names))
        return found

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


def _form(kind: str, size: FloatArray) -> tuple[str, list[float]]:
    """Return MuJoCo's kind and size of one of `obstacles.KINDS`; a capsule without length is a ball."""
    if kind == "box":
        return "box", (size / 2).tolist()
    if kind == "half-space":
        return "plane", [0.0, 0.0, 0.1]
    if kind == "capsule" and size[1] > 1e-9:
        return "capsule", [float(size[0]), float(size[1]) / 2]
    return "sphere", [float(size[0])]


def _thick(mass: float, inertia: FloatArray) -> tuple[float, FloatArray]:
    """Return a mass (kg) and an inertia (3, 3) that MuJoCo takes: no points, rods, flat bodies or frames without mass.

    They are as heavy as `_LIGHTEST` and as thick as `_THINNEST` at least.
    """
    heavy = max(mass, _LIGHTEST)
    least = heavy * _THINNEST**2
    a, b, c = np.linalg.eigvalsh(inertia)
    return heavy, inertia if a + b - c >= 2 * least else nearest_possible(inertia, least)
