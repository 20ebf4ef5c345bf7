"""Contacts on numbers: the same rows as the expressions they come from."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from trundle.contact.choice import make_contact
from trundle.contact.contact import kinematics
from trundle.contact.laws import LAWS, PURE_ROLLING, ROLLING, Friction, Law, Sliding
from trundle.contact.motion import Motion
from trundle.contact.packed import FrameMotion, contact_function, still_frame
from trundle.errors import InputError
from trundle.models.tree.conversion import to_matrix

RNG = np.random.default_rng(8)
NV = 5
FOOT = make_contact(tg.Ellipsoid((0.15, 0.08, 0.05)), tg.Plane(), "support", center_A=(0.03, -0.01, -0.02))
PAIR = make_contact(tg.Ellipsoid((0.15, 0.08, 0.05)), tg.Ellipsoid((0.3, 0.4, 0.5)), "pair")


def any_motion() -> FrameMotion:
    turn = RNG.normal(size=4)
    R = np.asarray(to_matrix(turn / np.linalg.norm(turn)))
    p, w, v, al, a = RNG.normal(size=(5, 3))
    return FrameMotion(R, p, w, v, RNG.normal(size=(3, NV)), RNG.normal(size=(3, NV)), al, a)


def symbolic(motion: FrameMotion) -> Motion:
    return Motion(*(ca.SX(ca.DM(getattr(motion, name))) for name in ("R", "p", "w", "v", "Jw", "Jv", "al", "a")))


def value(expression: ca.SX) -> np.ndarray:
    return np.asarray(ca.evalf(expression))


@pytest.mark.parametrize("law", [ROLLING, PURE_ROLLING, Sliding(), LAWS["fixed"]], ids=lambda law: law.name)
@pytest.mark.parametrize("contact", [FOOT, PAIR], ids=["plane", "ellipsoid"])
def test_rows_are_those_of_the_expressions(contact, law: Law) -> None:
    A, B, s = any_motion(), any_motion(), RNG.normal(size=contact.size)
    friction = Friction(0.7)
    k = kinematics(contact, symbolic(A), symbolic(B), ca.SX(ca.DM(s)), slipping=law.slipping)
    rows = law.rows(k, friction)
    got = contact_function(contact, law, friction, compiled=False).rows(A, B, s)
    J = value(rows.LA) @ A.J - value(rows.LB) @ B.J
    G = J if rows.GA is None or rows.GB is None else value(rows.GA) @ A.J - value(rows.GB) @ B.J
    expected = [J, G, rows.b, rows.velocity, rows.position, k.frame, k.gap, k.vrel, k.rates]
    names = ("J", "G", "b", "velocity", "position", "frame", "gap", "vrel", "rates")
    for name, right in zip(names, expected, strict=True):
        right = right if isinstance(right, np.ndarray) else value(right)
        left = getattr(got, name)
        np.testing.assert_allclose(left, right.reshape(left.shape), rtol=1e-11, atol=1e-11, err_msg=name)


def test_another_point_of_a_body_moves_as_by_the_expressions() -> None:
    motion, r = any_motion(), np.array([0.3, -0.2, 0.5])
    moved, expected = motion.at(r), symbolic(motion).at(ca.SX(ca.DM(r)))
    for name in ("R", "p", "w", "v", "Jw", "Jv", "al", "a"):
        right = value(getattr(expected, name))
        np.testing.assert_allclose(getattr(moved, name), right.reshape(getattr(moved, name).shape), atol=1e-14)


def test_compiled_and_interpreted_agree() -> None:
    A, B = any_motion(), still_frame(NV)
    one, other = (contact_function(FOOT, ROLLING, compiled=compiled).rows(A, B) for compiled in (True, False))
    np.testing.assert_allclose(one.b, other.b, rtol=1e-13)
    np.testing.assert_allclose(one.J, other.J, rtol=1e-13)


def test_a_still_frame_can_be_tilted() -> None:
    R = np.asarray(to_matrix(np.array([np.cos(0.1), 0.0, np.sin(0.1), 0.0])))
    B = still_frame(NV, R, (1.0, 2.0, 3.0))
    rows = contact_function(FOOT, ROLLING, compiled=False).rows(any_motion(), B)
    np.testing.assert_allclose(rows.frame[:, 2], R[:, 2])
    with pytest.raises(InputError):
        still_frame(NV, 2 * np.eye(3))


def test_wrong_coordinates_and_a_lost_contact_are_refused() -> None:
    A, B = any_motion(), still_frame(NV)
    with pytest.raises(InputError, match="s ="):
        contact_function(FOOT, ROLLING, compiled=False).rows(A, B, [1.0])
    broken = FrameMotion(np.zeros((3, 3)), *(getattr(A, n) for n in ("p", "w", "v", "Jw", "Jv", "al", "a")))
    with pytest.raises(InputError, match="regular touch"):
        contact_function(FOOT, ROLLING, compiled=False).rows(broken, B)
