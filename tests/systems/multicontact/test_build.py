"""Kind multicontact: humanoids stand under pushes and walk, their metrics, figures and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.measuring import compute, figures_of, measured, stage_of
from tests.scenarios.files import EXAMPLES, own_robot
from trundle.errors import InputError
from trundle.models.urdf.examples import example_robots
from trundle.scenarios import build, catalogue, load_scenario
from trundle.systems.multicontact.scenario import metrics as metrics_multicontact
from trundle.systems.multicontact.scenario.record import results
from trundle.systems.multicontact.scenario.stances import stance_records
from trundle.systems.multicontact.scenario.trials import _sole_shift
from trundle.systems.multicontact.scenario.walk import HumanoidWalkExperiment, StandExperiment
from trundle.systems.multicontact.stances.stances import TimingRule

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")


def only(name: str, *overrides: str):
    (job,) = build(load_scenario(name, list(overrides))).parts()
    return job.run(None)


@pytest.fixture(scope="module")
def walked():
    return only("humanoid-walk", "steps.count=1", "trials.count=1", "simulation.settle=0.6")


@pytest.mark.slow
def test_a_walk_follows_its_nominal_motion(walked) -> None:
    values = compute("humanoid-walk", walked)
    assert values["seeds_ok"] == 1
    assert values["com_rms_xy"] < 0.01
    assert values["torque_use"] <= 1.0
    assert values["ticks_unsolved"] == 0
    assert 0 < values["friction_use"] < 1
    assert -1e-3 < values["cone_margin"] < 1.0, "N: every planned wrench inside its cone, edges and yaw too"
    assert values["previews_relaxed"] == values["previews_unsolved"] == 0
    assert all(metric.unit for metric in measured("humanoid-walk", walked).values())
    feet = walked["contact_force"][:, :2, 2]
    alone = (feet[:, 0] > 200) & (feet[:, 1] < 1)
    assert alone.mean() > 0.15, "one foot carries while the other travels"
    moved = walked["contact_position"][-1] - walked["contact_position"][0]
    assert moved[1] == pytest.approx([0.14, 0, 0], abs=0.01)
    assert moved[0] == pytest.approx([0, 0, 0], abs=0.005)
    assert walked["gap"][alone, 1].max() == pytest.approx(0.06, abs=0.01)


@pytest.mark.slow
def test_what_is_recorded_agrees_with_itself(walked) -> None:
    rate = np.gradient(walked["com_position"], walked.time, axis=0)
    assert np.abs(rate - walked["com_velocity"])[5:-5].max() < 0.02
    mass = 33.34114 * 1.05
    weight = mass * 9.81
    acceleration = np.gradient(walked["com_velocity"], walked.time, axis=0)[20:, 2]
    force = walked["contact_force"].sum(axis=1)[20:, 2]
    assert np.median(np.abs(force - weight - mass * acceleration)) < 0.02 * weight


@pytest.mark.slow
def test_the_momentum_that_previews_drop_is_told_from_where_each_plan_was_made(walked) -> None:
    body, planned = walked["angular_momentum_estimated"], walked["angular_momentum_planned"]
    off = np.abs(planned - body).max(axis=1)
    assert (off < 1e-12).mean() > 0.2, "plans, one in four of the ticks that are kept, begin at what is estimated"
    assert np.quantile(off, 0.99) < 0.3
    assert off.max() < 0.4, "at a landing, in the tick before the next plan"
    assert np.ptp(body[:, 2]) > 0.3
    assert np.abs(body - walked["angular_momentum"]).max() < 0.3, "the plant's own"
    (result,) = results(walked)
    assert result.dropped_error == pytest.approx(np.abs(planned - body)[:, 2].max())
    assert result.dropped_error < result.dropped_error_ahead < 3.0
    assert compute("humanoid-walk", walked)["dropped_momentum_error"] == result.dropped_error
    fan = walked.metadata["plans"]
    k = int(np.argmin(np.abs(walked.time - fan["time"][3])))
    np.testing.assert_allclose(fan["angular_momentum"][3][0], planned[k], atol=1e-5)


@pytest.mark.slow
def test_what_planned_wrenches_use_stays_within_their_cones(walked) -> None:
    use = walked["contact_use_planned"]
    assert list(walked.dataset["use"].values) == ["friction", "pressure", "yaw"]
    assert use.max() < 1 + 1e-4
    assert (use.max(axis=(0, 1)) > 0.1).all()
    lifted = walked["contact_normal_planned"][..., 2] == 0.0
    assert lifted.any()
    assert not use[lifted].any()


@pytest.mark.slow
def test_figures_and_moving_picture(walked) -> None:
    drawn = figures_of(walked)
    assert {"com_path", "com", "forces", "cones", "angular_momentum", "torque_use", "solve_times"} < set(drawn)
    assert "dropped_momentum" in drawn
    assert "trials" not in drawn  # there is one
    for name, one in drawn.items():
        ax = Figure().add_subplot()
        one.draw(ax)
        assert ax.get_title(loc="left"), name
        assert one.caption, name
    stage = stage_of(walked)
    names = {actor.name for actor in stage.actors}
    assert {"left_ankle_roll_link", "torso_link", "floor", "foothold_0"} <= names
    assert "Unitree" in walked.metadata["notice"]


@pytest.mark.slow
def test_a_walk_that_fails_names_the_joint_the_demand_and_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    overrides = ["steps.length=0.15", "steps.count=4", "trials.count=1"]
    run = only(str(EXAMPLES / "romeo_walk.toml"), *overrides)
    (result,) = results(run)
    assert not result.survived
    message = run.metadata["message"]
    assert message.startswith(f"trial with seed 0 and masses times 1.05: {result.reason}; ")
    said = r"without limits of its joints it holds: joint [LR]KneePitch takes (-\d+\.?\d*) N m, its limit is -36.3 N m$"
    found = re.search(said, message)
    assert found
    assert float(found[1]) < -36.3
    assert caplog.messages == [message]
    assert caplog.records[0].__dict__["aloud"], "on the error stream, too"


@pytest.mark.slow
def test_a_stand_that_no_joint_could_save_names_the_contact() -> None:
    run = only("humanoid-stand", "pushes.fore_aft=[25.0]", 'pushes.axes=["fore-aft"]', "mass_factors=[1.0]")
    message = run.metadata["message"]
    assert message.startswith("trial with seed 0 and masses times 1: base leans")
    said = r"no limit of a joint binds, it fails without any; its plans use 1\.00 of the pressure of (left|right)_foot"
    assert re.search(said, message)


@pytest.mark.slow
def test_the_nominal_motion_itself_may_be_tracked() -> None:
    """The paper's open loop: what the preview made of its own model, and nothing made of what is measured."""
    run = only(
        "humanoid-walk",
        "steps.count=1",
        "trials.count=1",
        "simulation.settle=0.6",
        "controller.preview.use=false",
        "controller.period=0.004",
    )
    (result,) = results(run)
    assert result.survived, result.reason
    np.testing.assert_allclose(run["com_position_planned"], run["com_position_nominal"], atol=1e-12)
    assert run["solve_time_preview"].max() == 0.0
    assert run.metadata["plans"] is None
    values = compute("humanoid-walk", run)
    assert values["com_rms_xy"] < 0.02
    assert values["cone_margin"] == 0.0, "no plans"
    assert "dropped_momentum_error" not in values


