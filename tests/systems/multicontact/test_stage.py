"""Pages of humanoids: a robot of one's own is drawn wherever the page is made, from what its run tells."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trundle.models.urdf.checks import load_urdf
from trundle.numerics.rotations import quaternion_of
from trundle.systems.multicontact.scenario.stage import _robot
from trundle.systems.multicontact.scenario.trials import describe_robot

pytest.importorskip("pinocchio")
from trundle.models.urdf.articulated import Articulated

HOPPER = Path(__file__).parents[3] / "examples" / "hopper.urdf"


def hopper(**metadata: Any) -> tuple[Any, Articulated, np.ndarray]:
    """Return a run of the hopper without its file, the robot, and three states (3, nq)."""
    robot = Articulated(load_urdf(HOPPER))
    humanoid: Any = SimpleNamespace(robot=robot, urdf=robot.urdf, licence="", notice="")
    run = SimpleNamespace(metadata={"robot": "gone.toml"} | describe_robot(humanoid) | metadata)
    random = np.random.default_rng(3)
    q = np.array([robot.displace(robot.neutral, random.normal(size=robot.nv)) for _ in range(3)])
    return run, robot, q


def test_a_robot_whose_file_is_gone_is_drawn_with_sticks_from_joint_to_joint() -> None:
    run, robot, q = hopper()
    drawn = {actor.name: actor for actor in _robot(run, q)}
    assert {"base", "left_hip", "left_knee", "right_hip", "right_knee"} <= set(drawn)
    for k, state in enumerate(q):
        terms = robot.terms(state, np.zeros(robot.nv), ("left_shank", "right_thigh"))
        for joint, motion in zip(("left_knee", "right_hip"), terms.motions, strict=True):
            assert np.allclose(drawn[joint].positions[k], motion.p, atol=1e-12)
            turn = quaternion_of(motion.R)
            assert abs(abs(float(turn @ drawn[joint].quaternions[k])) - 1.0) < 1e-12


def test_meshes_are_drawn_only_beside_their_notice() -> None:
    pytest.importorskip("coal")
    run, _, q = hopper(description="solo12")
    assert "FL_UPPER_LEG" not in {actor.name for actor in _robot(run, q)}
    run.metadata["notice"] = "as the licence asks"
    solo = np.column_stack([np.zeros((2, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)), np.zeros((2, 12))])
    assert "FL_UPPER_LEG" in {actor.name for actor in _robot(run, solo)}
