"""Rolls that go round the ball: in one plan, hardly longer than the straight roll."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.geometry import Superellipsoid
from trundle.geometry.queries.sampling import numeric_support
from trundle.systems.juggling.transfer.check_limits import _at_edge
from trundle.systems.juggling.transfer.formulation import Formulation
from trundle.systems.juggling.transfer.guess import built_in

RADIUS = 0.035  # m
BALL = tr.RigidBody(tr.Sphere(RADIUS), mass=0.216)


OTHERS = {
    "ellipsoid": tr.Ellipsoid([0.035, 0.03, 0.04]),
    "superellipsoid": Superellipsoid([0.035, 0.03, 0.04], 2.5, rounding=0.01),
}


def far(turn: float, heading: float = 0.0, first: tuple[float, float, float] = (0.0, 0.0, 0.0), free="rotations"):
    """A ball that turns by `turn` (rad) rolls straight, at an angle (rad) to x; it starts turned by `first` (rad)."""
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    begin = Rotation.from_rotvec(first)
    end = Rotation.from_rotvec(turn * np.cross([0.0, 0.0, 1.0], along)) * begin
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), friction=0.5)
    start = {"object_quaternion": begin.as_quat(scalar_first=True)}
    goal = tr.juggling.Goal(contact_on_hand=turn * RADIUS * along, object_quaternion=end.as_quat(scalar_first=True))
    return tr.juggling.Transfer(pair, start, goal, 2.0, hand_limits={"freedoms": free})


def test_a_goal_that_is_thousands_of_turns_away_is_refused_by_its_key() -> None:
    """A guess takes steps for every radian: 1e6 m away took minutes and gigabytes."""
    assert np.linalg.norm(Formulation(far(999.0)).roll) == pytest.approx(999.0)
    with pytest.raises(tr.InputError, match=r"at most 1000 rad of rolling from the start, here 2.86e\+07") as error:
        Formulation(far(1e6 / RADIUS))
    assert error.value.key == "goal.contact_on_hand"


def path(run: tr.Trajectory) -> float:
    return float(np.sum(np.linalg.norm(np.diff(run["contact_on_hand"], axis=0), axis=1)))


CASES = {
    "half a turn": (np.pi, 0.0, (0, 0, 0), ("wx", "wy")),
    "a turn": (2 * np.pi, 0.0, (0, 0, 0), ("wx", "wy")),
    "two turns": (4 * np.pi, 0.0, (0, 0, 0), ("wx", "wy")),
    "aside": (2 * np.pi, 0.7, (0, 0, 0), "rotations"),
    "begun elsewhere": (4 * np.pi, 0.3, (0.6, 0.5, -0.8), "rotations"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_path_is_the_straight_one(case) -> None:
    plan = tr.juggling.plan(far(*case))
    assert plan.success, plan.message
    assert path(plan.trajectory) < 1.02 * case[0] * RADIUS
    assert plan.residuals["goal_rotation_error"] < 1e-3
    assert plan.residuals["replay_position_difference"] < 1e-6


@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
def test_other_convex_bodies_go_round_to_the_tolerance_asked_for(shape) -> None:
    """A turn about y takes the perimeter of the section: the integral of its support over all directions (Cauchy)."""
    angles = np.linspace(0.0, 2 * np.pi, 720, endpoint=False)
    around = np.column_stack((np.sin(angles), np.zeros(720), np.cos(angles)))
    perimeter = 2 * np.pi * float(np.mean(numeric_support(shape).at(around)[0]))
    pair = tr.RollingPair(tr.RigidBody(shape, mass=0.216), tr.Hand(tr.Plane()), friction=0.5)
    goal = tr.juggling.Goal(contact_on_hand=[perimeter, 0.0, 0.0], object_quaternion=[1.0, 0.0, 0.0, 0.0])
    task = tr.juggling.Transfer(pair, {}, goal, 2.0, hand_limits={"freedoms": "rotations"})
    plan = tr.juggling.plan(task, nodes=50, rotation_tolerance=1e-4)
    assert plan.success, plan.message
    assert plan.residuals["goal_rotation_error"] < 1e-4
    assert path(plan.trajectory) < 1.02 * perimeter


@pytest.mark.slow
@pytest.mark.parametrize("heading", [0.17, 0.35, 0.47, 0.79])
def test_a_hand_that_only_tilts_rolls_it_anywhere(heading: float) -> None:
    plan = tr.juggling.plan(far(2 * np.pi, heading, free=("wx", "wy")))
    assert plan.success, plan.message
    assert path(plan.trajectory) < 1.2 * 2 * np.pi * RADIUS


def test_the_goal_counts_the_turns() -> None:
    """Start and goal are the same pose of the ball: the belt's longitude tells how often it goes round."""
    formulation = Formulation(far(4 * np.pi))
    assert formulation.on_belt
    where = formulation.model.layout[f"{formulation.model.constraints[0].name}.coordinates"]
    turned = formulation.goal[where] - formulation.start[where]
    np.testing.assert_allclose(turned, [-4 * np.pi, 0.0, 4 * np.pi * RADIUS, 0.0], atol=1e-9)


def test_feedback_follows_along_a_belt() -> None:
    task = far(2 * np.pi)
    Q = {"hand_rotation": 10.0, "object_rotation": 10.0, "contact": 1e4, "relative_velocity": 0.1}
    R = {"hand_angular_acceleration": 1e-3, "hand_acceleration": 1e-3}
    policy = tr.TrackingLQR(task.pair, tr.juggling.plan(task), Q, R, freedoms="rotations")
    ahead = Rotation.from_rotvec([0.0, 0.004 / RADIUS, 0.0]).as_quat(scalar_first=True)
    start = task.pair.place(contact_on_hand=[0.004, -0.003, 0.0], object_quaternion=ahead)
    run = tr.simulate(task.pair, start, 2.5, policy=policy)
    assert run.status is tr.Status.SUCCESS
    assert np.linalg.norm(run["contact_on_hand"][-1] - [2 * np.pi * RADIUS, 0.0, 0.0]) < 1e-3


def test_a_plan_that_ends_at_the_edge_of_a_chart_says_so() -> None:
    formulation = Formulation(far(1.0))
    assert not formulation.on_belt
    arc = built_in(formulation, "smooth", 8)
    assert _at_edge(formulation, arc) == ""
    bound = formulation.reduction.phase.x_bounds[1]
    place = formulation.model.layout[f"{formulation.model.constraints[0].name}.coordinates"]
    first = int(np.flatnonzero(formulation.reduction.states == place.start)[0])
    arc.x[4, first] = bound[first]
    assert "edge of a chart of the object" in _at_edge(formulation, arc)
