"""Start slips, ignored limits, interrupts, policies and arguments: what a run does besides moving."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.simulate import runner
from trundle.status import Status


def ball() -> tr.RigidBody:
    return tr.RigidBody(tr.Sphere(0.1), 0.5, "solid")


def disc() -> tr.RigidBody:
    return tr.RigidBody(tr.Circle(0.1), 0.5, "solid")


class Policy:
    """Holds an input; remembers when it was asked."""

    def __init__(self, period: Any, answer: Any = None) -> None:
        self.period, self.answer = period, answer
        self.calls: list[float] = []
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def __call__(self, t: float, state: np.ndarray) -> Any:
        self.calls.append(t)
        return np.zeros(6) if self.answer is None else self.answer(t, state)


PAIRS = {2: lambda **how: tr.RollingPair(disc(), tr.Ground(tr.Line(0.0, 0.0)), **how),
         3: lambda **how: tr.RollingPair(ball(), tr.Hand(tr.Plane()), **how)}  # fmt: skip
SLIPS = {2: 0.5, 3: [0.5, 0.0, 0.0]}


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("rule", "status"), [("stop", "slipped"), ("slide", "success"), ("ignore", "infeasible")])
def test_a_start_that_slips(d: int, rule: str, status: str) -> None:
    pair = PAIRS[d](friction=0.3, on_slip=rule)
    run = tr.simulate(pair, pair.place(slip=SLIPS[d]), 0.5)
    assert run.status.label == status
    assert run.feasible is (rule != "ignore")
    assert run.transitions[0]["reason"] == "the start slips"
    assert run.transitions[0]["time"] == 0.0
    assert run.time[-1] == (0.0 if rule == "stop" else 0.5)
    if rule == "ignore":
        assert np.abs(run["slip"]).max() < 1e-14


@pytest.mark.parametrize("d", [2, 3])
def test_ignored_pulling_goes_on_and_is_told(d: int) -> None:
    if d == 2:
        hill: Any = tr.Ground(tr.Arc(0.5, [0.0, 0.0], "outside"))
        pair = tr.RollingPair(disc(), hill, friction=2.0, on_slip="ignore", on_separation="ignore")
        run = tr.simulate(pair, pair.place(contact_x=0.1, angular_velocity=-3.0), 0.6)
        f_n = np.einsum("ij,ij->i", run["contact_force"][:, 0], run["contact_position"][:, 0]) / 0.5
    else:
        pair = tr.RollingPair(ball(), tr.Hand(tr.Sphere(0.5)), friction=2.0, on_slip="ignore", on_separation="ignore")
        run = tr.simulate(pair, pair.place(contact_on_hand=[0.3, 0.0, 0.4]), 0.8)
        f_n = np.einsum("ij,ij->i", run["contact_force"], run["contact_normal"])
    assert f_n.min() < 0
    assert run.status is Status.INFEASIBLE
    assert not run.feasible
    assert run.time[-1] == (0.6 if d == 2 else 0.8)
    assert run.metadata["statistics"]["smallest_margins"]["normal_force"] == pytest.approx(f_n.min(), abs=0.05)
    assert run.status.advice


def test_another_end_keeps_its_name_but_not_its_feasibility() -> None:
    pair = tr.RollingPair(ball(), tr.Hand(tr.Sphere(0.5)), friction=0.1, on_slip="ignore")
    run = tr.simulate(pair, pair.place(contact_on_hand=[0.3, 0.0, 0.4]), 5.0)
    assert run.status is Status.SEPARATED
    assert not run.feasible


def test_landing_with_ignored_friction_sticks_and_is_told() -> None:
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([0, 0, 0, 9.0, 0, -30.0], [2.0] * 6))
    pair = tr.RollingPair(ball(), hand, friction=0.01, on_slip="ignore", on_separation="fly")
    run = tr.simulate(pair, pair.place(), 0.6)
    assert "the gap closed" in [t["reason"] for t in run.transitions]
    assert run.status is Status.INFEASIBLE


# Policies -----------------------------------------------------------------------------------------------------------


def test_a_policy_that_holds_the_hand_changes_nothing() -> None:
    pair = PAIRS[3](friction=1.0)
    start = pair.place(object_angular_velocity=[0.3, 0.2, 5.0])
    policy = Policy(0.01)
    run, free = tr.simulate(pair, start, 2.0, policy=policy), tr.simulate(pair, start, 2.0)
    assert policy.resets == 1
    np.testing.assert_allclose(policy.calls, np.arange(200) * 0.01, atol=1e-12)
    np.testing.assert_allclose(run["object_position"], free["object_position"], atol=1e-11)
    assert run["hand_acceleration"].shape == (len(run), 6)
    assert np.all(run["hand_acceleration"] == 0.0)
    assert "hand_acceleration" not in free.dataset
    assert "twist" not in free.dataset.sizes


def test_input_is_held_between_calls_and_recorded() -> None:
    pair = PAIRS[3](friction=5.0)
    policy = Policy(0.1, lambda t, x: [0, 0, 0, np.floor(t * 10 + 0.5), 0, 0])
    run = tr.simulate(pair, pair.place(), 0.5, policy=policy, output_step=0.01)
    held = np.ceil(np.round(run.time / 0.1, 9)) - 1
    np.testing.assert_allclose(run["hand_acceleration"][1:, 3], held[1:])
    speed = sum(0.1 * k for k in range(5))
    assert run["hand_velocity"][-1, 0] == pytest.approx(speed, abs=1e-12)
    # A ball on a plate that is pushed by u runs after it with 2/7 of its speed.
    assert run["object_velocity"][-1, 0] == pytest.approx(2 / 7 * speed, abs=1e-11)


def test_a_policy_brings_a_ball_to_rest() -> None:
    """Feedback of the ball's position and velocity on the hand's acceleration."""
    pair = PAIRS[3](friction=5.0)
    where = pair.system.model().layout

    def push(t: float, x: np.ndarray) -> list[float]:
        position, velocity = x[where["object.position"]], x[where["object.velocity"]]
        hand = x[where["hand.twist"]][3:]
        return [0, 0, 0, *(-3.5 * (4.0 * position[:2] + 4.0 * velocity[:2])), -hand[2]]

    start = pair.place(contact_on_hand=[0.2, -0.1, 0.0], object_angular_velocity=[1.0, 0.5, 0.0])
    run = tr.simulate(pair, start, 8.0, policy=Policy(0.01, push))
    assert np.linalg.norm(run["object_position"][-1, :2]) < 1e-4
    assert np.linalg.norm(run["object_velocity"][-1, :2]) < 1e-4


def test_policy_ticks_survive_events() -> None:
    hand = tr.Hand(tr.Plane())
    pair = tr.RollingPair(ball(), hand, friction=0.3, on_slip="slide", on_separation="fly")
    policy = Policy(0.02, lambda t, x: [0, 0, 0, 3.0, 0, -40.0 * np.sin(20 * t)])
    run = tr.simulate(pair, pair.place(), 0.5, policy=policy)
    assert run.status is Status.SUCCESS
    assert len(run.transitions) >= 2
    np.testing.assert_allclose(policy.calls, np.arange(25) * 0.02, atol=1e-12)


@pytest.mark.parametrize("answer", [[0.0] * 5, [0.0] * 5 + [np.nan], "up", None])
def test_a_wrong_answer_of_a_policy_is_named(answer: Any) -> None:
    pair = PAIRS[3]()
    with pytest.raises(InputError, match="policy"):
        tr.simulate(pair, pair.place(), 0.1, policy=Policy(0.01, lambda t, x: answer))


@pytest.mark.parametrize("period", [None, 0.0, -1.0, np.nan])
def test_a_policy_needs_a_period(period: Any) -> None:
    pair = PAIRS[3]()
    with pytest.raises(InputError, match="period"):
        tr.simulate(pair, pair.place(), 0.1, policy=Policy(period))


def test_sampled_motion_is_exact_between_its_knots() -> None:
    times = np.linspace(0.0, 1.0, 101)
    values = np.zeros((101, 6))
    values[:, 3] = 3.0 * times**2
    pair = tr.RollingPair(ball(), tr.Hand(tr.Plane(), motion=tr.SampledMotion(times, values)), friction=5.0)
    run = tr.simulate(pair, pair.place(), 1.0)
    speed = float(np.trapezoid(values[:, 3], times))
    assert run["hand_velocity"][-1, 0] == pytest.approx(speed, abs=1e-12)
    assert run["object_velocity"][-1, 0] == pytest.approx(2 / 7 * speed, abs=1e-11)


# Interrupts and failures --------------------------------------------------------------------------------------------


def test_an_interrupt_keeps_what_was_done() -> None:
    pair = PAIRS[3](friction=5.0)

    def stop(t: float, x: np.ndarray) -> np.ndarray:
        if t > 0.995:
            raise KeyboardInterrupt
        return np.zeros(6)

    run = tr.simulate(pair, pair.place(), 5.0, policy=Policy(0.01, stop), output_step=0.1)
    assert run.status is Status.INTERRUPTED
    assert run.time[-1] == pytest.approx(1.0, abs=0.011)


def test_an_interrupt_at_the_very_start_keeps_the_start() -> None:
    pair = PAIRS[3]()

    def stop(t: float, x: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt

    run = tr.simulate(pair, pair.place(), 5.0, policy=Policy(0.01, stop))
    assert run.status is Status.INTERRUPTED
    assert list(run.time) == [0.0]


def test_progress_is_told_and_may_interrupt() -> None:
    pair = PAIRS[3](friction=5.0)
    told: list[float] = []

    def progress(t: float) -> None:
        told.append(t)
        if len(told) > 2:
            raise KeyboardInterrupt

    start = pair.place(object_angular_velocity=[1.0, 0.0, 0.0])
    run = tr.simulate(pair, start, 1e6, output_step=1e4, step=0.01, progress=progress)
    assert run.status is Status.INTERRUPTED
    assert told == sorted(told)
    assert run.time[-1] < 1e6


def test_a_hand_that_runs_away_to_infinity_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MAX_STEPS", 50_000)  # a million end alike
    with pytest.raises(InputError, match="amplitude"):
        tr.SinusoidMotion([1e200, 0, 0, 1e200, 0, 0], [1.0] * 6)
    motion = tr.SinusoidMotion([1e150, 0, 0, 1e150, 0, 0], [1.0] * 6)
    pair = tr.RollingPair(ball(), tr.Hand(tr.Plane(), motion=motion), on_slip="ignore", on_separation="ignore")
    try:
        run = tr.simulate(pair, pair.place(), 1.0)
    except InputError:
        return
    assert run.status not in (Status.SUCCESS, Status.INFEASIBLE)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("duration", 0.0), ("duration", np.nan), ("output_step", -1.0), ("output_step", 1e-12), ("step", 0.0),
     ("relative_tolerance", 1.0), ("method", "euler"), ("method", "rk4"), ("stabilization", "glue")],
)  # fmt: skip
def test_wrong_arguments_are_named(argument: str, value: Any) -> None:
    pair = PAIRS[3]()
    with pytest.raises(InputError, match="step" if value == "rk4" else argument):
        tr.simulate(pair, pair.place(), **({"duration": 1.0} | {argument: value}))


def test_step_and_tolerance_exclude_each_other() -> None:
    pair = PAIRS[3]()
    with pytest.raises(InputError, match="relative_tolerance"):
        tr.simulate(pair, pair.place(), 1.0, step=0.01, relative_tolerance=1e-8)


def test_transitions_without_progress_go_on_in_time_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from trundle.simulate.events.transitions import EventHandler

    monkeypatch.setattr(EventHandler, "_decide_bound", lambda self, now, ending, contact, phase: now)
    pair = tr.RollingPair(ball(), tr.Hand(tr.Plane(), rpy=[1.0, 0.0, 0.0]), friction=0.1, on_slip="slide")
    run = tr.simulate(pair, pair.place(), 1.0)
    assert run.status is Status.SUCCESS
    assert "transitions follow each other without progress" in {note["reason"] for note in run.transitions}
    assert run["mode"][-1] == "sliding"
    np.testing.assert_allclose(
        run["contact_force"][-1] @ run["contact_normal"][-1], 0.5 * 9.81 * np.cos(1.0), rtol=1e-6
    )


# Samples and wall time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "step", "count"), [(1.0, 0.1, 11), (1.0, 0.3, 5), (0.7, 0.7, 2), (1.0, None, 501)]
)
def test_samples_fall_on_the_grid_and_the_end(duration: float, step: float | None, count: int) -> None:
    pair = PAIRS[3](friction=5.0)
    run = tr.simulate(pair, pair.place(), duration, output_step=step)
    assert len(run) == count
    assert run.time[-1] == duration
    grid = np.arange(len(run) - 1) * (step or duration / 500)
    np.testing.assert_allclose(run.time[:-1], grid, atol=1e-15)


def test_wall_times_are_apart() -> None:
    plate = tr.Hand(tr.Plane(), twist=[0, 0, 7.0, 0, 0, 0])
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), 0.1, "solid"), plate)
    start = pair.place(object_angular_velocity=[1.0, 0.0, 0.0])
    tr.simulate(pair, start, 1.0)
    begin = time.perf_counter()
    run = tr.simulate(pair, start, 120.0, output_step=0.01)
    total = time.perf_counter() - begin
    spent = run.metadata["wall_time"]
    assert set(spent) == {"build", "simulate", "record"}
    assert sum(spent.values()) <= total
    assert run.metadata["statistics"]["average_step"] >= 0.01


@pytest.mark.parametrize("d", [2, 3])
def test_a_box_put_down_beyond_the_edge_of_a_plate_does_not_rest_there(d: int) -> None:
    """Two of its corners would hold it, one of them where the plate is no more."""
    body = tr.RigidBody(tr.Box([0.06] * d), mass=1.0)
    hand = tr.Hand(tr.Line(), extent=0.4) if d == 2 else tr.Hand(tr.Plane(), extent=(0.4, 0.4))
    pair = tr.RollingPair(body, hand, friction=0.7, on_slip="slide", on_separation="fly")
    for x, status in ((0.21, Status.OFF_THE_HAND), (0.1, Status.SUCCESS)):
        place = (x, 0.1) if d == 2 else (x, 0.0, 0.1)
        run = tr.simulate(pair, pair.place(object_position=place, object_velocity=(0.0,) * d), 0.3)
        assert run.status is status or (status is Status.SUCCESS and run.status is Status.REST)
        assert run.feasible
