"""Figures of a run: functions that draw into matplotlib `Axes` and return them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from trundle.records import Trajectory
from trundle.report import metrics, recompute, style
from trundle.report.paths import contact_path, planar_motion
from trundle.report.plane import lies_in_plane
from trundle.report.runs import DrawRun
from trundle.report.trees import is_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Below this a residual is round-off of the recomputation; logarithmic plots end here.
FLOOR = 1e-17
_PARTS = {"normal": "normal $f_n$", "tangential": "tangential $|f_t|$"}
#: A noisy line of more points than this fills its band.
_POINTS = 300


def figures(run: Trajectory) -> dict[str, DrawRun]:
    """Return the figures of a pair or a tree by name, the most telling first."""
    flat = lies_in_plane(run)
    first: dict[str, DrawRun] = {}
    if flat:
        first["motion"] = planar_motion
    elif run.layout == "pair":
        first["contact_path"] = contact_path
    common: dict[str, DrawRun] = {"force": force, "energy": energy, "residuals": residuals}
    if run.metadata.get("physics", {}).get("friction"):
        common = {"force": force, "friction_use": friction_use, "energy": energy, "residuals": residuals}
    hand: dict[str, DrawRun] = {"hand_acceleration": hand_acceleration} if "hand_acceleration" in run else {}
    if run.layout != "pair":
        return {**first, **common, "position": position, **hand}
    where: dict[str, DrawRun] = {"position": position} if flat else {"motion": position}
    return {**first, **common, **where, "rotation": rotation, **hand}


def hand_acceleration(run: Trajectory, ax: Axes) -> None:
    """Draw the derivative of the hand's twist over time: angular on the left axis, linear on the right."""
    values = run["hand_acceleration"]
    right = ax.twinx()
    for axes, columns, sign, name in ((ax, values[:, :3], "-", r"\alpha"), (right, values[:, 3:], "--", "a")):
        for column, label, colour in zip(columns.T, "xyz", style.COMPONENTS, strict=True):
            if np.any(column):
                axes.plot(run.time, column, sign, color=colour, linewidth=1.1, label=f"${name}_{label}$")
    style.over_time(ax, run, "Acceleration of the hand", "angular (rad/s²), hand frame", columns=6, others=[right])
    style.dress(right, "", "", "linear (m/s²), hand frame")
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    right.set_visible(bool(np.any(values[:, 3:])))


def variable(run: Trajectory, name: str, ax: Axes | None = None) -> Axes:
    """Draw every component of the variable `name` over time."""
    ax = ax or style.new_axes()
    data = run.dataset[name]
    if data.dtype.kind not in "if":
        values, names = np.unique(data.values.reshape(len(run), -1)[:, 0], return_inverse=True)
        ax.step(run.time, names, where="post", color=style.BLUE)
        ax.set_yticks(range(len(values)), values)
    else:
        columns = data.values.reshape(len(run), -1)
        labels = _component_labels(data)
        for i, column in enumerate(columns.T):
            colour = style.COMPONENTS[i] if columns.shape[1] <= 3 and columns.shape[1] > 1 else None
            ax.plot(run.time, column, label=labels[i], color=colour or (style.BLUE if columns.shape[1] == 1 else None))
    frame = data.attrs.get("frame", "none")
    where = f", {frame} frame" if frame in ("world", "hand", "object") else ""
    unit = f" ({data.attrs['units']})" if data.attrs.get("units", "1") != "1" else ""
    style.over_time(ax, run, str(data.attrs.get("long_name", name)), f"{name}{unit}{where}")
    style.legend(ax)
    return ax


def force(run: Trajectory, ax: Axes) -> None:
    """Draw the contact force over time: normal, tangential, and of a single contact its world components."""
    several = metrics.contacts(run) > 1
    for slot, colour in zip(range(metrics.contacts(run)), cycle(style.PALETTE), strict=False):
        use = metrics.usage(run, slot=slot)
        # Wide and pale below, thin and dashed above: on a level hand normal force and z are one line.
        looks = ((colour, 1.3, "-"), (colour, 1.3, "--")) if several else (("#a9b3bc", 4.0, "-"), ("#f3c48a", 4.0, "-"))
        for (key, label), (shade, width, dashes) in zip(_PARTS.items(), looks, strict=True):
            name = f"{label}, {style.spoken(run['contact'][slot])}" if several else label
            ax.plot(run.time, use[key], dashes, color=shade, linewidth=width, label=name)
    for column, label, colour in _components(run, run["contact_force"].reshape(len(run), -1)):
        if not several:
            ax.plot(run.time, column, "--", color=colour, linewidth=1.1, label=f"${label}$, world")
    ax.axhline(0.0, color=style.GREY, linewidth=0.8)
    _steady_limits(ax)
    on = "Contact force on the object" if run.layout == "pair" else "Contact forces" if several else "Contact force"
    style.over_time(ax, run, on, "force (N)")


