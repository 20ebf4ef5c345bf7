"""Contacts that resist slip, rolling and spin: random problems, judged by the law alone."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.simulate.events.coulomb import contact_impulses
from trundle.simulate.events.coulomb.resisted import ResistedContacts, resisted_impulses

GROUPS = {2: (slice(1, 2), slice(2, 3)), 3: (slice(1, 3), slice(3, 5), slice(5, 6))}


def problem(rng: np.random.Generator, d: int, m: int, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """Return D and `before` of m contacts of bodies of unlike mass, with the ground or with each other."""
    k = 1 if d == 2 else 3
    K, n = d + k, bodies * (d + k)
    masses = 10 ** rng.uniform(-2, 2, bodies)
    inertia = np.concatenate([np.r_[np.full(d, one), one * 4e-3 * rng.uniform(0.3, 2.0, k)] for one in masses])
    J = np.zeros((m, K, n))
    for i in range(m):
        axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
        sides = [(int(rng.integers(bodies)), 1.0)]
        if rng.random() < 0.5 and (other := int(rng.integers(bodies))) != sides[0][0]:
            sides.append((other, -1.0))
        for body, sign in sides:
            r, at = 0.1 * rng.normal(size=d), body * K
            J[i, :d, at : at + d] += sign * axes
            if d == 2:
                J[i, :d, at + 2] += sign * axes @ np.array([-r[1], r[0]])
                J[i, d, at + 2] += sign
            else:
                J[i, :d, at + d : at + K] += sign * np.cross(r, axes)
                J[i, d:, at + d : at + K] += sign * np.roll(axes, -1, axis=0)
    rows = J.reshape(m * K, n)
    return (rows / inertia) @ rows.T, (rows @ rng.normal(size=n)).reshape(m, K)


@pytest.mark.parametrize("seed", range(40))
def test_pushes_obey_the_law_of_each_group_by_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(2, 4)), int(rng.integers(1, 6))
    D, before = problem(rng, d, m, int(rng.integers(1, 4)))
    most = np.array([2.0, 0.05, 0.05][: len(GROUPS[d])])
    bounds = rng.uniform(0.0, most, (m, len(most))) * (rng.random((m, len(most))) < 0.8)
    found = resisted_impulses(ResistedContacts(D, before, GROUPS[d], bounds, np.zeros_like(before)))
    L, v = found.impulses, before + (D @ found.impulses.ravel()).reshape(before.shape)
    assert found.residual < 1e-10
    speed, push = float(np.abs(before).max()), float(np.abs(L).max()) + 1e-12
    assert L[:, 0].min() >= 0.0
    assert v[:, 0].min() > -1e-8 * speed
    assert np.abs(L[:, 0] * v[:, 0]).max() < 1e-8 * speed * push
    for bound, columns in zip(bounds.T, GROUPS[d], strict=True):
        size, rate = (np.linalg.norm(part[:, columns], axis=1) for part in (L, v))
        assert np.all(size <= bound * L[:, 0] * (1 + 1e-9) + 1e-12 * push)
        # The most that the bound allows is dissipated: L_g . v_g = -bound L_n |v_g|.
        power = np.sum(L[:, columns] * v[:, columns], axis=1)
        np.testing.assert_allclose(power, -bound * L[:, 0] * rate, atol=1e-7 * speed * push)
    assert float(np.sum(L * (before + v))) <= 1e-9 * speed * push


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_contacts_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    d, m = 3, 4
    D, before = problem(rng, d, m, 2)
    bounds = np.column_stack([rng.uniform(0.2, 1.0, m), rng.uniform(0.0, 0.02, m), rng.uniform(0.0, 0.02, m)])
    order, K = rng.permutation(m), before.shape[1]
    rows = (K * order[:, None] + np.arange(K)).ravel()
    one = resisted_impulses(ResistedContacts(D, before, GROUPS[d], bounds, np.zeros_like(before)))
    turned = ResistedContacts(D[np.ix_(rows, rows)], before[order], GROUPS[d], bounds[order], np.zeros_like(before))
    other = resisted_impulses(turned)
    np.testing.assert_allclose(other.velocities, one.velocities[order], atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_without_resistance_it_is_coulombs_law(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    d, m = 3, 3
    D, before = problem(rng, d, m, 3)
    mu, K = rng.uniform(0.1, 0.6, m), before.shape[1]
    bounds = np.column_stack([mu, np.zeros(m), np.zeros(m)])
    found = resisted_impulses(ResistedContacts(D, before, GROUPS[d], bounds, np.zeros_like(before)))
    rows = (K * np.arange(m)[:, None] + np.arange(d)).ravel()
    known = contact_impulses(D[np.ix_(rows, rows)], before[:, :d], mu)
    assert not found.impulses[:, d:].any()
    np.testing.assert_allclose(found.velocities[:, :d], known.velocities, atol=1e-8)


def test_a_known_direction_is_kept() -> None:
    """A block that slides: its friction is mu L_n against the slip, whatever the acceleration would be."""
    D, before = np.eye(6), np.array([[-1.0, 5.0, 0.0, 0.0, 0.0, 0.0]])
    rays = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    found = resisted_impulses(ResistedContacts(D, before, GROUPS[3], np.array([[0.5, 0.0, 0.0]]), rays))
    np.testing.assert_allclose(found.impulses, [[1.0, 0.0, -0.5, 0.0, 0.0, 0.0]], atol=1e-12)
