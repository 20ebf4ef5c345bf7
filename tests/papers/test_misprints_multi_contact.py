"""Paper 3 (Audren and others 2014) as printed beside what it must read: the printed text fails, the right one holds.

`printed_...` is the paper's own text; what is right is measured against the momentum of bodies integrated in the world
(`tests.oracles.centroidal`) or follows from sums over forces.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.oracles import centroidal as oracle
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.systems.multicontact.centroidal import samples as cs
from trundle.systems.multicontact.stances.stances import TimingRule
from trundle.systems.multicontact.stances.swing import lifted_waypoint

G, MASS, T = np.array([0.0, 0.0, -9.81]), 60.0, 0.15
W = Rotation.from_euler("xyz", [0.7, -0.4, 0.3]).as_matrix()  # no row of it is along gravity
POINT, FORCE = np.array([0.1, -0.2, 0.0]), np.array([60.0, -40.0, 550.0])
START = (np.array([0.05, 0.02, 0.8]), np.array([0.3, -0.2, 0.1]), np.array([0.5, 0.1, -0.3]))
SOLE = FlatPatch.rectangle(0.2, 0.1, friction=0.5)


def linear(state: np.ndarray) -> np.ndarray:
    """The state (13) of position, velocity and angular momentum (9,)."""
    r, v, L = (W @ part for part in np.split(state, 3))
    return np.array([MASS * r[0], MASS * v[0], MASS * r[1], MASS * v[1], L[0], L[1]])


def one_sample() -> tuple[cs.Stages, np.ndarray, np.ndarray]:
    """A point that pushes for a sample: its stage, and the exact states (13) before and after."""
    pieces = [(T, oracle.Forces(POINT[None], FORCE[None], np.zeros(3), np.zeros(3)))]
    before, after = oracle.fall(MASS, G, START, pieces)
    rise = W[2] @ (FORCE / MASS + G)
    along = [np.array([W[2] @ START[0]]), np.array([W[2] @ START[1]]), np.array([rise])]
    none = np.zeros((1, 3))
    samples = cs.PreviewSamples(np.array([T]), np.array([MASS]), W[None], *along, G, none, none, none)
    return cs.discretise(samples), linear(before), linear(after)


def pushed(stages: cs.Stages) -> np.ndarray:
    return stages.inputs(POINT[None, None], np.eye(3)[None, None])[0, 0] @ np.r_[0, 0, 0, FORCE]


def printed_constant(mass: float) -> np.ndarray:
    """(14); `mass` is 1 as printed."""
    g = -(W @ G)  # the paper's g points up
    return mass * np.array([-(T**2) / 2 * g[0], -T * g[0], -(T**2) / 2 * g[1], -T * g[1], 0.0, 0.0])


def test_14_lacks_the_mass_and_what_gravity_turns() -> None:
    stages, before, after = one_sample()
    moved = stages.A[0] @ before + pushed(stages)
    np.testing.assert_allclose(moved + stages.C[0], after, atol=1e-10 * np.abs(after).max())
    off = moved + printed_constant(1.0) - after
    assert np.abs(off[:4]).max() > 0.9 * np.abs(stages.C[0, :4]).max()  # nearly all of gravity is missing
    off = moved + printed_constant(MASS) - after
    assert np.abs(off[:4]).max() < 1e-10 * np.abs(after).max()
    q, d = FORCE @ W[2] / MASS * T**3 / 6, MASS * W @ G
    np.testing.assert_allclose(off[4:], [q * d[1], -q * d[0]], atol=1e-9)  # what 0 leaves out
    assert np.abs(off[4:]).max() > 1e-2


def test_15_sums_one_term_too_many_and_needs_its_factors_in_order() -> None:
    rng, K = np.random.default_rng(0), 5
    A, C = rng.normal(size=(K + 1, 6, 6)), rng.normal(size=(K + 1, 6))
    x = np.zeros(6)
    for k in range(K):
        x = A[k] @ x + C[k]

    def last(count: int, later_left: bool = True) -> np.ndarray:
        total = np.zeros(6)
        for i in range(count):
            factor = np.eye(6)
            for j in range(i + 1, count):
                factor = A[j] @ factor if later_left else factor @ A[j]
            total += factor @ C[i]
        return total

    np.testing.assert_allclose(last(K), x)
    assert np.abs(last(K + 1) - x).max() > 1.0  # as printed: A_K and C_K are of a sample after the window
    assert np.abs(last(K, later_left=False) - x).max() > 1.0
    second = A[1] @ C[0] + C[1]  # the paper's second row: later factors on the left
    np.testing.assert_allclose(last(2), second)


def test_10_lets_41_percent_too_much_through_at_its_edges() -> None:
    corner = np.array([0, 0, 0, SOLE.friction, SOLE.friction, 1.0])  # |fx| = |fy| = mu fz: allowed as printed
    assert SOLE.friction_use(corner) == pytest.approx(np.sqrt(2))
    assert (SOLE.rows @ corner).min() < 0
    inner = corner * [0, 0, 0, 0.5**0.5, 0.5**0.5, 1]
    assert SOLE.friction_use(inner) == pytest.approx(1.0)
    assert (SOLE.rows @ inner).min() > -1e-12


def test_10_must_take_the_normal_force_of_the_contact() -> None:
    wall = PlacedPatch("hand", SOLE, (0, 0, 0), Rotation.from_euler("y", 90, degrees=True).as_matrix())
    slides = np.array([0, 0, 0, -100.0, 0.0, 20.0])  # 100 N up the wall, pressed with 20 N: slips at mu = 0.5
    up = wall.world(slides)[5]
    assert up == pytest.approx(100.0)
    assert np.abs(slides[3:5]).max() > SOLE.friction * slides[5]
    assert np.abs(slides[4]) <= SOLE.friction * up  # the printed right-hand side has no tilde: the world's z
    assert SOLE.friction_use(slides) > 1


def test_9_to_11_leave_the_yaw_moment_free() -> None:
    twisted = np.array([0, 0, 1e4, 0, 0, 100.0])  # 10 kN m about the normal, pressed with 100 N
    edges = np.array([[0, 0, 0, 0, 0, 0.1], [0, 0, 0, 0, 0, 0.05]])  # (11) at the middle of the sole
    assert (edges @ twisted > 0).all()
    assert (SOLE.rows @ twisted).min() < 0
    most = max(SOLE.generators[2] / SOLE.generators[5])  # of forces in the cones at the corners
    assert (SOLE.rows @ (twisted * [0, 0, 1e-2 * most, 0, 0, 1])).min() > -1e-9
    assert (SOLE.rows @ (twisted * [0, 0, 1.01e-2 * most, 0, 0, 1])).min() < 0
    stages, *_ = one_sample()
    on_wall = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    turned = stages.inputs(POINT[None, None], on_wall[None, None])[0, 0] @ twisted
    assert np.abs(turned[4:]).max() > 100.0  # of a hand on a wall it enters the states L1, L2


def test_a_constant_velocity_from_stance_to_stance_asks_for_an_impulse() -> None:
    """III-C: a force m g3 within each segment leaves the velocity as it is, whatever the next segment asks."""
    speeds = np.array([0.1, 0.1, -0.2, -0.2])  # m/s along the axis, two segments
    weight = FORCE * [0, 0, MASS * 9.81 / FORCE[2]]
    held = oracle.Forces(POINT[None], weight[None], np.zeros(3), np.zeros(3))
    start = (START[0], np.array([0, 0, speeds[0]]), START[2])
    np.testing.assert_allclose(oracle.fall(MASS, G, start, [(T, held)] * 3)[:, 5], 0.1)
    rise = np.diff(speeds) / T
    along = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    upright = np.tile(np.eye(3), (3, 1, 1))
    samples = cs.PreviewSamples(np.full(3, T), np.full(3, MASS), upright, 0 * rise, speeds[:3], rise, G, *along)
    pieces = [
        (T, oracle.Forces(POINT[None], np.array([[0, 0, F]]), np.zeros(3), np.zeros(3)))
        for F in samples.privileged_force
    ]
    np.testing.assert_allclose(oracle.fall(MASS, G, start, pieces)[:, 5], speeds, atol=1e-12)


@pytest.mark.parametrize("v", [(0.3, 0.1, 0.0), (0.2, 0.0, 0.15), (-0.1, 0.3, -0.2)])
def test_16_lifts_nothing_as_printed(v: tuple[float, float, float]) -> None:
    v, up = np.array(v), np.array([0.0, 0.0, 1.0])
    n = up - (up @ v) / (v @ v) * v  # in plane(v, z), n . v = 0, n . z >= 0
    printed = np.cross(n / np.linalg.norm(n), v)
    assert printed[2] == pytest.approx(0.0, abs=1e-15)
    lifted = lifted_waypoint((0, 0, 0), v, 0.1, 0.15) - 0.1 * v
    np.testing.assert_allclose(lifted, 0.15 * np.linalg.norm(v) * n / np.linalg.norm(n), atol=1e-15)
    assert lifted[2] > 0.05 * np.linalg.norm(v)


def test_17_gives_less_than_a_sample_for_a_short_way() -> None:
    rule = TimingRule()
    printed = 0.1 / 0.75  # at t = 0
    assert printed < 0.15 == rule.duration(0.0, 0.1, False)
    assert rule.duration(0.0, 0.75, False) == pytest.approx(1.0)


def test_a_mass_that_changes_alone_moves_the_centre_of_mass() -> None:
    """IV: the states are m r and m v; kept as they are while m changes, r jumps towards the world's origin."""
    r = np.array([10.0, -5.0])
    x = MASS * np.array([r[0], 0, r[1], 0, 0, 0])
    heavier = MASS + 2.0
    jump = x[[0, 2]] / heavier - r
    np.testing.assert_allclose(jump, -r * 2.0 / heavier)
    kept = cs.mass_reset(MASS, heavier) * x
    np.testing.assert_allclose(kept[[0, 2]] / heavier, r)


