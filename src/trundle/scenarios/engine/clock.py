"""Wall time of a run by phase, and how far it is: what is done took its time, the rest is estimated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trundle.scenarios.engine.building import PartProgress

Progress = Callable[[str, float], None]
"""Called with the name of what is running and the share of the whole run that is done, from 0 to 1."""

_GUESS = {"build": 1.0, "solve": 10.0, "simulate": 2.0, "report": 5.0}  # s of a stage, before anything is known
_CERTAIN = 0.1  # share of a stage from which on its duration is extrapolated without the guess


class Clock:
    """Wall time of a run by phase, and its stages, one after the other, for one progress callback.

    Parameters
    ----------
    progress : callable or None
    now : callable
        Time, s.

    Examples
    --------
    >>> seconds = iter([0.0, 0.0, 0.0, 4.0])
    >>> clock = Clock(lambda what, share: print(what, round(share, 2)), lambda: next(seconds))
    >>> tell = clock.stage("plan", "solve", ahead=["report"])
    plan 0.0
    >>> tell(0.5)  # 4 s done, 4 s and the report's 5 s left
    plan 0.31
    """

    def __init__(self, progress: Progress | None, now: Callable[[], float] = time.monotonic) -> None:
        self._progress, self._now = progress, now
        self._began, self._share = now(), 0.0
        self._stages: dict[str, list[float]] = {}
        self._times = dict.fromkeys(_GUESS, 0.0)

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
        begin = self._now()
        try:
            yield
        finally:
            self.add(phase, self._now() - begin)

    def stage(self, name: str, phase: str, ahead: list[str]) -> PartProgress | None:
        """Begin a stage of a phase, and return what is called with the share of it that is done.

        `ahead` holds the phases of the stages that follow.
        """
        progress = self._progress
        if progress is None:
            return None
        begin, guess = self._now(), self._typical(phase)
        times = self._stages.setdefault(phase, [])
        times.append(0.0)
        rest = sum(map(self._typical, ahead))

        def tell(share: float) -> None:
            now = self._now()
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
        known = [seconds for seconds in self._stages.get(phase, ()) if seconds > 0.0]
        return sum(known) / len(known) if known else _GUESS.get(phase, _GUESS["simulate"])
