"""Rules that every figure keeps: what is drawn has a name, a unit and a place inside the axes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from trundle.report import Figure

UNIT = re.compile(r"\((1|%|[^()]*(m|s|N|J|g|rad|deg|kg)[^()]*)\)")
COUNTS = {"trial", "stride"}
MOST_LINES = 8
QUIET = {"#8c8c8c", "#22303c"}
"""Grey and ink: marks, outlines and ground, which the text beside them or the caption explains."""


def drawn(figure: Figure) -> Canvas:
    """Return a figure as `write_figures` draws it."""
    canvas = Canvas(figsize=figure.size, dpi=100)
    figure.draw(canvas.add_subplot())
    canvas.draw_without_rendering()
    return canvas


def axes_of(canvas: Canvas) -> list[Axes]:
    """Return the axes that show something, insets too."""
    found = [*canvas.axes, *(inset for ax in canvas.axes for inset in ax.child_axes if isinstance(inset, Axes))]
    return [ax for ax in found if ax.get_visible()]


def faults(figure: Figure) -> list[str]:
    """Return what is wrong with a figure."""
    canvas = drawn(figure)
    found: list[str] = []
    for ax in axes_of(canvas):
        if all(line.get_label() != "_copy" for line in ax.lines):  # magnified: named beside what is copied
            found += [*_labels(ax), *_units(ax)]
        found += [*_inside(ax), *_crowded(ax), *_places(ax), *_single(ax)]
    found += [f"a box around {ax.get_title(loc='left')!r}" for ax in canvas.axes if _boxed(ax)]
    return [*found, *_names(canvas), *_overlaps(canvas)]


def _lines(ax: Axes) -> list[Line2D]:
    """Return the lines in data coordinates that hold points."""
    return [one for one in ax.lines if one.get_transform() == ax.transData and np.size(one.get_xdata()) > 0]


def _labels(ax: Axes) -> Iterator[str]:
    """Each line has a label, or the colour of one that has."""
    named = [one for one in (*ax.lines, *ax.patches, *ax.collections) if not str(one.get_label()).startswith("_")]
    known = {colour for one in named for colour in _colours(one)} | QUIET
    maps = {to_hex(colour) for colour in _viridis()}  # type: ignore[arg-type]
    for line in _lines(ax):
        colour = to_hex(line.get_color())
        if str(line.get_label()).startswith("_") and colour not in known | maps:
            yield f"no name: {colour} {line.get_linestyle()} {line.get_marker()}"


def _crowded(ax: Axes) -> Iterator[str]:
    """No axes hold more named lines over time than can be told apart."""
    named = [one for one in _lines(ax) if not str(one.get_label()).startswith("_") and np.size(one.get_xdata()) > 5]
    if len(named) > MOST_LINES:
        yield f"{len(named)} lines in one axes"


def _places(ax: Axes) -> Iterator[str]:
    """A label of the y axis is no longer than its axis; a legend has no frame, lies outside and inside the width."""
    label, legend = ax.yaxis.label, ax.get_legend()
    if label.get_text() and label.get_window_extent().height > ax.bbox.height + 1.0:
        yield f"longer than its axis: {label.get_text()!r}"
    if legend is None:
        return
    box = legend.get_window_extent()
    both = Bbox.intersection(box, ax.bbox)
    if legend.get_frame_on() or (both is not None and both.width > 1.0 and both.height > 1.0):
        yield "a legend inside its axes or in a frame"
    if box.x0 < ax.bbox.x1 and ax.figure is not None and box.x1 > ax.figure.bbox.x1 + 1.0:
        yield f"a legend {box.x1 - ax.figure.bbox.x1:.0f} px wider than the picture"


def _single(ax: Axes) -> Iterator[str]:
    """An axis of trials shows more than one."""
    if ax.get_xlabel() == "trial" and len({round(float(x)) for line in _lines(ax) for x in line.get_xdata()}) < 2:
        yield "a single trial"


def _boxed(ax: Axes) -> bool:
    """Return whether axes have lines at the top, or at both sides beside those of a second axis."""
    seen = {side for side in ("top", "right") if ax.get_visible() and ax.spines[side].get_visible()}
    return bool(seen - ({"right"} if ax.yaxis.get_ticks_position() == "right" else set()))


def _colours(artist: object) -> set[str]:
    if isinstance(artist, Line2D):
        return {to_hex(artist.get_color())}
    if isinstance(artist, Collection):
        return {to_hex(colour) for colour in artist.get_facecolor()}
    return {to_hex(artist.get_facecolor())}  # type: ignore


def _viridis() -> list[tuple[float, ...]]:
    from matplotlib import colormaps

    return [colormaps["viridis"](0.05 + 0.8 * k / n) for n in range(1, 12) for k in range(n + 1)]


def _names(canvas: Canvas) -> Iterator[str]:
    """Names in a legend are there once, and no two look the same."""
    for ax in axes_of(canvas):
        legend = ax.get_legend()
        labels = [text.get_text() for text in legend.get_texts()] if legend else []
        handles = legend.legend_handles if legend else []
        yield from (f"name given {n} times: {text}" for text, n in Counter(labels).items() if n > 1)
        yield from (f"empty name: {text!r}" for text in labels if not text.strip(" ,:"))
        looks = Counter(_look(one) for one in handles)
        yield from (f"{n} names look the same: {look}" for look, n in looks.items() if n > 1)
        shown = {str(one.get_label()) for part in _family(canvas, ax) for one in (*part.lines, *part.collections)}
        missing = {text for text in shown if not text.startswith("_")} - set(labels)
        if legend is not None or len(canvas.axes) == 1:
            yield from (f"not in the legend: {text}" for text in missing if ax in canvas.axes)


def _family(canvas: Canvas, ax: Axes) -> list[Axes]:
    return canvas.axes if ax in canvas.axes and all(not a.child_axes for a in canvas.axes) else []


def _look(handle: object) -> tuple[object, ...]:
    if isinstance(handle, Line2D):
        thick = handle.get_linewidth() > 2.5
        alpha = handle.get_alpha() or 1.0
        dashes = handle.get_linestyle()
        marker = (
            handle.get_marker() if dashes in ("None", "none", "") or handle.get_marker() not in ("None", "") else ""
        )
        return to_hex(handle.get_color()), dashes, marker, thick, handle.get_fillstyle(), alpha < 0.6
    return type(handle).__name__, to_hex(handle.get_facecolor()), handle.get_alpha()  # type: ignore[attr-defined]


def _inside(ax: Axes) -> Iterator[str]:
    """What is named lies inside the axes, and each named line has a finite point."""
    (x0, x1), (y0, y1) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    for line in _lines(ax):
        name = str(line.get_label())
        if name.startswith("_") or name == "walls":  # walls have no end
            continue
        x, y = (np.ma.filled(np.ma.asarray(v, dtype=float), np.nan) for v in line.get_data())
        fine = np.isfinite(x) & np.isfinite(y)
        if not fine.any():
            yield f"nothing to see: {name}"
            continue
        room = 1e-9 + 1e-6 * np.array([x1 - x0, y1 - y0])
        out = (x < x0 - room[0]) | (x > x1 + room[0]) | (y < y0 - room[1]) | (y > y1 + room[1])
        if np.any(out & fine):
            yield f"outside the axes: {name} {np.sum(out & fine)} of {fine.sum()}"
    for text in ax.texts:
        if isinstance(text, Annotation) and not text.get_text():
            continue
        box = text.get_window_extent()
        whole = ax.figure.bbox if ax.figure else ax.bbox
        if not (whole.x0 - 20 <= box.x0 and box.x1 <= whole.x1 + 20):
            yield f"text outside the picture: {text.get_text()}"


def _units(ax: Axes) -> Iterator[str]:
    """Each axis with numbers says its unit."""
    for axis in (ax.xaxis, ax.yaxis):
        ticks = [tick.get_text() for tick in axis.get_ticklabels() if tick.get_visible() and tick.get_text()]
        if not any(re.search(r"\d", tick) for tick in ticks):
            continue
        label = axis.label.get_text()
        if axis is ax.xaxis and not label and _shares_x(ax):
            continue
        if not UNIT.search(label) and label not in COUNTS and "(unit beside each name)" not in label:
            yield f"no unit: {axis.axis_name} {label!r}"


def _box(text: Text) -> Bbox:
    """Return where a text is; of one that ends with an empty line, the line above."""
    box = text.get_window_extent()
    return Bbox([[box.x0, 0.5 * (box.y0 + box.y1)], [box.x1, box.y1]]) if text.get_text().endswith("\n") else box


def _shares_x(ax: Axes) -> bool:
    return len(ax.get_shared_x_axes().get_siblings(ax)) > 1


def _overlaps(canvas: Canvas) -> Iterator[str]:
    """No two texts lie on each other."""
    texts: list[tuple[str, Bbox]] = []
    for ax in axes_of(canvas):
        these: list[Text] = [*ax.texts, ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
        these += [ax.xaxis.label, ax.yaxis.label]
        legend = ax.get_legend()
        these += legend.get_texts() if legend else []
        texts += [(one.get_text(), _box(one)) for one in these if one.get_text().strip()]
    for i, (one, box) in enumerate(texts):
        for other, second in texts[:i]:
            both = Bbox.intersection(box, second)
            if both is not None and both.width > 1.0 and both.height > 1.0:
                yield f"texts overlap: {one!r} and {other!r}"
