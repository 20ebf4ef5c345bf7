"""Transfers of a hand that an arm carries: limits of the joints bite, and Pinocchio's replay of the hand keeps them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_matrices
from trundle.report.scene import build_stage
from trundle.report.staging import frame_times
from trundle.status import Status

pin = pytest.importorskip("pinocchio")
HALF = np.sqrt(0.5)
KINOVA = {f"j2s6s200_joint_{i}": a for i, a in enumerate([-2.5, 1.6, 1.7, -2.2, 1.5, -3.1], 1)}


def kinova(**more) -> tr.juggling.Arm:
    given = {"posture": KINOVA, "hand_position": (0.0, 0.0, 0.02), "mass": 0.3} | more
    return tr.juggling.Arm(tr.load_example_robot("kinova"), "j2s6s200_end_effector", **given)


def task(
    arm: tr.juggling.Arm | None, place=(0.0, -0.35, 0.6), goal: dict | None = None, duration=1.0, **more
) -> tr.juggling.Transfer:
    ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane(), position=place), friction=0.5)
    goal = goal or {"contact_on_hand": (0, -0.033, 0), "object_quaternion": (HALF, HALF, 0, 0)}
    return tr.juggling.Transfer(pair, {}, goal, duration, arm=arm, **more)


@cache
def carried() -> tr.Plan:
    return tr.juggling.plan(task(kinova()), nodes=20)


class Followed:
    """Joints and torques along a recorded motion of the hand: Newton's steps and RNEA, knowing nothing of the plan."""

    def __init__(self, arm: tr.juggling.Arm, run: tr.Trajectory, q: np.ndarray) -> None:
        model = pin.buildModelFromXML(arm.chain.text)
        link = model.getFrameId(arm.link)
        joint, place = (
            model.frames[link].parentJoint,
            model.frames[link].placement
            * pin.SE3(Rotation.from_euler("xyz", arm.hand_rpy).as_matrix(), np.array(arm.hand_position)),
        )
        model.appendBodyToJoint(joint, pin.Inertia(arm.mass, np.zeros(3), np.zeros((3, 3))), place)
        frame = model.addFrame(pin.Frame("plate", joint, place, pin.FrameType.OP_FRAME))
        data, times = model.createData(), run.time
        wanted = [
            pin.SE3(Rotation.from_quat(turn, scalar_first=True).as_matrix(), p.copy())
            for turn, p in zip(run["hand_quaternion"], run["hand_position"], strict=True)
        ]
        path = []
        for target in wanted:
            for _ in range(20):
                full = pin.integrate(model, pin.neutral(model), q)
                pin.framesForwardKinematics(model, data, full)
                error = pin.log6(data.oMf[frame].actInv(target)).vector
                J = pin.computeFrameJacobian(model, data, full, frame, pin.LOCAL)
                q = q + np.linalg.pinv(J) @ error
            path.append(q)
        self.error = float(np.linalg.norm(error))
        self.q = np.array(path)
        self.rate = np.gradient(self.q, times, axis=0, edge_order=2)
        acceleration = np.gradient(self.rate, times, axis=0, edge_order=2)
        self.torque = np.zeros_like(self.q)
        lever = run["contact_position"] - run["hand_position"]
        for i, (at, v, a) in enumerate(zip(self.q, self.rate, acceleration, strict=True)):
            full = pin.integrate(model, pin.neutral(model), at)
            J = pin.computeFrameJacobian(model, data, full, frame, pin.LOCAL_WORLD_ALIGNED)
            force = -run["contact_force"][i]
            moment = np.cross(lever[i], force) - run["contact_moment"][i] * run["contact_normal"][i]
            self.torque[i] = pin.rnea(model, data, full, v, a) - J.T @ np.concatenate([force, moment])


def test_without_the_arm_the_plan_is_too_fast_with_it_every_joint_keeps_its_limits() -> None:
    arm, plan = kinova(), carried()
    assert plan.status is Status.SUCCESS, plan.message
    lower, upper, rate, torque = arm.bounds
    free = tr.juggling.plan(task(None), nodes=20).trajectory
    start = plan.trajectory["joint_position"][0]
    assert np.max(np.abs(Followed(arm, free, start).rate) / rate) > 1.5
    held = Followed(arm, plan.trajectory, start)
    assert held.error < 1e-9
    use = np.max(np.abs(held.rate) / rate)
    assert 0.94 < use < 0.96  # active: the margin of .95
    assert np.max(np.abs(held.torque) / torque) < 0.95
    assert np.all((held.q > lower) & (held.q < upper))
    np.testing.assert_allclose(plan.residuals["joint_speed_use"], use, rtol=1e-2)
    np.testing.assert_allclose(plan.trajectory["joint_position"], held.q, atol=1e-5)
    inner = slice(5, -5)  # second differences are one-sided at the ends
    np.testing.assert_allclose(plan.trajectory["joint_torque"][inner], held.torque[inner], atol=0.05)
    left = np.min(rate - np.abs(held.rate))
    np.testing.assert_allclose(plan.residuals["joint_speed_margin"], left, rtol=0.1)


