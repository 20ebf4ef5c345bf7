"""Shapes from the user's own expressions: curve, surface, level set, convex body."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from trundle.checks import choice
from trundle.errors import InputError
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import ChartRange, ExpressionChart
from trundle.geometry.queries.regularity import check_convex, check_regular
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.abstract import LevelShape, SupportShape, extent
from trundle.geometry.shapes.sizes import Size
from trundle.parameters import check_parameter

Formula = Callable[..., Any]


def _compile_formula(key: str, formula: Formula, inputs: int, outputs: int) -> ca.Function:
    """Return the user's formula as a CasADi function of one column."""
    allowed = f"a function of {inputs} number{'s' if inputs > 1 else ''} that returns {outputs} CasADi expression"
    allowed += "s" if outputs > 1 else ""
    if not callable(formula):
        raise InputError(key, formula, allowed)
    argument = ca.SX.sym("a", inputs)
    try:
        if isinstance(formula, ca.Function) and formula.n_in() == 1:
            value = formula(argument)
        else:
            value = formula(*ca.vertsplit(argument))
        single = outputs == 1 or isinstance(value, ca.SX)
        column = ca.SX(value) if single else ca.vertcat(*value)
    except Exception as error:
        raise InputError(key, formula, f"{allowed}; calling it says: {error}") from error
    if column.numel() != outputs:
        raise InputError(key, formula, f"{allowed}; it returns {column.numel()}")
    return ca.Function("formula", [argument], [ca.vec(column)])


def _ranges(key: str, value: Sequence[Sequence[float | str]], size: int) -> tuple[ChartRange, ...]:
    """Return ranges from (low, high) or (low, high, "periodic") a parameter."""
    allowed = f"{size} ranges (low, high) or (low, high, 'periodic') with low < high"
    result = []
    try:
        for entry in value:
            low, high = float(entry[0]), float(entry[1])
            periodic = len(entry) > 2 and choice(key, entry[2], ("periodic",)) == "periodic"
            if not low < high or not math.isfinite(high - low) or len(entry) > 3:
                raise InputError(key, value, allowed)
            result.append(ChartRange(low, high, periodic))
    except (TypeError, ValueError, IndexError):
        raise InputError(key, value, allowed) from None
    if len(result) != size:
        raise InputError(key, value, allowed)
    return tuple(result)


def _side(value: int) -> int:
    if isinstance(value, bool) or value not in (1, -1):
        raise InputError("side", value, "+1 or -1")
    return int(value)


@dataclass(frozen=True)
class ExpressionCurve(Shape):
    """Planar curve u -> (x, z), m, from any CasADi expression.

    Parameters
    ----------
    function : callable
        ``function(u)`` returns x and z.
    range : (low, high) or (low, high, "periodic")
    side : int
        +1: material on the right of the curve (terrain to +x); -1: on its left (outline
        counter-clockwise).

    Examples
    --------
    >>> parabola = tr.geometry.ExpressionCurve(lambda u: (u, 0.5 * u**2), range=(-2.0, 2.0), side=-1)
    >>> parabola.d
    2
    """

    function: Formula
    range: Sequence[float | str]
    side: int = 1
    d = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", _side(self.side))
        _ranges("range", [self.range], 1)
        object.__setattr__(self, "function", _compile_formula("function", self.function, 1, 2))  # which pickles
        object.__setattr__(self, "range", tuple(self.range))
        check_regular(self, "function")

    def bundle(self) -> Representations:
        """Return the chart."""
        ranges = _ranges("range", [self.range], 1)
        return Representations(
            charts=(ExpressionChart(_compile_formula("function", self.function, 1, 2), self.side, ranges),)
        )

    @property
    def reference_length(self) -> float:
        """Half of the longest extent along an axis, m."""
        return extent(self)


@dataclass(frozen=True)
class ExpressionSurface(Shape):
    """Surface (u, v) -> (x, y, z), m, from any CasADi expression; the chart need not be orthogonal.

    Parameters
    ----------
    function : callable
        ``function(u, v)`` returns x, y and z.
    ranges : two of (low, high) or (low, high, "periodic")
    side : int
        +1 if F_u x F_v points out of the material.

    Examples
    --------
    >>> saddle = tr.geometry.ExpressionSurface(lambda u, v: (u, v, u**2 - v**2), ranges=[(-1, 1), (-1, 1)])
    >>> saddle.d
    3
    """

    function: Formula
    ranges: Sequence[Sequence[float | str]]
    side: int = 1
    d = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", _side(self.side))
        _ranges("ranges", self.ranges, 2)
        object.__setattr__(self, "function", _compile_formula("function", self.function, 2, 3))  # which pickles
        object.__setattr__(self, "ranges", tuple(tuple(r) for r in self.ranges))
        check_regular(self, "function")

    def bundle(self) -> Representations:
        """Return the chart."""
        ranges = _ranges("ranges", self.ranges, 2)
        return Representations(
            charts=(ExpressionChart(_compile_formula("function", self.function, 2, 3), self.side, ranges),)
        )

    @property
    def reference_length(self) -> float:
        """Half of the longest extent along an axis, m."""
        return extent(self)


@dataclass(frozen=True)
class ExpressionLevelSurface(LevelShape):
    """Surface f(x, y, z) = 0 from any CasADi expression, material where f < 0.

    Parameters
    ----------
    function : callable
        ``function(x, y, z)`` returns f.
    size : float, m
        How far from the origin the surface reaches, about.

    Examples
    --------
    >>> import trundle as tr
    >>> ball = tr.geometry.ExpressionLevelSurface(lambda x, y, z: x**2 + y**2 + z**2 - 0.01, 0.1)
    >>> len(ball.representations.charts)
    2
    """

    function: Formula
    size: float
    d = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_parameter("size", self.size, Size))
        object.__setattr__(self, "function", _compile_formula("function", self.function, 3, 1))  # which pickles
        # A boundary that no ray from the origin grazes is regular.
        if not self.representations.charts:
            check_regular(self, "function")

    def level(self, x: ca.SX) -> ca.SX:
        """Return ``function`` of the coordinates."""
        return _compile_formula("function", self.function, 3, 1)(x)


@dataclass(frozen=True)
class ExpressionBody(SupportShape):
    """Convex body from its support function, any CasADi expression homogeneous of degree 1.

    Parameters
    ----------
    function : callable
        ``function(ux, uy, uz)`` returns h in m for a direction of any length.

    Raises
    ------
    ShapeError
        If it is not homogeneous or not convex.

    Examples
    --------
    >>> import trundle as tr
    >>> import casadi as ca
    >>> ball = tr.geometry.ExpressionBody(lambda x, y, z: 0.1 * ca.sqrt(x**2 + y**2 + z**2))
    >>> round(ball.reference_length, 9)
    0.1
    """

    function: Formula
    d = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", _compile_formula("function", self.function, 3, 1))  # which pickles
        check_convex(self, "function")

    def support(self, u: ca.SX) -> ca.SX:
        """Return ``function`` of the direction."""
        return _compile_formula("function", self.function, 3, 1)(u)
