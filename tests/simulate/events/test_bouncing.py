"""Impacts that give back: closed forms of one contact, and kinetic energy that never grows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trundle.simulate.events.bouncing import bouncing_impulses
from trundle.simulate.events.coulomb import contact_impulses

HYPOTHESES = ("newton", "poisson")


def problem(seed: int, d: int, contacts: int = 1):
    """Return D, velocities before (all contacts approach), friction and restitution of a random impact."""
    random = np.random.default_rng(seed)
    J = random.normal(size=(contacts * d, contacts * d + 2))
    before = random.normal(size=(contacts, d))
    before[:, 0] = -np.abs(before[:, 0])
    return J @ J.T, before, random.uniform(0.0, 2.0, contacts), random.uniform(0.0, 1.0, contacts)


def work(found, before) -> float:
    return float(np.sum(found.impulses * (before + found.velocities))) / 2


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
@pytest.mark.parametrize("slip", [0.1, 5.0, -5.0])
def test_a_ball_with_friction_bounces_as_the_closed_forms_say(hypothesis, slip):
    m, inertia, r, mu, e, v = 0.3, 0.3 * 0.4 * 0.1**2, 0.1, 0.3, 0.7, 2.0
    D = np.diag([1 / m, 1 / m + r**2 / inertia])
    found = bouncing_impulses(D, np.array([[-v, slip]]), np.array([mu]), np.array([e]), hypothesis)
    normal = (1 + e) * v * m
    stick = -slip / D[1, 1]
    tangential = stick if abs(stick) <= mu * normal else -np.sign(slip) * mu * normal
    np.testing.assert_allclose(found.impulses[0], [normal, tangential], rtol=1e-12)
    np.testing.assert_allclose(found.velocities[0], [e * v, slip + D[1, 1] * tangential], atol=1e-12)


def test_poisson_gives_back_impulses_and_newton_speeds():
    # A slanted rod: normal and slip are coupled, b = D_nt, and both hypotheses differ.
    a, b, c, e, v = 2.0, 0.8, 3.0, 0.6, 1.5
    D, before, mu = np.array([[a, b], [b, c]]), np.array([[-v, 0.0]]), np.array([5.0])
    newton = bouncing_impulses(D, before, mu, np.array([e]))
    np.testing.assert_allclose(newton.velocities[0], [e * v, 0.0], atol=1e-12)
    np.testing.assert_allclose(newton.impulses[0], np.linalg.solve(D, [(1 + e) * v, 0.0]), rtol=1e-12)
    compression = np.linalg.solve(D, [v, 0.0])
    poisson = bouncing_impulses(D, before, mu, np.array([e]), "poisson")
    assert poisson.impulses[0, 0] == pytest.approx((1 + e) * compression[0], rel=1e-12)
    # Friction is little here: the rod slides while it expands, pushed along n - mu s t.
    slippery = bouncing_impulses(D, np.array([[-v, 1.0]]), np.array([0.1]), np.array([e]), "poisson")
    edge = np.array([1.0, -0.1])
    pressed = v / (D @ edge)[0]
    np.testing.assert_allclose(slippery.impulses[0], (1 + e) * pressed * edge, rtol=1e-12)


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.sampled_from((2, 3)), contacts=st.integers(1, 3))
def test_kinetic_energy_never_grows_and_nothing_penetrates(hypothesis, seed, d, contacts):
    D, before, friction, e = problem(seed, d, contacts)
    found = bouncing_impulses(D, before, friction, e, hypothesis)
    assert found.residual < 1e-9
    assert work(found, before) <= 1e-10
    np.testing.assert_allclose(found.velocities, before + (D @ found.impulses.ravel()).reshape(before.shape), atol=1e-9)
    assert np.all(found.velocities[:, 0] > -1e-8)
    assert np.all(np.linalg.norm(found.impulses[:, 1:], axis=1) <= friction * found.impulses[:, 0] * (1 + 1e-9) + 1e-9)


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_without_friction_one_contact_gives_back_exactly_e(hypothesis):
    for seed in range(20):
        D, before, _, e = problem(seed, 3)
        found = bouncing_impulses(D, before, np.zeros(1), e, hypothesis)
        assert found.velocities[0, 0] == pytest.approx(-e[0] * before[0, 0], rel=1e-9)
        share = (1 - e[0] ** 2) * before[0, 0] ** 2 / D[0, 0] / 2
        assert work(found, before) == pytest.approx(-share, rel=1e-9, abs=1e-12)


def test_newton_with_friction_that_would_create_energy_is_reduced_to_where_none_is_created():
    # Kane's paradox in the smallest form: the slip reverses, and the friction that did it feeds the normal motion.
    D, before, mu, e = np.array([[1.0, 0.84], [0.84, 1.0]]), np.array([[-1.7, -0.57]]), np.array([1.7]), np.ones(1)
    shift = np.array([[before[0, 0], 0.0]])
    free = contact_impulses(D, before + shift, mu)
    assert float(np.sum(free.impulses * (before + free.velocities - shift))) / 2 > 1.0  # unmended: J from nothing
    found = bouncing_impulses(D, before, mu, e)
    assert -1e-8 < work(found, before) <= 1e-12
    assert 0.0 < found.velocities[0, 0] < -before[0, 0]
