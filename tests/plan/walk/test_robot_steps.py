"""Optimal steps of robots from a URDF, from nothing but the robot."""

from __future__ import annotations

from importlib import import_module

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.models.tree.joints import Prismatic
from trundle.models.urdf.examples import load_example_robot
from trundle.status import Status
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.plan.robot_steps import RobotWalk, on_contacts, plan_steps, record_robot
from trundle.systems.walking.plan.waypoints import FootPoses, stand
from trundle.systems.walking.replay.walk_gains import on_ground
from trundle.systems.walking.replay.walk_replay import replay_in_mujoco, replay_walk
from trundle.systems.walking.robots.legged import LeggedRobot, axis_of

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


def along(run: tr.Trajectory, walk: RobotWalk) -> tuple[float, float]:
    """Return the largest gap (m) and speed (m/s) of feet that stand, by the contact model of the simulated robot."""
    model = walk.robot.system.model()
    whole, _ = on_ground(model)
    kin = model.terms(["rolling"] * len(model.constraints)).kin[: len(walk.robot.parts)]
    seen = ca.Function("seen", [model.x], [ca.vertcat(*(ca.dot(k.n, k.gap) for k in kin)), *(k.vrel for k in kin)])
    plan, gaps, slips = on_contacts(walk), [], []
    for k, stands in enumerate(plan.standing.astype(bool)):
        gap, *slip = (np.array(value).ravel() for value in seen(whole(np.r_[plan.q[k + 1], plan.nu[k + 1]])))
        gaps.append(np.abs(gap[stands]).max())
        slips.append(np.abs(np.array(slip)[stands]).max())
    assert float(np.linalg.norm(run["slip"][-1], axis=-1).max()) < 1e-6
    return max(gaps), max(slips)


def test_a_quadruped_steps_over_waves_from_standing_to_standing() -> None:
    wave = tr.Extrusion(tr.Sinusoid(0.02, 0.5))
    walk = plan_steps(robot("solo12"), RobotGait(pattern="trot", steps=1, intervals=(5, 2)), ground=tr.Hand(wave))
    assert walk.plan.status is Status.SUCCESS
    assert inverse_dynamics(walk) < 1e-6
    run = record_robot(walk, 1)
    assert run.feasible
    assert max(along(run, walk)) < 1e-6
    assert run["gap"].min() > -1e-6
    n = run["contact_normal"]
    x = run["contact_position"][..., 0]
    slope = 0.02 * 2 * np.pi / 0.5 * np.cos(2 * np.pi * x / 0.5)
    stands = run["contact_force"][:-1, :, 2] > 0
    assert np.allclose((n[..., 0] / n[..., 2])[:-1][stands], -slope[:-1][stands], atol=1e-6)
    assert np.ptp(n[:-1, :, 0][stands]) > 0.2
    assert np.allclose(walk.plan.nu[[0, -1]][:, :6], 0.0, atol=1e-6)
    assert walk.plan.length / walk.plan.duration == pytest.approx(walk.steps.gait.speed)


@pytest.mark.slow
def test_solo_trots_six_steps_over_waves_in_the_simulator() -> None:
    ground = tr.Hand(tr.Extrusion(tr.Sinusoid(0.02, 0.5)))
    walk = plan_steps(robot("solo12"), RobotGait(pattern="trot", intervals=(8, 3)), ground=ground)
    assert walk.plan.status is Status.SUCCESS
    assert max(along(record_robot(walk, 1), walk)) < 1e-6
    found = replay_walk(walk.robot, on_contacts(walk), 6, period=0.002)
    assert found.steps == 6
    assert found.largest[1:6].max() < 0.05  # m, rad


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
    with pytest.raises(InputError, match=r"feet\.FL.*mirror each other"):
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
