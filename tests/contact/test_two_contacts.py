"""A body on two contacts at once against maximal coordinates, both sides moving and accelerating."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact import pairs, two_contacts
from tests.oracles import double, spatial

CORE = [
    ("ellipsoid", "plane", "support"),
    ("ellipsoid", "ellipsoid", "pair"),
    ("rounded", "dish", "level"),
    ("torus", "torus", "level-pair"),
    ("ellipsoid", "dish", "chart"),
    ("blunt", "saddle", "support-chart"),
]


@pytest.mark.parametrize("laws", two_contacts.LAW_PAIRS)
@pytest.mark.parametrize(("a", "b", "form"), CORE)
def test_two_contacts_are_those_of_maximal_coordinates(a, b, form, laws):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    states = {law: pairs.random_states(A, B, form, law, 20, seed=9) for law in set(laws)}
    model = two_contacts.build(A, B, form)
    assert two_contacts.two_contacts(A, states, laws, model).residual(model, laws) <= 1e-12


def test_oracle_carries_a_ball_in_a_groove():
    """Two walls at 45 degrees: each bears half of the weight, upwards, as least squares have it."""
    n = np.array([[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]) / np.sqrt(2)
    still = np.zeros(3)
    touches = [spatial.Touch(normal, -0.2 * normal, still, still, still) for normal in n]
    inertia, weight = 0.016 * np.eye(3), np.array([0.0, 0.0, -9.81])
    alpha, a, forces = double.accelerations(1.0, inertia, still, touches, ("rolling", "rolling"), 0.5, weight)
    np.testing.assert_allclose(np.r_[alpha, a], 0.0, atol=1e-13)
    np.testing.assert_allclose(forces, [[0.0, 0.0, 9.81 / 2]] * 2, atol=1e-12)
