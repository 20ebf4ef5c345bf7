"""Impacts of one body at several contacts, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.simulate.events.impact import Candidate, Impact, resolve_impact


@pytest.mark.parametrize("new", [0, 1])
def test_a_block_whose_feet_stick_at_once_tips_over_the_front_one(new: int) -> None:
    # It lands sliding; angular momentum about the front foot is kept, the rear foot leaves the ground.
    m, inertia, h, w, before = 2.0, 0.3, 0.5, 0.2, np.array([1.0, -0.1, 0.0])
    feet = {i: np.array([[1.0, 0.0, h], [0.0, 1.0, side * w]]) for i, side in enumerate((1, -1))}
    contacts = {i: Candidate(J, J @ before, np.array([0.0, 1.0]), 20.0) for i, J in feet.items()}
    omega = m * (0.1 * w - h) / (m * (w * w + h * h) + inertia)
    after = np.array([-omega * h, -omega * w, omega])
    found = resolve_impact(np.diag([m, m, inertia]), contacts)
    assert found.decided
    assert found.laws == {0: "rolling"}
    np.testing.assert_allclose(found.jump, after - before, atol=1e-12)
    np.testing.assert_allclose(found.impulses[0], [m * found.jump[0], m * found.jump[1]], atol=1e-12)
    assert (feet[1] @ after)[1] == pytest.approx(-2 * omega * w)
    assert not found.rests


MASS, INERTIA, HIGH, WIDE = 2.0, 0.3, 0.01, 0.2
FEET = {i: np.array([[1.0, 0.0, HIGH], [0.0, 1.0, side * WIDE]]) for i, side in enumerate((1, -1))}
UP = np.array([0.0, 1.0])


def on_feet(before: np.ndarray, mu: float, new: int = 0) -> Impact:
    contacts = {i: Candidate(J, J @ before, UP, mu, rest_speed=1e-3) for i, J in FEET.items()}
    return resolve_impact(np.diag([MASS, MASS, INERTIA]), contacts)


@pytest.mark.parametrize("speed", [0.2, 1.0, 1e2])
def test_a_block_that_lands_flat_slides_on_with_less_speed_or_stops(speed: float) -> None:
    before = speed * np.array([1.0, -0.1, 0.0])
    found = on_feet(before, 0.3)
    assert found.decided
    assert found.laws == {0: "sliding", 1: "sliding"}
    np.testing.assert_allclose(found.jump, speed * np.array([-0.03, 0.1, 0.0]), atol=1e-12 * speed)
    total = sum(found.impulses.values())
    np.testing.assert_allclose(total, MASS * speed * np.array([-0.03, 0.1]), atol=1e-12 * speed)
    assert all(push[0] == pytest.approx(-0.3 * push[1]) for push in found.impulses.values())
    slower = speed * np.array([0.02, -0.1, 0.0])  # less than friction takes
    stopped = on_feet(slower, 0.3)
    assert (stopped.laws, stopped.rests) == ({0: "rolling", 1: "rolling"}, False)
    np.testing.assert_allclose(stopped.jump, -slower, atol=1e-12 * speed)


@pytest.mark.parametrize(("rate", "rests"), [(1e-3, True), (1.0, False)])
def test_slow_rocking_ends_on_both_feet(rate: float, rests: bool) -> None:
    about_first = rate * np.array([-HIGH, -WIDE, 1.0])  # its own velocity is zero
    found = on_feet(about_first, 20.0, new=1)
    assert found.rests is rests
    if rests:
        assert found.laws == {0: "rolling", 1: "rolling"}
        np.testing.assert_allclose(found.jump, -about_first, atol=1e-15)
    else:
        assert found.laws == {1: "rolling"}
        assert (FEET[0] @ (about_first + found.jump))[1] > 0.0


def ball(mu: float, spin: bool) -> Candidate:
    before = np.array([1.0, 0.0, -1.0, 0.0, 0.0, 3.0])
    J = np.hstack([np.eye(3), [[0.0, -RADIUS, 0.0], [RADIUS, 0.0, 0.0], [0.0, 0.0, 0.0]]])  # v + w x (0, 0, -R)
    row = np.eye(6)[5] if spin else None
    return Candidate(J, J @ before, np.array([0.0, 0.0, 1.0]), mu, row, 3.0 if spin else 0.0)


RADIUS = 0.2
BALL = np.diag([MASS] * 3 + [0.4 * MASS * RADIUS**2] * 3)


@pytest.mark.parametrize("spin", [False, True])
@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_a_ball_that_lands_slides_or_rolls_and_spins_on_unless_it_rolls_purely(mu: float, spin: bool) -> None:
    found = resolve_impact(BALL, {4: ball(mu, spin)})
    rolls = mu > 2 / 7
    push = MASS * min(mu, 2 / 7)
    np.testing.assert_allclose(found.impulses[4], [-push, 0.0, MASS], atol=1e-12)
    stops = -3.0 if spin and rolls else 0.0
    turn = push * RADIUS / (0.4 * MASS * RADIUS**2)
    np.testing.assert_allclose(found.jump, [-push / MASS, 0.0, 1.0, 0.0, turn, stops], atol=1e-12)
    assert found.laws == {4: "rolling" if rolls else "sliding"}


def test_what_slides_along_a_corner_goes_on() -> None:
    before = np.array([0.0, 2.0, 0.0])
    normals = {0: np.array([0.0, 0.0, 1.0]), 1: np.array([1.0, 0.0, 0.0])}
    contacts = {i: Candidate(np.eye(3), before, n, 0.5) for i, n in normals.items()}
    found = resolve_impact(np.eye(3), contacts)
    assert found.decided
    assert found.laws == {0: "sliding", 1: "sliding"}
    np.testing.assert_allclose(found.jump, 0.0, atol=1e-12)


def test_what_a_slow_blow_parts_leaves_and_a_foot_that_it_does_not_reach_stays() -> None:
    """Its rows are (1, 0, 0); one foot, at rest, is lifted at half its speed; the other one is on its own."""
    before, rows = 1e-3 * np.array([-5.0, 2.5, 0.0]), ([1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0])
    J = [np.array([[0.0] * 3, row]) for row in rows]
    found = resolve_impact(np.eye(3), {i: Candidate(one, one @ before, UP, 0.0) for i, one in enumerate(J)})
    assert found.decided
    assert (found.laws, found.rests) == ({0: "sliding", 2: "sliding"}, False)
    np.testing.assert_allclose(found.jump, [5e-3, 0.0, 0.0], atol=1e-15)
