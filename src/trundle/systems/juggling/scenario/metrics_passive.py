"""Metrics of the passive scenarios of the library, compared with analytic results."""

from __future__ import annotations

import contextlib
import math

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.geometry.sampled.circle_fit import fit_circle
from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory
from trundle.report.metrics import energy, inertia_matrix, largest, physics, relative_drift, require
from trundle.report.runs import Runs

Array = NDArray[np.float64]


def plate_spinning(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Solid or hollow ball on a level plate that turns about the vertical through its origin (paper 2, V-C1).

    w_c = k/(1 + k) w_plate, J = k m r^2; centre r(0) - v x z/w_c; radius |v|/w_c. Parts carry their names behind.
    """
    values = _on_circle(run)
    for name, part in parts.items():
        with contextlib.suppress(InputError):  # no ball on a plate that turns steadily
            values |= {f"{key}_{name.replace('-', '_')}": value for key, value in _on_circle(part).items()}
    return values


def _on_circle(run: Trajectory) -> dict[str, float]:
    mass, radius, k, spin = _ball_on_plate(run)
    gravity = float(np.linalg.norm(require(physics(run), "gravity")))
    path = run["contact_position"][:, :2]
    start = run["object_position"][0]
    lever = np.array([0.0, 0.0, -radius])
    hand = np.cross([0.0, 0.0, spin], start + lever - run["hand_position"][0])
    v = hand - np.cross(run["object_angular_velocity"][0], lever)
    rate = k / (1 + k) * spin
    centre = start[:2] - np.array([v[1], -v[0]]) / rate
    circle = math.hypot(v[0], v[1]) / abs(rate)
    distance = np.linalg.norm(path - centre, axis=1)
    force = np.abs(run["contact_force"][:, 2] - mass * gravity)
    measured = mass * np.abs(_derivative(run.time, run["object_velocity"][:, 2]))
    values = {
        "radius_error_percent": largest(np.abs(distance - circle)) / circle * 100,
        "normal_force_error": max(largest(force), largest(measured)),
    }
    if "statistics" in run.metadata:
        values["average_step"] = float(run.metadata["statistics"]["average_step"])
    if len(np.unique(path, axis=0)) >= 3:  # fewer lie on many circles
        fitted, values["circle_radius"] = _fit_circle(path)
        values["circle_centre_x"] = float(fitted[0])
        values["centre_drift"] = float(np.linalg.norm(fitted - centre))
        if math.isfinite(values["circle_radius"]):
            values |= _orbit(run.time, path - fitted)
    return values


def plate_tilted(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Drift of the ball on a tilted spinning plate against n x g_t/(k w_plate) (paper 2, V-C2; k = 2/5 if solid).

    The path in the plate's plane is a + d t + b cos(w_c t) + c sin(w_c t); d is fitted.
    """
    _, _, k, spin = _ball_on_plate(run)
    normal = rotation_matrices(run["hand_quaternion"][:1])[0, :, 2]
    gravity = np.asarray(require(physics(run), "gravity"), dtype=float)
    along = gravity - (gravity @ normal) * normal
    expected = np.cross(normal, along) / (k * spin)
    t = run.time - run.time[0]
    phase = k / (1 + k) * spin * t
    if abs(phase[-1]) < 2 * math.pi:
        raise InputError("simulation.duration", float(t[-1]), "at least one turn of the ball's orbit, for its drift")
    basis = np.stack([np.ones_like(t), t, np.cos(phase), np.sin(phase)], axis=1)
    if np.linalg.matrix_rank(basis) < basis.shape[1]:
        return {}  # too few samples to tell drift and orbit apart
    fitted = np.linalg.lstsq(basis, run["contact_position"], rcond=None)[0]
    drift = fitted[1]
    arms = run["contact_position"] - basis[:, :2] @ fitted[:2]
    plane = np.stack([along, np.cross(normal, along)], axis=1) / np.linalg.norm(along)
    return {
        "drift_velocity_error": float(np.linalg.norm(drift - expected) / np.linalg.norm(expected)),
        "drift_velocity": float(np.linalg.norm(drift)),
        "cycloid_period": _orbit(run.time, arms @ plane)["orbit_period"],
    }


def ellipsoid_dish(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Energy drift relative to the largest kinetic energy, which does not depend on the choice of zero height."""
    kinetic, potential = energy(run)
    return {"energy_drift": relative_drift(kinetic + potential, float(np.max(kinetic)))}


def _ball_on_plate(run: Trajectory) -> tuple[float, float, float, float]:
    """Return mass, radius, k = J/(m r^2) and the plate's spin; the plate must turn steadily about its own origin."""
    body = run.body("object")
    if body is None or body.shape.get("type") != "sphere":
        raise InputError("object.shape", None if body is None else dict(body.shape), "a sphere, for this metric")
    mass, inertia = (require(physics(run), key) for key in ("mass", "inertia"))
    radius = float(body.shape["radius"])
    J = float(inertia_matrix(inertia)[0, 0])
    normal = rotation_matrices(run["hand_quaternion"][:1])[0, :, 2]
    spin = run["hand_angular_velocity"] @ normal
    if abs(spin[0]) < 1e-9 or np.ptp(spin) > 1e-9 * abs(spin[0]) or np.ptp(run["hand_position"], axis=0).max() > 1e-9:
        raise InputError("hand.angular_velocity", run["hand_angular_velocity"][0].tolist(), "a steady spin about z")
    return float(mass), radius, J / (mass * radius**2), float(spin[0])


def _orbit(t: Array, arms: Array) -> dict[str, float]:
    """Return mean rate and period of a point (n, 2) about the origin."""
    rate = float(np.polyfit(t, np.unwrap(np.arctan2(arms[:, 1], arms[:, 0])), 1)[0])
    return {"orbit_rate": rate, "orbit_period": 2 * math.pi / abs(rate) if rate else math.inf}


def _fit_circle(points: Array) -> tuple[Array, float]:
    """Return the centre (2,) and radius of the least-squares circle; points on a line have them at infinity."""
    try:
        found = fit_circle(points, fewest=3, tolerance=1e-14)
    except InputError:
        return np.full(2, math.inf), math.inf
    return found.center, float(found.radius)


def _derivative(t: Array, x: Array) -> Array:
    """Return the central-difference derivative at the inner samples that have equal neighbours in time."""
    before, after = np.diff(t)[:-1], np.diff(t)[1:]
    even = (np.abs(after - before) < 1e-9 * np.maximum(after, 1e-300)) & (before > 0)
    return ((x[2:] - x[:-2]) / np.where(even, before + after, 1.0))[even]
