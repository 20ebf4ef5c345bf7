"""Exact discretisation of the centroidal model along a prescribed axis: the linear stages of preview control."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError

STATES = 6
"""m r1, m v1, m r2, m v2, L1, L2 (paper 3, (13))."""


@dataclass(frozen=True)
class PreviewSamples:
    """K samples in which inputs are held, and what is prescribed in them. Vectors are W-components: W_k (world ones).

    Attributes
    ----------
    durations : (K,) s
    masses : (K,) kg
    W : (K, 3, 3)
        World -> projection frame of each sample; its third row is the privileged axis.
    height, speed, acceleration : (K,) m, m/s, m/s2
        r3 and v3 at the START of each sample and r3'' in it, along its own privileged axis.
    gravity : (3,) m/s2, world
    force, pointed, moment : (K, 3) N, N, N m, world
        Known forces from outside: their sum, of those the ones that act at points of the world, and the moment N of
        N - r x pointed (`Push`).
    """

    durations: FloatArray
    masses: FloatArray
    W: FloatArray
    height: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    gravity: FloatArray
    force: FloatArray
    pointed: FloatArray
    moment: FloatArray

    privileged_force: FloatArray = field(init=False, repr=False, compare=False)
    """F3 (K,), N: what the contacts must push along the privileged axis, m (r3'' - g3) - fe3."""

    def __post_init__(self) -> None:
        w3 = self.W[:, 2]
        force = self.masses * (self.acceleration - w3 @ self.gravity) - (w3 * self.force).sum(axis=1)
        object.__setattr__(self, "privileged_force", force)


@dataclass(frozen=True)
class Stages:
    """x_{k+1} = A_k x_k + sum_i B_ki w_i + C_k, w_i = (moment, force) in the frame of patch i.

    Attributes
    ----------
    A : (K, 6, 6)
    C : (K, 6)
    phi : (K,) m/s2
        Sum of the forces along the axis that act at points, over the mass.
    mean_height : (K,) m
        Mean of r3 over the sample.
    samples : PreviewSamples
    """

    A: FloatArray
    C: FloatArray
    phi: FloatArray
    mean_height: FloatArray
    samples: PreviewSamples

    def inputs(self, positions: FloatArray, rotations: FloatArray) -> FloatArray:
        """Return B (K, n, 6, 6) of patches at `positions` (K, n, 3) with R_world_patch `rotations` (K, n, 3, 3)."""
        return self.reach(positions, rotations, np.zeros((len(self.phi), 3)))[..., :STATES, :]

    def reach(self, positions: FloatArray, rotations: FloatArray, about: FloatArray) -> FloatArray:
        """Return B and two rows below, (K, n, 8, 6): the force f3, and T times the moment m3 about `about` (K, 3).

        Both along the privileged axis; `about` is in world axes, as `positions` are.
        """
        s = self.samples
        G, p = s.W[:, None] @ rotations, in_frame(s.W, positions)
        T = s.durations[:, None, None]
        lift = T[..., 0] * (p[..., 2] - self.mean_height[:, None]) + (self.phi * s.durations**3 / 6)[:, None]
        across, along = G[..., :2, :], G[..., 2:, :]  # W-components of the columns of the patch frame
        impulse = T[..., None] * across
        B = np.zeros((*p.shape[:2], STATES + 2, 6))
        B[..., 1:4:2, 3:] = B[..., 4:6, :3] = impulse
        B[..., 0:4:2, 3:] = T[..., None] / 2 * impulse
        B[..., 4:6, 3:] = _TURN * (
            lift[..., None, None] * across[..., ::-1, :] - (T * p[..., 1::-1])[..., None] * along
        )
        B[..., 6:, 3:] = along
        B[..., 7, :3] = T * G[..., 2, :]
        arm = p[..., :2] - in_frame(s.W, about)[:, None, :2]
        B[..., 7, 3:] = arm[..., :1] * impulse[..., 1, :] - arm[..., 1:] * impulse[..., 0, :]
        return B


_TURN = np.array([[-1.0], [1.0]])


def discretise(samples: PreviewSamples) -> Stages:
    """Return the exact stages of `samples` (sheet of paper 3, section 2; its (14) has them without m and with 0 in L).

    With T the duration, phi = (F3 + pe3)/m over the forces that act at points, q = phi T^3/6 and d the forces of no
    contact:  L1 gains -T phi (m r2) - T^2/2 phi (m v2) - q d2 + T n1, L2 the same of r1, v1, d1, n2 with the
    opposite sign; n is the moment of the known forces about the point (0, 0, mean of r3).
    """
    s = samples
    T, m = s.durations, s.masses
    f, pointed, moment, g = (in_frame(s.W, v) for v in (s.force, s.pointed, s.moment, s.gravity))
    phi = (s.privileged_force + pointed[:, 2]) / m
    height = s.height + T * (s.speed / 2 + T * s.acceleration / 6)
    turn, half, along = T * phi, T / 2, T[:, None]
    A, C = np.zeros((len(T), STATES, STATES)), np.empty((len(T), STATES))
    A.reshape(len(T), STATES * STATES)[:, :: STATES + 1] = 1.0
    A[:, 0, 1] = A[:, 2, 3] = T
    A[:, 5, 0], A[:, 5, 1] = turn, half * turn
    A[:, 4, 2:4] = -A[:, 5, :2]
    C[:, 1:4:2] = along * (f[:, :2] + m[:, None] * g[..., :2])
    C[:, 0:4:2] = along / 2 * C[:, 1:4:2]
    # (L1, L2) from what is along (axis 2, axis 1), with opposite signs.
    swung = height[:, None] * pointed[:, 1::-1] - (turn / 6)[:, None] * C[:, 3::-2]
    C[:, 4:] = along * (moment[:, :2] - _TURN[:, 0] * swung)
    return Stages(A, C, phi, height, s)


def third_momentum_gain(
    samples: PreviewSamples, starts: FloatArray, ends: FloatArray, gains: FloatArray, about: FloatArray
) -> FloatArray:
    """Return what the component of L along the privileged axis gains in each sample, (K,), kg m2/s: exact.

    The component that the linear model drops: L3' = N3 - r1 P2 + r2 P1 is bilinear (paper 3, II-A), and computed here
    once the plan is known; P are the forces of the contacts and those known that act at points.

    Parameters
    ----------
    samples : PreviewSamples
    starts, ends : (K, 6)
        x at the start and at the end of each sample, in its frame.
    gains : (K, 8)
        What the contacts add: the sum of `Stages.reach`, about `about` (K, 3), times their wrenches.
    """
    s = samples
    T, m = s.durations, s.masses[:, None]
    mean = (starts[:, 0:4:2] + T[:, None] / 6 * (2 * starts[:, 1:4:2] + ends[:, 1:4:2])) / m
    arm = mean - in_frame(s.W, about)[:, :2]
    gain = gains[:, 7] - arm[:, 0] * gains[:, 3] + arm[:, 1] * gains[:, 1]
    if not (s.moment.any() or s.pointed.any()):
        return gain
    moment, pointed = in_frame(s.W, s.moment), in_frame(s.W, s.pointed)
    return gain + T * (moment[:, 2] - mean[:, 0] * pointed[:, 1] + mean[:, 1] * pointed[:, 0])


def frame_change(
    W_from: FloatArray, W_to: FloatArray, height: float, speed: float, third: float, mass: float
) -> tuple[FloatArray, FloatArray]:
    """Return E (6, 6) and e (6,): the state in the frame W_to is E x + e, x the state in W_from.

    `height`, `speed` and `third` are r3, v3 and L3 of the old frame; L3 is no state of the model, so it is a guess
    (zero, or what `third_momentum_gain` says).
    """
    Q = W_to @ W_from.T
    E, e = np.zeros((STATES, STATES)), np.zeros(STATES)
    E[np.ix_([0, 2], [0, 2])] = E[np.ix_([1, 3], [1, 3])] = E[np.ix_([4, 5], [4, 5])] = Q[:2, :2]
    for rows, known in (([0, 2], mass * height), ([1, 3], mass * speed), ([4, 5], third)):
        e[rows] = Q[:2, 2] * known
    return E, e


def mass_reset(before: float, after: float) -> FloatArray:
    """Return the diagonal (6,) of the reset that keeps position and velocity when the mass changes (paper 3, IV).

    The first four states are m r and m v: kept as they are, the centre of mass would jump towards the world's origin.
    """
    if not (before > 0 and after > 0):
        raise InputError("masses", (before, after), "positive (kg)")
    return np.array([after / before] * 4 + [1.0, 1.0])


def first_moments(mass: float, position: FloatArray, velocity: FloatArray, W: FloatArray) -> FloatArray:
    """Return what x gains (6,) when a body of `mass` at rest relative to the robot joins it: its first moments.

    Exact: (m r)+ = m r + m_o r_o, (m v)+ = m v + m_o v_o; with another velocity see `attachment`.
    """
    r, v = W @ position, W @ velocity
    return mass * np.array([r[0], v[0], r[1], v[1], 0.0, 0.0])


class AttachedBody(NamedTuple):
    """What joins, or leaves where its mass is negative: kg, and m, m/s, kg m2/s (3,) in the world."""

    mass: float
    position: FloatArray
    velocity: FloatArray
    spin: FloatArray

    def momentum_jump(self, mass: float, position: FloatArray, velocity: FloatArray) -> FloatArray:
        """Return what L gains (3,) meeting `mass` (kg) at `position` with `velocity`, world: `Centroidal.with_body`.

        L_o + mu (r_o - r) x (v_o - v),  mu = m m_o/(m + m_o): with m_o < 0 what it loses as a body leaves.
        """
        reduced = mass * self.mass / (mass + self.mass)
        apart = np.cross(self.position - position, self.velocity - velocity)
        return np.sign(self.mass) * self.spin + reduced * apart


def attachment(
    body: AttachedBody, W: FloatArray, mass: float, height: float, speed: float
) -> tuple[FloatArray, FloatArray]:
    """Return E (6, 6) and e (6,): the state in the frame W once a body has joined is E x + e; exact.

    Of the product mu (r_o - r) x (v_o - v) only the component along the privileged axis has two unknown factors: in the
    others one is `height` = r3 or `speed` = v3, which are prescribed. `mass` is that before.
    """
    reduced = mass * body.mass / (mass + body.mass)
    r, v, spin = (W @ part for part in (body.position, body.velocity, body.spin))
    rise, climb = r[2] - height, v[2] - speed
    E, e = np.eye(STATES), first_moments(body.mass, body.position, body.velocity, W)
    E[4, 2:4] = reduced / mass * np.array([-climb, rise])
    E[5, 0:2] = reduced / mass * np.array([climb, -rise])
    e[4:] = np.sign(body.mass) * spin[:2] + reduced * np.array([r[1] * climb - rise * v[1], rise * v[0] - r[0] * climb])
    return E, e


def in_frame(W: FloatArray, vector: FloatArray) -> FloatArray:
    """Return world vectors (3,), (K, 3) or (K, n, 3) in the frames W (K, 3, 3)."""
    if W.strides[0] == 0:  # one frame for all samples: one product
        return vector @ W[0].T
    return W @ vector if vector.ndim == 1 else (W @ vector[..., None])[..., 0] if vector.ndim == 2 else vector @ W.mT
