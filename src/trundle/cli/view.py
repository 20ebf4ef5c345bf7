"""`trundle view`, and the page that `trundle run --view` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from trundle.cli import interrupt
from trundle.cli.terminal import say


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
def watched(
    wanted: bool, progress: Callable[[str, float], None]
) -> Iterator[tuple[Callable[[str, float], None], Callable[[Path], None]]]:
    """Give a progress that a page in the browser shows, too, and what to call with the run's folder at its end."""
    if not wanted:
        yield progress, lambda folder: None
        return
    import webbrowser

    from trundle.report.viewer.live import LivePage

    with LivePage() as live:

        def tell(what: str, share: float) -> None:
            live.tell(what, share)
            progress(what, share)

        def show(folder: Path) -> None:
            page = folder / "viewer.html"
            if page.is_file():
                live.show(page.read_bytes)

        webbrowser.open(live.address)
        yield tell, show
