"""A robot that balances on a ball and has two arms of three joints: momentum dynamics, exact or simplified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array
from trundle.errors import InputError
from trundle.numerics.rotations import rotations_ypr
from trundle.parameters import (
    Length,
    Mass,
    NonNegative,
    Positive,
    Range,
    Vector3,
    check_parameters,
    parameter,
)
from trundle.records.whole import read_bytes
from trundle.scenarios.files import TOML_BYTES
from trundle.scenarios.scenario import read_toml
from trundle.threads import cached_property

ArmMasses = Annotated[
    Sequence[float],
    Range("2 masses > 0, each from 1e-9 to 1e9 (kg)", above=0.0, unit="kg", length=2, in_files=(1e-9, 1e9)),
]
"""Of upper arm and forearm."""
Moments = Annotated[
    Sequence[float], Range("3 numbers > 0, each at most 1e12 (kg m^2)", above=0.0, unit="kg m^2", length=3)
]
_EZ = ca.DM([0.0, 0.0, 1.0])


class BalancerState(NamedTuple):
    """Parts of a state x (16,) and what follows from it; world axes, O the ball's centre.

    Attributes
    ----------
    position : (2,) m
        Of O.
    angles : (3,) rad
        Yaw, pitch, roll: R_world_body = Rz(yaw) Ry(pitch) Rx(roll).
    joints : (6,) rad
        Left arm, right arm.
    R_world_body : (3, 3)
    v : (2,) m/s
        Of O.
    omega : (3,) rad/s
        Of the body.
    com : (3,) m
        From O to the body's centre of mass.
    """

    position: ca.SX
    angles: ca.SX
    joints: ca.SX
    R_world_body: ca.SX
    v: ca.SX
    omega: ca.SX
    com: ca.SX


class FloorLoad(NamedTuple):
    """Force of the floor on the ball: horizontal part (2,), N, and normal force, N."""

    tangential: ca.SX
    normal: ca.SX


def _table(content: bytes, file: str) -> dict[str, Any]:
    table = read_toml(content, file).get("robot")
    if not isinstance(table, dict):
        raise InputError("file", file, "a table [robot]")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


_NUMBERS = _table(
    files("trundle.systems.wallbounce").joinpath("robots/ball_balancer.toml").read_bytes(), "ball_balancer.toml"
)


@dataclass(frozen=True)
class BallBalancer:
    """Numbers of the robot, SI, and its equations as CasADi expressions (final).

    Without arguments the numbers are those of ``ball_balancer.toml`` beside this file; see `read` for another one.

    State x = (x, y, yaw, pitch, roll, q (6), l (2), h (3)); l and h are momenta, see `velocities`.
    """

    mass: Mass = parameter(_NUMBERS["mass"], "kg, without the ball")
    ball_mass: Mass = parameter(_NUMBERS["ball_mass"], "kg")
    ball_radius: Length = parameter(_NUMBERS["ball_radius"], "m")
    ball_inertia: Positive = parameter(_NUMBERS["ball_inertia"], "kg m^2")
    com: Vector3 = parameter(_NUMBERS["com"], "m, centre of mass from the ball's centre, body axes")
    inertia: Moments = parameter(_NUMBERS["inertia"], "kg m^2, about the centre of mass")
    gravity: NonNegative = parameter(_NUMBERS["gravity"], "m/s^2, downward")
    floor_friction: NonNegative = parameter(_NUMBERS["floor_friction"], "coefficient of friction the plans may use")
    hand_friction: NonNegative = parameter(_NUMBERS["hand_friction"], "coefficient of friction the plans may use")
    drive_limit: Positive = parameter(_NUMBERS["drive_limit"], "N, of the drive on the floor, each component, in plans")
    yaw_limit: NonNegative = parameter(_NUMBERS["yaw_limit"], "N m, in plans")
    joint_rate_limit: Positive = parameter(_NUMBERS["joint_rate_limit"], "rad/s, in plans")
    shoulder: Vector3 = parameter(_NUMBERS["shoulder"], "m, of the left arm, body axes")
    upper_arm: Length = parameter(_NUMBERS["upper_arm"], "m")
    forearm: Length = parameter(_NUMBERS["forearm"], "m")
    arm_masses: ArmMasses = parameter(_NUMBERS["arm_masses"], "kg, upper arm and forearm, their centres half-way")
    hand_radius: Length = parameter(_NUMBERS["hand_radius"], "m")
    joint_lower: Vector3 = parameter(_NUMBERS["joint_lower"], "rad: abduction, flexion, elbow")
    joint_upper: Vector3 = parameter(_NUMBERS["joint_upper"], "rad")
    joint_rest: Vector3 = parameter(_NUMBERS["joint_rest"], "rad")
    height: Length = parameter(_NUMBERS["height"], "m, above the floor")
    form: Literal["exact", "simplified"] = parameter(_NUMBERS["form"], "of the model's dynamics")

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("com", "inertia", "shoulder", "joint_lower", "joint_upper", "joint_rest"):
            object.__setattr__(self, name, array(name, getattr(self, name), (3,)))
        object.__setattr__(self, "arm_masses", array("arm_masses", self.arm_masses, (2,)))
        inertia = np.asarray(self.inertia)
        if np.any(2.0 * inertia > np.sum(inertia) * (1 + 1e-12)):
            raise InputError("inertia", inertia, "three positive moments, none above the sum of the others")
        if np.any(np.asarray(self.joint_lower) >= np.asarray(self.joint_upper)):
            raise InputError("joint_lower", self.joint_lower, f"below joint_upper = {self.joint_upper}")

    @classmethod
    def read(cls, path: str | Path) -> BallBalancer:
        """Return the robot of the table [robot] of a TOML file; keys that are left out keep their default.

        Raises
        ------
        InputError
            If the file is no such file or a key or number is wrong; it names the file.
        """
        table = _table(read_bytes(Path(path), TOML_BYTES, "file", str(path)), str(path))
        known = [entry.name for entry in fields(cls)]
        for key in table:
            if key not in known:
                raise InputError(key, table[key], f"one of {known}", str(path))
        try:
            return cls(**table)
        except InputError as error:
            raise error.within("robot", str(path)) from None

    @property
    def nx(self) -> int:
        """Number of states, 16."""
        return 16

    @property
    def effective_mass(self) -> float:
        """M_e = m + m_b + I_b / r_b^2, kg."""
        return self.mass + self.ball_mass + self.ball_inertia / self.ball_radius**2

    def state(self, x: ca.SX) -> BalancerState:
        """Return the parts of x (16,) and the velocities its momenta stand for."""
        angles = x[2:5]
        R = body_rotation(angles)
        com = R @ ca.DM(self.com)
        v, omega = self.velocities(R, com, x[11:13], x[13:16])
        return BalancerState(x[:2], angles, x[5:11], R, v, omega, com)

    def momenta(self, angles: ca.SX, v: ca.SX, omega: ca.SX) -> ca.SX:
        """Return (l, h) (5,) of velocities v (2,), m/s, and omega (3,), rad/s, world axes.

        Exact: l = M_e v + m (omega x c)_xy, h = I_O omega + m c x v. Simplified: l = m v, h = I_O omega.
        """
        R = body_rotation(angles)
        com = R @ ca.DM(self.com)
        spin = self._inertia(R, com) @ omega
        if self.form == "simplified":
            return ca.vertcat(self.mass * v, spin)
        linear = self.effective_mass * v + self.mass * ca.cross(omega, com)[:2]
        return ca.vertcat(linear, spin + self.mass * ca.cross(com, ca.vertcat(v, 0)))

    def velocities(self, R: ca.SX, com: ca.SX, linear: ca.SX, angular: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (v (2,), omega (3,)) of the momenta l and h; the inverse of `momenta`.

        (I_O + C_(:,xy) C_(xy,:) / M_e) omega = h - C_(:,xy) l / M_e,  v = (l + C_(xy,:) omega) / M_e,  C = m [c]x
        """
        inertia = self._inertia(R, com)
        if self.form == "simplified":
            return linear / self.mass, _solve_symmetric(inertia, angular)
        C, M = self.mass * ca.skew(com), self.effective_mass
        omega = _solve_symmetric(inertia + C[:, :2] @ C[:2, :] / M, angular - C[:, :2] @ linear / M)
        return (linear + C[:2, :] @ omega) / M, omega

    def hands(self, x: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
        """Return (r_i (3,), J_i (3, 3)) of both hands: from O, world axes, and dr_i/dq_i at a body at rest.

        p_i = p_sh + Rx(s q1) Ry(-q2) ((0, 0, -l1) + Ry(-q3) (0, 0, -l2)), s = 1 left and -1 right.
        """
        R, result = body_rotation(x[2:5]), []
        for side, first in ((1.0, 5), (-1.0, 8)):
            q = x[first : first + 3]
            c1, s1 = ca.cos(side * q[0]), ca.sin(side * q[0])
            c2, s2, c3, s3 = ca.cos(q[1]), ca.sin(q[1]), ca.cos(q[1] + q[2]), ca.sin(q[1] + q[2])
            forward = self.upper_arm * s2 + self.forearm * s3  # along x, in the arm's plane
            down = self.upper_arm * c2 + self.forearm * c3
            shoulder = ca.DM(np.asarray(self.shoulder) * [1.0, side, 1.0])
            p = shoulder + ca.vertcat(forward, s1 * down, -c1 * down)
            by = ca.horzcat(
                ca.vertcat(0, side * c1 * down, side * s1 * down),
                ca.vertcat(down, -s1 * forward, c1 * forward),
                ca.vertcat(self.forearm * c3, -s1 * self.forearm * s3, c1 * self.forearm * s3),
            )
            result.append((R @ p, R @ by))
        return result

    def hand_velocities(self, x: ca.SX, joint_rates: ca.SX) -> list[ca.SX]:
        """Return the velocities (3,) of both hands, m/s, world axes: v + omega x r_i + R J_i qdot_i."""
        s = self.state(x)
        return [
            ca.vertcat(s.v, 0) + ca.cross(s.omega, r) + J @ joint_rates[3 * i : 3 * i + 3]
            for i, (r, J) in enumerate(self.hands(x))
        ]

    def rate(
        self,
        x: ca.SX,
        drive: ca.SX,
        yaw: ca.SX,
        forces: Sequence[ca.SX],
        joint_rates: ca.SX,
        arms: ca.SX | None = None,
    ) -> ca.SX:
        """Return dx/dt (16,).

        Exact: ldot = f_d + sum_i (f_i)_xy,
        hdot = m (omega x c) x v + (m c + R a) x g - r_b e_z x f_d + sum_i r_i x f_i + t_z e_z,
        where a(q) is the arms' first moment of mass less that of arms at rest: what reaching out costs in balance.
        Simplified, for nearly balanced motions without vertical acceleration and fast turns: the same l with
        hdot = -r_b e_z x f_d + sum_i r_i x f_i + (m c + R a) x g - c x (f_d + sum_i f_i)_xy + t_z e_z.

        Parameters
        ----------
        x : (16,)
        drive : (2,) N
            f_d: torque r_b e_z x f_d of the drive on the ball.
        yaw : scalar, N m
            t_z: torque on the body about the vertical.
        forces : two of (3,), N
            On the hands, world axes.
        joint_rates : (6,) rad/s
        arms : (6,) rad, optional
            Joints at which the arms weigh; left out: those of x.

        Notes
        -----
        Source: Wall-bouncing paper, eq. 3-7 (simplified); exact: Newton and Euler about O with the ball eliminated.
        """
        if len(forces) != 2:
            raise InputError("forces", len(forces), "two, of the left and of the right hand")
        s = self.state(x)
        total = ca.vertcat(drive, 0)
        moment = -self.ball_radius * ca.cross(_EZ, total) + yaw * _EZ
        for (r, _), f in zip(self.hands(x), forces, strict=True):
            total += ca.vertcat(f[:2], 0)
            moment += ca.cross(r, f)
        heavy = self.mass * s.com + s.R_world_body @ self._arms_moved(s.joints if arms is None else arms)
        moment += self.gravity * ca.vertcat(-heavy[1], heavy[0], 0)
        if self.form == "simplified":
            moment -= ca.cross(s.com, total)
        else:
            moment += self.mass * ca.cross(ca.cross(s.omega, s.com), ca.vertcat(s.v, 0))
        return ca.vertcat(s.v, angle_rates(s.angles, s.omega), joint_rates, total[:2], moment)

    def accelerations(self, s: BalancerState, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (vdot (2,), omegadot (3,)) that a rate dx/dt (16,) stands for, m/s^2 and rad/s^2.

        (I_O + C_(:,xy) C_(xy,:) / M_e) omegadot = k - C_(:,xy) a / M_e,  vdot = (a + C_(xy,:) omegadot) / M_e with
        a = ldot - m (omega x (omega x c))_xy and k = hdot - omega x I_O omega - m (omega x c) x v.
        """
        inertia, (linear, angular) = self._inertia(s.R_world_body, s.com), (rate[11:13], rate[13:16])
        angular = angular - ca.cross(s.omega, inertia @ s.omega)
        if self.form == "simplified":
            return linear / self.mass, _solve_symmetric(inertia, angular)
        turned = ca.cross(s.omega, s.com)
        angular -= self.mass * ca.cross(turned, ca.vertcat(s.v, 0))
        linear = linear - self.mass * ca.cross(s.omega, turned)[:2]
        C, M = self.mass * ca.skew(s.com), self.effective_mass
        omega = _solve_symmetric(inertia + C[:, :2] @ C[:2, :] / M, angular - C[:, :2] @ linear / M)
        return (linear + C[:2, :] @ omega) / M, omega

    def floor(self, x: ca.SX, drive: ca.SX, yaw: ca.SX, forces: Sequence[ca.SX], joint_rates: ca.SX) -> FloorLoad:
        """Return the force of the floor on the ball.

            f = f_d - I_b / r_b^2 vdot,   N = (m + m_b) g + m d^2 c_z / dt^2 - sum_i f_iz

        The cone |f| <= mu N and N > 0 are what the other equations take for granted. Arguments as in `rate`.
        """
        s = self.state(x)
        v_dot, omega_dot = self.accelerations(s, self.rate(x, drive, yaw, forces, joint_rates))
        rise = ca.cross(omega_dot, s.com)[2] + ca.cross(s.omega, ca.cross(s.omega, s.com))[2]
        lift = sum((f[2] for f in forces), ca.SX(0))
        normal = (self.mass + self.ball_mass) * self.gravity + self.mass * rise - lift
        if self.form == "simplified":
            return FloorLoad(ca.vertcat(drive), normal)
        return FloorLoad(drive - self.ball_inertia / self.ball_radius**2 * v_dot, normal)

    def rest(self, position: ArrayLike = (0.0, 0.0), yaw: float = 0.0, joints: ArrayLike | None = None) -> np.ndarray:
        """Return the state (16,) at rest: balanced, the centre of mass above the ball; arms in `joint_rest` or (6,)."""
        x = np.zeros(16)
        x[:2], x[2] = array("position", position, (2,), unit="m"), yaw
        x[5:11] = np.tile(np.asarray(self.joint_rest), 2) if joints is None else array("joints", joints, (6,))
        moved = 0.0 if joints is None else np.array(self._moved(x[5:11])).ravel()
        a, b, c = self.mass * np.asarray(self.com) + moved
        x[4] = np.arctan2(b, c)
        x[3] = -np.arctan2(a, np.hypot(b, c))
        return x

    def rolling(self, velocity: ArrayLike) -> np.ndarray:
        """Return the momenta (l, h) (..., 5) upright at yaw 0 and not turning, O at velocities v (..., 2), m/s."""
        v, (x, y, z) = np.asarray(velocity, dtype=np.float64), self.mass * np.asarray(self.com)
        if self.form == "simplified":
            return np.concatenate([self.mass * v, np.zeros((*v.shape[:-1], 3))], axis=-1)
        moment = np.stack([-z * v[..., 1], z * v[..., 0], x * v[..., 1] - y * v[..., 0]], axis=-1)
        return np.concatenate([self.effective_mass * v, moment], axis=-1)

    def arms_moment(self, q: ca.SX) -> ca.SX:
        """Return the first moment of mass (3,), kg m, of the arms from O at joints (6,), body axes."""
        total, (upper, fore) = ca.SX(3, 1), np.asarray(self.arm_masses)
        for side, first in ((1.0, 0), (-1.0, 3)):
            q1, q2, q3 = (q[first + i] for i in range(3))
            elbow = ca.DM(np.asarray(self.shoulder) * [1.0, side, 1.0])
            middle = self.upper_arm * _along(side * q1, q2)
            total += upper * (elbow + 0.5 * middle)
            total += fore * (elbow + middle + 0.5 * self.forearm * _along(side * q1, q2 + q3))
        return total

    def _arms_moved(self, q: ca.SX) -> ca.SX:
        return self.arms_moment(q) - self.arms_moment(ca.SX(np.tile(np.asarray(self.joint_rest), 2)))

    @cached_property
    def _moved(self) -> ca.Function:
        """`_arms_moved` as a function of numbers: built anew for each state at rest it took a third of a run."""
        q = ca.SX.sym("q", 6)
        return ca.Function("moved", [q], [self._arms_moved(q)])

    def _inertia(self, R: ca.SX, com: ca.SX) -> ca.SX:
        about_com = R @ ca.diag(ca.DM(self.inertia)) @ R.T
        return about_com + self.mass * (ca.dot(com, com) * ca.SX.eye(3) - com @ com.T)


def _along(abduction: ca.SX, flexion: ca.SX) -> ca.SX:
    """Direction (3,), body axes, of a link: Rx(abduction) Ry(-flexion) (0, 0, -1)."""
    return ca.vertcat(ca.sin(flexion), ca.sin(abduction) * ca.cos(flexion), -ca.cos(abduction) * ca.cos(flexion))


def tilt_of(yaw: FloatArray, pitch: FloatArray, roll: FloatArray) -> FloatArray:
    """Return the horizontal part (n, 2) of the body's z axis at angles (n,), rad."""
    return np.asarray(rotations_ypr(np.column_stack([yaw, pitch, roll])).as_matrix())[:, :2, 2]


def body_rotation(angles: ca.SX) -> ca.SX:
    """Return R_world_body (3, 3) of yaw, pitch and roll (rad): Rz Ry Rx."""
    (cz, cy, cx), (sz, sy, sx) = ([f(angles[i]) for i in range(3)] for f in (ca.cos, ca.sin))
    return ca.vertcat(
        ca.horzcat(cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        ca.horzcat(sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        ca.horzcat(-sy, cy * sx, cy * cx),
    )


def angle_rates(angles: ca.SX, omega: ca.SX) -> ca.SX:
    """Return the rates of yaw, pitch and roll of an angular velocity (3,), rad/s, world axes; singular at 90 deg pitch.

    roll' = (c_yaw w_x + s_yaw w_y) / c_pitch, pitch' = -s_yaw w_x + c_yaw w_y, yaw' = w_z + s_pitch roll'.
    """
    c, s = ca.cos(angles[0]), ca.sin(angles[0])
    roll = (c * omega[0] + s * omega[1]) / ca.cos(angles[1])
    return ca.vertcat(omega[2] + ca.sin(angles[1]) * roll, c * omega[1] - s * omega[0], roll)


def _solve_symmetric(A: ca.SX, b: ca.SX) -> ca.SX:
    """A^-1 b of a positive definite (3, 3) matrix, by cofactors."""
    a, d, e = (
        A[1, 1] * A[2, 2] - A[1, 2] ** 2,
        A[0, 2] * A[1, 2] - A[0, 1] * A[2, 2],
        A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1],
    )
    f, g, h = A[0, 0] * A[2, 2] - A[0, 2] ** 2, A[0, 1] * A[0, 2] - A[0, 0] * A[1, 2], A[0, 0] * A[1, 1] - A[0, 1] ** 2
    determinant = A[0, 0] * a + A[0, 1] * d + A[0, 2] * e
    return (
        ca.vertcat(a * b[0] + d * b[1] + e * b[2], d * b[0] + f * b[1] + g * b[2], e * b[0] + g * b[1] + h * b[2])
        / determinant
    )
