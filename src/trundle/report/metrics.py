"""Metrics of a run, recomputed from its record: poses, velocities, forces and the shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.records import Trajectory
from trundle.report import recompute

Array = NDArray[np.float64]

#: Units of the general metrics.
UNITS = {
    "gap": "m",
    "slip": "m/s",
    "recomputed_share": "1",
    "normal_force_min": "N",
    "friction_use": "1",
    "torsional_use": "1",
    "energy_drift": "1",
}
#: Modes without touch, and modes in which the material points may move against each other.
APART = ("separated",)
SLIDING = ("sliding", "impact")


def compute(name: str, trajectory: Trajectory, parts: Mapping[str, Trajectory] | None = None) -> dict[str, float]:
    """Return the metrics of scenario `name` (any other name: the general ones) as plain floats.

    The general ones are ``gap`` (m), ``slip`` (m/s), ``normal_force_min`` (N), ``friction_use`` (1, where friction is
    known), ``torsional_use`` (1) and, for passive runs, ``energy_drift`` (1). Those of a part carry its name behind:
    ``slip_pure_rolling``.

    Parameters
    ----------
    name : str
        Name of the scenario.
    trajectory : Trajectory
        The main run.
    parts : mapping of str to Trajectory, optional
        Comparison runs.

    Raises
    ------
    InputError
        If the record lacks what a metric of the scenario needs.
    """
    values = general(trajectory)
    values |= _SPECIAL[name](trajectory) if name in _SPECIAL else {}
    for part, run in (parts or {}).items():
        suffix = part.replace("-", "_")
        values |= {f"{key}_{suffix}": value for key, value in general(run).items()}
    return values


def unit(name: str) -> str:
    """Return the unit of a general metric, also of a part's (``slip_pure_rolling``); empty if there is none."""
    return next((UNITS[key] for key in UNITS if name == key or name.startswith(f"{key}_")), "")


def general(run: Trajectory) -> dict[str, float]:
    """Return the metrics that mean something for every run: the worst over all contacts."""
    each = [_of_contact(run, slot) for slot in range(contacts(run))]
    values = {key: max(one[key] for one in each if key in one) for key in each[0]}
    for key in ("normal_force_min", "recomputed_share"):
        values[key] = min(one[key] for one in each if key in one)
    if is_passive(run):
        kinetic, potential = energy(run)
        scale = max(float(np.max(kinetic)), float(np.ptp(potential)))
        values["energy_drift"] = _relative_drift(kinetic + potential, scale)
    return values


def contacts(run: Trajectory) -> int:
    """Return how many contacts a run recorded."""
    return int(run.dataset.sizes.get("contact", 1))


def _of_contact(run: Trajectory, slot: int) -> dict[str, float]:
    """Return the metrics of one contact; those over no sample at all are zero."""
    touch = recompute.touch(run, slot)
    touching, rolling = phases(run, slot)
    use = usage(run, touch, slot)
    values = {
        "gap": _largest(np.abs(touch.gap[touching])),
        "slip": _largest(slip_speed(run, touch)[rolling]),
        "recomputed_share": float(np.mean(touch.exact)),
    }
    if slot == 0 or touching.any():
        alone = touching & np.logical_not(_several(run))
        values["normal_force_min"] = float(np.min(use["normal"][alone])) if alone.any() else 0.0
    return values | {key: _largest(use[key][rolling]) for key in ("friction_use", "torsional_use") if key in use}


def slip_speed(run: Trajectory, touch: recompute.Touch) -> Array:
    """Return the relative speed (n,) of the two material points in m/s; in the plane that along the tangent."""
    if run.kind == "juggling":
        return np.linalg.norm(touch.slip, axis=1)
    return np.abs(_along(touch))


