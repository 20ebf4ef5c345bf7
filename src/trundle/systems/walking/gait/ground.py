"""SmoothGround: ground at rest that is not the plane z = 0, as the soles of a robot that steps on it know it."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, instance
from trundle.contact.choice import contact_form, make_contact
from trundle.contact.contact import Contact
from trundle.contact.motion import Motion, still
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.rigid_body import Hand

_NEWTON = 30  # steps of Newton's method at most


class SmoothGround:
    """Ground at rest that faces upwards near z = 0 (final).

    Parameters
    ----------
    hand : Hand
        A shape with a level set, and where it is; it does not move.

    Raises
    ------
    InputError
        If it moves, or its shape has no level set.
    """

    def __init__(self, hand: Hand) -> None:
        self.hand = instance("ground", hand, Hand, "a Hand")
        level = hand.shape.representations.level if hand.shape.d == 3 else None
        if level is None:
            allowed = "ground with a level set: a plane, a quadric, a height map or an extruded graph"
            raise InputError("ground.shape", type(hand.shape).__name__, allowed)
        if any(hand.twist) or not hand.motion.is_still(0.0):
            raise InputError("ground.motion", hand.motion, "ground at rest")
        R, p, x = ca.SX(ca.sparsify(ca.DM(hand.R_world_hand))), ca.SX(ca.DM(hand.position)), ca.SX.sym("x", 3)
        f, gradient = level.value_and_gradient(R.T @ (x - p))
        self._place = R, p
        self._level = ca.Function("ground", [x], [f, R @ gradient], {"cse": True})

    def motion(self, nv: int) -> Motion:
        """Return the motion of the ground's frame in a model with `nv` velocities."""
        R, p = self._place
        return replace(still(3, nv), R=R, p=p)

    def contact(self, foot: str, shape: Shape, center: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Contact:
        """Return the contact of a shape, its origin at `center` in the foot's frame, with the ground.

        Raises
        ------
        InputError
            If the shape cannot touch the ground by a point that its pose says.
        """
        form = contact_form(shape, self.hand.shape)
        if form not in ("support", "features", "level", "pair"):
            raise InputError(f"feet.{foot}.shape", type(shape).__name__, "a convex body, a point or a flat patch")
        return make_contact(shape, self.hand.shape, form, center)

    def below(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ground's points (n, 3) m over or under `points` (n, 2) m, and its normals (n, 3)."""
        x = np.column_stack([points, np.zeros(len(points))])
        gradient = np.ones((3, 1))
        for _ in range(_NEWTON):
            f, gradient = (np.array(value) for value in self._level(x.T))
            if not np.all(gradient[2] > 0.0):
                raise InputError("ground", self.hand.shape, "ground that faces upwards near z = 0, wherever feet are")
            x[:, 2] -= f[0] / gradient[2]
        return x, gradient.T / np.linalg.norm(gradient, axis=0)[:, None]
