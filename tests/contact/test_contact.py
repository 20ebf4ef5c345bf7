"""Kinematics of the touch: each documented formula, and its quantities as rates of one another."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.contact import pairs
from tests.oracles import spatial
from trundle.contact.contact import kinematics, nearest_coordinates
from trundle.contact.laws import LAWS
from trundle.numerics.space import lever

FORMS = [("ellipsoid", "plane", "support", (0, 0)), ("ellipsoid", "ellipsoid", "pair", (0, 0)),
         ("rounded", "dish", "level", (0, 0)), ("torus", "torus", "level-pair", (0, 0)),
         ("ellipsoid", "dish", "chart", (0, 1)), ("sphere", "saddle", "chart", (1, 0)),
         ("blunt", "saddle", "support-chart", (0, 0))]  # fmt: skip


def setting(a: str, b: str, form: str, atlas: tuple[int, int], law: str, count: int = 8):
    A, B = pairs.object_named(a), pairs.hand_named(b)
    model = pairs.pose_model(A, B, form, atlas)
    states = pairs.random_states(A, B, form, law, count, atlas, seed=11)
    return model, model.dynamics([LAWS[law]]), states


def evaluated(model, states, *expressions):
    function = ca.Function("f", [model.x, model.u], [ca.SX(e) for e in expressions])
    x, u = states.columns(model)
    return [np.stack([np.array(function(x[:, i], u[:, i])[j]) for i in range(len(states))])
            for j in range(len(expressions))]  # fmt: skip


@pytest.mark.parametrize("law", ["rolling", "pure-rolling", "sliding"])
@pytest.mark.parametrize(("a", "b", "form", "atlas"), FORMS)
def test_rates_are_derivatives_along_the_motion(a, b, form, atlas, law):
    # d/dt along xdot, exactly: the coordinates keep the contact, ndot and bias and the rows are what they say.
    model, d, states = setting(a, b, form, atlas, law)
    k, terms = d.kin[0], d.terms

    def rate(e):
        return ca.jtimes(e, model.x, d.xdot)

    tA, tB = model.constraints[0].contact.touch(model.constraints[0].A, model.constraints[0].B, model.constraints[0].s)
    material = rate(k.vrel) - (terms.kin[0].LA @ d.nudot + k.bias)
    gap, normals, ndot, rel, rows, over_A, over_B = evaluated(
        model,
        states,
        rate(k.gap),
        rate(tA.n + tB.n),
        rate(k.n) - k.ndot,
        material,
        rate(terms.velocity) - (terms.J @ d.nudot + terms.b),
        rate(model.motions["object"].R.T @ tA.r) - model.motions["object"].R.T @ k.sA,
        rate(model.motions["hand"].R.T @ tB.r) - model.motions["hand"].R.T @ k.sB,
    )
    scale = max(1.0, np.abs(evaluated(model, states, rate(k.vrel), k.bias, d.nudot)[2]).max())
    for value in (gap, normals, ndot, over_A, over_B):
        assert np.abs(value).max() < 1e-11
    assert np.abs(rel).max() < 1e-12 * scale
    assert np.abs(rows).max() < 1e-12 * scale


@pytest.mark.parametrize("law", ["rolling", "sliding"])
@pytest.mark.parametrize(("a", "b", "form", "atlas"), FORMS[:4])
def test_contact_speeds_are_differences_of_contacts_found_again(a, b, form, atlas, law):
    # The bodies are moved exactly by their twists, and the common normal is searched anew.
    model, d, states = setting(a, b, form, atlas, law, count=3)
    sA, sB, ndot = evaluated(model, states, d.kin[0].sA, d.kin[0].sB, d.kin[0].ndot)
    h = 1e-5
    for i, (state, hand, seed) in enumerate(zip(states.objects, states.hands, states.seeds, strict=True)):
        found = []
        for t in (-h, h):
            moved = spatial.State(
                Rotation.from_rotvec(t * state.w).as_matrix() @ state.R, state.p + t * state.v, state.w, state.v
            )
            R = Rotation.from_rotvec(t * hand.w).as_matrix() @ hand.R
            found.append(
                spatial.find_contact(states.body, moved, states.hand_shape, spatial.Hand(R, hand.r + t * hand.v), seed)
            )
        over = [
            (found[1].__dict__[name] - found[0].__dict__[name]) / (2 * h) for name in ("x_object", "x_hand", "normal")
        ]
        np.testing.assert_allclose(state.R @ over[0], sA[i].ravel(), rtol=1e-6, atol=3e-8)
        np.testing.assert_allclose(hand.R @ over[1], sB[i].ravel(), rtol=1e-6, atol=3e-8)
        np.testing.assert_allclose(over[2], ndot[i].ravel(), rtol=1e-6, atol=3e-8)


@pytest.mark.parametrize(("a", "b", "form", "atlas"), FORMS[4:6])
def test_coordinates_beside_the_nearest_points_are_shifted_there(a, b, form, atlas):
    # A step of Newton's: off by the square of how far they were off, also with the bodies apart or overlapping.
    model, _, states = setting(a, b, form, atlas, "sliding")
    j = model.constraints[0]
    k = kinematics(j.contact, j.A, j.B, j.s, slipping=True, distant=True)
    f = ca.Function("shift", [model.x, model.u], [k.shift])
    places = np.array(ca.DM(ca.jacobian(j.s, model.x)))
    x, u = states.columns(model)
    random = np.random.default_rng(2)
    for i in range(len(states)):
        off = random.normal(size=len(places))
        lost = [
            np.linalg.norm(h * off + np.array(f(x[:, i] + h * places.T @ off, u[:, i])).ravel()) for h in (1e-3, 1e-4)
        ]
        assert lost[1] < 2e-2 * lost[0] + 1e-11
        assert lost[1] < 1e-2 * 1e-4 * np.linalg.norm(off)


@pytest.mark.parametrize("slipping", [False, True])
@pytest.mark.parametrize("align", [0.0, 7.0])
@pytest.mark.parametrize(("a", "b", "form", "atlas"), [FORMS[3], FORMS[4]])
def test_the_documented_equations_as_written(a, b, form, atlas, slipping, align):
    law = "sliding" if slipping else "rolling"
    model, _, states = setting(a, b, form, atlas, law)
    j = model.constraints[0]
    k = kinematics(j.contact, j.A, j.B, j.s, slipping=slipping, align=align)
    tA, tB = j.contact.touch(j.A, j.B, j.s)
    T, n = tB.T, tB.n
    K_A, K_B = T.T @ tA.K @ T, T.T @ tB.K @ T
    wrel = j.A.w - j.B.w
    left = (K_A + K_B) @ (T.T @ k.sA)
    right = T.T @ ca.cross(wrel, n) - (K_B @ (T.T @ k.vrel) if slipping else 0) - align * (T.T @ (tA.n + n))
    S_B = k.sA + (T @ (T.T @ k.vrel) if slipping else 0)

    def side(m, t, S):
        return m.a + ca.cross(m.al, t.r) + ca.cross(m.w, ca.cross(m.w, t.r) + S)

    def material(m, t):
        return m.v + ca.cross(m.w, t.r)

    checks = evaluated(
        model, states,
        left - right, k.sB - S_B, k.bias - side(j.A, tA, k.sA) + side(j.B, tB, k.sB),
        k.ndot - (ca.cross(j.B.w, n) + T @ (K_B @ (T.T @ k.sB))), k.vrel - material(j.A, tA) + material(j.B, tB),
        k.gap - (j.A.p + tA.r - j.B.p - tB.r), k.LA - ca.horzcat(lever(tA.r), ca.SX.eye(3)), k.wrel - wrel,
        k.alrel - (j.A.al - j.B.al), k.misalignment - T.T @ (tA.n + n), k.frame - ca.horzcat(T, n),
        k.slip - (k.vrel - n * ca.dot(n, k.vrel)), k.rates - ca.vertcat(tA.rates(k.sA), tB.rates(k.sB)),
    )  # fmt: skip
    for value in checks:
        assert np.abs(value).max() < 2e-12
    curvature, total = evaluated(model, states, k.curvature, K_A + K_B)
    for value, matrix in zip(curvature, total, strict=True):
        assert value.item() == pytest.approx(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0], abs=1e-11)


@pytest.mark.parametrize(("a", "b", "form", "atlas"), FORMS[:6])
def test_unless_asked_for_nearest_points_are_those_of_a_touch_at_any_gap(a, b, form, atlas):
    # Both points move over their bodies by the same velocity but for the slip of the material.
    model, _, states = setting(a, b, form, atlas, "sliding", 4)
    j = model.constraints[0]
    k = kinematics(j.contact, j.A, j.B, j.s, slipping=True)
    T = k.frame[:, :2]
    f = ca.Function("f", [model.x, model.u], [k.sB - k.sA - T @ (T.T @ k.vrel), k.distance]).map(len(states))
    x, u = states.columns(model)
    x[model.layout["object.position"]] += 0.1
    difference, distance = (np.array(v) for v in f(x, u))
    assert np.abs(difference).max() < 1e-12
    assert np.abs(distance).max() > 0.01


def test_with_radii_the_curvature_is_that_of_one_plus_radii_times_operator():
    model, _, states = setting("rounded", "dish", "level", (0, 0), "rolling")
    j = model.constraints[0]
    k = kinematics(j.contact, j.A, j.B, j.s)
    tA, tB = j.contact.touch(j.A, j.B, j.s)
    T = tB.T
    near = ca.SX.eye(2) + (T.T @ tA.radii @ T) @ (T.T @ tB.K @ T)
    value, matrix = evaluated(model, states, k.curvature, near)
    for v, m in zip(value, matrix, strict=True):
        assert v.item() == pytest.approx(min(np.linalg.eigvals(m).real), abs=1e-12)


@pytest.mark.parametrize(("a", "b", "form", "atlas"), FORMS[:3])
def test_nearest_coordinates_are_those_of_the_nearest_points(a, b, form, atlas):
    model, _, states = setting(a, b, form, atlas, "sliding", 4)
    j = model.constraints[0]
    s = nearest_coordinates(j.contact, j.A, j.B)
    assert s.shape == j.s.shape
    k = kinematics(j.contact, j.A, j.B, s, slipping=True, distant=True)
    f = ca.Function("f", [model.x, model.u], [k.misalignment, k.frame[:, :2].T @ k.gap, k.distance])
    misalignment, aside, distance = (np.array(v) for v in f.map(len(states))(*states.columns(model)))
    assert np.abs(misalignment).max() < 1e-6
    assert np.abs(aside).max() < 1e-6
    np.testing.assert_allclose(distance, 0.0, atol=1e-6)  # the states touch


def test_a_flat_needs_no_curvature():
    _, d, _ = setting("ellipsoid", "plane", "support", (0, 0), "rolling", 1)
    assert d.kin[0].curvature is None
    assert not any(name.endswith("curvature") for name in d.margins)


@pytest.mark.parametrize(("a", "b", "form", "atlas"), FORMS[3:6])
def test_shift_cancels_a_misalignment_to_first_order_and_align_lets_it_decay(a, b, form, atlas):
    model, _, states = setting(a, b, form, atlas, "rolling", 4)
    j, gain = model.constraints[0], 20.0
    k = kinematics(j.contact, j.A, j.B, j.s)
    x, u = states.columns(model)
    rows = model.layout["contact.coordinates"]
    d = model.dynamics([LAWS["rolling"]], align=gain)
    f = ca.Function("f", [model.x, model.u], [
        k.misalignment, k.shift, ca.jtimes(k.misalignment, model.x, d.xdot), j.contact.restore(j.s)])  # fmt: skip
    rng = np.random.default_rng(3)
    for i in range(4):
        column, eps = x[:, i].copy(), 1e-5
        column[rows] += eps * rng.normal(size=column[rows].size)
        column[rows] = np.array(f(column, u[:, i])[3]).ravel()
        off, shift, decay, _ = (np.array(v).ravel() for v in f(column, u[:, i]))
        assert 1e-7 < np.abs(off).max() < 1e-2
        assert off @ decay == pytest.approx(-gain * off @ off, rel=2e-3)  # its components also turn with T
        column[rows] += shift
        column[rows] = np.array(f(column, u[:, i])[3]).ravel()
        assert np.abs(np.array(f(column, u[:, i])[0])).max() < 200 * np.abs(off).max() ** 2 + 1e-14
