"""Figures of kind `wallbounce`: forces, accelerations and contacts over time, both plans' hands, paths, all trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.records import Trajectory
from trundle.report import Figure, RunSet, figures_of_runs, style
from trundle.report.runs import DrawRun, Runs
from trundle.systems.wallbounce.robot import tilt_of
from trundle.systems.wallbounce.scenario.record import boxes, results, robot_of, trial_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
_HANDS = ("left", "right")
_LEVELS = {"implicit": style.ORANGE, "hybrid": style.BLUE}
_COLOURS = (style.BLUE, style.ORANGE)
_FORCE = 0.01  # N, least that is drawn
_PARTS = (style.BLUE, style.ORANGE, style.PURPLE, style.GREEN, style.RED)


def figures(runs: RunSet) -> dict[str, Figure]:
    """Return the figures of a run of kind `wallbounce`."""
    several = any(run.dataset.sizes.get("trial", 0) > 1 for run in runs.all.values())
    return figures_of_runs(runs, _of_run, lambda runs: {"trials": all_trials, "paths": paths} if several else {})


def _of_run(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of one run by name, the most telling first; of hands without a force there is none."""
    pressed = any(np.any(np.abs(run[f"hand_force_{what}"]) > _FORCE) for what in ("planned", "measured"))
    planned = _both_plans("hand_press", "Normal force of the hands in plans", "force (N)")
    return ({"hand_forces": hand_forces, "planned_hand_force": planned} if pressed else {}) | {
        "acceleration": acceleration,
        "path": path,
        "torso_distance": torso_distance,
        "planned_hand_speed": _both_plans("hand_speed", "Speed of the hands in plans", "speed (m/s)"),
        "planned_hand_distance": _both_plans(
            "hand_distance", "Distance of the hands from walls in plans", "distance (m)"
        ),
        "solve_times": solve_times,
    }


def hand_forces(run: Trajectory, ax: Axes) -> None:
    """Draw planned and measured force of both hands; bands: the plan has the hand in contact (paper 5, figure 5b)."""
    for i, (name, colour) in enumerate(zip(_HANDS, _COLOURS, strict=True)):
        planned, measured = (
            np.linalg.norm(run[f"hand_force_{what}"][:, i], axis=1) for what in ("planned", "measured")
        )
        if not np.any(planned > _FORCE) and not np.any(measured > _FORCE):
            continue
        ax.plot(run.time, measured, color=colour, linewidth=0.9, alpha=0.75, label=f"{name}, measured")
        ax.step(run.time, planned, where="post", color=colour, linewidth=1.7, linestyle="--", label=f"{name}, planned")
        _band(ax, run.time, run["active_contact"][:, i] > 0.5, colour, i)
    _push(ax, run)
    ax.set_ylim(bottom=0.0)
    style.dress(ax, "Forces on the hands", "time (s)", "force (N)", run)
    style.magnify_range(ax, *_busy(run))


def acceleration(run: Trajectory, ax: Axes) -> None:
    """Draw the magnitude of the ball's acceleration over time, mean of 50 ms, and the push (paper 5, figure 5b)."""
    rate = np.linalg.norm(np.gradient(run["base_velocity"], run.time, axis=0), axis=1)
    width = max(1, round(0.05 / float(run.time[1] - run.time[0])))
    smooth = np.convolve(np.pad(rate, width, mode="edge"), np.ones(width) / width, mode="same")[width:-width]
    ax.plot(run.time, smooth, color=style.BLUE, linewidth=1.5, label="acceleration of the ball")
    for i, colour in enumerate(_COLOURS):
        _band(ax, run.time, run["active_contact"][:, i] > 0.5, colour, i, f"{_HANDS[i]} hand in contact")
    _push(ax, run)
    ax.set_ylim(bottom=0.0)
    style.dress(ax, "Acceleration of the ball, mean of 50 ms", "time (s)", "acceleration (m/s²)", run)
    style.magnify_range(ax, *_busy(run))


