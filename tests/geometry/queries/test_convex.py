"""Distances of convex bodies: bounds that meet, what does not change them, and bodies whose distance is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.geometry.queries.convex import ConvexPair
from trundle.geometry.queries.separation import separation


def bodies(random):
    def size():
        return float(random.uniform(0.05, 0.3))

    points = random.normal(size=(int(random.integers(4, 14)), 3)) * 0.15
    return {
        "box": tr.Box([size(), size(), size()]),
        "ellipsoid": tr.Ellipsoid([size(), size(), size()]),
        "capsule": tr.Capsule(size(), size()),
        "cylinder": tr.Cylinder(size(), size()),
        "disc": tr.Disc(size()),
        "polytope": tr.Polytope(points.tolist()),
        "rounded": tr.Rounded(tr.Box([size(), size(), size()]), 0.04),
    }


NAMES = tuple(bodies(np.random.default_rng(0)))
PAIRS = list(itertools.combinations_with_replacement(NAMES, 2))


def drawn(pair, seed):
    random = np.random.default_rng([seed, PAIRS.index(pair)])
    A, B = bodies(random)[pair[0]], bodies(random)[pair[1]]
    R = Rotation.random(random_state=int(random.integers(1 << 30))).as_matrix()
    p = random.normal(size=3)
    return A, B, R, p * random.uniform(0.6, 1.5) / np.linalg.norm(p), random


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_nearest_points_are_as_far_apart_as_the_planes_between_them(pair):
    """The distance of two points is an upper bound, that of two planes a lower one: together they prove both."""
    for seed in range(8):
        A, B, R, p, _ = drawn(pair, seed)
        found = separation(A, B).apart(R, p)
        x_A = R @ found.x_A + p
        assert found.gap > 0.0
        assert np.linalg.norm(x_A - found.x_B) == pytest.approx(found.gap, abs=1e-12)
        assert separation(A, B).along(R, p, found.normal) == pytest.approx(found.gap, abs=1e-12)
        assert np.allclose(x_A - found.x_B, found.gap * found.normal, atol=1e-7)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_distances_do_not_know_who_is_first_where_the_world_is_or_how_large_things_are(pair):
    A, B, R, p, random = drawn(pair, 100)
    found = separation(A, B).apart(R, p)
    other = separation(B, A).apart(R.T, -R.T @ p)
    assert other.gap == pytest.approx(found.gap, abs=1e-12)
    np.testing.assert_allclose(-R @ other.normal, found.normal, atol=1e-6)
    for guess in random.normal(size=(4, 3)):
        again = separation(A, B).apart(R, p, guess / np.linalg.norm(guess))
        assert again.gap == pytest.approx(found.gap, abs=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("left", [1e-4, 1e-9, 0.0, -1e-7])
def test_gaps_that_are_almost_none_are_as_exact_as_wide_ones(pair, left):
    """Bodies drawn together along their normal, a body's corner onto another's side: what is left is known."""
    A, B, R, p, _ = drawn(pair, 200)
    measure = separation(A, B)
    wide = measure.apart(R, p)
    near = measure.apart(R, p - (wide.gap - left) * wide.normal, wide.normal)
    # A sheet's rim and a corner have normals all around: what is drawn on along one is apart again along another.
    assert near.gap == pytest.approx(left, abs=1e-12) or (near.gap > left and near.normal @ wide.normal < 0.0)


def test_boxes_are_as_far_apart_as_a_quadratic_program_says():
    random = np.random.default_rng(0)
    for _ in range(10):
        a, b = random.uniform(0.05, 0.3, 3), random.uniform(0.05, 0.3, 3)
        R = Rotation.random(random_state=int(random.integers(1 << 30))).as_matrix()
        p = random.normal(size=3)
        p = 1.2 * p / np.linalg.norm(p)

        def between(x, R=R, p=p):
            return R @ x[:3] + p - x[3:]

        bounds = [(-h, h) for h in (*a, *b)]
        known = minimize(lambda x: between(x) @ between(x), np.zeros(6), bounds=bounds, options={"ftol": 1e-16})
        found = separation(tr.Box(a.tolist()), tr.Box(b.tolist())).apart(R, p)
        assert found.gap == pytest.approx(np.sqrt(known.fun), rel=1e-5)


def test_a_ball_and_an_axis_are_known_in_closed_form():
    capsule, disc = tr.Capsule(0.1, 0.2), tr.Disc(0.3)
    far = separation(capsule, tr.Ellipsoid([0.1, 0.1, 0.1 + 1e-12])).apart(np.eye(3), np.array([1.0, 0.0, 0.0]))
    assert far.gap == pytest.approx(0.8, abs=1e-11)
    across = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    edge = separation(disc, disc).apart(across, np.array([0.0, 0.0, 0.5]))
    assert edge.gap == pytest.approx(0.2, abs=1e-12)
    flat = separation(disc, disc).apart(np.eye(3), np.array([0.1, 0.0, 0.5]))
    assert flat.gap == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_scale(scale):
    A, B, R, p, _ = drawn(("box", "ellipsoid"), 300)
    larger = tr.Box([h * scale for h in A.half_extents]), tr.Ellipsoid([h * scale for h in B.semi_axes])
    small, large = separation(A, B).apart(R, p), separation(*larger).apart(R, scale * p)
    assert large.gap == pytest.approx(scale * small.gap, rel=1e-12)


def test_in_the_plane():
    box, ellipse = tr.Box([0.2, 0.1]), tr.Ellipse([0.3, 0.1])
    angle = 0.4
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = separation(box, ellipse).apart(R, np.array([0.6, 0.5]))
    assert np.linalg.norm(R @ found.x_A + [0.6, 0.5] - found.x_B) == pytest.approx(found.gap, abs=1e-13)


def test_a_support_function_that_calls_others_has_the_same_distances(monkeypatch):
    A, B, R, p, _ = drawn(("box", "ellipsoid"), 400)
    expected = separation(A, B).apart(R, p)
    monkeypatch.setattr("trundle.geometry.queries.convex.interpret_function", lambda function: None)
    A, B, R, p, _ = drawn(("box", "ellipsoid"), 400)
    gap, normal, x_A, x_B = ConvexPair(A, B).apart(R, p, p / np.linalg.norm(p))
    assert gap == pytest.approx(expected.gap, abs=1e-14)
    np.testing.assert_allclose(normal, expected.normal, atol=1e-9)
    np.testing.assert_allclose(R @ x_A + p - x_B, gap * normal, atol=1e-7)
