"""Whole-body control: the equations hold, cones and limits are kept, tasks are served, odometry finds the base."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import load_humanoid
from trundle.numerics.rotations import quaternion_of, rotation_by, rotation_of
from trundle.status import Status
from trundle.systems.multicontact.whole_body.base_estimator import AttitudeFilter, LegOdometry, shift_base
from trundle.systems.multicontact.whole_body.stepping import (
    Footsteps,
    Move,
    SwingMotion,
    apply_timing_rule,
    in_turn,
    steps_ahead,
    straight_walk,
)
from trundle.systems.multicontact.whole_body.whole_body import (
    BalanceTarget,
    WholeBodyController,
    WholeBodyGains,
    WholeBodyTarget,
    rolling,
)

pytest.importorskip("pinocchio")
FEET = ("left_foot", "right_foot")


@pytest.fixture(scope="module")
def g1() -> WholeBodyController:
    return WholeBodyController(load_humanoid("g1"))


def aim_at_rest(controller: WholeBodyController, q: np.ndarray, **further: object) -> WholeBodyTarget:
    terms, _ = controller.terms(q, np.zeros(controller.humanoid.robot.nv))
    assert terms.momentum
    return WholeBodyTarget(**{"com": terms.momentum.com, "R_base": np.eye(3), "contacts": FEET} | further)  # type: ignore[arg-type]


def test_at_rest_the_soles_carry_the_weight(g1: WholeBodyController) -> None:
    robot, q = g1.humanoid.robot, g1.humanoid.standing()
    command = g1(q, np.zeros(robot.nv), aim_at_rest(g1, q))
    assert command.status is Status.SUCCESS
    wrenches = g1.wrenches(command, FEET)
    assert sum(w[5] for w in wrenches.values()) == pytest.approx(robot.mass * 9.81, abs=2e-3)
    assert np.abs(command.nudot).max() < 1e-3


def test_equations_of_motion_hold_and_limits_are_kept(g1: WholeBodyController) -> None:
    robot, rng = g1.humanoid.robot, np.random.default_rng(7)
    q = g1.humanoid.standing()
    q[7:] += 0.05 * rng.normal(size=robot.nv - 6)
    nu = 0.3 * rng.normal(size=robot.nv)
    aim = aim_at_rest(g1, q, com_acceleration=np.array([3.0, -2.0, 1.0]))
    command = g1(q, nu, aim)
    terms, ends = g1.terms(q, nu)
    force = np.zeros(robot.nv)
    for name, w in g1.wrenches(command, FEET).items():
        end = ends[name]
        force += end.Jw.T @ (end.R @ w[:3]) + end.Jv.T @ (end.R @ w[3:])
        assert (g1.patches[name].rows @ w >= -1e-6).all()
        slowing = end.Jw @ command.nudot + end.al + g1.gains.damping * end.w
        assert slowing == pytest.approx(np.zeros(3), abs=1e-6)
    left = terms.M @ command.nudot + terms.h - force
    assert left == pytest.approx(np.concatenate([np.zeros(6), command.u]), abs=1e-7)
    assert (np.abs(command.u) <= 0.95 * robot.torque_limit + 1e-6).all()


def test_a_free_foot_is_served(g1: WholeBodyController) -> None:
    robot, q = g1.humanoid.robot, g1.humanoid.standing()
    q[8] += 0.1  # over the left foot by the hips: near its balance
    terms, ends = g1.terms(q, np.zeros(robot.nv))
    foot, wanted = ends["right_foot"], np.array([1.0, 0.5, 2.0])
    assert terms.momentum
    # Of a robot that tips over its foot the centre of mass cannot be held: only the foot is asked for.
    careless = WholeBodyController(g1.humanoid, WholeBodyGains(com=1e-3, momentum=1e-3, base=1e-3, posture=1e-3))
    aims = {"right_foot": BalanceTarget(foot.p, acceleration=wanted, R=foot.R)}
    command = careless(q, np.zeros(robot.nv), aim_at_rest(g1, q, contacts=("left_foot",), ends=aims))
    assert command.status is Status.SUCCESS
    assert foot.Jv @ command.nudot + foot.a == pytest.approx(wanted, rel=0.02)
    assert foot.Jw @ command.nudot + foot.al == pytest.approx(np.zeros(3), abs=0.05)


def test_joints_are_kept_from_their_ends(g1: WholeBodyController) -> None:
    robot, q = g1.humanoid.robot, g1.humanoid.standing()
    wrist = robot.joints.index("left_wrist_yaw_joint")
    q[7 + wrist] = robot.upper[wrist] - 1e-3
    nu = np.zeros(robot.nv)
    nu[6 + wrist] = 1.0
    posture = g1.humanoid.joint_posture.copy()
    posture[wrist] = 10.0
    command = g1(q, nu, aim_at_rest(g1, q, posture=posture))
    T = g1.horizon
    after = q[7 + wrist] + T * 1.0 + T**2 / 2 * command.nudot[6 + wrist]
    assert command.usable
    assert after <= robot.upper[wrist] + 1e-6


def test_unknown_ends_are_refused(g1: WholeBodyController) -> None:
    q = g1.humanoid.standing()
    with pytest.raises(InputError, match="left_foot"):
        g1(q, np.zeros(35), aim_at_rest(g1, q, contacts=("tail",)))
    with pytest.raises(InputError, match="attitude"):
        g1(
            q,
            np.zeros(35),
            aim_at_rest(g1, q, contacts=("left_foot",), ends={"right_foot": BalanceTarget(np.zeros(3))}),
        )


def test_terms_elsewhere_are_those_computed_there(g1: WholeBodyController) -> None:
    robot, rng = g1.humanoid.robot, np.random.default_rng(8)
    q, nu = g1.humanoid.standing(), rng.normal(size=robot.nv)
    far, fast = q.copy(), nu.copy()
    offset, speed = np.array([3.0, -2.0, 1.0]), np.array([0.5, 0.6, -0.7])
    far[:3] += offset
    fast[3:6] += speed
    moved, ends = shift_base(*g1.terms(q, nu), offset, speed)
    there, ends_there = g1.terms(far, fast)
    assert moved.M == pytest.approx(there.M, abs=1e-10)
    assert moved.h == pytest.approx(there.h, abs=1e-9)
    for name in ("com", "com_rate", "com_bias", "angular", "angular_bias"):
        assert getattr(moved.momentum, name) == pytest.approx(getattr(there.momentum, name), abs=1e-9)
    for name in ("p", "v", "a", "al"):
        assert getattr(ends["left_foot"], name) == pytest.approx(getattr(ends_there["left_foot"], name), abs=1e-9)


def test_odometry_follows_a_base_over_feet_that_stand(g1: WholeBodyController) -> None:
    robot, q = g1.humanoid.robot, g1.humanoid.standing()
    bent = q.copy()
    bent[7:] += 0.1
    loads = {"left_foot": np.array([0, 0, 200.0]), "right_foot": np.array([0, 0, 5.0])}
    odometry = LegOdometry(smoothing=0.0)
    odometry.reset(q[:3])
    for state in (q, bent):
        at_origin = np.concatenate([np.zeros(3), state[3:]])
        nu = np.zeros(robot.nv)
        nu[6:] = 0.3
        _, ends = g1.terms(at_origin, nu)
        position, velocity = odometry(ends, loads, FEET)
    assert list(odometry.places) == ["left_foot"]
    moved = np.concatenate([position, bent[3:]])
    twist = nu.copy()
    twist[3:6] = velocity
    _, ends = g1.terms(moved, twist)
    _, before = g1.terms(q, np.zeros(robot.nv))
    assert ends["left_foot"].p == pytest.approx(before["left_foot"].p, abs=1e-12)
    assert ends["left_foot"].v == pytest.approx(np.zeros(3), abs=1e-12)
    odometry.settle("left_foot", 0.03)
    assert odometry.places["left_foot"][2] == pytest.approx(0.03)


def test_without_feet_the_base_drifts_on(g1: WholeBodyController) -> None:
    odometry = LegOdometry()
    odometry.reset(np.array([1.0, 2.0, 3.0]))
    odometry.velocity = np.array([0.5, 0.0, 0.0])
    _, ends = g1.terms(g1.humanoid.standing(), np.zeros(35))
    nothing = dict.fromkeys(FEET, np.zeros(3))
    position, _ = odometry(ends, nothing, FEET, 0.002)
    assert position == pytest.approx([1.001, 2.0, 3.0])


def test_attitude_filter_keeps_noise_out_and_turns_in() -> None:
    rng, omega = np.random.default_rng(0), np.array([0.1, -0.2, 0.3])
    keep, truth, errors = AttitudeFilter(period=0.002), np.eye(3), []
    for _ in range(500):
        truth = truth @ rotation_by(0.002 * omega)
        told = rotation_by(0.01 * rng.normal(size=3)) @ truth
        errors.append(np.linalg.norm(keep(told, omega) - truth))
    assert np.mean(errors[100:]) < 0.25 * 0.01 * np.sqrt(6)


SOLE = FlatPatch.rectangle(0.2, 0.08, 0.5)
START = {name: PlacedPatch(name, SOLE, (0, y, 0)) for name, y in zip(FEET, (0.1, -0.1), strict=True)}


class TestFootsteps:
    def test_a_straight_walk_alternates_and_ends_with_feet_together(self) -> None:
        steps = straight_walk(START, 4, 0.1, first=1.0, single=0.6, double=0.2)
        assert [t.name for t in steps.travels] == ["right_foot", "left_foot"] * 2
        assert steps.duration == pytest.approx(1.0 + 3 * 0.8 + 0.6)
        assert list(steps.standing(1.3)) == ["left_foot"]
        last = {name: place.position[0] for name, place in steps.standing(10.0).items()}
        assert last == pytest.approx({"left_foot": 0.3, "right_foot": 0.3})
        assert len(steps.travelling(1.3)) == 1
        assert not steps.travelling(1.65)

    def test_the_way_leaves_and_arrives_at_rest_and_is_lifted(self) -> None:
        target = PlacedPatch(
            "left_foot", START["left_foot"].patch, (0.3, 0.1, 0.05), rotation_by(np.array([0, 0, 0.4]))
        )
        travel = SwingMotion("left_foot", 1.0, 1.6, target, lift=0.06, aside=(0.0, 0.02, 0.0))
        p, e = np.array([0.0, 0.1, 0.0]), 1e-6
        for time, place in ((1.0, p), (1.6, target.position)):
            aim = travel.reference(time, p, np.eye(3))
            assert aim.position == pytest.approx(place, abs=1e-12)
            assert np.linalg.norm([*aim.velocity, *aim.acceleration, *aim.omega]) == pytest.approx(0.0, abs=1e-9)
        middle = travel.reference(1.3, p, np.eye(3))
        assert middle.position == pytest.approx([0.15, 0.12, 0.085])
        for time in (1.1, 1.25, 1.5):
            here, after = travel.reference(time, p, np.eye(3)), travel.reference(time + e, p, np.eye(3))
            assert (after.position - here.position) / e == pytest.approx(here.velocity, abs=1e-4)
            assert (after.velocity - here.velocity) / e == pytest.approx(here.acceleration, abs=1e-3)
            turn = (after.R - here.R) / e @ here.R.T
            assert [turn[2, 1], turn[0, 2], turn[1, 0]] == pytest.approx(here.omega, abs=1e-4)

    def test_what_cannot_be_walked_is_refused(self) -> None:
        there = START["left_foot"]
        both = [SwingMotion(name, 1.0, 2.0, there) for name in FEET]
        with pytest.raises(InputError, match="something stands"):
            Footsteps(START, both)
        twice = [SwingMotion("left_foot", 1.0, 2.0, there), SwingMotion("left_foot", 1.5, 3.0, there)]
        with pytest.raises(InputError, match="after the end of the travel before"):
            Footsteps(START, twice)
        with pytest.raises(InputError, match="end"):
            SwingMotion("left_foot", 2.0, 1.0, there)


# A hand on a support -------------------------------------------------------------------------------------------------


def test_a_rolling_hand_pushes_where_it_touches(g1: WholeBodyController) -> None:
    """The motion of the touching point against finite differences, and M nudot + h = (0, tau) + J'lam with it."""
    robot, rng, h = g1.humanoid.robot, np.random.default_rng(3), 1e-6
    q, nu = g1.humanoid.standing(), 0.2 * rng.normal(size=g1.humanoid.robot.nv)
    radius, surface = g1.humanoid.hands["left"].radius, rotation_by(np.array([0.3, -0.2, 0.1]))
    standing = (*FEET, "left_hand")
    aim = aim_at_rest(g1, q, contacts=standing, surfaces={"left_hand": surface})
    terms, ends = g1.terms(q, nu)
    touch = rolling(ends["left_hand"], surface[:, 2], radius)
    assert touch.p == pytest.approx(ends["left_hand"].p - radius * surface[:, 2])
    assert touch.v == pytest.approx(touch.Jv @ nu)
    later = q.copy()
    later[:3] += h * nu[3:6]
    later[3:7] = quaternion_of(rotation_by(h * nu[:3]) @ rotation_of(q[3:7]))
    later[7:] += h * nu[6:]
    after = rolling(g1.terms(later, nu)[1]["left_hand"], surface[:, 2], radius)
    assert (after.v - touch.v) / h == pytest.approx(touch.a, abs=1e-4)

    command = g1(q, nu, aim)
    force = np.zeros(robot.nv)
    for name, w in g1.wrenches(command, standing).items():
        R = surface if name == "left_hand" else ends[name].R
        end = touch if name == "left_hand" else ends[name]
        force += end.Jw.T @ (R @ w[:3]) + end.Jv.T @ (R @ w[3:])
        assert (g1.patches[name].rows @ w >= -1e-6).all()
    left = terms.M @ command.nudot + terms.h - force
    assert left == pytest.approx(np.concatenate([np.zeros(6), command.u]), abs=1e-7)
    slowing = touch.Jv @ command.nudot + touch.a + g1.gains.damping * touch.v
    assert slowing == pytest.approx(np.zeros(3), abs=1e-6)


