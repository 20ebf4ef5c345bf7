"""Impacts of one body at several contacts, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.simulate.events.impact import Candidate, plastic_impact


@pytest.mark.parametrize("new", [0, 1])
def test_a_block_whose_feet_stick_at_once_tips_over_the_front_one(new: int) -> None:
    # It lands sliding; angular momentum about the front foot is kept, the rear foot leaves the ground.
    m, inertia, h, w, before = 2.0, 0.3, 0.5, 0.2, np.array([1.0, -0.1, 0.0])
    feet = {i: np.array([[1.0, 0.0, h], [0.0, 1.0, side * w]]) for i, side in enumerate((1, -1))}
    contacts = {i: Candidate(J, J @ before, np.array([0.0, 1.0]), 20.0) for i, J in feet.items()}
    omega = m * (0.1 * w - h) / (m * (w * w + h * h) + inertia)
    after = np.array([-omega * h, -omega * w, omega])
    found = plastic_impact(np.diag([m, m, inertia]), contacts, new)
    assert found.decided
    assert found.laws == {0: "rolling"}
    np.testing.assert_allclose(found.jump, after - before, atol=1e-12)
    np.testing.assert_allclose(found.impulses[0], [m * found.jump[0], m * found.jump[1]], atol=1e-12)
    assert (feet[1] @ after)[1] == pytest.approx(-2 * omega * w)
