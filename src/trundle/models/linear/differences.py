"""Linear models against differences of the equations of motion: a mismatch is an error, never an answer.

Nothing here knows which rows of the constraints count: states beside the given one are put onto the manifold by the
projection that simulations use. A lost coordinate shows as a motion that the model does not have, one too many as a
direction that the projection takes back, a wrong derivative as another change of the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.linear.point import OperatingPoint
from trundle.models.tree.model import TIME

_STEPS = (1e-5, 1e-4, 1e-6, 1e-7)
"""Steps of the differences, in natural sizes: the best of them counts, whether curvature or round-off spoils others."""
_AGREES = 1e-4
"""Difference from the linear model, over its size, up to which both are the same: a lost mode differs by all of it."""
_SLOW = 1e-2
"""Rates, in natural sizes, below which differences are taken for round-off: of a mechanism that cannot move."""
_ON = 1e-6
"""How far a state may be off its constraints, in natural sizes: interpolated states of runs are closer."""
_DIRECTIONS = 3
"""Random directions: one of them is enough but for a set of measure zero."""


def refuse_off(point: OperatingPoint, x: FloatArray, u: FloatArray) -> None:
    """Raise `InputError` if a state breaks the constraints of its mode."""
    off = point.off(x, u, x)
    if not off <= _ON:
        allowed = f"a state that keeps the constraints of its mode: it is off them by {off:.3g} natural sizes"
        raise InputError("start", x.tolist(), allowed)


def refuse_mismatch(
    point: OperatingPoint, x: FloatArray, u: FloatArray, P: FloatArray, X: FloatArray, F: FloatArray, G: FloatArray
) -> None:
    """Raise `InputError` if coordinates and derivatives are not those of the equations of motion.

    Parameters
    ----------
    x, u : (n_x,), (n_u,)
    P, X : (n, n_x), (n_x, n)
        Coordinates and directions of `independent`.
    F, G : (n_x, n_x), (n_x, n_u)
        dx'/dx and dx'/du.
    """
    refuse_off(point, x, u)
    _refuse_tangents(point, x, u, P, X)
    refuse_rates(point, x, u, X, F, G)


def _refuse_tangents(point: OperatingPoint, x: FloatArray, u: FloatArray, P: FloatArray, X: FloatArray) -> None:
    """Compare the directions X with where states beside `x` are once they are on the manifold."""
    sizes, fixed = point.sizes(x).entries, _find_fixed_entries(point)

    def tangent_misfit(direction: FloatArray, step: float) -> float:
        moved = _displace_state(point, x, u, direction, step)
        return _relative((moved - X @ (P @ moved)) / sizes, moved / sizes)

    def taken_back(direction: FloatArray, step: float) -> float:
        moved = _displace_state(point, x, u, direction, step)
        return _relative((moved - direction) / sizes, direction / sizes)

    for number in range(_DIRECTIONS):
        anywhere = np.where(fixed, 0.0, sizes * _random(number, len(x)))
        least = _least(lambda step, direction=anywhere: tangent_misfit(direction, step))
        if not least <= _AGREES:
            raise _mismatch(x, f"{least:.2g} of a motion beside it is in none of the {len(P)} coordinates")
        along = X @ (P @ anywhere)
        least = _least(lambda step, direction=along: taken_back(direction, step))
        if not least <= _AGREES:
            raise _mismatch(x, f"the constraints take back {least:.2g} of a motion along the {len(P)} coordinates")


def refuse_rates(
    point: OperatingPoint, x: FloatArray, u: FloatArray, X: FloatArray, F: FloatArray, G: FloatArray
) -> None:
    """Compare F X and G with differences of the rates at states on the manifold and inputs beside the given ones."""
    sizes = point.sizes(x)
    inverse = sizes.time / sizes.entries
    for number in range(_DIRECTIONS):
        along = X @ np.linalg.lstsq(X / sizes.entries[:, None], _random(number, len(x)), rcond=None)[0]
        push, by_state = _random(number, len(u)), F @ along
        strength = float(np.linalg.norm(inverse * by_state)), float(np.linalg.norm(inverse * (G @ push)))
        push = push * (strength[0] / strength[1] if min(strength) > 0 else 1.0)
        expected = by_state + G @ push

        def differs(
            step: float, along: FloatArray = along, push: FloatArray = push, expected: FloatArray = expected
        ) -> float:
            """Return how far a difference over a step is from the linear model."""
            rates = [point.rate(_beside(point, x, u, along, h), u + h * push) for h in (step, -step)]
            found = (rates[0] - rates[1]) / (2 * step)
            # Derivatives that cancel in what is asked about were computed with the round-off of their terms.
            terms = np.abs(F) @ np.abs(along) + np.abs(G) @ np.abs(push)
            left = np.abs(inverse * (found - expected))
            return float(np.max(left, initial=0.0) / max(float(np.max(inverse * terms, initial=0.0)), _SLOW))

        least = _least(differs)
        if not least <= _AGREES:
            raise _mismatch(x, f"differences of the rates are another {least:.2g} of the derivatives' terms")


def _displace_state(
    point: OperatingPoint, x: FloatArray, u: FloatArray, direction: FloatArray, step: float
) -> FloatArray:
    """Return the change (n_x,) a unit of `step` between states on the manifold beside `x`, to second order."""
    ahead, behind = (_beside(point, x, u, direction, h) for h in (step, -step))
    return (ahead - behind) / (2 * step)


def _beside(point: OperatingPoint, x: FloatArray, u: FloatArray, direction: FloatArray, step: float) -> FloatArray:
    return point.project(x + step * direction, u, x)


def _least(measure: Callable[[float], float]) -> float:
    """Return the smallest of what is measured with several steps; no more of them than are needed."""
    found = np.inf
    for step in _STEPS:
        value = measure(step)
        found = min(found, value) if np.isfinite(value) else found
        if found <= _AGREES:
            break
    return float(found)


def _relative(difference: FloatArray, whole: FloatArray) -> float:
    return float(np.max(np.abs(difference), initial=0.0) / max(float(np.max(np.abs(whole), initial=0.0)), 1e-300))


def _random(number: int, size: int) -> FloatArray:
    return np.random.default_rng(number).uniform(-1.0, 1.0, size)


def _find_fixed_entries(point: OperatingPoint) -> FloatArray:
    """Return which entries (n_x,) no motion of the mode changes: time, coordinates of contacts that are apart."""
    fixed = np.zeros(point.model.x.shape[0], dtype=bool)
    for key in _still(point):
        fixed[point.model.layout[key]] = True
    return fixed


def _still(point: OperatingPoint) -> Iterator[str]:
    if TIME in point.model.layout:
        yield TIME
    for constraint, law in zip(point.model.constraints, point.laws, strict=True):
        if not law.touching:
            yield f"{constraint.name}.coordinates"


def _mismatch(x: FloatArray, what: str) -> InputError:
    allowed = f"a state about which the equations of motion are those of a linear model: {what}"
    return InputError("start", x.tolist(), allowed)
