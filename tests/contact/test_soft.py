"""The soft contact law: its formulas as written, its derivatives, its frames."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from trundle.contact.soft import SoftLaw, SoftTouch, Wall, frozen_tangents, normal_force, switch
from trundle.contact.walls import ROUND
from trundle.errors import InputError


@pytest.mark.parametrize("d", [-0.2, -0.02, 0.0, 0.03, 0.3])
def test_normal_force_as_written(d):
    law = SoftLaw(40.0, 0.02, 0.01)
    force = float(normal_force(ca.DM(d), law.largest, law.width, law.offset))
    assert force == pytest.approx(40.0 / (1 + math.exp((d + 0.01) / 0.02)), rel=1e-9)
    assert 0.0 < force < 40.0


def test_half_the_force_and_the_leak():
    assert float(normal_force(ca.DM(-0.03), 40.0, 0.02, 0.03)) == pytest.approx(20.0)
    assert SoftLaw(40.0, 0.02, 0.02).leak == pytest.approx(0.27 * 40, rel=0.01)
    assert SoftLaw(40.0, 0.01, 0.02).leak == pytest.approx(0.12 * 40, rel=0.01)


@pytest.mark.parametrize("d", [-50.0, -1.0, 1.0, 50.0])
def test_far_away_value_and_derivatives_are_finite(d):
    x = ca.SX.sym("x")
    force = normal_force(x, 40.0, 0.01, 0.03)
    values = ca.Function("f", [x], [force, ca.gradient(force, x), ca.hessian(force, x)[0], switch(1e3 * x)])(d)
    assert np.all(np.isfinite([float(v) for v in values]))


def test_the_steepest_slope():
    x = ca.SX.sym("x")
    slope = ca.Function("s", [x], [ca.gradient(normal_force(x, 40.0, 0.02, 0.01), x)])
    values = [float(slope(d)) for d in np.linspace(-0.2, 0.2, 4001)]
    assert min(values) == pytest.approx(-40.0 / (4 * 0.02), rel=1e-6)


@pytest.mark.parametrize("normal", [(-1, 0, 0), (0, 0, 1), (0, 0, -1), (1, 1, 1), (0.3, -0.4, 0.2), (0, 1, 1e-9)])
def test_tangents_make_a_right_handed_frame(normal):
    n = np.asarray(normal) / np.linalg.norm(normal)
    frame = np.column_stack([n, frozen_tangents(n)])
    assert frame.T @ frame == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_first_tangent_of_a_vertical_wall_is_up():
    assert frozen_tangents([-1.0, 0.0, 0.0])[:, 0] == pytest.approx([0, 0, 1])
    assert frozen_tangents([0.6, 0.8, 0.0])[:, 0] == pytest.approx([0, 0, 1])


def touch_function(wall):
    point, velocity, direction = (ca.SX.sym(n, m) for n, m in (("p", 3), ("v", 3), ("u", 2)))
    touch = SoftTouch(point, velocity, 0.03, ca.DM(wall.numbers))
    press = normal_force(touch.distance, 40.0, 0.02, 0.02)
    given = [touch.distance, touch.force(press, direction), touch.no_slip(press, 40.0), touch.landing(), press]
    return ca.Function("touch", [point, velocity, direction], given)


def test_nothing_depends_on_how_the_world_is_turned():
    """|f|, |f_n v_t| and the landing speed are those of the turned scene: the penalties know no axis."""
    rng = np.random.default_rng(0)
    point, velocity = np.array([0.4, 0.1, 0.8]), np.array([0.5, -0.3, 0.2])
    plain = [np.array(v) for v in touch_function(Wall([0.5, 0, 0], [-1, 0, 0]))(point, velocity, [0.0, 0.0])]
    for _ in range(5):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R *= np.sign(np.linalg.det(R))
        wall = Wall(R @ [0.5, 0, 0], R @ [-1, 0, 0])
        turned = [np.array(v) for v in touch_function(wall)(R @ point, R @ velocity, [0.0, 0.0])]
        for a, b in zip(plain, turned, strict=True):
            assert np.linalg.norm(a) == pytest.approx(np.linalg.norm(b), rel=1e-10)
        assert turned[1] == pytest.approx(R @ plain[1], abs=1e-10)


def test_the_force_is_in_the_cone_of_its_direction():
    touch = touch_function(Wall([0.5, 0, 0], [-1, 0, 0.2]))
    _, force, *_, press = (np.array(v).ravel() for v in touch([0.47, 0, 0.8], [0, 0, 0], [0.3, -0.4]))
    n = Wall([0.5, 0, 0], [-1, 0, 0.2]).normal
    assert force @ n == pytest.approx(press[0])
    assert np.linalg.norm(force - n * (force @ n)) == pytest.approx(0.5 * press[0])


def test_a_slip_counts_by_the_load():
    touch = SoftTouch.at([0.1, 0, 0.8], [0.3, -0.1, 0.2], 0.03, Wall([0, 0, 0], [1, 0, 0]))
    assert np.array(ca.DM(touch.no_slip(ca.SX(15.0), 60.0))).ravel() == pytest.approx([0.05, 0.025])


def test_leaving_costs_nothing_and_landing_does():
    touch = touch_function(Wall([0.5, 0, 0], [-1, 0, 0]))
    assert float(touch([0.47, 0, 0.8], [-1.0, 0, 0], [0, 0])[3]) == 0.0
    assert float(touch([0.47, 0, 0.8], [1.0, 0, 0], [0, 0])[3]) == pytest.approx(-1 / (1 + math.exp(-1.5)))
    assert abs(float(touch([0.0, 0, 0.8], [1.0, 0, 0], [0, 0])[3])) < 1e-8


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: Wall([0, 0, 0], [0, 0, 0]), "normal"),
        (lambda: Wall([0, np.nan, 0], [0, 0, 1]), "point"),
        (lambda: SoftLaw(width=0.0), "width"),
        (lambda: SoftLaw(largest=-1.0), "largest"),
        (lambda: SoftLaw(offset=np.nan), "offset"),
    ],
)
def test_wrong_numbers_are_named(make, key):
    with pytest.raises(InputError, match=key):
        make()


@pytest.mark.parametrize("curvature", [0.0, 2.0, -0.7])
def test_a_touch_at_a_wall_is_that_of_its_numbers(curvature):
    wall = Wall([0.4, 0, 0.8], [-1, 0.2, 0], curvature, axis=[0, 0, 1])
    surface = ROUND
    point, velocity = ca.DM([0.1, 0.2, 0.7]), ca.DM([0.3, -0.1, 0.2])
    made = SoftTouch.at(point, velocity, 0.03, wall)
    same = SoftTouch(point, velocity, 0.03, ca.DM(surface.numbers(wall)), surface)
    for name in ("distance", "normal", "tangents", "slip", "approach"):
        a, b = (np.array(ca.evalf(ca.SX(getattr(touch, name)))) for touch in (made, same))
        assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"radius": -0.1}, "radius"),
        ({"radius": np.nan}, "radius"),
        ({"point": [0, 0]}, "point"),
        ({"velocity": 1}, "velocity"),
    ],
)
def test_wrong_touches_are_named(given, key):
    right = {"point": [0, 0, 0], "velocity": [0, 0, 0], "radius": 0.03, "wall": Wall([0.4, 0, 0], [-1, 0, 0])}
    with pytest.raises(InputError, match=key):
        SoftTouch.at(**(right | given))
