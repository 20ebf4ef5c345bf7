"""Symbol: a number of a model that expressions keep as a symbol and decisions know by its value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import final

import casadi as ca

from trundle.checks import Standing


@final
class Symbol(Standing, ca.SX):
    """A symbol that stands where a model has a number: compared, it is its value; calculated with, an expression.

    It is not zero, and equal to itself alone: what a model simplifies for zeros or for equal sizes stays general. Sums
    and products with numbers are such symbols, too: half a length, a point on a rim.
    """

    def __init__(self, name: str | ca.SX, value: float) -> None:
        super().__init__(ca.SX.sym(name) if isinstance(name, str) else name)
        self.value = value

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


def _overload_operation(operation: Callable[..., ca.SX], back: bool) -> Callable[[Symbol, object], ca.SX]:
    """Return an operation of a symbol: with numbers and symbols again one, with its value; else an expression."""

    def calculate(self: Symbol, other: object) -> ca.SX:
        one, two = (other, self) if back else (self, other)
        result = operation(*(ca.SX(x) if isinstance(x, Symbol) else x for x in (one, two)))
        if not isinstance(other, int | float | Symbol):
            return result
        numbers = (self.value, value_of(other))
        return Symbol(result, float(operation(*(reversed(numbers) if back else numbers))))

    return calculate


for _name in ("add", "sub", "mul", "truediv"):
    for _back in (False, True):
        setattr(Symbol, f"__{'r' * _back}{_name}__", _overload_operation(getattr(operator, _name), _back))
Symbol.__neg__ = lambda self: -1.0 * self
