"""Both levels over the low level in the plant: plans arrive late, failures are handled, walls of any orientation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from trundle.contact.soft import SoftLaw, Wall
from trundle.errors import InputError
from trundle.numerics.compiled.compile import find_compiler
from trundle.numerics.ilqr import Limits
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.simulate.mujoco.sensors import Sensors
from trundle.status import Status
from trundle.systems.wallbounce.control.contact_implicit import BalancerWeights, ContactImplicit
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.low_level import LowLevel
from trundle.systems.wallbounce.control.plans import NO_FORCE, ImplicitPlanner, TrackingPlanner
from trundle.systems.wallbounce.control.two_level import Surroundings, Timing, TwoLevel
from trundle.systems.wallbounce.plant import BalancerPlant
from trundle.systems.wallbounce.robot import BallBalancer

pytest.importorskip("mujoco")
pytestmark = [
    pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler"),
    pytest.mark.slow,
]

ROBOT = BallBalancer()
WALL = Wall([0.5, 0, 0], [-1, 0, 0])
TIMING, WEIGHTS = Timing(), BalancerWeights(joints=1.0, angular=1.0)


@pytest.fixture(scope="module")
def levels():
    return ContactImplicit(ROBOT), HybridControl(ROBOT)


def controller(both, walls, timing=TIMING, **options):
    implicit, hybrid = both
    law = NO_FORCE if options.get("levels") == "drive-only" else SoftLaw()
    return TwoLevel(
        LowLevel(ROBOT),
        ImplicitPlanner(implicit, law, WEIGHTS, update=Limits(15, tolerance=1e-4)),
        TrackingPlanner(hybrid, weights=WEIGHTS, update=Limits(5)),
        lambda time, x, times: np.tile(ROBOT.rest(), (len(times), 1)),
        lambda time: Surroundings(walls),
        timing,
        **options,
    )


def pushed(policy, walls, impulse=22.0, heading=0.0, height=0.5, length=0.25, duration=2.5, **sensors):
    plant = BalancerPlant(dataclasses.replace(ROBOT, drive_limit=60.0), walls)
    force = impulse / length * np.array([np.cos(heading), np.sin(heading), 0.0])
    run = plant.plant(ROBOT.rest()).run(
        policy,
        duration,
        sensors=Sensors(plant.measure, **sensors),
        pushes=[ForcePulse("base", [0, 0, height], force, 0.2, length)],
        record={"y": plant.measure, "torso": plant.torso_distance, "gap": plant.wall_distances},
    )
    return run, np.linalg.norm(run.records["y"][:, 22:28].reshape(-1, 2, 3), axis=2)


def recovered(run):
    return run.status is Status.SUCCESS and np.min(run.records["torso"]) > 0.0


def test_a_push_is_caught_at_the_wall(levels):
    policy = controller(levels, [WALL])
    run, force = pushed(policy, [WALL])
    assert recovered(run)
    assert np.max(force) > 10.0
    assert np.linalg.norm(run.records["y"][-1, :2]) < 0.3
    assert len(policy.counts.seconds["hybrid"]) > 200
    alone, _ = pushed(controller(levels, [WALL], levels="drive-only"), [WALL])
    assert np.min(alone.records["torso"]) < np.min(run.records["torso"])


def test_no_plan_is_used_before_it_has_arrived(levels):
    timing = Timing(implicit=0.1, implicit_time=0.037, event_time=0.013, hybrid_time=0.004)
    policy = controller(levels, [WALL], timing)
    used = []

    class Watched:
        period = 0.001

        def reset(self):
            policy.reset()

        def __call__(self, time, measured):
            command = policy(time, measured)
            for level, plan in policy.plans.items():
                if plan is not None:
                    used.append((level, time - plan.begin, plan.begin))
            return command

    pushed(Watched(), [WALL], impulse=1.0, duration=0.5)
    ages = {level: min(age for name, age, _ in used if name == level) for level in ("implicit", "hybrid")}
    assert ages["implicit"] == pytest.approx(0.037, abs=1.1e-3)
    assert ages["hybrid"] == pytest.approx(0.004, abs=1.1e-3)
    first = min(age + begin for level, age, begin in used if level == "implicit")
    assert first == pytest.approx(0.050, abs=1.1e-3)  # the first is an event
    assert len({begin for level, _, begin in used if level == "implicit"}) == 5


def test_a_plan_that_comes_after_its_horizon_is_dropped_and_the_robot_stands(levels):
    policy = controller(levels, [WALL], Timing(implicit_time=1.2))
    run, _ = pushed(policy, [WALL], impulse=3.0)
    assert run.status is Status.SUCCESS
    assert policy.counts.late > 0
    assert policy.counts.without_plan > 2000
    assert np.linalg.norm(run.records["y"][-1, :2]) < 0.3


def test_a_measurement_that_is_not_a_number_is_replaced(levels):
    policy = controller(levels, [WALL])

    def fault(time, measured):
        if 0.3 < time < 0.302 or 0.5 < time < 0.51:
            measured[[0, 12, 14]] = np.nan
        return measured

    run, _ = pushed(policy, [WALL], impulse=15.0, fault=fault)
    assert recovered(run)
    assert policy.counts.bad_measurements > 5


def test_a_horizon_shorter_than_a_contact():
    short = ContactImplicit(ROBOT, stages=12), HybridControl(ROBOT, stages=12)
    policy = controller(short, [WALL])
    run, _ = pushed(policy, [WALL], impulse=6.0, duration=2.0)
    assert run.status is Status.SUCCESS
    assert policy.following is not None
    assert policy.following.horizon == pytest.approx(0.48)


def test_a_wall_beyond_reach_is_not_touched(levels):
    far = Wall([1.6, 0, 0], [-1, 0, 0])
    run, force = pushed(controller(levels, [far]), [far], impulse=10.0)
    assert recovered(run)
    assert np.max(force) == 0.0


def test_plans_repeat(levels):
    ends = [pushed(controller(levels, [WALL]), [WALL], duration=0.8)[0].records["y"][-1] for _ in range(2)]
    assert np.array_equal(*ends)


@pytest.mark.parametrize("tilt", [-20.0, 20.0])
def test_tilted_walls(levels, tilt):
    a = np.deg2rad(tilt)
    wall = Wall([0.55, 0, 0.85], [-np.cos(a), 0, np.sin(a)])
    used = 0
    for k in range(5):
        run, force = pushed(controller(levels, [wall]), [wall], 16.0 + 1.5 * k, 0.1 * (k - 2), 0.45, duration=1.8)
        assert recovered(run)
        used += np.max(force) > 1.0
    assert used >= 3


def test_two_walls_at_once():
    corner = [WALL, Wall([0, 0.5, 0], [0, -1, 0])]
    both = ContactImplicit(ROBOT, walls=2), HybridControl(ROBOT, walls=2)
    for k in range(5):
        run, force = pushed(controller(both, corner), corner, 20.0 + 2 * k, np.deg2rad(35 + 5 * k), 0.4 + 0.06 * k)
        assert recovered(run)
        assert np.max(force) > 1.0


def test_wrong_arguments_are_named(levels):
    with pytest.raises(InputError, match="levels"):
        controller(levels, [WALL], levels="three-level")
    with pytest.raises(InputError, match="event_momentum"):
        controller(levels, [WALL], event_momentum=0.0)
    with pytest.raises(InputError, match="hybrid_time"):
        Timing(hybrid_time=-1.0)
