"""Meshes and mass properties against closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ellipe

import trundle.geometry as tg
from tests.geometry.shape_table import make
from trundle.errors import InputError
from trundle.geometry.queries.mass import mesh_moments

sizes = st.floats(0.1, 3)
CLOSED = {
    "sphere": 4 / 3 * np.pi * 0.2**3,
    "ellipsoid": 4 / 3 * np.pi * 0.006,
    "torus": 2 * np.pi**2 * 0.3 * 0.01,
    "capsule": np.pi * 0.05**2 * (0.1 + 4 / 3 * 0.05),
    "box": 8 * 0.006,
    "die": 8 * 0.006 + 0.02 * 8 * 0.11 + np.pi * 0.02**2 * 2 * 0.6 + 4 / 3 * np.pi * 0.02**3,
    "tetrahedron": 1 / 6,
    "cube-like": None,
    "egg": 4 / 3 * np.pi * 0.3 * 0.2 * 0.25,
    "ring": 2 * np.pi**2 * 0.5 * 0.1 * 0.2,
    "superellipsoid": None,
    "blunt": None,
    "convex": None,
    "coin": None,
    "spheroid": 4 / 3 * np.pi * 0.012,
}


@pytest.mark.parametrize("name", CLOSED)
def test_meshes_are_closed_and_outward(name: str) -> None:
    vertices, faces = make(name).mesh(64)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = {tuple(e) for e in edges}
    assert len(forward) == len(edges)
    assert all((b, a) in forward for a, b in forward)
    volume = mesh_moments(vertices, faces, "solid")[0]
    assert volume > 0
    if CLOSED[name] is not None:
        assert volume == pytest.approx(CLOSED[name], rel=0.01)


OVAL = 4 * 0.3 * ellipe(1 - (0.1 / 0.3) ** 2)  # circumference of the ellipse
AREAS = {
    "circle": 4 * np.pi,
    "ellipse": 0.03 * np.pi,
    "rock": 0.09 * np.pi * (1 + (0.1**2 + 0.02**2 + 0.02**2 + 0.015**2) / 2),
    "rectangle": 0.08,
    "pebble": 0.08 + 0.02 * 1.2 + np.pi * 0.02**2,
    "triangle": 0.5 + 0.1 * (2 + np.sqrt(2)) + np.pi * 0.01,
    "oval": 0.03 * np.pi + 0.05 * OVAL + np.pi * 0.05**2,
}


@pytest.mark.parametrize("name", AREAS)
def test_an_outline_goes_round_once_and_ends_where_it_starts(name: str) -> None:
    x, z = make(name).mesh(1000).T
    np.testing.assert_allclose([x[0], z[0]], [x[-1], z[-1]], atol=1e-12)
    assert np.sum(x[:-1] * z[1:] - x[1:] * z[:-1]) / 2 == pytest.approx(AREAS[name], rel=1e-4)


@pytest.mark.parametrize("name", ["capsule", "coin", "disc", "box", "superellipsoid"])
def test_the_mesh_of_a_symmetric_body_is_symmetric(name: str) -> None:
    vertices, faces = make(name).mesh(32)
    size = make(name).reference_length
    np.testing.assert_allclose(vertices.min(axis=0), -vertices.max(axis=0), atol=1e-9 * size)
    mass, first, _ = mesh_moments(vertices, faces, "shell")
    np.testing.assert_allclose(first / mass, 0.0, atol=1e-3 * size)


def test_the_mesh_of_a_level_set_with_a_hole() -> None:
    R, r = 0.3, 0.12
    ring = tg.ExpressionLevelSurface(
        lambda x, y, z: (x * x + y * y + z * z + R * R - r * r) ** 2 - 4 * R * R * (x * x + y * y), 0.5
    )
    vertices, faces = ring.mesh(64)
    off = np.hypot(np.hypot(vertices[:, 0], vertices[:, 1]) - R, vertices[:, 2]) - r
    assert np.abs(off).max() < 1e-12
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = {tuple(e) for e in edges}
    assert len(forward) == len(edges)  # no edge twice the same way: outward everywhere
    assert {(b, a) for a, b in forward} == forward  # closed
    assert len(vertices) - len(edges) // 2 + len(faces) == 0  # Euler's characteristic of one hole
    assert mesh_moments(vertices, faces, "shell")[0] == pytest.approx(4 * np.pi**2 * R * r, rel=0.01)
    assert mesh_moments(vertices, faces, "solid")[0] == pytest.approx(2 * np.pi**2 * R * r * r, rel=0.02)
    part, _ = ring.mesh(32, around=[R, 0.0, 0.0], radius=0.2)
    assert part[:, 0].min() > 0.05
    assert np.abs(part[:, 1:]).max() < 0.25


def test_unwelded_windows_face_up() -> None:
    vertices, faces = tg.Plane().mesh(8, around=[0, 0, 0], radius=1.0)
    assert len(vertices) == 81
    area = np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]]) / 2
    np.testing.assert_allclose(area.sum(axis=0), [0, 0, 4])


@given(a=sizes, b=sizes, c=sizes)
@settings(max_examples=20)
def test_solid_ellipsoid(a: float, b: float, c: float) -> None:
    centroid, inertia = tg.Ellipsoid([a, b, c]).mass_properties()
    np.testing.assert_allclose(centroid, 0, atol=1e-12)
    np.testing.assert_allclose(inertia, np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 5, atol=1e-6)


@given(r=sizes)
@settings(max_examples=10)
def test_ball_and_shell(r: float) -> None:
    np.testing.assert_allclose(
        tg.Sphere(r).mass_properties("solid")[1], 0.4 * r * r * np.eye(3), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        tg.Sphere(r).mass_properties("shell")[1], r * r / 1.5 * np.eye(3), rtol=1e-12, atol=1e-12
    )


def test_solid_torus() -> None:
    inertia = tg.Torus(0.3, 0.1).mass_properties()[1]
    across, along = (4 * 0.09 + 5 * 0.01) / 8, (4 * 0.09 + 3 * 0.01) / 4
    np.testing.assert_allclose(inertia, np.diag([across, across, along]), atol=1e-14)


def test_solid_capsule() -> None:
    r, length = 0.05, 0.1
    cylinder, ball = np.pi * r * r * length, 4 / 3 * np.pi * r**3
    along = (cylinder * r * r / 2 + ball * 0.4 * r * r) / (cylinder + ball)
    hemisphere = 0.4 * r * r + length**2 / 4 + 3 / 8 * length * r
    across = (cylinder * (length**2 / 12 + r * r / 4) + ball * hemisphere) / (cylinder + ball)
    np.testing.assert_allclose(
        tg.Capsule(r, length).mass_properties()[1], np.diag([across, across, along]), rtol=1e-10, atol=1e-15
    )


def test_coins() -> None:
    np.testing.assert_allclose(tg.Disc(0.1).mass_properties()[1], np.diag([0.0025, 0.0025, 0.005]), atol=1e-7)
    z, w = np.polynomial.legendre.leggauss(400)
    z, w = 0.01 * z, 0.01 * w
    r = 0.1 + np.sqrt(1e-4 - z * z)
    volume = w @ r**2
    across, along = w @ (r**4 / 4 + r**2 * z**2) / volume, w @ r**4 / 2 / volume
    np.testing.assert_allclose(tg.Disc(0.1, 0.01).mass_properties()[1], np.diag([across, across, along]), atol=1e-7)


def test_boxes_and_tetrahedron() -> None:
    np.testing.assert_allclose(tg.Box([1, 2, 3]).mass_properties()[1], np.diag([13, 10, 5]) / 3)
    centroid, inertia = make("tetrahedron").mass_properties()
    np.testing.assert_allclose(centroid, 0.25)
    np.testing.assert_allclose(np.diag(inertia), 0.075)


@given(a=sizes, b=sizes)
@settings(max_examples=20)
def test_planar_bodies(a: float, b: float) -> None:
    centroid, inertia = tg.Ellipse([a, b]).mass_properties()
    np.testing.assert_allclose(centroid, 0, atol=1e-12)
    assert inertia == pytest.approx((a * a + b * b) / 4)
    assert tg.Box([a, b]).mass_properties()[1] == pytest.approx((a * a + b * b) / 3)
    assert tg.Circle(a).mass_properties("shell")[1] == pytest.approx(a * a)


def test_polygon_moments() -> None:
    shape = tg.Polytope([[0, 0], [3, 0], [0, 3]])
    centroid, inertia = shape.mass_properties()
    np.testing.assert_allclose(centroid, 1)
    assert inertia == pytest.approx(1.0)
    rod = tg.Polytope([[0, 0], [4, 0], [4, 1e-9]]).mass_properties("shell")[1]
    assert rod == pytest.approx(16 / 12)


def test_a_planar_body_off_its_origin() -> None:
    middle, (a, b) = np.array([0.7, -0.4]), (0.3, 0.2)
    outline = tg.ExpressionCurve(
        lambda u: (middle[0] + a * ca.cos(u), middle[1] + b * ca.sin(u)), (0, 2 * np.pi, "periodic"), -1
    )
    centroid, inertia = outline.mass_properties()
    np.testing.assert_allclose(centroid, middle, rtol=1e-12)
    assert inertia == pytest.approx((a * a + b * b) / 4, rel=1e-10)
    hoop = tg.ExpressionCurve(lambda u: (0.7 + a * ca.cos(u), a * ca.sin(u)), (0, 2 * np.pi, "periodic"), -1)
    centroid, inertia = hoop.mass_properties("shell")
    np.testing.assert_allclose(centroid, [0.7, 0], atol=1e-12)
    assert inertia == pytest.approx(a * a, rel=1e-10)


def test_the_moments_of_a_cardioid_are_its_integrals_over_the_angle() -> None:
    # r = 1 + e cos phi: area pi (1 + e^2/2), and the integrals of r^3 cos phi / 3 and r^4 / 4.
    e = 0.5
    area = np.pi * (1 + e * e / 2)
    across = np.pi * (e + e**3 / 4) / area
    centroid, inertia = tg.FourierRadius(1.0, [e]).mass_properties()
    np.testing.assert_allclose(centroid, [across, 0], atol=1e-12)
    assert inertia == pytest.approx(np.pi / 2 * (1 + 3 * e * e + 3 * e**4 / 8) / area - across**2, rel=1e-10)


@pytest.mark.parametrize("kind", ["solid", "shell"])
def test_a_ring_and_a_ball_off_their_origins(kind: str) -> None:
    middle = np.array([1.0, -2.0, 0.5])
    turn = (0, 2 * np.pi, "periodic")
    ring = tg.ExpressionSurface(
        lambda u, v: (
            middle[0] + (0.3 + 0.1 * ca.cos(v)) * ca.cos(u),
            middle[1] + (0.3 + 0.1 * ca.cos(v)) * ca.sin(u),
            middle[2] + 0.1 * ca.sin(v),
        ),
        (turn, turn),
    )
    centroid, inertia = ring.mass_properties(kind)
    np.testing.assert_allclose(centroid, middle, rtol=1e-10)
    np.testing.assert_allclose(inertia, tg.Torus(0.3, 0.1).mass_properties(kind)[1], atol=1e-10)
    ball = tg.ExpressionLevelSurface(lambda x, y, z: (x - 0.1) ** 2 + (y + 0.2) ** 2 + z * z - 0.25, 0.5)
    centroid, inertia = ball.mass_properties(kind)
    np.testing.assert_allclose(centroid, [0.1, -0.2, 0], atol=1e-6)
    np.testing.assert_allclose(inertia, (0.1 if kind == "solid" else 1 / 6) * np.eye(3), atol=1e-5)


class Oval(tg.SupportShape):
    d = 2

    def support(self, u: ca.SX) -> ca.SX:
        return ca.sqrt((0.3 * u[0]) ** 2 + (0.2 * u[1]) ** 2) + 0.1 * u[0]


def test_a_smooth_body_given_by_its_support_function_is_as_exact_as_one_with_a_chart() -> None:
    # Meshes would leave an error of 1e-5.
    body = tg.ExpressionBody(lambda x, y, z: ca.sqrt(0.09 * x * x + 0.04 * y * y + 0.01 * z * z) + 0.05 * x - 0.1 * z)
    centroid, inertia = body.mass_properties()
    np.testing.assert_allclose(centroid, [0.05, 0, -0.1], atol=1e-14)
    np.testing.assert_allclose(inertia, np.diag([0.05, 0.1, 0.13]) / 5, atol=1e-14)
    centroid, inertia = Oval().mass_properties()
    np.testing.assert_allclose(centroid, [0.1, 0], atol=1e-14)
    assert inertia == pytest.approx(0.13 / 4, rel=1e-12)


class UnitBall(tg.DistanceShape):
    def signed_distance(self, x: ca.SX) -> ca.SX:
        return ca.norm_2(x) - 1


def test_a_surface_that_does_not_say_how_large_it_is_is_of_a_metre() -> None:
    ball = UnitBall()
    assert ball.reference_length == 1.0
    assert ball.representations.charts  # star-shaped about the origin
    centroid, inertia = ball.mass_properties()
    np.testing.assert_allclose(centroid, 0.0, atol=1e-12)
    np.testing.assert_allclose(inertia, 0.4 * np.eye(3), atol=1e-10)


@pytest.mark.parametrize(
    "shape", [tg.Plane(), tg.Tube(1), tg.Dish([1, 1, 1]), tg.Line(), tg.Arc(1), make("saddle"), make("bell")]
)
def test_shapes_without_volume_are_refused(shape: tg.Shape) -> None:
    with pytest.raises(InputError, match="no finite volume"):
        shape.mass_properties()


def test_kind_is_checked() -> None:
    with pytest.raises(InputError, match="'solid', 'shell'"):
        tg.Sphere(1).mass_properties("hollow")
