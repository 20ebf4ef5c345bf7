"""How far a whole run is: what is done took its time, what is under way and ahead is estimated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trundle.scenarios.engine.building import PartProgress

Progress = Callable[[str, float], None]
"""Called with the name of what is running and the share of the whole run that is done, from 0 to 1."""

_GUESS = {"build": 1.0, "solve": 10.0, "simulate": 2.0, "report": 5.0}  # s, before anything is known
_CERTAIN = 0.1  # share of a stage from which on its duration is extrapolated without the guess


class Course:
    """The stages of a run, one after the other, for one progress callback.

    Parameters
    ----------
    progress : callable or None
    clock : callable
        Time, s.

    Examples
    --------
    >>> seconds = iter([0.0, 0.0, 0.0, 4.0])
    >>> course = Course(lambda what, share: print(what, round(share, 2)), lambda: next(seconds))
    >>> tell = course.stage("plan", "solve", ahead=["report"])
    plan 0.0
    >>> tell(0.5)  # 4 s done, 4 s and the report's 5 s left
    plan 0.31
    """

    def __init__(self, progress: Progress | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress, self._clock = progress, clock
        self._began, self._share = clock(), 0.0
        self._times: dict[str, list[float]] = {}

    def stage(self, name: str, phase: str, ahead: list[str]) -> PartProgress | None:
        """Begin a stage of a phase, and return what is called with the share of it that is done.

        `ahead` holds the phases of the stages that follow.
        """
        progress = self._progress
        if progress is None:
            return None
        begin, guess = self._clock(), self._typical(phase)
        times = self._times.setdefault(phase, [])
        times.append(0.0)
        rest = sum(map(self._typical, ahead))

        def tell(share: float) -> None:
            now = self._clock()
            spent = times[-1] = now - begin
            known = min(share / _CERTAIN, 1.0)
            whole = known * spent / share + (1.0 - known) * max(guess, spent) if share > 0.0 else max(guess, spent)
            left, gone = whole * (1.0 - share) + rest, now - self._began
            self._share = max(self._share, gone / (gone + left) if gone + left > 0.0 else 0.0)
            progress(name, self._share)

        tell(0.0)
        return tell

    def _typical(self, phase: str) -> float:
        """Return the mean duration (s) of the stages of a phase so far, or a guess."""
        known = [seconds for seconds in self._times.get(phase, ()) if seconds > 0.0]
        return sum(known) / len(known) if known else _GUESS.get(phase, _GUESS["simulate"])


class Clock:
    """Wall time by phase."""

    def __init__(self) -> None:
        self._times = {"build": 0.0, "solve": 0.0, "simulate": 0.0, "report": 0.0}

    @property
    def times(self) -> dict[str, float]:
        """By phase, s."""
        return {phase: round(value, 6) for phase, value in self._times.items()}

    def add(self, phase: str, seconds: float) -> None:
        """Add to the time of a phase."""
        self._times[phase] += seconds

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Add the time of the block to that of a phase."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(phase, time.perf_counter() - begin)
