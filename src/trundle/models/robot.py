"""Robot: what a user says of a tree of bodies with wheels and feet, in the plane and in space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike

from trundle.checks import non_negative
from trundle.contact.laws import Friction
from trundle.contact.restitution import PLASTIC, Hypothesis, Restitution
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.grounds import FurtherGround, on_ground, place_ground
from trundle.models.part_contacts import between, coefficients, moves, new_part, on_terrain, turn_of
from trundle.models.rigid_body import Ground
from trundle.models.robot_bodies import TERRAIN, RobotBodies
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.force import Force, ForceLaw, Potential, States, Value
from trundle.models.tree.system import Rules
from trundle.models.tree.tree import Link


@dataclass
class Robot(RobotBodies):
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

    # shapes, grounds and forces -----------------------------------------------------------------------

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
        *,
        at: Sequence[float] | None = None,
        rpy: Sequence[float] | float | None = None,
        name: str | None = None,
    ) -> None:
        """Say what wheels and feet roll on, and the coefficients of those that have none of their own.

        Said again it adds a further ground: a wall, the other side of a groove. Every shape may touch it, in a contact
        called "shape-name", which begins open unless it is among the ``contacts`` of `RollingTree.place`.

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
        at : (d,) m, optional
            Where the shape's origin is in the world.
        rpy : (3,) rad, or a number in the plane
            How the shape is turned there.
        name : str, optional
            Of a further ground, "terrain2", ... unless given; it has friction and restitution of its own, the other
            numbers are those of the first one.
        """
        ground = shape if isinstance(shape, Ground) else Ground(shape)
        if ground.shape.d != self._tree.d:
            raise InputError("terrain", type(ground.shape).__name__, f"a shape of dimension {self._tree.d}")
        first = self._terrain is None
        if isinstance(friction, Friction):
            if not first:
                raise InputError(
                    "friction", friction, "a number: the other coefficients are those of the first terrain"
                )
            self._surface, friction = friction, friction.mu
        mu, label = non_negative("friction", friction), name or (TERRAIN if first else self._further())
        bounce = Restitution(restitution, hypothesis, bounce_speed)
        for key in ("hypothesis", "bounce_speed") if not first else ():
            given, of_first = getattr(bounce, key), getattr(self._restitution, key)
            if given not in (getattr(PLASTIC, key), of_first):
                raise InputError(key, given, f"left out: it is that of the first terrain, {of_first!r}")
        base = place_ground(self._tree, self._world, label, self._point("at", at), turn_of(self._tree.d, rpy), first)
        if first:
            self._terrain, self._base, self._friction, self._restitution = ground.shape, base, mu, bounce
        else:
            self._grounds.append(FurtherGround(label, base, ground.shape, mu, bounce.restitution))

    def _further(self) -> str:
        return f"{TERRAIN}{len(self._grounds) + 2}"

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
        moving = [part for part in self._parts if part.other is None and moves(self._tree, part.body)]
        further = [on_ground(part, ground) for ground in self._grounds for part in moving]
        return RollingTree(
            tree=self._tree,
            parts=(
                *(on_terrain(moving, self._between) if self._terrain is not None else ()),
                *self._between,
                *further,
            ),
            terrain=self._terrain,
            base=self._base,
            friction=self._friction,
            law=self.law,
            rules=Rules(self.on_slip, self.on_separation),
            origins=self._origins,
            restitution=self._restitution,
            surface=self._surface,
            forces=tuple(self._forces),
        )
