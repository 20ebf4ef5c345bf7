"""An observer of runs that are under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trundle.records import Trajectory

Make = Callable[[], "Trajectory | None"]
Look = Callable[[Make], None]
_look: ContextVar[Look | None] = ContextVar("look", default=None)


@contextmanager
def watch_runs(look: Look) -> Iterator[None]:
    """Call `look` now and then during runs of this thread, with a function that returns the motion so far."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def notify(make: Make) -> None:
    """Call the observer, if there is one, with a function that returns the motion so far."""
    look = _look.get()
    if look is not None:
        look(make)


def notifying(progress: Callable[[float], object] | None, make: Make) -> Callable[[float], object] | None:
    """Return a progress callback that also notifies the observer; `progress` itself where there is none."""
    if _look.get() is None:
        return progress

    def both(time: float) -> None:
        if progress is not None:
            progress(time)
        notify(make)

    return both
