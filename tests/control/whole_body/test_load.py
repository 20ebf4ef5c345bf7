"""A load in the hands: its equations balance, forces are reciprocal, the squeeze holds, momenta add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.robots.ends import Pad
from trundle.models.robots.humanoid import load_humanoid
from trundle.numerics.rotations import rotation_by
from trundle.status import Status
from trundle.systems.multicontact.whole_body.carried_object import Load
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController, WholeBodyTarget

pytest.importorskip("pinocchio")
FEET, HANDS = ("left_foot", "right_foot"), ("left_hand", "right_hand")
INERTIA = np.diag([0.016, 0.013, 0.016])


@pytest.fixture(scope="module")
def g1() -> WholeBodyController:
    return WholeBodyController(load_humanoid("g1").gripping())


def held(controller: WholeBodyController, q: np.ndarray, nu: np.ndarray, **further: object) -> WholeBodyTarget:
    """An aim at rest with a box of 2 kg between the pads, wherever those are."""
    terms, ends = controller.terms(q, nu)
    middle = (ends["left_hand"].p + ends["right_hand"].p) / 2
    given: dict[str, object] = {"mass": 2.0, "inertia": INERTIA, "p": middle, "R": np.eye(3), "hands": HANDS}
    load = Load(**(given | {"target": BalanceTarget(middle), "squeeze": 25.0} | further))  # type: ignore[arg-type]
    assert terms.momentum
    com = load.combined_momentum(terms.momentum, controller.humanoid.robot.mass).com
    return WholeBodyTarget(com, np.eye(3), FEET, load=load)


def moving(controller: WholeBodyController, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng, robot = np.random.default_rng(seed), controller.humanoid.robot
    q = controller.humanoid.standing()
    q[7:] += 0.05 * rng.normal(size=robot.nv - 6)
    return q, 0.2 * rng.normal(size=robot.nv)


def test_robot_and_object_balance_with_the_same_forces(g1: WholeBodyController) -> None:
    q, nu = moving(g1, 3)
    omega, v = np.array([0.3, -0.2, 0.1]), np.array([0.1, 0.2, -0.1])
    aim = held(g1, q, nu, omega=omega, v=v, R=rotation_by(np.array([0.1, 0.2, 0.0])))
    command, load = g1(q, nu, aim), aim.load
    assert command.status is Status.SUCCESS
    assert load is not None
    terms, ends = g1.terms(q, nu)
    on_robot, on_object = np.zeros(len(nu)), np.zeros(6)
    for name, w in g1.wrenches(command, FEET + HANDS).items():
        end, moment, force = ends[name], *(ends[name].R @ part for part in (w[:3], w[3:]))
        on_robot += end.Jw.T @ moment + end.Jv.T @ force
        assert (g1.patches[name].rows @ w >= -1e-6).all()
        if name in HANDS:
            on_object[:3] -= moment + np.cross(end.p - load.p, force)
            on_object[3:] -= force
            assert w[5] >= 25.0 - 1e-6
    left = terms.M @ command.nudot[:-6] + terms.h - on_robot
    assert left == pytest.approx(np.concatenate([np.zeros(6), command.u]), abs=1e-7)
    al, a = command.nudot[-6:-3], command.nudot[-3:]
    inertia = load.R @ INERTIA @ load.R.T
    assert inertia @ al + np.cross(omega, inertia @ omega) == pytest.approx(on_object[:3], abs=1e-8)
    assert 2.0 * (a + np.array([0, 0, 9.81])) == pytest.approx(on_object[3:], abs=1e-7)


def test_hands_and_object_move_as_one(g1: WholeBodyController) -> None:
    q, nu = moving(g1, 4)
    aim = held(g1, q, nu, omega=np.array([0.3, -0.2, 0.1]), v=np.array([0.1, 0.2, -0.1]))
    command, load = g1(q, nu, aim), aim.load
    assert load is not None
    _, ends = g1.terms(q, nu)
    for name in HANDS:
        end, under = ends[name], load.motion_at(ends[name].p)
        slip, turn = end.v - under.v, end.w - under.w
        apart = end.Jv @ command.nudot[:-6] + end.a - under.Jv @ command.nudot[-6:] - under.a
        assert apart == pytest.approx(-g1.gains.damping * slip, abs=1e-6)
        apart = end.Jw @ command.nudot[:-6] + end.al - command.nudot[-6:-3]
        assert apart == pytest.approx(-g1.gains.damping * turn, abs=1e-6)


def test_at_rest_the_soles_carry_robot_and_object(g1: WholeBodyController) -> None:
    robot, q = g1.humanoid.robot, g1.humanoid.standing()
    aim = held(g1, q, np.zeros(robot.nv))
    command = g1(q, np.zeros(robot.nv), aim)
    wrenches = g1.wrenches(command, FEET + HANDS)
    assert sum(wrenches[name][5] for name in FEET) == pytest.approx((robot.mass + 2.0) * 9.81, abs=0.05)
    assert np.abs(command.nudot).max() < 0.05


def test_momenta_of_robot_and_object_add_up(g1: WholeBodyController) -> None:
    """Against the box as one more body, about the common centre; rates against differences along the motion."""
    q, nu = moving(g1, 5)
    robot, mass = g1.humanoid.robot, g1.humanoid.robot.mass
    rates = np.random.default_rng(1).normal(size=robot.nv + 6)

    def at(t: float) -> tuple[np.ndarray, np.ndarray, Load]:
        """State a little later under the accelerations `rates`, exact to second order about t = 0."""
        state, rate = robot.displace(q, t * nu + t**2 / 2 * rates[:-6]), nu + t * rates[:-6]
        omega, v = np.array([0.3, -0.2, 0.4]) + t * rates[-6:-3], np.array([0.5, 0.2, -0.1]) + t * rates[-3:]
        p = np.array([0.2, 0.1, 0.9]) + t * np.array([0.5, 0.2, -0.1]) + t**2 / 2 * rates[-3:]
        R = rotation_by(t * np.array([0.3, -0.2, 0.4]) + t**2 / 2 * rates[-6:-3])
        return state, rate, Load(2.0, INERTIA, p, R, BalanceTarget(p), HANDS, v, omega)

    def total(t: float) -> tuple[np.ndarray, np.ndarray]:
        """Linear and angular momentum, the latter about the common centre, each body's own summed."""
        state, rate, load = at(t)
        momentum = robot.terms(state, rate, momentum=True).momentum
        assert momentum
        c = (mass * momentum.com + 2.0 * load.p) / (mass + 2.0)
        inertia = load.R @ INERTIA @ load.R.T
        L = momentum.angular + np.cross(momentum.com - c, mass * momentum.com_rate)
        L = L + inertia @ load.omega + np.cross(load.p - c, 2.0 * load.v)
        return mass * momentum.com_rate + 2.0 * load.v, L

    momentum = robot.terms(q, nu, momentum=True).momentum
    assert momentum
    joined = at(0.0)[2].combined_momentum(momentum, mass)
    p, L = total(0.0)
    assert joined.angular == pytest.approx(L, abs=1e-10)
    assert joined.com_rate == pytest.approx(p / (mass + 2.0), abs=1e-12)
    e = 1e-5
    p_rate, L_rate = ((b - a) / (2 * e) for a, b in zip(total(-e), total(e), strict=True))
    assert joined.J_com @ rates + joined.com_bias == pytest.approx(p_rate / (mass + 2.0), abs=1e-6)
    assert joined.J_angular @ rates + joined.angular_bias == pytest.approx(L_rate, abs=1e-5)
    apart = replace(at(0.0)[2], counted=False)
    assert apart.combined_momentum(momentum, mass) is momentum, "what is not counted leaves the robot's own"


