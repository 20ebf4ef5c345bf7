from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError

G = 9.81


def ball_over(base: tr.Hand | tr.Ground, **rules: Any) -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 1.0), base, on_separation="fly", **rules)


def test_a_ball_falls_lands_and_rolls() -> None:
    pair = ball_over(tr.Ground(tr.Plane()), on_slip="slide", friction=10.0)
    start = pair.place(object_position=(0, 0, 0.6), object_velocity=(0.5, 0, 0), object_angular_velocity=(0, 3.0, 0))
    assert start.laws == ("separated",)
    run = tr.simulate(pair, start, 0.5)
    landing = run.metadata["transitions"][0]
    assert landing["reason"] == "the gap closed"
    assert landing["time"] == pytest.approx(np.sqrt(2 * 0.5 / G), abs=1e-10)
    # The impulse at the contact keeps the angular momentum about it: m r v + I w = (m r^2 + I) w'.
    rate = (0.1 * 0.5 + 0.004 * 3.0) / (0.01 + 0.004)
    np.testing.assert_allclose(run["object_velocity"][-1], [0.1 * rate, 0, 0], atol=1e-9)
    assert run.status.label == "success"


@pytest.mark.parametrize("shape", [tr.Plane(), tr.Dish((0.6, 0.6, 0.6)), tr.Ellipsoid((0.4, 0.3, 0.2))])
def test_over_any_base_the_start_is_where_it_was_said(shape: tr.geometry.Shape) -> None:
    hand = tr.Hand(shape, position=(0.1, -0.2, 0.3), rpy=(0.1, 0.2, 0.0))
    pair = ball_over(hand)
    turn = np.array([0.8, 0.0, 0.6, 0.0])
    start = pair.place(object_position=(0.12, -0.2, 0.75), object_quaternion=turn, object_velocity=(0, 0.1, -1))
    run = tr.simulate(pair, start, 0.4, output_step=0.02)
    np.testing.assert_allclose(run["object_position"][0], [0.12, -0.2, 0.75], atol=1e-15)
    np.testing.assert_allclose(run["object_quaternion"][0], turn, atol=1e-15)
    flight = run["time"] < run.metadata["transitions"][0]["time"]
    fall = 0.75 - run["time"] - G / 2 * run["time"] ** 2
    np.testing.assert_allclose(run["object_position"][flight, 2], fall[flight], atol=1e-9)
    assert np.all(run["gap"][flight] > 0)
    assert run["gap"][~flight].min() > -1e-9


def test_in_the_plane_a_wheel_lands_on_a_slope_and_on_a_hand() -> None:
    wheel = tr.RigidBody(tr.Circle(0.1), 1.0)
    down = tr.RollingPair(wheel, tr.Ground(tr.Line()), friction=10.0, on_slip="slide", on_separation="fly")
    over = tr.RollingPair(wheel, tr.Hand(tr.Line()), friction=10.0, on_slip="slide", on_separation="fly")
    ground = tr.simulate(down, down.place(position=(0, 0.3), velocity=(0.2, 0), angle=0.3, angular_velocity=-1.0), 0.4)
    hand = tr.simulate(
        over,
        over.place(object_position=(0, 0.3), object_velocity=(0.2, 0), object_angle=0.3, object_angular_velocity=-1.0),
        0.4,
    )
    time = np.sqrt(2 * 0.2 / G)
    for run in (ground, hand):
        assert run.metadata["transitions"][0]["time"] == pytest.approx(time, abs=1e-10)
    np.testing.assert_allclose(ground["body_position"][:, 0], hand["object_position"][:, [0, 2]], atol=1e-9)


def test_a_ball_that_touches_without_approaching_goes_on() -> None:
    pair = ball_over(tr.Ground(tr.Plane()))
    run = tr.simulate(pair, pair.place(object_position=(0, 0, 0.1)), 0.2)
    assert run.status.label == "success"
    assert abs(run["object_position"][-1, 2] - 0.1) < 1e-9


@pytest.mark.parametrize(
    ("arguments", "key", "words"),
    [
        ({"object_position": (0, 0, 0.09)}, "object_position", "overlap by 0.0099"),
        ({"object_position": (0, 0, 0.1 - 1e-6)}, "object_position", "overlap by 1e-06 m"),
        ({"object_position": (0, 0, -1.0)}, "object_position", "overlap by 1.1 m"),
        ({"object_position": (0, 0, np.nan)}, "object_position", "finite"),
        ({"object_position": (0, 0, 1), "object_velocity": (0, np.inf, 0)}, "object_velocity", "finite"),
        ({"object_position": (0, 0, 1), "slip": (0, 1, 0)}, "slip", "object_velocity"),
        ({"object_velocity": (0, 0, 1)}, "object_velocity", "contact_on_hand"),
    ],
)
def test_starts_in_the_air_that_cannot_be_say_why(arguments: dict, key: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        ball_over(tr.Ground(tr.Plane())).place(**arguments)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_rolling_coordinates_cannot_fly() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 1.0), tr.Hand(tr.Plane()), coordinates="rolling")
    with pytest.raises(InputError, match="coordinates"):
        pair.place(object_position=(0, 0, 1))
