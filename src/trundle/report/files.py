"""Files of a run's report: the trajectories it is made from, and its figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

from trundle.errors import InputError
from trundle.records import Trajectory, load_trajectory
from trundle.records.whole import storing, write_bytes
from trundle.report.runs import Figure

_RESOLUTION = 150


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


def write_figures(
    figures: Mapping[str, Figure], folder: str | Path, say: Callable[[str], None], suffix: str = "png"
) -> list[Path]:
    """Write every figure into `folder` under its name and return the files; `say` is told what cannot be."""
    # A bare Figure, not pyplot: no global state, no window, and PNG output is Agg by itself.
    from matplotlib.figure import Figure as Canvas

    target = Path(folder)
    with storing(target, "folder", "one that can be written to"):
        target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in figures.items():
        path = target / f"{name}.{suffix}"
        canvas = Canvas(figsize=figure.size, dpi=_RESOLUTION)
        try:
            figure.draw(canvas.add_subplot())
        except InputError as error:
            say(f"{path.name}: {error}")
            continue
        canvas.savefig(content := io.BytesIO(), format=suffix, bbox_inches="tight", pad_inches=0.12)
        written.append(write_bytes(path, content.getvalue()))
    return written
