"""All modes of bodies on curved ground, in every form of contact, in all coordinates and units, against formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from trundle.models.linear.differences import refuse_mismatch
from trundle.models.linear.point import OperatingPoint, point_of

G = 9.81
AXES = (0.03, 0.025, 0.02)


def squares(pair: tr.RollingPair, start: tr.Start) -> np.ndarray:
    """Return the squares of the eigenvalues that are not zero, each twice, in order."""
    found = (tr.linearize(pair, start).eigenvalues ** 2).real
    return np.sort(found[np.abs(found) > 1e-2])


def ball_swings(bend: float, radius: float) -> float:
    """Return the square of a solid ball's eigenvalue at the bottom of a surface of that curvature (1/m; hills < 0)."""
    return -5 * G / (7 * (1 / bend - radius))


DISHES: dict[str, Callable[[], tr.Shape]] = {
    "dish": lambda: tr.Dish([0.12, 0.10, 0.08]),
    "level set": lambda: tr.geometry.ExpressionLevelSurface(
        lambda x, y, z: 1 - (x / 0.12) ** 2 - (y / 0.10) ** 2 - (z / 0.08) ** 2, size=0.12
    ),
    "round dish": lambda: tr.Dish([0.08] * 3),
    "round level set": lambda: tr.geometry.ExpressionLevelSurface(
        lambda x, y, z: 0.0064 - x**2 - y**2 - z**2, size=0.08
    ),
}


@pytest.mark.parametrize(
    ("name", "coordinates"),
    [
        ("dish", "pose"),
        ("dish", "rolling"),
        ("round dish", "pose"),
        ("round dish", "rolling"),
        ("round level set", "pose"),
        pytest.param("level set", "pose", marks=pytest.mark.slow),
        pytest.param("level set", "rolling", marks=pytest.mark.slow),
    ],
)
def test_a_ball_at_the_bottom_of_a_dish_has_two_swings(name: str, coordinates: str) -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.01), mass=0.01), tr.Ground(DISHES[name]()), coordinates=coordinates)
    start = pair.place(contact_on_hand=(0, 0, -0.08))
    bends = (1 / 0.08,) * 2 if "round" in name else (0.08 / 0.12**2, 0.08 / 0.10**2)
    wanted = sorted(2 * [ball_swings(bend, 0.01) for bend in bends])
    assert len(tr.linearize(pair, start).states) == 8  # 6 + 6 less the gap and three rolling velocities
    np.testing.assert_allclose(squares(pair, start), wanted, rtol=1e-9)


@pytest.mark.parametrize("form", ["pair", "level", "level-pair", "chart", "support-chart"])
@pytest.mark.parametrize("radius", [1e-3, 0.3, 40.0])
def test_a_ball_on_a_ball_falls_both_ways_in_every_form_of_contact(form: str, radius: float) -> None:
    ball = tr.RigidBody(tr.Sphere(radius / 10), mass=0.1)
    pair = tr.RollingPair(ball, tr.Hand(tr.Sphere(radius)), contact=form)
    start = pair.place(contact_on_hand=(0, 0, radius))
    linear = tr.linearize(pair, start)
    assert len(linear.states) == 20
    wanted = ball_swings(-1 / radius, radius / 10)
    found = np.sort((linear.eigenvalues**2).real)
    np.testing.assert_allclose(found[-4:], wanted, rtol=1e-8)
    assert abs(found[:-4]).max() < 1e-6 * wanted


@pytest.mark.parametrize("hand", [tr.Plane(), tr.Dish([0.12, 0.10, 0.08]), tr.Ellipsoid([0.12, 0.1, 0.08])])
def test_rolling_coordinates_have_the_eigenvalues_of_poses(hand: tr.Shape) -> None:
    height = {tr.Plane: 0.0, tr.Dish: -0.08, tr.Ellipsoid: 0.08}[type(hand)]
    found = []
    for coordinates in ("pose", "rolling"):
        body = tr.RigidBody(tr.Ellipsoid(AXES), mass=0.1)
        pair = tr.RollingPair(body, tr.Hand(hand), coordinates=coordinates)
        found.append(squares(pair, pair.place(contact_on_hand=(0, 0, height))))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    a, b, c = AXES
    if isinstance(hand, tr.Plane):  # m g (rho - c)/(I + m c^2), rho the radius of curvature, I of the solid
        rocks = [-G * (r**2 / c - c) / ((r**2 + c**2) / 5 + c**2) for r in (a, b)]
        np.testing.assert_allclose(found[0], np.repeat(rocks, 2), rtol=1e-9)


def faulty(point: OperatingPoint, x: np.ndarray, u: np.ndarray) -> dict[str, tuple[np.ndarray, ...]]:
    """Return P, X, F, G as a linear model would have them that lost a mode, has one too many, or a wrong number."""
    _, F, B = point.at(x, u)
    _, P, X = point.independent(x, u)
    # As if a row of the constraints, that the contact is on the surface, had been taken for round-off.
    off = np.zeros((len(x), 1))
    off[point.model.layout["contact.coordinates"].stop - 1] = 0.01
    loose = np.hstack([X, off])
    wrong = F.copy()
    wrong[:, point.model.layout["object.angular_velocity"]] *= 1.001
    return {
        "a motion beside it is in none of the 7": (np.delete(P, 1, 0), np.delete(X, 1, 1), F, B),
        "take back": (np.linalg.pinv(loose), loose, F, B),
        "differences of the rates": (P, X, wrong, B),
    }


@pytest.mark.parametrize("number", range(3))
def test_every_call_is_checked_against_differences(number: int) -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.01), mass=0.01), tr.Ground(tr.Dish([0.12, 0.10, 0.08])))
    start = pair.place(contact_on_hand=(0, 0, -0.08), object_angular_velocity=(1.0, 2.0, 3.0))
    point, x, u = point_of(pair, start, None)
    _, F, B = point.at(x, u)
    _, P, X = point.independent(x, u)
    refuse_mismatch(point, x, u, P, X, F, B)
    text, matrices = list(faulty(point, x, u).items())[number]
    with pytest.raises(tr.InputError, match=text):
        refuse_mismatch(point, x, u, *matrices)


def test_a_state_off_its_constraints_is_refused() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.01), mass=0.01), tr.Ground(tr.Dish([0.12, 0.10, 0.08])))
    start = pair.place(contact_on_hand=(0, 0, -0.08))
    for key, by in (("object.position", 1e-6), ("object.velocity", 1e-3), ("contact.coordinates", 1e-6)):
        x = np.array(start.x)
        x[pair.model(start.atlas).layout[key]] += by
        with pytest.raises(tr.InputError, match="constraints of its mode"):
            tr.linearize(pair, replace(start, x=x))


def test_a_torque_that_jumps_where_it_turns_round_has_no_linear_model() -> None:
    ball = tr.RigidBody(tr.Sphere(0.05), mass=0.3)
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), rolling_friction=1e-3)
    assert len(tr.linearize(pair, pair.place(object_angular_velocity=(0.0, 1.0, 0.0))).states) == 20
    with pytest.raises(tr.InputError, match="differences of the rates"):
        tr.linearize(pair, pair.place())
