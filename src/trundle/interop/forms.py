"""Forms: a shape as other simulators know it, as a primitive, the hull of points, or a field of heights, in space.

What lies in the plane (x right, z up) becomes a body of some width across it, along y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.queries.regularity import check_convex
from trundle.geometry.queries.sampling import call
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.bodies import Box, Capsule, Cylinder, Disc
from trundle.geometry.shapes.curves import Circle, Ellipse, Line
from trundle.geometry.shapes.rounding import Polytope
from trundle.geometry.shapes.surfaces import Ellipsoid, Plane, Point, Sphere

Kind = Literal["plane", "sphere", "ellipsoid", "box", "capsule", "cylinder", "hull", "heights"]

THIN = 1e-3
"""Half thickness of a disc with a sharp rim, over its radius: an ellipsoid, whose rim rolls in any tilt."""
_DEEP = 0.05
"""Half the height of boxes under chords, m."""
_HULL, _OUTLINE = 4000, 720
"""Points of a hull in space, the most that PyBullet takes, and corners of an outline in the plane."""
_COARSE, _STEPS, _FOUND = 40, 40, 1e-12


@dataclass(frozen=True, eq=False)
class Form:
    """A shape for a collision engine.

    Attributes
    ----------
    kind : str
        "plane" (z = 0, material below), "sphere", "ellipsoid", "box", "capsule", "cylinder" (axis z), "hull" or
        "heights".
    size : tuple of float, m
        Radius; semi-axes; half sides; radius and half length; of heights the half sides of the rectangle.
    at, R : (3,) m, (3, 3)
        Its pose in the frame of the shape.
    points, normals : (n, 3) m, (n, 3)
        Of a hull, and of an ellipsoid for simulators that have none: points of the boundary and outward normals.
    heights : (rows, columns) m
        Over the rectangle, rows along y, columns along x, both rising.
    """

    kind: Kind
    size: tuple[float, ...] = ()
    at: FloatArray = field(default_factory=lambda: np.zeros(3))
    R: FloatArray = field(default_factory=lambda: np.eye(3))
    points: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    normals: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    heights: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, eq=False)
class FormWindow:
    """The part of a terrain that is written: half its width `reach` (m) about `center` (d,) m, and how finely.

    `cells` along x, in space as many along y; `across` (m): half the width along y of what lies in the plane.
    """

    center: FloatArray
    reach: float
    cells: int
    across: float


def lift(x: FloatArray) -> FloatArray:
    """Return points (..., 2) of the plane, (x, z), or (..., 3) of space, as points (..., 3)."""
    return x if x.shape[-1] == 3 else np.stack([x[..., 0], np.zeros_like(x[..., 0]), x[..., 1]], axis=-1)


def lift_rotation(R: FloatArray) -> FloatArray:
    """Return a rotation (2, 2) of the plane, or (3, 3), as one (3, 3): counter-clockwise is about -y."""
    if R.shape[-1] == 3:
        return R
    return np.array([[R[0, 0], 0.0, R[0, 1]], [0.0, 1.0, 0.0], [R[1, 0], 0.0, R[1, 1]]])


def body_form(shape: Shape, flat: bool, across: float) -> Form:
    """Return the form of a bounded shape.

    Parameters
    ----------
    flat : bool
        Whether it touches a flat alone, where its convex hull stands for one that is not convex.
    across : float, m
        Half the width along y of what lies in the plane.

    Raises
    ------
    InputError
        If the shape is not convex, or no body.
    """
    primitive = _primitive(shape, across)
    if primitive is not None:
        return primitive
    if shape.d == 2 and not isinstance(shape, Point):
        return _prism(shape, flat, across)
    found = shape.representations
    if isinstance(shape, Polytope):
        points = np.asarray(shape.vertices)
        return Form("hull", points=points, normals=points / np.linalg.norm(points, axis=1, keepdims=True))
    if found.support is None or (found.hull and not flat) or isinstance(shape, Point):
        raise _refuse_shape(shape, "a convex body: other simulators take its hull")
    return _sample_form("hull", shape)


def _sample_form(kind: Kind, shape: Shape, size: tuple[float, ...] = ()) -> Form:
    points, normals = shape.sample(_HULL)
    return Form(kind, size, points=points[:_HULL], normals=normals[:_HULL])


def _primitive(shape: Shape, across: float) -> Form | None:
    match shape:
        case Sphere(radius=r) | Circle(radius=r):
            return Form("sphere", (r,))
        case Ellipsoid(semi_axes=axes):
            return _sample_form("ellipsoid", shape, tuple(axes))
        case Ellipse(semi_axes=(a, b)):
            hull = _prism(shape, True, across)
            return Form("ellipsoid", (a, min(a, b), b), points=hull.points, normals=hull.normals)
        case Box(half_extents=(a, b)):
            return Form("box", (a, across, b))
        case Box(half_extents=sides):
            return Form("box", tuple(sides))
        case Capsule(radius=r, length=0.0):
            return Form("sphere", (r,))
        case Capsule(radius=r, length=length):
            return Form("capsule", (r, length / 2))
        case Cylinder(radius=r, length=float(length)):
            return Form("cylinder", (r, length / 2))
        case Disc(radius=r, rounding=0.0):
            return _sample_form("ellipsoid", Ellipsoid((r, r, THIN * r)), (r, r, THIN * r))
    return None


def _prism(shape: Shape, flat: bool, across: float) -> Form:
    """Return the outline of a body in the plane, extended along y."""
    if isinstance(shape, Polytope):
        line = np.asarray(shape.vertices)
    else:
        if not flat:
            check_convex(shape)
        line = np.asarray(shape.mesh(_OUTLINE))[:-1]
    arm = line - line.mean(axis=0)
    normal = lift(arm / np.linalg.norm(arm, axis=1, keepdims=True))
    sides = [lift(line) + np.array([0.0, y, 0.0]) for y in (-across, across)]
    return Form("hull", points=np.concatenate(sides), normals=np.concatenate([normal, normal]))


def ground_form(shape: Shape, window: FormWindow) -> Form:
    """Return the form of what something rolls on: a plane, a convex body, or its heights over a rectangle.

    Raises
    ------
    InputError
        If the shape is neither convex nor faces upwards.
    """
    if isinstance(shape, Plane):
        return Form("plane")
    if isinstance(shape, Line):
        c, s = 1.0 / math.hypot(1.0, shape.slope), shape.slope / math.hypot(1.0, shape.slope)
        R = lift_rotation(np.array([[c, -s], [s, c]]))
        return Form("plane", at=np.array([0.0, 0.0, shape.offset]), R=R)
    if isinstance(shape, Cylinder) and shape.length is None:
        return Form("cylinder", (shape.radius, window.reach), at=np.array([0.0, 0.0, window.center[2]]))
    found = shape.representations
    closed = found.height is None and (found.support is not None or isinstance(shape, Circle | Ellipse))
    return body_form(shape, False, window.across) if closed and not found.hull else _heights(shape, window)


def _heights(shape: Shape, window: FormWindow) -> Form:
    """Return the heights of a surface that faces upwards; where it ends they stay as high as it is anywhere."""
    height = _height_function(shape, float(window.center[-1]))
    m = shape.d - 1
    low, high = window.center[:m] - window.reach, window.center[:m] + window.reach
    coarse = _grid(low, high, _COARSE)
    there = np.isfinite(height(coarse))
    if not there.any():
        raise _refuse_shape(shape, "a surface that faces upwards under the start")
    margin = (high - low) / _COARSE
    low = np.maximum(low, coarse[there].min(axis=0) - margin)
    high = np.minimum(high, coarse[there].max(axis=0) + margin)
    z = height(_grid(low, high, window.cells))
    z = np.where(np.isfinite(z), z, np.nanmax(z)).reshape(-1, window.cells + 1)
    middle, half = np.zeros(3), np.array([0.0, window.across])
    middle[:m], half[:m] = (low + high) / 2, (high - low) / 2
    return Form(
        "heights", (float(half[0]), float(half[1])), at=middle, heights=z if m == 2 else np.repeat(z, 2, axis=0)
    )


def chords(form: Form) -> list[Form] | None:
    """Return boxes whose upper faces are the chords of heights that lie in the plane; None for other heights."""
    if np.ptp(form.heights, axis=0).any():
        return None
    x, z, found = np.linspace(-form.size[0], form.size[0], form.heights.shape[1]), form.heights[0], []
    for step, height, rise, run in zip(x, z, np.diff(z), np.diff(x), strict=False):
        length = math.hypot(run, rise)
        R = lift_rotation(np.array([[run, -rise], [rise, run]]) / length)
        middle = np.array([step + run / 2, 0.0, height + rise / 2]) - _DEEP * R[:, 2]
        found.append(Form("box", (length / 2, form.size[1], _DEEP), at=middle, R=R))
    return found


def _grid(low: FloatArray, high: FloatArray, cells: int) -> FloatArray:
    """Return the corners (n, m) of even cells over a rectangle or a line, x fastest."""
    axes = [np.linspace(a, b, cells + 1) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))


def _height_function(shape: Shape, start: float) -> Callable[[FloatArray], FloatArray]:
    """Return places (m, d - 1) -> heights (m,) m, NaN where there is none; `start`: a height near the surface."""
    found = shape.representations
    if found.height is not None:
        height = found.height
        return lambda places: call(height, places)[:, 0]
    if found.level is None:
        raise _refuse_shape(shape, "one with heights over the horizontal plane, or a level set")
    symbol = ca.SX.sym("x", shape.d)
    f = found.level.level(symbol)
    values = ca.Function("level", [symbol], [ca.vertcat(f, ca.jacobian(f, symbol)[-1])])

    def search(places: FloatArray) -> FloatArray:
        """Return the roots of the level set along vertical lines, by Newton's method."""
        x = np.column_stack([places, np.full(len(places), start)])
        z, left = np.full(len(x), np.nan), np.arange(len(x))
        for _ in range(_STEPS):
            with np.errstate(all="ignore"):
                value, slope = call(values, x[left]).T
                step = value / slope
            x[left, -1] -= step
            good = (np.abs(step) < _FOUND * shape.reference_length) & (slope > 0)
            z[left[good]] = x[left[good], -1]
            left = left[~good]
            if not len(left):
                break
        return z

    return search


def _refuse_shape(shape: Shape, allowed: str) -> InputError:
    return InputError("shape", shape, allowed)
