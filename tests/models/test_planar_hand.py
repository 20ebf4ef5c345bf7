"""A hand in the plane against maximal coordinates, against its twin in space, and against ground that stands still."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.oracles import curves
from tests.oracles.planar_hand import OnHand
from trundle.contact.laws import ROLLING, SEPARATED, Law, Sliding

BUTTERFLY = [0.0, -0.04 / 0.11]
# body, its outline as numbers, hand, its curve with the free side on the left, a point on it, its parameter
PAIRS: dict[str, tuple[tr.Shape, curves.Curve, tr.Shape, curves.Curve, list[float], float]] = {
    "ellipse on a line": (
        tr.Ellipse([0.0377, 0.0252]), curves.ellipse(0.0377, 0.0252), tr.Line(), curves.line(), [0.05, 0.0], 0.05,
    ),
    "ball on a butterfly": (
        tr.Circle(0.0166), curves.circle(0.0166),
        tr.FourierRadius(0.11, BUTTERFLY), curves.fourier(0.11, BUTTERFLY).reversed(),
        [(0.11 - 0.04 * np.cos(2.4)) * np.cos(1.2), (0.11 - 0.04 * np.cos(2.4)) * np.sin(1.2)], -1.2,
    ),
    "ellipse on an ellipse": (
        tr.Ellipse([0.05, 0.03]), curves.ellipse(0.05, 0.03),
        tr.Ellipse([0.2, 0.1]), curves.ellipse(0.2, 0.1).reversed(),
        [0.2 * np.cos(1.9), 0.1 * np.sin(1.9)], -1.9,
    ),
    "rock in a bowl": (
        tr.FourierRadius(0.05, [0, 0.1]), curves.fourier(0.05, [0, 0.1]), tr.Arc(0.5), curves.arc(0.5),
        [0.5 * np.sin(0.2), -0.5 * np.cos(0.2)], 0.2,
    ),
}  # fmt: skip
COM = [0.003, -0.002]
MOTION = tr.SinusoidMotion([5.0, 2.0, 3.0], [1.0, 2.0, 1.5], [0.3, 1.0, -0.5])


def control(t: float) -> np.ndarray:
    return np.array([5.0, 2.0, 3.0]) * np.sin(2 * np.pi * np.array([1.0, 2.0, 1.5]) * t + [0.3, 1.0, -0.5])


def pair_of(name: str, twist: Any, **options: Any) -> tr.RollingPair:
    body, _, hand, *_ = PAIRS[name]
    rock = tr.RigidBody(body, mass=0.06, inertia=3e-5, center_of_mass=COM)
    base = tr.Hand(hand, position=(0.2, 0.3), angle=0.4, twist=twist, motion=MOTION)
    return tr.RollingPair(rock, base, friction=0.5, **options)


def oracle_of(name: str, pair: tr.RollingPair, start: Any, angle: float) -> tuple[OnHand, np.ndarray]:
    """The oracle and its state (14,) at the package's start."""
    _, outline, _, curve, _, p = PAIRS[name]
    oracle = OnHand(outline, curve, 0.06, 3e-5, np.array(COM))
    phi, _ = oracle.shapes.find(p, angle - 0.4)
    hand = pair.base
    model = pair.system.model(start.atlas)
    at = {key: start.x[where] for key, where in model.layout.items()}
    body = [at[f"object.{key}"] for key in ("position", "orientation", "velocity", "angular_velocity")]
    return oracle, np.concatenate([[phi, p], *body, hand.position, [hand.angle], hand.twist])


def found(pair: tr.RollingPair, start: Any, u: np.ndarray, law: Law) -> tuple[np.ndarray, ...]:
    """(alpha, a) and the force of the package."""
    model = pair.system.model(start.atlas)
    laws = [law, *[SEPARATED] * (len(model.constraints) - 1)]
    dynamics = model.dynamics(laws)
    function = ca.Function("f", [model.x, model.u], [dynamics.nudot, model.to_world @ dynamics.forces[0]])
    return tuple(np.asarray(value).ravel() for value in function(start.x, u))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("slip", [0.0, 0.3, -0.2])
