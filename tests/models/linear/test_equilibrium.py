"""Equilibria and steady motions against formulas and against simulations of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr

G, R = 9.81, 0.1


def disc() -> tr.RollingTree:
    robot = tr.Robot(gravity=(0, 0, -G))
    robot.free(1.0, [R**2 / 4, R**2 / 4, R**2 / 2], shape=tr.Disc(R), name="disc")
    robot.terrain(tr.Plane(), friction=2.0)
    return robot.finish()


@pytest.mark.parametrize("lean", [0.1, 0.2, 0.3])
def test_a_disc_rolls_in_a_circle_and_a_simulation_stays_in_it(lean: float) -> None:
    tree = disc()
    q = Rotation.from_euler("x", np.pi / 2 + lean).as_quat(scalar_first=True)
    start = tree.place(disc=(0, 0, R * np.cos(lean), *q), rates={"disc": [0, 15, -3, None, None, None]})
    found = tr.equilibrium(tree, start, moving=True)
    assert found.status is tr.Status.SUCCESS
    assert found.residual < 1e-9
    assert found.steady is not None
    # Newton and Euler for vectors that all turn about the vertical: F = m (g + Omega x v), r x F = Omega x L.
    x = found.start.x
    A, w = Rotation.from_quat(x[3:7], scalar_first=True).as_matrix(), x[7:10]
    Omega = np.array([0.0, 0.0, found.steady.rates["about the vertical"]])
    axis = A[:, 2]
    down = axis * axis[2] - [0, 0, 1]
    arm = R * down / np.linalg.norm(down)
    force = G * np.array([0, 0, 1.0]) + np.cross(Omega, np.cross(w, -arm))
    L = A @ np.diag([R**2 / 4, R**2 / 4, R**2 / 2]) @ A.T @ w
    assert np.allclose(np.cross(arm, force), np.cross(Omega, L), atol=1e-9)
    assert abs(Omega[2]) > 0.1
    run = tr.simulate(tree, found.start, 2.0)
    assert np.ptp(run["body_position"][:, 0, 2]) < 1e-8
    assert tr.linearize(tree, found.start).steady is not None


def test_an_unsymmetric_body_has_no_steady_motion_of_that_kind() -> None:
    robot = tr.Robot(gravity=(0, 0, -G))
    robot.free(1.0, [0.01, 0.02, 0.025], shape=tr.Ellipsoid([0.1, 0.08, 0.06]), name="stone")
    robot.terrain(tr.Plane(), friction=1.0)
    tree = robot.finish()
    start = tree.place(stone=(0, 0, 0.06), rates={"stone": [0.5, 1.0, 0.2, None, None, None]})
    assert tr.linearize(tree, start).steady is None
    resting = tr.equilibrium(tree, start)
    assert resting.status is tr.Status.SUCCESS
    assert resting.steady is None


def test_an_egg_finds_its_tip_or_its_side() -> None:
    robot = tr.Robot()
    robot.free(1.0, 0.01, shape=tr.Ellipse([0.1, 0.05]), name="egg")
    robot.terrain(tr.Line(), friction=1.0)
    tree = robot.finish()
    for angle, height in ((1.4, 0.1), (0.2, 0.05)):
        found = tr.equilibrium(tree, tree.place(egg=(0.0, height, angle)))
        assert found.status is tr.Status.SUCCESS
        assert abs(found.start.x[1] - height) < 1e-12
        assert found.margins["egg.normal_force"] == pytest.approx(9.81)


def test_torques_that_hold_an_arm_and_a_coordinate_that_is_held() -> None:
    robot = tr.Robot()
    upper = robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0.25, 0.0), name="upper")
    robot.revolute(upper, (0.5, 0.0), 0.5, 0.01, center_of_mass=(0.2, 0.0), name="lower")
    tree = robot.finish()
    start = tree.place(upper=0.3, lower=-0.5)
    found = tr.equilibrium(
        tree, start, free_inputs=("upper.torque", "lower.torque"), hold=("upper.joint", "lower.joint")
    )
    assert found.status is tr.Status.SUCCESS
    lower = 0.5 * G * 0.2 * np.cos(-0.2)
    upper_torque = 1.0 * G * 0.25 * np.cos(0.3) + 0.5 * G * 0.5 * np.cos(0.3) + lower
    assert np.allclose(found.inputs, [upper_torque, lower], atol=1e-9)
    assert tr.linearize(tree, found.start, inputs=found.inputs).drift.any() == np.False_


@pytest.mark.parametrize(("friction", "status"), [(0.2, tr.Status.SUCCESS), (0.1, tr.Status.START_INFEASIBLE)])
def test_an_ellipse_stands_on_a_slope_that_does_not_let_it_slip(friction: float, status: tr.Status) -> None:
    a, b, slope = 0.1, 0.08, 0.15
    robot = tr.Robot()
    robot.free(1.0, 0.01, shape=tr.Ellipse([a, b]), name="egg")
    robot.terrain(tr.Line(slope=slope), friction=friction)
    tree = robot.finish()
    found = tr.equilibrium(tree, tree.place(egg=(0.0, b, 0.2)), hold=("egg.position.x",))
    assert found.residual < 1e-9
    assert found.status is status
    # The centre is over the contact: n = (cos, sin) of the boundary's parameter, offset a cos, b sin.
    t = found.start.x[2]
    n = np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) @ (np.array([slope, -1.0]) / np.hypot(slope, 1.0))
    contact = np.array([a**2 * n[0], b**2 * n[1]]) / np.hypot(a * n[0], b * n[1])
    assert abs(np.cos(t) * contact[0] - np.sin(t) * contact[1]) < 1e-10


def test_unknown_names_are_refused() -> None:
    tree = disc()
    start = tree.place(disc=(0, 0, R, 0.5**0.5, 0.5**0.5, 0, 0))
    with pytest.raises(tr.InputError, match="hold"):
        tr.equilibrium(tree, start, hold=("nothing",))
    with pytest.raises(tr.InputError, match="free_inputs"):
        tr.equilibrium(tree, start, free_inputs=("disc.torque",))


def test_a_ball_comes_to_rest_on_a_bowl_and_not_above_it() -> None:
    radius = 0.01
    bowl = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - 3 * x**2 - 4 * y**2, size=0.2)
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(radius), mass=0.01), tr.Ground(bowl))
    found = tr.equilibrium(pair, pair.place(contact_on_hand=(0.02, 0.01, 0.0016)))
    assert found.status is tr.Status.SUCCESS
    center = found.start.x[pair.model(found.start.atlas).layout["object.position"]]
    assert np.abs(center - [0, 0, radius]).max() < 1e-13
    assert abs(bowl.distance([center])[0][0] - radius) < 1e-15
    run = tr.simulate(pair, found.start, 0.1)
    assert np.abs(run["object_position"] - center).max() < 1e-12


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
def test_what_is_held_does_not_move(coordinates: str) -> None:
    hand = tr.Hand(tr.Line(slope=0.2), position=(0.1, 0.2))
    pair = tr.RollingPair(tr.RigidBody(tr.Ellipse([0.03, 0.02]), mass=1.0), hand, coordinates=coordinates)
    found = tr.equilibrium(pair, pair.place(contact_on_hand=(0.05, 0.01)), hold=("hand.position", "hand.orientation"))
    assert found.status is tr.Status.SUCCESS
    layout = pair.model(found.start.atlas).layout
    assert found.start.x[layout["hand.position"]].tolist() == [0.1, 0.2]
    assert found.start.x[layout["hand.orientation"]].tolist() == [0.0]


def test_shapes_that_overlap_elsewhere_are_no_equilibrium() -> None:
    """An ellipsoid on the ridge of a valley whose flanks are steeper: where it touches all is well."""

    def valley(steep: float) -> tr.RollingPair:
        ground = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - steep * x**4 + 5 * y**2, size=0.3)
        return tr.RollingPair(tr.RigidBody(tr.Ellipsoid([0.1, 0.02, 0.08]), mass=0.1), tr.Ground(ground))

    start = valley(400.0).place(contact_on_hand=(0, 0, 0))
    assert tr.equilibrium(valley(400.0), start).status is tr.Status.SUCCESS
    with pytest.raises(tr.InputError, match="free of penetration"):
        valley(4000.0).place(contact_on_hand=(0, 0, 0))
    found = tr.equilibrium(valley(4000.0), start)
    assert found.status is tr.Status.START_INFEASIBLE
    assert found.margins["contact.overlap"] < -0.01
