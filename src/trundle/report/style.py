"""Colours, ink and marks that all figures share; nothing here changes matplotlib's global state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.records import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#2166ac", "#e08214", "#1b7837", "#c51b3a", "#7b3294", "#8c8c8c"
INK = "#22303c"
COMPONENTS = (RED, GREEN, BLUE)


def new_axes(width: float = 7.0, height: float = 4.2) -> Axes:
    """Return the axes of a new pyplot figure, for interactive use."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def dress(ax: Axes, title: str, x: str, y: str, run: Trajectory | None = None) -> Axes:
    """Put title, axis labels and a quiet grid on `ax`; the run's name and outcome stand at the right of the title."""
    ax.set_title(title, loc="left", color=INK, fontsize=11, fontweight="bold")
    if run is not None:
        ax.set_title(subtitle(run), loc="right", color=GREY, fontsize=8)
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    ax.grid(True, color="#e4e7ea", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#9aa5ae")
    ax.tick_params(colors="#55606a", labelsize=9)
    return ax


def subtitle(run: Trajectory) -> str:
    """Return the run's scenario and, unless all went well, how it ended."""
    parts = [str(run.metadata.get("scenario") or "")]
    if run.status.label != "success":
        parts.append(run.status.label)
    if not run.feasible:
        parts.append("not feasible")
    return ", ".join(part for part in parts if part)


def legend(ax: Axes, columns: int = 6) -> None:
    """Draw a legend below the axes, where it hides nothing, if anything has a label."""
    labels = ax.get_legend_handles_labels()[1]
    if labels:
        ax.legend(
            loc="upper left", bbox_to_anchor=(0.0, 0.0), borderaxespad=4.6, borderpad=0.0, fontsize=8.5,
            ncols=min(columns, len(labels)), frameon=False, columnspacing=1.4, handlelength=1.8,
        )  # fmt: skip


def mark_transitions(ax: Axes, run: Trajectory, most: int = 12) -> None:
    """Mark changes of mode by dotted lines that carry the new mode's name; of many only the lines."""
    transitions = run.transitions
    for i, change in enumerate(transitions):
        ax.axvline(change["time"], color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        if len(transitions) <= most:
            height = 0.98 - 0.06 * (i % 3)
            late = change["time"] - run.time[0] > 0.8 * (run.time[-1] - run.time[0])
            ax.annotate(
                str(change["to"]), (change["time"], height), xycoords=("data", "axes fraction"),
                xytext=(-3 if late else 3, 0), textcoords="offset points", fontsize=7.5, color="#55606a", va="top",
                ha="right" if late else "left",
            )  # fmt: skip


def thin(n: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` evenly spread indices of n samples, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
