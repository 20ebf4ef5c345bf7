"""Tracking: measured markers and ground forces of a symmetric walk, as residuals of the walking problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array, positive
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.parameters import Range, check_parameters, parameter
from trundle.systems.walking.gait.gait import Gait

Sigma = Annotated[float, Range("a number from 1e-6 to 1e6", minimum=1e-6, maximum=1e6)]
SIGMAS = ("marker_sigma", "foot_sigma", "force_sigma", "moment_sigma", "transfer_sigma", "regularization")
_CHANNELS = ("forward", "up", "moment")


@dataclass(frozen=True)
class TrackedWalk:
    """Symbols of measurements, and what the model's are off from them over their standard deviations.

    Attributes
    ----------
    names : tuple of (side, what, channel)
    residuals, measured : (m,)
    """

    names: tuple[tuple[str, str, str], ...]
    residuals: ca.SX
    measured: ca.SX


@dataclass(frozen=True, eq=False)
class Tracking:
    """Curves of one leg over its cycle, from its lift-off; the other leg's are the same half a cycle later (final).

    The cost of the walk becomes the mean over time of

        sum_i (y_i(q, f) - y_i measured)^2 / sigma_i^2 + regularization * (cost of the walk).

    Parameters
    ----------
    period, swing : float, s
        Of the cycle, and from lift-off to touch-down.
    markers : mapping of str to (K, 2), m
        Forward in the frame that moves at the mean speed, and up, at K even shares of the cycle, the first 0.
    places : mapping of str to (link, x, z)
        Where each marker sits: link without its side, and place in its frame, m.
    forces : (K, 3)
        Ground force on the foot, forward and up, over the weight, and its moment x f_up (m), x as that of markers.
    plate : bool
        Whether `forces` count; if not they are predicted.
    marker_sigma, foot_sigma : float, m
        Standard deviation of markers, and of those on the foot.
    force_sigma, moment_sigma : float; m
        Of forces over the weight, and of the moment.
    transfer_sigma : float
        Of f_right = s (f_left + f_right) in double support, up, over the weight: the load goes over to the right foot
        by a share s = t^2 (3 - 2 t), t from 0 to 1, which the motion of a closed chain leaves open.
    regularization : float
        Weight of the cost of the walk.
    """

    period: float
    swing: float
    markers: Mapping[str, FloatArray]
    places: Mapping[str, tuple[str, float, float]]
    forces: FloatArray
    plate: bool = True
    marker_sigma: Sigma = parameter(0.01, "m, standard deviation of hip, knee and shoulder")
    foot_sigma: Sigma = parameter(0.03, "m, of ankle, heel and toe: a foot is no ellipsoid that rolls")
    force_sigma: Sigma = parameter(0.02, "of ground forces over the weight")
    moment_sigma: Sigma = parameter(0.01, "m, of the plate's moment over the weight")
    transfer_sigma: Sigma = parameter(0.1, "over the weight, of the load's smooth transfer in double support")
    regularization: Sigma = parameter(0.5, "weight of the cost of task `walk`: torques, accelerations")

    def __post_init__(self) -> None:
        check_parameters(self)
        positive("period", self.period, "s")
        if not self.period / 4 < positive("swing", self.swing, "s") < self.period / 2:
            raise InputError("swing", self.swing, "from a quarter to half of the period: walking, not running (s)")
        forces = array("forces", self.forces, (None, 3))
        if not self.markers or set(self.markers) != set(self.places):
            raise InputError("markers", sorted(self.markers), "markers with a place each")
        for name, curve in self.markers.items():
            array(f"markers.{name}", curve, (len(forces), 2), unit="m")

    @property
    def durations(self) -> tuple[float, float]:
        """Single and double support, s."""
        return self.swing, self.period / 2 - self.swing

    def residuals(self, motions: Mapping[str, Motion], feet: Mapping[str, tuple[ca.SX, ca.SX]]) -> TrackedWalk:
        """Return the residuals; `feet` gives the point and the force over the weight of each side."""
        names, values, sigmas = [], [], []
        for side, (name, (link, x, z)) in product(feet, self.places.items()):
            at = motions[f"{side}_{link}"].at(ca.SX(ca.DM([x, 0.0, z]))).p
            names += [(side, name, channel) for channel in _CHANNELS[:2]]
            values += [at[0], at[2]]
            sigmas += [self.foot_sigma if link == "foot" else self.marker_sigma] * 2
        for side, (point, force) in feet.items() if self.plate else ():
            names += [(side, "plate", channel) for channel in _CHANNELS]
            values += [force[0], force[2], point[0] * force[2]]
            sigmas += [self.force_sigma, self.force_sigma, self.moment_sigma]
        measured = ca.SX.sym("measured", len(names) + 1)
        off = (ca.vertcat(*values) - measured[:-1]) / ca.SX(ca.DM(sigmas))
        left, right = (force[2] for _, force in feet.values())
        transfer = (right - measured[-1] * (left + right)) / self.transfer_sigma
        return TrackedWalk((*names, ("both", "transfer", "up")), ca.vertcat(off, transfer), measured)

    def signals(self, phase: int, gait: Gait) -> FloatArray:
        """Return the measurements (N, m) of each interval of phase 0 (single) or 1 (double support): their means."""
        begin, length = ((0.0, self.swing), (self.swing, self.period / 2 - self.swing))[phase]
        edges = (begin + length * np.linspace(0.0, 1.0, gait.intervals[phase] + 1)) / self.period
        return self._between(edges)

    def at(self, share: float, width: float) -> FloatArray:
        """Return the measurements (m,) around a share of the cycle: their mean over a `width` of it."""
        return self._between(np.array([share - width / 2, share + width / 2]))[0]

    def _between(self, edges: FloatArray) -> FloatArray:
        parts = [np.hstack([self.markers[name] for name in self.places])] + [self.forces] * self.plate
        begin = 2 * self.swing / self.period  # of double support, in steps
        share = np.clip((edges[:-1] + edges[1:] - begin) / (1 - begin), 0.0, 1.0)
        columns = [mean_between(part, edges + shift) for part in parts for shift in (0.5, 0.0)]
        return np.hstack([*columns, (share**2 * (3 - 2 * share))[:, None]])


def mean_between(curves: FloatArray, edges: FloatArray) -> FloatArray:
    """Return means (N, m) of periodic curves (K, m), given at shares k / K, between successive `edges` (N + 1,)."""
    K = len(curves)
    fine = np.linspace(edges[:-1], edges[1:], 9, axis=1)  # trapezia within an interval
    grid = np.arange(K + 1) / K
    at = [np.interp(np.mod(fine, 1.0), grid, np.append(curve, curve[0])) for curve in curves.T]
    weights = np.array([0.5, *[1.0] * 7, 0.5]) / 8
    return np.stack([values @ weights for values in at], axis=1)
