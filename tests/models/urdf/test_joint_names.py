"""Joints of a URDF have one name everywhere: in scenario files, where Python places a robot, and in records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.models.urdf.checks import check_urdf
from trundle.scenarios import build
from trundle.scenarios.engine.export import names
from trundle.systems.walking.scenario.robot import RobotRun

MASS = '<inertial><mass value="1"/><inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial>'
LEG = f"""<robot name="leg"><link name="trunk">{MASS}</link><link name="thigh">{MASS}</link>
<link name="shank">{MASS}</link>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="thigh"/><axis xyz="0 1 0"/>
<origin xyz="0 0 -0.1"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
<joint name="knee" type="revolute"><parent link="thigh"/><child link="shank"/><axis xyz="0 1 0"/>
<origin xyz="0 0 -0.2"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
SCENARIO = """kind = "walking"
task = "simulate"
[robot]
urdf = "leg.urdf"
[feet.foot]
frame = "shank"
shape = { type = "sphere", radius = 0.05 }
position = [0.0, 0.0, -0.2]
[joints]
stiffness = { hip = 20.0, knee = 30.0 }
damping = 1.0
[initial]
clearance = 0.02
joints = { hip = -0.3, knee = 0.5 }
rates = { knee = 0.7 }
[simulation]
duration = 0.01
output_step = 0.005
"""
TALL = (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def robot() -> tr.RollingTree:
    foot = tr.Foot(tr.Sphere(0.05), "shank", (0.0, 0.0, -0.2))
    return tr.robot_from_urdf(check_urdf(LEG), {"foot": foot})


def test_a_robot_is_placed_by_joints_as_by_the_bodies_that_they_move(robot: tr.RollingTree) -> None:
    assert dict(robot.joints) == {"hip": "thigh", "knee": "shank"}
    by_joint = robot.place(trunk=TALL, hip=-0.3, knee=0.5, rates={"knee": 0.7}, contacts=[])
    by_body = robot.place(trunk=TALL, thigh=-0.3, shank=0.5, rates={"shank": 0.7}, contacts=[])
    np.testing.assert_array_equal(by_joint.x, by_body.x)
    layout = robot.model().layout
    assert by_joint.x[layout["shank.joint"]] == 0.5
    assert by_joint.x[layout["shank.rate"]] == 0.7
    on_ground = robot.place(trunk=(0.0, 0.0, 0.54), hip=-0.3, knee=0.5, hold=["knee"])
    assert on_ground.x[layout["shank.joint"]] == 0.5
    np.testing.assert_array_equal(robot.given_state(knee=0.5), robot.given_state(shank=0.5))


def test_springs_too(robot: tr.RollingTree) -> None:
    one, other = (robot.with_springs({name: 9.0}, {name: 0.1}, {name: 0.2}) for name in ("knee", "shank"))
    assert one.tree.specs == other.tree.specs
    assert one.tree.specs != robot.tree.specs


def test_records_have_the_names_of_the_joints(robot: tr.RollingTree) -> None:
    sprung = robot.with_springs({"knee": 5.0}, {}, {})
    run = tr.simulate(sprung, sprung.place(trunk=TALL, knee=0.5, contacts=[]), 0.01, output_step=0.005)
    assert [str(name) for name in run["joint"]] == ["hip", "knee"]
    assert run["joint_position"][0] == pytest.approx([0.0, 0.5])


def test_a_scenario_file_has_the_same_ones(tmp_path: Path, robot: tr.RollingTree) -> None:
    (tmp_path / "leg.urdf").write_text(LEG, encoding="utf-8")
    (tmp_path / "leg.toml").write_text(SCENARIO, encoding="utf-8")
    work = build(tr.load_scenario(tmp_path / "leg.toml"))
    assert isinstance(work, RobotRun)
    run = work.run(None)
    assert [str(name) for name in run["joint"]] == ["hip", "knee"]
    sprung = robot.with_springs({"hip": 20.0, "knee": 30.0}, {"hip": 1.0, "knee": 1.0}, {"hip": -0.3, "knee": 0.5})
    in_file, here = (
        [(spec.joint_name, spec.stiffness, spec.damping, spec.rest) for spec in one.tree.specs if spec.jointed]
        for one in (work.robot, sprung)
    )
    assert in_file == here
    height = float(work.start.x[2])
    placed = sprung.place(trunk=(0.0, 0.0, height), hip=-0.3, knee=0.5, rates={"knee": 0.7}, contacts=[])
    np.testing.assert_allclose(placed.x, work.start.x, atol=1e-12)


def test_an_unknown_name_is_told_the_joints_and_a_joint_is_given_once(robot: tr.RollingTree) -> None:
    with pytest.raises(tr.InputError, match=r"ankle.*a position of one of trunk, hip, knee"):
        robot.place(ankle=0.1)
    with pytest.raises(tr.InputError, match="a joint's name or its body's, not both"):
        robot.place(knee=0.1, shank=0.1)
    with pytest.raises(tr.InputError, match="rates"):
        robot.place(rates={"ankle": 0.1})


def test_linear_models_and_weights_have_the_names_of_the_joints_and_of_the_records(robot: tr.RollingTree) -> None:
    hung = tr.robot_from_urdf(check_urdf(LEG), base="fixed")
    linear = tr.linearize(hung, hung.place(), outputs=("joint_velocity.knee",))
    assert linear.states == ("hip.joint", "knee.joint", "hip.rate", "knee.rate")
    assert (linear.inputs, linear.outputs) == (("hip.torque", "knee.torque"), ("knee.rate",))
    columns = tr.simulate(hung, hung.place(), 0.01).to_dataframe().columns
    Q, R = {"hip.joint": 9.0, "knee.joint": 4.0, "knee.rate": 0.1}, {"hip.torque": 1.0, "knee.torque": 2.0}
    gains = np.asarray(tr.lqr(hung, hung.place(), Q, R, 0.01).gains)
    for weights, efforts in (
        ({"hip": 9.0, "knee": 4.0, "knee.rate": 0.1}, {"hip": 1.0, "knee": 2.0}),
        ({"thigh.joint": 9.0, "shank": 4.0, "shank.rate": 0.1}, {"thigh": 1.0, "shank.torque": 2.0}),
        (
            {"joint_position.hip": 9.0, "joint_position.knee": 4.0, "joint_velocity.knee": 0.1},
            {"torque.hip": 1.0, "torque.knee": 2.0},
        ),
    ):
        np.testing.assert_array_equal(tr.lqr(hung, hung.place(), weights, efforts, 0.01).gains, gains)
    assert {"joint_position.hip", "joint_velocity.knee", "torque.hip"} <= set(columns)
    assert [entry.name for entry in names.states(hung.model())] == list(linear.states)
    free = tr.linearize(robot, robot.place(trunk=TALL, contacts=[]), outputs=("trunk.position",)).outputs
    assert free == ("trunk.position.x", "trunk.position.y", "trunk.position.z")
    found = tr.sensitivities(hung, hung.place(hip=0.1), 0.01, initial=["knee"])
    assert (found.names, found.of("hip.rate").shape) == (("knee.joint",), (2, 1, 1))
    with pytest.raises(tr.InputError, match=r"Q = 'ankle': must be among hip\.joint"):
        tr.lqr(hung, hung.place(), {"ankle": 1.0}, R, 0.01)
