"""PoseEstimator: the object's state from late and noisy images, by the nominal equations of motion."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.contact.choice import contact_coordinates
from trundle.contact.contact import kinematics
from trundle.contact.contacts import ChartContact, LevelPairContact
from trundle.contact.laws import PURE_ROLLING
from trundle.errors import InputError, SimulationError
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.conversion import to_matrix
from trundle.models.tree.model import TreeModel
from trundle.models.tree.system import Atlas, Start
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.compiled.compile import compile_function
from trundle.status import Status

_INDEX = 4.0
"""Largest tracking index: even exact images leave the gains a damped filter."""
_SETTLE = 5
"""Newton steps that find the contact of a first pose."""


@dataclass(frozen=True)
class Reading:
    """What is known of the hand: position (d,) m and turn in the world, twist (k + d,) in hand axes."""

    position: FloatArray
    orientation: FloatArray
    twist: FloatArray


@dataclass(frozen=True)
class Sigmas:
    """Standard deviations: of what the model misses (rad/s2, m/s) and of images (rad, m)."""

    acceleration: float
    drift: float
    angle: float
    position: float

    def gains(self, period: float) -> tuple[float, float, float]:
        """Return (alpha, beta, alpha_p): shares of a residual, steady state of the Kalman filter.

        For turns that of a random acceleration between images (Kalata 1984, IEEE Trans. AES-20(2)): tracking index
        L = sigma_a T^2 / sigma, r = (4 + L - sqrt(8 L + L^2)) / 4, alpha = 1 - r^2, beta = 2 (2 - alpha) -
        4 sqrt(1 - alpha). For positions that of a random walk: L = sigma_v T / sigma,
        alpha_p = (-L^2 + sqrt(L^4 + 4 L^2)) / 2. No index counts more than 4.
        """
        turn = _index(self.acceleration * period**2, self.angle)
        r = (4 + turn - np.sqrt(8 * turn + turn**2)) / 4
        alpha = 1 - r**2
        walk = _index(self.drift * period, self.position)
        along = (-(walk**2) + np.sqrt(walk**4 + 4 * walk**2)) / 2
        return float(alpha), float(2 * (2 - alpha) - 4 * np.sqrt(1 - alpha)), float(along)

    def covariance(self, period: float, delay: float) -> tuple[FloatArray, float]:
        """Return what images leave in a settled estimate, `delay` (s) late: (2, 2) of turn and rate, and of a position.

        Turn alpha sigma^2, both beta sigma^2 / T, rate beta (2 alpha - beta) / (2 (1 - alpha)) sigma^2 / T^2, and
        alpha_p sigma_p^2.
        """
        alpha, beta, along = self.gains(period)
        rate = beta * (2 * alpha - beta) / (2 * (1 - alpha)) / period**2
        late = np.array([[1.0, delay], [0.0, 1.0]])
        turn = self.angle**2 * np.array([[alpha, beta / period], [beta / period, rate]])
        return late @ turn @ late.T, along * self.position**2


def _index(model: float, image: float) -> float:
    return min(model / image, _INDEX) if image > 0 else _INDEX


class PoseEstimator:
    """Estimates the nominal state of a pair in pose coordinates (final).

    Between images the nominal equations of motion run on, with the hand's acceleration taken from the difference
    of its measured twists, and the hand's pose and twist replaced by the measured ones. An image taken at t_i is
    compared with the estimate of that time: of the residual turn alpha goes into the orientation and beta / T into
    the angular velocity, of the residual position alpha_p into the position (`Sigmas.gains`); then the estimate runs
    again from t_i to now. After each step the contact of the nominal shapes is followed, the gap closed along its
    normal and the velocity made to roll: gap, contact and velocity always belong to the poses.

    Parameters
    ----------
    pair : RollingPair
        The nominal pair, in pose coordinates.
    period : float, s
        Of images.
    sigmas : Sigmas
    """

    def __init__(self, pair: RollingPair, period: float, sigmas: Sigmas) -> None:
        self.pair = pair
        self._alpha, self._beta, self._along = sigmas.gains(period)
        self._period = period
        contact_pair = pair.system.contact_pairs[0]
        self._object, self._hand = contact_pair.body_A, contact_pair.body_B
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._past: deque[tuple[float, FloatArray, Reading]] = deque()
        self._atlas: Atlas = self.pair.system.first_atlas

    @property
    def started(self) -> bool:
        """Whether there is an estimate."""
        return bool(self._past)

    @property
    def state(self) -> FloatArray:
        """The estimate (n_x,) of the last prediction's time."""
        return self._past[-1][1]

    def start_from(self, time: float, hand: Reading, start: Start) -> None:
        """Begin with a nominal state."""
        model = self.pair.system.model(start.atlas)
        if start.x.shape != (model.x.shape[0],):
            raise InputError("initial", start.x.shape, f"a start of the nominal pair, {model.x.shape[0]} numbers")
        self._atlas = start.atlas
        self._past = deque([(time, self._settle_state(start.x, hand, 1), hand)])

    def start_at(self, time: float, hand: Reading, position: FloatArray, orientation: FloatArray) -> None:
        """Begin with an object seen at a pose (its centre of mass) and carried along by the hand."""
        pair = self.pair
        R_B, R_A = to_matrix(hand.orientation), to_matrix(orientation)
        offset = position + R_A @ np.array(pair.body.shape_origin) - hand.position
        found = pair.system.proximity(0).local_minima(R_B.T @ R_A, R_B.T @ offset)
        near = min(found, key=lambda one: one.gap)
        shapes = (pair.body.shape, pair.base.shape)
        s, charts = contact_coordinates(*shapes, pair.contact, near.x_A, near.x_B, near.n_B)
        self._atlas = (charts,) * len(pair.system.contact_pairs)
        model = pair.system.model(self._atlas)
        x = np.zeros(model.x.shape[0])
        for contact_pair in pair.system.contact_pairs:
            x[model.layout[f"{contact_pair.contact}.coordinates"]] = s
        k = len(hand.twist) - len(hand.position)
        w = R_B @ hand.twist[:k] if k == 3 else hand.twist[:k]
        for name, value in (("position", position), ("orientation", orientation), ("angular_velocity", w)):
            x[model.layout[f"{self._object}.{name}"]] = value
        self._past = deque([(time, self._settle_state(x, hand, _SETTLE), hand)])

    def predict(self, time: float, hand: Reading) -> None:
        """Go on to `time` (s), when the hand was read as `hand`."""
        before, x, last = self._past[-1]
        self._past.append((time, self._step_state(x, last, hand, time - before), hand))

    def correct(self, taken: float, position: FloatArray, orientation: FloatArray) -> None:
        """Take in an image of the time `taken` (s): the object's centre of mass (d,) m, world, and its turn."""
        while len(self._past) > 1 and self._past[1][0] <= taken + 1e-9:
            self._past.popleft()  # no image to come is older
        time, x, hand = self._past[0]
        layout = self.pair.system.model(self._atlas).layout
        at, heading, spin = (
            layout[f"{self._object}.{part}"] for part in ("position", "orientation", "angular_velocity")
        )
        away = rotation_between(x[heading], orientation)
        y = x.copy()
        y[heading] = turn_orientation(x[heading], self._alpha * away)
        y[spin] = x[spin] + self._beta / self._period * away
        y[at] = x[at] + self._along * (position - x[at])
        again = deque([(time, self._settle_state(y, hand, 2), hand)])
        for later, _, reading in list(self._past)[1:]:
            before, state, last = again[-1]
            again.append((later, self._step_state(state, last, reading, later - before), reading))
        self._past = again

    def _step_state(self, x: FloatArray, last: Reading, hand: Reading, h: float) -> FloatArray:
        step, _ = self._functions
        rate = (hand.twist - last.twist) / h
        return _finite(step(x, rate, np.array([h]), _flat(hand))[0])

    def _settle_state(self, x: FloatArray, hand: Reading, times: int) -> FloatArray:
        _, settle = self._functions
        for _ in range(times):
            x = settle(x, _flat(hand))[0]
        return _finite(x)

    @property
    def _functions(self) -> tuple[BufferedFunction, BufferedFunction]:
        """(x, u, h, hand) -> x one step later, and (x, hand) -> x put onto the contact."""
        system, atlas = self.pair.system, self._atlas
        return system.keep(("estimator", atlas), lambda: self._build(system.model(atlas)))

    def _build(self, model: TreeModel) -> tuple[BufferedFunction, BufferedFunction]:
        laws = list(self.pair.system.start_laws)
        x, u, h = model.x, model.u, ca.SX.sym("h")
        rate = ca.Function("rate", [x, u], [model.dynamics(laws).xdot])
        middle = rate(x, u)
        moved = x + h * rate(x + h / 2 * middle, u)
        places = [model.layout[f"{self._hand}.{part}"] for part in ("position", "orientation", "twist")]
        hand = ca.vertcat(*(ca.SX.sym("hand", place.stop - place.start) for place in places))
        held, at = ca.SX(x), 0
        for place in places:
            held[place] = hand[at : at + place.stop - place.start]
            at += place.stop - place.start
        settle = ca.Function("settle", [x, hand], [self._on_contact(model, held)])
        step = ca.Function("step", [x, u, h, hand], [settle(moved, hand)])
        return BufferedFunction(compile_function(step)), BufferedFunction(compile_function(settle))

    def _on_contact(self, model: TreeModel, x: ca.SX) -> ca.SX:
        """Return x with its contact found, its gap closed along the normal and its velocity rolling.

        Orientation and angular velocity stay what images made them (up to a spin that pure rolling forbids).
        """
        constraint, pure = model.constraints[0], self.pair.law == PURE_ROLLING.name and model.d == 3
        position, spin, velocity = (
            model.layout[f"{self._object}.{part}"] for part in ("position", "angular_velocity", "velocity")
        )
        k = kinematics(constraint.contact, constraint.A, constraint.B, constraint.s)
        touching = ca.SX(model.x)
        touching[position] = model.x[position] - k.n * ca.dot(k.n, k.gap)
        touching = ca.Function("touching", [model.x], [touching])
        rolling = ca.SX(model.x)
        lost = k.n * ca.dot(k.n, k.wrel) if pure else ca.SX(*k.wrel.shape)
        rolling[spin] = model.x[spin] - lost
        rolling[velocity] = model.x[velocity] - (k.vrel - k.LA[:, : k.wrel.shape[0]] @ lost)
        rolling = ca.Function("rolling", [model.x], [rolling])
        followed = ca.Function("followed", [model.x], [_follow_contact(model)])
        return rolling(touching(followed(x)))


