"""Limits, weights and free durations of a transfer: each one bites, and the replay keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.status import Status

HALF = np.sqrt(0.5)


def flip(limits: dict | None = None, duration: object = 1.0, **more) -> tr.juggling.Transfer:
    """An ellipse on a plate in 40 % gravity is brought upright."""
    body = tr.RigidBody(tr.Ellipse([0.0377, 0.0252]), mass=0.0553, inertia="solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Line(), extent=0.375), friction=0.8, gravity=0.4 * 9.81)
    given = {"linear_acceleration": 10.0} | (limits or {})
    return tr.juggling.Transfer(pair, {}, {"object_angle": np.pi / 2}, duration, given, **more)


def reorient(limits: dict | None = None, **more) -> tr.juggling.Transfer:
    """A ball is turned by 90 deg on a plate that tilts."""
    ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.5)
    goal = {"contact_on_hand": (0, -0.033, 0), "object_quaternion": (HALF, HALF, 0, 0)}
    return tr.juggling.Transfer(pair, {}, goal, 2.0, {"freedoms": ("wx", "wy")} | (limits or {}), **more)


def planned(task: tr.juggling.Transfer, **more) -> tr.Trajectory:
    plan = tr.juggling.plan(task, **more)
    assert plan.status is Status.SUCCESS, plan.message
    return plan.trajectory


def in_hand(run: tr.Trajectory, name: str) -> np.ndarray:
    return Rotation.from_quat(run["hand_quaternion"], scalar_first=True).inv().apply(run[name].copy())


def tilt(run: tr.Trajectory) -> float:
    """Largest angle of the hand's z axis from the vertical."""
    R = Rotation.from_quat(run["hand_quaternion"], scalar_first=True).as_matrix()
    return float(np.max(np.arccos(np.clip(R[:, 2, 2], -1, 1))))


def excursion(run: tr.Trajectory) -> float:
    return float(np.max(np.abs(run["hand_position"])))


def speed(run: tr.Trajectory) -> float:
    return float(np.max(np.abs(in_hand(run, "hand_velocity"))))


def turning(run: tr.Trajectory) -> float:
    return float(np.max(np.abs(in_hand(run, "hand_angular_velocity"))))


@pytest.fixture(scope="module")
def free() -> tr.Trajectory:
    return planned(flip())


@pytest.mark.parametrize(
    ("name", "measure", "share", "as_box"),
    [
        ("tilt", tilt, 0.7, False),
        ("position", excursion, 0.7, True),
        ("velocity", speed, 0.8, False),
        ("angular_velocity", turning, 0.8, False),
    ],
)
def test_a_limit_of_the_hand_bites_and_is_kept_in_the_plane(
    name: str, measure: Callable[[tr.Trajectory], float], share: float, as_box: bool, free: tr.Trajectory
) -> None:
    bound = share * measure(free)
    assert bound > 1e-3
    run = planned(flip({name: (bound, bound) if as_box else bound}))
    # Between nodes a motion may stray from its limits by what the mesh leaves.
    assert measure(run) == pytest.approx(bound, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "measure"), [("tilt", tilt), ("angular_velocity", turning)])
def test_a_limit_of_the_hand_bites_and_is_kept_in_space(
    name: str, measure: Callable[[tr.Trajectory], float], reoriented: tr.Trajectory
) -> None:
    bound = 0.8 * measure(reoriented)
    run = planned(reorient({name: bound}))
    assert measure(run) == pytest.approx(bound, rel=0.02)


@pytest.fixture(scope="module")
def reoriented() -> tr.Trajectory:
    return planned(reorient())


def test_the_share_of_the_cone_and_the_least_force_are_kept() -> None:
    plain = tr.juggling.plan(flip())
    use, force = plain.residuals["friction_use"], plain.residuals["normal_force_min"]
    weight = 0.0553 * 0.4 * 9.81
    margins = {"friction_margin": 0.7 * use, "normal_force": force / weight + 0.1}
    careful = tr.juggling.plan(flip(contact_limits=margins))
    assert careful.status is Status.SUCCESS, careful.message
    assert careful.residuals["friction_use"] == pytest.approx(0.7 * use, rel=0.02)
    assert careful.residuals["normal_force_min"] >= 0.98 * (force + 0.1 * weight)
    assert careful.residuals["cost"] > plain.residuals["cost"]


def mean_square(run: tr.Trajectory, name: str) -> float:
    return float(np.mean(np.sum(run[name] ** 2, axis=1)))


@pytest.mark.parametrize(
    ("weights", "measure"),
    [
        ({"contact_speed": 1.0}, lambda run: float(np.mean(np.gradient(run["contact_on_hand"][:, 0], run.time) ** 2))),
        ({"hand_rate": 1.0}, lambda run: mean_square(run, "hand_velocity")),
        ({"tilt": 10.0}, lambda run: float(np.mean(run["hand_quaternion"][:, 2] ** 2))),
    ],
)  # fmt: skip
def test_a_weight_lessens_what_it_weighs(weights: dict, measure: Callable, free: tr.Trajectory) -> None:
    assert measure(planned(flip(weights=weights))) < 0.95 * measure(free)


def butterfly(duration: object, freedoms: str = "all", **more) -> tr.juggling.Transfer:
    """A ball is carried over the wing's tip into the opposite waist."""
    hand = tr.Hand(tr.FourierRadius(0.11, cos=[0, -0.04 / 0.11]), angle=np.pi / 2)
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.0166), mass=0.03), hand, friction=0.8)
    limits = {"angular_acceleration": 60.0, "linear_acceleration": 10.0, "freedoms": freedoms}
    goal = {"contact_on_hand": (-0.07, 0), "hand_angle": -np.pi / 2}
    return tr.juggling.Transfer(pair, {"contact_on_hand": (0.07, 0)}, goal, duration, limits, **more)


@pytest.mark.slow
def test_least_time_over_the_butterflys_wing_and_nothing_faster() -> None:
    weights = {"duration": 1.0, "acceleration": 1e-3}
    loose = {"position_tolerance": 1e-3, "angular_velocity_tolerance": 0.1, "nodes": 30}
    quickest = tr.juggling.plan(butterfly((0.4, 1.6), weights=weights), **loose)
    assert quickest.status is Status.SUCCESS, quickest.message
    assert 0.4 < quickest.duration < 1.0
    turning_only = tr.juggling.plan(butterfly((0.4, 1.6), "rotations", weights=weights), **loose)
    assert turning_only.status is Status.SUCCESS, turning_only.message
    assert turning_only.duration > 1.02 * quickest.duration
    hurried = tr.juggling.plan(butterfly(0.8 * quickest.duration), nodes=30, starts=1)
    assert hurried.status is Status.LOCALLY_INFEASIBLE
    assert hurried.residuals["constraint_violation"] > 1e-3


def test_a_free_duration_takes_the_time_that_costs_least() -> None:
    """More time, less effort: the duration goes to its upper bound, or where a weight on it stops it."""
    slow = tr.juggling.plan(flip(duration=(0.7, 1.2)))
    assert slow.status is Status.SUCCESS, slow.message
    assert slow.duration == pytest.approx(1.2, abs=1e-6)
    quick = tr.juggling.plan(replace(flip(duration=(0.7, 1.2)), weights={"duration": 1.0}))
    assert quick.status is Status.SUCCESS, quick.message
    assert 0.7 <= quick.duration < 1.15
    assert quick.trajectory.time[-1] == pytest.approx(quick.duration)
