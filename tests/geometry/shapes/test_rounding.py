from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trundle.geometry as tg
from trundle.errors import InputError, ShapeError
from trundle.geometry.queries.sampling import numeric_support

UNIT = np.random.default_rng(2).normal(size=(20, 3))
UNIT /= np.linalg.norm(UNIT, axis=1)[:, None]


@given(r=st.floats(0.01, 10), rho=st.floats(1e-3, 10))
def test_rounded_sphere_is_a_larger_sphere(r: float, rho: float) -> None:
    h, x, radii = numeric_support(tg.Rounded(tg.Sphere(r), rho)).at(UNIT)
    np.testing.assert_allclose(h, r + rho, rtol=1e-12)
    np.testing.assert_allclose(x, (r + rho) * UNIT, rtol=1e-12)
    np.testing.assert_allclose(radii[0], (r + rho) * (np.eye(3) - np.outer(UNIT[0], UNIT[0])), atol=1e-12 * (r + rho))


@pytest.mark.parametrize("base", [tg.Box([0.1, 0.2, 0.3]), tg.Superellipsoid([0.1, 0.2, 0.3], 1.5), tg.Ellipse([2, 1])])
def test_rounding_adds_radius_times_normal(base: tg.Shape) -> None:
    n = UNIT if base.d == 3 else UNIT[:, :2] / np.linalg.norm(UNIT[:, :2], axis=1)[:, None]
    h, x, radii = numeric_support(base).at(n)
    h2, x2, radii2 = numeric_support(tg.Rounded(base, 0.05)).at(n)
    np.testing.assert_allclose(h2, h + 0.05, rtol=1e-12)
    np.testing.assert_allclose(x2, x + 0.05 * n, atol=1e-12)
    np.testing.assert_allclose(radii2, radii + 0.05 * (np.eye(base.d) - n[:, :, None] * n[:, None]), atol=1e-10)


def test_rounded_distance_is_smaller_by_the_radius() -> None:
    base = tg.Polytope([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    points = 2 * UNIT
    np.testing.assert_allclose(tg.Rounded(base, 0.1).distance(points)[0], base.distance(points)[0] - 0.1)
    assert tg.Rounded(base, 0.1).reference_length == pytest.approx(0.5 + 0.1)


def test_polytope_distances_to_face_edge_and_corner() -> None:
    shape = tg.Polytope([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]])
    assert len(shape.vertices) == 4
    points = [[0.2, 0.2, -1], [0.5, -1, -1], [-1, -2, -2], [0.1, 0.2, 0.2]]
    np.testing.assert_allclose(shape.distance(points)[0], [1, np.sqrt(2), 3, -0.1])


def test_polygon_distances() -> None:
    shape = tg.Polytope([[0, 0], [2, 0], [0, 2]])
    np.testing.assert_allclose(shape.distance([[1, -1], [-3, -4], [2, 2], [0.3, 0.5]])[0], [1, 5, np.sqrt(2), -0.3])


def test_box_and_polytope_agree() -> None:
    corners = [[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)]
    a, b = numeric_support(tg.Box([1, 2, 3])).at(UNIT), numeric_support(tg.Polytope(corners)).at(UNIT)
    np.testing.assert_allclose(a[0], b[0])
    np.testing.assert_allclose(a[1], b[1])


def test_edges_are_seen_by_roundness() -> None:
    for shape in (tg.Rounded(tg.Box([1, 1, 1]), 0.1), tg.Rounded(tg.Box([1, 1]), 0.1)):
        f = shape.representations.roundness
        assert f is not None
        n = np.full(shape.d, 0.5)
        m = n.copy()
        m[0] = -0.5
        assert float(f(n)) * float(f(m)) < 0
    f = tg.Polytope([[0, 0], [2, 0], [0, 2]]).representations.roundness
    assert f is not None
    assert float(f([0.6, 0.8])) > 0
    assert float(f([np.sqrt(0.5), np.sqrt(0.5)])) < 0


def test_only_convex_bodies_are_rounded() -> None:
    for shape in (tg.Torus(0.3, 0.1), tg.Plane(), tg.FourierRadius(1, [0, 0.3])):
        with pytest.raises(ShapeError, match="convex"):
            tg.Rounded(shape, 0.1)
    with pytest.raises(InputError, match="shape"):
        tg.Rounded("box", 0.1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="radius"):
        tg.Rounded(tg.Sphere(1), 0)


@pytest.mark.parametrize("vertices", [[[0, 0], [1, 1], [2, 2]], [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 0]]])
def test_flat_polytopes_are_refused(vertices: list[list[float]]) -> None:
    with pytest.raises(ShapeError, match="vertices"):
        tg.Polytope(vertices)