def _follow_contact(model: TreeModel) -> ca.SX:
    """Return x with the contact coordinates where the surfaces are nearest, by one Newton step."""
    constraint = model.constraints[0]
    if not constraint.contact.size:
        return model.x
    k = kinematics(constraint.contact, constraint.A, constraint.B, constraint.s)
    if isinstance(constraint.contact, ChartContact | LevelPairContact):
        off = ca.vertcat(k.misalignment, k.T.T @ k.gap)
        J = ca.jacobian(off, constraint.s)
        shift = -J.T @ ca.solve(J @ J.T, off)
    else:
        shift = k.shift
    found = constraint.contact.restore(constraint.s + shift)
    x = ca.SX(model.x)
    x[model.layout[f"{constraint.name}.coordinates"]] = found
    return x


def turn_orientation(orientation: FloatArray, by: FloatArray) -> FloatArray:
    """Return an angle or quaternion turned further by the rotation vector `by` (k,), world axes."""
    if len(orientation) == 1:
        return orientation + by
    q = Rotation.from_rotvec(by) * Rotation.from_quat(orientation, scalar_first=True)
    after = q.as_quat(scalar_first=True)
    return np.asarray(after if after @ orientation >= 0 else -after)


def rotation_between(orientation: FloatArray, other: FloatArray) -> FloatArray:
    """Return the rotation vector (k,), world axes, from one angle or quaternion to another, at most half a turn."""
    if len(orientation) == 1:
        return (other - orientation + np.pi) % (2 * np.pi) - np.pi
    q = Rotation.from_quat(other, scalar_first=True) * Rotation.from_quat(orientation, scalar_first=True).inv()
    return np.asarray(q.as_rotvec())


def _flat(hand: Reading) -> FloatArray:
    return np.concatenate([hand.position, hand.orientation, hand.twist])


def _finite(x: FloatArray) -> FloatArray:
    if not np.all(np.isfinite(x)):
        raise SimulationError("the estimator lost the contact: its state is not finite", Status.NOT_FINITE)
    return x
