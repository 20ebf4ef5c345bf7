"""Contacts on numbers: a compiled function from the packed motions of two bodies to the rows of their contact.

A library that computes motions (`trundle.models.urdf.articulated`) meets the contacts and laws here: nothing of the
contact is derived a second time, and the function's size does not depend on the number of joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, rotation
from trundle.contact.contact import Contact, kinematics
from trundle.contact.laws import Friction, Law, law_named
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.rotations import skew
from trundle.numerics.space import angular_size


@dataclass(frozen=True)
class FrameMotion:
    """The numbers of a `trundle.contact.motion.Motion`: pose, twist, Jacobians, accelerations at nudot = 0.

    Attributes
    ----------
    R, p : (d, d), (d,) m
    w, v : (k,) rad/s, (d,) m/s
    Jw, Jv : (k, nv), (d, nv)
    al, a : (k,) rad/s2, (d,) m/s2
        Angular and CLASSICAL linear acceleration.
    """

    R: FloatArray
    p: FloatArray
    w: FloatArray
    v: FloatArray
    Jw: FloatArray
    Jv: FloatArray
    al: FloatArray
    a: FloatArray

    @property
    def J(self) -> FloatArray:  # noqa: N802
        """[Jw; Jv], (k + d, nv)."""
        return np.vstack([self.Jw, self.Jv])

    def at(self, point: FloatArray) -> FrameMotion:
        """Return the motion of the parallel frame at `point` (d,), m, of the body: space only."""
        r = self.R @ point
        lever = -skew(r)  # lever @ w = w x r
        turned = lever @ self.w
        Jv, a = self.Jv + lever @ self.Jw, self.a + lever @ self.al + self.w * (self.w @ r) - r * (self.w @ self.w)
        return FrameMotion(self.R, self.p + r, self.w, self.v + turned, self.Jw, Jv, self.al, a)

    def pack(self) -> FloatArray:
        """Return (R column by column, p, w, v, al, a): what a contact reads; never the Jacobians."""
        return np.concatenate([self.R.ravel(order="F"), self.p, self.w, self.v, self.al, self.a])


def still_frame(nv: int, R: object = None, p: object = None) -> FrameMotion:
    """Return the motion of a frame at rest in space, in a model with `nv` velocities.

    ``R`` (3, 3), default the identity, maps its axes to the world's; ``p`` (3,) m, default 0, is its origin.
    """
    zero = np.zeros(3)
    return FrameMotion(
        np.eye(3) if R is None else rotation("R", R),
        zero if p is None else array("p", p, (3,), unit="m"),
        *(zero, zero, np.zeros((3, nv)), np.zeros((3, nv)), zero, zero),
    )


@dataclass(frozen=True)
class ContactRows:
    """A contact's rows J nudot + b = 0, pushed along G', with what they were made of.

    Attributes
    ----------
    J, G : (m, nv)
    b, velocity, position : (m,)
        See `trundle.contact.laws.Rows`.
    frame : (d, d)
        [T n] of B; n points out of B.
    gap, vrel : (d,) m, m/s
    rates : (size,)
        Rates of the contact coordinates.
    """

    J: FloatArray
    G: FloatArray
    b: FloatArray
    velocity: FloatArray
    position: FloatArray
    frame: FloatArray
    gap: FloatArray
    vrel: FloatArray
    rates: FloatArray


@dataclass(frozen=True)
class PackedContact:
    """A contact under a law as a compiled function (final); made by `contact_function`.

    ``function`` maps (packed A, packed B, s) to one column: LA, LB, b, GA, GB, velocity, position, frame, gap, vrel
    and rates, each column by column, of the sizes in ``shapes``.
    """

    contact: Contact
    law: Law
    friction: Friction
    function: ca.Function
    shapes: tuple[tuple[int, int], ...]

    def rows(self, A: FrameMotion, B: FrameMotion, s: ArrayLike = ()) -> ContactRows:
        """Return the rows of body A on body B at the contact coordinates `s` (size,).

        J = LA [Jw; Jv]_A - LB [Jw; Jv]_B, and G likewise.

        Raises
        ------
        InputError
            If `s` has another size, or a number that comes out is not finite.
        """
        coordinates = array("s", s, (self.contact.size,))
        column = np.asarray(self.function(A.pack(), B.pack(), coordinates)).ravel()
        if not np.all(np.isfinite(column)):
            raise InputError("contact", [A.pack().tolist(), B.pack().tolist()], "bodies in a regular touch")
        ends = np.cumsum([rows * columns for rows, columns in self.shapes])[:-1]
        parts = zip(np.split(column, ends), self.shapes, strict=True)
        LA, LB, b, GA, GB, velocity, position, frame, gap, vrel, rates = (
            part.reshape(shape, order="F") for part, shape in parts
        )
        JA, JB = A.J, B.J
        J, G = LA @ JA - LB @ JB, GA @ JA - GB @ JB
        b, velocity, position, gap, vrel, rates = (x.ravel() for x in (b, velocity, position, gap, vrel, rates))
        return ContactRows(J, G, b, velocity, position, frame, gap, vrel, rates)


def contact_function(
    contact: Contact, law: Law | str, friction: Friction | None = None, *, compiled: bool = True
) -> PackedContact:
    """Return the contact under a law as a function of numbers.

    Parameters
    ----------
    contact : Contact
    law : Law or str
        A law, or its name.
    friction : Friction, optional
        Read by the laws whose push it turns (sliding).
    compiled : bool
        Whether to compile the function; False keeps it in the VM.
    """
    law, friction = law_named(law), Friction() if friction is None else friction
    d = contact.d
    size = d * d + 3 * d + 2 * angular_size(d)
    a, b, s = ca.SX.sym("A", size), ca.SX.sym("B", size), ca.SX.sym("s", contact.size)
    k = kinematics(contact, unpack_motion(a, d), unpack_motion(b, d), s, slipping=law.slipping)
    rows = law.rows(k, friction)
    GA, GB = (rows.LA if rows.GA is None else rows.GA), (rows.LB if rows.GB is None else rows.GB)
    outputs = [rows.LA, rows.LB, rows.b, GA, GB, rows.velocity, rows.position, k.frame, k.gap, k.vrel, k.rates]
    name = f"touch_{law.name.replace('-', '_')}"
    column = ca.densify(ca.vertcat(*(ca.vec(output) for output in outputs)))
    function = ca.Function(name, [a, b, s], [column], ["A", "B", "s"], ["rows"])
    shapes = tuple((output.shape[0], output.shape[1]) for output in outputs)
    return PackedContact(contact, law, friction, compile_function(function) if compiled else function, shapes)


def unpack_motion(x: ca.SX, d: int) -> Motion:
    """Return the inverse of `FrameMotion.pack`; a motion without Jacobians: no contact reads them."""
    k = angular_size(d)
    ends = np.cumsum([d * d, d, k, d, k, d])
    R, p, w, v, al, a = (x[start:end] for start, end in zip([0, *ends], ends, strict=False))
    return Motion(ca.reshape(R, d, d), p, w, v, ca.SX(k, 0), ca.SX(d, 0), al, a)
