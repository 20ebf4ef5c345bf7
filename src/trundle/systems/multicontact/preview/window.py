"""What one window of preview control is made of: samples, contacts in slots, resets, references in its frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.systems.multicontact.centroidal.centroidal import CentroidalState
from trundle.systems.multicontact.centroidal.forecast import Forecast
from trundle.systems.multicontact.centroidal.samples import (
    STATES,
    AttachedBody,
    PreviewSamples,
    Stages,
    attachment,
    discretise,
    frame_change,
    in_frame,
    mass_reset,
)

ReferencePath = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Times (n,) s -> positions (n, 3) m and velocities (n, 3) m/s, world: `trundle.multicontact.PointPath`."""


class AxisReset(NamedTuple):
    """The state where the privileged axis changes, in the old frame: m r1, m v1, m r2, m v2 are gain x + shift.

    `height` and `speed` are r3 and v3 there; a change of the mass in the same instant has been.
    """

    gain: FloatArray
    shift: FloatArray
    height: float
    speed: float


@dataclass(frozen=True)
class PreviewWindow:
    """K samples of the time ahead, in world axes at the measured centre of mass.

    Distances are small there wherever the robot has walked to: the program stays well scaled.

    Attributes
    ----------
    origin : (3,) m, world
    borders : (K + 1,) s
    held : (K, n) bool
        Contacts of the forecast that hold in each sample.
    stages : Stages
    E, e : (K, 6, 6), (K, 6)
        The state at the start of sample k is E_k x_k + e_k, x_k that at the end of the sample before: resets of the
        mass and of the frame. E_0 = I, e_0 = 0.
    joining : mapping of int to AttachedBody
        What joins or leaves at the start of a sample, its place from the origin.
    axis_changes : mapping of int to AxisReset
        Where the privileged axis changes: what is known before it does.
    resets : (R,) int
        Samples k > 0 at whose start E_k, e_k do something.
    turns : (K,) bool
        Samples whose privileged axis is not that of the sample before.
    start : (6,)
        x_0.
    reference : (K, 6)
        Wanted x at the END of each sample.
    middles : (K, 3) m
        Where the path is in the middle of each, from the origin.
    spin : (3,) kg m2/s
        Angular momentum at the start, world.
    """

    origin: FloatArray
    borders: FloatArray
    held: NDArray[np.bool_]
    stages: Stages
    E: FloatArray
    e: FloatArray
    joining: Mapping[int, AttachedBody]
    axis_changes: Mapping[int, AxisReset]
    resets: NDArray[np.intp]
    turns: NDArray[np.bool_]
    start: FloatArray
    reference: FloatArray
    middles: FloatArray
    spin: FloatArray

    @property
    def samples(self) -> PreviewSamples:
        """The samples of the stages."""
        return self.stages.samples


def make_window(
    borders: FloatArray,
    state: CentroidalState,
    forecast: Forecast,
    path: ReferencePath,
    first: tuple[float, FloatArray],
    gravity: FloatArray,
    pull: float,
    within: float,
) -> PreviewWindow:
    """Return the window of `borders` from the measured `state`; `first` = (mass, frames (K, 3, 3)) before any change.

    The height along the privileged axis follows the path's velocity, and a difference at the start dies out like
    (e + (e' + pull e) t) exp(-pull t); without any contact it falls. Both sides of the prescription, r3 and
    F3 = m (r3'' - g3) - fe3, then agree exactly. Changes up to `within` (s) from a border count as on it.
    """
    middles = (borders[:-1] + borders[1:]) / 2
    held = forecast.held_throughout(borders, within)
    masses, W = forecast.mass_at(middles, first[0]), first[1]
    if forecast.axes:
        W = forecast.frames_at(middles, W[0])
    force, pointed, moment = forecast.known_forces(middles)
    origin = state.position
    if forecast.pushes:
        moment = moment - np.cross(origin, pointed)
    points, rates = _sample_path(path, borders)
    points = points - origin
    durations = borders[1:] - borders[:-1]
    turns, changed = np.zeros((2, len(durations)), dtype=bool)
    if forecast.axes:
        turns[1:] = np.any(W[1:] != W[:-1], axis=(1, 2))
    if forecast.masses:
        changed[1:] = masses[1:] != masses[:-1]
    joining = _joining(forecast, changed, middles, masses, origin) if forecast.masses else {}
    airborne, resets = np.asarray(~held.any(axis=1)), (turns | changed).nonzero()[0]
    events, free = (turns, changed, airborne), gravity + force / masses[:, None]
    height, speed, rise = _heights(masses, W[:, 2], free, state, points, rates, borders, events, joining, pull)
    samples = PreviewSamples(durations, masses, W, height, speed, rise, gravity, force, pointed, moment)
    stages = discretise(samples)
    E, e, axis_changes = _resets(samples, resets.tolist(), turns, changed, joining, state.angular_momentum)
    reference, start = np.zeros((len(durations), STATES)), np.zeros(STATES)
    for column, value in enumerate((points, rates)):
        reference[:, column:4:2] = masses[:, None] * in_frame(W, value[1:])[:, :2]
    start[1:4:2] = masses[0] * (W[0, :2] @ state.velocity)
    start[4:] = W[0, :2] @ state.angular_momentum
    known = stages, E, e, joining, axis_changes, resets, turns, start, reference
    return PreviewWindow(origin, borders, held, *known, (points[:-1] + points[1:]) / 2, state.angular_momentum)


