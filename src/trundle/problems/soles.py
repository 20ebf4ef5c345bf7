"""Soles: how a foot may stand on flat ground, as rows of velocities and the forces conjugate to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.geometry.support import Support, ellipsoid_support

TORSION = 0.05
"""m: moment about the vertical over the normal force that a face or an edge bears."""
UP = ca.SX(ca.DM([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class Stance:
    """One way of standing, written with the symbols of a foot's `Motion` in the world; the ground is z = 0.

    Attributes
    ----------
    velocity : (m,)
        Zero while the foot stands so: the velocity (3) of a point of the foot, then `turning` times its angular
        velocity.
    gaps : (g,) m
        Zero while the foot stands so, g <= m.
    point : (3,) m
        Where that point is, world.
    turning : (m - 3, 3)
        Directions about which the foot does not turn.
    arms : (m - 3,) m
        The moment about each is at most this times the normal force.
    """

    velocity: ca.SX
    gaps: ca.SX
    point: ca.SX
    turning: ca.SX
    arms: tuple[float, ...] = ()

    def margins(self, force: ca.SX, friction: float) -> ca.SX:
        """Return what is >= 0 while the ground can give `force` (m,), conjugate to `velocity`.

        Friction as a pyramid |f_x|, |f_y| <= mu f_z; moments |m_i| <= arm_i f_z.
        """
        f_x, f_y, f_z = (force[i] for i in range(3))
        rows = [friction * f_z - f_x, friction * f_z + f_x, friction * f_z - f_y, friction * f_z + f_y]
        for i, arm in enumerate(self.arms):
            rows += [arm * f_z + force[3 + i], arm * f_z - force[3 + i]]
        return ca.vertcat(*rows)


class Sole(ABC):
    """What a foot is below (abstract).

    Contract: ``modes`` names the ways it can stand, the first one in single support; ``stance(motion, mode)`` gives
    each; ``clearance(motion)`` gives heights (m) above the ground that are >= 0 in swing.
    """

    modes: tuple[str, ...]

    @abstractmethod
    def stance(self, motion: Motion, mode: str) -> Stance:
        """Return the rows of a foot with this `motion` (of its ankle's frame) that stands in `mode`."""

    @abstractmethod
    def clearance(self, motion: Motion) -> ca.SX:
        """Return heights above the ground."""


@final
@dataclass(frozen=True)
class RollingSole(Sole):
    """A smooth convex sole that rolls: one point, P = C + R grad h(-R'e_z), of zero velocity.

    Parameters
    ----------
    shape : Support
    center : (3,) m
        The shape's origin C in the foot's frame.
    """

    shape: Support
    center: FloatArray

    modes = ("rolling",)

    @classmethod
    def ellipsoid(cls, semi_axes: FloatArray, center: FloatArray) -> RollingSole:
        """Return the sole of an ellipsoid with `semi_axes` (3,) m."""
        return cls(ellipsoid_support(semi_axes), array("center", center, (3,), unit="m"))  # type: ignore[arg-type]

    def local(self, motion: Motion) -> ca.SX:
        """Return C to P (3,), m, in the foot's axes: the contact, or the lowest point of a foot in the air."""
        return self.shape.point_and_radii(-(motion.R.T @ UP))[0]

    def stance(self, motion: Motion, mode: str) -> Stance:
        """Return the rows of rolling; spin about the normal is free."""
        _known(mode, self.modes)
        touch = motion.at(ca.SX(ca.DM(self.center)) + self.local(motion))
        return _stance(touch, motion.w, touch.p[2])

    def clearance(self, motion: Motion) -> ca.SX:
        """Return the gap (1,)."""
        return self.stance(motion, "rolling").gaps


@final
@dataclass(frozen=True)
class FlatSole(Sole):
    """A flat rectangular sole that stands on its face, on an edge (toe, heel) or on a corner.

    Parameters
    ----------
    corners : (4, 3) m
        In the foot's frame; heel left and right, toe left and right.
    """

    corners: FloatArray

    modes = ("flat", "toe", "heel", "toe-point")

    @property
    def width(self) -> float:
        """Half width, m."""
        return float(np.ptp(self.corners[:, 1]) / 2)

    def stance(self, motion: Motion, mode: str) -> Stance:
        """Return the rows of a face (6), an edge (5) or the middle of the toe's edge as a point (3)."""
        _known(mode, self.modes)
        heel, toe = self.corners[:2].mean(axis=0), self.corners[2:].mean(axis=0)
        half = float(toe[0] - heel[0]) / 2
        if mode == "flat":
            middle = motion.at(ca.SX(ca.DM((heel + toe) / 2)))
            gaps = ca.vertcat(middle.p[2], motion.R[1, 2], motion.R[0, 2])
            return _stance(middle, motion.w, gaps, ca.SX.eye(3), (self.width, half, TORSION))
        edge = motion.at(ca.SX(ca.DM(toe if mode.startswith("toe") else heel)))
        if mode == "toe-point":
            return _stance(edge, motion.w, edge.p[2])
        # The edge lies along the foot's y: it may turn about that line alone.
        along = motion.R[:, 1]
        across = ca.horzcat(along[1], -along[0], 0)
        gaps = ca.vertcat(edge.p[2], along[2])
        return _stance(edge, motion.w, gaps, ca.vertcat(across, UP.T), (self.width, TORSION))

    def clearance(self, motion: Motion) -> ca.SX:
        """Return the heights of the corners (4,)."""
        return ca.vertcat(*(motion.at(ca.SX(ca.DM(corner))).p[2] for corner in self.corners))


def _stance(at: Motion, w: ca.SX, gaps: ca.SX, turning: ca.SX | None = None, arms: tuple[float, ...] = ()) -> Stance:
    held = ca.SX(0, 3) if turning is None else turning
    return Stance(ca.vertcat(at.v, held @ w), gaps, at.p, held, arms)


def _known(mode: str, modes: tuple[str, ...]) -> None:
    if mode not in modes:
        raise InputError("mode", mode, "one of " + ", ".join(modes))
