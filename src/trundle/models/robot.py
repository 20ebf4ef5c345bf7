"""Robot: what a user says of a tree of bodies with wheels and feet, in the plane and in space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import array, choice, non_negative, number
from trundle.contact.laws import ROLLING, Friction, start_laws
from trundle.contact.restitution import PLASTIC, Hypothesis, Restitution
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.part_contacts import Part, between, coefficients, moments_of, new_part, on_terrain
from trundle.models.rigid_body import Ground
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.force import Force, ForceLaw, Potential, States, Value
from trundle.models.tree.joint import Joint
from trundle.models.tree.system import OnSeparation, OnSlip, Rules
from trundle.models.tree.tree import Link, Tree
from trundle.parameters import parameter

TERRAIN = "terrain"


@dataclass
class Robot:
    """Builder of a tree of bodies, some of which roll on terrain.

    A body's frame has its origin where the user says: of a free body anywhere (its ``center_of_mass`` is given in
    it), of a jointed body at the joint. A shape has its origin in the body's origin, or at ``shape_at``.

    Parameters
    ----------
    gravity : number m/s2 (downwards, in the plane), or (2,) or (3,) m/s2
        A vector of three makes a robot in space.
    law : "rolling" or "pure-rolling"
        Of wheels and feet that touch; pure rolling (space) does not spin about the normal.
    on_slip : "stop", "slide" or "ignore"
    on_separation : "stop", "fly" or "ignore"
        When a contact comes apart.

    Examples
    --------
    A cart on two wheels rolls at 0.2 m/s on level ground.

    >>> robot = tr.Robot(gravity=9.81)
    >>> body = robot.free(2.0, 0.02, name="body")  # kg, kg m2
    >>> rear = robot.revolute(body, at=(-0.1, -0.05), mass=0.2, shape=tr.Circle(0.05), name="rear")
    >>> front = robot.revolute(body, at=(0.1, -0.05), mass=0.2, shape=tr.Circle(0.05), name="front")
    >>> robot.terrain(tr.Line(), friction=0.8)
    >>> cart = robot.finish()
    >>> start = cart.place(body=(0.0, 0.1, 0.0), rates={"rear": -4.0})  # (x, z, angle); rad/s
    >>> run = tr.simulate(cart, start, duration=0.5)
    >>> run["body_position"][-1, 0].round(6)  # m
    array([0.1, 0.1])
    """

    gravity: ArrayLike = parameter(9.81, "m/s^2, downward")
    law: str = ROLLING.name
    on_slip: OnSlip = "stop"
    on_separation: OnSeparation = "stop"
    _tree: Tree = field(init=False, repr=False)
    _world: Link = field(init=False, repr=False)
    _parts: list[Part] = field(default_factory=list, init=False, repr=False)
    _between: list[Part] = field(default_factory=list, init=False, repr=False)
    _origins: dict[str, tuple[float, ...]] = field(default_factory=dict, init=False, repr=False)
    _terrain: Shape | None = field(default=None, init=False, repr=False)
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
        com = self._point("center_of_mass", center_of_mass)
        moments = moments_of(mass, inertia, shape, com, self._point("shape_at", shape_at), shape_rpy)
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
        com = self._point("center_of_mass", center_of_mass)
        moments = moments_of(mass, inertia, shape, com, self._point("shape_at", shape_at), shape_rpy)
        link = self._tree.revolute(
            parent or self._world, self._joint(parent, at), mass, moments, com, axis, actuated, name
        )
        self._origins[link.name] = (0.0,) * self._tree.d
        return self.attach(link, shape, at=shape_at, rpy=shape_rpy, friction=friction)

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
        com = self._point("center_of_mass", center_of_mass)
        moments = moments_of(mass, inertia, shape, com, self._point("shape_at", shape_at), shape_rpy)
        link = self._tree.prismatic(
            parent or self._world, self._joint(parent, at), mass, moments, com, axis, actuated, name
        )
        self._origins[link.name] = (0.0,) * self._tree.d
        return self.attach(link, shape, at=shape_at, rpy=shape_rpy, friction=friction)

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
        com = self._point("center_of_mass", center_of_mass)
        moments = moments_of(mass, inertia, shape, com, self._point("shape_at", shape_at), shape_rpy)
        place = self._joint(parent, self._point("at", at))
        link = self._tree.joint(parent or self._world, joint, mass, moments, place, com, actuated, name)
        self._origins[link.name] = (0.0,) * self._tree.d
        return self.attach(link, shape, at=shape_at, rpy=shape_rpy, friction=friction)

    def close(self, link: Link, at: Sequence[float], other: Link | None, at_other: Sequence[float]) -> None:
        """Pin two bodies together, which closes a loop: the fourth joint of a four-bar, a second support of a fork.

        The point `at` (d,), m, of the frame of `link` stays on the point `at_other` of that of `other` (None: the
        world): a hinge in the plane, a ball joint in space, where two of them make a hinge. Of a pose that leaves it
        open `RollingTree.place` takes the nearest that does not.
        """
        self._origin("link", link)
        end = self._joint(other, self._point("at_other", at_other), "other")
        self._tree.close(link, self._joint(link, at, "link"), other or self._world, end)

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

            -stiffness (q - rest) - damping q' - dry_friction tanh(q'/0.02),

        and between the stops, ``low`` <= q <= ``high``, it moves freely: reaching one is an impact without friction,
        after which it stays there for as long as it is pressed on.

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

    def attach(
        self,
        link: Link,
        shape: Shape | None,
        *,
        at: Sequence[float] | None = None,
        rpy: Sequence[float] | float | None = None,
        friction: float | None = None,
        restitution: float | None = None,
        name: str | None = None,
        ahead: float | None = None,
    ) -> Link:
        """Fix one more shape to a body: its origin at the point `at` (d,), m, of the body's frame, turned by `rpy`.

        ``rpy`` is (3,) rad, or in the plane a number, as in `free`. The contact has the body's name unless another
        `name` is given. A shape with `ahead` (m, on a flat) touches down only where its lowest point is so far ahead,
        along x, of every contact that is closed; closer it passes through the ground: the feet of a walker with
        straight legs.
        """
        if shape is None:
            return link
        if not isinstance(shape, Shape) or shape.d != self._tree.d:
            raise InputError("shape", shape, f"a Shape of dimension {self._tree.d}")
        place = self._joint(link, self._point("at", at), "link")
        numbers = coefficients(friction, restitution, ahead)
        self._parts.append(new_part(self._tree, self._parts, name or link.name, link, shape, place, rpy, numbers))
        return link

    def contact(
        self,
        shape: str,
        other: str,
        *,
        friction: float | None = None,
        restitution: float | None = None,
        name: str | None = None,
    ) -> None:
        """Let two shapes of different bodies touch, by their names; with the terrain, if any, each does all the same.

        The contact is called "shape-other" unless a `name` is given. It begins open, and closes by an impact, unless
        it is among the ``contacts`` of `RollingTree.place`. Coefficients that are not given are the terrain's. The
        order of the names changes no motion: records tell forces on the first shape and normals out of the other.
        Touching, but open at the start, a row of balls passes impacts on one after the other.
        """
        numbers = coefficients(friction, restitution, None)
        self._between.append(between(self._tree, self._parts, self._between, shape, other, numbers, name))

    def terrain(
        self,
        shape: Shape | Ground,
        friction: float | Friction = 1.0,
        restitution: float = PLASTIC.restitution,
        hypothesis: Hypothesis = PLASTIC.hypothesis,
        bounce_speed: float = PLASTIC.bounce_speed,
    ) -> None:
        """Say what wheels and feet roll on, and the coefficients of those that have none of their own.

        Parameters
        ----------
        shape : Shape or Ground
        friction : float or Friction
            Coulomb's coefficient; a `Friction` says of all contacts rolling resistance, adhesion and the like, too.
        restitution : float
            Of impacts, 0 (plastic) to 1.
        hypothesis : "newton" or "poisson"
            Whether impacts give back speeds or impulses.
        bounce_speed : float, m/s
            Slower approaches do not bounce.
        """
        ground = shape if isinstance(shape, Ground) else Ground(shape)
        if ground.shape.d != self._tree.d:
            raise InputError("terrain", type(ground.shape).__name__, f"a shape of dimension {self._tree.d}")
        if isinstance(friction, Friction):
            self._surface, friction = friction, friction.mu
        self._terrain, self._friction = ground.shape, non_negative("friction", friction)
        self._restitution = Restitution(restitution, hypothesis, bounce_speed)

    def force(self, link: Link, law: ForceLaw, at: ArrayLike | None = None) -> None:
        """Let the force (and torque) ``law(t, states)`` act on a body, at the point `at` of its frame; see `Force`."""
        self._origin("link", link)
        self._forces.append(Force(link.name, law, at))

    def potential(self, law: Callable[[ca.SX, States], Value]) -> None:
        """Let the gradient of the energy ``law(t, states)``, J, act on the bodies; see `Potential`."""
        self._forces.append(Potential(law))

    def finish(self) -> RollingTree:
        """Return the robot as `simulate`, `plan` and controllers take it.

        Raises
        ------
        InputError
            If there are shapes but no terrain, or shapes that cannot touch it.
        """
        if self._parts and self._terrain is None and not self._between:
            raise InputError("terrain", None, "given, with robot.terrain(shape): bodies have shapes that touch it")
        return RollingTree(
            tree=self._tree,
            parts=(*(on_terrain(self._parts, self._between) if self._terrain is not None else ()), *self._between),
            terrain=self._terrain,
            friction=self._friction,
            law=self.law,
            rules=Rules(self.on_slip, self.on_separation),
            origins=self._origins,
            restitution=self._restitution,
            surface=self._surface,
            forces=tuple(self._forces),
        )

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
