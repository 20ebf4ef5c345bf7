"""Inertia, energy, momentum, projection and derivatives of trees, with and without joints and contacts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
import trundle.geometry as tg
from tests.contact import pairs
from tests.models.tree.test_rolling_joint import columns
from trundle.contact.choice import make_contact
from trundle.contact.laws import HUNT_CROSSLEY, LAWS, PURE_ROLLING, ROLLING, SLIDING, Friction
from trundle.errors import InputError
from trundle.models.tree.constrained import corrections, solve
from trundle.models.tree.tree import Tree
from trundle.numerics.space import cross

INERTIA = [[0.02, 0.002, 0.001], [0.002, 0.025, -0.003], [0.001, -0.003, 0.03]]


def robot(d: int, touching: bool = True, gravity: bool = True):
    """A round base with an arm: hinge, then slider; in space their axes are oblique."""
    tree = Tree(d, ([0.3, -9.7] if d == 2 else [0.3, 0.2, -9.7]) if gravity else [0.0] * d)
    ground = tree.ground()
    base = tree.free(1.2, 0.03 if d == 2 else INERTIA)
    thin, block = (0.01, 0.02) if d == 2 else ([0.01, 0.012, 0.015], [0.02, 0.02, 0.01])
    at, com = [0.1, 0.2, -0.1][:d], [0.3, -0.1, 0.2][:d]
    arm = tree.revolute(base, at, 0.4, thin, com=com, axis=[0.6, 0.0, 0.8], name="arm")
    at, com = [0.2, 0.1, 0.3][:d], [0.0, 0.1, 0.1][:d]
    tree.prismatic(arm, at, 0.3, block, com=com, axis=[0.6, -0.8, 0.5][:d], name="slider")
    if touching:
        shape = tg.Ellipse([0.3, 0.2]) if d == 2 else tg.Ellipsoid([0.3, 0.2, 0.25])
        flat = tg.Line() if d == 2 else tg.Plane()
        tree.contact(make_contact(shape, flat, "support", (0.02, 0.01, -0.03)[:d]), base, ground, mu=0.5)
    return tree.finish()


def states(model, count: int = 5, seed: int = 0):
    """Random states; where there is a contact, put onto it and rolling by the projection."""
    rng = np.random.default_rng(seed)
    project = None
    if model.constraints:
        expression = model.project([PURE_ROLLING if model.d == 3 else ROLLING])
        project = ca.Function("p", [model.x, model.u], [expression])
    for _ in range(count):
        x = rng.normal(size=model.x.shape[0])
        u = rng.normal(size=model.u.shape[0])
        for _ in range(60 if project else 0):
            x = np.array(project(x, u)).ravel()
        yield x, u


def numbers(model, *expressions):
    return ca.Function("f", [model.x, model.u], [ca.SX(e) for e in expressions])


@pytest.mark.parametrize("d", [2, 3])
def test_inertia_is_that_of_the_kinetic_energy(d):
    model = robot(d, gravity=False)
    M, _ = model.inertia_terms()
    twice = ca.hessian(model.energy(), model.x)[0]
    rates = [
        i
        for name in ("object.angular_velocity", "object.velocity", "arm.rate", "slider.rate")
        for i in range(model.layout[name].start, model.layout[name].stop)
    ]
    f = numbers(model, M, twice[rates, rates], model.energy() - model.nu.T @ M @ model.nu / 2)
    for x, u in states(model):
        mass, hessian, off = (np.array(v) for v in f(x, u))
        np.testing.assert_allclose(mass, hessian, atol=1e-13)
        assert np.linalg.eigvalsh(mass)[0] > 0
        assert abs(off.item()) < 1e-12


@pytest.mark.parametrize("law", ["rolling", "pure-rolling", "sliding", "separated", None])
@pytest.mark.parametrize("d", [2, 3])
def test_energy_changes_by_the_power_of_motors_and_friction(d, law):
    # dE/dt = u'S'nu + f.v_rel, exactly along xdot and by differences
    model = robot(d, touching=law is not None)
    dynamics = model.dynamics([LAWS[law]] if law else [])
    power = model.u.T @ model.S.T @ model.nu
    if law:
        power = power + ca.dot(dynamics.forces[0], dynamics.kin[0].vrel)
    f = numbers(model, ca.jtimes(model.energy(), model.x, dynamics.xdot), power, dynamics.xdot, model.energy())
    for x, u in states(model):
        if law in ("sliding", "separated"):
            x[model.layout["object.velocity"]] += [0.4, 0.0] if d == 2 else [0.3, 0.2, 0.0]
        rate, expected, xdot, _ = (np.array(v).ravel() for v in f(x, u))
        size = max(1.0, np.abs(xdot).max())
        assert rate.item() == pytest.approx(expected.item(), abs=1e-10 * size)
        h = 1e-6
        difference = (float(f(x + h * xdot, u)[3]) - float(f(x - h * xdot, u)[3])) / (2 * h)
        assert difference == pytest.approx(expected.item(), abs=1e-6 * size**2)


def test_what_a_contact_stores_is_part_of_the_energy_which_stays():
    tree = Tree(2, [0.0, -9.81])
    ground, ball = tree.ground(), tree.free(1.2, 0.03)
    contact = make_contact(tg.Circle(0.2), tg.Line(), "support")
    tree.contact(contact, ball, ground, friction=Friction(0.0, stiffness=1e4, dissipation=0.0))
    model = tree.finish()
    dynamics = model.dynamics([HUNT_CROSSLEY])
    f = numbers(model, dynamics.energy - model.energy(), ca.jtimes(dynamics.energy, model.x, dynamics.xdot))
    x = np.zeros(model.x.shape[0])
    x[model.layout["object.position"]], x[model.layout["object.velocity"]] = [0.0, 0.19], [0.3, -0.4]
    stored, rate = (float(v) for v in f(x, []))
    assert stored == pytest.approx(0.4 * 1e4 * 0.01**2.5, rel=1e-6)
    assert rate == pytest.approx(0.0, abs=1e-12 * 1e4)


def momenta(model, about):
    """The momentum of all bodies, and their angular momentum about a point."""
    p, L = ca.SX(model.d, 1), 0
    for body in model.bodies:
        at = body.motion.at(ca.SX(ca.DM(body.com)))
        inertia = body.inertia if np.ndim(body.inertia) == 0 else at.R @ ca.SX(ca.DM(body.inertia)) @ at.R.T
        r = at.p - about
        L += inertia @ at.w if np.ndim(body.inertia) else inertia * at.w
        L += body.mass * (ca.cross(r, at.v) if model.d == 3 else r[0] * at.v[1] - r[1] * at.v[0])
        p += body.mass * at.v
    return p, L


@pytest.mark.parametrize("d", [2, 3])
def test_momentum_changes_by_gravity_only(d):
    # Motors are internal: p' = m g, and the angular momentum about the centre of mass is kept.
    model = robot(d, touching=False)
    dynamics = model.dynamics([])
    total = sum(body.mass for body in model.bodies)
    center = sum((b.mass * b.motion.at(ca.SX(ca.DM(b.com))).p for b in model.bodies), ca.SX(d, 1)) / total
    p, L = momenta(model, center)
    f = numbers(
        model, ca.jtimes(p, model.x, dynamics.xdot) - total * model.gravity, ca.jtimes(L, model.x, dynamics.xdot)
    )
    for x, u in states(model):
        for value in f(x, 5 * u):
            assert np.abs(np.array(value)).max() < 1e-11


@pytest.mark.parametrize("d", [2, 3])
def test_a_compliant_contact_keeps_the_momentum_of_the_two_bodies_it_joins(d):
    # No force acts from outside: friction at a depth acts on both bodies at the same point.
    tree = Tree(d, [0.0] * d)
    base, ball = tree.free(1.2, 0.03, name="base"), tree.free(0.7, 0.02, name="ball")
    contact = make_contact(*((tg.Circle(0.2), tg.Line()) if d == 2 else (tg.Sphere(0.2), tg.Plane())), "support")
    rubs = Friction(0.5, stiffness=1e4, dissipation=0.1, rolling=0.01, drilling=0.0 if d == 2 else 0.02)
    tree.contact(contact, ball, base, friction=rubs)
    model = tree.finish()
    dynamics = model.dynamics([HUNT_CROSSLEY])
    p, L = momenta(model, ca.SX(d, 1))
    k, xdot = dynamics.kin[0], dynamics.xdot
    f = numbers(model, k.distance, dynamics.forces[0], ca.jtimes(p, model.x, xdot), ca.jtimes(L, model.x, xdot))
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = rng.normal(size=model.x.shape[0])
        along = np.array(ca.Function("n", [model.x], [k.n])(x)).ravel()
        x[model.layout["ball.position"]] += (-0.03 - float(f(x, [])[0])) * along  # 3 cm deep
        distance, force, pushed, turned = (np.array(value).ravel() for value in f(x, []))
        assert distance.item() == pytest.approx(-0.03, abs=1e-12)
        assert np.linalg.norm(force - (force @ along) * along) > 5.0
        assert np.abs([*pushed, *turned]).max() < 1e-11 * np.abs(force).max()


def test_a_double_pendulum_is_the_textbooks():
    m1, m2, l1, I1, I2, c1, c2, g = 1.1, 0.7, 0.9, 0.05, 0.03, 0.4, 0.3, 9.81
    tree = Tree(2, [0, -g])
    one = tree.revolute(tree.ground(), [0, 0], m1, I1, com=[c1, 0], name="one")
    tree.revolute(one, [l1, 0], m2, I2, com=[c2, 0], actuated=False, name="two")
    model = tree.finish()
    assert model.u.shape[0] == 1
    f = numbers(model, model.dynamics([]).nudot)
    rng = np.random.default_rng(0)
    for _ in range(5):
        (a, b), (w1, w2), tau = rng.normal(size=2), rng.normal(size=2), rng.normal()
        x = np.zeros(4)
        x[model.layout["one.joint"]], x[model.layout["two.joint"]] = a, b
        x[model.layout["one.rate"]], x[model.layout["two.rate"]] = w1, w2
        cross_term = m2 * l1 * c2
        M = np.array(
            [[I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2) + 2 * cross_term * np.cos(b), 0], [0, I2 + m2 * c2**2]]
        )
        M[0, 1] = M[1, 0] = I2 + m2 * c2**2 + cross_term * np.cos(b)
        s = cross_term * np.sin(b)
        h = np.array([-s * (2 * w1 * w2 + w2**2), s * w1**2])
        h += g * np.array([(m1 * c1 + m2 * l1) * np.cos(a) + m2 * c2 * np.cos(a + b), m2 * c2 * np.cos(a + b)])
        np.testing.assert_allclose(np.array(f(x, tau)).ravel(), np.linalg.solve(M, [tau, 0] - h), atol=1e-11)


@pytest.mark.parametrize("d", [2, 3])
def test_the_documented_equations_of_motion(d):
    # M nudot + h = S u + J'f, J nudot + b = 0; h = sum m Jv'(a - g) + Jw'(I al + w x I w)
    model = robot(d)
    t, dyn = model.terms([ROLLING]), model.dynamics([ROLLING])
    M, h = ca.SX(model.nv, model.nv), ca.SX(model.nv, 1)
    for body in model.bodies:
        at = body.motion.at(ca.SX(ca.DM(body.com)))
        inertia = ca.SX(body.inertia) if d == 2 else at.R @ ca.SX(ca.DM(body.inertia)) @ at.R.T
        gyro = cross(at.w, inertia @ at.w) if d == 3 else 0
        M += body.mass * at.Jv.T @ at.Jv + at.Jw.T @ inertia @ at.Jw
        h += body.mass * at.Jv.T @ (at.a - model.gravity) + at.Jw.T @ (inertia @ at.al + gyro)
    f = numbers(model, t.M @ dyn.nudot + t.h - t.S @ model.u - t.J.T @ dyn.lam, t.J @ dyn.nudot + t.b, M - t.M, h - t.h)
    for x, u in states(model):
        scale = np.abs(np.array(numbers(model, t.h)(x, u))).max() + 1
        for value in f(x, u):
            assert np.abs(np.array(value)).max() < 1e-11 * scale


@pytest.mark.parametrize("law", ["rolling", "pure-rolling", "sliding", "separated", "fixed"])
@pytest.mark.parametrize("form", ["support", "pair", "level", "level-pair", "chart", "support-chart"])
def test_projection_removes_gap_slip_and_misalignment(form, law):
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named({"support": "plane", "pair": "sphere"}.get(form, "dish"))
    model = pairs.pose_model(A, B, form)
    start = pairs.random_states(A, B, form, law if law in ("sliding", "pure-rolling") else "rolling", 3, seed=13)
    k = model.terms([LAWS[law]]).kin[0]
    f = ca.Function("f", [model.x, model.u], [model.project([LAWS[law]])])
    g = ca.Function(
        "g", [model.x], [ca.vertcat(ca.dot(k.n, k.gap), k.misalignment), k.vrel, ca.dot(k.n, k.vrel), k.gap]
    )
    x0, u = start.columns(model)
    rng = np.random.default_rng(2)
    for i in range(3):
        x = x0[:, i] + 1e-4 * rng.normal(size=x0.shape[0])
        for name in ("object.orientation", "hand.orientation"):
            x[model.layout[name]] /= np.linalg.norm(x[model.layout[name]])
        before = x.copy()
        for _ in range(1 if law == "separated" else 6):
            x = np.array(f(x, u[:, i])).ravel()
        off, slip, normal, gap = (np.array(v).ravel() for v in g(x))
        if law == "separated":
            np.testing.assert_allclose(x, before, atol=1e-12)  # a body in flight is left alone
            continue
        assert np.abs(off).max() < 1e-11
        assert abs(normal.item()) < 1e-11
        assert law == "fixed" or np.abs(x - before).max() < 0.02
        if law != "sliding":
            assert np.abs(np.r_[slip, gap]).max() < 1e-11


def test_projection_is_the_smallest_change_in_the_metric_of_inertia():
    rng = np.random.default_rng(0)
    L, J, r = rng.normal(size=(5, 5)), rng.normal(size=(2, 5)), rng.normal(size=2)
    M = L @ L.T + np.eye(5)
    dm = [ca.SX(ca.DM(v)) for v in (M, J, r)]
    step = np.array(ca.DM(corrections(*dm[:2])(dm[2]))).ravel()
    inverse = np.linalg.inv(M)
    np.testing.assert_allclose(step, -inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, r), atol=1e-12)
    a, lam = solve(dm[0], dm[1], ca.SX(5, 1), -dm[2])
    np.testing.assert_allclose(np.array(ca.DM(a)).ravel(), step, atol=1e-13)
    assert lam.shape == (2, 1)


def test_baumgarte_feeds_back_slip_and_gap():
    # J nudot + b + 2 beta J nu + beta^2 gap = 0
    model, beta = robot(3), 7.0
    d, t = model.dynamics([ROLLING], baumgarte=beta), model.terms([ROLLING])
    row = t.J @ d.nudot + t.b + 2 * beta * t.kin[0].vrel + beta**2 * t.kin[0].gap
    f = numbers(model, row, t.kin[0].gap)
    for x, u in states(model):
        x = x + 0.01 * np.random.default_rng(1).normal(size=x.size)
        value, gap = f(x, u)
        assert np.abs(np.array(value)).max() < 1e-10
        assert np.abs(np.array(gap)).max() > 1e-4


def test_a_mode_has_one_law_a_contact():
    with pytest.raises(InputError, match=r"mode = \['rolling', 'rolling'\]: must be 1 laws, one a contact"):
        robot(2).dynamics([ROLLING, ROLLING])


def test_one_law_does_for_a_pair_that_may_touch_at_several_points():
    pair = tr.RollingPair(tr.RigidBody(tr.Disc(0.1), mass=1.0), tr.Hand(tr.Plane()))
    model = pair.model()
    assert len(model.constraints) == len(pair.system.start_laws) > 1
    one, all_ = model.dynamics([ROLLING]), model.dynamics(pair.system.start_laws)
    x = np.random.default_rng(0).normal(size=model.x.shape[0])
    u = np.zeros(model.u.shape[0])
    values = [np.array(ca.Function("rate", [model.x, model.u], [found.xdot])(x, u)) for found in (one, all_)]
    assert np.all(np.isfinite(values[0]))
    np.testing.assert_array_equal(*values)
    with pytest.raises(InputError, match="one a contact"):
        model.dynamics([ROLLING, ROLLING])


def test_redundant_contacts_of_one_body_share_the_load():
    tree = Tree(2, [0, -9.81])
    ground, body = tree.ground(), tree.free(2.0, 0.1)
    for x in (-0.3, 0.0, 0.3):
        tree.contact(make_contact(tg.Circle(0.1), tg.Line(), "support", (x, 0.0)), body, ground, mu=1.0)
    model = tree.finish()
    d = model.dynamics([ROLLING] * 3)
    x = np.zeros(model.x.shape[0])
    x[model.layout["object.position"]] = [0.2, 0.1]
    nudot, forces = ca.Function("f", [model.x], [d.nudot, ca.horzcat(*d.forces)])(x)
    assert np.abs(np.array(nudot)).max() < 1e-7
    np.testing.assert_allclose(np.array(forces).sum(axis=1), [0, 2.0 * 9.81], atol=1e-5)
    np.testing.assert_allclose(np.array(forces)[1], 2.0 * 9.81 / 3, rtol=1e-3)


# Derivatives ----------------------------------------------------------------------------------------------------------

FORMS = [
    ("support", "plane", None),
    ("pair", "sphere", None),
    ("level", "dish", None),
    ("level-pair", "dish", None),
    ("chart", "dish", None),
    ("support-chart", "dish", None),
    ("chart", "dish", "rolling"),
    ("chart", "dish", "pure"),
]


@pytest.mark.parametrize("law", [ROLLING, PURE_ROLLING, SLIDING])
@pytest.mark.parametrize(("form", "b", "rolling"), FORMS)
def test_jacobians_are_differences(form, b, rolling, law):
    if rolling and law is not {"rolling": ROLLING, "pure": PURE_ROLLING}[rolling]:
        return
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named(b)
    model = pairs.pose_model(A, B, form, rolling=rolling)
    given = pairs.random_states(A, B, form, law.name, 2, seed=21)
    d = model.dynamics([law])
    f = ca.Function("f", [model.x, model.u], [d.xdot])
    J = ca.Function("J", [model.x, model.u], [ca.jacobian(d.xdot, model.x), ca.jacobian(d.xdot, model.u)])
    X, U = columns(model, given) if rolling else given.columns(model)
    h = 2e-4
    for i in range(2):
        x, u = X[:, i], U[:, i]
        by_x, by_u = (np.array(v) for v in J(x, u))
        for exact, at, other in ((by_x, x, lambda z, u=u: f(z, u)), (by_u, u, lambda z, x=x: f(x, z))):
            E = np.eye(at.size)
            near, far = (
                [(np.array(other(at + k * h * e)) - np.array(other(at - k * h * e))).ravel() for e in E] for k in (1, 2)
            )
            differences = (8 * np.array(near) - np.array(far)).T / (12 * h)
            assert np.abs(exact - differences).max() < 1e-7 * max(1.0, np.abs(exact).max())
