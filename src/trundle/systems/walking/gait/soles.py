"""Soles: how a foot may stand on flat ground, as rows of velocities and the forces conjugate to them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import casadi as ca

from trundle.checks import FloatArray
from trundle.contact.contact import Contact, nearest_coordinates
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.geometry.boundary import SupportLike
from trundle.numerics.space import dot, lever
from trundle.systems.walking.robots.avatar import AvatarFoot

_THREE = [[0.25] * 4, [-1.0, -1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]]
"""The mean of four corners' gaps, and what they differ by ahead and across."""
UP = ca.SX(ca.DM([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class FootStance:
    """One way of standing, written with the symbols of a foot's `Motion` in the world; on z = 0 or a surface.

    Attributes
    ----------
    rows : (m,)
        Velocities that are zero while the foot stands so.
    gaps : (g,)
        Positions (m) and slopes that are zero while the foot stands so, g <= m.
    points : tuple of (3,) m
        Where the ground pushes, world.
    velocities : tuple of (3,) m/s
        Of the foot's material points there: what the forces are conjugate to.
    frames : tuple of (3, 3), optional
        Axes in which forces and velocities are, the normal the last; those of the world unless given.
    """

    rows: ca.SX
    gaps: ca.SX
    points: tuple[ca.SX, ...]
    velocities: tuple[ca.SX, ...]
    frames: tuple[ca.SX, ...] = ()

    @property
    def size(self) -> int:
        """Number of force components: three a point."""
        return 3 * len(self.points)

    def margins(self, force: ca.SX, friction: float) -> ca.SX:
        """Return what is >= 0 while the ground can give `force` (size,): a pyramid inside the cone of each point.

        |f_x|, |f_y| <= mu f_z / sqrt(2).
        """
        sides = []
        for i in range(len(self.points)):
            f_x, f_y, bound = force[3 * i], force[3 * i + 1], friction / math.sqrt(2) * force[3 * i + 2]
            sides += [bound - f_x, bound + f_x, bound - f_y, bound + f_y]
        return ca.vertcat(*sides)

    def wrench(self, force: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return force (3,), moment (3,) about the middle of the points, and that middle (3,), world."""
        middle = sum(self.points, ca.SX(3, 1)) / len(self.points)
        frames = self.frames or (ca.SX.eye(3),) * len(self.points)
        pushes = [frame @ force[3 * i : 3 * i + 3] for i, frame in enumerate(frames)]
        moment = sum((ca.cross(p - middle, f) for p, f in zip(self.points, pushes, strict=True)), ca.SX(3, 1))
        return sum(pushes, ca.SX(3, 1)), moment, middle


class Sole(ABC):
    """What a foot is below (abstract).

    Contract: ``modes`` names the ways it can stand, the first one in single support; ``stance(motion, mode)`` gives
    each; ``clearance(motion)`` gives heights (m) above the ground that are >= 0 in swing, ``probe(motion)`` the frame
    of which a record tells place and velocity.
    """

    modes: tuple[str, ...]

    @abstractmethod
    def stance(self, motion: Motion, mode: str) -> FootStance:
        """Return the rows of a foot with this `motion` (of its ankle's frame) that stands in `mode`."""

    @abstractmethod
    def clearance(self, motion: Motion) -> ca.SX:
        """Return heights above the ground."""

    @abstractmethod
    def probe(self, motion: Motion) -> Motion:
        """Return the frame at the lowest point of a smooth sole, at the middle of a flat one."""

    def normal(self, motion: Motion) -> ca.SX:
        """Return the normal (3,) of the ground there."""
        return UP


@final
@dataclass(frozen=True)
class RollingSole(Sole):
    """A smooth convex sole that rolls: one point, P = C + R grad h(-R'e_z), of zero velocity.

    Parameters
    ----------
    shape : SupportLike
    center : (3,) m
        The shape's origin C in the foot's frame.
    stretch : (3,), optional
        Factors s of the shape's extent along its axes: P = C + R S grad h(S n/|S n|), n = -R'e_z, S = diag(s).
    """

    shape: SupportLike
    center: ca.SX
    stretch: ca.SX | None = None

    modes = ("rolling",)

    @classmethod
    def of(cls, foot: AvatarFoot, stretch: ca.SX | None = None) -> RollingSole:
        """Return a foot's rolling sole; a stretched one is as deep below the ankle."""
        shape, center = foot.sole.representations.support, ca.SX(ca.DM(foot.center))
        if shape is None:
            raise InputError("sole", type(foot.sole).__name__, "a convex body")
        if stretch is not None:
            center[2] = -foot.depth + (foot.depth + center[2]) * stretch[2]
        return cls(shape, center, stretch)

    def local(self, motion: Motion) -> ca.SX:
        """Return C to P (3,), m, in the foot's axes: the contact, or the lowest point of a foot in the air."""
        n = -(motion.R.T @ UP)
        if self.stretch is None:
            return self.shape.point_and_radii(n)[0]
        n = self.stretch * n
        return self.stretch * self.shape.point_and_radii(n / ca.norm_2(n))[0]

    def stance(self, motion: Motion, mode: str) -> FootStance:
        """Return the rows of rolling; spin about the normal is free."""
        _check_mode(mode, self.modes)
        touch = self.probe(motion)
        return FootStance(touch.v, touch.p[2], (touch.p,), (touch.v,))

    def clearance(self, motion: Motion) -> ca.SX:
        """Return the gap (1,)."""
        return self.stance(motion, "rolling").gaps

    def probe(self, motion: Motion) -> Motion:
        """Return the frame at the lowest point."""
        return motion.at(self.center + self.local(motion))


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

    def stance(self, motion: Motion, mode: str) -> FootStance:
        """Return the rows of the face (6), of an edge (5) or of the middle of the toe's edge as a point (3).

        The ground pushes at the corners: on the face twelve forces for six rows, as many as four points have.
        """
        _check_mode(mode, self.modes)
        heel, toe = self.corners[:2], self.corners[2:]
        bearing = {"flat": self.corners, "toe": toe, "heel": heel, "toe-point": toe.mean(axis=0, keepdims=True)}[mode]
        corners = [motion.at(ca.SX(ca.DM(corner))) for corner in bearing]
        middle = motion.at(ca.SX(ca.DM(bearing.mean(axis=0))))
        # An edge lies along the foot's y and may turn about that line alone.
        along, w = motion.R[:, 1], motion.w
        rows, gaps = {
            "flat": (w, ca.vertcat(motion.R[1, 2], motion.R[0, 2])),
            "toe": (ca.vertcat(w[0] * along[1] - w[1] * along[0], w[2]), along[2]),
            "heel": (ca.vertcat(w[0] * along[1] - w[1] * along[0], w[2]), along[2]),
            "toe-point": (ca.SX(0, 1), ca.SX(0, 1)),
        }[mode]
        return FootStance(
            ca.vertcat(middle.v, rows),
            ca.vertcat(middle.p[2], gaps),
            tuple(corner.p for corner in corners),
            tuple(corner.v for corner in corners),
        )

    def clearance(self, motion: Motion) -> ca.SX:
        """Return the heights of the corners (4,)."""
        return ca.vertcat(*(motion.at(ca.SX(ca.DM(corner))).p[2] for corner in self.corners))

    def probe(self, motion: Motion) -> Motion:
        """Return the frame at the middle of the face."""
        return motion.at(ca.SX(ca.DM(self.corners.mean(axis=0))))


@final
@dataclass(frozen=True)
class GroundSole(Sole):
    """A foot on smooth ground: a convex body that rolls, or the four corners of a flat sole that stand.

    Parameters
    ----------
    contacts : tuple of Contact
        With the ground, in the foot's frame: one, or those of heel left and right, toe left and right.
    ground : Motion
        Of the ground's frame.
    modes : ("rolling",) or ("flat",)
    """

    contacts: tuple[Contact, ...]
    ground: Motion
    modes: tuple[str, ...]

    def _touches(self, motion: Motion) -> list[tuple[ca.SX, ca.SX, ca.SX]]:
        """Return lever arm (3,), frame (3, 3) and gap of each contact at its nearest point."""
        found, ground = [], self.ground
        for contact in self.contacts:
            A, B = contact.touch(motion, ground, nearest_coordinates(contact, motion, ground))
            found.append((A.r, ca.horzcat(B.T, B.n), dot(B.n, motion.p + A.r - ground.p - B.r)))
        return found

    def stance(self, motion: Motion, mode: str) -> FootStance:
        """Return the rows of rolling (3), or of the face (6), whose four gaps are three where it does not bend."""
        _check_mode(mode, self.modes)
        touches = self._touches(motion)
        gaps = ca.vertcat(*(gap for _, _, gap in touches))
        velocities = tuple(frame.T @ (motion.v + lever(r) @ motion.w) for r, frame, _ in touches)
        rows = velocities[0] if mode == "rolling" else ca.vertcat(motion.v, motion.w)
        mixed = gaps if mode == "rolling" else ca.SX(ca.DM(_THREE)) @ gaps
        frames = tuple(frame for _, frame, _ in touches)
        return FootStance(rows, mixed, tuple(motion.p + r for r, _, _ in touches), velocities, frames)

    def clearance(self, motion: Motion) -> ca.SX:
        """Return the gaps, one or four."""
        return ca.vertcat(*(gap for _, _, gap in self._touches(motion)))

    def probe(self, motion: Motion) -> Motion:
        """Return the frame at the nearest point, or at the middle of the face."""
        arms = [r for r, _, _ in self._touches(motion)]
        return motion.at(motion.R.T @ sum(arms, ca.SX(3, 1)) / len(arms))

    def normal(self, motion: Motion) -> ca.SX:
        """Return the normal at the first contact."""
        return self._touches(motion)[0][1][:, 2]


def _check_mode(mode: str, modes: tuple[str, ...]) -> None:
    if mode not in modes:
        raise InputError("mode", mode, "one of " + ", ".join(modes))
