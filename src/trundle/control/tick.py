"""A controller's tick as expressions around quadratic programs: what `trundle export` writes as C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import casadi as ca

from trundle.checks import FloatArray

ALL_LIMITS_HOLD, NOTHING_POSED = 1, -1
"""`solved` of ``ControlTick.end``; 2 where limits with a price are exceeded, 0 where the programs had no solution."""


@dataclass(frozen=True)
class NamedEntry:
    """One entry of an argument of exported functions: its name and its unit."""

    name: str
    unit: str


@dataclass(frozen=True)
class Argument:
    """An argument of a tick: a vector whose entries have names, or a matrix by columns with what it holds.

    Attributes
    ----------
    shape : (rows, columns)
    entries : tuple of NamedEntry
        Of a vector, where they have names.
    meaning : str
        Of a matrix: what it is, with its unit.
    """

    shape: tuple[int, int]
    entries: tuple[NamedEntry, ...] = ()
    meaning: str = ""

    @classmethod
    def of(cls, entries: tuple[NamedEntry, ...]) -> Argument:
        """Return a vector with names."""
        return cls((len(entries), 1), entries)


@dataclass(frozen=True)
class ProgramStage:
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
class ControlTick:
    """What one tick of a sampled controller computes (final).

    ``begin`` makes the numbers of the tick, each stage of an attempt solves one quadratic program, ``end`` makes the
    inputs of what came of it. An attempt is given up where a program of it contradicts itself; then the next one is
    tried, with the numbers of the beginning.

    Attributes
    ----------
    arguments : mapping of str to Argument
        What a tick is given; ``x`` is the measured state of a model, whose entries the model names.
    begin : casadi.Function
        (arguments, memory) -> carry, z, good: 0 where the tick can have no answer.
    attempts : tuple of tuple of ProgramStage
    end : casadi.Function
        (carry, z, memory, solved[, multipliers of the last program]) -> u, memory. `solved`: see `ALL_LIMITS_HOLD`.
    reset : casadi.Function
        x, if it is an argument, -> memory before the first tick.
    period : float, s
    outputs : tuple of NamedEntry
        Entries of u, where they are not those of the model.
    accuracy : float
        Largest difference from Python over 1 + |value|: where tasks leave inputs free, only the damping decides.
    """

    arguments: Mapping[str, Argument]
    begin: ca.Function
    attempts: tuple[tuple[ProgramStage, ...], ...]
    end: ca.Function
    reset: ca.Function
    period: float
    outputs: tuple[NamedEntry, ...] = ()
    accuracy: float = 1e-6

    def __str__(self) -> str:
        """Return how many quadratic programs of what size it solves how often."""
        sizes = [f"{stage.pose.size1_out(0)} x {stage.pose.size2_out(2)}" for stage in self.attempts[0]]
        return f"quadratic programs of {' and '.join(sizes)} every {self.period:g} s"


@dataclass(frozen=True)
class RecordedTicks:
    """Ticks of Python's controller: the arguments, and its inputs u, one row a tick; matrices by columns."""

    arguments: Mapping[str, FloatArray]
    u: FloatArray


@runtime_checkable
class Ticking(Protocol):
    """A controller that can be written as C."""

    def control_tick(self) -> ControlTick | str:
        """Return a tick; or why there is none."""
        ...

    def tick_arguments(self, time: float, state: FloatArray) -> tuple[FloatArray, ...]:
        """Return the arguments of the last call, at `time` (s) with a measured `state`, in the tick's order."""
        ...
