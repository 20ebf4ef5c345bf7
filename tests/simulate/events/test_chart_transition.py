"""The hand-over of a contact to the charts ahead of it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.models.tree.touching import contact_points
from trundle.simulate.events.chart_transition import neighbouring_chart, neighbouring_feature

X = np.linspace(-1.0, 1.0, 24)
TERRAIN = tr.HeightMap(X, X, np.add.outer(0.1 * X**2, 0.2 * X**2))
DISH = tr.Dish([1.0, 1.1, 0.9])


def pair(hand: tr.Shape, contact: str = "chart") -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(tr.Ellipsoid([0.3, 0.2, 0.25]), 1.0, "solid"), tr.Hand(hand), contact=contact)


def test_only_a_shape_of_several_charts_has_a_neighbour() -> None:
    on_terrain, on_plane = pair(TERRAIN).system.contact_pairs[0], pair(tr.Plane(), "support").system.contact_pairs[0]
    assert on_terrain.goes_on_beyond("chart_A")
    assert not on_terrain.goes_on_beyond("data_B0_low")
    assert not on_plane.goes_on_beyond("chart_A")
    assert on_plane.goes_on_beyond("feature")


@pytest.mark.parametrize("which", [0, 1], ids="AB")
@pytest.mark.parametrize(
    ("u", "rate", "changes"),
    [
        ((1.2, 0.1), (0.0, 0.0), True),
        ((1.0, 0.0), (2.0, 0.0), True),
        ((1.0, 0.0), (-2.0, 0.0), False),
        ((0.0, -1.0), (0.0, -1e-3), True),
        ((0.3, 0.4), (0.0, 2.0), False),
    ],
)
def test_points_and_pose_stay_where_a_chart_is_left(
    which: int, u: tuple[float, float], rate: tuple[float, float], changes: bool
) -> None:
    system = pair(DISH).system
    start = pair(DISH).place(contact_on_hand=(0, 0, -0.9))
    model, x = system.model(start.atlas), start.x.copy()
    where = model.layout["contact.coordinates"]
    x[where] = [*u, 0.2, 0.1] if which == 0 else [0.2, 0.1, *u]
    change = np.zeros(len(x))
    change[where] = [*rate, 0.0, 0.0] if which == 0 else [0.0, 0.0, *rate]
    rates = ca.Function("rate", [ca.SX.sym("t"), model.x, ca.SX.sym("p", 0)], [ca.DM(change)])
    found = neighbouring_chart(system, rates, 0.0, x, np.zeros(0), start.atlas, 0)
    if not changes:
        assert found is None
        return
    assert found is not None
    after, atlas = found
    assert atlas[0] == ((1, 0), (0, 1))[which]
    assert atlas[1:] == start.atlas[1:]
    for old, new in zip(
        contact_points(system, start.atlas, x, 0), contact_points(system, atlas, after, 0), strict=True
    ):
        np.testing.assert_allclose(new, old, atol=1e-12)
    others = np.ones(len(x), dtype=bool)
    others[where] = False
    np.testing.assert_array_equal(after[others], x[others])


def test_a_face_that_is_left_at_its_corner_hands_over_to_the_edge_ahead_and_one_in_the_air_to_none() -> None:
    """A box stands with a corner of its level face on top of a ball; it is told which way it moves."""
    half = np.array([0.1, 0.2, 0.05])
    box = tr.RigidBody(tr.Box(half.tolist()), 1.0, "solid")
    system = tr.RollingPair(box, tr.Hand(tr.Sphere(0.5))).system
    features, layout = system.contact_pairs[0].shape_A.representations.features, system.model().layout

    def number(*signs: int) -> int:
        """Return the corner, edge or face whose middle is there, in half sizes."""
        return next(i for i, one in enumerate(features) if np.allclose(one.at, signs * half))

    x = np.zeros(system.model().x.shape[0])
    for name, value in (("hand.orientation", [1, 0, 0, 0]), ("object.orientation", [1, 0, 0, 0])):
        x[layout[name]] = value
    x[layout["object.position"]] = [-0.1, -0.2, 0.55]
    for moves, edge in (([-1.0, 1.0, 0.0], (1, 0, -1)), ([1.0, -1.0, 0.0], (0, 1, -1))):
        rate = np.zeros(len(x))
        rate[layout["object.position"]] = moves
        assert neighbouring_feature(system, x, rate, number(0, 0, -1)) == number(*edge)
    x[layout["object.position"]] = [-0.02, 0.03, 0.56]
    assert neighbouring_feature(system, x, np.zeros(len(x)), number(1, 0, -1)) is None
