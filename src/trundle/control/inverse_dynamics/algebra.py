"""The few matrix operations that inverse dynamics is assembled with, for arrays and for expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.compiled.ldl import solve_kkt

_NONE = np.zeros(0)


class Numbers:
    """Matrix algebra of arrays: vectors are (n,)."""

    @staticmethod
    def above(parts: Sequence[Any], columns: int) -> Any:
        """Return matrices stacked, each with `columns` columns."""
        return np.vstack([np.zeros((0, columns)), *parts])

    @staticmethod
    def beside(*parts: Any) -> Any:
        """Return matrices and vectors side by side."""
        return np.column_stack(parts)

    @staticmethod
    def stacked(parts: Sequence[Any]) -> Any:
        """Return vectors one after the other."""
        return np.concatenate([_NONE, *(part if getattr(part, "ndim", 0) else [part] for part in parts)])

    @staticmethod
    def constant(value: FloatArray) -> Any:
        """Return an array of numbers in this algebra."""
        return value

    @staticmethod
    def value(matrix: Any) -> FloatArray:
        """Return the numbers of a constant matrix."""
        return np.asarray(matrix, dtype=float)

    @staticmethod
    def placed(A: Any, columns: slice, n: int) -> Any:
        """Return n columns that are zero but for these, which are A."""
        matrix = np.zeros((A.shape[0], n))
        matrix[:, columns] = A
        return matrix

    @staticmethod
    def scaled(weight: Any, T: Any) -> Any:
        """Return diag(weight) T."""
        return weight[:, None] * T

    @staticmethod
    def larger(a: Any, b: Any) -> Any:
        """Return the larger of each pair of entries."""
        return np.maximum(a, b)

    @staticmethod
    def smaller(a: Any, b: Any) -> Any:
        """Return the smaller of each pair of entries."""
        return np.minimum(a, b)

    @staticmethod
    def motion(M: Any, J: Any, G: Any, D: Any, top: Any, bottom: Any) -> tuple[Any, Any]:
        """Solve M a - G'lam = top, J a + D lam = bottom; dependent rows give non-finite or huge values, no error."""
        nv = M.shape[0]
        K = np.block([[M, -G.T], [J, D]])
        try:
            solution = np.linalg.solve(K, np.vstack((top, bottom)))
        except np.linalg.LinAlgError:
            solution = np.full((len(K), top.shape[1]), np.nan)
        return solution[:nv], solution[nv:]


class Expressions:
    """Matrix algebra of CasADi expressions: vectors are (n, 1)."""

    @staticmethod
    def above(parts: Sequence[Any], columns: int) -> Any:
        """Return matrices stacked, each with `columns` columns."""
        return ca.vertcat(ca.SX(0, columns), *parts)

    @staticmethod
    def beside(*parts: Any) -> Any:
        """Return matrices and vectors side by side."""
        return ca.horzcat(*parts)

    @staticmethod
    def stacked(parts: Sequence[Any]) -> Any:
        """Return vectors one after the other."""
        return ca.vertcat(
            ca.SX(0, 1), *(ca.SX(ca.DM(part)) if isinstance(part, np.ndarray) else part for part in parts)
        )

    @staticmethod
    def constant(value: FloatArray) -> Any:
        """Return an array of numbers in this algebra."""
        return ca.sparsify(ca.SX(ca.DM(value)))

    @staticmethod
    def value(matrix: Any) -> FloatArray:
        """Return the numbers of a constant matrix."""
        if not matrix.is_constant():
            raise InputError("S", "an expression", "constant numbers: which torque acts on which velocity")
        return np.array(ca.DM(matrix))

    @staticmethod
    def placed(A: Any, columns: slice, n: int) -> Any:
        """Return n columns that are zero but for these, which are A."""
        rows = A.shape[0]
        return ca.horzcat(ca.SX(rows, columns.start), A, ca.SX(rows, n - columns.stop))

    @staticmethod
    def scaled(weight: Any, T: Any) -> Any:
        """Return diag(weight) T."""
        return ca.diag(weight) @ T

    @staticmethod
    def larger(a: Any, b: Any) -> Any:
        """Return the larger of each pair of entries."""
        return ca.fmax(a, b)

    @staticmethod
    def smaller(a: Any, b: Any) -> Any:
        """Return the smaller of each pair of entries."""
        return ca.fmin(a, b)

    @staticmethod
    def motion(M: Any, J: Any, G: Any, D: Any, top: Any, bottom: Any) -> tuple[Any, Any]:
        """Solve M a - G'lam = top, J a + D lam = bottom (D diagonal) for several right-hand sides."""
        return solve_kkt(M, J, top, bottom, None if G is J else G, ca.diag(D) if D.nnz() else 0.0)
