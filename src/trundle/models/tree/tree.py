"""Tree: the builder of multibody models, in plane and space, with free, prescribed and jointed bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca
from numpy.typing import ArrayLike

from trundle.checks import array, choice, non_negative, number, positive
from trundle.contact.contact import Contact
from trundle.contact.laws import Friction
from trundle.errors import InputError
from trundle.models.brief import brief
from trundle.models.inertia import check_inertia
from trundle.models.tree.force import Force, Potential, external_forces
from trundle.models.tree.joint import Connection, Joint, VectorJoint
from trundle.models.tree.joints import BodySpec, FixedJoint, Following, FreeJoint, Prescribed, Prismatic, Revolute, Told
from trundle.models.tree.loops import CouplingSpec, LoopSpec
from trundle.models.tree.model import ContactSpec, TreeModel
from trundle.models.tree.rolling_joint import Rolling
from trundle.numerics.space import angular_size

MOST_BODIES = 256
"""Bodies of a tree: its equations are expressions, whose size grows with their square."""


@dataclass(frozen=True)
class Link:
    """A body of a tree, as the builder's methods hand it out."""

    index: int
    name: str


@dataclass(repr=False)
class Tree:
    """Builder of a `TreeModel`.

    Parameters
    ----------
    d : int
        2 (x-z plane) or 3.
    gravity : (d,) m/s2
        Gravity vector in the world.
    resolve : str
        Frame in which the model's vectors are resolved: ``"world"`` (simulation), or ``"contact"``, the
        contact frame of body B (planning: B's frame becomes the identity and the Hessian halves; only
        for trees whose free bodies all use rolling joints on one body).

    Examples
    --------
    >>> import trundle as tr
    >>> tree = tr.Tree(2, gravity=(0.0, -9.81))
    >>> rod = tree.revolute(tree.ground(), at=(0.0, 0.0), mass=1.0, inertia=0.1, com=(0.0, -0.5), name="rod")
    >>> list(tree.finish().layout)
    ['rod.joint', 'rod.rate']
    """

    d: int
    gravity: Sequence[float]
    resolve: str = "world"
    _specs: list[BodySpec] = field(default_factory=list, init=False)
    _contact_specs: list[ContactSpec] = field(default_factory=list, init=False)
    _forces: list[Force | Potential] = field(default_factory=list, init=False)
    _loops: list[LoopSpec | CouplingSpec] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        angular_size(self.d)
        self.gravity = tuple(float(g) for g in array("gravity", self.gravity, (self.d,), unit="m/s2"))
        choice("resolve", self.resolve, ("world", "contact"))

    def __repr__(self) -> str:
        """Return bodies, joints and contacts in one line."""
        return brief(self, bodies=self._specs, contacts=self._contact_specs)

    @property
    def specs(self) -> tuple[BodySpec, ...]:
        """The bodies so far, as the model takes them."""
        return tuple(self._specs)

    def ground(self, name: str = "ground") -> Link:
        """Add the fixed world."""
        return self._add(BodySpec(FixedJoint(self.d), name))

    def prescribed(self, name: str = "hand") -> Link:
        """Add a body that moves as it is told: its pose and body twist are states, its acceleration an input."""
        return self._add(BodySpec(Prescribed(self.d), name))

    def free(
        self,
        mass: float,
        inertia: ArrayLike,
        rolling: str | None = None,
        name: str = "object",
        actuated: bool = False,
    ) -> Link:
        """Add a free body; its frame has its origin at the centre of mass.

        That keeps its inertia's linear part a constant, which the elimination uses as a pivot. A shape
        whose centre lies elsewhere says so in its contact (``center``).

        Parameters
        ----------
        mass : kg
        inertia : float (plane), (3,) or (3, 3) kg m2
            About the centre of mass, body axes.
        rolling : None, "rolling" or "pure"
            None: pose and twist are states. Otherwise a rolling joint on the body it touches: chart
            coordinates and the relative angular velocity are states (20 or 19 numbers for an object on a
            hand).
        actuated : bool
            Whether an external torque (k,), N m, world, is an input.
        """
        if rolling is not None:
            choice("rolling", rolling, ("rolling", "pure"))
        checked = positive("mass", mass, "kg"), check_inertia(self.d, inertia)
        joint: Connection = FreeJoint(self.d) if rolling is None else Rolling(self.d, rolling == "pure")
        return self._add(BodySpec(joint, name, *checked, com=(0.0,) * self.d, actuated=actuated))

    def revolute(
        self,
        parent: Link,
        at: Sequence[float],
        mass: float,
        inertia: ArrayLike,
        com: Sequence[float] | None = None,
        axis: Sequence[float] = (0.0, 1.0, 0.0),
        actuated: bool = True,
        name: str = "link",
    ) -> Link:
        """Add a body hinged to `parent` at the point `at` (d,), m, of the parent's frame.

        The hinge is the origin of the new body's frame and ``com`` (d,) is its centre of mass there;
        ``axis`` (3,) is the hinge axis in the parent's axes (in the plane always counter-clockwise).
        """
        joint = Revolute() if self.d == 2 else Revolute(tuple(array("axis", axis, (3,))))
        return self._hang(joint, parent, at, mass, inertia, com, actuated, name)

    def prismatic(
        self,
        parent: Link,
        at: Sequence[float],
        mass: float,
        inertia: ArrayLike,
        com: Sequence[float] | None = None,
        axis: Sequence[float] | None = None,
        actuated: bool = True,
        name: str = "link",
    ) -> Link:
        """Add a body that slides along `axis` (d,), default x, of `parent` from the point `at` (d,), m."""
        axis = (1.0, *(0.0,) * (self.d - 1)) if axis is None else axis
        joint = Prismatic(tuple(array("axis", axis, (self.d,))))
        return self._hang(joint, parent, at, mass, inertia, com, actuated, name)

    def joint(
        self,
        parent: Link,
        joint: Joint,
        mass: float,
        inertia: ArrayLike,
        at: Sequence[float] | None = None,
        com: Sequence[float] | None = None,
        actuated: bool = False,
        name: str = "link",
    ) -> Link:
        """Add a body that any `joint` connects to `parent` at the point `at` (d,), default 0, of the parent's frame.

        ``com`` (d,), m, is the centre of mass in the body's frame.

        Raises
        ------
        InputError
            If the joint's motion subspace is not the derivative of its transform, or a number is out of range.
        """
        if not isinstance(joint, Joint) or joint.d != self.d:
            raise InputError("joint", joint, f"a Joint of dimension {self.d}")
        joint.check()
        return self._hang(joint, parent, (0.0,) * self.d if at is None else at, mass, inertia, com, actuated, name)

    def fixed(
        self,
        parent: Link,
        at: Sequence[float],
        orientation: ArrayLike | None = None,
        mass: float = 0.0,
        inertia: ArrayLike = 0.0,
        com: Sequence[float] | None = None,
        name: str = "link",
    ) -> Link:
        """Weld a body to `parent` at the point `at` (d,), m, of its frame; `orientation` (d, d): its axes there.

        A body without mass is a frame.
        """
        axes = (
            None
            if orientation is None
            else tuple(tuple(row) for row in array("orientation", orientation, (self.d,) * 2).tolist())
        )
        return self._hang(FixedJoint(self.d), parent, at, mass, inertia, com, False, name, axes)

    def following(
        self,
        parent: Link,
        joint: VectorJoint,
        motion: Callable[[ca.SX], Told],
        at: Sequence[float],
        mass: float = 0.0,
        inertia: ArrayLike = 0.0,
        com: Sequence[float] | None = None,
        name: str = "link",
    ) -> Link:
        """Add a body whose `joint` has the coordinates q = motion(t) at the time t (s); see `Following`."""
        if not isinstance(joint, VectorJoint) or joint.d != self.d or not joint.size:
            raise InputError("joint", joint, f"a VectorJoint of dimension {self.d} that moves")
        joint.check()
        following = Following(joint, motion)
        following.check()
        return self._hang(following, parent, at, mass, inertia, com, False, name)

    def add(self, spec: BodySpec) -> Link:
        """Add a body given by its data, which a reader of descriptions has checked (`trundle.models.urdf.tree`).

        More than the other methods can say: links without mass, turned joint frames, frames fixed in a body, a
        centre of mass off the origin of a free body.
        """
        return self._add(spec)

    def contact(
        self,
        contact: Contact,
        A: Link,
        B: Link,
        mu: float = 1.0,
        torsional: float = 0.0,
        name: str = "",
        friction: Friction | None = None,
    ) -> int:
        """Let body A touch body B; return the contact's number.

        ``mu`` is Coulomb's coefficient, ``torsional`` (m) the bound of the moment about the normal
        (0: unbounded); `friction` stands for both and has the other coefficients.
        """
        if not isinstance(contact, Contact) or contact.d != self.d:
            raise InputError("contact", contact, f"a contact of dimension {self.d}")
        bounds = number("mu", mu, minimum=0.0), number("torsional", torsional, minimum=0.0, unit="m")
        friction = friction or Friction(*bounds)
        label = _name(name or (f"contact{len(self._contact_specs) + 1}" if self._contact_specs else "contact"))
        if any(other.name == label for other in self._contact_specs):
            raise InputError("name", label, "a name no other contact of the tree has")
        self._contact_specs.append(ContactSpec(label, contact, self._index("A", A), self._index("B", B), friction))
        return len(self._contact_specs) - 1

    def force(self, force: Force | Potential) -> None:
        """Let an external force act on the bodies."""
        self._forces += external_forces([force], "force")

    def close(self, A: Link, at: Sequence[float], B: Link, at_B: Sequence[float]) -> None:
        """Pin the point `at` (d,), m, of A's frame to `at_B` of B's: a hinge in the plane, a ball joint in space.

        A pin closes a loop of bodies: `RollingTree.place` finds a pose with all loops closed.
        """
        place_A, place_B = (array(key, p, (self.d,), unit="m").tolist() for key, p in (("at", at), ("at_B", at_B)))
        self._loops.append(LoopSpec(self._index("A", A), self._index("B", B), tuple(place_A), tuple(place_B)))

    def couple(self, A: Link, B: Link, ratio: float, offset: float) -> None:
        """Let the joint of body A follow that of body B, q_A = ratio q_B + offset (rad, m), and push back on it."""
        self._loops.append(CouplingSpec(self._index("A", A), self._index("B", B), ratio, offset))

    @property
    def loops(self) -> tuple[LoopSpec | CouplingSpec, ...]:
        """The pins and couplings so far, as the model takes them."""
        return tuple(self._loops)

    def resist(self, link: Link, **numbers: float) -> None:
        """Give the joint of a body a spring, damping, dry friction or stops, by their names in `BodySpec`."""
        i = self._index("link", link)
        self._specs[i] = replace(self._specs[i], **numbers)

    def scaled(self, mass: float = 1.0, inertia: float = 1.0) -> Tree:
        """Return the same bodies with masses and inertias times these factors > 0, without contacts."""
        factors = positive("mass", mass), positive("inertia", inertia)
        return self.with_specs(
            [replace(s, mass=s.mass * factors[0], inertia=s.inertia * factors[1]) for s in self._specs]
        )

    def with_specs(self, specs: Sequence[BodySpec]) -> Tree:
        """Return a tree of the bodies `specs`, such as `specs` with other numbers, without contacts."""
        other = Tree(self.d, self.gravity, self.resolve)
        other._specs += specs
        other._loops += self._loops
        return other

    def finish(self) -> TreeModel:
        """Build the model."""
        more = (self._forces, {}, self._loops)
        return TreeModel(self.d, self.gravity, self.resolve, self._specs, self._contact_specs, *more)

    def _hang(
        self,
        joint: Connection,
        parent: Link,
        at: Sequence[float],
        mass: float,
        inertia: ArrayLike,
        com: Sequence[float] | None,
        actuated: bool,
        name: str,
        orientation: tuple[tuple[float, ...], ...] | None = None,
    ) -> Link:
        frame = joint.size == 0 and non_negative("mass", mass) == 0
        spec = BodySpec(
            joint,
            name,
            0.0 if frame else positive("mass", mass, "kg"),
            0.0 if frame else check_inertia(self.d, inertia),
            com=tuple(float(c) for c in array("com", com, (self.d,))) if com is not None else (0.0,) * self.d,
            parent=self._index("parent", parent),
            at=tuple(float(c) for c in array("at", at, (self.d,))),
            actuated=actuated,
            orientation=orientation,
        )
        return self._add(spec)

    def _index(self, key: str, link: Link) -> int:
        mine = isinstance(link, Link) and link.index < len(self._specs) and self._specs[link.index].name == link.name
        if not mine:
            raise InputError(key, link, "a body of this tree, as its methods hand it out")
        return link.index

    def _add(self, spec: BodySpec) -> Link:
        _name(spec.name)
        if any(other.name == spec.name for other in self._specs):
            raise InputError("name", spec.name, "a name no other body of the tree has")
        if len(self._specs) == MOST_BODIES:
            raise InputError("name", spec.name, f"one of at most {MOST_BODIES} bodies")
        self._specs.append(spec)
        return Link(len(self._specs) - 1, spec.name)


def _name(name: str) -> str:
    """Names are parts of names such as ``object.position``."""
    if not isinstance(name, str) or not name or "." in name:
        raise InputError("name", name, "a text without dots")
    return name
