"""Facts that hold for every concrete shape and each of its representations."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.geometry.shape_table import POLYGONAL, SHAPES, make, names

CHARTED = names(lambda s: s.representations.charts)
SUPPORTED = names(lambda s: s.representations.support is not None)
LEVELLED = names(lambda s: s.representations.level is not None)


def concrete(cls: type) -> set[type]:
    found = set() if inspect.isabstract(cls) else {cls}
    for sub in cls.__subclasses__():
        found |= concrete(sub)
    return found


def test_every_concrete_shape_is_listed() -> None:
    missing = {c for c in concrete(tg.Shape) if c.__module__.startswith("trundle.")} - {type(make(n)) for n in SHAPES}
    # A point has no boundary that normals, meshes and charts could be asked of: see test_a_point_touches_where_it_is.
    assert missing == {tg.Point}


def test_a_point_touches_where_it_is() -> None:
    np.testing.assert_array_equal(tg.Point().points_with_normal([0.6, 0.0, 0.8]), np.zeros((1, 3)))
    outside, gradient = tg.Point().distance([[0.3, 0.0, 0.4]])
    np.testing.assert_allclose(outside, [0.5], atol=1e-12)
    np.testing.assert_allclose(gradient, [[0.6, 0.0, 0.8]], atol=1e-9)
    vertices, _ = tg.Point(0.02).mesh()
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.02, atol=1e-12)


def test_every_concrete_shape_is_public() -> None:
    assert {c.__name__ for c in concrete(tg.Shape) if c.__module__.startswith("trundle.")} <= set(tg.__all__)


def parameters(chart: tg.Chart, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.isfinite(chart.reach):
        u = rng.uniform(-1, 1, (4 * n, chart.d - 1)) * chart.reach
        return u[np.linalg.norm(u, axis=1) < chart.reach][:n]
    spans = [(r.low, r.high) if r.bounded else (-2.0, 2.0) for r in chart.ranges]
    return np.stack([low + (high - low) * rng.uniform(0.05, 0.95, n) for low, high in spans], axis=1)


@cache
def chart_numbers(name: str, index: int) -> list[dict[str, np.ndarray]]:
    chart = make(name).representations.numbered[index]
    u = ca.SX.sym("u", chart.d - 1)
    p = chart.patch(u)
    assert p.A is not None
    assert p.K is not None
    values = [p.x, p.n, p.T, p.K, p.A, ca.jacobian(p.x, u), ca.jacobian(p.n, u)]
    f = ca.Function("f", [u], values)
    keys = ("x", "n", "T", "K", "A", "dx", "dn")
    rows = []
    for point in parameters(chart, 5):
        row = {k: np.array(v) for k, v in zip(keys, f(point), strict=True)}
        rows.append(row | {"u": point})
    return rows


CHARTS = [(n, i) for n in CHARTED for i in range(len(make(n).representations.numbered))]


@pytest.mark.parametrize(("name", "index"), CHARTS)
def test_chart_patch(name: str, index: int) -> None:
    shape = make(name)
    d = shape.d
    for row in chart_numbers(name, index):
        n, T, K = row["n"], row["T"], row["K"]
        size = 1 + np.abs(K).max()
        assert abs(np.linalg.norm(n) - 1) < 1e-13
        np.testing.assert_allclose(T.T @ n, 0, atol=1e-13)
        np.testing.assert_allclose(T.T @ T, np.eye(d - 1), atol=1e-13)
        np.testing.assert_allclose(K, K.T, atol=1e-12 * size)
        np.testing.assert_allclose(T @ row["A"], row["dx"], atol=1e-12)
        np.testing.assert_allclose(n.T @ row["dx"], 0, atol=1e-12)
        # dn/du = T K A: the shape operator is the derivative of the normal.
        np.testing.assert_allclose(row["dn"], T @ K @ row["A"], atol=1e-10 * size * (1 + np.abs(row["A"]).max()))
        if d == 3:
            assert np.linalg.det(np.hstack([T, n])) == pytest.approx(1)
        else:
            side = shape.representations.numbered[index].side
            np.testing.assert_allclose(n[:, 0], side * np.array([-T[1, 0], T[0, 0]]), atol=1e-13)


@pytest.mark.parametrize(("name", "index"), [c for c in CHARTS if make(c[0]).d == 3])
def test_chart_turning(name: str, index: int) -> None:
    """tau du = e2 . de1 along du, by differentiating the tangents."""
    chart = make(name).representations.numbered[index]
    u = ca.SX.sym("u", 2)
    p = chart.patch(u)
    assert p.tau is not None
    f = ca.Function("f", [u], [p.tau, p.T[:, 1].T @ ca.jacobian(p.T[:, 0], u)])
    for point in parameters(chart, 5):
        tau, expected = f(point)
        np.testing.assert_allclose(np.array(tau), np.array(expected), atol=1e-10)


def support_numbers(name: str, normals: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    shape = make(name)
    support = shape.representations.support
    assert support is not None
    n = ca.SX.sym("n", shape.d)
    x, radii = support.point_and_radii(n)
    f = ca.Function("f", [n], [support.support(n), x, radii, ca.jacobian(x, n)])
    return [tuple(np.array(v) for v in f(row)) for row in normals]


def unit(n: int, d: int, seed: int = 3) -> np.ndarray:
    v = np.random.default_rng(seed).normal(size=(n, d))
    return v / np.linalg.norm(v, axis=1)[:, None]


@pytest.mark.parametrize("name", SUPPORTED)
def test_support_patch(name: str) -> None:
    shape = make(name)
    size = shape.reference_length
    normals = unit(6, shape.d)
    for n, (h, x, radii, dx) in zip(normals, support_numbers(name, normals), strict=True):
        assert h[0, 0] == pytest.approx(n @ x[:, 0], abs=1e-13 * size)
        np.testing.assert_allclose(radii @ n, 0, atol=1e-12 * size)
        np.testing.assert_allclose(radii, radii.T, atol=1e-12 * size)
        assert np.linalg.eigvalsh(radii)[0] > -1e-12 * size
        tangent = np.linalg.svd(n[None])[2][1:].T
        np.testing.assert_allclose(radii @ tangent, dx @ tangent, atol=1e-10 * size)


@pytest.mark.parametrize("name", SUPPORTED)
def test_support_is_the_largest_projection_of_the_body(name: str) -> None:
    shape = make(name)
    points, _ = shape.sample(400)
    normals = unit(6, shape.d)
    for n, (h, *_rest) in zip(normals, support_numbers(name, normals), strict=True):
        assert h[0, 0] >= np.max(points @ n) - 1e-12 * shape.reference_length


@pytest.mark.parametrize("name", [n for n in SUPPORTED if n in CHARTED])
def test_chart_and_support_agree(name: str) -> None:
    """The support's point with a chart's normal is the chart's point, and K radii = I on the tangent plane."""
    shape = make(name)
    for index in range(len(shape.representations.numbered)):
        for row in chart_numbers(name, index):
            hidden = shape.representations.hull and np.linalg.norm(row["x"][:2]) < 0.3
            flat = np.linalg.det(row["K"]) < 1e-9
            if hidden or flat:
                continue
            _, x, radii, _ = support_numbers(name, row["n"].T)[0]
            np.testing.assert_allclose(x, row["x"], atol=1e-12)
            product = row["K"] @ (row["T"].T @ radii @ row["T"])
            np.testing.assert_allclose(product, np.eye(shape.d - 1), atol=1e-10)