def slots_of(held: NDArray[np.bool_], kinds: NDArray[np.intp], slots: tuple[int, ...]) -> NDArray[np.intp]:
    """Return which contact (K, S) fills each slot in each sample, -1 where it stays empty.

    `kinds` (n,) is the kind of each contact, `slots` (S,) the kind each slot is for; slots of a kind stand together.
    """
    index = np.full((len(held), len(slots)), -1)
    for kind in set(slots):
        members = (kinds == kind).nonzero()[0]
        here = held[:, members]
        k, i = here.nonzero()
        index[k, slots.index(kind) - 1 + here.cumsum(axis=1)[k, i]] = members[i]
    return index


def _sample_path(path: ReferencePath, borders: FloatArray) -> tuple[FloatArray, FloatArray]:
    points, rates = path(borders)
    shape = (len(borders), 3)
    if np.shape(points) != shape or np.shape(rates) != shape or not math.isfinite(points.sum() + rates.sum()):
        raise InputError("path", path, f"a function of times (n,) to finite positions and velocities {shape}")
    return points, rates


def _joining(
    forecast: Forecast, changed: NDArray[np.bool_], middles: FloatArray, masses: FloatArray, origin: FloatArray
) -> dict[int, AttachedBody]:
    """Return the bodies that join (or leave, mass < 0) at samples, those with a known place."""
    found = {}
    for k in np.flatnonzero(changed).tolist():
        between = [c for c in forecast.masses if middles[k - 1] < c.time <= middles[k]]
        place = between[0].position if len(between) == 1 else None
        if place is not None:
            one, mass = between[0], float(masses[k] - masses[k - 1])
            found[k] = AttachedBody(mass, place - origin, one.velocity, one.angular_momentum)
    return found


def _heights(
    masses: FloatArray,
    w3: FloatArray,
    free: FloatArray,
    state: CentroidalState,
    points: FloatArray,
    rates: FloatArray,
    borders: FloatArray,
    events: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]],
    joining: dict[int, AttachedBody],
    pull: float,
) -> FloatArray:
    """Return r3, v3 at the starts of the samples and r3'' in them, (3, K); `free` (K, 3) is r'' in flight."""
    (turns, changed, airborne), T, count = events, borders[1:] - borders[:-1], len(masses)
    breaks = turns | changed
    breaks[1:] |= airborne[1:] != airborne[:-1]
    result = np.zeros((3, count))
    h, s = 0.0, float(w3[0] @ state.velocity)
    for a, b in pairwise([0, *np.flatnonzero(breaks).tolist(), count]):
        axis = w3[a]
        if turns[a]:
            h, s = float(axis @ points[a]), float(axis @ rates[a])
        elif a in joining:
            h, s = _join_mass(joining[a], axis, masses[a - 1], h, s)
        if airborne[a]:
            speeds = np.concatenate(([s], s + (T[a:b] * (free[a:b] @ axis)).cumsum()))
        else:
            off, rate = h - float(axis @ points[a]), s - float(axis @ rates[a])
            t = borders[a : b + 1] - borders[a]
            speeds = rates[a : b + 1] @ axis + (rate - pull * (rate + pull * off) * t) * np.exp(-pull * t)
            speeds[0] = s
        tops = (T[a:b] * (speeds[1:] + speeds[:-1]) / 2).cumsum() + h
        result[0, a], result[0, a + 1 : b] = h, tops[:-1]
        result[1, a:b], result[2, a:b] = speeds[:-1], (speeds[1:] - speeds[:-1]) / T[a:b]
        h, s = float(tops[-1]), float(speeds[-1])
    return result


def _join_mass(body: AttachedBody, axis: FloatArray, mass: float, height: float, speed: float) -> tuple[float, float]:
    """Return height and speed along `axis` once a body has joined `mass` (kg)."""
    values = zip((height, speed), (body.position, body.velocity), strict=True)
    high, fast = ((mass * own + body.mass * float(axis @ other)) / (mass + body.mass) for own, other in values)
    return high, fast


def _resets(
    samples: PreviewSamples,
    resets: list[int],
    turns: NDArray[np.bool_],
    changed: NDArray[np.bool_],
    joining: dict[int, AttachedBody],
    momentum: FloatArray,
) -> tuple[FloatArray, FloatArray, dict[int, AxisReset]]:
    """Return E, e and where the axis changes; L3, which is no state, is guessed there to be that of `momentum`."""
    s, count = samples, len(samples.durations)
    (E, e), axis_changes = _without_resets(count), {}
    if resets:
        E, e = E.copy(), e.copy()
    for k in resets:
        T, before, W = s.durations[k - 1], s.masses[k - 1], s.W[k - 1]
        height = float(s.height[k - 1] + T * s.speed[k - 1] + T**2 / 2 * s.acceleration[k - 1])
        speed = float(s.speed[k - 1] + T * s.acceleration[k - 1])
        if k in joining:
            E[k], e[k] = attachment(joining[k], W, before, height, speed)
            height, speed = _join_mass(joining[k], W[2], before, height, speed)
        elif changed[k]:
            E[k] = np.diag(mass_reset(before, s.masses[k]))
        if turns[k]:
            axis_changes[k] = AxisReset(np.diag(E[k])[:4].copy(), e[k, :4].copy(), height, speed)
            turn, shift = frame_change(W, s.W[k], height, speed, float(W[2] @ momentum), s.masses[k])
            E[k], e[k] = turn @ E[k], turn @ e[k] + shift
    return E, e, axis_changes


@lru_cache(maxsize=16)
def _without_resets(count: int) -> tuple[FloatArray, FloatArray]:
    E, e = np.tile(np.eye(STATES), (count, 1, 1)), np.zeros((count, STATES))
    for part in (E, e):
        part.setflags(write=False)
    return E, e