@pytest.mark.slow
def test_position_controlled_joints_walk_as_far(walked) -> None:
    run = only(
        "humanoid-walk",
        "steps.count=1",
        "trials.count=1",
        "simulation.settle=0.6",
        "plant.actuation='position'",
    )
    values = compute("humanoid-walk", run)
    assert values["seeds_ok"] == 1
    assert values["com_rms_xy"] < 0.01
    assert values["torque_use"] <= 1.0, "of the drives too"
    assert run["contact_position"][-1, 1] == pytest.approx(walked["contact_position"][-1, 1], abs=0.01)
    stand = run["joint_torque"][-50:].mean(axis=0)
    assert stand == pytest.approx(walked["joint_torque"][-50:].mean(axis=0), abs=5.0), "N m: they stand alike"


@pytest.mark.slow
def test_a_preview_that_has_to_find_the_sway_needs_its_window() -> None:
    """The paper's reference, at one velocity: 3 s ahead it walks, 0.75 s ahead it falls (paper 3, III-C, V-A)."""
    parts = load_scenario("humanoid-walk").parts
    ends = {}
    for name in ("even-samples", "short-window"):
        (job,) = build(parts[name]).parts()
        (ends[name],) = results(job.run(None))
    assert ends["even-samples"].survived, ends["even-samples"].reason
    assert ends["even-samples"].com_rms_xy < 0.01
    assert not ends["short-window"].survived


