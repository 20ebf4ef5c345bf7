"""What is measured when sensors fail, and the stop with a name: each exactly, and every controller at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import trundle as tr
from bench import faults as bench
from trundle.systems.multicontact.centroidal.centroidal import CentroidalState
from trundle.systems.multicontact.centroidal.forecast import Forecast
from trundle.systems.multicontact.preview import Preview, PreviewPlan, ReferencePath

TIMES = 0.1 * np.arange(20)


def seen(faults: tr.control.Faults) -> np.ndarray:
    """Return what a policy that echoes its measurement (k, -k) at 0.1 k s says, (20, 2)."""
    policy = tr.control.Faulty(tr.FunctionPolicy(0.1, lambda time, state: state), faults)
    policy.reset()
    return np.array([policy(time, np.array([k, -k], dtype=float)) for k, time in enumerate(TIMES)])


PLAIN = seen(tr.control.Faults())


def test_without_faults_nothing_changes() -> None:
    np.testing.assert_array_equal(PLAIN[:, 0], np.arange(20))


def test_faults_act_between_begin_and_end_only() -> None:
    acting = (TIMES > 0.45) & (TIMES < 1.15)
    for faults in (
        tr.control.Faults(0.5, 1.2, nan=1.0),
        tr.control.Faults(0.5, 1.2, frozen=True),
        tr.control.Faults(0.5, 1.2, bias=3.0),
    ):
        found = seen(faults)
        np.testing.assert_array_equal(found[~acting], PLAIN[~acting])
        assert not np.any(found[acting][1:] == PLAIN[acting][1:])


def test_each_fault_is_what_it_says() -> None:
    np.testing.assert_array_equal(seen(tr.control.Faults(0.5, frozen=True))[5:], np.tile(PLAIN[5], (15, 1)))
    np.testing.assert_array_equal(seen(tr.control.Faults(0.5, late=0.2))[5:], PLAIN[3:-2])
    np.testing.assert_array_equal(seen(tr.control.Faults(bias=[1.0, 2.0])), PLAIN + np.array([1.0, 2.0]))
    np.testing.assert_array_equal(seen(tr.control.Faults(bias=1.0, entries=[1])), PLAIN + np.array([0.0, 1.0]))
    blind = seen(tr.control.Faults(nan=1.0, entries=[0]))
    assert np.all(np.isnan(blind[:, 0]))
    np.testing.assert_array_equal(blind[:, 1], PLAIN[:, 1])
    np.testing.assert_array_equal(seen(tr.control.Faults(0.5, dropped=1.0))[5:], np.tile(PLAIN[4], (15, 1)))
    np.testing.assert_array_equal(seen(tr.control.Faults(0.5, lost=1.0))[5:], np.tile(PLAIN[4], (15, 1)))


@pytest.mark.parametrize("kind", ["dropped", "lost", "nan"])
def test_a_share_is_drawn_with_the_seed(kind: str) -> None:
    share: dict[str, Any] = {kind: 0.5}
    found = [seen(tr.control.Faults(seed=seed, **share)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2], equal_nan=True)
    missed = np.sum(found[0][:, 0] != PLAIN[:, 0])
    assert 3 <= missed <= 17


def test_wrong_faults_are_refused_by_name() -> None:
    for key, given in [("end", {"begin": 1.0, "end": 0.5}), ("dropped", {"dropped": 1.5}), ("late", {"late": -1.0}),
                       ("bias", {"bias": np.nan}), ("entries", {"entries": [-1]}), ("seed", {"seed": -1})]:  # fmt: skip
        with pytest.raises(tr.InputError, match=key):
            tr.control.Faults(**given)
    with pytest.raises(tr.InputError, match="policy"):
        tr.control.Faulty(3, tr.control.Faults())  # type: ignore[arg-type]
    with pytest.raises(tr.InputError, match="bias"):
        seen(tr.control.Faults(bias=[1.0, 2.0, 3.0]))
    with pytest.raises(tr.InputError, match="stop"):
        tr.control.Watchdog(tr.FunctionPolicy(0.1, lambda time, state: state), 1, stop="run")


def watched(law: Callable[[float, np.ndarray], Any], **given: Any) -> tr.control.Watchdog:
    return tr.control.Watchdog(tr.FunctionPolicy(0.1, law), 1, **given)


def test_the_last_good_input_is_held_for_the_patience_then_it_stops_for_good() -> None:
    dog = watched(lambda time, state: 10.0 * state, patience=0.3, settle=0.2)
    told = [1.0, 2.0, *[np.nan] * 3, 3.0, *[np.nan] * 5, 4.0]
    answers = [float(dog(0.1 * k, np.array([x]))[0]) for k, x in enumerate(told)]
    assert answers == [10.0, 20.0, 20.0, 20.0, 20.0, 30.0, 30.0, 30.0, 30.0, 0.0, 0.0, 0.0]
    assert dog.stopped_at == pytest.approx(0.9)
    with pytest.raises(tr.errors.ControlLostError, match="not finite") as error:
        dog(1.2, np.zeros(1))
    assert error.value.status is tr.Status.SAFE_STOP
    dog.reset()
    assert (dog.bad, dog.stopped_at, float(dog(0.0, np.ones(1))[0])) == (0, None, 10.0)


def test_stale_measurements_bad_answers_and_policies_that_give_up_are_bad_ticks() -> None:
    def given_up(time: float, state: np.ndarray) -> float:
        raise tr.errors.ControlLostError("the ball is gone", tr.Status.DIVERGED)

    cases = [
        (watched(lambda time, state: state, patience=0.0, stale=0.2), "changed"),
        (watched(lambda time, state: np.nan, patience=0.0), "answer"),
        (watched(given_up, patience=0.0), "the ball is gone"),
    ]
    for dog, reason in cases:
        with pytest.raises(tr.errors.ControlLostError, match=reason):
            _ = [dog(0.1 * k, np.ones(1)) for k in range(6)]


def test_a_stop_of_ones_own_sees_the_last_finite_numbers() -> None:
    dog = watched(lambda time, state: [0.0], patience=0.0, settle=1.0, stop=lambda x, last: -x[:1])
    dog(0.0, np.array([2.0, 3.0]))
    dog(0.1, np.array([np.nan, 4.0]))
    assert dog(0.2, np.array([np.nan, 4.0])).tolist() == [-2.0]


def test_lqr_measures_nan_and_ends_with_a_name() -> None:
    """Alone, each says not-finite, at the tick; behind a watchdog it stops by the time told."""
    for name in ("LQR of a pole", "LQR, balancing"):
        bare = bench.ending(name, "NaN for good", watchdog=False)
        assert (bare.status, bare.time) == (tr.Status.NOT_FINITE, pytest.approx(bench.BEGIN, abs=0.011))
        stopped = bench.ending(name, "NaN for good")
        assert stopped.status is tr.Status.SAFE_STOP
        assert stopped.stopped == pytest.approx(bench.BEGIN + 0.05, abs=0.011)


def test_a_humanoid_holds_its_last_torques_while_it_is_blind() -> None:
    work = bench.CONTROLLERS["whole-body"].work  # type: ignore[union-attr]
    policy, view = work.policy(), work.plant(bench.Standing(0, 1.0))
    made = view.plant(work.start)
    state = view.sensors(work.noise()).read(made.view())
    before = policy(0.0, state).copy()
    np.testing.assert_array_equal(policy(0.002, np.full_like(state, np.nan)), before)
    assert policy.statuses[tr.Status.NOT_FINITE] == 1
    assert np.all(np.isfinite(policy(0.004, state)))


WRONG_SIGN = {
    "LQR of a pole": ("off its goal", 4.0),
    "LQR, balancing": ("slipped", 0.1),
    "LQR, tracking": ("slipped", 0.1),
    "inverse dynamics, rover": ("separated", 0.1),
    "inverse dynamics, leg": ("slipped", 0.3),
    "whole-body": ("fell", 0.2),
    "whole-body, preview": ("fell", 0.2),
    "walk, preview": ("fell", 0.2),
    "MPC, implicit level": ("fell or diverged", 0.3),
    "MPC, both levels": ("fell or diverged", 0.3),
}
"""How a run ends, and by when (s). Beside the cart the pole swings below it: bounded motion, far from the goal.

