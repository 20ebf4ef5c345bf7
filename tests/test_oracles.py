"""The independent derivations in `tests.oracles` agree with each other and with closed forms; the printed misprints
show."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.oracles import analytic, curves, five, implicit, planar, printed, runs, spatial, supports

Z = np.array([0.0, 0.0, 1.0])
ELLIPSOID = implicit.ellipsoid([0.3, 0.2, 0.15])
HANDS = {
    "plane": implicit.Plane(),
    "sphere": implicit.sphere(0.5),
    "ellipsoid": implicit.ellipsoid([0.4, 0.5, 0.6]),
    "dish": implicit.dish([2.0, 1.5, 1.2]),
    "cylinder": implicit.cylinder(0.5),
    "tube": implicit.tube(1.5),
    "torus": implicit.Torus(1.0, 0.6),
}


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return spatial.rotation(rng.normal(size=4))


def random_case(hand_shape, law: str, seed: int, shape=ELLIPSOID):
    """Body, state, moving and accelerating hand, its body twist and control, and the contact's seed."""
    rng = np.random.default_rng(seed)
    body = spatial.Body(shape, 1.3, np.diag([0.02, 0.025, 0.03]), 0.02 * rng.normal(size=3))
    twist, control = rng.normal(size=6), 3 * rng.normal(size=6)
    hand = spatial.hand_from_body_twist(random_rotation(rng), rng.normal(size=3), twist, control)
    d = rng.normal(size=3)
    if isinstance(hand_shape, implicit.Plane):
        x_h = np.r_[d[:2], 0.0]
    elif isinstance(hand_shape, implicit.Torus):
        x_h = hand_shape.seed(spatial.unit(np.r_[d[:2] + np.sign(d[:2]), 0.2 * d[2]]))
    elif hand_shape.weights[2] == 0.0:
        x_h = implicit.point_with_normal(hand_shape, spatial.unit(np.r_[d[:2], 0.0])) + 0.3 * Z
    else:
        x_h = implicit.point_with_normal(hand_shape, spatial.unit(d))
    R, w = random_rotation(rng), 3 * rng.normal(size=3)
    n = hand.R @ hand_shape.normal(x_h)
    if law == "pure-rolling":
        w = w - n * (n @ (w - hand.w))
    state = spatial.place(body, hand_shape, hand, x_h, R, w)
    x_o = shape.point(-R.T @ n) if isinstance(shape, supports.Support) else implicit.point_with_normal(shape, -R.T @ n)
    return body, state, hand, twist, control, (x_o, x_h)


def ball(radius: float = 0.2, mass: float = 0.1) -> spatial.Body:
    return spatial.Body(implicit.sphere(radius), mass, 0.4 * mass * radius**2 * np.eye(3))


def test_the_oracles_import_nothing_of_the_package():
    # CasADi only to differentiate Lagrangians.
    for file in (Path(__file__).parent / "oracles").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            known = {
                "__future__",
                "abc",
                "casadi",
                "collections",
                "dataclasses",
                "functools",
                "itertools",
                "numpy",
                "scipy",
                "typing",
            }
            assert {n.split(".")[0] for n in names} <= known, file


# Shapes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "x"),
    [
        (implicit.Plane(), [0.3, 0.2, 0.0]),
        (ELLIPSOID, [0.2, 0.1, 0.05]),
        (implicit.dish([2, 1.5, 1.2]), [1.0, 0.5, -0.8]),
        (implicit.tube(0.5), [0.3, 0.4, 0.7]),
        (implicit.Torus(1.0, 0.3), [0.9, 0.6, 0.2]),
        (implicit.Capsule(0.1, 0.4), [0.05, 0.05, 0.25]),
        (implicit.Capsule(0.1, 0.4), [0.05, 0.08, 0.1]),
        (implicit.Graph(lambda x, y: x * x * y, lambda x, y: np.array([2 * x * y, x * x]),
                        lambda x, y: np.array([[2 * y, 2 * x], [2 * x, 0.0]])), [0.3, 0.4, 0.1]),
        (implicit.Revolution(lambda z: (1 + z * z, 2 * z, 2.0)), [0.6, 0.8, 0.2]),
    ],
)  # fmt: skip
def test_gradients_and_normals_rates_are_finite_differences(shape, x):
    x, h = np.array(x, float), 1e-5
    for e in np.eye(3):
        assert (shape.value(x + h * e) - shape.value(x - h * e)) / (2 * h) == pytest.approx(
            shape.gradient(x) @ e, abs=1e-8
        )
        slope = (shape.gradient(x + h * e) - shape.gradient(x - h * e)) / (2 * h)
        np.testing.assert_allclose(slope, shape.hessian(x) @ e, atol=1e-7)
        slope = (shape.normal(x + h * e) - shape.normal(x - h * e)) / (2 * h)
        np.testing.assert_allclose(slope, shape.normal_derivative(x) @ e, atol=1e-7)