@cache
def carried() -> tuple:
    """A robot that holds a box of 2 kg at rest: its terms, ends, box, command, wrenches and hands."""
    pytest.importorskip("pinocchio")
    from trundle.models.robots.humanoid import load_humanoid
    from trundle.systems.multicontact.whole_body.carried_object import Load
    from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
    from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController, WholeBodyTarget

    hands, feet = ("left_hand", "right_hand"), ("left_foot", "right_foot")
    control = WholeBodyController(load_humanoid("g1").gripping())
    q, nu = control.humanoid.standing(), np.zeros(control.humanoid.robot.nv)
    terms, ends = control.terms(q, nu)
    middle = (ends["left_hand"].p + ends["right_hand"].p) / 2
    box = Load(2.0, np.diag([0.016, 0.013, 0.016]), middle, np.eye(3), BalanceTarget(middle), hands, squeeze=25.0)
    com = box.combined_momentum(terms.momentum, control.humanoid.robot.mass).com
    command = control(q, nu, WholeBodyTarget(com, np.eye(3), feet, load=box))
    return terms, ends, box, command, control.wrenches(command, feet + hands), hands


def test_19_has_the_same_sign_on_robot_and_object() -> None:
    """Whatever the signs of forces and of C are: with one sign for both, one of the two rows does not balance."""
    terms, ends, _, command, wrenches, hands = carried()
    on_robot, on_box = np.zeros(len(terms.h)), np.zeros(3)
    for name, w in wrenches.items():
        moment, force = ends[name].R @ w[:3], ends[name].R @ w[3:]
        on_robot += ends[name].Jw.T @ moment + ends[name].Jv.T @ force  # by the transpose: (nv, 3) times (3,)
        on_box += force if name in hands else 0.0
    torque = np.r_[np.zeros(6), command.u]
    inertia, weight = terms.M @ command.nudot[:-6], 2.0 * np.array([0.0, 0.0, 9.81])

    def misses(force: float, drift: float, on_object: float) -> float:
        rows = inertia + force * on_robot - torque - drift * terms.h
        return max(np.abs(rows).max(), np.abs(2.0 * command.nudot[-3:] + on_object * on_box - drift * weight).max())

    assert min(misses(f, c, f) for f, c in product((1.0, -1.0), repeat=2)) > 10.0  # printed: one sign, N
    assert misses(-1.0, -1.0, 1.0) < 1e-6


def test_21_has_its_blocks_in_the_other_order_than_18() -> None:
    _, ends, box, command, _, hands = carried()
    for name in hands:
        robot, under = ends[name].Jv, box.motion_at(ends[name].p).Jv  # J of o -> r and of r -> o
        rest = ends[name].a - box.motion_at(ends[name].p).a
        right = np.hstack([robot, -under]) @ command.nudot + rest
        assert np.abs(right).max() < 1e-6
        assert robot.shape[1] > under.shape[1] == 6  # blocks of other widths than the unknowns that they meet
        moved = command.nudot + np.random.default_rng(0).normal(size=len(command.nudot))
        printed = np.hstack([-under, robot]) @ moved + rest  # on the unknowns of (18), the robot's first
        assert np.abs(printed - np.hstack([robot, -under]) @ moved - rest).max() > 0.1
