from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trundle.geometry as tg
from trundle.errors import InputError, ShapeError
from trundle.geometry.queries.sampling import numeric_support
from trundle.geometry.shapes.corners import FACE_TILT

UNIT = np.random.default_rng(1).normal(size=(20, 3))
UNIT /= np.linalg.norm(UNIT, axis=1)[:, None]
sizes = st.floats(0.01, 10)


def roundness(shape: tg.Shape, n: Any) -> float:
    f = shape.representations.roundness
    assert f is not None
    return float(f(np.array(n, dtype=float)))


@given(a=sizes, b=sizes, c=sizes, p=st.floats(1.2, 2.0), q=st.floats(1.2, 2.0))
def test_superellipsoid_points_satisfy_its_equation(a: float, b: float, c: float, p: float, q: float) -> None:
    x = np.abs(numeric_support(tg.Superellipsoid([a, b, c], (p, q))).at(UNIT)[1])
    f = ((x[:, 0] / a) ** p + (x[:, 1] / b) ** p) ** (q / p) + (x[:, 2] / c) ** q
    np.testing.assert_allclose(f, 1, rtol=1e-5)


@given(a=sizes, b=sizes, c=sizes, rho=st.just(0) | st.floats(1e-6, 1))
def test_exponent_two_is_the_ellipsoid(a: float, b: float, c: float, rho: float) -> None:
    h, x, _ = numeric_support(tg.Superellipsoid([a, b, c], 2, rho)).at(UNIT)
    s = np.sqrt((UNIT * [a, b, c]) ** 2 @ np.ones(3))
    np.testing.assert_allclose(h, s + rho, rtol=1e-12)
    np.testing.assert_allclose(x, UNIT * np.square([a, b, c]) / s[:, None] + rho * UNIT, rtol=1e-10, atol=1e-12)


def test_blunted_superellipsoid_stays_convex_and_close() -> None:
    sharp = 0.1 / 3 ** (1 / 4) * np.ones(3)  # the corner of x^4 + y^4 + z^4 = 0.1^4
    blunt = tg.Superellipsoid([0.1, 0.1, 0.1], 4, rounding=1e-3)
    tg.check_convex(blunt)
    distance, _ = blunt.distance([sharp, [0.1, 0, 0]])
    assert np.all(distance <= 0)
    assert np.all(distance > -2e-3)


@pytest.mark.parametrize("exponents", [3, (2, 2.5), [4, 1.5]])
def test_flat_spots_need_rounding(exponents: Any) -> None:
    with pytest.raises(ShapeError, match="rounding"):
        tg.Superellipsoid([1, 1, 1], exponents)


