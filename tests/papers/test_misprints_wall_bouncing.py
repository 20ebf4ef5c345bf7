"""Paper 5 (Liu, Dai and others 2025): what its text says wrongly or leaves out, beside what holds.

Where a number is asked of the paper's form of the dynamics, it is that of the shipped robot.
"""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from tests.oracles import ball_balancer as oracle
from trundle.contact.soft import SoftLaw, SoftTouch, Wall, frozen_tangents, normal_force
from trundle.systems.wallbounce.control.costs import holding
from trundle.systems.wallbounce.control.schedule import PAPER, ScheduleRules, contact_schedule
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
NUMBERS = {field.name: getattr(ROBOT, field.name) for field in dataclasses.fields(ROBOT)}


def misses(count: int) -> np.ndarray:
    """Errors (count, 2) of the accelerations of ball and lean by (6), (7): upright robots under random forces.

    Each over the true one, from Lagrange's equations.
    """
    rng, found = np.random.default_rng(0), []
    m, c = ROBOT.mass, ROBOT.com
    inertia = np.diag(ROBOT.inertia) + m * (c @ c * np.eye(3) - np.outer(c, c))
    joints = np.tile(ROBOT.joint_rest, 2)
    for _ in range(count):
        drive, forces = rng.normal(size=2) * 20, rng.normal(size=(2, 3)) * 20
        true = oracle.motion(NUMBERS, np.zeros(5), np.zeros(5), joints, drive, 0.0, forces)["acceleration"]
        v, w = true[:2], true[:2:-1]  # of roll and pitch: about x and y where it is upright
        total = drive + forces[:, :2].sum(axis=0)
        hands = [oracle.hand(NUMBERS, np.zeros(5), q, side) for q, side in ((joints[:3], 1), (joints[3:], -1))]
        moment = np.cross([0, 0, -ROBOT.ball_radius], [*drive, 0]) - np.cross(c, [*total, 0])
        moment = moment + np.cross(hands, forces).sum(axis=0)
        a, alpha = total / m, np.linalg.solve(inertia, moment)[:2]
        found.append([np.linalg.norm(a - v) / np.linalg.norm(v), np.linalg.norm(alpha - w) / np.linalg.norm(w)])
    return np.array(found)


def test_6_and_7_miss_more_than_half_of_the_accelerations() -> None:
    assert (np.median(misses(40), axis=0) > 0.5).all()


def test_6_leaves_out_the_mass_and_the_inertia_of_the_ball() -> None:
    """A robot that does not turn: with the body's mass alone the same force accelerates it by a sixth more."""
    rolling = ROBOT.mass + ROBOT.ball_mass + ROBOT.ball_inertia / ROBOT.ball_radius**2
    assert ROBOT.effective_mass == pytest.approx(rolling)
    assert oracle.mass_matrix(NUMBERS, np.zeros(5))[0, 0] == pytest.approx(rolling)
    assert rolling / ROBOT.mass == pytest.approx(1.16, abs=0.01)


def test_the_upright_tangent_ends_at_horizontal_surfaces() -> None:
    """V-A: of a floor or a table t1 = ez is the normal, and t2 = n x t1 is zero."""
    n = np.array([0.0, 0.0, 1.0])
    np.testing.assert_array_equal(np.cross(n, [0.0, 0.0, 1.0]), 0.0)
    for normal in (n, np.array([-1.0, 0.0, 0.0]), np.array([0.48, -0.6, -0.64])):
        frame = np.column_stack([normal, frozen_tangents(normal)])
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-15)


def test_a_force_that_is_zero_off_the_wall_draws_no_hand_there() -> None:
    """V-B: a function that sticks to 0 above the surface has no gradient there, a logistic one has."""
    law, d = SoftLaw(), ca.SX.sym("d")
    s = ca.fmin(ca.fmax(-d / 0.02, 0.0), 1.0)
    stuck = law.largest * s**3 * (10 - 15 * s + 6 * s**2)  # twice differentiable, rises below the surface
    slopes = ca.Function("slopes", [d], [ca.gradient(f, d) for f in (stuck, normal_force(d, law.largest, 0.02, 0.02))])
    for distance in (0.005, 0.05, 0.2):
        off, felt = (float(slope) for slope in slopes(distance))
        assert off == 0.0 > felt
    assert float(slopes(-0.01)[0]) < 0.0


def test_13_is_no_linear_complementarity() -> None:
    """f v = 0 is a product of what both depend on the unknowns: its second derivative does not vanish."""
    z = ca.SX.sym("z", 2)  # distance and speed along the wall
    touch = SoftTouch.at(ca.vertcat(z[0], 0, 0), ca.vertcat(0, z[1], 0), 0.0, Wall([0, 0, 0], [1, 0, 0]))
    slip = ca.sumsqr(touch.no_slip(normal_force(touch.distance, 40.0, 0.02, 0.02), 40.0)) ** 0.5
    mixed = ca.Function("mixed", [z], [ca.jacobian(ca.gradient(slip, z)[1], z[0])])
    assert float(mixed([-0.02, 0.3])) < -1.0


def test_a_threshold_on_force_alone_takes_a_hand_that_hovers_for_a_contact() -> None:
    """VI-C: 1 cm off the wall the soft force is above the threshold already."""
    hovers = np.full((25, 1), 0.01)
    force = np.asarray(normal_force(hovers, 60.0, 0.02, 0.02))
    assert (force > ScheduleRules().on).all()
    times = 0.04
    assert contact_schedule(force, hovers, times, PAPER).all()
    off = np.full((25, 1), 0.05)
    force = np.full((25, 1), 5.0)
    assert contact_schedule(force, off, times, PAPER).all()
    assert not contact_schedule(force, off, times, ScheduleRules()).any()


def test_the_speed_of_the_ball_hides_a_drive_that_grows() -> None:
    """VI-D: a PID loop on the ball's own speed meets a zero in the right half-plane, slower than the fall itself.

    Lean and drive that grow as e^(z t), z^2 = m g c / (I_O + m c r_b), leave the ball where it is.
    """
    m, c, r_b = ROBOT.mass, ROBOT.com[2], ROBOT.ball_radius
    z = np.sqrt(m * ROBOT.gravity * c / (ROBOT.inertia[1] + m * c**2 + m * c * r_b))
    lean, drive = 1e-6, m * c * z**2 * 1e-6
    x = ca.SX(ROBOT.rest())
    x[3] = lean
    rate = ROBOT.rate(x, ca.DM([drive, 0]), ca.DM(0), [ca.DM(3, 1)] * 2, ca.DM(6, 1))
    v, w = (np.array(ca.evalf(one)).ravel() for one in ROBOT.accelerations(ROBOT.state(x), rate))
    assert abs(v[0]) < 1e-6 * abs(w[1])
    assert w[1] == pytest.approx(z**2 * lean, rel=1e-6)
    assert 0 < z < np.max(holding(ROBOT)[0])  # slower than the fall: no such loop is stable
