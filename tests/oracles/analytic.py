"""Closed forms (sheet 2 sections 10 and 11, sheet 4 sections 1 and 6, textbook results). SI; k = I / (m r^2) of the
rolling body.

k: solid ball 2/5, shell 2/3, disc or cylinder 1/2, hoop 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import ellipk

Array = np.ndarray
Z = np.array([0.0, 0.0, 1.0])


# Ball on a spinning plate -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlateCircle:
    """Path of a ball's contact on a level spinning plate: world centre (3,), radius, rate (rad/s, sign of the
    plate's)."""

    center: Array
    radius: float
    rate: float
    start: Array

    def position(self, t: Array | float) -> Array:
        """Contact (or ball centre, if started from it) at the times t: (..., 3)."""
        d = self.start - self.center
        c, s = np.cos(self.rate * np.asarray(t))[..., None], np.sin(self.rate * np.asarray(t))[..., None]
        return self.center + c * d + s * np.cross(Z, d)


def plate_circle(position: Array, velocity: Array, plate_rate: float, k: float = 0.4) -> PlateCircle:
    """Ball at `position` moving with `velocity` (of its centre, world): rate k/(1+k) plate_rate, centre r - v x z /
    rate."""
    rate = k / (1 + k) * plate_rate
    center = np.asarray(position, float) - np.cross(velocity, Z) / rate
    return PlateCircle(center, float(np.linalg.norm(velocity) / abs(rate)), rate, np.asarray(position, float))


def plate_center_velocity(position: Array, w: Array, plate_rate: float, radius: float) -> Array:
    """Velocity of the ball's centre at contact `position` with angular velocity `w`: plate's velocity + w x r z."""
    return np.cross([0, 0, plate_rate], position) + np.cross(w, radius * Z)


def tilted_plate_drift(plate_rate: float, tilt: float, k: float = 0.4, g: float = 9.81) -> Array:
    """Mean drift in plate axes for a tilt Rx(+tilt): (g sin(tilt)/(k plate_rate), 0, 0); solid ball 2.5 g
    sin/plate_rate along +x."""
    return np.array([g * np.sin(tilt) / (k * plate_rate), 0.0, 0.0])


def tilted_plate_path(
    t: Array, position: Array, velocity: Array, plate_rate: float, tilt: float, k: float = 0.4, g: float = 9.81
):
    """Centre of the ball in the non-spinning plate axes (x, y in the plate, gravity component -g sin(tilt) along y):
    (n, 2).

    v' = rate z x v + a with rate = k/(1+k) plate_rate and a = (0, -g sin/(1+k)): a circle about the drift.
    """
    rate = k / (1 + k) * plate_rate
    drift = tilted_plate_drift(plate_rate, tilt, k, g)[0]
    z = np.exp(1j * rate * np.asarray(t))
    v = complex(velocity[0] - drift, velocity[1])
    path = complex(position[0], position[1]) + drift * np.asarray(t) + v * (z - 1) / (1j * rate)
    return np.column_stack([path.real, path.imag])


# Planar rolling -----------------------------------------------------------------------------------------------------


def circle_on_circle_arc(r: float, R: float, angle: float) -> float:
    """Arc rolled when a circle r turns by |angle| on a circle R outside (R > 0), inside (R < 0): r R/(r + R) |angle|
    (10)."""
    return r * R / (r + R) * abs(angle)


def coin_paradox(r: float) -> float:
    """Arc after one full turn on an equal coin: pi r, not 2 pi r."""
    return np.pi * r


def circle_on_circle_height(r: float, R: float, angle: float) -> float:
    """Centre height above the fixed centre after the turn `angle` from the top (11)."""
    return (R + r) * np.cos(r * angle / (R + r))


def cycloid(r: float, turned: Array) -> Array:
    """Rim point that starts at the contact (0, 0) of a wheel rolling to +x by `turned` rad: r (t - sin t, 1 - cos t),
    (n, 2)."""
    t = np.asarray(turned, float)
    return r * np.column_stack([t - np.sin(t), 1 - np.cos(t)])


