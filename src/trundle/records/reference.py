"""Reference: a motion to follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray, array
from trundle.errors import InputError


@dataclass(frozen=True, eq=False)
class Reference:
    """States and inputs of a model over time; linear in between, constant outside.

    Parameters
    ----------
    times : (N,) s
        Ascending, N >= 2.
    states : (N, n_x)
        In the model's own layout.
    inputs : (N, n_u)
        For a pair on a hand: derivative of the hand's body twist, angular first.
    atlas : tuple
        Charts that contact coordinates among the states belong to.

    Raises
    ------
    InputError
        If sizes differ, times do not ascend or a value is not finite.
    """

    times: FloatArray
    states: FloatArray
    inputs: FloatArray
    atlas: tuple[tuple[int, int], ...] = ((0, 0),)

    def __post_init__(self) -> None:
        times = array("times", self.times, (None,), unit="s")
        if times.size < 2 or np.any(np.diff(times) <= 0):
            raise InputError("times", self.times, "at least two ascending times (s)")
        object.__setattr__(self, "times", times)
        for name in ("states", "inputs"):
            object.__setattr__(self, name, array(name, getattr(self, name), (times.size, None)))

    @property
    def duration(self) -> float:
        """Time from the first to the last sample, s."""
        return float(self.times[-1] - self.times[0])

    def at(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Return (x, u) at `time` (s), each linear between samples and held outside."""
        t = float(np.clip(time, self.times[0], self.times[-1]))
        after = int(np.clip(np.searchsorted(self.times, t, side="right"), 1, len(self.times) - 1))
        share = (t - self.times[after - 1]) / (self.times[after] - self.times[after - 1])
        pairs = ((values[after - 1], values[after]) for values in (self.states, self.inputs))
        x, u = ((1.0 - share) * before + share * behind for before, behind in pairs)
        return x, u
