"""Which contact suits which shapes, and the coordinates at a pair of points."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.contact import pairs
from trundle.contact.choice import FORMS, IN_PARTS, contact_coordinates, contact_form, make_contact
from trundle.contact.contacts import (
    ChartContact,
    LevelContact,
    LevelPairContact,
    PairContact,
    SupportChartContact,
    SupportContact,
)
from trundle.contact.parts.facets import FacetContact
from trundle.contact.parts.feature import FeatureContact
from trundle.errors import InputError


@pytest.mark.parametrize(
    ("a", "b", "form"),
    [
        (tg.Sphere(1), tg.Plane(), "support"),
        (tg.Torus(2, 1), tg.Plane(), "support"),  # its hull is right on a plane,
        (tg.Torus(2, 1), tg.Sphere(1), "level-pair"),  # and wrong elsewhere
        (tg.Sphere(1), tg.Ellipsoid([1, 2, 3]), "pair"),
        (tg.Sphere(1), tg.Dish([2, 2, 3]), "level"),
        (tg.Sphere(0.1), tg.Capsule(1, 1), "level"),  # a capsule's side has lines
        (tg.Capsule(0.1, 0.1), tg.Sphere(1), "chart"),  # it rolls from its cap onto its side
        (tg.Disc(0.1, 0.01), tg.Dish([2, 2, 3]), "chart"),
        (tg.Capsule(0.1, 0.1), tg.Plane(), "support"),
        (tg.Disc(0.1), tg.Tube(1), "level"),
        (tg.Superellipsoid([1, 1, 1], 1.5), pairs.hand_named("saddle").shape, "support-chart"),
        (tg.Box([1, 2, 3]), tg.Plane(), "support"),
        (tg.Box([1, 2, 3]), tg.Sphere(9), "features"),
        (tg.Circle(1), tg.Line(), "support"),
        (tg.Circle(1), tg.Sinusoid(0.01, 1), "chart"),
        (tg.FourierRadius(1, [0, 0.4]), tg.Line(), "chart"),
    ],
)
def test_automatic_choice(a, b, form):
    assert contact_form(a, b) == form
    assert contact_form(a, b, form) == form


def ring_by_its_equation() -> tg.Shape:
    """A level set that no origin sees whole: it has no charts."""
    return tg.ExpressionLevelSurface(lambda x, y, z: (ca.sqrt(x * x + y * y) - 0.5) ** 2 + z * z - 0.01, 0.6)


def test_asking_for_a_form_that_shapes_cannot_give_names_those_they_can():
    with pytest.raises(InputError) as error:
        contact_form(tg.Sphere(1), tg.Dish([2, 2, 2]), "support")
    assert (
        str(error.value)
        == "contact = 'support (Sphere on Dish)': must be one of ['level', 'level-pair', 'chart', 'support-chart']"
    )
    with pytest.raises(InputError, match="'auto'"):
        contact_form(tg.Sphere(1), tg.Plane(), "spline")
    with pytest.raises(InputError, match="one dimension"):
        contact_form(tg.Sphere(1), tg.Line())
    with pytest.raises(InputError, match="there is none"):
        contact_form(ring_by_its_equation(), pairs.hand_named("saddle").shape)


def test_forms_become_contacts():
    kinds = {"support": SupportContact, "pair": PairContact, "level": LevelContact, "level-pair": LevelPairContact,
             "chart": ChartContact, "support-chart": SupportChartContact, "features": FeatureContact,
             "facets": FacetContact}  # fmt: skip
    assert set(kinds) | {"auto"} == set(FORMS)
    for name, kind in kinds.items():
        b = {"support": "plane", "pair": "sphere"}.get(name, "dish")
        body = tg.Box([3, 2, 1]) if name in IN_PARTS else tg.Ellipsoid([3, 2, 1])
        other = body if name == "facets" else pairs.hand_named(b).shape
        contact = make_contact(body, other, name, (0.1, 0.2, 0.3), (1, 0))
        assert type(contact) is kind


@pytest.mark.parametrize(
    ("a", "b", "form"),
    [("ellipsoid", "plane", "support"), ("ellipsoid", "sphere", "pair"), ("ellipsoid", "dish", "level"),
     ("ellipsoid", "dish", "level-pair"), ("ellipsoid", "dish", "chart"), ("capsule", "tube", "chart"),
     ("egg", "height map", "chart"), ("blunt", "saddle", "support-chart")],
)  # fmt: skip
def test_coordinates_lead_back_to_the_points(a, b, form):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    rng = np.random.default_rng(1)
    for _ in range(4):
        (x_A, _), (x_B, n_B) = pairs.point_of(A, "level-pair", rng), pairs.point_of(B, "", rng)
        s, charts = contact_coordinates(A.shape, B.shape, form, x_A, x_B, n_B)
        contact = make_contact(A.shape, B.shape, form, atlas=charts)
        assert s.shape == (contact.size,)
        if isinstance(contact, SupportChartContact):
            np.testing.assert_allclose(pairs._points(contact.chart)(s)[0], x_B, atol=1e-12)
        elif isinstance(contact, ChartContact):
            for chart, u, x in ((contact.chart_A, s[:2], x_A), (contact.chart_B, s[2:], x_B)):
                np.testing.assert_allclose(pairs._points(chart)(u)[0], x, atol=1e-12)
                assert np.linalg.norm(u) < chart.reach
        elif form != "support":
            np.testing.assert_allclose(s, {"pair": n_B, "level": x_B, "level-pair": np.r_[x_A, x_B]}[form])


def test_a_pair_refuses_a_line_of_the_hand():
    ball, capsule = tg.Sphere(0.1), tg.Capsule(0.2, 0.6)
    with pytest.raises(InputError, match=r"contact = .*is curved: there it is a line or a face"):
        contact_coordinates(
            ball, capsule, "pair", np.array([-0.1, 0, 0]), np.array([0.2, 0, 0.1]), np.array([1.0, 0, 0])
        )
    n = np.array([0.6, 0.0, 0.8])
    s, _ = contact_coordinates(ball, capsule, "pair", -0.1 * n, 0.2 * n + [0, 0, 0.3], n)
    np.testing.assert_array_equal(s, n)
