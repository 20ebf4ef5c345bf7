"""ContactSystem: models of one set of bodies in all their modes and charts, as simulate and plan read it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, choice, integer
from trundle.contact.choice import IN_PARTS, parts_beside, parts_in_place
from trundle.contact.laws import LAWS, ROLLING, SEPARATED, STOPPED, Law
from trundle.contact.proximity import Proximity
from trundle.contact.restitution import PLASTIC, Restitution
from trundle.contact.stops import JointContact, JointFriction, JointStop
from trundle.contact.touch import Contact
from trundle.errors import InputError
from trundle.geometry.boundary import without_caches
from trundle.geometry.queries.separation import Separation, separation
from trundle.geometry.shape import Shape
from trundle.models.rigid_body import HandMotion
from trundle.models.tree.joints import BodySpec, Following, Prismatic
from trundle.models.tree.tree import TreeModel
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.space import angular_size
from trundle.parameters import Checked, parameter
from trundle.records.model_key import ModelKey, digest
from trundle.threads import cached_property, made_once

Atlas = tuple[tuple[int, int], ...]
Built = TypeVar("Built")


@dataclass(frozen=True)
class Start:
    """A state and the charts its contact coordinates belong to.

    Attributes
    ----------
    x : (n_x,)
        See ``model.layout``.
    atlas : tuple
        One pair of chart numbers a contact.
    laws : tuple of str
        Names of the laws at the start, one a contact; empty: those of the system.
    of : ModelKey or None
        What it is a start of; None: a state of one's own, of which sizes alone are checked.
    """

    x: FloatArray
    atlas: Atlas
    laws: tuple[str, ...] = ()
    of: ModelKey | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames of bodies at N states, world.

    Attributes
    ----------
    place : mapping of str -> int
        Where a body is among them.
    R : (N, bodies, d, d)
    p : (N, bodies, d) m
    w : (N, bodies, k) rad/s
    v : (N, bodies, d) m/s
        Velocities of the origins.
    """

    place: Mapping[str, int]
    R: FloatArray
    p: FloatArray
    w: FloatArray
    v: FloatArray


OnSlip = Literal["stop", "slide", "ignore"]
OnSeparation = Literal["stop", "fly", "ignore"]


@dataclass(frozen=True)
class Rules(Checked):
    """What to do at the end of a mode.

    Attributes
    ----------
    on_slip : "stop", "slide" or "ignore"
    on_separation : "stop", "fly" or "ignore"
    """

    on_slip: OnSlip = parameter("stop", "when the friction cone is left")
    on_separation: OnSeparation = parameter("stop", "when the force reaches zero")


@dataclass(frozen=True)
class ContactPair:
    """Two shapes that may touch, by the names of the tree.

    Attributes
    ----------
    contact : str
        Name of the contact.
    body_A, body_B : str
        Names of the bodies.
    shape_A, shape_B : Shape
    center_A : (d,) m
        Origin of A's shape in A's frame.
    form : str
        See `trundle.contact.choice.contact_form`.
    extent : (d - 1,) m, or None
        Width of B along its axes.
    ahead : float m, or None
        The contact touches down only where its point is so far ahead, along x, of every closed one.
    restitution : Restitution
    piece : int or None
        Which piece of A touches; None: A as a whole.
    joint : JointContact, or None
        An end of the range of the joint of body A, or its friction: a contact that the shapes only stand in for.
    swapped : bool
        Whether the user named B first: records tell forces, slips and normals of B.
    turns : bool
        Whether it is the dry friction of a hinge: its slip is a rate (rad/s).
    """

    contact: str
    body_A: str
    body_B: str
    shape_A: Shape
    shape_B: Shape
    center_A: tuple[float, ...]
    form: str
    extent: tuple[float, ...] | None = None
    ahead: float | None = None
    restitution: Restitution = PLASTIC
    piece: int | None = None
    joint: JointContact | None = None
    swapped: bool = False
    turns: bool = False

    @property
    def stop(self) -> JointStop | None:
        """The end of the range of the joint of body A, where the contact is one."""
        return self.joint if isinstance(self.joint, JointStop) else None

    @property
    def rubs(self) -> bool:
        """Whether it is the dry friction of the joint of body A."""
        return isinstance(self.joint, JointFriction)

    @property
    def size(self) -> float:
        """Length (m) of the smaller of its shapes; a flat has none."""
        size = self.shape_A.reference_length
        return size if self.shape_B.representations.flat else min(size, self.shape_B.reference_length)

    @property
    def in_parts(self) -> bool:
        """Whether corners, edges and faces of A touch in its place, each with a contact of its own."""
        return self.form in IN_PARTS

    def goes_on_beyond(self, margin: str) -> bool:
        """Return whether a chart or a feature that ends at ``chart_A``, ``data_B0_low``, ... is not the only one."""
        if self.form not in ("chart", "support-chart"):
            return margin in ("feature", "within")
        side = margin.split("_")[1][:1]
        return len((self.shape_A if side == "A" else self.shape_B).representations.charts) > 1