def test_a_robot_without_drives_cannot_follow_positions() -> None:
    with pytest.raises(InputError, match=r"plant\.actuation = .*servo\.stiffness and servo\.damping"):
        build(load_scenario(EXAMPLES / "romeo_walk.toml", ["plant.actuation='position'"]))


@pytest.mark.slow
def test_harder_pushes_stop_at_the_first_that_fells() -> None:
    run = only(
        "humanoid-stand",
        "pushes.axes=['fore-aft']",
        "pushes.fore_aft=[4.0, 60.0, 80.0]",
        "mass_factors=[1.0]",
        "simulation.settle=1.2",
    )
    found = results(run)
    assert [round(abs(one.push[0])) for one in found] == [4, 4, 60, 60]
    assert [one.survived for one in found] == [True, True, False, False]
    assert found[2].reason
    values = compute("humanoid-stand", run)
    assert values["push_fore_aft"] == 4.0
    assert values["push_lateral"] == 0.0


def test_friction_is_used_against_the_normal_of_the_ground() -> None:
    slope = np.array([np.sin(0.5), 0.0, np.cos(0.5)])
    forces, normals = np.zeros((3, 2, 3)), np.zeros((3, 2, 3))
    forces[0, 0], normals[0, 0] = (0.0, 0.0, 300.0), slope  # the weight on a slope
    forces[1, 1], normals[1, 1] = 200.0 * slope, slope  # along its normal: no friction, though not upright
    held = {"contact_force_planned": forces, "contact_normal_planned": normals}
    run: Any = Recorded(held, {"friction": 0.8})
    use = metrics_multicontact.friction_use(run)
    assert use[0, 0] == pytest.approx(np.tan(0.5) / 0.8)
    assert use[1, 1] == pytest.approx(0.0, abs=1e-12)
    assert np.count_nonzero(use > 1e-9) == 1


def test_an_experiment_reads_the_tables_of_its_own_task_alone() -> None:
    scenario = load_scenario("humanoid-walk")
    assert HumanoidWalkExperiment(scenario).tables is scenario.tables
    with pytest.raises(TypeError, match="the tables of task 'walk' are no MulticontactStand"):
        _ = StandExperiment(scenario).tables


@pytest.mark.parametrize("missing", [float("nan"), float("inf")])
def test_a_box_that_was_never_held_counts_as_infinitely_far(missing: float) -> None:
    assert metrics_multicontact._worst([0.01, missing]) == float("inf")
    assert metrics_multicontact._worst([0.01, 0.02]) == 0.02


@dataclass
class Recorded:
    """What a metric reads of a run."""

    dataset: dict[str, np.ndarray]
    metadata: dict[str, Any]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.dataset[name]


def test_steps_may_take_the_times_of_the_paper() -> None:
    work: Any = build(load_scenario("humanoid-walk", ["steps.timing={}"]))
    travels = work.steps.travels
    rule = TimingRule()
    assert work.steps.travels[0].start == 1.0
    before = {name: place.position for name, place in work.steps.start.items()}
    for i, travel in enumerate(travels):
        length = travel.length(before[travel.name])
        wanted = rule.duration(travel.start - 1.0, length, moves=True)
        assert travel.end - travel.start == pytest.approx(wanted)
        before[travel.name] = travel.target.position
        if i + 1 < len(travels):
            middles = np.array([(t.start + t.end) / 2 for t in travels[i : i + 2]])
            way = float(np.linalg.norm(np.diff(work.gross(middles)[0], axis=0)))
            pause = travels[i + 1].start - travel.end
            assert pause == pytest.approx(rule.duration(travel.end - 1.0, way, moves=False), abs=0.01)
    times = [travel.end - travel.start for travel in travels[1:-1]]
    assert times == sorted(times, reverse=True), "later steps are faster"
    assert times[-1] / times[0] == pytest.approx(0.68, abs=0.03), "to 0.68 of the first"
    slow: Any = build(load_scenario("humanoid-ledge", ["steps.count=2", "steps.timing={move_speed=0.2}"]))
    assert slow.steps.travels[0].name == "left_hand"
    assert slow.steps.travels[0].end - slow.steps.travels[0].start > 1.0, "the hand too"


