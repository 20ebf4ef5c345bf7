"""Pictures of a finished run: ``plots/*.png`` and ``viewer.html``, from the files in its folder alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.errors import InputError, MissingExtraError
from trundle.records import Trajectory, load_trajectory
from trundle.report.metrics import TRIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZES = {"contact_path": (6.0, 6.2), "planar_motion": (9.0, 5.0), "snapshots": (11.0, 4.6), "phases": (7.0, 2.4)}
_SIZE = (7.0, 4.4)
_RESOLUTION = 150


def write_report(
    directory: str | Path,
    plots: bool = True,
    viewer: bool = True,
    notify: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write the plots of every trajectory in `directory` and the main run's moving picture; return what was written.

    Parameters
    ----------
    directory : path
        A run's folder with ``trajectory.nc``, and ``trajectory-<part>.nc`` for its parts.
    plots, viewer : bool
        Which of the two to write.
    notify : callable, optional
        Called with one line for each picture that could not be made, for want of an extra or of data; the log of
        ``trundle`` unless given. The others are made all the same.

    Raises
    ------
    InputError
        If the folder holds no ``trajectory.nc``.
    """
    folder = Path(directory)
    say = notify or logging.getLogger("trundle").warning
    written: list[Path] = []
    runs = trajectories(folder)
    for part, run in runs.items():
        if plots and not TRIAL.fullmatch(part):
            written += write_plots(run, folder / "plots", part, say)
        if viewer and not part:
            try:
                from trundle.report.viewer import write_viewer

                written.append(write_viewer(run, folder / "viewer.html"))
            except (MissingExtraError, InputError) as error:
                say(f"viewer.html: {error}")
    if plots:
        from trundle.systems.juggling.comparisons import comparisons

        drawings = {name: partial(draw, runs) for name, draw in comparisons(runs).items()}
        written += _drawn(drawings, folder / "plots", "", say)
    return written


def trajectories(directory: str | Path) -> dict[str, Trajectory]:
    """Return the trajectories of a run's folder: the main run under the empty name, parts under theirs.

    Raises
    ------
    InputError
        If there is no ``trajectory.nc`` or a file is no trajectory.
    """
    folder = Path(directory)
    if not (folder / "trajectory.nc").is_file():
        raise InputError("directory", str(folder), "the folder of a run, with a file trajectory.nc")
    runs = {"": load_trajectory(folder / "trajectory.nc")}
    for path in sorted(folder.glob("trajectory-*.nc")):
        runs[path.stem.removeprefix("trajectory-")] = load_trajectory(path)
    return runs


def write_plots(
    run: Trajectory, folder: str | Path, part: str = "", notify: Callable[[str], None] | None = None
) -> list[Path]:
    """Write every figure of `run` as PNG into `folder`, with the part's name in front, and return the files."""
    say = notify or logging.getLogger("trundle").warning
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return list(_plots(run, target, f"{part}-" if part else "", say))


def _plots(run: Trajectory, target: Path, prefix: str, say: Callable[[str], None]) -> Iterator[Path]:
    from trundle.report.plane import lies_in_plane
    from trundle.report.plots import figures, further
    from trundle.systems.walking import figures as walking_plots

    known = walking_plots.figures(run) or figures(run.kind, lies_in_plane(run)) | further(run)
    drawings = {name: partial(draw, run) for name, draw in known.items()}
    yield from _drawn(drawings, target, prefix, say)


def _drawn(
    drawings: Mapping[str, partial[Axes]], target: Path, prefix: str, say: Callable[[str], None]
) -> Iterator[Path]:
    # A bare Figure, not pyplot: no global state, no window, and PNG output is Agg by itself.
    from matplotlib.figure import Figure

    for name, draw in drawings.items():
        path = target / f"{prefix}{name}.png"
        figure = Figure(figsize=_SIZES.get(draw.func.__name__, _SIZE), dpi=_RESOLUTION)
        try:
            draw(figure.add_subplot())
        except InputError as error:
            say(f"{path.name}: {error}")
            continue
        figure.savefig(path, bbox_inches="tight", pad_inches=0.12)
        yield path
