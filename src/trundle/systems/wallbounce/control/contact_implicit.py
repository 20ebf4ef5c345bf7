"""Contact-implicit predictive control of a ball balancer: the plan finds its contacts through a soft force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.contact.soft import SoftLaw, SoftTouch, Wall, normal_force
from trundle.numerics.ilqr import ControlSolution, Guess, Limits
from trundle.systems.wallbounce.control.costs import (
    PUSH,
    BalancerWeights,
    KeepOut,
    KeepOutDisc,
    Residual,
    Row,
    Unpacked,
    pack_parameters,
)
from trundle.systems.wallbounce.control.level import BalancerLevel, ContactTerms

Law = tuple[float, float]
HOMOTOPY = ((0.15, 0.1), (0.08, 0.06), (0.04, 0.03))
"""(s, d_0), m: wide to narrow laws solved one after another at an event, before the wanted one."""

_NEAR = 0.02  # m a hand may enter a wall before the barrier's curve counts
_FELT = 0.1  # m beyond which a wall does not hold hands off
_LAW, _WEIGHTS, _KEEP_OUT = SoftLaw(), BalancerWeights(), KeepOut()
_UPDATE, _EVENT = Limits(5), Limits(15, tolerance=1e-5)


class ContactImplicit(BalancerLevel):
    """The level that finds contacts: see `BalancerLevel` for its sizes; laws are parameters too.

    Inputs of a pair: u_t (2), 1. The hands' forces follow from the distances:
    f = sum_w f_n (n + u_1 t_1 + u_2 t_2), |u_t| <= mu.

    Notes
    -----
    Source: Wall-bouncing paper, V-B and VI-B; costs reconstructed.
    """

    @property
    def inputs_of_pair(self) -> int:
        """u_t."""
        return 2

    @property
    def head(self) -> int:
        """f_max, s, d_0."""
        return 3

    def parameters(
        self,
        reference: ArrayLike,
        walls: Sequence[Wall] = (),
        law: SoftLaw = _LAW,
        weights: BalancerWeights = _WEIGHTS,
        discs: Sequence[KeepOutDisc] = (),
        keep_out: KeepOut = _KEEP_OUT,
        push: ArrayLike = (0.0,) * PUSH,
    ) -> FloatArray:
        """Return the parameters (N + 1, n_p) of a call.

        Parameters
        ----------
        reference : (16,) or (N + 1, 16)
            x_ref of each stage.
        walls : sequence of Wall
        law : SoftLaw
        weights : BalancerWeights
        discs : sequence of KeepOutDisc
        keep_out : KeepOut
        push : (5,) or (N + 1, 5)
            Rates of l, N, and h, N m, by what else pushes the robot.

        Raises
        ------
        InputError
            If there are more walls than compiled for, or a shape does not fit.
        """
        head = np.tile([law.largest, law.width, law.offset], (self.stages + 1, 1))
        to_go = self.balance(weights).to_go
        most = self.discs, self.walls
        return pack_parameters(reference, head, weights, discs, keep_out, to_go, push, walls, most, self.surface)

    def still(self, x: ArrayLike) -> Guess:
        """Return the guess without any contact: the robot at rest where it is, upright, all inputs zero."""
        rest = np.array(x, dtype=np.float64)
        rest[3:5], rest[11:] = 0.0, 0.0
        return Guess(np.zeros((self.stages, self.nu)), np.tile(rest, (self.stages + 1, 1)))

    def solve(self, x: ArrayLike, parameters: FloatArray, guess: Guess, limits: Limits = _UPDATE) -> ControlSolution:
        """Return the plan from the measured state; see `Optimiser.solve`."""
        return self.optimiser.solve(x, parameters, guess, limits)

    def discover(
        self,
        x: ArrayLike,
        parameters: FloatArray,
        guess: Guess,
        limits: Limits = _EVENT,
    ) -> ControlSolution:
        """Return the plan found by homotopy: with each wider law of `HOMOTOPY`, then with the law of `parameters`.

        Laws narrower than the wanted one are skipped. `limits` hold for each law, but wide ones are left as
        soon as a step promises less than 1 % and what they left of their iterations is the last one's. Iterations and
        seconds of the answer are those of all laws.
        """
        wide = [law for law in HOMOTOPY if law[0] > float(parameters[0, 17])]
        total, rough = limits.iterations * (len(wide) + 1), max(limits.tolerance, 0.01)
        seconds, iterations, p = 0.0, 0, parameters.copy()
        for p[:, 17], p[:, 18] in wide:
            solution = self.solve(x, p, guess, replace(limits, tolerance=rough))
            seconds, iterations = seconds + solution.seconds, iterations + solution.iterations
            if np.all(np.isfinite(solution.states)) and np.isfinite(solution.cost):
                # Without gains: rolled out under another law they may throw the plan far away.
                guess = Guess(solution.inputs, solution.states)
        last = self.solve(x, parameters, guess, replace(limits, iterations=total - iterations))
        return replace(last, seconds=seconds + last.seconds, iterations=iterations + last.iterations)

    def contacts(self, touches: list[SoftTouch], inputs: list[ca.SX], given: Unpacked) -> ContactTerms:
        """Return soft forces, the costs of sliding and landing, the friction cones and the walls' surfaces."""
        w, (largest, width, offset) = given.weights, ca.vertsplit(given.head)
        presses = [normal_force(touch.distance, largest, width, offset) for touch in touches]
        pushes = [touch.force(f, u) for touch, f, u in zip(touches, presses, inputs, strict=True)]
        forces = [sum(pushes[i : i + self.walls], ca.SX(3, 1)) for i in (0, self.walls)]
        barriers: list[Row] = []
        residuals: list[Residual] = [(ca.vertcat(*inputs), w["direction"]), (ca.vertcat(*presses), w["force"])]
        for touch, press, u in zip(touches, presses, inputs, strict=True):
            residuals += [(touch.no_slip(press, largest), w["slip"]), (touch.landing(), w["landing"])]
            barriers += [
                (1.0 - ca.sumsqr(u) / self.robot.hand_friction**2, w["limits"], 0.02),
                (touch.distance + _NEAR, w["outside"], 0.01, 1.0 / _FELT),
            ]
        return ContactTerms(presses, forces, residuals, barriers)
