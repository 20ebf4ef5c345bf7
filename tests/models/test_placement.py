"""Pairs and where they start: points that fit, velocities that roll, and every refusal."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.models.test_rigid_body import refused
from trundle.models.tree.conversion import pose_of, to_matrix

NAN = float("nan")


def pair(shape=None, base=None, **options):
    body = tr.RigidBody(
        shape or tr.Sphere(0.2), 1.0, options.pop("inertia", [0.02, 0.02, 0.02]), options.pop("com", None)
    )
    return tr.RollingPair(body, base or tr.Hand(tr.Plane()), **options)


def rock(**options):
    body = tr.RigidBody(tr.Ellipse([0.25, 0.12]), 1.0, 0.02)
    return tr.RollingPair(body, tr.Ground(tr.Sinusoid(0.06, 0.8)), **options)


@pytest.mark.parametrize(
    ("make", "key", "words"),
    [
        (lambda: tr.RollingPair(tr.Sphere(1), tr.Hand(tr.Plane())), "body", "RigidBody"),
        (lambda: tr.RollingPair(tr.RigidBody(tr.Sphere(1), 1), tr.Plane()), "base", "Hand or a Ground"),
        (lambda: pair(law="roling"), "law", "'rolling', 'pure-rolling'"),
        (lambda: pair(friction=-0.1), "friction", ">= 0"),
        (lambda: pair(friction=NAN), "friction", "nan"),
        (lambda: pair(friction="high"), "friction", "'high'"),
        (lambda: pair(torsional_friction=-1), "torsional_friction", ">= 0"),
        (lambda: pair(gravity=[0, 0]), "gravity", "3 finite numbers"),
        (lambda: pair(gravity=9.81), "gravity", "3 finite numbers"),
        (lambda: rock(gravity="down"), "gravity", "'down'"),
        (lambda: pair(on_slip="skid"), "on_slip", "'stop', 'slide', 'ignore'"),
        (lambda: pair(on_separation="hover"), "on_separation", "'stop', 'fly', 'ignore'"),
        (lambda: pair(coordinates="polar"), "coordinates", "'pose', 'rolling'"),
        (lambda: pair(base=tr.Hand(tr.Dish([1, 1, 1])), contact="support"), "contact", "'level'"),
        (lambda: pair(coordinates="rolling", contact="support"), "contact", "rolling coordinates"),
        (lambda: pair(tr.Superellipsoid([0.1, 0.1, 0.1], 1.5), coordinates="rolling"), "contact", "one of"),
        (lambda: pair(base=tr.Ground(tr.Line())), "contact", "one dimension"),
        (lambda: pair(contact=3), "contact", "3"),
    ],
)
def test_impossible_pairs(make, key, words):
    refused(make, key, words)


@pytest.mark.parametrize(
    ("options", "start", "key", "words"),
    [
        ({}, {"contact_on_hand": [0, 0]}, "contact_on_hand", "3 finite numbers"),
        ({}, {"contact_on_hand": [0, 0, NAN]}, "contact_on_hand", "3 finite numbers"),
        ({}, {"object_quaternion": [0, 0, 0, 0]}, "object_quaternion", "unit quaternion"),
        ({}, {"object_quaternion": [1, 0, 0]}, "object_quaternion", "[1, 0, 0]"),
        ({}, {"object_angular_velocity": "fast"}, "object_angular_velocity", "'fast'"),
        ({}, {"slip": 1.0}, "slip", "3 finite numbers"),
        ({}, {"contact_on_plate": [0, 0, 0]}, "contact_on_plate", "contact_on_hand, object_quaternion"),
        ({}, {"contact_x": 0.0}, "contact_x", "contact_on_hand"),
        ({"law": "pure-rolling"}, {"object_angular_velocity": [1, 0, 0.5]}, "object_angular_velocity", "0.5 rad/s"),
        (
            {"base": tr.Hand(tr.Plane(), extent=[0.2, 0.4])},
            {"contact_on_hand": [0.11, 0, 0]},
            "contact_on_hand",
            "extent",
        ),
        ({"base": tr.Hand(tr.Dish([0.1, 0.1, 0.1]))}, {"contact_on_hand": [0, 0, -0.1]}, "contact", "overlap"),
        ({"base": tr.Hand(tr.Dish([0.4, 0.4, 0.1]))}, {"contact_on_hand": [0.39, 0, 0]}, "contact", "overlap"),
    ],
)
def test_impossible_starts_on_a_hand(options, start, key, words):
    refused(lambda: pair(**options).place(**start), key, words)


@pytest.mark.parametrize(
    ("start", "key", "words"),
    [
        ({"contact_x": NAN}, "contact_x", "finite"),
        ({"contact_x": [0.1]}, "contact_x", "finite number"),
        ({"angle": "steep"}, "angle", "'steep'"),
        ({"angular_velocity": None}, "angular_velocity", "None"),
        ({"slip": [0.1, 0.2]}, "slip", "finite number"),
        ({"contact_on_hand": [0, 0, 0]}, "contact_on_hand", "contact_x, angle, angular_velocity"),
    ],
)
def test_impossible_starts_on_terrain(start, key, words):
    refused(lambda: rock().place(**start), key, words)


def test_terrain_ends_where_its_data_end():
    x = np.linspace(0, 2, 12)
    base = tr.Ground(tr.geometry.SampledCurve(np.stack([x, 0.02 * np.sin(x)], axis=1)))
    body = tr.RigidBody(tr.Circle(0.1), 1.0, 0.005)
    assert tr.RollingPair(body, base).place(contact_x=1.0)
    refused(lambda: tr.RollingPair(body, base).place(contact_x=2.5), "contact_x", "2.5")


def test_a_rock_in_a_narrow_hollow_overlaps():
    body = tr.RigidBody(tr.Circle(0.3), 1.0, 0.02)
    hollow = tr.RollingPair(body, tr.Ground(tr.Sinusoid(0.06, 0.4)))
    refused(lambda: hollow.place(contact_x=0.3), "contact", "overlap", "Circle on Sinusoid")


@pytest.mark.parametrize("wanted", [[0.3, 0.2, 0.0999], [0.3, 0.2, -0.0999], [0.3, 0.2, 0.0]])
def test_a_contact_a_little_off_the_surface_is_projected(wanted):
    p = pair()
    start = p.place(contact_on_hand=wanted)
    position = start.x[p.system.model(start.atlas).layout["object.position"]]
    np.testing.assert_allclose(position, [0.3, 0.2, 0.2], atol=1e-13)


@pytest.mark.parametrize("height", [0.1001, -0.1001, 0.7])
def test_a_contact_far_off_the_surface_is_refused(height):
    wanted = [0.3, 0.2, height]
    words = ("at most 0.1 m off it", f"it is {abs(height):g} m off")
    refused(lambda: pair().place(contact_on_hand=wanted), "contact_on_hand", str(wanted), *words)


@pytest.mark.parametrize(
    ("hand", "wanted"),
    [
        (tr.Sphere(0.05), [0, 0, 0]),
        (tr.Cylinder(0.05), [0, 0, 0.3]),
        (tr.Ellipsoid([0.05, 0.04, 0.03]), [0, 0, 0]),
        (tr.Torus(0.05, 0.02), [0.05, 0, 0]),
    ],
)
def test_a_point_with_several_nearest_points_is_refused(hand, wanted):
    refused(lambda: pair(base=tr.Hand(hand)).place(contact_on_hand=wanted), "contact_on_hand", "one nearest point")


def test_the_start_of_the_ellipsoid_in_the_dish_is_projected():
    p = pair(tr.Ellipsoid([0.12, 0.1, 0.08]), tr.Hand(tr.Dish([0.5, 0.4, 0.3])))
    start = p.place(contact_on_hand=[0.2, 0.1, -0.26])
    assert np.all(np.isfinite(start.x))


@pytest.mark.parametrize("contact", ["auto", "level", "level-pair", "chart", "support-chart"])
@pytest.mark.parametrize("share", [1.0, 1 - 1e-6])
def test_a_ball_that_fills_its_dish_is_refused_in_every_form(contact, share):
    p = pair(tr.Sphere(0.2 * share), tr.Hand(tr.Dish([0.2] * 3)), contact=contact)
    refused(lambda: p.place(contact_on_hand=[0, 0, -0.2]), "contact", "touch in one point", "> 0.0001", "it is")


@pytest.mark.parametrize("contact", ["auto", "level", "level-pair", "chart", "support-chart"])
def test_a_ball_a_little_smaller_than_its_dish_may_roll(contact):
    p = pair(tr.Sphere(0.2 * (1 - 1e-3)), tr.Hand(tr.Dish([0.2] * 3)), contact=contact)
    assert np.all(np.isfinite(p.place(contact_on_hand=[0, 0, -0.2]).x))


def test_a_wheel_that_fills_its_bowl_is_refused():
    body = tr.RigidBody(tr.Circle(1.0), 1.0, 0.02)
    p = tr.RollingPair(body, tr.Ground(tr.Arc(1.0, [0.0, 1.0], "inside")))
    refused(lambda: p.place(angle=0.2), "contact", "Circle on Arc", "touch in one point")


def test_a_capsule_on_its_side_is_left_to_the_simulation():
    lying = [0.5**0.5, 0.5**0.5, 0, 0]
    p = pair(tr.Capsule(0.1, 0.2), tr.Hand(tr.Tube(0.3), rpy=[np.pi / 2, 0, 0]), contact="level")
    start = p.place(contact_on_hand=[0, -0.3, 0], object_quaternion=lying)
    assert tr.simulate(p, start, 1.0).status.label == "not-a-point-contact"


def test_the_physics_of_a_system_cannot_be_changed():
    system = pair().system
    with pytest.raises(TypeError):
        system.physics["mass"] = 3.0
    with pytest.raises(TypeError):
        system.physics["gravity"][0] = 3.0
    with pytest.raises(TypeError):
        system.physics["inertia"][0][0] = 3.0
    with pytest.raises(TypeError):
        system.motions["hand"] = None


@pytest.mark.parametrize("contact", ["auto", "level", "level-pair", "chart", "support-chart"])
def test_starts_roll_in_every_form(contact):
    hand = tr.Hand(tr.Dish([2.0, 1.5, 1.2]), [0.3, 0.1, 0.2], [0.2, -0.1, 0.4], [0.1, 0.2, -0.3, 0.4, 0.5, -0.6])
    p = pair(tr.Ellipsoid([0.3, 0.2, 0.15]), hand, contact=contact, com=[0.02, 0.01, -0.01])
    q = np.array([0.5, 0.5, -0.5, 0.5])
    start = p.place(contact_on_hand=[0.4, 0.3, -1.1], object_quaternion=q, object_angular_velocity=[1, 2, 3])
    model = p.system.model(start.atlas)
    k = model.terms(p.system.start_laws).kin[0]
    gap, slip, off = ca.Function("f", [model.x], [k.gap, k.vrel, k.misalignment])(start.x)
    assert np.abs(np.array(gap)).max() < 1e-10
    assert np.abs(np.array(slip)).max() < 1e-10
    assert np.abs(np.array(off)).max() < 1e-10
    np.testing.assert_allclose(pose_of(model, start.x, "object")[0], to_matrix(q), atol=1e-13)
    with pytest.raises(ValueError, match="read-only"):
        start.x[0] = 1.0


def test_slip_at_the_start_is_tangential():
    p = pair(on_slip="slide")
    start = p.place(object_angular_velocity=[0, 0, 0], slip=[0.3, -0.1, 5.0])
    v = start.x[p.system.model(start.atlas).layout["object.velocity"]]
    np.testing.assert_allclose(v, [0.3, -0.1, 0.0], atol=1e-14)


def test_of_several_points_that_fit_the_one_without_penetration_is_taken():
    ring = pair(tr.Torus(0.3, 0.1), tr.Hand(tr.Sphere(0.05)), gravity=[0, 0, -9.81])
    # Standing on its rim, the ring touches the ball from outside or hangs on it from inside: both fit.
    start = ring.place(contact_on_hand=[0, 0, 0.05], object_quaternion=[0.5**0.5, 0.5**0.5, 0, 0])
    z = start.x[ring.system.model(start.atlas).layout["object.position"]][2]
    assert z == pytest.approx(0.05 + 0.4, abs=1e-9) or z == pytest.approx(0.05 - 0.2, abs=1e-9)


def test_of_two_points_that_touch_alike_round_off_does_not_choose():
    """A body with a waist lies on two lobes."""
    body = tr.RigidBody(tr.FourierRadius(1.0, cos=(0.0, 0.3)), mass=1.0, inertia=0.3)
    waist = tr.RollingPair(body, tr.Ground(tr.Line()), friction=1.0)
    start = waist.place().x
    for tilt in (1e-15, -1e-15, 1e-14, -1e-14):
        assert waist.place(angle=tilt).x == pytest.approx(start, abs=1e-10)


def test_planar_starts_roll():
    p = rock()
    start = p.place(contact_x=0.3, angle=0.4, angular_velocity=2.0, slip=0.0)
    model = p.system.model(start.atlas)
    k, first = model.terms(p.system.start_laws).kin[0], model.constraints[0]
    gap, slip, off, on = ca.Function(
        "f",
        [model.x],
        [
            k.gap,
            k.vrel,
            k.misalignment,
            first.contact.touch(first.A, first.B, first.s)[1].r,
        ],
    )(start.x)
    assert max(np.abs(np.array(v)).max() for v in (gap, slip, off)) < 1e-11
    assert np.array(on).ravel()[0] == pytest.approx(0.3, abs=1e-10)


def test_gravity_in_the_plane_points_down():
    assert rock().gravity == (0.0, -9.81)
    assert rock(gravity=1.6).gravity == (0.0, -1.6)
    assert rock(gravity=[0.1, -2]).gravity == (0.1, -2.0)
    assert pair().gravity == (0.0, 0.0, -9.81)
