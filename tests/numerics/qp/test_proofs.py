"""Proofs that a program has no solution, and that they are not made of rounding."""

from __future__ import annotations

import numpy as np

from trundle.numerics.qp.proofs import bent_down


def test_a_curvature_that_rounding_makes_is_none():
    assert bent_down(np.diag([1.0, -1e-14])) is None
    down = bent_down(np.diag([1.0, -1e-13]))
    assert down is not None
    np.testing.assert_allclose(np.abs(down), [0.0, 1.0], atol=1e-12)