def test_moves_follow_each_other() -> None:
    sole = FlatPatch.rectangle(0.2, 0.08, 0.6)
    start = {f"{s}_foot": PlacedPatch(f"{s}_foot", sole, (x, y, 0.0)) for s, x, y in SIDES}
    steps = steps_ahead(start, 4, 0.1, single=0.5, double=0.3, aside=0.02, stagger=0.1, ground=lambda x, y: RIDGE(x, y))
    hold = Move(PlacedPatch("left_hand", FlatPatch.point(0.6), (0.1, 0.4, 0.8)), 0.7, 0.2)
    made = in_turn(start, [hold, *steps], 1.0)
    times = [(t.name, t.start, t.end) for t in made.travels]
    assert times[0] == ("left_hand", 1.0, 1.7)
    assert times[1] == ("right_foot", pytest.approx(1.9), pytest.approx(2.4))
    ways = [t.target.position[0] for t in made.travels[1:]]
    assert ways == pytest.approx([0.15, 0.25, 0.35, 0.45]), "the left sole leads all the way"
    assert [t.target.position[2] for t in made.travels[1:]] == pytest.approx([0.2] * 4)
    assert made.travels[1].aside[1] == -0.02
    assert set(made.standing(1.5)) == set(FEET)
    assert set(made.standing(1.8)) == {*FEET, "left_hand"}


