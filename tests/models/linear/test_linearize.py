"""Linear models against formulas: a bicycle, a rolling disc, a cart with a pole, a ball on a plate."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import trundle as tr
from bench.classics import bicycle

G, HALF = 9.81, 0.5**0.5
R, M = 0.1, 1.0
THIN, POLAR = M * R**2 / 4, M * R**2 / 2


def disc() -> tr.RollingTree:
    robot = tr.Robot(gravity=(0, 0, -G))
    robot.free(M, [THIN, THIN, POLAR], shape=tr.Disc(R), name="disc")
    robot.terrain(tr.Plane(), friction=1.0)
    return robot.finish()


def cart() -> tr.RollingTree:
    """A cart of 1 kg on a rail with a point mass of 0.2 kg on a pole of 0.5 m."""
    robot = tr.Robot()
    slider = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")
    robot.revolute(slider, (0, 0), 0.2, 1e-12, center_of_mass=(0.0, 0.5), name="pole", actuated=False)
    return robot.finish()


@pytest.mark.parametrize("speed", [0.0, 3.0, 5.0, 8.0])
def test_a_bicycle_has_the_published_eigenvalues(speed: float) -> None:
    linear = tr.linearize(*bicycle.robot(speed))
    for wanted in bicycle.eigenvalues(speed):
        assert min(abs(linear.eigenvalues - wanted)) < 1e-11
    assert {"frame.orientation.x", "fork.joint", "fork.rate"} <= set(linear.states)
    assert np.all(linear.drift == 0.0)


@pytest.mark.parametrize("spin", [0.0, 5.0, 10.0, 20.0])
def test_a_rolling_disc_falls_or_wobbles_as_the_formula_says(spin: float) -> None:
    tree = disc()
    start = tree.place(disc=(0, 0, R, HALF, HALF, 0, 0), rates={"disc": [0, spin, 0, R * spin, 0, 0]})
    linear = tr.linearize(tree, start)
    square = (M * G * R - POLAR * (POLAR + M * R**2) * spin**2 / THIN) / (THIN + M * R**2)
    wanted = np.sqrt(complex(square))
    assert min(abs(linear.eigenvalues - wanted)) < 1e-10
    assert min(abs(linear.eigenvalues + wanted)) < 1e-10
    assert sum(abs(linear.eigenvalues) > 1e-5) == 2


def test_a_cart_with_a_pole_has_the_textbook_matrices() -> None:
    tree = cart()
    linear = tr.linearize(tree, tree.place(), outputs=("pole.joint",))
    assert linear.states == ("cart.joint", "pole.joint", "cart.rate", "pole.rate")
    m, length = 0.2, 0.5
    # The pole's angle is counter-clockwise: its tip moves to the left.
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, m * G, 0, 0], [0, (1 + m) * G / length, 0, 0]])
    assert np.allclose(linear.A, A, atol=1e-9)
    assert linear.inputs == ("cart.torque",)
    assert np.allclose(linear.B[:, 0], [0, 0, 1.0, 1.0 / length], atol=1e-9)
    assert np.allclose(linear.C, [[0, 1, 0, 0]])
    assert not linear.D.any()
    T = 0.02
    sampled = tr.linearize(tree, tree.place(), period=T)
    whole = expm(T * np.block([[linear.A, linear.B], [np.zeros((1, 5))]]))
    assert np.allclose(sampled.A, whole[:4, :4], atol=1e-13)
    assert np.allclose(sampled.B, whole[:4, 4:], atol=1e-13)


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
def test_a_ball_on_a_tilted_plate_rolls_with_five_sevenths_of_gravity(coordinates: str) -> None:
    radius = 0.02
    ball = tr.RigidBody(tr.Sphere(radius), mass=0.1, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), coordinates=coordinates)
    linear = tr.linearize(pair, pair.place())
    tilt = linear.A[:, linear.states.index("hand.orientation.y")]
    assert np.allclose(np.abs(tilt).max(), 5 / 7 * G / radius, atol=1e-9)
    assert sum(np.abs(tilt) > 1e-6) == 1
    assert all(name.startswith("hand.twist_rate") for name in linear.inputs)


def test_directions_keep_the_constraints_and_outputs_agree_with_differences() -> None:
    tree, start = bicycle.robot(4.0)
    names = ("frame.velocity", "energy", "rear.force")
    linear = tr.linearize(tree, start, outputs=names)
    model = tree.model(start.atlas)
    found = model.dynamics(tree.system.start_laws[:2])
    for name, expected in (("frame.velocity", 3), ("energy", 1), ("rear.force", 3)):
        assert sum(output.startswith(name) for output in linear.outputs) == expected
    force = ca.Function("force", [model.x, model.u], [found.forces[0], found.terms.velocity, found.energy])
    u, h = np.zeros(model.u.shape[0]), 1e-6
    for j in range(len(linear.states)):
        ahead, behind = (force(start.x + s * h * linear.directions[:, j], u) for s in (1, -1))
        slope = (np.asarray(ahead[0]) - np.asarray(behind[0])).ravel() / (2 * h)
        assert np.allclose(linear.C[4:, j], slope, atol=1e-4 * max(1.0, float(np.abs(slope).max())))
        assert float(np.abs(np.asarray(ahead[1])).max()) < 1e-8  # rolls on to first order


def test_a_linear_model_predicts_a_simulation_along_a_run() -> None:
    robot = tr.Robot()
    robot.free(1.0, 0.01, shape=tr.Ellipse([0.1, 0.06]), name="egg")
    robot.terrain(tr.Line(), friction=1.0)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(egg=(0, 0.06, 0.0), rates={"egg": 1.0}), 0.4)
    start = tr.start_at(run, 0.2)
    linear = tr.linearize(tree, start)
    assert linear.steady is None
    assert np.abs(linear.drift).max() > 0.1
    T, h = 1e-3, 1e-6
    for j, direction in enumerate(linear.directions.T):
        # With the drift small over T the map is that of A: e^(A T) to second order in T.
        ends = [tr.start_at(tr.simulate(tree, replace(start, x=start.x + s * h * direction), T), T).x for s in (1, -1)]
        change = np.linalg.lstsq(linear.directions, (ends[0] - ends[1]) / (2 * h), rcond=None)[0]
        assert np.allclose((change - np.eye(len(change))[j]) / T, linear.A[:, j], atol=0.02 * np.abs(linear.A).max())


def test_bad_arguments_are_named() -> None:
    tree = cart()
    start = tree.place()
    with pytest.raises(tr.InputError, match="outputs"):
        tr.linearize(tree, start, outputs=("nothing",))
    with pytest.raises(tr.InputError, match="inputs"):
        tr.linearize(tree, start, inputs=[np.nan])
    with pytest.raises(tr.InputError, match="states"):
        tr.linearize(tree, start, states=("cart.speed",))
    with pytest.raises(tr.InputError, match="period"):
        tr.linearize(tree, start, period=0.1).sampled(0.1)
    falling = tree.place(pole=0.3)
    with pytest.raises(tr.InputError, match="drift"):
        tr.linearize(tree, falling, period=0.1)
    egg, lying = bicycle.robot(2.0)
    with pytest.raises(tr.InputError, match="states"):
        tr.linearize(egg, lying, states=("frame.angular_velocity.y",))


@pytest.mark.parametrize("tilt", [-0.3, -0.0425, -0.0352])
def test_a_plank_on_the_rounded_corner_of_a_box_has_a_linear_model(tilt: float) -> None:
    """Beside the arc its ground is exactly flat: at some places that the search passes nothing bends at all."""
    robot = tr.Robot(gravity=[0.0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=tr.Box([0.6, 0.05]), name="plank")
    robot.terrain(tr.Rounded(tr.Box([0.5, 0.3]), 0.05), friction=5.0)
    tree = robot.finish()
    axis = np.array([np.cos(tilt), np.sin(tilt)])
    middle = np.array([0.5, 0.3]) + 0.1 * np.array([-axis[1], axis[0]]) + 0.3953 * axis
    start = tree.place(plank=[*middle, tilt], contacts=["plank"])
    found = tr.linearize(tree, start).A
    # Rolling on a circle of radius r: the point of contact runs along the plank as it tilts, by -r a radian.
    assert np.all(np.isfinite(found))
    assert found[1, 2] == pytest.approx(1.0)
