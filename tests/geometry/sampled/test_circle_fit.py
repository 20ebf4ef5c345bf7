from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.geometry.sampled.circle_fit import fit_circle


def arc(radius=0.3, center=(0.02, 0.2), opening=0.9, count=60, noise=0.0, seed=0):
    turn = np.linspace(-opening / 2, opening / 2, count)
    points = np.array(center) + radius * np.stack([np.sin(turn), -np.cos(turn)], axis=1)
    return points + noise * np.random.default_rng(seed).normal(size=points.shape)


@pytest.mark.parametrize("robust", [False, True])
def test_exact_points_give_their_circle(robust):
    fit = fit_circle(arc(), robust)
    assert fit.radius == pytest.approx(0.3, abs=1e-9)
    np.testing.assert_allclose(fit.center, (0.02, 0.2), atol=1e-9)
    assert fit.rms < 1e-9
    np.testing.assert_allclose(fit.distances(arc()), 0.0, atol=1e-9)


def test_the_optimum_is_stationary_and_the_algebraic_circle_is_too_small():
    points = arc(noise=0.004, seed=3)
    fit = fit_circle(points)
    sums = []
    for change in 1e-4 * np.vstack([np.eye(3), -np.eye(3)]):
        d = np.linalg.norm(points - fit.center - change[:2], axis=1) - fit.radius - change[2]
        sums.append(d @ d)
    assert min(sums) > fit.distances(points) @ fit.distances(points)
    many = [fit_circle(arc(noise=0.004, seed=k)).radius for k in range(40)]
    kasa = []
    for k in range(40):
        p = arc(noise=0.004, seed=k)
        a, b, c = np.linalg.lstsq(np.column_stack([2 * p, np.ones(len(p))]), np.sum(p * p, axis=1), rcond=None)[0]
        kasa.append(np.sqrt(c + a * a + b * b))
    assert abs(np.mean(many) - 0.3) < 0.01 < 0.3 - np.mean(kasa)


def test_covariance_is_the_scatter_of_fits():
    fits = [fit_circle(arc(noise=0.001, seed=k)) for k in range(200)]
    scatter = np.std([fit.radius for fit in fits])
    assert np.sqrt(np.mean([fit.covariance[2, 2] for fit in fits])) == pytest.approx(scatter, rel=0.2)


def test_points_that_do_not_belong_count_little():
    points = np.vstack([arc(noise=5e-4), [[0.15, 0.05], [0.14, 0.06], [0.15, 0.08]]])
    assert abs(fit_circle(points, robust=True).radius - 0.3) < 0.01 < abs(fit_circle(points).radius - 0.3)
    assert np.all(fit_circle(points, robust=True).weights[-3:] < 0.01)


def test_points_with_noise_of_one_size_nearly_all_count() -> None:
    """Cauchy's weights 1/(1 + (d/(2.385 s))^2) of normal errors of the deviation s are 0.87 on the average."""
    weights = fit_circle(arc(noise=1e-3, count=2000), robust=True).weights
    assert np.mean(weights) == pytest.approx(0.87, abs=0.01)


def test_lines_and_too_few_points_are_refused():
    with pytest.raises(InputError, match="line"):
        fit_circle(np.column_stack([np.arange(9.0), 2 * np.arange(9.0)]))
    with pytest.raises(InputError, match="at least 4"):
        fit_circle(arc(count=3))
    with pytest.raises(InputError):
        fit_circle([[0.0, np.nan]] * 5)


def test_three_points_have_their_circle() -> None:
    points = np.array([[3.0, 1.0], [1.0, 3.0], [-1.0, 1.0]])  # about (1, 1)
    fit = fit_circle(points, fewest=3, tolerance=1e-14)
    assert fit.center == pytest.approx([1.0, 1.0], abs=1e-14)
    assert fit.radius == pytest.approx(2.0, abs=1e-14)
    with pytest.raises(InputError, match="at least 4"):
        fit_circle(points)


OUTLIERS = {
    "far": lambda random, n: random.uniform(-5.0, 5.0, (n, 2)),
    "near": lambda random, n: np.column_stack([random.uniform(-0.15, 0.15, n), random.uniform(-0.05, 0.15, n)]),
    "cluster": lambda random, n: np.array([0.1, 0.1]) + 0.005 * random.normal(size=(n, 2)),
    "far cluster": lambda random, n: np.array([3.0, 2.0]) + 0.01 * random.normal(size=(n, 2)),
    "a line": lambda random, n: np.column_stack([np.linspace(-0.1, 0.12, n), np.full(n, -0.02)]),
}


@pytest.mark.parametrize("share", [0.005, 0.1, 0.2, 0.3, 0.4])
@pytest.mark.parametrize("kind", OUTLIERS)
def test_two_fifths_of_the_points_may_lie_anywhere(kind, share):
    for seed in range(3):
        random = np.random.default_rng(seed)
        points = arc(noise=1e-3, count=200, seed=seed)
        at = random.permutation(200)[: int(200 * share)]
        points[at] = OUTLIERS[kind](random, len(at))
        assert fit_circle(points, robust=True).radius == pytest.approx(0.3, abs=0.012)


@pytest.mark.parametrize("kind", ["cluster", "far cluster"])
def test_how_the_points_are_turned_does_not_matter(kind):
    points = arc(noise=1e-3, count=200)
    random = np.random.default_rng(0)
    at = random.permutation(200)[:80]
    points[at] = OUTLIERS[kind](random, len(at))
    for turn in np.pi * np.array([0.5, 0.8, 1.3]):
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        fit = fit_circle(points @ R.T, robust=True)
        assert fit.radius == pytest.approx(0.3, abs=0.012)
        np.testing.assert_allclose(fit.center, R @ [0.02, 0.2], atol=0.012)


@pytest.mark.parametrize("robust", [False, True])
def test_degenerate_points_are_refused(robust):
    line = np.column_stack([np.arange(20.0), 2 * np.arange(20.0)])
    bent = np.vstack([line, [[3.0, 9.0]]])
    for points in (line, np.zeros((9, 2)), np.repeat(arc(count=2), 5, axis=0), bent * [1.0, 0.0]):
        with pytest.raises(InputError, match="line"):
            fit_circle(points, robust)
    try:
        fit_circle(bent, robust)
    except InputError:
        pass


@pytest.mark.parametrize("unit", [1e-150, 1e-6, 1e6, 1e150])
def test_the_unit_and_the_origin_do_not_matter(unit):
    points = arc(noise=0.001, seed=1)
    points[7] += 5.0
    for robust in (False, True):
        here, there = fit_circle(points, robust), fit_circle(unit * points, robust)
        assert there.radius == pytest.approx(unit * here.radius, rel=1e-6)
        assert there.rms == pytest.approx(unit * here.rms, rel=1e-6)
    far = fit_circle(points + 1e6, robust=True)
    assert far.radius == pytest.approx(fit_circle(points, robust=True).radius, rel=1e-6)


def test_a_fit_that_is_not_robust_shows_its_bad_point():
    points = arc(count=200)
    points[7] += 5.0
    fit = fit_circle(points)
    assert abs(fit.radius - 0.3) > 0.1
    assert fit.rms > 0.005
    assert fit_circle(points, robust=True).radius == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("robust", [False, True])
def test_points_on_few_places_and_at_the_centre(robust):
    with pytest.raises(InputError, match="on too few places"):
        fit_circle(np.repeat(arc(count=3), 50, axis=0), robust)
    cross = np.vstack([np.eye(2), -np.eye(2), np.zeros((1, 2))])
    assert np.isfinite(fit_circle(cross, robust).radius)
