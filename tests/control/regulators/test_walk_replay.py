"""Walks in the simulator: the regulator of the cycle, and steps with touch-downs, impacts and lift-offs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.geometry import Superellipsoid
from trundle.models.urdf.robot import robot_from_urdf
from trundle.status import Status
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.plan.walking import plan_walk
from trundle.systems.walking.replay.walk_gains import WalkWeights, ankles_of, walk_gains
from trundle.systems.walking.replay.walk_replay import WalkTracking, _landings, replay_walk, walking_robot
from trundle.systems.walking.robots.avatar import build_avatar

DATA = Path(__file__).parents[2] / "data"
"""One optimal step of the avatar at 1.2 m/s, 16 + 6 intervals: walk.npz on the flat, walk_down.npz at -10 degrees."""


@dataclass(frozen=True)
class Plan:
    times: np.ndarray
    q: np.ndarray
    nu: np.ndarray
    torque: np.ndarray
    standing: np.ndarray
    mirror: np.ndarray
    gravity: np.ndarray
    once: bool = False

    @property
    def order(self) -> list[int]:
        return list(range(self.standing.shape[1]))[::-1]

    @property
    def feet(self) -> list[list[int]]:
        half = len(self.order) // 2
        return [self.order[: half - 1 : -1], self.order[:half]]

    def at(self, time: float):
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, len(self.times) - 2))
        h, t = self.times[k + 1] - self.times[k], time - self.times[k]
        a = (self.nu[k + 1] - self.nu[k]) / h
        return self.q[k] + t * self.nu[k] + t * t / 2 * a, self.nu[k] + t * a, a, k


def loaded(name: str) -> Plan:
    with np.load(DATA / name) as data:
        return Plan(**{name: data[name].astype(data[name].dtype if name == "standing" else float) for name in data})


@pytest.fixture(scope="module")
def plan() -> Plan:
    return loaded("walk.npz")


@pytest.fixture(scope="module")
def robot(plan: Plan):
    return walking_robot(build_avatar(), plan.gravity)


@pytest.mark.slow
def test_the_avatar_walks_three_steps(plan: Plan, robot) -> None:
    """It would fall within one step without feedback; with it the base stays within centimetres of the plan."""
    replay = replay_walk(robot, plan, 3)
    run = replay.run
    assert run.status is Status.SUCCESS
    assert replay.steps == 3
    assert replay.gains.free[0] > 1e3
    assert replay.gains.multipliers[0] < 1.0
    place, attitude = replay.largest[1:3], replay.largest[3:6]
    assert place.max() < 0.02
    assert attitude.max() < 0.05
    assert run["gap"].min() > -1e-9
    standing = run["mode"] == "rolling"
    assert np.abs(run["gap"][standing]).max() < 1e-12
    assert np.linalg.norm(run["slip"][standing], axis=-1).max() < 1e-12
    force, normal = run["contact_force"], run["contact_force"][..., 2]
    round_off = 1e-12 * normal.max()  # of a foot at the instant at which it leaves
    assert normal.min() >= -round_off
    sideways = np.linalg.norm(force[..., :2], axis=-1)
    assert np.all(sideways <= normal * (1 + 1e-9) + round_off)
    # Each foot has landed in turn.
    landed = [t["contact"] for t in run.transitions if t["reason"] == "the gap closed"]
    assert {"left_foot", "right_foot"} == set(landed)


@pytest.mark.slow
def test_the_avatar_walks_downhill() -> None:
    """Loads change fast there: a regulator that lets feet turn loses the third step to the ankle that has landed."""
    plan, avatar = loaded("walk_down.npz"), build_avatar()
    replay = replay_walk(walking_robot(avatar, plan.gravity), plan, 4)
    assert replay.run.status is Status.SUCCESS
    assert replay.steps == 4
    assert replay.largest[1:6].max() < 0.03
    limits = {joint.name: joint.torque for joint in avatar.robot.joints}
    used = np.abs(replay.run["torque"]).max(axis=0)
    driven = [(torque, str(name)) for name, torque in zip(replay.run["joint"], used, strict=True) if torque > 0.0]
    assert len(driven) == 23
    assert all(torque < 0.8 * limits[name] for torque, name in driven)


def test_ankles_are_found_past_frames_without_mass(robot) -> None:
    """Two joints of each ankle; their deviations count as the others' where their sizes are the same."""
    columns = robot.system.model().columns
    joints = [joint for joint in build_avatar().robot.joints if "ankle" in joint.name]
    assert len(joints) == 4
    assert ankles_of(robot) == {columns[joint.child] for joint in joints}
    weights = WalkWeights(joints=0.1, ankles=0.1)
    np.testing.assert_array_equal(weights.state(29, {20, 21}), weights.state(29))
    assert WalkWeights(ankles=0.05).state(29, {20})[20] == pytest.approx(400.0)


