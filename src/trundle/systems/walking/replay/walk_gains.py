"""Gains that keep a planned walk: the periodic discrete-time regulator along it, through its changes of contact."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array, positive
from trundle.contact.contact import nearest_coordinates
from trundle.contact.law import Law
from trundle.contact.laws import ROLLING, SEPARATED
from trundle.errors import InputError
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.model import TreeModel
from trundle.numerics.ode.step import rk4_step
from trundle.numerics.riccati import periodic

_SUBSTEP = 0.012  # s: longest part of an interval of the gains
_STABLE = 2.0
"""Largest product of a step and an eigenvalue of the motion, such as of a light toe on a spring: RK4 bears 2.8."""
_DISTANCE = 1e-5  # of coordinates of order one: central differences have 1e-10 there


class WalkReference(Protocol):
    """What is read of a planned walk, such as `trundle.systems.walking.plan.plan.WalkPlan`.

    q (base x, y, z, yaw, pitch, roll, then joints) and nu at the N + 1 times; torques (N, n_u) and which
    contacts bear (N, C) in the intervals, two, or four of feet with toes; the mirror (n, n) that makes the next step,
    or None of a full cycle. An interval of no length lies between the rates before and after an impact.
    """

    @property
    def times(self) -> FloatArray:
        """Nodes (N + 1,), s."""
        ...

    @property
    def q(self) -> FloatArray:
        """Coordinates (N + 1, n)."""
        ...

    @property
    def nu(self) -> FloatArray:
        """Their rates (N + 1, n)."""
        ...

    @property
    def torque(self) -> FloatArray:
        """Of the joints' motors (N, n - 6), N m; a joint whose torques are all zero has none."""
        ...

    @property
    def standing(self) -> FloatArray:
        """Whether each contact bears (N, C); the left foot's first, mirrored the right one's."""
        ...

    @property
    def mirror(self) -> FloatArray | None:
        """The next step (n, n), or None."""
        ...

    @property
    def feet(self) -> list[list[int]]:
        """Numbers of the contacts of each foot, the one that lands first in front."""
        ...

    @property
    def order(self) -> list[int]:
        """Number of the contact whose mirror image each one is."""
        ...

    @property
    def once(self) -> bool:
        """Whether it goes from standing to standing, not on and on."""
        ...

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """Return (q, nu, acceleration) and the interval at a time."""
        ...


@dataclass(frozen=True)
class WalkWeights:
    """What deviations cost, each as 1/size^2: a size is one that matters as much as any other.

    Parameters
    ----------
    place : (3,) m
        Of the base: x is nearly free, so that time, not place, is kept.
    attitude : (3,) rad
        Yaw, pitch, roll.
    joints : rad
    ankles : rad
        Of the joints between a foot and the link before it. They move the point that a rolling sole bears on: if they
        count as little as others, the regulator gives way with their torques as the load wanders (a stiffness below
        zero), and a foot that bears less than planned, as just after it has landed, runs away.
    base_rates : m/s and rad/s
    joint_rates : rad/s
    torque : float
        In parts of each joint's reference torque.
    """

    place: tuple[float, float, float] = (3.0, 0.05, 0.05)
    attitude: tuple[float, float, float] = (0.05, 0.03, 0.03)
    joints: float = 0.1
    ankles: float = 0.02
    base_rates: float = 0.22
    joint_rates: float = 1.0
    torque: float = 0.1

    def state(self, n: int, ankles: Collection[int] = ()) -> FloatArray:
        """Return the diagonal (2 n,) of Q; `ankles` are the numbers of their coordinates."""
        sizes = [*self.place, *self.attitude]
        sizes += [self.ankles if i in ankles else self.joints for i in range(6, n)]
        sizes += [self.base_rates] * 6 + [self.joint_rates] * (n - 6)
        return 1.0 / np.array([positive("weights", size) for size in sizes]) ** 2


@dataclass(frozen=True)
class WalkGains:
    """Gains K (M, n_u, 2 n) from the times (M,) on, u = u_plan - K (x - x_plan), in the walk's own cycle.

    ``multipliers`` (2 n,) are the eigenvalues of the cycle (of a mirrored walk, of one step and the mirror) under the
    linear feedback, largest first; ``free`` those without.
    """

    times: FloatArray
    K: FloatArray
    multipliers: FloatArray
    free: FloatArray

    def at(self, time: float) -> FloatArray:
        """Return K (n_u, 2 n) at a time of the cycle."""
        return self.K[max(0, int(np.searchsorted(self.times, time + 1e-9, side="right")) - 1)]


