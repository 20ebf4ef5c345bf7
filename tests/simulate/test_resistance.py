"""Rolling resistance, drilling friction and adhesion: closed forms of what stops, is held and starts again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.contact.law import Ending
from trundle.contact.laws import PIVOTING, PURE_ROLLING, RESTING, ROLLING
from trundle.report.metrics import general

G, R, M, C = 9.81, 0.1, 0.5, 1e-3
BALL = tr.RigidBody(tr.Sphere(R), mass=M, inertia="solid")
INERTIA = 0.4 * M * R**2


def reasons(run: tr.Trajectory) -> list[str]:
    return [t["reason"] for t in run.transitions]


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_a_ball_rolls_to_a_stop_and_rests(law: str) -> None:
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), law=law, rolling_friction=C)
    run = tr.simulate(pair, pair.place(object_angular_velocity=(0.0, 1.0, 0.0)), duration=2.0)
    slowing = C / R * G / 1.4
    assert run.status is tr.Status.SUCCESS
    assert reasons(run) == ["the rolling came to rest"]
    assert run.transitions[0]["time"] == pytest.approx(R / slowing, abs=1e-6)
    np.testing.assert_allclose(run["object_position"][-1, 0], R**2 / (2 * slowing), rtol=1e-9)
    after = run.time > run.transitions[0]["time"] + 1e-3
    assert np.abs(run["object_velocity"][after]).max() < 1e-12
    assert np.all(np.diff(run["energy"]) < 1e-12)
    assert "energy_drift" not in general(run)  # it does not judge what loses energy


def test_a_spinning_ball_spins_down() -> None:
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), drilling_friction=C)
    run = tr.simulate(pair, pair.place(object_angular_velocity=(0.0, 0.0, 3.0)), duration=2.0)
    assert reasons(run) == ["the spin came to rest"]
    assert run.transitions[0]["time"] == pytest.approx(INERTIA * 3.0 / (C * M * G), abs=1e-6)
    assert run["mode"][-1] == "pure-rolling"
    assert run["contact_moment"][0] == pytest.approx(-C * M * G, rel=1e-9)


def test_rolling_and_spin_stop_each_in_their_time() -> None:
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), rolling_friction=2 * C, drilling_friction=C)
    for tolerance in (1e-10, 1e-6):
        start = pair.place(object_angular_velocity=(1.0, 2.0, 3.0))
        run = tr.simulate(pair, start, duration=2.0, relative_tolerance=tolerance)
        assert reasons(run) == ["the spin came to rest", "the rolling came to rest"]
        assert run.transitions[0]["time"] == pytest.approx(INERTIA * 3.0 / (C * M * G), abs=1e-6)
        # About the contact point the inertia is 7/5 m R^2; spin and rolling of a ball do not act on each other.
        assert run.transitions[1]["time"] == pytest.approx(1.4 * M * R**2 * 5**0.5 / (2 * C * M * G), abs=1e-6)
        assert run["mode"][-1] == "resting"


def test_viscous_parts_decay_exponentially() -> None:
    viscous: dict[str, Any] = {"rolling_viscosity": 0.004, "drilling_viscosity": 0.003}
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), **viscous)
    run = tr.simulate(pair, pair.place(object_angular_velocity=(0.0, 2.0, 3.0)), duration=1.0)
    expected = 2.0 * np.exp(-0.004 / (1.4 * M * R**2)), 3.0 * np.exp(-0.003 / INERTIA)
    np.testing.assert_allclose(run["object_angular_velocity"][-1, 1:], expected, rtol=1e-9)


def test_a_ball_that_sticks_to_the_floor_slides_and_spins_to_closed_forms() -> None:
    # Adhesion adds to the load: slides at mu (g + A/m), turns up at mu (m g + A) R / I; the spin decays by itself.
    mu, adhesion, viscosity = 0.3, 2.0, 0.003
    pair = tr.RollingPair(
        BALL, tr.Hand(tr.Plane()), on_slip="slide", friction=mu, adhesion=adhesion, drilling_viscosity=viscosity
    )
    start = pair.place(slip=(2.0, 0.0, 0.0), object_angular_velocity=(0.0, 0.0, 3.0))
    run = tr.simulate(pair, start, duration=0.1)
    load, travel = M * G + adhesion, run["object_position"][-1] - run["object_position"][0]
    np.testing.assert_allclose(travel, [0.2 - 0.5 * mu * load / M * 0.01, 0.0, 0.0], atol=1e-9)
    turning = [0.0, mu * load * R / INERTIA * 0.1, 3.0 * np.exp(-viscosity / INERTIA * 0.1)]
    np.testing.assert_allclose(run["object_angular_velocity"][-1], turning, atol=1e-8)


@pytest.mark.parametrize(("slope", "moves"), [(0.009, False), (0.011, True)])
def test_on_a_slope_a_ball_starts_to_roll_beyond_its_bound(slope: float, moves: bool) -> None:
    # It rolls where tan(slope) > c/R, with the acceleration (g sin - (c/R) g cos)/1.4.
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane(), rpy=(0.0, slope, 0.0)), rolling_friction=C)
    run = tr.simulate(pair, pair.place(), duration=1.0)
    distance = float(np.linalg.norm(run["object_position"][-1] - run["object_position"][0]))
    expected = (G * np.sin(slope) - C / R * G * np.cos(slope)) / 2.8 if moves else 0.0
    assert distance == pytest.approx(expected, abs=1e-8)
    assert reasons(run) == (["the moment against rolling left its bound"] if moves else [])


def test_a_wheel_in_the_plane_rolls_up_stops_and_stays_or_rolls_back() -> None:
    wheel = tr.RigidBody(tr.Circle(R), mass=M, inertia=0.5 * M * R**2)
    for slope, stays in ((0.04, True), (0.06, False)):
        # 5 mm over 100 mm hold up to tan(slope) = 0.05; gravity is turned instead of the ground.
        pull = (-G * np.sin(slope), -G * np.cos(slope))
        pair = tr.RollingPair(wheel, tr.Ground(tr.Line()), rolling_friction=5e-3, gravity=pull)
        run = tr.simulate(pair, pair.place(angular_velocity=-2.0), duration=1.5)
        slowing = (G * np.sin(slope) + 0.05 * G * np.cos(slope)) / 1.5
        assert run.transitions[0]["time"] == pytest.approx(2.0 * R / slowing, abs=1e-6)
        top = (2.0 * R) ** 2 / (2 * slowing)
        since = 1.5 - 2.0 * R / slowing
        back = 0.0 if stays else (G * np.sin(slope) - 0.05 * G * np.cos(slope)) / 3.0 * since**2
        travel = float(np.diff(run["body_position"][[0, -1]], axis=0).ravel()[0])
        assert travel == pytest.approx(top - back, abs=1e-7)


def test_a_spin_starts_against_the_moment_that_held_it() -> None:
    # A hand that turns ever faster about the normal takes the ball along until drilling friction is too weak.
    motion = tr.SinusoidMotion(amplitude=(0, 0, 8.0, 0, 0, 0), frequency=(0, 0, 0.25, 0, 0, 0))
    hand = tr.Hand(tr.Plane(), motion=motion)
    pair = tr.RollingPair(BALL, hand, law="pure-rolling", drilling_friction=C, on_slip="slide")
    run = tr.simulate(pair, pair.place(), duration=0.6)
    assert reasons(run)[0] == "the torsional moment left its bound"
    largest = C * M * G / INERTIA
    assert run.transitions[0]["time"] == pytest.approx(np.arcsin(largest / 8.0) / (0.5 * np.pi), abs=1e-7)
    spinning = run.time > run.transitions[0]["time"] + 1e-6
    rate = np.gradient(run["object_angular_velocity"][spinning, 2], run.time[spinning])[2:-2]
    np.testing.assert_allclose(rate, largest, rtol=1e-6)


def test_adhesion_holds_a_ball_under_a_ceiling() -> None:
    for adhesion, holds in ((1.1 * M * G, True), (0.9 * M * G, False)):
        pair = tr.RollingPair(BALL, tr.Hand(tr.Plane(), rpy=(np.pi, 0.0, 0.0)), adhesion=adhesion, friction=0.3)
        run = tr.simulate(pair, pair.place(), duration=0.2)
        assert (run.status is tr.Status.SUCCESS) == holds
        assert holds or run.status is tr.Status.SEPARATED
        assert not holds or run["contact_force"][-1, 2] == pytest.approx(M * G)


def test_laws_say_how_they_end() -> None:
    assert ROLLING.ending("rolling_rate") is Ending.STOPS_ROLLING
    assert PIVOTING.ending("rolling") is Ending.ROLLS
    assert RESTING.ending("torsion") is Ending.SPINS
    assert PURE_ROLLING.ending("data_B0_low") is Ending.LEAVES_DATA
