"""Every contact form of every pair of shapes against maximal coordinates; what the forms share."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.contact import pairs
from trundle.contact.contact import Contact
from trundle.contact.contacts import (
    ChartContact,
    LevelContact,
    LevelPairContact,
    PairContact,
    SupportChartContact,
    SupportContact,
)
from trundle.contact.motion import prescribe_motion
from trundle.errors import InputError

LAWS = ("rolling", "pure-rolling", "sliding")
# One pair a form and more; charts that are skewed.
CORE = [
    ("ellipsoid", "plane", "support", (0, 0)),
    ("torus", "plane", "support", (0, 0)),
    ("ellipsoid", "ellipsoid", "pair", (0, 0)),
    ("rounded", "dish", "level", (0, 0)),
    ("disc", "tube", "level", (0, 0)),
    ("torus", "torus", "level-pair", (0, 0)),
    ("ellipsoid", "dish", "chart", (1, 0)),
    ("sphere", "saddle", "chart", (0, 0)),
    ("blunt", "saddle", "support-chart", (0, 0)),
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("a", "b", "form", "atlas"), CORE)
def test_accelerations_forces_and_moments_are_those_of_maximal_coordinates(a, b, form, atlas, law):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    states = pairs.random_states(A, B, form, law, 40, atlas, seed=7)
    assert pairs.disagreement(pairs.pose_model(A, B, form, atlas), law, states) <= 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("a", "b", "form", "atlas"), CORE)
def test_two_hundred_states(a, b, form, atlas, law):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    states = pairs.random_states(A, B, form, law, 200, atlas, seed=1)
    assert pairs.disagreement(pairs.pose_model(A, B, form, atlas), law, states) <= 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("a", pairs.OBJECTS)
def test_every_pair_form_and_chart(a):
    A, found, turn = pairs.object_named(a), {}, 0
    for b in pairs.HANDS:
        B = pairs.hand_named(b)
        for form, atlas in pairs.possible(A, B):
            law = LAWS[turn % 3]
            turn += 1
            states = pairs.random_states(A, B, form, law, 20, atlas, seed=turn)
            found[b, form, atlas, law] = pairs.disagreement(pairs.pose_model(A, B, form, atlas), law, states)
    assert len(found) >= len(pairs.HANDS) // 2
    assert {key: error for key, error in found.items() if not error <= 1e-11} == {}


def test_every_object_meets_every_hand_in_some_form():
    without = [
        (a, b)
        for a in pairs.OBJECTS
        for b in pairs.HANDS
        if not pairs.possible(pairs.object_named(a), pairs.hand_named(b))
    ]
    # A hollow body without charts has nothing to offer to a bare chart.
    assert {b for _, b in without} <= {"saddle", "revolution"}
    assert {a for a, _ in without} <= {"quartic"}


def touching(form: str, a: str = "ellipsoid", b: str = "dish", count: int = 5):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    model = pairs.pose_model(A, B, form)
    return model, pairs.random_states(A, B, form, "rolling", count, seed=2)


FOUR = [
    ("support", "ellipsoid", "plane"),
    ("pair", "ellipsoid", "sphere"),
    ("level", "ellipsoid", "dish"),
    ("level-pair", "ellipsoid", "dish"),
    ("chart", "ellipsoid", "dish"),
    ("support-chart", "ellipsoid", "dish"),
]


@pytest.mark.parametrize(("form", "a", "b"), FOUR)
def test_both_sides_meet_with_opposite_normals(form, a, b):
    model, states = touching(form, a, b)
    constraint = model.constraints[0]
    tA, tB = constraint.contact.touch(constraint.A, constraint.B, constraint.s)
    gap = constraint.A.p + tA.r - constraint.B.p - tB.r
    f = ca.Function("f", [model.x], [gap, tA.n + tB.n, tB.T.T @ tB.n, tB.T.T @ tB.T])
    for column in states.columns(model)[0].T:
        apart, tilt, off, gram = (np.array(v) for v in f(column))
        assert np.abs(apart).max() < 1e-14
        assert np.abs(tilt).max() < 1e-14
        assert np.abs(off).max() < 1e-14
        np.testing.assert_allclose(gram, np.eye(2), atol=1e-14)


@pytest.mark.parametrize(("form", "a", "b"), FOUR[1:4])
def test_restore_puts_coordinates_back_onto_their_manifold(form, a, b):
    model, states = touching(form, a, b)
    contact, s = model.constraints[0].contact, ca.SX.sym("s", model.constraints[0].contact.size)
    f = ca.Function("f", [s], [contact.restore(s)])
    for right in states.coordinates:
        shifted = right * (1 + 1e-5)
        back = np.array(f(shifted)).ravel()
        np.testing.assert_allclose(back, right, atol=3e-5)
        np.testing.assert_allclose(np.array(f(back)).ravel(), back, atol=1e-9)


def test_charts_are_free_and_supports_have_no_coordinates():
    assert SupportContact(tg.Sphere(1).representations.support).size == 0
    s = ca.SX.sym("s", 4)
    contact = ChartContact(tg.Sphere(1).representations.charts[0], tg.Plane().representations.charts[0])
    assert contact.restore(s) is s
    assert (contact.size, contact.d) == (4, 3)


def test_sizes_and_dimensions():
    r = tg.Ellipsoid([3, 2, 1]).representations
    flat = tg.Circle(1).representations
    contacts: list[tuple[Contact, int, int]] = [
        (SupportContact(r.support), 3, 0),
        (PairContact(r.support, r.support), 3, 3),
        (LevelContact(r.support, r.level), 3, 3),
        (LevelPairContact(r.level, r.level), 3, 6),
        (SupportChartContact(r.support, r.charts[0]), 3, 2),
        (ChartContact(r.charts[0], r.charts[1]), 3, 4),
        (ChartContact(flat.charts[0], flat.charts[0]), 2, 2),
    ]
    for contact, d, size in contacts:
        assert (contact.d, contact.size) == (d, size)


def test_two_dimensions_do_not_mix():
    sphere, circle = tg.Sphere(1).representations, tg.Circle(1).representations
    for make in (
        lambda: ChartContact(sphere.charts[0], circle.charts[0]),
        lambda: PairContact(sphere.support, circle.support),
        lambda: LevelContact(circle.support, sphere.level),
        lambda: SupportChartContact(circle.support, sphere.charts[0]),
        lambda: LevelPairContact(circle.level, sphere.level),
    ):
        with pytest.raises(InputError, match=r"contact = .*one dimension"):
            make()


def _still(name: str):
    R = ca.SX.eye(3)
    return prescribe_motion(R, ca.SX(3, 1), ca.SX(6, 1), ca.SX(6, 1), 0) if name else None


def limits(contact: Contact, s: list[float]) -> dict[str, float]:
    symbol = ca.SX.sym("s", contact.size)
    named = contact.limits(_still("A"), _still("B"), symbol)
    return {k: float(ca.Function("f", [symbol], [v])(s)) for k, v in named.items()}


def test_limits_of_charts_are_reach_and_the_ends_of_data():
    bowl = tg.HeightMap(np.linspace(-1, 1, 8), np.linspace(0, 2, 9), np.zeros((8, 9)))
    contact = ChartContact(tg.Sphere(1).representations.charts[0], bowl.representations.charts[0])
    found = limits(contact, [0.3, 0.4, 0.2, 0.5])
    assert found["chart_A"] == pytest.approx(1.5**2 - 0.25)
    expected = {"data_B0_low": 1.2, "data_B0_high": 0.8, "data_B1_low": 0.5, "data_B1_high": 1.5}
    assert {k: v for k, v in found.items() if k != "chart_A"} == pytest.approx(expected)
    pipe = ChartContact(tg.Sphere(1).representations.charts[0], tg.Tube(2).representations.charts[0])
    assert set(limits(pipe, [0, 0, 9.0, 9.0])) == {"chart_A"}  # an angle runs on, and so does z


def test_roundness_changes_sign_where_a_line_is_reached_on_either_body():
    capsule, sphere = tg.Capsule(0.1, 0.2).representations, tg.Sphere(0.1).representations
    low, high = [0.6, 0.0, -0.8], [1.2, 0.0, 1.6]  # not normalised
    on_B = PairContact(sphere.support, capsule.support, roundness_B=capsule.roundness)
    assert limits(on_B, low)["roundness"] == pytest.approx(-0.8)
    assert limits(on_B, high)["roundness"] == pytest.approx(0.8)
    on_A = PairContact(capsule.support, sphere.support, roundness=capsule.roundness)
    assert limits(on_A, high)["roundness"] == pytest.approx(-0.8)
    both = PairContact(capsule.support, capsule.support, (), capsule.roundness, capsule.roundness)
    assert limits(both, high)["roundness"] == pytest.approx(-0.64)
    assert limits(PairContact(sphere.support, sphere.support), low) == {}


def test_a_support_on_a_flat_knows_its_gap_at_any_height():
    model, states = touching("support", "ellipsoid", "plane", 3)
    constraint = model.constraints[0]
    tA, tB = constraint.contact.touch(constraint.A, constraint.B, constraint.s)
    gap = ca.dot(tB.n, constraint.A.p + tA.r - constraint.B.p - tB.r)
    f = ca.Function("f", [model.x], [gap, tB.n])
    for column, state in zip(states.columns(model)[0].T, states.objects, strict=True):
        n = np.array(f(column)[1]).ravel()
        column[model.layout["object.position"]] = state.p + 0.3 * n
        assert float(f(column)[0]) == pytest.approx(0.3, abs=1e-14)
