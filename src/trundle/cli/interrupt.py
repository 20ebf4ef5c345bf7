"""Ctrl-C that cannot get lost: the signal is noted, whatever becomes of the exception it raises.

An exception raised by a signal inside a C callback or a destructor is printed and dropped, or comes out as another one.
What is noted here still holds then: `check` raises it again at a safe point, and the exit code says 130.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_CODE = 130  # 128 + SIGINT, as shells have it
_SHOW_CURSOR = b"\x1b[?25h"
# A plain flag: a lock could be held by the very code that the signal interrupts.
_noted = [False]


@contextmanager
def watch_interrupts() -> Iterator[None]:
    """Note Ctrl-C within the block; a second one ends the process at once.

    Nothing is changed outside the main thread, and where interrupts are ignored, as in the background of a script.
    """
    _noted[0] = False
    before = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and before not in (signal.SIG_IGN, None)
    if mine:
        signal.signal(signal.SIGINT, _handle)
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)


def note() -> None:
    """Note an interrupt that came on another way than the signal."""
    _noted[0] = True


def was_interrupted() -> bool:
    """Whether there was an interrupt since `watch_interrupts` began."""
    return _noted[0]


def check() -> None:
    """Raise KeyboardInterrupt if there was an interrupt, even one whose own exception got lost."""
    if _noted[0]:
        raise KeyboardInterrupt


def _handle(_number: int, _frame: FrameType | None) -> None:
    if _noted[0]:
        # A progress bar hides the cursor and gets no chance to show it again.
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    _noted[0] = True
    raise KeyboardInterrupt
