"""The ball balancer in MuJoCo: massive arms, a torso that collides, a ball on a frictional floor, walls and boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_by, rotation_of, rotation_rpy
from trundle.parameters import Length, NonNegative, Period, Positive, check_parameters, parameter
from trundle.simulate.mujoco.mjcf import GeomContact, add_geom, add_motor, load_mujoco, new_spec, set_inertia
from trundle.simulate.mujoco.plant import Fall, MujocoPlant
from trundle.simulate.mujoco.view import PlantView
from trundle.systems.wallbounce.robot import BallBalancer

if TYPE_CHECKING:
    import mujoco
    from numpy.typing import ArrayLike


MEASURED = 28
"""Numbers of a measurement: O (2), yaw, pitch, roll, joints (6), v (2), omega (3), joint rates (6), forces (6)."""
_X, _Y, _ = np.eye(3)


@dataclass(frozen=True)
class MovableBox:
    """A box on the floor: centre (2,), half sizes (3,), m, and yaw, rad."""

    center: Sequence[float] | FloatArray
    half_size: Sequence[float] | FloatArray
    yaw: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", array("center", self.center, (2,), unit="m"))
        object.__setattr__(self, "half_size", array("half_size", self.half_size, (3,), above=0.0, unit="m"))


@dataclass(frozen=True, eq=False)
class BalancerPlant:
    """The robot of the plant; its numbers may differ from those the controller believes (final).

    Arms have mass; torso mass, centre and inertia are such that robot and arms together, with the arms at rest, have
    the numbers of `robot` (the smallest moment is raised where no body could have what is left). A measurement is
    (O (2), yaw, pitch, roll, joints (6), v (2), omega (3), joint rates (6), forces on the hands (6)), world axes; a
    command is (f_d (2), t_z, joint torques (6)), its first three limited by the limits of `robot`.

    Parameters
    ----------
    robot : BallBalancer
    walls : sequence of Wall
        Flat ones: the simulator has planes.
    boxes : sequence of MovableBox
        Movable from the outside; see `place_box`.
    """

    robot: BallBalancer = field(default_factory=BallBalancer)
    walls: Sequence[Wall] = ()
    boxes: Sequence[MovableBox] = ()
    armature: NonNegative = parameter(0.01, "kg m^2, of the joints' drives")
    torso_radius: Length = parameter(0.14, "m, of the cylinder that collides")
    hand_friction: NonNegative = parameter(0.8, "coefficient of friction")
    floor_friction: NonNegative = parameter(1.2, "coefficient of friction")
    torsional_friction: NonNegative = parameter(0.02, "m, of the floor")
    torque_limit: Positive = parameter(40.0, "N m, of the arms' joints")
    step: Period = parameter(0.001, "s")

    def __post_init__(self) -> None:
        check_parameters(self)
        for i, wall in enumerate(self.walls):
            if wall.curvature != 0.0:
                raise InputError(f"walls[{i}].curvature", wall.curvature, "0: the plant has flat walls only")

    # the model ------------------------------------------------------------------------------------------

    def plant(self, x: ArrayLike, joint_rates: ArrayLike | None = None) -> MujocoPlant:
        """Return the plant that starts at the state x (16,), momenta included, of `robot`."""
        state = array("x", x, (16,))
        rates = np.zeros(6) if joint_rates is None else array("joint_rates", joint_rates, (6,), unit="rad/s")
        fall = (Fall("base", 0.8 * self.robot.ball_radius), Fall("base", 0.0, math.radians(60.0)))
        return MujocoPlant(self.specification(), self.actuate, fall, lambda view: self._start(view, state, rates))

    def specification(self) -> mujoco.MjSpec:
        """Return a fresh MjSpec."""
        mj, robot, r = load_mujoco(), self.robot, self.robot.ball_radius
        spec = new_spec("ball balancer", self.step, [0.0, 0.0, -robot.gravity])
        floor = GeomContact(1, 0, self.floor_friction, self.torsional_friction, condim=4, priority=1)
        add_geom(spec.worldbody, "floor", "plane", [0, 0, 0.1], floor)
        self._add_surroundings(spec)
        base = spec.worldbody.add_body(name="base", pos=[0.0, 0.0, r])
        base.add_freejoint(name="base")
        mass, com, inertia = self.torso()
        set_inertia(base, mass, com, inertia)
        torso = add_geom(base, "torso", "cylinder", [self.torso_radius], GeomContact(0, 3, 0.3), mass=0.0)
        torso.fromto = [0.0, 0.0, 1.3 * r, 0.0, 0.0, robot.height - r]
        ball = base.add_body(name="ball", mass=robot.ball_mass, inertia=[robot.ball_inertia] * 3, explicitinertial=True)
        ball.add_joint(name="ball", type=mj.mjtJoint.mjJNT_BALL)
        add_geom(ball, "ball", "sphere", [r], GeomContact(0, 3))
        for name, side in (("left", 1.0), ("right", -1.0)):
            self._add_arm(base, name, side)
        for i in range(3):
            motor = add_motor(spec, "ball")
            motor.trntype, motor.gear = mj.mjtTrn.mjTRN_JOINTINPARENT, np.eye(6)[i]
        for name in ("left", "right"):
            for i in (1, 2, 3):
                add_motor(spec, f"{name}_{i}", limit=self.torque_limit)
        return spec

    def torso(self) -> tuple[float, FloatArray, FloatArray]:
        """Return mass, centre of mass (3,) and inertia (3, 3) about it of the torso without arms.

        Raises
        ------
        InputError
            If nothing of it is left.
        """
        robot, parts = self.robot, self._links(np.tile(np.asarray(self.robot.joint_rest), 2))
        mass = robot.mass - sum(m for m, _, _ in parts)
        if mass <= 0.0:
            raise InputError(
                "arm_masses", robot.arm_masses, f"together, for two arms, below the robot's {robot.mass} kg"
            )
        com = (robot.mass * np.asarray(robot.com) - sum(m * p for m, p, _ in parts)) / mass
        inertia = np.diag(np.asarray(robot.inertia)) + robot.mass * _spread(np.asarray(robot.com))
        inertia = inertia - sum(own + m * _spread(p) for m, p, own in parts) - mass * _spread(com)
        moments, axes = np.linalg.eigh(inertia)
        if moments[0] <= 0.0:
            raise InputError("arm_masses", robot.arm_masses, f"small enough for the robot's inertia {robot.inertia}")
        moments[0] = max(moments[0], 1.001 * (moments[2] - moments[1]))
        return mass, com, axes @ np.diag(moments) @ axes.T

    def _links(self, q: FloatArray) -> list[tuple[float, FloatArray, FloatArray]]:
        """Mass, centre and inertia (3, 3) about it, body axes, of the arms' four links."""
        result = []
        for side, (q1, q2, q3) in ((1.0, q[:3]), (-1.0, q[3:])):
            at = np.asarray(self.robot.shoulder) * [1.0, side, 1.0]
            R = rotation_by(side * q1 * _X) @ rotation_by(-q2 * _Y)
            for m, length in zip(self.robot.arm_masses, (self.robot.upper_arm, self.robot.forearm), strict=True):
                local = np.diag(self._rod(m, length))
                result.append((float(m), at + R @ [0.0, 0.0, -0.5 * length], R @ local @ R.T))
                at = at + R @ [0.0, 0.0, -length]
                R = R @ rotation_by(-q3 * _Y)
        return result

    def _rod(self, m: float, length: float) -> list[float]:
        across = m * (length**2 / 12.0 + 0.03**2 / 4.0)
        return [across, across, m * 0.03**2 / 2.0]

    def _add_arm(self, base: mujoco.MjsBody, name: str, side: float) -> None:
        robot = self.robot
        drive = {"armature": self.armature, "damping": [0.05, 0.0, 0.0]}
        upper = base.add_body(name=f"{name}_upper", pos=np.asarray(robot.shoulder) * [1.0, side, 1.0])
        fore = upper.add_body(name=f"{name}_fore", pos=[0.0, 0.0, -robot.upper_arm])
        upper.add_joint(name=f"{name}_1", axis=[side, 0.0, 0.0], **drive)
        upper.add_joint(name=f"{name}_2", axis=[0.0, -1.0, 0.0], **drive)
        fore.add_joint(name=f"{name}_3", axis=[0.0, -1.0, 0.0], **drive)
        for body, m, length in zip((upper, fore), robot.arm_masses, (robot.upper_arm, robot.forearm), strict=True):
            body.mass, body.inertia, body.ipos = float(m), self._rod(m, length), [0.0, 0.0, -0.5 * length]
            body.explicitinertial = True
        hand = GeomContact(0, 2, self.hand_friction, condim=4, priority=1)
        at = [0.0, 0.0, -robot.forearm]
        add_geom(fore, f"{name}_hand", "sphere", [robot.hand_radius], hand, position=at, mass=0.0)

    def _add_surroundings(self, spec: mujoco.MjSpec) -> None:
        """Add walls, and boxes that are moved from the outside (mocap bodies)."""
        orientations = load_mujoco().mjtOrientation
        for i, wall in enumerate(self.walls):
            face = GeomContact(2, 0, self.hand_friction)
            geom = add_geom(spec.worldbody, f"wall{i}", "plane", [0, 0, 0.1], face, position=wall.point)
            geom.alt.type, geom.alt.zaxis = orientations.mjORIENTATION_ZAXIS, wall.normal
        for i, box in enumerate(self.boxes):
            body = spec.worldbody.add_body(name=f"box{i}", mocap=True, pos=[*box.center, box.half_size[2]])
            body.alt.type, body.alt.euler = orientations.mjORIENTATION_EULER, [0.0, 0.0, box.yaw]
            add_geom(body, f"box{i}", "box", box.half_size, GeomContact(2, 0))

    # the interface --------------------------------------------------------------------------------------

    def actuate(self, view: PlantView, command: FloatArray) -> FloatArray:
        """Return the motors' torques (9,) of a command (f_d (2), t_z, joint torques (6)), drive and yaw limited."""
        f = np.clip(command[:2], -self.robot.drive_limit, self.robot.drive_limit)
        t = float(np.clip(command[2], -self.robot.yaw_limit, self.robot.yaw_limit))
        r = self.robot.ball_radius
        on_ball = np.array([-r * f[1], r * f[0], -t])
        return np.concatenate([rotation_of(view.data.qpos[3:7]).T @ on_ball, command[3:]])

    def measure(self, view: PlantView) -> FloatArray:
        """Return the measurement (28,)."""
        q, v = view.data.qpos, view.data.qvel
        R = rotation_of(q[3:7])
        angles = [
            math.atan2(R[1, 0], R[0, 0]),
            math.asin(min(1.0, max(-1.0, -R[2, 0]))),
            math.atan2(R[2, 1], R[2, 2]),
        ]
        hands = [view.contact_force(view.geom(f"{side}_hand")) for side in ("left", "right")]
        return np.concatenate([q[:2], angles, q[11:17], v[:2], R @ v[3:6], v[9:15], *hands])

    def torso_distance(self, view: PlantView) -> float:
        """Return the least distance of the torso from walls and boxes, m; 5 m where there are none."""
        torso = view.geom("torso")
        R, middle = view.data.geom_xmat[torso].reshape(3, 3), view.data.geom_xpos[torso]
        half, best = float(view.model.geom_size[torso][1]), 5.0
        for wall in self.walls:
            along = abs(float(wall.normal @ R[:, 2]))
            reach = half * along + self.torso_radius * math.sqrt(max(0.0, 1.0 - along**2))
            best = min(best, float(wall.normal @ middle) - wall.offset - reach)
        for i in range(len(self.boxes)):
            best = min(best, view.distance(torso, view.geom(f"box{i}")))
        return best

    def hand_positions(self, view: PlantView) -> FloatArray:
        """Return the centres of the hands (2, 3), m, left first."""
        return np.array([view.data.geom_xpos[view.geom(f"{side}_hand")] for side in ("left", "right")])

    def wall_distances(self, view: PlantView) -> FloatArray:
        """Return the distance (2,) of each hand's surface from the nearest wall, m; 5 m without walls."""
        hands = self.hand_positions(view)
        gaps = [hands @ wall.normal - wall.offset - self.robot.hand_radius for wall in self.walls]
        return np.min([*gaps, np.full(2, 5.0)], axis=0)

    def place_box(self, view: PlantView, number: int, center: ArrayLike) -> None:
        """Put a box elsewhere."""
        i = int(view.model.body_mocapid[view.body(f"box{number}")])
        view.data.mocap_pos[i, :2] = array("center", center, (2,), unit="m")

    def _start(self, view: PlantView, x: FloatArray, joint_rates: FloatArray) -> None:
        q, v = view.data.qpos, view.data.qvel
        speed, omega = self._velocities(x)
        R = rotation_rpy(x[4:1:-1])
        q[:2], q[2] = x[:2], self.robot.ball_radius
        view.mujoco.mju_mat2Quat(q[3:7], R.ravel())
        q[7:11], q[11:17] = [1.0, 0.0, 0.0, 0.0], x[5:11]
        v[:2], v[3:6], v[9:15] = speed, R.T @ omega, joint_rates
        ball = np.array([-speed[1], speed[0], 0.0]) / self.robot.ball_radius
        v[6:9] = R.T @ (ball - omega)  # of the ball against the body, in its own axes, which are the body's now

    def _velocities(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        s = ca.SX.sym("x", 16)
        state = self.robot.state(s)
        found = ca.Function("v", [s], [state.v, state.omega])(x)
        return np.array(found[0]).ravel(), np.array(found[1]).ravel()


def _spread(p: FloatArray) -> FloatArray:
    return np.asarray((p @ p) * np.eye(3) - np.outer(p, p))
