"""The fastest level of a ball balancer's control: it balances, turns and moves the arms as a plan says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.parameters import Checked, NonNegative, parameter
from trundle.systems.wallbounce.robot import BallBalancer, body_rotation
from trundle.threads import cached_property


@dataclass(frozen=True)
class LowLevelGains(Checked):
    """Gains of the low level; `tilt` must exceed m g c / (m c / M_e + r_b), 223 N/rad by default.

    `tilt` and `tilt_rate` set the drive force by the error of the lean; `position`, `velocity` and `integral` the lean
    asked for by the error of the centre of mass.
    """

    tilt: NonNegative = parameter(1000.0, "N/rad")
    tilt_rate: NonNegative = parameter(110.0, "N s/rad")
    position: NonNegative = parameter(0.15, "rad/m")
    velocity: NonNegative = parameter(0.25, "rad s/m")
    integral: NonNegative = parameter(0.05, "rad/(m s)")
    lean: NonNegative = parameter(0.08, "rad, most lean asked for by these three")
    yaw: NonNegative = parameter(60.0, "N m/rad")
    yaw_rate: NonNegative = parameter(8.0, "N m s/rad")
    hand: NonNegative = parameter(400.0, "N/m")
    hand_rate: NonNegative = parameter(200.0, "N s/m")
    joint: NonNegative = parameter(2.0, "N m/rad")
    joint_rate: NonNegative = parameter(1.0, "N m s/rad")


_GUARD = 5.0
"""N, most of a planned force on a hand that feels none yet: more would only speed it up into the wall."""


class LowLevelCommand(NamedTuple):
    """Command (f_d (2), t_z, joint torques (6)), error (2,) of the centre of mass, m, and the model's state (16,)."""

    command: FloatArray
    error: FloatArray
    state: FloatArray


