"""Metrics of a run, recomputed from its record: poses, velocities, forces and the shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.errors import InputError
from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory
from trundle.report import recompute
from trundle.report.runs import Quantity
from trundle.report.trees import moving_terrain

Array = NDArray[np.float64]

#: Unit and meaning of the general metrics.
QUANTITIES = {
    "gap": Quantity("m", "largest |gap| while touching, recomputed"),
    "slip": Quantity("m/s", "largest relative speed of the two material points while rolling, recomputed"),
    "recomputed_share": Quantity("1", "share of samples whose contact was found again from the shapes"),
    "normal_force_min": Quantity("N", "least normal force while touching"),
    "friction_use": Quantity("1", "largest |f_t| / (mu f_n)"),
    "torsional_use": Quantity("1", "largest |m_n| / (mu_t f_n)"),
    "energy_drift": Quantity("1", "largest change of the energy, relative; passive runs"),
}
#: Modes without touch, and modes in which the material points may move against each other.
APART = ("separated",)
SLIDING = ("sliding", "impact")
_TORQUES = ("torque", "joint_torque", "body_torque")


def general(run: Trajectory) -> dict[str, float]:
    """Return the metrics that mean something for every pair and tree: the worst over all contacts.

    ``gap`` (m), ``slip`` (m/s), ``normal_force_min`` (N), ``friction_use`` (1, where friction is known),
    ``torsional_use`` (1), and for passive runs ``energy_drift`` (1).
    """
    each = [_of_contact(run, slot) for slot in range(contacts(run))]
    values = {key: max(one[key] for one in each if key in one) for key in each[0]}
    for key in ("normal_force_min", "recomputed_share"):
        values[key] = min(one[key] for one in each if key in one)
    if is_passive(run):
        kinetic, potential = energy(run)
        scale = max(float(np.max(kinetic)), float(np.ptp(potential)))
        values["energy_drift"] = relative_drift(kinetic + potential, scale)
    return values


def contacts(run: Trajectory) -> int:
    """Return how many contacts a run recorded."""
    return int(run.dataset.sizes.get("contact", 1))


def _of_contact(run: Trajectory, slot: int) -> dict[str, float]:
    """Return the metrics of one contact; those over no sample at all are zero."""
    touch = recompute.touch(run, slot)
    touching, rolling = phases(run, slot)
    use = usage(run, touch, slot)
    kept = rolling & np.logical_not(input_jumps(run))
    values = {
        "gap": largest(np.abs(touch.gap[touching])),
        "slip": largest(slip_speed(run, touch)[rolling]),
        "recomputed_share": float(np.mean(touch.exact)),
    }
    if slot == 0 or touching.any():
        alone = touching & np.logical_not(_several(run) | input_jumps(run))
        values["normal_force_min"] = float(np.min(use["normal"][alone])) if alone.any() else 0.0
    return values | {key: largest(use[key][kept]) for key in ("friction_use", "torsional_use") if key in use}


def input_jumps(run: Trajectory) -> NDArray[np.bool_]:
    """Return the samples (n,) at which a controller's new input ended a mode: its force belongs to neither mode."""
    jumps = np.zeros(len(run), dtype=bool)
    if "hand_acceleration" in run or any(name in run and np.any(run[name]) for name in _TORQUES):
        for change in run.transitions:
            jumps |= np.abs(run.time - change["time"]) < 1e-9
    return jumps


def slip_speed(run: Trajectory, touch: recompute.RecordedTouch) -> Array:
    """Return the relative speed (n,) of the two material points in m/s; in the plane that along the tangent."""
    if touch.slip.shape[1] == 3:
        return np.linalg.norm(touch.slip, axis=1)
    return np.abs(_along(touch))


