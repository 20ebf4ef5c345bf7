"""Residuals of the real-time optimiser's solutions, by another route than its own."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import array
from trundle.numerics.ilqr.solution import ControlSolution
from trundle.numerics.ilqr.stage import ControlProblem


@dataclass(frozen=True)
class Recomputed:
    """Residuals of a solution from the problem's expressions alone, by another route than the optimiser's.

    Attributes
    ----------
    cost : float
        Of the inputs, rolled out from x_0.
    gap : float
        Largest difference between that roll-out and the solution's states.
    gradient : float
        Largest |dJ/du|, by reverse differentiation of the whole roll-out.
    """

    cost: float
    gap: float
    gradient: float


def recompute(problem: ControlProblem, solution: ControlSolution, x0: ArrayLike, parameters: ArrayLike) -> Recomputed:
    """Return the residuals of `solution`; slow, for tests and reports."""
    N = problem.stages
    p = np.array(np.broadcast_to(np.asarray(parameters, dtype=np.float64), (N + 1, problem.n_p)))
    U, x = ca.MX.sym("U", problem.nu, N), ca.MX(ca.DM(array("x0", x0, (problem.nx,))))
    step = ca.Function("step", [problem.x, problem.u, problem.p], [problem.step, problem.stage.value()])
    end = ca.Function("end", [problem.x, problem.p], [problem.end.value()])
    total, states = ca.MX(0), [x]
    for k in range(N):
        x, cost = step.call([x, U[:, k], ca.MX(ca.DM(p[k]))])
        total, states = total + cost, [*states, x]
    total += end(x, ca.DM(p[N]))
    whole = ca.Function("whole", [U], [total, ca.horzcat(*states), ca.gradient(total, ca.vec(U))])
    cost, path, gradient = (np.array(value) for value in whole.call([ca.DM(solution.inputs.T)]))
    return Recomputed(
        float(cost[0, 0]), float(np.max(np.abs(path.T - solution.states))), float(np.max(np.abs(gradient)))
    )
