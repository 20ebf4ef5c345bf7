from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_rpy

RPY, AXES = (0.4, -0.3, 0.7), (0.12, 0.2, 0.09)


def turned_by_hand() -> tr.geometry.ExpressionBody:
    """The ellipsoid, its support function written in the axes of the body."""
    R = rotation_rpy(np.array(RPY))
    Q = ca.DM(R @ np.diag(np.square(AXES)) @ R.T)
    return tr.geometry.ExpressionBody(lambda x, y, z: ca.sqrt(ca.bilin(Q, ca.vertcat(x, y, z), ca.vertcat(x, y, z))))


def rolled(**how: Any) -> tr.Trajectory:
    robot = tr.Robot(gravity=(0, 0, -9.81))
    robot.free(2.0, (0.02, 0.015, 0.03), name="hull", center_of_mass=(0.01, 0.0, -0.01), **how)
    robot.terrain(tr.Plane(), 0.9)
    made = robot.finish()
    start = made.place(hull=(0, 0, 0.14), rates={"hull": (0.4, 0.2, 0.1)}, tolerance=0.1)
    return tr.simulate(made, start, 0.25, output_step=0.05)


def test_a_turned_ellipsoid_rolls_like_one_built_turned() -> None:
    ours = rolled(shape=tr.Ellipsoid(AXES), shape_rpy=RPY)
    oracle = rolled(shape=turned_by_hand())
    assert ours.status.label == "success"
    np.testing.assert_allclose(ours["body_position"], oracle["body_position"], atol=2e-9)
    np.testing.assert_allclose(ours["body_quaternion"], oracle["body_quaternion"], atol=2e-8)


def test_in_the_plane_a_quarter_turn_exchanges_the_axes_of_an_ellipse() -> None:
    runs = []
    for axes, turn in (((0.2, 0.1), np.pi / 2), ((0.1, 0.2), None)):
        robot = tr.Robot()
        robot.free(1.0, "solid", shape=tr.Ellipse(axes), shape_at=(0.01, 0.02), shape_rpy=turn, name="egg")
        robot.terrain(tr.Line(), 0.8)
        egg = robot.finish()
        runs.append(tr.simulate(egg, egg.place(egg=(0, 0.2, 0.1), tolerance=0.1), 0.5, output_step=0.1))
    np.testing.assert_allclose(runs[0]["body_position"], runs[1]["body_position"], atol=1e-9)
    np.testing.assert_allclose(runs[0]["body_angle"], runs[1]["body_angle"], atol=1e-9)


def test_two_turned_shapes_of_one_body_share_its_weight() -> None:
    robot = tr.Robot()
    skate = robot.free(2.0, 0.05, name="skate")
    for name, x in (("rear", -0.2), ("front", 0.2)):
        robot.attach(skate, tr.Ellipse((0.05, 0.03)), at=(x, 0.0), rpy=0.3, name=name)
    robot.terrain(tr.Line(), 0.8)
    made = robot.finish()
    run = tr.simulate(made, made.place(skate=(0, 0.034, 0)), 0.1)
    assert run.status.label == "success"
    assert run["contact_force"][-1, :, 1].sum() == pytest.approx(2 * 9.81, rel=1e-9)


def test_the_inertia_of_a_turned_solid_is_turned() -> None:
    robot = tr.Robot(gravity=(0, 0, -9.81))
    robot.free(2.0, shape=tr.Ellipsoid(AXES), shape_rpy=RPY, name="stone")
    R = rotation_rpy(np.array(RPY))
    a, b, c = np.square(AXES)
    moments = 2.0 / 5 * np.array([b + c, a + c, a + b])
    robot.terrain(tr.Plane())
    np.testing.assert_allclose(robot.finish().tree.specs[1].inertia, R @ np.diag(moments) @ R.T, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rpy", [0.3, (0.1, 0.2), (0.0, np.nan, 0.0)])
def test_turns_that_are_none(rpy: object) -> None:
    with pytest.raises(InputError, match="rpy"):
        tr.Robot(gravity=(0, 0, -9.81)).free(1.0, 0.1, shape=tr.Sphere(0.1), shape_rpy=rpy)  # type: ignore[arg-type]