def phases(run: Trajectory, slot: int = 0) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return at which samples a contact touches, and at which of those it may not slip."""
    mode = run["mode"] if run.kind == "juggling" else run["mode"][:, slot]
    names, where = np.unique(mode, return_inverse=True)
    # A second contact in space is named behind the first: "rolling + separated".
    first = np.array([str(name).split(" + ")[0] for name in names])[where]
    touching = ~np.isin(first, APART)
    return touching, touching & ~np.isin(first, SLIDING)


def usage(run: Trajectory, touch: recompute.Touch | None = None, slot: int = 0) -> dict[str, Array]:
    """Return normal and tangential force of one contact over time and the used share of the friction cone.

    Returns
    -------
    dict
        ``normal`` and ``tangential`` (n,) in N; ``friction_use`` (n,) = |f_t|/(mu f_n) where friction is known, and
        ``torsional_use`` (n,) = |m_n|/(mu_t f_n) where torsional friction is positive. In flight all are zero;
        a force that pulls counts as a use of 1e9. In space all are zero, too, while two contacts touch.
    """
    touch = touch or recompute.touch(run, slot)
    force = run["contact_force"] if run.kind == "juggling" else run["contact_force"][:, slot]
    force = np.where(_several(run)[:, None], 0.0, force)
    normal = np.sum(force * touch.normal, axis=1)
    tangential = np.linalg.norm(force - normal[:, None] * touch.normal, axis=1)
    values = {"normal": normal, "tangential": tangential}
    physics = _physics(run)
    if physics.get("friction"):
        values["friction_use"] = _share(tangential, float(physics["friction"]) * normal)
    if run.kind == "juggling" and physics.get("torsional_friction"):
        values["torsional_use"] = _share(np.abs(run["contact_moment"]), float(physics["torsional_friction"]) * normal)
    return values


def _several(run: Trajectory) -> NDArray[np.bool_]:
    """Return where (n,) a recorded force in space is the sum of several contacts: their shares are not known here."""
    if run.kind != "juggling":
        return np.zeros(len(run), dtype=bool)
    modes = run["mode"].astype(np.str_)
    many = [m for m in np.unique(modes) if m == "rest" or sum(law != "separated" for law in m.split(" + ")) > 1]
    return np.isin(modes, many)


def energy(run: Trajectory) -> tuple[Array, Array]:
    """Return kinetic and potential energy (n,) in J from poses and velocities.

    E = 1/2 m v.v + 1/2 w.(R J R') w - m g.x, with the record's mass, inertia and gravity.
    """
    physics = _physics(run)
    mass, inertia, gravity = (_needed(physics, key) for key in ("mass", "inertia", "gravity"))
    if run.kind == "juggling":
        R = recompute.rotation_matrices(run["object_quaternion"])
        w_body = np.einsum("nji,nj->ni", R, run["object_angular_velocity"])
        J = _inertia_matrix(inertia)
        v, x = run["object_velocity"], run["object_position"]
        kinetic = 0.5 * mass * np.sum(v * v, axis=1) + 0.5 * np.einsum("ni,ij,nj->n", w_body, J, w_body)
        return kinetic, -mass * (x @ np.asarray(gravity, dtype=float))
    v, w, x = run["body_velocity"][:, 0], run["body_angular_velocity"][:, 0], run["body_position"][:, 0]
    pull = np.array([0.0, -gravity]) if np.ndim(gravity) == 0 else np.asarray(gravity, dtype=float)
    return 0.5 * mass * np.sum(v * v, axis=1) + 0.5 * inertia * w * w, -mass * (x @ pull)


def is_passive(run: Trajectory) -> bool:
    """Whether energy has to stay: nothing moves the hand or drives the body, and the contact rolled throughout."""
    if not np.all(phases(run)[1]) or not {"mass", "inertia", "gravity"} <= set(_physics(run)):
        return False
    if run.transitions:
        return False
    if run.kind == "juggling":
        return not (np.any(run["hand_velocity"]) or np.any(run["hand_angular_velocity"]))
    return not np.any(run["torque"])


def _plate_spinning(run: Trajectory) -> dict[str, float]:
    """Solid or hollow ball on a level plate that turns about the vertical through its origin (paper 2, V-C1).

    w_c = k/(1 + k) w_plate, J = k m r^2; centre r(0) - v x z/w_c; radius |v|/w_c.
    """
    mass, radius, k, spin = _ball_on_plate(run)
    gravity = float(np.linalg.norm(_needed(_physics(run), "gravity")))
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
        "radius_error_percent": _largest(np.abs(distance - circle)) / circle * 100,
        "normal_force_error": max(_largest(force), _largest(measured)),
    }
    if len(np.unique(path, axis=0)) >= 3:  # fewer lie on many circles
        values["centre_drift"] = float(np.linalg.norm(_fit_circle(path) - centre))
    return values


def _plate_tilted(run: Trajectory) -> dict[str, float]:
    """Drift of the ball on a tilted spinning plate against n x g_t/(k w_plate) (paper 2, V-C2; k = 2/5 if solid).

    The path in the plate's plane is a + d t + b cos(w_c t) + c sin(w_c t); d is fitted.
    """
    _, _, k, spin = _ball_on_plate(run)
    normal = recompute.rotation_matrices(run["hand_quaternion"][:1])[0, :, 2]
    gravity = np.asarray(_needed(_physics(run), "gravity"), dtype=float)
    along = gravity - (gravity @ normal) * normal
    expected = np.cross(normal, along) / (k * spin)
    t = run.time - run.time[0]
    phase = k / (1 + k) * spin * t
    if abs(phase[-1]) < 2 * math.pi:
        raise InputError("simulation.duration", float(t[-1]), "at least one turn of the ball's orbit, for its drift")
    basis = np.stack([np.ones_like(t), t, np.cos(phase), np.sin(phase)], axis=1)
    if np.linalg.matrix_rank(basis) < basis.shape[1]:
        return {}  # too few samples to tell drift and orbit apart
    drift = np.linalg.lstsq(basis, run["contact_position"], rcond=None)[0][1]
    return {"drift_velocity_error": float(np.linalg.norm(drift - expected) / np.linalg.norm(expected))}


def _ellipsoid_dish(run: Trajectory) -> dict[str, float]:
    """Energy drift relative to the largest kinetic energy, so that no choice of zero height helps it."""
    kinetic, potential = energy(run)
    return {"energy_drift": _relative_drift(kinetic + potential, float(np.max(kinetic)))}


def _rock_undulating(run: Trajectory) -> dict[str, float]:
    """Energy drift relative to m g 0.2 m."""
    kinetic, potential = energy(run)
    physics = _physics(run)
    weight = float(physics["mass"]) * float(np.linalg.norm(physics["gravity"]))
    return {"energy_drift": _relative_drift(kinetic + potential, weight * 0.2)}


_SPECIAL: dict[str, Callable[[Trajectory], dict[str, float]]] = {
    "plate-spinning": _plate_spinning,
    "plate-tilted": _plate_tilted,
    "ellipsoid-dish": _ellipsoid_dish,
    "rock-undulating": _rock_undulating,
}


def _inertia_matrix(inertia: Any) -> Array:
    """Return the inertia (3, 3) that a record holds as one number, three on the diagonal, or a matrix."""
    J = np.asarray(inertia, dtype=float)
    if J.size == 1:
        return float(J.flat[0]) * np.eye(3)
    return np.diag(J.ravel()) if J.size == 3 else J.reshape(3, 3)


def _ball_on_plate(run: Trajectory) -> tuple[float, float, float, float]:
    """Return mass, radius, k = J/(m r^2) and the plate's spin; the plate must turn steadily about its own origin."""
    body = run.body("object")
    if body is None or body.shape.get("type") != "sphere":
        raise InputError("object.shape", None if body is None else dict(body.shape), "a sphere, for this metric")
    mass, inertia = (_needed(_physics(run), key) for key in ("mass", "inertia"))
    radius = float(body.shape["radius"])
    J = float(_inertia_matrix(inertia)[0, 0])
    normal = recompute.rotation_matrices(run["hand_quaternion"][:1])[0, :, 2]
    spin = run["hand_angular_velocity"] @ normal
    if abs(spin[0]) < 1e-9 or np.ptp(spin) > 1e-9 * abs(spin[0]) or np.ptp(run["hand_position"], axis=0).max() > 1e-9:
        raise InputError("hand.angular_velocity", run["hand_angular_velocity"][0].tolist(), "a steady spin about z")
    return float(mass), radius, J / (mass * radius**2), float(spin[0])


def _fit_circle(points: Array) -> Array:
    """Return the centre (2,) of the least-squares circle: algebraic start, then Gauss-Newton on the distances."""
    mean = points.mean(axis=0)
    p = points - mean
    A = np.column_stack([2 * p, np.ones(len(p))])
    solution = np.linalg.lstsq(A, np.sum(p * p, axis=1), rcond=None)[0]
    centre, radius = solution[:2], math.sqrt(max(solution[2] + solution[:2] @ solution[:2], 0.0))
    for _ in range(10):
        d = p - centre
        distance = np.linalg.norm(d, axis=1)
        slopes = np.column_stack([d / distance[:, None], np.ones(len(p))])
        step = np.linalg.lstsq(slopes, distance - radius, rcond=None)[0]
        centre, radius = centre + step[:2], radius + step[2]
        if np.max(np.abs(step)) < 1e-15:
            break
    return centre + mean


def _derivative(t: Array, x: Array) -> Array:
    """Return the central-difference derivative at the inner samples that have equal neighbours in time."""
    before, after = np.diff(t)[:-1], np.diff(t)[1:]
    even = (np.abs(after - before) < 1e-9 * np.maximum(after, 1e-300)) & (before > 0)
    return ((x[2:] - x[:-2]) / np.where(even, before + after, 1.0))[even]


def _along(touch: recompute.Touch) -> Array:
    tangent = np.stack([touch.normal[:, 1], -touch.normal[:, 0]], axis=1)
    return np.sum(tangent * touch.slip, axis=1)


def _share(part: Array, whole: Array) -> Array:
    """Return part/whole; 0/0 is 0 (flight), anything over nothing or over a pulling force is 1e9."""
    noise = 1e-13 * max(float(np.max(np.abs(whole))), 1.0)
    fine = whole > noise
    return np.where(fine, part / np.where(fine, whole, 1.0), np.where((part <= noise) & (whole > -noise), 0.0, 1e9))


def _relative_drift(total: Array, scale: float) -> float:
    largest = _largest(np.abs(total - total[0]))
    return largest / scale if scale > 0 else largest


def _largest(values: Array) -> float:
    return float(np.max(values)) if values.size else 0.0


def _physics(run: Trajectory) -> dict[str, Any]:
    return dict(run.metadata.get("physics", {}))


def _needed(physics: Mapping[str, Any], key: str) -> Any:
    if physics.get(key) is None:
        raise InputError(f"metadata.physics.{key}", None, "given, for this metric")
    return physics[key]
