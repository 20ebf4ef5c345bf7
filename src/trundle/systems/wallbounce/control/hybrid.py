"""Hybrid predictive control of a ball balancer: contacts by a given schedule, their forces as inputs."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, positive
from trundle.contact.soft import SoftTouch, Wall
from trundle.errors import InputError
from trundle.numerics.ilqr import ControlSolution, Guess, Limits, cheapest
from trundle.systems.wallbounce.control.costs import (
    PUSH,
    BalancerWeights,
    KeepOut,
    KeepOutDisc,
    Row,
    Unpacked,
    pack_parameters,
)
from trundle.systems.wallbounce.control.level import BalancerLevel, ContactTerms

SETTLE = 0.06  # s in which a hand held at a wall comes back to its surface
_FAR = 0.03  # m from where on it is not pulled harder: a hand that cannot get there must not drag the body
_WEIGHTS, _KEEP_OUT, _UPDATE = BalancerWeights(), KeepOut(), Limits(3)


class HybridControl(BalancerLevel):
    """The level with a fixed schedule: see `BalancerLevel` for its sizes; flags are parameters of the stages.

    Inputs of a pair: (f_n, f_1, f_2), N. Closed contact: v_t = 0, v_n = -d / T and d = 0 by strong
    penalties, |f_t| <= mu f_n, 0 <= f_n <= f_max; open: no force, d >= 0.

    Notes
    -----
    Source: Wall-bouncing paper, V-C and VI-A.
    """

    @property
    def inputs_of_pair(self) -> int:
        """(f_n, f_1, f_2)."""
        return 3

    @property
    def head(self) -> int:
        """f_max and the flags."""
        return 1 + self.pairs

    def parameters(
        self,
        reference: ArrayLike,
        schedule: ArrayLike,
        walls: Sequence[Wall] = (),
        largest: float = 60.0,
        weights: BalancerWeights = _WEIGHTS,
        discs: Sequence[KeepOutDisc] = (),
        keep_out: KeepOut = _KEEP_OUT,
        push: ArrayLike = (0.0,) * PUSH,
    ) -> FloatArray:
        """Return the parameters (N + 1, n_p) of a call.

        Parameters
        ----------
        reference : (16,) or (N + 1, 16)
        schedule : (N, pairs) of bool
            See `trundle.systems.wallbounce.control.schedule.contact_schedule`.
        walls : sequence of Wall
        largest : float, N
            f_max.
        weights : BalancerWeights
        discs : sequence of KeepOutDisc
        keep_out : KeepOut
        push : (5,) or (N + 1, 5)
            Rates of l, N, and h, N m, by what else pushes the robot.
        """
        flags = np.asarray(schedule, dtype=np.float64)
        if flags.shape != (self.stages, self.pairs) or not np.all(np.isin(flags, (0.0, 1.0))):
            raise InputError("schedule", flags.shape, f"flags of {self.stages} x {self.pairs}")
        head = np.zeros((self.stages + 1, 1 + self.pairs))
        head[:, 0], head[:-1, 1:], head[-1, 1:] = positive("largest", largest, "N"), flags, flags[-1]
        to_go = self.balance(weights).to_go
        most = self.discs, self.walls
        return pack_parameters(reference, head, weights, discs, keep_out, to_go, push, walls, most, self.surface)

    def seed(self, solution: ControlSolution, forces: ArrayLike, schedule: ArrayLike) -> Guess:
        """Return the guess that follows a contact-implicit plan on the same grid.

        Parameters
        ----------
        solution : ControlSolution
            Of `trundle.systems.wallbounce.control.contact_implicit.ContactImplicit` with as many walls.
        forces : (N, pairs) N
            Its normal forces.
        schedule : (N, pairs) of bool
            Forces of open contacts are left out.
        """
        press = np.asarray(forces, dtype=np.float64) * np.asarray(schedule, dtype=bool)
        direction = solution.inputs[:, 9:].reshape(self.stages, self.pairs, 2)
        contact = np.concatenate([press[:, :, None], press[:, :, None] * direction], axis=2)
        inputs = np.concatenate([solution.inputs[:, :9], contact.reshape(self.stages, -1)], axis=1)
        return Guess(inputs, solution.states)

    def solve(
        self, x: ArrayLike, parameters: FloatArray, guesses: Sequence[Guess], limits: Limits = _UPDATE
    ) -> ControlSolution:
        """Return the cheapest plan of those from all guesses: the implicit plan's seed, the last own plan shifted."""
        if not guesses:
            raise InputError("guesses", 0, "at least one guess")
        return cheapest([self.optimiser.solve(x, parameters, guess, limits) for guess in guesses])

    def contacts(self, touches: list[SoftTouch], inputs: list[ca.SX], given: Unpacked) -> ContactTerms:
        """Return the inputs' forces where the schedule closes a contact, and what holds it there."""
        w, (largest, *flags) = given.weights, ca.vertsplit(given.head)
        presses, pushes, residuals, barriers = [], [], [], []
        for touch, f, closed in zip(touches, inputs, flags, strict=True):
            there = closed / (1 + (ca.fmax(touch.distance, 0) / _FAR) ** 2)  # a hand not there yet must come first
            presses.append(there * f[0])
            pushes.append(there * (touch.normal * f[0] + touch.tangents @ f[1:]))
            residuals += [
                (f, w["force"]),
                (touch.slip, w["contact_speed"] * closed),
                (touch.approach + touch.distance / SETTLE, w["contact_speed"] * closed),
                (touch.distance / ca.sqrt(1 + (touch.distance / _FAR) ** 2), w["contact_distance"] * closed),
                (touch.landing(), w["landing"] * (1 - closed)),
            ]
            barriers += self._cone(f / largest, closed * w["limits"])
            barriers.append((touch.distance / 0.1, w["limits"] * (1 - closed), 0.02, 1.0))
        forces = [sum(pushes[i : i + self.walls], ca.SX(3, 1)) for i in (0, self.walls)]
        return ContactTerms(presses, forces, residuals, barriers)

    def _cone(self, share: ca.SX, weight: ca.SX) -> list[Row]:
        friction = self.robot.hand_friction * share[0] - ca.sqrt(ca.sumsqr(share[1:]) + 1e-6)
        return [(share[0] + 0.01, weight, 0.01), (1.0 - share[0], weight, 0.02), (friction + 0.01, weight, 0.01)]
