"""Figures of controlled robots in the plane: errors of tasks, torques, joint accelerations, parts compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.records import Trajectory
from trundle.report import style
from trundle.report.runs import DrawRun, DrawRuns, Runs
from trundle.systems.planar.scenario import estimates
from trundle.systems.planar.scenario import metrics as metrics_planar

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_FLOOR = 1e-7  # least value drawn on a logarithmic axis


def figures(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of a run under a controller."""
    found: dict[str, DrawRun] = {}
    if metrics_planar.is_controlled(run):
        found["task_errors"] = task_errors
        if np.any(run["torque"]):
            found["torque"] = torque
        if "estimate_error" in run:
            found["estimate_error"] = estimates.estimate_error
        if run.metadata.get("parents"):
            found["joint_acceleration"] = joint_acceleration
    return found


def comparisons(runs: Runs) -> dict[str, DrawRuns]:
    """Return the figures that compare parts with the main run: the first task in all (paper 4, figures 7B and 8)."""
    return {"first_task": first_task} if len(runs) > 1 and metrics_planar.is_controlled(runs[""]) else {}


def task_errors(run: Trajectory, ax: Axes) -> None:
    """Draw the error of every task over time, while the task is active."""
    errors = {
        f"{name} ({task.unit if task.follows else f'{task.unit}/s'})": np.where(
            task.served, np.maximum(np.abs(task.error), _FLOOR), np.nan
        )
        for name, task in metrics_planar.recompute_tasks(run).items()
    }
    style.lines(
        ax, run, errors, "Distance of the tasks from their references", "error (unit beside each name)", log=True
    )


def torque(run: Trajectory, ax: Axes) -> None:
    """Draw the joints' torques (forces of prismatic joints) over time; they are constant between controller calls."""
    used = {str(name): column for name, column in zip(run["joint"], run["torque"].T, strict=True) if np.any(column)}
    slides = run.metadata["control"].get("slides", ())
    unit = "torque (N m)" + (", force (N)" if slides else "")
    style.lines(ax, run, used, "Torques of the controller", unit, held=True)


def joint_acceleration(run: Trajectory, ax: Axes) -> None:
    """Draw the joints' accelerations over time, finite differences of their rates (paper 4, figure 9)."""
    rates = {
        str(name): _slope(run.time, rate) for name, rate in zip(run["joint"], run["joint_velocity"].T, strict=True)
    }
    slides = run.metadata["control"].get("slides", ())
    unit = "acceleration (rad/s²)" + (", slides (m/s²)" if slides else "")
    style.lines(ax, run, rates, "Accelerations of the joints", unit)


def _slope(time: FloatArray, values: FloatArray) -> FloatArray:
    """Return the derivative (n,) of `values`, separately before and after an impact, which is recorded twice."""
    slope = np.full(len(time), np.nan)
    for piece in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) <= 0) + 1):
        if len(piece) > 1:
            slope[piece] = np.gradient(values[piece], time[piece])
    return slope


def first_task(runs: Runs, ax: Axes) -> None:
    """Draw the first task of all runs, its reference, and the linear response of its gains to a constant one."""
    main = runs[""]
    entry = main.metadata["control"]["tasks"][0]
    name = str(entry["name"])
    task = metrics_planar.recompute_tasks(main)[name]
    wanted = task.wanted if task.follows else task.wanted_rate
    longest = max(runs.values(), key=lambda run: run.time[-1] if metrics_planar.is_controlled(run) else 0.0)
    for (part, run), colour in zip(runs.items(), style.PALETTE, strict=False):
        one = metrics_planar.recompute_tasks(run).get(name) if metrics_planar.is_controlled(run) else None
        if one is not None:
            values = one.value if task.follows else one.rate
            ax.plot(run.time, values, color=colour, linewidth=1.5, label=part.replace("-", " ") or "main run")
    if task.follows and entry["reference"]["type"] == "constant" and float(entry["kp"]) > 0:
        _, _, response = metrics_planar.ideal_response(main)
        ax.plot(main.time, response, "--", color=style.INK, linewidth=1.2, label="linear response of its gains")
    ax.plot(main.time, wanted, ":", color=style.GREY, linewidth=1.2, label="reference")
    ax.set_xlim(0.0, float(longest.time[-1]))
    unit = task.unit if task.follows else f"{task.unit}/s"
    style.dress(ax, f"Task {name} in all runs", "time (s)", f"{name} ({unit})", main)
