"""Trees in motion: energy, wheels that leave and land, several contacts, policies, space."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.models.planar_robots import leg, rover
from trundle.simulate import Delayed, Noisy
from trundle.simulate.events.impact import Candidate, resolve_impact
from trundle.status import Status

POSE = {"thigh_rear": 0.5, "shin_rear": -1.0, "thigh_front": 0.5, "shin_front": -1.0}
ROUGH = {"on_slip": "slide", "on_separation": "fly"}


def rock() -> tr.FourierRadius:
    return tr.FourierRadius(0.3, [0.0, 0.1, 0.02], [0.0, 0.02, -0.015])


@pytest.mark.slow
def test_energy_stays_and_forces_balance() -> None:
    """A cart with a pendulum on waves: its energy stays; forces are what moves its centre of mass."""
    robot = tr.Robot(on_slip="ignore")
    base = robot.free(5.0, 0.4)
    for side, x in (("rear", -0.3), ("front", 0.3)):
        robot.revolute(base, (x, -0.1), 1.0, shape=tr.Circle(0.15), name=side)
    robot.revolute(base, (0, 0), 1.0, 0.01, center_of_mass=(0, -0.3), name="pendulum")
    robot.terrain(tr.Sinusoid(0.03, 1.5))
    cart = robot.finish()
    start = cart.place(base=(0.1, 0.3, 0.0), pendulum=1.0, tolerance=0.1)
    run = tr.simulate(cart, start, 4.0, relative_tolerance=1e-12)
    assert run.status in (Status.SUCCESS, Status.INFEASIBLE)
    assert np.ptp(run["energy"]) < 1e-9 * (run["energy"].max() - run["body_position"][:, 0, 1].min())
    assert np.abs(run["gap"]).max() < 1e-13
    assert np.abs(run["slip"]).max() < 1e-12
    masses = np.array(list(run.metadata["physics"]["masses"].values()))
    momentum = np.einsum("k,nki->ni", masses, run["body_velocity"])
    force = run["contact_force"].sum(axis=1) + masses.sum() * np.array([0, -9.81])
    t = run.time
    slope = np.stack([np.gradient(p, t, edge_order=2) for p in momentum.T], axis=1)
    assert np.abs(slope - force)[2:-2].max() < 2e-3 * np.abs(force).max()


def test_a_motor_brings_the_power_that_the_energy_gains() -> None:
    robot = leg(on_slip="ignore", on_separation="ignore")

    class Constant:
        period = 0.1

        def reset(self) -> None: ...

        def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
            return np.array([3.0 * np.cos(7 * time)])

    start = robot.place(foot=(0.0, 0.05, 0.0), shin=0.1, tolerance=0.1)
    run = tr.simulate(robot, start, 0.5, policy=Constant(), relative_tolerance=1e-12)
    # The torque is held: its work over a period is torque times the turned angle.
    edges = np.searchsorted(run.time, np.arange(0, 0.51, 0.1) - 1e-9)
    turned = np.diff(run["joint_position"][edges, 0])
    work = np.sum([3.0 * np.cos(0.7 * k) * turned[k] for k in range(5)])
    gained = run["energy"][edges[-1]] - run["energy"][0]
    assert abs(gained - work) < 1e-9 * max(abs(work), 1.0)
    loop = run.metadata["policy"]
    assert loop["calls"] == 5
    assert 0 < loop["median"] <= loop["p99"] <= loop["max"]
    assert loop["missed"] == 0


@pytest.mark.slow
def test_a_wheel_drops_off_a_step_and_lands() -> None:
    """A two-wheel cart rolls down a smooth step that is steeper than free fall: each wheel leaves and lands."""
    x = np.linspace(-4, 6, 401)
    step = tr.geometry.SampledCurve(np.stack([x, -0.25 * (1 + np.tanh(8 * x))], axis=1).tolist())
    robot = tr.Robot(**ROUGH)
    base = robot.free(5.0, 0.4)
    for side, at in (("rear", -0.3), ("front", 0.3)):
        robot.revolute(base, (at, -0.1), 1.0, shape=tr.Circle(0.1), name=side)
    robot.terrain(step, friction=0.9)
    cart = robot.finish()
    start = cart.place(base=(-1.0, 0.2, 0.0), rates={"base": (0.0, 2.5, 0.0)}, tolerance=0.05)
    run = tr.simulate(cart, start, 1.0)
    assert run.status is Status.SUCCESS
    for slot, name in enumerate(run["contact"][:2]):
        flown = run["mode"][:, slot] == "separated"
        assert flown.any(), name
        assert not flown[-1], name
        assert np.all(run["contact_force"][flown, slot] == 0)
    assert run["gap"].min() > -1e-9
    assert np.all(np.diff(run["energy"]) < 1e-7)
    others = {t["contact"] for t in run.transitions}
    assert {"front", "rear"} <= others


def test_a_rock_leaves_a_crest_and_lands() -> None:
    robot = tr.Robot(**ROUGH)
    robot.free(1.0, 0.045, shape=rock(), name="rock")
    robot.terrain(tr.Sinusoid(0.15, 2.0), friction=1.0)
    system = robot.finish()
    start = system.place(rock=(0.45, 0.47, 0.0), rates={"rock": -10.0}, tolerance=0.2)
    run = tr.simulate(system, start, 0.8)
    times = {t["reason"]: t["time"] for t in reversed(run.transitions)}
    assert times["the gap closed"] - times["the contact force reached zero"] > 0.1  # whatever the tolerance
    assert run["gap"].min() > -1e-9


@pytest.mark.slow
def test_a_rover_with_a_wheel_that_leaves_and_touches_again() -> None:
    robot = rover(**ROUGH)
    start = robot.place(base=(0.0, 0.62, 0.0), **POSE, rates={"base": (0.0, 0.5, 0.0)}, tolerance=0.2)
    run = tr.simulate(robot, start, 1.3)
    assert run.status is Status.SUCCESS
    rear = run["mode"][:, 0] == "separated"
    assert rear.any()
    assert not rear[-1]
    assert np.all(run["mode"][rear & (run.time < 1.13), 1] != "separated")
    assert run["gap"].min() > -1e-9
    touching = run["mode"] != "separated"
    assert np.abs(run["gap"][touching]).max() < 1e-10


@pytest.mark.slow
def test_four_wheels_of_one_rigid_body_on_a_flat() -> None:
    """Redundant contacts: forces are finite, equal to those of symmetry, and the cart rolls on."""
    robot = tr.Robot(on_slip="ignore")
    base = robot.free(5.0, 0.4)
    for i, at in enumerate((-0.6, -0.2, 0.2, 0.6)):
        robot.revolute(base, (at, -0.1), 1.0, shape=tr.Circle(0.1), name=f"wheel{i}")
    robot.terrain(tr.Line(0.0))
    cart = robot.finish()
    start = cart.place(base=(0.0, 0.2, 0.0), rates={"base": (0.0, 1.0, 0.0)})
    run = tr.simulate(cart, start, 0.5)
    assert run.status is Status.SUCCESS
    np.testing.assert_allclose(run["contact_force"][:, :, 1].sum(axis=1), 9 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(run["contact_force"][:, 0, 1], run["contact_force"][:, 3, 1], rtol=1e-6)
    np.testing.assert_allclose(run["body_position"][-1, 0], [0.5, 0.2], atol=1e-9)


def test_a_ball_with_a_pendulum_on_a_plane_in_space() -> None:
    robot = tr.Robot(gravity=[0, 0, -9.81], on_slip="ignore")
    ball = robot.free(2.0, shape=tr.Sphere(0.3), name="ball")
    robot.revolute(ball, (0, 0, 0), 1.0, [0.01, 0.01, 0.002], center_of_mass=(0, 0, -0.2), name="pendulum")
    robot.terrain(tr.Plane())
    system = robot.finish()
    start = system.place(ball=(0, 0, 0.3), pendulum=1.0, rates={"ball": (0.5, 1.0, 2.0, 0.3, -0.15, 0.0)})
    run = tr.simulate(system, start, 2.0, relative_tolerance=1e-12)
    assert (run.layout, run.dimension) == ("tree", 3)
    assert np.ptp(run["energy"]) < 1e-9 * 10
    assert np.abs(run["gap"]).max() < 1e-13
    assert np.abs(run["slip"]).max() < 1e-12
    assert run["body_quaternion"].shape == (len(run), 2, 4)


def test_two_contacts_of_an_impact_of_which_one_slides() -> None:
    """A wheel lands while another, on ice, slides on."""
    n, nu = np.array([0.0, 1.0]), np.array([0.7, -0.5, 1.0, 2.0])
    J_ice, J_new = np.array([[1, 0, 0.3, 0.1], [0, 1, 0.5, 0]]), np.array([[1, 0, 0.3, 0], [0, 1, -0.5, 0]])
    contacts = {0: Candidate(J_ice, J_ice @ nu, n, 0.01), 1: Candidate(J_new, J_new @ nu, n, 5.0)}
    found = resolve_impact(np.diag([1.0, 1.0, 0.1, 0.01]), contacts)
    assert found.decided
    assert found.laws[1] == "rolling"
    after = {i: c.J @ (nu + found.jump) for i, c in contacts.items()}
    np.testing.assert_allclose(after[1], 0.0, atol=1e-12)
    assert after[0][1] > -1e-12
    if found.laws.get(0) == "sliding":
        along, normal = found.impulses[0]
        assert along == pytest.approx(-0.01 * normal * np.sign(after[0][0]))


@pytest.mark.slow
def test_big_wheels_bridge_narrow_valleys() -> None:
    """Wheels wider than the valleys touch on both sides and go over to the other side."""
    robot = tr.Robot(**ROUGH)
    base = robot.free(5.0, 0.4)
    for side, at in (("rear", -0.3), ("front", 0.3)):
        robot.revolute(base, (at, -0.1), 1.0, shape=tr.Circle(0.2), name=side)
    robot.terrain(tr.Sinusoid(0.05, 0.5), friction=0.9)
    cart = robot.finish()
    start = cart.place(base=(0.225, 0.45, 0.0), rates={"rear": -4.0}, tolerance=0.15)
    run = tr.simulate(cart, start, 0.8)
    assert run.status is Status.SUCCESS
    assert {"front-second", "rear-second"} <= {t["contact"] for t in run.transitions}
    assert run["gap"].min() > -1e-12
    assert np.diff(run["energy"]).max() < 1e-9


class Recorder:
    period = 0.01

    def __init__(self) -> None:
        self.seen: list[tuple[float, np.ndarray]] = []

    def reset(self) -> None:
        self.seen.clear()

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        self.seen.append((time, state))
        return np.array([float(len(self.seen))])


def test_a_function_is_a_policy() -> None:
    robot = tr.Robot()
    robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0, 0.5), name="pole")
    pole = robot.finish()
    gains, start = np.array([30.0, 5.0]), pole.place(pole=0.1)
    law = tr.LinearFeedback(0.01, [[0.0]], [gains], [0.0, 0.0])
    for answer in (lambda t, x: -gains @ x, lambda t, x: [-(30.0 * x[0] + 5.0 * x[1])]):
        runs = [tr.simulate(pole, start, 1.0, policy=one) for one in (law, tr.FunctionPolicy(0.01, answer))]
        np.testing.assert_allclose(runs[1]["joint_position"], runs[0]["joint_position"], atol=1e-12)
    with pytest.raises(tr.InputError, match="FunctionPolicy makes one of a function"):
        tr.simulate(pole, start, 1.0, policy=lambda t, x: [0.0])
    with pytest.raises(tr.InputError, match="policy = "):
        tr.simulate(pole, start, 1.0, policy=tr.FunctionPolicy(0.01, lambda t, x: [1.0, 2.0]))
    with pytest.raises(tr.InputError, match="period"):
        tr.FunctionPolicy(0.0, lambda t, x: x)
    with pytest.raises(tr.InputError, match="law"):
        tr.FunctionPolicy(0.1, 3)


def test_delayed_answers_come_later() -> None:
    policy = Delayed(Recorder(), 0.005, first=[0.0])
    assert policy.period == pytest.approx(0.005)
    policy.reset()
    answers = [policy(0.005 * k, np.zeros(2))[0] for k in range(6)]
    assert answers == [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]
    with pytest.raises(tr.InputError, match="delay"):
        Delayed(Recorder(), -1.0, first=[0.0])


def test_noise_is_repeatable_and_of_the_size_asked_for() -> None:
    inner = Recorder()
    policy = Noisy(inner, [0.1, 0.0], seed=3)
    states = []
    for _ in range(2):
        policy.reset()
        for k in range(400):
            policy(0.01 * k, np.zeros(2))
        states.append(np.array([state for _, state in inner.seen]))
    np.testing.assert_array_equal(states[0], states[1])
    assert np.all(states[0][:, 1] == 0)
    assert 0.09 < np.std(states[0][:, 0]) < 0.11


@pytest.mark.parametrize("mu", [0.0, 0.02])
def test_two_wheels_that_begin_to_slide_at_once(mu: float) -> None:
    """A cart on an icy slope slides down by g (sin - mu cos): both contacts leave their cones at the same instant."""
    slope = 0.4
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    base = robot.free(5.0, 0.4)
    for side, x in (("rear", -0.3), ("front", 0.3)):
        robot.revolute(base, (x, 0.0), 1.0, 0.02, shape=tr.Circle(0.1), name=side, actuated=False)
    robot.terrain(tr.Line(np.tan(slope)), friction=mu)
    cart = robot.finish()
    run = tr.simulate(cart, cart.place(base=(0.0, 0.11, slope), tolerance=0.1), 0.5, relative_tolerance=1e-10)
    assert run.status is Status.SUCCESS
    assert np.all(run["mode"][-1] == "sliding")
    down = -9.81 * (np.sin(slope) - mu * np.cos(slope))
    velocity = run["body_velocity"][-1, 0]
    np.testing.assert_allclose(velocity, 0.5 * down * np.array([np.cos(slope), np.sin(slope)]), atol=1e-8)