def friction_use(run: Trajectory, ax: Axes) -> None:
    """Draw the used share of the friction cone, |f_t|/(mu f_n), and of the torsional bound if there is one."""
    each = [metrics.usage(run, slot=slot) for slot in range(metrics.contacts(run))]
    use = {key: np.max([one[key] for one in each], axis=0) for key in each[0]}
    top = 1.0
    friction = run.metadata["physics"]["friction"]
    for key, colour, label in (
        ("friction_use", style.BLUE, rf"$|f_t|\,/\,(\mu f_n)$, $\mu$ = {friction:g}"),
        ("torsional_use", style.PURPLE, r"$|m_n|\,/\,(\mu_t f_n)$"),
    ):
        if key in use:
            shown = np.where(metrics.input_jumps(run), np.nan, np.minimum(use[key], 3.0))
            ax.plot(run.time, shown, color=colour, linewidth=1.6, label=f"{label}, largest {np.nanmax(shown):.3g}")
            top = max(top, float(np.nanmax(shown)))
    ax.axhline(1.0, color=style.RED, linewidth=1.2, linestyle="--", label="limit")
    ax.axhspan(1.0, 10.0, color=style.RED, alpha=0.06, linewidth=0)
    ax.set_ylim(0.0, 1.15 * top)
    style.over_time(ax, run, "Used share of the friction cone", "use (1)")


def energy(run: Trajectory, ax: Axes) -> None:
    """Draw kinetic, potential (from its least value) and total energy over time."""
    kinetic, potential = metrics.energy(run)
    potential = potential - np.min(potential)
    ax.plot(run.time, kinetic + potential, color=style.INK, linewidth=3.0, alpha=0.8, label="total")
    ax.plot(run.time, kinetic, color=style.ORANGE, linewidth=1.3, label="kinetic")
    ax.plot(run.time, potential, color=style.GREEN, linewidth=1.3, label="potential, above its least value")
    _steady_limits(ax)
    of = "object" if run.layout == "pair" else "bodies" if run.dataset.sizes.get("body", 1) > 1 else "body"
    note = f"; drift {metrics.general(run)['energy_drift']:.1e}" if metrics.is_passive(run) else ""
    style.over_time(ax, run, f"Energy of the {of}{note}", "energy (J)")


def residuals(run: Trajectory, ax: Axes) -> None:
    """Draw |gap|, |slip| and the energy's drift, recomputed from poses and velocities, on a logarithmic axis.

    Where the bodies are apart neither gap nor slip is a residual, where they slide slip is none: lines end there.
    """
    touch = recompute.touch(run)
    touching, rolling = metrics.phases(run)
    for values, where, colour, label in (
        (touch.gap, touching, style.BLUE, "|gap| (m)"),
        (metrics.slip_speed(run, touch), rolling, style.ORANGE, "|slip| (m/s)"),
    ):
        _noisy(ax, run.time, np.where(where, np.maximum(np.abs(values), FLOOR), np.nan), colour, label)
    if metrics.is_passive(run):
        kinetic, potential = metrics.energy(run)
        total = kinetic + potential
        scale = max(float(np.max(kinetic)), float(np.ptp(potential))) or 1.0
        drift = np.maximum(np.abs(total - total[0]) / scale, FLOOR)
        _noisy(ax, run.time, drift, style.GREEN, "energy drift (1)")
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, 0.5 * FLOOR), max(high, 1e-9))
    style.over_time(ax, run, "Residuals, recomputed from poses and velocities", "residual (unit beside each name)")