@pytest.mark.parametrize(
    "shape",
    [supports.ellipsoid([0.3, 0.2, 0.1]), supports.superellipsoid([0.3, 0.2, 0.1], 1.6), supports.disc(0.2),
     supports.rounded(supports.superellipsoid([0.3, 0.2, 0.1], 3.0), 0.02), supports.torus(0.3, 0.1)],
)  # fmt: skip
def test_support_points_have_their_normal_and_radii(shape):
    d, h = spatial.unit(np.array([0.5, -0.6, 0.4])), 1e-6
    assert np.abs(shape.radii(d) @ d).max() < 1e-12
    for e in np.eye(3):
        t = e - d * (e @ d)
        slope = (shape.point(spatial.unit(d + h * t)) - shape.point(spatial.unit(d - h * t))) / (2 * h)
        np.testing.assert_allclose(slope, shape.radii(d) @ t, atol=1e-8)


def test_ellipsoid_as_level_and_as_support_move_alike():
    for seed in range(5):
        body, state, hand, *_, start = random_case(HANDS["dish"], "rolling", seed)
        twin = spatial.Body(supports.ellipsoid([0.3, 0.2, 0.15]), body.mass, body.inertia, body.center_of_mass)
        one = spatial.accelerations(body, state, HANDS["dish"], hand, seed=start)
        two = spatial.accelerations(twin, state, HANDS["dish"], hand, seed=start)
        for key in ("alpha", "a", "force", "S_object"):
            np.testing.assert_allclose(one[key], two[key], rtol=1e-11, atol=1e-11)


# Space --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HANDS)
def test_contact_speeds_and_normal_rate_are_finite_differences_of_the_search(name):
    shape = HANDS[name]
    body, state, hand, *_, seed = random_case(shape, "rolling", 3)
    c = spatial.find_contact(body, state, shape, hand, seed)
    assert abs(c.gap) < 1e-13
    slip = np.cross(c.normal, [0.3, -0.2, 0.5])  # slide as well
    state = spatial.State(state.R, state.p, state.w, state.v + slip)
    s_o, s_h = spatial.contact_speeds(body, state, shape, hand, c, slip)
    h, ends = 1e-5, []
    for t in (-h, h):
        turned = [Rotation.from_rotvec(w * t).as_matrix() for w in (state.w, hand.w)]
        moved = spatial.State(turned[0] @ state.R, state.p + t * state.v, state.w, state.v)
        other = spatial.Hand(turned[1] @ hand.R, hand.r + t * hand.v, hand.w, hand.v)
        ends.append(spatial.find_contact(body, moved, shape, other, seed))
    rate = (ends[1].x_object - ends[0].x_object) / (2 * h), (ends[1].x_hand - ends[0].x_hand) / (2 * h)
    np.testing.assert_allclose(state.R @ rate[0], s_o, atol=3e-7)
    np.testing.assert_allclose(hand.R @ rate[1], s_h, atol=3e-7)
    n_dot = np.cross(hand.w, c.normal) + hand.R @ shape.normal_derivative(c.x_hand) @ hand.R.T @ s_h
    np.testing.assert_allclose((ends[1].normal - ends[0].normal) / (2 * h), n_dot, atol=3e-7)


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
@pytest.mark.parametrize("name", HANDS)
def test_dense_system_is_the_papers_route_with_k4_mended_and_not_as_printed(name, law):
    shape = HANDS[name]
    for seed in range(4):
        body, state, hand, twist, control, start = random_case(shape, law, seed)
        right = spatial.accelerations(body, state, shape, hand, law, seed=start)
        paper = printed.paper_accelerations(body, state, shape, hand, twist, control, law, seed=start)
        wrong = printed.paper_accelerations(body, state, shape, hand, twist, control, law, seed=start, printed=True)
        size = np.linalg.norm(right["force"])
        for key in ("alpha", "a", "force", "moment"):
            np.testing.assert_allclose(paper[key], right[key], atol=1e-12 * (size + 1) * 100, rtol=1e-11)
        assert np.linalg.norm(wrong["force"] - right["force"]) > 0.01 * size


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_acceleration_rows_keep_gap_slip_and_spin_without_stabilisation(law):
    body, state, hand, twist, _, seed = random_case(HANDS["dish"], law, 5)
    system = runs.System(body, HANDS["dish"], lambda t: np.cos(3 * t + np.arange(6)), law=law, baumgarte=0.0)
    run = runs.integrate(system, runs.pack(state, hand.R, hand.r, twist), 0.3, np.linspace(0, 0.3, 4), seed=seed)
    for out, obj, palm in zip(run["outputs"], run["states"], run["hands"], strict=True):
        assert abs(out["contact"].gap) < 1e-11
        assert np.abs(out["slip"]).max() < 1e-10
        if law == "pure-rolling":
            assert abs(out["contact"].normal @ (obj.w - palm.w)) < 1e-10


