"""Metrics of a measured walk: how well its forces are fitted or, with the plate left out, predicted."""

from __future__ import annotations

import numpy as np

from trundle.records import Trajectory
from trundle.report import Quantity

_DIRECTIONS = ("forward", "up")
_G = 9.81  # m/s2: of the unit of forces, body weight

ESTIMATE = {
    "force_rms": Quantity("% BW", "of estimated ground forces, against measured ones, over the stance"),
    "force_correlation": Quantity("1", "of estimated and measured ground forces over the stance"),
    "force_coverage": Quantity("1", "share of measured forces within two standard deviations of the estimate"),
    "force_deviation": Quantity("% BW", "root mean square of the forces' standard deviations over the stance"),
    "torque_deviation": Quantity("N m", "of hip's, knee's and ankle's torques, root mean square over the cycle"),
    "marker_rms": Quantity("m", "of markers about the model's"),
}


def measure_estimate(run: Trajectory) -> dict[str, float]:
    """Return the metrics of an estimate; those of forces need a plan that has converged."""
    found = run.metadata["estimate"]
    values = {"marker_rms": float(np.sqrt(np.mean(np.square(list(found["residuals"].values())))))}
    if "force" not in found:
        return values
    weight = _G * float(run.metadata["physics"]["mass"])
    stands = np.array(found["times"]) > found["swing"]
    force, deviation, measured = (
        np.array(found[key])[stands] / weight for key in ("force", "force_deviation", "force_measured")
    )
    for k, name in enumerate(_DIRECTIONS):
        values[f"force_rms_{name}"] = 100 * float(np.sqrt(np.mean((force - measured)[:, k] ** 2)))
        values[f"force_correlation_{name}"] = float(np.corrcoef(force[:, k], measured[:, k])[0, 1])
    within = np.abs(force - measured) <= 2 * np.hypot(deviation, found["force_sigma"])
    return values | {
        "force_coverage": float(np.mean(within)),
        "force_deviation": 100 * float(np.sqrt(np.mean(deviation**2))),
        "torque_deviation": float(np.sqrt(np.mean(np.square(found["torque_deviation"])))),
    }
