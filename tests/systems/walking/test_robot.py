"""Kind `walking`, task `simulate`: robots from URDFs on feet of any shape, and what is refused of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from typer.testing import CliRunner

from trundle.cli.app import app
from trundle.errors import InputError
from trundle.models.tree.conversion import to_matrix
from trundle.records import load_trajectory
from trundle.report.metrics import general
from trundle.report.scene import build_stage
from trundle.scenarios import build, load_scenario, run
from trundle.status import Status

EXAMPLES = Path(__file__).parents[3] / "examples"
DECK = {"type": "sinusoid", "amplitude": [0.4, 0, 0, 0, 0, 0.5], "frequency": [0.5] * 6, "phase": [1.57] * 6}


@pytest.fixture(autouse=True)
def _in_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")


def hopper(folder: Path, text: str | None = None, **tables: Any) -> Path:
    """A scenario file of the example's robot, with its URDF replaced by `text`, or changed tables."""
    plain = (EXAMPLES / "hopper.urdf").read_text()
    (folder / "hopper.urdf").write_text(plain if text is None else text)
    data: dict[str, Any] = {
        "kind": "walking",
        "task": "simulate",
        "robot": {"urdf": "hopper.urdf"},
        "feet": {
            side: {
                "frame": f"{side}_shank",
                "shape": {"type": "ellipsoid", "semi_axes": [0.12, 0.04, 0.05]},
                "position": [0.02, 0.0, -0.25],
            }
            for side in ("left", "right")
        },
        "joints": {"stiffness": 60.0, "damping": 3.0},
        "initial": {"joints": {"left_hip": -0.4, "right_hip": -0.4, "left_knee": 0.8, "right_knee": 0.8}},
        "simulation": {"duration": 0.14, "relative_tolerance": 1e-8},
    }
    file = folder / "case.toml"
    file.write_text(tomli_w.dumps(data | tables))
    return file


@pytest.mark.slow
def test_a_robot_lands_and_the_run_can_be_run_again(tmp_path: Path) -> None:
    result = run(hopper(tmp_path), tmp_path / "run", plots=False)
    assert result.exit_code == 0
    walked = load_trajectory(tmp_path / "run" / "trajectory.nc")
    assert walked.kind == "walking"
    assert walked["phase"][0] == "flight"
    assert set(walked["phase"]) & {"left", "right", "left + right"}
    assert walked["gap"].min() > -1e-9
    assert walked["gap"][0].min() == pytest.approx(0.05, abs=1e-9)
    knee = [str(name) for name in walked["joint"]].index("left_knee")
    stretch = walked["joint_position"][:, knee] - 0.8
    expected = -60.0 * stretch - 3.0 * walked["joint_velocity"][:, knee]
    np.testing.assert_allclose(walked["joint_torque"][:, knee], expected, atol=1e-12)
    energy = walked["energy"]
    assert energy[-1] < energy[0]
    assert len(build_stage(walked).actors) == 2 + 7 + 1  # feet, links, ground
    again = load_scenario(tmp_path / "run" / "scenario.toml")
    assert build(again)


@pytest.mark.slow
def test_on_a_moving_deck_feet_move_with_it(tmp_path: Path) -> None:
    ground = {"motion": DECK, "velocity": [0.3, 0.0, 0.0], "rpy": [0.0, 0.1, 0.0]}
    result = run(hopper(tmp_path, ground=ground), tmp_path / "run", plots=False)
    walked = result.trajectory
    assert walked is not None
    assert result.exit_code == 0
    k = [str(name) for name in walked["body"]].index("terrain")
    assert np.ptp(walked["body_position"][:, k, 0]) > 0.03
    assert result.summary["metrics"]["slip"]["value"] < 1e-6
    standing = walked["mode"] == "rolling"
    assert standing.any()
    assert np.abs(walked["gap"][standing]).max() < 1e-9
    stage = build_stage(walked)
    deck = next(actor for actor in stage.actors if actor.name == "terrain")
    assert np.ptp(deck.positions[:, 0]) > 0.03


def test_a_position_without_a_clearance_is_taken_as_it_is(tmp_path: Path) -> None:
    turned = {"quaternion": [0.8, 0.6, 0.0, 0.0], "angular_velocity": [0.0, 0.0, 0.3]}
    simulation = {"duration": 0.001, "output_step": 0.001}
    for initial, height in (
        ({"position": [0.1, 0.2, 3.0]}, 3.0),
        ({"position": [0.1, 0.2, 3.0], "clearance": 0.0}, None),
    ):
        scenario = load_scenario(hopper(tmp_path, initial=turned | initial, simulation=simulation))
        work = build(scenario)
        walked = work.run(None)  # type: ignore[attr-defined]
        base, low = work.start.x[work.robot.system.model().layout["trunk.position"]], walked["gap"][0].min()  # type: ignore[attr-defined]
        np.testing.assert_allclose(base[:2], [0.1, 0.2], atol=1e-12)
        assert base[2] == pytest.approx(height) if height else low == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_allclose(walked["base_angular_velocity"][0], [0.0, 0.0, 0.3], atol=1e-12)  # world axes
        # What a run keeps of a scenario starts it again at the same height.
        assert scenario.resolve()["initial"].get("clearance") == initial.get("clearance")


