"""Numbers from charts: evaluation at many parameters, parameter grids, boundary samples."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.chart import Chart, ChartRange
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.compiled.interpreter import interpret_function
from trundle.threads import cached_property, made_once

GOLDEN = np.pi * (3.0 - np.sqrt(5.0))
_MANY = 256
"""Rows up to which a function of all of them is kept: beyond, CasADi's conversions no longer count."""


def call(function: ca.Function, arguments: FloatArray) -> FloatArray:
    """Return the values (m, k) of a column-valued CasADi function at the rows of `arguments` (m, size)."""
    return np.array(ca.DM(function(ca.DM(np.ascontiguousarray(arguments.T)))).T, dtype=np.float64)


class RowFunction:
    """Calls a column-valued CasADi function at the rows of an array, in C where it calls no others (final).

    Parameters
    ----------
    function : casadi.Function
        One vector in, one dense column out.
    """

    def __init__(self, function: ca.Function) -> None:
        self.function = function
        self._in_c = interpret_function(function)
        self._mapped: dict[int, BufferedFunction] = {}

    def __reduce__(self) -> tuple[type[RowFunction], tuple[ca.Function]]:
        return RowFunction, (self.function,)

    def __call__(self, arguments: FloatArray) -> FloatArray:
        """Return the values (m, k) at the rows of `arguments` (m, size)."""
        if self._in_c is not None:
            return self._in_c.rows(arguments)
        count = len(arguments)
        if count > _MANY or not count:
            return call(self.function, arguments)
        at_once = made_once(self._mapped, count, lambda: BufferedFunction(self.function.map(count)))
        return at_once(np.ravel(arguments))[0].reshape(count, -1)


@dataclass(frozen=True)
class ChartValues:
    """A chart at m parameters: points x (m, d), normals n (m, d), F_u (m, d, p), F_uu (m, d, p, p); p = d - 1."""

    x: FloatArray
    n: FloatArray
    first: FloatArray
    second: FloatArray


@dataclass(frozen=True)
class NumericChart:
    """Vectorised numbers of one chart."""

    chart: Chart

    def at(self, u: FloatArray) -> ChartValues:
        """Return the `ChartValues` at `u` (m, d-1)."""
        d, p = self.chart.d, self.chart.d - 1
        raw = self._function(u)
        m = len(raw)
        first = raw[:, d : d + d * p].reshape(m, p, d).transpose(0, 2, 1)
        second = raw[:, d + d * p :].reshape(m, p, p, d).transpose(0, 3, 2, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if p == 1:
                out = np.stack([-first[:, 1, 0], first[:, 0, 0]], axis=1)
            else:
                out = np.cross(first[:, :, 0], first[:, :, 1])
            n = self.chart.side * out / np.linalg.norm(out, axis=1)[:, None]
        return ChartValues(raw[:, :d], n, first, second)

    def points(self, u: FloatArray) -> FloatArray:
        """Return the points (m, d) at `u` (m, d-1)."""
        return self._points(u)

    def wrap(self, u: FloatArray) -> FloatArray:
        """Return `u` (m, d-1) with periodic parameters in [low, high) and the others clamped to their ends."""
        result = np.array(u)
        for j, r in enumerate(self.chart.ranges):
            if r.periodic:
                result[:, j] = r.low + np.mod(result[:, j] - r.low, r.high - r.low)
            elif np.isfinite(r.low) or np.isfinite(r.high):
                result[:, j] = np.clip(result[:, j], r.low, r.high)
        return result

    def grid(self, n: int, around: FloatArray | None = None, radius: float | None = None) -> FloatArray:
        """Return about `n` parameters (m, d-1), roughly even on the boundary.

        Raises
        ------
        InputError
            If a parameter is unbounded and no `around` (d,) and `radius` (m) are given.
        """
        if np.isfinite(self.chart.reach):
            i = np.arange(n) + 0.5
            height = i / n
            q = np.sqrt((1 - height) / (1 + height))
            return np.stack([q * np.cos(GOLDEN * i), q * np.sin(GOLDEN * i)], axis=1)
        spans = [window(r, around, radius) for r in self.chart.ranges]
        counts = self._counts(n, spans)
        axes = [
            np.linspace(low, high, count, endpoint=not r.periodic)
            for (low, high), count, r in zip(spans, counts, self.chart.ranges, strict=True)
        ]
        return np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)

    def _counts(self, n: int, spans: list[tuple[float, float]]) -> list[int]:
        if len(spans) == 1:
            return [max(n, 8)]
        probe = [low + (high - low) * (np.arange(7) + 0.5) / 7 for low, high in spans]
        u = np.stack([g.ravel() for g in np.meshgrid(*probe, indexing="ij")], axis=1)
        speed = np.nan_to_num(np.linalg.norm(self.at(u).first, axis=1), nan=1.0, posinf=1.0).mean(axis=0)
        lengths = [max(float(s) * (high - low), 1e-12) for s, (low, high) in zip(speed, spans, strict=True)]
        ratio = min(max(lengths[0] / lengths[1], 0.02), 50.0)
        first = int(np.ceil(np.sqrt(n * ratio)))
        return [max(first, 6), max(int(np.ceil(n / first)), 6)]

    @cached_property
    def _function(self) -> RowFunction:
        u = ca.SX.sym("u", self.chart.d - 1)
        x = self.chart.point(u)
        first = ca.jacobian(x, u)
        second = ca.jacobian(ca.vec(first), u)
        return RowFunction(ca.Function("chart_values", [u], [ca.vertcat(x, ca.vec(first), ca.vec(second))]))

    @cached_property
    def _points(self) -> RowFunction:
        u = ca.SX.sym("u", self.chart.d - 1)
        return RowFunction(ca.Function("chart_points", [u], [self.chart.point(u)]))


