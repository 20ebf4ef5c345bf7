"""Dry friction of joints: it holds at rest without any creep, and opposes the rate with its bound elsewhere."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.models import VectorJoint
from trundle.models.rolling_tree import RollingTree

G = 9.81


def spring(friction: float, dimension: int = 2) -> RollingTree:
    """A slider of 2 kg on a spring of 50 N/m without gravity."""
    robot = tr.Robot(gravity=(0.0,) * dimension)
    where = (0.0,) * dimension
    axis = (0.0, 1.0, 0.0)[:dimension] if dimension == 3 else (1.0, 0.0)
    inertia = (0.1, 0.1, 0.1) if dimension == 3 else 0.1
    mass = robot.prismatic(None, where, 2.0, inertia, axis=axis, actuated=False, name="mass")
    robot.resist(mass, stiffness=50.0, dry_friction=friction)
    return robot.finish()


def pendulum(friction: float) -> RollingTree:
    """A rod of 1 kg whose centre of mass is .5 m from a hinge with friction."""
    robot = tr.Robot()
    rod = robot.revolute(None, (0, 0), 1.0, 0.02, center_of_mass=(0.5, 0.0), actuated=False, name="rod")
    robot.resist(rod, dry_friction=friction)
    return robot.finish()


@pytest.mark.parametrize("dimension", [2, 3])
def test_an_oscillation_loses_the_same_amplitude_each_half_turn_and_stops(dimension: int) -> None:
    """Den Hartog: x falls by 2 c/k each half period; it stops where |x| <= c/k."""
    c, k, start = 1.0, 50.0, 0.21
    tree = spring(c, dimension)
    run = tr.simulate(tree, tree.place(mass=start), 4.0)
    assert run.status.label in ("success", "rest")
    half = np.pi * np.sqrt(2.0 / k)
    turns = [start - 2 * n * c / k for n in range(1, 6)]
    for n, size in enumerate(turns, 1):
        if n * half < run["time"][-1]:
            place = np.interp(n * half, run["time"], run["joint_position"][:, 0])
            assert np.isclose(place, size * (-1) ** n, atol=1e-4)
    rests = np.abs(run["joint_position"][-1, 0])
    assert np.isclose(rests, 0.01, atol=1e-9)  # after five half turns: .21 - 5 * .04
    assert run["joint_velocity"][-1, 0] == 0.0


def test_friction_holds_what_it_can_bear_for_any_time() -> None:
    tree = pendulum(1.001 * G * 0.5)
    run = tr.simulate(tree, tree.place(rod=0.0), 100.0, output_step=10.0)
    assert run.status.label in ("success", "rest")
    assert np.all(run["joint_position"] == 0.0)
    assert not run.transitions


def test_friction_that_cannot_bear_the_load_gives_way_at_once() -> None:
    tree = pendulum(0.5 * G * 0.5)
    run = tr.simulate(tree, tree.place(rod=0.0), 0.05)
    wanted = -0.5 * G * 0.5 / (0.02 + 0.25) * run["time"] ** 2 / 2
    assert np.allclose(run["joint_position"][:, 0], wanted, atol=2e-6)


def test_a_motor_moves_a_joint_only_beyond_its_friction() -> None:
    """The torque grows evenly from zero: the joint starts where it reaches the bound."""
    robot = tr.Robot(gravity=0.0)
    arm = robot.revolute(None, (0, 0), 1.0, 0.5, name="arm")
    robot.resist(arm, dry_friction=2.0)
    tree = robot.finish()
    ramp = tr.FunctionPolicy(1e-3, lambda t, x: np.array([4.0 * t]))
    run = tr.simulate(tree, tree.place(), 1.0, policy=ramp)
    moves = np.abs(run["joint_velocity"][:, 0]) > 1e-9
    assert np.isclose(run["time"][np.argmax(moves)], 0.5, atol=3e-3)
    after = run["time"] - 0.5
    assert np.allclose(run["joint_velocity"][after > 0, 0], 4.0 * after[after > 0] ** 2 / 2 / 0.5, atol=3e-3)


def test_a_blow_starts_a_joint_that_friction_held() -> None:
    """A ball falls onto a lever that friction holds: the impulse is that of a free hinge, friction brakes it after."""
    runs = []
    for friction in (3.0, 1e-9):
        robot = tr.Robot(on_slip="slide", on_separation="fly")
        lever = robot.revolute(
            None, (0, 0), 1.0, 0.1, shape=tr.Circle(0.1), shape_at=(0.5, 0.0), actuated=False, name="lever"
        )
        robot.resist(lever, dry_friction=friction)
        robot.free(0.5, 0.002, shape=tr.Circle(0.1), name="ball")
        robot.contact("ball", "lever", friction=0.0, restitution=0.5)
        tree = robot.finish()
        start = tree.place(lever=0.0, ball=(0.5, 0.3, 0.0), contacts=[])
        runs.append(tr.simulate(tree, start, 0.17))
    braked = runs[0]
    assert all(run.status.label == "success" for run in runs)
    hit = np.sqrt(2 * 0.1 / G)
    assert np.all(braked["joint_position"][braked["time"] < hit] == 0.0)
    after = [np.interp(hit + 1e-4, run["time"], run["joint_velocity"][:, 0]) for run in runs]
    assert np.isclose(*after, atol=0.02)
    assert after[0] < -1.0
    late = braked["time"] > hit + 1e-3
    assert np.all(np.diff(braked["joint_velocity"][late, 0]) > 0.0)


def test_energy_falls_by_the_bound_times_the_way() -> None:
    """Several joints of a chain in space: what is lost is sum c_i |dq_i|."""
    robot = tr.Robot(gravity=(0.0, 0.0, -G))
    bounds, above = (0.3, 0.1, 0.05), None
    for i, c in enumerate(bounds):
        axis = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.6, 0.8))[i]
        at = (0.0, 0.0, -0.4) if above else (0.0, 0.0, 0.0)
        center = (0.05, 0.0, -0.2)
        above = robot.revolute(
            above, at, 1.0, (0.02, 0.02, 0.01), axis=axis, center_of_mass=center, actuated=False, name=f"link{i}"
        )
        robot.resist(above, dry_friction=c)
    tree = robot.finish()
    start = tree.place(link0=1.0, link1=-0.5, link2=0.8)
    run = tr.simulate(tree, start, 1.0, output_step=1e-3)
    assert run.status.label == "success"
    way = np.abs(np.diff(run["joint_position"], axis=0)).sum(axis=0)
    lost = run["energy"][0] - run["energy"][-1]
    assert np.isclose(lost, way @ bounds, rtol=1e-5)
    assert np.all(np.diff(run["energy"]) < 1e-10)


def test_the_friction_of_a_joint_is_a_number_of_the_model() -> None:
    tree = spring(1.0)
    assert tr.parameters_of(tree)["mass.dry_friction"] == 1.0
    softer = tr.with_parameters(tree, {"mass.dry_friction": 0.5})
    found = [tr.simulate(model, tree.place(mass=0.21), 0.3)["joint_position"][-1, 0] for model in (tree, softer)]
    other = spring(0.5)
    wanted = tr.simulate(other, other.place(mass=0.21), 0.3)["joint_position"][-1, 0]
    assert np.isclose(found[1], wanted, atol=1e-10)
    assert not np.isclose(*found, atol=1e-4)


def test_derivatives_by_the_friction_of_a_joint_are_those_of_differences() -> None:
    """Through turns at which the friction changes its sign."""
    tree = spring(1.0)
    start = tree.place(mass=0.21)
    names = ("mass.dry_friction", "mass.stiffness")
    found = tr.sensitivities(tree, start, 1.0, parameters=names, initial=False)
    assert found.run.status is tr.Status.SUCCESS
    for k, (name, value) in enumerate(zip(names, (1.0, 50.0), strict=True)):
        ends = []
        for step in (1e-5, -1e-5):
            other = tr.with_parameters(tree, {name: value * (1.0 + step)})
            ends.append(tr.simulate(other, start, 1.0)["joint_position"][-1, 0])
        assert np.isclose(found.derivatives[-1][0, k], (ends[0] - ends[1]) / (2e-5 * value), rtol=1e-5)


def test_many_runs_are_those_of_one_after_the_other() -> None:
    tree = spring(1.0)
    starts = [tree.place(mass=q) for q in (0.1, 0.21, 0.015)]
    many = tr.simulate_many(tree, starts, 1.0)
    assert all(many.success)
    for end, start in zip(many.ends, starts, strict=True):
        assert np.isclose(end.x[0], tr.simulate(tree, start, 1.0)["joint_position"][-1, 0], atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_depends_on_the_units(seed: int) -> None:
    """A chain that falls onto a floor, in metres and kilograms, and in units 1000 times smaller: the same motion."""
    random = np.random.default_rng(seed)
    numbers = random.uniform(size=8)

    def run(length: float, mass: float) -> tr.Trajectory:
        robot = tr.Robot(gravity=(0, -G * length), on_slip="slide", on_separation="fly")
        m, size = mass, length
        trunk = robot.free(m, 0.01 * m * size**2, shape=tr.Circle(0.1 * size), name="trunk")
        above = trunk
        for i in range(2):
            above = robot.revolute(
                above,
                (0.15 * size, -0.05 * size),
                0.4 * m,
                0.002 * m * size**2,
                center_of_mass=(0.1 * size, 0.0),
                shape=tr.Circle(0.05 * size),
                shape_at=(0.2 * size, 0.0),
                actuated=False,
                name=f"link{i}",
            )
            robot.resist(above, dry_friction=float(numbers[i]) * 0.4 * m * G * size**2)
        robot.terrain(tr.Line(), float(numbers[2]))
        tree = robot.finish()
        rates = {"trunk": (3.0 * numbers[3], size * numbers[4], 0.0)}
        start = tree.place(trunk=(0.0, 0.5 * size, 0.0), link0=numbers[5], link1=-numbers[6], contacts=[], rates=rates)
        return tr.simulate(tree, start, 0.6)

    one, other = run(1.0, 1.0), run(1e-3, 1e-6)
    assert one.status is other.status is tr.Status.SUCCESS
    # Which hop of a rattle is the last one, and whether a few time steps end it, is up to round-off: modes in the order
    # in which they first appear.
    modes = [dict.fromkeys(t["to"] for t in run.transitions if t["to"] != "time stepping") for run in (one, other)]
    assert list(modes[0]) == list(modes[1])
    for k in range(2):  # slips end at 1e-9 m/s whatever the size, up to 1e-6 s apart
        there = np.interp(one["time"], other["time"], other["joint_position"][:, k])
        assert np.allclose(one["joint_position"][:, k], there, atol=1e-5)


def chain(count: int, dry: list[float], **mass: float) -> RollingTree:
    """Rods, one after the other, held out straight, with friction in their joints."""
    robot, above = tr.Robot(), None
    for i in range(count):
        at = (0.0, 0.0) if above is None else (0.2, 0.0)
        above = robot.revolute(above, at, 0.5, 0.005, center_of_mass=(0.1, 0), actuated=False, name=f"l{i}")
        robot.resist(above, dry_friction=dry[i])
    return robot.finish()


@pytest.mark.parametrize("count", [3, 4])
def test_joints_that_reach_their_bounds_together_give_way_together(count: int) -> None:
    """Bounds are the same part of all static loads: what follows is that of bounds a little smaller, or larger."""
    ends = []
    for change in (0.0, 1e-7, -1e-7):
        dry = [0.3 * (count - i) ** 2 * 0.5 * G * 0.1 * (1 + change * i) for i in range(count)]
        tree = chain(count, dry)
        run = tr.simulate(tree, tree.place(), 0.9)
        assert run.status is tr.Status.SUCCESS
        ends.append(run["joint_position"][-1])
    assert np.allclose(ends[0], ends[1], atol=1e-5)
    assert np.allclose(ends[0], ends[2], atol=1e-5)


@pytest.mark.parametrize("rules", [{}, {"on_slip": "slide", "on_separation": "fly"}, {"on_slip": "ignore"}])
@pytest.mark.parametrize("part", [1.0, -1.0, 1.0 - 1e-9, 1.0 + 1e-6])
def test_a_load_of_exactly_the_bound_is_held(rules: dict, part: float) -> None:
    """Whatever the rules for slips of shapes are."""
    robot = tr.Robot(**rules)
    robot.free(1.0, 0.01, shape=tr.Circle(0.1), name="ball")
    robot.terrain(tr.Line())
    arm = robot.revolute(None, (5, 1), 1.0, 0.5, name="arm")
    robot.resist(arm, dry_friction=1.0)
    tree = robot.finish()
    push = tr.FunctionPolicy(1e-2, lambda t, x: np.array([part]))
    run = tr.simulate(tree, tree.place(ball=(0, 0.1, 0)), 0.5, policy=push)
    assert run.status.label in ("success", "rest")
    assert len(run.transitions) < 5
    assert np.isclose(run["joint_position"][-1, 0], max(part - 1.0, 0.0) / 0.5 * 0.125, atol=1e-12)


def test_a_spring_that_pulls_as_hard_as_friction_holds_moves_nothing() -> None:
    tree = spring(1.0)
    run = tr.simulate(tree, tree.place(mass=0.02), 1.0)
    assert run.status.label in ("success", "rest")
    assert np.all(run["joint_position"] == 0.02)


@pytest.mark.parametrize("rule", ["slide", "stop", "ignore"])
def test_rules_for_slips_of_shapes_do_not_hold_joints(rule: str) -> None:
    robot = tr.Robot(on_slip=rule)  # type: ignore[arg-type]
    rod = robot.revolute(None, (0, 0), 1.0, 0.02, center_of_mass=(0.5, 0), actuated=False, name="rod")
    robot.resist(rod, dry_friction=1.0)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(), 0.5)
    assert run.status is tr.Status.SUCCESS
    assert np.isclose(run["joint_position"][-1, 0], -1.597384, atol=1e-5)


def test_what_friction_holds_is_no_rest_of_what_moves_beside_it() -> None:
    """A foot that stands, a lever that friction has stopped: a wheel beside them turns on to its stop."""
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    robot.revolute(
        None, (0, 0.3), 1.0, 0.02, center_of_mass=(0.2, 0), shape=tr.Circle(0.1), shape_at=(0.4, -0.2), actuated=False,
        name="arm",
    )  # fmt: skip
    robot.terrain(tr.Line(), friction=0.5)
    lever = robot.revolute(None, (5, 1), 1.0, 0.5, actuated=False, name="lever")
    robot.resist(lever, dry_friction=2.0)
    wheel = robot.revolute(None, (9, 1), 1.0, 0.5, actuated=False, name="wheel")
    robot.resist(wheel, high=1.0)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(rates={"lever": 1.0, "wheel": 2.0}), 1.0)
    assert run.status is tr.Status.SUCCESS
    assert np.allclose(run["joint_position"][-1, 1:], [0.125, 1.0], atol=1e-8)


def test_a_kick_starts_joints_that_friction_held() -> None:
    robot, above = tr.Robot(gravity=0.0), None
    for i in range(2):
        at = (0, 0) if above is None else (1, 0)
        above = robot.revolute(above, at, 1.0, 0.02, center_of_mass=(0.5, 0), actuated=False, name=f"a{i}")
        robot.resist(above, dry_friction=1.0)
    tree = robot.finish()
    kicked = tr.simulate(tree, tree.place(), 1.5, kicks={0.5: lambda x: x + np.array([0, 0, 2.0, -1.0])})
    started = tr.simulate(tree, tree.place(rates={"a0": 2.0, "a1": -1.0}), 1.0)
    assert kicked.status is started.status is tr.Status.SUCCESS
    assert np.allclose(kicked["joint_position"][-1], started["joint_position"][-1], atol=1e-9)


def test_a_start_says_which_joints_turn() -> None:
    """Their linear model keeps the constraints of the start."""
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    body = robot.free(2.0, 0.02, name="body")
    for name, x in (("rear", -0.1), ("front", 0.1)):
        wheel = robot.revolute(body, (x, -0.05), 0.2, 2e-4, shape=tr.Circle(0.05), name=name)
        robot.resist(wheel, dry_friction=1e-3)
    robot.terrain(tr.Line(), friction=0.5)
    tree = robot.finish()
    rolls = tree.place(body=(0, 0.1, 0), rates={"rear": -10.0})
    stands = tree.place(body=(0, 0.1, 0))
    assert rolls.laws == ("rolling", "rolling", "sliding", "sliding")
    assert stands.laws == ("rolling", "rolling", "rolling", "rolling")
    assert tr.linearize(tree, rolls).A.shape[0] > 0


class Table(VectorJoint):
    """A table that two slides move in the plane."""

    d, size = 2, 2

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the turn, none, and the place."""
        return ca.SX.eye(2), q

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return how its rates turn it, not at all, and move it."""
        return ca.SX(1, 2), ca.SX.eye(2)


def test_joints_of_several_coordinates_have_friction_along_each() -> None:
    """On the world: the audit has neither a free body nor a hinge to judge by."""
    robot = tr.Robot(gravity=0.0)
    robot.resist(robot.joint(None, Table(), 2.0, 0.1, name="table"), dry_friction=1.0)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(rates={"table": (1.0, 0.25)}), 1.0)
    assert run.status.label in ("success", "rest")
    assert np.allclose(run["body_position"][-1, 0, :2], [1.0 - 0.25, 0.25**2], atol=1e-9)


def test_friction_of_a_joint_is_more_than_nothing() -> None:
    tree = spring(1.0)
    with pytest.raises(tr.InputError) as caught:
        tr.with_parameters(tree, {"mass.dry_friction": 0.0})
    assert caught.value.key == "mass.dry_friction"


@pytest.mark.parametrize("g", [0.0, G])
def test_a_slow_slider_stops_the_same_with_weight_and_without(g: float) -> None:
    """What ends a slip of 1e-9 m/s is no impulse that breaks a law, however little weight there is beside it."""
    robot = tr.Robot(gravity=(0.0, -g))
    mass = robot.prismatic(None, (0, 0), 2.0, 0.1, actuated=False, name="mass")
    robot.resist(mass, stiffness=50.0, dry_friction=1e-3)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(mass=0.21e-3), 4.0)
    assert run.status is tr.Status.SUCCESS
    assert np.isclose(run["joint_position"][-1, 0], -1e-5, atol=1e-10)


@pytest.mark.parametrize("unit", [1e3, 1e-2], ids=["mm and ms", "of 100 m and 100 s"])
def test_a_hinge_stops_and_starts_at_the_same_times_in_other_units(unit: float) -> None:
    """Units of length and of time that are both so much smaller: speeds keep their numbers, rates do not."""

    def swing(unit: float) -> tr.Trajectory:
        robot = tr.Robot(gravity=(0.0, -G / unit))
        at = (2.0 * unit, 0.0)
        shape = tr.Circle(0.4 * unit)
        rod = robot.revolute(
            None, (0, 0), 1.0, 0.3 * unit**2, center_of_mass=at, shape=shape, shape_at=at, actuated=False, name="rod"
        )
        robot.resist(rod, dry_friction=0.7)
        robot.terrain(tr.Line(offset=-9.0 * unit), friction=0.3)
        tree = robot.finish()
        start = tree.place(rod=-1.0, contacts=[])
        return tr.simulate(tree, start, 6.0 * unit, output_step=0.5 * unit)

    one, other = swing(1.0), swing(unit)
    assert len(one.transitions) > 3
    times = [[change["time"] / scale for change in run.transitions] for run, scale in ((one, 1.0), (other, unit))]
    assert np.allclose(*times, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("ratio", [1.0, 1.3, 1.7, -1.1])
@pytest.mark.parametrize("slides", [False, True])
def test_a_stop_stops_two_coupled_joints_with_friction_and_their_friction_gives_no_impulse(
    ratio: float, slides: bool
) -> None:
    robot = tr.Robot(gravity=(0.0, 0.0) if slides else (0.0, -G))
    joint, more = (
        (robot.prismatic, {"axis": (1.0, 0.0)}) if slides else (robot.revolute, {"center_of_mass": (0.0, 0.1)})
    )
    first = joint(None, (0.0, 0.0), 1.0, 0.1, actuated=False, name="first", **more)
    second = joint(None, (0.0, 1.0), 1.0, 0.1, actuated=False, name="second", **more)
    robot.resist(first, dry_friction=0.3)
    robot.resist(second, dry_friction=0.3, high=0.1)
    robot.couple(second, first, ratio=ratio)
    tree = robot.finish()
    rate = 2.0 * np.sign(ratio)
    run = tr.simulate(tree, tree.place(rates={"first": rate, "second": ratio * rate}), 0.3)
    assert run.status.label in ("success", "rest"), run.transitions[-1]["reason"]
    assert np.allclose(run["joint_position"][-1], [0.1 / ratio, 0.1], atol=1e-9)