def test_ball_on_a_spinning_plate_runs_on_its_circle():
    body, twist = ball(), np.array([0, 0, 7.0, 0, 0, 0])
    state = spatial.place(
        body, implicit.Plane(), spatial.Hand(w=7 * Z), np.zeros(3), np.eye(3), np.array([1.0, 0, 3.0])
    )
    run = runs.integrate(runs.System(body, implicit.Plane()), runs.pack(state, np.eye(3), np.zeros(3), twist), 2.0)
    circle = analytic.plate_circle(state.p, state.v, 7.0)
    assert (circle.rate, circle.radius) == pytest.approx((2.0, 0.1))
    np.testing.assert_allclose(run["x"][:, 4:7], circle.position(run["t"]), atol=1e-12)


def test_ball_on_a_tilted_spinning_plate_drifts():
    tilt, body = 0.1, ball()
    R = spatial.rotation(np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]))
    hand = spatial.hand_from_body_twist(R, np.zeros(3), np.array([0, 0, 7.0, 0, 0, 0]), np.zeros(6))
    state = spatial.place(body, implicit.Plane(), hand, np.array([0.1, 0.2, 0]), np.eye(3), np.array([0.4, 0.5, 1.0]))
    run = runs.integrate(
        runs.System(body, implicit.Plane()), runs.pack(state, R, np.zeros(3), np.array([0, 0, 7.0, 0, 0, 0])), 1.5
    )
    path = analytic.tilted_plate_path(run["t"], R.T @ state.p, R.T @ state.v, 7.0, tilt)
    np.testing.assert_allclose((run["x"][:, 4:7] @ R)[:, :2], path, atol=1e-11)
    assert analytic.tilted_plate_drift(7.0, tilt)[0] == pytest.approx(2.5 * 9.81 * np.sin(tilt) / 7)


def test_rolling_in_a_still_dish_keeps_its_energy():
    body = spatial.Body(
        implicit.ellipsoid([0.2, 0.15, 0.1]), 1.0, spatial.solid_ellipsoid_inertia(1.0, [0.2, 0.15, 0.1])
    )
    shape, hand = implicit.dish([1.0, 0.8, 0.7]), spatial.Hand()
    state = spatial.place(body, shape, hand, implicit.point_with_normal(shape, spatial.unit([0.2, 0.3, 1.0])),
                          np.eye(3), np.array([1.0, -2.0, 3.0]))  # fmt: skip
    run = runs.integrate(
        runs.System(body, shape), runs.pack(state, np.eye(3), np.zeros(3), np.zeros(6)), 0.4, np.linspace(0, 0.4, 4)
    )
    energies = [spatial.energy(body, s) for s in run["states"]]
    assert np.ptp(energies) < 1e-11 * abs(energies[0])
    assert max(abs(out["contact"].gap) for out in run["outputs"]) < 1e-12


def test_ball_in_a_vertical_tube_bobs():
    body, shape, orbit = ball(0.1), implicit.tube(0.5), 6.0
    w = np.array([2.0, 0.0, -0.4 * orbit / 0.1])
    state = spatial.place(body, shape, spatial.Hand(), np.array([0.5, 0, 0]), np.eye(3), w)
    assert state.v == pytest.approx([0.0, 0.4 * orbit, 0.0])
    run = runs.integrate(runs.System(body, shape), runs.pack(state, np.eye(3), np.zeros(3), np.zeros(6)), 0.6)
    path = analytic.tube_axial_path(run["t"], orbit, 0.4, 0.1, 0.0, 0.0, w[0])
    np.testing.assert_allclose(run["x"][:, 6], path, atol=1e-10)
    assert analytic.tube_axial_ratio() == pytest.approx(np.sqrt(2 / 7))


@pytest.mark.parametrize("law", ["rolling", "sliding"])
def test_jellett_and_routh(law):
    mass, radius, offset, I1, I3 = 0.1, 0.05, 0.01, 1.1e-4, 1.4e-4
    body = spatial.Body(implicit.sphere(radius), mass, np.diag([I1, I1, I3]), np.array([0, 0, -offset]))
    R = spatial.rotation(np.array([0.8, 0.5, 0.2, 0.1]))
    state = spatial.place(body, implicit.Plane(), spatial.Hand(), np.zeros(3), R, np.array([3.0, 2.0, 30.0]))
    if law == "sliding":
        state = spatial.State(state.R, state.p, state.w, state.v + np.array([0.3, 0.2, 0.0]))
    system = runs.System(body, implicit.Plane(), mu=0.2)
    run = runs.integrate(
        system, runs.pack(state, np.eye(3), np.zeros(3), np.zeros(6)), 0.04, np.linspace(0, 0.04, 4), law=law
    )
    pairs = list(zip(run["states"], run["outputs"], strict=True))
    jellett = [analytic.jellett(s.R, s.w, body.inertia, o["contact"].point_object - s.p) for s, o in pairs]
    routh = [analytic.routh(s.R, s.w, I1, I3, mass, radius, offset) for s, _ in pairs]
    assert np.ptp(jellett) < 1e-11 * abs(jellett[0])
    assert (np.ptp(routh) < 1e-11 * abs(routh[0])) == (law == "rolling")


