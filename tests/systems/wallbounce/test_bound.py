"""The largest push that the drive alone survives: against simulations of the exact model."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.systems.wallbounce.bound import impulse_bound
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
STEP = 1e-3


def falls(robot: BallBalancer, impulse: float, length: float, height: float, heading: float = 0.0) -> bool:
    """Whether the exact model falls though its drive does what is best from the first instant on.

    What grows is measured along the true motion: the body at the angle a over the ball falls as theta'' = lambda^2
    theta, so a + a' / lambda grows by lambda. The drive goes against it, at its limit beyond a thousandth of a radian.
    """
    x, drive, push = ca.SX.sym("x", 16), ca.SX.sym("f", 2), ca.SX.sym("p", 3)
    state = robot.state(x)
    up = state.R_world_body[:, 2]
    rate = robot.rate(x, drive, 0.0, [ca.SX(3, 1)] * 2, ca.SX(6, 1))
    rate[11:13] += push[:2]
    rate[13:] += ca.cross(height * up, push)
    model = ca.Function("model", [x, drive, push], [rate, up[:2], ca.cross(state.omega, up)[:2]])
    x, force = robot.rest(), impulse / length * np.array([np.cos(heading), np.sin(heading), 0.0])
    for k in range(1500):
        acts = force if k * STEP < length else np.zeros(3)
        _, lean, tip = model(x, np.zeros(2), acts)
        grows = np.array(lean).ravel() + np.array(tip).ravel() / 6.40
        f = np.clip(1e3 * grows, -1.0, 1.0) * robot.drive_limit
        half = x + 0.5 * STEP * np.array(model(x, f, acts)[0]).ravel()
        x = x + STEP * np.array(model(half, f, acts)[0]).ravel()
        if np.linalg.norm(x[3:5]) > 1.2:
            return True
    return False


@pytest.mark.parametrize(("length", "height"), [(0.05, 0.5), (0.15, 0.7), (0.25, 0.1), (0.35, 0.7)])
def test_the_best_drive_survives_a_push_below_the_bound_and_none_above(length: float, height: float) -> None:
    bound = impulse_bound(ROBOT, length, height)
    assert not falls(ROBOT, 0.95 * bound, length, height)
    assert falls(ROBOT, 1.03 * bound, length, height)


@pytest.mark.parametrize("heading", [0.5 * np.pi, 0.25 * np.pi, 2.5])
def test_it_holds_in_every_heading(heading: float) -> None:
    bound = impulse_bound(ROBOT, 0.25, 0.6)
    assert not falls(ROBOT, 0.95 * bound, 0.25, 0.6, heading)


@pytest.mark.parametrize("share", [0.87, 0.94, 1.1])
def test_it_is_that_of_the_weaker_axis(share: float) -> None:
    """Whichever axis differs, fore-aft or sideways."""
    even = impulse_bound(ROBOT, 0.25, 0.7)
    aside, ahead = (
        impulse_bound(dataclasses.replace(ROBOT, inertia=np.asarray(ROBOT.inertia) * scale), 0.25, 0.7)
        for scale in ([share, 1.0, 1.0], [1.0, share, 1.0])
    )
    assert ahead == pytest.approx(aside, rel=1e-9)
    assert ahead < 0.995 * even if share < 1.0 else ahead == pytest.approx(even, rel=1e-9)


def test_it_grows_with_the_drive_and_is_that_of_a_blow_for_a_short_push() -> None:
    blow, short = (impulse_bound(ROBOT, length, 0.5) for length in (1e-6, 1e-3))
    assert impulse_bound(ROBOT, 1e-3, 0.5, 60.0) == pytest.approx(1.5 * short, rel=1e-12)
    assert short == pytest.approx(blow * (1.0 + 0.5 * 6.40 * 1e-3), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [((0.0, 0.5), "length"), ((0.2, -0.1), "height"), ((0.2, np.nan), "height"), ((0.2, 0.5, 0.0), "drive")],
)
def test_bad_numbers_are_named(arguments: tuple[float, ...], key: str) -> None:
    with pytest.raises(InputError, match=key):
        impulse_bound(ROBOT, *arguments)


def test_a_body_on_its_centre_of_mass_survives_all() -> None:
    assert impulse_bound(dataclasses.replace(ROBOT, com=(0.0, 0.0, 0.0)), 0.2, 0.5) == np.inf
