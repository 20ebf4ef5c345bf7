"""Approach: the nearest points of two bodies that are not, or not yet, followed as a contact."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.choice import contact_coordinates
from trundle.contact.proximity import Nearness
from trundle.errors import InputError
from trundle.geometry.chart import Chart
from trundle.geometry.queries.cloud import Cloud, Cover
from trundle.geometry.queries.sampling import numeric_charts
from trundle.models.tree.system import Atlas, ContactPair, ContactSystem
from trundle.models.tree.touching import contact_points
from trundle.numerics.space import lever

_CHARTS = 3  # charts that an approach may pass at most
_ROUND_OFF = 1e-9  # of a chart's coordinate at the end of its range
_MOVES = {2: 0.05, 3: 0.15}
"""How far (in sizes of the body) nearest points may be from samples that are nearly nearest."""
_ZOOMS = 5  # of a grid around its least point
_TWO_SIDED = 0.1  # product of unit normals: below minus this they face each other


@dataclass(frozen=True)
class Approach:
    """The nearest place that is not a contact yet.

    Attributes
    ----------
    gap : float, m
    coordinates : (size,)
        Contact coordinates there.
    charts : tuple
        Charts they belong to.
    speed : float, m/s
        At which the gap opens.
    reach : float, m
        How far from the bodies' origins the two points are together: with the bodies' places, the size of the
        coordinates that the gap is the difference of.
    """

    gap: float
    coordinates: FloatArray
    charts: tuple[int, int]
    speed: float
    reach: float = 0.0


def on_charts(contact_pair: ContactPair, coordinates: FloatArray, charts: tuple[int, int]) -> bool:
    """Return whether contact coordinates (size,) lie inside their charts, where those have neighbours."""
    if contact_pair.form not in ("chart", "support-chart"):
        return True
    m = contact_pair.shape_A.d - 1
    parts = [(contact_pair.shape_B, charts[1], coordinates[-m:])]
    if contact_pair.form == "chart":
        parts.append((contact_pair.shape_A, charts[0], coordinates[:m]))
    for shape, index, u in parts:
        atlas = shape.representations.charts
        if len(atlas) > 1 and not _inside(atlas[index], u):
            return False
    return True


def _inside(chart: Chart, u: FloatArray) -> bool:
    if not float(np.linalg.norm(u)) <= chart.reach + _ROUND_OFF:
        return False
    return all(
        r.periodic or r.low - _ROUND_OFF <= v <= r.high + _ROUND_OFF for r, v in zip(chart.ranges, u, strict=False)
    )


def with_charts(atlas: Atlas, contact: int, charts: tuple[int, int]) -> Atlas:
    """Return the atlas with other charts for one contact."""
    return tuple(charts if i == contact else old for i, old in enumerate(atlas))


def place_approach(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int, found: Approach) -> FloatArray:
    """Return the state `x` with the coordinates of an approach in place of those of `contact`.

    ``atlas`` is the one with the charts of the approach.
    """
    after = np.array(x)
    after[system.model(atlas).layout[f"{system.contact_pairs[contact].contact}.coordinates"]] = found.coordinates
    return after


def approach_at(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int, near: Nearness) -> Approach | None:
    """Return the exact approach at a pair of nearly nearest points, or None if Newton's iteration loses it.

    A place that is farther apart, or elsewhere, than the nearly nearest points is another one: near a sharp edge, or
    where a round edge becomes flat, Newton's iteration leaves for such. It starts again then, from much nearer.
    """
    m = system.contact_pairs[contact]
    if m.form not in ("chart", "support-chart"):
        s, charts = contact_coordinates(m.shape_A, m.shape_B, m.form, near.x_A, near.x_B, near.n_B)
        return refine_approach(system, atlas, x, contact, s, charts)
    found = None
    for closer in (False, True):
        x_A, x_B = near.x_A, near.x_B
        try:
            if closer:
                R, p = system.relative_pose(x, contact, atlas)
                x_A, x_B = _closer(m, R, p, near)
            s, charts = contact_coordinates(m.shape_A, m.shape_B, m.form, x_A, x_B, near.n_B)
        except InputError:  # across a steep part a measured height misses the surface by far
            continue
        there = refine_approach(system, atlas, x, contact, s, charts)
        if there is not None and _is_of(system, atlas, x, contact, there, near):
            return there
        found = there or found
    return found if system.d == 3 else None


def _is_of(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int, found: Approach, near: Nearness) -> bool:
    """Whether an approach is that of the points it was looked for from."""
    there = with_charts(atlas, contact, found.charts)
    x_A, x_B, _ = contact_points(system, there, place_approach(system, there, x, contact, found), contact)
    size = system.contact_pairs[contact].shape_A.reference_length
    moved = max(float(np.linalg.norm(x_A - near.x_A)), float(np.linalg.norm(x_B - near.x_B)))
    return found.gap <= near.gap + _ROUND_OFF * size and moved <= _MOVES[system.d] * size + 2 * abs(near.gap)


def _closer(m: ContactPair, R: FloatArray, p: FloatArray, near: Nearness) -> tuple[FloatArray, FloatArray]:
    """Return the nearest points of two boundaries around nearly nearest ones, in their shapes' frames."""
    if m.shape_A.d == 3:
        x_A, gap, normal = Cloud(m.shape_A).around(Cover(m.shape_B), R, p, near.x_A)
        return x_A, R @ x_A + p - gap * normal
    chart, u_A = m.shape_A.locate(near.x_A, tolerance=1e-3 * m.shape_A.reference_length)
    outline = numeric_charts(m.shape_A)[chart]
    speed = max(float(np.linalg.norm(outline.at(u_A[None]).first)), 1e-12)
    u, reach = float(u_A[0]), 0.5 * _MOVES[2] * m.shape_A.reference_length / speed
    for _ in range(_ZOOMS):
        around = np.linspace(u - reach, u + reach, 21)[:, None]
        gaps = m.shape_B.distance(outline.points(outline.wrap(around)) @ R.T + p)[0]
        u, reach = float(around[int(np.argmin(gaps)), 0]), 0.15 * reach
    x_A = outline.points(outline.wrap(np.array([[u]])))
    return x_A[0], m.shape_B.closest(x_A @ R.T + p)[0]


