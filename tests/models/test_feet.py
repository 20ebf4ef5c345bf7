"""Feet of any shape: the tree and Pinocchio with the packed contact agree, on a plane and on another body; drops."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import trundle as tr
import trundle.geometry as tg
from tests.models.urdf.test_articulated import LEG, TENSOR, one_link
from trundle.contact.choice import contact_form, make_contact
from trundle.contact.laws import LAWS
from trundle.contact.packed import contact_function, still_frame
from trundle.models.feet import Foot
from trundle.models.tree.conversion import to_matrix
from trundle.models.urdf.articulated import Articulated, accelerations
from trundle.models.urdf.checks import check_urdf
from trundle.models.urdf.examples import load_example_robot
from trundle.models.urdf.robot import robot_from_urdf

G = (0.3, -0.2, -9.81)
AT = (0.03, 0.0, -0.3)
SHAPES = {
    "ellipsoid": tg.Ellipsoid((0.15, 0.08, 0.05)),
    "superellipsoid": tg.Superellipsoid((0.15, 0.08, 0.05), (1.8, 1.9), 0.01),
    "blunt superellipsoid": tg.Superellipsoid((0.15, 0.08, 0.05), 4.0, 0.01),
    "capsule": tg.Capsule(0.05, 0.2),
    "disc": tg.Disc(0.1, 0.02),
    "box": tg.Rounded(tg.Box((0.12, 0.06, 0.04)), 0.02),
}


@pytest.mark.parametrize("law", ["rolling", "pure-rolling", "fixed"])
@pytest.mark.parametrize("ground", [tg.Plane(), tg.Ellipsoid((0.5, 0.6, 0.4))], ids=["plane", "ellipsoid"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_both_routes_have_the_same_accelerations_and_forces(shape: Any, ground: Any, law: str) -> None:
    pytest.importorskip("pinocchio")
    form = contact_form(shape, ground)
    if form not in ("support", "pair"):
        pytest.skip("found by charts, which is for simulation alone")
    rng = np.random.default_rng(3)
    other = Articulated(check_urdf(LEG), G)
    robot = robot_from_urdf(check_urdf(LEG), {"shin": Foot(shape, position=AT, law=law)}, ground, gravity=G)
    model = robot.model()
    dynamics = model.dynamics([LAWS[law]] + [LAWS["separated"]] * (len(model.constraints) - 1))
    function = ca.Function("f", [model.x, model.u], [dynamics.nudot, dynamics.lam])
    contact = make_contact(shape, ground, form, AT)
    touch = contact_function(contact, LAWS[law], compiled=False)
    for _ in range(3):
        q = other.neutral + 0.4 * rng.normal(size=other.nq)
        q[3:7] /= np.linalg.norm(q[3:7])
        nu, torque = rng.normal(size=other.nv), rng.normal(size=1)
        s = rng.normal(size=contact.size)
        x = np.concatenate([q, *[s] * len(model.constraints), nu])
        terms = other.terms(q, nu, ["shin"])
        a, push = accelerations(terms, torque, [touch.rows(terms.motions[0], still_frame(7), s)])
        ours, lam = (np.asarray(value).ravel() for value in function(x, torque))
        np.testing.assert_allclose(ours, a, rtol=0, atol=1e-9 * (1 + np.abs(a).max()))
        np.testing.assert_allclose(lam, push, rtol=0, atol=1e-9 * (1 + np.abs(push).max()))


class RungeKutta:
    """A single body on Pinocchio's route: classical Runge-Kutta of order 4 on (position, quaternion, nu)."""

    def __init__(self, mass: float, com: tuple[float, ...], shape: Any) -> None:
        self.body = Articulated(check_urdf(one_link(mass, com)), G)
        self.touch = contact_function(make_contact(shape, tg.Plane(), "support"), LAWS["rolling"], compiled=False)

    def rate(self, y: np.ndarray) -> np.ndarray:
        orientation = y[3:7] / np.linalg.norm(y[3:7])
        terms = self.body.terms(np.concatenate([y[:3], orientation]), y[7:], ["foot"])
        nudot, _ = accelerations(terms, [], [self.touch.rows(terms.motions[0], still_frame(6))])
        w, x, z = y[7:10], y[4:7], y[3]
        return np.concatenate([y[10:13], [-w @ x / 2], (z * w + np.cross(w, x)) / 2, nudot])

    def run(self, y: np.ndarray, duration: float, count: int) -> np.ndarray:
        h = duration / count
        for _ in range(count):
            k1 = self.rate(y)
            k2 = self.rate(y + h / 2 * k1)
            k3 = self.rate(y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + self.rate(y + h * k3))
        return y


COM = (0.02, -0.01, -0.015)
AXES = (0.15, 0.08, 0.05)


