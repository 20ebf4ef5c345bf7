"""Symbol: a number of a model that expressions keep as a symbol and decisions know by its value."""

from __future__ import annotations

from typing import final

import casadi as ca


@final
class Symbol(ca.SX):
    """A symbol that stands where a model has a number: compared, it is its value; calculated with, an expression.

    It is not zero, and equal to itself alone: what a model simplifies for zeros or for equal sizes stays general.
    """

    def __init__(self, name: str, value: float) -> None:
        super().__init__(ca.SX.sym(name))
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