def test_inside_a_lying_tube_the_feet_are_found_above_its_bottom(tmp_path: Path) -> None:
    ground = {"shape": {"type": "tube", "radius": 1.2}, "rpy": [0.0, 1.5707963267948966, 0.0]}
    feet = {
        side: {"frame": f"{side}_shank", "shape": {"type": "sphere", "radius": 0.05}, "position": [0.02, 0.0, -0.25]}
        for side in ("left", "right")
    }
    simulation = {"duration": 0.002, "output_step": 0.001}
    for position in ([0.0, 0.0, 0.0], [0.3, 0.1, 4.0]):
        initial = {"position": position, "clearance": 0.03}
        work = build(load_scenario(hopper(tmp_path, feet=feet, ground=ground, initial=initial, simulation=simulation)))
        walked = work.run(None)  # type: ignore[attr-defined]
        assert walked["gap"][0].min() == pytest.approx(0.03, abs=1e-9)
        assert walked["body_position"][0, :, 2].min() < 0.0 < -walked["contact_position"][0, :, 2].max()


@pytest.mark.parametrize(
    ("shape", "contacts"),
    [
        ({"type": "flat", "half_lengths": [0.1, 0.03]}, 8),
        ({"type": "point"}, 2),
        ({"type": "box", "half_lengths": [0.1, 0.03, 0.02], "rounding": 0.01}, 2),
    ],
)
def test_feet_of_every_kind_fall(tmp_path: Path, shape: dict[str, Any], contacts: int) -> None:
    feet = {
        side: {"frame": f"{side}_shank", "shape": shape, "position": [0.0, 0.0, -0.25]} for side in ("left", "right")
    }
    simulation = {"duration": 0.05, "relative_tolerance": 1e-6}
    walked = build(load_scenario(hopper(tmp_path, feet=feet, simulation=simulation))).run(None)  # type: ignore[attr-defined]
    assert walked["contact"].size == contacts
    assert walked["gap"][0].min() == pytest.approx(0.05, abs=1e-9)
    assert walked["gap"][-1].min() == pytest.approx(0.05 - 9.81 * 0.05**2 / 2, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "element", "rule"),
    [
        (('mass value="6"', 'mass value="nan"'), "link[trunk].inertial.mass.value", "finite"),
        (('mass value="6"', 'mass value="-6"'), "link[trunk].inertial.mass.value", ">= 0"),
        (('izz="0.05"', 'izz="0.5"'), "link[trunk].inertial.inertia", "I1 + I2 >= I3"),
        (('axis xyz="0 1 0"', 'axis xyz="0 0 0"'), "joint[left_hip].axis.xyz", "not zero"),
        (('lower="-1.5" upper="1.5"', 'lower="1.6" upper="1.5"'), "joint[left_hip].limit", "lower <= upper"),
        (('<parent link="trunk"/>', '<parent link="left_hip"/>'), "joint[left_spread]", "two different links"),
    ],
)
def test_a_broken_urdf_is_refused_with_element_and_rule(
    tmp_path: Path, change: tuple[str, str], element: str, rule: str
) -> None:
    text = (EXAMPLES / "hopper.urdf").read_text().replace(*change, 1)
    file = hopper(tmp_path, text)
    result = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "run")])
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert element in said
    assert rule in said
    assert "hopper.urdf" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"feet": {"left": {"shape": {"type": "point"}}}}, "feet.left"),
        ({"initial": {"joints": {"elbow": 0.0}}}, "initial.joints.elbow"),
        ({"initial": {"joints": {"left_hip": 30.0}}}, "initial.joints.left_hip = 30.0: must be from -1.5 to 1.5"),
        ({"initial": {"contacts": ["nose"]}}, "initial.contacts"),
        ({"joints": {"damping": {"elbow": 1.0}}}, "joints.damping.elbow"),
        ({"robot": {"urdf": "hopper.urdf", "example": "solo12"}}, "robot.urdf"),
        ({"robot": {"urdf": "none.urdf"}}, "robot.urdf"),
        ({"joints": {"locked": ["elbow*"]}}, r"joints.locked\[0\]"),
        ({"joints": {"locked": ["left_knee"], "damping": {"left_knee": 1.0}}}, "joints.damping.left_knee"),
        ({"robot": {"urdf": "../hopper.urdf"}}, "robot.urdf"),
        ({"initial": {"quaternion": [0.0, 0.0, 0.0, 0.0]}}, "initial.quaternion"),
    ],
)
def test_what_a_file_may_not_say(tmp_path: Path, tables: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=key) as caught:
        build(load_scenario(hopper(tmp_path, **tables)))
    assert str(tmp_path / "case.toml") in str(caught.value)


