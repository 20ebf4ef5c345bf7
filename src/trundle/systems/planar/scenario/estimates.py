"""What a run records of estimated states, and its metrics and figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.records import Trajectory, Variable
from trundle.report import Quantity, style
from trundle.systems.planar.rolling_estimator import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OF = ("x", "z", "angle", "x_rate", "z_rate", "angle_rate")
_UNITS = "m, m, rad, m/s, m/s, rad/s"
_BODY = "of the body with the inertial unit, at the controller's last call"
_VARIABLES = {
    "estimate_error": Variable(("time", "estimated"), _UNITS, "world", f"estimate minus true value, {_BODY}"),
    "estimate_sigma": Variable(("time", "estimated"), _UNITS, "world", f"standard deviation that it states, {_BODY}"),
    "estimate_nees": Variable(("time",), "1", "none", f"error squared over the covariance stated, {_BODY}"),
}
QUANTITIES = {
    "estimate_position_error": Quantity("m", "largest error of the estimated position over the second half of the run"),
    "estimate_angle_error": Quantity("rad", "the same, of the angle"),
    "estimate_speed_error": Quantity("m/s", "the same, of the velocity"),
    "estimate_nees": Quantity("1", "mean of the error squared over its covariance; 6 where that is what errors are"),
}


def record_estimates(run: Trajectory, log: Sequence[Estimate]) -> Trajectory:
    """Return the run with the estimates of its controller's calls, held until the next."""
    times = [one.time for one in log]
    at = np.maximum(np.searchsorted(times, run.time + 1e-9, side="right") - 1, 0)
    values = [np.array([getattr(e, name) for e in log])[at] for name in ("error", "sigma", "nees")]
    columns = {
        name: (one.dims, value, one.attributes) for (name, one), value in zip(_VARIABLES.items(), values, strict=True)
    }
    label = Variable(("estimated",), "1", "none", "label of estimated").attributes
    return replace(run, dataset=run.dataset.assign(columns).assign_coords(estimated=("estimated", list(_OF), label)))


def metrics(run: Trajectory) -> dict[str, float]:
    """Return the largest errors of position, angle and velocity over the second half of a run, and the mean NEES."""
    if "estimate_error" not in run:
        return {}
    late = run.time >= (run.time[0] + run.time[-1]) / 2
    error = run["estimate_error"][late]
    sizes = (np.hypot(error[:, 0], error[:, 1]), np.abs(error[:, 2]), np.hypot(error[:, 3], error[:, 4]))
    found = [*(float(np.max(one)) for one in sizes), float(np.mean(run["estimate_nees"]))]
    return dict(zip(QUANTITIES, found, strict=True))


def estimate_error(run: Trajectory, ax: Axes) -> None:
    """Draw the errors of position, angle and speed, with twice the standard deviation that the estimate states."""
    shown = (
        ("x", "m", style.BLUE),
        ("z", "m", style.GREEN),
        ("angle", "rad", style.PURPLE),
        ("x_rate", "m/s", style.RED),
    )
    for name, unit, colour in shown:
        k = _OF.index(name)
        ax.plot(run.time, np.abs(run["estimate_error"][:, k]), color=colour, linewidth=0.8, label=f"{name} ({unit})")
        ax.plot(run.time, 2 * run["estimate_sigma"][:, k], "--", color=colour, linewidth=1.2)
    ax.set_yscale("log")
    style.over_time(ax, run, "Error of the estimate; dashed: two sigma", "error (unit beside each name)")
