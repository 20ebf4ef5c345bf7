"""Kind `walking`, task `walk`: files, the plan on a coarse grid, its record, warm starts."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from tests.measuring import compute
from trundle.errors import InputError
from trundle.records import load_trajectory
from trundle.scenarios import load_scenario, run, shapes
from trundle.scenarios.engine.building import build
from trundle.status import Status
from trundle.systems.walking.scenario.metrics import general

pytest.importorskip("pinocchio")
EXAMPLE = Path(__file__).parents[3] / "examples" / "flat_feet_walk.toml"
TOES = EXAMPLE.with_name("toe_walk.toml")
COARSE = ("plan.intervals=[8, 3]", "plan.steps=2", "replay.steps=0")


FOOT = 'foot={shape={type="ellipsoid", semi_axes=[0.121, 0.055, 0.045]}, center=[-0.003, 0.0, -0.05]}'


TOE = '{shape={type="ellipsoid", semi_axes=[0.06, 0.045, 0.03]}, center=[0.12, 0, 0], joint=[0.1, 0, 0], mass=0.1}'
TOE_FOOT = FOOT[:-1] + f", toe={TOE}}}"


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk") / "run"
    return run(load_scenario("walk-flat", COARSE), folder, plots=False)


@pytest.mark.slow
def test_the_record_holds_what_pinocchio_finds(walked):
    """Base residual, gaps, slips, friction and energy are recomputed from the file by another library."""
    values = general(load_trajectory(walked.directory / "trajectory.nc"))
    assert values["base_residual"] <= 1e-6
    assert values["torque_residual"] <= 1e-6
    assert values["stance_gap_nodes"] <= 1e-6
    assert values["slip_nodes"] <= 1e-6
    assert values["swing_clearance"] >= 0.01
    assert values["friction_use"] <= 1.0
    assert values["energy_balance"] <= 0.02
    assert abs(values["arm_leg_phase"] - 180) <= 40
    assert values["touch_down_behind"] > 0
    assert values["lift_off_ahead"] > 0


@pytest.mark.slow
def test_a_wrong_force_is_found(walked):
    """The residual is no formality: a force that is 1 N too large shows as 1 N."""
    from dataclasses import replace

    record = load_trajectory(walked.directory / "trajectory.nc")
    force = record.dataset["contact_force"].copy()
    force[3, 0, 2] += 1.0
    wrong = replace(record, dataset=record.dataset.assign(contact_force=force))
    assert general(wrong)["base_residual"] >= 0.99


@pytest.mark.slow
def test_the_steps_of_the_record_are_mirror_images(walked):
    record = load_trajectory(walked.directory / "trajectory.nc")
    N = (len(record) - 1) // 2
    names = [str(name) for name in record["joint"]]
    left, right = names.index("left_knee"), names.index("right_knee")
    assert np.allclose(record["joint_position"][:N, left], record["joint_position"][N : 2 * N, right], atol=1e-9)
    assert np.allclose(record["com_position"][:N, 1], -record["com_position"][N : 2 * N, 1], atol=1e-9)
    assert set(map(str, record["phase"])) == {"single left", "double left", "single right", "double right"}


@pytest.mark.slow
def test_a_plan_starts_from_a_neighbour(walked, tmp_path):
    sets = (*COARSE, "walk.slope=2.0", 'plan.warm_from="run/trajectory.nc"')
    warm = load_scenario("walk-flat", sets, allow_path=[walked.directory.parent])
    with pytest.raises(InputError, match="warm_from"):
        run(load_scenario("walk-flat", sets), tmp_path / "refused", plots=False)
    path = walked.directory / "trajectory.nc"
    warm = load_scenario("walk-flat", (*sets[:-1], f'plan.warm_from="{path}"'), allow_path=[walked.directory])
    result = run(warm, tmp_path / "warm", plots=False)
    assert result.summary["metrics"]["base_residual"]["value"] <= 1e-6
    assert result.summary["metrics"]["kkt_residual"]["value"] <= 1e-5


@pytest.mark.slow
def test_another_foot_is_walked_on(walked, tmp_path):
    """With the ellipsoid that `trundle fit-foot` finds in measured gait in place of the avatar's own."""
    run(load_scenario("walk-flat", (*COARSE, FOOT)), tmp_path / "run", plots=False)
    record = load_trajectory(tmp_path / "run" / "trajectory.nc")
    assert (record.status, record.feasible) == (Status.SUCCESS, True)
    assert record.metadata["walk"]["sole"]["semi_axes"] == [0.121, 0.055, 0.045]
    assert record.metadata["walk"]["sole"]["center"] == [-0.003, 0.0, -0.05]
    values, own = general(record), general(load_trajectory(walked.directory / "trajectory.nc"))
    assert values["base_residual"] <= 1e-6
    assert values["stance_gap_nodes"] <= 1e-6
    assert values["swing_clearance"] >= 0.01
    assert abs(values["cost"] - own["cost"]) > 0.01 * own["cost"]


