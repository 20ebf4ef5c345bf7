"""Every outline on every terrain against the arc-length derivation: one contact, two, impacts and rest."""

from __future__ import annotations

import pytest

from bench import matrix_plane

ROWS = [
    (outline, terrain, form)
    for outline in matrix_plane.OUTLINES
    for terrain in matrix_plane.TERRAINS
    for form in matrix_plane.forms_of(outline, terrain)
]


@pytest.mark.parametrize(("outline", "terrain", "form"), ROWS)
def test_accelerations_forces_and_rest_agree_with_the_arc_length_derivation(
    outline: str, terrain: str, form: str
) -> None:
    cells = matrix_plane.row(outline, terrain, form, 4)
    assert {"pose rolling", "pose two contacts", "pose rest"} <= {
        name for name, cell in cells.items() if cell is not None
    }
    assert max(cell for cell in cells.values() if cell is not None) < 1e-11
