"""Runs that are looked at while they are made."""

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
def watched(look: Look) -> Iterator[None]:
    """Give `look`, now and then while runs are made in this thread, a function that returns the motion so far."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def shown(make: Make) -> None:
    """Let whoever looks have what `make` returns."""
    look = _look.get()
    if look is not None:
        look(make)


def along(progress: Callable[[float], object] | None, make: Make) -> Callable[[float], object] | None:
    """Return a progress that lets whoever looks have the motion so far, too; the same one where nobody does."""
    if _look.get() is None:
        return progress

    def both(time: float) -> None:
        if progress is not None:
            progress(time)
        shown(make)

    return both
