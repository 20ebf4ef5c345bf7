"""When plans are made, found anew and used: both planners are stand-ins that note how they are called."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trundle.contact.soft import Wall
from trundle.numerics.ilqr import ControlSolution
from trundle.status import Status
from trundle.systems.wallbounce.control.low_level import LowLevel
from trundle.systems.wallbounce.control.plans import BalancerPlan
from trundle.systems.wallbounce.control.two_level import Surroundings, Timing, TwoLevel
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
WALL, TIMING = Wall([0.5, 0, 0], [-1, 0, 0]), Timing()


class Planner:
    """Plans to stay where the robot is; `searched` and the time it takes are what the test says."""

    times = 0.04 * np.arange(26)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.events = seconds, []

    def plan(self, begin: float, x: np.ndarray, *given: Any, **options: Any) -> BalancerPlan:
        clock.sleep(self.seconds)
        event = bool(given[4]) if len(given) > 5 else False
        self.events += [begin] if event else []
        states, none = np.tile(x, (26, 1)), np.zeros((25, 2))
        solution = ControlSolution(Status.SUCCESS, states, np.zeros((25, 15)), np.zeros((25, 15, 16)), 1.0)
        schedule, ends = np.zeros((25, 2), dtype=bool), np.full(2, np.inf)
        return BalancerPlan(
            begin, 0.04, states, np.zeros((25, 15)), solution, schedule, none, none, none, none, ends, event
        )


def policy(planner: Planner, timing: Timing = TIMING, around: Any = None) -> TwoLevel:
    where = around or (lambda time: Surroundings([WALL]))
    reference = lambda time, x, times: np.tile(ROBOT.rest(), (len(times), 1))  # noqa: E731
    return TwoLevel(LowLevel(ROBOT), planner, Planner(), reference, where, timing)  # type: ignore[arg-type]


def measured(v: float = 0.0) -> np.ndarray:
    y = np.zeros(28)
    y[:11], y[11] = ROBOT.rest()[:11], v
    return y


def run(controller: TwoLevel, duration: float, speed: Any = lambda time: 0.0) -> list[tuple[float, float | None]]:
    """Return at each tick the time and when the newest contact-implicit plan in use began."""
    found = []
    for k in range(round(duration / 0.001)):
        controller(0.001 * k, measured(speed(0.001 * k)))
        plan = controller.plans["implicit"]
        found.append((0.001 * k, None if plan is None else plan.begin))
    return found


@pytest.mark.parametrize(
    ("force", "length", "expected"), [(30.0, 0.05, []), (30.0, 0.1, [0.275]), (200.0, 0.02, [0.206, 0.226, 0.246])]
)
def test_a_push_is_an_event_and_a_small_one_is_none(force: float, length: float, expected: list[float]) -> None:
    """30 N, which the observer takes for no push, by its 3 N s but not by 1.5; 200 N at once, and as they end."""
    planner = Planner()
    run(policy(planner), 0.4, lambda time: force / ROBOT.effective_mass * min(max(time - 0.2, 0.0), length))
    assert planner.events == pytest.approx([0.0, *expected], abs=0.0015)


def test_what_appears_is_an_event() -> None:
    planner = Planner()
    run(policy(planner, around=lambda time: Surroundings([WALL], version=int(time > 0.14))), 0.4)
    assert planner.events == pytest.approx([0.0, 0.15])


def test_an_event_takes_longer_until_its_plan_is_used() -> None:
    timing = Timing(implicit_time=0.011, event_time=0.020)
    found = run(policy(Planner(), timing), 0.2)
    assert next(time for time, begin in found if begin == 0.0) == pytest.approx(0.031)
    assert next(time for time, begin in found if begin == pytest.approx(0.05)) == pytest.approx(0.061)
    assert all(begin != pytest.approx(0.025) for _, begin in found if begin is not None)  # the first was still awaited


def test_with_measured_times_a_plan_is_used_only_after_what_it_took() -> None:
    planner = Planner(0.015)
    controller = policy(planner, replace(TIMING, implicit_time=0.0, event_time=0.0, measured=True))
    found = run(controller, 0.06)
    first = next((time for time, begin in found if begin == 0.0), None)
    assert first is None or first >= 0.015
    assert np.median(controller.counts.seconds["event"]) >= 0.015
