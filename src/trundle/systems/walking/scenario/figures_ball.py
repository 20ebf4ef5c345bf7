"""Figures of a ball's transfers: paths on the plane, torques, and the elastica."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory
from trundle.report import style
from trundle.report.runs import DrawRun, DrawRuns, Runs
from trundle.systems.walking.scenario import metrics_ball

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.RED, style.GREY)
_TURNS = 9  # instants at which the ball's turn is drawn


def figures(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of one transfer."""
    if not metrics_ball.is_transfer(run):
        return {}
    kinematic = run.metadata["transfer"]["model"] == "kinematic"
    return {"path": path, "torque": torque, **({"elastica": elastica} if kinematic else {})}


def comparisons(runs: Runs) -> dict[str, DrawRuns]:
    """Return the figures that compare the transfers of a study."""
    return {"paths": paths, "torques": torques} if metrics_ball.is_transfer(runs[""]) and len(runs) > 1 else {}


def _label(name: str, run: Trajectory) -> str:
    known = run.metadata["transfer"]
    cost = f"{known['cost']:.4g} " + (r"rad$^2$/s" if known["model"] == "kinematic" else r"N$^2$m$^2$s")
    return f"{name.replace('-', ' ') or 'spin free'}: {cost}"


def path(run: Trajectory, ax: Axes) -> None:
    """Draw the contact point's path on the plane, and the ball's axes, seen from above, at some points of it."""
    at = run["contact_position"][:, 0]
    ax.plot(at[:, 0], at[:, 1], color=style.BLUE, linewidth=1.8, label="contact point")
    R = rotation_matrices(run["base_quaternion"])
    length = 0.5 * float(run.metadata["transfer"]["radius"])
    for i in np.linspace(0, len(run) - 1, _TURNS).round().astype(int):
        for axis, colour in ((0, style.RED), (1, style.GREEN), (2, style.GREY)):
            tip = at[i, :2] + length * R[i, :2, axis]
            ax.plot(*np.stack([at[i, :2], tip]).T, color=colour, linewidth=1.1)
    for axis, colour in ((0, style.RED), (1, style.GREEN), (2, style.GREY)):
        ax.plot([], [], color=colour, linewidth=1.1, label=f"ball's {'xyz'[axis]} axis, seen from above")
    _goal(ax, run)
    ax.set_aspect("equal", adjustable="datalim")
    style.dress(ax, "Path on the plane", "x (m)", "y (m)", run)


def torque(run: Trajectory, ax: Axes) -> None:
    """Draw the external torque over time; for a kinematic plan, the torque that makes the ball turn as planned."""
    for column, name, colour in zip(run["body_torque"][:, 0].T, "xyz", style.COMPONENTS, strict=True):
        ax.step(run.time, column, where="post", color=colour, linewidth=1.3, label=rf"$\tau_{name}$")
    style.dress(ax, "Torque on the ball", "time (s)", "torque (N m), world", run)


def elastica(run: Trajectory, ax: Axes) -> None:
    """Draw the curvature's second derivative, the elastica's c kappa + const - kappa^3/2, and the residual."""
    found = metrics_ball.elastica(run)
    wanted = found.c * found.curvature + found.constant - found.curvature**3 / 2
    label = r"$d^2\kappa/ds^2$ of the path"
    ax.plot(found.length, found.second, color=style.BLUE, linewidth=3.0, alpha=0.6, label=label)
    ax.plot(found.length, wanted, "--", color=style.INK, linewidth=1.2, label=r"$c\,\kappa + const - \kappa^3/2$")
    ax.plot(
        found.length, found.residual, color=style.RED, linewidth=1.0,
        label=rf"residual, at most {found.relative:.1e} of max $|\kappa|^3$",
    )  # fmt: skip
    style.dress(
        ax,
        f"Elastica with c = {found.c:.4g} 1/m²",
        "length of the path (m)",
        "second derivative (1/m³)",
        run,
        columns=3,
    )


def paths(runs: Runs, ax: Axes) -> None:
    """Draw the paths of all transfers on the plane, each with its cost."""
    for (name, run), colour in zip(runs.items(), _COLOURS, strict=False):
        at = run["contact_position"][:, 0]
        ax.plot(at[:, 0], at[:, 1], color=colour, linewidth=1.6, label=_label(name, run))
    _goal(ax, runs[""])
    ax.set_aspect("equal", adjustable="datalim")
    style.dress(ax, "Paths of the contact point", "x (m)", "y (m)", runs[""], columns=2)


def torques(runs: Runs, ax: Axes) -> None:
    """Draw the horizontal torque's norm over time for all dynamic transfers, and tau_z where it is not negligible."""
    for (name, run), colour in zip(runs.items(), _COLOURS, strict=False):
        if run.metadata["transfer"]["model"] != "dynamic":
            continue
        tau = run["body_torque"][:, 0]
        ax.plot(run.time, np.hypot(tau[:, 0], tau[:, 1]), color=colour, linewidth=1.5, label=_label(name, run))
        if np.max(np.abs(tau[:, 2])) > 1e-3 * np.max(np.abs(tau)):
            ax.plot(
                run.time,
                tau[:, 2],
                ":",
                color=colour,
                linewidth=1.3,
                label=rf"{name.replace('-', ' ') or 'spin free'}: $\tau_z$",
            )
    style.dress(ax, r"Horizontal torque $(\tau_x^2 + \tau_y^2)^{1/2}$", "time (s)", "torque (N m)", runs[""], columns=2)


def _goal(ax: Axes, run: Trajectory) -> None:
    x, y = run.metadata["transfer"]["goal"]
    ax.plot([x], [y], "*", color=style.RED, markersize=10, zorder=4, label="goal")
