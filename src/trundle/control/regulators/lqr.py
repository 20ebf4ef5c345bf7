"""The verb `lqr`: feedback that keeps a robot or a pair at an equilibrium, from weights of named states and inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, non_negative, positive
from trundle.control.regulators.regulation import check_reachable
from trundle.errors import InputError
from trundle.models import LinearModel, RollingPair, RollingTree, Start, linearize
from trundle.models.linear.names import NamedEntry, entries, numbers_of
from trundle.models.linear.point import OperatingPoint, point_of
from trundle.numerics.riccati import sampled_regulator
from trundle.simulate import LinearFeedback

_LEAST = 1e-9
"""Weight, over the largest one, of states that have none: where to leave what no input can move."""

_ROUND = 1e-9  # of the largest singular value: directions below it are round-off of the constraints
_STANDS = 1e-7
"""Acceleration over gravity's, in natural sizes, that counts as none."""


def lqr(
    model: RollingPair | RollingTree,
    start: Start,
    Q: Mapping[str, float],
    R: Mapping[str, float],
    period: float,
    *,
    inputs: ArrayLike | None = None,
    low: ArrayLike = -np.inf,
    high: ArrayLike = np.inf,
) -> LinearFeedback:
    """Return the u = u0 - K dx, held for a period, of least int z'Q z + (u - u0)'R (u - u0) dt about an equilibrium.

    z are the independent coordinates of `linearize`. What no input can move (of a wheel that rolls, place minus radius
    times angle) is left where it costs least.

    Parameters
    ----------
    model : RollingPair or RollingTree (what `Robot.finish` returns)
    start : Start
        The equilibrium, from ``model.place(...)`` or `equilibrium`.
    Q : mapping of state -> weight
        By names of ``linearize(model, start).states``, by those without their last word (``"hand.position"``) for all
        components, by records' (``"joint_position.hip"``), or by a joint or body alone (``"hip"``) for its position;
        1/(unit^2 s). Zero for those left out: of what runs away or stays, something has to have a weight.
    R : mapping of input -> weight
        By names of ``linearize(model, start).inputs``, likewise. Inputs that are left out are not used.
    period : float, s
    inputs : (n_u,)
        u0, which holds the equilibrium; zero unless given.
    low, high : number or (n_u,)
        Limits of the inputs.

    Raises
    ------
    InputError
        If a name is not known, `start` is no equilibrium, something runs away that no input reaches, or weights do
        not see it.

    Examples
    --------
    >>> robot = tr.Robot()
    >>> cart = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")  # kg, kg m2
    >>> _ = robot.revolute(cart, (0, 0), 0.2, 0.005, center_of_mass=(0, 0.5), name="pole", actuated=False)
    >>> tree = robot.finish()
    >>> law = tr.lqr(tree, tree.place(), {"cart.joint": 20.0, "pole.joint": 10.0}, {"cart.torque": 1.0}, 0.02)
    >>> run = tr.simulate(tree, tree.place(pole=0.2), 6.0, policy=law)
    >>> run.status.label, bool(abs(run["joint_position"][-1]).max() < 0.01)
    ('success', True)
    """
    T, linear = positive("period", period, "s"), linearize(model, start, inputs=inputs)
    point, x, _ = point_of(model, start, inputs)
    _refuse_moving(point, x, linear)
    known = {entry.name: entry for entry in entries(point.model, point.model.layout, turns=True)}
    weights, efforts = _weights("Q", Q, [known[name] for name in linear.states]), _weights("R", R, point.inputs)
    held = np.zeros(len(efforts)) if inputs is None else array("inputs", inputs, (len(efforts),))
    return LinearFeedback(T, held[None], _gains(linear, weights, efforts, T), start.x, low, high)


def _refuse_moving(point: OperatingPoint, x: FloatArray, linear: LinearModel) -> None:
    """Raise `InputError` where a state is no equilibrium."""
    turning = linear.steady is not None and any(np.any(rate) for rate in linear.steady.rates.values())
    sizes = point.sizes(x)
    drift = linear.directions @ linear.drift / sizes.entries * sizes.time
    if turning or np.max(np.abs(drift), initial=0.0) > _STANDS:
        raise InputError("start", x.tolist(), "an equilibrium, with the inputs that hold it: see equilibrium()")


def _gains(linear: LinearModel, weights: FloatArray, efforts: FloatArray, period: float) -> FloatArray:
    """Return K (n_u, n_x) of the whole state, zero for inputs without a weight."""
    used = np.flatnonzero(efforts)
    if not len(used):
        raise InputError("R", {}, "positive weights of the inputs to use: " + ", ".join(linear.inputs))
    A, B = linear.A, linear.B[:, used]
    V = check_reachable(A, B, "R")
    try:
        K, _ = sampled_regulator(V.T @ A @ V, V.T @ B, V.T @ (weights[:, None] * V), np.diag(efforts[used]), period)
    except InputError as error:
        if error.key == "period":
            raise
        given = {name: float(weight) for name, weight in zip(linear.states, weights, strict=True) if weight}
        more = ", ".join(name for name in linear.states if name not in given)
        raise InputError("Q", given, f"weights that see all that does not die out by itself: some of {more}") from None
    gains = np.zeros((len(efforts), len(linear.directions)))
    gains[used] = K @ V.T @ (np.eye(len(A)) - _left(A, V, weights)) @ np.linalg.pinv(linear.directions)
    return gains


def _left(A: FloatArray, V: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the projection (n, n) along what inputs reach, V, on the states to stay in: at rest, of least cost.

    With W the complement of V: C = argmin C'Q C over A C = 0, W'C = U, for the U of W that can rest so; W for the rest.
    """
    from scipy.linalg import inv, null_space, orth, pinv, sqrtm

    W, N = null_space(V.T), null_space(A, rcond=_ROUND)
    cost = N.T @ ((weights + _LEAST * max(1.0, float(weights.max())))[:, None] * N)
    U, S = orth(W.T @ N, rcond=_ROUND), np.real(inv(sqrtm(cost)))
    C = N @ S @ pinv(W.T @ N @ S, rtol=_ROUND) @ U
    return (C @ U.T + W @ (np.eye(W.shape[1]) - U @ U.T)) @ W.T


def _weights(key: str, given: Mapping[str, float], known: Sequence[NamedEntry]) -> FloatArray:
    """Return the weights (n,) of entries by any of their names."""
    found = np.zeros(len(known))
    for name, weight in given.items():
        found[numbers_of(key, name, known)] = non_negative(f"{key}.{name}", weight)
    return found