@pytest.mark.slow
def test_the_avatar_falls_limp_and_its_end_says_so(tmp_path: Path) -> None:
    """Straight limp legs on two ellipsoids may wedge, then the run says `jammed`; no event makes energy before.

    Both feet land at once: whether they wedge within .2 s is decided by round-off, and not alike on every processor.
    """
    sole = {"shape": {"type": "ellipsoid", "semi_axes": [0.145, 0.055, 0.045]}, "position": [0.055, 0.0, -0.04]}
    tables = {
        "robot": {"avatar": "male"},
        "feet": {side: {"frame": f"{side}_foot", **sole} for side in ("left", "right")},
        "joints": {},
        "initial": {"clearance": 0.05},
        "simulation": {"duration": 0.2, "output_step": 0.002, "relative_tolerance": 1e-7},
    }
    walked = build(load_scenario(hopper(tmp_path, **tables))).run(None)  # type: ignore[attr-defined]
    assert walked.status in (Status.JAMMED, Status.SUCCESS)
    assert walked.time[-1] == pytest.approx(0.2) if walked.status is Status.SUCCESS else 0.101 < walked.time[-1] < 0.2
    assert np.diff(walked["energy"]).max() < 1e-6 * walked["energy"][0]
    assert walked["gap"].min() > -1e-9
    slipping = np.einsum("ijk,ijk->ij", walked["contact_force"], walked["slip"])
    assert slipping.max() < 1e-9


@pytest.mark.slow
def test_the_avatar_stands_on_flat_soles_and_swings_its_arms() -> None:
    work = build(load_scenario(EXAMPLES / "avatar_stands.toml"))
    walked = work.run(None)  # type: ignore[attr-defined]
    assert (walked.status, walked.time[-1], walked.transitions) == (Status.SUCCESS, 1.5, [])
    seen = general(walked)
    assert max(seen["gap"], seen["slip"]) < 1e-12
    assert seen["friction_use"] < 0.5
    assert np.ptp(walked["com_position"][:, 2]) < 0.01  # upright
    arm = [str(name) for name in walked["joint"]].index("left_shoulder_pitch")
    assert np.ptp(walked["joint_position"][:, arm]) > 0.2  # rad
    force, place = walked["contact_force"], walked["contact_position"]
    assert force[..., 2].min() > 0.0
    centres = []
    for corners in (slice(0, 4), slice(4, 8)):
        load = force[:, corners, 2]
        centre = np.einsum("ij,ijk->ik", load, place[:, corners, :2]) / load.sum(axis=1)[:, None]
        assert np.all(centre > place[:, corners, :2].min(axis=1))
        assert np.all(centre < place[:, corners, :2].max(axis=1))
        centres.append(centre)
    assert np.ptp(centres[0][:, 0]) > 0.05  # it moves back and forth under the sole
    # The forces are those that the centre of mass needs: Newton's law, by differences between samples.
    h = walked.time[1] - walked.time[0]
    needed = np.diff(walked["com_position"], n=2, axis=0) / h**2 + np.array([0.0, 0.0, 9.81])
    total = force.sum(axis=1)[1:-1] / work.robot.system.physics["mass"]  # type: ignore[attr-defined]
    np.testing.assert_allclose(total[3:], needed[3:], atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "law"),
    [
        ({"type": "ellipsoid", "semi_axes": [1.5, 1.2, 0.8]}, "rolling"),
        ({"type": "sphere", "radius": 0.7}, "rolling"),
    ],
    ids=["ellipsoid", "sphere"],
)
def test_feet_land_and_roll_on_another_convex_body_that_turns(tmp_path: Path, shape: dict[str, Any], law: str) -> None:
    foot = {"shape": {"type": "ellipsoid", "semi_axes": [0.12, 0.04, 0.05]}, "position": [0.02, 0.0, -0.25], "law": law}
    bent = {"left_hip": -0.4, "right_hip": -0.4, "left_knee": 0.8, "right_knee": 0.8}
    tables = {
        "feet": {side: {"frame": f"{side}_shank", **foot} for side in ("left", "right")},
        "ground": {"shape": shape, "rpy": [0.1, 0.2, 0.0], "angular_velocity": [0.3, 0.2, 0.1]},
        "initial": {"joints": bent, "clearance": 0.02, "position": [0.1, 0.05, 2.0]},
        "simulation": {"duration": 0.15, "relative_tolerance": 1e-8},
    }
    walked = build(load_scenario(hopper(tmp_path, **tables))).run(None)  # type: ignore[attr-defined]
    assert (walked.status, walked.time[-1]) == (Status.SUCCESS, 0.15)
    assert walked["phase"][-1] == "left + right"
    seen = general(walked)  # found again from poses and shapes
    assert max(seen["gap"], seen["slip"]) < 1e-9
    # Points that touch lie on the body: x' A x = 1 in its own axes, and the normal is that of the surface there.
    k, axes = [str(name) for name in walked["body"]].index("terrain"), shape.get("semi_axes", [0.7] * 3)
    for i, name in np.argwhere(walked["mode"] != "separated"):
        turn = to_matrix(walked["body_quaternion"][i, k])
        on_it = turn.T @ (walked["contact_position"][i, name] - walked["body_position"][i, k])
        steep = on_it / np.square(axes)
        assert steep @ on_it == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(turn.T @ walked["contact_normal"][i, name], steep / np.linalg.norm(steep), atol=1e-9)