@dataclass(frozen=True, eq=False)
class LowLevel:
    """PID over PD balancing, yaw, and arms of a given impedance with the planned forces fed forward (final).

        tilt = (R e_z)_xy,  lean* = tilt_plan + k_x e_x + k_v e_v + k_i int e_x
        f_d = f_plan + K_th (tilt - lean*) + K_w (tilt' - tilt'_plan)
        t_z = t_plan + K_psi e_psi + K_psi' e_wz
        tau_i = J_i^T (K_p (p* - p) + K_d (p*' - p') - f_plan,i) + K_q (q* - q) + K_qd (q*' - q') + gravity

    e = plan - measured, e_x and e_v of the centre of mass: of the ball, whose speed answers a drive force with the
    wrong sign first, these gains would let it rock. Hands and forces in body axes; f_plan,i acts on the hand. Of it a
    hand that feels f (N) gets the share (f^2 + f_0^2 a) / (f^2 + f_0^2), a = f_0 / sqrt(|f_plan|^2 + f_0^2), f_0 = 5 N:
    off the wall it would only gain speed.

    Parameters
    ----------
    robot : BallBalancer
        What the controller believes.
    gains : LowLevelGains
    drive_limit : float, N
        Largest force of the drive, each component.

    Notes
    -----
    Source: Wall-bouncing paper, VI-D and VI-E; the gains are reconstructed.
    """

    robot: BallBalancer = field(default_factory=BallBalancer)
    gains: LowLevelGains = LowLevelGains()
    drive_limit: float = np.inf

    def __call__(
        self, measured: FloatArray, state: FloatArray, inputs: FloatArray, integral: FloatArray
    ) -> LowLevelCommand:
        """Return the command.

        Parameters
        ----------
        measured : (28,)
            O (2), yaw, pitch, roll, joints (6), v (2), omega (3), joint rates (6), forces on the hands (6).
        state : (16,)
            Planned.
        inputs : (15,)
            Planned f_d (2), t_z, joint rates (6), forces on the hands (6), world axes.
        integral : (2,) m s
            Of the position's error.
        """
        return LowLevelCommand(*self._quick(measured, state, inputs, integral))

    def state(self, measured: FloatArray) -> FloatArray:
        """Return the model's state (16,) of a measurement."""
        return self._state(measured)[0]

    @cached_property
    def _quick(self) -> BufferedFunction:
        return BufferedFunction(self.function)

    @cached_property
    def _state(self) -> BufferedFunction:
        y = ca.SX.sym("y", 28)
        return BufferedFunction(ca.Function("state", [y], [self._model_state(y)]))

    def _model_state(self, y: ca.SX) -> ca.SX:
        return ca.vertcat(y[:11], self.robot.momenta(y[2:5], y[11:13], y[13:16]))

    @cached_property
    def function(self) -> ca.Function:
        """(measured, state, inputs, integral) -> command, error, model's state."""
        y, x, u, total = (ca.SX.sym(n, k) for n, k in (("y", 28), ("x", 16), ("u", 15), ("total", 2)))
        robot, g = self.robot, self.gains
        planned, R = robot.state(x), body_rotation(y[2:5])
        v, omega = y[11:13], y[13:16]
        tilt, tilt_plan = R[:2, 2], planned.R_world_body[:2, 2]
        rate = ca.cross(omega, R[:, 2])[:2]
        rate_plan = ca.cross(planned.omega, planned.R_world_body[:, 2])[:2]
        com = R @ ca.DM(robot.com)
        error = x[:2] + planned.com[:2] - y[:2] - com[:2]
        drift = planned.v + ca.cross(planned.omega, planned.com)[:2] - v - ca.cross(omega, com)[:2]
        asked = g.position * error + g.velocity * drift + g.integral * total
        asked = asked * ca.fmin(1.0, g.lean / ca.fmax(ca.norm_2(asked + 1e-12), 1e-9))
        drive = u[:2] + g.tilt * (tilt - tilt_plan - asked) + g.tilt_rate * (rate - rate_plan)
        turn = x[2] - y[2]
        turn = ca.atan2(ca.sin(turn), ca.cos(turn))
        drive = ca.fmin(ca.fmax(drive, -self.drive_limit), self.drive_limit)
        yaw = u[2] + g.yaw * turn + g.yaw_rate * (planned.omega[2] - omega[2])
        torques = self._arms(y, x, u, R)
        command = ca.vertcat(drive, yaw, torques)
        return ca.Function("low_level", [y, x, u, total], [command, error, self._model_state(y)])

    def _arms(self, y: ca.SX, x: ca.SX, u: ca.SX, R: ca.SX) -> ca.SX:
        robot, g = self.robot, self.gains
        upright = ca.SX.zeros(5)
        q, rates, q_plan, rates_plan = y[5:11], y[16:22], x[5:11], u[3:9]
        at = robot.hands(ca.vertcat(upright, q))
        wanted = robot.hands(ca.vertcat(upright, q_plan))
        torques = []
        for i, ((p, J), (p_plan, J_plan)) in enumerate(zip(at, wanted, strict=True)):
            part = slice(3 * i, 3 * i + 3)
            force = g.hand * (p_plan - p) + g.hand_rate * (J_plan @ rates_plan[part] - J @ rates[part])
            press, felt = u[9 + 3 * i : 12 + 3 * i], ca.sumsqr(y[22 + 3 * i : 25 + 3 * i])
            there = felt / (felt + _GUARD**2)
            force -= R.T @ press * (there + (1 - there) * _GUARD / ca.sqrt(ca.sumsqr(press) + _GUARD**2))
            joint = g.joint * (q_plan[part] - q[part]) + g.joint_rate * (rates_plan[part] - rates[part])
            torques.append(J.T @ force + joint)
        s = ca.SX.sym("q", 6)
        weight = robot.gravity * ca.gradient(ca.dot(R[2, :].T, robot.arms_moment(s)), s)
        return ca.vertcat(*torques) + ca.substitute(weight, s, q)
