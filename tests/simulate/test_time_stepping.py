"""Runs with several contacts that slip, stick and part at once against an independent time stepping."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import trundle as tr
from tests.simulate.independent_stepping import TimeStepping, Touch, wheel
from tests.slowly import slow_but
from trundle.simulate.events import HybridState, no_onsets
from trundle.simulate.events.coulomb import impulses
from trundle.simulate.mode import Method, Mode
from trundle.simulate.runner import Runner

RADII, TILT, BASE, TRAIL = (0.3, 0.35), np.pi / 10, 1.02, 0.08
FRAME = (85.0, ((9.2, 0, -2.4), (0, 11, 0), (-2.4, 0, 2.8)), (0.3, 0.0, 0.9))
FORK = (4.0, ((0.05892, 0, 0.00756), (0, 0.06, 0), (0.00756, 0, 0.00708)), (0.9, 0.0, 0.7))
WHEELS = ((2.0, (0.0603, 0.12, 0.0603)), (3.0, (0.1405, 0.28, 0.1405)))
AXIS = np.array([-np.sin(TILT), 0.0, np.cos(TILT)])
STEER = np.array([BASE + TRAIL, 0.0, 0.0])
HUBS = (np.array([0.0, 0.0, RADII[0]]), np.array([BASE, 0.0, RADII[1]]) - STEER)


def bicycle(friction: float, crown: float) -> tr.RollingTree:
    """The benchmark of Meijaard et al. (2007) with wheels that have a round profile."""

    def round_wheel(radius: float) -> tr.geometry.ExpressionBody:
        return tr.geometry.ExpressionBody(
            lambda x, y, z: (radius - crown) * ca.sqrt(x**2 + z**2) + crown * ca.sqrt(x**2 + y**2 + z**2)
        )

    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    mass, inertia, com = FRAME
    frame = robot.free(mass, inertia, center_of_mass=com, name="frame")
    mass, inertia, com = FORK
    fork = robot.revolute(
        frame, at=tuple(STEER), mass=mass, inertia=inertia, center_of_mass=tuple(com - STEER), axis=tuple(AXIS),
        actuated=False, name="fork",
    )  # fmt: skip
    for on, at, (mass, inertia), radius, name in zip(
        (frame, fork), HUBS, WHEELS, RADII, ("rear", "front"), strict=True
    ):
        robot.revolute(
            on, at=tuple(at), mass=mass, inertia=inertia, axis=(0, 1, 0), actuated=False, shape=round_wheel(radius),
            name=name,
        )  # fmt: skip
    robot.terrain(tr.Plane(), friction=friction)
    return robot.finish()


def stepped_bicycle(friction: float, crown: float) -> TimeStepping:
    model = pin.Model()

    def add(parent: int, joint: pin.JointModel, at: np.ndarray, mass: float, tensor: object, com: object) -> int:
        number = model.addJoint(parent, joint, pin.SE3(np.eye(3), np.asarray(at, dtype=float)), f"j{model.njoints}")
        inertia = np.diag(tensor) if np.ndim(tensor) == 1 else np.asarray(tensor, dtype=float)
        model.appendBodyToJoint(number, pin.Inertia(mass, np.asarray(com, dtype=float), inertia), pin.SE3.Identity())
        return number

    frame = add(0, pin.JointModelFreeFlyer(), np.zeros(3), *FRAME)
    fork = add(frame, pin.JointModelRevoluteUnaligned(AXIS), STEER, FORK[0], FORK[1], FORK[2] - STEER)
    touches = []
    # Depth first, as Pinocchio's inertia matrix needs it: the front wheel follows its fork.
    for on, at, (mass, inertia), radius in reversed(list(zip((frame, fork), HUBS, WHEELS, RADII, strict=True))):
        number = add(on, pin.JointModelRY(), at, mass, inertia, np.zeros(3))
        touches.append(Touch(number, wheel(radius, crown), friction))
    return TimeStepping(model, touches)


def differences(friction: float, crown: float, times: tuple[float, ...], steps: tuple[float, ...]) -> np.ndarray:
    """Return by how much (m) the frame's centre of mass differs at the `times`, for each step."""
    robot = bicycle(friction, crown)
    start = robot.place(frame=(0, 0, 0), rates={"frame": [0.3, 0, 0], "fork": 0.0, "rear": 0.0})
    run = tr.simulate(robot, start, duration=times[-1], output_step=1e-2)
    assert run.status is tr.Status.SUCCESS
    energy = run["energy"]
    assert np.max(energy - np.minimum.accumulate(energy)) < 1e-9 * np.ptp(energy) + 1e-9 * abs(energy[0])
    normal = run["contact_force"][:, :, 2]
    assert normal.min() > -1e-6 * normal.max()
    expected = np.array([run["body_position"][np.argmin(np.abs(run.time - t)), 0] for t in times])
    found = np.zeros((len(steps), len(times)))
    for row, h in zip(found, steps, strict=True):
        oracle, k = stepped_bicycle(friction, crown), 0
        q, v = pin.neutral(oracle.model), np.zeros(oracle.model.nv)
        first = {name: run[name][0] for name in ("body_velocity", "body_angular_velocity", "joint_velocity")}
        w = first["body_angular_velocity"][0]
        v[3:6], v[6:] = w, first["joint_velocity"][[0, 2, 1]]
        v[:3] = first["body_velocity"][0] - np.cross(w, FRAME[2])
        for i, t in enumerate(times):
            while k < round(t / h):
                q, v = oracle.step(q, v, h)
                k += 1
            pin.forwardKinematics(oracle.model, oracle.data, q)
            row[i] = np.linalg.norm(oracle.data.oMi[1].act(np.array(FRAME[2])) - expected[i])
    return found


