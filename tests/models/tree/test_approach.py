from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

import trundle as tr
from trundle.geometry.queries.sampling import numeric_charts
from trundle.models.tree.approach import _closer, approach_at, refine_approach, with_charts


@pytest.mark.parametrize(
    ("body", "hand", "place"),
    [
        (tr.Circle(0.1), tr.Sinusoid(0.01, 2.0), {"contact_on_hand": (0.3, 0.01 * np.sin(0.3 * np.pi))}),
        (tr.Ellipsoid([0.1, 0.08, 0.06]), tr.Dish([1.0, 1.0, 0.8]), {"contact_on_hand": (0.0, 0.0, -0.8)}),
    ],
)
def test_points_that_are_on_no_chart_have_no_approach(
    monkeypatch: pytest.MonkeyPatch, body: tr.Shape, hand: tr.Shape, place: dict[str, object]
) -> None:
    """Approximate points may miss a steep surface by far: in the plane and in space that is no exception."""
    pair = tr.RollingPair(tr.RigidBody(body, 1.0, "solid"), tr.Hand(hand), contact="chart")
    system, start = pair.system, pair.place(**place)
    R, p = system.relative_pose(start.x, 0, start.atlas)
    near = system.proximity(0).local_minima(R, p)[0]
    found = approach_at(system, start.atlas, start.x, 0, near)
    assert found is not None
    assert abs(found.gap) < 1e-9

    def missed(*args: object) -> None:
        """Stand in for shapes that do not find the points."""
        raise tr.InputError("x", [0.0], "on the boundary")

    monkeypatch.setattr("trundle.models.tree.approach.contact_coordinates", missed)
    assert approach_at(system, start.atlas, start.x, 0, near) is None


def test_charts_of_one_contact_change_alone() -> None:
    assert with_charts(((0, 0), (0, 1), (1, 0)), 1, (2, 3)) == ((0, 0), (2, 3), (1, 0))


def test_nearest_points_are_found_closer_than_they_were_known():
    pair = tr.RollingPair(tr.RigidBody(tr.Ellipse([0.3, 0.2]), 1.0, 0.02), tr.Ground(tr.Parabola(0.5)), contact="chart")
    system, x = pair.system, pair.place(contact_x=0.4, angle=0.3).x
    x = x + 0.02 * np.eye(len(x))[1]
    R, p = system.relative_pose(x)
    found = approach_at(system, system.first_atlas, x, 0, near := system.proximity(0).local_minima(R, p)[0])
    assert found is not None
    # A place that is farther apart, or elsewhere, than the points it was looked for from is another one.
    assert approach_at(system, system.first_atlas, x, 0, replace(near, gap=near.gap - 1e-3)) is None
    outline = numeric_charts(pair.body.shape)[0]
    u = found.coordinates[:1]
    elsewhere = replace(near, x_A=outline.points((u + 0.5)[None])[0])
    assert approach_at(system, system.first_atlas, x, 0, elsewhere) is None
    for away in (-0.02, 0.015):
        seed = replace(near, x_A=outline.points((u + away)[None])[0])
        x_A, x_B = _closer(system.contact_pairs[0], R, p, seed)
        np.testing.assert_allclose(x_A, outline.points(u[None])[0], atol=1e-5)
        assert np.linalg.norm(R @ x_A + p - x_B) == pytest.approx(found.gap, abs=1e-9)


def test_an_approach_beyond_the_end_of_a_chart_is_found_on_its_neighbour():
    body, dish = tr.Ellipsoid([0.3, 0.2, 0.25]), tr.Dish([1.0, 1.1, 0.9])
    pair = tr.RollingPair(tr.RigidBody(body, 1.0, "solid"), tr.Hand(dish), contact="chart")
    turn = [np.cos(0.6), np.sin(0.6), 0.0, 0.0]
    system, start = pair.system, pair.place(contact_on_hand=(0.1, 0.05, -0.88), object_quaternion=turn)
    R, p = system.relative_pose(start.x, 0, start.atlas)
    near = system.proximity(0).local_minima(R, p)[0]
    found = approach_at(system, start.atlas, start.x, 0, near)
    assert found is not None
    charts = (1 - found.charts[0], found.charts[1])
    beyond = numeric_charts(body)[charts[0]]
    u = least_squares(lambda u: beyond.points(u[None])[0] - near.x_A, [0.5, 0.5], xtol=1e-14).x
    assert np.linalg.norm(u) > body.representations.charts[charts[0]].reach
    again = refine_approach(system, start.atlas, start.x, 0, np.array([*u, *found.coordinates[2:]]), charts)
    assert again is not None
    assert again.charts == found.charts
    np.testing.assert_allclose(again.coordinates, found.coordinates, atol=1e-9)
    assert (again.gap, again.speed) == pytest.approx((found.gap, found.speed), abs=1e-12)


def test_where_a_round_edge_becomes_flat_the_second_place_is_found_from_samples() -> None:
    """A rounded disc over a trough is near on both sides of its rim: beside the flat face, where Newton loses it."""
    pair = tr.RollingPair(
        tr.RigidBody(tr.Disc(0.0654, 0.016), 1.0, "solid"),
        tr.Hand(tr.Extrusion(tr.Sinusoid(0.0733, 1.81, -np.pi / 2))),
        contact="chart",
        on_slip="slide",
        on_separation="fly",
    )
    system, turn = pair.system, 0.1  # about its own axis: no sample is at an end of the diameter across
    start = pair.place(
        object_position=(0.0, 0.0, 0.018 - 0.0733), object_quaternion=(np.cos(turn), 0.0, 0.0, np.sin(turn))
    )
    x = start.x
    R, p = system.relative_pose(x, 0, start.atlas)
    near = system.proximity(0).local_minima(R, p, below=0.01)
    found = [approach_at(system, start.atlas, x, 0, one) for one in near]
    sides = {round(float(np.sign(one.coordinates[2]))) for one in found if one is not None}
    assert sides == {-1, 1}