def test_pads_point_away_from_the_box(g1: WholeBodyController) -> None:
    _, ends = g1.terms(g1.humanoid.standing(), np.zeros(g1.humanoid.robot.nv))
    assert ends["left_hand"].R[1, 2] > 0.9
    assert ends["right_hand"].R[1, 2] < -0.9
    assert ends["left_hand"].R @ ends["left_hand"].R.T == pytest.approx(np.eye(3), abs=1e-12)


def test_a_robot_without_pads_holds_nothing() -> None:
    with pytest.raises(InputError, match="pads"):
        replace(load_humanoid("talos"), pads={}).gripping()


def test_a_pad_lies_as_it_is_told() -> None:
    flat = Pad("hand", (0, 0, 0), (-2.0, 0, 0), 0.05, 0.05, ahead=(0.5, 0, -3.0))
    assert flat.R_link_pad[:, 2] == pytest.approx([-1, 0, 0])
    assert flat.R_link_pad[:, 0] == pytest.approx([0, 0, -1])
    assert np.linalg.det(flat.R_link_pad) == pytest.approx(1.0)
    wrong = (((1, 0, 0), (1, 0, 0), "inward"), ((0, 0, 0), (1, 0, 0), "inward"), ((1, 0, 0), (0, 0, 0), "ahead"))
    for inward, ahead, key in wrong:
        with pytest.raises(InputError, match=key):
            Pad("hand", (0, 0, 0), inward, 0.05, 0.05, ahead=ahead)
