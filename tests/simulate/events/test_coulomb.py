"""Coulomb's law at several contacts: the solver against the sets of contacts that part, stick and slide, one by one."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import root

from bench.coulomb_problems.scenes import drawn, problems
from tests.oracles.coulomb_law import breach, energy_gain
from trundle.simulate.events.coulomb import contact_impulses, has_answer
from trundle.simulate.events.coulomb.contacts import Contacts
from trundle.simulate.events.coulomb.natural_map import NaturalMap
from trundle.simulate.events.coulomb.proximal import ProximalPoints

Array = NDArray[np.float64]
SAME = 1e-9


def problem(seed: int, d: int) -> tuple[Array, Array, Array]:
    """J M^-1 J', velocities before (m, d) and friction of a random system with contacts that approach or part.

    A velocity of the bodies gives what the contacts do, so that there is an answer.
    """
    random = np.random.default_rng([seed, d])
    m = int(random.integers(1, 5 if d == 2 else 4))
    nv = int(random.integers(d * m if random.random() < 0.5 else d, d * m + 4))
    J, half = random.normal(size=(m * d, nv)), random.normal(size=(nv, nv))
    D = J @ np.linalg.inv(half @ half.T + 0.1 * np.eye(nv)) @ J.T
    return D, (J @ random.normal(size=nv)).reshape(m, d), random.uniform(0.0, 1.5, m)


def planar_answers(D: Array, before: Array, mu: Array) -> Iterator[tuple[Array, Array]]:
    """Impulses and velocities of every set: each contact parts, sticks, or slides to either side."""
    m = len(mu)
    for laws in product("psrl", repeat=m):
        rows, sides = np.zeros((2 * m, 4 * m)), np.zeros(2 * m)  # of (L, v)
        for i, law in enumerate(laws):
            Ln, Lt, vn, vt = 2 * i, 2 * i + 1, 2 * m + 2 * i, 2 * m + 2 * i + 1
            rows[Ln, Ln if law == "p" else vn] = 1.0
            rows[Lt, vt if law == "s" else Lt] = 1.0
            if law in "rl":
                rows[Lt, Ln] = mu[i] if law == "r" else -mu[i]
        A = np.block([[rows], [-D, np.eye(2 * m)]])
        if np.linalg.cond(A) > 1e9:
            continue
        both = np.linalg.solve(A, np.concatenate([sides, before.ravel()]))
        yield both[: 2 * m].reshape(m, 2), both[2 * m :].reshape(m, 2)


def spatial_answers(D: Array, before: Array, mu: Array) -> Iterator[tuple[Array, Array]]:
    """The same in space: of contacts that slide, the angle of their velocity is found by iteration, from 5 each."""
    m, random = len(mu), np.random.default_rng(0)

    def moved(laws: tuple[str, ...], angles: Array) -> tuple[Array, Array] | None:
        push = np.zeros((3 * m, 0))  # impulses of the unknown sizes
        still: list[int] = []
        for i, law in enumerate(laws):
            columns = np.zeros((3 * m, {"p": 0, "s": 3, "r": 1}[law]))
            if law == "s":
                columns[3 * i : 3 * i + 3] = np.eye(3)
                still += range(3 * i, 3 * i + 3)
            elif law == "r":
                columns[3 * i : 3 * i + 3, 0] = [1.0, -mu[i] * np.cos(angles[i]), -mu[i] * np.sin(angles[i])]
                still.append(3 * i)
            push = np.hstack([push, columns])
        A = (D @ push)[still]
        if len(still) and np.linalg.cond(A) > 1e9:
            return None
        L = push @ np.linalg.solve(A, -before.ravel()[still]) if still else np.zeros(3 * m)
        return L.reshape(m, 3), (before.ravel() + D @ L).reshape(m, 3)

    for laws in product("psr", repeat=m):
        sliding = [i for i, law in enumerate(laws) if law == "r"]

        def across(values: Array, laws: tuple[str, ...] = laws, sliding: list[int] = sliding) -> Array:
            angles = np.zeros(m)
            angles[sliding] = values
            found = moved(laws, angles)
            if found is None:
                return np.ones(len(sliding))
            v = found[1][sliding]
            return -np.sin(values) * v[:, 1] + np.cos(values) * v[:, 2]

        for _ in range(5 ** len(sliding)):
            angles = np.zeros(m)
            if sliding:
                angles[sliding] = root(across, random.uniform(-np.pi, np.pi, len(sliding)), tol=1e-13).x
            if (found := moved(laws, angles)) is not None:
                yield found


def obeys(L: Array, v: Array, mu: Array) -> bool:
    """Whether Coulomb's law holds, to round-off."""
    sizes = SAME * max(1.0, float(np.abs(v).max())), SAME * max(1.0, float(np.abs(L).max()))
    for i in range(len(mu)):
        slip, rub = float(np.linalg.norm(v[i, 1:])), float(np.linalg.norm(L[i, 1:]))
        if L[i, 0] < -sizes[1] or v[i, 0] < -sizes[0] or min(L[i, 0], v[i, 0]) > max(sizes):
            return False
        if rub > mu[i] * L[i, 0] + sizes[1]:
            return False
        if slip > sizes[0] and np.linalg.norm(L[i, 1:] + mu[i] * L[i, 0] * v[i, 1:] / slip) > 1e3 * sizes[1]:
            return False
    return True