def phases(run: Trajectory, slot: int = 0) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return at which samples a contact touches, and at which of those it may not slip."""
    mode = run["mode"] if run.layout == "pair" else run["mode"][:, slot]
    names, where = np.unique(mode, return_inverse=True)
    # A second contact in space is named behind the first: "rolling + separated".
    first = np.array([str(name).split(" + ")[0] for name in names])[where]
    touching = ~np.isin(first, APART)
    return touching, touching & ~np.isin(first, [*SLIDING, *run.metadata.get("slipping_laws", ())])


def usage(run: Trajectory, touch: recompute.RecordedTouch | None = None, slot: int = 0) -> dict[str, Array]:
    """Return normal and tangential force of one contact over time and the used share of the friction cone.

    Returns
    -------
    dict
        ``normal`` and ``tangential`` (n,) in N; ``friction_use`` (n,) = |f_t|/(mu f_n) where friction is known, and
        ``torsional_use`` (n,) = |m_n|/(mu_t f_n) where torsional friction is positive. In flight all are zero;
        a force that pulls counts as a use of 1e9. In space all are zero, too, while two contacts touch.
    """
    touch = touch or recompute.touch(run, slot)
    force = run["contact_force"] if run.layout == "pair" else run["contact_force"][:, slot]
    force = np.where(_several(run)[:, None], 0.0, force)
    normal = np.sum(force * touch.normal, axis=1)
    tangential = np.linalg.norm(force - normal[:, None] * touch.normal, axis=1)
    values = {"normal": normal, "tangential": tangential}
    known = physics(run)
    if known.get("friction"):
        name = str(run["contact"][slot]).removesuffix("-second") if "frictions" in known else ""
        mu = float(known.get("frictions", {}).get(name, known["friction"]))
        values["friction_use"] = _share(tangential, mu * normal)
    if run.layout == "pair" and known.get("torsional_friction"):
        values["torsional_use"] = _share(np.abs(run["contact_moment"]), float(known["torsional_friction"]) * normal)
    return values


def _several(run: Trajectory) -> NDArray[np.bool_]:
    """Return where (n,) a recorded force in space is the sum of several contacts: their shares are not known here."""
    if run.layout != "pair":
        return np.zeros(len(run), dtype=bool)
    modes = run["mode"].astype(np.str_)
    many = [m for m in np.unique(modes) if m == "rest" or sum(law != "separated" for law in m.split(" + ")) > 1]
    return np.isin(modes, many)


def energy(run: Trajectory) -> tuple[Array, Array]:
    """Return kinetic and potential energy (n,) in J from poses and velocities.

    E = 1/2 m v.v + 1/2 w.(R J R') w - m g.x, with the record's mass, inertia and gravity.
    """
    known = physics(run)
    if "inertias" in known:
        return _energy_of_tree(run, known)
    mass, inertia, gravity = (require(known, key) for key in ("mass", "inertia", "gravity"))
    if run.layout == "pair":
        R = rotation_matrices(run["object_quaternion"])
        w_body = np.einsum("nji,nj->ni", R, run["object_angular_velocity"])
        J = inertia_matrix(inertia)
        v, x = run["object_velocity"], run["object_position"]
        kinetic = 0.5 * mass * np.sum(v * v, axis=1) + 0.5 * np.einsum("ni,ij,nj->n", w_body, J, w_body)
        return kinetic, -mass * (x @ np.asarray(gravity, dtype=float))
    v, w, x = run["body_velocity"][:, 0], run["body_angular_velocity"][:, 0], run["body_position"][:, 0]
    pull = np.array([0.0, -gravity]) if np.ndim(gravity) == 0 else np.asarray(gravity, dtype=float)
    return 0.5 * mass * np.sum(v * v, axis=1) + 0.5 * inertia * w * w, -mass * (x @ pull)


def _energy_of_tree(run: Trajectory, known: Mapping[str, Any]) -> tuple[Array, Array]:
    """Return the sums of the kinetic and potential energies (n,) of all bodies."""
    kinetic, potential = np.zeros(len(run)), np.zeros(len(run))
    for k, name in enumerate(map(str, run["body"])):
        if name not in known["masses"]:
            continue
        mass, v, w = known["masses"][name], run["body_velocity"][:, k], run["body_angular_velocity"][:, k]
        kinetic += 0.5 * mass * np.sum(v * v, axis=1)
        potential -= mass * (run["body_position"][:, k] @ np.asarray(known["gravity"], dtype=float))
        if run.dimension == 2:
            kinetic += 0.5 * known["inertias"][name] * w * w
        else:
            R = rotation_matrices(run["body_quaternion"][:, k])
            w_body = np.einsum("nji,nj->ni", R, w)
            kinetic += 0.5 * np.einsum("ni,ij,nj->n", w_body, inertia_matrix(known["inertias"][name]), w_body)
    return kinetic, potential


def is_passive(run: Trajectory) -> bool:
    """Whether energy has to stay: nothing moves the hand or drives the body, and the contact rolled throughout."""
    known = set(physics(run))
    if not (known >= {"mass", "inertia", "gravity"} or "inertias" in known) or run.transitions:
        return False
    if not all(np.all(phases(run, slot)[1]) for slot in range(contacts(run))):
        return False
    if physics(run).get("resisting"):
        return False
    if run.layout == "pair":
        return not (np.any(run["hand_velocity"]) or np.any(run["hand_angular_velocity"]))
    if moving_terrain(run) is not None:
        return False
    return not any(np.any(run[name]) for name in _TORQUES if name in run)


def inertia_matrix(inertia: ArrayLike) -> Array:
    """Return the inertia (3, 3) that a record holds as one number, three on the diagonal, or a matrix."""
    J = np.asarray(inertia, dtype=float)
    if J.size == 1:
        return float(J.flat[0]) * np.eye(3)
    return np.diag(J.ravel()) if J.size == 3 else J.reshape(3, 3)


def _along(touch: recompute.RecordedTouch) -> Array:
    tangent = np.stack([touch.normal[:, 1], -touch.normal[:, 0]], axis=1)
    return np.sum(tangent * touch.slip, axis=1)


def _share(part: Array, whole: Array) -> Array:
    """Return part/whole; 0/0 is 0 (flight), anything over nothing or over a pulling force is 1e9."""
    noise = 1e-13 * max(float(np.max(np.abs(whole))), 1.0)
    fine = whole > noise
    return np.where(fine, part / np.where(fine, whole, 1.0), np.where((part <= noise) & (whole > -noise), 0.0, 1e9))


def relative_drift(total: Array, scale: float) -> float:
    """Return the largest change of `total` (n,) over `scale`, if that is positive."""
    change = largest(np.abs(total - total[0]))
    return change / scale if scale > 0 else change


def largest(values: Array) -> float:
    """Return the largest of `values`, zero of none."""
    return float(np.max(values)) if values.size else 0.0


def physics(run: Trajectory) -> dict[str, Any]:
    """Return the numbers of the record: mass, inertia, gravity, friction, ..."""
    return dict(run.metadata.get("physics", {}))


def require(known: Mapping[str, Any], key: str) -> Any:
    """Return ``known[key]``; raise InputError if the record lacks it."""
    if known.get(key) is None:
        raise InputError(f"metadata.physics.{key}", None, "given, for this metric")
    return known[key]
