"""Sliding, slipping, leaving and falling with answers in closed form; sheet 2 section 11, sheet 4 sections 1 and 6."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.oracles import analytic
from trundle.status import Status

G = 9.81


def ball(radius: float = 0.1, mass: float = 0.5) -> tr.RigidBody:
    return tr.RigidBody(tr.Sphere(radius), mass, "solid")


def disc(radius: float = 0.1, mass: float = 0.5) -> tr.RigidBody:
    return tr.RigidBody(tr.Circle(radius), mass, "solid")


def test_sliding_ball_rolls_after_two_sevenths_with_five_sevenths() -> None:
    pair = tr.RollingPair(ball(), tr.Ground(tr.Plane()), friction=0.2, on_slip="slide")
    run = tr.simulate(pair, pair.place(slip=[0.8, -0.6, 0.0]), 1.0)
    time, speed = analytic.sliding_ball(1.0, 0.2)
    assert [t["to"] for t in run.transitions] == ["sliding", "rolling"]
    assert run.transitions[1]["time"] == pytest.approx(time, abs=1e-8)
    np.testing.assert_allclose(run["object_velocity"][-1], speed * np.array([0.8, -0.6, 0.0]), atol=1e-8)
    assert run.status is Status.SUCCESS
    assert run.feasible


def test_sliding_disc_rolls_after_a_third_with_two_thirds() -> None:
    pair = tr.RollingPair(disc(), tr.Ground(tr.Line(0.0, 0.0)), friction=0.2, on_slip="slide")
    run = tr.simulate(pair, pair.place(slip=1.0), 1.0)
    time, speed = analytic.sliding_ball(1.0, 0.2, k=0.5)
    assert run.transitions[1]["time"] == pytest.approx(time, abs=1e-8)
    np.testing.assert_allclose(run["body_velocity"][-1, 0], [speed, 0.0], atol=1e-8)


@pytest.mark.parametrize(("factor", "slips"), [(1 - 1e-6, False), (1 + 1e-6, True)])
@pytest.mark.parametrize("rule", ["stop", "slide", "ignore"])
def test_ball_on_a_slope_slips_exactly_beyond_seven_halves_mu(factor: float, slips: bool, rule: str) -> None:
    mu = 0.2
    tilt = np.arctan(7 * mu / 2 * factor)
    hand = tr.Hand(tr.Plane(), rpy=[tilt, 0.0, 0.0])
    pair = tr.RollingPair(ball(), hand, friction=mu, on_slip=rule)
    run = tr.simulate(pair, pair.place(), 0.2)
    expected = {"stop": Status.SLIPPED, "slide": Status.SUCCESS, "ignore": Status.INFEASIBLE}[rule]
    assert run.status is (expected if slips else Status.SUCCESS)
    assert [t["to"] for t in run.transitions] == ({"stop": ["slipped"], "slide": ["sliding"]}.get(rule, []) * slips)
    assert run.feasible is (not slips or rule != "ignore")


@pytest.mark.parametrize(("factor", "slips"), [(1 - 1e-6, False), (1 + 1e-6, True)])
def test_disc_on_a_line_slips_exactly_beyond_three_mu(factor: float, slips: bool) -> None:
    slope = 3 * 0.2 * factor
    pair = tr.RollingPair(disc(), tr.Ground(tr.Line(slope, 0.0)), friction=0.2)
    run = tr.simulate(pair, pair.place(), 0.2)
    assert run.status is (Status.SLIPPED if slips else Status.SUCCESS)


def test_slide_down_a_steep_slope_is_that_of_a_block() -> None:
    slope, mu, duration = 1.2, 0.1, 0.5
    pair = tr.RollingPair(disc(), tr.Ground(tr.Line(slope, 0.0)), friction=mu, on_slip="slide")
    run = tr.simulate(pair, pair.place(), duration)
    angle = np.arctan(slope)
    down = -np.array([np.cos(angle), np.sin(angle)])
    speed = (G * np.sin(angle) - mu * G * np.cos(angle)) * duration
    np.testing.assert_allclose(run["body_velocity"][-1, 0], speed * down, atol=1e-7)
    assert run["body_angular_velocity"][-1, 0] == pytest.approx(2 * mu * G * np.cos(angle) / 0.1 * duration, abs=1e-6)


def test_ball_leaves_a_fixed_sphere_at_ten_seventeenths() -> None:
    for start in (0.3, 0.02):
        pair = tr.RollingPair(ball(), tr.Hand(tr.Sphere(0.5)), friction=5.0, on_slip="ignore")
        run = tr.simulate(pair, pair.place(contact_on_hand=[0.5 * np.sin(start), 0, 0.5 * np.cos(start)]), 5.0)
        assert run.status is Status.SEPARATED
        assert run["contact_normal"][-1, 2] == pytest.approx(analytic.leaving_from(start), abs=1e-8)
        assert run.time[-1] == pytest.approx(analytic.leaving_time(start, 0.1, 0.5), abs=1e-8)
    assert analytic.leaving_from(0.0) == pytest.approx(10 / 17)


def test_disc_leaves_a_fixed_circle() -> None:
    start = 0.1
    hill = tr.Ground(tr.Arc(0.5, [0.0, 0.0], "outside"))
    pair = tr.RollingPair(disc(), hill, friction=5.0, on_slip="ignore")
    run = tr.simulate(pair, pair.place(contact_x=0.5 * np.sin(start)), 5.0)
    assert run.status is Status.SEPARATED
    assert run["contact_position"][-1, 0, 1] / 0.5 == pytest.approx(analytic.leaving_from(start, 0.5), abs=1e-8)
    assert run.time[-1] == pytest.approx(analytic.leaving_time(start, 0.1, 0.5, 0.5), abs=1e-8)


def test_flight_is_a_parabola_and_keeps_the_spin() -> None:
    """A ball leaves a ball, then nothing pushes it."""
    pair = tr.RollingPair(ball(), tr.Hand(tr.Sphere(0.5)), friction=5.0, on_slip="ignore", on_separation="fly")
    run = tr.simulate(pair, pair.place(contact_on_hand=[0.5 * np.sin(0.3), 0, 0.5 * np.cos(0.3)]), 1.0)
    away = int(np.argmax(run["mode"] == "separated"))
    t = run.time[away:] - run.time[away]
    fall = (
        run["object_position"][away] + t[:, None] * run["object_velocity"][away] - 0.5 * G * t[:, None] ** 2 * [0, 0, 1]
    )
    np.testing.assert_allclose(run["object_position"][away:], fall, atol=1e-12)
    assert np.ptp(run["object_angular_velocity"][away:], axis=0).max() < 1e-13
    assert np.abs(run["contact_force"][away:]).max() == 0.0
    assert np.all(np.diff(run["gap"][away:]) > 0)


def test_period_of_a_disc_in_a_bowl() -> None:
    amplitude, r, R = 0.9, 0.1, 1.0
    bowl = tr.Ground(tr.Arc(R, [0.0, R], "inside"))
    pair = tr.RollingPair(disc(r), bowl, friction=5.0)
    period = analytic.bowl_period(amplitude, r, R)
    run = tr.simulate(pair, pair.place(contact_x=R * np.sin(amplitude)), period, relative_tolerance=1e-12)
    x = np.arcsin(run["contact_position"][:, 0, 0] / R)
    assert x[-1] == pytest.approx(amplitude, abs=1e-9)
    assert abs(run["body_velocity"][-1]).max() < 1e-9
    half = tr.simulate(pair, pair.place(contact_x=R * np.sin(amplitude)), period / 2)
    assert half["contact_position"][-1, 0, 0] == pytest.approx(-R * np.sin(amplitude), abs=1e-9)


def test_incline_to_twelve_digits() -> None:
    slope = 0.3
    pair = tr.RollingPair(disc(mass=1.0), tr.Ground(tr.Line(np.tan(slope), 0.0)), friction=1.0)
    run = tr.simulate(pair, pair.place(), 1.0)
    a, friction, normal = analytic.incline(slope)
    speed = np.linalg.norm(run["body_velocity"][:, 0], axis=1)
    np.testing.assert_allclose(speed, a * run.time, atol=1e-12)
    n = np.array([-np.sin(slope), np.cos(slope)])
    np.testing.assert_allclose(run["contact_force"][:, 0] @ n, normal, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(run["contact_force"][:, 0] @ [np.cos(slope), np.sin(slope)]), friction, atol=1e-12
    )


def test_cycloid_and_coin_paradox() -> None:
    r = 0.3
    pair = tr.RollingPair(disc(r), tr.Ground(tr.Line(0.0, 0.0)))
    run = tr.simulate(pair, pair.place(angular_velocity=-2.0), np.pi)
    turned = -run["body_angle"][:, 0]
    rim = run["body_position"][:, 0] + r * np.column_stack([-np.sin(turned), -np.cos(turned)])
    np.testing.assert_allclose(rim, analytic.cycloid(r, turned), atol=1e-12)
    assert turned[-1] == pytest.approx(2 * np.pi, abs=1e-12)


def test_coin_paradox() -> None:
    """A coin that rolls over a quarter of an equal one turns by half a turn: one full turn on half the rim."""
    r, ignore = 0.3, {"on_slip": "ignore", "on_separation": "ignore"}
    pair = tr.RollingPair(disc(r), tr.Ground(tr.Arc(r, [0.0, 0.0], "outside")), gravity=0.0, **ignore)
    run = tr.simulate(pair, pair.place(contact_x=0.0, angular_velocity=-1.0), 3.0)
    turned = -run["body_angle"][:, 0]
    arc = r * np.arctan2(run["contact_position"][:, 0, 0], run["contact_position"][:, 0, 1])
    np.testing.assert_allclose(arc, analytic.circle_on_circle_arc(r, r, turned), atol=1e-12)
    np.testing.assert_allclose(
        run["body_position"][:, 0, 1], analytic.circle_on_circle_height(r, r, turned), atol=1e-12
    )
    assert run.status is Status.INFEASIBLE  # without gravity nothing holds the coin: the contact pulls


def test_ball_in_a_vertical_tube_bobs_at_sqrt_two_sevenths_of_its_orbit() -> None:
    r, R, orbit = 0.05, 0.3, 20.0
    # Contact at +x inside the tube; the centre circles at `orbit`, so the ball spins the other way.
    w = np.array([0.0, 0.0, -orbit * (R - r) / r])
    pair = tr.RollingPair(ball(r), tr.Hand(tr.Tube(R)), friction=5.0)
    run = tr.simulate(pair, pair.place(contact_on_hand=[R, 0, 0], object_angular_velocity=w), 2.0, output_step=1e-3)
    p = run["object_position"]
    azimuth = np.unwrap(np.arctan2(p[:, 1], p[:, 0]))
    rate = azimuth[-1] / run.time[-1]
    assert abs(rate) == pytest.approx(orbit, rel=1e-9)
    height = analytic.tube_axial_path(run.time, rate, 0.4, r, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(p[:, 2], height, atol=1e-9)


def test_disc_rolls_in_place_at_the_steady_rate() -> None:
    r, m, tilt = 0.1, 0.3, 0.7
    k1, k3 = 0.25, 0.5
    rate = analytic.steady_disc_rate(r, tilt)
    body = tr.RigidBody(tr.Disc(r), m, [k1 * m * r * r, k1 * m * r * r, k3 * m * r * r])
    pair = tr.RollingPair(body, tr.Ground(tr.Plane()), friction=5.0)
    # The disc is tilted about x by `tilt`: it touches at its lowest rim point, towards -y; w lies along the radius.
    q = [np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0]
    towards = np.array([0.0, np.cos(tilt), np.sin(tilt)])
    run = tr.simulate(pair, pair.place(object_quaternion=q, object_angular_velocity=rate * np.sin(tilt) * towards), 1.0)
    assert run.status is Status.SUCCESS
    p = run["object_position"]
    assert np.ptp(p, axis=0).max() < 1e-8
    c = run["contact_position"] - p
    azimuth = np.unwrap(np.arctan2(c[:, 1], c[:, 0]))
    assert abs(azimuth[-1] - azimuth[0]) == pytest.approx(rate, abs=1e-7)
