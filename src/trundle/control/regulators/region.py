"""Region of attraction: the largest level of the cost to go below which a closed loop keeps descending."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, integer, positive
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.linearization import Linearization, dynamics_of
from trundle.errors import InputError
from trundle.numerics.ode.step import rk4_step

_FINE = 24
"""Levels that are looked at along each direction, evenly spaced in the error's size."""
_NEWTON = 8  # steps of Newton's method
_FITS = 1e-6  # of the error: a start that misses by more is not the one that was asked for


def attraction_level(
    policy: BalancingLQR, *, largest: float = 1.0, directions: int = 128, seed: int = 0, limits: bool = True
) -> float:
    """Return the largest level rho such that V = e'S e falls from every sampled state with V <= rho.

    States are sampled along random directions of the error that inputs reach, in 24 sizes each; integrals are where
    they cost least. From each the nonlinear closed loop, inputs saturated, goes on for one period of the policy: V
    must be smaller after it, and with `limits` the contact must press and stay in the friction cone under that input.
    rho is the smallest V at which one fails. A sampled estimate, not a proof: more directions can only lower it.

    Parameters
    ----------
    policy : BalancingLQR
    largest : float, rad, m, ...
        Largest norm of an error that is looked at.
    directions : int
    seed : int

    Returns
    -------
    float
        0 if V falls nowhere; the V that belongs to `largest` if it falls everywhere.

    Raises
    ------
    InputError
        If an argument is out of range or the cost does not see what the inputs reach.

    Examples
    --------
    >>> ellipse = tr.RigidBody(tr.Ellipse((0.03, 0.05)), mass=0.1)
    >>> pair = tr.RollingPair(ellipse, tr.Hand(tr.Line()))
    >>> Q = {"hand_position": 1.0, "hand_rotation": 1.0, "object_rotation": 50.0, "hand_velocity": 0.1}
    >>> R = {"hand_angular_acceleration": 0.01, "hand_acceleration": 0.1}
    >>> policy = tr.BalancingLQR(pair, pair.place(), Q, R)
    >>> level = tr.attraction_level(policy, directions=16)
    >>> policy.cost_to_go(0.0, pair.place().x) < level
    True
    """
    largest = positive("largest", largest)
    count = integer("directions", directions, minimum=1)
    V = policy.regulator.reachable
    size = V.shape[1]
    root = _root(V.T @ policy.regulator.least @ V)
    steps = np.random.default_rng(integer("seed", seed, minimum=0)).standard_normal((count, size))
    # Unit steps of V: e = V inv(root) n has e'S e = |n|^2.
    e = np.linalg.solve(root, (steps / np.linalg.norm(steps, axis=1)[:, None]).T).T @ V.T
    per = largest / np.linalg.norm(e, axis=1)
    shares = np.arange(1, _FINE + 1) / _FINE
    errors = (e * per[:, None])[:, None, :] * shares[:, None]
    before = (per[:, None] * shares) ** 2
    after, kept = _after_one_period(policy, errors.reshape(-1, V.shape[0]), limits)
    good = kept.reshape(before.shape) & (after.reshape(before.shape) < before)
    return float(min(np.min(before[~good], initial=np.inf), np.min(before[:, -1])) if np.any(good[:, 0]) else 0.0)


def _root(S: FloatArray) -> FloatArray:
    try:
        return np.asarray(np.linalg.cholesky(S).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError(
            "policy", "Q", "weights that see everything the inputs reach: e'S e is zero for some of it"
        ) from None


def _after_one_period(policy: BalancingLQR, errors: FloatArray, limits: bool) -> tuple[FloatArray, np.ndarray]:
    """Return V (N,) one period after each of N errors, and whether the contact held and a state has that error."""
    error, h = policy.error, policy.period
    found, target = dynamics_of(error), policy.target.x
    x, u = error.model.x, error.model.u
    names = [name for name in found.margins if limits and name.split(".")[-1] in ("normal_force", "friction", "moment")]
    margin = ca.mmin(ca.vertcat(*(found.margins[name] for name in names))) if names else ca.SX(1)
    rate = ca.Function("rate", [x, u], [found.xdot, margin])
    _, _, X = Linearization(error).with_directions(target[None], np.zeros((1, error.inputs)))
    reference = error.of_reference(target)
    states = np.tile(target, (len(errors), 1)) + errors @ X[0].T
    for _ in range(_NEWTON):
        states += (errors - _differences(policy, reference, states)) @ X[0].T
    missing = np.linalg.norm(errors - _differences(policy, reference, states), axis=1)
    fits = missing < _FITS * (1 + np.linalg.norm(errors, axis=1))
    inputs = np.zeros((len(errors), error.inputs))
    z = errors @ policy.regulator.begin.T
    inputs[:, list(policy.used)] = -np.hstack([errors, z]) @ policy.regulator.K.T
    inputs = policy.limit.apply(inputs)
    mapped = rate.map(len(errors))

    def go(at: FloatArray, _: float) -> FloatArray:
        return np.asarray(mapped(at.T, inputs.T)[0]).T

    held = np.asarray(mapped(states.T, inputs.T)[1]).ravel()
    states = rk4_step(go, states, h)
    e = _differences(policy, reference, states)
    e = np.hstack([e, z + h * errors @ policy.regulator.C.T])
    value = np.einsum("ni,ij,nj->n", e, policy.regulator.S, e)
    return value, fits & (held > 0) & np.isfinite(value)


def _differences(policy: BalancingLQR, reference: FloatArray, states: FloatArray) -> FloatArray:
    return policy.error.between(np.tile(reference, (len(states), 1)), policy.error.of_reference(states))