def incline(slope: float, k: float = 0.5, mass: float = 1.0, g: float = 9.81) -> tuple[float, float, float]:
    """Rolling down: (acceleration g sin/(1+k), |friction| m g sin k/(1+k), normal force m g cos)."""
    return g * np.sin(slope) / (1 + k), mass * g * np.sin(slope) * k / (1 + k), mass * g * np.cos(slope)


def incline_slip_slope(mu: float, k: float = 0.4) -> float:
    """Steepest slope (rad) without slip: tan = mu (1+k)/k; solid ball tan = 7 mu/2."""
    return float(np.arctan(mu * (1 + k) / k))


def bowl_period(amplitude: float, r: float, R: float, k: float = 0.5, g: float = 9.81) -> float:
    """Finite-amplitude period in a bowl R: 4 K(sin^2(A/2)) sqrt((1+k) (R-r)/g); the amplitude is the angle of the
    line of centres."""
    return float(4 * ellipk(np.sin(amplitude / 2) ** 2) * np.sqrt((1 + k) * (R - r) / g))


def square_wheel(a: float, x: float) -> tuple[Array, float]:
    """Square of half side a on z = -a cosh(x/a), contact abscissa x: centre (x, 0) and body angle -atan(sinh(x/a))."""
    return np.array([x, 0.0]), -float(np.arctan(np.sinh(x / a)))


def rocking_ratio(mass: float, inertia: float, r_old: Array, r_new: Array) -> float:
    """omega+/omega- when a planar body pivoting about one contact lands on another, plastic, no slip; r: centre of
    mass -> contact.

    Angular momentum about the new contact is kept: (I + m r_old.r_new)/(I + m r_new.r_new).
    """
    return float((inertia + mass * np.dot(r_old, r_new)) / (inertia + mass * np.dot(r_new, r_new)))


# Sheet 4's peanut: rate before, rate after, energy ratio of each rocking impact.
PEANUT_ROCKING = (2.5989, 1.4978, 0.3321)


# Slip, separation, impact -------------------------------------------------------------------------------------------


def sliding_ball(v0: float, mu: float, k: float = 0.4, g: float = 9.81) -> tuple[float, float]:
    """A ball thrown sliding without spin: (time, speed) at which it rolls: k/(1+k) v0/(mu g) = 2 v0/(7 mu g),
    v0/(1+k) = 5 v0/7."""
    return k / (1 + k) * v0 / (mu * g), v0 / (1 + k)


def leaving_cosine(k: float = 0.4) -> float:
    """Cosine of the angle from the top at which a body rolling from rest at the top leaves a fixed sphere: 2/(3+k);
    ball 10/17."""
    return 2.0 / (3.0 + k)


def leaving_from(start: float, k: float = 0.4) -> float:
    """The same for a start at rest at the angle `start` from the top: cosine 2 cos(start)/(3+k)."""
    return 2.0 * np.cos(start) / (3.0 + k)


def leaving_time(start: float, r: float, R: float, k: float = 0.4, g: float = 9.81) -> float:
    """Time from rest at the angle `start` to leaving: quadrature of the energy integral with angle = start + y^2."""
    end = np.arccos(leaving_from(start, k))

    def rate(y: float) -> float:
        # cos(start) - cos(angle) = 2 sin(start + y^2/2) sin(y^2/2)
        drop = 2 * np.sin(start + 0.5 * y * y) * 0.5 * np.sinc(0.5 * y * y / np.pi)
        return 2.0 / np.sqrt(2 * g * drop / ((1 + k) * (R + r)))

    return float(quad(rate, 0.0, np.sqrt(end - start), epsabs=1e-14, epsrel=1e-13)[0])


