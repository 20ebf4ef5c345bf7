"""Metrics and figures of kind `tilting-table`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trundle.records import Trajectory
from trundle.report import Count, Figure, Metric, MetricGroup, Quantity, RunSet, figures_of_runs, general, measure, style
from trundle.report import figures as figures_of_run
from trundle.report.metrics import QUANTITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Runs = Mapping[str, Trajectory]


def is_trial(part: str) -> bool:
    """Whether a part of this name is a trial."""
    return part.split("-")[-2:-1] == ["trial"]


def settling_time(run: Trajectory) -> float:
    """Return from when on the ball stays within the tolerance of the target (s); infinite where it does not."""
    out = np.flatnonzero(run["target_distance"] > run.metadata["tolerance"])
    if not out.size:
        return float(run.time[0])
    return float(run.time[out[-1] + 1]) if out[-1] + 1 < len(run) else np.inf


def held(run: Trajectory) -> bool:
    """Whether the ball ends at the target and stayed there for the last tenth of the time."""
    return settling_time(run) <= 0.9 * run.time[-1]


def of_run(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return what the main run tells."""
    return {
        "settling_time": settling_time(run),
        "final_distance": float(run["target_distance"][-1]),
        "largest_tilt": float(np.degrees(np.max(run["table_tilt"]))),
    }


def of_trials(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return how many trials ended with the ball at the target."""
    trials = [part for name, part in parts.items() if is_trial(name)]
    return {"trials_held": Count(sum(part.status.label == "success" for part in trials), len(trials))}


GROUPS = (
    MetricGroup(
        {
            "settling_time": Quantity("s", "from when on the ball stays within the tolerance of its target"),
            "final_distance": Quantity("m", "distance of the ball's contact from its target at the end"),
            "largest_tilt": Quantity("deg", "largest angle between the table's normal and the vertical"),
        },
        of_run,
        always=True,
    ),
    MetricGroup(
        {"trials_held": Quantity("1", "trials that end with the ball at its target")},
        of_trials,
        always=True,
        applies=lambda run, parts: any(map(is_trial, parts)),
    ),
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run: the kit's and those of this kind."""
    return measure(runs, GROUPS, general, QUANTITIES, is_trial)


def figures(runs: RunSet) -> Mapping[str, Figure]:
    """Return the figures of a run: the kit's and that of this kind."""
    return figures_of_runs(runs, figures_of_run, lambda runs: {"distance": distance}, is_trial)


def distance(runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the ball's distance from its target over time, of the main run and of the trials."""
    ax = ax or style.new_axes()
    for name, run in runs.items():
        colour, width = (style.GREY, 0.8) if name else (style.BLUE, 1.8)
        ax.plot(run.time, 1e3 * run["target_distance"], color=colour, linewidth=width, zorder=1 if name else 2)
    ax.axhline(1e3 * runs[""].metadata["tolerance"], color=style.ORANGE, linestyle="--", label="tolerance")
    style.dress(ax, "Distance from the target", "time (s)", "distance (mm), on the table", runs[""])
    style.legend(ax)
    return ax
