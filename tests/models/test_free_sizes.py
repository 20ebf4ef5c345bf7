"""Sizes of shapes with edges and flats are numbers that derivatives are taken by."""

import numpy as np
import pytest

import trundle as tr
from tests.slowly import slow_but
from trundle.errors import InputError
from trundle.geometry import Shape
from trundle.models.numbers.changed import free_numbers, parameters_of, system_of
from trundle.numerics.symbol import Symbol

BODIES = {
    "disc": tr.Disc(0.1),
    "coin": tr.Disc(0.1, 0.02),
    "capsule": tr.Capsule(0.05, 0.2),
    "cylinder": tr.Cylinder(0.1, 0.3),
    "box": tr.Box([0.1, 0.12, 0.15]),
    "rounded": tr.Rounded(tr.Box([0.1, 0.12, 0.15]), 0.01),
}
GROUNDS = {"plane": tr.Plane(), "ball": tr.Sphere(0.4), "dish": tr.Dish([0.5, 0.6, 0.4])}
SIZES = ("radius", "length", "rounding", "half_extents", "shape_at")


def pair(shape: Shape, ground: Shape) -> tr.RollingPair:
    body = tr.RigidBody(shape, mass=1.0, inertia=(0.002, 0.003, 0.004))
    return tr.RollingPair(body, tr.Hand(ground), friction=0.5)


@pytest.mark.parametrize("ground", slow_but(GROUNDS, "plane"))
@pytest.mark.parametrize("name", BODIES)
def test_the_sizes_of_a_body_are_free_on_flats_and_curved_grounds(name: str, ground: str) -> None:
    system = system_of(pair(BODIES[name], GROUNDS[ground]))
    sizes = [
        key
        for key in parameters_of(system)
        if key.startswith("object.") and any(f".{size}" in key for size in SIZES) and parameters_of(system)[key] != 0.0
    ]
    assert sizes
    free = free_numbers(system, sizes).free  # compared there with a model of other numbers
    assert free is not None
    assert free.names == tuple(sizes)


def test_what_no_expression_holds_is_said_in_one_line() -> None:
    sharp = system_of(pair(BODIES["disc"], GROUNDS["plane"]))
    with pytest.raises(InputError, match=r"parameters = .*rounding.*expressions can hold.*a length > 0"):
        free_numbers(sharp, ["object.rounding"])  # without a rounding it touches with points, not with balls
    on_ball = system_of(pair(BODIES["box"], GROUNDS["ball"]))
    with pytest.raises(InputError, match=r"hand\.radius.*expressions can hold$"):
        free_numbers(on_ball, ["hand.radius"])


def test_symbols_stay_comparable_through_sums_and_products_with_numbers() -> None:
    a = Symbol("a", 2.0)
    for made, value in (
        (a / 2, 1.0),
        (1 - a, -1.0),
        (-a, -2.0),
        (a * a + 0.5, 4.5),
        (6.0 / a, 3.0),
        (np.pi * a, 2 * np.pi),
    ):
        assert isinstance(made, Symbol)
        assert made.value == value
        assert made > value - 0.1
    assert max(a, 1.0) is a
    assert not isinstance(a * a.sym("x"), Symbol)
