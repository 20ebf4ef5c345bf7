"""The bodies of a robot and the joints between them: what `Robot` adds shapes, terrain and forces to."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import array, choice, non_negative, number
from trundle.contact.laws import ROLLING, Friction, start_laws
from trundle.contact.restitution import PLASTIC, Restitution
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.grounds import FurtherGround
from trundle.models.part_contacts import ContactPart, moments_of, turn_of
from trundle.models.tree.force import Force, Potential
from trundle.models.tree.joint import Joint, VectorJoint
from trundle.models.tree.joints import Told
from trundle.models.tree.system import OnSeparation, OnSlip, Rules
from trundle.models.tree.tree import Link, Tree
from trundle.parameters import parameter

TERRAIN = "terrain"


@dataclass
class RobotBodies(ABC):
    """Builder of a tree of bodies: free ones, and those on joints."""

    gravity: ArrayLike = parameter(9.81, "m/s^2, downward")
    law: str = ROLLING.name
    on_slip: OnSlip = "stop"
    on_separation: OnSeparation = "stop"
    _tree: Tree = field(init=False, repr=False)
    _world: Link = field(init=False, repr=False)
    _parts: list[ContactPart] = field(default_factory=list, init=False, repr=False)
    _between: list[ContactPart] = field(default_factory=list, init=False, repr=False)
    _origins: dict[str, tuple[float, ...]] = field(default_factory=dict, init=False, repr=False)
    _terrain: Shape | None = field(default=None, init=False, repr=False)
    _base: str = field(default=TERRAIN, init=False, repr=False)
    _grounds: list[FurtherGround] = field(default_factory=list, init=False, repr=False)
    _friction: float = field(default=1.0, init=False, repr=False)
    _restitution: Restitution = field(default=PLASTIC, init=False, repr=False)
    _surface: Friction = field(default=Friction(), init=False, repr=False)
    _forces: list[Force | Potential] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        choice("law", self.law, start_laws())
        Rules(self.on_slip, self.on_separation)
        if np.ndim(self.gravity) == 0:
            vector: Sequence[float] = (0.0, -number("gravity", self.gravity, unit="m/s2"))
        else:
            vector = array("gravity", self.gravity, (3 if np.size(self.gravity) == 3 else 2,), unit="m/s2").tolist()
        self._tree = Tree(len(vector), vector)
        self._world = self._tree.ground(TERRAIN)

    def free(
        self,
        mass: float,
        inertia: ArrayLike = "solid",
        *,
        center_of_mass: Sequence[float] | None = None,
        shape: Shape | None = None,
        shape_at: Sequence[float] | None = None,
        shape_rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        restitution: float | None = None,
        actuated: bool = False,
        name: str = "base",
    ) -> Link:
        """Add a body that nothing holds.

        Parameters
        ----------
        mass : kg
        inertia : number (plane), (3,) or (3, 3) kg m2, about the centre of mass; or "solid" or "shell"
            The words take the moments of the body's `shape`.
        center_of_mass : (d,) m
            In the body's frame.
        shape : Shape, optional
            What rolls on the terrain.
        shape_at : (d,) m
            Where the shape's origin is in the body's frame.
        shape_rpy : (3,) rad, or a number in the plane
            How the shape is turned there: R_body_shape = Rz(yaw) Ry(pitch) Rx(roll); in the plane counter-clockwise.
        friction : float, optional
            Coulomb's coefficient with the terrain, the terrain's own unless given.
        restitution : float, optional
            Of impacts, likewise.
        actuated : bool
            Whether an external torque (N m; (3,) in space, world) is an input.
        """
        com, moments = self._inertia(mass, inertia, center_of_mass, shape, shape_at, shape_rpy)
        link = self._tree.free(mass, moments, name=name, actuated=actuated)
        self._origins[name] = tuple(-c + 0.0 for c in com)
        return self.attach(link, shape, at=shape_at, rpy=shape_rpy, friction=friction, restitution=restitution)

    def revolute(
        self,
        parent: Link | None,
        at: Sequence[float],
        mass: float,
        inertia: ArrayLike = "solid",
        *,
        center_of_mass: Sequence[float] | None = None,
        axis: Sequence[float] = (0.0, 1.0, 0.0),
        actuated: bool = True,
        shape: Shape | None = None,
        shape_at: Sequence[float] | None = None,
        shape_rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        name: str = "link",
    ) -> Link:
        """Add a body hinged to `parent` (None: the world) at the point `at` (d,), m, of the parent's frame.

        The hinge is the origin of the new body's frame; ``axis`` (3,) is in the parent's axes (in the plane always
        counter-clockwise). An actuated joint has a torque (N m) as input. The rest as in `free`.
        """
        com, moments = self._inertia(mass, inertia, center_of_mass, shape, shape_at, shape_rpy)
        base, place = parent or self._world, self._joint(parent, at)
        link = self._tree.revolute(base, place, mass, moments, com, axis, actuated, name)
        return self._hang_body(link, shape, shape_at, shape_rpy, friction)

    def prismatic(
        self,
        parent: Link | None,
        at: Sequence[float],
        mass: float,
        inertia: ArrayLike = "solid",
        *,
        center_of_mass: Sequence[float] | None = None,
        axis: Sequence[float] | None = None,
        actuated: bool = True,
        shape: Shape | None = None,
        shape_at: Sequence[float] | None = None,
        shape_rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        name: str = "link",
    ) -> Link:
        """Add a body that slides along `axis` (d,), default x, of `parent` (None: world) from its point `at` (d,), m.

        An actuated joint has a force (N) as input. The rest as in `free`.
        """
        com, moments = self._inertia(mass, inertia, center_of_mass, shape, shape_at, shape_rpy)
        base, place = parent or self._world, self._joint(parent, at)
        link = self._tree.prismatic(base, place, mass, moments, com, axis, actuated, name)
        return self._hang_body(link, shape, shape_at, shape_rpy, friction)

    def joint(
        self,
        parent: Link | None,
        joint: Joint,
        mass: float,
        inertia: ArrayLike = "solid",
        *,
        at: Sequence[float] | None = None,
        center_of_mass: Sequence[float] | None = None,
        actuated: bool = False,
        shape: Shape | None = None,
        shape_at: Sequence[float] | None = None,
        shape_rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        name: str = "link",
    ) -> Link:
        """Add a body that any `joint` connects to `parent` at the point `at` (d,), m, of the parent's frame.

        The joint may be of a class of your own, see `trundle.models.tree.joint.Joint`; ``parent=None`` is the world.
        The rest as in `free`.
        """
        if actuated and isinstance(joint, Joint) and joint.size == 0:
            raise InputError("actuated", actuated, "False: this joint does not move")
        com, moments = self._inertia(mass, inertia, center_of_mass, shape, shape_at, shape_rpy)
        base, place = parent or self._world, self._joint(parent, self._point("at", at))
        link = self._tree.joint(base, joint, mass, moments, place, com, actuated, name)
        return self._hang_body(link, shape, shape_at, shape_rpy, friction)

    def fixed(
        self,
        parent: Link | None,
        mass: float = 0.0,
        inertia: ArrayLike = "solid",
        *,
        at: Sequence[float] | None = None,
        rpy: Sequence[float] | float | None = None,
        center_of_mass: Sequence[float] | None = None,
        shape: Shape | None = None,
        shape_at: Sequence[float] | None = None,
        shape_rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        name: str = "link",
    ) -> Link:
        """Weld a body to `parent` (None: the world), its frame at the point `at` (d,), m, and turned by `rpy`.

        ``rpy`` is (3,) rad, in the plane a number, as of a shape. Without mass it is a frame for shapes and for other
        bodies. A shape that is fixed in the world touches no terrain; what else it touches, `contact` says. The rest
        as in `free`.
        """
        moments, com = 0.0, self._point("center_of_mass", center_of_mass)
        if non_negative("mass", mass) > 0:
            com, moments = self._inertia(mass, inertia, center_of_mass, shape, shape_at, shape_rpy)
        base, place = parent or self._world, self._joint(parent, self._point("at", at))
        link = self._tree.fixed(base, place, turn_of(self._tree.d, rpy), mass, moments, com, name)
        return self._hang_body(link, shape, shape_at, shape_rpy, friction)

    def prescribed(
        self,
        parent: Link | None,
        joint: VectorJoint,
        motion: Callable[[ca.SX], Told],
        mass: float = 0.0,
        inertia: ArrayLike = "solid",
        *,
        at: Sequence[float] | None = None,
        center_of_mass: Sequence[float] | None = None,
        shape: Shape | None = None,
        shape_at: Sequence[float] | None = None,
        shape_rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        name: str = "link",
    ) -> Link:
        """Add a body whose `joint` moves as it is told: its coordinates are q = motion(t), whatever that takes.

        Parameters
        ----------
        joint : VectorJoint
            `trundle.models.Revolute`, `trundle.models.Prismatic` or one of your own.
        motion : callable
            From the time t (s), a CasADi symbol, to q (size,), rad or m; twice differentiable.

        The rest as in `joint`. The pose of a start is that at t = 0; energy is not conserved.
        """
        moments, com = 0.0, self._point("center_of_mass", center_of_mass)
        if non_negative("mass", mass) > 0:
            com, moments = self._inertia(mass, inertia, center_of_mass, shape, shape_at, shape_rpy)
        base, place = parent or self._world, self._joint(parent, self._point("at", at))
        link = self._tree.following(base, joint, motion, place, mass, moments, com, name)
        return self._hang_body(link, shape, shape_at, shape_rpy, friction)

    def close(self, link: Link, at: Sequence[float], other: Link | None, at_other: Sequence[float]) -> None:
        """Pin two bodies together, which closes a loop: the fourth joint of a four-bar, a second support of a fork.

        The point `at` (d,), m, of the frame of `link` stays on the point `at_other` of that of `other` (None: the
        world): a hinge in the plane, a ball joint in space, where two of them make a hinge. Of a pose that leaves it
        open `RollingTree.place` takes the nearest that does not.
        """
        self._origin("link", link)
        end = self._joint(other, self._point("at_other", at_other), "other")
        self._tree.close(link, self._joint(link, at, "link"), other or self._world, end)

    def couple(self, link: Link, leader: Link, *, ratio: float = 1.0, offset: float = 0.0) -> None:
        """Let the joint of a body follow another one: gears, belts, fingers that close together.

        Of the joints' coordinates (rad, m) ``q = ratio q_leader + offset``, in every mode; a torque tau on the joint is
        felt as ratio tau at the leader's. Of a pose that breaks it `RollingTree.place` takes the nearest that does not.

        Parameters
        ----------
        link, leader : Link
            Bodies on joints with one coordinate that move freely.
        ratio : float
            Not zero; rad or m of `link` per rad or m of `leader`.
        offset : float, rad or m

        Examples
        --------
        Two fingers that close together: a torque on one moves both.

        >>> robot = tr.Robot()
        >>> left = robot.revolute(None, (-0.1, 0), 0.1, 1e-3, name="left")  # m, kg, kg m2
        >>> right = robot.revolute(None, (0.1, 0), 0.1, 1e-3, name="right", actuated=False)
        >>> robot.couple(right, left, ratio=-1.0)
        >>> hand = robot.finish()
        >>> push = tr.FunctionPolicy(1.0, lambda t, x: 0.01)  # N m
        >>> run = tr.simulate(hand, hand.place(), 0.2, policy=push)
        >>> run["joint_position"][-1].round(4)  # rad: 0.01/(2e-3) t^2/2
        array([ 0.1, -0.1])
        """
        for key, one in (("link", link), ("leader", leader)):
            self._origin(key, one)
            joint = self._tree.specs[one.index].joint
            if not isinstance(joint, Joint) or joint.size != 1 or joint.by_time:
                raise InputError(key, one.name, "a body whose joint has one coordinate and moves freely")
        if link.index == leader.index:
            raise InputError("leader", leader.name, "another body than link")
        if number("ratio", ratio) == 0.0:
            raise InputError("ratio", ratio, "a number other than 0: the joint would not follow")
        self._tree.couple(link, leader, float(ratio), number("offset", offset))

    def resist(
        self,
        link: Link,
        *,
        stiffness: float = 0.0,
        rest: float = 0.0,
        damping: float = 0.0,
        dry_friction: float = 0.0,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Give the joint of a body a spring, a damper, dry friction and stops.

        With the coordinate q (rad, m) its torque (N m) or force (N) is

            -stiffness (q - rest) - damping q' - dry_friction q'/|q'|,

        where q' = 0 dry friction holds the joint with as much as is needed, up to `dry_friction`: it is a contact of
        the joint, ``<body>-friction``. Between the stops, ``low`` <= q <= ``high``, it moves freely: reaching one is an
        impact without friction, after which it stays there for as long as it is pressed on.

        Parameters
        ----------
        stiffness : N m/rad, N/m
        rest, low, high : rad, m
            Stops are of joints with one coordinate.
        damping : N m s/rad, N s/m
        dry_friction : N m, N
        """
        self._origin("link", link)
        joint = self._tree.specs[link.index].joint
        if not isinstance(joint, Joint) or not joint.size:
            raise InputError("link", link.name, "a body with a joint that moves")
        ends = -math.inf if low is None else number("low", low), math.inf if high is None else number("high", high)
        if joint.size > 1 and (low is not None or high is not None):
            raise InputError("link", link.name, "a body whose joint has one coordinate, for stops")
        if not ends[0] < ends[1]:
            raise InputError("high", high, f"more than low = {low}")
        self._tree.resist(
            link,
            stiffness=non_negative("stiffness", stiffness),
            rest=number("rest", rest),
            damping=non_negative("damping", damping),
            dry_friction=non_negative("dry_friction", dry_friction),
            low=ends[0],
            high=ends[1],
        )

    @abstractmethod
    def attach(
        self,
        link: Link,
        shape: Shape | None,
        *,
        at: Sequence[float] | None = None,
        rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        restitution: float | None = None,
    ) -> Link:
        """Fix one more shape to a body."""

    def _inertia(
        self,
        mass: float,
        inertia: ArrayLike,
        center_of_mass: Sequence[float] | None,
        shape: Shape | None,
        shape_at: Sequence[float] | None,
        shape_rpy: Sequence[float] | float | None,
    ) -> tuple[tuple[float, ...], ArrayLike]:
        """Return the centre of mass and the moments about it."""
        com = self._point("center_of_mass", center_of_mass)
        return com, moments_of(mass, inertia, shape, com, self._point("shape_at", shape_at), shape_rpy)

    def _hang_body(
        self,
        link: Link,
        shape: Shape | None,
        shape_at: Sequence[float] | None,
        shape_rpy: Sequence[float] | float | None,
        friction: float | None,
    ) -> Link:
        """Return a body that hangs on another, with its shape."""
        self._origins[link.name] = (0.0,) * self._tree.d
        return self.attach(link, shape, at=shape_at, rpy=shape_rpy, friction=friction)

    def _joint(self, parent: Link | None, at: Sequence[float], key: str = "parent") -> tuple[float, ...]:
        """Return a point of the frame of a parent, or of the world, in the frame the tree has for it."""
        origin = (0.0,) * self._tree.d if parent is None else self._origin(key, parent)
        return tuple(float(o + p) for o, p in zip(origin, self._point("at", at), strict=True))

    def _origin(self, key: str, link: Link) -> tuple[float, ...]:
        if not isinstance(link, Link) or link.name not in self._origins:
            raise InputError(key, link, "a body of this robot, as its methods hand it out")
        return self._origins[link.name]

    def _point(self, key: str, value: Sequence[float] | None) -> tuple[float, ...]:
        d = self._tree.d
        return (0.0,) * d if value is None else tuple(float(v) for v in array(key, value, (d,), unit="m"))
