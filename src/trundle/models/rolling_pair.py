"""RollingPair: one body on a hand or on terrain, as a ten-line tree, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import Converted, array, choice, instance, number
from trundle.contact.choice import IN_PARTS, contact_coordinates, contact_form, make_contact, pieces_of
from trundle.contact.laws import PURE_ROLLING, ROLLING, SEPARATED, Friction, Law, law_named, start_laws
from trundle.contact.proximity import one_contact_only
from trundle.contact.restitution import PLASTIC, Hypothesis, Restitution
from trundle.errors import InputError
from trundle.geometry.boundary import without_caches
from trundle.models.placement import (
    Placement,
    flight_names,
    place_in_plane,
    place_in_space,
    place_in_the_air,
    place_on_planar_hand,
    refuse_locked,
    refuse_overlap,
)
from trundle.models.rigid_body import Ground, Hand, RigidBody
from trundle.models.tree.conversion import rolling_values
from trundle.models.tree.force import Force, Potential, external_forces
from trundle.models.tree.system import (
    Atlas,
    ContactPair,
    ContactSystem,
    OnSeparation,
    OnSlip,
    Rules,
    Start,
    further_law,
)
from trundle.models.tree.touching import lowest
from trundle.models.tree.tree import Tree, TreeModel
from trundle.parameters import Fraction, NonNegative, Positive, Range, check_parameters, parameter, parameter_of
from trundle.threads import cached_property

SURFACE = (
    "rolling_friction", "drilling_friction", "rolling_viscosity", "drilling_viscosity", "adhesion", "stiffness",
    "dissipation",
)  # fmt: skip
"""Parameters of a `RollingPair` that say of a contact what its friction and torsional friction do not."""
IMPACT = ("restitution", "hypothesis", "bounce_speed")
"""Those that say of impacts what the plastic one does not."""

Lever = Annotated[float, Range("a number from 0 to 1e12", minimum=0.0, unit="m")]
_SECOND = "second"


@dataclass(frozen=True)
class RollingPair:
    """A rigid body in contact with a hand or with ground, in the plane or in space.

    Parameters
    ----------
    body : RigidBody
    base : Hand or Ground
        Of the body's dimension.
    law : str
        ``"rolling"`` or ``"pure-rolling"`` (no spin about the normal; in the plane the same).
    friction : float
        Coulomb coefficient.
    torsional_friction : float, m
        Bound of the moment of pure rolling, per normal force; 0: unbounded.
    rolling_friction, drilling_friction : float, m
        Bounds of the moments against rolling and against a spin about the normal, per normal force; see `Friction`.
    rolling_viscosity, drilling_viscosity : float, N m s
        Moments against them per rate.
    adhesion : float, N
        Pull that the contact can bear.
    stiffness : float, N/m^1.5
        Of the law ``"hunt-crossley"``, a force of depth and speed instead of a constraint.
    dissipation : float, s/m
        Of the same law.
    forces : sequence of Force or Potential
        What else acts on the body.
    gravity : (3,) m/s2, or a number in the plane (downwards)
    on_slip : "stop", "slide" or "ignore"
    on_separation : "stop", "fly" or "ignore"
    restitution : float
        Of impacts, 0 (plastic) to 1: of a body that flies and lands (``on_separation="fly"``).
    hypothesis : "newton" or "poisson"
        Whether speeds or impulses are given back; they differ where friction couples the normal and the slip.
    bounce_speed : float, m/s
        Slower approaches end the bouncing.
    coordinates : "pose" or "rolling"
        ``"rolling"`` uses contact coordinates and relative angular velocity as states (20 or 19
        numbers on a hand, 9 in the plane): for planning and control. It needs charts and knows only rolling.
    contact : str
        Form of the contact: ``"auto"`` or one of `trundle.contact.choice.FORMS`.

    Raises
    ------
    InputError
        If a value is out of range or the shapes cannot touch in the way asked for.

    Examples
    --------
    >>> import trundle as tr
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line()))
    >>> start = pair.place(angular_velocity=-2.0)
    >>> x_velocity = pair.system.model().layout["body.velocity"].start
    >>> round(float(start.x[x_velocity]), 6)  # it rolls: v = r w
    0.2
    """

    body: RigidBody
    base: Hand | Ground
    law: str = parameter("rolling", "pure rolling: no relative spin")
    friction: NonNegative = parameter(1.0, "coefficient, tangential over normal force")
    torsional_friction: Lever = parameter(0.0, "m, moment about the normal over normal force")
    gravity: Converted[float | Sequence[float] | None, tuple[float, ...]] = Converted(None)
    on_slip: OnSlip = parameter("stop", "when the friction cone is left")
    on_separation: OnSeparation = parameter("stop", "when the force reaches zero")
    restitution: Fraction = parameter(PLASTIC.restitution, "of impacts, 0 (plastic) to 1")
    hypothesis: Hypothesis = parameter(PLASTIC.hypothesis, "whether an impact gives back speeds or impulses")
    bounce_speed: NonNegative = parameter(PLASTIC.bounce_speed, "m/s, slower approaches do not bounce")
    coordinates: str = "pose"
    contact: str = "auto"
    rolling_friction: Lever = parameter_of(Friction, "rolling")
    drilling_friction: Lever = parameter_of(Friction, "drilling")
    rolling_viscosity: NonNegative = parameter_of(Friction, "rolling_viscous")
    drilling_viscosity: NonNegative = parameter_of(Friction, "drilling_viscous")
    adhesion: NonNegative = parameter_of(Friction, "adhesion")
    stiffness: Positive = parameter_of(Friction, "stiffness")
    forces: Converted[Sequence[Force | Potential], tuple[Force | Potential, ...]] = Converted(())
    dissipation: NonNegative = parameter_of(Friction, "dissipation")

    def __post_init__(self) -> None:
        instance("body", self.body, RigidBody, "a RigidBody")
        instance("base", self.base, Hand | Ground, "a Hand or a Ground")
        choice("law", self.law, start_laws())
        check_parameters(self)
        choice("coordinates", self.coordinates, ("pose", "rolling"))
        object.__setattr__(self, "gravity", self._gravity())
        object.__setattr__(self, "forces", external_forces(self.forces))
        wanted = "chart" if self.coordinates == "rolling" and self.contact == "auto" else self.contact
        form = contact_form(self.body.shape, self.base.shape, wanted)
        if self.coordinates == "rolling":
            choice("law", self.law, (ROLLING.name, PURE_ROLLING.name))
        if self.coordinates == "rolling" and form != "chart":
            raise InputError("contact", self.contact, "'auto' or 'chart' with rolling coordinates")
        object.__setattr__(self, "contact", form)

    def _gravity(self) -> tuple[float, ...]:
        d = self.body.shape.d
        if self.gravity is None:
            return (0.0,) * (d - 1) + (-9.81,)
        if d == 2 and np.ndim(self.gravity) == 0:
            return (0.0, -number("gravity", self.gravity, unit="m/s2"))
        return tuple(float(g) for g in array("gravity", self.gravity, (d,), unit="m/s2"))

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.body.shape.d

    @property
    def surface(self) -> Friction:
        """The coefficients of the contact."""
        return surface_of(self, self.friction, self.torsional_friction)

    def check_smooth(self) -> None:
        """Refuse coefficients with which the motion has no derivative by the state: for plans and feedback.

        Raises
        ------
        InputError
            If rolling or a spin is resisted by a bound: the moment jumps where it turns round.
        """
        spins = self.d == 3 and self.law != PURE_ROLLING.name
        for name in ("rolling_friction", *(("drilling_friction",) if spins else ())):
            if value := getattr(self, name):
                raise InputError(name, value, "0 for plans and feedback: its moment jumps where the turning ends")

    @property
    def names(self) -> tuple[str, str]:
        """Names of body and base: object and hand, or body and terrain on ground in the plane."""
        return ("body", "terrain") if self.d == 2 and isinstance(self.base, Ground) else ("object", "hand")

    @cached_property
    def system(self) -> ContactSystem:
        """The models of this pair in all modes and charts."""
        names, contacts, pieces = self.names, self._contacts, self._pieces
        contact_pairs = tuple(
            ContactPair(
                contact=name,
                body_A=names[0],
                body_B=names[1],
                shape_A=self.body.shape,
                shape_B=self.base.shape,
                center_A=self.body.shape_origin,
                form=self.contact,
                extent=tuple(np.ravel(self.base.extent)) if isinstance(self.base, Hand) and self.base.extent else None,
                restitution=Restitution(self.restitution, self.hypothesis, self.bounce_speed),
                piece=piece,
            )
            for name, piece in zip(contacts, pieces, strict=True)
        )
        law = law_named(self.law)
        laws: tuple[Law, ...] = (law, *(further_law(law, pair) for pair in contact_pairs[1:]))
        return ContactSystem(
            view="pair" if names[0] == "object" else "tree",
            build=self.model,
            contact_pairs=contact_pairs,
            start_laws=laws,
            rules=Rules(self.on_slip, self.on_separation),
            motions={names[1]: self.base.motion} if isinstance(self.base, Hand) else {},
            patches=(tuple(range(len(pieces))),) if pieces[0] is not None else (),
            physics={
                "law": self.law,
                "friction": self.friction,
                "torsional_friction": self.torsional_friction,
                "gravity": self.gravity,
                "mass": self.body.mass,
                "inertia": self._inertia(),
                **({"resisting": ["contact"]} if self.surface.dissipates or self.forces else {}),
            },
        )

    @property
    def contact_pair(self) -> ContactPair:
        """The two shapes that touch; a second contact of theirs has the same ones."""
        return self.system.contact_pairs[0]

    def model(self, atlas: Atlas | None = None) -> TreeModel:
        """Return the equations of motion on the charts `atlas` (default: the first chart of every shape)."""
        names = self._contacts
        return self.tree(atlas or ((0, 0),) * len(names), names)

    @cached_property
    def _contacts(self) -> tuple[str, ...]:
        """Names of the contacts: of pieces, or of a second place where the same shapes may touch."""
        count = len(pieces_of(self.body.shape, self.contact, self.base.shape))
        if count > 1:
            return ("contact", *(f"contact-{k}" for k in range(2, count + 1)))
        alone = self.coordinates == "rolling" or one_contact_only(self.body.shape, self.base.shape)
        return ("contact",) if alone else ("contact", _SECOND)

    @property
    def _pieces(self) -> tuple[int | None, ...]:
        pieces = pieces_of(self.body.shape, self.contact, self.base.shape)
        return pieces if len(pieces) > 1 else (None,) * len(self._contacts)

    def __getstate__(self) -> dict[str, object]:
        return without_caches(self)

    def _inertia(self) -> float | tuple[tuple[float, ...], ...]:
        """Inertia for the record: a number in the plane, a matrix in space."""
        moments = np.asarray(self.body.moments, dtype=np.float64)
        if self.d == 2:
            return float(moments)
        matrix = moments * np.eye(3) if moments.ndim == 0 else moments
        return tuple(tuple(float(value) for value in row) for row in matrix)

    def tree(
        self, atlas: Atlas = ((0, 0),), contacts: Sequence[str] = ("contact",), resolve: str = "world"
    ) -> TreeModel:
        """Return the tree of this pair on the charts `atlas`, with one contact for each name; see `Tree.resolve`."""
        if len(contacts) != len(atlas):
            raise InputError("contacts", contacts, f"as many names as the atlas has charts: {len(atlas)}")
        names, rolling = self.names, None
        if self.coordinates == "rolling":
            rolling = "pure" if self.law == PURE_ROLLING.name else ROLLING.name
        tree = Tree(self.d, self.gravity, resolve)
        base = tree.prescribed(names[1]) if isinstance(self.base, Hand) else tree.ground(names[1])
        body = tree.free(self.body.mass, self.body.moments, rolling=rolling, name=names[0])
        pieces = self._pieces if len(contacts) == len(self._contacts) else (None,) * len(contacts)
        shapes = (self.body.shape, self.base.shape)
        for name, charts, piece in zip(contacts, atlas, pieces, strict=True):
            contact = make_contact(*shapes, self.contact, self.body.shape_origin, charts, piece)
            tree.contact(contact, body, base, friction=self.surface, name=name)
        for force in self.forces:
            tree.force(force)
        return tree.finish()

    def place(self, **initial: Any) -> Start:
        """Return the start of the body in rolling contact, or in the air.

        On a hand (space): ``contact_on_hand`` (3,) m, hand frame, projected onto the surface (at most
        half the body's ``reference_length`` away, to a single nearest point);
        ``object_quaternion`` (w, x, y, z), world from body; ``object_angular_velocity`` (3,) rad/s, world.
        On a hand in the plane: ``contact_on_hand`` (2,) m, hand frame, x and z, projected likewise;
        ``object_angle`` rad and ``object_angular_velocity`` rad/s, counter-clockwise.
        On ground in the plane: ``contact_x`` m, of the contact point; ``angle`` rad and
        ``angular_velocity`` rad/s, counter-clockwise. Optional: ``slip`` (d,) m/s, world: velocity of
        the body's material point relative to the base, tangential (on ground in the plane a number, along it).

        The body's own contact point is the one whose normal opposes the base's; where several do, the one
        that does not penetrate is taken. Its velocity follows from rolling.

        In the air: ``object_position`` (d,) m, of the centre of mass, and ``object_velocity`` (d,) m/s, world, in
        place of the contact and the slip; on ground in the plane ``position`` and ``velocity``. It lands as a body
        lands that flew off.

        Raises
        ------
        InputError
            If no point of the body fits, the bodies overlap or are curved alike (then they touch in more than
            a point: the contact is locked), pure rolling would start with a spin, or a name is not known.
        """
        flight = flight_names(self)
        place = place_in_space
        if self.d == 2:
            place = place_on_planar_hand if isinstance(self.base, Hand) else place_in_plane
        known = flight if flight[0] in initial else list(signature(place).parameters)[1:]
        for name, value in initial.items():
            if name not in known:
                raise InputError(name, value, "left out: a start has " + ", ".join(known))
        placement = place_in_the_air(self, initial) if known is flight else place(self, **initial)
        start = self.start(placement)
        if placement.flies:
            gap = self.system.separation(0).apart(*self.system.relative_pose(start.x, 0, start.atlas)).gap
            refuse_overlap(self, placement.points.center_of_mass, gap)
        else:
            touching = lowest(self.system, start.x) if self.contact in IN_PARTS else [0]
            refuse_locked(self.system, start, touching[0])
        return start

    def start(self, placement: Placement) -> Start:
        """Return the start of a body that is placed on its base or over it."""
        if placement.flies and self.coordinates == "rolling":
            raise InputError("coordinates", self.coordinates, "'pose' for a start in the air")
        points = placement.points
        shapes = (self.body.shape, self.base.shape)
        coordinates, charts = contact_coordinates(*shapes, self.contact, points.x_A, points.x_B, points.n_B)
        system = self.system
        contact_pair = system.contact_pairs[0]
        values: dict[str, ArrayLike] = {f"{m.contact}.coordinates": coordinates for m in system.contact_pairs}
        if isinstance(self.base, Hand):
            values[f"{contact_pair.body_B}.position"] = self.base.position
            values[f"{contact_pair.body_B}.orientation"] = self.base.orientation
            values[f"{contact_pair.body_B}.twist"] = self.base.twist
        atlas = (charts,) * len(system.contact_pairs)
        if self.coordinates == "rolling":
            values |= rolling_values(system.model(atlas), values, placement.orientation, placement.angular_velocity)
        else:
            values[f"{contact_pair.body_A}.position"] = points.center_of_mass
            values[f"{contact_pair.body_A}.orientation"] = placement.orientation
            values[f"{contact_pair.body_A}.angular_velocity"] = placement.angular_velocity
            values[f"{contact_pair.body_A}.velocity"] = placement.velocity
        model = system.model(atlas)
        x = np.zeros(model.x.shape[0])
        for name, value in values.items():
            x[model.layout[name]] = value
        x.setflags(write=False)
        if placement.flies:
            return system.start(x, atlas, self._apart)
        if not system.patches:
            return system.start(x, atlas)
        touching = lowest(system, x)
        return system.start(x, atlas, tuple(self.law if i in touching else law for i, law in enumerate(self._apart)))

    @property
    def _apart(self) -> tuple[str, ...]:
        """Names of the laws of contacts that do not touch."""
        return tuple((law if law.distant else SEPARATED).name for law in self.system.start_laws)


def surface_of(given: object, friction: float, torsional: float = 0.0) -> Friction:
    """Return the coefficients of a contact whose parameters `SURFACE` are attributes of `given`: a pair, a table."""
    if not all(hasattr(given, name) for name in SURFACE):
        raise InputError("given", given, "an object with the attributes " + ", ".join(SURFACE))
    return Friction(friction, torsional, *(getattr(given, name) for name in SURFACE))
