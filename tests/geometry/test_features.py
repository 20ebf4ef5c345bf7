"""Corners, edges and faces of polytopes: Euler's formula, and that together they are the body."""

from itertools import pairwise

import numpy as np
import pytest

import trundle as tr
from trundle.geometry.features import divide_edges, features


@pytest.mark.parametrize("seed", range(4))
def test_corners_edges_and_faces_obey_euler(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tr.Polytope(random.normal(size=(random.integers(4, 12), 3)).tolist())
    corners, edges, faces = ([f for f in shape.representations.features if len(f.axes) == m] for m in range(3))
    assert len(corners) - len(edges) + len(faces) == 2
    assert all(len(edge.inside) == 2 == len(edge.cone) for edge in edges)
    assert len(edges) == sum(len(corner.cone) for corner in corners) / 2


@pytest.mark.parametrize("seed", range(3))
def test_features_end_at_their_corners_and_open_into_the_body(seed: int) -> None:
    shape = tr.Polytope(np.add(np.random.default_rng(seed).normal(size=(8, 3)), [3.0, 0.0, -2.0]).tolist())
    found = shape.representations.features
    for one in found:
        at = np.array(one.at)
        own = [np.array(found[k].at) for k in one.beside if found[k].dimension == 0] or [at]
        np.testing.assert_allclose(np.mean(own, axis=0), at)
        if one.dimension:
            np.testing.assert_allclose([np.array(one.axes) @ np.array(one.axes).T], [np.eye(one.dimension)], atol=1e-12)
        for g, h in one.inside:
            assert max(-np.array(g) @ (corner - at) for corner in own) == pytest.approx(h)
        for g in one.cone:
            assert shape.distance([at + 1e-4 * np.array(g)])[0][0] < 1e-12
            assert shape.distance([at - 1e-4 * np.array(g)])[0][0] > 1e-6


@pytest.mark.parametrize("shape", [tr.Disc(0.2), tr.Cylinder(0.1, 0.3), tr.Box([0.1, 0.2, 0.3])], ids=repr)
def test_what_is_beside_a_feature_has_it_beside(shape: tr.Shape) -> None:
    found = shape.representations.features
    assert all(i in found[k].beside for i, one in enumerate(found) for k in one.beside)
    assert [one.rim for one in found].count(True) == {tr.Disc: 1, tr.Cylinder: 2}.get(type(shape), 0)


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


@pytest.mark.parametrize("half", [[0.5, 0.05], [0.5, 0.1, 0.3]])
def test_parts_of_an_edge_cover_it_and_two_crests_never_meet_neighbours(half: list[float]) -> None:
    length = 0.45
    whole = tr.Box(half).representations.features
    found = divide_edges(whole, length)
    assert all(k in found[i].beside for k, one in enumerate(found) for i in one.beside)
    for number, edge in enumerate(whole):
        if len(edge.axes) != 1:
            assert found[number].at == edge.at
            continue
        axis, start, ends = np.array(edge.axes[0]), np.array(edge.at), [h for _, h in edge.inside]
        parts = {k: part for k, part in enumerate(found) if part.axes == edge.axes}
        apart = {k: np.array(part.at) - start for k, part in parts.items()}
        parts = {k: part for k, part in parts.items() if np.allclose(apart[k], axis @ apart[k] * axis)}
        along = {k: float(axis @ apart[k]) for k in parts}
        reach = {k: part.inside[0][1] for k, part in parts.items()}
        row = sorted(parts, key=lambda k: along[k])
        assert along[row[0]] - reach[row[0]] == pytest.approx(-ends[1])
        assert along[row[-1]] + reach[row[-1]] == pytest.approx(ends[0])
        for a, b in pairwise(row):
            assert along[b] - reach[b] < along[a] + reach[a] - 0.01 * length
            assert along[b] + reach[b] - (along[a] - reach[a]) < length
            assert b in parts[a].beside
