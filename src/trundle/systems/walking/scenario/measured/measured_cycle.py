"""One cycle of a measured walk: its events, speed and mean curves, and the subject's segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.errors import InputError
from trundle.systems.walking.gait.tracking import Tracking
from trundle.systems.walking.robots.avatar import Avatar, build_avatar
from trundle.systems.walking.scenario.measured.foot_fit import contacts_of, in_shank
from trundle.systems.walking.scenario.measured.gait_data import GaitData

SAMPLES = 240
"""Of the curves over the cycle."""
_FLAT = (0.25, 0.55)
"""Shares of a contact between which the foot lies flat."""
_GAP = 0.1
"""Longest gap (s) of a marker that is interpolated."""
_SCALES = (0.5, 2.0)
"""Segments of a walker over those of the avatar."""
_PLACES = {"hip": "thigh", "knee": "shank", "ankle": "foot", "shoulder": "arm", "heel": "foot", "toe": "foot"}
"""Link that each marker sits on, at its origin but for heel and toe."""


@dataclass(frozen=True)
class MeasuredCycle:
    """Mean curves of the measured leg from its lift-off, at `SAMPLES` even shares of the cycle.

    Attributes
    ----------
    period, swing : float, s
    speed : float, m/s
        Of the walker relative to the ground that its flat foot rests on: belts move.
    markers : mapping of str to (K, 2), m
        By what they mark; forward in the frame of the mean motion, and up.
    forces : (K, 3)
        Forward and up, N, and the moment x f_up, N m.
    flat : mapping of str to (2,), m
        Heel and toe from the ankle while the foot lies flat, and ``ankle``: (0, height).
    contacts, swings : int
        How many went into the means.
    missing : int
        Rows of the data that lack a number; gaps up to 0.1 s are interpolated.
    """

    period: float
    swing: float
    speed: float
    markers: Mapping[str, FloatArray]
    forces: FloatArray
    flat: Mapping[str, FloatArray]
    contacts: int
    swings: int
    missing: int

    def tracking(self, weight: float, **settings: float | bool | Mapping[str, float]) -> Tracking:
        """Return what a walk of this `weight` (N) is to follow."""
        places = {name: (_PLACES[name], 0.0, 0.0) for name in self.markers}
        for name in ("heel", "toe"):
            places[name] = ("foot", float(self.flat[name][0]), float(self.flat[name][1]))
        return Tracking(self.period, self.swing, self.markers, places, self.forces / weight, **settings)  # type: ignore[arg-type]


def measured_cycle(data: GaitData, names: Mapping[str, str], threshold: float) -> MeasuredCycle:
    """Return the mean cycle of the leg with markers `names`: what they mark -> their name in the data.

    Touch-down and lift-off are where the plate's force passes `threshold`, N, of contacts of at least 0.1 s. All
    complete contacts and swings are stretched to their mean durations and averaged.

    Raises
    ------
    InputError
        If there is no complete contact or swing, or a marker is missing for longer than 0.1 s.
    """
    limit = positive("threshold", threshold, "N")
    contacts = contacts_of(data, in_shank(data), limit)
    events = [(data.time[c.first], True) for c in contacts if c.first > 0]
    events += [(data.time[c.last + 1], False) for c in contacts if c.last + 1 < len(data.time)]
    events.sort()
    pairs = list(pairwise(events))
    stances = [(a[0], b[0]) for a, b in pairs if a[1] and not b[1]]
    swings = [(a[0], b[0]) for a, b in pairs if not a[1] and b[1]]
    if not stances or not swings:
        found = f"{len(stances)} complete contacts and {len(swings)} complete swings above {limit:g} N"
        raise InputError("data.threshold", found, "data with one of each at least")
    swing, stance = (float(np.mean(np.diff(spans))) for spans in (swings, stances))
    period = swing + stance
    markers = {what: data.markers[name] for what, name in names.items()}
    drift = _drift(data.time, markers["hip"][:, 0], events)
    flat, foot_speed = _flat_foot(data.time, markers, stances)
    origin = float(np.nanmean(markers["hip"][:, 0] - drift * data.time))
    share = np.arange(SAMPLES) / SAMPLES * period
    within = [_stretch_times(swings, share, 0.0, swing), _stretch_times(stances, share, swing, stance)]
    shift = drift * data.time + origin
    curves: dict[str, FloatArray] = {}
    for what, p in markers.items():
        along, up = (_mean(data.time, x, within, what) for x in (p[:, 0] - shift, p[:, 1]))
        curves[what] = np.stack([along, up], axis=1)
    loaded = (data.force > limit) & np.isfinite(data.pressure)
    force = np.where(loaded, data.force, 0.0)
    at = np.where(loaded, np.nan_to_num(data.pressure) - shift, 0.0)
    pushes = (np.where(loaded, data.push, 0.0), force, force * at)
    forces = np.stack([_mean(data.time, values, within, "plate") for values in pushes], axis=1)
    return MeasuredCycle(
        period, swing, drift - foot_speed, curves, forces, flat, len(stances), len(swings), data.missing
    )


def _mean(time: FloatArray, values: FloatArray, within: list[FloatArray], name: str) -> FloatArray:
    """Return the mean of values at times (spans, k) of swings, then of contacts."""
    known = np.isfinite(values)
    gaps = np.diff(time[known], prepend=-np.inf, append=np.inf)
    parts = []
    for times in within:
        if not known.any() or np.max(gaps[np.searchsorted(time[known], times)]) > _GAP:
            key = "data.plate" if name == "plate" else f"data.markers.{name}"
            raise InputError(key, name, f"a signal without gaps longer than {_GAP:g} s in a cycle")
        parts.append(np.interp(times, time[known], values[known]).mean(axis=0))
    return np.concatenate(parts)


def _stretch_times(spans: list[tuple[float, float]], share: FloatArray, begin: float, length: float) -> FloatArray:
    """Return the times (spans, k) in each span that belong to the times of the cycle from `begin` on."""
    inside = (share[(share >= begin) & (share < begin + length)] - begin) / length
    return np.array([first + (last - first) * inside for first, last in spans])


def _drift(time: FloatArray, x: FloatArray, events: list[tuple[float, bool]]) -> float:
    """Return the mean velocity (m/s) over whole cycles: from the first event to the last of the same kind."""
    last = max(i for i in range(len(events)) if events[i][1] == events[0][1])
    if last == 0:  # less than a cycle and a half: from the second event on
        return _drift(time, x, events[1:]) if len(events) > 2 else 0.0
    known = np.isfinite(x)
    ends = [events[0][0], events[last][0]]
    return float(np.diff(np.interp(ends, time[known], x[known]))[0] / (ends[1] - ends[0]))


def _flat_foot(
    time: FloatArray, markers: Mapping[str, FloatArray], stances: list[tuple[float, float]]
) -> tuple[dict[str, FloatArray], float]:
    """Return heel and toe from the ankle, the ankle's height, and the velocity of the foot while it lies flat."""
    parts: dict[str, list[FloatArray]] = {"heel": [], "toe": [], "ankle": []}
    speeds = []
    for first, last in stances:
        inside = (time >= first + _FLAT[0] * (last - first)) & (time <= first + _FLAT[1] * (last - first))
        for name in ("heel", "toe"):
            p = markers[name][inside]
            known = np.isfinite(p[:, 0])
            if known.sum() > 2:
                speeds.append(float(np.polyfit(time[inside][known], p[known, 0], 1)[0]))
            parts[name].append(p - markers["ankle"][inside])
        parts["ankle"].append(markers["ankle"][inside] * [0.0, 1.0])
    if not speeds:
        raise InputError("data.markers.toe", "missing", "heel and toe markers that are there while the foot lies flat")
    return {name: np.nanmedian(np.concatenate(p), axis=0) for name, p in parts.items()}, float(np.median(speeds))


