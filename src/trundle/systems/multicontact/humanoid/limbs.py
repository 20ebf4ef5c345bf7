"""Limbs of a humanoid in its posture: where arms and legs begin, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray, choice
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid


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
    choice("end", end, humanoid.ends)
    own = own_joints(humanoid, end)
    if not own:
        raise InputError("end", end, "an end that a joint of its own moves")
    q = humanoid.standing()
    points = np.vstack((humanoid.robot.joint_places(q)[list(own)], humanoid.placed_ends(q)[end].p))
    return Limb(points[0], float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()))


def own_joints(humanoid: Humanoid, end: str) -> tuple[int, ...]:
    """Return the bodies from the base to an end whose joints move no other end, numbers in `Articulated.bodies`."""
    paths = {name: humanoid.robot.path(link) for name, (link, _) in humanoid.ends.items()}
    shared = {i for name, path in paths.items() if name != end for i in path}
    return tuple(i for i in paths[end] if i not in shared)