def path(run: Trajectory, ax: Axes) -> None:
    """Draw ball, torso's top and hands seen from above, with walls and box; thin lines: the ball in all trials."""
    for k, one in enumerate(results(run)):
        ax.plot(*one.path.T, color=style.GREY, linewidth=0.5, alpha=0.6, label=None if k else "ball, all trials")
    base, top = run["base_position"], _top(run)
    ax.plot(top[:, 0], top[:, 1], color=style.PURPLE, linewidth=1.0, label="top of the torso")
    for i, (name, colour) in enumerate(zip(_HANDS, _COLOURS, strict=True)):
        hand = run["hand_position"][:, i]
        ax.plot(hand[:, 0], hand[:, 1], color=colour, linewidth=0.8, alpha=0.6, label=f"{name} hand")
        on = np.linalg.norm(run["hand_force_measured"][:, i], axis=1) > 1.0
        ax.plot(hand[on, 0], hand[on, 1], ".", color=colour, markersize=3.5)
    ax.plot(base[:, 0], base[:, 1], color=style.INK, linewidth=1.8, label="ball")
    ax.plot(*base[0, :2], "o", color=style.GREEN, markersize=6, linestyle="none", label="start")
    ax.plot(*base[-1, :2], "s", color=style.RED, markersize=5, linestyle="none", label="end")
    hands = run["hand_position"][:, :, :2].reshape(-1, 2)
    _surroundings(ax, run, np.vstack([base[:, :2], top[:, :2], hands, *(one.path for one in results(run))]))
    style.dress(ax, "Seen from above", "x (m)", "y (m)", run)


def torso_distance(run: Trajectory, ax: Axes) -> None:
    """Draw the distance of the torso and of both hands from walls and boxes over time."""
    ax.plot(run.time, run["torso_distance"], color=style.INK, linewidth=1.7, label="torso")
    for i, (name, colour) in enumerate(zip(_HANDS, _COLOURS, strict=True)):
        ax.plot(run.time, run["wall_distance"][:, i], color=colour, linewidth=1.0, label=f"{name} hand, walls only")
    ax.axhline(0.0, color=style.RED, linewidth=0.8, label="contact")
    _push(ax, run)
    style.dress(ax, "Distances from walls and boxes", "time (s)", "distance (m)", run)


def solve_times(run: Trajectory, ax: Axes) -> None:
    """Draw what the plans of both levels took on this machine."""
    for level, colour in (("implicit", style.BLUE), ("hybrid", style.ORANGE)):
        values = 1e3 * run[f"solve_time_{level}"]
        if np.any(values):
            label = f"{level}, median {np.median(values[values > 0]):.2f} ms"
            shown = np.where(values > 0.0, values, np.nan)  # before the first plan there is none
            ax.step(run.time, shown, where="post", color=colour, linewidth=1.0, label=label)
    ax.set_yscale("log")
    style.dress(ax, "Computing time of the last plan", "time (s)", "time (ms)", run)


