"""What a user says of bodies, hands and motions: every mistake is named with its key, value and range."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.models.inertia import check_inertia

NAN, INF = float("nan"), float("inf")
BALL = tr.Sphere(0.2)


def refused(make, key: str, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    error = caught.value
    assert error.key == key
    text = str(error)
    assert text.startswith(f"{key} = ")
    assert "must be " in text
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    ("options", "key", "words"),
    [
        ({"shape": "sphere"}, "shape", "'sphere'"),
        ({"shape": tr.Plane(), "inertia": [1, 1, 1]}, "shape", "bounded"),
        ({"shape": tr.Tube(1.0), "inertia": [1, 1, 1]}, "shape", "bounded"),
        ({"shape": tr.Sinusoid(0.1, 1.0), "inertia": 1.0}, "shape", "bounded"),
        ({"mass": -1.0}, "mass", "> 0"),
        ({"mass": 0}, "mass", "> 0"),
        ({"mass": NAN}, "mass", "nan"),
        ({"mass": INF}, "mass", "finite"),
        ({"mass": "1"}, "mass", "'1'"),
        ({"mass": True}, "mass", "True"),
        ({"mass": None}, "mass", "None"),
        ({"inertia": "hollow"}, "inertia", "'solid', 'shell'"),
        ({"inertia": [1, 1, 2.1]}, "inertia", "I1 + I2 >= I3"),
        ({"inertia": [1, -1, 1]}, "inertia", "positive definite"),
        ({"inertia": [0, 1, 1]}, "inertia", "positive definite"),
        ({"inertia": [1, 1]}, "inertia", "3 finite numbers"),
        ({"inertia": [1, 1, NAN]}, "inertia", "3 finite numbers"),
        ({"inertia": [[1, 0, 0], [0, 1, 0]]}, "inertia", "3 x 3"),
        ({"inertia": [[1, 0], [0, 1, 0], [0]]}, "inertia", "finite numbers"),
        ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "inertia", "symmetric"),
        ({"inertia": -0.1}, "inertia", "> 0"),
        ({"inertia": None}, "inertia", "None"),
        ({"inertia": ["a", 1, 1]}, "inertia", "finite numbers"),
        ({"center_of_mass": [0, 0]}, "center_of_mass", "3 finite numbers"),
        ({"center_of_mass": [0, 0, INF]}, "center_of_mass", "3 finite numbers"),
        ({"center_of_mass": 0.1}, "center_of_mass", "3 finite numbers"),
    ],
)
def test_impossible_bodies(options, key, words):
    refused(lambda: tr.RigidBody(**({"shape": BALL, "mass": 1.0} | options)), key, words)


def test_numbers_of_every_kind_make_the_same_body():
    one = tr.RigidBody(BALL, 1, [1, 1, 1], [0, 0, 0])
    two = tr.RigidBody(BALL, np.float32(1.0), np.ones(3), np.zeros(3))
    assert (
        (one.mass, one.moments, one.center_of_mass)
        == (two.mass, two.moments, two.center_of_mass)
        == (1.0, 1.0, (0.0,) * 3)
    )
    assert isinstance(one.mass, float)
    with pytest.raises(AttributeError):
        one.mass = 2.0


def test_named_inertias_are_those_of_balls_and_ellipsoids():
    assert tr.RigidBody(BALL, 0.5).moments == pytest.approx(0.4 * 0.5 * 0.04)
    assert tr.RigidBody(BALL, 0.5, "shell").moments == pytest.approx(2 / 3 * 0.5 * 0.04)
    a, b, c = 0.3, 0.2, 0.1
    found = tr.RigidBody(tr.Ellipsoid([a, b, c]), 2.0).moments
    np.testing.assert_allclose(np.array(found), 0.4 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b]), rtol=1e-9)
    assert tr.RigidBody(tr.Circle(0.2), 0.5).moments == pytest.approx(0.5 * 0.5 * 0.04)


def test_the_shape_sits_at_minus_the_centre_of_mass():
    assert tr.RigidBody(BALL, 1.0, center_of_mass=[0.1, 0, -0.2]).shape_origin == (-0.1, 0.0, 0.2)


def test_inertia_keeps_symmetry_exact():
    assert check_inertia(3, [0.2, 0.2, 0.2]) == 0.2
    assert check_inertia(3, 0.2) == 0.2
    full = check_inertia(3, [[2.0, 0.1, 0], [0.1, 2.0, 0], [0, 0, 3.0]])
    np.testing.assert_array_equal(full, np.transpose(full))
    assert check_inertia(2, 0.3) == 0.3


@pytest.mark.parametrize(
    ("options", "key", "words"),
    [
        ({"shape": tr.Line(), "rpy": [0, 0.1, 0]}, "rpy", "angle"),
        ({"shape": None}, "shape", "None"),
        ({"position": [0, 0]}, "position", "3 finite numbers"),
        ({"position": [0, 0, NAN]}, "position", "3 finite numbers"),
        ({"rpy": "level"}, "rpy", "'level'"),
        ({"twist": [0, 0, 1]}, "twist", "6 finite numbers"),
        ({"motion": "coast"}, "motion", "'coast'"),
        ({"extent": [0.1, -0.1]}, "extent", "> 0"),
        ({"extent": [0.1]}, "extent", "2 finite numbers"),
    ],
)
def test_impossible_hands(options, key, words):
    refused(lambda: tr.Hand(**({"shape": tr.Plane()} | options)), key, words)


@pytest.mark.parametrize(
    ("options", "key", "words"),
    [
        ({"position": [0, 0, 0]}, "position", "2 finite numbers"),
        ({"twist": [0] * 6}, "twist", "3 finite numbers"),
        ({"rpy": [0, 0.1, 0]}, "rpy", "angle"),
        ({"angle": NAN}, "angle", "finite"),
        ({"motion": tr.SinusoidMotion([1] * 6, [1] * 6)}, "motion", "of 3 components"),
        ({"extent": [0.1, 0.1]}, "extent", "1 finite numbers"),
        ({"extent": -0.1}, "extent", "> 0"),
    ],
)
def test_impossible_hands_in_the_plane(options, key, words):
    refused(lambda: tr.Hand(**({"shape": tr.Line()} | options)), key, words)


def test_a_hand_in_space_has_no_angle_and_no_planar_motion():
    refused(lambda: tr.Hand(tr.Plane(), angle=0.1), "angle", "rpy")
    refused(lambda: tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([1] * 3, [1] * 3)), "motion", "of 6 components")


def test_a_hand_in_the_plane():
    hand = tr.Hand(tr.Line(), angle=0.3, extent=0.4, motion=tr.SampledMotion([0, 1], np.zeros((2, 3))))
    assert hand.position == (0.0, 0.0)
    assert hand.twist == (0.0, 0.0, 0.0)
    assert hand.extent == (0.4,)
    np.testing.assert_allclose(hand.R_world_hand @ [1, 0], [np.cos(0.3), np.sin(0.3)])
    np.testing.assert_array_equal(hand.orientation, [0.3])


def test_ground_needs_a_shape():
    refused(lambda: tr.Ground("hill"), "shape", "'hill'")


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: tr.SinusoidMotion([1] * 5, [1] * 6), "amplitude"),
        (lambda: tr.SinusoidMotion([1] * 6, [1] * 5 + [NAN]), "frequency"),
        (lambda: tr.SinusoidMotion([1] * 6, [1] * 6, "x"), "phase"),
        (lambda: tr.SampledMotion([0.0], np.zeros((1, 6))), "times"),
        (lambda: tr.SampledMotion([0.0, 0.0], np.zeros((2, 6))), "times"),
        (lambda: tr.SampledMotion([1.0, 0.0], np.zeros((2, 6))), "times"),
        (lambda: tr.SampledMotion([0.0, 1.0], np.zeros((3, 6))), "values"),
        (lambda: tr.SampledMotion([0.0, 1.0], np.full((2, 6), NAN)), "values"),
        (lambda: tr.SampledMotion([0.0, NAN], np.zeros((2, 6))), "times"),
        (lambda: tr.SampledMotion([0.0, 1.0], np.zeros((2, 5))), "values"),
        (lambda: tr.SampledMotion([0.0, 1.0], [0.0, 1.0]), "values"),
        (lambda: tr.SampledMotion([0.0, 1.0], None), "values"),
        (lambda: tr.SinusoidMotion([1] * 3, [1] * 6), "frequency"),
        (lambda: tr.SinusoidMotion(1.0, [1] * 6), "amplitude"),
    ],
)
def test_impossible_motions(make, key):
    refused(make, key)


def rate_of(motion, t: float) -> np.ndarray:
    p, _ = motion.parameters(t)
    time, symbol = ca.SX.sym("t"), ca.SX.sym("p", motion.size)
    function = ca.Function("rate", [time, symbol], [ca.SX(motion.rate(time, symbol))])
    return np.array(function(t, p)).ravel()


def test_rates_of_motions_as_documented():
    a, f, phi = np.arange(6.0), np.linspace(0.5, 2, 6), np.linspace(-1, 1, 6)
    t = 0.37
    np.testing.assert_allclose(
        rate_of(tr.SinusoidMotion(a, f, phi), t), a * np.sin(2 * np.pi * f * t + phi), atol=1e-14
    )
    assert not rate_of(tr.Coast(), t).any()
    times, values = np.array([0.5, 1.0, 3.0]), np.random.default_rng(0).normal(size=(3, 6))
    motion = tr.SampledMotion(times, values)
    planar = tr.SampledMotion(times, values[:, :3])
    np.testing.assert_allclose(rate_of(planar, 0.7), rate_of(motion, 0.7)[:3])
    np.testing.assert_allclose(rate_of(tr.SinusoidMotion(a[:3], f[:3]), t), a[:3] * np.sin(2 * np.pi * f[:3] * t))
    for t in (0.0, 0.5, 0.7, 1.0, 2.9, 3.0, 9.0):
        expected = [np.interp(t, times, column) for column in values.T]
        np.testing.assert_allclose(rate_of(motion, t), expected, atol=1e-14)
    assert [motion.parameters(t)[1] for t in (0.0, 0.5, 0.99, 1.0, 3.0)] == [0.5, 1.0, 1.0, 3.0, np.inf]


def test_roll_pitch_yaw_as_documented():
    # R = Rz(yaw) Ry(pitch) Rx(roll)
    roll, pitch, yaw = 0.3, -0.5, 1.1
    c, s = np.cos, np.sin
    Rx = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    Ry = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    Rz = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    np.testing.assert_allclose(tr.Hand(tr.Plane(), rpy=[roll, pitch, yaw]).R_world_hand, Rz @ Ry @ Rx, atol=1e-15)
