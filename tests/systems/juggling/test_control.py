"""Files that plan, control and try: what is run, what is saved, and how a run that fails ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_cli import trundle
from tests.scenarios.files import ROLL, STILL, changed, written
from trundle.errors import InputError
from trundle.records import load_trajectory
from trundle.scenarios import Result, build, load_scenario, run
from trundle.status import Status
from trundle.systems.juggling.scenario.control import TransferExperiment

TRIALS = {"count": 2, "semi_axes": 0.05, "inertia": 0.05, "angle_sigma": 0.01, "linear_bias": 0.05}
NOISE = {"camera_period": 0.005, "position_sigma": 1e-4, "angle_sigma": 1e-3}
OFFSET = {"contact": [0.001, 0.0, 0.0], "angle": 0.02}


def ran(folder: Path, data: dict[str, Any], *overrides: str, **more: Any) -> Result:
    scenario = load_scenario(written(folder, data), list(overrides))
    return run(scenario, folder / "out", plots=False, **more)


@pytest.fixture(scope="module")
def offset(tmp_path_factory: pytest.TempPathFactory) -> Result:
    data = changed(ROLL, offset=OFFSET, trials={"count": 1}, plan__coarse_nodes=6)
    # Start and goal do not fit each other by rolling: of place and turn, the place is fed back.
    state = {"contact": 1e4, "relative_velocity": 0.1}
    controller = {"period": 0.005, "hold": 0.5, "final": 10.0, "rolled": "contact", "state": state}
    data = changed(data, controller=controller)
    return ran(tmp_path_factory.mktemp("offset"), data)


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return ran(tmp_path_factory.mktemp("tried"), changed(ROLL, trials=TRIALS, noise=NOISE))


def test_with_an_offset_the_main_run_is_the_closed_loop_from_there(offset: Result) -> None:
    assert (offset.status, offset.exit_code) == (Status.SUCCESS, 0), offset.summary
    assert list(offset.parts) == [
        "plan", "open-loop", "coarse-open-loop", "coarse-closed-loop", "closed-loop-1", "open-loop-1"
    ]  # fmt: skip
    assert offset.trajectory is not None
    first = {name: run["contact_on_hand"][0, 0] for name, run in offset.parts.items()}
    assert offset.trajectory["contact_on_hand"][0, 0] == pytest.approx(0.001, abs=1e-12)
    assert first["open-loop"] == pytest.approx(0.001, abs=1e-12)
    assert first["plan"] == first["coarse-open-loop"] == pytest.approx(0.0, abs=1e-12)
    assert offset.parts["plan"].time[-1] == pytest.approx(0.6)
    assert offset.trajectory.time[-1] == pytest.approx(1.1)
    goal = offset.parts["plan"].metadata["goal"]
    np.testing.assert_allclose(offset.parts["plan"]["contact_on_hand"][-1], goal["contact_on_hand"], atol=1e-4)
    assert "hand_acceleration" in offset.trajectory


def test_feedback_comes_nearer_to_the_goal_than_the_planned_inputs_alone(offset: Result) -> None:
    assert offset.trajectory is not None
    closed, opened = (r["contact_on_hand"][-1, 0] - 0.03 for r in (offset.trajectory, offset.parts["open-loop"]))
    assert abs(closed) < 0.2 * abs(opened)


def test_every_run_is_saved_with_its_own_status(offset: Result) -> None:
    for name, part in offset.parts.items():
        saved = load_trajectory(offset.directory / f"trajectory-{name}.nc")
        assert offset.summary["parts"][name]["status"] == saved.status.label
        np.testing.assert_array_equal(saved["object_position"], part["object_position"])


@pytest.mark.slow
def test_without_an_offset_the_main_run_is_the_first_trial(tried: Result) -> None:
    assert list(tried.parts) == ["plan", "closed-loop-1", "open-loop-1", "closed-loop-2", "open-loop-2"]
    assert tried.trajectory is not None
    for name in ("object_position", "hand_acceleration"):
        np.testing.assert_array_equal(tried.trajectory[name], tried.parts["closed-loop-1"][name])
    assert np.any(tried.parts["closed-loop-2"]["object_position"][0] != tried.trajectory["object_position"][0])
    for k in (1, 2):  # the same plant and start with and without feedback
        opened, closed = tried.parts[f"open-loop-{k}"], tried.parts[f"closed-loop-{k}"]
        np.testing.assert_array_equal(opened["object_position"][0], closed["object_position"][0])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_from_its_resolved_file(tried: Result, tmp_path: Path) -> None:
    again = run(tried.directory / "scenario.toml", tmp_path / "again", plots=False)
    assert list(again.parts) == list(tried.parts)
    assert again.summary["metrics"] == tried.summary["metrics"]
    for name, part in again.parts.items():
        np.testing.assert_array_equal(part["object_position"], tried.parts[name]["object_position"])


def test_seed_and_overrides_act_on_trials(tmp_path: Path) -> None:
    path = written(tmp_path, changed(ROLL, trials=TRIALS))

    def drawn(*overrides: str, seed: int | None = None) -> Any:
        work: Any = build(load_scenario(path, list(overrides), seed))
        return work.trials

    plain, heavy, other = drawn(), drawn("object.mass=0.3", "trials.count=3"), drawn(seed=1)
    assert (len(plain), len(heavy)) == (2, 3)
    assert {draw.pair.body.mass for draw in heavy} == {0.3}
    for a, b, c in zip(plain, heavy, other, strict=False):
        np.testing.assert_array_equal(a.bias, b.bias)
        assert not np.array_equal(a.bias, c.bias)
        assert a.seed != c.seed
        assert abs(a.pair.body.shape.radius / 0.02 - 1) == pytest.approx(0.05)
        nominal = (a.pair.body.shape.radius / 0.02) ** 0 * 0.5 * 0.1 * 0.02**2  # J of the model's size
        assert abs(a.pair.body.moments / nominal - 1) == pytest.approx(0.05)


@pytest.mark.slow
def test_parts_of_the_file_have_plans_of_their_own(tmp_path: Path) -> None:
    data = changed(ROLL, parts={"late": {"plan": {"duration": 0.7}}})
    result = ran(tmp_path, data, "goal.contact_on_hand=[0.02, 0.0, 0.0]")
    assert list(result.parts) == ["plan", "late-plan", "late"]
    for name, duration in (("plan", 0.6), ("late-plan", 0.7)):
        assert result.parts[name].time[-1] == pytest.approx(duration)
        assert result.parts[name]["contact_on_hand"][-1, 0] == pytest.approx(0.02, abs=1e-4)


def test_the_regulator_is_shown_beside_the_hand_at_rest(tmp_path: Path) -> None:
    result = ran(tmp_path, changed(STILL, trials={"count": 1, "angle_sigma": 0.01}, noise=NOISE))
    assert result.exit_code == 0, result.summary
    assert list(result.parts) == ["uncontrolled", "closed-loop-1"]
    assert not np.any(result.parts["uncontrolled"]["hand_velocity"])
    assert result.trajectory is not None
    assert np.any(result.trajectory["hand_velocity"])


# what fails -------------------------------------------------------------------------------------------

UNREACHABLE: dict[str, dict[str, Any]] = {
    "a hand that comes back along one line": {"limits": {"freedoms": ["vx"]}},
    "too soon": {"plan__duration": 0.03},
    "no friction": {"contact__friction": 0.0},
    "a hand too weak": {"limits": {"angular_acceleration": 1e-3, "linear_acceleration": 1e-3}},
    "all of the weight on a hand that turns": {"limits": {"normal_force": 1.0, "freedoms": "rotations"}},
    "a steep hand": {"hand__angle": 1.3, "limits": {"freedoms": ["vx"]}},
    "far away": {"goal__contact_on_hand": [1.4, 0.0, 0.0], "hand__extent": 3.0},
}


@pytest.mark.parametrize(
    "change",
    [pytest.param(v, id=k, marks=[] if i == 0 else pytest.mark.slow) for i, (k, v) in enumerate(UNREACHABLE.items())],
)
def test_a_plan_that_is_not_possible_says_so_and_leaves_its_best_attempt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    path = written(tmp_path, changed(ROLL, **change))
    code, said, wrong = trundle(capsys, "run", str(path), "--out", str(tmp_path / "out"), "--no-plots")
    assert code == 1, said + wrong
    assert "Traceback" not in said + wrong
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    status = Status.from_label(summary["status"])
    assert status not in (Status.SUCCESS, Status.REST)
    assert status.advice in summary["advice"]
    assert summary["advice"] in " ".join(said.split())
    assert summary["parts"]["plan"]["status"] == summary["status"]
    assert load_trajectory(tmp_path / "out" / "trajectory.nc").status is status


def test_a_controlled_motion_that_ends_elsewhere_is_no_success(tmp_path: Path) -> None:
    weak = {"angular_acceleration": 1e-3, "linear_acceleration": 1e-3}
    result = ran(tmp_path, changed(STILL, initial__object_angle=0.5, limits=weak))
    assert (result.status, result.exit_code) == (Status.GOAL_NOT_REACHED, 1)
    assert " off its goal, more than " in result.summary["advice"]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "goal outside the hand": (ROLL, {"goal__contact_on_hand": [0.3, 0.0, 0.0]}, r"goal\.contact_on_hand.*extent"),
    "start outside the hand": (ROLL, {"initial": {"contact_on_hand": [0.3, 0, 0]}}, r"initial\.contact_on_hand.*ext"),
    "offset outside the hand": (ROLL, {"offset": {"contact": [0.3, 0.0, 0.0]}}, r"offset\.contact.*extent"),
    "no semi-axes": (
        ROLL,
        {"object__shape": {"type": "fourier", "radius": 0.02, "cos": [0.0, 0.05]},
         "trials": {"count": 1, "semi_axes": 0.05}},
        r"trials\.semi_axes = 0\.05: must be 0 for a FourierRadius",
    ),
    "beyond the chart": (ROLL, {"goal__contact_on_hand": [40.0, 0, 0], "hand__extent": 100.0}, r"goal\..*turns"),
    "a camera that is too fast": (STILL, {"noise": {"camera_period": 0.004}}, r"noise\.camera_period = 0\.004"),
    "no equilibrium": (STILL, {"goal__object_angle": 0.3}, r"goal.*an equilibrium"),
    "no such freedom": (ROLL, {"limits": {"freedoms": ["wx"]}}, r"limits\.freedoms"),
    "a regulator has no plan": (STILL, {"plan": {"nodes": 5}}, r"plan.*unknown key"),
    "a regulator keeps no force": (STILL, {"limits": {"normal_force": 0.5}}, r"limits\.normal_force.*only plans"),
    "a regulator moves no goal hand": (STILL, {"goal__hand_angle": 0.5}, r"goal\.hand_angle.*only plans"),
    "not a number": (ROLL, {"limits": {"linear_acceleration": float("nan")}}, r"limits\.linear_acceleration = nan"),
    "no number": (STILL, {"controller__period": "1 ms"}, r"controller\.period"),
    "unknown key": (ROLL, {"plan__nods": 5}, r"plan\.nods = 5: unknown key; did you mean 'nodes'"),
    "space in the plane": (ROLL, {"goal__object_quaternion": [1.0, 0.0, 0.0, 0.0]}, r"goal\.object_quaternion.*plane"),
    "out of the plane": (ROLL, {"goal__contact_on_hand": [0.0, 0.1, 0.0]}, r"goal\.contact_on_hand.*y = 0"),
    "turned out of the plane": (ROLL, {"offset": {"rotation": [0.1, 0.0, 0.0]}}, r"offset\.rotation.*plane"),
}  # fmt: skip


@pytest.mark.parametrize(("base", "change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused_with_file_key_and_value(
    tmp_path: Path, base: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    path = written(tmp_path, changed(base, **change))
    with pytest.raises(InputError, match=message) as error:
        build(load_scenario(path))
    assert str(error.value).startswith(f"{path}: ")


def test_refused_files_leave_the_command_with_two_and_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, changed(ROLL, goal__contact_on_hand=[0.3, 0.0, 0.0]))
    code, _, wrong = trundle(capsys, "run", str(path), "--out", str(tmp_path / "out"))
    assert code == 2
    assert "goal.contact_on_hand" in wrong
    assert not (tmp_path / "out").exists()


# what is interrupted ----------------------------------------------------------------------------------


def test_interrupted_planning_keeps_the_best_attempt(tmp_path: Path) -> None:
    told: list[float] = []

    def progress(what: str, share: float) -> None:
        told.extend([share] * (what == "plan"))
        if len(told) > 6:
            raise KeyboardInterrupt

    result = ran(tmp_path, ROLL, progress=progress)
    assert (result.exit_code, result.summary["status"]) == (130, "interrupted")
    assert load_trajectory(tmp_path / "out" / "trajectory.nc").status is Status.INTERRUPTED
    assert (tmp_path / "out" / "trajectory-plan.nc").exists()


@pytest.mark.slow
def test_interrupted_guesses_keep_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = TransferExperiment._make_plan

    def interrupted(self: TransferExperiment, share: object, **settings: Any) -> object:
        if settings.get("seed") == 2:  # of the guesses; the plan itself has the scenario's
            raise KeyboardInterrupt
        return planned(self, share, **settings)

    monkeypatch.setattr(TransferExperiment, "_make_plan", interrupted)
    result = ran(tmp_path, changed(ROLL, plan__starts=2))
    assert (result.exit_code, result.summary["status"]) == (130, "interrupted")
    saved = load_trajectory(tmp_path / "out" / "trajectory-plan.nc")
    assert saved["contact_on_hand"][-1, 0] == pytest.approx(0.03, abs=1e-3)
    assert saved.metadata["plan"]["start_successes"] is None


def test_trials_have_a_bias_only_where_the_hand_moves() -> None:
    table = load_scenario("plate-reorient", ["trials.count=3", "trials.angular_bias=0.3", "trials.linear_bias=0.05"])
    biases = np.array([draw.bias for draw in build(table).trials])
    assert np.all(biases[:, :2] != 0)
    np.testing.assert_array_equal(biases[:, 2:], 0.0)


def test_plans_anew_lead_to_the_goal_from_a_start_that_is_off(tmp_path: Path) -> None:
    state = {"contact": 1e4, "relative_velocity": 0.1}
    controller = {"period": 0.005, "hold": 0.5, "rolled": "contact", "state": state, "replan": 0.2}
    found = ran(tmp_path, changed(ROLL, offset={"contact": [0.02, 0.0, 0.0]}, controller=controller))
    assert found.exit_code == 0, found.summary
    assert found.trajectory is not None
    goal = found.parts["plan"].metadata["goal"]["contact_on_hand"]
    np.testing.assert_allclose(found.trajectory["contact_on_hand"][-1], goal, atol=5e-4)


def test_an_integral_of_what_rolling_ties_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"controller\.integral\.contact"):
        load_scenario(written(tmp_path, changed(ROLL, controller={"integral": {"contact": 1.0}})))


@pytest.mark.slow
def test_a_path_much_longer_than_needed_is_said_in_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The plan's path is 1.11 of straight rolls.
    monkeypatch.setattr("trundle.systems.juggling.scenario.control._FAR", 1.05)
    scenario = load_scenario("plate-reorient", ["plan.starts=0", "plan.coarse_nodes=0", "acceptance={}"])
    found = run(scenario, tmp_path, plots=False, jobs=1)
    assert found.summary["parts"]["plan"]["advice"].startswith("the contact goes 0.19 m, 0.171 m would do")
    assert found.exit_code == 0
