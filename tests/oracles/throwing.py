"""A planar ellipse on a moving plate in closed form (sheet 2, section 10): rolling, and the plastic catch at rest.

Angles counter-clockwise, x right, z up. State: plate angle, x, z; plate twist (w, v_x, v_z) in its own axes; object
angle relative to the plate, abscissa of the contact on it, relative rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


def swept(w: float, r: Array) -> Array:
    """W x r."""
    return np.array([-w * r[1], w * r[0]])


def turned(angle: float, r: Array) -> Array:
    """Return r turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * r[0] - s * r[1], s * r[0] + c * r[1]])


@dataclass(frozen=True)
class EllipseOnPlate:
    """Semi-axes a (body x), b (body z), m; mass, kg; gravity, m/s2."""

    a: float
    b: float
    mass: float
    gravity: float

    @property
    def inertia(self) -> float:
        """Of a solid lamina about its centre."""
        return self.mass * (self.a**2 + self.b**2) / 4

    def contact(self, delta: float) -> tuple[Array, float]:
        """Centre to contact in plate axes, and the radius of curvature there."""
        nu = turned(-delta, np.array([0.0, -1.0]))
        scale = np.sqrt(self.a**2 * nu[0] ** 2 + self.b**2 * nu[1] ** 2)
        point = np.array([self.a**2 * nu[0], self.b**2 * nu[1]]) / scale
        return turned(delta, point), self.a**2 * self.b**2 / scale**3

    def instant(self, state: Array, u: Array) -> tuple[Array, Array]:
        """Return the rate of the state and the contact force in plate axes."""
        beta, _, _, w, vx, vz, delta, s, rate = state
        rho, radius = self.contact(delta)
        arm, v = np.array([s, 0.0]), np.array([vx, vz])
        a_hand = u[1:] + swept(w, v) + swept(u[0], arm) + swept(w, swept(w, arm))
        g = turned(-beta, np.array([0.0, -self.gravity]))
        b0 = a_hand - g - swept(rate, np.array([-radius * rate, 0.0])) - swept(w + rate, swept(w + rate, rho))
        turn = self.mass * (rho[0] * b0[1] - rho[1] * b0[0]) / (self.inertia + self.mass * rho @ rho)
        force = self.mass * (b0 - swept(turn, rho))
        move = turned(beta, v)
        return np.array([w, *move, *u, rate, -radius * rate, turn - u[0]]), force

    def rolled(self, u: Callable[[float], Array], corners: Array, end: float) -> Array:
        """Return the state at `end`, from rest lying at the plate's middle; `corners`: times at which u has kinks."""
        state = np.zeros(9)
        times = np.unique([0.0, *corners[(corners > 0) & (corners < end)], end])
        for t0, t1 in pairwise(times):
            found = solve_ivp(lambda t, x: self.instant(x, u(t))[0], (t0, t1), state, "DOP853", rtol=1e-12, atol=1e-14)
            state = found.y[:, -1]
        return state

    def center(self, state: Array) -> tuple[Array, Array, float, float]:
        """Centre and its velocity (world), angle and angular velocity of the object."""
        beta, x, z, w, vx, vz, delta, s, rate = state
        rho, _ = self.contact(delta)
        arm = np.array([s, 0.0])
        v = np.array([vx, vz]) + swept(w, arm) - swept(w + rate, rho)
        return np.array([x, z]) + turned(beta, arm - rho), turned(beta, v), beta + delta, w + rate

    def caught(self, angle: float, w: float, v: Array) -> float:
        """Return w+ of the catch without slip on a plate at rest: (I w + m (rho_z v_x - rho_x v_z)) / (I + m rho2)."""
        rho, _ = self.contact(angle)
        return (self.inertia * w + self.mass * (rho[1] * v[0] - rho[0] * v[1])) / (self.inertia + self.mass * rho @ rho)

    def height(self, angle: float) -> float:
        """Height of the centre over the plate."""
        return float(np.sqrt(self.a**2 * np.sin(angle) ** 2 + self.b**2 * np.cos(angle) ** 2))
