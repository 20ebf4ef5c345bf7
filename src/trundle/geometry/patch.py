"""Patch: all that a contact needs to know of a surface or curve at one point."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.numerics.expressions import HoldsExpressions


@dataclass(frozen=True)
class Patch(HoldsExpressions):
    """Second-order local geometry of the boundary of a body, in the shape's frame (d = 2 or 3).

    Attributes
    ----------
    x : (d,) m
        The point.
    n : (d,)
        Unit normal, out of the material.
    T : (d, d-1)
        Orthonormal tangents; [T n] is right-handed in space, n = +-rot90(T) in the plane.
    K : (d-1, d-1) 1/m, or None
        Shape operator dn/dx in the basis T, convex positive: I/r on a sphere of radius r.
    radii : (d, d) m, or None
        dx/dn, zero along n: r (I - n n') on a sphere. Finite where K is not (an edge), and the
        other way round on a flat. At least one of `K`, `radii` is given.
    A : (d-1, d-1), or None
        T' dx/du of the chart the patch came from.
    tau : (1, 2), or None
        Turning of T about n per du (surfaces with a chart).
    """

    x: ca.SX
    n: ca.SX
    T: ca.SX
    K: ca.SX | None = None
    radii: ca.SX | None = None
    A: ca.SX | None = None
    tau: ca.SX | None = None
