"""Figures of kind `multicontact`: the centre of mass planned and measured, forces, momentum, solve times, trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_of
from trundle.records import Trajectory
from trundle.report import Figure, RunSet, figures_of_runs, style
from trundle.report.runs import DrawRun, Runs
from trundle.systems.multicontact.scenario.metrics import planned_parts
from trundle.systems.multicontact.scenario.record import results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
_LIFTED = 0.005
"""Height, m, over its stand from which a box is in the air."""
_CURVES = 100
"""Plans at most whose time ahead is drawn."""
_MARKS = (("o", "x"), ("s", "+"), ("^", "1"), ("D", "2"))
"""Of trials that stand and that fall, for parts beyond the colours."""
_COLOURS = (style.BLUE, style.ORANGE, style.PURPLE, style.GREEN)


def figures(runs: RunSet) -> dict[str, Figure]:
    """Return the figures of a run of kind `multicontact`."""
    several = any(run.dataset.sizes.get("trial", 0) > 1 for run in runs.all.values())
    return figures_of_runs(runs, _of_run, lambda runs: {"trials": all_trials} if several else {})


def _of_run(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of one run by name, the most telling first."""
    found: dict[str, DrawRun] = {
        "com_path": com_path,
        "com": com,
        "forces": forces,
        "cones": cones,
        "angular_momentum": angular_momentum,
        "torque_use": torque_use,
        "solve_times": solve_times,
    }
    if "box_position" in run:
        found["hands"] = hands
    if run.metadata.get("plans"):
        found["dropped_momentum"] = dropped_momentum
    return found


def com_path(run: Trajectory, ax: Axes) -> None:
    """Draw the centre of mass over the footholds, seen from above, nominal and measured."""
    for k, place in enumerate(run.metadata.get("footholds", [])):
        corners = np.array([*place["corners"], place["corners"][0]])
        ax.plot(corners[:, 0], corners[:, 1], color=style.GREY, linewidth=0.8, label=None if k else "footholds")
    names = (("nominal", style.GREY, "--", "_nominal"), ("measured", style.BLUE, "-", ""))
    for label, colour, line, suffix in names:
        path = run[f"com_position{suffix}"]
        ax.plot(path[:, 0], path[:, 1], line, color=colour, linewidth=1.5, label=f"centre of mass, {label}")
    ax.set_aspect("equal", adjustable="datalim")
    style.dress(ax, "Centre of mass over the footholds", "x (m)", "y (m)", run)


def com(run: Trajectory, ax: Axes) -> None:
    """Draw the centre of mass minus the nominal motion over time, measured and as the last preview has it."""
    for i, (name, colour) in enumerate(zip("xyz", _COLOURS, strict=False)):
        nominal = run["com_position_nominal"][:, i]
        ax.plot(run.time, 1e3 * (run["com_position"][:, i] - nominal), color=colour, label=f"{name}, measured")
        planned = 1e3 * (run["com_position_planned"][:, i] - nominal)
        ax.plot(run.time, planned, "--", color=colour, linewidth=0.9, label=f"{name}, preview")
    style.dress(ax, "Centre of mass against the nominal motion", "time (s)", "difference (mm)", run, columns=3)


def forces(run: Trajectory, ax: Axes) -> None:
    """Draw the vertical force on each sole, and hand on the ground, over time, planned and measured."""
    names = run["contact"].tolist()
    for i, (name, colour) in enumerate(zip(names, _COLOURS, strict=False)):
        measured, planned = run["contact_force"][:, i, 2], run["contact_force_planned"][:, i, 2]
        if name.endswith("_hand") and "box_position" in run:
            continue  # see `hands`
        if not np.any(np.abs(measured) > 1.0) and not np.any(np.abs(planned) > 1.0):
            continue
        label = style.spoken(name)
        ax.plot(run.time, measured, color=colour, linewidth=0.8, alpha=0.75, label=f"{label}, measured")
        ax.step(run.time, planned, where="post", color=colour, linewidth=1.3, linestyle="--", label=f"{label}, preview")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    style.dress(ax, "Forces of the ground", "time (s)", "vertical force (N)", run, columns=2)