def walk_gains(robot: RollingTree, walk: WalkReference, weights: WalkWeights | None = None) -> WalkGains:
    """Return the gains that keep `robot` on a planned walk.

    Each interval is cut into steps of about 12 ms; the map of a step, a Runge-Kutta step of the constrained
    dynamics and the projection onto the contacts of the interval, is differenced about the plan. A foot that lands is
    in this map by the projection: what it misses the ground by is closed. The Riccati recursion

        K = (R + B'P B)^-1 B'P A,   P <- Q + A'P (A - B K),   P(end) = S'P(start) S,

    is repeated over the cycle until it is periodic; S is the mirror, or the identity.

    Parameters
    ----------
    robot : RollingTree
        ``robot_from_urdf(..., base="joints")`` with the walk's contacts, in its order.
    walk : WalkReference
    weights : WalkWeights, optional
        Of torques, over the largest planned of each joint, at least a twentieth of the largest of all.

    Raises
    ------
    InputError
        If the walk has another number of coordinates, joints or feet than the robot.
    """
    model = robot.system.model()
    n = model.nv
    contacts = np.shape(walk.standing)[1]
    if len(on_ground(model)[1]) != 2 * n or len(robot.parts) != contacts:
        allowed = f'a robot with base="joints" and {contacts} contacts'
        raise InputError("robot", len(robot.parts), allowed)
    array("walk.q", walk.q, (len(walk.times), n))
    chosen = WalkWeights() if weights is None else weights
    maps, driven = robot.system.keep(("steps of its dynamics",), lambda: _Maps(robot)), _largest(walk) > 0
    times, A, B = [], [], []
    for k, h in enumerate(np.diff(walk.times)):
        if h == 0.0:  # an impact
            a = maps.landing(walk.standing[k], np.concatenate([walk.q[k], walk.nu[k]]))
            A[-1], B[-1] = a @ A[-1], a @ B[-1]
            continue
        at = np.concatenate([walk.q[k], walk.nu[k]])
        parts = max(1, round(h / _SUBSTEP), ceil(h * maps.fastest(walk.standing[k], at, walk.torque[k]) / _STABLE))
        for j in range(parts):
            times.append(walk.times[k] + j * h / parts)
            q, nu, _, _ = walk.at(times[-1])
            a, b = maps.differences(walk.standing[k], np.concatenate([q, nu]), walk.torque[k], h / parts)
            A.append(a)
            B.append(b * driven)
    steps = np.diff([*times, walk.times[-1]])
    S = image(walk, 2 * n)
    Q, R = np.diag(chosen.state(n, ankles_of(robot))), np.diag(1.0 / (chosen.torque * _references(walk)) ** 2)
    K = periodic(A, B, Q * steps[:, None, None], R * steps[:, None, None], S, Q)
    closed, free = S, S
    for a, b, gain in zip(reversed(A), reversed(B), K[::-1], strict=True):
        closed, free = closed @ (a - b @ gain), free @ a
    return WalkGains(np.array(times), K, _spectrum(closed), _spectrum(free))


def ankles_of(robot: RollingTree) -> set[int]:
    """Return the numbers of the joints between the feet and the links before them, past frames without mass."""
    specs = robot.tree.specs
    number, columns, found = {spec.name: i for i, spec in enumerate(specs)}, robot.system.model().columns, set()
    for part in robot.parts:
        spec = specs[number[part.body]]
        found.add(columns[spec.name])
        while spec.parent >= 0 and specs[spec.parent].jointed and specs[spec.parent].mass == 0.0:
            spec = specs[spec.parent]
            found.add(columns[spec.name])
    return found


def image(walk: WalkReference, size: int) -> FloatArray:
    """Return S (size, size) that maps deviations at the end of a cycle to its start."""
    return np.eye(size) if walk.mirror is None else np.asarray(np.kron(np.eye(2), walk.mirror), dtype=np.float64)


def _largest(walk: WalkReference) -> FloatArray:
    """Return the largest planned torque (n_u,) of each joint and its mirror image, N m."""
    largest = np.max(np.abs(walk.torque), axis=0)
    if walk.mirror is not None:
        largest = np.maximum(largest, np.abs(walk.mirror[6:, 6:]) @ largest)
    return largest