def test_disc_rolls_in_place():
    r, tilt, m = 0.1, 0.4, 0.3
    body = spatial.Body(supports.disc(r), m, m * r * r * np.diag([0.25, 0.25, 0.5]))
    rate = analytic.steady_disc_rate(r, tilt)
    R = spatial.rotation(
        np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0, 0])
    )  # disc axis (0, -sin, cos): lowest rim point at -y
    w = rate * np.sin(tilt) * R @ np.array([0, 1.0, 0])
    state = spatial.place(body, implicit.Plane(), spatial.Hand(), np.zeros(3), R, w)
    out = spatial.accelerations(body, state, implicit.Plane(), spatial.Hand())
    np.testing.assert_allclose(state.v, 0.0, atol=1e-14)
    np.testing.assert_allclose(out["a"], 0.0, atol=1e-12)
    np.testing.assert_allclose(out["alpha"], np.cross(rate * Z, w), rtol=1e-12, atol=1e-12)


# Modes --------------------------------------------------------------------------------------------------------------


def test_sliding_ball_begins_to_roll():
    body, v0, mu = ball(), 2.0, 0.3
    state = spatial.State(np.eye(3), 0.2 * Z, np.zeros(3), np.array([v0, 0, 0]))
    legs = runs.chain(
        runs.System(body, implicit.Plane(), mu=mu),
        runs.pack(state, np.eye(3), np.zeros(3), np.zeros(6)),
        1.0,
        "sliding",
    )
    time, speed = analytic.sliding_ball(v0, mu)
    assert [leg["end"] for leg in legs] == ["stick", "end"]
    assert legs[0]["t1"] == pytest.approx(time, abs=1e-11)
    assert legs[-1]["x1"][10] == pytest.approx(speed, abs=1e-11)


@pytest.mark.parametrize(("factor", "law"), [(0.99, "rolling"), (1.01, "sliding")])
def test_ball_on_a_slope_slips_beyond_seven_halves_mu(factor, law):
    mu = 0.2
    slope = np.arctan(factor * np.tan(analytic.incline_slip_slope(mu)))
    g = 9.81 * np.array([np.sin(slope), 0, -np.cos(slope)])
    state = spatial.State(np.eye(3), 0.2 * Z, np.zeros(3), np.zeros(3))
    out = spatial.accelerations(ball(), state, implicit.Plane(), spatial.Hand(), gravity=g)
    holds = np.linalg.norm(out["tangential_force"]) <= mu * out["normal_force"]
    assert holds == (law == "rolling")
    assert out["a"][0] == pytest.approx(analytic.incline(slope, 0.4)[0])
    assert np.tan(analytic.incline_slip_slope(mu)) == pytest.approx(7 * mu / 2)


def test_ball_leaves_a_fixed_sphere():
    body, R, start = ball(0.2), 0.6, 0.3
    state = spatial.place(
        body,
        implicit.sphere(R),
        spatial.Hand(),
        R * np.array([np.sin(start), 0, np.cos(start)]),
        np.eye(3),
        np.zeros(3),
    )
    legs = runs.chain(runs.System(body, implicit.sphere(R)), runs.pack(state, np.eye(3), np.zeros(3), np.zeros(6)), 1.0)
    p = legs[0]["x1"][4:7]
    assert legs[0]["end"] == "separation"
    assert p[2] / np.linalg.norm(p) == pytest.approx(analytic.leaving_from(start), abs=1e-11)
    assert legs[0]["t1"] == pytest.approx(analytic.leaving_time(start, 0.2, R), abs=1e-11)
    assert analytic.leaving_cosine() == pytest.approx(10 / 17)


@pytest.mark.slow
def test_chain_slides_rolls_flies_and_lands():
    body = spatial.Body(
        implicit.ellipsoid([0.2, 0.18, 0.15]), 1.0, spatial.solid_ellipsoid_inertia(1.0, [0.2, 0.18, 0.15])
    )
    state = spatial.place(
        body, implicit.Plane(), spatial.Hand(v=0.8 * Z), np.zeros(3), np.eye(3), np.array([0.0, 3.0, 1.0])
    )
    state = spatial.State(state.R, state.p, state.w, state.v + np.array([0.2, 0.1, 0.0]))

    def shake(t: float) -> np.ndarray:
        return np.array([0, 0, 0, 0, 0, -16.0 * np.sin(20 * t)])

    system = runs.System(body, implicit.Plane(), shake, mu=0.8)
    legs = runs.chain(system, runs.pack(state, np.eye(3), np.zeros(3), np.r_[np.zeros(5), 0.8]), 0.25, "sliding")
    ends = [(leg["mode"], leg["end"]) for leg in legs]
    assert {"separation", "stick", "impact"} <= {end for _, end in ends}
    for leg in legs:
        if leg["mode"] != "separated":
            for t in np.linspace(leg["t0"], leg["t1"], 4):
                seen = runs.recheck(system, t, leg["sol"](t))
                assert abs(seen["gap"]) < 1e-9
                assert abs(seen["contact"].normal @ seen["slip"]) < 1e-8


