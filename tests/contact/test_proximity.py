"""Local minima of the distance between two bodies."""

from __future__ import annotations

import numpy as np
import pytest

import trundle.geometry as tg
from tests.geometry.shape_table import make
from trundle.contact.proximity import Proximity, one_contact_only

EYE = np.eye(3)


@pytest.mark.parametrize("height", [-0.05, 0.0, 0.3])
def test_a_ball_over_a_plane(height):
    near = Proximity(tg.Sphere(0.2), tg.Plane()).local_minima(EYE, np.array([0.3, 0.1, 0.2 + height]))
    assert len(near) == 1
    assert near[0].gap == pytest.approx(height, abs=2e-4)
    np.testing.assert_allclose(near[0].x_A, [0, 0, -0.2], atol=0.02)
    np.testing.assert_allclose(near[0].x_B, [0.3, 0.1, 0], atol=0.02)
    np.testing.assert_allclose(near[0].n_B, [0, 0, 1], atol=1e-12)


def test_a_peanut_rests_on_two_points_and_the_nearest_comes_first():
    peanut = tg.FourierRadius(0.3, [0.0, 0.35])
    found = Proximity(peanut, tg.Line())
    c, s = np.cos(0.02), np.sin(0.02)
    near = found.local_minima(np.array([[c, -s], [s, c]]), np.array([0.0, 0.4]))
    assert [n.gap for n in near] == sorted(n.gap for n in near)
    assert len(near) == 3  # both ends, and the waist on top
    assert near[0].x_A[0] * near[1].x_A[0] < 0  # one at each end
    assert found.local_minima(np.eye(2), np.array([0.0, 0.4]), below=near[0].gap - 0.1) == []


def test_a_second_contact_is_suspected_only_away_from_the_known_one():
    peanut = tg.FourierRadius(0.3, [0.0, 0.35])
    found = Proximity(peanut, tg.Line())
    outline = peanut.mesh(4000)
    low = outline[outline[:, 0] > 0][np.argmin(outline[outline[:, 0] > 0][:, 1])]
    other = low * [-1, 1]
    R, p = np.eye(2)[None], np.array([[0.0, -low[1]]])
    assert found.suspicious(R, p, low[None, None])[0]
    assert not found.suspicious(R, p, np.array([[low, other]]))[0]
    assert not found.suspicious(R, p + np.array([0, 0.1]), low[None, None])[0]


def test_the_only_contact_is_not_suspected():
    found = Proximity(tg.Ellipse([0.3, 0.2]), tg.Line())
    R, p = np.eye(2)[None], np.array([[0.4, 0.2]])
    assert found.suspicious(R, p, np.zeros((1, 0, 2)))[0]
    assert not found.suspicious(R, p, np.array([[[0.0, -0.2]]]))[0]


def test_gaps_to_a_surface_known_by_its_chart_alone():
    saddle = make("saddle")
    found, p = Proximity(tg.Sphere(0.05), saddle), np.array([0.1, -0.2, 0.03])
    assert saddle.representations.level is None
    exact = saddle.distance(found.points + p)[0]
    np.testing.assert_allclose(found.gaps(EYE, p), exact, atol=2e-4)
    assert exact.min() < -0.005 < 0.05 < exact.max()


def test_shapes_that_touch_at_one_point_only():
    assert one_contact_only(tg.Sphere(1), tg.Plane())
    assert one_contact_only(tg.Sphere(1), tg.Ellipsoid([1, 2, 3]))
    assert not one_contact_only(tg.Sphere(1), tg.Dish([2, 2, 3]))
    assert one_contact_only(tg.Torus(2, 1), tg.Plane())  # its hull touches a plane
    assert not one_contact_only(tg.Torus(2, 1), tg.Sphere(1))
    assert not one_contact_only(tg.FourierRadius(1, [0, 0.4]), tg.Line())


def test_gaps_are_signed_distances_of_the_samples_to_first_order():
    found = Proximity(tg.Ellipsoid([0.3, 0.2, 0.1]), tg.Dish([1, 1, 1]))
    p = np.array([0.1, 0.2, -0.85])
    exact, gaps = 1 - np.linalg.norm(found.points + p, axis=1), found.gaps(EYE, p)
    assert np.all(np.sign(gaps) == np.sign(exact))
    near = np.abs(exact) < 0.05
    assert near.sum() > 50
    np.testing.assert_allclose(gaps[near], exact[near], atol=0.6 * 0.05**2)
