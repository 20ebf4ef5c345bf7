"""Corners, edges and faces of polytopes: Euler's formula, and that together they are the body."""

import numpy as np
import pytest

import trundle as tr
from trundle.geometry.features import features


@pytest.mark.parametrize("seed", range(4))
def test_corners_edges_and_faces_obey_euler(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tr.Polytope(random.normal(size=(random.integers(4, 12), 3)).tolist())
    corners, edges, faces = ([f for f in shape.representations.features if len(f.axes) == m] for m in range(3))
    assert len(corners) - len(edges) + len(faces) == 2
    assert all(len(edge.inside) == 2 == len(edge.cone) for edge in edges)
    assert len(edges) == sum(len(corner.cone) for corner in corners) / 2


def test_faces_of_a_box_are_whole_rectangles() -> None:
    found = tr.Box([0.1, 0.2, 0.3]).representations.features
    assert [sum(len(f.axes) == m for f in found) for m in range(3)] == [8, 12, 6]
    assert sorted(abs(f.at[k]) for f in found[20:] for k in range(3) if f.at[k]) == pytest.approx(
        [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
    )


def test_sides_of_a_polygon_have_two_ends() -> None:
    found = features(np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 0.7]]))
    assert [len(f.inside) for f in found] == [0, 0, 0, 2, 2, 2]
    assert [len(f.cone) for f in found] == [2, 2, 2, 0, 0, 0]
    assert found[0].beside == tuple(k for k in (3, 4, 5) if 0 in found[k].beside)