def test_accelerations_and_forces_are_those_of_maximal_coordinates(name, slip):
    rng = np.random.default_rng(7)
    for _ in range(10):
        twist, u = rng.normal(size=3) * [2, 0.5, 0.5], rng.normal(size=3) * [10, 5, 5]
        angle, w = 0.4 + rng.uniform(-0.3, 0.3), rng.normal() * 5
        pair = pair_of(name, twist)
        R = pair.base.R_world_hand
        _, n = pair.base.shape.distance(np.array([PAIRS[name][4]]))
        tangent = R @ np.array([n[0, 1], -n[0, 0]])
        start = pair.place(
            contact_on_hand=PAIRS[name][4], object_angle=angle, object_angular_velocity=w, slip=slip * tangent
        )
        oracle, y = oracle_of(name, pair, start, angle)
        right = oracle.accelerations(y, u, mu=0.5 if slip else None)
        np.testing.assert_allclose(right["slip"], slip * tangent, atol=1e-13)
        nudot, force = found(pair, start, u, Sliding() if slip else ROLLING)
        expected = np.r_[right["alpha"], right["a"]]
        np.testing.assert_allclose(nudot, expected, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(force, right["force"], atol=1e-11 * np.abs(right["force"]).max())
        if not slip:
            minimal = pair_of(name, twist, coordinates="rolling")
            start = minimal.place(contact_on_hand=PAIRS[name][4], object_angle=angle, object_angular_velocity=w)
            nudot, force = found(minimal, start, u, ROLLING)
            np.testing.assert_allclose(nudot, expected, atol=1e-11 * np.abs(expected).max())
            np.testing.assert_allclose(force, right["force"], atol=1e-11 * np.abs(right["force"]).max())


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
@pytest.mark.parametrize("name", PAIRS)
def test_trajectories_are_those_of_maximal_coordinates(name, coordinates):
    options = {"on_slip": "ignore", "on_separation": "ignore"}
    twist, duration = (0.5, 0.1, -0.2), 0.4
    place = {"contact_on_hand": PAIRS[name][4], "object_angle": 0.5, "object_angular_velocity": 0.7}
    pair = pair_of(name, twist, **options)
    oracle, y = oracle_of(name, pair, pair.place(**place), 0.5)
    pair = pair_of(name, twist, coordinates=coordinates, **options)
    run = tr.simulate(pair, pair.place(**place), duration, relative_tolerance=1e-13, output_step=duration / 20)
    assert run.time[-1] == pytest.approx(duration)
    states = oracle.run(y, control, run.time)
    np.testing.assert_allclose(run["object_position"][:, [0, 2]], states[:, 2:4], atol=1e-8)
    np.testing.assert_allclose(run["hand_position"][:, [0, 2]], states[:, 8:10], atol=1e-10)
    np.testing.assert_allclose(run["hand_angular_velocity"][:, 1], -states[:, 11], atol=1e-10)
    half = np.arctan2(-run["object_quaternion"][:, 2], run["object_quaternion"][:, 0])
    np.testing.assert_allclose(np.unwrap(2 * half), states[:, 4], atol=1e-8)
    right = [oracle.accelerations(s, control(t)) for t, s in zip(run.time, states, strict=True)]
    np.testing.assert_allclose(run["contact_force"][:, [0, 2]], [r["force"] for r in right], atol=1e-6)
    np.testing.assert_allclose(run["contact_position"][:, [0, 2]], [r["contact"] for r in right], atol=1e-8)


def test_sliding_is_that_of_maximal_coordinates():
    name, times = "ellipse on a line", np.linspace(0, 0.02, 5)
    pair = pair_of(name, (0.5, 0.1, -0.2), on_slip="slide")
    slip = 2.0 * pair.base.R_world_hand @ np.array([1.0, 0.0])
    start = pair.place(contact_on_hand=[0.05, 0], object_angle=0.5, object_angular_velocity=0.7, slip=slip)
    oracle, y = oracle_of(name, pair, start, 0.5)
    states = oracle.run(y, control, times, mu=0.5)
    right = [oracle.accelerations(s, control(t), 0.5) for t, s in zip(times, states, strict=True)]
    run = tr.simulate(pair, start, times[-1], relative_tolerance=1e-12, output_step=times[1])
    index = [int(np.flatnonzero(np.abs(run.time - t) < 1e-12)[-1]) for t in times]
    assert set(run["mode"][index]) == {"sliding"}
    np.testing.assert_allclose(run["object_position"][index][:, [0, 2]], states[:, 2:4], atol=1e-8)
    np.testing.assert_allclose(run["slip"][index][:, [0, 2]], [r["slip"] for r in right], atol=1e-8)


def moved_in_plane(d: int, **options: Any) -> tr.Trajectory:
    """A ball on a plate that is thrown and shaken in the x-z plane, in space (d = 3) or in the plane."""
    radius, mass = 0.03, 0.2
    waves = ([3.0, 2.0, 25.0], [1.5, 1.0, 2.0], [0.3, 0.2, 1.0])
    if d == 2:
        ball = tr.RigidBody(tr.Circle(radius), mass=mass, inertia=0.4 * mass * radius**2)
        hand = tr.Hand(
            tr.Line(), position=(0.1, 0.2), angle=0.1, twist=(0.2, 0.1, 0.3), motion=tr.SinusoidMotion(*waves)
        )
        pair = tr.RollingPair(ball, hand, friction=0.2, **options)
        start = pair.place(contact_on_hand=(0.05, 0), object_angle=0.3, object_angular_velocity=2.0)
    else:
        ball = tr.RigidBody(tr.Sphere(radius), mass=mass)
        amplitude, frequency, phase = ([0, s * v[0], 0, v[1], 0, v[2]] for v, s in zip(waves, (-1, 1, 1), strict=True))
        motion = tr.SinusoidMotion(amplitude, frequency, phase)
        twist = (0, -0.2, 0, 0.1, 0, 0.3)
        hand = tr.Hand(tr.Plane(), position=(0.1, 0, 0.2), rpy=(0, -0.1, 0), twist=twist, motion=motion)
        pair = tr.RollingPair(ball, hand, friction=0.2, **options)
        q = (np.cos(0.15), 0, -np.sin(0.15), 0)
        start = pair.place(contact_on_hand=(0.05, 0, 0), object_quaternion=q, object_angular_velocity=(0, -2.0, 0))
    return tr.simulate(pair, start, 1.0, relative_tolerance=1e-12)


def test_a_ball_on_a_plate_is_a_circle_on_a_line():
    options = {"on_slip": "slide", "on_separation": "fly"}
    plane, space = moved_in_plane(2, **options), moved_in_plane(3, **options)
    assert [t["to"] for t in plane.transitions] == [t["to"] for t in space.transitions]
    assert {"sliding", "separated", "rolling"} <= set(plane["mode"])
    assert set(plane.dataset.data_vars) == set(space.dataset.data_vars)
    kept = np.abs(plane.time - space.time) < 1e-12
    assert np.mean(kept) > 0.95
    for name in plane.dataset.data_vars:
        if name == "mode":
            np.testing.assert_array_equal(plane["mode"][kept], space["mode"][kept])
        elif name == "event_contact":
            np.testing.assert_array_equal(plane[name], space[name])
        elif name not in ("contact_on_object", "contact_force"):
            assert plane[name].shape == space[name].shape
            of_samples = "time" in plane.dataset[name].dims
            rows = kept if of_samples else slice(None)
            np.testing.assert_allclose(plane[name][rows], space[name][rows], atol=1e-8, err_msg=name)
    np.testing.assert_allclose(plane["contact_force"][kept], space["contact_force"][kept], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.1, 2.0])