def all_trials(runs: Runs, ax: Axes) -> None:
    """Draw the torso's least distance of every trial of every part; hollow: not safe or not there."""
    from matplotlib.ticker import MaxNLocator

    for i, ((part, run), colour) in enumerate(zip(runs.items(), _PARTS, strict=False)):
        trials = results(run)
        good = np.array([one.as_wanted for one in trials])
        least = np.array([one.torso_min for one in trials])
        k = np.arange(1, len(trials) + 1) + 0.12 * (i - 0.5 * (len(runs) - 1))  # side by side where they coincide
        name = part.replace("-", " ") or str(run.metadata.get("levels", "main run")).replace("-", " ")
        label = f"{name}: {int(good.sum())} of {len(trials)}"
        ax.plot(k[good], least[good], "o", color=colour, markersize=5, label=label)
        ax.plot(k[~good], least[~good], "o", color=colour, markersize=5, fillstyle="none")
    ax.axhline(0.0, color=style.RED, linewidth=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.dress(ax, "Least distance of the torso; filled: safe (cleared)", "trial", "distance (m)", runs[""], columns=3)


def paths(runs: Runs, ax: Axes) -> None:
    """Draw the ball's paths of all trials of all parts, seen from above."""
    points = []
    for (part, run), colour in zip(runs.items(), _PARTS, strict=False):
        for k, one in enumerate(results(run)):
            line = one.path
            label = (part.replace("-", " ") or str(run.metadata.get("levels", ""))) if k == 0 else None
            ax.plot(*line.T, color=colour, linewidth=0.8, alpha=0.7, label=label)
            points.append(line)
    _surroundings(ax, runs[""], np.vstack(points))
    style.dress(ax, "Paths of the ball, all trials", "x (m)", "y (m)", runs[""], columns=3)


def _both_plans(name: str, title: str, unit: str) -> DrawRun:
    def draw(run: Trajectory, ax: Axes) -> None:
        """Draw the hand that pushes hardest."""
        i = int(np.argmax(np.max(np.linalg.norm(run["hand_force_measured"], axis=2), axis=0)))
        low, high = _zoom(run, i) if name == "hand_distance" else (-np.inf, np.inf)
        for level, colour in _LEVELS.items():
            made = run[f"solve_time_{level}"] > 0.0  # else the record repeats the other level's plan
            values = np.where(np.maximum.accumulate(made), run[f"{name}_{level}"][:, i], np.nan)
            if name == "hand_distance":
                values = np.where(values == 0.0, np.nan, values)  # a plan that is computed has not yet arrived
                values = np.where((values >= low) & (values <= high), values, np.nan)
            if np.any(made):
                label = f"{level} plan, {_HANDS[i]} hand"
                ax.plot(run.time, values, color=colour, linewidth=1.4, label=label)
        if name == "hand_distance":
            measured = run["wall_distance"][:, i]
            near = np.where((measured >= low) & (measured <= high), measured, np.nan)
            ax.plot(run.time, near, color=style.INK, linewidth=0.9, label="measured")
            ax.axhline(0.0, color=style.RED, linewidth=0.8, label="contact")
            _penetration(run, i, ax)
            if np.isfinite(high):
                ax.set_ylim(low, high)
        if name == "hand_press":
            force = np.linalg.norm(run["hand_force_measured"][:, i], axis=1)
            ax.plot(run.time, force, color=style.INK, linewidth=0.9, alpha=0.6, label="measured")
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.0))  # no zoom into the round-off of plans without force
        _band(ax, run.time, run["active_contact"][:, i] > 0.5, style.GREEN, 0, "contact by the schedule")
        style.dress(ax, title, "time (s)", unit, run, columns=3)

    draw.__name__ = name
    shaded = "; shaded: the deepest in a wall that the plan has ahead" if name == "hand_distance" else ""
    draw.__doc__ = f"{title} over time, at the plans' own instants{shaded} (paper 5, figure 6)."
    return draw


def _depths(run: Trajectory, hand: int) -> dict[str, Array]:
    """Return how deep (n,), m, the plan in force of each level that plans has the hand in a wall."""
    levels = ("implicit", "hybrid")
    return {
        level: run[f"hand_penetration_{level}"][:, hand]
        for level in levels
        if f"hand_penetration_{level}" in run and np.any(run[f"solve_time_{level}"])
    }


def _zoom(run: Trajectory, hand: int) -> tuple[float, float]:
    """Return the distances, m, to show: those about the surface, where plans have the hand in a wall."""
    deepest = max((float(np.max(depth)) for depth in _depths(run, hand).values()), default=0.0)
    return (-max(1.3 * deepest, 0.01), 0.1) if deepest > 0.0 else (-np.inf, np.inf)


