"""Postures of arms: joints that bring hands where they should be, the rest of the robot left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from trundle.checks import FloatArray, positive
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.models.robots.inverse_kinematics import inverse_kinematics
from trundle.numerics.rotations import rotation_vector
from trundle.systems.multicontact.humanoid.limbs import own_joints

_POSTURES = (1e-2, 1e-4)
"""Weights of the posture: first it decides what the hands leave free, then the places have the last word."""
_SHOULDER = 2
"""Joints of an arm that count as its shoulder: what comes after the last of them can be stretched out."""
_BEFORE, _HELD = np.array([0.6, -0.5]), np.array([0.6, -0.35])
"""Ahead of the shoulders and up, in lengths of the arm: where a box is picked up, and where it is held. Elbows are bent
there by a right angle or more, and forearms nearly level: wrists bear little besides the box."""


@dataclass(frozen=True)
class Arms:
    """What arms reach from, and how far (final).

    Parameters
    ----------
    shoulders : (3,) m
        Middle of those of all hands.
    length : float, m
        Along an arm from shoulder to hand, mean of all.
    """

    shoulders: FloatArray
    length: float

    @property
    def before(self) -> FloatArray:
        """A place (3,) m where both hands can pick something up, for shoulders as they are."""
        return self._place(_BEFORE)

    @property
    def held(self) -> FloatArray:
        """A place (3,) m where both hands can hold something, for shoulders as they are."""
        return self._place(_HELD)

    def _place(self, part: FloatArray) -> FloatArray:
        return self.shoulders + self.length * np.array([part[0], 0.0, part[1]])


def arms(humanoid: Humanoid, q: FloatArray) -> Arms:
    """Return shoulders and length of the arms in the state q (nq,), the robot facing along x.

    Joints of an arm are those that move its hand and no other end, the first two of them its shoulder.

    Raises
    ------
    InputError
        If there is no hand, or one has no more joints of its own than these.
    """
    robot = humanoid.robot
    bodies, places = robot.bodies(), robot.joint_places(q)
    shoulders, lengths = [], []
    for name, hand in humanoid.hands.items():
        own = own_joints(humanoid, f"{name}_hand")
        if len(own) <= _SHOULDER:
            raise InputError("hands", hand.link, f"links of arms of more than {_SHOULDER} joints: hand {name!r}")
        _, R, p = robot.place_on_body(hand.link)
        lengths.append(sum(float(norm(bodies[i].p)) for i in own[_SHOULDER:]) + float(norm(p + R @ hand.at)))
        shoulders.append(places[own[_SHOULDER - 1]])
    if not shoulders:
        raise InputError("hands", {}, "at least one")
    return Arms(np.mean(shoulders, axis=0), float(np.mean(lengths)))


def arm_pose(
    humanoid: Humanoid,
    q: FloatArray,
    targets: Mapping[str, tuple[FloatArray, FloatArray]],
    *,
    tolerance: float = 0.02,
    iterations: int = 100,
) -> FloatArray:
    """Return joints (n,) with each hand of `targets` at its place p (3,) m with its axes R (3, 3), world.

    Only joints that move one end alone are moved, within their limits, from the state q (nq,)
    (`trundle.models.robots.inverse_kinematics`); what the hands leave free stays near the posture.

    Raises
    ------
    InputError
        If a hand misses its place by more than `tolerance` (m, and 10 rad/m of it in attitude).
    MissingExtraError
        If Pink is not installed.
    """
    positive("tolerance", tolerance, "m")
    own = {i - 1 for name in targets for i in own_joints(humanoid, name)}
    state = inverse_kinematics(humanoid, q, targets, postures=_POSTURES, iterations=iterations, joints=own)
    ends = humanoid.placed_ends(state)
    misses = [
        max(norm(p - ends[name].p), 0.1 * norm(rotation_vector(ends[name].R, R))) for name, (p, R) in targets.items()
    ]
    worst = max(map(float, misses), default=0.0)
    if worst > tolerance:
        miss = f"one is missed by {worst:.3f} m"
        raise InputError("targets", list(targets), f"places within reach of the arms: {miss}")
    return state[7:]
