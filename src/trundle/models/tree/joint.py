"""Joint: how a body of a tree moves relative to its parent; subclasses give transform, motion subspace, retraction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.contact import Kinematics
from trundle.contact.contacts import ChartContact
from trundle.contact.motion import Motion, carry_by_joint
from trundle.errors import InputError
from trundle.numerics.space import angular_size

Symbols = Mapping[str, ca.SX]
"""Expressions by the names of a body's variables, such as ``joint`` and ``rate``."""
_CONSISTENT = 1e-8  # of the terms: a joint of one's own whose subspace is not its transform's slope


@dataclass(frozen=True)
class Site:
    """Where a connection acts in a model.

    Attributes
    ----------
    parent : Motion
        Of the body it hangs on; of a root the world.
    at : (d,) m
        Origin of the joint frame, in the parent's frame; its axes are the parent's.
    orientation : (d, d), or None
        Child axes to joint axes at the neutral position; None where they are parallel.
    nv : int
        Number of the model's velocities nu.
    column : int
        The connection's first entry of nu.
    contact, coordinates : ChartContact and (2 (d - 1),), or None
        The contact that the body rolls on.
    """

    parent: Motion
    at: ca.SX
    orientation: ca.SX | None
    nv: int
    column: int
    contact: ChartContact | None = None
    coordinates: ca.SX | None = None


class Connection(ABC):
    """How a body is connected to the rest of a tree: what `TreeModel` asks of it.

    The variables of a body are its configuration, its velocity, and inputs other than forces; nu holds ``size``
    entries of it. To add a joint, derive from `Joint` or `VectorJoint` instead.
    """

    d: int
    """Dimension, 2 or 3."""
    size: int = 0
    """Number of entries of nu."""
    inputs: Mapping[str, int] = MappingProxyType({})
    """Names and sizes of inputs that every such body has."""
    by_time: bool = False
    """Whether the body moves on its parent as the time says, which is a state of the model then."""
    by_contact: bool = False
    """Whether the body's pose follows from the coordinates of its one contact."""

    @abstractmethod
    def configuration(self) -> dict[str, int]:
        """Return names and sizes of the configuration variables."""

    @abstractmethod
    def velocity(self) -> dict[str, int]:
        """Return names and sizes of the velocity variables."""

    @abstractmethod
    def motion(self, site: Site, y: Symbols) -> Motion:
        """Return the motion of the body's frame for its variables `y`."""

    @abstractmethod
    def rates(self, site: Site, y: Symbols, nudot: ca.SX, contact: Kinematics | None) -> dict[str, ca.SX]:
        """Return the rates of configuration and velocity for its `nudot` (size,)."""

    @abstractmethod
    def displace(self, y: Symbols, step: ca.SX) -> dict[str, ca.SX]:
        """Return the configuration displaced by `step` (size,) = nu dt, to first order."""

    @abstractmethod
    def with_velocity(self, nu: ca.SX) -> dict[str, ca.SX]:
        """Return the velocity variables of `nu` (size,)."""


