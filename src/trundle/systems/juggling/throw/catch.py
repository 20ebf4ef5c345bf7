"""A catch in space: the hand leaves a thrown object, waits level where it lands, and takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BPoly, CubicSpline
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, number, positive
from trundle.errors import InputError
from trundle.models.rigid_body import Hand, SampledMotion
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.system import Start
from trundle.numerics.rotations import rotation_rpy, skew
from trundle.records import Trajectory
from trundle.records.reference import Reference
from trundle.simulate import simulate
from trundle.systems.juggling.throw.profiles import SampledProfile

_STEP = 1e-3  # s between samples of a flight


@dataclass(frozen=True, eq=False)
class SpatialCatch:
    """The hand's motion from the start of a throw until it has caught.

    Attributes
    ----------
    profile : SampledProfile
        The planned throw, then the way to the catching place, at rest from ``profile.duration`` on.
    standing : Start
        The object at rest on the hand at its catching place: what a regulator has to hold.
    landing : float, s
    """

    profile: SampledProfile
    standing: Start
    landing: float


def plan_catch(
    pair: RollingPair, start: Start, throw: Reference, flight: float, place: FloatArray, away: float, waits: float
) -> SpatialCatch:
    """Return the hand's motion for a catch `flight` (s) after the release at the end of `throw`.

    The free flight is simulated with a hand that stays away. Where the object then is, the hand of the start's
    orientation touches it with its point `place` (3,) m. On the way there the hand's position and its rotation vector
    are quintics in time; the position begins with the acceleration `away` (m/s2) out of the object's way.

    Raises
    ------
    InputError
        If a number is out of range or the pair lies in the plane.
    """
    hand = pair.base
    if pair.d != 3 or not isinstance(hand, Hand):
        raise InputError("pair", pair, "an object on a Hand in space: task ThrowCatch plans throws in the plane")
    flight, away = positive("flight", flight, "s"), positive("away", away, "m/s2")
    rest = (1.0 - number("waits", waits, above=0.0, below=1.0)) * flight
    flown = _flight(pair, hand, start, throw, flight, away)
    k = int(np.argmin(np.abs(flown.time - throw.duration)))
    there, position = _standing(pair, replace(hand, twist=(0.0,) * 6), flown, place)
    level = Rotation.from_matrix(rotation_rpy(np.asarray(hand.rpy)))
    times, values = _way(flown, k, position, level, rest, away)
    before = np.asarray(throw.times - throw.times[0])
    whole = np.concatenate([before, before[-1] + 1e-9 + times])
    profile = SampledProfile(whole, np.vstack([throw.inputs, values]), np.asarray(hand.twist, dtype=np.float64))
    return SpatialCatch(profile, there, throw.duration + flight)


def _flight(pair: RollingPair, hand: Hand, start: Start, throw: Reference, flight: float, away: float) -> Trajectory:
    """Return the throw and the flight after it, with a hand that does not come back."""
    last = throw.inputs[-1] - [0.0, 0.0, 0.0, 0.0, 0.0, away]
    end = throw.times[-1] - throw.times[0]
    times = np.concatenate([throw.times - throw.times[0], end + np.array([1e-9, 1.0])])
    gone = replace(hand, motion=SampledMotion(times, np.vstack([throw.inputs, last, last])))
    alone = replace(pair, base=gone, on_slip="ignore", on_separation="fly")
    return simulate(alone, start, end + flight, output_step=_STEP)


def _standing(pair: RollingPair, hand: Hand, flown: Trajectory, place: FloatArray) -> tuple[Start, FloatArray]:
    """Return the object at rest on the hand where that touches it at the end of the flight, and the hand's position."""
    given = {"contact_on_hand": place, "object_quaternion": flown["object_quaternion"][-1]}
    resting = replace(pair, base=hand)
    first = resting.place(**given)
    there = first.x[resting.system.model(first.atlas).layout["object.position"]]
    position = np.asarray(hand.position) + flown["object_position"][-1] - there
    return replace(resting, base=replace(hand, position=position)).place(**given), position


def _way(
    flown: Trajectory, k: int, goal: FloatArray, level: Rotation, duration: float, away: float
) -> tuple[FloatArray, FloatArray]:
    """Return times and twist derivatives (n, 6), hand axes, from the release at sample k to rest."""
    R = Rotation.from_quat(flown["hand_quaternion"][k], scalar_first=True)
    w = R.as_matrix().T @ flown["hand_angular_velocity"][k]
    phi = (level.inv() * R).as_rotvec()
    rate = np.linalg.solve(_right_jacobian(phi), w)
    zero = np.zeros(3)
    leaving = -away * R.as_matrix()[:, 2]
    position = BPoly.from_derivatives(
        [0.0, duration],
        [[flown["hand_position"][k], flown["hand_velocity"][k], leaving], [goal, zero, zero]],
    )
    turn = BPoly.from_derivatives([0.0, duration], [[phi, rate, zero], [zero, zero, zero]])
    times = np.linspace(0.0, duration, max(round(duration / _STEP), 50) + 1)
    turns, speeds = turn(times), turn.derivative()(times)
    body = level * Rotation.from_rotvec(turns)
    omega = np.stack([_right_jacobian(p) @ s for p, s in zip(turns, speeds, strict=True)])
    twist = np.hstack([omega, body.inv().apply(position.derivative()(times))])
    return times, CubicSpline(times, twist).derivative()(times)


def _right_jacobian(phi: FloatArray) -> FloatArray:
    """Return J with w = J phi' of R = Exp(phi), body axes."""
    angle = float(np.linalg.norm(phi))
    K = skew(phi)
    if angle < 1e-6:
        return np.eye(3) - K / 2
    return np.eye(3) - (1 - np.cos(angle)) / angle**2 * K + (angle - np.sin(angle)) / angle**3 * K @ K
