"""Figures of a measured walk: its forces beside the estimated ones, and joint torques, with their uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trundle.records import Trajectory
from trundle.report import style
from trundle.report.runs import DrawRun, DrawRuns, Runs
from trundle.systems.walking.scenario.measured.estimate import LEG

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figures(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of one estimate."""
    return {"torques_estimated": torques} if "torque" in run.metadata.get("estimate", {}) else {}


def comparisons(runs: Runs) -> dict[str, DrawRuns]:
    """Return the figure of all estimates of one measured walk."""
    return {"forces_measured": forces} if _keep_converged(runs) else {}


def forces(runs: Runs, ax: Axes) -> None:
    """Draw measured ground forces of a foot and the estimates, with and without the plate, with two deviations."""
    shown = _keep_converged(runs)
    found = next(iter(shown.values())).metadata["estimate"]
    share = 100 * np.array(found["times"]) / found["period"]
    weight = 9.81 * float(runs[""].metadata["physics"]["mass"])
    for name, run, colour in zip(shown, shown.values(), (style.BLUE, style.RED), strict=False):
        of = run.metadata["estimate"]
        for k, (direction, dashes) in enumerate((("forward", "--"), ("up", "-"))):
            force, deviation = (np.array(of[key])[:, k] / weight for key in ("force", "force_deviation"))
            label = f"{name or 'with the plate'}, {direction}"
            ax.plot(
                share, force, dashes, color=colour, linewidth=1.4, label=label.replace("left-out", "plate left out")
            )
            low, high = force - 2 * deviation, force + 2 * deviation
            ax.fill_between(share, low, high, color=colour, alpha=0.12, linewidth=0)
    measured = np.array(found["force_measured"]) / weight
    ax.plot(share, measured, ".", color=style.INK, markersize=4)
    ax.plot([], [], ".", color=style.INK, label="measured")
    title, axis = "Ground forces of the measured foot", "cycle from lift-off (%)"
    style.dress(ax, title, axis, "force over weight (1)", runs[""], columns=3)


def torques(run: Trajectory, ax: Axes) -> None:
    """Draw estimated torques of hip, knee and ankle of the measured leg, with two standard deviations."""
    found = run.metadata["estimate"]
    share = 100 * np.array(found["times"]) / found["period"]
    for k, (name, colour) in enumerate(zip(LEG, (style.BLUE, style.ORANGE, style.RED), strict=True)):
        torque, deviation = (np.array(found[key])[:, k] for key in ("torque", "torque_deviation"))
        ax.plot(share, torque, color=colour, linewidth=1.5, label=style.spoken(name))
        low, high = torque - 2 * deviation, torque + 2 * deviation
        ax.fill_between(share, low, high, color=colour, alpha=0.15, linewidth=0)
    style.dress(ax, "Torques of the measured leg", "cycle from lift-off (%)", "torque (N m)", run)


def _keep_converged(runs: Runs) -> Runs:
    return {name: run for name, run in runs.items() if "force" in run.metadata.get("estimate", {})}
