"""Stances of the Unitree G1: poses, equilibrium, timing, swings, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.preview import Preview
from trundle.systems.multicontact.stances.equilibrium import bearable, standing_still
from trundle.systems.multicontact.stances.pose import PoseSettings, StanceError, center_of_mass_of, find_pose, where
from trundle.systems.multicontact.stances.stances import StancePlan, SwingRule, TimingRule, Wanted, plan_stances, rests
from trundle.systems.multicontact.stances.swing import SwingPath, lifted_waypoint, step_over

pytest.importorskip("pink")
HEIGHT = 0.66
SOLE = FlatPatch.rectangle(0.156, 0.056, friction=0.54)


@pytest.fixture(scope="module")
def g1() -> Humanoid:
    return load_humanoid("g1")


def foot(side: str, x: float, y: float = 0.1, z: float = 0.0) -> PlacedPatch:
    return PlacedPatch(f"{side}_foot", SOLE, (x, y if side == "left" else -y, z))


def walk(steps: int) -> list[Wanted]:
    """The centre of mass goes over a foot, then the other foot moves."""
    at = {"left": 0.0, "right": 0.0}
    stances = [Wanted([foot(s, x) for s, x in at.items()], (0.0, 0.0, HEIGHT))]
    for i in range(steps):
        moving, holding = ("right", "left") if i % 2 == 0 else ("left", "right")
        over = (at[holding], 0.08 if holding == "left" else -0.08, HEIGHT)
        stances.append(Wanted([foot(s, x) for s, x in at.items()], over))
        at[moving] = at[holding] + 0.14
        stances.append(Wanted([foot(s, x) for s, x in at.items()], over))
    return stances


@pytest.fixture(scope="module")
def plan(g1: Humanoid) -> StancePlan:
    timing = TimingRule(least_support=0.2, least_move=0.6)
    return plan_stances(g1, walk(4), timing=timing)


# Equilibrium ---------------------------------------------------------------------------------------------------------


def test_contacts_bear_what_lies_over_them_and_nothing_else() -> None:
    feet = [foot("left", 0.0), foot("right", 0.0)]
    assert bearable(feet, (0.07, 0.0, 0.7), 33.0).feasible
    assert not bearable(feet, (0.09, 0.0, 0.7), 33.0).feasible
    assert not bearable(feet[:1], (0.0, 0.0, 0.7), 33.0).feasible
    held = bearable(feet, (0.0, 0.05, 0.7), 33.0)
    total = sum(c.world(w) for c, w in zip(feet, held.wrenches, strict=True))
    np.testing.assert_allclose(total[3:], [0, 0, 33 * 9.81], atol=1e-9)
    np.testing.assert_allclose(total[:3], np.cross([0, 0.05, 0.7], [0, 0, 33 * 9.81]), atol=1e-9)
    assert held.torque_use == 0.0
    assert np.isnan(bearable(feet[:1], (0.0, 0.0, 0.7), 33.0).wrenches).all()


def test_a_hand_holds_what_one_foot_cannot() -> None:
    """The centre of mass 8 cm outside the foot: only with a hand on a support."""
    hand = PlacedPatch("left_hand", FlatPatch.point(0.6), (0.1, 0.38, 0.66))
    ridge = foot("right", 0.0, 0.042)
    assert not bearable([ridge], (0.0, 0.04, 0.65), 33.3).feasible
    assert bearable([ridge, hand], (0.0, 0.04, 0.65), 33.3).feasible


def test_a_standing_robot_balances_with_torques_to_spare(g1: Humanoid) -> None:
    q = g1.standing()
    feet = [PlacedPatch(name, SOLE, *where(g1, q, name)) for name in ("left_foot", "right_foot")]
    held = standing_still(g1, q, feet)
    assert held.within_torques
    assert 0.0 < held.torque_use < 0.3
    assert held.balance < 1e-9
    for contact, wrench in zip(feet, held.wrenches, strict=True):
        assert (contact.patch.rows @ wrench).min() > -1e-9
    assert np.all(np.abs(held.torque) <= held.torque_use * g1.robot.torque_limit + 1e-9)
    # virtual work, by differences: for any velocity, contacts and torques do the work against gravity
    nu, h = np.random.default_rng(0).normal(size=g1.robot.nv), 1e-6

    def at(t: float, name: str) -> tuple[np.ndarray, np.ndarray]:
        return where(g1, g1.robot.displace(q, t * nu), name)

    work = held.torque @ nu[6:]
    for contact, wrench in zip(feet, held.wrenches, strict=True):
        (p1, R1), (p0, R0) = at(h, contact.name), at(-h, contact.name)
        W = contact.R_world_patch.T @ (R1 - R0) @ R0.T @ contact.R_world_patch / (2 * h)
        work += wrench[3:] @ contact.R_world_patch.T @ (p1 - p0) / (2 * h)
        work += wrench[:3] @ [W[2, 1], W[0, 2], W[1, 0]]
    high, low = (center_of_mass_of(g1, g1.robot.displace(q, t * nu))[2] for t in (h, -h))
    assert work == pytest.approx(g1.robot.mass * 9.81 * (high - low) / (2 * h), abs=1e-4)


# Poses ---------------------------------------------------------------------------------------------------------------


def test_a_pose_is_where_it_should_be(g1: Humanoid) -> None:
    contacts = [foot("left", 0.1, z=0.05), foot("right", 0.0)]
    stance = find_pose(g1, contacts, (0.03, -0.05, HEIGHT))
    np.testing.assert_allclose(center_of_mass_of(g1, stance.q), [0.03, -0.05, HEIGHT], atol=2e-3)
    for contact in contacts:
        np.testing.assert_allclose(where(g1, stance.q, contact.name)[0], contact.position, atol=2e-3)
    joints = stance.q[7:]
    assert np.all(joints >= g1.robot.lower - 1e-6)
    assert np.all(joints <= g1.robot.upper + 1e-6)
    assert stance.equilibrium.within_torques


def test_a_hand_reaches_a_support(g1: Humanoid) -> None:
    hand = PlacedPatch("left_hand", FlatPatch.point(0.6), (0.15, 0.38, 0.66))
    stance = find_pose(g1, [foot("left", 0.0, 0.042), foot("right", 0.0, 0.042), hand], (0.0, 0.02, HEIGHT))
    np.testing.assert_allclose(where(g1, stance.q, "left_hand")[0], hand.position + np.array([0, 0, 0.03]), atol=2e-3)


def test_without_a_wish_the_centre_of_mass_is_over_the_soles(g1: Humanoid) -> None:
    stance = find_pose(g1, [foot("left", 0.1), foot("right", 0.0)], settings=PoseSettings(height=HEIGHT))
    np.testing.assert_allclose(stance.center_of_mass, [0.05, 0.0, HEIGHT], atol=2e-3)


@pytest.mark.parametrize(
    ("contacts", "com", "text"),
    [
        ([foot("left", 0.0), foot("right", 1.5)], None, "out of reach.*right_foot"),
        ([foot("left", 0.0), foot("right", 0.0)], (0.0, 0.0, 2.0), "out of reach.*centre of mass"),
        ([foot("left", 0.0), foot("right", 0.0)], (0.14, 0.0, HEIGHT), "cannot bear"),
    ],
)
def test_a_stance_that_cannot_be_says_why(g1: Humanoid, contacts, com, text: str) -> None:
    with pytest.raises(StanceError, match=text):
        find_pose(g1, contacts, com)
    with pytest.raises(StanceError, match="stance 1"):
        plan_stances(g1, [walk(0)[0], Wanted(contacts, com)])


def test_a_joint_whose_limit_is_in_the_way_is_named_with_the_angle_it_would_need(g1: Humanoid) -> None:
    said = r"joint (left|right)_ankle_roll_joint takes -?0.329 rad, its limit is -?0.262 rad$"
    with pytest.raises(StanceError, match=said):  # soles far apart, flat on the ground
        find_pose(g1, [foot("left", 0.0, 0.3), foot("right", 0.0, 0.3)], (0.0, 0.0, 0.6))
    with pytest.raises(StanceError, match=r"with joints without limits, too$"):
        find_pose(g1, [foot("left", 0.0), foot("right", 1.5)])


def test_too_much_torque_is_refused(g1: Humanoid) -> None:
    weak = load_humanoid("g1")
    weak.robot.torque_limit = 0.01 * weak.robot.torque_limit
    with pytest.raises(StanceError, match=r"joint \w+ takes -?[\d.]+ N m, its limit is -?[\d.]+ N m$") as caught:
        find_pose(weak, [foot("left", 0.0), foot("right", 0.0)], (0.0, 0.0, HEIGHT))
    assert caught.value.misses["torque_use"] > 1
    relaxed = PoseSettings(torques=False)
    stance = find_pose(weak, [foot("left", 0.0), foot("right", 0.0)], (0.0, 0.0, HEIGHT), settings=relaxed)
    assert not stance.equilibrium.within_torques


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r: Wanted([]), "without contact"),
        (lambda r: find_pose(r, []), "without contact"),
        (lambda r: bearable([], (0, 0, 1), 1.0), "without contact"),
        (lambda r: plan_stances(r, []), "at least one stance"),
        (lambda r: Wanted(["left_foot"]), "PlacedPatch"),
        (lambda r: find_pose(r, [PlacedPatch("tail", SOLE, (0, 0, 0))]), "tail.*'left_foot'"),
        (lambda r: find_pose(r, [foot("left", 0.0), foot("left", 0.2)]), "each end once"),
        (lambda r: find_pose(r, [foot("left", 0.0)], (0, np.nan, 1)), "center_of_mass"),
        (lambda r: TimingRule(alpha=3.0), "alpha"),
        (lambda r: SwingRule(lift=-0.1), "lift"),
        (lambda r: PoseSettings(tolerance=0.0), "tolerance"),
    ],
)
def test_wrong_input_is_named(g1: Humanoid, call, text: str) -> None:
    with pytest.raises(InputError, match=text):
        call(g1)


# Timing and swings ---------------------------------------------------------------------------------------------------


def test_the_rule_is_the_papers_with_a_lower_clamp() -> None:
    rule = TimingRule()
    assert rule.duration(0.0, 0.75, False) == pytest.approx(1.0)
    assert rule.duration(0.0, 0.4, True) == pytest.approx(0.8)
    assert rule.duration(9.0, 0.75, False) == pytest.approx(1 - 16 / 50)
    assert rule.duration(2.0, 0.5, True) == pytest.approx(1 - 4 / 50)
    assert rule.duration(0.0, 0.1, False) == 0.15  # 0.13 s as printed


def test_waypoints_lift(g1: Humanoid) -> None:
    wp = lifted_waypoint((0, 0, 0), (1.0, 0, 0))
    np.testing.assert_allclose(wp, [0.1, 0, 0.15], atol=1e-15)
    p, q = np.array([0.0, 0.1, 0.0]), np.array([0.3, 0.1, 0.2])
    v, off = q - p, lifted_waypoint(p, q) - p - 0.1 * (q - p)
    assert off @ v == pytest.approx(0.0, abs=1e-15)
    assert off[2] > 0
    assert np.linalg.norm(off) == pytest.approx(0.15 * np.linalg.norm(v))
    assert np.isfinite(lifted_waypoint((0, 0, 0), (0, 0, 1.0))).all()


@pytest.mark.parametrize(
    "path",
    [
        step_over((0, 0, 0), (0.3, 0.0, 0.06), 1.0, 0.6, 0.06),
        step_over((0, 0, 0), (0.3, 0.0, 0.0), 1.0, 0.6, 0.0),
        SwingPath((0, 0, 0), (0.2, 0.1, 0.0), 1.0, 0.6, [lifted_waypoint((0, 0, 0), (0.2, 0.1, 0.0))]),
        SwingPath((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), 1.0, 0.6),
    ],
    ids=["over a step", "flat", "paper", "nowhere"],
)
def test_swings_start_and_end_at_rest(path: SwingPath) -> None:
    for t, end in ((1.0, path.start), (1.6, path.end)):
        for near in (t, t - 1e-9, t + 1e-9):
            p, v, _ = path.at(near)
            np.testing.assert_allclose(p, end, atol=1e-8)
            np.testing.assert_allclose(v, 0.0, atol=1e-6)
    h = 1e-6
    for t in (1.1, 1.3, 1.55):
        np.testing.assert_allclose((path.at(t + h)[0] - path.at(t - h)[0]) / (2 * h), path.at(t)[1], atol=1e-8)
        np.testing.assert_allclose((path.at(t + h)[1] - path.at(t - h)[1]) / (2 * h), path.at(t)[2], atol=1e-5)
    assert path.length >= np.linalg.norm(np.subtract(path.end, path.start)) - 1e-12


def test_a_step_clears_the_edge() -> None:
    path = step_over((0, 0, 0), (0.3, 0, 0.08), 0.0, 1.0, 0.12, bow=(0, 0.015, 0))
    points = np.array([path.at(t)[0] for t in np.linspace(0, 1, 200)])
    middle = (points[:, 0] > 0.075) & (points[:, 0] < 0.225)
    assert points[middle, 2].min() > 0.199
    assert points[middle, 1].min() > 0.0149


# Sequences -----------------------------------------------------------------------------------------------------------


def test_a_walk_alternates_support_and_move(plan: StancePlan) -> None:
    assert plan.kinds == ("support", "move") * 4
    assert np.all(np.diff(plan.times) >= 0.2 - 1e-12)
    assert [name for name, _, _ in plan.swings] == ["right_foot", "left_foot"] * 2
    for name, path, land in plan.swings:
        assert land is not None
        np.testing.assert_allclose(path.end, land.position)
        k = int(np.searchsorted(plan.times, path.begin))
        assert plan.times[k + 1] == pytest.approx(path.finish)
        before = plan.stances[k].contact(name)
        assert before is not None
        np.testing.assert_allclose(path.start, before.position)


def test_the_forecast_has_each_contact_once_and_a_foot_is_off_while_it_swings(plan: StancePlan) -> None:
    forecast = plan.forecast
    assert len(forecast.contacts) == 2 + 4
    for name, path, _ in plan.swings:
        middle = path.begin + path.duration / 2
        on = [h.contact.name for h in forecast.contacts if h.start <= middle < h.end]
        assert on == [{"left_foot": "right_foot", "right_foot": "left_foot"}[name]]
    start = forecast.held(np.array([plan.times[0] - 1.0]))
    assert start.sum() == 2


def test_paths_go_through_the_stances(plan: StancePlan) -> None:
    p, _ = plan.path()(plan.times)
    np.testing.assert_allclose(p, [s.center_of_mass for s in plan.stances], atol=1e-12)
    gross = plan.gross_path()
    _, v = gross(np.linspace(plan.times[0] + 0.1, plan.times[-1], 9))
    np.testing.assert_allclose(v, np.tile(v[0], (9, 1)), atol=1e-12)
    bent = plan.gross_path([4])
    np.testing.assert_allclose(bent(plan.times[4:5])[0][0], plan.stances[4].center_of_mass, atol=1e-12)
    with pytest.raises(InputError, match="turns"):
        plan.gross_path([0])
    np.testing.assert_allclose(plan.posture(plan.times[3]), plan.stances[3].q[7:], atol=1e-12)


def test_preview_control_walks_the_plan(g1: Humanoid, plan: StancePlan) -> None:
    """The centroidal model under the plan's contacts, re-planned every 50 ms, the first wrenches held."""
    model, state = Centroidal(g1.robot.mass), CentroidalState(plan.stances[0].center_of_mass)
    preview, forecast, path = Preview(model), plan.forecast, plan.path()
    for time in np.arange(0.0, plan.times[-1] + 1.0, 0.05):
        window = preview(time, state, forecast, path)
        assert window.status is Status.SUCCESS
        assert window.cone_margin > -1e-5 * 9.81 * g1.robot.mass
        state = model.advance(state, window.contacts, window.wrenches[0], 0.05)
        assert np.linalg.norm(state.position - path(np.array([time + 0.05]))[0][0]) < 0.05
    np.testing.assert_allclose(state.position, plan.stances[-1].center_of_mass, atol=0.01)


