"""The two benchmark cases and their exact answers, written without any of trundle's code.

Ball on a spinning plate: the contact point of a solid ball runs on a circle (closed form). Ellipse on a
sinusoid: one degree of freedom, integrated along the arc length with scipy's DOP853 at 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

GRAVITY = 9.81  # m/s^2


@dataclass(frozen=True)
class BallCase:
    """Solid ball on a plate that spins about the vertical; all in SI units, world axes."""

    radius: float = 0.2
    mass: float = 0.1
    plate_rate: float = 7.0  # rad/s about z
    ball_rate: tuple[float, float, float] = (1.0, 0.0, 0.0)  # rad/s at the start
    duration: float = 10.0
    output_step: float = 0.01
    friction: float = 1.0

    @property
    def inertia(self) -> float:
        """Moment of inertia 2/5 m r^2 of the solid ball, kg m^2."""
        return 0.4 * self.mass * self.radius**2

    @property
    def start_velocity(self) -> np.ndarray:
        """Velocity (3,) m/s of the centre that rolls at the origin of the plate: omega x (0, 0, r)."""
        return np.cross(self.ball_rate, (0.0, 0.0, self.radius))

    @property
    def circle_rate(self) -> float:
        """Rate 2/7 of the plate's at which the contact runs round its circle, rad/s."""
        return 2.0 / 7.0 * self.plate_rate

    @property
    def circle_centre(self) -> np.ndarray:
        """Centre (2,) m of the circle, r(0) - v x (0, 0, 1/rate)."""
        v = self.start_velocity
        return -np.array([v[1], -v[0]]) / self.circle_rate

    @property
    def circle_radius(self) -> float:
        """Radius m of the circle."""
        return float(np.linalg.norm(self.start_velocity)) / self.circle_rate


@dataclass(frozen=True)
class EllipseCase:
    """Ellipse prism that rolls from rest on z = amplitude sin(2 pi x / wavelength), plane x-z, SI units.

    The start is the planar example's of the scenario format except for `contact_x`: from 0.3 m the outline
    touches the terrain a second time after 0.2 s (a single-contact run goes 22 mm into it), from 0.2 m it
    rolls 2.6 m of path on one contact with a positive normal force throughout.
    """

    semi_axes: tuple[float, float] = (0.25, 0.12)
    mass: float = 1.0
    inertia: float = 0.02
    amplitude: float = 0.06
    wavelength: float = 0.8
    contact_x: float = 0.2
    angle: float = 0.4  # rad, counter-clockwise with x right and z up
    duration: float = 5.0
    output_step: float = 0.01
    friction: float = 1.0
    half_length: float = 0.1  # m, the prism along y

    def height(self, x: np.ndarray | float) -> np.ndarray:
        """Height (...,) m of the terrain at x (...,) m."""
        return self.amplitude * np.sin(2 * np.pi * np.asarray(x, float) / self.wavelength)


@dataclass(frozen=True)
class EllipseReference:
    """Exact rolling motion of an `EllipseCase` on its output grid."""

    time: np.ndarray  # (n,) s
    position: np.ndarray  # (n, 2) m, centre
    angle: np.ndarray  # (n,) rad, counter-clockwise
    rate: np.ndarray  # (n,) rad/s
    normal_force: np.ndarray  # (n,) N
    friction_use: np.ndarray  # (n,) |f_t| / f_n
    relative_curvature: np.ndarray  # (n,) 1/m
    clearance: np.ndarray  # (n,) m, smallest gap of the outline away from the contact
    facts: dict[str, float] = field(default_factory=dict)