@pytest.mark.parametrize(("d", "seeds"), [(2, 150), (3, 40)], ids=["plane", "space"])
def test_the_answer_is_one_of_the_sets(d: int, seeds: int) -> None:
    answers, contacts = (planar_answers if d == 2 else spatial_answers), 0
    for seed in range(seeds):
        D, before, mu = problem(seed, d)
        found = contact_impulses(D, before, mu)
        right = [(L, v) for L, v in answers(D, before, mu) if obeys(L, v, mu)]
        assert found.exact, f"seed {seed}: {len(right)} sets agree, the solver's residual is {found.residual:.1e}"
        assert obeys(found.impulses, found.velocities, mu), seed
        np.testing.assert_allclose((before.ravel() + D @ found.impulses.ravel()), found.velocities.ravel(), atol=1e-10)
        if np.linalg.matrix_rank(D) < len(D) and not right:
            continue  # impulses that balance each other: the sets' equations are singular
        apart = [float(np.abs(v - found.velocities).max() / max(1.0, np.abs(v).max())) for _, v in right]
        assert min(apart, default=np.inf) < 1e-7, f"seed {seed}: no set has the solver's velocities"
        contacts += len(mu)
    assert contacts > seeds


def test_soles_whose_corners_balance_each_other_push_as_coulomb_says() -> None:
    """Two soles with four corners each: twelve of 24 rows are redundant, and slips are near zero."""
    corners = np.array([[x, y, -0.05] for x in (-0.1, 0.1) for y in (-0.05, 0.05)])
    foot = np.vstack([np.hstack([[[0, c[2], -c[1]], [-c[2], 0, c[0]], [c[1], -c[0], 0]], np.eye(3)]) for c in corners])
    J = np.kron(np.eye(2), foot)
    J = J.reshape(8, 3, 12)[:, [2, 0, 1]].reshape(24, 12)  # the normal first
    for seed in range(12):
        random = np.random.default_rng(seed)
        half = random.normal(size=(12, 12))
        D = J @ np.linalg.inv(half @ half.T + np.eye(12)) @ J.T
        nu = 0.05 * random.normal(size=12)
        nu[5] = -0.2  # one sole lands flat on, the other one stands
        nu[6:] = [0, 0, 0, 0, 0, -0.01]
        found = contact_impulses(D, (J @ nu).reshape(8, 3), np.full(8, 0.7))
        assert found.exact, seed


def contacts_of(D: Array, before: Array, mu: Array, least: Array | None = None, slips: Array | None = None) -> Contacts:
    """The problem as the solver states it."""
    m, d = before.shape
    return Contacts(
        D, before, mu, np.zeros(m) if least is None else least, np.zeros((m, d - 1)) if slips is None else slips
    )


@pytest.mark.parametrize("d", [2, 3])
def test_proximal_points_are_in_the_cones_and_come_to_an_answer(d: int) -> None:
    for seed in range(8):
        D, before, mu = problem(seed, d)
        least = np.random.default_rng(seed).choice([0.0, 0.7], len(mu))
        scaled, _ = contacts_of(D, before, mu, least).scale()
        for k, guess in enumerate(ProximalPoints(scaled, 40)):
            pushes = guess.reshape(len(mu), d)
            assert np.all(pushes[:, 0] >= scaled.least)
            rub = np.linalg.norm(pushes[:, 1:], axis=1)
            assert np.all(rub <= mu * pushes[:, 0] * (1.0 + 1e-12)), k
        assert scaled.judge(pushes).residual < 1e-6, seed