@pytest.mark.slow
@pytest.mark.parametrize(("exponent", "cost"), [(2.0, 1e-9), (1.9999, 1e-3)])
def test_an_ellipsoid_as_a_superellipsoid_walks_as_the_ellipsoid_does(walked, tmp_path, exponent, cost):
    """Exactly 2 is the same expression; close below it, the dual norm."""
    sole = f'{{type="superellipsoid", semi_axes=[0.145, 0.055, 0.045], exponents={exponent}}}'
    foot = f"foot={{shape={sole}, center=[0.055, 0.0, -0.04]}}"
    run(load_scenario("walk-flat", (*COARSE, foot)), tmp_path / "run", plots=False)
    record, own = (load_trajectory(at / "trajectory.nc") for at in (tmp_path / "run", walked.directory))
    values = general(record)
    assert values["cost"] == pytest.approx(general(own)["cost"], rel=cost)
    assert values["stance_gap_nodes"] <= 1e-6
    assert values["base_residual"] <= 1e-6
    np.testing.assert_allclose(record["joint_position"], own["joint_position"], atol=0.01)


@pytest.mark.slow
def test_semi_axes_that_the_plan_chose_are_in_the_record(walked, tmp_path):
    run(load_scenario("walk-flat", (*COARSE, "avatar.stretch=[0.9, 1.1]")), tmp_path / "run", plots=False)
    record, own = (load_trajectory(at / "trajectory.nc") for at in (tmp_path / "run", walked.directory))
    walk = record.metadata["walk"]
    factors = np.array(walk["statistics"]["stretch"])
    np.testing.assert_allclose(walk["sole"]["semi_axes"], factors * own.metadata["walk"]["sole"]["semi_axes"])
    values = general(record)
    assert max(values["base_residual"], values["stance_gap_nodes"], values["slip_nodes"]) <= 1e-6
    assert values["cost"] < 0.99 * general(own)["cost"]


@pytest.mark.slow
def test_two_different_feet_are_walked_on(walked, tmp_path):
    full = (*COARSE, "right_" + FOOT, 'phases.periodicity="full"')
    run(load_scenario("walk-flat", full), tmp_path / "run", plots=False)
    record = load_trajectory(tmp_path / "run" / "trajectory.nc")
    assert (record.status, record.feasible) == (Status.SUCCESS, True)
    assert (
        record.metadata["walk"]["sole"] == load_trajectory(walked.directory / "trajectory.nc").metadata["walk"]["sole"]
    )
    assert record.metadata["walk"]["right_sole"]["semi_axes"] == [0.121, 0.055, 0.045]
    values = general(record)
    assert max(values["base_residual"], values["stance_gap_nodes"], values["slip_nodes"]) <= 1e-6


def registering(monkeypatch, **classes):
    """Let an installed package register shapes under names."""
    points = [EntryPoint(name, of, shapes.GROUP) for name, of in classes.items()]
    monkeypatch.setattr(shapes, "entry_points", lambda group: points if group == shapes.GROUP else [])
    shapes.find_registered_shape.cache_clear()


REGISTERED = 'foot={shape={type="registered", name="egg"}, center=[0.03, 0.0, -0.04]}'


@pytest.mark.slow
def test_a_sole_that_a_package_registers_is_walked_on(tmp_path, monkeypatch):
    registering(monkeypatch, egg="tests.egg:Egg")
    run(load_scenario("walk-flat", (*COARSE, REGISTERED)), tmp_path / "run", plots=False)
    record = load_trajectory(tmp_path / "run" / "trajectory.nc")
    assert (record.status, record.feasible) == (Status.SUCCESS, True)
    assert record.metadata["walk"]["sole"]["shape"] == "egg"
    values = general(record)
    assert max(values["base_residual"], values["stance_gap_nodes"], values["slip_nodes"]) <= 1e-6


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ({}, "none do"),
        ({"goose": "tests.egg:Egg"}, "goose"),
        ({"egg": f"{__name__}:FOOT"}, "not callable"),
        ({"egg": f"{__name__}:Path"}, "Path"),
    ],
)
def test_a_sole_that_no_package_registers_well_is_refused(monkeypatch, classes, message):
    registering(monkeypatch, **classes)
    with pytest.raises(InputError, match=rf"foot\.shape\.name = .*egg.*{message}"):
        build(load_scenario("walk-flat", [REGISTERED]))


@pytest.mark.slow
def test_a_blunt_sole_is_walked_on(tmp_path):
    """Flatter below than an ellipsoid, recomputed from a support map of its own."""
    sole = '{type="superellipsoid", semi_axes=[0.135, 0.05, 0.035], exponents=[2.5, 2.5], rounding=0.01}'
    foot = f"foot={{shape={sole}, center=[0.055, 0.0, -0.04]}}"
    run(load_scenario("walk-flat", (*COARSE, foot)), tmp_path / "run", plots=False)
    record = load_trajectory(tmp_path / "run" / "trajectory.nc")
    assert (record.status, record.feasible) == (Status.SUCCESS, True)
    values = general(record)
    assert max(values["base_residual"], values["stance_gap_nodes"], values["slip_nodes"]) <= 1e-6