def test_disc_is_a_ring_of_points() -> None:
    h, x, radii = numeric_support(tg.Disc(0.1)).at(np.array([[0.6, 0.0, 0.8]]))
    assert h[0] == pytest.approx(0.06)
    np.testing.assert_allclose(x[0], [0.1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(np.linalg.eigvalsh(radii[0]), [0, 0, 0.1 / 0.6], atol=1e-14)


def test_disc_stops_being_round_on_its_face() -> None:
    for shape in (tg.Disc(0.1), tg.Disc(0.1, 0.02), tg.Torus(0.3, 0.1)):
        assert roundness(shape, [0.6, 0, 0.8]) > 0
        assert roundness(shape, [0, 0, 1]) < 0
        assert roundness(shape, [5e-4, 0, -1]) < 0


def test_face_of_a_disc_gives_its_middle() -> None:
    np.testing.assert_allclose(tg.Disc(0.1).points_with_normal([0, 0, 1]), [[0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(tg.Disc(0.1, 0.02).points_with_normal([0, 0, -1]), [[0, 0, -0.02]], atol=1e-8)


def test_capsule_changes_sign_on_its_side() -> None:
    shape = tg.Capsule(0.05, 0.2)
    assert roundness(shape, [0.6, 0, 0.8]) * roundness(shape, [0.6, 0, -0.8]) < 0
    np.testing.assert_allclose(shape.points_with_normal([0, 0, 1]), [[0, 0, 0.15]])
    np.testing.assert_allclose(shape.points_with_normal([2, 0, 0]), [[0.05, 0, 0]])
    assert tg.Capsule(0.05, 0).representations.roundness is None


@given(r=sizes, length=st.just(0) | st.floats(1e-6, 10), x=st.tuples(*[st.floats(-20, 20)] * 3))
def test_capsule_distance(r: float, length: float, x: tuple[float, float, float]) -> None:
    s, _ = tg.Capsule(r, length).distance([x])
    nearest = np.array([0, 0, np.clip(x[2], -length / 2, length / 2)])
    assert s[0] == pytest.approx(np.linalg.norm(np.array(x) - nearest) - r, abs=1e-12)


def test_capsule_charts_cover_caps_and_side() -> None:
    shape = tg.Capsule(0.05, 0.2)
    assert shape.locate([0.05, 0, 0.03])[0] == 2
    assert shape.locate([0, 0.04, 0.13])[0] == 1
    assert shape.locate([0, 0.04, -0.13])[0] == 0


def test_box_distance_inside_and_outside() -> None:
    s, gradient = tg.Box([1, 2, 3]).distance([[0, 0, 0], [2, 3, 3], [0.5, 1.9, 0], [0, 0, 5]])
    np.testing.assert_allclose(s, [-1, np.sqrt(2), -0.1, 2])
    np.testing.assert_allclose(gradient[1:], [[np.sqrt(0.5), np.sqrt(0.5), 0], [0, 1, 0], [0, 0, 1]], atol=1e-12)


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: tg.Superellipsoid([1, 1, 1], 1), "exponents"),
        (lambda: tg.Superellipsoid([1, 1, 1], [2, 2, 2]), "exponents"),
        (lambda: tg.Superellipsoid([1, 1, 1], "2"), "exponents"),
        (lambda: tg.Superellipsoid([1, 1], 2), "semi_axes"),
        (lambda: tg.Superellipsoid([1, 1, 1], 2, -1), "rounding"),
        (lambda: tg.Disc(0), "radius"),
        (lambda: tg.Disc(1, -0.1), "rounding"),
        (lambda: tg.Capsule(1, -1), "length"),
        (lambda: tg.Capsule(0, 1), "radius"),
        (lambda: tg.Box([1, 0, 1]), "half_extents"),
        (lambda: tg.Box(1), "half_extents"),
    ],
)
def test_bad_sizes_are_named(build: Any, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.key == key


SMOOTH = {
    "superellipsoid": tg.Superellipsoid([0.1, 0.08, 0.06], [2.5, 4], rounding=0.01),
    "exponent two": tg.Superellipsoid([0.1, 0.08, 0.06], 2, rounding=0.01),
    "sphere": tg.Sphere(0.1),
    "ellipsoid": tg.Ellipsoid([0.1, 0.08, 0.06]),
    "rounded ellipsoid": tg.Rounded(tg.Ellipsoid([0.1, 0.08, 0.06]), 0.01),
    "rounded superellipsoid": tg.Rounded(tg.Superellipsoid([0.1, 0.08, 0.06], 1.6), 0.01),
}


def patch(chart: tg.Chart, u: Any) -> tuple[np.ndarray, np.ndarray]:
    v = ca.SX.sym("v", 2)
    found = chart.patch(v)
    x, n = (np.array(part).ravel() for part in ca.Function("patch", [v], [found.x, found.n])(u))
    return x, n


@pytest.mark.parametrize("shape", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize("axis", range(3))
def test_belts_go_round_smooth_convex_bodies(shape: tg.Shape, axis: int) -> None:
    """Each point is the body's farthest along the belt's own normal there, and a turn of u closes."""
    belt = shape.representations.belts[axis]
    for u in ([0.3, -1.8], [2.0, 0.4], [5.0, 1.5]):
        x, n = patch(belt, u)
        np.testing.assert_allclose(numeric_support(shape).at(n[None])[1][0], x, atol=1e-9)
        np.testing.assert_allclose(patch(belt, [u[0] + 2 * np.pi, u[1]])[0], x, atol=1e-12)


@pytest.mark.parametrize(("length", "size"), [(None, 0.1), (0.15, 0.1), (0.3, 0.15)])
def test_the_size_of_a_cylinder_is_its_radius_or_half_its_length(length: float | None, size: float) -> None:
    assert tg.Cylinder(0.1, length).reference_length == pytest.approx(size)


UP, ACROSS, TURN = np.sin(0.5), np.cos(0.5), np.array([np.cos(0.7), np.sin(0.7)])
ROUNDNESS = {
    "disc": (tg.Disc(0.1, flat=0.01), ACROSS - 0.01),
    "coin": (tg.Disc(0.1, 0.01, flat=0.02), ACROSS - 0.02),
    "cylinder": (tg.Cylinder(0.1, 0.3, flat=0.03), (ACROSS - 0.03) * UP),
    "torus": (tg.Torus(0.3, 0.1), ACROSS - 1e-3),
    "capsule": (tg.Capsule(0.05, 0.1), UP),
    "box": (tg.Box([0.1, 0.2, 0.3]), ACROSS**2 * UP * TURN.prod()),
}


@pytest.mark.parametrize("name", ROUNDNESS)
def test_roundness_as_written(name: str) -> None:
    shape, expected = ROUNDNESS[name]
    assert roundness(shape, [*ACROSS * TURN, UP]) == pytest.approx(expected)


def test_a_body_shows_its_flat_face_by_its_support_function() -> None:
    """A ball of 0.1 m with its lowest part cut off at 0.096 m: one small face, whose rim has the radius 0.028 m."""

    def cut(x: ca.SX, y: ca.SX, z: ca.SX) -> ca.SX:
        across, size = ca.sqrt(x * x + y * y + 1e-300), ca.sqrt(x * x + y * y + z * z)
        return ca.if_else(z > -0.96 * size, 0.1 * size, 0.028 * across - 0.096 * z)

    rim, *points = tg.ExpressionBody(cut).representations.pieces
    at = np.array([point.at for point in points])
    np.testing.assert_allclose(np.linalg.norm(at[:, :2], axis=1), 0.028, rtol=1e-6)
    np.testing.assert_allclose(at[:, 2], -0.096, rtol=1e-6)
    assert rim.face == tuple(range(1, len(at) + 1))
    for e in (0.5, -0.5, 0.01, -0.01, -1.57, 1.57):
        n = np.array([*np.cos(e) * TURN, np.sin(e)])
        assert roundness(rim.shape, n) == pytest.approx((np.cos(e) if e < 0 else 1.0) - FACE_TILT, abs=1e-12)
