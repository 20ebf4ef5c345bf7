"""Charts of a plan: one pair for all of it, on which start and goal both lie, and the way between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.contacts import ChartContact
from trundle.errors import InputError
from trundle.geometry.chart import Chart
from trundle.geometry.patch import Patch
from trundle.geometry.queries.locate import refine
from trundle.geometry.queries.sampling import NumericChart, numeric_charts
from trundle.geometry.shape import Shape
from trundle.models.tree.system import Atlas
from trundle.models.tree.tree import TreeModel

REACH = 1.2
"""Bound of chart coordinates over the chart's reach: charts overlap, and far out a coarse step tunnels through."""
FAR = np.pi / 2
"""Turn (rad) of a straight roll from which on a plan is on belts."""


def chart_contact(model: TreeModel) -> ChartContact:
    """Return the one contact of a model in rolling coordinates."""
    contact = model.constraints[0].contact
    if not isinstance(contact, ChartContact):
        raise RuntimeError(f"no charts: {type(contact).__name__}")
    return contact


def patch_on_hand(model: TreeModel) -> Patch:
    """Return the patch of the hand at the contact, in the hand's frame."""
    return chart_contact(model).patches(model.constraints[0].s)[1]


def common_charts(
    A: Shape, B: Shape, begin: Sequence[FloatArray], end: Sequence[FloatArray] | None, roll: FloatArray
) -> tuple[Atlas, list[FloatArray]]:
    """Return the charts on which start and goal both lie, deepest inside, and the coordinates there.

    Where the object turns far, or no chart has both, it is the belt nearest to its way.

    Parameters
    ----------
    roll : (3,) rad
        Rotation vector of the straight roll from start to goal, in the object's axes.
    """
    chosen, found = [], []
    for side, shape in ((0, A), (1, B)):
        points = np.array([begin[side]] if end is None else [begin[side], end[side]])
        turn = roll if side == 0 else np.zeros(3)
        far = float(np.linalg.norm(turn)) > FAR and bool(shape.representations.belts)
        best = (None if far else _deepest(shape, points)) or _belt(shape, points, turn)
        if best is None:
            raise InputError(
                "goal", points[-1].tolist(), "a contact on the same chart as the start's: plan in two transfers"
            )
        chosen.append(best[0])
        found.append(best[1])
    count = 1 if end is None else 2
    return ((chosen[0], chosen[1]),), [np.concatenate([found[0][i], found[1][i]]) for i in range(count)]


def _deepest(shape: Shape, points: FloatArray) -> tuple[int, FloatArray] | None:
    """Return the number of the chart that has all points, deepest inside, and their coordinates."""
    best, least = None, np.inf
    for number, chart in enumerate(numeric_charts(shape)):
        u, reach = _on_chart(shape, chart, points), chart.chart.reach
        if u is None:
            continue
        far = float(np.max(np.linalg.norm(u, axis=1))) / reach if np.isfinite(reach) else 0.0
        if far < min(least, REACH if reach > 1 else 1.0):
            best, least = (number, u), far
    return best


def _belt(shape: Shape, points: FloatArray, turn: FloatArray) -> tuple[int, FloatArray] | None:
    """Return the number of the belt that a `turn` (3,) rad of the body keeps nearest to, and the coordinates on it.

    The contact goes round the body against the turn: the longitude at the end says how often.
    """
    first = len(shape.representations.charts)
    for axis in np.argsort(-np.abs(turn), kind="stable")[: len(shape.representations.belts)]:
        u = _on_chart(shape, NumericChart(shape.representations.belts[axis]), points)
        if u is not None:
            u[-1, 0] += 2 * np.pi * np.round((u[0, 0] - turn[axis] - u[-1, 0]) / (2 * np.pi))
            return first + int(axis), u
    return None


def _on_chart(shape: Shape, chart: NumericChart, points: FloatArray) -> FloatArray | None:
    """Return the coordinates (m, d-1) of boundary points (m, d) on one chart, or None off it."""
    if np.isfinite(chart.chart.reach):
        guesses = chart.grid(400) * REACH * chart.chart.reach
    else:
        guesses = chart.grid(400, points.mean(axis=0), 2 * shape.reference_length + float(np.ptp(points)))
    values = chart.points(guesses)
    nearest = np.array([guesses[np.argmin(np.linalg.norm(values - x, axis=1))] for x in points])
    u, distance = refine(chart, nearest, points)
    return u if np.all(distance <= 1e-9 * shape.reference_length) else None


def chart_bounds(chart: Chart, i: int) -> tuple[float, float]:
    """Return the bounds of the parameter number `i` of a chart in a plan."""
    if np.isfinite(chart.reach):
        bound = REACH * chart.reach if chart.reach > 1 else chart.reach
        return -bound, bound
    r = chart.ranges[i] if i < len(chart.ranges) else None
    return (-np.inf, np.inf) if r is None or r.periodic else (r.low, r.high)
