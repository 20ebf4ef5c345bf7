"""One foot on the ground as numbers: its contact's rows and their derivatives from the motion of the foot's frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.choice import contact_coordinates
from trundle.contact.contact import Contact, Kinematics, kinematics
from trundle.contact.law import Friction, Law
from trundle.contact.laws import law_named
from trundle.contact.motion import Motion, still
from trundle.contact.packed import unpack_motion
from trundle.contact.proximity import Proximity
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.urdf.tree import FramePlace
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.space import dot, lever

_STEPS = 30  # of Newton's method at most
_EXACT = 1e-10  # Newton squares it
CONVEX_FORMS = ("support", "pair", "level", "support-chart")
"""Contacts that need no chart of the foot: it is convex, and the ground says where it touches."""


@dataclass(frozen=True)
class TouchValues:
    """A contact's rows, m of them, at one instant; world axes.

    Attributes
    ----------
    L : (m, 6)
        Twist (angular, linear) of the foot's frame to the rows: J = L [Jw; Jv].
    rate : (m,)
        Rate of J v at the frame's acceleration.
    velocity, position : (m,)
        J v, and what it is the rate of (the gap, zeros for rows about turning).
    frame : (3, 3)
        [T n] of the ground.
    gap : float, m
    point : (3,) m
        Of the foot.
    """

    L: FloatArray
    rate: FloatArray
    velocity: FloatArray
    position: FloatArray
    frame: FloatArray
    gap: float
    point: FloatArray


@dataclass(frozen=True)
class TouchSlopes:
    """Derivatives of `TouchValues` by e = (turn, position, w, v, al, a), each (3,), of the foot's frame, world.

    Attributes
    ----------
    L : (m, 6, 18)
    rate, velocity, position : (m, 18)
    gap : (18,)
    frame : (3, 3, 18)
    """

    L: FloatArray
    rate: FloatArray
    velocity: FloatArray
    position: FloatArray
    gap: FloatArray
    frame: FloatArray


def moving_kinematics(contact: Contact, A: Motion, B: Motion, s: ca.SX) -> Kinematics:
    """Return the kinematics of a contact at any gap and slip: its bias is the whole rate of vrel at nudot = 0."""
    return kinematics(contact, A, B, s, slipping=True, distant=True)


class FootTouch:
    """A convex foot on fixed ground (final).

    Parameters
    ----------
    contact : Contact
    shapes : (Shape, Shape)
        Of the foot, with the axes and origin of its frame, and of the ground.
    form : str
        See `trundle.contact.choice.contact_form`.
    law : Law or str
    friction : Friction
    ground : FramePlace
        Of the ground in the world.
    """

    def __init__(
        self,
        contact: Contact,
        shapes: tuple[Shape, Shape],
        form: str,
        law: Law | str,
        friction: Friction,
        ground: FramePlace,
    ) -> None:
        self._contact, self._shapes, self._form, self._ground = contact, shapes, form, ground
        z, s = ca.SX.sym("z", 24), ca.SX.sym("s", contact.size)
        A = unpack_motion(z, 3)
        B = replace(still(3, 0), R=ca.SX(ca.DM(ground.R)), p=ca.SX(ca.DM(ground.p)))
        k = moving_kinematics(contact, A, B, s)
        rows = (law := law_named(law)).rows(k, friction)
        self.size = rows.LA.shape[0]
        point = A.p + contact.touch(A, B, s)[0].r
        parts = [ca.vec(rows.LA), rows.b, rows.velocity, rows.position, dot(k.n, k.gap), ca.vec(k.frame), point]
        values = ca.Function("values", [z, s], [ca.densify(ca.vertcat(*parts))])
        step = ca.Function("step", [z, s], [contact.restore(s + k.shift)])
        ends = np.cumsum([0, *(part.numel() for part in parts)]).tolist()
        self._parts = [slice(*pair) for pair in pairwise(ends)]
        lam = ca.SX.sym("lam", self.size)
        margins = law.margins(k, lam, friction) | contact.limits(A, B, s)
        self.margins = tuple(margins)
        self._margins = _wrap_function(ca.Function("margins", [z, s, lam], [ca.vertcat(*margins.values())]))
        self._values, self._step = _wrap_function(values), _wrap_function(step)
        self._slopes = _wrap_function(_slopes(values, step))
        self._push = _wrap_function(_push(values, step, self.size))
        self._proximity: Proximity | None = None

    def coordinates(self, z: FloatArray, near: FloatArray | None = None) -> FloatArray:
        """Return the contact coordinates (size,) of the nearest points for a foot's motion `z` (24,).

        ``near``: those of a pose near by, to start from.

        Raises
        ------
        InputError
            If nearest points are not found: the foot is far inside the ground.
        """
        if self._contact.size == 0:
            return np.zeros(0)
        found = None if near is None else self._iterate_newton(z, near)
        found = self._iterate_newton(z, self._seed(z)) if found is None else found
        if found is None:
            raise _refuse_lost_touch(z)
        return found

    def _iterate_newton(self, z: FloatArray, s: FloatArray) -> FloatArray | None:
        """Newton's iteration from `s`; None if it is lost."""
        for _ in range(_STEPS):
            (after,) = self._step(z, s)
            change, s = np.abs(after - s).max(), after
            if not change >= _EXACT * (1.0 + np.abs(s).max()):  # done, or not a number
                return s if np.isfinite(s).all() else None
        return None

    def values(self, z: FloatArray, s: FloatArray) -> TouchValues:
        """Return the rows for a foot's motion `z`, see `trundle.contact.packed.FrameMotion.pack`."""
        (found,) = self._values(z, s)
        L, rate, velocity, position, gap, frame, point = (found[part] for part in self._parts)
        L, frame = L.reshape(6, -1).T, frame.reshape(3, 3).T
        return TouchValues(L, rate, velocity, position, frame, float(gap[0]), point)

    def slopes(self, z: FloatArray, s: FloatArray) -> TouchSlopes:
        """Return the derivatives there; the contact coordinates follow the pose."""
        D = self._slopes(z, s)[0].reshape(-1, 18, order="F")
        L, rate, velocity, position, gap, frame, _ = (D[part] for part in self._parts)
        L, frame = (x.reshape(-1, n, 18, order="F") for x, n in ((L, 6), (frame, 3)))
        return TouchSlopes(L, rate, velocity, position, gap[0], frame)

    def push(self, z: FloatArray, s: FloatArray, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the moment and force (6,) of multipliers (m,) at the foot's frame, world, and their derivative.

        That is (6, 6), by turn and position.
        """
        push, slope = self._push(z, s, force)
        return push, slope.reshape(6, 6, order="F")

    def margins_of(self, z: FloatArray, s: FloatArray, force: FloatArray) -> dict[str, float]:
        """Return the law's margins, positive inside the law, for the multipliers `force` (m,)."""
        return dict(zip(self.margins, self._margins(z, s, force)[0].tolist(), strict=True))

    def _seed(self, z: FloatArray) -> FloatArray:
        """Return coordinates near those of the nearest points."""
        A, B = self._shapes
        if self._proximity is None:
            self._proximity = Proximity(A, B)
        R, p = self._ground.R.T @ z[:9].reshape(3, 3, order="F"), self._ground.R.T @ (z[9:12] - self._ground.p)
        found = self._proximity.local_minima(R, p)
        if not found:
            raise _refuse_lost_touch(z)
        near = found[0]
        return contact_coordinates(A, B, self._form, near.x_A, near.x_B, near.n_B)[0]


def _refuse_lost_touch(z: FloatArray) -> InputError:
    return InputError("q", z[9:12].tolist(), "a pose with the foot near the ground (its position, m, is given)")


def _slopes(values: ca.Function, step: ca.Function) -> ca.Function:
    """Return (z, s) -> derivatives (size, 18) of all values."""
    z, s, e, there = _displace_motion(values, step)
    D = ca.substitute(ca.jacobian(there, e), e, ca.SX.zeros(18))
    return ca.Function("slopes", [z, s], [ca.densify(ca.vec(D))], {"cse": True})


def _push(values: ca.Function, step: ca.Function, rows: int) -> ca.Function:
    """Return (z, s, force (rows,)) -> L'force (6,) and its derivative (6, 6) by turn and position."""
    z, s, e, there = _displace_motion(values, step)
    force = ca.SX.sym("force", rows)
    push = ca.reshape(there[: 6 * rows], rows, 6).T @ force
    D = ca.jacobian(push, e)[:, :6]
    here = [ca.substitute(value, e, ca.SX.zeros(18)) for value in (push, ca.vec(D))]
    return ca.Function("push", [z, s, force], [ca.densify(value) for value in here], {"cse": True})


def _displace_motion(values: ca.Function, step: ca.Function) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return z, s, e and the values at the motion z displaced by e.

    The coordinates are a fixed point of Newton's step, which does not change with them there: the derivative of one
    step is that of the fixed point.
    """
    z, s, e = ca.SX.sym("z", 24), ca.SX.sym("s", step.size1_in(1)), ca.SX.sym("e", 18)
    turned = ca.reshape(z[:9], 3, 3)
    turned += -lever(e[:3]) @ turned
    moved = ca.vertcat(ca.vec(turned), z[9:] + e[3:])
    return z, s, e, values(moved, step(moved, s))


def _wrap_function(function: ca.Function) -> Callable[..., list[FloatArray]]:
    return BufferedFunction(compile_function(function))
