"""Sparse symbolic elimination of the equations of motion, with pivots chosen by kind, never by magnitude."""

from __future__ import annotations

import casadi as ca

from trundle.errors import InputError

_ROUND_OFF = 1e-12


def solve_kkt(
    M: ca.SX, J: ca.SX, top: ca.SX, bottom: ca.SX, G: ca.SX | None = None, proximal: float | ca.SX = 0.0
) -> tuple[ca.SX, ca.SX]:
    """Solve M a - G'lam = top, J a + proximal lam = bottom, with G = J unless given.

    Gaussian elimination on the sparsity pattern with pivots in the order: constants, then inertia, then
    multipliers. A mass is a constant pivot, so for one free body this is the 3 x 3 (plane: scalar)
    reduction in theory, "One body on a hand", and costs 0.4 of ``casadi.solve``.

    Parameters
    ----------
    M : (nv, nv)
        Symmetric positive definite inertia.
    J, G : (m, nv)
        Constrained and pushed directions.
    top, bottom : (nv,), (m,)
        Or several right-hand sides: (nv, k), (m, k).
    proximal : float, or (m,) expressions
        Adds -proximal I to the multiplier block (unique multipliers for redundant rows; rows of zeros in J and G
        with a one here have no multiplier).

    Returns
    -------
    a, lam : (nv,), (m,), or (nv, k), (m, k)
    """
    nv, m = M.shape[0], J.shape[0]
    push = J if G is None else G
    if isinstance(proximal, ca.SX):
        corner = -ca.diag(proximal)
    else:
        corner = -proximal * ca.SX.eye(m) if proximal else ca.SX(m, m)
    K = ca.vertcat(ca.horzcat(M, push.T), ca.horzcat(J, corner))
    solution = _eliminate(K, ca.vertcat(top, bottom), nv, symmetric=G is None)
    return solution[:nv, :], -solution[nv:, :]


def _eliminate(K: ca.SX, rhs: ca.SX, nv: int, symmetric: bool) -> ca.SX:
    """Solve K y = rhs by elimination without exchange of rows: every pivot lies on the diagonal.

    Of a symmetric K only one triangle is computed; the other shares its nodes.
    """
    n = K.shape[0]
    rows: list[dict[int, ca.SX]] = [{} for _ in range(n)]
    for i, j in zip(*K.sparsity().get_triplet(), strict=True):
        entry = K[i, j]
        if not entry.is_zero():
            rows[i][j] = entry
    right = [rhs[i, :] for i in range(n)]
    left = set(range(n))
    order: list[int] = []
    while left:
        p = _next_pivot(rows, left, nv)
        left.remove(p)
        order.append(p)
        pivot_row = {j: v for j, v in rows[p].items() if j in left}
        inverse = 1 / rows[p][p]
        column = {i: rows[i].pop(p) for i in sorted(left) if p in rows[i]}
        for i, below in column.items():
            factor = below * inverse
            for j, value in pivot_row.items():
                if symmetric and j < i:
                    continue
                entry = rows[i].get(j, ca.SX(0)) - factor * value
                for row, column in {(i, j), (j, i)} if symmetric else {(i, j)}:
                    if entry.is_zero():
                        rows[row].pop(column, None)
                    else:
                        rows[row][column] = entry
            right[i] = right[i] - factor * right[p]
        rows[p] = {**pivot_row, p: inverse}
    solution: list[ca.SX] = [ca.SX(0)] * n
    for p in reversed(order):
        total = right[p]
        for j, value in rows[p].items():
            if j != p:
                total = total - value * solution[j]
        solution[p] = total * rows[p][p]
    return ca.vertcat(*solution)


def _next_pivot(rows: list[dict[int, ca.SX]], left: set[int], nv: int) -> int:
    candidates = [i for i in sorted(left) if i in rows[i]]
    for i in candidates:
        pivot = rows[i][i]
        if pivot.is_constant() and abs(float(pivot)) > _ROUND_OFF:
            return i
    for i in candidates:
        if i < nv:
            return i
    if candidates:
        return candidates[0]
    raise InputError("constraints", len(left), "independent rows: the system of motion is structurally singular")
