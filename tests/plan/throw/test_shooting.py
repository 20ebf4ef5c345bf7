"""The shooting planner on a throw whose answer is known, and on goals that cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.status import Status
from trundle.systems.juggling.throw.shooting import SearchParameter, Shooting, ShotOutcome

G = 9.81
BOX = (SearchParameter("speed", 1.0, 10.0), SearchParameter("angle", 0.1, 1.4))


def throw(distance: float, height: float = -1.0):
    """Land `distance` m away to within 1 mm, flying above `height`, with as little speed as possible."""

    def roll_out(values: np.ndarray) -> ShotOutcome:
        speed, angle = values
        reach = speed**2 * np.sin(2 * angle) / G
        top = (speed * np.sin(angle)) ** 2 / (2 * G)
        return ShotOutcome(np.array([(reach - distance) / 1e-3]), np.array([top - height]), np.array([speed / 10.0]))

    return roll_out


def test_the_cheapest_throw_to_a_distance_is_the_one_at_45_degrees() -> None:
    shot = Shooting(BOX, throw(3.0), samples=20).solve()
    assert shot.status is Status.SUCCESS
    assert shot.parameters["angle"] == pytest.approx(np.pi / 4, abs=0.02)
    assert shot.parameters["speed"] == pytest.approx(np.sqrt(3.0 * G), rel=1e-3)
    assert abs(shot.outcome.goals[0]) <= 1.0
    assert shot.cost == pytest.approx(3.0 * G / 100, rel=1e-3)


def test_margins_are_kept() -> None:
    shot = Shooting(BOX, throw(3.0, height=1.5), samples=20).solve()
    assert shot.status is Status.SUCCESS
    assert shot.outcome.margins[0] >= 0.0
    assert shot.outcome.margins[0] == pytest.approx(0.0, abs=5e-3)


def test_a_goal_out_of_reach_is_a_status_with_the_best_attempt() -> None:
    shot = Shooting(BOX, throw(50.0), samples=20).solve()
    assert shot.status is Status.GOAL_NOT_REACHED
    assert shot.status.advice
    assert shot.parameters["speed"] == pytest.approx(10.0, rel=1e-2)


def test_limits_that_exclude_every_motion_are_a_status() -> None:
    def both(values: np.ndarray) -> ShotOutcome:
        x = float(values[0])
        return ShotOutcome(np.array([0.0]), np.array([x - 0.6, 0.4 - x]))

    shot = Shooting((SearchParameter("x", 0.0, 1.0),), both, samples=5).solve()
    assert shot.status is Status.LOCALLY_INFEASIBLE


def test_one_seed_gives_one_answer() -> None:
    first, second, other = (Shooting(BOX, throw(3.0), samples=10, seed=s).solve() for s in (3, 3, 4))
    assert first.parameters == second.parameters
    assert first.rollouts == second.rollouts
    assert other.status is Status.SUCCESS


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"max_rollouts": 5}, Status.ITERATION_LIMIT), ({"time_limit": 1e-6}, Status.TIME_LIMIT)],
)
def test_used_up_limits_keep_the_best(limits: dict, status: Status) -> None:
    shot = Shooting(BOX, throw(3.0), samples=50, **limits).solve()
    assert shot.status is status
    assert set(shot.parameters) == {"speed", "angle"}


def test_an_interrupt_keeps_the_best() -> None:
    calls = 0
    plain = throw(3.0)

    def stopping(values: np.ndarray) -> ShotOutcome:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt
        return plain(values)

    shot = Shooting(BOX, stopping, samples=20).solve()
    assert shot.status is Status.INTERRUPTED
    assert shot.rollouts == 30


def test_numbers_that_are_not_finite_are_no_success() -> None:
    def broken(values: np.ndarray) -> ShotOutcome:
        return ShotOutcome(np.array([np.nan]), np.array([np.nan]), np.array([np.inf]))

    shot = Shooting(BOX, broken, samples=3, starts=1).solve()
    assert shot.status is Status.GOAL_NOT_REACHED


def test_progress_is_told() -> None:
    told: list[dict[str, float]] = []
    Shooting(BOX, throw(3.0), samples=100).solve(told.append)
    assert told[-1]["rollouts"] >= 100
    assert 0.0 <= told[0]["share"] <= told[-1]["share"] <= 1.0
    assert told[-1]["merit"] <= told[0]["merit"] or told[-1]["share"] > 0.3


@pytest.mark.parametrize(
    "make",
    [
        lambda: SearchParameter("a", 1.0, 1.0),
        lambda: SearchParameter("a", 0.0, 1.0, 2.0),
        lambda: Shooting((), throw(1.0)),
        lambda: Shooting((BOX[0], BOX[0]), throw(1.0)),
        lambda: Shooting(BOX, throw(1.0), samples=-1),
        lambda: Shooting(BOX, throw(1.0), time_limit=0.0),
        lambda: Shooting(BOX, throw(1.0), wanted=0),
    ],
)
def test_bad_numbers_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
