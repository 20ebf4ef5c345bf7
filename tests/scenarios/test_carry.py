"""Task carry: phases, the staircase of the mass, postures of the arms, and one box lifted and set down."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.measuring import compute
from tests.scenarios.files import written
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import load_humanoid
from trundle.numerics.rotations import rotation_by
from trundle.records import load_trajectory
from trundle.scenarios import run as run_scenario
from trundle.scenarios.scenario import load_scenario
from trundle.systems.multicontact.scenario import figures
from trundle.systems.multicontact.scenario.build import build
from trundle.systems.multicontact.scenario.carry import uneven
from trundle.systems.multicontact.scenario.record import results
from trundle.systems.multicontact.stances.arms import arm_pose, arms
from trundle.systems.multicontact.stances.pose import center_of_mass_of
from trundle.systems.multicontact.whole_body.pick_and_place import (
    HANDS,
    Durations,
    Grip,
    Handling,
    ObjectPose,
    PickAndPlace,
)

CARRY = "humanoid-carry"
ROMEO = Path(__file__).parents[2] / "examples/data/romeo.toml"
pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")


def errand(**further: object) -> PickAndPlace:
    inertia, held = np.diag([0.016, 0.013, 0.016]), (0.27, 0.0, 0.2)
    return PickAndPlace(
        2.0, inertia, 0.24, ObjectPose((0.3, 0, 0.8)), ObjectPose((1.0, 0.2, 0.9), 0.3), held, **further
    )  # type: ignore[arg-type]


def test_mass_goes_up_and_down_in_the_same_stairs_for_hands_and_preview() -> None:
    job = errand(grip=Grip(steps=4), durations=Durations(load=0.4, unload=0.2))
    changes = job.mass_changes(30.0)
    assert [c.mass for c in changes] == pytest.approx([30.5, 31, 31.5, 32, 31.5, 31, 30.5, 30])
    assert changes[0].position == pytest.approx([0.3, 0, 0.8])
    assert changes[-1].position == pytest.approx([1.0, 0.2, 0.9])
    for change in changes:
        assert 30 + 2 * job.share(change.time + 1e-4) == pytest.approx(change.mass)
    assert job.share(0.0) == job.share(job.duration) == 0.0
    assert job.share(job.starts["carry"]) == 1.0


def test_a_known_weight_is_where_the_hands_should_hold_it() -> None:
    """Its impulse is the weight over the shares of time; its moment that of the box about the centre of mass."""
    job = errand(grip=Grip(steps=4), durations=Durations(load=0.4, unload=0.2, carry=2.0))
    centre, turn = np.array([0.02, 0.0, 0.7]), 0.5
    middle = job.starts["carry"] + 1.0
    pushes = job.weights([middle, 1e9], lambda time: (centre, turn if time >= middle else 0.0))
    assert [a.end for a in pushes[:-1]] == [b.start for b in pushes[1:]]
    assert (pushes[0].start, pushes[-1].end) == (job.starts["load"], job.starts["release"])
    impulse = sum((one.end - one.start) * one.push.force for one in pushes)
    times = np.linspace(0.0, job.duration, 200_001)
    assert impulse[2] == pytest.approx(-2 * 9.81 * np.mean([job.share(t) for t in times]) * job.duration, rel=1e-3)
    assert pushes[0].push.moment == pytest.approx([0.0, 0.28 * 2 * 9.81 / 4, 0.0]), "a quarter of it, on the stand"
    held = [one.push for one in pushes if one.start < job.starts["lower"] and one.end > job.starts["carry"]]
    assert held[0].moment == pytest.approx([0.0, 0.27 * 2 * 9.81, 0.0])
    assert held[1].moment == pytest.approx(0.27 * 2 * 9.81 * np.array([-np.sin(turn), np.cos(turn), 0.0]))


@pytest.mark.parametrize("known", ["body", "force", "unknown"])
def test_the_preview_takes_the_box_for_what_the_file_says(known: str) -> None:
    work = build(load_scenario(CARRY, [f"box.preview='{known}'"]))
    ahead = work.steps.forecast
    assert (bool(ahead.masses), bool(ahead.pushes)) == (known == "body", known == "force")
    assert work.pick_and_place.counted == (known == "body")
    robot, held = work.controller.humanoid.robot.mass, work.pick_and_place.held
    from_both = held if known == "body" else held * robot / (robot + 2.0)
    assert from_both == pytest.approx(work.held), "the box is carried at the same place"


def test_phases_come_in_order_and_wait_for_what_hands_feel() -> None:
    job = errand()
    assert [job.phase(start) for start in job.starts.values()] == list(job.starts)
    rest = np.zeros(29)
    hands = Handling(job, dict.fromkeys(("rest", "pick", "carry", "place"), rest))
    hands.phase = "close"
    nothing = {name: np.zeros(3) for name in HANDS}
    assert not hands.must_wait(job.starts["squeeze"] - 0.1, nothing, 0.002)
    assert hands.must_wait(job.starts["squeeze"], nothing, 0.002)
    felt = {"left_hand": np.array([0, 8.0, 0]), "right_hand": np.array([0, -8.0, 0])}
    waits = True
    for _ in range(40):
        waits = hands.must_wait(job.starts["squeeze"], felt, 0.002)
    assert not waits
    hands.reset()
    hands.phase = "close"
    late = next(k for k in range(50) if not hands.must_wait(job.starts["squeeze"], nothing, 0.1))
    assert late == pytest.approx(job.grip.patience / 0.1, abs=1.1)


def test_pads_lie_on_the_sides_of_the_box() -> None:
    job = errand()
    left, right = (job.patch(name, job.place, 0.05) for name in HANDS)
    assert np.linalg.norm(left.position - right.position) == pytest.approx(0.24 + 0.1)
    assert left.R_world_patch[:, 2] == pytest.approx(-right.R_world_patch[:, 2])
    assert left.R_world_patch[:, 0] == pytest.approx(rotation_by(np.array([0, 0, 0.3]))[:, 0])


def test_arms_reach_places_in_front_and_say_what_they_miss() -> None:
    humanoid, job = load_humanoid("g1").gripping(), errand()
    q = humanoid.standing()
    patches = {name: job.patch(name, ObjectPose((0.27, 0, 0.8))) for name in HANDS}
    targets = {name: (p.position, p.R_world_patch) for name, p in patches.items()}
    found = q.copy()
    found[7:] = arm_pose(humanoid, q, targets)
    ends = humanoid.end_motions(humanoid.robot.terms(found, np.zeros(humanoid.robot.nv), humanoid.links).motions)
    for name, (p, R) in targets.items():
        assert ends[name].p == pytest.approx(p, abs=5e-3)
        assert ends[name].R == pytest.approx(R, abs=0.05)
    assert found[7:22] == pytest.approx(q[7:22])  # legs and waist stay
    far = {name: (p + np.array([0.5, 0, 0]), R) for name, (p, R) in targets.items()}
    with pytest.raises(InputError, match="reach"):
        arm_pose(humanoid, q, far)


def test_only_a_way_over_step_and_slope_onto_the_flat_counts_as_crossed() -> None:
    def placed(height: float, tilt: float = 0.0) -> PlacedPatch:
        return PlacedPatch(
            "left_foot", FlatPatch.point(0.6), np.array([0, 0, height]), rotation_by(np.array([0, tilt, 0]))
        )

    start, step, slope, flat = [placed(0.0)] * 2, [placed(0.06)] * 2, [placed(0.03, 0.14)] * 2, [placed(0.0)] * 2
    assert uneven(start, step + slope + flat)
    for way in ([], flat, step + flat, slope + flat, step + slope, slope + step + flat, step + slope + flat[:1]):
        assert not uneven(start, way)


@pytest.mark.slow
def test_a_box_is_lifted_held_and_set_down() -> None:
    short = ["trials.count=1", "hold=0.5", "simulation.settle=0.5", "hands.retreat=0.8"]
    only = [*short, "controller.period=0.004"]
    work = build(load_scenario(CARRY, [*only, "route.turn_steps=0", "route.ways=[]", "route.turn=0.0"]))
    run = next(iter(work.parts())).run(None)
    (result,) = results(run)
    assert result.survived, result
    values = compute("humanoid-carry", run)
    assert values["seeds_ok"] == 0  # neither step nor slope
    assert values["box_slip"] < 0.01
    assert values["box_tilt"] < 10.0
    assert run["box_position"][:, 2].max() > 0.84
    loads = run["contact_force"][:, 2:]
    assert np.abs(loads[run.time > run.time[-1] - 0.3]).max() < 0.5
    starts = work.pick_and_place.starts
    begin, end = (int(np.searchsorted(run.time, starts[name])) for name in ("carry", "lower"))
    creep = (run["contact_position"][:, 2:, 2] - run["box_position"][:, None, 2])[[begin, end]]
    rate = (creep[1] - creep[0]) / (run.time[end] - run.time[begin])
    assert np.abs(rate).max() < 2e-4, "m/s: softer pads let it creep by twice as much, under any load"
    drawn = figures._of_run(run)
    assert {"dropped_momentum", "hands"} <= set(drawn)
    drawn["hands"](run, (canvas := Figure()).add_subplot())
    (slip, *_) = canvas.axes[1].lines
    assert 1e-3 * slip.get_ydata().max() < values["box_slip"] + 5e-4


@pytest.mark.slow
def test_talos_carries_the_box_over_the_same_step_and_slope() -> None:
    work = build(load_scenario(CARRY, ['robot.name="talos"', "trials.count=1", "controller.period=0.004"]))
    run = next(iter(work.parts())).run(None)
    (result,), values = results(run), compute("humanoid-carry", run)
    assert result.crossed, result
    assert values["seeds_ok"] == 1
    assert values["box_slip"] < 0.01
    assert values["box_tilt"] < 10.0
    assert result.torque_use <= 1.0
    assert result.com_rms_xy < 0.025, "postures that do not balance let it lean ahead by 5 cm"


@pytest.mark.parametrize("name", ["g1", "talos"])
def test_with_the_hands_at_the_box_robot_and_box_balance(name: str) -> None:
    work = build(load_scenario(CARRY, [f'robot.name="{name}"', "route.turn=0.0", "route.turn_steps=0"]))
    humanoid, errand = work.controller.humanoid, work.pick_and_place
    middle = np.mean([sole.position for sole in work.soles.values()], axis=0)
    com = np.array([*middle[:2], work.com[2]]) - [work.tables.route.back, 0.0, 0.0]
    for place, centre in (("pick", errand.pick.position), ("carry", com + errand.held)):
        q = np.concatenate([work.start[:7], work.joints[place]])
        total = humanoid.robot.mass * center_of_mass_of(humanoid, q) + errand.mass * centre
        q[:3] += com - total / (humanoid.robot.mass + errand.mass)
        ends = humanoid.end_motions(humanoid.robot.terms(q, np.zeros(humanoid.robot.nv), humanoid.links).motions)
        for hand in HANDS:
            assert ends[hand].p == pytest.approx(errand.patch(hand, ObjectPose(centre)).position, abs=0.01), place


def test_the_path_lies_back_by_as_much_as_it_is_told() -> None:
    paths = [build(load_scenario(CARRY, [f"route.back={back}"])) for back in (0.0, 0.03)]
    plain, back = (work.gross for work in paths)
    assert plain.times == pytest.approx(back.times)
    heading = paths[0].steps.heading
    for time in plain.times[1:]:
        yaw = heading(time)[0]
        shift = (back(np.array([time]))[0] - plain(np.array([time]))[0])[0]
        assert shift == pytest.approx([-0.03 * np.cos(yaw), -0.03 * np.sin(yaw), 0.0], abs=1e-12)
    assert heading(0.0)[0] == pytest.approx(np.pi / 2)
    assert heading(plain.times[-1])[0] == pytest.approx(0.0)
    here = [path(np.array([0.0]))[0] for path in (plain, back)]
    assert here[1] == pytest.approx(here[0]), "it begins where the robot stands"


def test_places_out_of_reach_are_named_before_anything_runs() -> None:
    with pytest.raises(InputError, match="reach"):
        build(load_scenario(CARRY, ["stands.pick_ahead=0.9"]))
    with pytest.raises(InputError, match=r"stands\.place_ahead = 0.37: .* \(also by stands.place_height, 1.9 m\)"):
        build(load_scenario(CARRY, ['robot.name="talos"', "stands.place_height=1.9"]))
    with pytest.raises(InputError, match=r"stands\.pick_ahead = 0.27: .* \(also by stands.pick_height, 1.3 m\)"):
        build(load_scenario(CARRY, ["stands.pick_height=1.3"]))
    told = r"box\.size = \[0.2, 5.24, 0.2\]: must be .* within reach of the arms: .* missed by 2\.\d\d\d m "
    with pytest.raises(InputError, match=told + r"\(stands.pick_ahead, 0.27 m, and .* 0.7 m, follow from the arms\)"):
        build(load_scenario(CARRY, ["box.size=[0.2, 5.24, 0.2]"]))
    with pytest.raises(InputError, match=r"box\.held = \[0.9, 0.0, 0.2\]"):
        build(load_scenario(CARRY, ["box.held=[0.9, 0.0, 0.2]"]))


def test_where_the_box_lies_and_is_held_follows_from_the_arms_unless_it_is_told() -> None:
    g1, talos = (build(load_scenario(CARRY, [f'robot.name="{name}"'])) for name in ("g1", "talos"))
    assert g1.stands == {"pick": (0.27, 0.7), "place": (0.27, 0.7)}
    assert g1.pick_and_place.held.tolist() == [0.27, 0.0, 0.2]
    for work in (g1, talos):
        humanoid = work.controller.humanoid
        reach = arms(humanoid, humanoid.standing())
        ahead, height = work.stands["pick"]
        way = np.array([ahead, 0.0, height + 0.1]) - reach.shoulders
        assert 0.7 * reach.length < np.linalg.norm(way) < 0.9 * reach.length
        assert work.held[2] + work.com[2] > height + 0.1 + 0.03, "it is lifted"
    told = ["stands.place_height=0.9", "stands.pick_ahead=0.4", "box.held=[0.36, 0.0, 0.3]"]
    work = build(load_scenario(CARRY, ['robot.name="talos"', *told]))
    assert work.stands == {"pick": (0.4, talos.stands["pick"][1]), "place": (0.4, 0.9)}
    assert work.pick_and_place.held.tolist() == [0.36, 0.0, 0.3]


def test_arms_are_as_long_as_they_are_stretched_out() -> None:
    humanoid = load_humanoid("talos").gripping()
    q = humanoid.robot.neutral
    found = arms(humanoid, q)
    motions = humanoid.robot.terms(q, np.zeros(humanoid.robot.nv), (*humanoid.links, "arm_left_2_link")).motions
    assert found.shoulders[[0, 2]] == pytest.approx(motions[-1].p[[0, 2]], abs=1e-9)
    assert found.shoulders[1] == pytest.approx(0.0, abs=1e-9)
    hand = humanoid.end_motions(motions[:-1])["left_hand"].p
    straight = float(np.linalg.norm(hand - motions[-1].p))
    assert straight < found.length < 1.03 * straight, "the elbow is 2 cm beside the line"
    with pytest.raises(InputError, match="at least one"):
        arms(replace(humanoid, hands={}), q)
    stump = replace(humanoid.hands["left"], link="arm_left_2_link")
    with pytest.raises(InputError, match="more than 2 joints"):
        arms(replace(humanoid, hands={**humanoid.hands, "left": stump}), q)


def test_a_robot_without_pads_is_refused(tmp_path: Path) -> None:
    shutil.copy(ROMEO, tmp_path / "romeo.toml")
    text = 'kind = "multicontact"\ntask = "carry"\n[robot]\nname = "romeo.toml"\n'
    with pytest.raises(InputError, match=r"robot\.name = 'romeo.toml'.*pads"):
        build(load_scenario(written(tmp_path, text)))


@pytest.mark.slow
def test_a_robot_that_falls_before_it_lifts_the_box_is_a_run_that_failed(tmp_path: Path) -> None:
    heavy = ["trials.count=1", "trials.mass_factors=[5.0]"]
    result = run_scenario(load_scenario(CARRY, heavy), tmp_path / "out", plots=False)
    assert (result.exit_code, result.summary["status"]) == (1, "fell")
    assert result.summary["metrics"]["box_slip"]["value"] is None
    assert result.summary["metrics"]["box_slip"]["holds"] is False
    (trial,) = results(load_trajectory(tmp_path / "out" / "trajectory.nc"))
    assert np.isnan(trial.slip)
    assert np.isnan(trial.tilt)
