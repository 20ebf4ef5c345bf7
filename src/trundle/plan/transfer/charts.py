"""Charts of a plan: one pair for all of it, on which start and goal both lie."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.contacts import ChartContact
from trundle.errors import InputError
from trundle.geometry.chart import Chart
from trundle.geometry.patch import Patch
from trundle.geometry.queries.locate import refine
from trundle.geometry.queries.sampling import numeric_charts
from trundle.geometry.shape import Shape
from trundle.models.tree.system import Atlas
from trundle.models.tree.tree import TreeModel

REACH = 1.2
"""Bound of chart coordinates over the chart's reach: charts overlap, and far out a coarse step tunnels through."""


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
    A: Shape, B: Shape, begin: tuple[FloatArray, FloatArray], end: tuple[FloatArray, FloatArray] | None
) -> tuple[Atlas, list[FloatArray]]:
    """Return the charts on which start and goal both lie, deepest inside, and the coordinates there."""
    chosen, found = [], []
    for side, shape in ((0, A), (1, B)):
        points = np.array([begin[side]] if end is None else [begin[side], end[side]])
        best, least = None, np.inf
        for number, chart in enumerate(shape.representations.charts):
            u = _on_chart(shape, number, points)
            if u is None:
                continue
            far = float(np.max(np.linalg.norm(u, axis=1))) / chart.reach if np.isfinite(chart.reach) else 0.0
            if far < min(least, REACH if chart.reach > 1 else 1.0):
                best, least = (number, u), far
        if best is None:
            raise InputError(
                "goal", points[-1].tolist(), "a contact on the same chart as the start's: plan in two transfers"
            )
        chosen.append(best[0])
        found.append(best[1])
    count = 1 if end is None else 2
    return ((chosen[0], chosen[1]),), [np.concatenate([found[0][i], found[1][i]]) for i in range(count)]


def _on_chart(shape: Shape, number: int, points: FloatArray) -> FloatArray | None:
    """Return the coordinates (m, d-1) of boundary points (m, d) on one chart, or None off it."""
    chart = numeric_charts(shape)[number]
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
