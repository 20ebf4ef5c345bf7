"""Plans of walks: continuation from a neighbour, and swing feet that land without a jerk."""

from __future__ import annotations

from dataclasses import replace
from math import radians

import numpy as np
import pytest

from tests.egg import Egg
from trundle.errors import InputError
from trundle.geometry import Ellipsoid, Sphere, Superellipsoid
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.plan.plan import load_walk
from trundle.systems.walking.plan.record import _angle_rates, record_walk, walk_of
from trundle.systems.walking.plan.walking import plan_walk
from trundle.systems.walking.robots.avatar import build_avatar
from trundle.systems.walking.robots.avatar_feet import Toes

GAIT = Gait(intervals=(8, 3), clearance_power=2)


@pytest.fixture(scope="module")
def plan():
    return plan_walk(GAIT)


@pytest.mark.slow
def test_a_neighbour_with_its_multipliers_is_reached_sooner_and_is_the_same_optimum(plan, tmp_path):
    kept = load_walk(plan.save(tmp_path / "plan.npz"))
    np.testing.assert_array_equal(kept.dual, plan.dual)
    uphill = replace(GAIT, slope=radians(1.0))
    cold, warm = plan_walk(uphill), plan_walk(uphill, guess=kept)
    assert cold.status.label == warm.status.label == "success"
    assert warm.statistics["iterations"] < cold.statistics["iterations"]
    assert warm.statistics["cost"] == pytest.approx(cold.statistics["cost"], rel=1e-5)


@pytest.mark.slow
def test_the_swing_foot_lands_without_a_jerk_of_the_leg(plan):
    """A bound on the foot's height that ends at a slope would be met by a torque of one interval alone."""
    swing = plan.torque[plan.phase == 0]
    hip = np.abs(swing[:, plan.joints.index("right_hip_pitch")])
    assert hip[-1] <= np.max(hip[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.0, 10.0, -10.0])
def test_torques_alone_converge_from_the_crude_guess_with_double_support_inside_its_bounds(slope):
    pure = {"acceleration": 0.0, "force": 0.0, "arm_swing": (0.6, 0.0), "single": (0.05, 0.8), "double": (0.01, 1.0)}
    walk = plan_walk(Gait(slope=radians(slope), **pure))
    assert walk.status.label == "success"
    both = np.diff(walk.times)[walk.standing.all(axis=1)].sum()
    assert 0.02 < both < 0.3
    # What the multipliers lift the body by in a step is nothing beside the 0.1 m that it climbs uphill.
    moved = np.diff(walk.q[:, 2]) - np.diff(walk.times) * (walk.nu[1:, 2] + walk.nu[:-1, 2]) / 2
    assert abs(np.sum(moved)) < 2e-3


@pytest.mark.slow
def test_a_grid_twice_as_fine_converges_from_the_crude_guess_at_nearly_the_same_cost():
    coarse, fine = plan_walk(Gait()), plan_walk(Gait(intervals=(32, 12)))
    assert fine.status.label == "success"
    assert fine.statistics["cost"] == pytest.approx(coarse.statistics["cost"], rel=0.02)


@pytest.mark.slow
def test_semi_axes_that_the_plan_chooses_are_an_optimum_among_fixed_feet(plan):
    """On the foot it chose the walk costs the same; on those a little longer or shorter, more."""
    free = plan_walk(replace(GAIT, stretch=(0.7, 1.3)), guess=plan)
    assert free.status.label == "success"
    assert free.statistics["cost"] < 0.99 * plan.statistics["cost"]
    a, b, c = free.stretch
    assert 0.7 < a < 1.3
    costs = [
        plan_walk(GAIT, build_avatar().stretch_sole([a * share, b, c]), guess=free).statistics["cost"]
        for share in (0.95, 1.0, 1.05)
    ]
    assert costs[1] == pytest.approx(free.statistics["cost"], rel=1e-5)
    assert costs[1] < min(costs[0], costs[2])


@pytest.mark.slow
def test_a_walk_on_two_different_feet_costs_as_much_as_its_mirror_image():
    full, own = replace(GAIT, periodicity="full"), build_avatar()
    sole, center = Superellipsoid([0.12, 0.05, 0.04], 1.9), [0.05, 0.0, -0.045]
    one = own.on_foot(sole, center, right=True)
    other = own.on_foot(sole, center).on_foot(own.foot.sole, own.foot.center, right=True)
    right, left = (plan_walk(full, avatar) for avatar in (one, other))
    assert right.status.label == left.status.label == "success"
    assert right.statistics["cost"] == pytest.approx(left.statistics["cost"], rel=1e-4)