def window(r: ChartRange, around: FloatArray | None, radius: float | None) -> tuple[float, float]:
    """Return the finite ends of a `ChartRange`, cut to `around` +- `radius` where it is a coordinate."""
    if r.bounded:
        return r.low, r.high
    if around is None or radius is None:
        raise InputError("around", around, "given (m), together with radius (m): the shape is unbounded")
    center = float(around[r.coordinate])
    low, high = max(r.low, center - radius), min(r.high, center + radius)
    return (low, high) if low < high else (r.low, r.low + radius) if center < r.low else (r.high - radius, r.high)


def numeric_charts(shape: Boundary) -> tuple[NumericChart, ...]:
    """Return the shape's charts as `NumericChart`, built once a shape."""
    return shape.numeric(_numeric_charts)


def _numeric_charts(shape: Boundary) -> tuple[NumericChart, ...]:
    return tuple(NumericChart(c) for c in shape.representations.charts)


def directions(n: int, d: int) -> FloatArray:
    """Return `n` unit vectors (n, d), even on the circle or the sphere."""
    i = np.arange(n) + 0.5
    if d == 2:
        angle = 2 * np.pi * i / n
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    z = 1 - 2 * i / n
    s = np.sqrt(1 - z * z)
    return np.stack([s * np.cos(GOLDEN * i), s * np.sin(GOLDEN * i), z], axis=1)


@dataclass(frozen=True)
class NumericSupport:
    """Vectorised numbers of a shape's support function."""

    shape: Boundary

    def at(self, n: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return h (m,), the points (m, d) and the radii (m, d, d) at the unit normals `n` (m, d)."""
        d = self.shape.d
        raw = self._function(n)
        return raw[:, 0], raw[:, 1 : 1 + d], raw[:, 1 + d :].reshape(-1, d, d)

    @cached_property
    def _function(self) -> RowFunction:
        support = self.shape.representations.support
        if support is None:
            raise InputError("shape", type(self.shape).__name__, "a shape with a support function")
        n = ca.SX.sym("n", self.shape.d)
        x, radii = support.point_and_radii(n)
        return RowFunction(ca.Function("support_values", [n], [ca.vertcat(support.support(n), x, ca.vec(radii))]))


def numeric_support(shape: Boundary) -> NumericSupport:
    """Return the shape's support function as `NumericSupport`, built once a shape."""
    return shape.numeric(NumericSupport)


@dataclass(frozen=True)
class NumericLevel:
    """Vectorised numbers of a shape's level set."""

    shape: Boundary

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return f (m,), grad f (m, d) and hess f (m, d, d) at the points `x` (m, d)."""
        d = self.shape.d
        raw = self._function(x)
        return raw[:, 0], raw[:, 1 : 1 + d], raw[:, 1 + d :].reshape(-1, d, d)

    def onto(self, points: FloatArray, steps: int = 30) -> FloatArray:
        """Return the points (m, d) moved along the gradient onto f = 0 (not the closest ones)."""
        x = np.array(points)
        for _ in range(steps):
            f, gradient, _ = self.at(x)
            step = (f / np.maximum(np.sum(gradient**2, axis=1), 1e-300))[:, None] * gradient
            x = x - step
            if np.all(np.abs(step) <= 1e-15 * (1.0 + np.abs(x))):  # as round-off; NaN goes on
                break
        return x

    @cached_property
    def _function(self) -> RowFunction:
        level = self.shape.representations.level
        if level is None:
            raise InputError("shape", type(self.shape).__name__, "a shape with a level set")
        x = ca.SX.sym("x", self.shape.d)
        f = level.level(x)
        hessian, gradient = ca.hessian(f, x)
        return RowFunction(ca.Function("level_values", [x], [ca.vertcat(f, gradient, ca.vec(hessian))]))


def numeric_level(shape: Boundary) -> NumericLevel:
    """Return the shape's level set as `NumericLevel`, built once a shape."""
    return shape.numeric(NumericLevel)


def sample(
    shape: Boundary, n: int, around: FloatArray | None = None, radius: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return about `n` boundary points (m, d), m, and outward normals (m, d), see `Shape.sample`."""
    charts = numeric_charts(shape)
    if charts:
        values = [c.at(c.grid(max(n // len(charts), 1), around, radius)) for c in charts]
        x, normals = np.concatenate([v.x for v in values]), np.concatenate([v.n for v in values])
    elif shape.representations.support is not None:
        normals = directions(n, shape.d)
        x = numeric_support(shape).at(normals)[1]
    else:
        x, normals = _sample_level(shape, n, around, radius)
    if around is not None and radius is not None:
        near = np.linalg.norm(x - around, axis=1) <= radius
        x, normals = x[near], normals[near]
    keep = np.all(np.isfinite(x), axis=1) & np.all(np.isfinite(normals), axis=1)
    return x[keep], normals[keep]


def _sample_level(
    shape: Boundary, n: int, around: FloatArray | None, radius: float | None
) -> tuple[FloatArray, FloatArray]:
    size = shape.reference_length if radius is None else radius
    center = np.zeros(shape.d) if around is None else around
    level = numeric_level(shape)
    spread = np.cbrt(np.tile(np.linspace(0.1, 1.0, 10), n // 10 + 1)[:n]) * size * 1.5
    x = level.onto(center + spread[:, None] * directions(n, shape.d))
    f, gradient, _ = level.at(x)
    norm = np.linalg.norm(gradient, axis=1)
    with np.errstate(all="ignore"):
        good = np.isfinite(norm) & (norm > 0) & (np.abs(f) <= 1e-10 * norm * size)
    return x[good], gradient[good] / norm[good, None]
