"""The low level: its law as written, gravity of the arms, and what it refuses."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from tests.oracles import ball_balancer as oracle
from trundle.errors import InputError
from trundle.systems.wallbounce.control.low_level import LowLevel, LowLevelGains
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()


def measured(rng):
    y = np.zeros(28)
    y[:2], y[2:5] = rng.normal(size=2) * 0.2, rng.normal(size=3) * 0.1
    y[5:11], y[11:13], y[13:16] = rng.uniform(0, 1.2, 6), rng.normal(size=2) * 0.3, rng.normal(size=3) * 0.2
    y[16:22] = rng.normal(size=6)
    y[22:28] = np.where(rng.random(2) < 0.5, 0.0, 20.0).repeat(3) * rng.normal(size=6)
    return y


def expressions():
    x = ca.SX.sym("x", 16)
    s = ROBOT.state(x)
    hands = ROBOT.hands(x)
    parts = [s.R_world_body, s.v, s.omega, s.com, *(v for pair in hands for v in pair)]
    return ca.Function("s", [x], parts)


def test_law_as_written():
    low = LowLevel(dataclasses.replace(ROBOT, gravity=0.0))  # arms without weight
    rng, g, of = np.random.default_rng(0), LowLevelGains(), expressions()
    for _ in range(5):
        y, total = measured(rng), rng.normal(size=2) * 0.1
        x = low.state(measured(rng))
        u = rng.normal(size=15) * 3
        R, v, w, c, p1, J1, p2, J2 = (np.array(a) for a in of(low.state(y)))
        R_, v_, w_, c_, *_ = (np.array(a) for a in of(x))
        flat = lambda a: a.ravel()[:2]  # noqa: E731
        e = x[:2] + flat(c_) - y[:2] - flat(c)
        drift = flat(v_) + flat(np.cross(w_.ravel(), c_.ravel())) - flat(v) - flat(np.cross(w.ravel(), c.ravel()))
        asked = g.position * e + g.velocity * drift + g.integral * total
        asked *= min(1.0, g.lean / np.linalg.norm(asked))
        rate, rate_ = (np.cross(a.ravel(), b[:, 2])[:2] for a, b in ((w, R), (w_, R_)))
        drive = u[:2] + g.tilt * (R[:2, 2] - R_[:2, 2] - asked) + g.tilt_rate * (rate - rate_)
        yaw = u[2] + g.yaw * (x[2] - y[2]) + g.yaw_rate * (w_.ravel()[2] - w.ravel()[2])
        answer = low(y, x, u, total)
        assert answer.command[:2] == pytest.approx(drive, rel=1e-9)
        assert answer.command[2] == pytest.approx(yaw, rel=1e-9)
        assert answer.error == pytest.approx(e, rel=1e-9)
        assert answer.state == pytest.approx(low.state(y), rel=1e-12)
        for i, (p, J) in enumerate(((p1, J1), (p2, J2))):
            part = slice(3 * i, 3 * i + 3)
            p_plan, J_plan = (R_.T @ np.array(a) for a in of(x)[4 + 2 * i : 6 + 2 * i])
            p_body, J_body = R.T @ p, R.T @ J
            force = g.hand * (p_plan - p_body).ravel()
            force += g.hand_rate * (J_plan @ u[3:9][part] - J_body @ y[16:22][part])
            press, felt = u[9 + 3 * i : 12 + 3 * i], np.sum(y[22 + 3 * i : 25 + 3 * i] ** 2)
            free = 5.0 / np.sqrt(press @ press + 25.0)  # of the planned force, on a hand that feels nothing
            force -= R.T @ press * (felt + 25.0 * free) / (felt + 25.0)
            torque = J_body.T @ force + g.joint * (x[5:11] - y[5:11])[part] + g.joint_rate * (u[3:9] - y[16:22])[part]
            assert answer.command[3:][part] == pytest.approx(torque, rel=1e-8, abs=1e-9)


def test_arms_are_held_against_gravity():
    """dU/dq by differences of the hands' and elbows' heights, of an oracle that shares no code."""
    rng = np.random.default_rng(1)
    y = measured(rng)
    y[11:], y[2:5] = 0.0, 0.0
    x = np.concatenate([y[:11], np.zeros(5)])
    robots = [dataclasses.replace(ROBOT, arm_masses=(0.8, 0.6), gravity=g) for g in (9.81, 0.0)]
    heavy, light = (LowLevel(robot)(y, x, np.zeros(15), np.zeros(2)).command for robot in robots)

    def energy(q):
        total, numbers = 0.0, {k: getattr(ROBOT, k) for k in ("shoulder", "upper_arm", "forearm", "ball_radius")}
        for side, part in ((1, q[:3]), (-1, q[3:])):
            hand = oracle.hand(numbers, y[:5], part, side)[2]
            straight = dict(numbers, forearm=0.0)
            elbow = oracle.hand(straight, y[:5], part, side)[2]
            shoulder = oracle.hand(dict(straight, upper_arm=0.0), y[:5], part, side)[2]
            total += 9.81 * (0.8 * 0.5 * (shoulder + elbow) + 0.6 * 0.5 * (elbow + hand))
        return total

    h = 1e-6
    slope = [(energy(y[5:11] + h * d) - energy(y[5:11] - h * d)) / (2 * h) for d in np.eye(6)]
    assert (heavy - light)[3:] == pytest.approx(slope, abs=1e-6)


def test_the_drive_pushes_no_harder_than_it_can():
    y = measured(np.random.default_rng(2))
    free, held = (
        LowLevel(ROBOT, drive_limit=limit)(y, ROBOT.rest(), np.zeros(15), np.zeros(2)) for limit in (1e9, 5.0)
    )
    assert np.any(np.abs(free.command[:2]) > 5.0)
    assert held.command[:2] == pytest.approx(np.clip(free.command[:2], -5.0, 5.0))
    assert held.command[2:] == pytest.approx(free.command[2:])


def test_a_hand_that_feels_nothing_is_pushed_by_no_more_than_5_n():
    """The planned force goes through the transposed Jacobian: all of it where it is felt."""
    y, x = np.zeros(28), ROBOT.rest()
    y[:11] = x[:11]
    low, u = LowLevel(ROBOT), np.zeros(15)
    still = low(y, x, u, np.zeros(2)).command[3:6]
    u[9:12] = [-80.0, 0.0, 0.0]
    free = low(y, x, u, np.zeros(2)).command[3:6] - still
    y[22:25] = [-80.0, 0.0, 0.0]
    pressed = low(y, x, u, np.zeros(2)).command[3:6] - still
    assert np.linalg.norm(free) / np.linalg.norm(pressed) == pytest.approx(5.0 / 80.0, rel=0.01)


def test_wrong_gains_are_named():
    with pytest.raises(InputError, match="tilt_rate"):
        LowLevelGains(tilt_rate=-1.0)


@pytest.mark.parametrize("gain", [100.0, 223.0, 1000.0])
def test_the_lean_obeys_the_equation_of_the_theory_page(gain: float) -> None:
    """(I_O - m^2 c^2 / M_e) lean'' = m g c lean - (r_b + m c / M_e) f_d, near upright, with f_d = K lean."""
    m, c, M, r_b = ROBOT.mass, ROBOT.com[2], ROBOT.effective_mass, ROBOT.ball_radius
    inertia = ROBOT.inertia[1] + m * c**2
    x, pitch = ca.SX(ROBOT.rest()), ca.SX.sym("pitch")
    x[3] = pitch  # the lean along x, near upright
    drive = ca.vertcat(gain * pitch, 0)
    rate = ROBOT.rate(x, drive, ca.SX(0), [ca.SX(3, 1)] * 2, ca.SX(6, 1))
    _, turning = ROBOT.accelerations(ROBOT.state(x), rate)
    slope = float(ca.evalf(ca.substitute(ca.jacobian(turning[1], pitch), pitch, 0)))
    wanted = (m * ROBOT.gravity * c - (r_b + m * c / M) * gain) / (inertia - m**2 * c**2 / M)
    assert slope == pytest.approx(wanted, rel=1e-9)
    assert (slope < 0.0) == (gain > m * ROBOT.gravity * c / (r_b + m * c / M))
