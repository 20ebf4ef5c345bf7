"""Ctrl-C between two steps: a computation that is `hold_interrupts` meets the signal where its results are whole.

Within `hold_interrupts` the signal is noted. `check` lets it through between two steps; `opened` at any instant, around
what is not ours (policies, progress) or has nothing to lose (compiling). One that comes `PATIENCE` after another that
still waits is let through wherever it is.
Signals reach the main thread only; in others nothing here does anything.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass
from types import FrameType

PATIENCE = 1.0
"""Time (s) in which further signals wait with the first."""


@dataclass
class _State:
    """Of the main thread: whether it holds signals, or lets them through; since when one waits; whether one came."""

    inside: bool = False
    open: bool = False
    waiting: float = 0.0
    delivered: bool = False


_state = _State()


@contextmanager
def hold_interrupts() -> Iterator[bool]:
    """Note Ctrl-C within the block, or the function it decorates; one that no `check` let through is raised after it.

    Within another such block it waits for that one: yields whether there is none. Nothing changes where Ctrl-C is
    ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _main() or not callable(before):
        yield True
        return
    if _state.inside:
        with _Switched(False):
            yield False
        return

    def note(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not _state.open and now - (_state.waiting or now) < PATIENCE:
            _state.waiting = _state.waiting or now
            return
        _state.waiting, _state.delivered = 0.0, True
        before(number, frame)

    _state.inside, _state.open, _state.waiting = True, False, 0.0
    signal.signal(signal.SIGINT, note)
    try:
        yield True
    finally:
        _state.inside = _state.open = False
        signal.signal(signal.SIGINT, before)
        if _state.waiting:
            _state.waiting = 0.0
            before(signal.SIGINT, None)


def check() -> None:
    """Raise KeyboardInterrupt if a signal was noted: here everything is whole."""
    if _state.waiting and _main() and callable(handler := signal.getsignal(signal.SIGINT)):
        with _Switched(True):
            handler(signal.SIGINT, None)


class opened(ContextDecorator):  # noqa: N801 - used like `hold_interrupts`, in every call of a policy
    """Let Ctrl-C through at any instant of the block; where its exception got lost it is raised after the block."""

    def __enter__(self) -> None:
        self._within = None
        if _state.inside and _main():
            check()
            self._within = _Switched(True)
            self._within.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._within is None:
            return
        lost = _state.delivered and (error is None or isinstance(error, Exception))
        self._within.__exit__()
        if lost:
            raise KeyboardInterrupt from None


class _Switched:
    """The state, open or not, within the block."""

    def __init__(self, open: bool) -> None:
        self._open = open

    def __enter__(self) -> None:
        self._was = _state.open, _state.delivered
        _state.open, _state.delivered = self._open, False

    def __exit__(self, *_: object) -> None:
        _state.open, _state.delivered = self._was


def _main() -> bool:
    return threading.get_ident() == threading.main_thread().ident
