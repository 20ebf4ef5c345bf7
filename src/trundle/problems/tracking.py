"""Tracking: measured markers and ground forces of a symmetric walk, as residuals of the walking problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array, number, positive
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.problems.gait import Gait

_CHANNELS = ("forward", "up", "moment")


@dataclass(frozen=True)
class Tracked:
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
    marker_sigma : float or mapping, m
        Standard deviation of markers.
    force_sigma, moment_sigma : float; m
        Of forces over the weight, and of the moment.
    plate : bool
        Whether `forces` count; if not they are predicted.
    regularization : float
        Weight of the cost of the walk.
    """

    period: float
    swing: float
    markers: Mapping[str, FloatArray]
    places: Mapping[str, tuple[str, float, float]]
    forces: FloatArray
    marker_sigma: Mapping[str, float] = field(default_factory=dict)
    force_sigma: float = 0.02
    moment_sigma: float = 0.01
    plate: bool = True
    regularization: float = 0.05
    transfer_sigma: float = 0.1

    def __post_init__(self) -> None:
        positive("period", self.period, "s")
        if not self.period / 4 < positive("swing", self.swing, "s") < self.period / 2:
            raise InputError("swing", self.swing, "from a quarter to half of the period: walking, not running (s)")
        if not self.markers or set(self.markers) != set(self.places) or set(self.markers) != set(self.marker_sigma):
            raise InputError("markers", sorted(self.markers), "markers with a place and a standard deviation each")
        for name, curve in self.markers.items():
            array(f"markers.{name}", curve, (len(self.forces), 2), unit="m")
            positive(f"marker_sigma.{name}", self.marker_sigma[name], "m")
        array("forces", self.forces, (None, 3))
        positive("force_sigma", self.force_sigma)
        positive("moment_sigma", self.moment_sigma, "m")
        number("regularization", self.regularization, minimum=0.0)

    @property
    def durations(self) -> tuple[float, float]:
        """Single and double support, s."""
        return self.swing, self.period / 2 - self.swing

    def residuals(self, motions: Mapping[str, Motion], feet: Mapping[str, tuple[ca.SX, ca.SX]]) -> Tracked:
        """Return the residuals; `feet` gives the point and the force over the weight of each side."""
        names, values, sigmas = [], [], []
        for side, (name, (link, x, z)) in product(feet, self.places.items()):
            at = motions[f"{side}_{link}"].at(ca.SX(ca.DM([x, 0.0, z]))).p
            names += [(side, name, channel) for channel in _CHANNELS[:2]]
            values += [at[0], at[2]]
            sigmas += [self.marker_sigma[name]] * 2
        for side, (point, force) in feet.items() if self.plate else ():
            names += [(side, "plate", channel) for channel in _CHANNELS]
            values += [force[0], force[2], point[0] * force[2]]
            sigmas += [self.force_sigma, self.force_sigma, self.moment_sigma]
        measured = ca.SX.sym("measured", len(names) + 1)
        off = (ca.vertcat(*values) - measured[:-1]) / ca.SX(ca.DM(sigmas))
        left, right = (force[2] for _, force in feet.values())
        transfer = (right - measured[-1] * (left + right)) / self.transfer_sigma
        return Tracked((*names, ("both", "transfer", "up")), ca.vertcat(off, transfer), measured)

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
