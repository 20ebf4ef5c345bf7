"""Plane and space: every documented formula, in both dimensions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from trundle.errors import InputError
from trundle.numerics import space

rng = np.random.default_rng(3)


def dm(value) -> ca.SX:
    return ca.SX(ca.DM(np.asarray(value, float)))


def value(e: ca.SX) -> np.ndarray:
    return np.array(ca.DM(e))


def flat(e: ca.SX) -> np.ndarray:
    return value(e).ravel()


def test_sizes():
    assert [space.angular_size(d) for d in (2, 3)] == [1, 3]
    assert [space.orientation_size(d) for d in (2, 3)] == [1, 4]
    for bad in (1, 4, "3"):
        with pytest.raises(InputError, match="2 \\(plane\\) or 3"):
            space.angular_size(bad)


@pytest.mark.parametrize("d", [2, 3])
def test_cross_lever_and_moment_agree(d):
    w, r, f = rng.normal(size=1 if d == 2 else 3), rng.normal(size=d), rng.normal(size=d)
    if d == 2:
        expected, turned = w[0] * np.array([-r[1], r[0]]), r[0] * f[1] - r[1] * f[0]
    else:
        expected, turned = np.cross(w, r), np.cross(r, f)
    np.testing.assert_allclose(flat(space.cross(dm(w), dm(r))), expected, atol=1e-15)
    np.testing.assert_allclose(flat(space.lever(dm(r)) @ dm(w)), expected, atol=1e-15)
    np.testing.assert_allclose(flat(space.moment(dm(r), dm(f))), np.ravel(turned), atol=1e-15)
    # power of a force: f.(w x r) = w.(r x f)
    np.testing.assert_allclose(value(space.lever(dm(r))).reshape(d, -1).T @ f, np.ravel(turned), atol=1e-15)
    assert float(space.dot(dm(r), dm(f))) == pytest.approx(r @ f)


def test_planar_turn_is_counter_clockwise():
    assert flat(space.rot90(dm([1, 0]))).tolist() == [0, 1]
    np.testing.assert_allclose(value(space.rotation(dm([0.3]))), expm(0.3 * np.array([[0, -1], [1, 0]])), atol=1e-15)


def test_angular_cross_and_about():
    a, b = rng.normal(size=3), rng.normal(size=3)
    np.testing.assert_allclose(flat(space.angular_cross(dm(a), dm(b))), np.cross(a, b))
    assert space.angular_cross(dm([1.0]), dm([2.0])).nnz() == 0
    assert space.about(dm([0.0, 1.0])).shape == (0, 1)
    assert flat(space.about(dm(a))).tolist() == a.tolist()


@pytest.mark.parametrize("n", [1, 2])
def test_inverse_and_smallest_eigenvalue(n):
    for _ in range(20):
        M = rng.normal(size=(n, n))
        np.testing.assert_allclose(value(space.inverse(dm(M))) @ M, np.eye(n), atol=1e-12)
        S = M + M.T
        assert float(space.smallest_eigenvalue(dm(S))) == pytest.approx(np.linalg.eigvalsh(S)[0], abs=1e-13)


def test_rotation_of_a_quaternion_of_any_length():
    for _ in range(10):
        q = rng.normal(size=4) * 3
        R = value(space.rotation(dm(q)))
        np.testing.assert_allclose(R, Rotation.from_quat(q, scalar_first=True).as_matrix(), atol=1e-14)
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)


def test_rates_of_turns_are_those_of_their_rotations():
    q, w = ca.SX.sym("q", 4), ca.SX.sym("w", 3)
    R = space.rotation(q)

    def rate(qdot):
        return ca.reshape(ca.jtimes(ca.vec(R), q, qdot), 3, 3)

    fixed = rate(space.orientation_rate(q, w)) - ca.skew(w) @ R  # R' = [w] R
    body = rate(space.orientation_rate_body(q, w)) - R @ ca.skew(w)  # R' = R [w]
    f = ca.Function("f", [q, w], [fixed, body, ca.dot(q, space.orientation_rate(q, w))])
    for _ in range(5):
        parts = f(rng.normal(size=4), rng.normal(size=3))
        assert max(np.abs(np.array(p)).max() for p in parts) < 1e-13
    angle = ca.SX.sym("a")
    assert float(space.orientation_rate(angle, dm([0.7]))) == 0.7
    assert float(space.orientation_rate_body(angle, dm([0.7]))) == 0.7


def test_quaternion_rate_integrates_to_the_exponential():
    q, w = np.array([1.0, 0, 0, 0]), np.array([0.3, -0.5, 0.8])
    A = np.column_stack([flat(space.orientation_rate(dm(e), dm(w))) for e in np.eye(4)])
    end = expm(A * 2.0) @ q
    np.testing.assert_allclose(value(space.rotation(dm(end))), Rotation.from_rotvec(2 * w).as_matrix(), atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_tangents_are_right_handed_and_orthonormal(d):
    directions = [rng.normal(size=d) for _ in range(20)] + [np.eye(d)[-1], -np.eye(d)[-1], np.eye(d)[0]]
    for n in directions:
        n = n / np.linalg.norm(n)
        T = value(space.tangents(dm(n)))
        np.testing.assert_allclose(T.T @ T, np.eye(d - 1), atol=1e-14)
        np.testing.assert_allclose(T.T @ n, 0, atol=1e-14)
        if d == 3:
            assert np.linalg.det(np.column_stack([T, n])) == pytest.approx(1)
        else:
            assert [-T[1, 0], T[0, 0]] == pytest.approx(list(n))  # n is T turned counter-clockwise