def test_plans_load_soles_as_far_as_ankles_allow() -> None:
    def toe(name: Any, *overrides: str) -> float:
        """Return how far ahead of its middle the left sole may be loaded, m."""
        work: Any = build(load_scenario(name, list(overrides)))
        start = work.steps.start["left_foot"]
        return float(start.patch.vertices[:, 0].max())

    assert toe("humanoid-walk") == pytest.approx(0.0637, abs=1e-4)
    assert toe("humanoid-walk", "controller.preview.ankle=false") == pytest.approx(0.078)
    assert toe("humanoid-walk", "controller.preview.sole_part=0.5") == pytest.approx(0.052)
    assert toe("humanoid-walk", 'robot.name="talos"') == pytest.approx(0.075), "strong ankles"


@pytest.fixture(scope="module")
def leant():
    return only("humanoid-ledge", "steps.count=1", "trials.count=1", "simulation.settle=0.4")


@pytest.mark.slow
def test_a_hand_takes_its_share_on_the_ridge(leant) -> None:
    (result,) = results(leant)
    assert result.survived, result.reason
    assert result.placements == 1
    assert 0.05 < result.hand_load_share < 0.5
    assert result.self_clearance > 0
    values = compute("humanoid-ledge", leant)
    assert values["seeds_ok"] == 0, "crossed means two holds"
    assert values["static_without_hand"] == 1, "after one step it never stood on the right foot alone"
    assert values["torque_use"] <= 1
    assert values["friction_use"] <= 1
    hand = leant["contact_force"][:, 2]
    assert hand[leant.time < 1.5, 2].max() == pytest.approx(0, abs=1e-9), "before it is placed it bears nothing"
    held = leant.time > leant.time[-1] - 0.4
    assert leant["contact_position"][held, 2] == pytest.approx(np.tile([0.05, 0.38, 0.89], (held.sum(), 1)), abs=0.02)
    assert np.abs(leant["slip"][held, 2]).max() < 0.1
    soles = leant["contact_position"][-1, :2]
    assert soles[:, 2] == pytest.approx([0.2, 0.2], abs=0.005)
    assert np.abs(soles[:, 1]).max() < 0.075 - 0.03
    names = {actor.name for actor in stage_of(leant).actors}
    assert {"ridge", "beam", "left_rubber_hand"} <= names
    for one in figures_of(leant).values():
        one.draw(Figure().add_subplot())


def test_the_stances_of_the_ridge_rest_and_need_the_hand_on_one_foot() -> None:
    work: Any = build(load_scenario("humanoid-ledge", ["steps.count=2"]))
    stances = stance_records(work)
    assert [sorted(one["contacts"]) for one in stances[:3]] == [
        ["left_foot", "right_foot"],
        ["left_foot", "left_hand", "right_foot"],
        ["left_foot", "left_hand"],
    ]
    assert max(one["torque_use"] for one in stances) < 1
    for one in stances:
        soles = [name for name in one["contacts"] if name.endswith("_foot")]
        if soles == ["right_foot"]:
            place = next(c.contact for c in work.steps.forecast.contacts if c.contact.name == "right_foot")
            assert one["center_of_mass"][1] > place.position[1] + 0.0375, "beyond the edge of the sole"
            assert not one["without_hands"]


TALOS = 'robot.name="talos"'


def test_the_ridge_is_laid_out_for_the_robot() -> None:
    g1: Any = build(load_scenario("humanoid-ledge"))
    given = g1.tables.steps
    assert g1.walk == given, "soles that fit go as the file has it"
    assert g1.terrain.block("beam").center == pytest.approx([0.9, 0.38, 0.83], abs=2e-4)
    holds = [t.target.position for t in g1.steps.travels if t.name == "left_hand"]
    assert np.diff([p[0] for p in holds]) == pytest.approx([0.2, 0.2])
    talos: Any = build(load_scenario("humanoid-ledge", [TALOS]))
    assert talos.terrain.block("ridge").half_size == pytest.approx([1.5, 0.075, 0.1])
    assert talos.walk.width == pytest.approx(0.15 - 0.12)
    assert talos.walk.length > 0.2, "longer than a sole"
    assert talos.walk.single / given.single == pytest.approx((talos.walk.length / given.length) ** 0.5)
    holds = [t.target.position for t in talos.steps.travels if t.name == "left_hand"]
    assert np.diff([p[0] for p in holds]) == pytest.approx(np.full(5, talos.walk.length)), "with every step"
    beam = talos.terrain.block("beam")
    assert np.array(holds)[:, 1] == pytest.approx(np.full(6, beam.center[1]))
    assert np.array(holds)[:, 2] == pytest.approx(np.full(6, beam.center[2] + beam.half_size[2]))
    for one in stance_records(talos):
        assert one["torque_use"] < 1
        soles = [name for name in one["contacts"] if name.endswith("_foot")]
        assert not one["without_hands"] or soles != ["right_foot"]
    right: Any = build(load_scenario("humanoid-ledge", [TALOS, "hand.end='right_hand'"]))
    assert right.terrain.block("beam").center[1] == pytest.approx(-beam.center[1], abs=1e-3)
    for one, other in (("left_foot", "right_foot"), ("right_foot", "left_foot")):
        assert right.walk.lean[one] == pytest.approx(-talos.walk.lean[other])


