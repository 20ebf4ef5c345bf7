"""Coefficients of the explicit Runge-Kutta methods, their error estimates and their dense output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, choice

METHODS = ("dop853", "dopri5", "rk4")


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method with s stages.

    Stages ``K_i = f(t + c_i h, x + h sum_j A_ij K_j)``, step ``x + h sum_i b_i K_i``; row s of K is the rate at the
    step's end, rows after it are `extra` evaluations for dense output only. With theta in [0, 1] the dense output is

        ``x(t + theta h) = x + theta (F0 + (1 - theta) (F1 + theta (F2 + (1 - theta) (F3 + ...))))``,

    F0 = x_new - x, F1 = h K_0 - F0, F2 = 2 F0 - h (K_s + K_0) (the cubic Hermite polynomial),
    F_{3+r} = h sum_i D_ri K_i.

    Attributes
    ----------
    name : str
    order : int
        Order of the step: the error over a fixed time falls with h^order, that of the dense output too.
    A, b, c : (s, s), (s,), (s,)
    E : (r, s + 1)
        Weights of the error estimates; none for a fixed-step method, one, or Hairer's pair (order 5, order 3).
    error_exponent : float
        1 / (order of the error estimate + 1).
    A_extra, c_extra : (e, s + 1 + e), (e,)
    D : (d, s + 1 + e)
    points : int
        Inner points of a step at which margins are looked at.
    """

    name: str
    order: int
    A: FloatArray
    b: FloatArray
    c: FloatArray
    E: FloatArray
    error_exponent: float
    A_extra: FloatArray
    c_extra: FloatArray
    D: FloatArray
    points: int

    @property
    def stages(self) -> int:
        """Number of stages s of a step."""
        return len(self.b)

    @property
    def extra(self) -> int:
        """Number of evaluations only the dense output needs."""
        return len(self.c_extra)


@lru_cache(maxsize=8)
def tableau(method: str) -> Tableau:
    """Return the coefficients of ``dop853``, ``dopri5`` or ``rk4``.

    Sources: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.1 (rk4), II.5 (dopri5, dop853),
    II.6 (dense output); the numbers of the last two are read from SciPy.
    """
    choice("method", method, METHODS)
    return {"rk4": _rk4, "dopri5": _dopri5, "dop853": _dop853}[method]()


def _rk4() -> Tableau:
    A = np.zeros((4, 4))
    A[1, 0] = A[2, 1] = 0.5
    A[3, 2] = 1.0
    return _tableau("rk4", 4, A, np.array([1.0, 2.0, 2.0, 1.0]) / 6.0, np.array([0.0, 0.5, 0.5, 1.0]), points=1)


def _dopri5() -> Tableau:
    from scipy.integrate import RK45

    A = np.zeros((6, 6))
    A[:, :5] = RK45.A
    # x(theta) = x + h sum_j (K' P)_j theta^(j+1): beyond Hermite only theta^2 (1 - theta)^2 F3 has the power 4.
    D = RK45.P[:, 3][None, :]
    return _tableau("dopri5", 5, A, RK45.B, RK45.C, E=RK45.E[None, :], error_exponent=1 / 5, D=D, points=4)


def _dop853() -> Tableau:
    from scipy.integrate._ivp import dop853_coefficients as table

    s = table.N_STAGES
    E = np.array([table.E5, table.E3])
    return _tableau(
        "dop853",
        8,
        table.A[:s, :s],
        table.B,
        table.C[:s],
        E=E,
        error_exponent=1 / 8,
        A_extra=table.A[s + 1 :],
        c_extra=table.C[s + 1 :],
        D=table.D,
        points=7,
    )


def _tableau(
    name: str,
    order: int,
    A: FloatArray,
    b: FloatArray,
    c: FloatArray,
    *,
    points: int,
    E: ArrayLike = (),
    error_exponent: float = 0.0,
    A_extra: ArrayLike = (),
    c_extra: ArrayLike = (),
    D: ArrayLike = (),
) -> Tableau:
    s = len(b)
    rows = s + 1 + np.size(c_extra)
    widths = (A, s), (E, s + 1), (A_extra, rows), (D, rows)
    A, E, A_extra, D = (np.array(M, dtype=np.float64, order="C").reshape(-1, width) for M, width in widths)
    b, c, c_extra = (np.array(values, dtype=np.float64) for values in (b, c, c_extra))
    for value in (A, b, c, E, A_extra, c_extra, D):
        value.setflags(write=False)
    return Tableau(name, order, A, b, c, E, error_exponent, A_extra, c_extra, D, points)
