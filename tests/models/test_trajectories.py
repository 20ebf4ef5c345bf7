"""Runs against the independent derivation, and what a run must conserve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.models import runs_of_pairs
from tests.oracles import analytic
from tests.slowly import slow_but

RUNS = (
    [(name, {}) for name in runs_of_pairs.CASES]
    + [
        (name, {"coordinates": "rolling"})
        for name in runs_of_pairs.CASES
        if "super" not in name and "blunt" not in name
    ]
    + [("sphere on a moving plate", {"contact": "chart"}), ("ellipsoid in a dish", {"contact": "level-pair"})]
)

QUICK = {"sphere on a moving plate", "ellipsoid below an ellipsoid"}
"""Runs whose independent derivation takes a few seconds; that of the others takes up to a quarter of a minute."""


def sampled(run: tr.Trajectory, name: str, times: np.ndarray) -> np.ndarray:
    """Values at the wanted times: changes of charts add samples of their own."""
    index = [int(np.argmin(np.abs(run.time - t))) for t in times]
    np.testing.assert_allclose(run.time[index], times, atol=1e-12)
    return run[name][index]


@pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(*run, marks=() if run[0] in QUICK else pytest.mark.slow) for run in RUNS],
)
def test_trajectories_are_those_of_maximal_coordinates(name, options):
    case, right = runs_of_pairs.case(name), runs_of_pairs.oracle(name)
    run = case.run(**options)
    times = np.linspace(0, case.duration, 21)
    assert run.status.label in ("success", "infeasible")  # bilateral: it may have pulled
    np.testing.assert_allclose(sampled(run, "object_position", times), right["p"], atol=1e-9)
    q = sampled(run, "object_quaternion", times)
    np.testing.assert_allclose(Rotation.from_quat(q, scalar_first=True).as_matrix(), right["R"], atol=1e-8)
    size = np.abs(right["force"]).max()
    np.testing.assert_allclose(sampled(run, "contact_force", times), right["force"], atol=1e-5 * size)
    assert np.abs(run["gap"]).max() < 1e-11
    assert np.abs(run["slip"]).max() < 1e-10


PASSIVE = {
    "ellipsoid in a dish": (tr.Ellipsoid([0.3, 0.2, 0.15]), tr.Dish([2.0, 1.5, 1.2]), [0.6, 0.4, -1.0], "rolling"),
    "pure rolling in a dish": (
        tr.Ellipsoid([0.3, 0.2, 0.15]),
        tr.Dish([2.0, 1.5, 1.2]),
        [0.6, 0.4, -1.0],
        "pure-rolling",
    ),
    "ellipsoid on a plane": (tr.Ellipsoid([0.2, 0.18, 0.22]), tr.Plane(), [0.0, 0.0, 0.0], "rolling"),
    "ball in a tube": (tr.Sphere(0.2), tr.Tube(1.0), [1.0, 0.0, 0.0], "rolling"),
}


KEPT = [
    ("ellipsoid in a dish", "pose"),
    ("ellipsoid in a dish", "rolling"),
    ("pure rolling in a dish", "rolling"),
    ("ellipsoid on a plane", "pose"),
    ("ellipsoid on a plane", "rolling"),
    ("ball in a tube", "pose"),
]


@pytest.mark.parametrize(("name", "coordinates"), slow_but(KEPT, KEPT[0], KEPT[4]))
def test_passive_rolling_keeps_its_energy_for_a_minute(name, coordinates):
    shape, base, at, law = PASSIVE[name]
    body = tr.RigidBody(shape, mass=0.8, inertia=[0.008, 0.011, 0.013], center_of_mass=[0.0, 0.01, 0.02])
    pair = tr.RollingPair(
        body, tr.Hand(base), law=law, on_slip="ignore", on_separation="ignore", coordinates=coordinates
    )
    spin = 0.0 if law == "pure-rolling" else 1.0
    n = tr.Hand(base).shape.distance([at])[1][0]
    w = np.array([0.6, -0.4, 0.2]) + np.array([0, 0, 3.0 if "tube" in name else 0.0])
    w += n * (spin - n @ w)
    start = pair.place(contact_on_hand=at, object_quaternion=[0.5, 0.5, 0.5, 0.5], object_angular_velocity=w)
    run = tr.simulate(pair, start, 60.0, relative_tolerance=1e-12)
    assert run.status.label in ("success", "infeasible")
    assert run.time[-1] == pytest.approx(60.0)
    energy = run["energy"]
    moving = np.ptp(-9.81 * 0.8 * run["object_position"][:, 2])  # how much energy changed its kind
    assert moving > 1e-3
    assert np.abs(energy - energy[0]).max() <= 1e-9 * max(abs(energy[0]), moving)


def spherical_base(law: str, **options) -> tuple[tr.Trajectory, dict]:
    radius, offset, mass, I1, I3 = 0.3, 0.1, 2.0, 0.06, 0.04
    top = tr.RigidBody(tr.Sphere(radius), mass=mass, inertia=[I1, I1, I3], center_of_mass=[0, 0, -offset])
    pair = tr.RollingPair(top, tr.Hand(tr.Plane()), law="rolling", on_separation="ignore", **options)
    q = Rotation.from_euler("xyz", [0.5, 0.2, 0.1]).as_quat(scalar_first=True)
    slip = [0.4, -0.2, 0.0] if law == "sliding" else [0.0, 0.0, 0.0]
    start = pair.place(object_quaternion=q, object_angular_velocity=[1.0, 2.0, 6.0], slip=slip)
    run = tr.simulate(pair, start, 3.0, relative_tolerance=1e-12)
    return run, {"I1": I1, "I3": I3, "mass": mass, "radius": radius, "offset": offset}


def test_jellett_and_routh_of_a_body_with_a_spherical_base():
    run, p = spherical_base("rolling", on_slip="ignore")
    R = Rotation.from_quat(run["object_quaternion"], scalar_first=True).as_matrix()
    rho = run["contact_position"] - run["object_position"]
    J = [
        analytic.jellett(a, w, np.diag([p["I1"], p["I1"], p["I3"]]), r)
        for a, w, r in zip(R, run["object_angular_velocity"], rho, strict=True)
    ]
    routh = [analytic.routh(a, w, **p) for a, w in zip(R, run["object_angular_velocity"], strict=True)]
    tilt = R[:, 2, 2]
    assert np.ptp(tilt) > 0.05  # it nutates: neither integral is constant by symmetry alone
    assert np.ptp(J) <= 1e-10 * np.abs(J).max()
    assert np.ptp(routh) <= 1e-10 * np.abs(routh).max()


def test_jellett_survives_sliding_and_routh_does_not():
    run, p = spherical_base("sliding", on_slip="slide", friction=0.05)
    assert list(dict.fromkeys(run["mode"])) == ["sliding", "rolling"]
    slides = np.flatnonzero(run["mode"] == "sliding")
    R = Rotation.from_quat(run["object_quaternion"], scalar_first=True).as_matrix()
    rho = run["contact_position"] - run["object_position"]
    J = [
        analytic.jellett(a, w, np.diag([p["I1"], p["I1"], p["I3"]]), r)
        for a, w, r in zip(R, run["object_angular_velocity"], rho, strict=True)
    ]
    routh = [analytic.routh(a, w, **p) for a, w in zip(R, run["object_angular_velocity"], strict=True)]
    assert slides.size > 50
    assert np.ptp(J) <= 1e-9 * np.abs(J).max()
    assert np.ptp(np.array(routh)[slides]) > 1e-3 * np.abs(routh).max()


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
def test_a_ball_in_a_vertical_tube_swings_at_two_sevenths_of_its_orbit_squared(coordinates):
    R, r = 1.0, 0.2
    ball = tr.RigidBody(tr.Sphere(r), mass=0.5)
    pair = tr.RollingPair(ball, tr.Hand(tr.Tube(R)), friction=5.0, coordinates=coordinates)
    orbit = 6.0  # centre's speed / (R - r) = -w_z r / (R - r)
    start = pair.place(contact_on_hand=[R, 0, 0], object_angular_velocity=[0.7, 0.4, -orbit * (R - r) / r])
    run = tr.simulate(pair, start, 20.0, relative_tolerance=1e-13)
    assert run.status.label == "success"
    x, y, z = run["object_position"].T
    t = run.time
    rate = np.polyfit(t, np.unwrap(np.arctan2(y, x)), 1)[0]
    assert rate == pytest.approx(orbit, rel=1e-10)

    def swing(n: float) -> tuple[np.ndarray, np.ndarray]:
        basis = np.stack([np.ones_like(t), np.cos(n * t), np.sin(n * t)], axis=1)
        fit = np.linalg.lstsq(basis, z, rcond=None)[0]
        return fit, z - basis @ fit

    n = least_squares(lambda n: swing(n[0])[1], [0.53 * rate], xtol=1e-15, ftol=1e-15, gtol=1e-15).x[0]
    fit, off = swing(n)
    assert np.hypot(*fit[1:]) > 0.1
    assert np.abs(off).max() < 1e-9  # nothing but the swing
    assert n / rate == pytest.approx(analytic.tube_axial_ratio(), rel=1e-9)
    assert n / rate == pytest.approx(np.sqrt(2 / 7), rel=1e-9)
    radial = 0.7
    path = analytic.tube_axial_path(t, orbit, 0.4, r, 0.0, z_speed(run), radial)
    np.testing.assert_allclose(z, path, atol=1e-9)


def z_speed(run: tr.Trajectory) -> float:
    return float(run["object_velocity"][0, 2])


@pytest.mark.parametrize("contact", ["auto", "chart"])
def test_a_ball_on_the_side_of_a_capsule_rolls_as_on_a_cylinder(contact):
    ball, runs = tr.RigidBody(tr.Sphere(0.1), mass=0.5, center_of_mass=[0.01, 0, 0.02]), []
    for base in (tr.Cylinder(0.3), tr.Capsule(0.3, 2.0)):
        pair = tr.RollingPair(ball, tr.Hand(base, rpy=[np.pi / 2, 0, 0]), contact=contact, on_slip="ignore")
        start = pair.place(contact_on_hand=[0.05, 0.295, 0.2], object_angular_velocity=[1.0, 0.2, 0.5])
        runs.append(tr.simulate(pair, start, 0.3, output_step=0.05))
    assert runs[0].status == runs[1].status
    np.testing.assert_allclose(runs[0]["object_position"], runs[1]["object_position"], atol=1e-9)
    assert np.ptp(runs[0]["object_position"], axis=0).max() > 0.02


def test_a_ring_on_a_plane_has_one_contact():
    ring = tr.RigidBody(tr.Torus(0.3, 0.1), mass=1.0)
    pair = tr.RollingPair(ring, tr.Hand(tr.Plane()), on_slip="ignore")
    tilted = [np.cos(0.3), np.sin(0.3), 0, 0]
    start = pair.place(object_quaternion=tilted, object_angular_velocity=[0.0, 1.0, 0.5])
    assert len(pair.system.contact_pairs) == 1
    run = tr.simulate(pair, start, 0.2)
    assert np.isfinite(run["contact_force"]).all()
    assert np.abs(run["gap"]).max() < 1e-12
