"""The few matrix operations that inverse dynamics is assembled with, for arrays and for expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.compiled.ldl import solve_kkt

Matrix = FloatArray | ca.SX
"""A matrix or vector: numbers, or a CasADi expression."""
MatrixT = TypeVar("MatrixT", FloatArray, ca.SX)
_NONE = np.zeros(0)


class Algebra(Protocol[MatrixT]):
    """What the assembly needs of matrices beside +, - and @: see `Numbers` and `Expressions`."""

    def above(self, parts: Sequence[MatrixT], columns: int) -> MatrixT:
        """Return matrices stacked, each with `columns` columns."""
        ...

    def beside(self, *parts: MatrixT) -> MatrixT:
        """Return matrices and vectors side by side."""
        ...

    def stacked(self, parts: Sequence[MatrixT]) -> MatrixT:
        """Return vectors one after the other."""
        ...

    def constant(self, value: FloatArray) -> MatrixT:
        """Return an array of numbers in this algebra."""
        ...

    def of(self, value: Matrix | float) -> MatrixT:
        """Return a matrix that is known to be of this algebra, or a number."""
        ...

    def value(self, matrix: MatrixT) -> FloatArray:
        """Return the numbers of a constant matrix."""
        ...

    def placed(self, A: MatrixT, columns: slice, n: int) -> MatrixT:
        """Return n columns that are zero but for these, which are A."""
        ...

    def scaled(self, weight: MatrixT, T: MatrixT) -> MatrixT:
        """Return diag(weight) T."""
        ...

    def larger(self, a: MatrixT, b: MatrixT) -> MatrixT:
        """Return the larger of each pair of entries."""
        ...

    def smaller(self, a: MatrixT, b: MatrixT) -> MatrixT:
        """Return the smaller of each pair of entries."""
        ...

    def motion(
        self, M: MatrixT, J: MatrixT, G: MatrixT, D: MatrixT, top: MatrixT, bottom: MatrixT
    ) -> tuple[MatrixT, MatrixT]:
        """Solve M a - G'lam = top, J a + D lam = bottom."""
        ...


class Numbers:
    """FloatArray algebra of arrays: vectors are (n,)."""

    @staticmethod
    def above(parts: Sequence[FloatArray], columns: int) -> FloatArray:
        """Return matrices stacked, each with `columns` columns."""
        return np.vstack([np.zeros((0, columns)), *parts])

    @staticmethod
    def beside(*parts: FloatArray) -> FloatArray:
        """Return matrices and vectors side by side."""
        return np.column_stack(parts)

    @staticmethod
    def stacked(parts: Sequence[FloatArray]) -> FloatArray:
        """Return vectors one after the other."""
        return np.concatenate([_NONE, *(part if getattr(part, "ndim", 0) else [part] for part in parts)])

    @staticmethod
    def constant(value: FloatArray) -> FloatArray:
        """Return an array of numbers in this algebra."""
        return value

    @staticmethod
    def of(value: Matrix | float) -> FloatArray:
        """Return the array that a limit or task holds."""
        if isinstance(value, ca.SX):
            raise InputError("tasks", "an expression", "numbers, as the equations of motion are")
        return np.asarray(value)

    @staticmethod
    def value(matrix: FloatArray) -> FloatArray:
        """Return the numbers of a constant matrix."""
        return np.asarray(matrix, dtype=float)

    @staticmethod
    def placed(A: FloatArray, columns: slice, n: int) -> FloatArray:
        """Return n columns that are zero but for these, which are A."""
        matrix = np.zeros((A.shape[0], n))
        matrix[:, columns] = A
        return matrix

    @staticmethod
    def scaled(weight: FloatArray, T: FloatArray) -> FloatArray:
        """Return diag(weight) T."""
        return weight[:, None] * T

    @staticmethod
    def larger(a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the larger of each pair of entries."""
        return np.maximum(a, b)

    @staticmethod
    def smaller(a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the smaller of each pair of entries."""
        return np.minimum(a, b)

    @staticmethod
    def motion(
        M: FloatArray, J: FloatArray, G: FloatArray, D: FloatArray, top: FloatArray, bottom: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Solve M a - G'lam = top, J a + D lam = bottom; dependent rows give non-finite or huge values, no error."""
        nv = M.shape[0]
        K = np.block([[M, -G.T], [J, D]])
        try:
            solution = np.asarray(np.linalg.solve(K, np.vstack((top, bottom))), dtype=np.float64)
        except np.linalg.LinAlgError:
            solution = np.full((len(K), top.shape[1]), np.nan)
        return solution[:nv], solution[nv:]


class Expressions:
    """ca.SX algebra of CasADi expressions: vectors are (n, 1)."""

    @staticmethod
    def above(parts: Sequence[ca.SX], columns: int) -> ca.SX:
        """Return matrices stacked, each with `columns` columns."""
        return ca.vertcat(ca.SX(0, columns), *parts)

    @staticmethod
    def beside(*parts: ca.SX) -> ca.SX:
        """Return matrices and vectors side by side."""
        return ca.horzcat(*parts)

    @staticmethod
    def stacked(parts: Sequence[ca.SX]) -> ca.SX:
        """Return vectors one after the other."""
        return ca.vertcat(
            ca.SX(0, 1), *(ca.SX(ca.DM(part)) if isinstance(part, np.ndarray) else part for part in parts)
        )

    @staticmethod
    def constant(value: FloatArray) -> ca.SX:
        """Return an array of numbers in this algebra."""
        return ca.sparsify(ca.SX(ca.DM(value)))

    @staticmethod
    def of(value: Matrix | float) -> ca.SX:
        """Return the expression that a limit or task holds, or a number as one."""
        return value if isinstance(value, ca.SX) else ca.SX(ca.DM(value))

    @staticmethod
    def value(matrix: ca.SX) -> FloatArray:
        """Return the numbers of a constant matrix."""
        if not matrix.is_constant():
            raise InputError("S", "an expression", "constant numbers: which torque acts on which velocity")
        return np.array(ca.DM(matrix))

    @staticmethod
    def placed(A: ca.SX, columns: slice, n: int) -> ca.SX:
        """Return n columns that are zero but for these, which are A."""
        rows = A.shape[0]
        return ca.horzcat(ca.SX(rows, columns.start), A, ca.SX(rows, n - columns.stop))

    @staticmethod
    def scaled(weight: ca.SX, T: ca.SX) -> ca.SX:
        """Return diag(weight) T."""
        return ca.diag(weight) @ T

    @staticmethod
    def larger(a: ca.SX, b: ca.SX) -> ca.SX:
        """Return the larger of each pair of entries."""
        return ca.fmax(a, b)

    @staticmethod
    def smaller(a: ca.SX, b: ca.SX) -> ca.SX:
        """Return the smaller of each pair of entries."""
        return ca.fmin(a, b)

    @staticmethod
    def motion(M: ca.SX, J: ca.SX, G: ca.SX, D: ca.SX, top: ca.SX, bottom: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Solve M a - G'lam = top, J a + D lam = bottom (D diagonal) for several right-hand sides."""
        return solve_kkt(M, J, top, bottom, None if G is J else G, ca.diag(D) if D.nnz() else 0.0)