class Joint(Connection):
    """A joint between a body and its parent (Featherstone 2008, sec. 4.4).

    The joint frame has its origin at the point ``at`` and the axes of the parent; with the configuration q (nq,) and
    the joint velocity v (``size``,) the child has in it

        the pose (R(q), p(q)),    the relative twist (w, v_p) = (Sw(q) v, Sv(q) v),    q' = d/dh (q (+) h v) at h = 0.

    The apparent derivative of S, which the accelerations need, follows. A tree names q ``<body>.joint`` and v
    ``<body>.rate``; an actuated joint has the input ``<body>.torque`` (size,), the force of virtual power v.

    Contract for a subclass:

    1. Attributes ``d`` (2 or 3), ``size`` and, unless it is zeros (size,), ``neutral`` (nq,).
    2. ``transform(q)``, ``subspace(q)`` and ``retract(q, step)``; S has to be the derivative of the transform.
    3. Instances are immutable and, for runs in several processes, can be pickled: a frozen dataclass.

    `VectorJoint` is the base of joints whose configuration is a vector, q' = v.

    Examples
    --------
    >>> import casadi as ca
    >>> import trundle as tr
    >>> from trundle.models import VectorJoint
    >>> class Circling(VectorJoint):  # moves on a circle of radius 0.5 m without turning
    ...     d, size = 2, 1
    ...
    ...     def transform(self, q):
    ...         return ca.SX.eye(2), 0.5 * ca.vertcat(ca.cos(q), ca.sin(q))
    ...
    ...     def subspace(self, q):
    ...         return ca.SX(1, 1), 0.5 * ca.vertcat(-ca.sin(q), ca.cos(q))
    >>> tree = tr.Tree(2, gravity=(0.0, -9.81))
    >>> seat = tree.joint(tree.ground(), Circling(), mass=1.0, inertia=0.1, name="seat")
    >>> list(tree.finish().layout)
    ['seat.joint', 'seat.rate']
    """

    neutral: tuple[float, ...] = ()
    """The configuration at which the frame of the child was given; empty: zeros (size,)."""

    @abstractmethod
    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return R (d, d), child axes to joint axes, and p (d,), m, the child's origin in the joint frame."""

    @abstractmethod
    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the motion subspace: Sw (k, size) and Sv (d, size), of the child's origin, in joint axes."""

    @abstractmethod
    def retract(self, q: ca.SX, step: ca.SX) -> ca.SX:
        """Return q (+) step, the configuration displaced by the joint displacement `step` (size,)."""

    @property
    @final
    def start(self) -> tuple[float, ...]:
        """The neutral configuration (nq,)."""
        return self.neutral or (0.0,) * self.size

    @property
    @final
    def turns(self) -> bool:
        """Whether a joint velocity turns the child."""
        return self.subspace(self._symbol())[0].nnz() > 0

    @property
    @final
    def slide(self) -> FloatArray | None:
        """Unit vector (d,), in joint axes, of a joint with one coordinate that only translates along it; else None."""
        turning, sliding = self.subspace(self._symbol())
        if self.size != 1 or turning.nnz() or not sliding.is_constant():
            return None
        return np.asarray(ca.DM(sliding)).ravel()

    @final
    def angle(self, q: ca.SX) -> ca.SX:
        """Return the angle (1,) of the child in the joint frame, in the plane."""
        turning, _ = self.subspace(q)
        if turning.is_constant() and q.shape[0] == self.size:
            return ca.densify(turning @ q)
        R, _ = self.transform(q)
        return ca.atan2(R[1, 0], R[0, 0])

    @final
    def check(self) -> None:
        """Raise `InputError` if the motion subspace is not the derivative of the transform."""
        q, step = self._symbol(), ca.SX.sym("step", self.size)
        R, p = self.transform(q)
        turning, sliding = self.subspace(q)
        k, shapes = angular_size(self.d), [part.shape for part in (R, p, turning, sliding)]
        wanted = [(self.d, self.d), (self.d, 1), (k, self.size), (self.d, self.size)]
        name = type(self).__name__
        if shapes != wanted:
            raise InputError("joint", f"{name} with R, p, Sw, Sv of shapes {shapes}", f"one with {wanted}")
        after, moved = self.transform(self.retract(q, step))
        spin, shift = ca.jacobian(after, step), ca.jacobian(moved, step)
        errors = [ca.densify(shift - sliding)]
        for i in range(self.size):
            turn = ca.reshape(spin[:, i], self.d, self.d) @ R.T
            w = turn[1, 0] if self.d == 2 else ca.vertcat(turn[2, 1], turn[0, 2], turn[1, 0])
            errors.append(ca.densify(w - turning[:, i]))
        error = ca.Function("error", [q, step], [ca.norm_inf(ca.vertcat(*(ca.vec(e) for e in errors)))])
        moved_by = ca.Function("retract", [q, step], [self.retract(q, step)])
        there = moved_by(ca.DM(self.start), 0.3 * ca.DM.ones(self.size))
        worst = max(float(error(at, ca.DM.zeros(self.size))) for at in (ca.DM(self.start), there))
        if not worst < _CONSISTENT:
            allowed = "a joint whose motion subspace is the derivative of its transform"
            raise InputError("joint", name, f"{allowed}, unlike here by {worst:.3g}")

    # what the tree asks -----------------------------------------------------------------------------------

    @final
    def configuration(self) -> dict[str, int]:
        """Return ``joint`` (nq)."""
        return {"joint": len(self.start)} if self.size else {}

    @final
    def velocity(self) -> dict[str, int]:
        """Return ``rate`` (size)."""
        return {"rate": self.size} if self.size else {}

    @final
    def motion(self, site: Site, y: Symbols) -> Motion:
        """Return the child's motion: that of the parent at the child's origin, and the relative one."""
        q, v = y.get("joint", ca.SX(0, 1)), y.get("rate", ca.SX(0, 1))
        R, p = self.transform(q)
        turning, sliding = self.subspace(q)
        bend, shift = (self._bias(S, q, v) for S in (turning, sliding))
        R = R if site.orientation is None else R @ site.orientation
        return carry_by_joint(site.parent, R, site.at + p, (turning, sliding), v, (bend, shift), site.column)

    @final
    def rates(self, site: Site, y: Symbols, nudot: ca.SX, contact: Kinematics | None) -> dict[str, ca.SX]:
        """Return q' and v'."""
        return {"joint": self._rate(y["joint"], y["rate"]), "rate": nudot} if self.size else {}

    @final
    def displace(self, y: Symbols, step: ca.SX) -> dict[str, ca.SX]:
        """Return q (+) step."""
        return {"joint": self.retract(y["joint"], step)} if self.size else {}

    @final
    def with_velocity(self, nu: ca.SX) -> dict[str, ca.SX]:
        """Return v = nu."""
        return {"rate": nu} if self.size else {}

    def _bias(self, S: ca.SX, q: ca.SX, v: ca.SX) -> ca.SX:
        """Return (dS/dt) v of a part S of the motion subspace."""
        return ca.SX(S.shape[0], 1) if S.is_constant() else ca.jtimes(S @ v, q, self._rate(q, v))

    def _rate(self, q: ca.SX, v: ca.SX) -> ca.SX:
        step = ca.SX.sym("step", self.size)
        return ca.substitute(ca.jtimes(self.retract(q, step), step, v), step, ca.SX.zeros(self.size))

    def _symbol(self) -> ca.SX:
        return ca.SX.sym("q", len(self.start))


class VectorJoint(Joint):
    """A joint whose configuration is a vector: q (+) step = q + step, q' = v."""

    @final
    def retract(self, q: ca.SX, step: ca.SX) -> ca.SX:
        """Return q + step."""
        return q + step
