"""Pose to rolling coordinates and back; a change of charts keeps the pose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.contact import pairs
from trundle.contact.choice import contact_coordinates
from trundle.models.tree.conversion import pose_of, rolling_values, to_matrix, to_wxyz


def test_quaternions_and_matrices():
    rng = np.random.default_rng(0)
    for _ in range(10):
        R = Rotation.from_quat(rng.normal(size=4)).as_matrix()
        q = to_wxyz(R)
        assert q[0] >= 0
        np.testing.assert_allclose(to_matrix(q), R, atol=1e-14)
    np.testing.assert_allclose(to_matrix(np.array([np.pi / 2])), [[0, -1], [1, 0]], atol=1e-15)


@pytest.mark.parametrize("rolling", ["rolling", "pure"])
@pytest.mark.parametrize(
    ("a", "b"), [("ellipsoid", "dish"), ("egg", "height map"), ("torus", "tube"), ("sphere", "plane")]
)
def test_there_and_back(a, b, rolling):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    atlases = [atlas for form, atlas in pairs.possible(A, B) if form == "chart"]
    for atlas in atlases:
        states = pairs.random_states(
            A, B, "chart", "pure-rolling" if rolling == "pure" else "rolling", 10, atlas, seed=9
        )
        model = pairs.pose_model(A, B, "chart", atlas, rolling=rolling)
        for i, state in enumerate(states.objects):
            values = {"contact.coordinates": states.coordinates[i], "hand.position": states.hands[i].r,
                      "hand.orientation": states.turns[i], "hand.twist": states.twists[i]}  # fmt: skip
            values |= rolling_values(model, values, states.quaternions[i], state.w)
            x = np.zeros(model.x.shape[0])
            for name, value in values.items():
                x[model.layout[name]] = value
            R, p, w, v = pose_of(model, x, "object")
            np.testing.assert_allclose(R, state.R, atol=1e-13)
            np.testing.assert_allclose([p, w, v], [state.p, state.w, state.v], atol=1e-13 * 50)
            again = rolling_values(model, values, to_wxyz(R), w)
            for name, value in again.items():
                np.testing.assert_allclose(np.sin(value), np.sin(values[name]), atol=1e-13)


def test_other_charts_keep_the_pose():
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")
    states = pairs.random_states(A, B, "chart", "rolling", 20, (0, 0), seed=6)
    for i, state in enumerate(states.objects):
        x_A, x_B = states.seeds[i]
        s, atlas = contact_coordinates(A.shape, B.shape, "chart", x_A, x_B, B.twin.normal(x_B))
        model = pairs.pose_model(A, B, "chart", atlas, rolling="rolling")
        values = {"contact.coordinates": s, "hand.position": states.hands[i].r, "hand.orientation": states.turns[i],
                  "hand.twist": states.twists[i]}  # fmt: skip
        values |= rolling_values(model, values, states.quaternions[i], state.w)
        x = np.zeros(model.x.shape[0])
        for name, value in values.items():
            x[model.layout[name]] = value
        R, p, w, v = pose_of(model, x, "object")
        np.testing.assert_allclose(R, state.R, atol=1e-12)
        np.testing.assert_allclose([p, w, v], [state.p, state.w, state.v], atol=1e-11)


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
def test_both_coordinates_of_a_pair_start_at_the_same_place(coordinates):
    ball = tr.RigidBody(tr.Ellipsoid([0.3, 0.2, 0.15]), mass=1.0, center_of_mass=[0.02, 0.01, -0.01])
    hand = tr.Hand(tr.Dish([2.0, 1.5, 1.2]), [0.3, 0.1, 0.2], [0.2, -0.1, 0.4], [0.1, 0.2, -0.3, 0.4, 0.5, -0.6])
    pair = tr.RollingPair(ball, hand, coordinates=coordinates)
    q = np.array([0.8, 0.3, -0.4, 0.2]) / 0.93**0.5
    start = pair.place(contact_on_hand=[0.4, 0.3, -1.1], object_quaternion=q, object_angular_velocity=[1, 2, 3])
    R, p, w, v = pose_of(pair.system.model(start.atlas), start.x, "object")
    np.testing.assert_allclose(R, to_matrix(q), atol=1e-12)
    np.testing.assert_allclose(w, [1, 2, 3], atol=1e-12)
    # no slip at the contact, which lies on the dish
    R_hand, r, w_hand, v_hand = pose_of(pair.system.model(start.atlas), start.x, "hand")
    x_B = tr.Dish([2.0, 1.5, 1.2]).closest([[0.4, 0.3, -1.1]])
    point = r + R_hand @ np.ravel(x_B)
    slip = v + np.cross(w, point - p) - v_hand - np.cross(w_hand, point - r)
    np.testing.assert_allclose(slip, 0, atol=1e-10)


def test_relative_pose_is_that_of_the_charts_in_use():
    ball = tr.RigidBody(tr.Ellipsoid([0.3, 0.2, 0.15]), mass=1.0, center_of_mass=[0.02, 0.01, -0.01])
    hand = tr.Hand(tr.Dish([2.0, 1.5, 1.2]), twist=[0.1, 0.2, -0.3, 0.4, 0.5, -0.6])
    found = []
    for coordinates in ("pose", "rolling"):
        pair = tr.RollingPair(ball, hand, coordinates=coordinates)
        start = pair.place(contact_on_hand=[0.4, 0.3, -1.1], object_quaternion=[0.1, 0.7, 0.5, 0.5])
        found.append(pair.system.relative_pose(start.x, atlas=start.atlas))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-11)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-11)
