"""Constrained dynamics, impacts and projections: one system with different right-hand sides."""

from __future__ import annotations

import casadi as ca

from trundle.numerics.ldl import solve_kkt


def solve(
    M: ca.SX, J: ca.SX, top: ca.SX, bottom: ca.SX, G: ca.SX | None = None, proximal: float = 0.0
) -> tuple[ca.SX, ca.SX]:
    """Solve M a - G'lam = top, J a = bottom (G = J unless given); see `trundle.numerics.ldl.solve_kkt`.

    top = S u - h, bottom = -b gives accelerations and contact forces; top = 0, bottom = -(J nu) gives
    the jump of a plastic impact or of a velocity projection, and its impulses.
    """
    return solve_kkt(M, J, top, bottom, G, proximal)


def correction(M: ca.SX, J: ca.SX, residual: ca.SX, proximal: float = 0.0) -> ca.SX:
    """Return the smallest change (nv,), in the metric M, that removes the `residual` (m,) of the rows J."""
    change, _ = solve_kkt(M, J, ca.SX(M.shape[0], 1), -residual, None, proximal)
    return change