def test_a_move_needs_a_contact_that_holds(g1: Humanoid) -> None:
    first = walk(0)[0]
    jump = Wanted([foot("left", 0.1), foot("right", 0.1)], (0.1, 0.0, HEIGHT))
    with pytest.raises(StanceError, match="no contact holds"):
        plan_stances(g1, [first, jump])


def test_a_hand_that_leaves_swings_to_where_the_pose_has_it(g1: Humanoid) -> None:
    hand = PlacedPatch("left_hand", FlatPatch.point(0.6), (0.15, 0.38, 0.66))
    feet = [foot("left", 0.0, 0.042), foot("right", 0.0, 0.042)]
    com = (0.0, 0.02, HEIGHT)
    sequence = [Wanted(feet, com), *[Wanted([*feet, hand], com)] * 2, Wanted(feet, com)]
    made = plan_stances(g1, sequence, swing=SwingRule(lift=None))
    (_, there, land), (_, back, nothing) = made.swings
    assert land is hand
    assert nothing is None
    np.testing.assert_allclose(there.end, hand.position)
    np.testing.assert_allclose(back.start, hand.position)
    assert [h.contact.name for h in made.forecast.contacts].count("left_hand") == 1
    assert made.kinds == ("move", "support", "move")
    touched = plan_stances(g1, [sequence[0], sequence[1], sequence[3]], swing=SwingRule(lift=None))
    assert len(touched.forecast.contacts) == 2


