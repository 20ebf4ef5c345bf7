"""What the quadratic program of a tick keeps from one tick to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trundle.checks import FloatArray
from trundle.control.inverse_dynamics import Limit, Numbers, ProgramLayout, Solvers, Task


class LimitRows(NamedTuple):
    """The arrays of a limit, to write into."""

    A: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, limit: Limit) -> LimitRows:
        """Return the arrays themselves, no copies."""
        lower, upper = Numbers.of(limit.lower), Numbers.of(limit.upper)
        return cls(np.zeros((0, 0)) if limit.A is None else Numbers.of(limit.A), lower, upper)


@dataclass(frozen=True, eq=False)
class TickProgram:
    """What stays the same while the same ends stand and the same swing: sizes, and arrays that ticks write into."""

    layout: ProgramLayout
    solvers: Solvers
    tasks: Mapping[str, Task]
    limits: Mapping[str, LimitRows]
    standing: tuple[str, ...]
    moving: tuple[str, ...]
    held: tuple[str, ...]
    J: FloatArray
    b: FloatArray
    D: FloatArray
    S: FloatArray
    M: FloatArray
    h: FloatArray
