"""Kernels of joints: what a kind of joint does, from the expressions that models are made of.

On a parent that rests a body's motion is that of its joint alone: R, p, its accelerations at nudot = 0, and of a joint
the motion subspace as its Jacobians, of a body that is told how to move its twist.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import casadi as ca

from trundle.contact.motion import still
from trundle.models.tree.joint import Connection, Site, VectorJoint
from trundle.models.tree.joints import FreeJoint
from trundle.models.tree.model import TIME
from trundle.numerics.space import angular_size
from trundle.simulate.engine.kernels import Kernel, compile_kernel


@dataclass(frozen=True)
class JointFunctions:
    """What a joint does, as functions of its configuration q, its velocities v and its inputs, or the time, g.

    Attributes
    ----------
    joint : casadi.Function
        (q, v, g) -> R, p, al, a and twists; of a free body R and p alone.
    rate : casadi.Function, or None
        (q, v, g, nudot) -> the rates of q and v; None: q' = v, or it has none.
    moved : casadi.Function, or None
        (q, step) -> q displaced by the step; None: q + step, or it has none.
    """

    joint: ca.Function
    rate: ca.Function | None
    moved: ca.Function | None

    @classmethod
    def of(cls, joint: Connection) -> JointFunctions:
        """Return what a joint does."""
        sizes = {**joint.configuration(), **joint.velocity()}
        y = {name: ca.SX.sym(name, size) for name, size in sizes.items()}
        given = {name: ca.SX.sym(name, size) for name, size in joint.inputs.items()}
        given |= {TIME: ca.SX.sym(TIME)} if joint.by_time else {}
        q, v = (ca.vertcat(*(y[name] for name in names())) for names in (joint.configuration, joint.velocity))
        state = [q, v, ca.vertcat(*given.values())]
        site = Site(still(joint.d, joint.size), ca.SX(joint.d, 1), None, joint.size, 0)
        told = _function("joint", state, _motion(joint, site, y | given))
        if isinstance(joint, VectorJoint) or not y:
            return cls(told, None, None)
        nudot, step = ca.SX.sym("nudot", joint.size), ca.SX.sym("step", joint.size)
        rates = joint.rates(site, y | given, nudot, None)
        rate = _function("joint_rate", [*state, nudot], [rates[name] for name in y])
        moved = joint.displace(y, step)
        if not moved:
            return cls(told, rate, None)
        return cls(told, rate, _function("joint_moved", [q, step], [moved[name] for name in joint.configuration()]))


def _motion(joint: Connection, site: Site, y: dict[str, ca.SX]) -> list[ca.SX]:
    motion = joint.motion(site, y)
    pose = [ca.vec(ca.densify(motion.R)), motion.p]
    if isinstance(joint, FreeJoint):
        return pose
    J = ca.vertcat(motion.Jw, motion.Jv)
    twists = ca.vec(ca.densify(J)) if joint.size else ca.vertcat(motion.w, motion.v)
    return [*pose, motion.al, motion.a, twists]


def told_size(joint: Connection) -> int:
    """Return how many numbers its kernel gives."""
    d, k = joint.d, angular_size(joint.d)
    return d * d + d + (0 if isinstance(joint, FreeJoint) else (k + d) * (1 + max(joint.size, 1)))


@dataclass(frozen=True)
class JointKernels:
    """The functions of a joint, compiled."""

    joint: Kernel
    rate: Kernel | None
    moved: Kernel | None

    @classmethod
    def of(cls, found: JointFunctions) -> JointKernels:
        """Compile what was not compiled before on this machine."""
        return cls(compile_kernel(found.joint), _optional(found.rate), _optional(found.moved))


class KindsOfJoints:
    """The kernels of joints, those of equal joints once (final)."""

    def __init__(self) -> None:
        self._made: dict[Hashable, JointKernels] = {}
        self._joints: list[Connection] = []

    def kernels(self, joint: Connection) -> JointKernels:
        """Return the kernels of a joint."""
        try:
            hash(joint)
        except TypeError:  # of an own joint that holds an array: by its identity, and so it has to live
            self._joints.append(joint)
            return self._keep_kernels(id(joint), lambda: JointFunctions.of(joint))
        return self._keep_kernels(joint, lambda: JointFunctions.of(joint))

    def _keep_kernels(self, key: Hashable, make: Callable[[], JointFunctions]) -> JointKernels:
        if key not in self._made:
            self._made[key] = JointKernels.of(make())
        return self._made[key]


def _optional(function: ca.Function | None) -> Kernel | None:
    return None if function is None else compile_kernel(function)


def _function(name: str, given: list[ca.SX], results: list[ca.SX]) -> ca.Function:
    return ca.Function(name, given, [ca.densify(ca.vertcat(*map(ca.densify, results)))], {"cse": True})
