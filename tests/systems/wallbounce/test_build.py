"""Scenarios of kind `wallbounce`: checked, built, run with parts, measured, drawn."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.wallbounce import leaning
from tests.measuring import compute
from trundle.contact.soft import SoftLaw
from trundle.errors import InputError
from trundle.numerics.compiled.compile import find_compiler
from trundle.records import load_trajectory
from trundle.scenarios import build, load_scenario, run
from trundle.systems.wallbounce.bound import impulse_bound
from trundle.systems.wallbounce.control.costs import BalancerWeights
from trundle.systems.wallbounce.control.low_level import LowLevelGains
from trundle.systems.wallbounce.control.observer import ObserverRules
from trundle.systems.wallbounce.control.schedule import ScheduleRules
from trundle.systems.wallbounce.control.two_level import Timing
from trundle.systems.wallbounce.robot import BallBalancer
from trundle.systems.wallbounce.scenario.metrics import _turning, models
from trundle.systems.wallbounce.scenario.record import BalancerTrialResult, results, robot_numbers, robot_of
from trundle.systems.wallbounce.scenario.schema import (
    BalancerTable,
    LawTable,
    LowLevelGainsTable,
    ObserverTable,
    PlanTimingTable,
    RulesTable,
    WeightsTable,
)
from trundle.systems.wallbounce.scenario.setup import Setup
from trundle.systems.wallbounce.scenario.trials import QUALITY, _with_trip, run_trial

NAMES = ("recover", "avoid", "turn", "models")


@pytest.mark.parametrize(
    ("table", "object_", "but"),
    [
        (BalancerTable, BallBalancer, {"gravity"}),
        (LawTable, SoftLaw, {"largest", "width", "offset"}),
        (RulesTable, ScheduleRules, {"keep_end"}),
        (ObserverTable, ObserverRules, set()),
        (LowLevelGainsTable, LowLevelGains, set()),
        (PlanTimingTable, Timing, set()),
        (
            WeightsTable,
            BalancerWeights,
            {"position", "joints", "angular", "force", "torso", "contact_speed", "contact_distance"},
        ),
    ],
)
def test_defaults_of_files_are_those_of_the_objects(table, object_, but):
    own, other = table().model_dump(), object_()
    names = {f.name for f in dataclasses.fields(other)} - but
    assert names <= set(own)
    for name in names:
        if isinstance(own[name], str):
            assert own[name] == getattr(other, name)
        else:
            assert np.asarray(own[name]) == pytest.approx(np.asarray(getattr(other, name)))


def test_survivable_pushes_are_those_drawn_up_to_the_bound():
    away = load_scenario("wallbounce-stay").parts["away"]
    for share in (1.0, 0.5, 0.0):
        some = load_scenario("wallbounce-stay", [f"parts.away.trials.survivable={share}"]).parts["away"]
        free = load_scenario("wallbounce-stay", ["trials.heading=[0.6109, 5.6723]"])
        cut = 0
        for held, drawn in zip(Setup.of(some).trials(), Setup.of(free).trials(), strict=True):
            bound = share * impulse_bound(Setup.of(away).robot, drawn.push[1], drawn.push[3])
            assert held.push == pytest.approx((min(drawn.push[0], bound), *drawn.push[1:]))
            cut += held.push[0] < drawn.push[0]
        assert cut == 10 if share == 0.0 else 0 < cut <= 10


@pytest.mark.parametrize("name", NAMES)
def test_trials_are_drawn_with_the_seed_and_the_same_in_all_parts(name):
    scenario = load_scenario(f"wallbounce-{name}")
    build(scenario)
    drawn = Setup(scenario.tables, scenario.seed).trials()
    assert drawn == Setup(scenario.tables, scenario.seed).trials()
    for part, other in scenario.parts.items():
        if part not in ("gentle", "any-start"):
            assert Setup(other.tables, other.seed).trials() == drawn
    if name == "recover":
        pushes = np.array([trial.push for trial in drawn])
        assert len(pushes) == 20
        assert np.all((pushes >= [18, 0.15, -0.611, 0.3, 0.5]) & (pushes <= [32, 0.35, 0.611, 0.7, 0.5]))
        assert Setup(scenario.tables, 1).trials() != drawn


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("trials.impulse=[30.0, 20.0]", "trials.impulse"),
        ("plant.arm_masses=[9.0, 5.0]", "plant.arm_masses"),
        ("controller.rules.off=5.0", "controller.rules.off"),
        ("robot.joint_lower=[2.0, 0.0, 0.0]", "robot.joint_lower"),
        ('controller.levels="three"', "controller.levels"),
        ("controller.timing.implicit=0.0", "controller.timing.implicit"),
        ("controller.timing.hybrid=0.0104", "controller.timing.hybrid"),
        ("noise.delay=-1.0", "noise.delay"),
    ],
)
def test_what_cannot_be_is_named(override, key):
    with pytest.raises(InputError) as caught:
        build(load_scenario("wallbounce-recover", [override]))
    assert key in str(caught.value)


def test_a_wall_through_the_robot_is_named(tmp_path: Path):
    path = tmp_path / "inside.toml"
    text = 'kind = "wallbounce"\ntask = "recover"\n[[walls]]\npoint = [0.1, 0.0, 0.0]\nnormal = [-1.0, 0.0, 0.0]\n'
    path.write_text(text)
    with pytest.raises(InputError, match=r"walls\[0\]\.point"):
        build(load_scenario(path))


def test_a_wall_without_a_direction_is_named(tmp_path: Path):
    path = tmp_path / "nowhere.toml"
    text = 'kind = "wallbounce"\ntask = "recover"\n[[walls]]\npoint = [0.5, 0.0, 0.0]\nnormal = [0.0, 0.0, 0.0]\n'
    path.write_text(text)
    with pytest.raises(InputError, match=r"nowhere\.toml: walls\[0\]\.normal"):
        build(load_scenario(path))


def test_a_goal_at_the_start_is_named(tmp_path: Path):
    path = tmp_path / "nowhere.toml"
    path.write_text('kind = "wallbounce"\ntask = "navigate"\n')
    with pytest.raises(InputError, match=r"goal\.position"):
        load_scenario(path)


def result_of(**given: Any) -> BalancerTrialResult:
    """A result with these values, and any others."""
    kinds = {"str": "", "float": 0.0, "int": 0, "bool": False, "FloatArray": np.zeros((1, 2))}
    needed = [f for f in dataclasses.fields(BalancerTrialResult) if f.default is dataclasses.MISSING]
    others = {f.name: kinds[str(f.type).removeprefix("Annotated[").split(",")[0]] for f in needed}
    return BalancerTrialResult(**others | given)


def test_what_counts_as_safe_and_cleared():
    good = result_of(status="success", torso_min=0.05, away=0.1, goal_time=2.0)
    assert good.safe
    assert good.cleared
    for change in ({"status": "fell"}, {"torso_min": -0.001}, {"away": 0.31}):
        assert not replace(good, **change).safe
    assert not replace(good, torso_min=0.019).cleared
    assert not replace(good, goal_time=np.nan).cleared


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")
def test_a_run_leaves_trajectory_parts_metrics_pictures_and_page(tmp_path: Path):
    pytest.importorskip("mujoco")
    one = ["trials.count=1", "trials.impulse=[26.0, 26.0]", "trials.heading=[0.0, 0.0]", "trials.height=[0.6, 0.6]"]
    scenario = load_scenario("wallbounce-models", [*one, "simulation.duration=1.2"])
    result = run(scenario, tmp_path / "out")
    made = result.trajectory
    assert made is not None
    assert made.kind == "wallbounce"
    assert set(result.parts) == {"implicit-only"}
    assert made["hand_force_measured"].shape == (121, 2, 3)
    assert np.max(made["torso_distance"]) < 0.5
    assert np.all(np.isin(made["active_contact"], (0.0, 1.0)))
    (trial,) = results(load_trajectory(tmp_path / "out" / "trajectory.nc"))
    assert trial.status == "success"
    assert trial.torso_min == np.min(made["torso_distance"])
    assert (trial.push_impulse, trial.push_heading) == (26.0, 0.0)
    np.testing.assert_array_equal(trial.path[0], made["base_position"][0, :2])
    assert "trials" not in made.metadata
    values = compute("wallbounce-models", made, result.parts)
    assert {"penetration_p95", "slip_p95", "off_wall_force_p95", "slip_p95_implicit"} <= set(values)
    assert values["slip_p95"] < values["slip_p95_implicit"]
    assert 0.0 <= values["penetration_p95_implicit"] <= values["penetration_max_implicit"]
    assert made["hand_penetration_implicit"].max() <= values["penetration_max_implicit"] + 1e-12
    files = {path.name for path in (tmp_path / "out" / "plots").iterdir()}
    assert {"hand_forces.png", "acceleration.png", "path.png", "planned_hand_speed.png"} <= files
    assert "trials.png" not in files  # there is one
    assert (tmp_path / "out" / "viewer.html").stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")
@pytest.mark.parametrize("degrees", [-20.0, 20.0])
def test_hard_pushes_are_recovered_from_at_leaning_walls(degrees: float) -> None:
    """Two of the pushes of `wallbounce-recover`, 29 and 30 N s; all of them: `python -m bench.wallbounce`."""
    pytest.importorskip("mujoco")
    scenario = load_scenario("wallbounce-recover", leaning(degrees))
    setup = Setup(scenario.tables, scenario.seed)
    for trial in (setup.trials()[1], setup.trials()[3]):
        assert trial.push is not None
        assert trial.push[0] > 29.0
        result = run_trial(setup, trial).result
        assert result.status == "success"
        assert result.away <= 0.3
        assert result.force_measured > 10.0


def test_a_record_holds_all_of_the_robot():
    robot = BallBalancer(mass=9.0, joint_rest=[0.1, 0.2, 0.3], form="simplified")
    numbers = json.loads(json.dumps(robot_numbers(robot)))
    run: Any = SimpleNamespace(metadata={"robot": numbers})
    again = robot_of(run)
    assert again.form == "simplified"
    assert robot_numbers(again) == numbers
    del numbers["form"]
    assert robot_of(run).form == BallBalancer().form


def test_plans_without_contact_have_no_quality_that_could_hold():
    empty = {f"{name}_{share}": None for name in QUALITY for share in ("p50", "p95")}
    full = dict.fromkeys(empty, 0.5)
    run: Any = SimpleNamespace(metadata={"plan_quality": {"hybrid": empty, "implicit": full}})
    values = models(run, {})
    assert set(values) == {f"{key}_implicit" for key in full}
    assert set(values.values()) == {0.5}
    most: Any = SimpleNamespace(metadata={"plan_quality": {"implicit": {"penetration_max": 0.03, "slip_count": 9.0}}})
    assert models(run, {"implicit-only": most}) == values | {"penetration_max_implicit_only": 0.03}


@pytest.mark.parametrize("missing", [float("nan"), float("inf")])
def test_a_time_that_is_never_reached_counts_as_infinite(missing: float) -> None:
    trial: Any = SimpleNamespace(lateral_time=0.5, goal_time=missing, peak_acceleration=2.0)
    assert _turning([trial, trial]) == {"lateral_time": 0.5, "goal_time": float("inf"), "peak_acceleration": 2.0}


@pytest.mark.parametrize(("ends", "known"), [(0.5, False), (2.0, True)])
def test_a_trip_that_ends_before_the_goal_moves_has_no_times_of_the_move(ends: float, known: bool) -> None:
    time = np.linspace(0.0, ends, 51)
    y = np.zeros((51, 16))
    y[:, 0] = time
    setup: Any = SimpleNamespace(
        robot=SimpleNamespace(com=[0.0, 0.0, 0.5]),
        trip=SimpleNamespace(goal=SimpleNamespace(turn_at=1.0)),
        obstacles=(),
        forward=np.array([1.0, 0.0]),
        sideways=np.array([0.0, 1.0]),
    )
    guide: Any = SimpleNamespace(centers=lambda: None, goal=np.array([1.9, 0.0]))
    run: Any = SimpleNamespace(time=time, records={"measured": np.hstack([y, np.zeros((51, 12))])})
    result = _with_trip(result_of(), setup, guide, run)
    assert result.along == pytest.approx(ends)
    assert np.isfinite(result.peak_acceleration) == known
    assert np.isfinite(result.goal_time) == known
    assert np.isnan(result.lateral_time)
