"""Metrics and the figure of kind `tilting-table`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from trundle import Trajectory
from trundle.report import (
    QUANTITIES,
    Count,
    Figure,
    Metric,
    MetricGroup,
    Quantity,
    RunSet,
    figures_of_runs,
    general,
    measure,
    style,
)
from trundle.report import figures as figures_of_kit

Runs = Mapping[str, Trajectory]
OWN = {
    "settling_time": Quantity("s", "from when on the ball stays within the tolerance of its target"),
    "final_distance": Quantity("m", "distance of the ball's contact from its target at the end"),
    "largest_tilt": Quantity("deg", "largest angle between the table's normal and the vertical"),
    "trials_held": Quantity("1", "trials with the ball at its target at the end"),
}


def is_trial(part: str) -> bool:
    """Whether a part of this name is a trial."""
    return re.fullmatch(r"(.*-)?trial-\d+", part) is not None


def settling_time(run: Trajectory) -> float:
    """Return from when on the ball stays within the tolerance of the target (s); infinite where it does not."""
    outside = np.append(run["target_distance"] > run.metadata["tolerance"], False)
    first = int(np.max(np.flatnonzero(outside), initial=-1)) + 1
    return float(run.time[first]) if first < len(run) else np.inf


def is_held(run: Trajectory) -> bool:
    """Whether the ball is at the target for at least the last tenth of the time."""
    return settling_time(run) <= 0.9 * run.time[-1]


def balance(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of a ball on a table."""
    trials = [part for name, part in parts.items() if is_trial(name)]
    held = {"trials_held": Count(sum(map(is_held, trials)), len(trials))} if trials else {}
    return held | {
        "settling_time": settling_time(run),
        "final_distance": float(run["target_distance"][-1]),
        "largest_tilt": float(np.degrees(np.max(run["table_tilt"]))),
    }


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run: the kit's and those of this kind."""
    return measure(runs, [MetricGroup(OWN, balance, always=True)], general, QUANTITIES, is_trial)


def figures(runs: RunSet) -> Mapping[str, Figure]:
    """Return the figures of a run: the kit's and the distances of all runs."""
    return figures_of_runs(runs, figures_of_kit, lambda runs: {"distance": distance}, is_trial)


def distance(runs: Runs, ax: Axes) -> None:
    """Draw the ball's distance from its target over time, of the main run and of the trials."""
    for name, run in runs.items():
        colour, width, order = (style.GREY, 0.8, 1) if name else (style.BLUE, 1.8, 2)
        ax.plot(run.time, 1e3 * run["target_distance"], color=colour, linewidth=width, zorder=order)
    ax.axhline(1e3 * runs[""].metadata["tolerance"], color=style.ORANGE, linestyle="--", label="tolerance")
    style.dress(ax, "Distance from the target", "time (s)", "distance (mm), on the table", runs[""])