def _terrain(case: EllipseCase, p: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return point (2,), tangent (2,), speed and curvature of the terrain at parameter p = x."""
    k = 2 * np.pi / case.wavelength
    slope, bend = case.amplitude * k * np.cos(k * p), -case.amplitude * k**2 * np.sin(k * p)
    speed = float(np.hypot(1.0, slope))
    point = np.array([p, case.amplitude * np.sin(k * p)])
    return point, np.array([1.0, slope]) / speed, speed, bend / speed**3


def _outline(case: EllipseCase, phi: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return point (2,), tangent (2,), speed and curvature of the outline at parameter phi, body frame."""
    a, b = case.semi_axes
    point = np.array([a * np.cos(phi), b * np.sin(phi)])
    derivative = np.array([-a * np.sin(phi), b * np.cos(phi)])
    speed = float(np.linalg.norm(derivative))
    return point, derivative / speed, speed, a * b / speed**3


def _state(case: EllipseCase, y: np.ndarray) -> tuple[float, ...]:
    """Return (omega', s', theta, x, z, f_n, f_t, k_rel) of the state y = (p, phi, omega)."""
    p, phi, omega = y
    point, tangent, _, k_t = _terrain(case, p)
    outline, tangent_b, _, k_b = _outline(case, phi)
    c = tangent @ tangent_b
    s = tangent_b[0] * tangent[1] - tangent_b[1] * tangent[0]
    rotation = np.array([[c, -s], [s, c]])
    rho = -rotation @ outline  # contact point -> centre
    relative = k_b - k_t
    slide = -omega / relative
    inertia = case.mass * rho @ rho + case.inertia
    alpha = case.mass * (slide * omega * (rho @ tangent) - GRAVITY * rho[0]) / inertia
    normal = np.array([-tangent[1], tangent[0]])
    turned = np.array([-rho[1], rho[0]])
    force = case.mass * (alpha * turned - omega**2 * rho - omega * slide * normal + np.array([0.0, GRAVITY]))
    x, z = point + rho
    return alpha, slide, float(np.arctan2(s, c)), x, z, force @ normal, force @ tangent, relative


def ellipse_start(case: EllipseCase) -> tuple[np.ndarray, np.ndarray]:
    """Return y0 = (p, phi, omega) and the centre (2,) m of the start at rest."""
    _, tangent, _, _ = _terrain(case, case.contact_x)
    want = np.arctan2(tangent[1], tangent[0]) - case.angle  # tangent angle on the body
    a, b = case.semi_axes
    phi = np.arctan2(-np.cos(want) * b, np.sin(want) * a)  # where (-a sin phi, b cos phi) points along want
    y0 = np.array([case.contact_x, phi, 0.0])
    values = _state(case, y0)
    return y0, np.array([values[3], values[4]])


def _clearance(case: EllipseCase, y: np.ndarray, values: tuple[float, ...]) -> float:
    """Return the smallest height difference outline - terrain further than 4 cm of arc from the contact."""
    phis = y[1] + np.linspace(0, 2 * np.pi, 721)
    a, b = case.semi_axes
    points = np.stack([a * np.cos(phis), b * np.sin(phis)])
    c, s = np.cos(values[2]), np.sin(values[2])
    x, z = values[3] + c * points[0] - s * points[1], values[4] + s * points[0] + c * points[1]
    far = np.hypot(x - x[0], z - z[0]) > 0.04
    return float(np.min((z - case.height(x))[far]))


@lru_cache(maxsize=8)
def ellipse_reference(case: EllipseCase) -> EllipseReference:
    """Integrate y = (p, phi, omega): I_c omega' = m (s' omega rho.T - g rho_x), s' = -omega / (k_b - k_t)."""

    def rate(_: float, y: np.ndarray) -> list[float]:
        alpha, slide, *_rest = _state(case, y)
        return [slide / _terrain(case, y[0])[2], slide / _outline(case, y[1])[2], alpha]

    y0, _ = ellipse_start(case)
    time = np.linspace(0.0, case.duration, round(case.duration / case.output_step) + 1)
    tolerance = {"rtol": 1e-12, "atol": 1e-13}
    out = solve_ivp(rate, (0.0, case.duration), y0, "DOP853", time, **tolerance)
    again = solve_ivp(rate, (0.0, case.duration), y0, "DOP853", time, rtol=1e-10, atol=1e-11)
    rows = np.array([_state(case, y) for y in out.y.T])
    check = np.array([_state(case, y) for y in again.y.T])
    angle = np.unwrap(rows[:, 2])
    angle += 2 * np.pi * np.round((case.angle - angle[0]) / (2 * np.pi))
    clearance = np.array([_clearance(case, y, tuple(v)) for y, v in zip(out.y.T, rows, strict=True)])
    energy = 0.5 * case.inertia * out.y[2] ** 2
    lever = np.array([np.sum(_outline(case, phi)[0] ** 2) for phi in out.y[1]])
    energy += 0.5 * case.mass * lever * out.y[2] ** 2 + case.mass * GRAVITY * rows[:, 4]
    facts = {
        "normal_force_min_N": float(rows[:, 5].min()),
        "normal_force_max_N": float(rows[:, 5].max()),
        "friction_use_max": float(np.max(np.abs(rows[:, 6]) / rows[:, 5])),
        "relative_curvature_min_1/m": float(rows[:, 7].min()),
        "clearance_min_m": float(clearance.min()),
        "start_gap_m": float(rows[0, 4] - start_height(case)),
        "energy_drift": float(np.ptp(energy) / (case.mass * GRAVITY * np.ptp(rows[:, 4]))),
        "tolerance_change_m": float(np.max(np.hypot(*(rows[:, 3:5] - check[:, 3:5]).T))),
        "path_m": float(np.sum(np.hypot(*np.diff(rows[:, 3:5], axis=0).T))),
        "x_min_m": float(rows[:, 3].min()),
        "x_max_m": float(rows[:, 3].max()),
    }
    return EllipseReference(
        time, rows[:, 3:5], angle, out.y[2], rows[:, 5], np.abs(rows[:, 6]) / rows[:, 5], rows[:, 7], clearance, facts
    )


def start_growth(case: EllipseCase, shift: float = 1e-6) -> float:
    """Return how many times an error of the start (`shift` m along x) has grown at most in the centre's position."""
    moved = ellipse_reference(replace(case, contact_x=case.contact_x + shift))
    apart = moved.position - ellipse_reference(case).position
    return float(np.max(np.hypot(*apart.T))) / shift


def start_height(case: EllipseCase) -> float:
    """Return the centre's height (m) at the start found by bisection on the gap: a check of `ellipse_start`."""
    _, centre = ellipse_start(case)
    a, b = case.semi_axes
    phis = np.linspace(0, 2 * np.pi, 200001)
    c, s = np.cos(case.angle), np.sin(case.angle)
    x = centre[0] + c * a * np.cos(phis) - s * b * np.sin(phis)
    z = s * a * np.cos(phis) + c * b * np.sin(phis)
    return float(brentq(lambda h: np.min(z + h - case.height(x)), -1.0, 2.0, xtol=1e-14))