def test_a_hand_at_rest_is_ground(friction):
    """Sliding, flight, impacts and second contacts of a ball that falls into the valleys of a wave."""
    ball = tr.RigidBody(tr.Ellipse([0.06, 0.05]), mass=0.2)
    wave = tr.Sinusoid(0.03, 0.2)
    options = {"friction": friction, "on_slip": "slide", "on_separation": "fly"}
    hand = tr.RollingPair(ball, tr.Hand(wave), **options)
    ground = tr.RollingPair(ball, tr.Ground(wave), **options)
    z = 0.03 * np.sin(2 * np.pi * 0.04 / 0.2)
    on_hand = hand.place(contact_on_hand=(0.04, z), object_angle=0.3, object_angular_velocity=-12.0)
    on_ground = ground.place(contact_x=0.04, angle=0.3, angular_velocity=-12.0)
    two = tr.simulate(ground, on_ground, 0.5)
    # On ground a ball comes to rest for good; a hand may always start to move.
    end = next((t["time"] for t in two.transitions if t["to"] == "rest"), 0.5)
    end = 0.001 * np.floor(1000 * end - 1e-6) if end < 0.5 else end
    one = tr.simulate(hand, on_hand, end, output_step=0.001)
    two = tr.simulate(ground, on_ground, end, output_step=0.001)
    assert [t["to"] for t in one.transitions] == [t["to"] for t in two.transitions]
    assert len(one.transitions) > 1
    n = min(len(one), len(two))
    np.testing.assert_allclose(one["object_position"][:n, [0, 2]], two["body_position"][:n, 0], atol=1e-9)
    np.testing.assert_allclose(one["object_angular_velocity"][:n, 1], -two["body_angular_velocity"][:n, 0], atol=1e-7)


class Constant:
    """A policy that holds the derivative of the planar body twist."""

    period = 0.01

    def reset(self) -> None: ...

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([1.0, 0.5, 2.0])


def test_a_policy_gives_the_derivative_of_the_planar_twist():
    pair = pair_of("ball on a butterfly", (0, 0, 0), on_slip="ignore", on_separation="ignore")
    start = pair.place(contact_on_hand=PAIRS["ball on a butterfly"][4])
    run = tr.simulate(pair, start, 0.2, policy=Constant())
    np.testing.assert_allclose(run["hand_acceleration"], np.tile([0, -1.0, 0, 0.5, 0, 2.0], (len(run), 1)))
    np.testing.assert_allclose(run["hand_angular_velocity"][:, 1], -run.time, atol=1e-12)
    np.testing.assert_array_equal(run["contact_moment"], 0.0)
    for name in ("object_position", "hand_velocity", "contact_normal", "contact_force", "slip"):
        np.testing.assert_array_equal(run[name][:, 1], 0.0)


def test_starts_that_do_not_fit():
    pair = pair_of("ellipse on a line", (0, 0, 0))
    with pytest.raises(tr.InputError, match="contact_on_hand"):
        pair.place(contact_on_hand=(0, 0, 0))
    with pytest.raises(tr.InputError, match="object_quaternion"):
        pair.place(object_quaternion=(1, 0, 0, 0))
    plate = tr.RollingPair(pair.body, tr.Hand(tr.Line(), extent=0.1))
    with pytest.raises(tr.InputError, match=r"extent \[0.1\]"):
        plate.place(contact_on_hand=(0.051, 0))
    with pytest.raises(tr.InputError, match="two shapes of one dimension"):
        tr.RollingPair(pair.body, tr.Hand(tr.Plane()))
