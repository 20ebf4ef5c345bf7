"""ContactSystem: one layout on all charts and in all modes, models made once."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.contact.laws import PURE_ROLLING, ROLLING, SEPARATED
from trundle.models.tree.system import FreeNumbers


def pair(shape, base, **options) -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(shape, 1.0, center_of_mass=options.pop("com", None)), base, **options)


def test_models_of_all_charts_share_one_layout_and_are_made_once():
    system = pair(tr.Ellipsoid([0.3, 0.2, 0.1]), tr.Hand(tr.Dish([2, 2, 2])), contact="chart").system
    one, two = system.model(((0, 0),) * 2), system.model(((1, 0), (0, 1)))
    assert one.layout == two.layout
    assert system.model() is one
    assert system.model(((1, 0), (0, 1))) is two
    assert system.keep("key", lambda: [1]) is system.keep("key", lambda: [2])


def test_what_is_kept_does_not_tell_systems_apart():
    system = pair(tr.Sphere(0.1), tr.Hand(tr.Plane())).system
    other = replace(system)
    assert other == system
    other.keep("key", lambda: [1])
    other.model()
    assert other == system


def test_free_numbers_show_their_names_and_values_but_nothing_that_is_built():
    system = pair(tr.Sphere(0.1), tr.Hand(tr.Plane())).system
    free = FreeNumbers(("mass",), ca.SX.sym("m"), np.array([1.0]), system.build)
    free.models[system.first_atlas] = system.model()
    free.phases["key"] = 1
    assert repr(free) == "FreeNumbers(names=('mass',), symbols=SX(m), values=array([1.]))"


@pytest.mark.parametrize(
    ("shape", "base", "contacts"),
    [
        (tr.Sphere(0.1), tr.Hand(tr.Plane()), 1),
        (tr.Torus(0.3, 0.1), tr.Hand(tr.Plane()), 1),
        (tr.Sphere(0.1), tr.Hand(tr.Sphere(1)), 1),
        (tr.Sphere(0.1), tr.Hand(tr.Dish([1, 1, 1])), 2),
        (tr.FourierRadius(0.3, [0, 0.3]), tr.Ground(tr.Line()), 2),
    ],
)
def test_shapes_that_can_touch_twice_have_two_contacts_and_start_with_one(shape, base, contacts):
    system = pair(shape, base).system
    assert [m.contact for m in system.contact_pairs] == ["contact", "second"][:contacts]
    assert system.start_laws == (ROLLING, SEPARATED)[:contacts]
    assert len(system.model().constraints) == contacts


def test_the_kind_and_the_names_follow_the_dimension():
    space = pair(tr.Sphere(0.1), tr.Hand(tr.Plane(), motion=tr.Coast()), law="pure-rolling").system
    assert (space.view, space.d, space.start_laws) == ("pair", 3, (PURE_ROLLING,))
    assert set(space.motions) == {"hand"}
    plane = pair(tr.Circle(0.1), tr.Ground(tr.Line())).system
    assert (plane.view, plane.d, dict(plane.motions)) == ("tree", 2, {})
    assert (plane.contact_pairs[0].body_A, plane.contact_pairs[0].body_B) == ("body", "terrain")


def test_relative_pose_is_that_of_the_shapes():
    com = np.array([0.02, -0.01, 0.03])
    hand = tr.Hand(tr.Plane(), position=[0.3, 0.2, 0.1], rpy=[0.2, -0.1, 0.5])
    p = pair(tr.Ellipsoid([0.3, 0.2, 0.1]), hand, com=com)
    q = Rotation.from_euler("xyz", [0.3, 0.4, 0.5])
    start = p.place(contact_on_hand=[0.1, 0.2, 0], object_quaternion=q.as_quat(scalar_first=True))
    R, origin = p.system.relative_pose(start.x)
    np.testing.assert_allclose(R, hand.R_world_hand.T @ q.as_matrix(), atol=1e-14)
    position = start.x[p.system.model().layout["object.position"]]
    expected = hand.R_world_hand.T @ (position - q.as_matrix() @ com - [0.3, 0.2, 0.1])
    np.testing.assert_allclose(origin, expected, atol=1e-14)
    many = p.system.relative_pose(np.stack([start.x, start.x]))
    np.testing.assert_allclose(many[0], [R, R])
    np.testing.assert_allclose(many[1], [origin, origin])
    # The shape touches the plane: its support point is there.
    x = p.body.shape.points_with_normal(-R[2])[0]
    np.testing.assert_allclose((R @ x + origin), [0.1, 0.2, 0.0], atol=1e-12)
