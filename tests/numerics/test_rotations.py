"""Rotations as numbers: matrices, vectors, quaternions and angles agree with each other."""

import numpy as np
import pytest
from scipy.linalg import expm

from trundle.numerics.rotations import (
    quaternion_of,
    quaternions_plane,
    rotation_by,
    rotation_matrices,
    rotation_of,
    rotation_plane,
    rotation_rpy,
    rotation_vector,
    skew,
    turn_between,
)


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-3, 1.0, 3.0])
def test_rotation_vector_undoes_rotation_by(angle: float) -> None:
    rng = np.random.default_rng(3)
    axis, R = rng.normal(size=3), rotation_by(rng.normal(size=3))
    turn = angle * axis / np.linalg.norm(axis)
    assert rotation_vector(R, rotation_by(turn) @ R) == pytest.approx(turn, abs=1e-12)
    assert np.linalg.norm(turn_between(R, rotation_by(turn) @ R)) == pytest.approx(np.sin(angle), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_quaternions_and_matrices_are_the_same_turn(seed: int) -> None:
    q = np.random.default_rng(seed).normal(size=4)
    q[seed % 4] *= 5.0  # each entry is once the largest
    R = rotation_of(q)
    assert R @ R.T == pytest.approx(np.eye(3), abs=1e-14)
    found = quaternion_of(R)
    assert abs(found @ q) / np.linalg.norm(q) == pytest.approx(1.0, abs=1e-14)
    assert found[np.argmax(np.abs(found))] > 0


def test_of_equal_entries_the_first_is_positive_whatever_the_round_off() -> None:
    """Quarter turns have two largest entries, third turns about a diagonal four."""
    turns = [np.pi / 2 * sign * axis for axis in np.eye(3) for sign in (1.0, -1.0)]
    turns += [2 * np.pi / 3 * np.array(signs) / np.sqrt(3.0) for signs in ((1, 1, 1), (-1, 1, 1), (-1, -1, -1))]
    rng = np.random.default_rng(0)
    for turn in turns:
        for _ in range(10):
            q = quaternion_of(rotation_by(turn) + 2e-16 * rng.standard_normal((3, 3)))
            assert q[0] == pytest.approx(np.cos(np.linalg.norm(turn) / 2), abs=1e-15)


def test_half_turns_have_quaternions() -> None:
    for axis in np.eye(3):
        R = 2 * np.outer(axis, axis) - np.eye(3)
        assert rotation_of(quaternion_of(R)) == pytest.approx(R, abs=1e-15)


def test_angles_turn_about_x_then_y_then_z() -> None:
    rpy = np.array([0.3, -0.4, 0.5])
    steps = [rotation_by(angle * axis) for angle, axis in zip(rpy, np.eye(3), strict=True)]
    assert rotation_rpy(rpy) == pytest.approx(steps[2] @ steps[1] @ steps[0], abs=1e-15)


def test_skew_is_the_matrix_of_a_cross_product() -> None:
    r, v = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])
    assert skew(r) @ v == pytest.approx(np.cross(r, v), abs=1e-15)


def test_turns_of_the_plane_are_those_of_space_about_the_axis_into_it() -> None:
    angles = np.array([0.0, 0.7, -1.2, 3.0])
    R = rotation_plane(angles)
    np.testing.assert_allclose(R, [expm(a * np.array([[0, -1], [1, 0]])) for a in angles], atol=1e-14)
    in_space = rotation_matrices(quaternions_plane(angles))
    np.testing.assert_allclose(in_space[:, [[0], [2]], [0, 2]], R, atol=1e-15)  # x right, z up
    np.testing.assert_allclose(in_space, [rotation_by(np.array([0, -a, 0])) for a in angles], atol=1e-15)


def test_stacks_of_quaternions_turn_as_one_does() -> None:
    q = 3.0 * np.random.default_rng(2).normal(size=(5, 4))
    np.testing.assert_allclose(rotation_matrices(q), [rotation_of(one) for one in q], atol=1e-15)
