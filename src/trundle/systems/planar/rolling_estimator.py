"""RollingEstimator: the state of a robot on wheels in the plane, from encoders, a gyroscope and an accelerometer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import chdtri

from trundle.checks import FloatArray, integer, positive
from trundle.control.inverse_dynamics.command import Flags
from trundle.control.inverse_dynamics.contact_finder import ContactFinder, nearest
from trundle.control.inverse_dynamics.inverse_dynamics import switch_contacts
from trundle.errors import InputError, SimulationError
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import Terms
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.rotations import rotation_plane
from trundle.numerics.space import dot, inverse
from trundle.parameters import Checked, NonNegative, Positive, parameter
from trundle.status import Status

_FALSE_ALARM = 1e-6
"""Probability with which readings of the model as it is are taken for those of a robot that was pushed or slips."""
_JERKED = 1e3, 1e2
"""The same as `RollingSensors.model` over a period that the readings do not fit: of the mean, of the first moment."""
_LARGEST = 1e12  # m, rad, m/s, rad/s: beyond it a state means nothing
_SLIPS = 4.0
"""Standard deviations of slip from which on a contact slips."""


@dataclass(frozen=True)
class RollingSensors(Checked):
    """Noise of encoders and of an inertial unit, and how far model, terrain and rolling are trusted."""

    encoder: Positive = parameter(1e-4, "rad (m of a slide), sigma of the encoder of every joint")
    gyro: Positive = parameter(1e-3, "rad/s, sigma")
    gyro_bias: NonNegative = parameter(5e-3, "rad/s, sigma of the constant bias of the gyroscope, which is estimated")
    accelerometer: Positive = parameter(0.02, "m/s^2, sigma of the mean specific force of a period")
    start: Positive = parameter(1e-4, "m, rad, m/s, rad/s, sigma of the first estimate")
    model: Positive = parameter(5.0, "m/s^2, rad/s^2, sigma of the accelerations that the model misses")
    terrain: Positive = parameter(1e-5, "m, sigma of the distance of bodies that touch")
    rolling: Positive = parameter(1e-4, "m/s, sigma of the slip of a contact that rolls")
    slipping: Positive = parameter(1.0, "m/s, the same while slip is sensed")


class Estimate(NamedTuple):
    """What is estimated of the body with the inertial unit: x, z, angle and their rates, against the truth.

    ``error`` (6,) estimate minus truth, ``sigma`` (6,) its standard deviations, ``nees`` e'P^-1 e, 6 on average where
    the covariance P is that of the errors.
    """

    time: float
    error: FloatArray
    sigma: FloatArray
    nees: float


@final
class RollingEstimator:
    """Extended Kalman filter of positions q, velocities nu and the bias of the gyroscope, once a period.

    The model predicts with the last torques, its contacts rolling, and misses accelerations w (white noise):

        q' = nu,  nu' = nudot(q, nu, u) + w,  M nudot + h = S u + J'lam,  J nudot + b = 0.

    Readings of the encoders, the gyroscope omega + bias and the accelerometer R'((v - v_before)/period - g), the mean
    of the period at the body's centre of mass, correct it; then what the touching contacts say: n'(gap) = 0, J nu = 0.
    Readings that do not fit (chi-squared of their innovation) come from a robot that slips, lands or is pushed: their
    prediction counts for little. A contact whose slip T'vrel is then beyond four of its standard deviations slips: its
    rolling counts for little. Contact coordinates follow from q, and so do their derivatives.

    Parameters
    ----------
    system : ContactSystem
        The nominal robot, in the plane.
    atlas : tuple
        The charts of the coordinates.
    terms : Terms
        Of `system`'s model, all contacts rolling.
    touching : (contacts,) SX
    compliance : (contacts,) 1/kg
        See `trundle.control.InverseDynamics`.
    body : str
        That carries the inertial unit, a free body.
    period : float, s
    sensors : RollingSensors
    seed : int
        Of the noise that is drawn: the same after every `reset`.

    Attributes
    ----------
    log : list of Estimate
        Of every call since `reset`.
    slipping : (contacts,) bool
        Contacts whose slip is sensed.
    """

    def __init__(
        self,
        system: ContactSystem,
        atlas: Atlas,
        terms: Terms,
        touching: ca.SX,
        compliance: Sequence[float],
        body: str,
        period: float,
        sensors: RollingSensors,
        seed: int = 0,
    ) -> None:
        self._model = model = system.model(atlas)
        if f"{body}.position" not in model.layout:
            raise InputError("body", body, "a body without a parent")
        self._period, self._sensors = positive("period", period, "s"), sensors
        self._seed, self._finder = integer("seed", seed, minimum=0), ContactFinder(system, atlas)
        self._at, joints = _places(model)
        self._q, self._nu = self._at[: model.nv], self._at[model.nv :]
        self._joints = joints
        column = model.columns[body]
        self._angle, self._linear = column, np.arange(column + 1, column + 3)
        self._seen = np.r_[self._linear, column, model.nv + self._linear, model.nv + column]
        self._gravity = np.array(ca.DM(model.gravity)).ravel()
        self._forces, self._slopes, self._contacts = (
            BufferedFunction(compile_function(one)) for one in _functions(model, terms, touching, compliance)
        )
        self._count = len(terms.split)
        self.reset()

    def reset(self) -> None:
        """Forget everything, and begin the noise again."""
        self._finder.reset()
        self._random = np.random.default_rng(self._seed)
        self._bias = self._sensors.gyro_bias * self._random.normal()
        self._z = self._true = np.zeros(0)
        self.slipping = np.zeros(self._count, dtype=bool)
        self.log: list[Estimate] = []

    def __call__(self, time: float, state: FloatArray, touching: Flags, u: FloatArray) -> FloatArray:
        """Return the estimate (n_x,) of the `state` (n_x,), of which nothing but readings of sensors is used.

        ``touching`` (contacts,) says which contacts touch; ``u`` (n_u,) are the inputs since the last call.

        Raises
        ------
        SimulationError
            If the state is not finite, or the sigmas are so far apart that the covariance is not.
        """
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._take(state, touching, u)
                self.log.append(self._judge_estimate(time, state))
        except np.linalg.LinAlgError:
            raise SimulationError("the covariance of the estimate is singular", Status.NOT_FINITE) from None
        return self._state(self._z, touching)

    def _take(self, state: FloatArray, touching: Flags, u: FloatArray) -> None:
        """Go on to the next call, with what the sensors and the contacts say there."""
        true, nv, one = state[self._at], self._model.nv, self._sensors
        if not self._z.size:
            self._z = np.append(true + one.start * self._random.normal(size=2 * nv), 0.0)
            self._P = np.diag(np.append(np.full(2 * nv, one.start), one.gyro_bias) ** 2)
        else:
            self._advance(self._readings(true, self._true), touching, u)
        if not np.all(np.abs(self._z) < _LARGEST):
            raise SimulationError("the estimate of the state is not finite", Status.NOT_FINITE)
        self._hold_to_ground(np.flatnonzero(touching), touching)
        self._true = true

    def _judge_estimate(self, time: float, state: FloatArray) -> Estimate:
        """Return the estimate against the truth."""
        error, P = (self._z[:-1] - state[self._at])[self._seen], self._P[np.ix_(self._seen, self._seen)]
        nees = float(error @ np.linalg.solve(P, error))
        if not np.isfinite([*self._z, nees, *P.ravel()]).all():
            raise SimulationError("the estimate of the state is not finite", Status.NOT_FINITE)
        return Estimate(time, error, np.sqrt(np.diag(P)), nees)

    def _readings(self, true: FloatArray, before: FloatArray) -> FloatArray:
        """Return encoders, gyroscope and accelerometer, with their noise."""
        exact = np.append(true, self._bias)
        sigma = self._deviations
        return self._expect_measurement(exact, np.append(before, self._bias)) + sigma * self._random.normal(
            size=len(sigma)
        )

    @property
    def _deviations(self) -> FloatArray:
        one, joints = self._sensors, len(self._joints)
        return np.r_[np.full(joints, one.encoder), one.gyro, one.accelerometer, one.accelerometer]

    def _expect_measurement(self, z: FloatArray, before: FloatArray) -> FloatArray:
        nv, k = self._model.nv, self._angle
        linear = nv + self._linear
        force = (z[linear] - before[linear]) / self._period - self._gravity
        R = rotation_plane((z[k] + before[k]) / 2)
        return np.r_[z[self._joints], z[nv + k] + z[-1], R.T @ force]

    def _advance(self, readings: FloatArray, touching: Flags, u: FloatArray) -> None:
        """Predict over a period, and correct with the readings at its end."""
        assumed = self._sensors.model
        before, (z, F, noise) = self._z, self._predict_state(touching, u)
        n, nv, k = len(z), self._model.nv, self._angle
        after = np.hstack((F, noise))  # of errors of the state before and of w
        first = np.eye(n, n + noise.shape[1])
        linear = nv + self._linear
        R = rotation_plane((z[k] + before[k]) / 2)
        force = R.T @ ((z[linear] - before[linear]) / self._period - self._gravity)
        turned = np.outer([force[1], -force[0]], (after[k] + first[k]) / 2)  # d(R'f)/d angle = (f_z, -f_x)
        H = np.vstack(
            (
                after[self._joints],
                after[nv + k] + after[-1],
                R.T @ (after[linear] - first[linear]) / self._period + turned,
            )
        )
        innovation, noise_of = readings - self._expect_measurement(z, before), self._deviations**2
        for mean, moment in ((assumed, assumed), _JERKED):
            P = block_diag(self._P, mean**2 * np.eye(nv), moment**2 * np.eye(nv))
            change, P, surprise = _correct_estimate(P, H, innovation, noise_of)
            if surprise <= chdtri(len(innovation), _FALSE_ALARM):
                break
        self._z, self._P = z + after @ change, after @ P @ after.T

    def _predict_state(self, touching: Flags, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the state after a period, by Runge-Kutta, and its derivatives to the state before and to w."""
        h, nv, z = self._period, self._model.nv, self._z
        on, rates = np.asarray(touching, dtype=np.float64), [np.zeros(len(z))]
        slope = np.zeros((len(z), len(z)))
        slope[:nv, nv : 2 * nv] = np.eye(nv)
        for i, part in enumerate((0.0, 0.5, 0.5, 1.0)):
            at = z + part * h * rates[-1]
            x = self._state(at, touching)
            K, rest = self._forces(x, u, on)
            K = K.reshape(len(rest), -1).T
            solution = np.asarray(np.linalg.solve(K, -rest), dtype=np.float64)
            rates.append(np.r_[at[nv:-1], solution[:nv], 0.0])
            if i == 1:
                (slopes,) = self._slopes(x, u, on, solution)
                slope[nv:-1, :-1] = -np.linalg.solve(K, slopes.reshape(2 * nv, -1).T)[:nv]
        # White noise: its mean over the period, and its first moment, which is independent of that.
        noise = np.zeros((len(z), 2 * nv))
        noise[:nv] = np.hstack((h**2 / 2 * np.eye(nv), h**2 / math.sqrt(12) * np.eye(nv)))
        noise[nv:-1, :nv] = h * np.eye(nv)
        after = z + h / 6 * (np.array([1, 2, 2, 1]) @ rates[1:])
        return after, np.eye(len(z)) + h * slope + h**2 / 2 * slope @ slope, noise

    def _hold_to_ground(self, on: NDArray[np.intp], touching: Flags) -> None:
        """Correct with the rows of the contacts that touch; of those found to slip the tangential row loosely."""
        self.slipping[:] = False
        if not on.size:
            return
        one = self._sensors
        values, slopes = self._contacts(self._state(self._z, touching))
        H = np.hstack((slopes.reshape(-1, len(values)).T, np.zeros((len(values), 1))))
        along = on + 2 * self._count
        spread = np.sqrt(np.einsum("ij,jk,ik->i", H[along], self._P, H[along]) + one.rolling**2)
        self.slipping[on] = np.abs(values[along]) > _SLIPS * spread
        tangential = np.where(self.slipping[on], one.slipping, one.rolling)
        sigma = np.r_[np.full(on.size, one.terrain), np.full(on.size, one.rolling), tangential]
        rows = np.r_[on, on + self._count, along]
        change, self._P, _ = _correct_estimate(self._P, H[rows], -values[rows], sigma**2)
        self._z = self._z + change

    def _state(self, z: FloatArray, touching: Flags) -> FloatArray:
        """Return the model's state with its contact coordinates."""
        x = np.zeros(self._model.x.shape[0])
        x[self._at] = z[:-1]
        return self._finder(x, touching)