CASES = [(0.8, 0.02), (1.0, 0.02), (0.5, 0.02), (0.3, 0.02), (0.8, 0.001)]
"""Friction and crown (m) of bicycles that fall over: slips of both wheels begin, end and turn between .8 and 1.1 s."""


@pytest.mark.parametrize(("friction", "crown"), slow_but(CASES, CASES[0]))
def test_a_falling_bicycle_moves_as_time_steps_converge_to(friction: float, crown: float) -> None:
    """Until 1.1 s: later on impacts make small differences large."""
    found = differences(friction, crown, (0.5, 0.9, 1.1), (4e-3, 2e-3, 1e-3))
    assert np.all(found[-1] < 1e-3)
    ratios = found[:-1] / found[1:]
    assert np.all(ratios > 1.7), ratios  # of first order
    assert np.all(ratios < 3.5), ratios


@pytest.mark.parametrize("length", [0.1, 0.3])
def test_an_upright_can_slides_as_far_as_a_point_would(length: float) -> None:
    """Eight points of its face share one force; the tall one's centre of pressure is near its front edge."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=tr.Cylinder(0.1, length=length), name="can")
    robot.terrain(tr.Plane(), friction=0.5)
    tree = robot.finish()
    start = tree.place(contacts=[], can=(0, 0, length / 2, 1, 0, 0, 0), rates={"can": [0, 0, 0, 3.0, 0, 0]})
    run = tr.simulate(tree, start, 1.0)
    assert run.status is tr.Status.SUCCESS
    assert run["body_position"][-1, 0, 0] == pytest.approx(9.0 / 9.81, abs=1e-6)
    assert run["body_velocity"][-1] == pytest.approx(0.0, abs=1e-9)


FAST = [
    (tr.Sphere(0.1), (1e5, 0, -1e5), (0, 0, 0)),
    (tr.Box([0.1, 0.15, 0.2]), (1e5, 0, -1e5), (1e3, 2e3, 0)),
    (tr.Ellipsoid([0.1, 0.15, 0.2]), (0, 0, -1e5), (1e3, 2e3, 0)),
    (tr.Disc(0.2), (1e5, 0, -1e5), (1e3, 2e3, 0)),
    (tr.Cylinder(0.1, length=0.3), (1e5, 0, 0), (0, 0, 0)),
]


@pytest.mark.parametrize(("shape", "velocity", "spin"), slow_but(FAST, FAST[3]), ids=lambda v: type(v).__name__)
def test_bodies_at_a_hundred_kilometres_a_second_end_without_energy_made(shape, velocity, spin) -> None:
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=shape, name="body")
    robot.terrain(tr.Plane(), friction=0.5)
    tree = robot.finish()
    start = tree.place(contacts=[], body=(0, 0, 0.5, 1, 0, 0, 0), rates={"body": [*spin, *velocity]})
    run = tr.simulate(tree, start, 1.0)
    assert run.status is tr.Status.SUCCESS
    energy = run["energy"]
    assert np.max(energy - np.minimum.accumulate(energy)) < 1e-8 * np.max(energy)
    if isinstance(shape, tr.Sphere):  # it lands on rough ground: 2/7 of its tangential speed is lost or mu (1 + 0) v_n
        after = run["body_velocity"][-1, 0]
        assert after[0] == pytest.approx(1e5 - min(2e5 / 7, 0.5 * 1e5), rel=1e-9)
        assert after[2] == pytest.approx(0.0, abs=1e-6)


BLOWN_UP = [(1e40, tr.Status.NOT_FINITE), pytest.param(1e6, tr.Status.DIVERGED, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("gain", "status"), BLOWN_UP)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_policy_that_blows_up_ends_the_run_by_name(gain: float, status: tr.Status) -> None:
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    base = robot.free(1.0, 0.1, name="base")
    for side, x in (("rear", -0.3), ("front", 0.3)):
        robot.revolute(base, (x, 0), 0.5, 0.01, shape=tr.Circle(0.1), name=side)
    robot.terrain(tr.Line(), friction=0.5)
    cart = robot.finish()
    turning = cart.model().layout["base.angular_velocity"]
    wild = tr.FunctionPolicy(0.005, lambda t, x: gain * (1e-3 + x[turning][0]) * np.array([1.0, -0.7]))
    run = tr.simulate(cart, cart.place(base=(0, 0.1, 0)), 1.0, policy=wild, output_step=0.1)
    assert run.status is status


def test_between_calls_of_a_policy_few_steps_show_that_a_slip_is_stiff() -> None:
    ball = tr.RigidBody(tr.Sphere(0.1), mass=1.0)
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), on_slip="slide", on_separation="fly")
    samples = np.array([0.0, 1.0])
    runner = Runner(pair.system, Method(), None, samples, None)
    laws = {touching: Mode((touching,), pair.system.first_atlas) for touching in ("rolling", "separated")}
    touches, flies = (HybridState(0.0, pair.place().x, mode, no_onsets(pair.system)) for mode in laws.values())
    most = runner.stepping.most(touches, 1_000_000)
    np.testing.assert_array_equal(most([1e-4, 2e-3, 0.25]), [300, 300, 25_000])
    np.testing.assert_array_equal(runner.stepping.most(flies, 1_000_000)([1e-4, 2.0]), [1_000_000, 2_000_000])


def dumbbell(mass, inertia, balls, friction, gravity):
    robot = tr.Robot(gravity=gravity, on_slip="slide", on_separation="fly")
    (first, at), (second, opposite) = balls
    body = robot.free(mass, inertia, shape=tr.Sphere(first), shape_at=[at, 0.0, 0.0], name="body")
    robot.attach(body, tr.Sphere(second), at=[opposite, 0.0, 0.0], name="other end")
    robot.terrain(tr.Plane(), friction=friction)
    return robot.finish()


def test_a_body_that_adheres_in_two_points_jams_and_goes_on():
    friction = tr.Friction(0.522, adhesion=381e3)
    balls = (1.02, 1.82), (1.08, -1.82)
    tree = dumbbell(44400.0, [22143.9, 121858.0, 121858.0], balls, friction, [0.181475, 0.0, -9.80832])
    orientation = np.array([-0.16556747, -0.52035491, 0.79235861, -0.272003702])
    start = tree.place(
        body=[0.0, 0.216, 3.44, *orientation / np.linalg.norm(orientation)],
        rates={"body": [0.0, 0.0, 0.0, 0.654, -3.27, -2.03]},
        contacts=[],
    )
    run = tr.simulate(tree, start, 4.1)
    assert run.status is tr.Status.SUCCESS
    assert "time stepping" in {one["to"] for one in run.transitions}
    E = np.ravel(run["energy"])
    assert np.max(E - np.minimum.accumulate(E)) < 1e-9 * np.ptp(E)


def test_the_points_of_a_body_that_stick_need_no_search(monkeypatch):
    """A step's velocities of second order would part them along the line between them, by round-off of the slip."""
    searches = []
    searched = impulses._search_impulses
    monkeypatch.setattr(impulses, "_search_impulses", lambda *given: (searches.append(given), searched(*given))[1])
    balls = (0.000766, 0.00175), (0.000972, -0.00175)
    tree = dumbbell(8.91e-6, [3.22046e-12, 2.25396e-11, 2.25396e-11], balls, 0.718, [3.90136, 0.0, -9.00086])
    orientation = np.array([0.142762344, 0.867844774, 0.349392052, -0.323093725])
    start = tree.place(
        body=[0.0, 0.000693, 0.00858, *orientation / np.linalg.norm(orientation)],
        rates={"body": [-34.8, -3.87, -28.6, -0.172, -0.0604, 0.0244]},
        contacts=[],
    )
    run = tr.simulate(tree, start, 0.16)
    assert run.status is tr.Status.SUCCESS
    assert "time stepping" in {one["to"] for one in run.transitions}
    assert len(searches) < 20


