"""Distances of capsules from boxes, capsules, spheres and half-spaces, against searches without coal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trundle.contact.packed import FrameMotion
from trundle.errors import InputError
from trundle.models.robots.capsules import Clearance, LimbCapsule
from trundle.numerics.rotations import rotation_rpy
from trundle.systems.multicontact.humanoid.obstacles import KINDS, Obstacle
from trundle.systems.multicontact.whole_body.collision import CollisionRows

pytest.importorskip("coal")
EYE, NONE = np.eye(3), np.zeros(3)


def least(f: Any) -> float:
    """The least value of a convex function on [0, 1], by thirds."""
    low, high = 0.0, 1.0
    for _ in range(120):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if f(a) <= f(b) else (a, high)
    return float(f((low + high) / 2))


def from_segment(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    way = b - a
    t = np.clip((x - a) @ way / max(way @ way, 1e-300), 0.0, 1.0)
    return float(np.linalg.norm(x - a - t * way))


def expected(start: np.ndarray, end: np.ndarray, radius: float, other: Obstacle) -> float:
    """Distance of a capsule with these ends in the world; 0 where its axis is inside the other body."""
    p, R, size = other.position, other.R_world_obstacle, other.size
    if other.kind == "half-space":
        return min(float((x - p) @ other.normal) for x in (start, end)) - radius
    if other.kind == "sphere":
        return from_segment(p, start, end) - radius - size[0]
    if other.kind == "capsule":
        a, b = (p + s * R[:, 2] * size[1] / 2 for s in (-1.0, 1.0))
        return least(lambda t: from_segment(start + t * (end - start), a, b)) - radius - size[0]

    def away(t: float) -> float:
        local = R.T @ (start + t * (end - start) - p)
        return float(np.linalg.norm(np.maximum(np.abs(local) - size / 2, 0.0)))

    return least(away) - radius


def moved(p: np.ndarray, R: np.ndarray, nu: np.ndarray) -> FrameMotion:
    """A free body that moves with nu, (angular, linear)."""
    J = np.eye(6)
    return FrameMotion(R, p, nu[:3], nu[3:], J[:3], J[3:], NONE, NONE)


lengths = st.floats(0.02, 0.6)
angles = st.floats(-3.0, 3.0)
places = st.floats(-0.8, 0.8)
triples = {"place": st.tuples(places, places, places), "turn": st.tuples(angles, angles, angles)}


@st.composite
def scenes(draw: Any) -> tuple[LimbCapsule, np.ndarray, np.ndarray, Obstacle]:
    """A capsule of a link, the link's pose, and an obstacle."""
    ends = [np.array(draw(triples["place"])) / 2 for _ in range(2)]
    if np.linalg.norm(ends[1] - ends[0]) < 1e-6:
        ends[1] = ends[0]
    limb = LimbCapsule("link", *ends, draw(st.floats(0.01, 0.2)))
    kind = draw(st.sampled_from(sorted(KINDS)))
    size = [draw(lengths) for _ in range(KINDS[kind])]
    R = rotation_rpy(np.array(draw(triples["turn"])))
    other = Obstacle("it", np.array(size), draw(triples["place"]), ("limb",), R, kind)
    return limb, np.array(draw(triples["place"])), rotation_rpy(np.array(draw(triples["turn"]))), other


@settings(max_examples=150, deadline=None)
@given(scenes(), st.tuples(*[st.floats(-1.0, 1.0)] * 6))
def test_distance_and_its_growth(scene: tuple[LimbCapsule, np.ndarray, np.ndarray, Obstacle], rates: Any) -> None:
    limb, p, R, other = scene
    rows, nu = CollisionRows(Clearance({"limb": limb}, reach=10.0), [other]), np.array(rates)
    (one,) = rows.distances({"link": moved(p, R, nu)}, nu)
    assert one is not None
    apart = expected(p + R @ limb.start, p + R @ limb.end, limb.radius, other)
    if apart <= 1e-4:
        assert one.distance <= 2e-4
        return
    assert one.distance == pytest.approx(apart, abs=2e-6)
    # The points that are nearest now stay in the bodies: the distance grows no faster than theirs.
    step = 1e-4
    p_next, R_next = p + step * nu[3:], rotation_by_vector(step * nu[:3]) @ R
    after = expected(p_next + R_next @ limb.start, p_next + R_next @ limb.end, limb.radius, other)
    nearest = one.points[0] - p
    curved = (1.0 + np.linalg.norm(nearest)) ** 2 / min(apart + limb.radius, 1.0)
    assert after <= apart + step * one.rate + 20 * curved * step**2 + 4e-6


def rotation_by_vector(v: np.ndarray) -> np.ndarray:
    """R of a rotation vector (3,), to second order."""
    x, y, z = v
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return EYE + K + K @ K / 2


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_gradient_is_that_of_the_distance(kind: str) -> None:
    rng = np.random.default_rng(7)
    limb, seen = LimbCapsule("link", (0.05, 0.0, -0.1), (0.0, 0.02, 0.15), 0.05), 0
    for _ in range(40):
        size = rng.uniform(0.1, 0.4, KINDS[kind])
        R_o, R = (rotation_rpy(rng.uniform(-3, 3, 3)) for _ in range(2))
        p, nu, e = rng.uniform(-0.7, 0.7, 3), rng.normal(size=6), 1e-5
        other = Obstacle("it", size, rng.uniform(-0.2, 0.2, 3), ("limb",), R_o, kind)
        rows = CollisionRows(Clearance({"limb": limb}, reach=10.0), [other])
        (one,) = rows.distances({"link": moved(p, R, nu)}, nu)
        assert one is not None
        found = []
        for t in (-e, e):
            R_t, p_t = rotation_by_vector(t * nu[:3]) @ R, p + t * nu[3:]
            found.append(expected(p_t + R_t @ limb.start, p_t + R_t @ limb.end, limb.radius, other))
        if min(*found, one.distance) < 1e-2:
            continue
        seen += 1
        assert (found[1] - found[0]) / (2 * e) == pytest.approx(one.rate, abs=2e-3)
        np.testing.assert_allclose(one.J @ nu, one.rate, atol=1e-12)
    assert seen > 8


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"kind": "cone"}, "kind"),
        ({"size": (0.1, -0.1, 0.1)}, "size"),
        ({"size": (0.1,)}, "size"),
        ({"kind": "sphere", "size": (0.0,)}, "size"),
        ({"position": (0, 0, np.nan)}, "position"),
        ({"R_world_obstacle": 2 * EYE}, "R_world_obstacle"),
    ],
)
def test_wrong_obstacles_are_named(change: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=key):
        Obstacle(**{"name": "it", "size": (0.1, 0.1, 0.1), "position": NONE, **change})


def test_a_name_is_taken_once() -> None:
    limbs = Clearance({"limb": LimbCapsule("link", NONE, NONE, 0.1)})
    box = ((0.1, 0.1, 0.1), NONE, ("limb",))
    with pytest.raises(InputError, match=r"limb\.name"):
        CollisionRows(limbs, [Obstacle("limb", *box)])
    with pytest.raises(InputError, match=r"it\.name"):
        CollisionRows(limbs, [Obstacle("it", *box), Obstacle("it", *box)])
