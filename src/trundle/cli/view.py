"""`trundle view`, and the page that `trundle run --view` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import typer

from trundle.cli import interrupt
from trundle.cli.terminal import say
from trundle.errors import TrundleError

_SOON = 1.0  # s until the first picture of a motion: with less there is nothing to see
_EVERY = 4.0  # s between pictures of a motion that goes on
_SHARE = 9.0  # times what a picture takes: at least so long the run has for itself


def view(
    run: Path = typer.Argument(metavar="RUN", help="Folder of a run."),
    port: int = typer.Option(0, "--port", metavar="N", min=0, max=65535, help="Of the address [any that is free]."),
) -> None:
    """Show the moving picture of a run in the browser, on 127.0.0.1 alone, until Ctrl-C.

    It is made from the folder's trajectories; after the run was made again, reload the page.
    """
    import webbrowser

    from trundle.report.viewer.live import LivePage
    from trundle.scenarios.engine.pictures import page_of

    first = page_of(run)
    with LivePage(port) as live:
        made = {_age(run): first}

        def page() -> bytes:
            if _age(run) not in made:
                made[_age(run)] = page_of(run)
            return made[_age(run)]

        live.show(page)
        say(live.address)
        webbrowser.open(live.address)
        while True:
            interrupt.check()
            time.sleep(0.1)


def _age(run: Path) -> int:
    return (run / "trajectory.nc").stat().st_mtime_ns


@contextmanager
def watch_in_browser(
    wanted: bool, name: str, progress: Callable[[str, float], None]
) -> Iterator[tuple[Callable[[str, float], None], Callable[[Path], None]]]:
    """Give a progress that a page in the browser shows, too, and what to call with the run's folder at its end.

    `name` is that of the scenario.
    """
    if not wanted:
        yield progress, lambda folder: None
        return
    import webbrowser

    from trundle.records import Trajectory
    from trundle.report.viewer import render
    from trundle.report.viewer.live import LivePage
    from trundle.scenarios.engine.pictures import stage
    from trundle.simulate import watching

    due = None

    def look(make: Callable[[], Trajectory | None]) -> None:
        """Send the page the motion so far, now and then, where somebody waits for it."""
        nonlocal due
        begin = time.monotonic()
        due = begin + _SOON if due is None else due
        if not live.waited_for or begin < due:
            return
        with suppress(TrundleError):  # nothing to show, or no viser: the run goes on without
            if (run := make()) is None:
                return
            live.move(render(replace(stage(run), title=name, status=f"running, {run.time[-1]:.3g} s")).encode())
        end = time.monotonic()
        due = end + max(_EVERY, _SHARE * (end - begin))

    with LivePage() as live, watching.watch_runs(look):

        def tell(what: str, share: float) -> None:
            live.tell(what, share)
            progress(what, share)

        def show(folder: Path) -> None:
            page = folder / "viewer.html"
            if page.is_file():
                live.show(page.read_bytes)

        webbrowser.open(live.address)
        with suppress(ImportError):  # before the run: what it takes is not that of a picture
            import viser  # noqa: F401 # pyright: ignore[reportUnusedImport]
        yield tell, show
