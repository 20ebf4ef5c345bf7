"""Which limit of a joint binds: joint, demand and limit, of angles, rates and torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.models.urdf.articulated import Articulated

_RATES = ("rad/s", "m/s")
_SHARED = 1e-6
"""Uses that differ by less, over the largest, are the same: linear programs leave so much."""


@dataclass(frozen=True)
class Demand:
    """What a joint would have to do, and its limit: rad or m, rad/s or m/s, N m or N.

    ``use`` is the demand over the limit; of an angle beyond its range 1 and the angle beyond.
    """

    joint: str
    demand: float
    limit: float
    unit: str
    use: float

    def __str__(self) -> str:
        return f"joint {self.joint} takes {self.demand:.3g} {self.unit}, its limit is {self.limit:.3g} {self.unit}"


def largest_demand(
    robot: Articulated,
    *,
    angles: FloatArray | None = None,
    rates: FloatArray | None = None,
    torques: FloatArray | None = None,
    torque_part: float = 1.0,
) -> Demand:
    """Return the demand that uses most of its limit, of motions (n,), or (k, n) over time, of a robot's joints.

    Parameters
    ----------
    angles, rates, torques : rad or m, rad/s or m/s, N m or N; optional
        In the order of `Articulated.joints`.
    torque_part : float
        Of the torque limits that may be used.
    """
    usable, found = torque_part * robot.torque_limit, []
    for values, limit, units in ((torques, usable, ("N m", "N")), (rates, robot.rate_limit, _RATES)):
        if values is not None:
            found.append(_largest(robot, values, np.abs(values) / limit, (-limit, limit), units))
    if angles is not None:
        beyond = np.maximum(robot.lower - angles, angles - robot.upper)
        found.append(_largest(robot, angles, 1.0 + beyond, (robot.lower, robot.upper), ("rad", "m")))
    return max(found, key=lambda one: one.use)


def _largest(
    robot: Articulated,
    values: FloatArray,
    use: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    units: tuple[str, str],
) -> Demand:
    # Where a program has made the largest use least, several joints share it: then the first is told.
    most = float(np.max(use))
    at = np.unravel_index(int(np.argmax(use >= most - _SHARED * abs(most))), use.shape)
    value, i = float(values[at]), int(at[-1])
    low, high = (float(limit[i]) for limit in limits)
    nearest = high if abs(value - high) < abs(value - low) else low
    return Demand(robot.joints[i], value, nearest, units[robot.bodies()[i + 1].slides], float(use[at]))
