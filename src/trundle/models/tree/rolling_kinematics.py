"""Rolling kinematics of first and second order, driven by relative velocity or acceleration; control-affine form."""

from __future__ import annotations

import casadi as ca

from trundle.checks import choice, integer
from trundle.contact.contact import Kinematics, kinematics
from trundle.contact.contacts import ChartContact
from trundle.contact.laws import PURE_ROLLING, ROLLING, SLIDING
from trundle.contact.motion import still
from trundle.errors import InputError
from trundle.geometry.chart import Chart
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.rolling_joint import RollingJoint, rolling_motion
from trundle.numerics.expressions import HoldsExpressions
from trundle.numerics.space import cross


class RollingKinematics(HoldsExpressions):
    """Contact coordinates of one surface on another when the relative motion is given (final).

    q = (u_A, u_B, psi): chart coordinates of the object A, of the hand B, and the angle between the contact
    frames (theory, "Rolling coordinates"). First order (paper 2, eq. 1): q' = K1(q) w_rel. Second order
    (eq. 3, 39): q'' = K2(q, w_rel) + K3(q) (alpha, a). Any regular charts, orthogonal or not, and sliding
    allowed. All vectors are components in the hand's contact frame {ch}, z out of the hand.

    Parameters
    ----------
    chart_A, chart_B : Chart
        Surfaces (d = 3).
    order : int
        1: x = q (5,), u = w_rel. 2: x = (q, w_rel[, v_rel]), u = (alpha[, a]).
    law : str
        ``"rolling"``: w_rel (3,). ``"pure-rolling"``: w_rel (2,), no spin. ``"sliding"``: w_rel (3,) and
        the slip v_rel (2,) m/s, tangential.

    Attributes
    ----------
    q, qdot : (5,)
    x, u, xdot
        State, input, rate. ``alpha`` is the derivative of the vector w_rel in the hand's frame, rad/s2;
        ``a`` the tangential acceleration of A's material point relative to the hand, m/s2 (in rolling it
        follows: a_roll = -w_rel x S, eq. 42).
    qddot : (5,), or None for order 1
    a_roll : (3,), or None for order 1
        Relative acceleration of the material points that rolling needs.

    Examples
    --------
    A ball of radius 0.1 m that rolls on a plane at 2 rad/s: its contact point moves at 0.2 m/s there.

    >>> ball, plane = (shape.representations.charts[0] for shape in (tr.Sphere(0.1), tr.Plane()))
    >>> rate = tr.RollingKinematics(ball, plane).function()
    >>> rate([0, 0, 0, 0, 0], [0, 2.0, 0])[2:4]  # derivative of u_B, m/s
    DM([0.2, 0])
    """

    def __init__(self, chart_A: Chart, chart_B: Chart, order: int = 1, law: str = ROLLING.name) -> None:
        integer("order", order, minimum=1, maximum=2)
        choice("law", law, (ROLLING.name, PURE_ROLLING.name, SLIDING.name))
        if chart_A.d != 3 or chart_B.d != 3:
            raise InputError("chart", (chart_A.d, chart_B.d), "two surfaces (d = 3)")
        contact = ChartContact(chart_A, chart_B)
        self.q = ca.SX.sym("q", 5)
        w_sym = ca.SX.sym("w_rel", 2 if law == PURE_ROLLING.name else 3)
        v_sym = ca.SX.sym("v_rel", 2 if law == SLIDING.name else 0)
        w = ca.vertcat(w_sym, 0) if law == PURE_ROLLING.name else w_sym
        v = ca.vertcat(v_sym, ca.SX(3 - v_sym.shape[0], 1))
        joint = RollingJoint(contact, self.q[:4], self.q[4], pure=False)
        k = _kinematics(joint, contact, w, v)
        turning = joint.contact_frame_rate(k)
        self.qdot = ca.vertcat(k.rates, joint.spin_rate(k, w))
        self.a_roll: ca.SX | None = None
        self.qddot: ca.SX | None = None
        if order == 1:
            self.x, self.u, self.xdot = self.q, ca.vertcat(w_sym, v_sym), self.qdot
            return
        alpha = ca.SX.sym("alpha", w_sym.shape[0])
        a = ca.SX.sym("a", v_sym.shape[0])
        slide = k.frame.T @ k.sA
        self.a_roll = -cross(w, slide)
        spin = -cross(turning, w)
        w_rate = spin[: w_sym.shape[0]] + alpha
        # Followed along the moving contact the slip changes by the material points' relative
        # acceleration and by w x S; its components by the turning of the contact frame as well.
        v_rate = (cross(w, slide) - cross(turning, v))[: v_sym.shape[0]] + a
        self.x, self.u = ca.vertcat(self.q, w_sym, v_sym), ca.vertcat(alpha, a)
        self.xdot = ca.vertcat(self.qdot, w_rate, v_rate)
        self.qddot = ca.jtimes(self.qdot, self.x, self.xdot)

    def function(self) -> ca.Function:
        """Return the function (x, u) -> x'."""
        return ca.Function("rolling_kinematics", [self.x, self.u], [self.xdot], ["x", "u"], ["xdot"])


def _kinematics(joint: RollingJoint, contact: ChartContact, w: ca.SX, v: ca.SX) -> Kinematics:
    B = still(3, 0)
    frame = joint.frame_on_B()
    A = rolling_motion(joint, B, w, 6, 0)
    slipping = type(A)(A.R, A.p, A.w, A.v + frame @ v, A.Jw, A.Jv, A.al, A.a)
    return kinematics(contact, slipping, B, joint.s, slipping=True)


def control_affine(dynamics: Dynamics) -> tuple[ca.SX, ca.SX]:
    """Return (drift (n_x,), input matrix (n_x, n_u)) of x' = K7(x) + K8(x) u (Woodruff & Lynch 2023, eq. 13).

    The dynamics of any mode are affine in the hand's acceleration and in joint torques, so the Jacobian by
    u is exact.

    Parameters
    ----------
    dynamics : Dynamics
        Of a model in one contact mode: ``model.dynamics(laws)``.

    Examples
    --------
    A disc of 0.5 kg m2 turned by a torque.

    >>> robot = tr.Robot()
    >>> disc = robot.free(2.0, 0.5, actuated=True, name="disc")  # kg, kg m2
    >>> model = robot.finish().model()
    >>> drift, matrix = tr.control_affine(model.dynamics([]))
    >>> matrix[model.layout["disc.angular_velocity"]], drift[model.layout["disc.velocity"]]
    (SX(2), SX([0, -9.81]))
    """
    matrix = ca.jacobian(dynamics.xdot, dynamics.u)
    drift = ca.substitute(dynamics.xdot, dynamics.u, ca.SX.zeros(*dynamics.u.shape))
    return drift, matrix