@pytest.mark.parametrize("mu", [0.05, 5.0])
def test_plastic_impact_obeys_coulomb_and_loses_energy(mu):
    body, state, hand, *_, seed = random_case(HANDS["ellipsoid"], "rolling", 11)
    contact = spatial.find_contact(body, state, HANDS["ellipsoid"], hand, seed)
    state = spatial.State(
        state.R, state.p, state.w, state.v - 2.0 * contact.normal + np.cross(contact.normal, [1.0, 0.4, 0.2])
    )
    after, impulse, law = spatial.impact(body, state, hand, contact, mu)
    slip, n = spatial.slip_velocity(after, hand, contact), contact.normal
    assert abs(n @ slip) < 1e-13
    tangential = impulse - n * (n @ impulse)
    if law == "rolling":
        assert np.abs(slip).max() < 1e-13
        assert np.linalg.norm(tangential) <= mu * (n @ impulse)
    else:
        np.testing.assert_allclose(spatial.unit(tangential), -spatial.unit(slip), atol=1e-9)
        assert np.linalg.norm(tangential) == pytest.approx(mu * (n @ impulse))
    rel = 0.5 * impulse @ (spatial.slip_velocity(state, hand, contact) + slip)  # work in the hand's frame
    assert (law, rel < 0) == ("sliding" if mu < 1 else "rolling", True)


# Misprints ----------------------------------------------------------------------------------------------------------


