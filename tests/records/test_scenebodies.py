from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.geometry import CurveSum, Disc, FourierRadius, Parabola, Rounded, SampledCurve, Sinusoid, Sphere
from trundle.records import Policy, SceneBody, shape_table

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


def test_arrays_are_read_only_and_the_centre_of_mass_defaults_to_the_origin():
    body = SceneBody("a", "object", TRIANGLE, [[0, 1, 2]])
    assert body.center_of_mass.tolist() == [0, 0, 0]
    for array in (body.vertices, body.faces, body.center_of_mass):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Sphere(0.2), {"type": "sphere", "radius": 0.2}),
        (FourierRadius(0.3, [0.0, 0.1]), {"type": "fourier", "radius": 0.3, "cos": [0.0, 0.1], "sin": []}),
        (
            CurveSum([Parabola(0.1), Sinusoid(0.06, 1.2, 0.7)]),
            {
                "type": "sum",
                "terms": [
                    {"type": "parabola", "curvature": 0.1},
                    {"type": "sinusoid", "amplitude": 0.06, "wavelength": 1.2, "phase": 0.7},
                ],
            },
        ),
        (
            Rounded(Disc(0.2), 0.01),
            {"type": "rounded", "shape": {"type": "disc", "radius": 0.2, "rounding": 0.0}, "radius": 0.01},
        ),
    ],
)
def test_shapes_become_the_tables_of_a_scenario_file(shape, expected):
    assert shape_table(shape) == expected


def test_measured_points_stay_out_of_the_table():
    x = np.linspace(0, 1, 300)
    assert shape_table(SampledCurve(np.column_stack([x, 0.1 * x**2]))) == {"type": "spline", "closed": False}


class Proportional:
    period = 0.01

    def reset(self):
        return None

    def __call__(self, time, state):
        return -state


def test_a_policy_is_anything_with_a_period_a_reset_and_a_call():
    assert isinstance(Proportional(), Policy)
    assert not isinstance(np.sin, Policy)