def test_a_walk_of_another_robot_is_refused(plan: Plan, robot) -> None:
    posed = robot_from_urdf(build_avatar().robot)
    with pytest.raises(InputError) as caught:
        walk_gains(posed, plan)
    assert caught.value.key == "robot"
    with pytest.raises(InputError) as caught:
        replay_walk(robot, plan, 0)
    assert caught.value.key == "steps"
    with pytest.raises(InputError) as caught:
        WalkWeights(joints=0.0).state(29)
    assert caught.value.key == "weights"
    with pytest.raises(InputError) as caught:
        WalkWeights(ankles=-0.1).state(29, {20})
    assert caught.value.key == "weights"


def test_the_plan_goes_by_touch_downs_and_mirrors_every_other_step(plan: Plan, robot) -> None:
    class Gains:
        K = np.zeros((23, 58))

        def at(self, time: float) -> np.ndarray:
            return self.K

    policy = WalkTracking(robot, plan, Gains(), 0.0)  # type: ignore[arg-type]
    landing = plan.times[np.flatnonzero(plan.standing.all(axis=1))[0]]
    standing = np.concatenate([plan.q[-1], plan.nu[-1]])
    np.testing.assert_array_equal(policy(0.0, standing), plan.torque[0])
    np.testing.assert_array_equal(policy(0.5 * landing, standing), plan.torque[plan.at(0.5 * landing)[3]])
    touching = np.concatenate([plan.q[plan.standing.all(axis=1).argmax()], plan.nu[0]])
    # The plan lands to within 1e-8 m: a foot that touches late in its swing ends it.
    early = policy(0.9 * landing, touching)
    np.testing.assert_array_equal(early, plan.torque[plan.at(landing)[3]])
    later = 0.9 * landing + (plan.times[-1] - landing) + 1e-3
    mirrored = plan.mirror[6:, 6:] @ plan.torque[0]
    np.testing.assert_allclose(policy(later, standing), mirrored)
    x, _, _ = policy.reference()
    assert x[0] == pytest.approx(plan.q[-1, 0], abs=0.01)
    policy.reset()
    assert policy.steps == 0


def test_a_foot_lands_once_however_many_of_its_contacts_do(plan: Plan) -> None:
    """Both feet of two segments: on both, on the toes, on the toes and the other heel; the toes land after the heel."""
    left, right = [1, 1, 0, 0], [0, 0, 1, 1]
    standing = np.array([left, [0, 1, 0, 0], [0, 1, 0, 1], right, [0, 0, 1, 0], [1, 0, 1, 0], left], dtype=bool)
    times = np.arange(len(standing) + 1.0)
    walk = replace(plan, times=times, standing=standing)
    assert _landings(walk) == [(0.0, 2.0, 3), (3.0, 5.0, 0)]


@pytest.mark.slow
def test_a_walk_on_blunt_soles_is_replayed() -> None:
    """Soles flatter below than ellipsoids, in the plan and in the simulator, with touch-downs."""
    sole = Superellipsoid([0.135, 0.05, 0.035], [2.5, 2.5], rounding=0.02)
    avatar = build_avatar().on_foot(sole, [0.055, 0.0, -0.04])
    walk = plan_walk(Gait(), avatar)
    assert walk.status is Status.SUCCESS
    replay = replay_walk(walking_robot(avatar, walk.gravity, 0.8), walk, 2)
    assert replay.run.status is Status.SUCCESS
    assert replay.steps == 2
    assert np.max(replay.largest[1:6]) < 0.05