def _noisy(ax: Axes, time: np.ndarray, values: np.ndarray, colour: str, label: str) -> None:
    """Draw a line; one that would fill its band is pale, below all others, under the largest values of short spans."""
    span = -(-len(time) // _POINTS)
    if span == 1:
        ax.plot(time, values, color=colour, linewidth=1.1, label=label)
        return
    ax.plot(time, values, color=colour, linewidth=0.5, alpha=0.18, zorder=1.5)
    pad = (0, -len(time) % span)
    bins = np.pad(values, pad, constant_values=np.nan).reshape(-1, span)
    # A span holds a value or none; none is a gap in the line.
    largest = np.where(np.isnan(bins), -np.inf, bins).max(axis=1)
    middle = np.pad(time, pad, mode="edge").reshape(-1, span).mean(axis=1)
    shown = np.where(np.isfinite(largest), largest, np.nan)
    ax.plot(middle, shown, color=colour, linewidth=1.2, label=f"{label}, largest of {span}")


def position(run: Trajectory, ax: Axes) -> None:
    """Draw positions over time: the object's centre of mass and the hand, or the body and its angle in the plane."""
    name = "object_position" if run.layout == "pair" else "body_position"
    values = run[name].reshape(len(run), -1)
    for column, label, colour in _components(run, values):
        who = "object" if run.layout == "pair" else str(run["body"][0])
        ax.plot(run.time, column, color=colour, linewidth=1.5, label=f"{who} ${label}$")
    if run.layout == "pair":
        title = "Centre of mass of the object; the hand's origin rests"
        if np.any(np.ptp(run["hand_position"], axis=0) > 0):
            title = "Centre of mass of the object and origin of the hand"
            for column, label, colour in _components(run, run["hand_position"]):
                ax.plot(run.time, column, "--", color=colour, linewidth=1.0, label=f"hand ${label}$")
    elif is_tree(run):
        title = f"Centre of mass of body {str(run['body'][0])!r}"
    else:
        radius = float(np.median(np.linalg.norm(run["contact_position"][:, 0] - values, axis=1)))
        turned = radius * (run["body_angle"][:, 0] - run["body_angle"][0, 0])
        label = rf"{radius:.3g} m $\times$ turned angle"
        ax.plot(run.time, turned, color=style.PURPLE, linewidth=1.0, linestyle="--", label=label)
        title = "Centre of mass of the body"
    style.over_time(ax, run, title, "position (m), world")


def rotation(run: Trajectory, ax: Axes) -> None:
    """Draw the angular velocities of object and hand over time; in the plane counter-clockwise."""
    plane = lies_in_plane(run)
    for who, dashes, width in (("object", "-", 1.5), ("hand", "--", 1.0)):
        values = run[f"{who}_angular_velocity"]
        labels = [rf"{who} $\omega_{axis}$" for axis in "xyz"]
        if plane:
            values, labels = -values[:, 1:2], [rf"{who} $\omega$, counter-clockwise"]
        for column, label, colour in zip(values.T, labels, style.COMPONENTS, strict=False):
            if who == "hand" and not np.any(column):
                continue
            ax.plot(run.time, column, dashes, color=colour, linewidth=width, label=label)
    title = "Angular velocity of object and hand"
    if not np.any(run["hand_angular_velocity"]):
        title = "Angular velocity of the object; the hand does not turn"
    style.over_time(ax, run, title, "angular velocity (rad/s), world")


def _components(run: Trajectory, vectors: np.ndarray) -> Iterable[tuple[np.ndarray, str, str]]:
    """Return the components of vectors (n, 2 or 3), each with its axis and its colour."""
    flat = lies_in_plane(run)
    kept = vectors[:, [0, 2]] if flat and run.layout == "pair" else vectors
    return zip(kept.T, "xz" if flat else "xyz", (style.RED, style.BLUE) if flat else style.COMPONENTS, strict=False)


def _component_labels(data: object) -> list[str]:
    import itertools

    coordinates = data.coords  # type: ignore[attr-defined]
    sizes = [[str(v) for v in coordinates[d].values] for d in data.dims[1:]]  # type: ignore[attr-defined]
    sizes = [values for values in sizes if len(values) > 1]
    return [" ".join(parts) or "" for parts in itertools.product(*sizes)]


def _steady_limits(ax: Axes) -> None:
    """Keep a constant line from being drawn as a zoom into round-off."""
    low, high = ax.dataLim.y0, ax.dataLim.y1
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size:
        ax.set_ylim(low - 0.1 * size, high + 0.1 * size)
