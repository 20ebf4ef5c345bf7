"""Flat patches on a plane: what their corners carry, and how a rigid block stands, tips, slides and lands on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import trundle as tr
from trundle.contact import FlatPatch
from trundle.geometry import Plane
from trundle.models import Foot, RollingTree, robot_from_urdf
from trundle.models.rigid_body import Hand
from trundle.models.urdf.checks import check_urdf
from trundle.status import Status

MASS, HALF = 2.0, (0.1, 0.05)
WEIGHT = MASS * 9.81
MOMENTS = (0.02, 0.03, 0.04)
CORNERS = [f"sole-{i}" for i in (1, 2, 3, 4)]
SIGNS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])


def block(com: tuple[float, float, float], slope: float = 0.0, friction: float = 0.8) -> RollingTree:
    """A block whose frame is in the middle of its sole, on a plane that falls along x."""
    x, y, z = com
    xx, yy, zz = MOMENTS
    text = (
        f'<robot name="block"><link name="block"><inertial><origin xyz="{x} {y} {z}"/><mass value="{MASS}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link></robot>'
    )
    feet = {"sole": Foot(FlatPatch.rectangle(2 * HALF[0], 2 * HALF[1]), "block")}
    ground = Hand(Plane(), rpy=(0.0, slope, 0.0))
    return robot_from_urdf(check_urdf(text), feet, ground, friction=friction, on_slip="slide", on_separation="fly")


def stands(robot: RollingTree, slope: float, duration: float, **options: Any) -> tr.Trajectory:
    turn = (np.cos(slope / 2), 0.0, np.sin(slope / 2), 0.0)
    start = robot.place(contacts=CORNERS, block=(0.0, 0.0, 0.0, *turn))
    return tr.simulate(robot, start, duration, output_step=0.01, relative_tolerance=1e-9, **options)


def loads(run: tr.Trajectory) -> np.ndarray:
    return np.einsum("ijk,ijk->ij", run["contact_force"], run["contact_normal"])


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.1), (0.08, 0.04, 0.1), (-0.095, 0.045, 0.1)])
def test_no_corner_pulls_while_the_centre_of_pressure_is_inside(com: tuple[float, float, float]) -> None:
    run = stands(block(com), 0.0, 0.1)
    assert run.status is Status.SUCCESS
    assert run.transitions == []
    x, y = com[0] / HALF[0], com[1] / HALF[1]
    # Of all loads >= 0 with this sum and centre the ones with the least sum of squares.
    sums = np.vstack([np.ones(len(SIGNS)), SIGNS[:, 0], SIGNS[:, 1]])
    rows, wanted = (
        np.vstack([1e4 * sums, np.eye(len(SIGNS))]),
        np.append(1e4 * np.array([1, x, y]), np.zeros(len(SIGNS))),
    )
    np.testing.assert_allclose(loads(run)[-1], WEIGHT * nnls(rows, wanted)[0], atol=1e-5 * WEIGHT)
    assert loads(run).min() > -1e-9


def test_on_a_slope_corners_share_what_friction_allows() -> None:
    slope = 0.3
    run = stands(block((0.01, 0.02, 0.05), slope, 0.5), slope, 0.1)
    assert run.transitions == []
    force, normal = run["contact_force"][0], run["contact_normal"][0]
    f_n = np.einsum("ik,ik->i", force, normal)
    use = np.linalg.norm(force - f_n[:, None] * normal, axis=1) / f_n
    assert np.all(use < 0.5 + 1e-6)
    np.testing.assert_allclose(force.sum(axis=0), [0.0, 0.0, WEIGHT], atol=1e-9)
    # The moment about the centre of mass vanishes: pressure acts where the weight does.
    arm = run["contact_position"][0] - run["body_position"][0, 0]
    np.testing.assert_allclose(np.cross(arm, force).sum(axis=0), 0.0, atol=1e-9)


def test_it_slides_on_its_sole_with_the_acceleration_of_the_closed_form() -> None:
    slope, friction, duration = 0.3, 0.2, 0.2
    run = stands(block((0.0, 0.0, 0.05), slope, friction), slope, duration)
    speed = 9.81 * (np.sin(slope) - friction * np.cos(slope)) * duration
    assert run.status is Status.SUCCESS
    assert set(run["mode"][-1]) == {"sliding"}
    np.testing.assert_allclose(np.linalg.norm(run["body_velocity"][-1, 0]), speed, rtol=1e-6)
    np.testing.assert_allclose(run["body_angular_velocity"][-1, 0], 0.0, atol=1e-8)


def test_it_tips_over_its_edge_like_a_pendulum() -> None:
    x, z = 0.12, 0.1
    run = stands(block((x, 0.0, z)), 0.0, 0.25)
    assert run.status is Status.SUCCESS
    assert [str(mode) for mode in run["mode"][-1]] == ["rolling", "separated", "separated", "rolling"]
    arm = np.hypot(x - HALF[0], z)
    before, height = np.arctan2(z, x - HALF[0]), run["body_position"][-1, 0, 2]
    fallen = before - np.arcsin(height / arm)
    about_edge = MOMENTS[1] + MASS * arm**2
    rate = np.sqrt(2 * WEIGHT * arm * (np.sin(before) - np.sin(before - fallen)) / about_edge)
    np.testing.assert_allclose(run["body_angular_velocity"][-1, 0], [0.0, rate, 0.0], atol=1e-6)


def test_a_sole_that_falls_flat_lands_on_all_corners_at_once() -> None:
    robot = block((0.03, 0.02, 0.1))
    start = robot.place(contacts=[], block=(0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0))
    run = tr.simulate(robot, start, 0.2, output_step=0.01, relative_tolerance=1e-9)
    assert run.status is Status.SUCCESS
    assert len(run.transitions) == 1
    assert run.transitions[0]["time"] == pytest.approx(np.sqrt(2 * 0.05 / 9.81), abs=1e-9)
    assert set(run["mode"][-1]) == {"rolling"}
    assert run["energy"][-1] == pytest.approx(WEIGHT * 0.1, abs=1e-9)
    np.testing.assert_allclose(run["body_velocity"][-1], 0.0, atol=1e-9)


def test_a_sole_that_falls_beside_its_centre_of_mass_lands_on_an_edge_and_loses_energy() -> None:
    robot = block((0.15, 0.0, 0.1))
    start = robot.place(contacts=[], block=(0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0))
    run = tr.simulate(robot, start, 0.15, output_step=0.01, relative_tolerance=1e-9)
    assert run.status is Status.SUCCESS
    landed = next(i for i, mode in enumerate(run["mode"]) if "rolling" in mode)
    assert [str(mode) for mode in run["mode"][landed]] == ["rolling", "separated", "separated", "rolling"]
    speed, arm = np.sqrt(2 * 9.81 * 0.05), np.hypot(0.05, 0.1)
    rate = MASS * speed * 0.05 / (MOMENTS[1] + MASS * arm**2)  # angular momentum about the edge is kept
    before, after = MASS * speed**2 / 2, (MOMENTS[1] + MASS * arm**2) * rate**2 / 2
    assert run["energy"][0] - run["energy"][-1] == pytest.approx(before - after, abs=1e-6)
