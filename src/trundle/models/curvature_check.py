"""Hollow: whether a body is too large for the ground's hollows, said in the words of an error."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.queries.sampling import numeric_charts
from trundle.geometry.shape import Shape
from trundle.models.tree.system import ContactPair

_GRID = 4001  # points along a curve
_SIZES = 20.0
"""How far around the body (in its sizes) ground without end is looked at."""


def too_large(contact_pair: ContactPair, around: FloatArray | None = None) -> str:
    """Return what an error adds where a body's outline is somewhere flatter than the ground is hollow; else "".

    Bodies touch in one point where the radius of curvature of the outline, 1/min K_A, is smaller than that of the
    hollow, 1/max(-K_B). In the plane only.

    Parameters
    ----------
    contact_pair : ContactPair
    around : (d,) m, optional
        Place on the ground, in its frame.
    """
    if contact_pair.shape_A.d != 2:
        return ""
    reach = _SIZES * contact_pair.shape_A.reference_length
    flattest = _curvatures(contact_pair.shape_A, None, None)
    hollow = -_curvatures(contact_pair.shape_B, np.zeros(2) if around is None else around, reach)
    if not flattest.size or not hollow.size or not np.max(hollow) > max(float(np.min(flattest)), 1e-9):
        return ""
    least = float(np.min(flattest))
    largest = f"of up to {1 / least:.3g} m" if least > 1e-9 else "without bound (it has flat or hollow parts)"
    return (
        f"; {contact_pair.body_A} is too large for a hollow of {contact_pair.body_B}: the radius of curvature of "
        f"its outline is {largest}, that of the hollow down to {1 / float(np.max(hollow)):.3g} m, and only a "
        "smaller one than the hollow's touches it in one point: make the body smaller, the ground flatter, or start "
        "away from there"
    )


def _curvatures(shape: Shape, around: FloatArray | None, reach: float | None) -> FloatArray:
    """Return curvatures (n,), 1/m, convex positive, all along a planar shape's charts."""
    found = [np.zeros(0)]
    u = ca.SX.sym("u", 1)
    for chart in numeric_charts(shape):
        K = chart.chart.patch(u).K
        if K is None:
            continue
        try:
            grid = chart.grid(_GRID, around, reach)
        except InputError:
            continue
        found.append(np.asarray(ca.Function("bend", [u], [K[0, 0]])(grid.T), dtype=np.float64).ravel())
    values = np.concatenate(found)
    return values[np.isfinite(values)]
