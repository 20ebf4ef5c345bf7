"""Laws: rows, wrenches and margins as documented."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.contact import pairs
from tests.oracles import supports
from trundle.contact.choice import make_contact
from trundle.contact.law import load_moment
from trundle.contact.laws import (
    DRAGGED,
    FIXED,
    HUNT_CROSSLEY,
    LAWS,
    PIVOTING,
    PURE_ROLLING,
    PURE_SLIDING,
    RESTING,
    ROLLING,
    SEPARATED,
    SKIDDING,
    SLIDING,
    SLIP_END,
    STOPPED,
    Friction,
    Sliding,
    law_named,
    laws_of,
)
from trundle.errors import InputError
from trundle.models.tree.tree import Tree

A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")


def setting(law: str, count: int = 5):
    model = pairs.pose_model(A, B, "level")
    return model, pairs.random_states(A, B, "level", law, count, seed=4)


def values(model, states, *expressions):
    f = ca.Function("f", [model.x, model.u], [ca.SX(e) for e in expressions])
    x, u = states.columns(model)
    return [[np.array(v) for v in f(x[:, i], u[:, i])] for i in range(len(states))]


def test_the_table_of_laws():
    held = (PIVOTING, RESTING, HUNT_CROSSLEY, STOPPED, PURE_SLIDING, SKIDDING, DRAGGED)
    assert LAWS == {law.name: law for law in (ROLLING, PURE_ROLLING, SLIDING, SEPARATED, FIXED, *held)}
    assert [law.name for law in LAWS.values() if law.slipping] == [
        *("sliding", "hunt-crossley", "pure-sliding", "skidding", "dragged")
    ]
    assert [law.name for law in LAWS.values() if not law.touching] == ["separated"]
    assert law_named("pure-rolling") is PURE_ROLLING
    with pytest.raises(InputError, match=r"law = 'roling': must be one of 'rolling', 'pure-rolling', 'sliding'"):
        law_named("roling")


@pytest.mark.parametrize("name", LAWS)
def test_a_law_is_a_value_that_does_not_change(name):
    law = LAWS[name]
    copy = pickle.loads(pickle.dumps(law))
    assert copy == law
    assert (hash(copy), repr(copy)) == (hash(law), repr(law))
    with pytest.raises(FrozenInstanceError):
        law.name = "other"


@pytest.mark.parametrize(
    ("law", "rows"),
    [("rolling", 3), ("pure-rolling", 4), ("sliding", 1), ("separated", 0), ("fixed", 6), ("stopped", 1)],
)
def test_rows_are_the_velocity_rows_and_their_rates(law, rows):
    model, states = setting("sliding" if law == "separated" else "rolling" if law == "fixed" else law)
    d = model.dynamics([LAWS[law]])
    k, m = d.kin[0], model.motions
    r = LAWS[law].rows(k, Friction(pairs.MU))
    assert (r.LA.shape, r.b.shape[0], r.velocity.shape[0], r.position.shape[0]) == ((rows, 6), rows, rows, rows)
    # velocity = LA V_A - LB V_B, and along the motion its rate is (LA J_A - LB J_B) nudot + b = 0
    V = [ca.vertcat(b.w, b.v) for b in (m["object"], m["hand"])]
    J = [ca.vertcat(b.Jw, b.Jv) for b in (m["object"], m["hand"])]
    held = (r.LA @ J[0] - r.LB @ J[1]) @ d.nudot + r.b
    lowered = r.velocity - (r.LA @ V[0] - r.LB @ V[1])
    for lower, zero, rate in values(model, states, lowered, held, ca.jtimes(r.velocity, model.x, d.xdot)):
        assert np.abs(lower).max(initial=0) < 1e-12
        assert np.abs(zero).max(initial=0) < 1e-10
        assert np.abs(rate).max(initial=0) < 1e-10


def test_wrenches_act_along_the_rows():
    # A force f on A is the wrench LA'f on A and -LB'f on B; the moment acts about n.
    model, states = setting("pure-rolling")
    d = model.dynamics([PURE_ROLLING])
    k, r = d.kin[0], PURE_ROLLING.rows(d.kin[0], Friction())
    on_A = k.LA.T @ d.forces[0] + ca.vertcat(k.n * d.moments[0], ca.SX(3, 1))
    on_B = k.LB.T @ d.forces[0] + ca.vertcat(k.n * d.moments[0], ca.SX(3, 1))
    for a, b in values(model, states, on_A - r.LA.T @ d.lam, on_B - r.LB.T @ d.lam):
        assert max(np.abs(a).max(), np.abs(b).max()) < 1e-12


def test_margins_as_documented():
    model, states = setting("pure-rolling")
    k, mu, bound = model.terms([PURE_ROLLING]).kin[0], 0.4, 0.02
    lam = ca.SX(ca.DM([1.0, -2.0, 3.0, 0.5]))
    f = lam[:3]
    f_n = ca.dot(k.n, f)
    f_t = ca.norm_2(f - k.n * f_n)
    friction = Friction(mu, bound)
    named = PURE_ROLLING.margins(k, lam, friction)
    assert set(named) == {"normal_force", "friction", "torsion"}
    assert set(ROLLING.margins(k, f, friction)) == {"normal_force", "friction"}
    assert set(PURE_ROLLING.margins(k, lam, Friction(mu))) == {"normal_force", "friction"}  # 0: unbounded
    expected = (f_n, mu * f_n - f_t, bound * f_n - 0.5)
    for rows in values(model, states, *(a - b for a, b in zip(named.values(), expected, strict=True))):
        assert max(abs(float(v.item())) for v in rows) < 1e-14


def test_sliding_pushes_along_n_less_mu_e():
    model, states = setting("sliding")
    d = model.dynamics([SLIDING])
    k = d.kin[0]
    e = k.slip / ca.norm_2(k.slip)
    named = SLIDING.margins(k, d.lam, Friction(pairs.MU))
    rows = values(
        model,
        states,
        d.forces[0] - d.lam * (k.n - pairs.MU * e),
        named["slip_speed"] - (ca.norm_2(k.slip) - 1e-9),
        named["normal_force"] - d.lam,
        d.moments[0],
    )
    for off, speed, normal, moment in rows:
        assert np.abs(off).max() < 1e-12
        assert speed.item() == pytest.approx(0, abs=1e-14)
        assert normal.item() == 0
        assert moment.item() == 0


def test_a_slide_from_rest_has_the_direction_of_its_onset():
    model, states = setting("rolling")  # no slip yet
    k = model.terms([SLIDING]).kin[0]
    t = k.T[:, 0]
    for stick in (1e-9, 1e-3):
        law = Sliding(stick_speed=stick, onset=t)
        for direction, _ in values(model, states, law.direction(k, Friction(0.5)) - (k.n - 0.5 * t), t):
            assert np.abs(direction).max() < 1e-5


def test_friction_lies_in_the_plane_of_contact_however_that_has_turned_since_the_onset():
    model, states = setting("sliding")
    k = model.terms([SLIDING]).kin[0]
    law, law_again = (Sliding(stick_speed=0.3, onset=onset) for onset in (k.n, k.T[:, 0] + 2.0 * k.n))
    for one in (law, law_again):
        friction = k.n - one.direction(k, Friction(0.5))
        for normal, size in values(model, states, ca.dot(friction, k.n), ca.norm_2(friction)):
            assert abs(normal.item()) < 1e-12
            assert size.item() == pytest.approx(0.5, abs=1e-12)


def test_apart_a_body_falls_and_its_coordinates_wait():
    model, states = setting("sliding")
    d = model.dynamics([SEPARATED])
    al, a, s, force = (
        np.array(v)
        for v in zip(
            *values(model, states, d.nudot[:3], d.nudot[3:], d.xdot[model.layout["contact.coordinates"]], d.forces[0]),
            strict=True,
        )
    )
    assert np.abs(a[:, :, 0] - pairs.GRAVITY).max() < 1e-14
    for i, state in enumerate(states.objects):
        J = state.R @ pairs.INERTIA @ state.R.T
        np.testing.assert_allclose(J @ al[i].ravel(), -np.cross(state.w, J @ state.w), atol=1e-13)
    assert not s.any()
    assert not force.any()


def test_a_fixed_patch_carries_the_body_along():
    model, states = setting("rolling")
    d = model.dynamics([FIXED])
    hand = model.motions["hand"]
    for al, force in values(model, states, d.nudot[:3] - hand.al, d.forces[0] - d.lam[3:]):
        assert np.abs(al).max() < 1e-12
        assert np.abs(force).max() == 0
    named = FIXED.margins(d.kin[0], d.lam, Friction(0.3))
    f_n = ca.dot(d.kin[0].n, d.forces[0])
    for normal, friction in values(
        model,
        states,
        named["normal_force"] - f_n,
        named["friction"] - (0.3 * f_n - ca.norm_2(d.forces[0] - d.kin[0].n * f_n)),
    ):
        assert normal.item() == pytest.approx(0, abs=1e-12)
        assert friction.item() == pytest.approx(0, abs=1e-12)


def test_pure_rolling_in_the_plane_is_rolling():
    tree = Tree(2, [0.0, -9.81])
    ground, body = tree.ground(), tree.free(1.0, 0.02)
    tree.contact(make_contact(tg.Circle(0.2), tg.Line(), "support"), body, ground)
    model = tree.finish()
    one, two = (model.dynamics([law]) for law in (ROLLING, PURE_ROLLING))
    f = ca.Function("f", [model.x], [one.xdot - two.xdot])
    x = np.random.default_rng(0).normal(size=model.x.shape[0])
    assert np.abs(np.array(f(x))).max() == 0
    assert one.lam.shape == two.lam.shape == (2, 1)
    fixed = model.dynamics([FIXED])
    assert fixed.lam.shape == (3, 1)


def test_an_edge_has_zero_radius_and_rolls():
    disc, tube = pairs.object_named("disc"), pairs.hand_named("tube")
    assert isinstance(disc.twin, supports.Support)
    states = pairs.random_states(disc, tube, "level", "sliding", 10, seed=2)
    assert pairs.disagreement(pairs.pose_model(disc, tube, "level"), "sliding", states) < 1e-12


RESISTED = Friction(
    pairs.MU, rolling=0.01, drilling=0.02, adhesion=3.0, rolling_viscous=0.03, drilling_viscous=0.05
)  # fmt: skip


@pytest.mark.parametrize("law", [ROLLING, Sliding(end_speed=0.25)], ids=["rolling", "sliding"])
def test_resisted_turning_and_adhesion_as_documented(law):
    """The load N = f_n + adhesion presses; a force of the same size pulls: friction grows, and nothing else."""
    model, states = setting(law.name)
    k, c = model.terms([law]).kin[0], RESISTED.adhesion
    lam = ca.SX(ca.DM([1.0, -2.0, 3.0] if law is ROLLING else [4.0]))
    rows, margins = law.rows(k, RESISTED), law.margins(k, lam, RESISTED)
    force, about = law.wrench(k, lam, RESISTED)
    spin = ca.dot(k.n, k.wrel)
    turning, speed = k.wrel - spin * k.n, ca.norm_2(k.slip)
    load = (ca.dot(k.n, lam) if law is ROLLING else lam) + c
    smooth = 1e-7
    across, about_n = turning / ca.sqrt(ca.sumsqr(turning) + smooth**2), spin / ca.sqrt(spin**2 + smooth**2)
    per_load = -0.01 * across - 0.02 * about_n * k.n
    moment = per_load * load - 0.03 * turning - 0.05 * spin * k.n
    e = k.slip / speed
    push = lam if law is ROLLING else load * (k.n - pairs.MU * e) - c * k.n
    on_A = rows.GA.T @ lam
    expected = {"normal_force": load}
    if law is ROLLING:
        expected["friction"] = pairs.MU * load - ca.norm_2(lam - k.n * ca.dot(k.n, lam))
    else:
        expected |= {"slip_speed": speed - 1e-9, SLIP_END: (speed / 0.25 - 1.0) * 1e-9 / 20.0}
    expected |= {"rolling_rate": ca.norm_2(turning) - 1e-7, "spin_rate": ca.fabs(spin) - 1e-7}
    assert set(margins) == set(expected)
    extra = rows.applied  # the moment, and the force, that do not depend on the multipliers
    whole = on_A + k.LA.T @ extra[3:] + ca.vertcat(extra[:3], ca.SX(3, 1))
    differences = [
        force - push,
        about - ca.dot(k.n, moment),
        whole - k.LA.T @ push - ca.vertcat(moment, ca.SX(3, 1)),
        *(margins[name] - expected[name] for name in expected if name != SLIP_END),
        (margins.get(SLIP_END, 0.0) - expected.get(SLIP_END, 0.0)) * 1e9,
    ]
    for parts in values(model, states, *differences):
        assert max(np.abs(part).max() for part in parts) < 1e-11


@pytest.mark.parametrize(("law", "names"), [(RESTING, "rolling torsion"), (PIVOTING, "rolling spin_rate")])
def test_moments_that_hold_have_margins(law, names):
    model, states = setting("pure-rolling")
    k = model.terms([law]).kin[0]
    lam = ca.SX(ca.DM([1.0, -2.0, 3.0, 0.3, 0.4, -0.5][: 6 if law.holds_spin else 5]))
    found = law.margins(k, lam, RESISTED)
    load = ca.dot(k.n, lam[:3]) + RESISTED.adhesion
    expected = {"rolling": 0.01 * load - 0.5, "torsion": 0.02 * load - 0.5}
    expected["spin_rate"] = ca.fabs(ca.dot(k.n, k.wrel)) - 1e-7
    assert set(found) - {"normal_force", "friction"} == set(names.split())
    for parts in values(model, states, *(found[name] - expected[name] for name in names.split())):
        assert max(np.abs(part).max() for part in parts) < 1e-14


def test_friction_dissipates_where_some_turning_is_resisted():
    assert not Friction(1.0, torsional=0.1, adhesion=1.0).dissipates
    for name in ("rolling", "drilling", "rolling_viscous", "drilling_viscous"):
        assert Friction(0.0, **{name: 1e-6}).dissipates
    assert (Friction(torsional=0.1, drilling=0.2).spin_bound, Friction(drilling=0.2).spin_bound) == (0.1, 0.2)


@pytest.mark.parametrize("side", [1, -1])
def test_a_spin_that_starts_is_resisted_against_its_onset(side):
    model, states = setting("pure-rolling")  # no spin yet
    k = model.terms([ROLLING]).kin[0]
    moment = load_moment(k, RESISTED, ROLLING, 1e-7, side * (k.n + k.T[:, 0]))
    turning = k.wrel - k.n * ca.dot(k.n, k.wrel)
    rolling = -0.01 * turning / ca.norm_2(turning)
    for about, across in values(model, states, ca.dot(k.n, moment), k.T.T @ (moment - rolling)):
        assert about.item() == pytest.approx(-0.02 * side, rel=1e-6)
        assert np.abs(across).max() < 1e-6
    assert load_moment(k, Friction(drilling=0.02), PURE_ROLLING, 1e-7) is None  # held: nothing is left to resist
    assert load_moment(k, Friction(rolling=0.02), RESTING, 1e-7) is None


@pytest.mark.parametrize("depth", [0.01, 0.0, -0.01])
def test_the_compliant_force_as_documented(depth):
    friction = Friction(
        0.4, rolling=0.01, drilling=0.02, rolling_viscous=0.03, drilling_viscous=0.05, stiffness=1e5, dissipation=0.2
    )
    tree = Tree(3, [0.0, 0.0, -9.81])
    ground, body = tree.ground(), tree.free(1.0, 0.02)
    tree.contact(make_contact(tg.Sphere(0.2), tg.Plane(), "support"), body, ground)
    model = tree.finish()
    rows = HUNT_CROSSLEY.rows(model.terms([HUNT_CROSSLEY]).kin[0], friction)
    w, v = np.array([0.5, -2.0, 3.0]), np.array([0.7, 0.3, -0.5])
    x = np.concatenate([[0.1, 0.2, 0.2 - depth, 1.0, 0.0, 0.0, 0.0], w, v])
    applied, stored = (np.asarray(e).ravel() for e in ca.Function("f", [model.x], [rows.applied, rows.stored])(x))
    if depth <= 0:
        np.testing.assert_allclose([*applied, *stored], 0.0, atol=1e-12)
        return
    slip = (v + np.cross(w, [0.0, 0.0, -0.2 + depth / 2]))[:2]  # half as high above the lowest point as it is deep
    f_n = 1e5 * depth**1.5 * (1 + 1.5 * 0.2 * 0.5)
    assert applied[5] == pytest.approx(f_n)
    along = -0.4 * f_n * slip / np.hypot(np.linalg.norm(slip), HUNT_CROSSLEY.slip_speed)
    np.testing.assert_allclose(applied[3:5], along, rtol=1e-9)
    rolling = w[:2] / np.linalg.norm(w[:2])
    moment = np.append(-0.01 * f_n * rolling - 0.03 * w[:2], -0.02 * f_n - 0.05 * w[2])
    moment += np.cross([0.0, 0.0, depth / 2], applied[3:])  # about the lowest point
    np.testing.assert_allclose(applied[:3], moment, rtol=1e-5)
    assert stored[0] == pytest.approx(0.4 * 1e5 * depth**2.5)


def test_further_points_of_a_pair_need_no_law_of_their_own():
    def contacts(*named):
        return [SimpleNamespace(name=name, carrier=carrier) for name, carrier in named]

    foot = contacts(("foot", "leg"), ("foot-2", "leg"), ("toe", "leg"))
    assert laws_of(foot, ["rolling", "sliding"]) == [ROLLING, SEPARATED, SLIDING]
    assert laws_of(foot, ["rolling"] * 3) == [ROLLING] * 3
    for others in (contacts(("foot", "leg"), ("foot-2", "arm")), contacts(("foot", "leg"), ("foot-b", "leg"))):
        with pytest.raises(InputError, match="2 laws, one a contact"):
            laws_of(others, ["rolling"])