def cones(run: Trajectory, ax: Axes) -> None:
    """Draw what planned wrenches use of friction, centre of pressure and yaw over time, contact after contact.

    Each from 0, the normal force on the middle of the patch, to 1, a limit of the plan (`FlatPatch.uses`).
    """
    names, use = run["contact"].tolist(), run["contact_use_planned"]
    held = planned_parts(run)[0] > 1.0
    rows = ("friction (1)", "centre of\npressure (1)", "yaw\nmoment (1)")
    panels = style.panels(ax, len(rows))
    for k, (panel, what) in enumerate(zip(panels, rows, strict=True)):
        panel.axhline(1.0, color=style.RED, linewidth=2.2, alpha=0.5, label="limit", zorder=1)
        for i, (name, colour) in enumerate(zip(names, _COLOURS, strict=False)):
            if np.any(held[:, i]):
                if k == 0 or np.any(use[held[:, i], i, k]):  # of a point only friction is drawn
                    shown = np.where(held[:, i], use[:, i, k], np.nan)
                    panel.plot(run.time, shown, color=colour, linewidth=1.0, label=style.spoken(name))
        panel.set_ylim(0.0, 1.08)
        panel.set_xlim(float(run.time[0]), float(run.time[-1]))
        style.dress(panel, "", "", what)
        panel.tick_params(labelbottom=panel is panels[-1])
    panels[-1].set_xlabel("time (s)", color=style.INK)
    style.dress(ax, "Share of their cones that planned wrenches use", "", "", run)
    style.legend(panels[-1], 5, panels)


def angular_momentum(run: Trajectory, ax: Axes) -> None:
    """Draw the angular momentum about the centre of mass: the whole body's, and what the plan in force has now.

    Each plan begins at what the controller estimated where it was made: plans steer x and y; z is the component that
    they drop, computed afterwards from their wrenches.
    """
    for i, (name, colour) in enumerate(zip("xyz", _COLOURS, strict=False)):
        ax.plot(
            run.time,
            run["angular_momentum_estimated"][:, i],
            color=colour,
            linewidth=0.8,
            alpha=0.75,
            label=f"{name}, body",
        )
        planned = run["angular_momentum_planned"][:, i]
        label = f"{name}, plans"
        ax.plot(run.time, planned, "--", color=colour, linewidth=1.3, label=label)
    style.dress(
        ax, "Angular momentum about the centre of mass", "time (s)", "angular momentum (kg m²/s)", run, columns=3
    )


def dropped_momentum(run: Trajectory, ax: Axes) -> None:
    """Draw the component of the angular momentum that previews drop, about z (paper 3, figure 5).

    Thin and red: the whole body's, with what it carries, as the controller estimates it. Thick and grey: the plan in
    force, computed afterwards from its wrenches, from the estimate where it was made. Blue: what some of the plans
    had of the time ahead.
    """
    fan = run.metadata["plans"]
    ahead, every = np.array(fan["ahead"]), 1 + len(fan["time"]) // _CURVES
    for i, (start, values) in enumerate(zip(fan["time"][::every], fan["angular_momentum"][::every], strict=True)):
        label = None if i else f"some plans, {ahead[-1]:.1f} s ahead"
        ax.plot(start + ahead, np.array(values)[:, 2], color=style.BLUE, linewidth=1.0, alpha=0.45, label=label)
    ax.plot(run.time, run["angular_momentum_planned"][:, 2], color="#9aa5ae", linewidth=3.0, label="plan in force")
    body = run["angular_momentum_estimated"][:, 2]
    ax.plot(run.time, body, color=style.RED, linewidth=0.8, label="whole body")
    ax.set_xlim(float(run.time[0]), float(run.time[-1]))
    style.dress(ax, "Angular momentum that previews drop", "time (s)", "about z (kg m²/s)", run, columns=3)
    first = results(run)[0]
    told = f"worst of the plan in force {first.dropped_error:.2f}, {ahead[-1]:.1f} s ahead "
    told += f"{first.dropped_error_ahead:.2f} kg m²/s"
    ax.text(0.995, 1.0, told, transform=ax.transAxes, ha="right", va="bottom", fontsize=8.5, color=style.INK)
    ax.set_title(ax.get_title(loc="left"), loc="left", pad=16, color=style.INK, fontsize=11, fontweight="bold")