@dataclass(frozen=True, eq=False)
class FreeNumbers:
    """Numbers of a system that are parameters of what is compiled.

    Attributes
    ----------
    names : tuple of str
    symbols : (n,)
        What stands for them in expressions.
    values : (n,)
    build : callable
        Returns the `TreeModel` with the symbols for an atlas.
    phases : dict
        Compiled modes, shared by the systems with other values.
    """

    names: tuple[str, ...]
    symbols: ca.SX
    values: FloatArray
    build: Callable[[Atlas], TreeModel] = field(repr=False)
    models: dict[Atlas, TreeModel] = field(default_factory=dict, repr=False)
    phases: dict[Hashable, object] = field(default_factory=dict, repr=False)


_LOCKED = 1e-4
"""Relative curvature times body size under which a contact counts as locked: its point's speed grows without bound."""


def least_curvature(contact: Contact, length: float) -> float:
    """Return the relative curvature, in the contact's unit, under which a body of a `length` (m) is locked."""
    return _LOCKED / length if contact.bends_in_meters else _LOCKED


def further_law(law: Law, pair: ContactPair) -> Law:
    """Return the law at the start of a further contact of a shape: that of a corner which acts at any gap, or none."""
    corner = pair.form == "support" and pair.piece is not None and pair.joint is None
    round_rim = corner and any(piece.face for piece in pair.shape_A.representations.pieces)
    return law if law.distant and corner and not round_rim else SEPARATED


