"""Minimal coordinates: a rolling joint moves as the pose form does, in world and in contact axes, on every chart."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.contact import pairs
from trundle.contact.laws import LAWS
from trundle.errors import InputError
from trundle.geometry import Plane, Sphere
from trundle.models.tree.conversion import pose_of, rolling_values
from trundle.models.tree.tree import Tree

PAIRS = [("ellipsoid", "dish", (0, 0)), ("ellipsoid", "ellipsoid", (1, 0)), ("sphere", "saddle", (0, 0)),
         ("torus", "torus", (0, 0)), ("capsule", "tube", (2, 0)), ("egg", "height map", (1, 0))]  # fmt: skip
COORDINATES = [("rolling", "world"), ("rolling", "contact"), ("pure", "world"), ("pure", "contact")]


def law_of(rolling: str) -> str:
    return "rolling" if rolling == "rolling" else "pure-rolling"


def columns(model, states) -> tuple[np.ndarray, np.ndarray]:
    """x (n_x, N) and u (6, N) of a rolling model."""
    x = np.zeros((model.x.shape[0], len(states)))
    for i, (hand, state) in enumerate(zip(states.hands, states.objects, strict=True)):
        values = {"contact.coordinates": states.coordinates[i], "hand.position": hand.r,
                  "hand.orientation": states.turns[i], "hand.twist": states.twists[i]}  # fmt: skip
        values |= rolling_values(model, values, states.quaternions[i], state.w)
        for name, value in values.items():
            x[model.layout[name], i] = value
    return x, np.array(states.controls).T


@pytest.mark.parametrize(("rolling", "resolve"), COORDINATES)
@pytest.mark.parametrize(("a", "b", "atlas"), PAIRS)
def test_minimal_coordinates_move_as_maximal_ones(a, b, atlas, rolling, resolve):
    A, B, law = pairs.object_named(a), pairs.hand_named(b), law_of(rolling)
    states = pairs.random_states(A, B, "chart", law, 20, atlas, seed=3)
    model = pairs.pose_model(A, B, "chart", atlas, rolling=rolling, resolve=resolve)
    d = model.dynamics([LAWS[law]])
    W, m = model.to_world, model.motions["object"]
    pose = [W @ m.R, W @ m.p, W @ m.w, W @ m.v]
    rates = [ca.reshape(ca.jtimes(ca.vec(e), model.x, d.xdot), *e.shape) for e in pose]
    outputs = [*pose, *rates, W @ d.forces[0], d.moments[0], W @ d.nudot[:3], W @ d.nudot[3:]]
    x, u = columns(model, states)
    f = ca.Function("f", [model.x, model.u], outputs)
    for i, state in enumerate(states.objects):
        o = states.oracle(i, law)
        R, p, w, v, dR, dp, dw, dv, force, moment, al, acc = (np.array(e) for e in f(x[:, i], u[:, i]))
        np.testing.assert_allclose(R, state.R, atol=1e-13)
        np.testing.assert_allclose(np.c_[p, w, v].T, [state.p, state.w, state.v], atol=1e-12)
        scale = max(1.0, np.abs(o["alpha"]).max(), np.abs(o["a"]).max())
        # x' is consistent: the pose's derivatives along it are the twist, the twist's the accelerations.
        np.testing.assert_allclose(dR, np.cross(state.w, state.R.T).T, atol=1e-10)
        np.testing.assert_allclose(dp.ravel(), state.v, atol=1e-10)
        for got in (dw, al):
            np.testing.assert_allclose(got.ravel(), o["alpha"], atol=1e-11 * scale)
        np.testing.assert_allclose(acc.ravel(), o["a"], atol=1e-11 * scale)
        np.testing.assert_allclose(dv.ravel(), o["a"], atol=1e-10 * scale)
        np.testing.assert_allclose(force.ravel(), o["force"], atol=1e-11 * max(1, np.abs(o["force"]).max()))
        assert moment.item() == pytest.approx(o["moment"], abs=1e-11 * max(1, np.abs(o["force"]).max()))


def test_sizes_are_the_true_dimension():
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")
    sizes = {r: pairs.pose_model(A, B, "chart", rolling=r).x.shape[0] for r in ("rolling", "pure")}
    assert sizes == {"rolling": 21, "pure": 20}  # 20 and 19 with the hand's quaternion counted as three numbers


@pytest.mark.parametrize("resolve", ["world", "contact"])
def test_energy_and_poses_do_not_depend_on_the_axes(resolve):
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")
    states = pairs.random_states(A, B, "chart", "rolling", 5, seed=5)
    pose, model = pairs.pose_model(A, B, "chart"), pairs.pose_model(A, B, "chart", rolling="rolling", resolve=resolve)
    one, two = ca.Function("e", [pose.x], [pose.energy()]), ca.Function("e", [model.x], [model.energy()])
    x_pose, x = states.columns(pose)[0], columns(model, states)[0]
    for i, state in enumerate(states.objects):
        assert float(two(x[:, i])) == pytest.approx(float(one(x_pose[:, i])), rel=1e-12)
        R, p, w, v = pose_of(model, x[:, i], "object")
        np.testing.assert_allclose(R, state.R, atol=1e-13)
        np.testing.assert_allclose([p, w, v], [state.p, state.w, state.v], atol=1e-12)
        R, p, w, v = pose_of(model, x[:, i], "hand")
        hand = states.hands[i]
        np.testing.assert_allclose([p, w, v], [hand.r, hand.w, hand.v], atol=1e-12)


def test_the_documented_rates_as_written():
    # psi' = tau_A u_A' + tau_B u_B' - w_z; w_rel' = F'(al_A - al_B - w_B x w_rel) - w_c x w_rel,
    # w_c = (-(K s)_2, (K s)_1, tau_B u_B')
    A, B = pairs.object_named("ellipsoid"), pairs.hand_named("dish")
    states = pairs.random_states(A, B, "chart", "rolling", 5, seed=5)
    model = pairs.pose_model(A, B, "chart", rolling="rolling")
    d = model.dynamics([LAWS["rolling"]])
    k, at = d.kin[0], model.layout
    s = model.x[at["contact.coordinates"]]
    patch_A, patch_B = model.constraints[0].contact.patches(s)
    rates = d.xdot[at["contact.coordinates"]]
    w_rel = model.x[at["object.relative_velocity"]]
    F = k.frame
    Ks = patch_B.K @ (F[:, :2].T @ k.sB)
    w_c = ca.vertcat(-Ks[1], Ks[0], patch_B.tau @ rates[2:])
    hand = model.motions["hand"]
    psi_rate = patch_A.tau @ rates[:2] + patch_B.tau @ rates[2:] - w_rel[2]
    w_rate = F.T @ (d.nudot[:3] - hand.al - ca.cross(hand.w, F @ w_rel)) - ca.cross(w_c, w_rel)
    f = ca.Function("f", [model.x, model.u], [
        d.xdot[at["object.spin"]] - psi_rate, d.xdot[at["object.relative_velocity"]] - w_rate])  # fmt: skip
    x, u = columns(model, states)
    for i in range(len(states)):
        for part in f(x[:, i], u[:, i]):
            assert np.abs(np.array(part)).max() < 1e-11


@pytest.mark.parametrize("swap", [False, True])
def test_planar_rolling_joint(swap):
    # Terrain with its normal left, outline counter-clockwise; the ellipse may also be the ground.
    import trundle.geometry as tg
    from trundle.contact.choice import make_contact
    from trundle.contact.contacts import ChartContact

    shapes = (tg.Ellipse([0.3, 0.1]), tg.Circle(0.9) if swap else tg.Sinusoid(0.06, 0.8, 0.2))
    contact = make_contact(*shapes, "chart", (0.05, -0.02))
    assert isinstance(contact, ChartContact)
    models = {}
    for rolling in (None, "rolling"):
        tree = Tree(2, [0.3, -9.7])
        ground, body = tree.ground(), tree.free(1.2, 0.03, rolling=rolling)
        tree.contact(contact, body, ground)
        models[rolling] = tree.finish()
    pose, model = models[None], models["rolling"]
    d, e = (m.dynamics([LAWS["rolling"]]) for m in (pose, model))
    m = model.motions["object"]
    derivative = [ca.jtimes(v, model.x, e.xdot) for v in (ca.vec(m.R), m.p, m.w, m.v)]
    f = ca.Function("f", [model.x], [m.R, m.p, m.w, m.v, *derivative, e.nudot, e.forces[0]])
    g = ca.Function("g", [pose.x], [d.nudot, d.forces[0], d.kin[0].gap, d.kin[0].vrel])
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = np.zeros(model.x.shape[0])
        x[model.layout["contact.coordinates"]] = rng.uniform(0, 2 * np.pi, 2)
        x[model.layout["object.relative_velocity"]] = rng.normal()
        R, p, w, v, dR, dp, dw, dv, nudot, force = (np.array(part) for part in f(x))
        y = np.zeros(pose.x.shape[0])
        y[pose.layout["object.position"]] = p.ravel()
        y[pose.layout["object.orientation"]] = np.arctan2(R[1, 0], R[0, 0])
        y[pose.layout["object.angular_velocity"]] = w.ravel()
        y[pose.layout["object.velocity"]] = v.ravel()
        y[pose.layout["contact.coordinates"]] = x[model.layout["contact.coordinates"]]
        right, f_right, gap, slip = (np.array(part).ravel() for part in g(y))
        assert max(np.abs(gap).max(), np.abs(slip).max()) < 1e-13
        np.testing.assert_allclose(nudot.ravel(), right, atol=1e-10)
        np.testing.assert_allclose(force.ravel(), f_right, atol=1e-10)
        np.testing.assert_allclose(dR.ravel(), (w.item() * np.array([[0, -1], [1, 0]]) @ R).T.ravel(), atol=1e-11)
        np.testing.assert_allclose(dp, v, atol=1e-11)
        np.testing.assert_allclose(np.r_[dw, dv].ravel(), right, atol=1e-9)


def test_a_rolling_joint_needs_one_chart_contact():
    sphere = Sphere(0.1).representations
    from trundle.contact.contacts import ChartContact, SupportContact

    def tree(contact, count=1, resolve="world", rolling="rolling"):
        t = Tree(3, [0, 0, -9.81], resolve=resolve)
        hand, ball = t.prescribed(), t.free(1.0, 0.1, rolling=rolling)
        for _ in range(count):
            t.contact(contact, ball, hand)
        return t.finish()

    chart = ChartContact(sphere.charts[0], Plane().representations.charts[0])
    with pytest.raises(InputError, match="contact = 'SupportContact': must be a ChartContact"):
        tree(SupportContact(sphere.support))
    for count in (0, 2):
        with pytest.raises(InputError, match="rolling = 'object': must be a body with exactly one contact"):
            tree(chart, count)
    with pytest.raises(InputError, match="resolve = 'contact': must be 'world' unless"):
        tree(chart, 1, "contact", None)
