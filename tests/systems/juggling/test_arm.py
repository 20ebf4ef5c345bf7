"""A scenario whose hand an arm carries: read, refused where it cannot be, run, and what its record and metrics say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.scenarios import build, load_scenario

pytest.importorskip("pinocchio")
EXAMPLE = Path(__file__).parents[3] / "examples" / "ball_on_robot_arm.toml"


def test_the_arm_of_a_file_is_that_of_the_library() -> None:
    arm = build(load_scenario(EXAMPLE)).task.arm
    assert arm.urdf.name == tr.load_example_robot("kinova").name
    assert (arm.link, arm.mass, arm.margin) == ("j2s6s200_end_effector", 0.3, 0.9)
    assert arm.posture["j2s6s200_joint_3"] == 1.7
    assert build(load_scenario("plate-reorient")).task.arm is None


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ("arm.link='nothing'", "arm.link", "one of the links base, "),
        ("arm.posture.elbow=1.0", "arm.posture.elbow", "left out: the joints are j2s6s200_joint_1"),
        ("arm.posture.j2s6s200_joint_2=0.1", "arm.posture.j2s6s200_joint_2", "from 0.82"),
        ("arm.position=[2.0, 0.0, 0.0]", "arm.position", "reaches the hand at (0, -0.35, 0.6) m"),
        ("arm.example='ur7'", "arm.example", "one of "),
        ("arm.urdf='ur5.urdf'", "arm.urdf", "one of the two"),
        ("arm.margin=1.5", "arm.margin", "at most 1"),
        ("limits.freedoms='rotations'", "limits.freedoms", "'all' where an arm carries the hand"),
        ("plan.printed=true", "plan.printed", "left out where an arm"),
        ("controller.replan=0.1", "controller.replan", "left out where an arm"),
    ],
)
def test_what_an_arm_cannot_be_is_refused_by_its_key(change: str, key: str, text: str) -> None:
    with pytest.raises(InputError) as raised:
        build(load_scenario(EXAMPLE, [change]))
    assert key in str(raised.value)
    assert text in str(raised.value)


@pytest.mark.slow
def test_the_example_keeps_its_limits_and_records_the_joints(tmp_path: Path) -> None:
    result = tr.run(EXAMPLE, tmp_path / "run", plots=False)
    assert result.status is tr.Status.SUCCESS
    assert result.exit_code == 0
    metrics = {name: one["value"] for name, one in result.summary["metrics"].items()}
    assert 0.88 < metrics["joint_speed_use"] < 0.92
    assert metrics["joint_speed_use"] < metrics["tracked_joint_speed_use"] < 1.0
    assert metrics["joint_speed_margin"] == pytest.approx(0.0628, abs=5e-3)
    for name in ("trajectory.nc", "trajectory-plan.nc"):
        saved = tr.load_trajectory(tmp_path / "run" / name)
        assert list(saved["joint"]) == [f"j2s6s200_joint_{i}" for i in range(1, 7)]
        assert saved["joint_torque"].shape == (len(saved), 6)
        rate = np.gradient(saved["joint_position"], saved.time, axis=0)
        np.testing.assert_allclose(rate[2:-2], saved["joint_velocity"][2:-2], atol=0.02)
