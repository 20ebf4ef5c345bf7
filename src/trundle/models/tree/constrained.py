"""Constrained dynamics, impacts and projections: one system with different right-hand sides."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from trundle.numerics.compiled.ldl import Solver, kkt_solver

_REFINEMENTS = 3
"""Proximal steps: each divides what the proximal term and its round-off left undone by (J M^-1 J')/proximal."""


def solve(
    M: ca.SX,
    J: ca.SX,
    top: ca.SX,
    bottom: ca.SX,
    G: ca.SX | None = None,
    proximal: float | ca.SX = 0.0,
    *,
    leaves_first: bool = False,
) -> tuple[ca.SX, ca.SX]:
    """Solve M a - G'lam = top, J a = bottom (G = J unless given); see `trundle.numerics.compiled.ldl.kkt_solver`.

    top = S u - h, bottom = -b gives accelerations and contact forces; top = 0, bottom = -(J nu) gives the jump of a
    plastic impact or of a velocity projection, and its impulses. Where rows may depend on each other (``proximal`` > 0,
    for all or (m,) for each row), J a + proximal (lam - lam_before) = bottom is solved a few times over: one tiny term
    instead would let the elimination, which does not pivot, lose as many digits as it has. What is solved for again are
    the residuals of both equations, so the digits that are lost are those of a correction.
    """
    return _solver(M, J, G, proximal, leaves_first)(top, bottom)


def corrections(
    M: ca.SX, J: ca.SX, proximal: float | ca.SX = 0.0, *, leaves_first: bool = False
) -> Callable[[ca.SX], ca.SX]:
    """Return the map from a residual (m,) of the rows J to the smallest change (nv,), in the metric M, that removes it.

    Its equations are eliminated once.
    """
    solver = _solver(M, J, None, proximal, leaves_first)
    return lambda residual: solver(ca.SX(M.shape[0], 1), -residual)[0]


def _solver(M: ca.SX, J: ca.SX, G: ca.SX | None, proximal: float | ca.SX, leaves_first: bool) -> Solver:
    eliminated = kkt_solver(M, J, G, proximal, leaves_first=leaves_first)
    push = J if G is None else G
    refinements = _REFINEMENTS if isinstance(proximal, ca.SX) or proximal else 0

    def solver(top: ca.SX, bottom: ca.SX) -> tuple[ca.SX, ca.SX]:
        a, lam = eliminated(top, bottom)
        for _ in range(refinements):
            more, push_more = eliminated(top - M @ a + push.T @ lam, bottom - J @ a)
            a, lam = a + more, lam + push_more
        return a, lam

    return solver