def test_paper_1_multiplier_and_contact_rate():
    rng = np.random.default_rng(2)
    R, w, n = random_rotation(rng), rng.normal(size=3), spatial.unit(rng.normal(size=3))
    B = R @ np.diag(np.square([0.15, 0.08, 0.05])) @ R.T
    s, h = np.sqrt(n @ B @ n), 1e-6
    x = printed.contact_point(B, n)
    np.testing.assert_allclose(2 * np.linalg.solve(B, x), -printed.multiplier(B, n) * n, atol=1e-9)
    assert printed.multiplier(B, n, printed=True) / printed.multiplier(B, n) == pytest.approx(s**2)

    def at(t: float) -> np.ndarray:
        Q = Rotation.from_rotvec(w * t).as_matrix()
        return printed.contact_point(Q @ B @ Q.T, n)

    rate = printed.contact_rate(B, n, w)
    np.testing.assert_allclose((at(h) - at(-h)) / (2 * h), rate, atol=1e-9)
    np.testing.assert_allclose(printed.contact_rate(B, n, w, printed=True), s * rate, rtol=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_contact_frame_quantities_and_the_signs_of_4_and_45(side):
    axes_h = [0.8, 0.9, 1.0] if side > 0 else [2.0, 1.7, 1.5]
    u_o, u_h, psi, w = np.array([0.4, 0.3]), np.array([0.7, -0.5]), 0.9, np.array([1.0, -2.0, 0.0])
    o = printed.chart_point(printed.ellipsoid_chart([0.3, 0.2, 0.15]), u_o)
    h = printed.chart_point(printed.ellipsoid_chart(axes_h, side), u_h)
    q = printed.contact_frame(o, h, psi, w)
    assert np.linalg.eigvalsh(q["curvature"]).max() < 0
    hand_shape = implicit.ellipsoid(axes_h) if side > 0 else implicit.dish(axes_h)
    body = spatial.Body(implicit.ellipsoid([0.3, 0.2, 0.15]), 1.0, np.eye(3))
    state = spatial.State(q["R_ho"], h.x - q["R_ho"] @ o.x, h.R @ w, np.zeros(3))
    c = spatial.Contact(o.x, h.x, h.x, h.x, h.R[:, 2], 0.0)
    s_o, s_h = spatial.contact_speeds(body, state, hand_shape, spatial.Hand(), c)
    np.testing.assert_allclose(h.R[:, :2] @ q["s"], s_o, atol=1e-13)
    np.testing.assert_allclose(q["a_roll"], -h.R.T @ np.cross(h.R @ w, s_o), atol=1e-13)
    np.testing.assert_allclose(q["a_roll_printed"], -q["a_roll"], atol=1e-13)
    assert q["alpha_z_printed"] == pytest.approx(-q["alpha_z"])
    assert q["alpha_z"] == pytest.approx(np.cross(q["w_hch"], w)[2])
    assert abs(q["alpha_z"]) > 1e-3
    # (46) holds the spin at zero: n . w_rel along the exact motion with alpha = alpha_z n
    n_dot = hand_shape.normal_derivative(h.x) @ s_h
    assert q["alpha_z"] == pytest.approx(-(h.R @ w) @ n_dot)


def test_finite_chart_is_the_analytic_chart():
    exact = printed.ellipsoid_chart([0.3, 0.2, 0.15])
    near = printed.finite_chart(lambda u, v: exact(u, v)[0], 1e-3)
    one, two = printed.chart_point(exact, [0.4, 0.3]), printed.chart_point(near, [0.4, 0.3])
    np.testing.assert_allclose(one.H, two.H, atol=1e-6)
    np.testing.assert_allclose(one.tau, two.tau, atol=1e-6)


def test_printed_k4_is_wrong_for_the_plate_test():
    twist = np.array([0, 0, 7.0, 0, 0, 0])
    hand = spatial.hand_from_body_twist(np.eye(3), np.zeros(3), twist, np.zeros(6))
    state = spatial.place(ball(), implicit.Plane(), hand, np.zeros(3), np.eye(3), np.array([1.0, 0, 0]))
    plane, still = implicit.Plane(), np.zeros(6)
    forces = [
        printed.paper_accelerations(ball(), state, plane, hand, twist, still, printed=p)["force"][2]
        for p in (False, True)
    ]
    assert forces == pytest.approx([0.981, 0.961])


@pytest.mark.parametrize(("wrong", "low", "high"), [(False, 0.0, 1e-5), (True, 917.0, 919.0)])
def test_printed_k4_loses_a_spinning_ball(wrong, low, high):
    path = printed.ball_on_spinning_plate(
        0.2, 0.1, 7.0, np.array([1.0, 0, 3.0 - 7.0]), 5.0, wrong, np.linspace(0, 5, 51)
    )
    circle = analytic.plate_circle(
        np.zeros(3), analytic.plate_center_velocity(np.zeros(3), np.array([1.0, 0, 3]), 7.0, 0.2), 7.0
    )
    error = 100 * np.abs(np.linalg.norm(path - circle.center[:2], axis=1) / circle.radius - 1).max()
    assert low <= error <= high


# Plane --------------------------------------------------------------------------------------------------------------

CASES = {
    "rock": (curves.rock(), curves.undulating(), 0.045, [0.0, 0.0]),
    "ellipse in bowl": (curves.ellipse(0.25, 0.12), curves.arc(1.0), 0.02, [0.03, -0.02]),
    "ellipse on sinusoid": (curves.ellipse(0.25, 0.12), curves.sinusoid(0.06, 2.0), 0.02, [0.0, 0.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_planar_forces_and_rates_are_differences_along_the_run(name):
    body, terrain, inertia, com = CASES[name]
    system = planar.Rolling(body, terrain, 1.0, inertia, np.array(com))
    phi, p = system.find(0.3, 0.4)
    h = 2e-4
    run = system.run(phi, p, system.speed(phi, p, 1.5), 0.5, np.array([0, 0.3 - h, 0.3, 0.3 + h, 0.5]))
    before, now, after = run["looks"][1:4]
    np.testing.assert_allclose((after["position"] - before["position"]) / (2 * h), now["velocity"], atol=3e-6)
    np.testing.assert_allclose((after["velocity"] - before["velocity"]) / (2 * h), now["acceleration"], atol=2e-5)
    assert (after["omega"] - before["omega"]) / (2 * h) == pytest.approx(now["alpha"], rel=1e-5, abs=1e-5)
    # moment balance about the centre of mass and no slip: not used in the derivation
    rho = now["contact"] - now["position"]
    assert curves.cross(rho, now["force"]) == pytest.approx(inertia * now["alpha"], rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(now["velocity"] + now["omega"] * planar.S @ rho, 0.0, atol=1e-13)
    assert np.ptp([look["energy"] for look in run["looks"]]) < 1e-12 * abs(now["energy"]) + 1e-13
    assert run["y"][-1][3] == pytest.approx(system.angle(*run["y"][-1][:2]), abs=1e-12)


def test_planar_body_and_its_spatial_twin_move_alike():
    system = planar.Rolling(curves.ellipse(0.25, 0.12), curves.line(), 1.0, 0.02, np.array([0.03, -0.02]))
    phi, p = system.find(0.0, 0.4)
    flat = system.instant(phi, p, system.speed(phi, p, 1.5))
    body = spatial.Body(
        implicit.ellipsoid([0.25, 0.2, 0.12]), 1.0, np.diag([0.1, 0.02, 0.1]), np.array([0.03, 0.0, -0.02])
    )
    R = spatial.rotation(np.array([np.cos(0.2), 0, -np.sin(0.2), 0]))  # counter-clockwise in x-z is about -y
    state = spatial.place(body, implicit.Plane(), spatial.Hand(), np.zeros(3), R, np.array([0, -1.5, 0]))
    out = spatial.accelerations(body, state, implicit.Plane(), spatial.Hand())
    np.testing.assert_allclose(out["force"][[0, 2]], flat["force"], rtol=1e-12)
    assert out["alpha"][1] == pytest.approx(-flat["alpha"])


def test_five_coordinates_with_the_cross_row_are_the_arc_length_motion():
    body, terrain, inertia, _ = CASES["ellipse on sinusoid"]
    system = planar.Rolling(body, terrain, 1.0, inertia)
    phi, p = system.find(0.3, 0.4)
    exact = system.instant(phi, p, system.speed(phi, p, 0.5))
    for rows, outline, at in (("cross", body, phi), ("printed", body.reversed(), -phi)):
        model = five.FiveCoordinates(outline, terrain, 1.0, inertia, rows)
        q, qd = model.start(at, p, 0.5)
        A = model.constraint(q, qd)[0]
        ranks = np.linalg.matrix_rank(A, tol=1e-10), np.linalg.matrix_rank(model.matrix(q, qd), tol=1e-10)
        assert ranks == ((4, 9) if rows == "cross" else (3, 7))
        np.testing.assert_allclose(A @ qd, 0.0, atol=1e-14)
        np.testing.assert_allclose(
            model.acceleration(q, qd)[:3], np.r_[exact["acceleration"], exact["alpha"]], rtol=1e-9
        )
    # the printed plus sign on curves that run alike leaves twice the contact's speed
    model = five.FiveCoordinates(body, terrain, 1.0, inertia, "cross")
    q, qd = model.start(phi, p, 0.5)
    left = five.FiveCoordinates(body, terrain, 1.0, inertia, "printed").constraint(q, qd)[0][0] @ qd
    assert left == pytest.approx(2 * system.speed(phi, p, 0.5))


@pytest.mark.slow
def test_printed_rows_diverge_where_the_cross_row_does_not():
    body, terrain, inertia, _ = CASES["ellipse on sinusoid"]
    system = planar.Rolling(body, terrain, 1.0, inertia)
    phi, p = system.find(0.3, 0.4)
    times = np.linspace(0, 3, 31)
    exact = np.array([look["position"] for look in system.run(phi, p, system.speed(phi, p, 0.5), 3.0, times)["looks"]])
    seen = {}
    for rows, outline, at in (("cross", body, phi), ("printed", body.reversed(), -phi)):
        model = five.FiveCoordinates(outline, terrain, 1.0, inertia, rows)
        q, qd = model.start(at, p, 0.5)
        fine, coarse = model.run(q, qd, times), model.run(q, qd, times, "RK23", 1e-3, 1e-6)
        failed = coarse["status"] != 0
        error = np.inf if failed else np.abs(coarse["q"][:, :2] - exact).max()
        seen[rows] = (
            np.abs(fine["q"][:, :2] - exact).max(),
            model.misalignment(fine["q"][-1]),
            fine["evaluations"],
            error,
        )
    assert seen["cross"][0] < 1e-8
    assert seen["cross"][1] < 1e-8
    assert seen["cross"][3] < 5e-3
    assert seen["printed"][1] > 1e-6  # tangents drift apart
    assert seen["printed"][2] > 2 * seen["cross"][2]  # more evaluations
    assert seen["printed"][3] > 0.1  # loose tolerance: lost or stuck


def test_disc_on_an_incline_and_in_a_bowl():
    slope, m, r = 0.3, 2.0, 0.2
    disc = planar.Rolling(curves.circle(r), curves.line(-np.tan(slope)), m, 0.5 * m * r * r)
    phi, p = disc.find(0.0, 0.0)
    now = disc.instant(phi, p, 0.0)
    a, friction, normal = analytic.incline(slope, 0.5, m)
    assert (now["s_ddot"], abs(now["f_T"]), now["f_N"]) == pytest.approx((a, friction, normal), rel=1e-13)
    bowl = planar.Rolling(curves.circle(r), curves.arc(1.0), m, 0.5 * m * r * r)
    period = analytic.bowl_period(0.9, r, 1.0)
    run = bowl.run(0.9 - np.pi / 2, 0.9, 0.0, period, np.array([0, period / 2, period]))
    assert run["y"][1, 1] == pytest.approx(-0.9, abs=1e-10)
    assert run["y"][2, 1] == pytest.approx(0.9, abs=1e-10)


def test_coins_cycloid_and_square_wheel():
    coins = planar.Rolling(curves.circle(0.3), curves.arc(0.3, side="outside"), 1.0, 0.1)
    k = coins.body.curvature(0.0)[0] - coins.terrain.curvature(0.0)[0]
    assert (
        2 * np.pi / k
        == pytest.approx(analytic.coin_paradox(0.3))
        == pytest.approx(analytic.circle_on_circle_arc(0.3, 0.3, 2 * np.pi))
    )
    height = coins.instant(-np.pi / 2 + 0.5, 0.5, 1.0)["position"][1]
    assert height == pytest.approx(analytic.circle_on_circle_height(0.3, 0.3, 1.0))
    wheel = planar.Rolling(curves.circle(0.2), curves.line(), 1.0, 0.1)
    now = wheel.instant(-np.pi / 2 + 1.3, 0.26, 1.0)
    rim = now["position"] + planar.turn(now["angle"]) @ [0, -0.2]
    np.testing.assert_allclose(rim, analytic.cycloid(0.2, np.array([1.3]))[0], atol=1e-14)
    a = 0.2
    side = curves.Curve(lambda t: np.array([[t, -a], [1.0, 0], [0, 0], [0, 0]]))
    square = planar.Rolling(side, curves.catenary(a), 1.0, 0.01)
    for x in (0.0, 0.05, 0.15):
        now = square.instant(a * np.sinh(x / a), x, 1.0)
        center, angle = analytic.square_wheel(a, x)
        np.testing.assert_allclose(now["position"], center, atol=1e-14)
        assert now["angle"] == pytest.approx(angle)


@pytest.mark.parametrize("k", [0.5, 1.0])
def test_planar_separation_instant(k):
    r, R, start = 0.1, 0.5, 0.4
    disc = planar.Rolling(curves.circle(r), curves.arc(R, side="outside"), 1.0, k * r * r)
    run = disc.run(-np.pi / 2 + start, start, 0.0, 2.0, stop="separation")
    assert run["event"] == pytest.approx(analytic.leaving_time(start, r, R, k), abs=1e-11)
    assert np.cos(run["y"][-1, 1]) == pytest.approx(analytic.leaving_from(start, k), abs=1e-11)


def test_planar_sliding_sticks_and_its_contact_speeds_are_differences():
    r, mu, v0 = 0.2, 0.3, 2.0
    disc = planar.Rolling(curves.circle(r), curves.line(), 1.0, 0.5 * r * r)
    run = disc.slide(-np.pi / 2, 0.0, np.array([v0, 0.0]), 0.0, mu, 2.0)
    time, speed = analytic.sliding_ball(v0, mu, 0.5)
    assert run["end"] == "stick"
    assert (run["event"], run["y"][-1, 4]) == pytest.approx((time, speed), abs=1e-12)
    body, terrain, inertia, com = CASES["ellipse in bowl"]
    system = planar.Rolling(body, terrain, 1.0, inertia, np.array(com))
    phi, p = system.find(0.3, 0.4)
    v = system.instant(phi, p, system.speed(phi, p, 1.5))["velocity"] + 0.7 * system.terrain.tangent(p)[0]
    run = system.slide(phi, p, v, 1.5, 0.4, 0.2, np.linspace(0, 0.1, 5))
    for row in run["y"]:
        found = system.nearest(row[2:4], row[7], (row[0], row[1]))
        np.testing.assert_allclose(found, [row[0], row[1], 0.0], atol=1e-11)


def test_planar_impacts():
    body, terrain, inertia, com = CASES["ellipse in bowl"]
    system = planar.Rolling(body, terrain, 1.0, inertia, np.array(com))
    phi, p = system.find(0.3, 0.4)
    rho = planar.turn(0.4) @ (body.at(phi)[0] - system.com)
    hit = system.impact(phi, p, np.array([0.5, -2.0]), 1.0, 0.4)
    assert hit["omega"] == pytest.approx(analytic.inelastic_catch(1.0, np.array([0.5, -2.0]), rho, 1.0, inertia))
    np.testing.assert_allclose(hit["velocity"] + hit["omega"] * planar.S @ rho, 0.0, atol=1e-14)
    slid = system.impact(phi, p, np.array([3.0, -1.0]), 1.0, 0.4, mu=0.1)
    T, N = terrain.tangent(p)[0], planar.S @ terrain.tangent(p)[0]
    assert slid["law"] == "sliding"
    assert abs(T @ slid["impulse"]) == pytest.approx(0.1 * (N @ slid["impulse"]))
    assert N @ (slid["velocity"] + slid["omega"] * planar.S @ rho) == pytest.approx(0.0, abs=1e-13)


def test_peanut_rocks_from_one_foot_to_the_other():
    before, after, ratio = analytic.PEANUT_ROCKING
    assert (after / before) ** 2 == pytest.approx(ratio, abs=1e-4)
    before = -before  # clockwise: onto the right foot
    # a body on two feet: the impact law of `planar` is the conservation about the new foot
    feet, inertia = np.array([[-0.2, -0.1], [0.2, -0.1]]), 0.05
    system = planar.Rolling(
        curves.Curve(lambda t: np.array([feet[1], [1.0, 0], [0, 1.0], [0, 0]])), curves.line(), 1.0, inertia
    )
    v = -before * planar.S @ feet[0]
    hit = system.impact(0.0, 0.2, v, before, 0.0)
    assert hit["omega"] / before == pytest.approx(analytic.rocking_ratio(1.0, inertia, feet[0], feet[1]))
    energy = (np.dot(hit["velocity"], hit["velocity"]) + inertia * hit["omega"] ** 2) / (v @ v + inertia * before**2)
    assert energy == pytest.approx(analytic.rocking_ratio(1.0, inertia, feet[0], feet[1]) ** 2)


def test_catch_that_brings_an_ellipse_upright():
    a, b, m, inertia, phi = 0.0754, 0.0504, 0.0553, 1e-4, 0.3
    system = planar.Rolling(curves.ellipse(a, b), curves.line(), m, inertia)
    at, p = system.find(0.0, phi)
    rate = analytic.catch_to_upright(phi, a, b, m, inertia)
    now = system.instant(at, p, system.speed(at, p, rate))
    assert now["energy"] == pytest.approx(m * 9.81 * a, rel=1e-12)
