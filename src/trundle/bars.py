"""Progress of long computations: a bar in terminals and notebooks, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from trundle.errors import printable

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Show = Callable[[str, float, bool], None]  # what is going on, the share done, whether this is the end
_EVERY = 10.0  # s between lines where there is no terminal
_KNOWN = 0.005  # share from which on the time left is more than a guess
_CELLS = 30  # of a bar in a notebook


class Bar:
    """Called with what is going on and the share of all that is done, from 0 to 1.

    Attributes
    ----------
    stopped : bool
        Whether the work was cut short: the bar then stays where it is and says so.
    """

    def __init__(self, show: Show = lambda what, share, ended: None) -> None:
        self._show, self._last = show, ("", 0.0)
        self.stopped = False

    def __call__(self, what: str, share: float) -> None:
        """Show how far it is."""
        self._last = (printable(what), min(max(share, 0.0), 1.0))
        self._show(*self._last, False)

    def end(self) -> None:
        """Show how it ended: full, or where it was stopped."""
        what, share = self._last
        self._show(f"ended in: {what}" if self.stopped else "done", share if self.stopped else 1.0, True)


@contextmanager
def bar(wanted: bool = True) -> Iterator[Bar]:
    """Show how far the block is, how long it took, and how long it will take: a bar in a terminal or a notebook.

    Elsewhere a line every ten seconds. All of it goes to stderr, but in a notebook.

    Examples
    --------
    >>> with bar(wanted=False) as show:
    ...     show("solve", 0.5)
    """
    with _show_bar(wanted) as made:
        try:
            yield made
        except BaseException:
            made.stopped = True
            raise
        finally:
            made.end()


@contextmanager
def reporting(
    verbose: bool,
    progress: Callable[Arguments, Answer] | None,
    told: Callable[Arguments, tuple[str, float]],
) -> Iterator[Callable[Arguments, Answer | None] | None]:
    """Yield `progress`; if `verbose`, a callback around it that shows a bar: `told` makes (text, share) of a call.

    Examples
    --------
    >>> with reporting(False, None, lambda t: ("simulate", t / 2.0)) as progress:
    ...     progress is None
    True
    """
    if not verbose:
        yield progress
        return
    with bar() as show:

        def tell(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer | None:
            show(*told(*args, **kwargs))
            return None if progress is None else progress(*args, **kwargs)

        yield tell


@contextmanager
def _show_bar(wanted: bool) -> Iterator[Bar]:
    if not wanted:
        yield Bar()
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _in_terminal() as show:
            yield Bar(show)
    elif "ipykernel" in sys.modules:
        yield Bar(_in_notebook())
    else:
        yield Bar(_lines())


@contextmanager
def _in_terminal() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Times(ProgressColumn):
        """Time elapsed, and left at the mean speed so far."""

        def render(self, task: Task) -> Text:
            return Text(_times(task.elapsed or 0.0, task.completed, task.fields["ended"]))

    name = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
    columns = (name, BarColumn(16), TaskProgressColumn(), Times())
    own = sys.stdout.isatty()
    with Progress(*columns, console=Console(stderr=True), expand=True, redirect_stdout=own) as progress:
        task = progress.add_task("starting", total=1.0, ended=False)

        def show(what: str, share: float, ended: bool) -> None:
            new = what != progress.tasks[task].description
            progress.update(task, description=what, completed=share, refresh=new, ended=ended)

        yield show


def _in_notebook() -> Show:
    """Return what shows a bar of text that is replaced by the next one."""
    from IPython.display import DisplayHandle  # pyright: ignore[reportMissingImports] - a kernel brings it

    handle, line = DisplayHandle(), _Line()
    handle.display({"text/plain": ""}, raw=True)

    def show(what: str, share: float, ended: bool) -> None:
        if line.due(0.2) or ended:
            full = round(_CELLS * share)
            handle.update({"text/plain": f"{'━' * full}{'─' * (_CELLS - full)} {line(what, share, ended)}"}, raw=True)

    return show


def _lines() -> Show:
    """Return what writes a line now and then, and one at the end of what took that long."""
    line, told = _Line(), False

    def show(what: str, share: float, ended: bool) -> None:
        nonlocal told
        if line.due(_EVERY) or (told and ended):
            print(line(what, share, ended), file=sys.stderr, flush=True)
            told = True

    return show


class _Line:
    """A line of text with share and times, and when the next one is due."""

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def due(self, every: float) -> bool:
        if time.monotonic() - self._last < every:
            return False
        self._last = time.monotonic()
        return True

    def __call__(self, what: str, share: float, ended: bool) -> str:
        return f"{what}: {share:4.0%}, {_times(time.monotonic() - self._begun, share, ended)}"


def _times(spent: float, share: float, ended: bool) -> str:
    left = f", {_clock(spent * (1 - share) / share)} left" if _KNOWN < share and not ended else ""
    return f"{_clock(spent)} elapsed{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
