"""Elimination of the equations of motion against numpy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from trundle.contact.choice import make_contact
from trundle.contact.laws import PURE_ROLLING, ROLLING, SLIDING
from trundle.errors import InputError
from trundle.models.tree.tree import Tree
from trundle.numerics.compiled.ldl import solve_kkt


def dense(M, J, top, bottom, G, proximal):
    K = np.block([[M, G.T], [J, -proximal * np.eye(len(J))]])
    y = np.linalg.solve(K, np.r_[top, bottom])
    return y[: len(M)], -y[len(M) :]


@pytest.mark.parametrize("proximal", [0.0, 1e-3])
@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize(("nv", "m"), [(3, 2), (6, 3), (6, 4), (8, 1), (5, 0), (9, 7)])
def test_random_systems(nv, m, pushed, proximal):
    M, J, G = ca.SX.sym("M", nv, nv), ca.SX.sym("J", m, nv), ca.SX.sym("G", m, nv)
    top, bottom = ca.SX.sym("t", nv), ca.SX.sym("b", m)
    f = ca.Function("f", [M, J, G, top, bottom], solve_kkt(M, J, top, bottom, G if pushed else None, proximal))
    rng = np.random.default_rng(nv * m)
    for _ in range(10):
        L = rng.normal(size=(nv, nv))
        values = [L @ L.T + np.eye(nv), rng.normal(size=(m, nv)), rng.normal(size=(m, nv))]
        if pushed:
            values[2] = values[1] + 0.2 * values[2]  # a push not far from the constraint, as with friction
        t, b = rng.normal(size=nv), rng.normal(size=m)
        a, lam = (np.array(v).ravel() for v in f(*values, t, b))
        right = dense(values[0], values[1], t, b, values[2] if pushed else values[1], proximal)
        size = max(1.0, np.abs(np.r_[right]).max())
        np.testing.assert_allclose(a, right[0], atol=1e-11 * size)
        np.testing.assert_allclose(lam, right[1], atol=1e-11 * size)


@pytest.mark.parametrize(("held", "pushed"), [([1.0, 1.0], [1.0, 0.0]), ([1.0, 0.0], [1.0, 1.0])])
def test_what_is_constrained_and_what_is_pushed_may_have_zeros_of_their_own(held, pushed):
    values = np.eye(2), np.array([held]), np.array([0.0, 1.0]), np.array([2.0]), np.array([pushed])
    a, lam = solve_kkt(*(ca.sparsify(ca.SX(ca.DM(value))) for value in values))
    right = dense(*values, 0.0)
    np.testing.assert_allclose(np.array(ca.DM(a)).ravel(), right[0], atol=1e-15)
    np.testing.assert_allclose(np.array(ca.DM(lam)).ravel(), right[1], atol=1e-15)


def test_constants_are_pivots_first_and_zeros_are_skipped():
    # A body with its origin at the centre of mass: M = diag(J, m I).
    inertia, lever = ca.SX.sym("I", 3, 3), ca.SX.sym("r", 3)
    M = ca.diagcat((inertia + inertia.T) / 2, 1.3 * ca.SX.eye(3))
    J = ca.horzcat(-ca.skew(lever), ca.SX.eye(3))
    top, bottom = ca.SX.sym("t", 6), ca.SX.sym("b", 3)
    args = [inertia, lever, top, bottom]
    ours = ca.Function("f", args, [ca.vertcat(*solve_kkt(M, J, top, bottom))], {"cse": True})
    K = ca.vertcat(ca.horzcat(M, J.T), ca.horzcat(J, ca.SX(3, 3)))
    plain = ca.Function("f", args, [ca.solve(K, ca.vertcat(top, bottom))], {"cse": True})
    assert ours.n_instructions() < 0.5 * plain.n_instructions()


def test_redundant_rows_share_the_load_with_a_proximal_term():
    M, J = ca.SX(2 * ca.DM.eye(2)), ca.SX(ca.DM([[0.0, 1.0], [0.0, 1.0]]))
    a, lam = solve_kkt(M, J, ca.SX(ca.DM([1.0, -4.0])), ca.SX(2, 1), None, 1e-9)
    assert np.array(ca.DM(a)).ravel() == pytest.approx([0.5, 0.0], abs=1e-8)
    assert np.array(ca.DM(lam)).ravel() == pytest.approx([2.0, 2.0], rel=1e-6)


def test_a_structurally_singular_system_is_refused():
    with pytest.raises(InputError, match="structurally singular"):
        solve_kkt(ca.SX.eye(2), ca.SX(1, 2), ca.SX(2, 1), ca.SX(1, 1))


@pytest.mark.parametrize(("law", "limit"), [(ROLLING, 800), (PURE_ROLLING, 900), (SLIDING, 900)])
def test_sphere_on_plane_costs_less_than_eight_hundred_instructions(law, limit):
    tree = Tree(3, [0, 0, -9.81])
    hand, ball = tree.prescribed(), tree.free(0.1, 0.0016)
    tree.contact(make_contact(tg.Sphere(0.2), tg.Plane(), "support"), ball, hand)
    d = tree.finish().dynamics([law])
    f = ca.Function("f", [d.x, d.u], [d.xdot], {"cse": True})
    print(law.name, f.n_instructions())
    assert f.n_instructions() <= limit


def test_one_unknown_is_divided() -> None:
    a, lam = solve_kkt(ca.SX(4.0), ca.SX(0, 1), ca.SX(2.0), ca.SX(0, 1))
    assert float(a) == 0.5
    assert lam.shape[0] == 0


@pytest.mark.parametrize("columns", [1, 3])
def test_a_proximal_term_may_be_an_expression(columns):
    rng = np.random.default_rng(columns)
    L, J, top, bottom = rng.normal(size=(4, 4)), rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=3)
    half = rng.normal(size=(3, columns))
    D, M = (np.diag(half.ravel() ** 2) if columns == 1 else half @ half.T), L @ L.T + np.eye(4)
    term = ca.SX.sym("D", 3, columns)
    found = solve_kkt(*(ca.SX(ca.DM(e)) for e in (M, J, top, bottom)), None, term)
    a, lam = (np.array(v).ravel() for v in ca.Function("f", [term], found)(half**2 if columns == 1 else D))
    y = np.linalg.solve(np.block([[M, J.T], [J, -D]]), np.r_[top, bottom])
    np.testing.assert_allclose(np.r_[a, -lam], y, rtol=1e-10)