def test_the_record_of_time_steps_tells_the_moments_of_drilling():
    """Two discs fall onto sticky ground; one slides and spins while the other one asks for time steps."""
    drilling, adhesion = 0.000571, 0.00394
    robot = tr.Robot(gravity=[0.093, 0.0, -9.80956], on_slip="slide", on_separation="fly")
    robot.free(0.00465, [1.05e-07, 1.05e-07, 1.99e-07], shape=tr.Disc(0.009, 0.000647), name="one")
    robot.free(0.00138, [3.14e-08, 3.14e-08, 5.97e-08], shape=tr.Disc(0.00979, 0.0), name="other")
    robot.terrain(tr.Plane(), friction=tr.Friction(0.779, drilling=drilling, adhesion=adhesion))
    tree = robot.finish()
    orientation = np.array([0.6075813074140365, 0.6683394381554403, 0.40505420494269107, -0.14176897172994188])
    start = tree.place(
        one=[0.03, -0.000769, 0.011, *orientation / np.linalg.norm(orientation)],
        other=[0.09, 0.00205, 0.0323, 1.0, 0.0, 0.0, 0.0],
        contacts=[],
        rates={"other": [2.45, 9.33, -6.41, 0.0, 0.0, 0.0]},
    )
    run = tr.simulate(tree, start, 0.085, output_step=5e-6)
    begins = [one["time"] for one in run.transitions if one["to"] == "time stepping"]
    ends = [one["time"] for one in run.transitions if one["from"] == "time stepping"]
    stepped = np.any([(run.time > a) & (run.time < b) for a, b in zip(begins, ends, strict=True)], axis=0)
    load = run["contact_force"][:, 1, 2] + adhesion
    slides = stepped & (run["mode"][:, 1] == "sliding")
    assert np.sum(slides) > 10
    np.testing.assert_allclose(np.abs(run["contact_moment"][slides, 1]), drilling * load[slides], rtol=1e-6)