@pytest.mark.parametrize("name", LEVELLED)
def test_level_patch(name: str) -> None:
    shape = make(name)
    level = shape.representations.level
    assert level is not None
    x = ca.SX.sym("x", shape.d)
    p = level.patch(x)
    assert p.K is not None
    f = ca.Function("f", [x], [level.level(x), p.n, p.T, p.K, ca.jacobian(p.n, x)])
    points, normals = shape.sample(6, around=np.zeros(shape.d), radius=3 * shape.reference_length)
    assert len(points)
    for point, normal in zip(points, normals, strict=True):
        value, n, T, K, dn = (np.array(v) for v in f(point))
        assert abs(value[0, 0]) < 1e-12
        np.testing.assert_allclose(n[:, 0], normal, atol=1e-10)
        np.testing.assert_allclose(T.T @ n, 0, atol=1e-13)
        np.testing.assert_allclose(K, K.T, atol=1e-10)
        np.testing.assert_allclose(K, T.T @ dn @ T, atol=1e-9 * (1 + np.abs(K).max()))


@pytest.mark.parametrize("name", [n for n in LEVELLED if n in CHARTED])
def test_chart_and_level_agree(name: str) -> None:
    shape = make(name)
    level = shape.representations.level
    assert level is not None
    x = ca.SX.sym("x", shape.d)
    p = level.patch(x)
    f = ca.Function("f", [x], [level.level(x), p.n, p.T @ p.K @ p.T.T])
    for index in range(len(shape.representations.numbered)):
        for row in chart_numbers(name, index):
            if name == "capsule" and abs(abs(row["x"][2, 0]) - 0.05) < 1e-3:
                continue
            value, n, K = (np.array(v) for v in f(row["x"]))
            assert abs(value[0, 0]) < 1e-12 * (1 + np.abs(row["x"]).max())
            np.testing.assert_allclose(n, row["n"], atol=1e-12)
            np.testing.assert_allclose(K, row["T"] @ row["K"] @ row["T"].T, atol=1e-9 * (1 + np.abs(row["K"]).max()))


