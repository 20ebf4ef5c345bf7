"""What paper 2 (Woodruff and Lynch) prints wrongly beside (4), (45) and (47), for which see tests/test_oracles.py."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import implicit, runs, spatial

PLATE = np.array([0.0, 0.0, 7.0])  # rad/s
RADIUS = 0.2  # m


BALL = spatial.Body(implicit.sphere(RADIUS), 0.1, 0.4 * 0.1 * RADIUS**2 * np.eye(3))


def rolling(at: np.ndarray, w: np.ndarray) -> spatial.State:
    """The ball over a place of the plate, with an angular velocity over the ground."""
    return spatial.place(BALL, implicit.Plane(), spatial.Hand(w=PLATE), at, np.eye(3), w)


def test_the_ball_of_v_c1_turns_though_the_text_says_that_it_does_not() -> None:
    relative = np.array([1.0, 0.0, -7.0])  # rad/s, printed with the velocity (0, -0.2, 0) m/s
    np.testing.assert_allclose(rolling(np.zeros(3), PLATE + relative).v, [0.0, -0.2, 0.0], atol=1e-15)
    np.testing.assert_allclose(rolling(np.zeros(3), np.zeros(3)).v, 0.0, atol=1e-15)


def test_centre_of_15_is_that_of_the_velocity_over_the_ground_not_over_the_plate() -> None:
    """Both are the same where the ball starts on the plate's axis, as the paper's does."""
    at = np.array([0.3, 0.0, 0.0])
    start = rolling(at, np.array([1.0, 0.0, 0.0]))
    system = runs.System(BALL, implicit.Plane())
    run = runs.integrate(system, runs.pack(start, np.eye(3), np.zeros(3), np.r_[PLATE, 0, 0, 0]), 0.3)
    spread = []
    for v in (start.v, start.v - np.cross(PLATE, at)):
        centre = start.p - np.cross(v, [0.0, 0.0, 1 / 2.0])  # (15) with 2/7 of 7 rad/s
        spread.append(np.ptp(np.linalg.norm(run["x"][:, 4:7] - centre, axis=1)))
    assert spread[0] < 1e-9
    assert spread[1] > 0.02


def test_sum_of_50_is_of_first_order_and_with_halves_at_the_ends_of_second() -> None:
    def errors(ends: float) -> np.ndarray:
        found = []
        for n in (50, 100, 200):
            weights = np.full(n + 1, 2.0 / n)
            weights[[0, -1]] *= ends
            found.append(weights @ np.exp(np.linspace(0.0, 2.0, n + 1)) - np.expm1(2.0))
        return np.array(found)

    assert errors(1.0)[:-1] / errors(1.0)[1:] == pytest.approx(2.0, rel=0.01)
    assert errors(0.5)[:-1] / errors(0.5)[1:] == pytest.approx(4.0, rel=0.01)


def test_last_row_of_49_needs_the_input_at_the_last_node_which_50_leaves_out() -> None:
    x, h = np.zeros((2, 2)), 0.1

    def row(u_last: float) -> np.ndarray:
        rate = [np.array([x[k][1], u]) for k, u in enumerate((1.0, u_last))]
        return x[1] - x[0] - 0.5 * h * (rate[0] + rate[1])

    np.testing.assert_allclose(row(2.0) - row(1.0), [0.0, -0.5 * h])
