from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trundle.geometry as tg
from tests.geometry.shape_table import make
from trundle.errors import InputError
from trundle.geometry.queries.sampling import numeric_charts


def test_locate_prefers_the_chart_centred_nearer() -> None:
    shape = tg.Ellipsoid([0.3, 0.2, 0.1])
    assert shape.locate([0, 0, -0.1])[0] == 0
    assert shape.locate([0, 0, 0.1])[0] == 1


@settings(max_examples=40)
@given(u=st.floats(-1.4, 1.4), v=st.floats(-1.4, 1.4))
def test_switching_charts_keeps_the_point(u: float, v: float) -> None:
    if not 1 < np.hypot(u, v) < 1.5:
        return
    shape = tg.Ellipsoid([0.3, 0.2, 0.1])
    charts = numeric_charts(shape)
    x = charts[0].points(np.array([[u, v]]))
    index, w = shape.locate(x[0])
    assert index == 1
    np.testing.assert_allclose(charts[1].points(w[None]), x, atol=1e-14)
    np.testing.assert_allclose(charts[1].at(w[None]).n, charts[0].at(np.array([[u, v]])).n, atol=1e-12)


def test_angles_are_given_within_one_turn() -> None:
    assert tg.Circle(1).locate([0, -1])[1][0] == pytest.approx(1.5 * np.pi)


def test_points_off_the_boundary_are_refused_with_their_distance() -> None:
    with pytest.raises(InputError, match=r"0\.1 m away"):
        tg.Sphere(1).locate([0, 0, 1.1])
    index, u = tg.Sphere(1).locate([0, 0, 1.1], tolerance=0.2)
    assert index == 1
    np.testing.assert_allclose(u, 0, atol=1e-12)


def test_shapes_without_charts_say_so() -> None:
    with pytest.raises(InputError, match="charts"):
        tg.Disc(1).locate([1, 0, 0])


@pytest.mark.parametrize("method", ["sample", "mesh"])
def test_shapes_without_end_ask_for_a_window(method: str) -> None:
    for shape in (tg.Line(), tg.Tube(1)):
        with pytest.raises(InputError, match="around"):
            getattr(shape, method)(20)


def test_sinusoid_gives_every_crest_in_the_window() -> None:
    shape = tg.Sinusoid(0.06, 0.8)
    found = shape.points_with_normal([0, 1], around=[0, 0], radius=2)
    crests = 0.2 + 0.4 * np.arange(-5, 5)
    np.testing.assert_allclose(np.sort(found[:, 0]), crests[np.abs(crests) <= 2], atol=1e-12)


def test_sharp_crests_are_found_beside_blunt_ones() -> None:
    """The crests and troughs of cos(2 pi e^x) are where e^x is half a whole number, sharper the further along."""
    shape = tg.ExpressionCurve(lambda x: (x, 0.1 * ca.cos(2 * np.pi * ca.exp(x))), range=[-2, 2])
    found = shape.points_with_normal([0, 1], around=[0, 0], radius=2)
    np.testing.assert_allclose(np.sort(found[:, 0]), np.log(np.arange(1, 15) / 2), atol=1e-12)


def test_far_along_waves_the_nearest_points_are_those_of_the_first_wave() -> None:
    shape, random = tg.Sinusoid(1.0, 0.5), np.random.default_rng(0)
    points = np.stack([random.uniform(-0.25, 0.25, 100), random.uniform(-2, 2, 100)], axis=1)
    far = [1000 * 0.5, 0.0]
    np.testing.assert_allclose(shape.distance(points + far)[0], shape.distance(points)[0], atol=1e-9)


def test_the_point_of_a_face_is_its_middle() -> None:
    for shape in (tg.Disc(0.2, 0.05), tg.Cylinder(0.1, 0.3)):
        (x,) = shape.points_with_normal([0, 0, 1])
        np.testing.assert_allclose(x, [0.0, 0.0, x[2]], atol=1e-9)


def test_a_grid_is_as_fine_along_a_thin_ring_as_around_it() -> None:
    u = numeric_charts(tg.Torus(1.0, 0.05))[0].grid(2000)
    along, around = (len(np.unique(u[:, j])) for j in (0, 1))
    assert along / around == pytest.approx(1.0 / 0.05, rel=0.1)
    assert along * around == pytest.approx(2000, rel=0.1)


@pytest.mark.parametrize("size", [1e-6, 0.3, 1e6])
def test_peanut_has_two_points_at_the_bottom(size: float) -> None:
    found = tg.FourierRadius(size, [0, 0.3]).points_with_normal([0, -1])
    low = found[np.argsort(found[:, 1])][:2]
    np.testing.assert_allclose(low[0] * [-1, 1], low[1], atol=1e-12 * max(size, 1.0))
    assert len(found) == 3


def test_a_level_set_with_a_hole_has_two_points_of_each_normal_and_the_distances_of_a_ring() -> None:
    R, r = 0.3, 0.12
    ring = tg.ExpressionLevelSurface(
        lambda x, y, z: (x * x + y * y + z * z + R * R - r * r) ** 2 - 4 * R * R * (x * x + y * y), 0.5
    )
    random = np.random.default_rng(0)
    for normal in random.normal(size=(3, 3)):
        normal /= np.linalg.norm(normal)
        e = np.append(normal[:2], 0.0) / np.hypot(*normal[:2])
        found = ring.points_with_normal(normal)
        inner = np.linalg.norm(found[:, :2], axis=1) < R
        np.testing.assert_allclose(found[np.argsort(inner)], [R * e + r * normal, -R * e + r * normal], atol=1e-9)
    points = random.uniform(-0.5, 0.5, size=(20, 3))
    across = np.hypot(points[:, 0], points[:, 1]) - R
    distance, normals = ring.distance(points)
    np.testing.assert_allclose(distance, np.hypot(across, points[:, 2]) - r, atol=1e-9)
    outward = points - R * points * [1, 1, 0] / np.hypot(points[:, 0], points[:, 1])[:, None]
    np.testing.assert_allclose(normals, outward / np.linalg.norm(outward, axis=1)[:, None], atol=1e-7)


def test_normals_a_shape_has_not_give_no_point() -> None:
    assert len(tg.Parabola(0.1).points_with_normal([0, -1], [0, 0], 5)) == 0
    assert len(tg.Sinusoid(0.06, 0.8).points_with_normal([1, 0], [0, 0], 1)) == 0


def test_zero_normal_is_refused() -> None:
    with pytest.raises(InputError, match="normal"):
        tg.Sphere(1).points_with_normal([0, 0, 0])


def test_samples_are_even_and_inside_the_window() -> None:
    x, n = tg.Sphere(1).sample(2000)
    np.testing.assert_allclose(x, n)
    for axis in range(3):
        assert np.mean(x[:, axis] > 0) == pytest.approx(0.5, abs=0.02)
        assert np.mean(np.abs(x[:, axis]) < 0.5) == pytest.approx(0.5, abs=0.02)
    near, _ = make("sum").sample(100, around=[1, 0], radius=0.5)
    assert np.all(np.linalg.norm(near - [1, 0], axis=1) <= 0.5)
    assert len(near) > 10
