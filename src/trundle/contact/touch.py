"""Touch: one side of a contact; Contact: where two bodies touch, with its own contact coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.geometry.patch import Patch


@dataclass(frozen=True)
class Touch:
    """One side of a contact, resolved in the model's frame.

    Attributes
    ----------
    r : (d,) m
        Contact point minus the origin of the body's frame.
    n : (d,)
        Outward unit normal of this body.
    T : (d, d-1)
        Orthonormal tangents.
    K : (d, d) 1/m, or None
        Shape tensor dn/dx (zero along n); None for a body that is better described by its radii, and
        zero for a flat.
    radii : (d, d) m, or None
        Tensor dx/dn (zero along n).
    rates : callable
        Maps the velocity S (d,), m/s, of the contact point over this body's surface to the rates of
        this body's contact coordinates.
    flat : bool
        True where the surface is a plane or a line: K is zero and drops out of the equations.
    follows : bool
        True for a side A without coordinates of its own: its point follows from B's normal, so the
        normals always oppose each other, and what drifts is the tangential part of the gap.
    straight : (d, m) sqrt(m), or None
        Directions in which an edge, a face or a rim goes on: there it is straight, or as curved as K says, and sharp
        across.
    """

    r: ca.SX
    n: ca.SX
    T: ca.SX
    K: ca.SX | None
    radii: ca.SX | None
    rates: Callable[[ca.SX], ca.SX]
    flat: bool = False
    follows: bool = False
    straight: ca.SX | None = None


@dataclass(frozen=True, eq=False)
class Course:
    """How the points of contact go on, of a contact that says so itself.

    Attributes
    ----------
    over_A, over_B : (d,) m/s
        Their velocities over the material of both bodies.
    turning : (d,) 1/s
        Rate of the normal.
    """

    over_A: ca.SX
    over_B: ca.SX
    turning: ca.SX


@dataclass(frozen=True, eq=False)
class OfKind:
    """A contact whose numbers are symbols, so that all of its kind on one side B are one expression.

    Attributes
    ----------
    contact : Contact
    symbols : (n,)
    numbers : (n,)
        With which it is the contact that it was made of.
    key : Hashable, or None
        The same for all contacts of its class, on the same side B, that differ in these numbers alone; None: its
        numbers are constants.
    """

    contact: Contact
    symbols: ca.SX
    numbers: FloatArray
    key: Hashable


class Contact(ABC):
    """Where body A touches body B.

    Contract for a subclass:

    1. ``size``: number of contact coordinates s; they are kinematic states of the model, never
       unknowns of its equations of motion.
    2. ``touch(A, B, s)`` returns both sides. The normal of side B points out of B; side A's is its
       opposite up to the misalignment of the coordinates.
    3. ``restore(s)`` returns s put back onto the manifold it lives on (a unit normal, a point of a
       surface); the identity where s is free.
    4. ``limits(s)`` returns named expressions that are positive while the coordinates are usable.
    """

    @property
    def of_kind(self) -> OfKind:
        """The contact with its numbers as symbols, where its class tells which; here they stay constants."""
        return OfKind(self, ca.SX(0, 1), np.zeros(0), None)

    @property
    @abstractmethod
    def d(self) -> int:
        """Dimension, 2 or 3."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of contact coordinates."""

    @abstractmethod
    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return the two sides of the contact at the coordinates `s` (size,)."""

    @abstractmethod
    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s` (size,) put back onto its manifold, to first order."""

    def course(self, A: Motion, B: Motion) -> Course | None:
        """Return how its points go on; None: as the curvatures of both sides tell."""
        return None

    @property
    def bends_in_meters(self) -> bool:
        """Whether its relative curvature is in 1/m; else it has no unit."""
        return False

    @abstractmethod
    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return named scalars that are positive while this contact may be used at `s`."""


def side(
    motion: Motion,
    patch: Patch,
    center: tuple[float, ...],
    rates: Callable[[ca.SX], ca.SX],
    follows: bool = False,
) -> Touch:
    """Return the `Touch` of a body whose shape has its origin at `center` (d,), m, in body axes."""
    x = patch.x + ca.SX(ca.vertcat(*center)) if any(center) else patch.x
    R = motion.R
    T = R @ patch.T
    return Touch(
        r=R @ x,
        n=R @ patch.n,
        T=T,
        K=None if patch.K is None else T @ patch.K @ T.T,
        radii=None if patch.radii is None else R @ patch.radii @ R.T,
        rates=rates,
        follows=follows,
    )


def point_over_flat(d: int) -> tuple[Touch, Touch]:
    """Return the sides of the origin of a frame and of a flat through the origin of another one, last axis up."""
    unit = ca.SX.eye(d)
    n, T, none = unit[:, -1], unit[:, :-1], ca.SX(d, 1)

    def rates(S: ca.SX) -> ca.SX:
        """Return nothing: there are no coordinates."""
        return ca.SX(0, 1)

    point = Touch(none, -n, T, None, ca.SX(d, d), rates, follows=True)
    return point, Touch(none, n, T, None, None, rates, flat=True)


def require_field(value: ca.SX | None, name: str) -> ca.SX:
    """Return a field of a patch that this contact cannot do without."""
    if value is None:
        raise InputError("patch", name, "a patch that has it: a shape operator or radii; of charts A and tau")
    return value
