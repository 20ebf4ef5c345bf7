"""Rolling soles: gap and slip of any smooth convex body against finite differences of its lowest point."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.contact.motion import Motion
from trundle.systems.walking.gait.soles import RollingSole
from trundle.systems.walking.scenario.recomputed import RecordedSole

CENTER = np.array([0.055, 0.01, -0.04])
AXES = [0.145, 0.055, 0.045]
SOLES = {
    "sphere": tr.Sphere(0.3),
    "ellipsoid": tr.Ellipsoid(AXES),
    "superellipsoid": tr.Superellipsoid(AXES, [1.8, 1.9]),
    "rounded": tr.Superellipsoid(AXES, 1.7, rounding=0.01),
    "blunt": tr.Superellipsoid(AXES, [3.0, 2.5], rounding=0.01),
}


@pytest.fixture(params=SOLES.values(), ids=SOLES.keys())
def shape(request):
    return request.param


def stance(shape):
    """The numbers (gap, point, slip) of a foot at p with the orientation R and the velocities v, w, world."""
    p, R, v, w = ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3), ca.SX.sym("v", 3), ca.SX.sym("w", 3)
    still = {"Jw": ca.SX(3, 1), "Jv": ca.SX(3, 1), "al": ca.SX(3, 1), "a": ca.SX(3, 1)}
    motion = Motion(p=p, R=R, v=v, w=w, **still)
    foot = RollingSole(shape.representations.support, ca.SX(ca.DM(CENTER))).stance(motion, "rolling")
    return ca.Function("stance", [p, R, v, w], [foot.gaps, foot.points[0], foot.rows])


def test_rows_are_the_derivatives_of_gap_and_material_point(shape):
    numbers = stance(shape)
    rng = np.random.default_rng(3)
    h = 1e-6
    for _ in range(5):
        R = Rotation.from_rotvec(0.4 * rng.standard_normal(3))
        p, v, w = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(3)
        gap, point, rows = (np.array(value).ravel() for value in numbers(p, R.as_matrix(), v, w))
        moved = [(p + s * h * v, Rotation.from_rotvec(s * h * w) * R) for s in (-1, 1)]
        gaps = [float(numbers(at, turned.as_matrix(), v, w)[0]) for at, turned in moved]
        material = R.inv().apply(point - p)
        places = [at + turned.apply(material) for at, turned in moved]
        np.testing.assert_allclose(rows, (places[1] - places[0]) / (2 * h), atol=1e-7)
        # The contact's own wandering over the sole is level: the gap goes as the material point does.
        assert rows[2] == pytest.approx((gaps[1] - gaps[0]) / (2 * h), abs=1e-6)
        assert gap[0] == pytest.approx(point[2])


def test_the_lowest_point_is_that_of_the_metrics_and_of_a_search(shape):
    numbers = stance(shape)
    sizes = {name: getattr(shape, name) for name in shape.__dataclass_fields__}
    record = RecordedSole({"type": "rolling", "shape": type(shape).__name__.lower(), **sizes, "center": CENTER})
    R = Rotation.from_rotvec([0.1, 0.3, -0.2]).as_matrix()
    gap, point, _ = (np.array(value).ravel() for value in numbers(np.zeros(3), R, np.zeros(3), np.zeros(3)))
    np.testing.assert_allclose(R @ record.point(R), point, atol=1e-7)
    assert record.gap(R, np.zeros(3)) == pytest.approx(gap[0], abs=1e-9)
    if not getattr(shape, "rounding", 0.0):
        # Lowest of the points of |x/a|^p ... = 1 by direction.
        def height(angle):
            c, s = np.cos(angle), np.sin(angle)
            ray = np.array([c[0] * c[1], s[0] * c[1], s[1]])
            axes = np.array(getattr(shape, "semi_axes", [0.3] * 3))
            m, q = np.ravel(getattr(shape, "exponents", (2.0, 2.0)))
            x, y, z = np.abs(ray / axes)
            size = ((x**m + y**m) ** (q / m) + z**q) ** (1 / q)
            return float((R @ (CENTER + ray / size))[2])

        starts = [(a, -1.0) for a in (0.0, 1.6, 3.1, 4.7)]
        low = min(minimize(height, start, method="Nelder-Mead", tol=1e-12).fun for start in starts)
        assert low == pytest.approx(gap[0], abs=1e-8)


def test_a_stretched_sole_is_the_ellipsoid_of_those_axes_as_deep_below_the_ankle():
    avatar, factors = tr.walking.build_avatar(), [0.8, 1.2, 0.7]
    stretch, turn = ca.SX.sym("s", 3), ca.SX.sym("r", 3, 3)
    still = dict.fromkeys(("p", "v", "w", "Jw", "Jv", "al", "a"), ca.SX(3, 1))
    free = RollingSole.of(avatar.foot, stretch).probe(Motion(R=turn, **still)).p
    other = RollingSole.of(avatar.stretch_sole(factors).foot).probe(Motion(R=turn, **still)).p
    numbers = ca.Function("points", [stretch, turn], [free, other])
    for angles in ([0.0, 0.0, 0.0], [0.1, 0.4, -0.2], [-0.2, -0.5, 0.1]):
        found = numbers(factors, Rotation.from_rotvec(angles).as_matrix())
        np.testing.assert_allclose(*(np.array(value).ravel() for value in found), atol=1e-14)
    assert avatar.stretch_sole(factors).foot.depth == pytest.approx(avatar.foot.depth)
    assert avatar.stretch_sole(factors).base_height == pytest.approx(avatar.base_height)
