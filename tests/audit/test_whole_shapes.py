"""Gaps of whole shapes: bodies with edges on smooth ones, where the gap is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.audit.shapes import Poses, gaps, solid_of
from trundle.geometry.queries.separation import separation
from trundle.geometry.shape import Shape

AXES = np.array([7.0, 4.8, 4.5])
"""m: of an ellipsoid."""


def on_ellipsoid(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a point of the ellipsoid and its normal."""
    u = rng.normal(size=3)
    u /= np.linalg.norm(u)
    return AXES**2 * u / np.linalg.norm(AXES * u), u


def found(shape: Shape, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the gaps of a shape at poses (n, 3, 3), (n, 3) over the ellipsoid, without any hint."""
    none = np.zeros((len(p), 0, 3))
    poses = Poses(3, R, np.broadcast_to(np.eye(3), R.shape), p, lambda: none)
    return gaps(solid_of(shape), solid_of(tr.Ellipsoid(AXES)), poses, 3e-5).gap


def turned_to(body: np.ndarray, direction: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a rotation that turns a direction of the body to another one, and about that by any angle."""
    axis = np.cross(body, direction)
    angle = np.arctan2(np.linalg.norm(axis), body @ direction)
    swing = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
    return (Rotation.from_rotvec(rng.uniform(0, 2 * np.pi) * direction) * swing).as_matrix()


@pytest.mark.parametrize("depth", [0.0, 2e-5])
def test_a_corner_of_a_box_that_touches_an_ellipsoid(depth: float) -> None:
    rng, half = np.random.default_rng(3), np.array([0.68, 0.36, 0.33])
    R, p = np.zeros((60, 3, 3)), np.zeros((60, 3))
    for k in range(len(R)):
        point, n = on_ellipsoid(rng)
        corner = half * rng.choice([-1, 1], size=3)
        lowest = np.sign(corner) * rng.uniform(0.2, 1.0, size=3)  # a direction in which that corner is the farthest
        R[k] = turned_to(lowest / np.linalg.norm(lowest), -n, rng)
        p[k] = point - R[k] @ corner - depth * n
    # The corner is as deep as the ellipsoid curves little over that depth.
    assert found(tr.Box(half), R, p) == pytest.approx(np.full(60, -depth), abs=1e-7)


@pytest.mark.parametrize("depth", [0.0, 2e-5])
def test_the_rim_of_a_disc_that_touches_an_ellipsoid(depth: float) -> None:
    rng, radius = np.random.default_rng(4), 0.73
    R, p = np.zeros((60, 3, 3)), np.zeros((60, 3))
    for k in range(len(R)):
        point, n = on_ellipsoid(rng)
        around, tilt = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1.4)
        rim = np.array([np.cos(around), np.sin(around), 0.0])
        lowest = np.cos(tilt) * rim + np.array([0, 0, np.sin(tilt)])
        R[k] = turned_to(lowest, -n, rng)
        p[k] = point - radius * R[k] @ rim - depth * n
    assert found(tr.Disc(radius, 0.0), R, p) == pytest.approx(np.full(60, -depth), abs=1e-6)


def test_the_gap_of_bodies_that_are_apart_is_not_overestimated() -> None:
    """A bound below the gap along the line of centres, and above that of the balls around both."""
    rng = np.random.default_rng(5)
    R = Rotation.random(60, random_state=5).as_matrix()
    u = rng.normal(size=(60, 3))
    p = 9.0 * u / np.linalg.norm(u, axis=1)[:, None]
    gap = found(tr.Box([1.0, 0.6, 0.4]), R, p)
    reach = np.linalg.norm([1.0, 0.6, 0.4])
    assert np.all(gap <= 9.0 - AXES.min())
    assert np.all(gap >= 9.0 - AXES.max() - reach)


EDGED = (
    tr.Capsule(0.04, 0.1),
    tr.Cylinder(0.05, 0.12),
    tr.Box([0.05, 0.04, 0.06]),
    tr.Disc(0.05, 0.0),
    tr.Ellipsoid([0.04, 0.05, 0.06]),
    tr.Rounded(tr.Cylinder(0.05, 0.1), 0.01),
)


@pytest.mark.parametrize("A", EDGED, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("B", EDGED, ids=lambda shape: type(shape).__name__)
def test_bodies_that_just_touch_do_not_overlap(A: tr.Shape, B: tr.Shape) -> None:
    """Poses at which the engine's own measure, which shares no code with the audit, has them touch."""
    rng, measure = np.random.default_rng(17), separation(A, B)
    Rs, ps, gaps_there = [], [], []
    for R in Rotation.random(6, rng=rng).as_matrix():
        along = rng.normal(size=3)
        along /= np.linalg.norm(along)
        far = brentq(lambda s, R=R, along=along: measure.apart(R, s * along).gap, 1e-3, 0.4, xtol=1e-13)
        Rs.append(R)
        ps.append(far * along)
        gaps_there.append(measure.apart(R, far * along).gap)
    none, R, p = np.zeros((6, 0, 3)), np.array(Rs), np.array(ps)
    poses = Poses(3, R, np.broadcast_to(np.eye(3), R.shape), p, lambda: none)
    there = gaps(solid_of(A), solid_of(B), poses, 5e-5 * 0.05).gap
    np.testing.assert_allclose(there, gaps_there, atol=5e-6 * 0.05 / 10)