def _references(walk: WalkReference) -> FloatArray:
    largest = _largest(walk)
    return np.maximum(largest, 0.05 * np.max(largest))


def _spectrum(M: FloatArray) -> FloatArray:
    return np.sort(np.abs(np.linalg.eigvals(M)))[::-1]


def on_ground(model: TreeModel) -> tuple[ca.Function, list[int]]:
    """Return (q, nu) -> x, contact coordinates those of the nearest points, and the entries of x that q and nu are."""
    size = model.x.numel()
    held = {i for c in model.constraints for i in range(size)[model.layout[f"{c.name}.coordinates"]]}
    own = [i for i in range(size) if i not in held]
    s = ca.vertcat(*(nearest_coordinates(c.contact, c.A, c.B) for c in model.constraints))
    return ca.Function("on_ground", [model.x[own]], [model.replace_contacts(s, model.nu)], {"cse": True}), own


def laws_by(standing: Iterable[object], model: TreeModel) -> list[Law]:
    """Return the law of every contact: those that stand roll; second contacts of shapes that touch twice do not."""
    laws: list[Law] = [ROLLING if stands else SEPARATED for stands in standing]
    return laws + [SEPARATED] * (len(model.constraints) - len(laws))


class _Maps:
    """Steps of a robot's dynamics by its standing feet, in x = (q, nu)."""

    def __init__(self, robot: RollingTree) -> None:
        self._model = robot.system.model()
        self._whole, self._own = on_ground(self._model)
        self._functions: dict[tuple[bool, ...], tuple[ca.Function, ca.Function]] = {}

    def _of(self, standing: FloatArray) -> tuple[ca.Function, ca.Function]:
        key = tuple(bool(stands) for stands in standing)
        if key not in self._functions:
            model = self._model
            laws = laws_by(key, model)
            x, outputs = ca.SX.sym("x", len(self._own)), [model.dynamics(laws).xdot, model.project(laws)]
            both = ca.Function("both", [model.x, model.u], outputs)(self._whole(x), model.u)
            rate, onto = (
                ca.Function(name, [x, model.u], [value[self._own]], {"cse": True})
                for name, value in zip(("rate", "onto"), both, strict=True)
            )
            self._functions[key] = rate, onto
        return self._functions[key]

    def step(self, standing: FloatArray, x: FloatArray, u: FloatArray, h: float) -> FloatArray:
        """Return the states (n_x, N) after h of the states `x` under the torques `u` (n_u, N)."""
        rate, onto = self._of(standing)
        return np.asarray(onto(rk4_step(lambda at, _: np.asarray(rate(at, u)), x, h), u))

    def differences(
        self, standing: FloatArray, x: FloatArray, u: FloatArray, h: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return A (n_x, n_x) and B (n_x, n_u) of `step` by central differences."""
        n, m = len(x), len(u)
        E = _DISTANCE * np.hstack([np.eye(n + m), -np.eye(n + m)])
        y = self.step(standing, x[:, None] + E[:n], u[:, None] + 10 * E[n:], h)
        slopes = (y[:, : n + m] - y[:, n + m :]) / (2 * _DISTANCE)
        return slopes[:, :n], slopes[:, n:] / 10

    def fastest(self, standing: FloatArray, x: FloatArray, u: FloatArray) -> float:
        """Return the largest magnitude of the eigenvalues (1/s) of the motion about a state."""
        rate, _ = self._of(standing)
        E = _DISTANCE * np.eye(len(x))
        y = np.asarray(rate(x[:, None] + np.hstack([E, -E]), u))
        slopes = (y[:, : len(x)] - y[:, len(x) :]) / (2 * _DISTANCE)
        return float(np.max(np.abs(np.linalg.eigvals(slopes))))

    def landing(self, standing: FloatArray, x: FloatArray) -> FloatArray:
        """Return the slopes (n_x, n_x) of the plastic impact from the rates before it, by central differences."""
        _, onto = self._of(standing)
        E, u = _DISTANCE * np.eye(len(x)), np.zeros((self._model.u.numel(), 2 * len(x)))
        y = np.asarray(onto(x[:, None] + np.hstack([E, -E]), u))
        return (y[:, : len(x)] - y[:, len(x) :]) / (2 * _DISTANCE)
