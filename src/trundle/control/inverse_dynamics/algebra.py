"""The few matrix operations that inverse dynamics is assembled with, for arrays and for expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.compiled.ldl import solve_kkt

Matrix = FloatArray | ca.SX
"""A matrix or vector: numbers, or a CasADi expression."""
MatrixT = TypeVar("MatrixT", FloatArray, ca.SX)
_NONE = np.zeros(0)
_SINGULAR = 1e-13
"""Reciprocal condition number at which a matrix is singular: three digits of a solution would be left, or fewer."""


@dataclass(frozen=True)
class Algebra(Generic[MatrixT]):
    """What the assembly needs of matrices beside +, - and @: see `Numbers` and `Expressions`."""

    above: Callable[[Sequence[MatrixT], int], MatrixT]
    """Matrices stacked, each with as many columns."""
    beside: Callable[..., MatrixT]
    """Matrices and vectors side by side."""
    stacked: Callable[[Sequence[MatrixT]], MatrixT]
    """Vectors one after the other."""
    constant: Callable[[FloatArray], MatrixT]
    """An array of numbers in this algebra."""
    of: Callable[[Matrix | float], MatrixT]
    """A matrix that is known to be of this algebra, or a number."""
    value: Callable[[MatrixT], FloatArray]
    """The numbers of a constant matrix."""
    placed: Callable[[MatrixT, slice, int], MatrixT]
    """As many columns, zero but for these."""
    scaled: Callable[[MatrixT, MatrixT], MatrixT]
    """diag(weight) T of `weight` and T."""
    above_round_off: Callable[[MatrixT, MatrixT], MatrixT]
    """T with zeros for the rows whose entries add up to no more than the numbers of a vector; NaN stays."""
    larger: Callable[[MatrixT, MatrixT], MatrixT]
    """The larger of each pair of entries."""
    smaller: Callable[[MatrixT, MatrixT], MatrixT]
    """The smaller of each pair of entries."""
    motion: Callable[[MatrixT, MatrixT, MatrixT, MatrixT, MatrixT, MatrixT], tuple[MatrixT, MatrixT]]
    """a, lam of M a - G'lam = top, J a + D lam = bottom, by M, J, G, D, top, bottom."""


def _array(value: Matrix | float) -> FloatArray:
    if isinstance(value, ca.SX):
        raise InputError("tasks", "an expression", "numbers, as the equations of motion are")
    return np.asarray(value)


def _array_placed(A: FloatArray, columns: slice, n: int) -> FloatArray:
    matrix = np.zeros((A.shape[0], n))
    matrix[:, columns] = A
    return matrix


def _array_motion(
    M: FloatArray, J: FloatArray, G: FloatArray, D: FloatArray, top: FloatArray, bottom: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Both are NaN where the matrix is singular but for round-off, rows and columns scaled: the same in all units."""
    from scipy.linalg.lapack import dgesvx

    K, right = np.block([[M, -G.T], [J, D]]), np.vstack((top, bottom))
    if K.size == 0:
        return right[: len(M)], right[len(M) :]
    *_, solution, reciprocal_condition, _, _, _ = dgesvx(K, right, fact="E")
    if not reciprocal_condition > _SINGULAR:
        solution = np.full(right.shape, np.nan)
    return solution[: len(M)], solution[len(M) :]


Numbers: Algebra[FloatArray] = Algebra(
    above=lambda parts, columns: np.vstack([np.zeros((0, columns)), *parts]),
    beside=lambda *parts: np.column_stack(parts),
    stacked=lambda parts: np.concatenate([_NONE, *(one if getattr(one, "ndim", 0) else [one] for one in parts)]),
    constant=lambda value: value,
    of=_array,
    value=lambda matrix: np.asarray(matrix, dtype=float),
    placed=_array_placed,
    scaled=lambda weight, T: weight[:, None] * T,
    above_round_off=lambda T, least: np.where((np.abs(T).sum(axis=1) <= least)[:, None], 0.0, T),
    larger=np.maximum,
    smaller=np.minimum,
    motion=_array_motion,
)
"""Algebra of arrays: vectors are (n,)."""


def _numbers_of(matrix: ca.SX) -> FloatArray:
    if not matrix.is_constant():
        raise InputError("S", "an expression", "constant numbers: which torque acts on which velocity")
    return np.array(ca.DM(matrix))


Expressions: Algebra[ca.SX] = Algebra(
    above=lambda parts, columns: ca.vertcat(ca.SX(0, columns), *parts),
    beside=lambda *parts: ca.horzcat(*parts),
    stacked=lambda parts: ca.vertcat(
        ca.SX(0, 1), *(ca.SX(ca.DM(part)) if isinstance(part, np.ndarray) else part for part in parts)
    ),
    constant=lambda value: ca.sparsify(ca.SX(ca.DM(value))),
    of=lambda value: value if isinstance(value, ca.SX) else ca.SX(ca.DM(value)),
    value=_numbers_of,
    placed=lambda A, columns, n: ca.horzcat(ca.SX(A.shape[0], columns.start), A, ca.SX(A.shape[0], n - columns.stop)),
    scaled=lambda weight, T: ca.diag(weight) @ T,
    above_round_off=lambda T, least: ca.diag(ca.if_else(ca.sum2(ca.fabs(T)) <= least, 0.0, 1.0)) @ T,
    larger=ca.fmax,
    smaller=ca.fmin,
    motion=lambda M, J, G, D, top, bottom: solve_kkt(M, J, top, bottom, None if G is J else G, D if D.nnz() else 0.0),
)
"""Algebra of CasADi expressions: vectors are (n, 1)."""
