"""Robots from URDFs: inertia, bias and motions in the house's coordinates, and rolling feet against the tree's own."""

from __future__ import annotations

import re
import sys

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from trundle import extras
from trundle.contact.choice import make_contact
from trundle.contact.contact import Contact
from trundle.contact.laws import PURE_ROLLING, ROLLING, Law
from trundle.contact.packed import FrameMotion, contact_function, still_frame
from trundle.errors import InputError, MissingExtraError
from trundle.models.tree.conversion import to_matrix
from trundle.models.tree.tree import Tree
from trundle.models.urdf.articulated import Articulated, accelerations
from trundle.models.urdf.checks import check_urdf
from trundle.systems.walking.robots.avatar import Avatar, build_avatar

RNG = np.random.default_rng(5)
G = (0.3, -0.2, -9.81)
AXES = (0.15, 0.08, 0.05)


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(MissingExtraError, match=re.escape(f"pin is not installed: {extras.command('robots')}")):
        Articulated(check_urdf(build_avatar().robot.urdf()))


def test_only_checked_descriptions_are_read() -> None:
    with pytest.raises(InputError, match="a CheckedUrdf"):
        Articulated("<robot/>")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def walker() -> tuple[Avatar, Articulated]:
    pytest.importorskip("pinocchio")
    avatar = build_avatar()
    return avatar, Articulated(check_urdf(avatar.robot.urdf()), G)


