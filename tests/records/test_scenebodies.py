from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.records import Policy, SceneBody

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_a_body_in_space_needs_triangles_and_one_in_the_plane_has_none():
    assert SceneBody("a", "object", TRIANGLE, [[0, 1, 2]]).dimension == 3
    assert SceneBody("a", "body", TRIANGLE[:, :2]).dimension == 2
    with pytest.raises(InputError, match="faces"):
        SceneBody("a", "object", TRIANGLE)
    with pytest.raises(InputError, match="faces"):
        SceneBody("a", "body", TRIANGLE[:, :2], [[0, 1, 2]])


def test_faces_must_name_vertices_and_roles_are_known():
    with pytest.raises(InputError, match="indices of vertices"):
        SceneBody("a", "object", TRIANGLE, [[0, 1, 3]])
    with pytest.raises(InputError, match="'object', 'hand'"):
        SceneBody("a", "foot", TRIANGLE, [[0, 1, 2]])
    with pytest.raises(InputError, match="vertices"):
        SceneBody("a", "object", TRIANGLE * np.nan, [[0, 1, 2]])


@pytest.mark.parametrize(
    "faces", [[[0, 1, 0.5]], [[0, 1, np.nan]], [[0, 1, 2j]], [["0", "1", "2"]], [[0, 1]], [[0, 1, -1]]]
)
def test_faces_are_numbers_of_vertices(faces):
    with pytest.raises(InputError, match="faces"):
        SceneBody("a", "object", TRIANGLE, faces)


def test_arrays_are_read_only_and_the_centre_of_mass_defaults_to_the_origin():
    body = SceneBody("a", "object", TRIANGLE, [[0, 1, 2]])
    assert body.center_of_mass.tolist() == [0, 0, 0]
    for array in (body.vertices, body.faces, body.center_of_mass):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


class Proportional:
    period = 0.01

    def reset(self):
        return None

    def __call__(self, time, state):
        return -state


def test_a_policy_is_anything_with_a_period_a_reset_and_a_call():
    assert isinstance(Proportional(), Policy)
    assert not isinstance(np.sin, Policy)
