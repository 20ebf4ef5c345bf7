"""Robots of `bench/landings` that land on several contacts at once, against an independent time stepping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trundle as tr
from bench.landings import FOLDER, balance
from tests.simulate.independent_stepping import Springs, TimeStepping, Touch, ball
from trundle.models import load_example_robot
from trundle.scenarios import build, load_scenario
from trundle.systems.walking import build_avatar
from trundle.systems.walking.scenario.schema_robot import WalkingSimulate

Array = np.ndarray


def lowest_of(semi_axes: Array, center: Array) -> Callable[[Array, Array], Array]:
    """Return the lowest point of an ellipsoid with axes along those of the joint's frame."""

    def lowest(R: Array, p: Array) -> Array:
        down = -R[2]
        return p + R @ (center + semi_axes**2 * down / np.linalg.norm(semi_axes * down))

    return lowest


def touches_of(model: pin.Model, feet: dict[str, Any], mu: float) -> list[Touch]:
    """Return what may touch: the feet of a file, their frames as the URDF has them."""
    found = []
    for name, table in feet.items():
        frame = model.frames[model.getFrameId(table.frame or name)]
        place, at = frame.placement, np.array(table.position)
        assert np.allclose(place.rotation, np.eye(3)), "axes of the joint"
        center = place.translation + at
        shape = table.shape
        if shape.type == "sphere":
            found.append(Touch(frame.parentJoint, ball(shape.radius, center), mu))
        elif shape.type == "ellipsoid":
            found.append(Touch(frame.parentJoint, lowest_of(np.array(shape.semi_axes), center), mu))
        else:
            a, b = shape.half_lengths
            corners = [center + np.array([x, y, 0.0]) for x in (-a, a) for y in (-b, b)]
            found += [Touch(frame.parentJoint, ball(0.0, corner), mu) for corner in corners]
    return found


def stepped(work: Any, run: tr.Trajectory, urdf: str, steps: tuple[float, ...], times: tuple[float, ...]) -> Array:
    """Return joint angles (rad) and base position (m) that the oracle has at the times, for each step."""
    tables = work.scenario.read(WalkingSimulate)
    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    order = [model.joints[model.getJointId(str(name))] for name in run["joint"]]
    q, v = pin.neutral(model), np.zeros(model.nv)
    w, x, y, z = run["base_quaternion"][0]
    R, com = pin.Quaternion(w, x, y, z).matrix(), model.inertias[1].lever
    q[:7] = *(run["base_position"][0] - R @ com), x, y, z, w  # records have the centre of mass
    turning = R.T @ run["base_angular_velocity"][0]
    v[:6] = *(R.T @ run["base_velocity"][0] - np.cross(turning, com)), *turning
    for joint, angle, rate in zip(order, run["joint_position"][0], run["joint_velocity"][0], strict=True):
        q[joint.idx_q], v[joint.idx_v] = angle, rate
    joints = tables.joints
    assert not joints.target
    springs = Springs(joints.stiffness, joints.damping, np.array(q))
    found = np.zeros((len(steps), len(times), 3 + len(order)))
    for row, h in zip(found, steps, strict=True):
        oracle = TimeStepping(model, touches_of(model, tables.feet, tables.ground.friction), springs)
        q_now, v_now, k = np.array(q), np.array(v), 0
        for i, t in enumerate(times):
            while k < round(t / h):
                q_now, v_now = oracle.step(q_now, v_now, h)
                k += 1
            pin.forwardKinematics(model, oracle.data, q_now)
            row[i] = *oracle.data.oMi[1].act(com), *(q_now[joint.idx_q] for joint in order)
    return found


SLIDES = ("ground.friction=0.15", "initial.velocity=[1.5, 0.2, 0.0]")
CASES = {
    "a1": ("a1", (), (0.12, 0.2, 0.28, 0.36)),
    "limp avatar": ("avatar", (), (0.12, 0.15, 0.2)),
    "soles that stick": ("soles", ("ground.friction=0.8",), (0.09, 0.1, 0.12)),
    "soles that slide": ("soles", SLIDES, (0.09, 0.1, 0.12)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_robot_lands_as_time_steps_converge_to(case: str) -> None:
    name, overrides, times = CASES[case]
    work: Any = build(load_scenario(FOLDER / f"{name}.toml", overrides))
    run = work.run(None)
    assert run.status is tr.Status.SUCCESS
    assert balance(run, work.robot)[1] < 1e-8, "no event makes energy"
    normal = run["contact_force"][:, :, 2]
    assert normal.min() > -1e-6 * normal.max()
    urdf = load_example_robot("a1").text if name == "a1" else build_avatar("male").robot.urdf()
    found = stepped(work, run, urdf, (4e-4, 2e-4, 1e-4), times)
    at = [int(np.argmin(np.abs(run.time - t))) for t in times]
    apart = np.abs(found - np.column_stack([run["base_position"], run["joint_position"]])[at])
    for part, limit in ((apart[:, :, :3], 1e-4), (apart[:, :, 3:], 2e-3)):  # m, rad
        largest = part.max(axis=2)
        assert np.all(largest[-1] < limit)
        ratios = largest[1] / largest[2]
        assert np.all((ratios > 1.6) & (ratios < 2.4)), ratios  # of first order
