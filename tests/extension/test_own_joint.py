"""Joints from outside: a screw, a ball joint and a rail hang in a tree like the built-in ones."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.models import Joint, RollingTree, VectorJoint
from trundle.models.tree.joints import FixedJoint, Revolute
from trundle.numerics.space import orientation_rate, rotation

G = 9.81


@dataclass(frozen=True)
class Screw(VectorJoint):
    """A helical joint about and along z: travel = pitch times angle; `pitch` in m/rad."""

    pitch: float
    d = 3
    size = 1

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        c, s = ca.cos(q), ca.sin(q)
        R = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        return R, ca.vertcat(0, 0, self.pitch * q)

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX(ca.DM([0, 0, 1])), ca.SX(ca.DM([0, 0, self.pitch]))


@dataclass(frozen=True)
class BallJoint(Joint):
    """Three degrees of freedom, four coordinates (a quaternion)."""

    d = 3
    size = 3
    neutral = (1.0, 0.0, 0.0, 0.0)

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return rotation(q), ca.SX(3, 1)

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX.eye(3), ca.SX(3, 3)

    def retract(self, q: ca.SX, step: ca.SX) -> ca.SX:
        turned = q + orientation_rate(q, step)
        return turned / ca.norm_2(turned)


@dataclass(frozen=True)
class Rail(VectorJoint):
    """In the plane, along z = depth (x/width)^2 / 2, tangent to it: a subspace that changes, and turns."""

    width: float
    d = 2
    size = 1

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return rotation(ca.atan(q / self.width)), ca.vertcat(q, q**2 / (2 * self.width))

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return self.width / (self.width**2 + q**2), ca.vertcat(1, q / self.width)


@dataclass(frozen=True)
class Crooked(VectorJoint):
    """Says that it slides along x, and slides along z."""

    d = 2
    size = 1

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX.eye(2), ca.vertcat(0, q)

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX(1, 1), ca.SX([1, 0])


MASS, INERTIA, PITCH = 2.0, 0.03, 0.05


def nut_on_a_screw() -> RollingTree:
    robot = tr.Robot([0, 0, -G])
    robot.joint(None, Screw(PITCH), MASS, INERTIA, actuated=True, name="nut")
    return robot.finish()


def run(robot: RollingTree, duration: float, step: float = 0.01, **start: object) -> tr.Trajectory:
    return tr.simulate(robot, robot.place(**start), duration=duration, output_step=step)  # type: ignore[arg-type]


def test_a_nut_on_a_screw_falls_as_it_must() -> None:
    # (m h^2 + I) q'' = -m g h, and so q = q0 + w t - m g h t^2 / (2 (m h^2 + I)).
    falls = run(nut_on_a_screw(), 1.5, nut=0.3, rates={"nut": 2.0})
    t = falls.time
    q = 0.3 + 2.0 * t - MASS * G * PITCH / (MASS * PITCH**2 + INERTIA) * t**2 / 2
    np.testing.assert_allclose(falls["joint_position"][:, 0], q, atol=1e-9)
    np.testing.assert_allclose(falls["body_position"][:, 0, 2], PITCH * q, atol=1e-10)
    assert np.ptp(falls["energy"]) < 1e-9 * np.max(np.abs(falls["energy"]))


def test_without_a_compiler_the_run_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = run(nut_on_a_screw(), 0.5, rates={"nut": 2.0})
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    interpreted = run(nut_on_a_screw(), 0.5, rates={"nut": 2.0})
    np.testing.assert_allclose(compiled["joint_position"], interpreted["joint_position"], rtol=0, atol=1e-12)


def test_a_screw_on_a_moving_arm_is_that_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    tensor, com, at = np.diag([0.02, 0.03, 0.05]), np.array([0.1, -0.05, 0.2]), np.array([0.3, 0.0, 0.1])
    tree = tr.Tree(3, (0, 0, -G))
    arm = tree.revolute(tree.ground(), (0, 0, 0), 1.5, tensor, com=(0.2, 0, 0), name="arm")
    tree.joint(arm, Screw(PITCH), MASS, tensor, at, com, name="nut")
    model = tree.finish()
    peer = pin.Model()
    peer.gravity.linear = np.array([0, 0, -G])
    swing = peer.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "arm")
    peer.appendBodyToJoint(swing, pin.Inertia(1.5, np.array([0.2, 0, 0]), tensor), pin.SE3.Identity())
    screw = pin.JointModelHelicalUnaligned(np.array([0.0, 0.0, 1.0]), PITCH)
    nut = peer.addJoint(swing, screw, pin.SE3(np.eye(3), at), "nut")
    peer.appendBodyToJoint(nut, pin.Inertia(MASS, com, tensor), pin.SE3.Identity())
    M, h = model.inertia_terms()
    terms = ca.Function("terms", [model.x], [M, h])
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = rng.normal(size=2), rng.normal(size=2)
        data = peer.createData()
        inertia, bias = terms(np.concatenate([q, v]))
        np.testing.assert_allclose(inertia, pin.crba(peer, data, q), atol=1e-12)
        np.testing.assert_allclose(np.ravel(np.array(bias)), pin.nonLinearEffects(peer, data, q, v), atol=1e-12)


def test_a_ball_joint_keeps_energy_and_momentum_and_is_that_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    tensor, com = np.array([[0.3, 0.02, 0.0], [0.02, 0.2, 0.01], [0.0, 0.01, 0.2]]), np.array([0.1, 0.2, -0.7])
    robot = tr.Robot([0, 0, -G])
    robot.joint(None, BallJoint(), MASS, tensor, center_of_mass=com, name="bob")
    bob = robot.finish()
    swings = run(bob, 2.0, bob=(0.8, 0.6, 0.0, 0.0), rates={"bob": (0.5, 2.0, -1.0)})
    assert np.ptp(swings["energy"]) < 1e-8 * np.max(np.abs(swings["energy"]))
    assert swings["joint_position"].shape[1] == 0  # four coordinates of three velocities: the body's pose says it
    lever = np.linalg.norm(swings["body_position"][:, 0], axis=1)
    np.testing.assert_allclose(lever, np.linalg.norm(com), atol=1e-12)

    peer = pin.Model()
    peer.gravity.linear = np.array([0, 0, -G])
    joint = peer.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "bob")
    peer.appendBodyToJoint(joint, pin.Inertia(MASS, com, tensor), pin.SE3.Identity())
    model = bob.model()
    nudot = ca.Function("nudot", [model.x, model.u], [model.dynamics([]).nudot])
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, w = rng.normal(size=4), rng.normal(size=3)
        q = q / np.linalg.norm(q)
        R = pin.Quaternion(np.roll(q, -1)).toRotationMatrix()
        there = pin.aba(peer, peer.createData(), np.roll(q, -1), R.T @ w, np.zeros(3))
        np.testing.assert_allclose(np.ravel(np.array(nudot(np.concatenate([q, w]), []))), R @ there, atol=1e-10)


def test_a_bead_that_turns_along_a_rail_keeps_its_energy() -> None:
    # T = m (1 + (q/a)^2) q'^2 / 2 + I (a q' / (a^2 + q^2))^2 / 2,   V = m g q^2 / (2 a)
    a = 0.4
    robot = tr.Robot(G)
    robot.joint(None, Rail(a), MASS, INERTIA, name="bead")
    slides = run(robot.finish(), 2.0, bead=0.3)
    q, v = slides["joint_position"][:, 0], slides["joint_velocity"][:, 0]
    energy = MASS * (1 + (q / a) ** 2) * v**2 / 2 + INERTIA * (a * v / (a**2 + q**2)) ** 2 / 2
    energy += MASS * G * q**2 / (2 * a)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    np.testing.assert_allclose(slides["energy"], energy, rtol=1e-10)
    np.testing.assert_allclose(slides["body_angle"][:, 0], np.arctan(q / a), atol=1e-12)
    assert np.min(q) < -0.25


def test_a_wheel_on_a_screw_rolls_on_the_ground() -> None:
    # The hub of a wheel lies on a screw along its axle: it rolls, and works its way along.
    robot = tr.Robot([0, 0, -G])
    hub = robot.free(3.0, 0.1, name="hub")
    robot.joint(hub, Screw(PITCH), 1.0, shape=tr.Sphere(0.2), name="wheel")
    robot.terrain(tr.Plane(), friction=2.0)
    tree = robot.finish()
    rolls = tr.simulate(tree, tree.place(hub=(0, 0, 0.2), rates={"wheel": 1.0}), duration=0.3, output_step=0.01)
    assert rolls.metadata["parents"] == {"wheel": "hub"}
    assert np.max(np.abs(rolls["slip"])) < 1e-9
    assert np.ptp(rolls["energy"]) < 1e-7 * np.max(np.abs(rolls["energy"]))


def test_a_joint_that_contradicts_itself_is_refused() -> None:
    robot = tr.Robot(G)
    with pytest.raises(InputError, match="derivative of its transform"):
        robot.joint(None, Crooked(), 1.0, 0.1)
    with pytest.raises(InputError, match="a Joint of dimension 2"):
        robot.joint(None, Screw(PITCH), 1.0, 0.1)
    with pytest.raises(InputError, match="a Joint of dimension 2"):
        robot.joint(None, "revolute", 1.0, 0.1)  # type: ignore[arg-type]


def test_a_body_that_does_not_move_has_its_place_and_no_state() -> None:
    robot = tr.Robot(9.81)
    post = robot.joint(None, FixedJoint(2), 1.0, 0.1, at=(0.0, 0.3), name="post")
    robot.revolute(post, (0.0, 0.0), 0.2, 1e-3, center_of_mass=(0.0, -0.1), actuated=False, name="arm")
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(arm=0.1), 0.5)
    assert run.status is tr.Status.SUCCESS
    np.testing.assert_allclose(run["body_position"][:, 0], [[0.0, 0.3]] * len(run), atol=1e-12)
    with pytest.raises(InputError, match=r"post = 0\.1: must be left out: its joint does not move"):
        tree.place(post=0.1)
    with pytest.raises(InputError, match=r"rates\.post"):
        tree.place(rates={"post": 0.1})
    with pytest.raises(InputError, match="actuated = True"):
        tr.Robot(9.81).joint(None, FixedJoint(2), 1.0, 0.1, actuated=True)
    with pytest.raises(InputError, match=r"arm = \[0\.1, 0\.2\]: must be a finite number"):
        tree.place(arm=(0.1, 0.2))


def test_a_hinge_of_the_plane_may_turn_the_other_way() -> None:
    robot = tr.Robot(9.81)
    robot.joint(None, Revolute((-1.0,)), 0.2, 1e-3, center_of_mass=(0.0, -0.1), name="arm")
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(arm=0.1), 0.5)
    np.testing.assert_allclose(run["energy"], run["energy"][0], atol=1e-9)
    assert run["body_angle"][0, 0] == pytest.approx(-0.1)


def test_what_turns_and_what_slides() -> None:
    turns = {"Screw": True, "BallJoint": True, "Rail": True}
    assert {type(j).__name__: j.turns for j in (Screw(0.1), BallJoint(), Rail(0.5))} == turns
    assert Screw(0.1).slide is None
    assert Rail(0.5).slide is None
