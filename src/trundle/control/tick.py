"""A controller's tick as expressions around quadratic programs: what `trundle export` writes as C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import casadi as ca

from trundle.checks import FloatArray


@dataclass(frozen=True)
class Entry:
    """One entry of an argument of exported functions: its name and its unit."""

    name: str
    unit: str


@dataclass(frozen=True)
class Stage:
    """A quadratic program: minimise 1/2 y'H y + g'y with low <= (y, A y) <= high (final).

    Attributes
    ----------
    pose : casadi.Function
        (carry, z) -> H, g, A', low, high.
    take : casadi.Function
        (carry, z, y) -> z, of its solution y.
    """

    pose: ca.Function
    take: ca.Function


@dataclass(frozen=True)
class TickProgram:
    """What one tick of a sampled controller computes (final).

    ``begin`` makes the numbers of the tick, each stage of an attempt solves one quadratic program, ``end`` makes the
    inputs of what came of it. An attempt is given up where a program of it contradicts itself; then the next one is
    tried, with the numbers of the beginning.

    Attributes
    ----------
    arguments : mapping of str to tuple of Entry
        What a tick is given besides the measured state.
    begin : casadi.Function
        (x, arguments, memory) -> carry, z, good: 0 where the tick can have no answer.
    attempts : tuple of tuple of Stage
    end : casadi.Function
        (carry, z, memory, solved) -> u, memory. `solved`: 1 where an attempt came to its end, else 0.
    reset : casadi.Function
        x -> memory, before the first tick.
    period : float, s
    values : callable
        Time (s) -> the arguments that Python's controller took at its last tick, in their order.
    """

    arguments: Mapping[str, tuple[Entry, ...]]
    begin: ca.Function
    attempts: tuple[tuple[Stage, ...], ...]
    end: ca.Function
    reset: ca.Function
    period: float
    values: Callable[[float], tuple[FloatArray, ...]]

    def __str__(self) -> str:
        """Return how many quadratic programs of what size it solves how often."""
        sizes = [f"{stage.pose.size1_out(0)} x {stage.pose.size2_out(2)}" for stage in self.attempts[0]]
        return f"quadratic programs of {' and '.join(sizes)} every {self.period:g} s"


@runtime_checkable
class Ticking(Protocol):
    """A controller that can be written as C."""

    def tick_program(self) -> TickProgram | str:
        """Return the program of a tick; or why there is none."""
        ...
