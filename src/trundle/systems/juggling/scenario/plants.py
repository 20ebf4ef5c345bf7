"""Plants of trials: pairs, starts and biases that differ from the model, drawn with the scenario's seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trundle import geometry
from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models import RollingPair, SampledMotion
from trundle.models.hand_freedoms import hand_freedoms
from trundle.models.tree.system import Start
from trundle.numerics.space import angular_size
from trundle.records.reference import Reference
from trundle.systems.juggling.scenario.build import initial
from trundle.systems.juggling.scenario.schema import JugglingTable
from trundle.systems.juggling.scenario.schema_goals import JugglingTrialsTable

_SCALED: Mapping[type, Callable[[Any, FloatArray], geometry.Shape]] = {
    geometry.Circle: lambda s, f: geometry.Circle(s.radius * f[0]),
    geometry.Sphere: lambda s, f: geometry.Sphere(s.radius * f[0]),
    geometry.Ellipse: lambda s, f: geometry.Ellipse(np.multiply(s.semi_axes, f[: len(s.semi_axes)]).tolist()),
    geometry.Ellipsoid: lambda s, f: geometry.Ellipsoid(np.multiply(s.semi_axes, f[: len(s.semi_axes)]).tolist()),
}


@dataclass(frozen=True)
class Draw:
    """Errors of one trial: how its plant and start differ from the model.

    Attributes
    ----------
    pair : RollingPair
        The plant.
    contact : (d,) m
        Added to the contact on the hand at the start.
    turn : (k,) rad
        Rotation of the object at the start, world.
    bias : (n_u,) rad/s2, m/s2
        Added to the hand's acceleration, angular first.
    seed : int
        Seed of the sensor noise.
    """

    pair: RollingPair
    contact: FloatArray
    turn: FloatArray
    bias: FloatArray
    seed: int


def draws(pair: RollingPair, table: JugglingTrialsTable, freedoms: str | Sequence[str], seed: int) -> list[Draw]:
    """Return the trials of a table [trials] for a hand with `freedoms` (`hand_freedoms`): no other has a bias.

    Sizes and J/m have the full error with a random sign, the centre of mass the full distance in a random direction;
    the other errors are normally distributed. The contact is moved along all but the last axis of the hand: it is
    projected onto the surface.

    Raises
    ------
    InputError
        If sizes are to have an error and the shape is no circle, sphere, ellipse or ellipsoid.
    """
    shape = pair.body.shape
    if table.count and table.semi_axes and type(shape) not in _SCALED:
        known = ", ".join(sorted(kind.__name__ for kind in _SCALED))
        raise InputError("semi_axes", table.semi_axes, f"0 for a {type(shape).__name__}: only {known} have axes")
    moves = np.isin(np.arange(angular_size(pair.d) + pair.d), hand_freedoms(pair.d, freedoms))
    found = [_draw(pair, table, np.random.default_rng([seed, k]), k) for k in range(table.count)]
    return [replace(draw, bias=np.where(moves, draw.bias, 0.0)) for draw in found]


def _draw(pair: RollingPair, table: JugglingTrialsTable, rng: np.random.Generator, number: int) -> Draw:
    d, k = pair.d, angular_size(pair.d)
    factors = 1.0 + table.semi_axes * rng.choice([-1.0, 1.0], size=3)
    inertia = 1.0 + table.inertia * rng.choice([-1.0, 1.0])
    away = rng.normal(size=d)
    contact = np.concatenate([rng.normal(scale=table.position_sigma, size=d - 1), [0.0]])
    turn = rng.normal(scale=table.angle_sigma, size=k)
    bias = np.concatenate([rng.normal(scale=table.angular_bias, size=k), rng.normal(scale=table.linear_bias, size=d)])
    body = pair.body
    center = np.asarray(body.center_of_mass) + table.center_of_mass * away / np.linalg.norm(away)
    shape = _SCALED[type(body.shape)](body.shape, factors) if table.semi_axes else body.shape
    moments = np.asarray(body.moments, dtype=np.float64) * inertia
    plant = replace(body, shape=shape, inertia=moments.tolist(), center_of_mass=center.tolist())
    return Draw(replace(pair, body=plant), contact, turn, bias, int(rng.integers(2**31)) + number)


def moved_start(pair: RollingPair, tables: JugglingTable, contact: FloatArray, turn: FloatArray) -> Start:
    """Return the start of [initial] with its contact moved by (d,) m and the object turned by (k,) rad, world."""
    given = initial(tables.initial, pair.d == 2)
    given["contact_on_hand"] = np.asarray(given["contact_on_hand"]) + contact
    if pair.d == 2:
        given["object_angle"] = float(np.asarray(given["object_angle"])) + float(turn[0])
    else:
        before = Rotation.from_quat(given["object_quaternion"], scalar_first=True)
        given["object_quaternion"] = (Rotation.from_rotvec(turn) * before).as_quat(scalar_first=True)
    return pair.place(**given)


def with_inputs(pair: RollingPair, reference: Reference, bias: ArrayLike = 0.0) -> RollingPair:
    """Return the pair with a hand whose acceleration is a reference's inputs plus a constant `bias` (n_u,)."""
    end = float(reference.times[-1])
    times = np.append(reference.times, end + 1e-9 * max(end, 1.0)) - reference.times[0]
    values = np.vstack([reference.inputs, np.zeros(reference.inputs.shape[1])]) + np.asarray(bias)
    base = pair.base
    return replace(pair, base=replace(base, motion=SampledMotion(times, values)))
