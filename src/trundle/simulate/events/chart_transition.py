"""Chart transition: a contact leaves a chart or a part of a shape, and the neighbouring chart takes over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.queries.locate import refine
from trundle.geometry.queries.sampling import numeric_charts
from trundle.geometry.shape import Shape
from trundle.models.tree.conversion import pose_of, rolling_values, to_wxyz
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import contact_points, feature_margin, gap_of

Rate = Callable[[float, FloatArray, FloatArray], ArrayLike]

_AHEAD = 1e-5
"""How far ahead of the contact (in sizes of the body) the next chart is looked for."""

_SAME = 1e-6
"""How far (in sizes of the shape) a contact point may be from the one before the hand-over."""


def neighbouring_chart(
    system: ContactSystem, rate: Rate, t: float, x: FloatArray, p: FloatArray, atlas: Atlas, contact: int
) -> tuple[FloatArray, Atlas] | None:
    """Return the state and the atlas of the same contact on the charts that lie ahead of it, or None.

    Pose and velocities stay; so do the contact points, to 1e-6 of the sizes of the shapes. None where there is no
    other chart or the points would jump.

    Parameters
    ----------
    rate : ca.Function
        (t, x, p) -> x' on the charts `atlas`.
    """
    contact_pair = system.contact_pairs[contact]
    where = system.model(atlas).layout[f"{contact_pair.contact}.coordinates"]
    rates = np.asarray(rate(t, x, p)).ravel()[where]
    points = contact_points(system, atlas, x, contact)[:2]
    shapes = (contact_pair.shape_A, contact_pair.shape_B)
    ahead = _ahead(system, x, atlas, contact, rates)
    charts, coordinates = list(atlas[contact]), []
    for i in (0, 1) if contact_pair.form == "chart" else (1,):
        found = _on_chart(shapes[i], ahead[i], points[i])
        if found is None:
            return None
        charts[i] = found[0]
        coordinates.append(found[1])
    if tuple(charts) == atlas[contact]:
        return None
    return _rename_contact(system, x, atlas, contact, np.concatenate(coordinates), (charts[0], charts[1]))


def neighbouring_feature(system: ContactSystem, x: FloatArray, rate: FloatArray, contact: int) -> int | None:
    """Return the contact of the corner, edge or face that goes on where the point of a `contact` leaves its own.

    None where none touches: the ground is not convex there.
    """
    size = system.contact_pairs[contact].shape_A.reference_length
    near = [
        i
        for i in system.beside[contact]
        if abs(gap_of(system, x, i)) < _SAME * size and feature_margin(system, x, i) > -_SAME
    ]
    soon = x + _AHEAD * size / max(float(np.abs(rate).max()), 1e-300) * rate
    return max(near, key=lambda i: feature_margin(system, soon, i), default=None)


def _ahead(
    system: ContactSystem, x: FloatArray, atlas: Atlas, contact: int, rates: FloatArray
) -> tuple[FloatArray, ...]:
    """Return the contact points (d,), m, a little later."""
    where = system.model(atlas).layout[f"{system.contact_pairs[contact].contact}.coordinates"]
    points = contact_points(system, atlas, x, contact)[:2]
    trial, dt = np.array(x), 1e-7
    trial[where] += rates * dt
    moved = contact_points(system, atlas, trial, contact)[:2]
    fastest = max(float(np.linalg.norm(b - a)) for a, b in zip(points, moved, strict=True)) / dt
    if not fastest > 0:
        return points
    trial[where] = x[where] + rates * (_AHEAD * system.contact_pairs[contact].shape_A.reference_length / fastest)
    return contact_points(system, atlas, trial, contact)[:2]


def _on_chart(shape: Shape, ahead: FloatArray, x: FloatArray) -> tuple[int, FloatArray] | None:
    """Return the chart at the point `ahead` and the coordinates on it of `x`, or None off the surface."""
    try:
        index, u = shape.locate(ahead, tolerance=1e-3 * shape.reference_length)
    except InputError:
        return None
    exact, distance = refine(numeric_charts(shape)[index], u[None], x[None])
    return (index, exact[0]) if distance[0] <= _SAME * shape.reference_length else None


def _rename_contact(
    system: ContactSystem,
    x: FloatArray,
    atlas: Atlas,
    contact: int,
    coordinates: FloatArray,
    charts: tuple[int, int],
) -> tuple[FloatArray, Atlas]:
    """Return the state and the atlas with other contact coordinates; pose and velocities stay."""
    contact_pair, model = system.contact_pairs[contact], system.model(atlas)
    renamed: Atlas = tuple(charts if i == contact else old for i, old in enumerate(atlas))
    after = np.array(x)
    after[model.layout[f"{contact_pair.contact}.coordinates"]] = coordinates
    if f"{contact_pair.body_A}.relative_velocity" in model.layout:
        R, _, w, _ = pose_of(model, x, contact_pair.body_A)
        other = system.model(renamed)
        values = {key: after[where] for key, where in other.layout.items()}
        orientation = np.array([np.arctan2(R[1, 0], R[0, 0])]) if model.d == 2 else to_wxyz(R)
        for key, value in rolling_values(other, values, orientation, w).items():
            if key in other.layout:
                after[other.layout[key]] = value
    return after, renamed