def refine_approach(
    system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int, s: FloatArray, charts: tuple[int, int]
) -> Approach | None:
    """Newton on T'(n_A + n_B) = 0, T'(P_A - P_B) = 0 from the seed `s`, from chart to chart; None if it is lost."""
    for _ in range(_CHARTS):
        found = _iterate_newton(system, with_charts(atlas, contact, charts), x, contact, s)
        if found is None or on_charts(system.contact_pairs[contact], found.coordinates, found.charts):
            return found
        neighbours = _neighbours(system, atlas, x, contact, found)
        if neighbours is None:
            return None
        s, charts = neighbours
    return None


def _neighbours(
    system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int, found: Approach
) -> tuple[FloatArray, tuple[int, int]] | None:
    """Return coordinates near an approach beyond the ends of its charts, on other charts, or None."""
    contact_pair, there = system.contact_pairs[contact], with_charts(atlas, contact, found.charts)
    x_A, x_B, n_B = contact_points(system, there, place_approach(system, there, x, contact, found), contact)
    try:
        x_A, x_B = (
            shape.closest(p[None])[0] for shape, p in ((contact_pair.shape_A, x_A), (contact_pair.shape_B, x_B))
        )
        s, charts = contact_coordinates(contact_pair.shape_A, contact_pair.shape_B, contact_pair.form, x_A, x_B, n_B)
    except InputError:
        return None
    return None if charts == found.charts else (s, charts)


def _iterate_newton(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int, s: FloatArray) -> Approach | None:
    """Newton's iteration on given charts."""
    step_of, charts = _common_normal(system, atlas, contact), atlas[contact]
    for _ in range(30):
        residual, jacobian, gap, speed, reach = (np.asarray(value) for value in step_of(x, s))
        if not np.all(np.isfinite(jacobian)) or not np.all(np.isfinite(residual)):
            return None
        if s.size == 0 or np.max(np.abs(residual), initial=0.0) < 1e-14:
            return Approach(float(gap[0, 0]), s, charts, float(speed[0, 0]), float(reach[0, 0]))
        step = np.linalg.lstsq(jacobian, -residual.ravel(), rcond=1e-12)[0]
        s = s + step
        if np.linalg.norm(step) < 1e-13 * (1 + np.linalg.norm(s)):
            residual, _, gap, speed, reach = (np.asarray(value) for value in step_of(x, s))
            if np.max(np.abs(residual)) > _ROUND_OFF * max(1.0, float(reach[0, 0])):
                return None  # no step helps: two faces lie on each other, and the two points are not opposite
            return Approach(float(gap[0, 0]), s, charts, float(speed[0, 0]), float(reach[0, 0]))
    return None


def _common_normal(system: ContactSystem, atlas: Atlas, contact: int) -> ca.Function:
    """(x, s) -> (residual, its Jacobian by s, gap, its rate, its points' reach) of the common-normal equations."""

    def build() -> ca.Function:
        """Build the function of one atlas."""
        model = system.model(atlas)
        constraint = model.constraints[contact]
        s = ca.SX.sym("s", constraint.contact.size)
        tA, tB = constraint.contact.touch(constraint.A, constraint.B, s)
        apart = (constraint.A.p - constraint.B.p) + (tA.r - tB.r)
        restore = constraint.contact.restore(s) - s
        residual = ca.vertcat(tB.T.T @ (tA.n + tB.n), tB.T.T @ apart, restore)
        A, B = constraint.A, constraint.B
        opening = (A.v + lever(tA.r) @ A.w) - (B.v + lever(tB.r) @ B.w)
        reach = ca.norm_2(tA.r) + ca.norm_2(tB.r)
        outputs = [residual, ca.jacobian(residual, s), ca.dot(tB.n, apart), ca.dot(tB.n, opening), reach]
        return ca.Function("common_normal", [model.x, s], outputs)

    return system.keep(("common_normal", atlas, contact), build)


def round_on_both_sides(contact_pair: ContactPair) -> bool:
    """Return whether the roundness of a body changes its sign between round parts (capsule, box) or has a face."""
    shapes = (contact_pair.shape_A, contact_pair.shape_B) if contact_pair.form == "pair" else (contact_pair.shape_A,)
    lowest = 0.0
    for shape in shapes:
        roundness, d = shape.representations.roundness, shape.d
        if roundness is None:
            continue
        corners = np.array(list(product((-1.0, 1.0), repeat=d))) / np.sqrt(d)
        lowest = min(lowest, *(float(roundness(n)) for n in (*np.eye(d), *-np.eye(d), *corners)))
    return lowest < -_TWO_SIDED
