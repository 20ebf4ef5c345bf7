"""Anatomy: masses, joints, contacts and gravity of a system as numbers, read from what its model was built of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.audit.columns import shared_view, view_of
from trundle.audit.evidence import Columns, Flags, Numbers, embed_in_space, lifted_rotation, lifted_turning
from trundle.checks import FloatArray
from trundle.contact.law import Friction
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.bodies import Cylinder, Disc, Superellipsoid
from trundle.geometry.shapes.corners import FACE_TILT
from trundle.geometry.shapes.rounding import Rounded
from trundle.models.tree.joints import BodySpec, Following, Prescribed, Prismatic, Revolute
from trundle.models.tree.loops import CouplingSpec
from trundle.models.tree.model import TreeModel
from trundle.models.tree.system import ContactPair, ContactSystem
from trundle.threads import cached_property


@dataclass(frozen=True, eq=False)
class Hinge:
    """A joint with one coordinate: a hinge or a slide.

    Attributes
    ----------
    name : str
    body, parent : int
    slides : bool
    axis, at : (3,)
        Unit axis, and place (m), in the parent's frame.
    orientation : (3, 3)
        Axes of the body, at the joint's zero, in its parent's.
    column : int
        Of its torque among the inputs; -1: none.
    number : int
        Among the joints of one coordinate.
    outboard : (bodies,)
        Which bodies it carries.
    spec : BodySpec
        Spring, damping, smoothed friction.
    """

    name: str
    body: int
    parent: int
    slides: bool
    axis: FloatArray
    at: FloatArray
    orientation: FloatArray
    column: int
    number: int
    outboard: Flags
    spec: BodySpec


@dataclass(frozen=True)
class Coupling:
    """A joint that follows another one: q = ratio q_leader + offset.

    ``bodies`` are on the two joints; `follower` and `leader` are the joints' numbers among those of one coordinate.
    """

    bodies: tuple[str, str]
    follower: int
    leader: int
    ratio: float
    offset: float


@dataclass(frozen=True, eq=False)
class Touching:
    """A contact of the model: the bodies that carry it, the coefficients of its law, and its shapes."""

    name: str
    A: int
    B: int
    friction: Friction
    pair: ContactPair

    def along_joint(self, vectors: FloatArray) -> FloatArray:
        """Return what forces or impulses (..., 3) of a contact of a joint do along the joint, N m or N."""
        joint = self.pair.joint
        if joint is None:
            return np.zeros(vectors.shape[:-1])
        return joint.gain * vectors[..., joint.axis_in_space]


@dataclass(frozen=True, eq=False)
class Groups:
    """Bodies whose momenta add up: those of each free tree, then those that each joint carries.

    Attributes
    ----------
    body, group : (k,)
        Bodies, one group after the other, and the number of the group of each.
    begin : (groups,)
        Where in `body` each group begins.
    share : (k,)
        Part of its group's mass that is the body's.
    """

    body: Numbers
    group: Numbers
    begin: Numbers
    share: FloatArray

    def sum_over_groups(self, values: FloatArray) -> FloatArray:
        """Return the sums (n, groups, ...) of values (n, k, ...) over the groups."""
        if len(self.begin) == len(self.body):
            return values
        found = values.T.take(self.begin, axis=-2 if values.ndim > 2 else 0).T
        for k in self._others:
            found[:, self.group[k]] += values[:, k]
        return found

    @cached_property
    def _others(self) -> list[int]:
        """Which bodies are not the first one of their group."""
        return np.setdiff1d(np.arange(len(self.body)), self.begin).tolist()


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Numbers of a system, in space.

    Attributes
    ----------
    names : tuple of str
        Of all frames, bodies among them.
    carrier : (frames,)
        The body that each is fixed in.
    mass, inertia, com : (frames,) kg, (frames, 3, 3) kg m2, (frames, 3) m
        About the centre of mass, body axes; 0 of frames.
    tree : (frames,)
        Number of the tree that a body belongs to, where that is free; else -1: it hangs on the world or on a hand.
    moves : (frames,)
        Whether what happens moves it: not the world, nor a prescribed body.
    given : (frames,)
        Whether it is a body that moves as it is told.
    gravity : (3,) m/s2
    hinges : tuple of Hinge
    joints : tuple of (position in x, rate in x)
        Of the joints with one coordinate.
    other_joints : (frames,)
        Bodies that hang on a joint of another kind, whose reactions are not told apart.
    driven : bool
        Whether something that moves hangs on a motion that is told, or is joined by one: its work is not recorded.
    pinned : (frames,)
        Bodies that pins join, or that carry such ones.
    coupled : (frames,)
        Bodies on joints that follow others, or that others follow: what acts along these joints is not told apart.
    couplings : tuple of Coupling
    pushed : bool
        Whether external forces act that the user gave.
    torqued : tuple of (body, columns of u)
        Free bodies with a torque as input.
    contacts : tuple of Touching
    quickest : float, rad/s
        Angular frequency of what swings or is told to: samples rarer than twice a period do not show it.
    """

    names: tuple[str, ...]
    carrier: Numbers
    mass: FloatArray
    inertia: FloatArray
    com: FloatArray
    tree: Numbers
    moves: Flags
    given: Flags
    gravity: FloatArray
    hinges: tuple[Hinge, ...]
    joints: tuple[tuple[int, int], ...]
    other_joints: Flags
    driven: bool
    pinned: Flags
    coupled: Flags
    couplings: tuple[Coupling, ...]
    pushed: bool
    torqued: tuple[tuple[int, slice], ...]
    contacts: tuple[Touching, ...]
    quickest: float

    def resolves_swings(self, h: FloatArray) -> Flags:
        """Return which intervals (k,), s, between samples are short enough to show what swings."""
        return self.quickest * h <= np.pi

    @cached_property
    def trees(self) -> int:
        """How many free trees there are."""
        return int(self.tree.max(initial=-1)) + 1

    @cached_property
    def groups(self) -> Groups:
        """The bodies of each free tree, then those that each joint carries: those with mass, if there are some."""
        members = [self.tree == tree for tree in range(self.trees)] + [hinge.outboard for hinge in self.hinges]
        solid = [mine & (self.mass > 0.0) for mine in members]
        bodies = [np.flatnonzero(own if own.any() else mine) for own, mine in zip(solid, members, strict=True)]
        sizes = [len(one) for one in bodies]
        group = np.repeat(np.arange(len(bodies)), sizes)
        body = np.concatenate([np.zeros(0, dtype=np.intp), *bodies])
        total = np.bincount(group, self.mass[body], len(bodies))[group]
        share = self.mass[body] / np.where(total > 0.0, total, 1.0)
        return Groups(body, group, np.append(0, np.cumsum(sizes[:-1])).astype(np.intp)[: len(bodies)], share)

    @cached_property
    def bases(self) -> tuple[int, ...]:
        """Of each body one that stands for all that joints connect to it: of a free tree, or a chain on the world."""
        return tuple(self._base(body) for body in range(len(self.names)))

    def _base(self, body: int) -> int:
        if self.tree[body] >= 0:
            return int(np.argmax(self.tree == self.tree[body]))
        return next((hinge.body for hinge in self.hinges if hinge.outboard[body]), body)

    @cached_property
    def uneven(self) -> Columns:
        """Bodies whose moments of inertia are not the same about all axes."""
        ball = self.inertia[:, 0, 0, None, None] * np.eye(3)
        return view_of(np.flatnonzero(np.any(self.inertia != ball, axis=(1, 2))))

    @cached_property
    def told(self) -> Numbers:
        """Bodies whose poses have to follow from their velocities: those that move, or move as they are told."""
        own = self.moves & (self.carrier == np.arange(len(self.names)))
        return np.flatnonzero(own | self.given)

    @cached_property
    def columns(self) -> tuple[tuple[tuple[str, ...], ...], Flags]:
        """Of the columns of a ledger: whose momentum it is, and whether one of turning."""
        names = [(self.names[int(np.argmax(self.tree == tree))],) for tree in range(self.trees) for _ in range(6)]
        names += [(hinge.name,) for hinge in self.hinges]
        angular = np.append(np.tile(np.repeat([False, True], 3), self.trees), ~self.sliding).astype(bool)
        return tuple(names), angular

    @cached_property
    def column_bodies(self) -> Numbers:
        """Of each column of a ledger one of the bodies whose momentum it is."""
        of_trees = np.repeat([int(np.argmax(self.tree == tree)) for tree in range(self.trees)], 6)
        return np.append(of_trees, [hinge.body for hinge in self.hinges]).astype(np.intp)

    @cached_property
    def solid(self) -> Columns:
        """Bodies with mass that what happens moves."""
        return view_of(np.flatnonzero(self.moves & (self.mass > 0.0)))

    @cached_property
    def movable(self) -> Columns:
        """Bodies that what happens moves."""
        return view_of(np.flatnonzero(self.moves))

    @cached_property
    def jointed(self) -> Columns:
        """The body (hinges,) that each joint carries first."""
        return view_of(np.array([hinge.body for hinge in self.hinges], dtype=np.intp))

    @cached_property
    def parents(self) -> Columns:
        """The body (hinges,) that each joint hangs on; one, to be broadcast, where it is the same of all."""
        return shared_view(np.array([hinge.parent for hinge in self.hinges], dtype=np.intp))

    @cached_property
    def axes(self) -> FloatArray:
        """Unit axes (hinges, 3) of the joints, in the frames of their parents."""
        return np.array([hinge.axis for hinge in self.hinges]).reshape(-1, 3)

    @cached_property
    def frames_of_joints(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Places (hinges, 3), m, of the joints in the frames of their parents, and directions that they hold.

        A unit vector e across the axis a, and a x e, in the parent's frame; a and e in that of the body at zero.
        """
        at = np.array([hinge.at for hinge in self.hinges]).reshape(-1, 3)
        across = np.linalg.svd(self.axes[:, None])[2][:, 1] if len(self.hinges) else self.axes
        O = np.array([hinge.orientation for hinge in self.hinges]).reshape(-1, 3, 3)  # noqa: E741
        in_body = (np.einsum("hji,hj->hi", O, one) for one in (self.axes, across))
        return at, across, np.cross(self.axes, across), *in_body

    @cached_property
    def resistance(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Stiffness, rest, damping and smoothed friction (hinges,) of each joint."""
        specs = [hinge.spec for hinge in self.hinges]
        names = ("stiffness", "rest", "damping", "smooth_friction")
        return tuple(np.array([getattr(one, name) for one in specs], dtype=np.float64) for name in names)  # pyright: ignore

    @cached_property
    def sliding(self) -> Flags:
        """Which joints (hinges,) are slides."""
        return np.array([hinge.slides for hinge in self.hinges], dtype=bool)

    @cached_property
    def sides(self) -> tuple[Numbers, Numbers]:
        """The bodies A and B (contacts,) of each contact."""
        A = np.array([contact.A for contact in self.contacts], dtype=np.intp)
        return A, np.array([contact.B for contact in self.contacts], dtype=np.intp)

    @cached_property
    def tilt(self) -> FloatArray:
        """The tilts (frames,), rad, up to which events lay bodies onto faces: what shapes of their trees declare."""
        found, bases = np.zeros(len(self.names)), np.array(self.bases)
        for contact in self.contacts:
            for body, shape in ((contact.A, contact.pair.shape_A), (contact.B, contact.pair.shape_B)):
                own = bases == bases[body]
                found[own] = np.maximum(found[own], _flat_tilt(shape))
        return found

    @cached_property
    def cusped(self) -> bool:
        """Whether a shape has curvatures without end."""
        return any(_has_cusps(shape) for one in self.contacts for shape in (one.pair.shape_A, one.pair.shape_B))

    @cached_property
    def of_joints(self) -> Flags:
        """Which contacts (contacts,) are those of joints."""
        return np.array([contact.pair.joint is not None for contact in self.contacts], dtype=bool)


def _has_cusps(shape: Shape) -> bool:
    if isinstance(shape, Rounded):
        return _has_cusps(shape.shape)
    return isinstance(shape, Superellipsoid) and min(np.atleast_1d(shape.exponents)) < 2.0


def _flat_tilt(shape: Shape) -> float:
    """Return the tilt, rad, below which a shape lies on its face; 0 of one without a round face."""
    if isinstance(shape, Disc | Cylinder):
        return shape.flat
    if isinstance(shape, Rounded):
        return _flat_tilt(shape.shape)
    return FACE_TILT if any(piece.face for piece in shape.representations.pieces) else 0.0


def anatomy_of(system: ContactSystem) -> Anatomy:
    """Return the anatomy of a system, made once."""
    return system.keep(("anatomy",), lambda: _anatomy(system))


def _anatomy(system: ContactSystem) -> Anatomy:
    model = system.model()
    specs, number = model.specs, {spec.name: i for i, spec in enumerate(model.specs)}
    carrier = np.array([number[model.carrier(spec.name)[0]] for spec in specs], dtype=np.intp)
    joints = [(q, rate) for q, rate, _ in _coordinates(model).values()]
    parents = np.array([spec.parent for spec in specs], dtype=np.intp)
    other = np.array([s.parent >= 0 and s.joint.size > 0 and not _simple(s) for s in specs], dtype=bool)
    pinned = np.zeros(len(specs), dtype=bool)
    for pin in model.pins:
        for body in (pin.A, pin.B):
            while body >= 0:
                pinned[body], body = True, int(parents[body])
    coupled = np.zeros(len(specs), dtype=bool)
    for one in model.couplings:
        coupled[[one.A, one.B]] = True
    torqued = tuple(
        (number[name], model.input_layout[f"{name}.torque"]) for name in model.driven if specs[number[name]].floating
    )
    return Anatomy(
        names=tuple(number),
        carrier=carrier,
        mass=np.array([float(s.mass) for s in specs]),
        inertia=np.array([_inertia(s, model.d) for s in specs]),
        com=np.array([embed_in_space(np.array(s.com or (0.0,) * model.d, dtype=np.float64)) for s in specs]),
        tree=_trees(specs, parents),
        moves=np.array([_moves(specs, i) for i in range(len(specs))], dtype=bool),
        given=np.array([isinstance(s.joint, Prescribed | Following) for s in specs], dtype=bool),
        gravity=embed_in_space(np.array(model.given[0], dtype=np.float64)),
        hinges=tuple(_hinges(model, number, parents)),
        joints=tuple(joints),
        other_joints=other,
        driven=any(_has_given_motion(specs, i) for i in range(len(specs))),
        pinned=pinned,
        coupled=coupled,
        couplings=tuple(_coupling(model, one) for one in model.couplings),
        pushed=bool(model.given[4]),
        torqued=torqued,
        contacts=tuple(_contacts(system, model, number, carrier)),
        quickest=system.quickest,
    )


def _coupling(model: TreeModel, one: CouplingSpec) -> Coupling:
    names = model.specs[one.A].name, model.specs[one.B].name
    order = list(_coordinates(model))
    return Coupling(names, order.index(names[0]), order.index(names[1]), one.ratio, one.offset)


def _coordinates(model: TreeModel) -> dict[str, tuple[int, int, int]]:
    """Return of each body on a joint with one coordinate: where its position and rate are in x, its force in u (-1)."""
    found = {}
    for spec in model.specs:
        if spec.jointed and spec.joint.size == 1 and _simple(spec):
            torque = model.input_layout.get(f"{spec.name}.torque")
            places = model.layout[f"{spec.name}.joint"].start, model.layout[f"{spec.name}.rate"].start
            found[spec.name] = (*places, -1 if torque is None else torque.start)
    return found


def _simple(spec: BodySpec) -> bool:
    return isinstance(spec.joint, Revolute | Prismatic)


def _moves(specs: tuple[BodySpec, ...], i: int) -> bool:
    """Whether a joint or no joint lets a body move."""
    while i >= 0:
        if specs[i].joint.size:
            return True
        i = specs[i].parent
    return False


def _has_given_motion(specs: tuple[BodySpec, ...], i: int) -> bool:
    """Whether a body that moves has a motion that is told between itself and the world."""
    told = False
    moves = _moves(specs, i)
    while i >= 0:
        told = told or isinstance(specs[i].joint, Following | Prescribed)
        i = specs[i].parent
    return moves and told


def _trees(specs: tuple[BodySpec, ...], parents: Numbers) -> Numbers:
    found, count = np.full(len(specs), -1, dtype=np.intp), 0
    for i, spec in enumerate(specs):
        if spec.floating:
            found[i], count = count, count + 1
        elif parents[i] >= 0:
            found[i] = found[parents[i]]
    return found


def _inertia(spec: BodySpec, d: int) -> FloatArray:
    if d == 2:
        return np.eye(3) * float(np.asarray(spec.inertia))
    given = np.asarray(spec.inertia, dtype=np.float64)
    return given * np.eye(3) if given.ndim == 0 else np.diag(given) if given.ndim == 1 else given


def _hinges(model: TreeModel, number: dict[str, int], parents: Numbers) -> list[Hinge]:
    found = []
    for k, (name, (_, _, column)) in enumerate(_coordinates(model).items()):
        spec, body = model.specs[number[name]], number[name]
        outboard = np.zeros(len(parents), dtype=bool)
        for i in range(len(parents)):
            outboard[i] = i == body or (parents[i] >= 0 and outboard[parents[i]])
        axis = np.array(spec.joint.axis)  # pyright: ignore[reportAttributeAccessIssue]
        slides = isinstance(spec.joint, Prismatic)
        turn = np.eye(model.d) if spec.orientation is None else np.array(spec.orientation)
        found.append(
            Hinge(
                name=spec.joint_name or name,
                body=body,
                parent=spec.parent,
                slides=slides,
                axis=embed_in_space(axis) if slides else lifted_turning(axis),
                at=embed_in_space(np.array(spec.at or (0.0,) * model.d, dtype=np.float64)),
                orientation=lifted_rotation(turn),
                column=column,
                number=k,
                outboard=outboard,
                spec=spec,
            )
        )
    return found


def _contacts(system: ContactSystem, model: TreeModel, number: dict[str, int], carrier: Numbers) -> list[Touching]:
    return [
        Touching(
            pair.contact, int(carrier[number[pair.body_A]]), int(carrier[number[pair.body_B]]), joined.friction, pair
        )
        for pair, joined in zip(system.contact_pairs, model.constraints, strict=True)
    ]
