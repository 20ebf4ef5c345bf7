"""Walls: distances as written, frames that turn with the surface, wrong numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.contact.walls import FLAT, ROUND, Formula, Wall
from trundle.errors import InputError

POINT, NORMAL = np.array([0.5, 0.1, 0.8]), np.array([-0.8, 0.6, 0.0])
BALL = Wall(POINT, NORMAL, 1 / 0.3)
HOLLOW = Wall(POINT, NORMAL, -1 / 0.9)
PILLAR = Wall(POINT, NORMAL, 1 / 0.3, axis=[0, 0, 2.0])
PLANE = Wall(POINT, NORMAL)


def frame(surface, wall):
    q = ca.SX.sym("q", 3)
    return ca.Function("frame", [q], list(surface.frame(q, ca.DM(surface.numbers(wall)))))


def truth(wall, p):
    """Signed distance from centre and radius."""
    if wall.curvature == 0.0:
        return wall.normal @ (p - wall.point)
    away = p - (wall.point - wall.normal / wall.curvature)
    if wall.axis is not None:
        away = away - wall.axis * (wall.axis @ away)
    return np.sign(wall.curvature) * (np.linalg.norm(away) - abs(1 / wall.curvature))


SURFACES = [(ROUND, BALL), (ROUND, HOLLOW), (ROUND, PILLAR), (ROUND, PLANE), (FLAT, PLANE)]


@pytest.mark.parametrize(("surface", "wall"), [*SURFACES, (Formula(lambda p: p[2]), PLANE)])
def test_a_surface_has_as_many_numbers_as_it_says(surface, wall):
    assert surface.numbers(wall).shape == (surface.size,)


@pytest.mark.parametrize(("surface", "wall"), SURFACES)
def test_distances_are_those_of_centre_and_radius(surface, wall):
    f, rng = frame(surface, wall), np.random.default_rng(0)
    for p in POINT + rng.uniform(-0.2, 0.2, (10, 3)):
        assert float(f(p)[0]) == pytest.approx(truth(wall, p), abs=1e-12)


@pytest.mark.parametrize(("surface", "wall"), SURFACES)
def test_frames_are_right_handed_and_turn_with_the_surface(surface, wall):
    f, rng, h = frame(surface, wall), np.random.default_rng(1), 1e-6
    for p in POINT + rng.uniform(-0.2, 0.2, (10, 3)):
        n, T = (np.array(v) for v in f(p)[1:])
        slope = [(truth(wall, p + h * e) - truth(wall, p - h * e)) / (2 * h) for e in np.eye(3)]
        assert n.ravel() == pytest.approx(slope, abs=1e-8)
        whole = np.column_stack([n, T])
        assert whole.T @ whole == pytest.approx(np.eye(3), abs=1e-12)
        assert np.linalg.det(whole) == pytest.approx(1.0)
    assert np.array(f(POINT)[2]) == pytest.approx(np.column_stack(np.split(wall.numbers[4:10], 2)), abs=1e-12)


def test_a_formula_gives_what_the_round_wall_gives():
    center = ca.DM(POINT - NORMAL * 0.3)
    formula = Formula(lambda p: ca.sqrt(ca.sumsqr(p - center)) - 0.3)
    for p in POINT + np.random.default_rng(2).uniform(-0.2, 0.2, (5, 3)):
        for a, b in zip(frame(formula, BALL)(p), frame(ROUND, BALL)(p), strict=True):
            assert np.array(a) == pytest.approx(np.array(b), abs=1e-12)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: Wall(POINT, NORMAL, np.nan), "curvature"),
        (lambda: Wall(POINT, NORMAL, 1.0, axis=NORMAL), "axis"),
        (lambda: FLAT.numbers(BALL), "walls"),
    ],
)
def test_wrong_numbers_are_named(make, key):
    with pytest.raises(InputError, match=key):
        make()