def inelastic_catch(w: float, v: Array, rho: Array, mass: float, inertia: float) -> float:
    """Planar body caught without slip by a still hand (sheet 2 section 10): rate after; rho = centre of mass ->
    contact (x, z).

    Rates counter-clockwise with x right and z up.
    """
    return float((inertia * w + mass * (rho[1] * v[0] - rho[0] * v[1])) / (inertia + mass * np.dot(rho, rho)))


def catch_to_upright(phi: float, a: float, b: float, mass: float, inertia: float, g: float = 9.81) -> float:
    """Rate after the catch that just brings an ellipse (a > b) lying at phi upright on a level hand, rolling.

    1/2 (I + m |rho|^2) w^2 = m g (a - h), h = sqrt(a^2 s^2 + b^2 c^2), phi the angle of the long axis above the level.
    """
    s, c = np.sin(phi), np.cos(phi)
    h = np.sqrt(a * a * s * s + b * b * c * c)
    along = (a * a - b * b) * s * c / h
    return float(np.sqrt(2 * mass * g * (a - h) / (inertia + mass * (h * h + along * along))))


# Tube and bodies of revolution --------------------------------------------------------------------------------------


def tube_axial_ratio(k: float = 0.4) -> float:
    """Axial frequency over orbit rate of a ball inside a vertical cylinder: sqrt(k/(1+k)); solid ball sqrt(2/7)."""
    return float(np.sqrt(k / (1 + k)))


def tube_axial_path(
    t: Array, orbit: float, k: float, r: float, z0: float, vz0: float, w_radial: float, g: float = 9.81
) -> Array:
    """Height of the ball in a vertical tube orbiting at `orbit` rad/s (about +z): z0 + A (1 - cos nt) + vz0
    sin(nt)/n, n = ratio orbit.

    `w_radial`: angular velocity along the outward radial direction at t = 0. z'' = -(g + k r orbit w_r)/(1+k) there.
    """
    n = tube_axial_ratio(k) * orbit
    start = -(g + k * r * orbit * w_radial) / (1 + k)
    return z0 + start / n**2 * (1 - np.cos(n * np.asarray(t))) + vz0 / n * np.sin(n * np.asarray(t))


def jellett(R_world_body: Array, w: Array, inertia: Array, rho: Array) -> float:
    """Jellett's integral L.rho (kg m^3/s): kept by a body of revolution (axis z of the body) with spherical base on a
    plane.

    Rolling or sliding, force through the contact without a moment about the normal; rho = centre of mass -> contact,
    world.
    """
    return float((R_world_body @ inertia @ R_world_body.T @ w) @ rho)


def routh(R_world_body: Array, w: Array, I1: float, I3: float, mass: float, radius: float, offset: float) -> float:
    """Routh's integral of the same body rolling without slip: w_3 sqrt(g + s (a - c)^2 + s g (1 - c^2)).

    g = I1/I3, s = m R^2/I3, a = offset/R, c = cosine of the axis against the vertical; the sphere's centre is at
    +offset along the
    axis (body z) from the centre of mass.
    """
    axis = R_world_body[:, 2]
    gamma, sigma, a, c = I1 / I3, mass * radius**2 / I3, offset / radius, axis[2]
    return float((w @ axis) * np.sqrt(gamma + sigma * (a - c) ** 2 + sigma * gamma * (1 - c**2)))


def steady_disc_rate(radius: float, tilt: float, k1: float = 0.25, k3: float = 0.5, g: float = 9.81) -> float:
    """Turning rate of a thin disc rolling in place (centre of mass at rest), its plane inclined by `tilt` to the level.

    The contact point circles at Omega with m g cos(tilt) r = I1 Omega^2 sin(tilt) cos(tilt): Omega = sqrt(g/(k1 r
    sin(tilt)));
    I1 = k1 m r^2 about a diameter. The disc's angular velocity lies along the radius to the contact, of size Omega
    sin(tilt).
    """
    return float(np.sqrt(g / (k1 * radius * np.sin(tilt))))
