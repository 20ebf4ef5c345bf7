"""RollingTree: a tree of bodies on terrain, as simulation, planning and control read it, and where it starts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, choice, non_negative, number, positive
from trundle.contact.choice import make_contact
from trundle.contact.laws import ROLLING, SEPARATED, SLIDING, Friction, Law, law_named
from trundle.contact.restitution import PLASTIC, Restitution
from trundle.contact.stops import JointContact, JointFriction, JointStop, friction_of_joint
from trundle.errors import InputError
from trundle.geometry.boundary import without_caches
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.curves import Circle, Line
from trundle.geometry.shapes.surfaces import Plane, Sphere
from trundle.models.brief import brief
from trundle.models.part_contacts import ContactPart, part_contacts
from trundle.models.placement import refuse_locked
from trundle.models.rigid_body import Hand
from trundle.models.tree.closing import Closure, close_gaps, refuse_overlaps
from trundle.models.tree.force import Force, Potential
from trundle.models.tree.joints import Prismatic
from trundle.models.tree.model import ContactSpec
from trundle.models.tree.system import Atlas, ContactPair, ContactSystem, Rules, Start, further_law
from trundle.models.tree.touching import lowest
from trundle.models.tree.tree import Tree, TreeModel
from trundle.models.tree_start import (
    Rate,
    columns,
    given_slips,
    given_state,
    refuse_beyond_stops,
    starting_laws,
    turning_joints,
    with_rolling_rates,
)
from trundle.threads import cached_property

T = TypeVar("T")
_NEAR = 0.1  # of the size: contacts whose gap is smaller count as meant to touch


@dataclass(frozen=True, repr=False)
class RollingTree:
    """A tree of bodies with wheels and feet on terrain; `Robot.finish` makes one.

    Attributes
    ----------
    tree : Tree
        Its bodies.
    parts : tuple of ContactPart
        The shapes that may touch the terrain, or a shape of another body.
    terrain : Shape, or None
    friction : float
        Coulomb's coefficient of parts that have none of their own.
    law : str
    rules : Rules
    origins : mapping of body name -> (d,) m
        Origin of the user's frame in the tree's frame of the body.
    base : str
        Name of the body that has the terrain's shape; the tree's first one unless given.
    moving : Hand, optional
        How that body moves, where it is a prescribed one.
    restitution : Restitution
        Of impacts of parts that have none of their own.
    surface : Friction
        The coefficients of all contacts beside Coulomb's.
    forces : tuple of Force or Potential
        What else acts on the bodies, in the user's frames.

    Examples
    --------
    A sphere on a plane; `place` closes its gap to the ground, `model` has the equations of motion.

    >>> robot = tr.Robot(gravity=(0.0, 0.0, -9.81))  # three components: a robot in space
    >>> ball = robot.free(0.5, shape=tr.Sphere(0.1), name="ball")  # kg, m
    >>> robot.terrain(tr.Plane(), friction=0.6)
    >>> tree = robot.finish()
    >>> start = tree.place(ball=(0.0, 0.0, 0.105))  # m: 5 mm above the ground
    >>> tree.model().layout["ball.position"], start.laws
    (slice(0, 3, None), ('rolling',))
    >>> bool(abs(start.x[2] - 0.1) < 1e-9)
    True
    >>> tree.scaled(friction=0.5).friction  # a plant that differs from the model of its controller
    0.3
    """

    tree: Tree
    parts: tuple[ContactPart, ...]
    terrain: Shape | None
    friction: float
    law: str
    rules: Rules
    origins: Mapping[str, tuple[float, ...]]
    base: str = ""
    moving: Hand | None = None
    restitution: Restitution = PLASTIC
    surface: Friction = field(default=Friction())
    forces: tuple[Force | Potential, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))
        _ = self._contact_pairs  # refuses shapes that cannot touch the terrain

    def __repr__(self) -> str:
        """Return bodies, joints and contacts in one line."""
        joints = [spec.joint_name or spec.name for spec in self.tree.specs if spec.jointed]
        return brief(self, bodies=self.origins, joints=joints, contacts=self.parts)

    def __getstate__(self) -> dict[str, object]:
        return without_caches(self) | {"origins": dict(self.origins)}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.tree.d

    @cached_property
    def _owned(self) -> tuple[tuple[int, ContactPair], ...]:
        """The contacts of shapes, each with the number of its part."""
        return part_contacts(self.parts, self.terrain, self.base or self.tree.specs[0].name, self.restitution)

    @property
    def part_of(self) -> tuple[int, ...]:
        """Numbers of the parts of the contacts."""
        return tuple(part for part, _ in self._owned)

    @cached_property
    def _contact_pairs(self) -> tuple[ContactPair, ...]:
        """Those of shapes, then those of joints."""
        return (*(pair for _, pair in self._owned), *self._contacts_of_joints())

    def _contacts_of_joints(self) -> Iterator[ContactPair]:
        """Yield stops and dry friction, joint by joint."""
        largest = max((part.shape.reference_length for part in self.parts), default=1.0)
        for spec in self.tree.specs:
            # Gaps of a slide are lengths, those of a hinge angles.
            size = largest if isinstance(spec.joint, Prismatic) else 1.0
            A, B = (Circle(size), Line()) if self.d == 2 else (Sphere(size), Plane())
            found: dict[str, JointContact] = {}
            if np.isfinite(spec.low):
                found["low"] = JointStop(self.d, spec.low, 1.0)
            if np.isfinite(spec.high):
                found["high"] = JointStop(self.d, spec.high, -1.0)
            if spec.dry_friction:
                several = spec.joint.size > 1
                for i in range(spec.joint.size):
                    found[f"friction-{i}" if several else "friction"] = JointFriction(self.d, i)
            for label, joint in found.items():
                parent, center = self.tree.specs[spec.parent].name, (0.0,) * self.d
                turns = isinstance(joint, JointFriction) and not isinstance(spec.joint, Prismatic)
                yield ContactPair(
                    f"{spec.name}-{label}",
                    spec.name,
                    parent,
                    A,
                    B,
                    center,
                    "support",
                    joint=joint,
                    turns=turns,
                )

    @cached_property
    def system(self) -> ContactSystem:
        """The models of this robot in all modes and charts."""
        masses = [spec.mass for spec in self.tree.specs if spec.mass > 0]
        frictions = {part.name: self._friction(part) for part in self.parts}
        return ContactSystem(
            view="tree",
            build=self.model,
            contact_pairs=self._contact_pairs,
            start_laws=self._laws,
            rules=self.rules,
            motions={} if self.moving is None else {self.base: self.moving.motion},
            records_joints=True,
            patches=self._patches(),
            physics={
                "law": self.law,
                "friction": min(frictions.values(), default=self.friction),
                "frictions": frictions,
                "gravity": tuple(self.tree.gravity),
                "mass": float(sum(masses)),
                "masses": {spec.name: spec.mass for spec in self.tree.specs if spec.mass > 0},
                "inertias": {s.name: np.asarray(s.inertia).tolist() for s in self.tree.specs if s.mass > 0},
                # Joints that take mechanical energy away or keep it: it is not to be judged by.
                "resisting": [s.name for s in self.tree.specs if s.resists]
                + [part.name for part in self.parts if self.surface.dissipates]
                + ["forces"] * bool(self.forces),
            },
        )

    @property
    def _laws(self) -> tuple[Law, ...]:
        found: list[Law] = []
        for k, (part, pair) in enumerate(self._owned):
            law, first = law_named(self.parts[part].law or self.law), part not in self.part_of[:k]
            found.append(law if first else further_law(law, pair))
        return (*found, *(ROLLING if pair.rubs else SEPARATED for pair in self._contact_pairs[len(found) :]))

    def _patches(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the contacts of each flat patch, where the ground is flat, and of shapes in pieces."""
        together: dict[str, list[int]] = {}
        for i, part in enumerate(self.parts):
            if part.patch is not None and isinstance(self.terrain, Plane):
                together.setdefault(part.patch, []).append(i)
        for i, part in enumerate(self.parts):
            if len(pieces := self._pieces(i)) > 1:
                together[part.name] = pieces
        return tuple(tuple(corners) for corners in together.values())

    def _pieces(self, part: int) -> list[int]:
        """Return the contacts of the pieces of a part; of one that touches as a whole, its first contact."""
        return [k for k, (i, pair) in enumerate(self._owned) if i == part and (k == i or pair.piece is not None)]

    def _friction(self, part: ContactPart) -> float:
        return self.friction if part.friction is None else part.friction

    def model(self, atlas: Atlas | None = None) -> TreeModel:
        """Return the equations of motion on the charts `atlas` (default: the first chart of every shape)."""
        numbers, pairs = {spec.name: i for i, spec in enumerate(self.tree.specs)}, self._contact_pairs
        frictions = [replace(self.surface, mu=self._friction(self.parts[part])) for part in self.part_of]
        bound = {spec.name: spec.dry_friction for spec in self.tree.specs}
        frictions += [friction_of_joint(bound[m.body_A]) if m.rubs else Friction() for m in pairs[len(frictions) :]]
        contacts = [
            ContactSpec(
                m.contact,
                m.joint or make_contact(m.shape_A, m.shape_B, m.form, m.center_A, charts, m.piece),
                numbers[m.body_A],
                numbers[m.body_B],
                frictions[i],
            )
            for i, (m, charts) in enumerate(zip(pairs, atlas or ((0, 0),) * len(pairs), strict=True))
        ]
        moved = {name: origin for name, origin in self.origins.items() if any(origin)}
        return TreeModel(
            self.d, self.tree.gravity, "world", self.tree.specs, contacts, self.forces, moved, self.tree.loops
        )

    def scaled(self, *, mass: float = 1.0, inertia: float = 1.0, friction: float = 1.0) -> RollingTree:
        """Return the same robot with masses, inertias and coefficients of friction times these factors.

        States keep their layout: a plant that differs from the model that controls it.
        """
        factor = non_negative("friction", friction)
        parts = (replace(p, friction=None if p.friction is None else p.friction * factor) for p in self.parts)
        tree = self.tree.scaled(mass, inertia)
        return replace(self, tree=tree, parts=tuple(parts), friction=self.friction * factor)

    def with_springs(
        self, stiffness: Mapping[str, float], damping: Mapping[str, float], rest: Mapping[str, float]
    ) -> RollingTree:
        """Return the same robot with springs and dampers at joints: -stiffness (q - rest) - damping q', in h.

        By the names of joints or of the bodies that they move: N m/rad or N/m; N m s/rad or N s/m; rad or m.
        """
        checks = {"stiffness": non_negative, "damping": non_negative, "rest": number}
        given = dict(zip(checks, map(self.by_body, (stiffness, damping, rest)), strict=True))
        specs = []
        for spec in self.tree.specs:
            springs = {key: check(key, given[key].get(spec.name, 0.0)) for key, check in checks.items()}
            specs.append(replace(spec, **springs) if spec.jointed else spec)
        return replace(self, tree=self.tree.with_specs(specs))

    @cached_property
    def joints(self) -> Mapping[str, str]:
        """Names of the bodies that joints move, by the joints' names where they have their own (of a URDF)."""
        return MappingProxyType({spec.joint_name: spec.name for spec in self.tree.specs if spec.joint_name})

    def by_body(self, given: Mapping[str, T]) -> dict[str, T]:
        """Return what was given by the names of joints, or of the bodies that they move, by those of the bodies.

        A joint comes before a body of its name.

        Raises
        ------
        InputError
            If a body and its joint are both named.
        """
        found = {self.joints.get(name, name): value for name, value in given.items()}
        if len(found) < len(given):
            raise InputError("joints", list(given), "a joint's name or its body's, not both")
        return found

    def place(
        self,
        *,
        rates: Mapping[str, Rate] | None = None,
        slips: Mapping[str, float | Sequence[float]] | None = None,
        contacts: Collection[str] | None = None,
        laws: Mapping[str, str] | None = None,
        hold: Collection[str] = (),
        tolerance: float | None = None,
        **positions: ArrayLike,
    ) -> Start:
        """Return the start near a given pose, with wheels and feet on the ground.

        Closing gaps changes the pose by the smallest amount (in the metric of the inertia); rolling fixes velocities.

        Parameters
        ----------
        positions
            By the names of bodies, or of the joints that move them. Of a free body (x, z, angle) in the plane, (x, y,
            z) or (x, y, z, qw, qx, qy, qz) in space, of its frame's origin, world; of a jointed body the joint's angle
            (rad), travel (m) or coordinates.
            Neutral (0) if left out.
        rates : mapping
            By the same names. Of a free body the twist (angular, linear) of its frame, world, rad/s and m/s, or the
            angular velocity alone; of a jointed body the joint's rate. What is left out, and components that are
            None, follow from rolling; where none can, the given ones change a little: a velocity and a rate each by at
            most a fifth of itself (0 stays 0), an angular velocity also by a fifth of the velocity beside it over the
            distance to the contacts. Of a wild one, see `trundle.models.tree_start`, a
            `trundle.errors.TrundleWarning` warns.
        slips : mapping
            By the names of contacts, m/s: the tangential velocity (d,), world, of the material point over the terrain;
            in the plane a number, along it.
        contacts : names
            Contacts that are closed (default: all shapes on the terrain, none between bodies); the others are open.
        laws : mapping
            By the names of contacts: laws of rolling to start with, in place of the robot's.
        hold : names
            Bodies, or joints, whose position may not change when contacts are closed.
        tolerance : float, m
            How far from touching shapes that are to touch may be (default: a tenth of the shape's size).

        Raises
        ------
        InputError
            If a name is not known, a shape is inside the ground, or contacts cannot be closed or roll with these rates.
        """
        system, rates = self.system, self.by_body(rates or {})
        self._find_names("rates", rates)
        parts = self.closed("contacts", contacts)
        x = given_state(self, self.by_body(positions), rates)
        closed = [i for part in parts for i in lowest(system, x, self._pieces(part))]
        starting = starting_laws(self, laws or {}, closed)
        x, atlas = self._with_closed_gaps(x, closed, self.by_body(dict.fromkeys(hold)), tolerance)
        x = with_rolling_rates(self, x, atlas, given_slips(self, slips or {}, closed), rates)
        x.setflags(write=False)
        turning = turning_joints(self, x)
        starting = tuple(SLIDING.name if i in turning else law for i, law in enumerate(starting))
        start = system.start(x, atlas, starting)
        for i in closed:
            refuse_locked(system, start, i)
        return start

    def _with_closed_gaps(
        self, x: FloatArray, closed: Sequence[int], hold: Collection[str], tolerance: float | None
    ) -> tuple[FloatArray, Atlas]:
        system, model = self.system, self.system.model()
        kept = {i for name in self._find_names("hold", hold) for i in columns(self, name)}
        reach = [
            _NEAR * system.contact_pairs[i].shape_A.reference_length
            if tolerance is None
            else positive("tolerance", tolerance, "m")
            for i in closed
        ]
        x, atlas = close_gaps(system, x, closed, np.array(reach), [i for i in range(model.nv) if i not in kept])
        distant = tuple(i for i, law in enumerate(system.start_laws) if law.distant and i not in closed)
        near, _ = Closure(system, distant, x, atlas).with_approaches({})
        refuse_overlaps(system, near.x, near.atlas)
        refuse_beyond_stops(self, near.atlas, near.x)
        return near.x, near.atlas

    def given_state(self, **positions: ArrayLike) -> FloatArray:
        """Return the state (n_x,) of a pose as given, at rest; positions as of `place`."""
        return given_state(self, self.by_body(positions), {})

    def closed(self, key: str, contacts: Collection[str] | None) -> list[int]:
        """Return the numbers of the contacts of these names (None: all with the terrain); `key` is for errors."""
        names = [part.name for part in self.parts]
        if contacts is None:
            return [i for i, part in enumerate(self.parts) if part.other is None]
        if isinstance(contacts, str):
            raise InputError(key, contacts, "a list of names")
        for name in contacts:
            choice(key, name, names)
        return [i for i, name in enumerate(names) if name in contacts]

    def _find_names(self, key: str, names: Collection[str]) -> list[str]:
        return [choice(key, name, self.origins) for name in names]
