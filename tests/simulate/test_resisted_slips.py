"""Slip beside rolling resistance: what slides, rolls, skids and rests, each by its own law at one normal force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.simulate.events import no_onsets
from trundle.simulate.events.time_stepping import TimeStepping
from trundle.simulate.mode import Method
from trundle.simulate.run import first_of
from trundle.simulate.runner import Runner

G, R, M = 9.81, 0.1, 0.5
BALL = tr.RigidBody(tr.Sphere(R), mass=M, inertia="solid")
DISC = tr.RigidBody(tr.Circle(R), mass=M, inertia="solid")


def on_a_slope(d: int, slope: float, mu: float, lever: float, **more: Any) -> tr.RollingPair:
    """A ball, or a disc in the plane, on ground that goes down to +x."""
    rules: dict[str, Any] = {"friction": mu, "rolling_friction": lever, "on_slip": "slide", "on_separation": "fly"}
    if d == 3:
        return tr.RollingPair(BALL, tr.Hand(tr.Plane(), rpy=(0.0, slope, 0.0)), **rules, **more)
    pull = (G * np.sin(slope), -G * np.cos(slope))
    return tr.RollingPair(DISC, tr.Ground(tr.Line()), gravity=pull, **rules, **more)


def travel(run: tr.Trajectory) -> float:
    name = "object_position" if "object_position" in run.dataset else "body_position"
    return float(np.linalg.norm(np.ravel(run[name][-1] - run[name][0])))


def turned(run: tr.Trajectory) -> float:
    name = "object_angular_velocity" if "object_angular_velocity" in run.dataset else "body_angular_velocity"
    return float(np.abs(run[name]).max())


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    ("mu", "over", "acceleration", "rolls"),
    [
        (0.3, 0.5, 0.5 - 0.3 * np.sqrt(0.75), False),  # skids like a block: the moment holds the rolling
        (0.6, 0.5, None, True),  # rolls without slip: friction and moment share the slope
        (0.15, 0.1, 0.5 - 0.15 * np.sqrt(0.75), True),  # slides and turns up by what friction has more than the moment
        (0.9, 0.6, 0.0, False),  # rests
    ],
)
def test_at_rest_on_a_slope_of_thirty_degrees(
    d: int, mu: float, over: float, acceleration: float | None, rolls: bool
) -> None:
    """`over`: the lever over the radius. Rolling: (sin - over cos) g / (1 + I / m R^2)."""
    pair = on_a_slope(d, np.pi / 6, mu, over * R)
    run = tr.simulate(pair, pair.place(), 0.5)
    inertia = 0.4 if d == 3 else 0.5
    a = (0.5 - over * np.sqrt(0.75)) / (1 + inertia) if acceleration is None else acceleration
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    assert travel(run) == pytest.approx(0.125 * a * G, abs=1e-8)
    alpha = a * G / R if acceleration is None else (mu - over) * np.sqrt(0.75) * G / (inertia * R)
    assert turned(run) == pytest.approx(0.5 * alpha if rolls else 0.0, abs=1e-7)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("over", [0.05, 0.5])
def test_a_body_thrown_flat_slides_and_then_rolls_or_skids_to_a_stop(d: int, over: float) -> None:
    """mu m g slows it down and turns it up against lever m g, if it is stronger; then the lever slows the rolling."""
    mu, v, inertia = 0.2, 1.0, 0.4 if d == 3 else 0.5
    pair = on_a_slope(d, 0.0, mu, over * R)
    start = pair.place(slip=(v, 0.0, 0.0)) if d == 3 else pair.place(slip=v)
    run = tr.simulate(pair, start, 0.8)
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    assert np.all(np.diff(run["energy"]) < 1e-12)
    if over > mu:
        assert travel(run) == pytest.approx(v**2 / (2 * mu * G), abs=1e-8)
        assert turned(run) < 1e-12
        assert run["mode"][0] == "skidding"
        assert run["mode"][-1] == "pivoting"
        return
    sticks = v / (mu * G + (mu - over) * G / inertia)
    speed = v - mu * G * sticks
    a = over * G / (1 + inertia)
    after = 0.8 - sticks
    expected = v * sticks - mu * G * sticks**2 / 2 + speed * after - a * after**2 / 2
    assert travel(run) == pytest.approx(expected, abs=1e-8)
    assert turned(run) == pytest.approx(speed / R, rel=1e-7)


@pytest.mark.parametrize("lever", [0.02, 0.06])
def test_backspin_ends_while_the_ball_slides_on(lever: float) -> None:
    """The rolling comes to rest in a slip: it turns the other way where friction is stronger, else it is held there."""
    mu, v, w = 0.3, 3.0, 5.0
    pair = on_a_slope(2, 0.0, mu, lever)
    # Slides to +x while it turns like what rolls to -x; friction and the moment both stop the turning.
    start = pair.place(slip=v + w * R, angular_velocity=w)
    run = tr.simulate(pair, start, 0.3)
    stops = w * 0.5 * R**2 / ((mu * R + lever) * G)
    assert run.transitions[1]["reason"] == "the rolling came to rest"
    assert run.transitions[1]["time"] == pytest.approx(stops, abs=1e-7)
    left = max(mu * R - lever, 0.0) * G / (0.5 * R**2) * (0.3 - stops)
    assert float(np.ravel(run["body_angular_velocity"][-1])[0]) == pytest.approx(-left, abs=1e-6)
    assert run["mode"][-1] == ("sliding" if left else "skidding")


def test_spin_and_rolling_are_held_each_by_itself_beside_a_slip() -> None:
    """A ball thrown flat that spins: drilling friction ends the spin, the rolling never begins, the slip goes on."""
    mu, over, c, spin = 0.2, 0.5, 4e-3, 4.0
    pair = on_a_slope(3, 0.0, mu, over * R, drilling_friction=c)
    run = tr.simulate(pair, pair.place(slip=(1.0, 0.0, 0.0), object_angular_velocity=(0.0, 0.0, spin)), 0.9)
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    ends = [(one["reason"], one["time"], one["to"]) for one in run.transitions]
    assert [(reason, mode) for reason, _, mode in ends] == [
        ("the start slips", "sliding"),
        ("the spin came to rest", "dragged"),
        ("the slip came to rest", "resting"),
    ]
    assert ends[1][1] == pytest.approx(spin * 0.4 * R**2 / (c * G), abs=1e-6)
    assert ends[2][1] == pytest.approx(1.0 / (mu * G), abs=1e-6)
    assert travel(run) == pytest.approx(1.0 / (2 * mu * G), abs=1e-8)


def stepped(pair: tr.RollingPair, start: Any, duration: float) -> np.ndarray:
    """Return the state after time steps alone."""
    runner = Runner(pair.system, Method(), None, np.array([0.0, duration]), None)
    steps = TimeStepping(runner.board, first_of(pair.system, start), [0])
    while steps.now.t < duration - 1e-12:
        assert steps.step(duration - steps.now.t) is not None
    return steps.now.x


@pytest.mark.parametrize(
    ("slope", "mu", "lever", "turning", "slip"),
    [(0.1, 0.3, 0.02, -5.0, 0.0), (0.1, 0.3, 0.02, 15.0, 0.5), (0.5, 0.2, 0.05, 0.0, 0.0), (0.2, 0.6, 0.005, 0.0, 0.0)],
)
def test_time_steps_go_where_events_go(slope: float, mu: float, lever: float, turning: float, slip: float) -> None:
    pair = on_a_slope(2, slope, mu, lever)
    start = pair.place(angular_velocity=turning, slip=slip)
    run = tr.simulate(pair, start, 0.5)
    np.testing.assert_allclose(stepped(pair, start, 0.5), run.samples[-1].states[-1], atol=1e-6)


def test_time_steps_take_viscous_moments_and_spin_along() -> None:
    """The closed forms of `test_resistance`: both parts decay by themselves; drilling friction stops a spin."""
    rules = {"rolling_viscosity": 0.004, "drilling_viscosity": 0.003, "on_slip": "slide", "on_separation": "fly"}
    pair = tr.RollingPair(BALL, tr.Hand(tr.Plane()), **rules)
    x = stepped(pair, pair.place(object_angular_velocity=(0.0, 2.0, 3.0)), 0.3)
    rates = x[pair.system.model().layout["object.angular_velocity"]]
    left = 2.0 * np.exp(-0.004 / (1.4 * M * R**2) * 0.3), 3.0 * np.exp(-0.003 / (0.4 * M * R**2) * 0.3)
    np.testing.assert_allclose(rates, [0.0, *left], rtol=2e-4, atol=1e-12)
    pair = on_a_slope(3, 0.0, 0.5, 0.0, drilling_friction=2e-3)
    x = stepped(pair, pair.place(object_angular_velocity=(0.0, 0.0, 3.0)), 0.3)
    spin = x[pair.system.model().layout["object.angular_velocity"]][2]
    assert spin == pytest.approx(3.0 - 2e-3 * G / (0.4 * R**2) * 0.3, abs=1e-6)


def two_balls(order: int) -> tuple[tr.RollingTree, tr.Start]:
    """Two balls that touch, one behind the other, roll down a slope; the one behind is held back more."""
    robot = tr.Robot(gravity=(G * np.sin(0.2), 0.0, -G * np.cos(0.2)), on_slip="slide", on_separation="fly")
    names = ["front", "behind"][::order]
    for name in names:
        robot.free(1.0, shape=tr.Sphere(R), name=name)
    robot.terrain(tr.Plane(), friction=tr.Friction(0.8, rolling=2e-3, drilling=1e-3))
    robot.contact(*names, friction=0.4)
    tree = robot.finish()
    start = tree.place(front=(2 * R, 0, R, 1, 0, 0, 0), behind=(0, 0, R, 1, 0, 0, 0), contacts=names)
    return tree, start


def test_balls_that_touch_roll_on_the_same_whichever_is_named_first() -> None:
    runs = [tr.simulate(*two_balls(order), 0.3) for order in (1, -1)]
    ends = []
    for run in runs:
        assert run.status is tr.Status.SUCCESS
        assert run.feasible
        assert np.all(np.diff(run["energy"]) < 1e-9)
        at = {str(name): k for k, name in enumerate(run.dataset["body"].values)}
        ends.append([run["body_position"][-1, at[name]] for name in ("front", "behind")])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    # Both go on as one does: nothing presses them together.
    a = (np.sin(0.2) - 2e-3 / R * np.cos(0.2)) * G / 1.4
    np.testing.assert_allclose(np.array(ends[0])[:, 0], [2 * R + a * 0.045, a * 0.045], atol=1e-8)


def plank(mass_at: float, levers: tuple[float, float]) -> tr.Trajectory:
    """A body of two discs of unlike radii in the plane, its centre of mass at a part of the way, thrown flat."""
    robot = tr.Robot(gravity=(0.0, -G), on_slip="slide", on_separation="fly")
    body = robot.free(1.0, 0.02, shape=tr.Circle(R), shape_at=(-mass_at, 0.0), name="a")
    robot.attach(body, tr.Circle(R), at=(0.4 - mass_at, 0.0), name="b")
    robot.terrain(tr.Line(), friction=tr.Friction(0.3, rolling=levers[0]))
    tree = robot.finish()
    start = tree.place(a=(0.0, R, 0.0), contacts=["a", "b"], rates={"a": (0.0, 1.0, 0.0)}, slips={"a": 1.0, "b": 1.0})
    return tr.simulate(tree, start, 0.5)


@pytest.mark.parametrize("mass_at", [0.2, 0.05])
@pytest.mark.parametrize("lever", [1e-4, 1e-2])
def test_what_cannot_turn_slides_as_without_a_moment(mass_at: float, lever: float) -> None:
    """Two contacts of a body hold its angle: their moments have nothing to hold, whatever the loads."""
    run = plank(mass_at, (lever, lever))
    assert run.status in (tr.Status.SUCCESS, tr.Status.REST)
    assert run.feasible
    assert all(one["to"] != "time stepping" for one in run.transitions)
    assert float(run["body_position"][-1, 0, 0]) == pytest.approx(1.0 / (2 * 0.3 * G), abs=1e-8)


def test_nothing_begins_where_nothing_is_told_to() -> None:
    pair = on_a_slope(3, 0.0, 0.5, 1e-3)
    assert no_onsets(pair.system).shape == (1, 6)