def test_what_no_impulse_can_stop_is_not_called_exact() -> None:
    nothing = contact_impulses(np.diag([0.0, 1.0]), np.array([[-1.0, 0.3]]), np.array([0.5]))
    assert not nothing.exact
    assert nothing.residual == pytest.approx(1.0)


@pytest.mark.parametrize("before", [[-1.0, 0.3], [0.0, 0.3]])
def test_of_a_contact_that_nothing_moves_no_more_than_its_velocity_is_wrong(before: list[float]) -> None:
    nothing = contact_impulses(np.zeros((2, 2)), np.array([before]), np.array([0.5]))
    np.testing.assert_array_equal(nothing.velocities, [before])
    assert nothing.residual == -before[0]


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e5])
def test_the_residual_is_the_largest_part_by_which_a_condition_is_missed(scale: float) -> None:
    """Of impulses that are given, in parts of the largest velocity and impulse, whatever their units."""

    def residual(L: list[float], v0: list[float], mu: float, least: float = 0.0) -> float:
        before, given = scale * np.array([v0]), np.array([scale * least])
        return contacts_of(np.eye(len(v0)), before, np.array([mu]), given).judge(scale * np.array([L])).residual

    assert residual([1.0, 0.0], [-1.0, 0.3], 0.5) == pytest.approx(0.3)  # slips, and nothing rubs
    assert residual([1.0, -0.5], [-1.0, 0.8], 0.5) == pytest.approx(0.0, abs=1e-15)  # rubs against the slip, at mu
    assert residual([1.0, -0.4], [-1.0, 0.8], 0.5) == pytest.approx(0.1)  # rubs too little
    # Rubs aside: of L_t - v_t = (-.3, -1.2) the disc has .5/1.237 = .4042 parts.
    aside = np.hypot(0.3 + 0.3 * 0.5 / np.hypot(0.3, 1.2), -0.4 + 1.2 * 0.5 / np.hypot(0.3, 1.2))
    assert residual([1.0, 0.3, -0.4], [-1.0, 0.3, 1.2], 0.5) == pytest.approx(aside / 1.2)
    assert residual([1.0, 0.0], [-1.0, 0.3], np.inf) == pytest.approx(0.3)  # slips where nothing may
    assert residual([0.4, 0.0], [-1.0, 0.0], 0.5) == pytest.approx(0.6)  # still goes in
    assert residual([1.0, 0.0], [-0.5, 0.0], 0.5) == pytest.approx(1.0)  # pushes, and comes apart
    assert residual([1.0, 0.0], [-0.5, 0.0], 0.5, least=1.0) == pytest.approx(0.0, abs=1e-15)  # as it is given
    assert residual([0.0, 0.0], [0.2, 1.0], 0.5) == 0.0  # apart


@pytest.mark.parametrize("d", [2, 3])
def test_the_slope_is_that_of_the_natural_map(d: int) -> None:
    laws = set()
    for seed in range(40):
        D, before, mu = problem(seed, d)
        m, random = len(mu), np.random.default_rng(seed)
        slips = np.zeros((m, d - 1))
        slips[random.random(m) < 0.3, 0] = 1.0
        mu[random.random(m) < 0.2] = 0.0
        jammed = random.random(m) < 0.2
        mu[jammed] = np.inf
        slips[jammed] = 0.0
        scaled, _ = contacts_of(D, before, mu, random.uniform(0.0, 0.3, m), slips).scale()
        task = NaturalMap(scaled, True, jammed if seed % 2 else None)
        L = random.normal(size=m * d)
        _, trial, cones = task.values(L)
        rub = np.linalg.norm(trial[:, 1:], axis=1) > np.where(jammed, 0.0, mu) * np.maximum(trial[:, 0], scaled.least)
        laws |= set(zip(trial[:, 0] > scaled.least, rub, strict=True))
        ahead, behind = (np.array([task.values(L + e)[0] for e in s * np.eye(m * d)]).T for s in (1e-6, -1e-6))
        np.testing.assert_allclose(task.slope(trial, cones, L), (ahead - behind) / 2e-6, atol=1e-6)
    assert len(laws) == 4  # sticks and slides, with its own push and the given one


