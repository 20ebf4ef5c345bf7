"""Figures that compare several runs of one scenario: trials with their plan, open loop with closed loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, RotationSpline

from trundle.records import Trajectory
from trundle.report import Figure, RunSet, figures_of_runs, style
from trundle.report import figures as figures_of_run
from trundle.report.plane import lies_in_plane
from trundle.report.runs import DrawRuns, Runs
from trundle.systems.juggling.scenario.metrics import is_trial, object_angle, trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_FLOOR = 1e-9  # least value drawn on a logarithmic axis
_COLOURS = (style.BLUE, style.ORANGE, style.PURPLE, style.GREEN, style.RED)


def figures(runs: RunSet) -> dict[str, Figure]:
    """Return the figures of a run of kind `juggling`."""
    return figures_of_runs(runs, figures_of_run, comparisons, is_trial)


def comparisons(runs: Runs) -> dict[str, DrawRuns]:
    """Return the figures that fit the runs of a scenario (the main run under the empty name), by name."""
    found: dict[str, DrawRuns] = {}
    if "plan" in runs and others(runs):
        found["tracking"] = tracking
    if lies_in_plane(runs[""]) and len(trials(runs, "closed")) > 1:
        found["trials"] = trial_errors
    if lies_in_plane(runs[""]) and "uncontrolled" in runs:
        found["wobble"] = wobble
    return found


def others(runs: Runs) -> dict[str, Trajectory]:
    """Return the runs that a plan is compared with: all but the plan itself and trials."""
    return {
        name or "closed loop": run
        for name, run in runs.items()
        if name != "plan" and not is_trial(name) and len(run) > 1
    }


def tracking(runs: Runs, ax: Axes) -> None:
    """Draw how far runs are from their plan over time: contact on the hand, and orientation (paper 2, figure 10)."""
    plan = runs["plan"]
    panels = style.panels(ax, 2)
    for (name, run), colour in zip(others(runs).items(), _COLOURS, strict=False):
        for panel, values in zip(panels, deviations(run, plan), strict=True):
            label = name.replace("-", " ")
            panel.semilogy(run.time, np.maximum(values, _FLOOR), color=colour, linewidth=1.3, label=label)
    for panel, y in zip(panels, ("contact (m)", "turn (rad)"), strict=True):
        panel.axvline(plan.time[-1], color=style.GREY, linewidth=0.8, linestyle="--", zorder=1, label="end of the plan")
        style.dress(panel, "", "", y)
    panels[0].tick_params(labelbottom=False)
    panels[1].set_xlabel("time (s)", color=style.INK)
    style.dress(ax, "Distance from the plan", "", "", runs[""])
    style.legend(panels[1], 4)


def deviations(run: Trajectory, plan: Trajectory) -> tuple[Array, Array]:
    """Return the distances (n,) of a run from a plan at the run's times: contact on the hand (m), orientation (rad).

    Between its samples the plan is a spline; after its end it stands still.
    """
    from scipy.interpolate import CubicSpline

    t = np.clip(run.time, plan.time[0], plan.time[-1])
    planned = np.asarray(CubicSpline(plan.time, plan["contact_on_hand"])(t))
    turns = RotationSpline(plan.time, Rotation.from_quat(plan["object_quaternion"], scalar_first=True))(t)
    actual = Rotation.from_quat(run["object_quaternion"], scalar_first=True)
    return np.linalg.norm(run["contact_on_hand"] - planned, axis=1), (turns.inv() * actual).magnitude()


def trial_errors(runs: Runs, ax: Axes) -> None:
    """Draw all trials in open and closed loop beside the plan, with their mean (compare paper 2, figure 13).

    The object's angle where the goal has one, else the distance of the contact from its goal on the hand.
    """
    angular = dict(runs[""].metadata.get("goal", {})).get("object_angle") is not None
    shown = _degrees if angular else _from_goal
    for loop, colour in (("open", style.ORANGE), ("closed", style.BLUE)):
        group = list(trials(runs, loop).values())
        if not group:
            continue
        for run in group:
            ax.plot(run.time, shown(run), color=colour, linewidth=0.5, alpha=0.45)
        # The mean ends with the shortest trial: later it would be the mean of other trials.
        shortest = min(group, key=lambda run: run.time[-1]).time
        values = np.array([np.interp(shortest, run.time, shown(run)) for run in group])
        mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
        ax.plot(shortest, mean, color=colour, linewidth=1.8, label=f"{loop} loop, mean of {len(group)}")
        ax.fill_between(
            shortest, mean - 2 * spread, mean + 2 * spread, color=colour, alpha=0.15, linewidth=0,
            label=f"{loop} loop, two std. deviations",
        )  # fmt: skip
    plan = runs.get("plan")
    if plan is not None:
        ax.plot(plan.time, shown(plan), "--", color=style.INK, linewidth=1.4, label="plan")
    title = "Angle of the object, all trials" if angular else "Distance of the contact from its goal, all trials"
    y = "angle (deg), world, counter-clockwise" if angular else "distance on the hand (m)"
    style.dress(ax, title, "time (s)", y, runs[""])


def _degrees(run: Trajectory) -> Array:
    return np.degrees(object_angle(run))


def _from_goal(run: Trajectory) -> Array:
    goal = np.asarray(run.metadata["goal"]["contact_on_hand"], dtype=float)
    return np.linalg.norm(run["contact_on_hand"] - goal, axis=1)


def wobble(runs: Runs, ax: Axes) -> None:
    """Draw the object's angle with and without control."""
    for name, label, colour in (("uncontrolled", "hand at rest", style.ORANGE), ("", "controlled", style.BLUE)):
        run = runs[name]
        ax.plot(run.time, np.degrees(object_angle(run)), color=colour, linewidth=1.5, label=label)
    style.dress(ax, "Angle of the object", "time (s)", "angle (deg), world, counter-clockwise", runs[""])
