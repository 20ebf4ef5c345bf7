"""Postures of arms: joints that bring hands where they should be, the rest of the robot left as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from trundle.checks import FloatArray, positive
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.models.urdf.articulated import Articulated, MovingBody
from trundle.numerics.rotations import rotation_vector

_DAMPING = 1e-3
_REST = 0.02
"""Part of the way to the rest posture that a step goes in what the hands leave free."""
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
    robot, bodies = humanoid.robot, humanoid.robot.bodies()
    paths = {name: _above(bodies, robot.place_on_body(link)[0]) for name, (link, _) in humanoid.ends.items()}
    shoulders, lengths = [], []
    for name, hand in humanoid.hands.items():
        shared = {i for other, path in paths.items() if other != f"{name}_hand" for i in path}
        own = [i for i in paths[f"{name}_hand"] if i not in shared]
        if len(own) <= _SHOULDER:
            raise InputError("hands", hand.link, f"links of arms of more than {_SHOULDER} joints: hand {name!r}")
        _, R, p = robot.place_on_body(hand.link)
        lengths.append(sum(float(norm(bodies[i].p)) for i in own[_SHOULDER:]) + float(norm(p + R @ hand.at)))
        shoulders.append(_origin(robot, q, own[_SHOULDER - 1]))
    if not shoulders:
        raise InputError("hands", {}, "at least one")
    return Arms(np.mean(shoulders, axis=0), float(np.mean(lengths)))


def _above(bodies: Sequence[MovingBody], i: int) -> list[int]:
    """Return the joints from the root to body `i`, by the index of the body that each one moves."""
    path = []
    while i > 0:
        path.append(i)
        i = bodies[i].parent
    return path[::-1]


def _origin(robot: Articulated, q: FloatArray, i: int) -> FloatArray:
    """Return where (3,) m the joint of body `i` is in the state q (nq,)."""
    link = next(name for name in robot.urdf.links if robot.place_on_body(name)[0] == i)
    motion, (_, R, p) = robot.terms(q, np.zeros(robot.nv), (link,)).motions[0], robot.place_on_body(link)
    return motion.p - motion.R @ R.T @ p


def arm_pose(
    humanoid: Humanoid,
    q: FloatArray,
    targets: Mapping[str, tuple[FloatArray, FloatArray]],
    *,
    tolerance: float = 0.02,
    iterations: int = 200,
) -> FloatArray:
    """Return joints (n,) with each hand of `targets` at its place p (3,) m with its axes R (3, 3), world.

    Only joints that move one end alone and no foot are moved, by damped least squares within their limits from the
    state q (nq,); what the hands leave free stays near the rest posture.

    Raises
    ------
    InputError
        If a hand misses its place by more than `tolerance` (m, and 10 rad/m of it in attitude).
    """
    positive("tolerance", tolerance, "m")
    robot, state = humanoid.robot, np.array(q)
    still, low, high = np.zeros(robot.nv), robot.lower, robot.upper
    errors = np.zeros(0)
    for i in range(iterations):
        pull = _REST if i < iterations // 2 else 0.0  # the places have the last word
        ends = humanoid.end_motions(robot.terms(state, still, humanoid.links).motions)
        touched = {name: np.any(np.abs(end.J[:, 6:]) > 1e-12, axis=0) for name, end in ends.items()}
        errors = np.zeros(0)
        for name, (p, R) in targets.items():
            end = ends[name]
            own = touched[name] & ~np.any([t for other, t in touched.items() if other != name], axis=0)
            J = end.J[:, 6:][:, own]
            error = np.concatenate([rotation_vector(end.R, R), p - end.p])
            rest = pull * (humanoid.joint_posture[own] - state[7:][own])
            K = J.T @ np.linalg.inv(J @ J.T + _DAMPING * np.eye(6))
            step = K @ error + rest - K @ (J @ rest)
            moved = state[7:].copy()
            moved[own] += step * min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-9))
            state[7:] = np.clip(moved, low, high)
            errors = np.concatenate([errors, error[3:], 0.1 * error[:3]])
    if np.abs(errors).max(initial=0.0) > tolerance:
        miss = f"one is missed by {np.abs(errors).max():.3f} m"
        raise InputError("targets", list(targets), f"places within reach of the arms: {miss}")
    return state[7:]
