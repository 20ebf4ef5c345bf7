"""Distances that whole-body control keeps: gradients against differences, and limbs that would collide without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.robots.capsules import Clearance, LimbCapsule, read_clearance
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.status import Status
from trundle.systems.multicontact.humanoid.obstacles import Obstacle
from trundle.systems.multicontact.whole_body.collision import CollisionRows
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController, WholeBodyTarget

pytest.importorskip("pinocchio")
WALL = Obstacle("wall", (1.0, 0.1, 1.0), (0.3, 0.45, 0.7), ("left_hand",))
FEET = ("left_foot", "right_foot")


@pytest.fixture(scope="module")
def g1() -> Humanoid:
    return load_humanoid("g1")


def near(g1: Humanoid, rows: CollisionRows, q: np.ndarray, nu: np.ndarray) -> list[Any]:
    motions = g1.robot.terms(q, nu, rows.links).motions
    return rows.distances(dict(zip(rows.links, motions, strict=True)), nu)


def distances(g1: Humanoid, rows: CollisionRows, q: np.ndarray, rates: Any, t: float) -> np.ndarray:
    """Distances after the time t of a motion that starts with the rates (nu, nudot)."""
    there = g1.robot.displace(g1.robot.displace(q, rates[0] * t), rates[1] * t**2 / 2)
    return np.array([one.distance for one in near(g1, rows, there, rates[0] + rates[1] * t)])


def test_before_a_flat_wall_the_second_rate_is_exact(g1: Humanoid) -> None:
    ball = {"left_hand": LimbCapsule("left_rubber_hand", (0.1, 0.0, 0.0), (0.1, 0.0, 0.0), 0.05)}
    rows, rng, e = CollisionRows(Clearance(ball, reach=2.0), [WALL]), np.random.default_rng(5), 1e-3
    for _ in range(4):
        q = g1.standing()
        nu, nudot = rng.normal(size=(2, g1.robot.nv))
        (one,) = near(g1, rows, q, nu)
        before, after = (distances(g1, rows, q, (nu, nudot), t) for t in (-e, e))
        second = (after[0] - 2 * one.distance + before[0]) / e**2
        assert second == pytest.approx(one.J @ nudot + one.bias, abs=2e-2)


def test_distances_change_as_their_rows_say(g1: Humanoid) -> None:
    assert g1.clearance
    far = Clearance(g1.clearance.capsules, g1.clearance.pairs, reach=2.0)
    rows, rng, seen = CollisionRows(far, [WALL]), np.random.default_rng(3), 0
    for _ in range(6):
        q = g1.standing()
        q[7:] += 0.3 * rng.normal(size=g1.robot.nv - 6)
        nu, nudot, e = rng.normal(size=g1.robot.nv), rng.normal(size=g1.robot.nv), 1e-4
        here = near(g1, rows, q, nu)

        before, after = (distances(g1, rows, q, (nu, nudot), t) for t in (-e, e))
        for i, one in enumerate(here):
            if min(one.distance, before[i], after[i]) < 1e-3:
                continue  # overlapping bodies have no smooth distance
            seen += 1
            assert (after[i] - before[i]) / (2 * e) == pytest.approx(one.rate, abs=2e-4)
            assert one.J @ nu == pytest.approx(one.rate, abs=1e-12)
            assert np.linalg.norm(one.points[1] - one.points[0]) == pytest.approx(one.distance, abs=1e-6)
    assert seen > 20


def reached(g1: Humanoid, rows: CollisionRows | None, watch: CollisionRows, aim: dict[str, float]) -> np.ndarray:
    """Least distance of each watched pair while the posture changes to `aim`, rad, feet on the ground."""
    controller, robot = WholeBodyController(g1, collisions=rows), g1.robot
    q, nu, dt = g1.standing(), np.zeros(robot.nv), 0.004
    terms, _ = controller.terms(q, nu)
    assert terms.momentum
    posture = g1.joint_posture.copy()
    for name, angle in aim.items():
        posture[robot.joints.index(name)] = angle
    wanted = WholeBodyTarget(terms.momentum.com, np.eye(3), FEET, posture=posture)
    least = np.full(len(watch.pairs), np.inf)
    for _ in range(220):
        command = controller(q, nu, wanted)
        assert command.status in (Status.SUCCESS, Status.LIMITS_RELAXED)
        nu = nu + dt * command.nudot
        q = robot.displace(q, nu * dt)
        found = [np.inf if one is None else one.distance for one in near(g1, watch, q, nu)]
        least = np.minimum(least, found)
    return least


def test_a_hand_that_would_hit_the_thigh_keeps_its_margin(g1: Humanoid) -> None:
    assert g1.clearance
    rows = CollisionRows(g1.clearance)
    aim = {"left_shoulder_roll_joint": -0.3, "left_shoulder_yaw_joint": -0.3, "left_elbow_joint": 1.2}
    free, kept = reached(g1, None, rows, aim), reached(g1, rows, rows, aim)
    assert free.min() < -0.02
    assert kept.min() > g1.clearance.margin - 1e-3
    assert kept.min() < 0.05


def test_a_hand_stops_before_a_wall(g1: Humanoid) -> None:
    assert g1.clearance
    rows = CollisionRows(Clearance(g1.clearance.capsules), [WALL])
    aim = {"left_shoulder_roll_joint": 1.4, "left_elbow_joint": 1.4, "left_shoulder_pitch_joint": -0.5}
    free, kept = reached(g1, None, rows, aim), reached(g1, rows, rows, aim)
    assert free.min() < 0.0
    assert kept.min() == pytest.approx(0.01, abs=3e-3)


def test_far_pairs_have_no_row(g1: Humanoid) -> None:
    assert g1.clearance
    rows = CollisionRows(g1.clearance, [WALL])
    q, nu = g1.standing(), np.zeros(g1.robot.nv)
    motions = dict(zip(rows.links, g1.robot.terms(q, nu, rows.links).motions, strict=True))
    A, low = np.ones((len(rows.pairs), g1.robot.nv + 6)), np.zeros(len(rows.pairs))
    rows.write(A, low, motions, nu)
    within = np.array([one is not None for one in rows.distances(motions, nu)])
    assert within.any()
    assert not within.all()
    np.testing.assert_array_equal(np.isfinite(low), within)
    np.testing.assert_array_equal(A[~within], 0.0)
    np.testing.assert_array_equal(A[:, g1.robot.nv :], 0.0)


GOOD = {"capsules": {"a": {"link": "x", "start": [0, 0, 0], "end": [0, 0, 0.1], "radius": 0.1}}, "pairs": []}


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: LimbCapsule("a", (0, 0, 0), (0, 0, 1), -1.0), "radius"),
        (lambda: LimbCapsule("a", (0, 0, np.nan), (0, 0, 1), 1.0), "start"),
        (lambda: Obstacle("a", (1, 0, 1), (0, 0, 0), ()), "size"),
        (lambda: read_clearance({**GOOD, "pairs": [["a", "b"]]}), r"pairs\[0\]"),
        (lambda: read_clearance({**GOOD, "pairs": ["aa"]}), r"pairs\[0\]"),
        (lambda: read_clearance({**GOOD, "margin": 0.5}), "reach"),
        (lambda: read_clearance({**GOOD, "speed": 1.0}), "speed"),
        (lambda: read_clearance({"capsules": {"a": {"link": "x"}}}), "capsules.a"),
        (lambda: CollisionRows(read_clearance(GOOD), [WALL]), "wall.against"),
    ],
)
def test_wrong_input_is_named(call: Any, key: str) -> None:
    with pytest.raises(InputError, match=key):
        call()


def test_a_ball_is_a_short_capsule() -> None:
    ball = LimbCapsule("a", (0, 0, 1), (0, 0, 1), 0.1)
    assert ball.length == 0.0
    np.testing.assert_array_equal(ball.turned, np.eye(3))
