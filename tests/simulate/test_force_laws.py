"""Laws that give forces: Hunt-Crossley contact at and off the surface, and a law from outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.contact import Kinematics
from trundle.contact.law import Friction, Law, Rows, no_rows
from trundle.contact.laws import LAWS, register
from trundle.models.tree.approach import approach_at

G, R, M = 9.81, 0.1, 0.5
BALL = tr.RigidBody(tr.Sphere(R), mass=M, inertia="solid")


def dropped(speed: float, **coefficients: Any) -> tr.Trajectory:
    """Return the run of a ball that meets a plane at this speed, without weight."""
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), law="hunt-crossley", gravity=(0, 0, 0), **coefficients)
    start = pair.place()
    x = np.array(start.x)
    x[pair.system.model().layout["object.velocity"]] = 0.0, 0.0, -speed
    # Where the contact ends the force has a kink: how far off a sample in that step is depends on where it falls.
    return tr.simulate(pair, replace(start, x=x), duration=0.03, output_step=5e-5, relative_tolerance=1e-10)


@pytest.mark.parametrize("dissipation", [0.01, 0.02, 0.04])
def test_restitution_is_one_less_dissipation_times_speed(dissipation: float) -> None:
    run = dropped(1.0, dissipation=dissipation)
    rebound = float(run["object_velocity"][-1, 2])
    # The bounce of Hunt-Crossley in closed form, a = 3 dissipation/2: with v1 the speed after, v0 the one before,
    # v1 + ln(1 - a v1)/a = -(v0 - ln(1 + a v0)/a).
    a = 1.5 * dissipation
    assert rebound + np.log(1 - a * rebound) / a == pytest.approx(-(1.0 - np.log(1 + a) / a), rel=1e-7)
    assert rebound == pytest.approx(1.0 - dissipation, abs=dissipation**2)
    assert run.status is tr.Status.SUCCESS
    assert np.all(np.diff(run["energy"]) < 1e-12)  # what the contact stores counts


def test_without_dissipation_energy_stays_and_the_depth_is_that_of_hertz() -> None:
    run = dropped(1.0, dissipation=0.0, stiffness=1e5)
    assert np.ptp(run["energy"]) < 1e-8
    deepest = (5 * M / (4 * 1e5)) ** 0.4
    assert -run["gap"].min() == pytest.approx(deepest, rel=1e-4)


def test_a_stiff_contact_rolls_as_the_rigid_law() -> None:
    slope = 0.2
    hand = tr.Hand(tr.Plane(), rpy=(0.0, slope, 0.0))
    rigid = tr.RollingPair(BALL, hand)
    goal = tr.simulate(rigid, rigid.place(), duration=0.3)["object_position"][-1]
    off = []
    for stiffness in (1e4, 1e5, 1e6):
        pair = tr.RollingPair(BALL, hand, law="hunt-crossley", stiffness=stiffness, dissipation=20.0)
        run = tr.simulate(pair, pair.place(), duration=0.3)
        off.append(float(np.linalg.norm(run["object_position"][-1] - goal)))
    # The depth falls as stiffness^(-2/3); what is left is the creep of smoothed friction.
    assert off[0] > 2.0 * off[1] > 4.0 * off[2]
    assert off[2] < 1e-3


@pytest.mark.parametrize(
    ("shape", "base", "at", "form"),
    [
        (tr.Ellipsoid([0.1, 0.08, 0.06]), tr.Dish([0.5, 0.6, 0.4]), (0.1, 0.0, -0.39), "level"),
        (tr.Ellipsoid([0.1, 0.08, 0.06]), tr.Dish([0.5, 0.6, 0.4]), (0.1, 0.0, -0.39), "chart"),
        (tr.Ellipsoid([0.1, 0.08, 0.06]), tr.Ellipsoid([0.5, 0.6, 0.4]), (0.1, 0.0, 0.39), "pair"),
    ],
)
def test_contact_points_stay_the_nearest_ones_at_a_gap(
    shape: tr.Shape, base: tr.Shape, at: tuple[float, ...], form: str
) -> None:
    how: dict[str, Any] = {
        "law": "hunt-crossley",
        "stiffness": 1e4,
        "dissipation": 0.05,
        "friction": 0.5,
        "contact": form,
    }
    pair = tr.RollingPair(tr.RigidBody(shape, mass=M), tr.Hand(base), **how)
    start = pair.place(contact_on_hand=at, object_angular_velocity=(1.0, 2.0, 3.0))
    system, model = pair.system, pair.system.model(start.atlas)
    x = np.array(start.x)
    x[model.layout["object.velocity"]] += (0.0, 0.1, 0.7)
    run = tr.simulate(pair, replace(start, x=x), duration=0.1, relative_tolerance=1e-11)
    assert run.status is tr.Status.SUCCESS
    # Without projection the coordinates follow their rates alone: these have to be those of the nearest points.
    free = tr.simulate(pair, replace(start, x=x), 0.1, stabilization="none", relative_tolerance=1e-11)
    assert float(np.max(run["gap"])) > 0.02
    np.testing.assert_allclose(free["gap"], run["gap"], atol=1e-8)
    np.testing.assert_allclose(free["contact_on_object"], run["contact_on_object"], atol=1e-7)
    pose = {"position": "object_position", "orientation": "object_quaternion"}
    for key, name in pose.items():
        x[model.layout[f"object.{key}"]] = run[name][-1]
    relative = system.relative_pose(x, 0, start.atlas)
    near = next(iter(system.proximity(0).local_minima(*relative)))
    found = approach_at(system, start.atlas, x, 0, near)
    assert found is not None
    assert found.gap == pytest.approx(float(run["gap"][-1].item()), abs=1e-9)


@pytest.mark.parametrize("stiffness", [1e5, 1e7, 1e8, 1e9])
def test_a_compliant_robot_starts_in_the_air_and_rolls(stiffness: float) -> None:
    robot = tr.Robot(gravity=(0.0, 0.0, -G), law="hunt-crossley")
    robot.free(M, shape=tr.Sphere(R), name="ball")
    robot.terrain(tr.Plane(), friction=tr.Friction(0.3, stiffness=stiffness, dissipation=2.0))
    tree = robot.finish()
    start = tree.place(ball=(0.0, 0.0, 0.15), contacts=[], rates={"ball": (0.0, 20.0, 0.0, 0.0, 0.0, 0.0)})
    run = tr.simulate(tree, start, duration=1.5)
    assert run.status is tr.Status.SUCCESS
    # About a ball's lowest point angular momentum stays, v = 2/7 w R at last; friction acts half as high above it as
    # the ball is pressed in.
    deepest = (5 * M * 2 * G * (0.15 - R) / (4 * stiffness)) ** 0.4
    assert run["body_velocity"][-1].ravel()[0] == pytest.approx(2 / 7 * 20.0 * R, rel=deepest / R)


@dataclass(frozen=True)
class Cushion(Law):
    """A linear spring along the normal that also pulls: a law from outside that gives a force."""

    stiffness: float = 400.0
    name = "cushion"
    slipping = True
    distant = True

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        force = -self.stiffness * k.distance * k.n
        stored = self.stiffness * k.distance**2 / 2
        return no_rows(k, ca.vertcat(ca.SX(k.wrel.shape[0], 1), force), stored)

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        return -self.stiffness * k.distance * k.n, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        return {}


@pytest.fixture
def _cushion() -> Iterator[None]:
    register(Cushion())
    yield
    del LAWS["cushion"]


@pytest.mark.usefixtures("_cushion")
def test_a_force_law_from_outside_swings_at_its_frequency() -> None:
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), law="cushion")
    run = tr.simulate(pair, pair.place(), duration=1.0)
    sag, rate = M * G / 400.0, np.sqrt(400.0 / M)
    np.testing.assert_allclose(run["gap"].ravel(), -sag * (1 - np.cos(rate * run.time)), atol=1e-9)
    assert run.status is tr.Status.SUCCESS
    assert np.ptp(run["energy"]) < 1e-9
    assert set(run["mode"].tolist()) == {"cushion"}


def test_derivatives_of_a_compliant_contact_are_finite_for_plans() -> None:
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), law="hunt-crossley", rolling_friction=1e-3)
    model = pair.system.model()
    rate = model.dynamics(list(pair.system.start_laws)).xdot
    second = ca.Function("second", [model.x, model.u], [ca.jacobian(ca.jacobian(rate, model.x), model.x)])
    start = pair.place(object_angular_velocity=(0.0, 1.0, 0.0))
    for height in (-1e-3, 0.0, 1e-3):
        x = np.array(start.x)
        x[model.layout["object.position"]] += 0.0, 0.0, height
        assert np.all(np.isfinite(np.asarray(ca.DM(second(x, 0)))))


@pytest.mark.parametrize("d", [2, 3])
def test_a_compliant_box_falls_onto_its_corners_and_rests_as_deep_as_its_weight_asks(d: int) -> None:
    stiffness, shape = 1e5, tr.Box([0.2, 0.1, 0.15][:d])
    coefficients: dict[str, Any] = {"law": "hunt-crossley", "stiffness": stiffness, "dissipation": 3.0}
    base = tr.Hand(tr.Plane()) if d == 3 else tr.Ground(tr.Line())
    pair = tr.RollingPair(tr.RigidBody(shape, mass=M), base, **coefficients)
    half = 0.15 if d == 3 else 0.1
    air = {"object_position": (0.0, 0.0, half + 0.02)} if d == 3 else {"position": (0.0, half + 0.02)}
    start = pair.place(**air)
    run = tr.simulate(pair, start, duration=2.0, output_step=0.01)
    assert run.status is tr.Status.SUCCESS
    assert not run.transitions
    deep = (M * G / (2 ** (d - 1)) / stiffness) ** (2 / 3)
    height = run["object_position" if d == 3 else "body_position"][-1].ravel()[-1]
    assert float(height) == pytest.approx(half - deep, rel=1e-6)


def collided(first: str, second: str) -> tr.Trajectory:
    """Return the run of two soft balls that fly at each other and spin alike: each is the other one, turned by pi."""
    robot = tr.Robot(gravity=(0, 0, 0), law="hunt-crossley", on_slip="slide", on_separation="fly")
    inertia = 0.4 * M * R**2
    for name in ("a", "b"):
        robot.free(M, (inertia,) * 3, shape=tr.Sphere(R), name=name)
    robot.terrain(tr.Plane(), at=(0.0, 0.0, -9.0), friction=tr.Friction(0.4, stiffness=1e5, dissipation=0.1))
    robot.contact(first, second)
    tree = robot.finish()
    rates = {"a": (1.0, 2.0, 40.0, 1.0, 0.3, 0.0), "b": (-1.0, -2.0, 40.0, -1.0, -0.3, 0.0)}
    ahead = (1.0, 0.0, 0.0, 0.0)
    places = {"a": (-0.12, 0.0, 0.0, *ahead), "b": (0.12, 0.0, 0.0, *ahead)}
    start = tree.place(**places, contacts=[], rates=rates)
    return tr.simulate(tree, start, duration=0.06, output_step=1e-4)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_two_soft_balls_that_are_each_other_turned_stay_so(names: tuple[str, str]) -> None:
    """Friction acts in the middle of both points: at those of one body it would turn one more than the other."""
    run = collided(*names)
    assert run.status is tr.Status.SUCCESS
    position, spin = run.dataset["body_position"].values, run.dataset["body_angular_velocity"].values
    turn = np.array([-1.0, -1.0, 1.0])
    assert np.ptp(spin[:, 0, 2]) > 1.0, "friction turned them"
    np.testing.assert_allclose(position[:, 1], turn * position[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(spin[:, 1], turn * spin[:, 0], rtol=0, atol=1e-9)
