"""Whatever is given, a constructor answers with a shape or with an error that names the parameter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trundle.geometry as tg
from trundle.errors import InputError

ODD = st.sampled_from(
    [0, -1, 1, 2, True, None, "1", "", math.nan, math.inf, -math.inf, 1e-300, 1e300, 5e-324, 1e8, 10**400]
)
NUMBER = st.one_of(ODD, st.floats(), st.integers(-3, 3), st.floats(1e-3, 1e3))
ANYTHING = st.one_of(NUMBER, st.lists(NUMBER, max_size=4), st.lists(st.lists(NUMBER, max_size=3), max_size=3))
BUILDERS: list[tuple[Any, int]] = [
    (tg.Line, 2),
    (tg.Circle, 1),
    (tg.Ellipse, 1),
    (tg.Parabola, 1),
    (tg.Sinusoid, 3),
    (tg.Arc, 3),
    (tg.FourierRadius, 3),
    (tg.CurveSum, 1),
    (tg.Sphere, 1),
    (tg.Ellipsoid, 1),
    (tg.Dish, 1),
    (tg.Cylinder, 1),
    (tg.Tube, 1),
    (tg.Torus, 2),
    (tg.Superellipsoid, 3),
    (tg.Disc, 2),
    (tg.Capsule, 2),
    (tg.Box, 1),
    (tg.Polytope, 1),
    (tg.Rounded, 2),
    (tg.Revolution, 1),
    (tg.SampledCurve, 2),
    (tg.SampledSurface, 3),
    (tg.HeightMap, 3),
]


@pytest.mark.parametrize(("build", "count"), BUILDERS)
@settings(max_examples=60)
@given(data=st.data())
def test_constructors_name_what_is_wrong(build: Any, count: int, data: st.DataObject) -> None:
    given_values = [data.draw(ANYTHING) for _ in range(count)]
    refusal = None
    try:
        shape = build(*given_values)
    except InputError as error:
        refusal = error
    if refusal is not None:
        assert refusal.key
        assert "must be" in str(refusal)
        return
    hash(shape)
    assert shape.representations.charts or shape.representations.support is not None
    assert math.isfinite(shape.reference_length)
    x, n = shape.sample(10, np.zeros(shape.d), 2 * shape.reference_length)
    assert np.all(np.isfinite(x))
    assert np.all(np.isfinite(n))


@pytest.mark.parametrize("size", [1e-8, 1e8, 1e-300, 1e300])
def test_sizes_out_of_this_world_are_refused(size: float) -> None:
    with pytest.raises(InputError, match="from 1e-7 to 1e7"):
        tg.Sphere(size)
    with pytest.raises(InputError, match="from 1e-7 to 1e7"):
        tg.Ellipsoid([1, size, 1])
    with pytest.raises(InputError, match="from 1e-7 to 1e7"):
        tg.Capsule(1, size)


def test_points_out_of_this_world_are_refused() -> None:
    with pytest.raises(InputError, match="at most"):
        tg.SampledCurve([[i, 1e9 * i] for i in range(8)])
    x = [0, 1e-9, 1, 2, 3, 4, 5, 6]
    with pytest.raises(InputError, match="points"):
        tg.SampledCurve([[a, i % 2] for i, a in enumerate(x)])