@pytest.mark.slow
def test_the_example_of_toes_holds_what_pinocchio_finds(tmp_path):
    """Forces at four contacts and springs at two hinges, recomputed from the file."""
    done = run(load_scenario(TOES, ("plan.intervals=[10, 3]", "plan.steps=2")), tmp_path / "run", plots=False)
    record = load_trajectory(done.directory / "trajectory-toes.nc")
    assert (record.status, record.feasible) == (Status.SUCCESS, True)
    assert [str(name) for name in record["contact"]] == ["left", "left_toe", "right_toe", "right"]
    assert {str(name) for name in record["phase"]} == {
        f"{kind} {side}" for kind in ("single", "toe", "double") for side in ("left", "right")
    }
    values = general(record)
    assert max(values["base_residual"], values["torque_residual"]) <= 1e-6
    assert max(values["stance_gap_nodes"], values["slip_nodes"]) <= 1e-6
    assert values["energy_balance"] <= 0.02
    assert values["friction_use"] <= 1.0
    assert values["swing_clearance"] >= 0.01
    assert values["touch_down_behind"] > 0
    assert values["cost"] > general(load_trajectory(done.directory / "trajectory.nc"))["cost"]


@pytest.mark.slow
def test_a_walk_of_ones_own_is_set_beside_its_part_on_rolling_feet(walked):
    record = load_trajectory(walked.directory / "trajectory.nc")
    values = compute("my-walk", record, {"rolling": record})
    assert (values["iteration_ratio"], values["cost_ratio"]) == (1.0, 1.0)
    assert "cost_ratio" not in compute("my-walk", record, {"toe": record})


def test_the_example_of_flat_feet_stands_on_face_line_and_point():
    scenario = load_scenario(EXAMPLE)
    works = {name: build(one) for name, one in {"": scenario, **scenario.parts}.items()}
    ways = {name: (work.gait.trailing, work.gait.leading) for name, work in works.items()}
    assert ways == {
        "": ("toe", "heel"), "point": ("toe-point", "heel"), "face": ("flat", "flat"), "rolling": ("rolling",) * 2
    }  # fmt: skip
    assert {name: work.gait.sole for name, work in works.items() if name != "rolling"} == dict.fromkeys(
        ("", "point", "face"), "flat"
    )
    assert works["rolling"].gait.sole == "rolling"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("phases.trailing='toe'", "phases.trailing"),
        ("phases.single=[0.5, 0.2]", "ascending"),
        ("walk.slope=60.0", "walk.slope"),
        ("cost.torques.nose=1.0", "nose"),
        ("limits.joints.knee=[1.0, 0.0]", "knee"),
        ("limits.joints.knee=[-1.0, -0.5]", r"limits\.joints\.knee = .*from 0 to"),
        ("walk.landing=0.9", r"walk\.landing = 0\.9: must be on the sole: above -0\.145"),
        ("walk.rolling_on=-0.5", r"walk\.rolling_on = -0\.5: must be on the sole"),
        ("plan.intervals=[1, 6]", "plan.intervals"),
        ("plan.warm_from='none.nc'", r"plan\.warm_from = .*none\.nc.*: must be an existing file"),
        ("avatar.mass=-1.0", "avatar.mass"),
        ("foot.center=[0.0, 0.0, 0.0]", "foot.shape"),
        ('foot={shape={type="torus", major=0.1, minor=0.02}, center=[0, 0, 0]}', "foot.shape"),
        (FOOT.replace("0.121", "0.0"), "foot.shape.semi_axes"),
        (FOOT.replace("-0.05]", "0.05]"), "foot.center"),
        ("right_" + FOOT.replace("-0.05]", "0.05]"), "right_foot.center"),
        ("right_" + FOOT, "phases.periodicity"),
        (TOE_FOOT.replace("mass=0.1", "mass=5.0"), "foot.toe.mass"),
        (TOE_FOOT.replace("0.06, 0.045", "0.0, 0.045"), "foot.toe.shape.semi_axes"),
        (TOE_FOOT.replace("mass=0.1", "damping=-1.0"), "foot.toe.damping"),
        (TOE_FOOT.replace("toe=", "tow="), "foot.tow"),
        ("right_" + TOE_FOOT, "right_foot.toe"),
        ("avatar.stretch=[1.2, 0.8]", "avatar.stretch"),
        ('avatar={sole="flat", stretch=[0.8, 1.2]}', "avatar.stretch"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        build(load_scenario("walk-flat", [change]))


@pytest.mark.parametrize("change", ["phases.impacts=true", 'avatar.sole="flat"', "avatar.stretch=[0.8, 1.2]"])
def test_toes_are_refused_where_feet_are_of_one_piece(change):
    with pytest.raises(InputError, match=r"foot\.toe"):
        build(load_scenario("walk-flat", [TOE_FOOT, change]))
