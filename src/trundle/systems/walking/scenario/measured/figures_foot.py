"""Pictures of a foot fitted to measured gait."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trundle.records.whole import write_bytes
from trundle.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trundle.systems.walking.scenario.measured.foot_fit import FittedFoot


def write_foot_plot(foot: FittedFoot, path: Path) -> Path:
    """Write roll-over shape and radii of a `measured.foot_fit.FittedFoot` side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.6), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    roll_over(foot, left)
    radii(foot, right)
    figure.savefig(png := io.BytesIO())
    return write_bytes(path, png.getvalue())


def roll_over(foot: FittedFoot, ax: Axes) -> None:
    """Draw the centre of pressure in the shank's frame, the circle, and the ellipsoidal foot of the same curvature."""
    c, r = foot.circle.center, foot.circle.radius
    x, y = foot.points.T
    reach = np.arcsin(np.clip((np.array([x.min(), x.max()]) - c[0]) / r, -1, 1))
    low, high = foot.interval
    ends = np.array([x.min(), x.max()])
    for radius, center in zip(foot.radii[:100], foot.centers[:100], strict=True):
        first, last = np.arcsin(np.clip((ends - center[0]) / radius, -1, 1))
        turn = np.linspace(first, last, 50)
        arc = center[:, None] + radius * np.stack([np.sin(turn), -np.cos(turn)])
        ax.plot(*arc, color=style.ORANGE, linewidth=0.4, alpha=0.15, zorder=1)
    turn = np.linspace(reach[0] - 0.15, reach[1] + 0.15, 100)
    arc = c[:, None] + r * np.stack([np.sin(turn), -np.cos(turn)])
    ax.plot(
        *arc,
        color=style.ORANGE,
        linewidth=2.0,
        label=f"circle, r = {1e3 * r:.0f} mm ({1e3 * low:.0f} to {1e3 * high:.0f})",
    )
    ax.plot(x, y, ".", color=style.BLUE, markersize=5, label=f"centre of pressure, {len(x)} samples", zorder=3)
    axes, center = foot.ellipsoid()
    turn = np.linspace(0, 2 * np.pi, 200)
    ax.plot(
        center[0] + axes[0] * np.cos(turn), center[2] + axes[2] * np.sin(turn), color=style.GREEN, linewidth=1.1,
        label="ellipsoidal foot of that curvature",
    )  # fmt: skip
    ax.plot([0.0], [0.0], "o", color=style.INK, markersize=6, label="ankle")
    ax.annotate("to the knee", (0.0, 0.0), (0.0, 0.055), ha="center", fontsize=8, arrowprops={"arrowstyle": "<-"})
    ax.set_aspect("equal", adjustable="datalim")
    style.dress(ax, "Roll-over shape in the shank's frame", "forward (m)", "towards the knee (m)")
    style.legend(ax, columns=2)


def radii(foot: FittedFoot, ax: Axes) -> None:
    """Draw the radii of the bootstrap over samples and cut-offs."""
    low, high = foot.interval
    shown = foot.radii[foot.radii <= max(np.quantile(foot.radii, 0.99), high)]
    ax.hist(1e3 * shown, bins=40, color=style.BLUE, alpha=0.6)
    ax.axvline(1e3 * foot.circle.radius, color=style.ORANGE, linewidth=2.0, label="middle cut-off, all samples")
    ax.axvspan(1e3 * low, 1e3 * high, color=style.GREY, alpha=0.15, label="95 %")
    span = f"cut-off {foot.cutoffs[0]:g} to {foot.cutoffs[1]:g} N"
    style.dress(ax, f"Radius, {len(foot.radii)} draws, {span}", "radius (mm)", "draws")
    style.legend(ax)