def test_the_hand_is_where_the_joints_have_it_and_rests_at_the_goal() -> None:
    plan = carried()
    assert plan.residuals["joint_position_error"] < 1e-5  # m, of two integrations of sampled accelerations
    assert plan.residuals["goal_position_error"] < 1e-4
    assert plan.residuals["goal_hand_position_error"] < 1e-5
    np.testing.assert_allclose(plan.trajectory["joint_velocity"][[0, -1]], 0.0, atol=1e-6)


def test_the_arm_is_drawn_and_its_last_body_carries_the_hand() -> None:
    run, arm = carried().trajectory, kinova()
    assert run is not None
    actors = [actor for actor in build_stage(run).actors if actor.label == "arm"]
    assert [actor.name for actor in actors] == ["base", *arm.joints]
    carrier, place = arm.tree.links[arm.link]
    last, hand = actors[carrier], place.then(arm.mount)
    frames = np.clip(np.searchsorted(run.time, frame_times(run)[0]), 0, len(run) - 1)
    shown = last.positions + rotation_matrices(last.quaternions) @ hand.p
    np.testing.assert_allclose(shown, run["hand_position"][frames], atol=1e-6)


@pytest.mark.slow
def test_a_torque_is_a_limit_too() -> None:
    """A tenth of the free torques' range is taken away from one joint: the plan keeps the rest."""
    arm = kinova()
    free = np.abs(carried().trajectory["joint_torque"])[:, 4]
    text = arm.urdf.text
    weak = 0.5 * (free.max() + free[0]) / arm.margin
    at = text.index('name="j2s6s200_joint_5"')
    limit = text.index('effort="', at)
    changed = f'{text[:limit]}effort="{weak}"{text[text.index(chr(34), limit + 8) + 1 :]}'
    assert free.max() > weak * arm.margin
    weaker = tr.juggling.plan(task(replace(arm, urdf=replace(arm.urdf, text=changed))), nodes=20)
    assert weaker.status is Status.SUCCESS, weaker.message
    used = np.max(np.abs(weaker.trajectory["joint_torque"][:, 4])) / weak
    assert 0.93 < used < 0.97


@pytest.mark.slow
def test_a_range_is_a_limit_too() -> None:
    arm = kinova()
    free = carried().trajectory["joint_position"][:, 1]
    text, lowest = arm.urdf.text, free[0] - 0.5 * (free[0] - free.min())
    middle_to_end = (arm.bounds[1][1] - lowest) / (1 + arm.margin) * 2
    at = text.index("lower=", text.index('name="j2s6s200_joint_2"'))
    changed = f'{text[:at]}lower="{arm.bounds[1][1] - middle_to_end}"{text[text.index(chr(34), at + 7) + 1 :]}'
    narrow = replace(arm, urdf=replace(arm.urdf, text=changed))
    assert free.min() < narrow.usable[0][1] < free[0]
    found = tr.juggling.plan(task(narrow), nodes=20)
    assert found.status is Status.SUCCESS, found.message
    reached = found.trajectory["joint_position"][:, 1].min()
    assert reached == pytest.approx(narrow.usable[0][1], abs=2e-3)


@pytest.mark.slow
def test_seven_joints_carry_the_hand() -> None:
    """What the hand leaves free is the plan's to say."""
    posture = {"panda_joint4": -1.8, "panda_joint6": 1.8}
    mounted = (0.0, 0.0, 0.0)
    arm = tr.juggling.Arm(tr.load_example_robot("panda"), "panda_link8", posture, hand_rpy=mounted, mass=0.3)
    from trundle.systems.juggling.arm.arm_numbers import ArmNumbers

    R, place = ArmNumbers(arm, np.zeros(3)).pose(arm.start)
    level = replace(arm, hand_rpy=tuple(Rotation.from_matrix(R.T).as_euler("xyz")))
    plan = tr.juggling.plan(task(level, tuple(place)), nodes=20)
    assert plan.status is Status.SUCCESS, plan.message
    assert len(plan.trajectory["joint"]) == 7
    held = Followed(level, plan.trajectory, plan.trajectory["joint_position"][0])
    assert held.error < 1e-9
    assert max(plan.residuals[f"joint_{name}_use"] for name in ("range", "speed", "torque")) <= 1.0
    np.testing.assert_allclose(plan.trajectory["joint_velocity"][-1], 0.0, atol=1e-6)


