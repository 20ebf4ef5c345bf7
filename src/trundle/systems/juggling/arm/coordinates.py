"""Arm coordinates: a transfer in the joints of the arm that carries the hand, within the joints' limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.models.tree.conversion import to_matrix
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import PhaseLinkage
from trundle.records import Trajectory
from trundle.systems.juggling.arm.arm import Arm, ArmModel
from trundle.systems.juggling.arm.arm_numbers import ArmNumbers, JointMotion
from trundle.systems.juggling.arm.demands import planned_motion

_OF_HAND = ("position", "orientation", "twist")
AT_REST = "goal: hand at rest"
"""Name of the condition that the joints' rest stands for."""


class ArmCoordinates:
    """A phase of a hand in the joints of its arm, and the way back (final).

    The hand's pose, twist and the twist's rate are expressions of the joints' positions q, rates and accelerations:

        x = (q, the states that are not the hand's, q'),    u = q''

    so that the hand is where forward kinematics has it, whatever the mesh. Ranges and rates are bounds of states,
    torques conditions on the path, from the arm's own dynamics and the contact's wrench on the hand. Bounds of what is
    no state any more (twist, its rate, place) become conditions.

    Parameters
    ----------
    arm : Arm
    gravity : (3,) m/s2
    phase : Phase
        In the hand's coordinates.
    layout : mapping
        Of the phase's states.
    hand : str
        Name of the hand there.
    start : (n_x,)
        State of the phase at the start.
    wrench : (6,)
        Of the contact on the hand, about its origin, world, moment first.
    free : collection of int
        States of the phase that the plan chooses at the start.
    weight : float
        Of the mean square of the joints' accelerations over their largest rates / duration in the cost.

    Attributes
    ----------
    phase : Phase
    states : (n,) int
        Which states of the hand's phase those of this one are, -1 for the joints'.
    start : (n,)
        At the start.

    Raises
    ------
    InputError
        If the hand's pose at the start is out of the arm's reach.
    """

    def __init__(
        self,
        arm: Arm,
        gravity: FloatArray,
        phase: Phase,
        layout: Mapping[str, slice],
        hand: str,
        start: FloatArray,
        wrench: ca.SX,
        free: Sequence[int],
        weight: float,
    ) -> None:
        self.arm, self.n = arm, len(arm.joints)
        self.model, self.numbers = ArmModel(arm, gravity), ArmNumbers(arm, gravity)
        self._where = {name: layout[f"{hand}.{name}"] for name in _OF_HAND}
        carried = {i for where in self._where.values() for i in range(where.start, where.stop)}
        self._rest = np.array([i for i in range(phase.nx) if i not in carried], dtype=np.intp)
        joints = np.full(self.n, -1)
        self.states = np.concatenate([joints, self._rest, joints])
        m, others = self.model, ca.SX.sym("x", len(self._rest))
        x, u = ca.vertcat(m.q, others, m.rate), m.acceleration
        full = ca.SX(phase.nx, 1)
        full[self._rest.tolist()] = others
        for name, where in self._where.items():
            full[where] = getattr(m, name)
        self._full = ca.Function("full", [x, u], [full, m.twist_rate], {"cse": True})
        self.start = self._at_start(start)
        inside = _Inside(phase, full, m.twist_rate)
        rates = np.where(np.isfinite(arm.bounds[2]), arm.bounds[2], 1.0)
        length = sum(phase.duration) / 2
        effort = ca.sumsqr(u * ca.DM(length / rates)) * weight / length
        moving = set(free)
        known = [i for i, full_i in enumerate(self.states) if full_i not in moving]
        if any(i in carried for i in moving):
            known = [i for i in known if i < self.n + len(self._rest)]
        self.phase = Phase(
            name=phase.name,
            x=x,
            u=u,
            rate=ca.vertcat(m.rate, inside.of(phase.rate)[self._rest.tolist()], u),
            duration=phase.duration,
            path=[*inside.all(phase.path), *inside.bounds(phase, sorted(carried)), *self._torques(inside.of(wrench))],
            running=inside.of(phase.running) + effort,
            start=[Condition("start", x[known], self.start[known], self.start[known])],
            end=[
                Condition("goal: arm at rest", m.rate) if c.name == AT_REST else c for c in inside.all(phase.end)
            ],
            x_bounds=self._bounds(phase),
            open_end=phase.open_end,
        )  # fmt: skip

    def full(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return states (N, n_x) and inputs (N, n_u) of the hand's phase from those of this one."""
        x, u = self._full(np.asarray(states).T, np.asarray(inputs).T)
        return np.asarray(x).T, np.asarray(u).T

    def nodes(self, times: FloatArray, x: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return states and inputs of this phase whose hand goes as in states (N, n_x) of the hand's phase."""
        orientations = np.array([to_matrix(row) for row in x[:, self._where["orientation"]]])
        q = self.numbers.follow(orientations, x[:, self._where["position"]], self.start[: self.n])
        rate = self.numbers.rates(q, x[:, self._where["twist"]])
        limit = self.arm.bounds[2]
        states = np.hstack([np.clip(q, *self.arm.usable), x[:, self._rest], np.clip(rate, -limit, limit)])
        return states, np.gradient(rate, times, axis=0)

    def motion(self, run: Trajectory, times: FloatArray, x: FloatArray, u: FloatArray) -> JointMotion:
        """Return what the joints do at the samples of a run, with states and inputs (N, n) of this phase at `times`."""
        return planned_motion(self.numbers, run, times, x[:, : self.n], x[:, -self.n :], u)

    def link(self, link: PhaseLinkage) -> PhaseLinkage | None:
        """Return a link of the hand's phase in the states of this one."""
        ends = [ca.SX.sym(name, self.phase.nx) for name in ("x_end", "x_start")]
        filled = [self._full(end, ca.SX(self.n, 1))[0] for end in ends]
        expression = ca.substitute([link.condition.expression], [link.x_end, link.x_start], filled)[0]
        return PhaseLinkage(link.before, link.after, ends[0], ends[1], replace(link.condition, expression=expression))

    def _at_start(self, start: FloatArray) -> FloatArray:
        R, p = to_matrix(start[self._where["orientation"]]), start[self._where["position"]]
        q = self.numbers.reach(R, p)
        rate = self.numbers.rates(q[None], start[None, self._where["twist"]])[0]
        return np.concatenate([q, start[self._rest], rate])

    def _bounds(self, phase: Phase) -> tuple[FloatArray, FloatArray]:
        low, high = self.arm.usable
        rate = self.arm.margin * self.arm.bounds[2]
        ends = [bound[self._rest] for bound in phase.x_bounds]
        return np.concatenate([low, ends[0], -rate]), np.concatenate([high, ends[1], rate])

    def _torques(self, wrench: ca.SX) -> list[Condition]:
        torque, limit = self.model.torque(wrench), self.arm.margin * self.arm.bounds[3]
        return [
            Condition(f"torque of {name}", torque[i], -limit[i], limit[i])
            for i, name in enumerate(self.arm.joints)
            if np.isfinite(limit[i])
        ]


class _Inside:
    """Expressions of a phase with its state and input written in others (final)."""

    def __init__(self, phase: Phase, x: ca.SX, u: ca.SX) -> None:
        self._symbols, self._values = [phase.x, phase.u], [x, u]

    def of(self, expression: ca.SX) -> ca.SX:
        """Return an expression in the other variables."""
        return ca.substitute([expression], self._symbols, self._values)[0]

    def all(self, conditions: Sequence[Condition]) -> list[Condition]:
        """Return conditions in the other variables."""
        return [replace(c, expression=self.of(c.expression)) for c in conditions]

    def bounds(self, phase: Phase, carried: Sequence[int]) -> list[Condition]:
        """Return the bounds of the inputs, and of the states that are none any more, as conditions."""
        found = []
        for name, value, (low, high), which in (
            ("hand", self._values[0], phase.x_bounds, carried),
            ("hand's acceleration", self._values[1], phase.u_bounds, range(phase.nu)),
        ):
            rows = [i for i in which if np.isfinite(low[i]) or np.isfinite(high[i])]
            if rows:
                found.append(Condition(name, value[rows], low[rows], high[rows]))
        return found
