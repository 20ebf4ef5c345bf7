"""Sparse symbolic elimination of the equations of motion, with pivots chosen by kind, never by magnitude."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from trundle.errors import InputError

_ROUND_OFF = 1e-12  # constant pivots below it are zeros


Solver = Callable[[ca.SX, ca.SX], tuple[ca.SX, ca.SX]]


def solve_kkt(
    M: ca.SX, J: ca.SX, top: ca.SX, bottom: ca.SX, G: ca.SX | None = None, proximal: float | ca.SX = 0.0
) -> tuple[ca.SX, ca.SX]:
    """Solve M a - G'lam = top, J a + proximal lam = bottom, with G = J unless given; see `kkt_solver`.

    Parameters
    ----------
    top, bottom : (nv,), (m,)
        Or several right-hand sides: (nv, k), (m, k).

    Returns
    -------
    a, lam : (nv,), (m,), or (nv, k), (m, k)
    """
    return kkt_solver(M, J, G, proximal)(top, bottom)


def kkt_solver(
    M: ca.SX, J: ca.SX, G: ca.SX | None = None, proximal: float | ca.SX = 0.0, *, leaves_first: bool = False
) -> Solver:
    """Return the map from (top, bottom) to (a, lam), M a - G'lam = top, J a + proximal lam = bottom; eliminated once.

    Gaussian elimination on the sparsity pattern with pivots in the order: constants, then inertia, then
    multipliers. A mass is a constant pivot, so for one free body this is the 3 x 3 (plane: scalar)
    reduction in theory, "One body on a hand", and costs 0.4 of ``casadi.solve``.

    Parameters
    ----------
    M : (nv, nv)
        Symmetric positive definite inertia.
    J, G : (m, nv)
        Constrained and pushed directions.
    proximal : float, or (m,) or (m, m) expressions
        Adds -proximal I to the multiplier block (unique multipliers for redundant rows; rows of zeros in J and G
        with a one here have no multiplier), or a matrix; that of a symmetric system is symmetric.
    leaves_first : bool
        Take the inertia's pivots from the last to the first instead. Where columns are those of a tree's joints,
        each after its parent's, that fills no zero of M (Featherstone 2008, sec. 6.5).
    """
    nv, m = M.shape[0], J.shape[0]
    push = J if G is None else G
    if isinstance(proximal, ca.SX):
        corner = -(ca.diag(proximal) if proximal.shape[1] == 1 else proximal)
    else:
        corner = -proximal * ca.SX.eye(m) if proximal else ca.SX(m, m)
    K = ca.vertcat(ca.horzcat(M, push.T), ca.horzcat(J, corner))
    steps = _eliminate(K, nv, G is None, leaves_first)

    factors = ca.vertcat(*(ca.vec(part) for step in steps for part in (step.inverse, step.factors, step.row.T)))
    substitutions: dict[int, ca.Function] = {}

    def solver(top: ca.SX, bottom: ca.SX) -> tuple[ca.SX, ca.SX]:
        rhs = ca.vertcat(top, bottom)
        if rhs.shape[1] not in substitutions:
            substitutions[rhs.shape[1]] = _substitution(steps, factors, rhs.shape[1])
        solution = substitutions[rhs.shape[1]](factors, rhs)
        return solution[:nv, :], -solution[nv:, :]

    return solver


@dataclass(frozen=True)
class _Step:
    """One pivot: its number, 1/pivot, the factors (k, 1) of rows below and the rest (1, m) of its own, by numbers."""

    pivot: int
    inverse: ca.SX
    below: list[int]
    factors: ca.SX
    right: list[int]
    row: ca.SX


def _eliminate(K: ca.SX, nv: int, symmetric: bool, leaves_first: bool) -> list[_Step]:
    """Elimination without exchange of rows: every pivot lies on the diagonal.

    Of a symmetric K only one triangle is computed; the other shares its nodes.
    """
    rest, left = ca.sparsify(K), list(range(K.shape[0]))
    steps: list[_Step] = []
    while left:
        p = max(i for i in left if i < nv) if leaves_first and left[0] < nv else _next_pivot(rest, left)
        left.remove(p)
        right = [j for j in left if rest.has_nz(p, j)]
        below = right if symmetric else [i for i in left if rest.has_nz(i, p)]
        inverse = 1 / rest[p, p]
        row = rest[p, right]
        factors = (row.T if symmetric else rest[below, p]) * inverse
        steps.append(_Step(p, inverse, below, factors, right, row))
        if below and right:
            done = rest[below, right] - factors @ row
            rest[below, right] = ca.sparsify(ca.triu(done) + ca.triu(done, False).T if symmetric else done)
    return steps


def _substitution(steps: list[_Step], factors: ca.SX, count: int) -> ca.Function:
    """Return (factors, right-hand sides) -> solution: to call it is quicker than to write it out again."""
    given, right = ca.SX.sym("factors", factors.shape[0]), ca.SX.sym("right", len(steps), count)
    rest, solution, at = ca.SX(right), ca.SX(*right.shape), 0
    taken = []
    for step in steps:
        n, m = len(step.below), len(step.right)
        inverse, below, row = given[at], given[at + 1 : at + 1 + n], given[at + 1 + n : at + 1 + n + m]
        at += 1 + n + m
        taken.append((inverse, row.T))
        if n:
            rest[step.below, :] -= below @ rest[step.pivot, :]
    for step, (inverse, row) in zip(reversed(steps), reversed(taken), strict=True):
        known = row @ solution[step.right, :] if step.right else 0.0
        solution[step.pivot, :] = (rest[step.pivot, :] - known) * inverse
    return ca.Function("substitution", [given, right], [ca.densify(solution)])


def _next_pivot(rest: ca.SX, left: list[int]) -> int:
    candidates = [i for i in left if rest.has_nz(i, i)]
    for i in candidates:
        pivot = rest[i, i]
        if pivot.is_constant() and abs(float(pivot)) > _ROUND_OFF:
            return i
    if candidates:
        return candidates[0]  # ascending: of inertia, if any is left
    raise InputError("constraints", len(left), "independent rows: the system of motion is structurally singular")