class TestWithPinocchio:
    @pytest.fixture(autouse=True)
    def library(self) -> None:
        pytest.importorskip("pinocchio")

    @pytest.mark.parametrize("law", [ROLLING, PURE_ROLLING], ids=lambda law: law.name)
    @pytest.mark.parametrize("tilted", [False, True])
    def test_a_single_ellipsoid_is_that_of_the_tree(self, law: Law, tilted: bool) -> None:
        com = np.array([0.02, -0.01, -0.015])
        body = Articulated(check_urdf(one_link(1.2, com)), G)
        tree = Tree(3, G)
        ball = tree.free(1.2, TENSOR)
        support = tree.prescribed() if tilted else tree.ground()
        tree.contact(make_contact(tg.Ellipsoid(AXES), tg.Plane(), "support", center_A=tuple(-com)), ball, support)
        model = tree.finish()
        dynamics = model.dynamics([law])
        function = ca.Function("ball", [model.x, model.u], [dynamics.nudot, dynamics.lam])
        touch = contact_function(make_contact(tg.Ellipsoid(AXES), tg.Plane(), "support"), law, compiled=False)
        for _ in range(5):
            q, nu = state_of(body)
            R = np.asarray(to_matrix(q[3:7]))
            plate, prescribed, u = moving_plate() if tilted else (still_frame(body.nv), {}, np.zeros(0))
            terms = body.terms(q, nu, ["foot"])
            rows = touch.rows(terms.motions[0], plate)
            nudot, lam = accelerations(terms, [], [rows])
            arm = R @ com
            values = {
                **prescribed, "object.position": q[:3] + arm, "object.orientation": q[3:7],
                "object.angular_velocity": nu[:3], "object.velocity": nu[3:] + np.cross(nu[:3], arm),
            }  # fmt: skip
            x = np.concatenate([values.get(name, []) for name in model.layout])
            expected, pushes = (np.asarray(value).ravel() for value in function(x, u))
            al, w = nudot[:3], nu[:3]
            at_com = np.concatenate([al, nudot[3:] + np.cross(al, arm) + np.cross(w, np.cross(w, arm))])
            np.testing.assert_allclose(at_com, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
            np.testing.assert_allclose(lam, pushes, rtol=0, atol=1e-9 * (1 + np.abs(pushes).max()))

    def test_a_foot_on_a_leg_is_that_of_the_tree(self) -> None:
        robot = Articulated(check_urdf(LEG), G)
        tree = Tree(3, G)
        base, ground = tree.free(3.0, TENSOR), tree.ground()
        axis = np.array([0.6, 0.8, 0.0])
        shin = tree.revolute(base, (0.1, 0.0, -0.2), 1.2, TENSOR, com=(0.02, 0.0, -0.1), axis=axis, name="shin")
        contact = make_contact(tg.Ellipsoid(AXES), tg.Plane(), "support", center_A=(0.03, 0.0, -0.3))
        tree.contact(contact, shin, ground)
        model = tree.finish()
        dynamics = model.dynamics([ROLLING])
        function = ca.Function("leg", [model.x, model.u], [dynamics.nudot, dynamics.lam, dynamics.terms.M])
        touch = contact_function(contact, ROLLING, compiled=False)
        for _ in range(5):
            q, nu = state_of(robot)
            torque = RNG.normal(size=1)
            terms = robot.terms(q, nu, ["shin"])
            nudot, lam = accelerations(terms, torque, [touch.rows(terms.motions[0], still_frame(7))])
            values = {
                "object.position": q[:3], "object.orientation": q[3:7], "object.angular_velocity": nu[:3],
                "object.velocity": nu[3:6], "shin.joint": q[7:], "shin.rate": nu[6:],
            }  # fmt: skip
            x = np.concatenate([values.get(name, []) for name in model.layout])
            expected, pushes, M = (np.asarray(value) for value in function(x, torque))
            np.testing.assert_allclose(terms.M, M, atol=1e-12)
            np.testing.assert_allclose(nudot, expected.ravel(), rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
            np.testing.assert_allclose(lam, pushes.ravel(), rtol=0, atol=1e-9 * (1 + np.abs(pushes).max()))

    def test_motions_are_rates_of_each_other(self, walker: tuple[Avatar, Articulated]) -> None:
        """Pose -> twist -> acceleration at nudot = 0 by differences along q' = nu, nu' = 0."""
        _, robot = walker
        q, nu = state_of(robot)
        links = ["pelvis", "trunk", "left_foot", "right_forearm"]
        h = 1e-6
        now = robot.terms(q, nu, links).motions
        after, before = (robot.terms(robot.displace(q, sign * h * nu), nu, links).motions for sign in (1, -1))
        for here, next_one, last in zip(now, after, before, strict=True):
            rate = lambda name, a=next_one, b=last: (getattr(a, name) - getattr(b, name)) / (2 * h)  # noqa: E731
            np.testing.assert_allclose(rate("p"), here.v, atol=1e-7)
            np.testing.assert_allclose(rate("R") @ here.R.T, skew(here.w), atol=1e-7)
            np.testing.assert_allclose(rate("v"), here.a, atol=2e-6)
            np.testing.assert_allclose(rate("w"), here.al, atol=2e-6)
            np.testing.assert_allclose(here.J @ nu, [*here.w, *here.v], atol=1e-12)

    def test_the_bias_of_a_rolling_foot_is_the_rate_of_its_slip(self, walker: tuple[Avatar, Articulated]) -> None:
        avatar, robot = walker
        foot = make_contact(avatar.foot.sole, tg.Plane(), "support", center_A=tuple(avatar.foot.center))
        touch = contact_function(foot, ROLLING, compiled=False)
        q, nu = state_of(robot)
        h = 1e-6

        def rows(t: float):
            return touch.rows(
                robot.terms(robot.displace(q, t * nu), nu, ["left_foot"]).motions[0], still_frame(robot.nv)
            )

        np.testing.assert_allclose((rows(h).vrel - rows(-h).vrel) / (2 * h), rows(0).b, atol=1e-5)
        np.testing.assert_allclose(rows(0).J @ nu, rows(0).vrel, atol=1e-12)

    def test_power_and_weight(self, walker: tuple[Avatar, Articulated]) -> None:
        """M is symmetric and positive; its corner is the mass; h at rest is the weight; d/dt (nu'M nu / 2) = power."""
        avatar, robot = walker
        q, nu = state_of(robot)
        terms = robot.terms(q, nu)
        np.testing.assert_allclose(terms.M, terms.M.T, atol=1e-12)
        assert np.linalg.eigvalsh(terms.M)[0] > 0
        np.testing.assert_allclose(terms.M[3:6, 3:6], avatar.mass * np.eye(3), atol=1e-10)
        np.testing.assert_allclose(robot.terms(q, 0 * nu).h[3:6], -avatar.mass * np.array(G), atol=1e-9)
        assert robot.mass == pytest.approx(avatar.mass)
        torque, h = RNG.normal(size=robot.nv - 6), 1e-6
        nudot, lam = accelerations(terms, torque)
        assert lam.size == 0

        def kinetic(t: float) -> float:
            rate = nu + t * nudot
            return rate @ robot.terms(robot.displace(q, t * nu), rate).M @ rate / 2

        push = np.concatenate([np.zeros(6), torque]) - robot.terms(q, 0 * nu).h
        assert (kinetic(h) - kinetic(-h)) / (2 * h) == pytest.approx(push @ nu, rel=1e-6)

    def test_the_avatar_stands_on_its_two_feet(self, walker: tuple[Avatar, Articulated]) -> None:
        """With its feet level and each of six rows, the contact forces balance what the joints cannot: the base."""
        avatar, robot = walker
        foot = make_contact(avatar.foot.sole, tg.Plane(), "support", center_A=tuple(avatar.foot.center))
        touch = contact_function(foot, PURE_ROLLING, compiled=False)
        q = robot.neutral
        q[2] = avatar.base_height
        terms = robot.terms(q, np.zeros(robot.nv), ["left_foot", "right_foot"])
        both = [touch.rows(motion, still_frame(robot.nv)) for motion in terms.motions]
        for rows in both:
            np.testing.assert_allclose(rows.gap, 0.0, atol=1e-12)
        bent = robot.displace(q, np.concatenate([np.zeros(6), 0.2 * RNG.normal(size=robot.nv - 6)]))
        terms = robot.terms(bent, np.zeros(robot.nv), ["left_foot", "right_foot"])
        both = [touch.rows(motion, still_frame(robot.nv)) for motion in terms.motions]
        nudot, lam = accelerations(terms, np.zeros(robot.nv - 6), both)
        for rows in both:
            np.testing.assert_allclose(rows.J @ nudot + rows.b, 0.0, atol=1e-9)
        residual = terms.M @ nudot + terms.h - both[0].J.T @ lam[:4] - both[1].J.T @ lam[4:]
        np.testing.assert_allclose(residual, 0.0, atol=1e-8)

    def test_redundant_rows_need_the_proximal_term(self, walker: tuple[Avatar, Articulated]) -> None:
        avatar, robot = walker
        contact = make_contact(avatar.foot.sole, tg.Plane(), "support", center_A=tuple(avatar.foot.center))
        q, nu = state_of(robot)
        terms = robot.terms(q, nu, ["left_foot"])
        rows = contact_function(contact, ROLLING, compiled=False).rows(terms.motions[0], still_frame(robot.nv))
        torque = np.zeros(robot.nv - 6)
        with pytest.raises(InputError, match="proximal"):
            accelerations(terms, torque, [rows, rows])
        nudot, lam = accelerations(terms, torque, [rows, rows], proximal=1e-6)
        once, push = accelerations(terms, torque, [rows])
        np.testing.assert_allclose(nudot, once, atol=1e-8 * np.abs(once).max())
        np.testing.assert_allclose(lam[:3], lam[3:], rtol=1e-6)
        np.testing.assert_allclose(lam[:3] + lam[3:], push, rtol=1e-6)

    def test_a_continuous_joint_is_one_angle(self) -> None:
        robot, turning = (Articulated(check_urdf(text), G) for text in (LEG, LEG.replace('"revolute"', '"continuous"')))
        assert (turning.nq, turning.nv, turning.joints) == (8, 7, ("hinge",))
        q, nu = state_of(robot)
        one, other = robot.terms(q, nu, ["shin"]), turning.terms(q, nu, ["shin"])
        np.testing.assert_allclose(other.h, one.h, atol=1e-12)
        np.testing.assert_allclose(other.motions[0].pack(), one.motions[0].pack(), atol=1e-12)

    @pytest.mark.parametrize(
        ("change", "key"),
        [(("revolute", "floating"), "joint[hinge].type"), (('mass value="1.2"', 'mass value="0"'), "urdf")],
    )
    def test_a_robot_that_cannot_be_simulated_is_refused(self, change: tuple[str, str], key: str) -> None:
        text = LEG.replace(*change)
        with pytest.raises(InputError) as caught:
            Articulated(check_urdf(text, repair=True))
        assert caught.value.key == key

    @pytest.mark.parametrize(
        ("q", "nu", "frames", "key"),
        [
            (np.zeros(8), np.zeros(7), [], "q[3:7]"), ([0, 0, 0, 1, 0, 0, 0], np.zeros(7), [], "q"),
            ([0, 0, 0, 1, 0, 0, 0, np.nan], np.zeros(7), [], "q"), ([0, 0, 0, 1, 0, 0, 0, 0], [np.inf] * 7, [], "nu"),
            ([0, 0, 0, 1, 0, 0, 0, 0], np.zeros(7), ["hinge"], "frame"),
        ],
    )  # fmt: skip
    def test_wrong_states_and_frames_are_refused(self, q, nu, frames, key: str) -> None:
        with pytest.raises(InputError) as caught:
            Articulated(check_urdf(LEG)).terms(q, nu, frames)
        assert caught.value.key == key

    def test_two_robots_do_not_share_their_numbers(self) -> None:
        robot = Articulated(check_urdf(LEG), G)
        q, nu = state_of(robot)
        first = robot.terms(q, nu, ["shin"])
        kept = first.M.copy(), first.h.copy(), first.motions[0].pack()
        robot.terms(*state_of(robot), ["shin"])
        for value, was in zip((first.M, first.h, first.motions[0].pack()), kept, strict=True):
            np.testing.assert_array_equal(value, was)


TENSOR = np.array([[0.0045, 0.0003, 0.0], [0.0003, 0.0085, -0.0002], [0.0, -0.0002, 0.0105]])


def inertial(mass: float, com) -> str:
    xyz = " ".join(repr(float(c)) for c in com)
    entries = [("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)]
    tensor = " ".join(f'{key}="{TENSOR[i, j]}"' for key, i, j in entries)
    return f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/><inertia {tensor}/></inertial>'


def one_link(mass: float, com) -> str:
    return f'<robot name="ball"><link name="foot">{inertial(mass, com)}</link></robot>'


LEG = f"""<robot name="leg"><link name="base">{inertial(3.0, (0, 0, 0))}</link>
<link name="shin">{inertial(1.2, (0.02, 0.0, -0.1))}</link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="shin"/><origin xyz=".1 0 -.2"/>
<axis xyz=".6 .8 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""


def state_of(robot: Articulated) -> tuple[np.ndarray, np.ndarray]:
    q = np.concatenate([RNG.normal(size=7), RNG.uniform(-1, 1, robot.nq - 7)])
    q[3:7] /= np.linalg.norm(q[3:7])
    return q, RNG.normal(size=robot.nv)


def foot_of(avatar: Avatar) -> Contact:
    return make_contact(avatar.foot.sole, tg.Plane(), "support", center_A=tuple(avatar.foot.center))


def skew(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def moving_plate() -> tuple[FrameMotion, dict, np.ndarray]:
    """A plate that turns and accelerates: its motion, the same in the tree's names, and its twist rate."""
    orientation = RNG.normal(size=4)
    orientation /= np.linalg.norm(orientation)
    R, p, twist, u = np.asarray(to_matrix(orientation)), RNG.normal(size=3), RNG.normal(size=6), RNG.normal(size=6)
    w, v, zero = R @ twist[:3], R @ twist[3:], np.zeros((3, 6))
    plate = FrameMotion(R, p, w, v, zero, zero, R @ u[:3], R @ (u[3:] + np.cross(twist[:3], twist[3:])))
    return plate, {"hand.position": p, "hand.orientation": orientation, "hand.twist": twist}, u
