"""Cones from the inside, quantities against differences, and refusals."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from trundle.contact.choice import make_contact
from trundle.contact.laws import LAWS
from trundle.contact.motion import carry_by_joint, free
from trundle.control.inverse_dynamics import Numbers
from trundle.control.inverse_dynamics import tasks as tk
from trundle.errors import InputError
from trundle.models.tree.tree import Tree
from trundle.numerics.space import rotation

FRAME = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
FRAME = FRAME * np.linalg.det(FRAME)


@pytest.mark.parametrize("edges", [3, 4, 8, 16])
def test_the_pyramid_lies_inside_the_cone_and_touches_it(edges):
    normal, friction = tk.friction("c", FRAME, slice(2, 5), 6, 0.6, edges=edges, minimum=2.0)
    rng, used = np.random.default_rng(1), []
    turns = 2 * np.pi * (np.arange(edges) + 0.5) / edges
    local = rng.normal(size=(4000, 3)) + np.array([0, 0, 1.5])
    local = np.vstack((local, [[0.6 * np.cos(t), 0.6 * np.sin(t), 1.0] for t in turns]))
    for f in local:
        lam = np.concatenate(([7.0, -3.0], FRAME @ f, [9.0]))
        inside = np.all(friction.A @ lam >= -1e-12)
        use = np.hypot(f[0], f[1]) / f[2]
        if inside and f[2] > 0:
            used.append(use)
        if f[2] > 0 and use <= 0.6 * np.cos(np.pi / edges) - 1e-12:
            assert inside
        assert normal.A @ lam == pytest.approx(f[2])
    assert 0.6 - 1e-9 <= max(used) <= 0.6 + 1e-12
    np.testing.assert_array_equal(normal.lower, 2.0)


def test_the_plane_has_two_edges_and_moments_two_more():
    c, s = np.cos(0.3), np.sin(0.3)
    frame = np.array([[c, -s], [s, c]])
    _, friction = tk.friction("c", frame, slice(0, 2), 2, 0.5)
    for f_t, f_n, inside in ((0.49, 1, True), (-0.49, 1, True), (0.51, 1, False), (-0.51, 1, False)):
        assert bool(np.all(friction.A @ (frame @ [f_t, f_n]) >= 0)) is inside
    _, spinning = tk.friction("c", FRAME, slice(0, 4), 4, 0.5, torsional=0.02)
    for moment, inside in ((0.019, True), (-0.019, True), (0.021, False), (-0.021, False)):
        assert bool(np.all(spinning.A @ np.append(FRAME @ [0, 0, 1], moment) >= 0)) is inside


def test_quantities_are_derivatives():
    # A body in the plane with a hinged link: value -> rate -> acceleration by differentiating along nu, nudot.
    q, nu, nudot = ca.SX.sym("q", 4), ca.SX.sym("nu", 4), ca.SX.sym("nudot", 4)
    body = free(rotation(q[0]), q[1:3], nu[0], nu[1:3], 4, 0)
    hinge, still = (ca.SX(1), ca.SX(2, 1)), (ca.SX(1, 1), ca.SX(2, 1))
    link = carry_by_joint(body, rotation(q[3]), ca.SX([0.3, -0.1]), hinge, nu[3], still, 3)
    quantities = [
        tk.position(link, (0.2, 0.5)),
        tk.position(link, axes=[[0.6, 0.8]]),
        tk.angle(link, q[0] + q[3]),
        tk.joints(np.eye(4)[3:], q[3], nu[3]),
    ]
    rng = np.random.default_rng(2)
    values = [rng.normal(size=4) for _ in range(3)]
    for quantity in quantities:
        rate = ca.jtimes(quantity.value, q, nu)
        acceleration = ca.jtimes(rate, q, nu) + ca.jtimes(rate, nu, nudot)
        difference = ca.vertcat(rate - quantity.rate, acceleration - quantity.J @ nudot - quantity.bias)
        assert np.abs(np.array(ca.Function("f", [q, nu, nudot], [difference])(*values))).max() < 1e-13
        task = quantity.tracking("t", 1.0, 2.0, 3.0, kp=5.0, kd=7.0)
        wanted = 3 + 5 * (1 - quantity.value) + 7 * (2 - quantity.rate) - quantity.bias
        assert np.abs(np.array(ca.Function("f", [q, nu], [task.target - wanted])(*values[:2]))).max() < 1e-13


def test_attitude_is_the_axis_times_the_sine():
    turn, nu = ca.SX.sym("turn", 4), ca.SX.sym("nu", 6)
    body = free(rotation(turn), ca.SX(3, 1), nu[:3], nu[3:], 6, 0)
    axis, angle = np.array([2.0, -1.0, 2.0]) / 3, 0.4
    value = tk.attitude(body, ca.SX.eye(3)).value
    found = ca.Function("f", [turn], [value])(np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * axis)))
    np.testing.assert_allclose(np.array(found).ravel(), np.sin(angle) * axis, atol=1e-14)


def test_wishes_about_forces():
    frames, columns = [np.eye(2), np.eye(2)], [slice(0, 2), slice(2, 4)]
    lam = np.array([1.0, 10.0, -2.0, 30.0])
    np.testing.assert_array_equal(tk.smallest_tangential_forces(frames, columns, 4).A @ lam, [1, -2])
    np.testing.assert_allclose(tk.equal_normal_forces(frames, columns, 4).A @ lam, [-10, 10])


def test_limits_of_contacts_follow_the_law():
    tree = Tree(3, (0, 0, -9.81))
    ground, ball = tree.ground(), tree.free(1.0, 0.1)
    contact = make_contact(tg.Sphere(0.2), tg.Plane(), "support")
    tree.contact(contact, ball, ground, mu=0.4, torsional=0.05)
    model = tree.finish()
    counts = {}
    for law in LAWS.values():
        terms = model.terms([law])
        limits = tk.contact_limits(model.constraints, terms.kin, terms.split, edges=6, minimum=0.5, laws=[law])
        counts[law.name] = {limit.name.split(".")[1]: limit.A.shape for limit in limits}
    assert counts == {
        "rolling": {"normal_force": (1, 3), "friction": (6, 3)},
        "pure-rolling": {"normal_force": (1, 4), "friction": (8, 4)},
        "sliding": {"normal_force": (1, 1)},
        "pure-sliding": {"normal_force": (1, 2)},
        "skidding": {"normal_force": (1, 3)},
        "dragged": {"normal_force": (1, 4)},
        "separated": {},
        "fixed": {"normal_force": (1, 6), "friction": (6, 6)},
        "pivoting": {"normal_force": (1, 5), "friction": (8, 5)},
        "resting": {"normal_force": (1, 6), "friction": (6, 6)},
        "hunt-crossley": {},
        "stopped": {"normal_force": (1, 1)},
    }
    fixed = tk.contact_limits(model.constraints, model.terms([LAWS["fixed"]]).kin, [slice(0, 6)])[0]
    x = np.zeros(model.x.shape[0])
    x[model.layout["object.orientation"]] = [1, 0, 0, 0]
    np.testing.assert_allclose(np.array(ca.Function("A", [model.x], [fixed.A])(x)), [[0, 0, 0, 0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tk.Task("", np.eye(2), 0.0), "a text"),
        (lambda: tk.Task("t", np.eye(2), [np.nan, 0]), "finite"),
        (lambda: tk.Task("t", [[np.inf, 0]], 0.0), "finite"),
        (lambda: tk.Task("t", np.eye(2), [0, 0, 0]), "2 entries"),
        (lambda: tk.Task("t", np.eye(2), 0.0, weight=-1.0), ">= 0"),
        (lambda: tk.Task("t", np.eye(2), 0.0, on="speed"), "'acceleration', 'force', 'torque'"),
        (lambda: tk.Task("t", np.eye(2), 0.0, level=-1), ">= 0"),
        (lambda: tk.Limit("l", "force", np.nan), "not NaN"),
        (lambda: tk.Limit("l", "force", 0.0, price=0.0), "> 0"),
        (lambda: tk.friction("c", np.eye(3), slice(0, 3), 3, 0.5, edges=2), ">= 3"),
        (lambda: tk.torque_rate_limit(1.0, 0.0, np.zeros(2)), "> 0"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_expressions_where_numbers_are_wanted_are_refused():
    with pytest.raises(InputError, match="numbers, as the equations of motion are"):
        Numbers.of(ca.SX.sym("a", 2))
    array = np.ones(2)
    assert Numbers.of(array) is array