@pytest.mark.slow
def test_a_sole_given_by_an_expression_is_walked_on():
    avatar = build_avatar().on_foot(Egg(), [0.03, 0.0, -0.04])
    walk = plan_walk(GAIT, avatar)
    assert walk.status.label == "success"
    run = record_walk(Walking(avatar, GAIT), walk, 1)
    assert run.metadata["walk"]["sole"]["shape"] == "egg"
    stands = np.vstack([walk.standing[:1], walk.standing])
    assert np.max(np.abs(run["gap"][stands & np.vstack([walk.standing, walk.standing[-1:]])])) < 1e-6


def on_toes(**settings: float):
    """Return the avatar on an ellipsoid behind its toes' hinge and one around it."""
    toes = Toes(Ellipsoid([0.06, 0.045, 0.03]), (0.12, 0.0, -0.055), (0.12, 0.0, -0.055), **settings)
    return build_avatar().on_foot(Ellipsoid([0.09, 0.05, 0.045]), [0.02, 0.0, -0.04]).with_toes(toes)


TOE_GAIT = Gait(intervals=(10, 3), landing=-0.06)


@pytest.mark.slow
def test_a_foot_of_two_segments_stands_on_both_and_leaves_over_its_toes(tmp_path):
    avatar = on_toes()
    walk = plan_walk(TOE_GAIT, avatar)
    assert walk.status.label == "success"
    assert walk.phases == ("single left", "toe left", "double left")
    flat, push = (walk.phase == number for number in (0, 1))
    angle, rate = (nodes[:, 6 + walk.joints.index("left_toe")] for nodes in (walk.q, walk.nu))
    # Two points at rest hold the hinge between them: a foot on both segments may roll over their line alone.
    assert np.max(np.abs(rate[np.flatnonzero(flat)])) < 1e-6
    assert np.min(angle) < -0.2
    assert np.max(walk.force[flat][:, 2:]) == 0.0
    assert np.max(np.abs(walk.force[push][:, 0])) == 0.0
    # Without a motor the hinge has its spring and damper alone, at the middles of the intervals.
    j = walk.joints.index("left_toe")
    assert np.max(np.abs(walk.torque[:, j])) == 0.0
    run = record_walk(Walking(avatar, TOE_GAIT), walk, 1)
    spring = -20.0 * (angle[1:] + angle[:-1]) / 2 - 0.05 * (rate[1:] + rate[:-1]) / 2
    np.testing.assert_allclose(run["joint_torque"][:-1, j], spring, atol=1e-12)
    back = walk_of(run)
    np.testing.assert_allclose(back.torque, walk.torque, atol=1e-9)
    np.testing.assert_array_equal(load_walk(walk.save(tmp_path / "toes.npz")).standing, back.standing)
    # A motor at the hinge is used, and saves.
    driven = plan_walk(TOE_GAIT, on_toes(torque=60.0))
    assert driven.status.label == "success"
    assert np.max(np.abs(driven.torque[:, j])) > 1.0
    assert driven.statistics["cost"] < walk.statistics["cost"]


def test_toes_need_rolling_soles_that_land_at_rest():
    for wrong in ({"sole": "flat"}, {"impacts": True}, {"stretch": (0.8, 1.2)}, {"rolling_on": 0.0}):
        with pytest.raises(InputError, match="toes"):
            Gait(**wrong).check(on_toes())


def test_two_different_feet_need_a_full_cycle():
    with pytest.raises(InputError, match="periodicity"):
        GAIT.check(build_avatar().on_foot(Sphere(0.2), [0.0, 0.0, 0.1], right=True))


def test_factors_of_a_sole_that_cannot_be_stretched_are_refused():
    for wrong in ({"stretch": (1.2, 0.8)}, {"sole": "flat"}, {"impacts": True}):
        with pytest.raises(InputError, match="stretch"):
            Gait(**{"stretch": (0.8, 1.2)} | wrong)
    with pytest.raises(InputError, match="sole"):
        Gait(stretch=(0.8, 1.2)).check(build_avatar().on_foot(Sphere(0.2), [0.0, 0.0, 0.1]))


def test_rates_of_a_pelvis_that_looks_straight_up_are_refused():
    omega = np.array([[0.1, 0.2, 0.3]])
    assert np.all(np.isfinite(_angle_rates(np.array([[0.3, 1.57, 0.1]]), omega)))
    with pytest.raises(InputError, match="base_quaternion"):
        _angle_rates(np.array([[0.3, np.pi / 2, 0.1]]), omega)
