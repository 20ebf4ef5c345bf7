"""What preview control answers: a motion of the centre of mass, the wrenches behind it, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import PlacedPatch
from trundle.numerics.qp.qp import QpSolution
from trundle.status import Status
from trundle.systems.multicontact.centroidal.samples import third_momentum_gain
from trundle.systems.multicontact.preview.program import CrossCheck
from trundle.systems.multicontact.preview.window import PreviewWindow
from trundle.threads import cached_property


@dataclass(frozen=True)
class PreviewPlan:
    """A plan over one window, world frame.

    Attributes
    ----------
    times : (K + 1,) s
    contacts : tuple of PlacedPatch
        Of the whole forecast.
    wrenches : (K, n, 6) N m, N
        (moment, force) of each contact in its own frame, held through the sample; zero where it does not hold.
    states : (K + 1, 6)
        The linear state in the frame of its sample, from the window's origin: rolled out from the wrenches, not the
        solver's.
    starts : (K, 6)
        The same at the start of each sample, after resets.
    angular_momentum : (K + 1, 3) kg m2/s
        About the centre of mass, world; also the component along the privileged axis, which the program sees about the
        path only: computed exactly from the plan (paper 3, figure 5), across changes of the axis and of the mass too.
        At a border it is that before such a change.
    gains : (K, 3) kg m2/s
        What it gains in each sample, world.
    status : Status
        SUCCESS; LIMITS_RELAXED where the prescribed force or a change of the axis could not be met, see `given_up`;
        else there is no plan: the arrays are NaN.
    given_up : mapping
        Largest misses of what was prescribed: "privileged_force" (N), "axis_position" (m), "axis_velocity" (m/s).
    solution : QpSolution
        Of the scaled program.
    window : PreviewWindow
    checked : CrossCheck, optional
        What another solver makes of the same program, where that was asked for.
    """

    times: FloatArray
    contacts: tuple[PlacedPatch, ...]
    wrenches: FloatArray
    states: FloatArray
    starts: FloatArray
    angular_momentum: FloatArray
    gains: FloatArray
    status: Status
    given_up: Mapping[str, float]
    solution: QpSolution
    window: PreviewWindow
    checked: CrossCheck | None = None

    @property
    def usable(self) -> bool:
        """Whether there is a plan to follow."""
        return self.status is Status.SUCCESS or self.status is Status.LIMITS_RELAXED

    @cached_property
    def position(self) -> FloatArray:
        """Centre of mass (K + 1, 3), m."""
        return self.window.origin + self._world(0)

    @cached_property
    def velocity(self) -> FloatArray:
        """Its velocity (K + 1, 3), m/s."""
        return self._world(1)

    @cached_property
    def acceleration(self) -> FloatArray:
        """Its acceleration (K, 3) in each sample, m/s2."""
        s = self.window.samples
        total = self._sums[:, 3:] + s.force
        return total / s.masses[:, None] + s.gravity

    @property
    def third(self) -> FloatArray:
        """Component (K + 1,) of the angular momentum along the privileged axis, kg m2/s."""
        return np.einsum("ki,ki->k", self._frames[:, 2], self.angular_momentum)

    @property
    def angular_momentum_rate(self) -> FloatArray:
        """Its mean rate (K, 3) in each sample, N m."""
        return self.gains / self.window.samples.durations[:, None]

    @cached_property
    def friction_use(self) -> FloatArray:
        """|f_t| / (mu fz) of the round cone for each contact (K, n); 0 where it does not hold.

        A force below a millionth of the weight is none: that is what a solution is exact to.
        """
        f, samples = self.wrenches[..., 3:], self.window.samples
        mu = np.array([c.patch.friction for c in self.contacts])
        room = mu * f[..., 2]
        with np.errstate(all="ignore"):
            use = np.hypot(f[..., 0], f[..., 1]) / room
        use = np.where(room > 0, use, np.where(room < 0, np.inf, 0.0))
        none = np.linalg.norm(f, axis=-1) <= 1e-6 * (samples.masses * np.linalg.norm(samples.gravity))[:, None]
        return np.where(self.window.held & ~none, use, 0.0)

    @cached_property
    def cone_margin(self) -> float:
        """Smallest entry of rows @ wrench over all contacts and samples, N: below 0 where a wrench is outside its cone.

        Rows are of unit normal force: each has been divided by its largest coefficient of a force, or by that of a
        moment over 0.1 m.
        """
        least = np.inf
        for i, contact in enumerate(self.contacts):
            w = self.wrenches[self.window.held[:, i], i]
            if len(w):
                rows = contact.patch.rows / row_sizes(contact.patch.rows)[:, None]
                least = min(least, float((w @ rows.T).min()))
        return least

    @cached_property
    def _sums(self) -> FloatArray:
        """Sum (K, 6) of the contacts' wrenches about the world's origin."""
        R = np.array([c.R_world_patch for c in self.contacts]).reshape(-1, 3, 3)
        return world_sums(self.wrenches, np.array([c.position for c in self.contacts]).reshape(-1, 3), R)

    @cached_property
    def _frames(self) -> FloatArray:
        W = self.window.samples.W
        return np.concatenate((W[:1], W))

    def _world(self, order: int) -> FloatArray:
        s = self.window.samples
        T = s.durations
        ends = s.height + T * s.speed + T**2 / 2 * s.acceleration if order == 0 else s.speed + T * s.acceleration
        first = (s.height if order == 0 else s.speed)[:1]
        masses = np.concatenate((s.masses[:1], s.masses))[:, None]
        local = np.column_stack((self.states[:, [order, 2 + order]] / masses, np.concatenate((first, ends))))
        return (local[:, None] @ self._frames)[:, 0]

    def at(self, time: float) -> tuple[FloatArray, ...]:
        """Return position, velocity, acceleration, angular momentum and its rate, each (3,), at `time` (s).

        Exact for the centre of mass (its acceleration is constant in a sample); the angular momentum is linear
        between the borders. Outside the window: the state at its nearer end, without acceleration.
        """
        if not self.times[0] <= time <= self.times[-1]:
            k = 0 if time < self.times[0] else -1
            return self.position[k], self.velocity[k], np.zeros(3), self.angular_momentum[k], np.zeros(3)
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, len(self.times) - 2))
        t = time - self.times[k]
        r, v, a = self.position[k], self.velocity[k], self.acceleration[k]
        rate = self.angular_momentum_rate[k]
        momentum = self.angular_momentum[k + 1] - (self.times[k + 1] - time) * rate
        return r + t * v + t**2 / 2 * a, v + t * a, a, momentum, rate


def row_sizes(rows: FloatArray, arm: float = 0.1) -> FloatArray:
    """Return the size (n,) of cone rows in N of force: the largest coefficient, moments counted at `arm` (m)."""
    return np.abs(rows * np.array([arm] * 3 + [1.0] * 3)).max(axis=1)


def world_sums(wrenches: FloatArray, positions: FloatArray, rotations: FloatArray) -> FloatArray:
    """Return the sum (K, 6) of local wrenches (K, n, 6) as (moment about the world's origin, force), world.

    `positions` (n, 3) or (K, n, 3) and `rotations` (n, 3, 3) or (K, n, 3, 3) say where their patches lie.
    """
    m, f = ((rotations @ part[..., None])[..., 0] for part in (wrenches[..., :3], wrenches[..., 3:]))
    x, y, z = (positions[..., i] for i in range(3))
    fx, fy, fz = (f[..., i] for i in range(3))  # written out: numpy's cross is slow on small arrays
    m = m + np.stack((y * fz - z * fy, z * fx - x * fz, x * fy - y * fx), axis=-1)
    return np.concatenate((m, f), axis=-1).sum(axis=-2)


def roll_states(window: PreviewWindow, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the states (K + 1, 6) of a window, and those at the starts of its samples (K, 6).

    `gains` (K, 6) is what the wrenches add in each sample, sum B w.
    """
    stages, K = window.stages, len(gains)
    added, T = gains + stages.C, window.samples.durations[:, None]
    swing = T * stages.phi[:, None] * _SWING
    states, starts = np.empty((K + 1, len(window.start))), np.empty((K, len(window.start)))
    states[0] = window.start
    for a, b in pairwise([0, *window.resets.tolist(), K]):
        # Sums in place of products: A adds T m v to m r, and both to L.
        line = np.concatenate(((window.E[a] @ states[a] + window.e[a])[None], added[a:b]))
        place, speed, spin = line[:, 0:4:2], line[:, 1:4:2], line[:, 4:]
        np.add.accumulate(speed, axis=0, out=speed)
        reached = T[a:b] * speed[:-1]
        place[1:] += reached
        np.add.accumulate(place, axis=0, out=place)
        spin[1:] += swing[a:b] * (place[:-1] + reached / 2)[:, ::-1]
        np.add.accumulate(spin, axis=0, out=spin)
        starts[a:b], states[a + 1 : b + 1] = line[:-1], line[1:]
    return states, starts


_SWING = np.array([-1.0, 1.0])


def momenta(
    window: PreviewWindow, states: FloatArray, starts: FloatArray, gains: FloatArray, first: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the angular momentum (K + 1, 3), world, from the measured `first` (3,), and its gains (K, 3) in samples.

    `gains` (K, 8) is what the wrenches add in each sample (`Stages.reach`, about the path). What bodies bring or take
    is between the samples: it belongs to none, and is in the momentum at the end of the next.
    """
    s = window.samples
    rates = np.empty((len(gains), 3))
    rates[:, :2] = states[1:, 4:] - starts[:, 4:]
    rates[:, 2] = third_momentum_gain(s, starts, states[1:], gains, window.middles)
    gained = (rates[:, None] @ s.W)[:, 0]
    steps = gained.copy() if window.joining else gained
    for k, body in window.joining.items():
        T, m = s.durations[k - 1], s.masses[k - 1]
        high = s.height[k - 1] + T * s.speed[k - 1] + T**2 / 2 * s.acceleration[k - 1]
        fast = s.speed[k - 1] + T * s.acceleration[k - 1]
        r, v = (np.array([*states[k, [i, i + 2]] / m, along]) @ s.W[k - 1] for i, along in ((0, high), (1, fast)))
        steps[k] += body.momentum_jump(m, r, v)
    return first + np.concatenate((np.zeros((1, 3)), np.cumsum(steps, axis=0))), gained
