"""Kind multicontact: footholds and holds of one's own, forces that are known, and the numbers of the preview."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.scenario.record import results

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

RAILS = """
schema = 1
kind = "multicontact"
task = "walk"

[[terrain.blocks]]
name = "left rail"
center = [0.3, 0.38, 0.61]
size = [1.0, 0.1, 0.06]

[[terrain.blocks]]
name = "right rail"
center = [0.3, -0.38, 0.61]
size = [1.0, 0.1, 0.06]

[controller.preview]
momentum_share = 0.3

[steps]
single = 0.8
double = 0.3

[simulation]
settle = 0.8

[[moves]]
end = "left_hand"
place = [0.15, 0.38]
support = "left rail"
lift = 0.14

[[moves]]
end = "right_hand"
place = [0.15, -0.38]
support = "right rail"
lift = 0.14
release = 5.5

[[moves]]
end = "right_foot"
place = [0.1, -0.13]
yaw = -0.2

[[moves]]
end = "left_foot"
place = [0.1, 0.12]
yaw = -0.1
start = 4.6
duration = 0.7
"""


@pytest.fixture
def rails(tmp_path: Path) -> Path:
    """A file with holds for both hands, then footholds."""
    path = tmp_path / "rails.toml"
    path.write_text(RAILS)
    return path


def test_moves_go_where_and_when_the_file_says(rails: Path) -> None:
    work: Any = build(load_scenario(rails))
    times = [(t.name, round(t.start, 9), round(t.end, 9)) for t in work.steps.travels]
    assert times == [
        ("left_hand", 1.0, 1.8),
        ("right_hand", 2.1, 2.9),
        ("right_foot", 3.2, 4.0),
        ("left_foot", 4.6, 5.3),
    ]
    ends = [t.target for t in work.steps.travels]
    np.testing.assert_allclose(ends[1].position, [0.15, -0.38, 0.64], atol=1e-12)
    np.testing.assert_allclose(ends[2].position, [0.1, -0.13, 0.0], atol=1e-12)
    np.testing.assert_allclose(ends[2].R_world_patch[:, 0], [np.cos(0.2), -np.sin(0.2), 0.0], atol=1e-12)
    assert work.steps.heading(6.0)[0] == pytest.approx(-0.15)
    assert sorted(work.steps.standing(5.4)) == ["left_foot", "left_hand", "right_foot", "right_hand"]
    assert sorted(work.steps.standing(5.6)) == ["left_foot", "left_hand", "right_foot"]


@pytest.mark.slow
def test_both_hands_lean_while_the_soles_go_on(rails: Path) -> None:
    (job,) = build(load_scenario(rails)).parts()
    run = job.run(None)
    (result,) = results(run)
    assert result.survived, result.reason
    assert result.steps == 4
    assert result.placements == 2
    assert 0.05 < result.hand_load_share < 0.25, "of the weight on the hand that bears less"
    hands = run["contact_force"][:, 2:, 2]
    held = (run.time > 3.3) & (run.time < 3.9)
    assert hands[held].mean(axis=0).min() > 20.0, "N, while the right sole travels"
    released = run.time > 5.9
    assert not run["contact_force_planned"][released, 3].any(), "no plan counts on it any more"
    assert hands[released, 1].max() < 20.0, "N: it only lies there"
    soles = run["contact_position"][-1, :2]
    np.testing.assert_allclose(soles, [[0.1, 0.12, 0.0], [0.1, -0.13, 0.0]], atol=0.015)


@pytest.mark.slow
def test_a_force_that_is_known_moves_the_robot_less() -> None:
    rms = []
    for known in ("true", "false"):
        changes = [f"forces=[{{force=[20.0, 0.0, 0.0], start=0.5, known={known}}}]", "mass_factors=[1.0]"]
        changes += ["pushes.axes=['lateral']", "pushes.lateral=[1e-6]", "pushes.start=1.5", "simulation.settle=0.5"]
        (job,) = build(load_scenario("humanoid-stand", changes)).parts()
        run = job.run(None)
        (first, _) = results(run)
        assert first.survived, first.reason
        rms.append(first.com_rms_xy)
    assert rms[0] < 0.004, "m"
    assert rms[0] < 0.4 * rms[1]


def test_the_nominal_motion_leans_against_a_known_force() -> None:
    """At rest the moment about the middle of pressure is nought: the centre of mass goes f h / (m g) against it."""

    def start_of(*changes: str) -> Any:
        return build(load_scenario("humanoid-stand", ["pushes.start=3.0", *changes]))

    work = start_of("forces=[{force=[20.0, 0.0, 0.0], start=0.0, duration=600.0}]")
    (push,) = work.steps.forecast.pushes
    assert push.end == 600.0
    arm = work.start[:3] - work.com
    np.testing.assert_allclose(push.push.moment, np.cross(arm, [20.0, 0.0, 0.0]))
    plan = work.preview()(1.0, _still(work), work.steps.forecast, work.gross)
    unknown = start_of("forces=[{force=[20.0, 0.0, 0.0], known=false}]")
    assert unknown.steps.forecast.pushes == ()
    assert len(unknown.forces()) == 1
    other = unknown.preview()(1.0, _still(unknown), unknown.steps.forecast, unknown.gross)
    total = [p.wrenches[-1, :, 3:].sum(axis=0)[0] for p in (plan, other)]
    assert total[0] - total[1] == pytest.approx(-20.0, abs=1.0), "N, of the soles at the end of the window"


def _still(work: Any) -> Any:
    from trundle.systems.multicontact.centroidal.centroidal import CentroidalState

    return CentroidalState(work.com - np.array([0.0, 0.0, work.tables.robot.lowered]))


def test_samples_axis_and_weights_of_the_preview_are_those_of_the_file() -> None:
    keys = ["samples=[0.1, 0.2, 0.4]", "axis=[0.2, 0.0, 1.0]", "axes=[2.0, 3.0]", "momentum_axes=[0.5, 4.0]"]
    changes = [f"controller.preview.{key}" for key in keys]
    work: Any = build(load_scenario("humanoid-walk", ["steps.count=2", *changes]))
    preview = work.preview()
    plan = preview(0.0, _still(work), work.steps.forecast, work.gross)
    np.testing.assert_allclose(plan.times, [0.0, 0.1, 0.3, 0.7])
    np.testing.assert_allclose(plan.window.samples.W[0, 2], np.array([0.2, 0.0, 1.0]) / np.hypot(0.2, 1.0))
    (program,) = preview._programs.values()
    mass, scale = preview.model.mass, program.scales.state
    state = program.qp.h.reshape(3, -1)[0, -6:] / scale**2
    np.testing.assert_allclose(state[:4] * mass**2, [60.0, 6.0, 90.0, 9.0])
    np.testing.assert_allclose(state[4:], [0.5, 4.0])


def test_a_heavier_weight_of_an_axis_keeps_the_centre_nearer_to_its_path_along_it() -> None:
    """Angular momentum is free here: else it and the soles decide alone."""

    def off(*changes: str) -> np.ndarray:
        free = ["steps.count=3", "controller.preview.momentum_axes=[0.01, 0.01]"]
        work: Any = build(load_scenario("humanoid-walk", [*free, *changes]))
        times = np.linspace(0.5, work.steps.duration, 200)
        return np.sqrt(np.mean((work.path(times)[0] - work.gross(times)[0]) ** 2, axis=0))

    plain, across = off(), off("controller.preview.axes=[1.0, 30.0]")
    assert across[1] < 0.8 * plain[1]
    assert abs(across[0] - plain[0]) < 0.1 * plain[0]


@pytest.mark.slow
def test_a_tilted_axis_walks_too() -> None:
    changes = ["controller.preview.axis=[0.1, 0.0, 1.0]", "steps.count=2", "trials.count=1", "simulation.settle=0.6"]
    (job,) = build(load_scenario("humanoid-walk", changes)).parts()
    (result,) = results(job.run(None))
    assert result.survived, result.reason
    assert result.com_rms_xy < 0.015


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ('end = "left_foot"', 'end = "left_claw"', "moves[3].end", "'left_hand'"),
        ('support = "left rail"', 'support = "rope"', "moves[0].support", "'left rail'"),
        ('support = "left rail"\n', "", "moves[0].support", "the block on which the hand leans"),
        ("place = [0.15, 0.38]", "place = [2.0, 0.38]", "moves[0].place", "over block 'left rail'"),
        ("place = [0.1, -0.13]", "place = [0.1, -0.35]", "moves[2].place", "room for"),
        ("start = 4.6", "start = 3.9", "moves[3].start", "at least 4 s"),
        ("release = 5.5", "release = 2.5", "moves[1].release", "above 2.9 s"),
        ("yaw = -0.1", "release = 9.0", "moves[3].release", "left out of a sole"),
        ("place = [0.1, 0.12]", "place = [0.9, 0.12]", "moves", "within the robot's reach"),
        ("yaw = -0.1", 'yaw = "left"', "moves[3].yaw", "rad"),
        ("[simulation]", "[steps.timing]\n[simulation]", "moves", "no times of their own"),
        ("single = 0.8", "search = true", "moves", "steps.search"),
        ("[steps]", "[[forces]]\nforce = [1.0, 2.0]\n[steps]", "forces[0].force", "3 numbers"),
        ("[steps]", "[[forces]]\nforce = [1.0, 2.0, 3.0]\nduration = 0.0\n[steps]", "forces[0].duration", "> 0"),
        ("momentum_share = 0.3", "axis = [0.0, 0.0, 0.0]", "controller.preview.axis", "not be zero"),
        ("momentum_share = 0.3", "samples = []", "controller.preview.samples", "1 to 64 times"),
        ("momentum_share = 0.3", "axes = [1.0, -1.0]", "controller.preview.axes", "2 numbers"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(rails: Path, old: str, new: str, key: str, words: str) -> None:
    assert old in RAILS
    rails.write_text(RAILS.replace(old, new))
    with pytest.raises(InputError) as caught:
        build(load_scenario(rails))
    assert key in str(caught.value)
    assert words in str(caught.value)