def _correct_estimate(
    P: FloatArray, H: FloatArray, y: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the change, the covariance after it, and y'S^-1 y of an innovation y = H e + noise (variances)."""
    S = H @ P @ H.T + np.diag(noise)
    gain = np.linalg.solve(S, H @ P).T
    kept = np.eye(len(P)) - gain @ H
    return gain @ y, kept @ P @ kept.T + (gain * noise) @ gain.T, float(y @ np.linalg.solve(S, y))


def _places(model: TreeModel) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where x has q, then nu, in the order of nu; and which of q are joints."""
    at, joints = np.zeros((2, model.nv), dtype=int), []
    for name, column in model.columns.items():
        jointed = f"{name}.joint" in model.layout
        pairs = [("joint", "rate")] if jointed else [("orientation", "angular_velocity"), ("position", "velocity")]
        for keys in pairs:
            places = [np.r_[model.layout[f"{name}.{key}"]] for key in keys]
            at[:, column : column + len(places[0])] = places
            column += len(places[0])
        joints += [column - 1] if jointed else []
    return at.ravel(), np.array(joints, dtype=int)


def _functions(
    model: TreeModel, terms: Terms, touching: ca.SX, compliance: Sequence[float]
) -> tuple[ca.Function, ca.Function, ca.Function]:
    """(x, u, on) -> K, r of  K (nudot, lam) + r = 0;  its d/d(q, nu) at a solution;  (x) -> contact rows, d/d(q, nu).

    Rows of contacts are n'(gap), then n'vrel, then T'vrel of all; derivatives count that contact coordinates follow q.
    """
    nv, x, u = model.nv, model.x, model.u
    at, _ = _places(model)
    q, nu = at[:nv].tolist(), at[nv:].tolist()
    follow = ca.SX(x.shape[0], nv)
    for constraint in model.constraints:
        place = model.layout[f"{constraint.name}.coordinates"]
        if constraint.s.shape[0]:
            residual, _ = nearest(constraint, constraint.s)
            follow[place, :] = -inverse(ca.jacobian(residual, constraint.s)) @ ca.jacobian(residual, x)[:, q]

    def slope(rows: ca.SX) -> ca.SX:
        J = ca.jacobian(rows, x)
        return ca.densify(ca.horzcat(J[:, q] + J @ follow, J[:, nu]))

    y = ca.SX.sym("y", nv + terms.J.shape[0])
    J, b, _, D = switch_contacts(terms, terms.b, touching, compliance, None)
    rest = ca.vertcat(terms.M @ y[:nv] + terms.h - terms.S @ u - J.T @ y[nv:], J @ y[:nv] + b + D @ y[nv:])
    zero = ca.substitute(rest, y, ca.SX.zeros(*y.shape))
    forces = ca.Function("forces", [x, u, touching], ca.cse([ca.densify(ca.jacobian(rest, y)), ca.densify(zero)]))
    slopes = ca.Function("slopes", [x, u, touching, y], ca.cse([slope(rest)]))
    gaps = [dot(k.n, k.gap) for k in terms.kin]
    speeds = [dot(k.frame[:, i], k.vrel) for i in (1, 0) for k in terms.kin]
    rows = ca.vertcat(ca.SX(0, 1), *gaps, *speeds)
    contacts = ca.Function("contacts", [x], ca.cse([ca.densify(rows), slope(rows)]))
    return forces, slopes, contacts
