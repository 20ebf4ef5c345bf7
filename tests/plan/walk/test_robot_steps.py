"""Optimal steps of robots from a URDF, from nothing but the robot."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import trundle as tr
from trundle.contact.patch import FlatPatch
from trundle.control.regulators.walk_replay import replay_in_mujoco, replay_walk
from trundle.errors import InputError
from trundle.models.robots.legged import LeggedRobot, axis_of
from trundle.models.tree.joints import Prismatic
from trundle.models.urdf.examples import load_example_robot
from trundle.plan.walk.robot_steps import RobotWalk, on_contacts, plan_steps, record_robot
from trundle.plan.walk.waypoints import FootPoses, stand
from trundle.problems.robot_gait import RobotGait
from trundle.status import Status

pytest.importorskip("pinocchio")

BALLS = {
    "solo12": (0.01, "_FOOT", "FL FR HL HR"),
    "bolt": (0.01, "_FOOT", "FL FR"),
    "a1": (0.02, "_foot", "FL FR RL RR"),
    "anymal_b_simple/anymal": (0.02, "_FOOT", "LF RF LH RH"),
}
SOLES = {
    "talos_reduced": (0.2, 0.12, 0.0, 0.0, {"left": "left_sole_link", "right": "right_sole_link"}),
    "romeo_small": (0.2, 0.09, 0.02, 0.0, {"left": "l_sole", "right": "r_sole"}),
    "g1_29dof_rev_1_0": (
        0.208,
        0.075,
        0.038,
        -0.0354,
        {s: f"{s}_ankle_roll_link" for s in ("left", "right")},
    ),
    "icub_reduced": (0.15, 0.07, 0.0, 0.0, {"left": "l_sole", "right": "r_sole"}),
}


def robot(name: str) -> LeggedRobot:
    if name in BALLS:
        radius, ending, feet = BALLS[name]
        return LeggedRobot(load_example_robot(name), {f: tr.Foot(tr.Sphere(radius), f + ending) for f in feet.split()})
    length, width, x, z, links = SOLES[name]
    feet = {side: tr.Foot(FlatPatch.rectangle(length, width), link, (x, 0.0, z)) for side, link in links.items()}
    return LeggedRobot(load_example_robot(name), feet)


def inverse_dynamics(walk: RobotWalk) -> float:
    """Return the largest residual of the planned motion over the weight, by Pinocchio on the locked description."""
    pin = import_module("pinocchio")
    steps, plan = walk.steps, walk.plan
    model = pin.Model()
    for i, body in enumerate(steps.robot.tree.bodies):
        joint = pin.JointModelComposite(pin.JointModelTranslation())
        if i == 0:
            joint.addJoint(pin.JointModelSphericalZYX())
        else:
            kind = pin.JointModelPrismaticUnaligned if isinstance(body.motion, Prismatic) else None
            joint = (kind or pin.JointModelRevoluteUnaligned)(*body.place.R.T @ axis_of(body))
        place = pin.SE3(body.place.R, body.place.p)
        number = model.addJoint(body.parent + 1, joint, place, body.joint or "base")
        if body.inertia is not None:
            tensor = body.inertia.tensor + 1e-9 * np.eye(3)  # some are those of rods
            inertia = pin.Inertia(body.inertia.mass, body.inertia.com, tensor)
            model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    model.gravity.linear = plan.gravity
    data, worst = model.createData(), 0.0
    for k in range(len(plan.torque)):
        q, nu = (plan.q[k] + plan.q[k + 1]) / 2, (plan.nu[k] + plan.nu[k + 1]) / 2
        tau = pin.rnea(model, data, q, nu, plan.acceleration[k])
        # The force of the ground moves the body as a whole: the base's rows of force balance alone need no Jacobian.
        worst = max(worst, float(np.abs(tau[:3] - plan.force[k].sum(axis=0)).max()))
    return worst / steps.weight


@pytest.mark.parametrize("name", ["solo12", "a1", "talos_reduced", "romeo_small", "icub_reduced", "bolt"])
def test_a_robot_stands_with_level_feet_below_its_hips(name: str) -> None:
    legged = robot(name)
    found = stand(legged, FootPoses(legged))
    points = FootPoses(legged).points(found.q)
    assert np.abs(points[:-1, 2]).max() < 0.01 * found.length
    assert np.allclose(points[-1, 0], points[:-1, 0].mean(), atol=0.05 * found.length)
    assert np.allclose(legged.mirror @ found.q, found.q, atol=0.02)  # rad: files are not quite symmetric
    assert np.allclose(legged.mirror @ legged.mirror, np.eye(len(found.q)))


@pytest.mark.parametrize(("name", "gait"), [("bolt", RobotGait()), ("solo12", RobotGait(pattern="trot", slope=0.1))])
def test_balls_walk_and_trot_from_the_built_in_guess(name: str, gait: RobotGait) -> None:
    walk = plan_steps(robot(name), gait)
    plan, limits = walk.plan, walk.steps.robot.tree.limits
    assert plan.status is Status.SUCCESS
    assert inverse_dynamics(walk) < 1e-6
    assert np.all(np.abs(plan.torque).max(axis=0) <= [limits[joint].effort + 1e-6 for joint in plan.joints])
    assert plan.length / plan.duration == pytest.approx(walk.steps.gait.speed)
    run = record_robot(walk, 4)
    assert run["gap"].min() > -1e-6
    assert np.allclose(np.where(run["contact_force"][:-1, :, 2:] > 0, run["slip"][:-1], 0.0), 0.0, atol=1e-6)
    assert run["base_position"][-1, 0] - run["base_position"][0, 0] == pytest.approx(4 * plan.length)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1", "talos_reduced", "romeo_small", "icub_reduced"])
def test_quadrupeds_trot_and_humanoids_walk_from_the_built_in_guess(name: str) -> None:
    walk = plan_steps(robot(name), RobotGait(pattern="trot"))
    assert walk.plan.status is Status.SUCCESS
    assert inverse_dynamics(walk) < 1e-6


def test_an_impossible_robot_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="left_sole"):
        LeggedRobot(load_example_robot("talos_reduced"), {n: tr.Foot(tr.Sphere(0.1), n) for n in ("left_sole", "b")})
    with pytest.raises(InputError, match="swings"):
        plan_steps(robot("bolt"), RobotGait(swings=[["FL", "FR"]]))
    apart = {"FL": tr.Foot(tr.Sphere(0.01), "FL_FOOT"), "FR": tr.Foot(tr.Sphere(0.01), "FR_FOOT", (0.0, 0.0, 0.2))}
    with pytest.raises(InputError, match=r"feet\.FL.*mirror image"):
        plan_steps(LeggedRobot(robot("bolt").urdf, apart))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bolt", "solo12", "a1", "anymal_b_simple/anymal"])
def test_the_simulator_walks_six_steps_of_the_plan(name: str) -> None:
    walk = plan_steps(robot(name), RobotGait(pattern="trot"))
    found = replay_walk(walk.steps.robot.on_ground(friction=walk.steps.gait.friction), on_contacts(walk), 6)
    assert found.steps == 6
    assert found.gains.multipliers[1] < 0.9  # of 1: the place along the way
    assert found.largest[1:6].max() < 0.2 * walk.standing.length + 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["solo12", "a1", "anymal_b_simple/anymal", "talos_reduced", "romeo_small", "g1_29dof_rev_1_0", "icub_reduced"],
)
def test_mujoco_walks_six_steps_of_the_plan(name: str) -> None:
    pytest.importorskip("mujoco")
    walk = plan_steps(robot(name), RobotGait(pattern="trot"))
    found = replay_in_mujoco(walk.steps.robot, on_contacts(walk), 6, friction=walk.steps.gait.friction)
    assert (found.steps, found.run.status) == (6, Status.SUCCESS)
    assert found.largest[1:6].max() < 0.05  # m, rad
