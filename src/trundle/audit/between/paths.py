"""Paths: where bodies are between samples, as far as these show it, and how far that may be off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trundle.audit.columns import any_last_axis, empty, rows_of
from trundle.audit.evidence import Flags, Numbers, Samples
from trundle.audit.mechanics import cross, length
from trundle.checks import FloatArray
from trundle.threads import cached_property


class PathPose(NamedTuple):
    """Where a body is at n instants: p (n, 3), m, and R (n, 3, 3)."""

    p: FloatArray
    R: FloatArray


class Side(NamedTuple):
    """A body on its path.

    Attributes
    ----------
    body : int
    reach : float, m
        How far what is asked for reaches from the body's origin: turning moves that much.
    turns : bool
        Whether its orientation is asked for.
    """

    body: int
    reach: float
    turns: bool


class Paths:
    """Paths between neighbouring samples of one run.

    Attributes
    ----------
    left, right : (k,)
        Numbers of the samples.
    h : (k,) s
    together : (k,)
        Whether both are of one smooth stretch.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples, self._frames = samples, samples.frames
        self._known: dict[int, FloatArray] = {}
        self.left = np.flatnonzero((np.diff(samples.time) > 0.0) & (samples.run[1:] == samples.run[:-1]))
        self.right = self.left + 1
        all_of_them = len(self.left) == len(samples) - 1
        self._before, self._after = (slice(-1), slice(1, None)) if all_of_them else (self.left, self.right)
        self.h = samples.time[self.right] - samples.time[self.left]
        self.together = (samples.stretch[self.left] == samples.stretch[self.right]) & (samples.stretch[self.left] >= 0)

    def __len__(self) -> int:
        return len(self.left)

    def larger(self, values: FloatArray) -> FloatArray:
        """Return the larger one (k,) of values (n,) at both ends."""
        return np.maximum(values[self._before], values[self._after])

    @cached_property
    def _still(self) -> Flags:
        """Which bodies never move."""
        frames = self._frames
        moves = np.any(frames.velocity, axis=0) | np.any(frames.angular_velocity, axis=0)
        return ~any_last_axis(moves)

    def still(self, body: int) -> bool:
        """Return whether a body never moves."""
        return bool(self._still[body])

    def level(self, body: int) -> bool:
        """Return whether a body has the orientation of the world all the time."""
        return self.still(body) and bool(np.array_equal(self._frames.rotation[0, body], np.eye(3)))

    def pose(self, body: int, rows: Numbers | slice = slice(None)) -> PathPose:
        """Return where a body is at samples."""
        p, R = self._frames.position[:, body], self._frames.rotation[:, body]
        return PathPose(p[rows], R[rows]) if isinstance(rows, slice) else PathPose(rows_of(p, rows), rows_of(R, rows))

    def bend(self, side: Side, rows: Numbers) -> FloatArray:
        """Return how far (m,), m, some paths between samples are from straight lines, as far as the samples show it."""
        frames, i, k, h = self._frames, self.left[rows], self.right[rows], self.h[rows]
        if self.still(side.body):
            return np.zeros(len(rows))
        x, v, w = (part[:, side.body] for part in frames.motion)
        chord = (rows_of(x, k) - rows_of(x, i)) / h[:, None]
        found = h / 4 * (length(rows_of(v, i) - chord) + length(rows_of(v, k) - chord))
        if side.reach:
            w0, w1 = rows_of(w, i), rows_of(w, k)
            found += side.reach * (h / 4 * length(w1 - w0) + (h * length(w0)) ** 4 / 100)
        return found

    def between(self, side: Side, rows: Numbers, share: FloatArray) -> PathPose:
        """Return where a body is at shares (m,) of some paths."""
        i = self.left[rows]
        return self.pose(side.body, i) if self.still(side.body) else self._at(side, i, i + 1, self.h[rows], share)

    def _at(self, side: Side, i: Numbers, k: Numbers, h: FloatArray, share: FloatArray) -> PathPose:
        """Return cubic paths between samples `i` and `k`, and turns at the mean rate of both halves."""
        frames, body = self._frames, side.body
        same = share.size and np.all(share == share[:1])
        t, step = (share[:1] if same else share[:, None]), h[:, None]
        a, b = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
        x, v, w = frames.position[:, body], frames.velocity[:, body], frames.angular_velocity[:, body]
        p = a * rows_of(x, i) + b * rows_of(x, k)
        p += step * (t * (1 - t) ** 2) * rows_of(v, i)
        p -= step * (t * t * (1 - t)) * rows_of(v, k)
        w0, w1 = rows_of(w, i), rows_of(w, k)
        if not side.turns or not (np.any(w0) or np.any(w1)):
            return PathPose(p, rows_of(frames.rotation[:, body], i))
        # The turn to t by the rates, corrected so that it ends where the next sample is.
        quaternions = self._quaternions(body)
        first, last = quaternions[:, i], quaternions[:, k]
        whole, here = _turn(step * (w0 + w1) / 2), _turn(step * (t * w0 + t * t * (w1 - w0) / 2))
        miss = _product(last, _inverse(_product(whole, first)))
        axis = 2.0 * np.where(miss[0] < 0.0, -1.0, 1.0) * miss[1:]
        return PathPose(p, _matrices(_product(_turn(b * axis.T), _product(here, first))))

    def _quaternions(self, body: int) -> FloatArray:
        """Return the orientations of a body as unit quaternions (4, n), of either sign."""
        if body not in self._known:
            self._known[body] = _quaternions(self._frames.rotation[:, body])
        return self._known[body]

    def bound_missed_path(self, sides: tuple[Side, Side]) -> FloatArray:
        """Return how far (k,), m, paths between two samples may be off: what the samples around one miss of it.

        Half the spacing misses a sixteenth of that where a motion is smooth, and as much where samples do not show it.
        """
        samples, frames = self.samples, self._frames
        found, whole = np.zeros(max(len(samples) - 1, 0)), samples.time[2:] - samples.time[:-2]
        same = (samples.stretch[2:] == samples.stretch[:-2]) & (samples.stretch[2:] >= 0) & (whole > 0.0)
        left = np.flatnonzero(same & (samples.run[2:] == samples.run[:-2]))
        middle = left + 1
        share = (samples.time[middle] - samples.time[left]) / whole[left]
        off = np.zeros(len(left))
        for side in sides:
            guess = self._at(side, left, left + 2, whole[left], share)
            off += length(guess.p - frames.position[middle, side.body])
            if side.turns and side.reach:
                off += side.reach * np.abs(guess.R - frames.rotation[middle, side.body]).max(axis=(1, 2), initial=0.0)
        np.maximum.at(found, left, off)
        np.maximum.at(found, middle, off)
        return found[self.left]

    def relative(self, A: int, B: int, center: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how fast (n, 3), m/s, the point `center` of A moves past B's material, and A turns past B, rad/s."""
        frames = self._frames
        v, w = frames.velocity[:, A], frames.angular_velocity[:, A]
        arm = frames.rotation[:, A] @ center if np.any(center) else None
        if arm is not None:
            v = v + cross(w, arm)
        if not self.still(B):
            w_B, apart = frames.angular_velocity[:, B], frames.position[:, A] - frames.position[:, B]
            v = v - frames.velocity[:, B] - cross(w_B, apart if arm is None else apart + arm)
            w = w - w_B
        return v, length(w)


def _turn(v: FloatArray) -> FloatArray:
    """Return the quaternions (4, n) of rotation vectors (n, 3), rad."""
    angle = length(v)
    part = 0.5 * np.sinc(angle / (2.0 * np.pi))
    return np.stack([np.cos(angle / 2.0), part * v[:, 0], part * v[:, 1], part * v[:, 2]])


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the products of quaternions (4, n): the turn `b`, then `a`."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a, b
    return np.stack([
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
        a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
    ])  # fmt: skip


def _inverse(a: FloatArray) -> FloatArray:
    return np.stack([a[0], -a[1], -a[2], -a[3]])


def _matrices(q: FloatArray) -> FloatArray:
    """Return rotations (n, 3, 3) of quaternions (4, n)."""
    w, x, y, z = q
    R = empty(q.shape[1], 3, 3)
    R[:, 0, 0], R[:, 1, 1], R[:, 2, 2] = (1.0 - 2.0 * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y)))
    for i, j, one, other in ((1, 0, x * y, w * z), (0, 2, x * z, w * y), (2, 1, y * z, w * x)):
        R[:, i, j], R[:, j, i] = 2.0 * (one + other), 2.0 * (one - other)
    return R


def _quaternions(R: FloatArray) -> FloatArray:
    """Return unit quaternions (4, n) of rotations (n, 3, 3): by the largest of their components (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.ascontiguousarray(R.transpose(1, 2, 0))
    w = zy - yz, xz - zx, yx - xy
    s = yx + xy, xz + zx, zy + yz
    # Row k: four times the quaternion times its own k-th component.
    rows = np.array([
        [1 + xx + yy + zz, w[0], w[1], w[2]],
        [w[0], 1 + xx - yy - zz, s[0], s[1]],
        [w[1], s[0], 1 - xx + yy - zz, s[2]],
        [w[2], s[1], s[2], 1 - xx - yy + zz],
    ])  # fmt: skip
    largest = np.argmax(rows[range(4), range(4)], axis=0)
    chosen = rows[largest, :, np.arange(len(R))].T
    return chosen / np.sqrt(np.sum(chosen * chosen, axis=0))