def test_contacts_that_balance_each_other_share_the_push_evenly() -> None:
    """Two contacts of one mass of 1 kg under each other: the first guess is the smallest push that stops both."""
    found = contact_impulses(np.kron(np.ones((2, 2)), np.eye(2)), np.array([[-1.0, 0.2]] * 2), np.full(2, 0.5))
    np.testing.assert_allclose(found.impulses, [[0.5, -0.1]] * 2, atol=1e-12)


def only_in(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let impulses be found in C first, or in Python alone."""
    module = importlib.import_module("trundle.simulate.events.coulomb.impulses")
    if way == "python":
        monkeypatch.setattr(module, "core", lambda: None)
    elif module.core() is None:
        pytest.skip("no core and no C compiler")


def test_most_problems_are_answered_in_c_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    only_in("core", monkeypatch)
    core, answered = importlib.import_module("trundle.simulate.events.coulomb.native").core(), 0
    for task in SUITE:
        m, d = task.before.shape
        contacts = Contacts(task.D, task.before, task.friction, np.zeros(m), np.zeros((m, d - 1)))
        found, exact = core.impulses(contacts, None, 0.0)
        answered += exact
        judged = contacts.judge(found.impulses)
        speed = max(np.abs(task.before).max(), np.abs(found.velocities).max())
        np.testing.assert_allclose(judged.velocities, found.velocities, rtol=0, atol=1e-9 * speed)
        assert judged.exact or not exact
    assert answered > 0.8 * len(SUITE)


SUITE = [*problems(196, 5), *(drawn(k, "stack", unlimited=False, wide=True) for k in (68, 110, 257, 320))]


@pytest.mark.parametrize("way", ["core", "python"])
def test_random_bodies_push_by_coulombs_law_whatever_their_sizes_and_however_redundant(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 problems of one to 40 contacts: exact by an independent judge, and energy does not grow."""
    only_in(way, monkeypatch)
    for task in SUITE:
        found = contact_impulses(task.D, task.before, task.friction)
        name = f"{task.kind} {task.seed}"
        assert found.exact, name
        assert breach(task.D, task.before, task.friction, found.impulses) < 1e-9, name
        assert energy_gain(task.D, task.before, found.impulses) < 1e-12, name
        assert not found.impulses[task.friction == 0.0, 1:].any(), f"{name}: friction of a contact without"


def test_the_answer_does_not_depend_on_the_order_of_the_contacts() -> None:
    random, redundant = np.random.default_rng(0), 0
    for task in (drawn(k, wide=False) for k in range(40)):
        m, d = task.before.shape
        order = random.permutation(m)
        rows = (d * order[:, None] + np.arange(d)).ravel()
        one = contact_impulses(task.D, task.before, task.friction)
        other = contact_impulses(task.D[np.ix_(rows, rows)], task.before[order], task.friction[order])
        speed, push = np.abs(task.before).max(), np.abs(one.impulses).max()
        np.testing.assert_allclose(other.velocities, one.velocities[order], atol=1e-6 * speed, err_msg=str(task.seed))
        np.testing.assert_allclose(other.impulses, one.impulses[order], atol=1e-5 * push, err_msg=str(task.seed))
        redundant += np.linalg.matrix_rank(task.D) < m * d
    assert redundant > 10


def test_a_slip_that_goes_on_is_pushed_along_its_ray_alone() -> None:
    """One contact: L_n (n - mu e) with v_n = 0, whatever the friction does to the slip."""
    D, before, mu, e = np.array([[2.0, 0.4], [0.4, 3.0]]), np.array([[-1.0, 0.01]]), 0.5, np.array([[1.0]])
    found = contact_impulses(D, before, np.array([mu]), sliding=e)
    push = 1.0 / (2.0 - mu * 0.4)
    np.testing.assert_allclose(found.impulses, [[push, -mu * push]], rtol=1e-13)
    assert found.exact
    assert found.velocities[0, 1] < 0.0  # it would have stuck by Coulomb's law


@pytest.mark.parametrize("d", [2, 3])
def test_sliding_sticking_and_frictionless_contacts_are_one_problem(d: int) -> None:
    """Of contacts that slide and those without friction each parts or pushes: one of these sets is the answer."""
    for seed in range(40):
        random = np.random.default_rng([seed, d])
        m = int(random.integers(1, 6))
        J = random.normal(size=(m * d, m * d + 2))
        D, before = J @ J.T, random.normal(size=(m, d))
        mu = random.uniform(0.0, 0.3, m)
        slips = random.normal(size=(m, d - 1))
        slips /= np.linalg.norm(slips, axis=1)[:, None]
        slides = random.random(m) < 0.5
        slips[~slides], mu[~slides] = 0.0, 0.0
        found = contact_impulses(D, before, mu, sliding=slips)
        assert found.exact, seed
        rays = np.hstack([np.ones((m, 1)), -mu[:, None] * slips])
        np.testing.assert_allclose(
            found.impulses, found.impulses[:, :1] * rays, rtol=0, atol=1e-15 * np.abs(found.impulses).max()
        )
        normals = D.reshape(m, d, m, d)[:, 0]
        G = np.einsum("ijb,jb->ij", normals, rays)
        np.testing.assert_allclose(found.velocities[:, 0], before[:, 0] + G @ found.impulses[:, 0], atol=1e-12)
        assert np.all(np.minimum(found.impulses[:, 0], found.velocities[:, 0]) < 1e-10)


def test_friction_without_limit_jams_where_sticking_would_pull() -> None:
    """v_n = -1 - .9 L_t = 0 with L_n = 0; to stick would take L_n = -4.2."""
    D, before = np.array([[1.0, -0.9], [-0.9, 1.0]]), np.array([[-1.0, 2.0]])
    assert np.linalg.solve(D, -before[0])[0] < 0.0
    found = contact_impulses(D, before, np.array([np.inf]))
    assert found.exact
    np.testing.assert_allclose(found.impulses, [[0.0, -1.0 / 0.9]], atol=1e-12)
    assert found.velocities[0, 1] == pytest.approx(2.0 - 1.0 / 0.9)
    large = contact_impulses(D, before, np.array([1e6]))
    np.testing.assert_allclose(large.impulses, found.impulses, atol=1e-5)


def test_contacts_that_nothing_couples_do_not_change_each_other() -> None:
    one, other = drawn(3, "stack", wide=False), drawn(12, "stack", wide=False)
    assert one.before.shape[1] == other.before.shape[1]
    n = len(one.D)
    D = np.zeros((n + len(other.D),) * 2)
    D[:n, :n], D[n:, n:] = one.D, other.D
    both = contact_impulses(D, np.vstack([one.before, other.before]), np.concatenate([one.friction, other.friction]))
    alone = contact_impulses(one.D, one.before, one.friction)
    np.testing.assert_array_equal(both.impulses[: len(one.friction)], alone.impulses)


def test_what_has_no_answer_is_told_from_what_has_one_and_never_feeds_energy() -> None:
    for task in (drawn(k, unlimited=False, wide=False) for k in range(12)):
        assert has_answer(task.D, task.before, task.friction) is True, task.seed
    # A body of 1 kg between two walls that close on it.
    D = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(2))
    closing = np.array([[-1.0, 0.3], [-0.5, -0.3]])
    assert has_answer(D, closing, np.full(2, 0.3)) is False
    assert has_answer(D, np.array([[-1.0, 0.3], [1.0, -0.3]]), np.full(2, 0.3)) is True
    nothing = contact_impulses(D, closing, np.full(2, 0.3))
    assert not nothing.exact
    assert float(np.sum(nothing.impulses * (closing + nothing.velocities))) <= 1e-15


def test_of_redundant_contacts_no_other_impulses_with_the_same_velocities_are_smaller() -> None:
    redundant = 0
    for task in (drawn(k, unlimited=False, wide=False) for k in range(60)):
        m, d = task.before.shape
        found = contact_impulses(task.D, task.before, task.friction)
        own = np.linalg.svd(task.D)[2][np.linalg.matrix_rank(task.D, tol=1e-10 * np.abs(task.D).max()) :]
        random = np.random.default_rng(task.seed)
        for _ in range(20 if len(own) else 0):
            aside = (own.T @ random.normal(size=len(own))).reshape(m, d)
            aside *= np.abs(found.impulses).max() * 10.0 ** random.uniform(-4.0, 0.0) / max(np.abs(aside).max(), 1e-300)
            other = found.impulses + aside
            if breach(task.D, task.before, task.friction, other) < 1e-9:
                assert np.sum(other**2) >= np.sum(found.impulses**2) * (1.0 - 1e-8), task.seed
                redundant += 1
    assert redundant > 50
