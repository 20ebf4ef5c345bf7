"""Local errors: the same from either coordinates, blind to charts, of the size and sign of the motion they measure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.control.cases import ball_on_plate
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.errors import InputError


def turned(pair, axis, angle, start=(1.0, 0.0, 0.0, 0.0), **more):
    """A start whose object is turned about a world axis from the quaternion `start`."""
    R = Rotation.from_rotvec(np.asarray(axis) * angle) * Rotation.from_quat(start, scalar_first=True)
    return pair.place(object_quaternion=R.as_quat(scalar_first=True), **more)


SHAPES = {
    "support": (tr.Ellipsoid((0.05, 0.04, 0.03)), tr.Plane()),
    "pair": (tr.Sphere(radius=0.05), tr.Ellipsoid((0.2, 0.3, 0.25))),
    "chart": (tr.Torus(0.05, 0.02), tr.Plane()),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_both_coordinates_have_the_same_features(name, law):
    body, hand = SHAPES[name]
    held = tr.Hand(hand, position=(0.1, 0.2, 0.3), rpy=(0.2, -0.1, 0.4), twist=(0.3, 0.2, 0.0, 0.1, 0.2, 0.3))
    pair = tr.RollingPair(tr.RigidBody(body, mass=0.2), held, law=law)
    w = held.R_world_hand @ np.array([0.3, 0.2, 0.0]) + 0.0
    top = (0.0, 0.0, 0.25) if name == "pair" else (0.02, 0.01, 0.0)
    start = pair.place(contact_on_hand=top, object_quaternion=(0.6, 0.0, 0.8, 0.0), object_angular_velocity=w)
    rolling = in_rolling_coordinates(pair, start)
    error = LocalError(pair, rolling.atlas)
    np.testing.assert_allclose(
        error.between(error.of_reference(rolling.x), error.of_state(start.x)), np.zeros(error.size), atol=1e-9
    )
    assert error.size == (19 if law == "pure-rolling" else 20)


def test_a_turn_of_the_object_is_its_angle_until_half_a_turn():
    pair = ball_on_plate()
    first = pair.place()
    error = LocalError(pair, in_rolling_coordinates(pair, first).atlas)
    reference = error.of_state(first.x)
    for angle in (1e-3, 0.5, 3.0, -3.0):
        e = error.between(reference, error.of_state(turned(pair, (0.0, 1.0, 0.0), angle).x))
        np.testing.assert_allclose(e[error.blocks["object_rotation"]], [0, 2 * np.sin(angle / 2), 0], atol=1e-8)
        assert np.abs(np.delete(e, np.r_[error.blocks["object_rotation"]])).max() < 1e-8


def test_no_chart_matters():
    """Every orientation of a body, also those at a pole of each chart, has an error that moves with it."""
    pair = tr.RollingPair(tr.RigidBody(tr.Ellipsoid((0.05, 0.04, 0.03)), mass=0.2), tr.Hand(tr.Plane()))
    for q in Rotation.random(10, rng=1).as_quat(scalar_first=True):
        first = pair.place(object_quaternion=q)
        error = LocalError(pair, in_rolling_coordinates(pair, first).atlas)
        e = error.between(error.of_state(first.x), error.of_state(turned(pair, (1.0, 0.0, 0.0), 1e-4, q).x))
        axis = e[error.blocks["object_rotation"]]
        assert np.linalg.norm(axis) == pytest.approx(1e-4, rel=1e-5)


def test_weights_by_name():
    error = LocalError(ball_on_plate())
    Q = error.weights("Q", {"contact": [1.0, 2.0], "hand_position": 3}, error.blocks, definite=False)
    assert np.diag(Q)[error.blocks["contact"]].tolist() == [1.0, 2.0]
    assert np.diag(Q).sum() == 3 * 3 + 3
    with pytest.raises(InputError, match=r"Q\.contct"):
        error.weights("Q", {"contct": 1.0}, error.blocks, definite=False)
    with pytest.raises(InputError, match=r"Q\.contact"):
        error.weights("Q", {"contact": [1.0, 2.0, 3.0]}, error.blocks, definite=False)
    with pytest.raises(InputError, match=r"R\.hand_acceleration"):
        error.weights("R", {"hand_angular_acceleration": 1.0}, error.input_blocks, definite=True)
    with pytest.raises(InputError, match="Q"):
        error.weights("Q", np.eye(7), error.blocks, definite=False)


def test_what_cannot_be_controlled_is_refused():
    ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.2)
    with pytest.raises(InputError, match="base"):
        LocalError(tr.RollingPair(ball, tr.Ground(tr.Plane())))
    with pytest.raises(InputError, match="state"):
        LocalError(ball_on_plate()).of_state(np.full(26, np.nan))
    with pytest.raises(InputError, match="state"):
        LocalError(ball_on_plate()).of_state(np.zeros(25))