@pytest.fixture
def rolled(monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """The rolling pair's 2 s down a plane (gravity tilted): its start as (p, quaternion, nu), its last place."""
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    body = tr.RigidBody(tr.Ellipsoid(AXES), 1.2, TENSOR, COM)
    pair = tr.RollingPair(body, tr.Ground(tr.Plane()), gravity=G, on_slip="ignore", on_separation="ignore")
    orientation = np.array([0.9, 0.3, -0.2, 0.25]) / np.linalg.norm([0.9, 0.3, -0.2, 0.25])
    w = np.array([0.6, -0.4, 1.0])
    start = pair.place(contact_on_hand=[0, 0, 0], object_quaternion=orientation, object_angular_velocity=w)
    run = tr.simulate(pair, start, 2.0, relative_tolerance=1e-12)
    center = run["object_position"][0] - to_matrix(orientation) @ COM
    return np.concatenate([center, orientation, w, np.cross(w, center)]), run["object_position"][-1]


def place_of_mass(y: np.ndarray) -> np.ndarray:
    return y[:3] + to_matrix(y[3:7] / np.linalg.norm(y[3:7])) @ COM


@pytest.mark.parametrize("tolerance", [1e-10, 1e-12])
def test_a_robot_of_one_ellipsoid_rolls_as_the_pair_does(rolled: tuple[np.ndarray, np.ndarray], tolerance) -> None:
    """The robot of a URDF with one link: within 1e-7 m after 2 s (measured: 7e-12 m, 4e-14 m)."""
    y, end = rolled
    urdf, feet = check_urdf(one_link(1.2, COM)), {"foot": Foot(tg.Ellipsoid(AXES))}
    robot = robot_from_urdf(urdf, feet, gravity=G, on_slip="ignore", on_separation="ignore")
    start = robot.place(foot=y[:7], rates={"foot": y[7:]})
    np.testing.assert_allclose(start.x, y, rtol=0, atol=1e-12)
    run = tr.simulate(robot, start, 2.0, relative_tolerance=tolerance)
    assert (run.status, run.time[-1]) == (tr.Status.SUCCESS, 2.0)
    assert np.linalg.norm(run["body_position"][-1, 0] - end) < (1e-9 if tolerance > 1e-11 else 1e-11)


def test_pinocchio_rolls_a_single_ellipsoid_as_the_pair_does(rolled: tuple[np.ndarray, np.ndarray]) -> None:
    """Without extrapolation: an adaptive method at 1e-10 is within 1e-9 m after 2 s (measured: 3e-11 m)."""
    pytest.importorskip("pinocchio")
    y, end = rolled
    route = RungeKutta(1.2, COM, tr.Ellipsoid(AXES))
    run = solve_ivp(lambda _, y: route.rate(y), (0.0, 2.0), y, "DOP853", rtol=1e-10, atol=1e-12)
    assert run.success
    assert np.linalg.norm(place_of_mass(run.y[:, -1]) - end) < 1e-9


@pytest.mark.slow
def test_fixed_steps_on_the_single_ellipsoid_are_of_order_four(rolled: tuple[np.ndarray, np.ndarray]) -> None:
    pytest.importorskip("pinocchio")
    y, end = rolled
    route = RungeKutta(1.2, COM, tr.Ellipsoid(AXES))
    errors = [float(np.linalg.norm(place_of_mass(route.run(y, 2.0, count)) - end)) for count in (250, 500, 1000)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.1)


def test_a_robot_drops_onto_its_feet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The biped Bolt: free fall keeps its energy, landings lose some, feet stay on or above the ground."""
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    try:
        urdf = load_example_robot("bolt")
    except tr.errors.MissingExtraError:
        pytest.skip("example-robot-data is not installed")
    feet = {link: Foot(tg.Sphere(0.02)) for link in urdf.links if link.endswith("FOOT")}
    assert len(feet) == 2
    robot = robot_from_urdf(urdf, feet, friction=0.8, on_slip="slide", on_separation="fly")
    model = robot.system.model()
    gaps = [k.gap[2] for k in model.terms([LAWS["rolling"]] * 2).kin]
    places = ca.Function("p", [model.x], [ca.vertcat(*gaps)])
    base = next(iter(robot.origins))
    low = robot.place(contacts=[], **{base: (0.0, 0.0, 2.0)})
    height = float(np.min(np.asarray(places(low.x))))
    start = robot.place(contacts=[], **{base: (0.0, 0.0, 2.0 - height + 0.01)}, rates={base: (0.3, 0.2, 0.0)})
    run = tr.simulate(robot, start, 0.06, relative_tolerance=1e-9)
    landed = next(t["time"] for t in run.transitions if t["reason"] == "the gap closed")
    falling = run.time < landed
    energy = run["energy"]
    assert np.ptp(energy[falling]) < 1e-8 * np.abs(energy).max()
    assert energy[-1] < energy[0]
    assert run["gap"].min() > -1e-9
    assert run["contact_force"][..., 2].min() >= 0.0
