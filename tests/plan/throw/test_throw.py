"""Throw and catch against the closed forms of sheet 2, section 10, and with goals that cannot be reached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from tests.oracles.throwing import EllipseOnPlate
from trundle.errors import InputError
from trundle.status import Status
from trundle.systems.juggling.throw.policy import PlayThenHold
from trundle.systems.juggling.throw.throw import MARGINS, ThrowCatch, ThrowPlan

CLOSED = EllipseOnPlate(0.0377, 0.0252, 0.0553, 3.924)


def pair_with(friction: float = 0.8, **changes: object) -> tr.RollingPair:
    body = tr.RigidBody(tr.Ellipse((CLOSED.a, CLOSED.b)), CLOSED.mass)
    hand = tr.Hand(tr.Line(), extent=0.375)
    rules = {"on_slip": "slide", "on_separation": "fly"} | changes
    return tr.RollingPair(body, hand, friction=friction, gravity=CLOSED.gravity, **rules)  # type: ignore[arg-type]


PAIR = pair_with()
NARROW = {"carry": (0.45, 0.5), "retreat": (0.22, 0.27)}


@pytest.fixture(scope="module")
def plan() -> ThrowPlan:
    task = ThrowCatch(PAIR, PAIR.place(), goal_angle=np.pi / 2, **NARROW)
    return task.plan(seed=1, samples=40, wanted=1)


def angle_of(run: tr.Trajectory) -> np.ndarray:
    q = run["object_quaternion"]
    return np.unwrap(-2 * np.arctan2(q[:, 2], q[:, 0]))


def test_the_plan_reaches_its_goal_within_its_limits(plan: ThrowPlan) -> None:
    assert plan.status is Status.SUCCESS
    assert plan.catch is not None
    assert np.all(plan.shot.outcome.margins >= 0.0)
    assert len(MARGINS) == plan.shot.outcome.margins.size
    assert np.all(plan.profile.largest <= [50.0, 10.0, 10.0])
    assert plan.catch.flight_time >= 0.1
    assert plan.trajectory.status is Status.SUCCESS
    assert [change["to"] for change in plan.trajectory.transitions] == ["sliding", "separated", "rolling"]
    slip = plan.trajectory.transitions[0]["time"]
    assert plan.shot.parameters["carry"] < slip
    assert plan.trajectory.transitions[1]["time"] - slip <= 2e-3


def test_the_carry_is_that_of_the_closed_form(plan: ThrowPlan) -> None:
    carry = plan.shot.parameters["carry"]
    profile = plan.profile
    state = CLOSED.rolled(lambda t: profile.acceleration(t)[0], profile.knots[0], carry)
    system = replace(PAIR, base=replace(PAIR.base, motion=profile.motion())).system
    run = tr.simulate(system, PAIR.place(), carry, relative_tolerance=1e-12)
    position, velocity, angle, rate = CLOSED.center(state)
    assert np.allclose(run["object_position"][-1, [0, 2]], position, atol=1e-9)
    assert np.allclose(run["object_velocity"][-1, [0, 2]], velocity, atol=1e-8)
    assert angle_of(run)[-1] == pytest.approx(angle, abs=1e-8)
    assert -run["object_angular_velocity"][-1, 1] == pytest.approx(rate, abs=1e-8)


def test_the_flight_is_ballistic(plan: ThrowPlan) -> None:
    run = plan.trajectory
    flying = np.flatnonzero(run["mode"] == "separated")
    t = run.time[flying] - run.time[flying[0]]
    start, v = run["object_position"][flying[0]], run["object_velocity"][flying[0]]
    fall = np.array([0.0, 0.0, -CLOSED.gravity])
    assert np.allclose(run["object_position"][flying], start + v * t[:, None] + fall / 2 * t[:, None] ** 2, atol=1e-12)
    assert np.ptp(run["object_angular_velocity"][flying], axis=0) == pytest.approx(0.0, abs=1e-12)
    assert np.all(run["contact_force"][flying] == 0.0)
    assert np.min(run["gap"][flying]) > -1e-9
    assert np.max(run["gap"][flying]) > 1e-3


def test_the_catch_keeps_the_angular_momentum_about_the_contact_and_leaves_the_energy_to_stand_up(
    plan: ThrowPlan,
) -> None:
    catch, layout = plan.catch, plan.layout
    assert catch is not None
    w_before, v = catch.before[layout["object.angular_velocity"]][0], catch.before[layout["object.velocity"]]
    w = catch.after[layout["object.angular_velocity"]][0]
    assert w == pytest.approx(CLOSED.caught(catch.angle, w_before, v), rel=1e-10)
    rho, _ = CLOSED.contact(catch.angle)
    energy = (CLOSED.inertia + CLOSED.mass * rho @ rho) * w**2 / 2
    missing = CLOSED.mass * CLOSED.gravity * (CLOSED.a - CLOSED.height(catch.angle))
    assert catch.surplus == pytest.approx(energy - missing, abs=1e-9)
    assert abs(catch.surplus) < 5e-3 * CLOSED.mass * CLOSED.gravity * (CLOSED.a - CLOSED.b)
    landed = next(k for k, mode in enumerate(plan.trajectory["mode"]) if mode == "rolling" and k > 300)
    assert -plan.trajectory["object_angular_velocity"][landed, 1] == pytest.approx(w, rel=2e-2)
    assert abs(angle_of(plan.trajectory)[-1] - np.pi / 2) < 0.1


def test_the_object_stands_where_the_plan_says(plan: ThrowPlan) -> None:
    assert plan.standing is not None
    assert plan.catch is not None
    x, layout = plan.standing.x, plan.layout
    assert x[layout["object.orientation"]] == pytest.approx([np.pi / 2])
    assert x[layout["hand.position"]] == pytest.approx(plan.catch.before[layout["hand.position"]])
    assert x[layout["object.position"]][1] - x[layout["hand.position"]][1] == pytest.approx(CLOSED.a)
    k = np.argmin(np.abs(plan.trajectory.time - plan.trajectory.time[-1]))
    left = np.pi / 2 - angle_of(plan.trajectory)[-1]
    on_hand = plan.trajectory["contact_on_hand"][k, 0]
    radius = CLOSED.b**2 / CLOSED.a
    assert plan.catch.place == pytest.approx(on_hand - radius * left, abs=1e-4)


class _Still:
    period = 1e-3

    def reset(self) -> None: ...

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        return np.zeros(3)


def test_a_kick_in_flight_gives_the_catch_the_errors_asked_for(plan: ThrowPlan) -> None:
    assert plan.catch is not None
    runs = []
    for angle, rate in ((0.0, 0.0), (0.03, -0.2)):
        policy = PlayThenHold(plan.profile, _Still(), lambda time, state: False)
        errors = plan.catch_errors(angle, rate)
        runs.append(tr.simulate(PAIR, PAIR.place(), 0.8, policy=policy, output_step=1e-3, kicks=errors))
    k = int(np.searchsorted(runs[0].time, plan.catch.time - 3e-3))
    time = runs[0].time[k]
    other = int(np.argmin(np.abs(runs[1].time - time)))
    spins = [-run["object_angular_velocity"][i, 1] for run, i in zip(runs, (k, other), strict=True)]
    assert spins[1] - spins[0] == pytest.approx(-0.2, abs=1e-9)
    at_catch = 0.03 + 0.2 * (plan.catch.time - time)
    assert angle_of(runs[1])[other] - angle_of(runs[0])[k] == pytest.approx(at_catch, abs=1e-9)
    assert [change["to"] for change in runs[1].transitions][-1] == "rolling"


def test_the_played_profile_brings_the_hand_where_the_plan_has_it(plan: ThrowPlan) -> None:
    policy = PlayThenHold(plan.profile, _Still(), lambda time, state: True)
    run = tr.simulate(PAIR, PAIR.place(), 0.8, policy=policy, output_step=1e-2)
    planned = plan.trajectory["hand_position"][-1]
    assert np.allclose(run["hand_position"][-1], planned, atol=1e-4)
    assert np.allclose(run["hand_velocity"][-1], 0.0, atol=1e-12)
    assert policy.handed_over == pytest.approx(np.ceil(plan.profile.duration * 1e3) / 1e3)


def test_a_hand_too_weak_to_throw_gives_a_status_and_the_best_attempt() -> None:
    task = ThrowCatch(PAIR, PAIR.place(), goal_angle=np.pi / 2, hand_limits=(5.0, 1.0, 1.0))
    plan = task.plan(samples=20, starts=2, max_rollouts=150)
    assert plan.status in (Status.GOAL_NOT_REACHED, Status.LOCALLY_INFEASIBLE, Status.ITERATION_LIMIT)
    assert plan.status.advice
    assert len(plan.trajectory) > 10


def test_a_start_that_slides_is_told() -> None:
    pair = pair_with(friction=0.05)
    start = pair.place(object_angle=0.7)
    plan = ThrowCatch(pair, start, goal_angle=np.pi / 2).plan(samples=5)
    assert plan.status is Status.START_INFEASIBLE
    assert plan.catch is None
    with pytest.raises(InputError):
        plan.catch_errors(0.0, 0.0)


def test_a_roll_out_is_deterministic() -> None:
    task = ThrowCatch(PAIR, PAIR.place(), goal_angle=np.pi / 2)
    values = np.array([0.48, 2.27, -0.52, 1.67, 0.244, -0.1, 0.046])
    first, second = task.roll_out(values), task.roll_out(values)
    assert np.array_equal(first.goals, second.goals)
    assert np.array_equal(first.margins, second.margins)
    assert np.all(np.abs(first.goals) < 50.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"carry": (0.5, 0.4)},
        {"friction_use": 1.5},
        {"ramp": 0.1},
        {"hand_limits": (1.0, 1.0)},
        {"goal_angle": float("nan")},
        {"tolerance": (0.0, 1.0)},
        {"pair": pair_with(on_slip="stop")},
    ],
)
def test_bad_tasks_are_refused(changes: dict) -> None:
    values = {"pair": PAIR, "start": PAIR.place(), "goal_angle": np.pi / 2} | changes
    with pytest.raises(InputError):
        ThrowCatch(**values)


def test_the_worst_catch_is_balanced_by_the_controller_and_not_without_it(plan: ThrowPlan) -> None:
    assert plan.catch is not None
    caught = plan.catch.time
    lqr = tr.BalancingLQR(
        PAIR,
        plan.standing,  # type: ignore[arg-type]
        Q={
            "hand_rotation": 20.0,
            "hand_position": 20.0,
            "object_rotation": 100.0,
            "hand_angular_velocity": 1.0,
            "hand_velocity": 2.0,
            "relative_velocity": 1.0,
        },
        R={"hand_angular_acceleration": 0.01, "hand_acceleration": 0.1},
        input_limit=np.array([50.0, 10.0, 10.0]),
    )
    turn = lqr.error.blocks["object_rotation"]

    def near(time: float, state: np.ndarray) -> bool:
        return time > caught + 5e-3 and abs(float(lqr.deviation(time, state)[turn][0])) < 0.45

    ends = []
    for ready in (near, lambda time, state: False):
        policy = PlayThenHold(plan.profile, lqr, ready)
        errors = plan.catch_errors(-0.03, -0.2)
        run = tr.simulate(
            PAIR, PAIR.place(), 2.2, policy=policy, output_step=5e-3, relative_tolerance=1e-8, kicks=errors
        )
        late = run.time > 1.7
        ends.append(np.max(np.abs(angle_of(run)[late] - np.pi / 2)))
        if ready is near:
            assert run.status is Status.SUCCESS
            assert [change["to"] for change in run.transitions] == ["sliding", "separated", "rolling"]
            assert np.all(np.abs(run["hand_acceleration"]) <= 50.0)
    assert ends[0] < 0.05
    assert ends[1] > 0.3