# A hand on a support -------------------------------------------------------------------------------------------------


def leaning(across: float, y: float = 0.38) -> tuple[Forecast, PointPath]:
    """The left sole lifts while the left hand holds; the centre of mass is `across`."""
    hand = PlacedPatch("left_hand", FlatPatch.point(0.54), (0.1, y, 0.66))
    feet = [Held(foot("right", 0.0, 0.036)), Held(foot("left", 0.1, 0.036), end=2.0)]
    return Forecast([*feet, Held(hand, 1.0)]), PointPath([0.0, 2.0], [(0.05, 0.0, HEIGHT), (0.0, across, HEIGHT)])


def test_the_hand_bears_what_one_foot_cannot(g1: Humanoid) -> None:
    forecast, path = leaning(0.03)
    found = rests(g1, forecast, path, g1.standing(), 3.0)
    assert [len(stance.contacts) for stance in found.stances] == [2, 3, 2]
    assert found.times == pytest.approx([0.5, 1.5, 2.5])
    last = found.stances[-1]
    alone = [c for c in last.contacts if c.name == "right_foot"]
    assert last.equilibrium.within_torques
    assert not bearable(alone, last.center_of_mass, g1.robot.mass).feasible
    hand = next(i for i, c in enumerate(last.contacts) if c.name == "left_hand")
    assert last.equilibrium.wrenches[hand, 5] > 10
    ball = where(g1, last.q, "left_hand")[0]
    assert ball == pytest.approx([0.1, 0.38, 0.69], abs=2e-3), "its centre is a radius over the hold"
    assert found.posture(2.5) == pytest.approx(last.q[7:])


@pytest.mark.parametrize(("across", "y", "words"), [(0.03, 0.9, "left_hand by"), (0.5, 0.38, "centre of mass")])
def test_a_stance_out_of_reach_is_named(g1: Humanoid, across: float, y: float, words: str) -> None:
    with pytest.raises(StanceError) as caught:
        rests(g1, *leaning(across, y), g1.standing(), 3.0)
    assert words in str(caught.value)
    assert "right_foot" in str(caught.value)
