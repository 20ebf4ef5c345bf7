"""Figures of passive walkers: phase portrait of the legs, and errors from stride to stride."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trundle.records import Trajectory
from trundle.report import style
from trundle.report.runs import DrawRun, DrawRuns, Runs
from trundle.systems.planar.scenario import metrics_walker

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_FLOOR = 1e-12  # least value drawn on a logarithmic axis


def figures(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of one run of a walker."""
    return {"phase_portrait": phase_portrait, "legs": legs} if metrics_walker.is_walker(run) else {}


def comparisons(runs: Runs) -> dict[str, DrawRuns]:
    """Return the figures that compare a walker's runs."""
    if not metrics_walker.is_walker(runs[""]) or "cycle" not in runs:
        return {}
    return {"stride_map": stride_map, "stride_errors": stride_errors}


def phase_portrait(run: Trajectory, ax: Axes) -> None:
    """Draw each leg's rate over its angle; the leg alternates between stance and swing."""
    for k, (name, colour) in enumerate(zip(metrics_walker.LEGS, (style.BLUE, style.ORANGE), strict=True)):
        angle, rate = run["body_angle"][:, k], run["body_angular_velocity"][:, k]
        dashes = "-" if k == 0 else (0, (4, 3))  # on the limit cycle the curves of both legs coincide
        ax.plot(angle, rate, linestyle=dashes, color=colour, linewidth=1.3, label=f"{name} leg")
        ax.plot(angle[:1], rate[:1], "o", color=colour, markersize=4)
    times, states = metrics_walker.landings(run)
    unit = float(run.metadata["walk"]["cycle"]["unit"])
    ax.plot(states[:, 0], states[:, 1] / unit, ".", color=style.RED, markersize=6, label="stance leg after touch-down")
    style.dress(
        ax, f"The legs over {len(times) - 1} strides", "angle from the slope's normal (rad)", "rate (rad/s)", run
    )


def legs(run: Trajectory, ax: Axes) -> None:
    """Draw the angles of both legs over time, touch-downs as lines."""
    for k, (name, colour) in enumerate(zip(metrics_walker.LEGS, (style.BLUE, style.ORANGE), strict=True)):
        ax.plot(run.time, run["body_angle"][:, k], color=colour, linewidth=1.5, label=f"{name} leg")
    for i, time in enumerate(metrics_walker.landings(run)[0][1:]):
        label = None if i else "touch-downs"
        ax.axvline(time, color=style.GREY, linewidth=0.7, linestyle=":", label=label)
    style.dress(ax, "Angles of the legs", "time (s)", "angle from the slope's normal (rad)", run)


def stride_map(runs: Runs, ax: Axes) -> None:
    """Draw the stance angle after a touch-down over the one before, with the line of periodic strides."""
    everything = []
    for name, colour in (("", style.BLUE), ("twin", style.ORANGE)):
        if name not in runs or len(metrics_walker.landings(runs[name])[0]) < 2:
            continue
        angle = metrics_walker.landings(runs[name])[1][:, 0]
        everything.append(angle)
        label = "beside the unstable cycle" if name else "main run"
        ax.plot(angle[:-1], angle[1:], "o-", color=colour, markersize=4, linewidth=0.8, label=label)
        ax.plot(angle[:1], angle[1:2], "s", color=colour, markersize=7, markerfacecolor="none")
    seen = np.concatenate(everything) if everything else np.array([0.0, 1.0])
    room = 0.15 * max(float(np.ptp(seen)), 1e-6)
    ends = [float(np.min(seen)) - room, float(np.max(seen)) + room]
    ax.plot(ends, ends, "--", color=style.GREY, linewidth=1.0, label="repeats itself")
    home = runs["cycle"].metadata["walk"]["cycle"]["start"][0]
    ax.plot([home], [home], "*", color=style.RED, markersize=11, zorder=4, label="stable cycle")
    if "twin" in runs:
        other = runs["twin"].metadata["walk"]["cycle"]["start"][0]
        ax.plot([other], [other], "x", color=style.RED, markersize=8, zorder=4, label="unstable cycle")
    style.dress(
        ax,
        "Stance angle from stride to stride",
        "angle after a touch-down (rad)",
        "angle after the next (rad)",
        runs[""],
    )


def stride_errors(runs: Runs, ax: Axes) -> None:
    """Draw the distance from the stable cycle after every touch-down, and the decay of the largest multiplier."""
    home = metrics_walker.landings(runs["cycle"])[1][0]
    labels = {"": "main run", "twin": "beside the unstable cycle", "cycle": "on it"}
    for (name, label), colour in zip(labels.items(), (style.BLUE, style.ORANGE, style.GREEN), strict=True):
        if name in runs:
            left = metrics_walker.errors(runs[name], home)
            ax.plot(np.arange(len(left)), np.maximum(left, _FLOOR), "o-", color=colour, markersize=4, label=label)
    left = metrics_walker.errors(runs[""], home)
    multiplier = float(np.max(runs[""].metadata["walk"]["cycle"]["multipliers"]))
    count = np.arange(len(left))
    ax.plot(
        count, np.maximum(left[0] * multiplier**count, _FLOOR), "--", color=style.GREY,
        label=f"multiplier {multiplier:.3f} a stride",
    )  # fmt: skip
    ax.set_yscale("log")
    style.dress(ax, "Distance from the stable cycle", "stride", "error (rad, rates in sqrt(g/l))", runs[""])