def hands(run: Trajectory, ax: Axes) -> None:
    """Draw what the hands do to the box: forces normal and tangential to its sides; how far they have slipped on it.

    The slip, right, is that of the middle of each hand since the box was lifted.
    """
    right = ax.twinx()
    names = run["contact"].tolist()
    R = np.array([rotation_of(q) for q in run["box_quaternion"]])
    up = run["box_position"][:, 2]
    held = np.flatnonzero((up > up[0] + _LIFTED) & (run["hand_load"] > 1.0))
    for i, colour in zip([k for k, name in enumerate(names) if name.endswith("_hand")], _COLOURS, strict=False):
        force = np.einsum("kji,kj->ki", R, run["contact_force"][:, i])
        label = style.spoken(names[i])
        ax.plot(run.time, np.abs(force[:, 1]), color=colour, linewidth=0.8, label=f"{label}, normal")
        side = np.hypot(force[:, 0], force[:, 2])
        ax.plot(run.time, side, color=colour, linewidth=0.8, alpha=0.5, label=f"{label}, tangential")
        if len(held):
            at = np.einsum("kji,kj->ki", R, run["contact_position"][:, i] - run["box_position"])[held][:, [0, 2]]
            slip = 1e3 * np.linalg.norm(at - at[0], axis=1)
            right.plot(run.time[held], slip, "--", color=colour, linewidth=1.5, label=f"{label}, slip")
    style.dress(right, "", "", "slip (mm)")
    right.grid(visible=False)
    right.set_ylim(bottom=0.0)
    right.spines["right"].set_visible(True)
    style.dress(ax, "Hands on the box", "time (s)", "force (N)", run, columns=3, others=[right])
    ax.set_ylim(bottom=0.0)


def torque_use(run: Trajectory, ax: Axes) -> None:
    """Draw the torques of the six joints with the largest ones, N m."""
    torque = run["joint_torque"]
    names = run["joint"].tolist()
    palette = (*_COLOURS, style.RED, style.GREY)
    for i, colour in zip(np.argsort(-np.abs(torque).max(axis=0))[:6], palette, strict=False):
        ax.plot(run.time, torque[:, i], color=colour, linewidth=0.9, label=style.spoken(names[i]))
    style.dress(ax, "Largest torques of joints", "time (s)", "torque (N m)", run, columns=3)


def solve_times(run: Trajectory, ax: Axes) -> None:
    """Draw the processor time of ticks and previews over time."""
    names = (("wholebody", "whole body, a tick", style.BLUE), ("preview", "preview, a plan", style.ORANGE))
    for key, label, colour in names:
        taken = np.where(run[f"solve_time_{key}"] > 0.0, 1e3 * run[f"solve_time_{key}"], np.nan)
        ax.plot(run.time, taken, ".", markersize=2.5, color=colour, label=label)
    ax.set_yscale("log")  # one late tick takes many times as long as the others
    style.dress(ax, "Processor time of the controller", "time (s)", "time (ms)", run)


def all_trials(runs: Runs, ax: Axes) -> None:
    """Draw what came of all trials: rms of the centre of mass against the nominal motion, crosses where it fell."""
    from matplotlib.ticker import MaxNLocator

    at, colours = 1, (*_COLOURS, style.RED)
    for i, (part, run) in enumerate(runs.items()):
        trials, (turn, k) = results(run), divmod(i, len(colours))
        colour, (standing, fallen) = colours[k], _MARKS[turn % len(_MARKS)]
        for good, mark in ((True, standing), (False, fallen)):
            chosen = [(at + k, 1e3 * one.com_rms_xy) for k, one in enumerate(trials) if one.survived is good]
            if chosen:
                label = f"{part or 'main run'}{'' if good else ', fallen'}"
                ax.plot(*np.array(chosen).T, mark, color=colour, label=label)
        at += len(trials) + 1
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.dress(ax, "All trials, one part after the other", "trial", "rms in x and y (mm)", runs[""])
