"""Regulators about equilibria: gains of an infinite horizon on the local error and on integrals of some of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control.regulators.linearization import Linearization, dynamics_of
from trundle.control.regulators.local_error import LocalError
from trundle.errors import InputError
from trundle.numerics.reach import growth, reachable
from trundle.numerics.riccati import sampled_regulator
from trundle.threads import cached_property

_REST = 1e-6  # of the scale of rates: a slower reference counts as an equilibrium
_DRIFT = 1e-4
"""Rates (1/s) below which what grows is a drift: e times as large in three hours at the soonest."""
_NEAR = 1e-2
"""Farthest (m, rad, chart units) that an equilibrium may be from the state it belongs to."""
_NEWTON = 8  # steps of Newton's method
_NONE = np.zeros((0, 0))


@dataclass(frozen=True)
class Regulator:
    """u = -K (e, z), z' = C e: gains K (n_used, n_e + n_z) and cost S (n_e + n_z, n_e + n_z) of an infinite horizon.

    ``reachable`` (n_e, n_c), orthonormal: the directions of e that inputs can move. A body that rolls at rest keeps
    some for ever (of a sphere, contact minus radius times rotation): they cost nothing here. ``C`` (n_z, n_e) picks
    the numbers of e that are integrated; there may be none.
    """

    K: FloatArray
    S: FloatArray
    reachable: FloatArray
    C: FloatArray = field(default_factory=_NONE.copy)

    @cached_property
    def begin(self) -> FloatArray:
        """G (n_z, n_e): z = G e makes (e, z)'S (e, z) least, -S_zz^-1 S_ze."""
        n = self.C.shape[1]
        if not len(self.C):
            return self.C
        return np.asarray(-np.linalg.solve(self.S[n:, n:], self.S[n:, :n]), dtype=np.float64)

    @cached_property
    def least(self) -> FloatArray:
        """S (n_e, n_e) of that least cost, S_ee - S_ez S_zz^-1 S_ze."""
        n = self.C.shape[1] if len(self.C) else len(self.S)
        S = self.S[:n, :n] + self.S[:n, n:] @ self.begin if len(self.C) else self.S
        return (S + S.T) / 2


def at_rest(error: LocalError, x: FloatArray) -> bool:
    """Whether a state in rolling coordinates stays as it is while the hand does not accelerate."""
    rate = error.twin.system.keep(("rest", error.atlas), lambda: _rest(error))
    scale = 1.0 + float(np.linalg.norm(error.pair.gravity))
    return float(np.linalg.norm(np.asarray(rate(x)[0]))) < _REST * scale


def nearest_equilibrium(error: LocalError, x: FloatArray) -> FloatArray | None:
    """Return the equilibrium next to a state (rolling coordinates): no velocity, a pose that stays.

    Newton steps of least length in the pose, until nothing accelerates.

    Returns
    -------
    (n_x,) or None
        None if there is none within a hundredth (m, rad, chart units) of the pose.
    """
    layout = error.model.layout
    moving = np.zeros(len(x), dtype=bool)
    for name, place in layout.items():
        moving[place] = name.rsplit(".", 1)[-1] in ("twist", "relative_velocity")
    still = np.where(moving, 0.0, x)
    found = still.copy()
    rate = error.twin.system.keep(("rest", error.atlas), lambda: _rest(error))
    for _ in range(_NEWTON):
        speeds, slopes = (np.asarray(value) for value in rate(found))
        if not (np.all(np.isfinite(speeds)) and np.all(np.isfinite(slopes))):
            return None
        found[~moving] -= np.linalg.lstsq(slopes[np.ix_(moving, ~moving)], speeds[moving, 0], rcond=1e-6)[0]
    near = bool(np.max(np.abs(found - still)) < _NEAR)
    return found if near and at_rest(error, found) else None


def _rest(error: LocalError) -> ca.Function:
    """Return the function x -> x' without input, dx'/dx."""
    model = error.model
    rate = ca.Function("rate", [model.x, model.u], [dynamics_of(error).xdot])(model.x, ca.SX.zeros(error.inputs))
    return ca.Function("rest", [model.x], [rate, ca.densify(ca.jacobian(rate, model.x))])


def regulator_at(
    error: LocalError,
    x: FloatArray,
    Q: FloatArray,
    R: FloatArray,
    used: tuple[int, ...],
    period: float,
    integral: FloatArray | None = None,
) -> Regulator:
    """Return the regulator about an equilibrium `x` (rolling coordinates) for inputs held for `period` (s).

    Only what inputs can move is regulated; the rest may be marginal, it cannot be stabilised. `integral` (n_e, n_e),
    diagonal: weights of the integrals of e, which bring the numbers of e that weigh something back to zero whatever
    constant disturbance there is; those that inputs do not reach are left out.

    Raises
    ------
    InputError
        If some unstable motion is out of the inputs' reach, or no gain stabilises what they reach.
    """
    columns = list(used)
    A, B = Linearization(error).along(x[None], np.zeros((1, error.inputs)))
    A, B = A[0], B[0][:, columns]
    V = check_reachable(A, B, "freedoms")
    R = R[np.ix_(columns, columns)]
    n, weights = len(A), np.zeros(len(A)) if integral is None else np.diagonal(integral)
    C = _find_integrable_rows(A, B, np.eye(n)[weights > 0])
    A, B = _augment_system(A, B, C)
    Q = np.block([[Q, np.zeros((n, len(C)))], [np.zeros((len(C), n)), C @ np.diag(weights) @ C.T]])
    U = reachable(A, B) if len(C) else V
    K, S = sampled_regulator(U.T @ A @ U, U.T @ B, U.T @ Q @ U, R, period)
    return Regulator(K @ U.T, U @ S @ U.T, V, C)


def _augment_system(A: FloatArray, B: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray]:
    n, k = len(A), len(C)
    return np.block([[A, np.zeros((n, k))], [C, np.zeros((k, k))]]), np.vstack([B, np.zeros((k, B.shape[1]))])


def _find_integrable_rows(A: FloatArray, B: FloatArray, C: FloatArray) -> FloatArray:
    """Return the rows of C whose integrals inputs can bring to any value."""
    if not len(C):
        return C
    U = reachable(*_augment_system(A, B, C))
    return C[np.linalg.norm(U[len(A) :], axis=1) > 1 - 1e-6]


def check_reachable(A: FloatArray, B: FloatArray, key: str) -> FloatArray:
    """Return what `reachable` does; raise an error of `key` where something else runs away."""
    V = reachable(A, B)
    W = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
    rate = growth(W.T @ A @ W)
    if rate > _DRIFT:
        allowed = f"inputs that stop what runs away at {rate:.3g} 1/s: these cannot move it"
        raise InputError(key, f"{B.shape[1]} inputs", allowed)
    return V
