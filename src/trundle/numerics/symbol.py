"""Symbol: a number of a model that expressions keep as a symbol and decisions know by its value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import final

import casadi as ca

from trundle.checks import Standing


def _calculated(operation: Callable[..., ca.SX], back: bool = False) -> Callable[[ca.SX, object], ca.SX]:
    """Return an operation of a symbol: with numbers and symbols again one, with its value; else an expression."""

    def calculate(self: ca.SX, other: object) -> ca.SX:
        number = isinstance(other, int | float | Symbol)
        one, two = (other, self) if back else (self, other)
        result = operation(*(ca.SX(x) if isinstance(x, Symbol) else x for x in (one, two)))
        return Symbol(result, operation(value_of(one), value_of(two))) if number else result

    return calculate


@final
class Symbol(Standing, ca.SX):
    """A symbol that stands where a model has a number: compared, it is its value; calculated with, an expression.

    It is not zero, and equal to itself alone: what a model simplifies for zeros or for equal sizes stays general. Sums
    and products with numbers are such symbols, too: half a length, a point on a rim.
    """

    def __init__(self, name: str | ca.SX, value: float) -> None:
        super().__init__(ca.SX.sym(name) if isinstance(name, str) else name)
        self.value = value

    __add__, __radd__ = _calculated(operator.add), _calculated(operator.add, back=True)
    __sub__, __rsub__ = _calculated(operator.sub), _calculated(operator.sub, back=True)
    __mul__, __rmul__ = _calculated(operator.mul), _calculated(operator.mul, back=True)
    __truediv__, __rtruediv__ = _calculated(operator.truediv), _calculated(operator.truediv, back=True)

    def __neg__(self) -> ca.SX:
        return -1.0 * self

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return self is other

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def __lt__(self, other: float) -> bool:  # type: ignore[override]
        return self.value < value_of(other)

    def __gt__(self, other: float) -> bool:  # type: ignore[override]
        return self.value > value_of(other)

    def __le__(self, other: float) -> bool:  # type: ignore[override]
        return self.value <= value_of(other)

    def __ge__(self, other: float) -> bool:  # type: ignore[override]
        return self.value >= value_of(other)


def value_of(number: float | Symbol) -> float:
    """Return the value of a number, symbol or not."""
    return number.value if isinstance(number, Symbol) else number