With wrong plans the balancer falls while its arm moves at thousands of m/s: which limit is met first is MuJoCo's.
"""
QUICK = ("LQR, balancing", "inverse dynamics, leg")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in WRONG_SIGN])
def test_inputs_of_the_wrong_sign_end_a_run_soon_and_by_name(name: str) -> None:
    found = bench.ending(name, "wrong sign")
    verdict, latest = WRONG_SIGN[name]
    assert found.verdict in verdict.split(" or "), str(found)
    assert found.time <= latest
    assert found.stopped is None


class Opposed:
    """A preview whose feedback has the wrong sign, a = a_path + K (x - x_path): from the state mirrored about the path.

    What it answers is moved to where the robot is.
    """

    def __init__(self, preview: Preview) -> None:
        self.preview = preview

    def __call__(self, time: float, state: CentroidalState, forecast: Forecast, path: ReferencePath) -> PreviewPlan:
        place, speed = (one[0] for one in path(np.array([time])))
        away, fast = state.position - place, state.velocity - speed
        mirrored = CentroidalState(place - away, speed - fast, -state.angular_momentum)
        plan = self.preview(time, mirrored, forecast, path)
        mass, late, states = plan.window.samples.masses[0], plan.times - plan.times[0], plan.states.copy()
        for i in (0, 1):  # rows: m x, m v_x, m y, m v_y, ...
            states[:, 2 * i] += 2.0 * mass * (away[i] + late * fast[i])
            states[:, 2 * i + 1] += 2.0 * mass * fast[i]
        moved = replace(plan, states=states)
        np.testing.assert_allclose(moved.position[0, :2], state.position[:2], atol=1e-9)
        return moved


@pytest.mark.slow
@pytest.mark.parametrize("name", ["humanoid-stand", "humanoid-walk"])
def test_a_preview_whose_feedback_has_the_wrong_sign_falls_soon(name: str) -> None:
    def wrong(policy: Any, size: int) -> Any:
        policy.preview = Opposed(policy.preview)
        return policy

    found = bench.Humanoid(name, 4.0).run(wrong, 1.0)
    assert found.status is tr.Status.FELL
    assert "base leans" in found.reason
    assert found.time < 1.0


SURVIVED = list(bench.FAULTS)[: list(bench.FAULTS).index("model 10 % off") + 1]
"""What every controller has to survive, or to stop at where it is for good."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", SURVIVED)
@pytest.mark.parametrize("controller", bench.CONTROLLERS)
def test_every_controller_survives_or_stops_with_a_name(controller: str, fault: str) -> None:
    """The table of docs/reliability.md."""
    found = bench.ending(controller, fault)
    if fault.endswith("for good"):
        assert found.stopped == pytest.approx(bench.BEGIN + 0.05, abs=0.07), str(found)
    else:
        assert found.verdict == "survives", str(found)
