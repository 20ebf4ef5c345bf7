"""BalancingLQR: keeps a pair at an equilibrium by the gains of an infinite horizon on the local error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, positive
from trundle.control.hand_inputs import InputLimit, hand_freedoms
from trundle.control.linearization import Linearization, dynamics_of
from trundle.control.local_error import LocalError
from trundle.control.rolling_state import in_rolling_coordinates
from trundle.errors import InputError
from trundle.models.rolling_pair import RollingPair
from trundle.models.system import Start
from trundle.numerics.riccati import sampled_regulator

_REST = 1e-6
_RANK = 1e-9


@dataclass(frozen=True)
class Regulator:
    """u = -K e: gains K (n_used, n_e) and cost S (n_e, n_e) of an infinite horizon.

    ``reached`` (n_e, n_c), orthonormal: the directions of e that inputs can move. A body that rolls at rest keeps
    some for ever (of a sphere, contact minus radius times rotation): they cost nothing here.
    """

    K: FloatArray
    S: FloatArray
    reached: FloatArray


def at_rest(error: LocalError, x: FloatArray) -> bool:
    """Whether a state in rolling coordinates stays as it is while the hand does not accelerate."""
    model = error.model
    rate = ca.Function("rate", [model.x, model.u], [dynamics_of(error).xdot])
    scale = 1.0 + float(np.linalg.norm(error.pair.gravity))
    return float(np.linalg.norm(np.asarray(rate(x, np.zeros(error.inputs))))) < _REST * scale


def regulator_at(
    error: LocalError, x: FloatArray, Q: FloatArray, R: FloatArray, used: tuple[int, ...], period: float
) -> Regulator:
    """Return the regulator about an equilibrium `x` (rolling coordinates) for inputs held for `period` (s).

    Only what inputs can move is regulated; the rest may be marginal, it cannot be stabilised.

    Raises
    ------
    InputError
        If some unstable motion is out of the inputs' reach, or no gain stabilises what they reach.
    """
    columns = list(used)
    A, B = Linearization(error).along(x[None], np.zeros((1, error.inputs)))
    A, B = A[0], B[0][:, columns]
    V = reachable(A, B)
    W = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
    left = np.linalg.eigvals(W.T @ A @ W).real
    if np.max(left, initial=0.0) > 1e-4:
        rate = float(np.max(left))
        raise InputError(
            "freedoms", columns, f"inputs that stop what runs away at {rate:.3g} 1/s: these cannot move it"
        )
    K, S = sampled_regulator(V.T @ A @ V, V.T @ B, V.T @ Q @ V, R[np.ix_(columns, columns)], period)
    return Regulator(K @ V.T, V @ S @ V.T, V)


def reachable(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return an orthonormal basis (n, n_c) of the states that inputs reach in x' = A x + B u: span(B, A B, A A B, ...).

    Built block by block, each orthogonal to the last, of matrices scaled to norm one.
    """
    n = len(A)
    A = A / max(float(np.linalg.norm(A)), 1e-300)
    V: FloatArray = np.zeros((n, 0))
    block: FloatArray = B / np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    while block.shape[1] and V.shape[1] < n:
        for _ in range(2):
            block = block - V @ (V.T @ block)
        left, sizes, _ = np.linalg.svd(block, full_matrices=False)
        new = left[:, sizes > _RANK]
        V = np.hstack([V, new])
        block = np.asarray(A @ new)
    return V


@dataclass(frozen=True, eq=False)
class BalancingLQR:
    """u = -K e(x_0, x), held for a period: a `Policy` that keeps a pair at an equilibrium x_0 (final).

    Infinite horizon, for the linearised dynamics of the local error (`LocalError`): it knows no chart, so it works
    across the pole of one. Directions that no input can move are left alone (`Regulator`).

    Parameters
    ----------
    pair : RollingPair
        In the coordinates its measured states have.
    state : Start
        The equilibrium, from ``place(...)`` of the pair (in any coordinates).
    Q, R, period, freedoms, input_limit, rolled : see `TrackingLQR`

    Raises
    ------
    InputError
        If `state` is no equilibrium, or what runs away is out of the inputs' reach.
    """

    pair: RollingPair
    state: Start
    Q: Any
    R: Any
    period: float = 1e-3
    freedoms: Any = "all"
    input_limit: Any = None
    rolled: str = "rotation"

    def __post_init__(self) -> None:
        if not isinstance(self.state, Start):
            raise InputError("state", self.state, "a Start, what pair.place(...) returns")
        object.__setattr__(self, "period", positive("period", self.period, "s"))
        if not at_rest(self.error, self.target.x):
            raise InputError("state", self.target.x.tolist(), "an equilibrium: at rest, and balanced")
        _ = self.regulator, self.limit, self._features

    @cached_property
    def target(self) -> Start:
        """The equilibrium in rolling coordinates."""
        return in_rolling_coordinates(self.pair, self.state)

    @cached_property
    def error(self) -> LocalError:
        """The error that is fed back."""
        return LocalError(self.pair, self.target.atlas, self.rolled)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Numbers of the inputs that feedback may use."""
        return hand_freedoms(self.pair.d, self.freedoms)

    @cached_property
    def regulator(self) -> Regulator:
        """Gains and cost."""
        error = self.error
        Q = error.weights("Q", self.Q, error.blocks, definite=False)
        R = error.weights("R", self.R, error.input_blocks, definite=True)
        return regulator_at(error, self.target.x, Q, R, self.used, self.period)

    def reset(self) -> None:
        """Nothing is learned in a run."""

    def deviation(self, time: float, state: FloatArray) -> FloatArray:
        """Return e (n_e,) of a measured state."""
        return self.error.between(self._features, self.error.of_state(state))

    def cost_to_go(self, time: float, state: FloatArray) -> float:
        """Return e'S e, the cost that linear theory expects from a state on."""
        e = self.deviation(time, state)
        return float(e @ self.regulator.S @ e)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) for the measured `state`."""
        u = np.zeros(self.error.inputs)
        u[list(self.used)] = -self.regulator.K @ self.deviation(time, state)
        return self.limit.apply(u)

    @cached_property
    def limit(self) -> InputLimit:
        """Bounds of the input."""
        return InputLimit.of(self.input_limit, self.error.inputs)

    @cached_property
    def _features(self) -> FloatArray:
        return self.error.of_reference(self.target.x)