def test_a_robot_of_ones_own_is_laid_out_by_its_own_file(tmp_path: Path) -> None:
    weak = (EXAMPLES / "data" / "romeo.toml").read_text(encoding="utf-8")
    for side, link in (("left", "l_wrist"), ("right", "r_wrist")):
        weak += f'\n[hands.{side}]\nlink = "{link}"\nat = [0.0, 0.0, 0.0]\nradius = 0.04\n'
    weak += '\n[postures.lean_left]\n"RShoulderYaw" = -0.7\n'
    (tmp_path / "mine.toml").write_text(weak, encoding="utf-8")
    text = catalogue.text_of("humanoid-ledge").replace('name = "g1"', 'name = "mine.toml"')
    (tmp_path / "ledge.toml").write_text(text, encoding="utf-8")
    work = HumanoidWalkExperiment(load_scenario(tmp_path / "ledge.toml"))
    assert work.walk.width == pytest.approx(0.15 - 0.09)
    assert 0.2 < work.walk.length < 0.32, "shorter legs than those of Talos"
    with pytest.raises(InputError, match=r"of the torque there is: joint \w+ takes .* N m, its limit is .* N m"):
        build(load_scenario(tmp_path / "ledge.toml"))


def test_meshes_of_a_robot_of_ones_own_are_judged_before_the_start(tmp_path: Path) -> None:
    source = example_robots()["romeo_small"].read_text(encoding="utf-8")
    (tmp_path / "mine.urdf").write_text(source, encoding="utf-8")
    robot = (EXAMPLES / "data" / "romeo.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(robot.replace('"romeo_small"', '"mine.urdf"'), encoding="utf-8")
    walk = (EXAMPLES / "romeo_walk.toml").read_text(encoding="utf-8").replace("data/romeo.toml", "mine.toml")
    (tmp_path / "walk.toml").write_text(walk, encoding="utf-8")
    build(load_scenario(tmp_path / "walk.toml"))  # without the meshes: no walk needs them
    secret = tmp_path.parent / "secret.dae"
    address = source[source.index("package://") :].split('"')[0]
    (tmp_path / "mine.urdf").write_text(source.replace(address, f"file://{secret}", 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.urdf: link\[.*filename = 'file://.*the description's folder"):
        build(load_scenario(tmp_path / "walk.toml"))
    broken = tmp_path / address.removeprefix("package://").partition("/")[2]
    broken.parent.mkdir(parents=True)
    broken.write_text("<COLLADA/>", encoding="utf-8")
    (tmp_path / "mine.urdf").write_text(source, encoding="utf-8")
    with pytest.raises(InputError, match="a mesh that can be read"):
        build(load_scenario(tmp_path / "walk.toml"))


def test_soles_move_apart_where_there_is_room() -> None:
    wide = (
        "terrain.blocks=[{center=[0.0,0.0,0.1],size=[6.0,0.3,0.2]},{name='beam',center=[0,0.5,0.9],size=[6.0,0.1,0.1]}]"
    )
    work: Any = build(load_scenario("humanoid-ledge", [TALOS, wide, "steps.rest=false"]))
    assert work.walk.width == pytest.approx(0.121)
    assert work.walk.length == work.tables.steps.length
    with pytest.raises(InputError, match=r"0\.12 m"):
        build(load_scenario("humanoid-ledge", [TALOS, wide.replace("0.3,", "0.1,")]))


@pytest.mark.slow
def test_talos_crosses_one_foot_ahead_of_the_other() -> None:
    run = only("humanoid-ledge", TALOS, "steps.count=2", "trials.count=1", "simulation.settle=0.4")
    (result,) = results(run)
    assert result.survived, result.reason
    assert result.self_clearance >= 0.0, result.nearest
    values = compute("humanoid-ledge", run)
    assert values["seeds_ok"] == 1, "with two holds"
    assert values["hand_load_share"] >= 0.05
    assert values["static_without_hand"] == 0
    assert values["torque_use"] <= 1
    assert values["friction_use"] <= 1
    assert values["ticks_unsolved"] == values["previews_unsolved"] == 0
    soles = run["contact_position"][:, :2]
    stands = run["contact_force"][:, :2, 2] > 50.0
    assert np.abs(soles[stands][:, 1]).max() < 0.075 - 0.06 + 0.01, "m, across: whole soles on the ridge, but for 1 cm"
    both = stands.all(axis=1)
    assert np.abs(np.diff(soles[both][:, :, 0], axis=1)).min() > 0.28, "m: one ahead of the other"


@pytest.mark.parametrize(
    ("override", "key", "words"),
    [
        ("hand.end='left_claw'", "hand.end", "'left_hand'"),
        ("hand.end='left_foot'", "hand.end", "'left_hand'"),
        ("hand.support='wall'", "hand.support", "'beam'"),
        ("hand.across=0.6", "hand.across", "beam"),
        ("hand.ahead=0.7", "steps.rest", "left_hand by"),
        ("steps.lean={left_foot=0.3}", "steps.rest", "right_foot"),
        ("steps.width=0.4", "steps", "0.2"),
        ("robot.posture={nose=1.0}", "robot.posture", "nose"),
        ("robot.pose='split'", "robot.pose", "lean_left"),
    ],
)
def test_what_a_ridge_does_not_allow_is_said(override: str, key: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        build(load_scenario("humanoid-ledge", ["terrain.floor=false", "steps.count=2", override]))
    assert key in caught.value.key
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("robot.name='atlas'", "robot.name"),
        ("robot.name='no.toml'", "robot.name"),
        ("pushes.fore_aft=[9.0, 8.0]", "pushes"),
        ("pushes.axes=['up']", "pushes.axes"),
        ("controller.gains.friction=0.0", "controller.gains.friction"),
        ("noise.delay=1.0", "noise.delay"),
        ("plant.actuation='velocity'", "plant.actuation"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(override: str, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build(load_scenario("humanoid-stand", [override]))
    assert key in str(caught.value)


@pytest.mark.slow
def test_a_robot_of_ones_own_stands_and_steps() -> None:
    short = ["steps.count=1", "trials.count=1", "simulation.settle=0.6"]
    (job,) = build(load_scenario(EXAMPLES / "romeo_walk.toml", short)).parts()
    run = job.run(None)
    (result,) = results(run)
    assert result.survived, result
    moved = run["contact_position"][-1] - run["contact_position"][0]
    assert moved[1] == pytest.approx([0.05, 0, 0], abs=0.015)


def test_limbs_of_a_robot_without_pairs_cannot_be_kept_apart() -> None:
    with pytest.raises(InputError, match=r"^[^ ]*: controller\.avoid"):
        build(load_scenario(EXAMPLES / "romeo_walk.toml", ["controller.avoid=true"]))


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('link = "l_sole"', 'link = "l_toe"', r"feet\.left\.link"),
        ("width = 0.09 ", "width = 0.0 ", "width"),
        ('"*" = 0.0\n', '"Nothing" = 0.0\n', r"posture\.LHipYaw"),
        ('urdf = "romeo_small"', 'urdf = "romeo_tiny"', "name"),
    ],
)
def test_a_wrong_robot_is_named_before_the_run(tmp_path, old: str, new: str, key: str) -> None:
    with pytest.raises(InputError, match=key):
        build(load_scenario(own_robot(tmp_path, old, new)))


def test_who_stands_keeps_the_soles_where_they_were() -> None:
    ends = ["left_foot", "right_foot", "left_hand"]
    truth = np.zeros((3, 9 + 18))
    truth[1, 9 + 3] = 0.05  # the right sole ahead, and back again
    truth[1, 9 + 6] = 0.5  # a hand may go where it likes
    assert _sole_shift(truth, ends) == pytest.approx(0.05)
