"""Limbs of a humanoid in its posture: where arms and legs begin, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.numerics.rotations import rotation_by, rotation_of


@dataclass(frozen=True, eq=False)
class Limb:
    """An arm or a leg.

    Attributes
    ----------
    root : (3,) m
        Where it begins, in the posture, the middle of the soles at the origin: its first joint that moves no other end.
    length : float, m
        From joint to joint to the middle of the end: what no stretched limb exceeds.
    """

    root: FloatArray
    length: float


def limb(humanoid: Humanoid, end: str) -> Limb:
    """Return the limb that ends with `end`, one of `Humanoid.ends`.

    Raises
    ------
    InputError
        If the robot has no such end, or no joint moves it alone.
    """
    if end not in humanoid.ends:
        raise InputError("end", end, "one of the robot's ends: " + ", ".join(map(repr, humanoid.ends)))
    bodies, robot = humanoid.robot.bodies(), humanoid.robot

    def chain(name: str) -> list[int]:
        """Return the bodies from the base to the end."""
        i, found = robot.place_on_body(humanoid.ends[name][0])[0], []
        while i > 0:
            found.append(i)
            i = bodies[i].parent
        return found[::-1]

    shared = {i for other in humanoid.ends if other != end for i in chain(other)}
    own = [i for i in chain(end) if i not in shared]
    if not own:
        raise InputError("end", end, "an end that a joint of its own moves")
    q = humanoid.standing()
    places = joint_places(humanoid, q)
    tip = humanoid.end_motions(robot.terms(q, np.zeros(robot.nv), humanoid.links).motions)[end].p
    points = np.vstack((places[own], tip))
    return Limb(points[0], float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()))


def joint_places(humanoid: Humanoid, q: FloatArray) -> FloatArray:
    """Return the origins (n + 1, 3) m, world, of the base and of each joint at q (nq,), as in `Articulated.bodies`."""
    bodies = humanoid.robot.bodies()
    R, p = [rotation_of(q[3:7])], [np.array(q[:3])]
    for body, angle in zip(bodies[1:], q[7:], strict=True):
        above = R[body.parent] @ body.R
        p.append(p[body.parent] + R[body.parent] @ body.p + (angle * above @ body.axis if body.slides else 0.0))
        R.append(above if body.slides else above @ rotation_by(angle * np.asarray(body.axis)))
    return np.array(p)