@pytest.mark.parametrize("name", SHAPES)
def test_normals_point_out_of_the_material(name: str) -> None:
    shape = make(name)
    size = shape.reference_length
    points, normals = shape.sample(40, around=np.zeros(shape.d), radius=2.5 * size)
    assert len(points)
    step = 1e-3 * size
    outside, gradient = shape.distance(points + step * normals)
    np.testing.assert_allclose(outside, step, rtol=1e-6)
    np.testing.assert_allclose(np.sum(gradient * normals, axis=1), 1, atol=1e-6)
    if name in ("disc", "rectangle", "box", "tetrahedron"):
        return
    inside, _ = shape.distance(points - step * normals)
    np.testing.assert_allclose(inside, -step, rtol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_values(name: str) -> None:
    shape = make(name)
    again = SHAPES[name]()
    assert hash(shape) is not None
    if "Expression" not in type(shape).__name__:
        assert again == shape
        assert hash(again) == hash(shape)
    assert shape.reference_length > 0
    assert shape.representations is shape.representations


@pytest.mark.parametrize("name", CHARTED)
def test_locate_inverts_the_charts(name: str) -> None:
    shape = make(name)
    for index, chart in enumerate(shape.representations.charts):
        for row in chart_numbers(name, index):
            found, u = shape.locate(row["x"][:, 0])
            u_sym = ca.SX.sym("u", shape.d - 1)
            point = ca.Function("x", [u_sym], [shape.representations.charts[found].point(u_sym)])
            # Renaming the contact coordinates keeps the point: what a switch of charts rests on.
            np.testing.assert_allclose(np.array(point(u)), row["x"], atol=1e-13 * (1 + shape.reference_length))
            assert np.linalg.norm(u) <= chart.reach
            if np.isfinite(chart.reach):
                assert np.linalg.norm(u) <= 1 + 1e-9


@pytest.mark.parametrize("name", SHAPES)
def test_points_with_normal_have_it(name: str) -> None:
    shape = make(name)
    around, radius = np.zeros(shape.d), 1.5 * shape.reference_length
    if name in POLYGONAL or name in ("disc", "cube-like"):
        normals = unit(2, shape.d)
    else:
        normals = shape.sample(3, around, radius)[1]
    for n in normals:
        found = shape.points_with_normal(3 * n, around=around, radius=radius)
        assert found.shape[1] == shape.d
        assert len(found) >= 1
        distance, gradient = shape.distance(found + 1e-3 * shape.reference_length * n)
        np.testing.assert_allclose(distance, 1e-3 * shape.reference_length, rtol=1e-6)
        np.testing.assert_allclose(gradient, np.tile(n, (len(found), 1)), atol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_meshes_lie_on_the_boundary(name: str) -> None:
    shape = make(name)
    picture: Any = shape.mesh(12, around=np.zeros(shape.d), radius=shape.reference_length)
    vertices = picture if shape.d == 2 else picture[0]
    assert vertices.shape[1] == shape.d
    distance, _ = shape.distance(vertices[:60])
    np.testing.assert_allclose(distance, 0, atol=1e-9 * (1 + shape.reference_length))
    if shape.d == 3:
        faces = picture[1]
        assert faces.shape[1] == 3
        assert faces.max() < len(vertices)
