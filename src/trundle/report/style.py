"""Colours, ink and marks that all figures share; nothing here changes matplotlib's global state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.records import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#2166ac", "#e08214", "#1b7837", "#c51b3a", "#7b3294", "#8c8c8c"
INK = "#22303c"
COMPONENTS = (RED, GREEN, BLUE)
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY, INK)
_MOST = 7  # lines in one axes
_ROWS, _LETTER, _SHORT = 3, 0.014, 0.02  # of names of modes; the widths of a letter and of the least phase with a name


def new_axes(width: float = 7.0, height: float = 4.2) -> Axes:
    """Return the axes of a new pyplot figure, for interactive use."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def dress(
    ax: Axes,
    title: str,
    x: str,
    y: str,
    run: Trajectory | None = None,
    columns: int = 4,
    others: Sequence[Axes] = (),
) -> Axes:
    """Put title, axis labels and a quiet grid on `ax`.

    With a run its name and outcome stand over it, at the right, and a `legend` below.
    """
    ax.set_title(title, loc="left", color=INK, fontsize=11, fontweight="bold")
    if run is not None:
        ax.set_title(subtitle(run) + "\n", loc="right", color=GREY, fontsize=8, linespacing=2.0)
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    ax.grid(True, color="#e4e7ea", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#9aa5ae")
    ax.tick_params(which="both", colors="#55606a", labelsize=9)
    fit_label(ax)
    if run is not None:
        legend(ax, columns, others)
    return ax


def fit_label(ax: Axes) -> bool:
    """Break the label of the y axis in two where it is longer than the axis; return whether it fits then."""
    label, text = ax.yaxis.label, ax.get_ylabel()
    if text and label.get_window_extent().height > ax.bbox.height:
        middle = min((i for i, c in enumerate(text) if c == " "), key=lambda i: abs(i - len(text) / 2), default=0)
        label.set_text(f"{text[:middle]}\n{text[middle:].strip()}" if middle else text)
    return not text or label.get_window_extent().height <= ax.bbox.height


def over_time(ax: Axes, run: Trajectory, title: str, y: str, columns: int = 4, others: Sequence[Axes] = ()) -> Axes:
    """Dress axes over the time of a run, with its changes of mode marked."""
    mark_transitions(ax, run)
    return dress(ax, title, "time (s)", y, run, columns, others)


def panels(ax: Axes, rows: int, columns: int = 1, apart: tuple[float, float] = (0.2, 0.1)) -> list[Axes]:
    """Return new axes in rows and columns that take the place of `ax`, with gaps in shares of a panel's size."""
    ax.grid(visible=False)
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_visible(False)
    wide, high = (1.0 / (n + gap * (n - 1)) for n, gap in zip((columns, rows), apart, strict=True))
    across = [j * wide * (1 + apart[0]) for j in range(columns)]
    up = [(rows - 1 - i) * high * (1 + apart[1]) for i in range(rows)]
    places = [(x, y) for y in up for x in across]
    return [ax.inset_axes((*place, wide, high)) for place in places]


def lines(
    ax: Axes,
    run: Trajectory,
    values: Mapping[str, NDArray[np.float64]],
    title: str,
    y: str,
    held: bool = False,
    log: bool = False,
) -> None:
    """Draw named values (n,) over time; more than can be told apart go to panels above each other.

    `held`: they are constant between samples.
    """
    count = -(-len(values) // _MOST)
    rows = panels(ax, count) if count > 1 else [ax]
    share = -(-len(values) // count) if count else 0
    for k, panel in enumerate(rows):
        for (name, value), colour in zip(list(values.items())[k * share : (k + 1) * share], PALETTE, strict=False):
            where = "steps-post" if held else "default"
            panel.plot(run.time, value, color=colour, linewidth=1.2, drawstyle=where, label=name)
        panel.set_yscale("log" if log else "linear")
    if count <= 1:
        over_time(ax, run, title, y)
        return
    dress(ax, title, "", "", run)
    for panel in rows:
        dress(panel, "", "", y)
        panel.tick_params(labelbottom=panel is rows[-1])
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False, handlelength=1.2)
    rows[-1].set_xlabel("time (s)", color=INK)


def magnify_range(ax: Axes, low: float, high: float) -> None:
    """Draw the lines between two values of x once more, in an inset, if they take less than a quarter of the axes."""
    left, right = ax.get_xlim()
    if not 0.0 < high - low < 0.25 * (right - left):
        return
    after = 0.5 * (low + high) < 0.5 * (left + right)
    side, (bottom, top) = 0.5 if after else 0.04, ax.get_ylim()
    inset = ax.inset_axes((side, 0.42, 0.46, 0.52))
    for line in [one for one in ax.lines if one.get_transform() == ax.transData]:
        (copy,) = inset.plot(*line.get_data(), drawstyle=line.get_drawstyle())
        copy.update_from(line)
        copy.set(transform=inset.transData, label="_copy", clip_path=inset.patch)
        x, y = np.asarray(line.get_data(), dtype=np.float64)
        behind = y[(x >= left + side * (right - left)) & (x <= left + (side + 0.46) * (right - left))]
        top = max(top, bottom + (float(np.nanmax(behind, initial=bottom)) - bottom) / 0.4)  # curves stay below it
    inset.set_xlim(low, high)
    inset.set_ylim(*ax.get_ylim())
    ax.set_ylim(bottom, top)
    inset.tick_params(colors="#55606a", labelsize=7.5)
    inset.grid(True, color="#e4e7ea", linewidth=0.6)
    ax.indicate_inset_zoom(inset, edgecolor=GREY)


def subtitle(run: Trajectory) -> str:
    """Return the run's scenario, its part and, unless all went well, how it ended."""
    parts = [": ".join(str(run.metadata[key]) for key in ("scenario", "part") if run.metadata.get(key))]
    if run.status.label != "success":
        parts.append(run.status.label)
    if not run.feasible and run.status.label != "infeasible":
        parts.append("not feasible")
    return ", ".join(part for part in parts if part)


def spoken(name: object) -> str:
    """Return the name of a joint or contact as a figure says it: of ``left_knee_joint`` "left knee"."""
    return str(name).removesuffix("_joint").replace("_", " ")


def legend(ax: Axes, columns: int = 4, others: Sequence[Axes] = ()) -> None:
    """Draw a legend, of other axes too, below the axes, where it hides nothing, if anything has a label.

    It has fewer columns where it would be wider than the figure, which would grow with it.
    """
    pairs = [zip(*one.get_legend_handles_labels(), strict=True) for one in (ax, *others)]
    named = {label: handle for pair in pairs for handle, label in pair}
    if named:
        from matplotlib.transforms import ScaledTranslation

        figure = ax.get_figure(root=True)
        below = ax.transAxes + ScaledTranslation(0.0, -0.55, figure.dpi_scale_trans) if figure else ax.transAxes
        for count in range(min(columns, len(named)), 0, -1):
            made = ax.legend(
                list(named.values()), list(named), loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=below,
                borderaxespad=0.0, borderpad=0.0, fontsize=8.5, ncols=count,
                frameon=False, columnspacing=1.4, handlelength=1.8,
            )  # fmt: skip
            if figure is None or made.get_window_extent().width <= figure.bbox.width - ax.bbox.x0:
                break


def mark_transitions(ax: Axes, run: Trajectory) -> None:
    """Mark changes of mode by dotted lines; the new mode's name stands beside a line, of several contacts with theirs.

    A mode that ends at once has no name, nor one for which there is no room in three rows; a late one has an arrow.
    Axes whose limits nobody has set end above the names.
    """
    start, length = float(run.time[0]), float(run.time[-1] - run.time[0]) or 1.0
    ends = [*(change["time"] for change in run.transitions[1:]), float(run.time[-1])]
    several = run.dataset.sizes.get("contact", 1) > 1
    taken: list[tuple[int, float, float]] = []
    for change, end in zip(run.transitions, ends, strict=False):
        ax.axvline(change["time"], color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        at, who = (change["time"] - start) / length, change.get("contact") if several else None
        name = (f"{spoken(who)}: " if who else "") + str(change["to"])
        late = at + _LETTER * len(name) > 1.0
        name += " →" if late else ""
        low = at - _LETTER * len(name) if late else at
        high = low + 0.02 + _LETTER * len(name)
        rows = [r for r in range(_ROWS) if all(r != row or high < a or low > b for row, a, b in taken)]
        if end - change["time"] < _SHORT * length or not rows:
            continue
        taken.append((rows[0], low, high))
        ax.annotate(
            name, (change["time"], 0.985 - 0.05 * rows[0]), xycoords=("data", "axes fraction"),
            xytext=(-3 if late else 3, 0),
            textcoords="offset points", fontsize=7.5, color="#55606a", va="top", ha="right" if late else "left",
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0.0, "pad": 0.5},  # it may lie on a limit
        )  # fmt: skip
    if taken and ax.get_autoscaley_on():
        scale, rows_taken = ax.yaxis.get_transform(), 1 + max(row for row, _, _ in taken)
        low, high = scale.transform(ax.get_ylim())
        ax.set_ylim(top=float(scale.inverted().transform(low + (high - low) / (0.97 - 0.05 * rows_taken))), auto=None)


def unbroken(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of the n - 1 steps of a path (n, d) belong to it; a jump to another contact does not."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    moving = steps[steps > 0]
    return steps <= 10 * np.quantile(moving, 0.95) if moving.size > 20 else np.ones(len(steps), dtype=bool)


def with_breaks(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the path (n, d) with a row of NaN at every jump, where a drawn line is to end."""
    return np.insert(points, np.flatnonzero(~unbroken(points)) + 1, np.nan, axis=0)


def frame(ax: Axes, points: NDArray[np.float64], margin: float = 0.12) -> None:
    """Show all points (n, 2), in a frame that is not much longer than wide."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float(np.max(high - low)), 1e-6)
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 0.15 * size) + margin * size
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] - half[1], middle[1] + half[1])


def arrow(ax: Axes, foot: NDArray[np.float64], tip: NDArray[np.float64], colour: str = RED) -> None:
    """Draw the arrow of a force."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tuple(tip), tuple(foot), arrowprops=look, zorder=6)


def ground(ax: Axes, edge: NDArray[np.float64], closed: bool) -> None:
    """Draw the edge (n, 2) of what is rolled on, filled below where it is a terrain; limits stay as they are."""
    low = ax.get_ylim()[0]
    x, z = np.vstack([edge, edge[:1]]).T if closed else edge.T
    ax.plot(x, z, color=INK, linewidth=1.6, zorder=3.5, scalex=False, scaley=False)
    if not closed and np.all(np.diff(x) > 0):
        ax.fill_between(x, z, min(low, float(np.min(z))) - 10, color="#e9e4da", linewidth=0, zorder=1)
