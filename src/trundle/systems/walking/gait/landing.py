"""Landing: the plastic impact by which rates jump where a foot touches down."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from trundle.models.tree.multibody import Multibody
from trundle.optimal.phase import Condition
from trundle.optimal.problem import PhaseLinkage
from trundle.systems.walking.gait.soles import FootStance

SPAN = 0.1
"""s: impulses are unknowns over the weight times this, of the order of 1."""


def momentum(model: Multibody, stances: Sequence[FootStance], jump: ca.SX, impulses: ca.SX) -> ca.SX:
    """Return what an impact leaves unbalanced (n,): M jump - sum J' L, N s and N m s.

    M(q) (nu+ - nu-) = sum_i J_i' L_i with J_i the rows of the velocities of the points of each stance and L_i (N s)
    their impulses, world; M is never formed: inverse dynamics are linear in the acceleration.

    Parameters
    ----------
    model : Multibody
    stances : sequence of FootStance
        Of the feet that stand after the impact.
    jump : (n,)
        nu+ - nu-.
    impulses : (m,)
        Three a point, stacked as the stances are.
    """
    acceleration = ca.SX.sym("a", model.nu.numel())
    balance = model.inverse_dynamics([], acceleration, ca.SX(0, 1))
    velocities = ca.vertcat(*(v for stance in stances for v in stance.velocities))
    return ca.jtimes(balance, acceleration, jump) - ca.jtimes(velocities, model.nu, impulses, True)


def landing(
    number: int,
    model: Multibody,
    stances: Sequence[FootStance],
    landed: FootStance,
    *,
    scales: Sequence[float],
    weight: float,
    friction: float,
    cost: float,
) -> PhaseLinkage:
    """Return the link between phase `number` and the next one, at the start of which a foot lands.

        q+ = q-,  M (nu+ - nu-) = J'L,  L in its friction pyramid,  n.v- <= 0 of the foot that lands;

    J nu+ = 0 is a condition of the phase that starts. Its further unknowns p are L / (weight SPAN), and its cost
    is `cost` |p|^2, which chooses among the impulses at the corners of a flat sole.

    Parameters
    ----------
    number : int
    model : Multibody
        State (q, nu).
    stances : sequence of FootStance
        Of all feet that stand after the impact.
    landed : FootStance
        Of the foot that lands, one of them.
    scales : (n,) N m
        Over which the rows of the momentum are told, times `SPAN`.
    weight : float, N
    friction, cost : float
    """
    n = model.nu.numel()
    q = model.x[:n]
    x_end = ca.SX.sym("x_before", 2 * n)
    p = ca.SX.sym("p", sum(stance.size for stance in stances))
    before = x_end[n:]
    left = momentum(model, stances, model.nu - before, weight * SPAN * p)
    parts = np.split(np.arange(p.numel()), np.cumsum([stance.size for stance in stances])[:-1])
    cones = ca.vertcat(*(s.margins(p[part.tolist()], friction) for s, part in zip(stances, parts, strict=True)))
    falls = ca.jtimes(ca.vertcat(*landed.velocities), model.nu, before)[2::3]
    rows = ca.vertcat(x_end[:n] - q, left / (SPAN * ca.SX(ca.DM(np.asarray(scales)))), cones, falls)
    lower, upper = np.zeros(rows.numel()), np.zeros(rows.numel())
    upper[2 * n : 2 * n + cones.numel()] = np.inf
    lower[2 * n + cones.numel() :] = -np.inf
    least = np.full(p.numel(), -np.inf)
    least[2::3] = 0.0
    condition = Condition("impact", rows, lower, upper)
    x_start = ca.vertcat(q, model.nu)
    return PhaseLinkage(number, number + 1, x_end, x_start, condition, p, (least, np.inf), cost * ca.sumsqr(p))