def scaled_avatar(
    data: GaitData, names: Mapping[str, str], cycle: MeasuredCycle, sex: str, mass: float, height: float | None
) -> tuple[Avatar, dict[str, float]]:
    """Return the avatar with the subject's thigh, shank, ankle height and (with a shoulder marker) trunk, and scales.

    Lengths are medians of the distances of markers; what is not measured is scaled with the stature, or as the leg.
    """

    def length(a: str, b: str) -> float:
        return float(np.nanmedian(np.linalg.norm(data.markers[names[a]] - data.markers[names[b]], axis=1)))

    thigh, shank = length("hip", "knee"), length("knee", "ankle")
    base = build_avatar(sex, mass, height)
    own = {joint.name: joint.at for joint in base.robot.joints}
    leg = -(own["left_knee"][2] + own["left_ankle_pitch"][2])
    if height is None:
        base = build_avatar(sex, mass, base.height * (thigh + shank) / leg)
        own = {joint.name: joint.at for joint in base.robot.joints}
    scales = {
        "thigh": thigh / -own["left_knee"][2],
        "shank": shank / -own["left_ankle_pitch"][2],
        "ankle_height": float(cycle.flat["ankle"][1]) / base.foot.depth,
    }
    if "shoulder" in names:
        scales["thorax"] = (length("shoulder", "hip") + own["left_hip_roll"][2]) / own["left_shoulder_pitch"][2]
    for name, scale in scales.items():
        if not _SCALES[0] < scale < _SCALES[1]:
            raise InputError(
                "data.markers", f"{name}: {scale:.3g} times the avatar's", "markers of a person, in metres"
            )
    return build_avatar(sex, mass, base.height, scales), scales
