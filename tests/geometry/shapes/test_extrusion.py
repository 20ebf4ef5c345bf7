"""Extrusions: every section is the profile."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from trundle.geometry.queries.sampling import numeric_charts


def test_chart_and_height_are_those_of_the_profile_at_every_y() -> None:
    profile = tg.Sinusoid(0.05, 1.0, 0.3)
    shape, u = tg.Extrusion(profile), np.array([[0.2, 3.0], [-0.7, 0.0]])
    section = numeric_charts(profile)[0].points(u[:, :1])
    np.testing.assert_allclose(numeric_charts(shape)[0].points(u), np.insert(section, 1, u[:, 1], axis=1), atol=1e-15)
    height = shape.representations.height
    assert height is not None
    assert float(height(ca.DM(u[0]))) == pytest.approx(section[0, 1])