def test_locked_joints_stay_where_they_start(tmp_path: Path) -> None:
    joints = {"stiffness": 60.0, "damping": 3.0, "locked": ["*_knee", "left_spread"]}
    simulation = {"duration": 0.02, "output_step": 0.01}
    free = build(load_scenario(hopper(tmp_path, simulation=simulation)))
    held = build(load_scenario(hopper(tmp_path, simulation=simulation, joints=joints)))
    assert held.robot.model().nv == free.robot.model().nv - 3  # type: ignore[attr-defined]
    before, after = (work.run(None) for work in (free, held))  # type: ignore[attr-defined]
    assert not {"left_knee", "right_knee", "left_spread"} & {str(name) for name in after["joint"]}
    np.testing.assert_allclose(after["com_position"][0], before["com_position"][0], atol=1e-12)
    np.testing.assert_allclose(after["contact_position"][0], before["contact_position"][0], atol=1e-12)
    assert after.status.name == "SUCCESS"


def test_a_joint_that_moves_no_mass_is_named_with_the_key_of_the_robot(tmp_path: Path) -> None:
    text = (
        (EXAMPLES / "hopper.urdf")
        .read_text()
        .replace(
            "</robot>",
            """<link name="flag"/><joint name="halyard"
        type="continuous"><parent link="trunk"/><child link="flag"/></joint></robot>""",
        )
    )
    with pytest.raises(InputError, match=r"hopper\.urdf: .* unlike halyard: lock such joints"):
        build(load_scenario(hopper(tmp_path, text)))
    assert build(load_scenario(hopper(tmp_path, text, joints={"locked": ["halyard"]})))


def test_the_examples_are_valid(tmp_path: Path) -> None:
    for name in ("hopper_on_ship.toml", "hopper.urdf", "quadruped_lands.toml"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    assert build(load_scenario(tmp_path / "hopper_on_ship.toml"))
    assert load_scenario(tmp_path / "quadruped_lands.toml").task == "simulate"


def test_a_file_says_what_contacts_do_beside_coulombs_law(tmp_path: Path) -> None:
    compliant = {"law": "hunt-crossley"}
    feet = {
        "left": {"frame": "left_shank", "shape": {"type": "sphere", "radius": 0.05}, "position": [0.0, 0.0, -0.25]},
    }
    feet["left"] |= compliant
    numbers = {"stiffness": 2e4, "dissipation": 0.4, "rolling_viscosity": 0.1, "adhesion": 0.5, "restitution": 0.3}
    work = build(load_scenario(hopper(tmp_path, feet=feet, contact=numbers)))
    surface, (part,) = work.robot.surface, work.robot.parts
    assert (surface.mu, surface.stiffness, surface.dissipation) == (0.8, 2e4, 0.4)
    assert (surface.rolling_viscous, surface.adhesion, part.law) == (0.1, 0.5, "hunt-crossley")
    assert work.robot.restitution.restitution == 0.3
    assert work.start.laws == ("hunt-crossley",)
    result = work.run(None)
    assert result.status is Status.SUCCESS
    assert set(result["mode"].ravel().tolist()) == {"hunt-crossley"}
    # The force of the law from the record: k p^1.5 (1 + 1.5 c p'), p' the rate of the depth.
    depth, force = -result["gap"][:, 0], result["contact_force"][:, 0, 2]
    inside = depth > 1e-4
    assert inside.any()
    rate = np.gradient(depth, result.time, edge_order=2)[inside]
    np.testing.assert_allclose(force[inside], 2e4 * depth[inside] ** 1.5 * (1 + 0.6 * rate), rtol=5e-3)
    with pytest.raises(InputError, match=r"contact\.restitution = 1.5: must be a number from 0 to 1"):
        load_scenario(hopper(tmp_path, contact={"restitution": 1.5}))