def test_what_the_arm_cannot_do_names_joint_demand_and_limit() -> None:
    plan = tr.juggling.plan(task(kinova(mass=9.0)), nodes=10, starts=1, max_iterations=60)
    assert not plan.success
    speed, torque = plan.message.split("; moved as without the arm, ")[1].split(", and ")
    assert re.fullmatch(r"j2s6s200_joint_\d turns at \S+ rad/s, its limit is \S+ rad/s", speed)
    joint, demand, limit = re.fullmatch(r"(\S+) needs (\S+) N m, its limit is (\S+) N m", torque).groups()
    limits = dict(zip(kinova().joints, kinova().bounds[3], strict=True))
    assert float(demand) > float(limit) == limits[joint]


def test_where_nothing_holds_at_the_start_the_limit_is_named() -> None:
    """A hand that may hardly accelerate cannot be carried by joints that may not bear it."""
    plan = tr.juggling.plan(
        task(kinova(mass=40.0), hand_limits={"linear_acceleration": 0.1, "angular_acceleration": 0.1})
    )
    assert plan.status is Status.START_INFEASIBLE
    assert "torque of j2s6s200_joint" in plan.message
    assert ", from -38 to 38)" in plan.message  # N m, the margin of 40


def test_a_saved_plan_is_gone_on_from(tmp_path: Path) -> None:
    again = tr.juggling.plan(task(kinova()), guess=tr.load_plan(carried().save(tmp_path / "plan.npz")))
    assert again.status is Status.SUCCESS
    assert again.history[-1]["iterations"] < 25
    assert again.residuals["cost"] == pytest.approx(carried().residuals["cost"], rel=0.05)


@pytest.mark.slow
def test_a_release_and_free_start_velocities() -> None:
    goal = {"release": True, "object_velocity": (0.0, 0.0, 0.6), "hand_position": "free", "hand_rpy": "free"}
    thrown = tr.juggling.plan(task(kinova(), goal=goal, duration=(0.5, 1.5)), nodes=15)
    assert thrown.status is Status.SUCCESS, thrown.message
    assert thrown.residuals["joint_speed_use"] <= 1.0
    np.testing.assert_allclose(thrown.trajectory["object_velocity"][-1], (0, 0, 0.6), atol=2e-3)


def test_the_demands_of_a_hand_at_rest_are_those_of_statics() -> None:
    """Torques are the gradient of the potential energy of arm, hand and ball."""
    arm = kinova()
    pair = task(None).pair
    run = tr.simulate(pair, pair.place(contact_on_hand=(0.02, 0.01, 0)), 0.05)
    demands = tr.juggling.joint_demands(arm, run)
    model = pin.buildModelFromXML(arm.chain.text)
    frame = model.frames[model.getFrameId(arm.link)]
    place = frame.placement * pin.SE3(np.eye(3), np.array(arm.hand_position))
    model.appendBodyToJoint(frame.parentJoint, pin.Inertia(arm.mass, np.zeros(3), np.zeros((3, 3))), place)
    ball = pin.SE3(np.eye(3), np.array([0.02, 0.01, 0.035]))
    model.appendBodyToJoint(frame.parentJoint, pin.Inertia(0.216, np.zeros(3), np.zeros((3, 3))), place * ball)
    full = pin.integrate(model, pin.neutral(model), demands.position[0])
    gravity = pin.computeGeneralizedGravity(model, model.createData(), full)
    np.testing.assert_allclose(demands.torque[0], gravity, atol=1e-8)
    assert demands.use()["joint_speed_use"] < 1e-9
    assert demands.missed < 1e-9


def test_an_arm_is_for_all_freedoms_in_space() -> None:
    with pytest.raises(InputError, match=r"hand_limits\.freedoms"):
        task(kinova(), hand_limits={"freedoms": ("wx", "wy")})
    with pytest.raises(InputError, match="arm"):
        task("kinova")
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), 0.1), tr.Hand(tr.Line()))
    with pytest.raises(InputError, match=r"arm.*left out in the plane"):
        tr.juggling.Transfer(pair, {}, {"contact_on_hand": (0.1, 0.0)}, 1.0, arm=kinova())
