"""Figures of a robot's planned steps: feet on the ground, forces, torques over their limits."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from trundle.records import Trajectory
from trundle.report import size_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@size_figure(7.0, 2.4)
def phases(run: Trajectory, ax: Axes) -> None:
    """Draw when each foot is on the ground."""
    feet = [style.spoken(name) for name in run["contact"]]
    h = np.diff(run.time)
    for i, colour in zip(range(len(feet)), cycle(style.PALETTE), strict=False):
        stands = run["contact_force"][:-1, i, 2] > 0
        ax.barh(i, h[stands], left=run.time[:-1][stands], height=0.55, color=colour)
    ax.set_yticks(range(len(feet)), feet)
    style.dress(ax, "Feet on the ground", "time (s)", "", run)


def forces(run: Trajectory, ax: Axes) -> None:
    """Draw each foot's normal force over time, over the weight."""
    weight = 9.81 * float(run.metadata["physics"]["mass"])
    for i, colour in zip(range(len(run["contact"])), cycle(style.PALETTE), strict=False):
        normal = run["contact_force"][:, i, 2] / weight
        ax.step(run.time, normal, where="post", color=colour, linewidth=1.2, label=style.spoken(run["contact"][i]))
    style.dress(ax, "Normal forces of the ground", "time (s)", "force over weight (1)", run)


def torques(run: Trajectory, ax: Axes) -> None:
    """Draw the torques over their limits, of the six joints that use most of theirs; N m where there is no limit."""
    limits = np.array([1.0 if limit is None else limit for limit in run.metadata["steps"]["efforts"]])
    use = run["joint_torque"] / limits
    most = np.argsort(-np.abs(use).max(axis=0))[:6]
    for j, colour in zip(most, cycle(style.PALETTE), strict=False):
        ax.step(run.time, use[:, j], where="post", color=colour, linewidth=1.2, label=style.spoken(run["joint"][j]))
    style.dress(ax, "Torques of the six most used joints", "time (s)", "torque over limit (1)", run)


FIGURES = {"phases": phases, "forces": forces, "torques": torques}
