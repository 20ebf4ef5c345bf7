from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.models.tree.approach import approach_at, with_charts


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
