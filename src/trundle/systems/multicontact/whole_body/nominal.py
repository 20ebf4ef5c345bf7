"""The nominal motion of a centre of mass over given footholds: the preview on its own model, without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, positive
from trundle.errors import InputError
from trundle.systems.multicontact.centroidal.centroidal import CentroidalState
from trundle.systems.multicontact.preview import Preview
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.whole_body.stepping import Footsteps

Shape = Literal["swaying", "piecewise", "constant"]
_LONG = 1.0
"""A rest before a step that is longer than this, s, is a rest."""


class NominalPath:
    """Positions and velocities at times, joined by cubics that meet both (final): callable like `PointPath`.

    Parameters
    ----------
    times : (n,) s
        Ascending.
    points, rates : (n, 3) m, m/s, world
    """

    def __init__(self, times: ArrayLike, points: ArrayLike, rates: ArrayLike) -> None:
        from scipy.interpolate import CubicHermiteSpline

        self.times = array("times", times, (None,), unit="s")
        if len(self.times) < 2 or np.any(np.diff(self.times) <= 0):
            raise InputError("times", times, "at least two, ascending (s)")
        n = len(self.times)
        self.points = array("points", points, (n, 3), unit="m")
        self._curve = CubicHermiteSpline(self.times, self.points, array("rates", rates, (n, 3), unit="m/s"))
        self._rate = self._curve.derivative()

    def __call__(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions (n, 3) and velocities (n, 3) at the times (n,); at rest outside."""
        inside = np.clip(times, self.times[0], self.times[-1])
        moving = ((times >= self.times[0]) & (times <= self.times[-1]))[:, None]
        return self._curve(inside), np.where(moving, self._rate(inside), 0.0)


def gross_path(
    steps: Footsteps,
    com: FloatArray,
    *,
    lowered: float = 0.0,
    sway: float = 0.6,
    lean: Mapping[str, float] | None = None,
    rise: float = 0.3,
    back: float = 0.0,
    shape: Shape = "swaying",
) -> PointPath:
    """Return a coarse path of the centre of mass: over the middle of what stands while something travels.

    Parameters
    ----------
    steps : Footsteps
        Of soles; their heights are added to that of the centre of mass.
    com : (3,) m
        Where it starts.
    lowered : float, m
        By how much it sinks in the first half second.
    sway : float
        Share of the way from the middle of all ends to that of those that stand, across the soles' direction.
    rise : float
        Share of the way up from the lowest to the highest of the soles around a step that it has risen meanwhile.
    back : float, m
        By how much it is behind the middle of what stands, along the soles' direction, from the first half second on.
    lean : mapping of str to float, m
        Where it is across, from the middle of both soles, while an end travels; those left out: by `sway`.
    shape : "swaying"; "piecewise", "constant": as in `_straight`, without sway, lean, rise and back
    """
    first, last = _middle(steps, 0.0), _middle(steps, steps.duration + 1.0)
    up = np.array([0.0, 0.0, height := float(com[2]) - lowered - first[2]])
    if shape != "swaying":
        return _straight(steps, com, up, shape == "piecewise")
    times, points = [0.0, 0.5], [np.array(com), first + up]
    for travel in steps.travels:
        time = (travel.start + travel.end) / 2
        if time <= times[-1]:
            continue
        here, before = _middle(steps, time), _middle(steps, travel.start - 1e-6)
        if travel.start - times[-1] > _LONG:
            times.append(travel.start - 0.5 * _LONG)
            points.append(before + up)
        times.append(time)
        yaw = steps.heading(travel.start)[0]
        ahead, left = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
        shift = here[:2] - before[:2]
        across = (lean or {}).get(travel.name, sway * float(left @ shift))
        lands = travel.target.position[2] if travel.name.endswith("_foot") else here[2]
        level = np.array([here[2], before[2], lands])
        rest = rise * (level.max() - level.min()) + level.min() if np.ptp(level) > 1e-9 else here[2]
        points.append(np.array([*(before[:2] + (ahead @ shift) * ahead + across * left), height + rest]))
    times.append(max(steps.duration, 0.6) + 0.4)
    points.append(last + up)
    for time, point in zip(times[1:], points[1:], strict=True):
        yaw = steps.heading(time)[0]
        point[:2] -= back * np.array([np.cos(yaw), np.sin(yaw)])
    return PointPath(times, points, "smooth")


def _straight(steps: Footsteps, com: FloatArray, up: FloatArray, everywhere: bool) -> PointPath:
    """Return straight pieces over the middles of the soles (paper 3, III-C).

    Everywhere: at a constant velocity during each step, at rest between them; else at one velocity, which the paper
    prefers, from the first step to the last.
    """
    feet = [travel for travel in steps.travels if travel.name.endswith("_foot")]
    knots = list(chain.from_iterable((travel.start - 1e-6, travel.end) for travel in feet))
    times = [0.5, *(t for t in (knots if everywhere else knots[:1] + knots[-1:]) if t > 0.5)]
    return PointPath([0.0, *times], [com, *(_middle(steps, time) + up for time in times)])


def nominal_path(
    preview: Preview, steps: Footsteps, gross: PointPath, com: FloatArray, duration: float, every: float = 0.04
) -> NominalPath:
    """Return the motion that `preview` gives its own model when it is asked `every` so many s to follow `gross`.

    Raises
    ------
    InputError
        If at some time the footholds cannot bear any motion.
    """
    state, times, points, rates = CentroidalState(com), [], [], []
    for k in range(int(positive("duration", duration, "s") / positive("every", every, "s")) + 2):
        times.append(k * every)
        points.append(state.position)
        rates.append(state.velocity)
        plan = preview(k * every, state, steps.forecast, gross)
        if not plan.usable:
            raise InputError("steps", plan.status.label, f"footholds that can bear the motion at {k * every:.2f} s")
        position, velocity, *_ = plan.at((k + 1) * every)
        state = CentroidalState(position, velocity)
    return NominalPath(times, points, rates)


def _middle(steps: Footsteps, time: float) -> FloatArray:
    feet = [place.position for name, place in steps.standing(time).items() if name.endswith("_foot")]
    if not feet:
        raise InputError("steps", time, "a sole that stands at this time (s)")
    return np.mean(feet, axis=0)
