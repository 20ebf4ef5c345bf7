"""Rolling kinematics of first and second order, the control-affine form, and what the paper prints wrong."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.contact import pairs
from tests.oracles import analytic, implicit, printed, spatial
from trundle.contact.laws import LAWS
from trundle.errors import InputError
from trundle.geometry import ExpressionChart
from trundle.models.tree.rolling_kinematics import RollingKinematics, control_affine

OBJECT, HAND = [0.3, 0.2, 0.15], [1.0, 1.4, 1.2]
LAWS_AND_SIZES = [("rolling", 3, 0), ("pure-rolling", 2, 0), ("sliding", 3, 2)]


def sheared(chart: printed.Chart, shear: float) -> printed.Chart:
    """The same surface by u + shear v, v: a skewed chart, derivatives by the chain rule."""

    def turned(u: float, v: float):
        x, fu, fv, fuu, fuv, fvv = chart(u + shear * v, v)
        return (x, fu, shear * fu + fv, fuu, shear * fuu + fuv, shear**2 * fuu + 2 * shear * fuv + fvv)

    return turned


def expression(axes: list[float], side: float, shear: float) -> ExpressionChart:
    """The package's chart of the same formula; its normal is F_u x F_v, as the oracle's."""
    u = ca.SX.sym("u", 2)
    a = u[0] + shear * u[1]
    x = ca.vertcat(
        axes[0] * ca.cos(a) * ca.cos(u[1]), side * axes[1] * ca.sin(a) * ca.cos(u[1]), axes[2] * ca.sin(u[1])
    )
    return ExpressionChart(ca.Function("point", [u], [x]))


# Sphere on a dish by orthogonal charts, ellipsoid in a dish by skewed ones, ellipsoid on an ellipsoid.
SURFACES = {
    "orthogonal": (([0.2] * 3, 1.0, 0.0), ([1.3] * 3, -1.0, 0.0)),
    "skewed": ((OBJECT, 1.0, 0.3), (HAND, -1.0, -0.4)),
    "convex": ((OBJECT, 1.0, 0.0), (HAND, 1.0, 0.2)),
}


def charts(name: str):
    sides = SURFACES[name]
    return (
        [sheared(printed.ellipsoid_chart(a, s), k) for a, s, k in sides],
        [expression(a, s, k) for a, s, k in sides],
    )


def samples(name: str, count: int = 6):
    rng = np.random.default_rng(3)
    for _ in range(count):
        yield (
            np.r_[rng.uniform(-1, 1, 4), rng.uniform(0, 6)],
            rng.normal(size=3),
            0.3 * rng.normal(size=2),
            rng.normal(size=3),
        )


@pytest.mark.parametrize("name", SURFACES)
def test_first_order_is_equation_one(name):
    numbers, symbols = charts(name)
    rolling, pure = (RollingKinematics(*symbols, law=law).function() for law in ("rolling", "pure-rolling"))
    for q, w, _, _ in samples(name):
        o, h = (printed.chart_point(c, u) for c, u in zip(numbers, (q[:2], q[2:4]), strict=True))
        right = printed.contact_frame(o, h, q[4], w)
        expected = np.r_[right["u_o_rate"], right["u_h_rate"], right["psi_rate"]]
        np.testing.assert_allclose(np.array(rolling(q, w)).ravel(), expected, atol=1e-11)
        no_spin = printed.contact_frame(o, h, q[4], np.r_[w[:2], 0])
        expected = np.r_[no_spin["u_o_rate"], no_spin["u_h_rate"], no_spin["psi_rate"]]
        np.testing.assert_allclose(np.array(pure(q, w[:2])).ravel(), expected, atol=1e-11)


def test_first_order_is_the_orthogonal_charts_form_of_the_paper():
    # u' = sqrt(G)^-1 ..., with A = diag(|F_u|, |F_v|) there; q' = K1(q) w_rel is linear in w_rel.
    numbers, symbols = charts("orthogonal")
    model = RollingKinematics(*symbols)
    K1 = ca.Function("K1", [model.q], [ca.jacobian(model.xdot, model.u)])
    for q, w, _, _ in samples("orthogonal"):
        o, h = (printed.chart_point(c, u) for c, u in zip(numbers, (q[:2], q[2:4]), strict=True))
        for point in (o, h):
            assert abs(point.A[0, 1]) < 1e-14  # orthogonal
        c, s = np.cos(q[4]), np.sin(q[4])
        Rpsi = np.array([[c, -s], [-s, -c]])
        E1 = np.array([[0.0, -1.0], [1.0, 0.0]])
        turn = np.linalg.inv(Rpsi @ o.H @ Rpsi + h.H) @ E1
        root_o, root_h = (np.diag(np.diag(p.A)) for p in (o, h))
        K = np.zeros((5, 3))
        K[:2, :2] = np.linalg.inv(root_o) @ Rpsi @ turn
        K[2:4, :2] = np.linalg.inv(root_h) @ turn
        K[4, :2] = o.tau @ K[:2, :2] + h.tau @ K[2:4, :2]
        K[4, 2] = -1
        np.testing.assert_allclose(np.array(K1(q)), K, atol=1e-12)
        np.testing.assert_allclose(K @ w, np.array(model.function()(q, w)).ravel(), atol=1e-12)


# The bodies moved and the contact found again -------------------------------------------------------------------------


def found_again(name: str, q: np.ndarray, w: np.ndarray, v: np.ndarray, alpha: np.ndarray, a: np.ndarray, h: float):
    """q at the times -h, 0, h of the rigid motion with w, slip v, and their rates; contact kept to second order."""
    numbers, _ = charts(name)
    (axes_o, _, _), (axes_h, side_h, _) = SURFACES[name]
    o, hand = (printed.chart_point(c, u) for c, u in zip(numbers, (q[:2], q[2:4]), strict=True))
    c, s = np.cos(q[4]), np.sin(q[4])
    Rc = np.array([[c, -s, 0], [-s, -c, 0], [0, 0, -1.0]])
    F, R = hand.R, hand.R @ Rc @ o.R.T
    r = R @ o.x
    w_h, v_h, alpha_h = F @ w, F @ np.r_[v, 0.0], F @ alpha
    p, pdot = hand.x - r, v_h - np.cross(w_h, r)
    shape = implicit.dish(axes_h) if side_h < 0 else implicit.ellipsoid(axes_h)
    body = spatial.Body(implicit.ellipsoid(axes_o), 1.0, np.eye(3))

    def moved(t: float, normal: float):
        a_h = F @ np.r_[a, normal]
        pddot = a_h - np.cross(alpha_h, r) - np.cross(w_h, np.cross(w_h, r))
        W = implicit.skew(w_h)
        turn = np.eye(3) + t * W + t * t / 2 * (implicit.skew(alpha_h) + W @ W)
        U, _, Vt = np.linalg.svd(turn @ R)
        state = spatial.State(U @ Vt, p + t * pdot + t * t / 2 * pddot, w_h, pdot)
        return state, spatial.find_contact(body, state, shape, spatial.Hand(), (o.x, hand.x))

    gap = [sum(moved(t, n)[1].gap for t in (-h, h)) for n in (0.0, 1.0)]
    normal = gap[0] / (gap[0] - gap[1])
    out = []
    for t in (-h, 0.0, h):
        state, contact = moved(t, normal)
        u_o = coordinates(numbers[0], contact.x_object, q[:2])
        u_h = coordinates(numbers[1], contact.x_hand, q[2:4])
        turn = printed.chart_point(numbers[1], u_h).R.T @ state.R @ printed.chart_point(numbers[0], u_o).R
        psi = np.arctan2(-turn[0, 1], turn[0, 0])
        out.append(np.r_[u_o, u_h, q[4] + (psi - q[4] + np.pi) % (2 * np.pi) - np.pi])
    return out


def coordinates(chart: printed.Chart, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    for _ in range(30):
        F, fu, fv, *_ = chart(*u)
        u = u + np.linalg.lstsq(np.column_stack([fu, fv]), x - F, rcond=None)[0]
    return u


def a_rolling(name: str, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    numbers, _ = charts(name)
    o, h = (printed.chart_point(c, u) for c, u in zip(numbers, (q[:2], q[2:4]), strict=True))
    return printed.contact_frame(o, h, q[4], w)["a_roll"]


@pytest.mark.parametrize(("law", "w_size", "v_size"), LAWS_AND_SIZES)
@pytest.mark.parametrize("name", SURFACES)
def test_rates_and_accelerations_are_differences_of_the_geometry(name, law, w_size, v_size):
    _, symbols = charts(name)
    first, second = (RollingKinematics(*symbols, order=n, law=law) for n in (1, 2))
    assert (second.x.shape[0], second.u.shape[0]) == (5 + w_size + v_size, w_size + v_size)
    f1 = first.function()
    f2 = ca.Function("f", [second.x, second.u], [second.qdot, second.qddot, second.xdot])
    for q, w, v, alpha in samples(name, 3):
        w, v = np.r_[w[:w_size], np.zeros(3 - w_size)], v[:v_size]
        slip = np.r_[v, np.zeros(2 - v_size)]
        a = 0.5 * np.array([0.3, -0.7]) if v_size else a_rolling(name, q, w)[:2]
        if law == "pure-rolling":  # spin must stay zero along the contact frame's turning: (45), (46)
            numbers, _ = charts(name)
            o, h = (printed.chart_point(c, u) for c, u in zip(numbers, (q[:2], q[2:4]), strict=True))
            alpha = np.r_[alpha[:2], printed.contact_frame(o, h, q[4], w)["alpha_z"]]
        before, at, after = found_again(name, q, w, slip, alpha, a, 1e-3)
        x, u = np.r_[q, w[:w_size], v], np.r_[alpha[:w_size], a[:v_size]]
        rate, bend, xdot = (np.array(part).ravel() for part in f2(x, u))
        np.testing.assert_allclose(at, q, atol=1e-12)
        size = max(1.0, np.abs(rate).max(), np.abs(bend).max())
        np.testing.assert_allclose((after - before) / 2e-3, rate, atol=2e-4 * size**2)
        np.testing.assert_allclose((after - 2 * at + before) / 1e-6, bend, atol=2e-4 * size**2)
        np.testing.assert_allclose(np.array(f1(q, np.r_[w[:w_size], v])).ravel(), rate, atol=1e-12 * size)
        np.testing.assert_allclose(xdot[:5], rate, atol=1e-12 * size)


@pytest.mark.parametrize("name", SURFACES)
def test_rolling_needs_the_acceleration_of_equation_42_not_of_4(name):
    numbers, symbols = charts(name)
    model = RollingKinematics(*symbols, order=2)
    f = ca.Function("f", [model.x], [model.a_roll])
    for q, w, _, _ in samples(name):
        o, h = (printed.chart_point(c, u) for c, u in zip(numbers, (q[:2], q[2:4]), strict=True))
        right = printed.contact_frame(o, h, q[4], w)
        found = np.array(f(np.r_[q, w])).ravel()
        np.testing.assert_allclose(found, right["a_roll"], atol=1e-11)
        np.testing.assert_allclose(found, -right["a_roll_printed"], atol=1e-11)  # (4) as printed: the other sign


def test_only_two_surfaces_and_two_orders():
    _, (a, b) = charts("convex")
    curve = tr.Circle(1.0).representations.charts[0]
    for make, key in (
        (lambda: RollingKinematics(a, curve), "chart"), (lambda: RollingKinematics(a, b, order=3), "order"),
        (lambda: RollingKinematics(a, b, order=1.0), "order"), (lambda: RollingKinematics(a, b, law="fixed"), "law"),
    ):  # fmt: skip
        with pytest.raises(InputError) as error:
            make()
        assert error.value.key == key


# Control-affine form --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rolling", [None, "rolling", "pure"])
@pytest.mark.parametrize("law", ["rolling", "pure-rolling", "sliding", "separated"])
def test_drift_and_matrix_make_the_rate(law, rolling):
    if rolling and law != {"rolling": "rolling", "pure": "pure-rolling"}[rolling]:
        return
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")
    model = pairs.pose_model(A, B, "chart", rolling=rolling)
    d = model.dynamics([LAWS[law]])
    drift, matrix = control_affine(d)
    assert matrix.shape == (model.x.shape[0], 6)
    assert not ca.depends_on(ca.vertcat(drift, ca.vec(matrix)), model.u)
    f = ca.Function("f", [model.x, model.u], [drift + matrix @ model.u - d.xdot, d.xdot])
    states = pairs.random_states(A, B, "chart", "sliding" if law in ("sliding", "separated") else law, 5, seed=8)
    if rolling:
        from tests.models.tree.test_rolling_joint import columns

        x, u = columns(model, states)
    else:
        x, u = states.columns(model)
    for i in range(5):
        off, rate = (np.array(v).ravel() for v in f(x[:, i], 10 * u[:, i]))
        assert np.abs(off).max() < 1e-12 * np.abs(rate).max()


# The paper's printed dynamics -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_the_papers_route_agrees_when_its_misprints_are_corrected(law):
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")
    model, states = pairs.pose_model(A, B, "level"), pairs.random_states(A, B, "level", law, 5, seed=12)
    d = model.dynamics([LAWS[law]])
    f = ca.Function("f", [model.x, model.u], [d.nudot, d.forces[0], d.moments[0]])
    x, u = states.columns(model)
    for i in range(5):
        nudot, force, moment = (np.array(v).ravel() for v in f(x[:, i], u[:, i]))
        given = (states.body, states.objects[i], B.twin, states.hands[i], states.twists[i], states.controls[i], law)
        shared = {"gravity": np.array(pairs.GRAVITY), "seed": states.seeds[i]}
        paper = printed.paper_accelerations(*given, **shared)
        size = max(1.0, np.abs(force).max(), np.abs(nudot).max())
        np.testing.assert_allclose(nudot[:3], paper["alpha"], atol=1e-11 * size)
        np.testing.assert_allclose(nudot[3:], paper["a"], atol=1e-11 * size)
        np.testing.assert_allclose(force, paper["force"], atol=1e-11 * size)
        assert moment.item() == pytest.approx(paper["moment"], abs=1e-11 * size)
        k4 = printed.paper_accelerations(*given, **shared, printed=True, printed_spin=False)
        assert np.abs(k4["force"] - force).max() > 0.01 * size
        if law == "pure-rolling":
            spin = printed.paper_accelerations(*given, **shared, printed_spin=True)
            n = spin["contact"].normal
            ours = printed.paper_accelerations(*given, **shared)
            assert n @ spin["alpha_rel"] == pytest.approx(-n @ ours["alpha_rel"])
            assert np.abs(spin["alpha"] - nudot[:3]).max() > 1e-3


def test_a_spinning_ball_on_the_plate_keeps_its_circle_where_the_printed_form_loses_it():
    # Sheet 2 section 6: ball spin 3 rad/s, plate 7 rad/s, 5 s: printed K4 918 %; N = mg, not 0.961 N.
    ball = tr.RigidBody(tr.Sphere(0.2), 0.1)
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane(), twist=[0, 0, 7, 0, 0, 0]))
    run = tr.simulate(pair, pair.place(object_angular_velocity=[1, 0, 3]), 5.0, output_step=0.1)
    circle = analytic.plate_circle(np.zeros(3), analytic.plate_center_velocity(np.zeros(3), [1.0, 0, 3], 7.0, 0.2), 7.0)
    path = run["contact_position"]
    error = 100 * np.abs(np.linalg.norm(path[:, :2] - circle.center[:2], axis=1) / circle.radius - 1)
    assert error.max() < 1e-6
    np.testing.assert_allclose(run["contact_force"][:, 2], 0.981, atol=1e-10)
    times = np.linspace(0, 1, 11)
    wrong = printed.ball_on_spinning_plate(0.2, 0.1, 7.0, np.array([1.0, 0, 3 - 7.0]), 1.0, True, times)
    off = 100 * np.abs(np.linalg.norm(wrong - circle.center[:2], axis=1) / circle.radius - 1)
    assert off.max() > 10
