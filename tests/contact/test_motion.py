"""Motions: velocities, Jacobians and accelerations of frames are derivatives of their poses."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.contact.motion import Motion, carry_by_joint, free, prescribe_motion, still
from trundle.numerics.space import (
    angular_size,
    cross,
    orientation_rate,
    orientation_rate_body,
    orientation_size,
    rotation,
)


class Chain:
    """Hand, free body, hinge, slider: states and their rates, to differentiate along."""

    def __init__(self, d: int) -> None:
        self.d, k = d, angular_size(d)
        self.k = k
        sym = ca.SX.sym
        self.hand = {
            "p": sym("p", d),
            "orientation": sym("orientation", orientation_size(d)),
            "twist": sym("twist", k + d),
        }
        self.twist_rate = sym("rate", k + d)
        self.body = {"p": sym("q", d), "orientation": sym("t", orientation_size(d)), "w": sym("w", k), "v": sym("v", d)}
        self.joint = {"angle": sym("angle"), "travel": sym("travel"), "w": sym("wj"), "v": sym("vj")}
        self.nu = ca.vertcat(self.body["w"], self.body["v"], self.joint["w"], self.joint["v"])
        self.nudot = sym("nudot", k + d + 2)
        nv = k + d + 2
        self.axis = ca.SX(1) if d == 2 else ca.SX(ca.DM([0.6, 0.0, 0.8]))
        self.slide = ca.SX(ca.DM([0.6, -0.8][:d] if d == 2 else [0.0, 0.6, 0.8]))
        self.at = ca.SX(ca.DM([0.3, -0.2, 0.5][:d]))
        orientation = self.joint["angle"]
        if d == 2:
            R = rotation(orientation)
        else:
            R = rotation(ca.vertcat(ca.cos(orientation / 2), self.axis * ca.sin(orientation / 2)))
        h, b = self.hand, self.body
        hand = prescribe_motion(rotation(h["orientation"]), h["p"], h["twist"], self.twist_rate, nv)
        body = free(rotation(b["orientation"]), b["p"], b["w"], b["v"], nv, 0)
        still_w, still_v = ca.SX(k, 1), ca.SX(d, 1)

        def slid(parent: Motion) -> Motion:
            at = self.at + self.slide * self.joint["travel"]
            bias = still_w, still_v
            return carry_by_joint(parent, ca.SX.eye(d), at, (still_w, self.slide), self.joint["v"], bias, k + d + 1)

        hinged = carry_by_joint(body, R, self.at, (self.axis, still_v), self.joint["w"], (still_w, still_v), k + d)
        sliding, on_hand = slid(hinged), slid(hand)
        self.motions = {"hand": hand, "body": body, "hinged": hinged, "sliding": sliding, "on hand": on_hand,
                        "point of hinged": hinged.at(self.at), "point on hand": on_hand.at(self.at)}  # fmt: skip
        k_, al, a = k, self.nudot[:k], self.nudot[k : k + d]
        self.x = ca.vertcat(*h.values(), *b.values(), *self.joint.values())
        w_hand, v_hand = h["twist"][:k_], h["twist"][k_:]
        self.rate = ca.vertcat(
            rotation(h["orientation"]) @ v_hand, orientation_rate_body(h["orientation"], w_hand), self.twist_rate,
            b["v"], orientation_rate(b["orientation"], b["w"]), al, a,
            self.joint["w"], self.joint["v"], self.nudot[k + d :],
        )  # fmt: skip

    def residuals(self, name: str) -> ca.SX:
        m = self.motions[name]

        def rate(e: ca.SX) -> ca.SX:
            return ca.jtimes(e, self.x, self.rate)

        turning = ca.horzcat(*(cross(m.w, m.R[:, i]) for i in range(self.d)))
        return ca.vertcat(
            ca.vec(rate(m.R) - turning),
            rate(m.p) - m.v,
            rate(m.w) - (m.Jw @ self.nudot + m.al),
            rate(m.v) - (m.Jv @ self.nudot + m.a),
            ca.vec(ca.jacobian(m.w, self.nu) - m.Jw),
            ca.vec(ca.jacobian(m.v, self.nu) - m.Jv),
        )


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", ["hand", "body", "hinged", "sliding", "on hand", "point of hinged", "point on hand"])
def test_velocities_and_accelerations_are_derivatives_of_the_pose(d, name):
    chain = Chain(d)
    f = ca.Function("f", [chain.x, chain.twist_rate, chain.nudot], [chain.residuals(name)])
    rng = np.random.default_rng(d)
    for _ in range(10):
        values = [rng.normal(size=v.shape[0]) for v in (chain.x, chain.twist_rate, chain.nudot)]
        assert np.abs(np.array(f(*values))).max() < 1e-12


@pytest.mark.parametrize("d", [2, 3])
def test_the_parallel_frame_as_documented(d):
    # v = v + w x r, a = a + al x r + w x (w x r); w, al and R stay.
    x, chain = ca.SX(ca.DM([0.1, 0.7, -0.4][:d])), Chain(d)
    m, moved = chain.motions["sliding"], chain.motions["sliding"].at(x)
    r = m.R @ x
    f = ca.Function("f", [chain.x], [ca.vertcat(
        moved.p - m.p - r, moved.v - m.v - cross(m.w, r), moved.w - m.w, moved.al - m.al,
        moved.a - m.a - cross(m.al, r) - cross(m.w, cross(m.w, r)))])  # fmt: skip
    value = f(np.random.default_rng(0).normal(size=chain.x.shape[0]))
    assert np.abs(np.array(value)).max() < 1e-13


@pytest.mark.parametrize("d", [2, 3])
def test_the_still_world_does_not_move(d):
    m = still(d, 4)
    assert m.Jw.shape == (angular_size(d), 4)
    assert m.Jv.shape == (d, 4)
    assert all(e.nnz() == 0 for e in (m.w, m.v, m.Jw, m.Jv, m.al, m.a))
    np.testing.assert_array_equal(np.array(ca.DM(m.R)), np.eye(d))


def test_a_hand_has_the_acceleration_of_the_sheet():
    # a = R (u_v + w x v), al = R u_w
    q, twist, u = ca.SX.sym("q", 4), ca.SX.sym("V", 6), ca.SX.sym("u", 6)
    R = rotation(q)
    hand = prescribe_motion(R, ca.SX(3, 1), twist, u, 0)
    f = ca.Function("f", [q, twist, u], [
        hand.a - R @ (u[3:] + ca.cross(twist[:3], twist[3:])), hand.al - R @ u[:3]])  # fmt: skip
    rng = np.random.default_rng(1)
    for part in f(rng.normal(size=4), rng.normal(size=6), rng.normal(size=6)):
        assert np.abs(np.array(part)).max() < 1e-14
