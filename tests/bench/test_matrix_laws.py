"""The laws' part of ``make matrix`` on a few pairs of shapes: each cell against maximal coordinates."""

from __future__ import annotations

import pytest

from bench import matrix_laws
from bench.matrix import LIMIT

PAIRS = [
    ("ellipsoid", "plane", "support"),
    ("ellipsoid", "ellipsoid", "pair"),
    ("disc", "dish", "level"),
    ("egg", "saddle", "chart"),
]


@pytest.mark.parametrize(("body", "hand", "form"), PAIRS)
def test_contacts_that_resist_or_give_way_move_as_maximal_coordinates(body, hand, form):
    cells = matrix_laws.row(body, hand, form, 2)
    assert set(cells) == set(matrix_laws.COLUMNS)
    assert all((value is None) == ("joint" in name and form != "chart") for name, value in cells.items())
    assert max(value for value in cells.values() if value is not None) < LIMIT


@pytest.mark.parametrize(
    ("outline", "terrain", "form"), [("ellipse", "sinusoid", "chart"), ("rock", "slope", "level-pair")]
)
def test_so_they_do_in_the_plane(outline, terrain, form):
    cells = matrix_laws.plane_row(outline, terrain, form, 3)
    assert max(value for value in cells.values() if value is not None) < LIMIT
