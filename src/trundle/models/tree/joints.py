"""Joints of a tree: the motion of a body that hangs on another one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca

from trundle.checks import FloatArray
from trundle.contact.motion import Motion, fixed, prismatic, revolute
from trundle.numerics.space import rotation, rotation_about

JOINTED = ("revolute", "prismatic")
"""Kinds of bodies with a joint, and so with one velocity."""


@dataclass(frozen=True)
class BodySpec:
    """A body as the builder knows it: ground, prescribed, free, revolute, prismatic or fixed; see `Tree`'s methods.

    ``orientation`` (3, 3): axes of a jointed or fixed body, at joint position 0, in its parent's; None where they are
    parallel. ``joint``: the joint's own name, the body's unless given. ``damping`` (N m s/rad, N s/m),
    ``dry_friction`` (N m, N) and a spring, ``stiffness`` (N m/rad, N/m) at rest at ``rest`` (rad, m), are of its joint.
    """

    kind: str
    name: str
    mass: float = 0.0
    inertia: FloatArray | float = 0.0
    com: tuple[float, ...] = ()
    rolling: str | None = None
    parent: int = -1
    at: tuple[float, ...] = ()
    axis: tuple[float, ...] = ()
    actuated: bool = False
    orientation: tuple[tuple[float, ...], ...] | None = None
    joint: str = ""
    damping: float = 0.0
    dry_friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0

    @property
    def jointed(self) -> bool:
        """Whether the body has a joint."""
        return self.kind in JOINTED


def jointed_motion(spec: BodySpec, parent: Motion, position: ca.SX, rate: ca.SX, column: int) -> Motion:
    """Return the motion of a body on `parent` at the joint `position` (rad or m) with the rate nu[column]."""
    d = len(spec.at)
    at, axis = ca.SX(ca.DM(spec.at)), ca.DM(spec.axis)
    orientation = None if spec.orientation is None else ca.SX(ca.sparsify(ca.DM(spec.orientation)))
    if spec.kind == "prismatic":
        moved = prismatic(parent, at, ca.SX(axis), position, rate, column)
        return moved if orientation is None else replace(moved, R=moved.R @ orientation)
    # About an axis in the parent's axes: first the turn at rest, then the joint's.
    about = rotation(position) if d == 2 else ca.SX(rotation_about(axis, position))
    return revolute(parent, at, about if orientation is None else about @ orientation, ca.SX(axis), rate, column)


def fixed_motion(spec: BodySpec, parent: Motion) -> Motion:
    """Return the motion of a frame fixed in `parent`."""
    orientation = ca.SX.eye(len(spec.at)) if spec.orientation is None else ca.SX(ca.sparsify(ca.DM(spec.orientation)))
    return fixed(parent, ca.SX(ca.DM(spec.at)), orientation)