@dataclass(frozen=True)
class ContactSystem:
    """What a simulation needs to know of a model.

    Attributes
    ----------
    view : str
        How a run is recorded: ``"pair"`` (an object on a hand) or ``"tree"`` (bodies in the plane or in space).
    build : callable
        Returns the `TreeModel` for an atlas (one pair of chart numbers a contact); all share one layout.
    contact_pairs : tuple of ContactPair
        One a contact of the tree, in the same order; several between the same bodies for shapes that
        can touch at several points.
    start_laws : tuple of Law
        The laws at the start.
    rules : Rules
    motions : mapping of body name -> HandMotion
        Of prescribed bodies.
    physics : mapping
        Numbers for the record: mass, friction, gravity, ...
    records_joints : bool
        Whether every body and joint is recorded by its name; otherwise the object or body of a pair alone.
    patches : tuple of tuple of int
        Contacts of one rigid body on a flat that land and let go together: corners of a sole, pieces of a shape.
    free : FreeNumbers or None
        Numbers that what is compiled takes as parameters; a copy in another process has none.
    made_of : ModelKey or None
        That of the system of which this one has other numbers, whose starts it shares; None: its own.
    """

    view: str
    build: Callable[[Atlas], TreeModel]
    contact_pairs: tuple[ContactPair, ...]
    start_laws: tuple[Law, ...]
    rules: Rules
    motions: Mapping[str, HandMotion]
    physics: Mapping[str, Any]
    records_joints: bool = False
    patches: tuple[tuple[int, ...], ...] = ()
    free: FreeNumbers | None = None
    made_of: ModelKey | None = None

    def __post_init__(self) -> None:
        for name in ("motions", "physics"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    _models: dict[Atlas, TreeModel] = field(default_factory=dict, init=False, repr=False, compare=False)
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        """Leave out models and compiled functions, which are built again where they are needed."""
        read_only = {"motions": dict(self.motions), "physics": dict(self.physics)}
        return without_caches(self) | read_only | {"_models": {}, "_kept": {}, "free": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def model(self, atlas: Atlas | None = None) -> TreeModel:
        """Return the model on the charts `atlas` (default: the first chart of every shape)."""
        key = atlas or self.first_atlas
        return made_once(self._models, key, lambda: self.build(key))

    def keep_model(self, atlas: Atlas, model: TreeModel) -> None:
        """Keep the model of an atlas that was built already."""
        self._models[atlas] = model

    def expressions(self, atlas: Atlas) -> TreeModel:
        """Return the model on the charts `atlas` with the symbols of the free numbers."""
        free = self.free
        return self.model(atlas) if free is None else made_once(free.models, atlas, lambda: free.build(atlas))

    def keep(self, key: Hashable, build: Callable[[], Built]) -> Built:
        """Return ``build()``, made once for each `key`: compiled functions live as long as the system."""
        return made_once(self._kept, key, build)

    def with_motions(self, motions: Mapping[str, HandMotion]) -> ContactSystem:
        """Return the same system with other numbers in its prescribed motions.

        Models and compiled functions are shared, so each motion has to be of the same type and size as before.

        Raises
        ------
        InputError
            If a motion is of another type or size, or names another body.
        """
        before = {name: (type(motion), motion.size) for name, motion in self.motions.items()}
        if {name: (type(motion), motion.size) for name, motion in motions.items()} != before:
            raise InputError("motions", dict(motions), "motions of the same bodies, types and sizes as before")
        other = replace(self, motions=motions)
        object.__setattr__(other, "_models", self._models)
        object.__setattr__(other, "_kept", self._kept)
        return other

    def share(self, key: Hashable, build: Callable[[], Built]) -> Built:
        """Return ``build()``, made once for each `key` of all systems that differ in their free numbers alone."""
        if self.free is None:
            return self.keep(key, build)
        return cast(Built, made_once(self.free.phases, key, build))

    @property
    def model_key(self) -> ModelKey:
        """What the states of this system are states of."""
        return self._own_key if self.made_of is None else self.made_of

    @cached_property
    def _own_key(self) -> ModelKey:
        model = self.model()
        places = [(spec.name, digest((spec.joint, spec.parent, spec.at, spec.orientation))) for spec in model.specs]
        pairs = self.contact_pairs
        shapes = {id(shape): digest((shape,)) for m in pairs for shape in (m.shape_A, m.shape_B)}
        joined = [
            digest((m.body_A, m.body_B, shapes[id(m.shape_A)], shapes[id(m.shape_B)], m.center_A, m.form, m.piece))
            for m in pairs
        ]
        names = tuple(f"{name}[{where.stop - where.start}]" for name, where in model.layout.items())
        return ModelKey(names, tuple(places), tuple(zip((m.contact for m in pairs), joined, strict=True)))

    def start(self, x: FloatArray, atlas: Atlas, laws: tuple[str, ...] = ()) -> Start:
        """Return a start of this system."""
        return Start(x, atlas, laws, self.model_key)

    def check_start(self, key: str, start: Start) -> None:
        """Raise `InputError` for a start of another model; `key` is what the user calls it."""
        if start.of is not None and start.of not in (self.model_key, self._own_key):
            why = self.model_key.difference(start.of)
            allowed = f"one of this model, from its own place(...) or from a run of it ({why})"
            raise InputError(key, "a start of another model", allowed)
        size, contacts = self.model().x.shape[0], len(self.contact_pairs)
        if np.shape(start.x) != (size,) or len(start.atlas) != contacts or len(start.laws) not in (0, contacts):
            found = f"a start of {np.size(start.x)} numbers and {len(start.atlas)} contacts"
            raise InputError(key, found, f"one of this model: {size} numbers and {contacts} contacts")

    @cached_property
    def quickest(self) -> float:
        """About the largest angular frequency, rad/s, of what swings on a spring of a joint, or as it is told.

        Of coordinates that are functions of time as their first ten seconds show it. What is looked at more rarely may
        have been anywhere in between.
        """
        specs = self.model().specs
        told = [2 * np.pi * motion.quickest for motion in self.motions.values()]
        return max([0.0, *told, *(_swings(specs, i) for i in range(len(specs)))])

    @property
    def first_atlas(self) -> Atlas:
        """The first chart of every shape."""
        return ((0, 0),) * len(self.contact_pairs)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.model().d

    @property
    def shape_pairs(self) -> dict[int, ContactPair]:
        """The contacts of shapes by number: those that are none of joints."""
        return {i: m for i, m in enumerate(self.contact_pairs) if m.joint is None}

    @property
    def several(self) -> bool:
        """Whether a record has to say which contact it means: shapes touch in several pairs, or joints have stops."""
        return len(self.pairs) > 1 or len(self.shape_pairs) < len(self.contact_pairs)

    def number(self, name: str) -> int:
        """Return the number of the contact called `name`, or of that whose margin ``<contact>.<margin>`` is meant."""
        contact = name.split(".", 1)[0]
        found = self._numbers.get(contact)
        return self._numbers[choice("name", contact, self._numbers)] if found is None else found

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return MappingProxyType({pair.contact: i for i, pair in enumerate(self.contact_pairs)})

    def on_separation(self, contact: int) -> OnSeparation:
        """Return what to do when a contact comes apart; joints leave their stops."""
        return self.rules.on_separation if self.contact_pairs[contact].joint is None else "fly"

    def on_slip(self, contact: int) -> OnSlip:
        """Return what to do when a contact slips; joints with friction turn on."""
        return "slide" if self.contact_pairs[contact].rubs else self.rules.on_slip

    @cached_property
    def rubbing(self) -> frozenset[int]:
        """Numbers of the contacts that are the dry friction of joints."""
        return frozenset(i for i, pair in enumerate(self.contact_pairs) if pair.rubs)

    def with_stops(self, laws: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the laws of all contacts, with that of stops of joints where those are closed."""
        stops = (m.stop is not None and LAWS[law].touching for m, law in zip(self.contact_pairs, laws, strict=True))
        return tuple(STOPPED.name if stop else law for stop, law in zip(stops, laws, strict=True))

    @cached_property
    def pairs(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the contacts of shapes, those of the same two together."""
        together: dict[Hashable, list[int]] = {}
        for i, m in self.shape_pairs.items():
            together.setdefault((m.body_A, m.body_B, id(m.shape_A), id(m.shape_B), m.center_A), []).append(i)
        return tuple(tuple(numbers) for numbers in together.values())

    @cached_property
    def between_two(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the contacts between the same two rigid bodies, where there are several.

        Links that are fixed to each other are one body, and so is all that does not move by forces.
        """
        body: dict[str, str | None] = {}
        specs = self.model().specs
        for spec in specs:
            above = None if spec.parent < 0 else body[specs[spec.parent].name]
            moved = spec.joint.size > 0 and not spec.joint.by_time
            body[spec.name] = spec.name if moved else above
        together: dict[frozenset[str | None], list[int]] = {}
        for i, pair in enumerate(self.contact_pairs):
            together.setdefault(frozenset({body.get(pair.body_A), body.get(pair.body_B)}), []).append(i)
        return tuple(tuple(numbers) for numbers in together.values() if len(numbers) > 1)

    def pair_of(self, contact: int) -> tuple[int, ...]:
        """Return the numbers of the contacts between the same two shapes as `contact`."""
        number = integer("contact", contact, minimum=0, maximum=len(self.contact_pairs) - 1)
        return self._pair_of.get(number, (number,))

    @cached_property
    def _pair_of(self) -> Mapping[int, tuple[int, ...]]:
        return MappingProxyType({i: numbers for numbers in self.pairs for i in numbers})

    def touching_law(self, contact: int) -> Law:
        """Return the law with which a contact touches: that of its shape at the start."""
        return next((law for i in self.pair_of(contact) if (law := self.start_laws[i]).touching), ROLLING)

    def island(self, contact: int, among: Sequence[int]) -> list[int]:
        """Return those `among` some contacts that moving bodies couple with `contact`, itself too if it is one."""
        joined, found = {*self._moved_by[contact]}, [contact]
        left = [i for i in among if i != contact]
        while new := [i for i in left if joined & self._moved_by[i]]:
            for i in new:
                joined |= self._moved_by[i]
            found += new
            left = [i for i in left if i not in new]
        return [i for i in among if i in found]

    @cached_property
    def _moved_by(self) -> tuple[frozenset[int], ...]:
        """Of each contact the numbers of the trees of bodies that it joins; pins make one of two, the world is none."""
        model = self.model()
        tree: dict[str, int | None] = {}
        for number, spec in enumerate(model.specs):
            above = None if spec.parent < 0 else tree[model.specs[spec.parent].name]
            still = spec.joint.size == 0 or spec.joint.by_time
            tree[spec.name] = above if above is not None or still else number
        for pin in model.pins:
            one, other = (None if i < 0 else tree[model.specs[i].name] for i in (pin.A, pin.B))
            if one is not None and other is not None:
                tree = {name: other if number == one else number for name, number in tree.items()}
        moved = {name: frozenset(() if number is None else (number,)) for name, number in tree.items()}
        none = frozenset[int]()
        sides = ((moved.get(pair.body_A, none), moved.get(pair.body_B, none)) for pair in self.contact_pairs)
        return tuple(A | B for A, B in sides)

    @cached_property
    def faces(self) -> Mapping[int, tuple[int, ...]]:
        """Contacts of rims that may come to lie on a face -> contacts of that face's points."""
        found = self._of_pieces(("support",), lambda A, B, form, piece: A.representations.pieces[piece].face)
        return MappingProxyType({rim: face for rim, face in found.items() if face})

    @cached_property
    def rims(self) -> Mapping[int, int]:
        """Contacts of the points of a face -> the contact of its rim."""
        return MappingProxyType({i: rim for rim, face in self.faces.items() for i in face})

    @cached_property
    def beside(self) -> Mapping[int, tuple[int, ...]]:
        """Contacts of features (corners, edges, faces) -> contacts of those they are parts of or consist of."""
        return MappingProxyType(self._of_pieces(IN_PARTS, parts_beside))

    def in_place_of(self, contact: int) -> tuple[int, ...]:
        """Return the contacts that, where they touch, touch in place of a contact of a corner, an edge or a face."""
        return self._in_place.get(contact, ())

    @cached_property
    def _in_place(self) -> Mapping[int, tuple[int, ...]]:
        return MappingProxyType(self._of_pieces(IN_PARTS, parts_in_place))

    def _of_pieces(
        self, forms: Sequence[str], others: Callable[[Shape, Shape, str, int], Sequence[int]]
    ) -> dict[int, tuple[int, ...]]:
        """Return contacts of pieces, of some forms -> those of the pieces of the same shape that `others` names."""
        found: dict[int, tuple[int, ...]] = {}
        for numbers in self.pairs:
            pieces = {self.contact_pairs[i].piece: i for i in numbers}
            for piece, i in pieces.items():
                pair = self.contact_pairs[i]
                if piece is not None and pair.form in forms:
                    wanted = others(pair.shape_A, pair.shape_B, pair.form, piece)
                    found[i] = tuple(pieces[k] for k in wanted if k in pieces)
        return found

    def proximity(self, contact: int) -> Proximity:
        """Return the finder of near points of the two shapes of a contact."""
        contact_pair = self.contact_pairs[contact]
        A, B = contact_pair.shape_A, contact_pair.shape_B
        return self.keep(("proximity", id(A), id(B)), lambda: Proximity(A, B))

    def separation(self, contact: int) -> Separation:
        """Return the measure of the distance between the two whole shapes of a contact."""
        pair = self.contact_pairs[contact]
        key = ("separation", id(pair.shape_A), id(pair.shape_B))
        return self.keep(key, lambda: separation(pair.shape_A, pair.shape_B))

    def relative_pose(
        self, x: FloatArray, contact_pair: int = 0, atlas: Atlas | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return (R_B_A, p_B_A): pose of A's SHAPE in B's frame at the state `x` (n_x,) or states (N, n_x).

        ``atlas`` matters to rolling coordinates only (default: the first chart of every shape).
        """
        pair, frames = self.contact_pairs[contact_pair], self.frames(np.atleast_2d(x), atlas)
        A, B = frames.place[pair.body_A], frames.place[pair.body_B]
        R_A, R_B = frames.R[:, A], frames.R[:, B]
        origin = frames.p[:, A] + R_A @ np.array(pair.center_A)
        R = np.swapaxes(R_B, 1, 2) @ R_A
        p = np.einsum("nji,nj->ni", R_B, origin - frames.p[:, B])
        return (R, p) if np.ndim(x) == 2 else (R[0], p[0])

    def frames(self, states: FloatArray, atlas: Atlas | None = None) -> Frames:
        """Return the frames of all bodies that contacts join, at states (N, n_x); `atlas` as of `relative_pose`."""
        key = atlas or self.first_atlas
        place, function = self.keep(("frames", key), lambda: self._frames(key))
        d, k = self.d, angular_size(self.d)
        rows = function.rows(states)[0].reshape(len(states), len(place), d * d + 2 * d + k)
        R, p, w, v = np.split(rows, np.cumsum([d * d, d, k]), axis=2)
        return Frames(place, R.reshape(*R.shape[:2], d, d), p, w, v)

    def _frames(self, atlas: Atlas) -> tuple[Mapping[str, int], BufferedFunction]:
        model, found = self.model(atlas), []
        names = dict.fromkeys(name for pair in self.contact_pairs for name in (pair.body_A, pair.body_B))
        for name in names:
            motion, W = model.motions[name], model.to_world
            spin = motion.w if model.d == 2 else W @ motion.w
            found += [ca.vec((W @ motion.R).T), W @ motion.p, spin, W @ motion.v]
        function = BufferedFunction(ca.Function("frames", [model.x], [ca.vertcat(*found)]))
        return MappingProxyType({name: number for number, name in enumerate(names)}), function


def _swings(specs: Sequence[BodySpec], i: int) -> float:
    """Return about how fast, rad/s, a body swings on the spring of its joint, or with the motion that it is told."""
    spec, d = specs[i], specs[i].joint.d
    if isinstance(spec.joint, Following):
        return spec.joint.quickness()
    if not spec.stiffness:
        return 0.0
    carried = {i}
    for k in range(i + 1, len(specs)):
        carried |= {k} if specs[k].parent in carried else set()
    inertia = sum(specs[k].mass for k in carried)
    if not isinstance(spec.joint, Prismatic):
        moments = (np.asarray(specs[k].inertia, dtype=np.float64) for k in carried)
        about = spec.mass * float(np.sum(np.square(spec.com or (0.0,) * d)))
        inertia = about + sum(float(np.min(np.linalg.eigvalsh(m) if m.ndim == 2 else m)) for m in moments)
    return float(np.sqrt(spec.stiffness / inertia)) if inertia > 0.0 else 0.0
