"""Pictures of a finished run: ``plots/*.png`` and ``viewer.html``, and the figures and page of one trajectory."""

from __future__ import annotations

import logging
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.errors import InputError, MissingExtraError
from trundle.records import Trajectory
from trundle.records.sealed import reading
from trundle.records.whole import storing
from trundle.report import Figure, RunSet, Stage, build_stage, trajectories, variable, write_figures, write_viewer
from trundle.report import figures as figures_of_kit
from trundle.report.picture import view
from trundle.report.runs import figure, figures_of_runs
from trundle.report.viewer import render, with_notice
from trundle.scenarios.engine.folder import own_folder
from trundle.scenarios.system import names, system
from trundle.scratch import lasting_scratch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trundle.scenarios.engine.building import PartProgress

_PARTS = 8  # of a run, at most, that its page carries
_PAGE = 3  # plots take about as long as a page
_drawing = threading.Lock()  # libraries that draw have a state that all threads share


def write_report(
    directory: str | Path,
    plots: bool = True,
    viewer: bool = True,
    notify: Callable[[str], None] | None = None,
    target: Callable[[str], Path] | None = None,
    plot_format: str = "png",
    plot_style: str = "screen",
    progress: PartProgress | None = None,
) -> list[Path]:
    """Write the plots of every trajectory in `directory` and the main run's viewer page; return the files written.

    Parameters
    ----------
    directory : path
        A run's folder with ``trajectory.nc``, and ``trajectory-<part>.nc`` for its parts.
    plots, viewer : bool
        Which of the two to write.
    notify : callable, optional
        Called with one line for each picture that could not be made because an extra or data are missing; by default
        the ``trundle`` logger. The other pictures are still made.
    plot_format, plot_style : "png", "svg" or "pdf"; "screen" or "paper"
    target, progress : callable, optional
        `OwnedFolder.target` of the folder, if this process writes to it already. Called with the share that is done.

    Raises
    ------
    InputError
        If the folder holds no ``trajectory.nc``, or a picture of the same name that trundle did not write.
    """
    folder = Path(directory)
    say = notify or logging.getLogger("trundle").warning
    written: list[Path] = []
    with ExitStack() as held:
        held.enter_context(_drawing)
        if target is None and (plots or viewer) and (folder / "trajectory.nc").is_file():
            target = held.enter_context(own_folder(folder, "report", "that of a run", beside=None)).target
            # Of records that another program wrote nobody knows what a system's own metadata are.
            held.enter_context(reading(folder, "the folder of a run whose record has what its figures need"))
        name, found = target or folder.joinpath, trajectories(folder)
        runs = RunSet(found[""], {name: run for name, run in found.items() if name})
        if viewer:
            page = name("viewer.html")
            try:
                written.append(write_viewer(stages(runs), page, _notice(runs.main)))
            except (MissingExtraError, InputError) as error:
                say(f"viewer.html: {error}")
        drawn = figures(runs) if plots else {}
        for one in drawn:
            name(f"plots/{one}.{plot_format}")
        for number, (one, made) in enumerate(drawn.items(), _PAGE):
            if progress is not None:
                progress(number / (_PAGE + len(drawn)))
            written += write_figures({one: made}, folder / "plots", say, plot_format, plot_style)
    if progress is not None:
        progress(1.0)
    return written


def figures(runs: RunSet) -> Mapping[str, Figure]:
    """Return the figures of a run by name: those of its system, or the default ones if no system has its kind."""
    found = system(runs.main.kind).figures(runs) if runs.main.kind in names() else figures_of_runs(runs, figures_of_kit)
    return {**found, "view": figure(_view, runs.main)} if runs.main.dimension == 3 else found


def _view(run: Trajectory, ax: Axes) -> None:
    """Draw the bodies after equal parts of their way as the viewer's camera sees them, the earlier the paler."""
    view(stage(run), run, ax)


def stage(run: Trajectory) -> Stage:
    """Return what the animation of a run shows."""
    made = system(run.kind).stage(run) if run.kind in names() else build_stage(run)
    status = run.status.label + ("" if run.feasible else ", not feasible")
    return replace(made, title=str(run.metadata.get("scenario") or run.kind), status=status)


def stages(runs: RunSet) -> dict[str, Stage]:
    """Return what the animation of a run shows, and of its first parts that have something to show.

    Raises
    ------
    InputError
        If the run itself has nothing to show.
    """
    found = {"main": stage(runs.main)}
    for name, run in list(runs.parts.items())[:_PARTS]:
        with suppress(InputError):
            found[name] = stage(run)
    return found


def draw(run: Trajectory, name: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw a variable or a figure of the report by its name.

    Parameters
    ----------
    run : Trajectory
        What to draw.
    name : str, optional
        A variable, or a figure of the run's system; the first figure unless given.
    ax : Axes, optional
        Where to draw; a new pyplot figure unless given.

    Raises
    ------
    InputError
        If there is no such variable or figure.
    """
    known = figures(RunSet(run))
    wanted = name or next(iter(known))
    if wanted == "contact_on_hand" and "contact_path" in known:
        wanted = "contact_path"
    if wanted in known:
        if ax is None:
            from trundle.report import style

            ax = style.new_axes(*known[wanted].size)
        known[wanted].draw(ax)
        return ax
    if wanted not in run.final:
        raise InputError("name", wanted, "one of " + ", ".join([*known, *run.final]))
    return variable(run, wanted, ax)


def page_of(directory: str | Path) -> bytes:
    """Return the viewer page of a run's folder, made from its trajectories.

    Raises
    ------
    InputError
        If the folder is not that of a run that has something to show.
    MissingExtraError
        If the extra ``viewer`` is not installed.
    """
    found = trajectories(directory)
    with reading(Path(directory), "the folder of a run whose record has what its figures need"):
        shown = stages(RunSet(found[""], {name: run for name, run in found.items() if name}))
    page = render(shown)
    notice = _notice(found[""])
    return (with_notice(page, notice) if notice else page).encode()


def open_viewer(run: Trajectory) -> Path:
    """Write the viewer page to a temporary file, open it in the browser and return the file."""
    with storing("a temporary folder", allowed="one that can be written to"):
        path = lasting_scratch() / "viewer.html"
    write_viewer(stage(run), path, _notice(run))
    webbrowser.open(path.as_uri())
    return path


def _notice(run: Trajectory) -> str:
    return str(run.metadata.get("notice") or "")