def test_a_rule_gives_moves_their_times() -> None:
    sole = FlatPatch.rectangle(0.2, 0.08, 0.6)
    start = {f"{s}_foot": PlacedPatch(f"{s}_foot", sole, (x, y, 0.0)) for s, x, y in SIDES}
    steps = steps_ahead(start, 2, 0.1, lift=0.0)
    hold = Move(PlacedPatch("left_hand", FlatPatch.point(0.6), (0.1, 0.4, 0.8)), 0.7, 0.2, lift=0.0)
    asked = []

    def rule(time: float, length: float, moves: bool) -> float:
        """Return a second for a way of the centre of mass, half of one for that of an end."""
        asked.append((time, length, moves))
        return 0.5 if moves else 1.0

    made = apply_timing_rule(start, [hold, *steps], rule, [0.3, 0.2, 0.0], {"left_hand": np.array([0.1, 0.4, 0.5])})
    assert [(move.duration, move.pause) for move in made] == [(0.5, 1.0)] * 3
    assert [move.target for move in made] == [move.target for move in (hold, *steps)]
    assert [time for time, _, _ in asked] == pytest.approx([0.0, 0.5, 1.5, 2.0, 3.0, 3.5])
    assert [length for _, length, _ in asked] == pytest.approx([0.3, 0.3, 0.1, 0.2, 0.1, 0.0])
    assert [moves for _, _, moves in asked] == [True, False] * 3
    with pytest.raises(InputError, match="left_hand"):
        apply_timing_rule(start, [hold], rule, [0.0])
    lifted = SwingMotion("left_foot", 1.0, 2.0, steps[1].target, 0.1).length(start["left_foot"].position)
    assert 0.2 < lifted < 0.3, "up, along and down"


SIDES = (("left", 0.05, 0.04), ("right", -0.05, -0.04))


def RIDGE(x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([x, y, 0.2]), np.eye(3)
