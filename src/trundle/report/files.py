"""Files of a run's report: the trajectories it is made from, and its figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import choice
from trundle.errors import InputError
from trundle.records import Trajectory, load_trajectory
from trundle.records.whole import storing, write_bytes
from trundle.report.runs import Figure
from trundle.report.style import fit_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.transforms import Bbox

_RESOLUTION = {"screen": 150, "paper": 600}
_COLUMN, _EDGE, _BELOW = 3.5, 0.02, 0.42  # in; of a legend below the axes
_LETTERS, _NOTES, _LEAST = 8.0, 7.0, 6.0  # pt; of what stands within axes; of labels for which there is no room
_THINNER, _THINNEST = 0.7, 0.5  # lines in print: times their width on the screen, at least so many pt


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
    figures: Mapping[str, Figure],
    folder: str | Path,
    say: Callable[[str], None],
    suffix: str = "png",
    style: str = "screen",
) -> list[Path]:
    """Write every figure into `folder` under its name and return the files; `say` is told what cannot be.

    `style` is "screen", as page and documentation show them, or "paper": a column of two wide, in 8 pt, for print.
    """
    # A bare Figure, not pyplot: no global state, no window, and PNG output is Agg by itself.
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    choice("plot_style", style, ("screen", "paper"))
    target = Path(folder)
    with storing(target, "folder", "one that can be written to"):
        target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in figures.items():
        path = target / f"{name}.{suffix}"
        canvas = Canvas(figsize=figure.size, dpi=_RESOLUTION[style])
        try:
            figure.draw(canvas.add_subplot())
        except InputError as error:
            say(f"{path.name}: {error}")
            continue
        with rc_context({"pdf.fonttype": 42}):  # TrueType, which publishers ask for
            box = _crop_figure(canvas) if style == "paper" else "tight"
            canvas.savefig(content := io.BytesIO(), format=suffix, bbox_inches=box, pad_inches=0.12)
        written.append(write_bytes(path, content.getvalue()))
    return written


def _crop_figure(canvas: Canvas) -> Bbox:
    """Make a figure as wide as a column, and return what of it is printed.

    The title is left out (the caption says it), those of panels stay. Letters have 8 pt, in axes 7 pt; notes that
    overlap others are hidden, and legends have as many columns as fit.
    """
    from matplotlib.transforms import Bbox

    width, height = canvas.get_size_inches()
    canvas.set_size_inches(_COLUMN, _COLUMN * height / width)
    main = canvas.axes[0]
    for side in ("left", "center", "right"):
        main.set_title("", loc=side)
    _thin(canvas)
    for ax in _all_axes(canvas):
        _narrow_legend(ax)
        if not fit_label(ax):
            ax.yaxis.label.set_fontsize(_LEAST)
    for _ in range(3):  # labels of ticks may change with the width
        box, place = canvas.get_tightbbox(), main.get_position()
        left, right = _EDGE - box.x0, box.x1 + _EDGE - _COLUMN
        main.set_position((place.x0 + left / _COLUMN, place.y0, place.width - (left + right) / _COLUMN, place.height))
    for ax in _all_axes(canvas):
        _without_overlaps(ax)
    box = canvas.get_tightbbox()
    return Bbox.from_extents(0.0, box.y0 - _EDGE, _COLUMN, box.y1 + _EDGE)


def _thin(canvas: Canvas) -> None:
    """Give letters and lines the sizes of print."""
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Annotation, Text

    for ax in _all_axes(canvas):
        ax.tick_params(labelsize=_LETTERS, length=2.5, width=_THINNEST, pad=2.0)
        ax.xaxis.labelpad = ax.yaxis.labelpad = 2.0
        for text in ax.texts:
            text.set_fontsize(_NOTES)
    notes = {text for ax in _all_axes(canvas) for text in ax.texts}
    for artist in canvas.findobj():
        if isinstance(artist, Text) and artist not in notes:
            artist.set_fontsize(_LETTERS)
        if isinstance(artist, Line2D | Patch):
            artist.set_linewidth(max(_THINNEST, _THINNER * artist.get_linewidth()) if artist.get_linewidth() else 0.0)
        if isinstance(artist, Line2D):
            artist.set_markersize(_THINNER * artist.get_markersize())
        if isinstance(artist, Collection):
            artist.set_linewidth((_THINNER * np.atleast_1d(artist.get_linewidth())).tolist())
        if isinstance(artist, PathCollection):
            artist.set_sizes(_THINNER**2 * artist.get_sizes())
        if isinstance(artist, Annotation) and artist.arrow_patch is not None:
            artist.arrow_patch.set_mutation_scale(_LETTERS)


def _all_axes(canvas: Canvas) -> list[Axes]:
    """Return the axes of a figure, those within others too."""
    found, ahead = [], list(canvas.axes)
    while ahead:
        found.append(ahead.pop(0))
        ahead += found[-1].child_axes
    return found


def _narrow_legend(ax: Axes) -> None:
    """Give a legend as many columns as there is room for in the column of a page."""
    from matplotlib.transforms import IdentityTransform, ScaledTranslation

    old = ax.get_legend()
    if old is None:
        return
    handles, labels = [one for one in old.legend_handles if one], [text.get_text() for text in old.get_texts()]
    look = {"loc": "upper left", "frameon": False, "fontsize": _LETTERS, "handlelength": 1.4, "columnspacing": 1.0}
    look |= {"borderaxespad": 0.0, "borderpad": 0.0, "handletextpad": 0.4, "labelspacing": 0.3}
    anchor, apart = old.get_bbox_to_anchor(), IdentityTransform()
    if anchor.y0 < ax.bbox.y0:  # below the labels, which are smaller now
        anchor, apart = (0.0, 0.0), ax.transAxes + ScaledTranslation(0.0, -_BELOW, ax.figure.dpi_scale_trans)
    for columns in range(len(labels), 0, -1):
        where = {"bbox_to_anchor": anchor, "bbox_transform": apart}
        made = ax.legend(handles, labels, ncols=columns, **look, **where)
        if made.get_window_extent().width <= (_COLUMN - 0.5) * made.figure.dpi:
            return


def _without_overlaps(ax: Axes) -> None:
    """Hide notes that overlap earlier ones."""
    taken: list[Bbox] = []
    for text in ax.texts:
        box = text.get_window_extent()
        if text.get_text() and any(box.overlaps(other) for other in taken):
            text.set_visible(False)
        elif text.get_text():
            taken.append(box)