def _penetration(run: Trajectory, hand: int, ax: Axes) -> None:
    """Shade how deep each level's plan in force has the hand in a wall at its contacts."""
    for level, depth in _depths(run, hand).items():
        colour, label = _LEVELS[level], f"deepest ahead, {level}: {1e3 * np.max(depth):.1f} mm"
        ax.fill_between(run.time, -depth, 0.0, step="post", color=colour, alpha=0.3, linewidth=0, label=label)


def _top(run: Trajectory) -> Array:
    """Return the top (n, 2) of the torso's axis."""
    robot = robot_of(run)
    tilt = tilt_of(*run["base_rpy"][:, ::-1].T)
    return run["base_position"][:, :2] + (robot.height - robot.ball_radius) * tilt


def _surroundings(ax: Axes, run: Trajectory, points: Array) -> None:
    """Draw walls (where they meet the height of the hands) and boxes, and set the limits."""
    low, high = points.min(axis=0) - 0.2, points.max(axis=0) + 0.2
    height, far, label = 0.9, float(np.max(high - low)) + 1.0, "walls"
    for wall in run.metadata.get("walls", []):
        n, p = np.array(wall["normal"]), np.array(wall["point"])
        flat = n[:2] / np.linalg.norm(n[:2]) if np.linalg.norm(n[:2]) > 1e-9 else None
        if flat is None:
            continue
        at = p[:2] + flat * float((p[2] - height) * n[2] / np.linalg.norm(n[:2]))
        middle = 0.5 * (low + high)
        foot = middle - flat * float((middle - at) @ flat)
        along = np.array([-flat[1], flat[0]])
        ends = np.array([foot - far * along, foot + far * along])
        ax.plot(*ends.T, color=style.INK, linewidth=3.0, solid_capstyle="butt", scalex=False, scaley=False, label=label)
        label = None
        low, high = np.minimum(low, foot - 0.1), np.maximum(high, foot + 0.1)
    trial = trial_of(run)
    for center, half, _ in boxes(run):
        from matplotlib.patches import Rectangle

        corner = center - half[:2]
        ax.add_patch(Rectangle(tuple(corner), 2 * half[0], 2 * half[1], facecolor="#d9cbb3", edgecolor=style.INK))
        low, high = np.minimum(low, corner - 0.1), np.maximum(high, center + half[:2] + 0.1)
    if trial.goal is not None:
        ax.plot(*trial.goal, "*", color=style.GREEN, markersize=11, label="goal")
        low, high = np.minimum(low, trial.goal - 0.2), np.maximum(high, trial.goal + 0.2)
    wider = max(0.0, 1.1 * (high - low)[1] - (high - low)[0])  # room for the title
    ax.set_xlim(low[0] - 0.5 * wider, high[0] + 0.5 * wider)
    ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal", adjustable="box")


def _band(ax: Axes, time: Array, on: NDArray[np.bool_], colour: str, row: int, label: str | None = None) -> None:
    """Mark when something holds by a band at the bottom of the axes."""
    if not on.any():
        return
    low, high = 0.025 * row, 0.025 * (row + 1)
    where = np.where(on, high, np.nan)
    ax.fill_between(
        time, low, where, color=colour, alpha=0.8, linewidth=0, transform=ax.get_xaxis_transform(), label=label
    )


def _busy(run: Trajectory) -> tuple[float, float]:
    """Return when, s, the robot is pushed or its hands are in contact, with room before and after."""
    on = np.any(np.linalg.norm(run["hand_force_measured"], axis=2) > 1.0, axis=1)
    if "push_force" in run:
        on = on | (np.linalg.norm(run["push_force"], axis=1) > 0)
    times = run.time[on] if on.any() else run.time
    return float(times[0]) - 0.1, float(times[-1]) + 0.1


def _push(ax: Axes, run: Trajectory) -> None:
    if "push_force" not in run:
        return
    on = np.flatnonzero(np.linalg.norm(run["push_force"], axis=1) > 0)
    if on.size:
        ax.axvspan(
            float(run.time[on[0]]), float(run.time[on[-1]]), color=style.RED, alpha=0.12, linewidth=0, label="push"
        )
