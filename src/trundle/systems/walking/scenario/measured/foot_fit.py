"""A rolling foot from measured gait: the circle that the centre of pressure draws in the frame of the shank."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trundle.checks import FloatArray, integer, number, positive
from trundle.errors import InputError
from trundle.geometry import Ellipsoid
from trundle.geometry.sampled.circle_fit import CircleFit, fit_circle
from trundle.records.whole import write_bytes
from trundle.scenarios.engine.folder import own_folder
from trundle.systems.walking.robots.avatar import Avatar
from trundle.systems.walking.scenario.measured.gait_data import GaitData

BLOCK = 5
"""Number of successive samples that are drawn together, as their errors are correlated."""
_FEWEST = 10  # points: fewer make no circle
_SHORT = 0.1
"""Shortest duration (s) on the plate that counts as a contact."""


@dataclass(frozen=True)
class PlateContact:
    """One contact with the plate: first and last sample, and why it is not used (empty if it is)."""

    first: int
    last: int
    fault: str


@dataclass(frozen=True)
class FittedFoot:
    """An equivalent rolling foot and how well it is known.

    Attributes
    ----------
    circle : CircleFit
        In the shank's frame: origin at the ankle, x forward, y towards the knee; with the middle cut-off.
    points : (N, 2) m
        Roll-over shape: the centre of pressure in that frame.
    contacts : tuple of PlateContact
    times : (N,) s
    cutoffs : (2,) N
        Range from which the cut-off was drawn.
    radii, centers : (B,), (B, 2) m
        Circles of the bootstrap.
    tangency : float, rad
        Root mean square of the angle between the ground and the circle's tangent at the centre of pressure: zero if
        the foot were that circle and rolled.
    leg : float or None, m
        Median height of the hip marker above the sole's lowest point while the foot is loaded.
    missing : int
        Rows of the data that lack a number.
    """

    circle: CircleFit
    points: FloatArray
    contacts: tuple[PlateContact, ...]
    times: FloatArray
    cutoffs: tuple[float, float]
    radii: FloatArray
    centers: FloatArray
    tangency: float
    leg: float | None
    missing: int

    @property
    def deviation(self) -> float:
        """Half the span from 16 to 84 percent of the radius over samples and cut-offs, m: a standard deviation."""
        low, high = np.quantile(self.radii, [0.16, 0.84])
        return float(high - low) / 2

    @property
    def interval(self) -> tuple[float, float]:
        """2.5 and 97.5 percent of the radius, m."""
        low, high = np.quantile(self.radii, [0.025, 0.975])
        return float(low), float(high)

    def ellipsoid(self, lateral: float = 0.055, vertical: float = 0.045) -> tuple[FloatArray, FloatArray]:
        """Return (semi_axes, center), (3,) m, of an ellipsoidal foot in the frame of the ankle: x forward, z up.

        It touches the circle at its lowest point and has its curvature there: a^2 / vertical = radius, so
        a = sqrt(radius vertical).
        """
        b = positive("vertical", vertical, "m")
        axes = np.array([np.sqrt(self.circle.radius * b), positive("lateral", lateral, "m"), b])
        lowest = self.circle.center[1] - self.circle.radius
        return axes, np.array([self.circle.center[0], 0.0, lowest + b])

    def on_avatar(self, avatar: Avatar, scale: float = 1.0) -> Avatar:
        """Return the avatar with this foot, its `ellipsoid` times `scale`, in place of its own, in the same posture.

        The flat sole for comparison keeps its outline at the new foot's depth below the ankle.
        """
        factor = positive("scale", scale)
        axes, center = (factor * values for values in self.ellipsoid())
        return avatar.on_foot(Ellipsoid(axes.tolist()), center)


def in_shank(data: GaitData) -> FloatArray:
    """Return the centre of pressure (N, 2), m, in the shank's frame; NaN where something is missing.

    p = ((g - a).e_x, (g - a).e_y) with g = (pressure, 0), the ankle a, e_y = (k - a)/|k - a| towards the knee k and
    e_x = e_y turned clockwise by a right angle.
    """
    along = data.knee - data.ankle
    up = along / np.linalg.norm(along, axis=1, keepdims=True)
    forward = np.stack([up[:, 1], -up[:, 0]], axis=1)
    away = np.column_stack([data.pressure, np.zeros(len(data.time))]) - data.ankle
    return np.stack([np.sum(away * forward, axis=1), np.sum(away * up, axis=1)], axis=1)


def contacts_of(data: GaitData, points: FloatArray, cutoff: float) -> tuple[PlateContact, ...]:
    """Return the contacts: force above `cutoff` (N) for at least 0.1 s; `points` are those of `in_shank`.

    Only complete contacts are used: those that begin and end inside the record and have no missing number.
    """
    on = np.concatenate([[False], data.force > cutoff, [False]])
    begins, ends = np.flatnonzero(on[1:] & ~on[:-1]), np.flatnonzero(~on[1:] & on[:-1]) - 1
    found = []
    for first, last in zip(begins, ends, strict=True):
        if data.time[last] - data.time[first] < _SHORT:
            continue
        lacking = int(np.sum(~np.all(np.isfinite(points[first : last + 1]), axis=1)))
        cut = first == 0 or last == len(data.time) - 1
        fault = "cut off by the record's end" if cut else f"{lacking} samples lack a number" if lacking else ""
        found.append(PlateContact(int(first), int(last), fault))
    return tuple(found)


def fit_foot(
    data: GaitData,
    *,
    cutoffs: tuple[float, float] = (100.0, 300.0),
    samples: int = 1000,
    seed: int = 0,
) -> FittedFoot:
    """Fit the equivalent rolling foot.

    The circle nearest to the centre of pressure in the shank's frame (`in_shank`) over all complete contacts, with the
    cut-off in the middle of `cutoffs`. The fit is robust (`fit_circle`): as a foot leaves the ground the centre of
    pressure runs back, which no rolling foot does. Uncertainty is a bootstrap: for each of `samples` the cut-off is
    drawn evenly between `cutoffs` and the contacts' samples in blocks of `BLOCK`, with replacement.

    Parameters
    ----------
    data : GaitData
    cutoffs : (low, high), N
        Range of the force above which the foot counts as loaded.
    samples, seed : int

    Raises
    ------
    InputError
        If an argument is out of range, or the data hold no complete contact.
    """
    low = number("cutoffs", cutoffs[0], above=0.0, unit="N")
    high = number("cutoffs", cutoffs[1], minimum=low, unit="N")
    count, random = integer("samples", samples, minimum=2), np.random.default_rng(integer("seed", seed, minimum=0))
    middle = (low + high) / 2
    points = in_shank(data)
    contacts = contacts_of(data, points, middle)
    used = _find_used_contacts(contacts)
    if len(used) < _FEWEST:
        faults = "; ".join(f"{data.time[c.first]:g} to {data.time[c.last]:g} s: {c.fault}" for c in contacts if c.fault)
        allowed = f"data with a complete contact above {middle:g} N"
        raise InputError("DATA", f"{len(used)} samples", allowed + (f" ({faults})" if faults else ""))
    circle = _circle(points[used])
    radii, centers = [], []
    for _ in range(count):
        drawn = _fit_draw(data, points, float(random.uniform(low, high)), random, circle)
        if drawn is not None:
            radii.append(drawn.radius)
            centers.append(drawn.center)
    if len(radii) < 2:
        raise InputError("cutoffs", cutoffs, "forces between which contacts stay complete")
    return FittedFoot(
        circle=circle,
        points=points[used],
        contacts=contacts,
        times=data.time[used],
        cutoffs=(low, high),
        radii=np.array(radii),
        centers=np.array(centers),
        tangency=_tangency(data, circle, points, used),
        leg=_leg(data, circle, used),
        missing=data.missing,
    )


def _find_used_contacts(contacts: tuple[PlateContact, ...]) -> np.ndarray:
    spans = [np.arange(c.first, c.last + 1) for c in contacts if not c.fault]
    return np.concatenate(spans) if spans else np.zeros(0, dtype=int)


def _circle(points: FloatArray) -> CircleFit:
    try:
        return fit_circle(points, robust=True)
    except InputError as error:
        found = f"{len(points)} samples of the centre of pressure in the shank's frame"
        raise InputError("DATA", found, error.allowed) from None


def _fit_draw(
    data: GaitData, points: FloatArray, cutoff: float, random: np.random.Generator, start: CircleFit
) -> CircleFit | None:
    """Return the circle of one draw of the bootstrap, or None if the draw has too few points."""
    used = _find_used_contacts(contacts_of(data, points, cutoff))
    if len(used) < _FEWEST:
        return None
    starts = random.integers(0, len(used), size=-(-len(used) // BLOCK))
    index = (starts[:, None] + np.arange(BLOCK)).ravel()[: len(used)] % len(used)
    try:
        return fit_circle(points[used[index]], robust=True, start=start)
    except InputError:
        return None


def _tangency(data: GaitData, circle: CircleFit, points: FloatArray, used: np.ndarray) -> float:
    along = (data.knee - data.ankle)[used]
    up = along / np.linalg.norm(along, axis=1, keepdims=True)
    down = np.stack([up[:, 0], -up[:, 1]], axis=1)  # -e_y of the world in the shank's frame
    out = (points[used] - circle.center) / np.linalg.norm(points[used] - circle.center, axis=1, keepdims=True)
    sine = out[:, 0] * down[:, 1] - out[:, 1] * down[:, 0]
    return float(np.sqrt(np.mean(np.arcsin(np.clip(sine, -1, 1)) ** 2)))


def _leg(data: GaitData, circle: CircleFit, used: np.ndarray) -> float | None:
    if data.hip is None or not np.isfinite(data.hip[used]).all(axis=1).any():
        return None
    reach = np.linalg.norm(data.hip[used] - data.ankle[used], axis=1)
    return float(np.nanmedian(reach)) + float(circle.radius - circle.center[1])


def write_foot(foot: FittedFoot, out: str | Path, source: str, plots: bool = True) -> list[Path]:
    """Write ``foot.json`` (estimate and uncertainty), ``foot.toml`` (tables for scenarios) and ``foot.png``.

    Raises
    ------
    InputError
        If the folder holds something else, or cannot be written to.
    """
    written = {
        "foot.json": json.dumps(summary(foot, source), indent=2, allow_nan=False) + "\n",
        "foot.toml": tables(foot),
    }
    with own_folder(out, "fit", "that of an earlier fit") as folder:
        files = [folder.target(name) for name in written]
        for file, text in zip(files, written.values(), strict=True):
            write_bytes(file, text.encode())
        if plots:
            from trundle.systems.walking.scenario.measured.figures_foot import write_foot_plot

            files.append(write_foot_plot(foot, folder.target("foot.png")))
    return files


def summary(foot: FittedFoot, source: str) -> dict[str, Any]:
    """Return the numbers of a fit, m, rad, N, s."""
    circle, (low, high) = foot.circle, foot.interval
    return {
        "data": source,
        "radius": circle.radius,
        "radius_deviation": foot.deviation,
        "radius_interval": [low, high],
        "radius_deviation_independent": float(np.sqrt(circle.covariance[2, 2])),
        "center": circle.center.tolist(),
        "center_deviation": (np.ptp(np.quantile(foot.centers, [0.16, 0.84], axis=0), axis=0) / 2).tolist(),
        "rms": circle.rms,
        "weight": float(np.mean(circle.weights)),
        "tangency": foot.tangency,
        "leg": foot.leg,
        "radius_over_leg": None if foot.leg is None else circle.radius / foot.leg,
        "samples": len(foot.points),
        "missing_rows": foot.missing,
        "cutoffs": list(foot.cutoffs),
        "bootstrap": len(foot.radii),
        "contacts": [_contact(foot, contact) for contact in foot.contacts],
    }


def _contact(foot: FittedFoot, contact: PlateContact) -> Mapping[str, Any]:
    return {"samples": contact.last - contact.first + 1, "used": not contact.fault, "fault": contact.fault}


def tables(foot: FittedFoot) -> str:
    """Return the foot as TOML: `[foot]` of kind walking, task walk, and `[walker]` of a passive walker."""
    axes, center = (", ".join(f"{v:.5g}" for v in values) for values in foot.ellipsoid())
    text = (
        "# A rolling foot fitted to measured gait, in the frame of the ankle: x forward, z up. Lengths in m.\n"
        f"# Circle of radius {foot.circle.radius:.4f} +- {foot.deviation:.4f}, and an ellipsoid of its curvature and\n"
        "# lowest point, whose height and width are not measured.\n"
        "\n# of a scenario of kind walking, task walk\n"
        "[foot]\n"
        f'shape = {{ type = "ellipsoid", semi_axes = [{axes}] }}\n'
        f"center = [{center}]\n"
    )
    if foot.leg is not None:
        text += (
            "\n# of a scenario of kind planar, task walk\n"
            f"[walker]\nleg = {foot.leg:.5g}\nfoot_radius = {foot.circle.radius:.5g}\n"
        )
    return text
