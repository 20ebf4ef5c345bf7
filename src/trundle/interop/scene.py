"""PeerScene: bodies, shapes and contacts of a pair or a tree at its start, as other simulators take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, instance, integer, positive
from trundle.contact.laws import PURE_ROLLING, ROLLING, SEPARATED, SLIDING
from trundle.errors import InputError
from trundle.interop.forms import Form, FormWindow, body_form, ground_form, lift, lift_rotation
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.joints import BodySpec, FreeJoint, Prescribed, Prismatic, Revolute
from trundle.models.tree.model import TreeModel
from trundle.models.tree.rolling_joint import Rolling
from trundle.models.tree.system import ContactPair, ContactSystem, Start

JointKind = Literal["free", "in-plane", "hinge", "slide", "weld"]
Model = RollingPair | RollingTree | ContactSystem

HEAVY = 1e4
"""Mass of a moving hand over that of all that it may carry, and its inertia likewise, over 1 m."""
UNBOUNDED = 1.0
"""Torsional coefficient (m) of pure rolling without a bound."""


@dataclass(frozen=True, eq=False)
class PeerBody:
    """A body, in its frame: free, in the plane, or on a joint at the origin of its frame.

    Attributes
    ----------
    name : str
    parent : str
        Empty: the world.
    joint : "free", "in-plane" (x, z and the angle about -y), "hinge", "slide" or "weld"
    mass, com, inertia : kg, (3,) m, (3, 3) kg m2 about the centre of mass
    position, R : (3,) m, (3, 3)
        In the parent's frame where the joint is at zero; of a free or planar body its pose at the start.
    axis : (3,)
        Of the joint, in the body's axes.
    value, rate : float
        Of the joint at the start: rad, rad/s or m, m/s.
    twist : (6,) rad/s, m/s
        Of a free or planar body, world, angular first, of the frame's origin.
    stiffness, rest, damping, dry_friction, low, high : float
        Of the joint, as `Robot.resist` has them.
    actuated : bool
    weightless : bool
    """

    name: str
    parent: str
    joint: JointKind
    mass: float
    com: FloatArray
    inertia: FloatArray
    position: FloatArray
    R: FloatArray
    axis: FloatArray
    twist: FloatArray
    value: float = 0.0
    rate: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    dry_friction: float = 0.0
    low: float = -np.inf
    high: float = np.inf
    actuated: bool = False
    weightless: bool = False


@dataclass(frozen=True, eq=False)
class PeerGeom:
    """A form on a body (empty: the world), and its pose there."""

    name: str
    body: str
    form: Form
    position: FloatArray
    R: FloatArray


@dataclass(frozen=True)
class PeerContact:
    """Two geoms that may touch, by name, and the coefficients between them; moments are per normal force (m).

    ``resists`` is the number of directions that friction acts in: 3: slip; 4: spin, too; 6: rolling, too.
    """

    first: str
    second: str
    friction: float
    torsional: float = 0.0
    rolling: float = 0.0
    restitution: float = 0.0
    resists: Literal[3, 4, 6] = 3


@dataclass(frozen=True, eq=False)
class PeerScene:
    """A scene for another simulator, in space.

    Attributes
    ----------
    gravity : (3,) m/s2
    bodies : tuple of PeerBody
        Parents first.
    geoms : tuple of PeerGeom
    contacts : tuple of PeerContact
    pins : tuple of (body, point, body, point)
        Points (3,), m, in the bodies' frames that stay together.
    notes : tuple of str
        What is another thing there than here.
    couplings : tuple of (body, body, ratio, offset)
        The first one's joint follows the second one's: q = ratio q_second + offset, rad, m.
    """

    gravity: FloatArray
    bodies: tuple[PeerBody, ...]
    geoms: tuple[PeerGeom, ...]
    contacts: tuple[PeerContact, ...]
    pins: tuple[tuple[str, FloatArray, str, FloatArray], ...]
    notes: tuple[str, ...]
    couplings: tuple[tuple[str, str, float, float], ...] = ()

    def body(self, name: str) -> PeerBody:
        """Return the body `name`."""
        return next(body for body in self.bodies if body.name == name)

    def on(self, body: str) -> tuple[PeerGeom, ...]:
        """Return the geoms of a body; of the world for an empty name."""
        return tuple(geom for geom in self.geoms if geom.body == body)

    def touching(self, geom: str) -> tuple[PeerContact, ...]:
        """Return the contacts of a geom."""
        return tuple(one for one in self.contacts if geom in (one.first, one.second))


def scene_of(model: Model, start: Start, *, reach: float | None = None, cells: int = 200) -> PeerScene:
    """Return a pair or a tree at its start as other simulators take it.

    Parameters
    ----------
    model : RollingPair, RollingTree or ContactSystem
    start : Start
    reach : float, m, optional
        Half the width of terrain that is written as heights, about the start (default: 20 sizes of what rolls on it).
    cells : int
        Of heights, along each side.

    Raises
    ------
    InputError
        If other simulators have no such thing: a hand whose twist changes, a law of force of depth, adhesion, joints of
        one's own, external forces, a terrain that does not face upwards.
    """
    instance("model", model, RollingPair | RollingTree | ContactSystem, "a RollingPair, RollingTree or ContactSystem")
    instance("start", start, Start, "a Start, what model.place(...) returns")
    if reach is not None:
        positive("reach", reach, "m")
    integer("cells", cells, minimum=2, maximum=4000)
    system = model if isinstance(model, ContactSystem) else model.system
    system.check_start("start", start)
    return _SceneBuilder(system, start, reach, cells).scene()


class _SceneBuilder:
    """What is gathered while a scene is made."""

    def __init__(self, system: ContactSystem, start: Start, reach: float | None, cells: int) -> None:
        self.system, self.start, self.reach, self.cells = system, start, reach, cells
        self.model: TreeModel = system.model(start.atlas)
        self.specs = {spec.name: spec for spec in self.model.specs}
        self.notes: list[str] = []
        self.bodies: dict[str, PeerBody] = {}
        self.geoms: dict[tuple[str, int, tuple[float, ...]], PeerGeom] = {}
        self.poses = self._poses()
        self.hands: dict[str, tuple[str, FloatArray, FloatArray]] = {}

    def scene(self) -> PeerScene:
        """Return the scene."""
        told = next((spec for spec in self.model.specs if spec.joint.by_time), None)
        if told is not None:
            raise InputError("joint", told.name, "one that forces move: a scene file has no motion of the time")
        if self.model.potential is not None or self.model.powered:
            raise InputError("forces", "external forces", "left out: a scene file knows gravity alone")
        for spec in self.model.specs:
            self._add_body(spec)
        contacts = tuple(self._contact(numbers) for numbers in self.system.pairs)
        self._note_rules()
        pins = tuple((*self._pin(loop.A, loop.at_A), *self._pin(loop.B, loop.at_B)) for loop in self.model.pins)
        gravity = lift(np.asarray(self.system.physics["gravity"], dtype=np.float64))
        made = (tuple(self.bodies.values()), tuple(self.geoms.values()))
        specs = self.model.specs
        couplings = ((specs[c.A].name, specs[c.B].name, c.ratio, c.offset) for c in self.model.couplings)
        return PeerScene(gravity, *made, contacts, pins, tuple(dict.fromkeys(self.notes)), tuple(couplings))

    def _poses(self) -> Mapping[str, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Return R (3, 3), p (3,), w (3,) and v (3,) of every frame at the start, world."""
        names = list(self.model.motions)
        W = self.model.to_world
        parts = [
            (W @ m.R, W @ m.p, m.w if self.model.d == 2 else W @ m.w, W @ m.v) for m in self.model.motions.values()
        ]
        flat = [part for one in parts for part in one]
        values = ca.Function("poses", [self.model.x], flat, {"allow_free": False})(self.start.x)
        found = [np.asarray(v).reshape(ca.SX(part).shape) for v, part in zip(values, flat, strict=True)]
        return {
            name: (
                lift_rotation(found[4 * i]),
                lift(found[4 * i + 1].ravel()),
                self._angular(found[4 * i + 2].ravel()),
                lift(found[4 * i + 3].ravel()),
            )
            for i, name in enumerate(names)
        }

    @staticmethod
    def _angular(w: FloatArray) -> FloatArray:
        return w if len(w) == 3 else np.array([0.0, -w[0], 0.0])

    def _frame(self, name: str) -> tuple[str, FloatArray, FloatArray]:
        """Return the body of the scene that a frame is fixed in (empty: the world), and R, p of the frame there."""
        carrier, R, p = self.model.carrier(name)
        R, p = lift_rotation(R), lift(p)
        if carrier in self.hands:
            body, R_hand, p_hand = self.hands[carrier]
            return body, R_hand @ R, p_hand + R_hand @ p
        if carrier not in self.bodies:
            R_world, p_world, _, _ = self.poses[carrier]
            return "", R_world @ R, p_world + R_world @ p
        return carrier, R, p

    def _add_body(self, spec: BodySpec) -> None:
        joint = spec.joint
        if isinstance(joint, Prescribed):
            self._add_hand(spec.name)
            return
        if joint.size == 0 and spec.mass == 0.0:
            return
        still = {"axis": np.array([0.0, 0.0, 1.0]), "twist": np.zeros(6)}
        if isinstance(joint, FreeJoint | Rolling):
            R, p, w, v = self.poses[spec.name]
            kind: JointKind = "free" if self.model.d == 3 else "in-plane"
            self.bodies[spec.name] = self._body(spec, "", kind, p, R, **still | {"twist": np.concatenate([w, v])})
            if spec.actuated:
                self.notes.append(f"{spec.name}: its external torque is no actuator there")
            return
        parent, R, p = self._frame(self.model.specs[spec.parent].name)
        at = np.asarray(spec.at or (0.0,) * self.model.d, dtype=np.float64)
        position = p + R @ lift(at)
        R_child = R if spec.orientation is None else R @ lift_rotation(np.asarray(spec.orientation))
        if joint.size == 0:
            self.bodies[spec.name] = self._body(spec, parent, "weld", position, R_child, **still)
            return
        if not isinstance(joint, Revolute | Prismatic):
            allowed = "a hinge or a slide: others are not written for other simulators"
            raise InputError(f"joint of {spec.name}", type(joint).__name__, allowed)
        kind = "hinge" if isinstance(joint, Revolute) else "slide"
        if kind == "slide" or self.model.d == 3:
            axis = lift(np.asarray(joint.axis))
        else:
            axis = self._angular(np.asarray(joint.axis))
        numbers = {key: float(self.start.x[self.model.layout[f"{spec.name}.{of}"]][0])
                   for key, of in (("value", "joint"), ("rate", "rate"))}  # fmt: skip
        resists = {key: getattr(spec, key) for key in ("stiffness", "rest", "damping", "low", "high")}
        resists["dry_friction"] = spec.dry_friction + spec.smooth_friction
        own = {"axis": (R.T @ R_child).T @ axis, "twist": np.zeros(6), "actuated": spec.actuated}
        self.bodies[spec.name] = self._body(spec, parent, kind, position, R_child, **own, **numbers, **resists)
        if spec.smooth_friction:
            self.notes.append(f"{spec.name}: dry friction holds at rest there, here it is smooth about zero")

    def _body(
        self, spec: BodySpec, parent: str, kind: JointKind, position: FloatArray, R: FloatArray, **more: object
    ) -> PeerBody:
        inertia = np.asarray(spec.inertia, dtype=np.float64)
        matrix = inertia * np.eye(3) if inertia.ndim == 0 else np.diag(inertia) if inertia.ndim == 1 else inertia
        com = lift(np.asarray(spec.com or (0.0,) * self.model.d, dtype=np.float64))
        return PeerBody(spec.name, parent, kind, spec.mass, com, matrix, position, R, **more)  # pyright: ignore[reportArgumentType]

    def _add_hand(self, name: str) -> None:
        """Add a hand that moves as a heavy body on the axis of its screw; one that rests is part of the world."""
        R, p, w, v = self.poses[name]
        if not self.system.motions[name].is_still(0.0):
            told = type(self.system.motions[name]).__name__
            raise InputError(f"motion of {name}", told, "one that leaves its twist as it is, at the start and later")
        if not (np.any(w) or np.any(v)):
            return
        turning = float(np.linalg.norm(w))
        along = v if turning == 0.0 else w * float(w @ v) / turning**2
        if turning and np.linalg.norm(along) > 1e-9 * turning:
            raise InputError(f"twist of {name}", [*w, *v], "a turn about an axis or a slide along one, not both")
        kind: JointKind = "hinge" if turning else "slide"
        rate = turning or float(np.linalg.norm(v))
        place = p + np.cross(w, v) / turning**2 if turning else p
        mass = HEAVY * sum(spec.mass for spec in self.model.specs)
        axis = R.T @ ((w if turning else v) / rate)
        body = f"{name}-axis"
        self.bodies[body] = PeerBody(
            body, "", kind, mass, np.zeros(3), mass * np.eye(3), place, R, axis, np.zeros(6), rate=rate,
            weightless=kind == "slide",
        )  # fmt: skip
        self.hands[name] = body, np.eye(3), R.T @ (p - place)
        self.notes.append(f"{name}: moves as told here, there it is a body of {mass:.3g} kg that keeps its speed")

    def _contact(self, numbers: Sequence[int]) -> PeerContact:
        pair, constraint = self.system.contact_pairs[numbers[0]], self.model.constraints[numbers[0]]
        law = self.system.touching_law(numbers[0])
        if law not in (ROLLING, PURE_ROLLING, SLIDING, SEPARATED):
            raise InputError(f"law of {pair.contact}", law.name, "'rolling' or 'pure-rolling'")
        if pair.ahead is not None:
            raise InputError(f"ahead of {pair.contact}", pair.ahead, "left out: shapes do not pass through the ground")
        c = constraint.friction
        for key in ("adhesion", "rolling_viscous", "drilling_viscous"):
            if getattr(c, key):
                raise InputError(f"{key} of {pair.contact}", getattr(c, key), "0: there is no such force there")
        if pair.restitution.restitution:
            self.notes.append(f"{pair.contact}: restitution is a spring and damper in MuJoCo, Drake has none")
        resists, torsional = 3, c.drilling
        if law is PURE_ROLLING:
            resists, torsional = 4, c.torsional or c.drilling or UNBOUNDED
            if not (c.torsional or c.drilling):
                self.notes.append(f"{pair.contact}: pure rolling has a torsional coefficient of {UNBOUNDED:g} m there")
        resists = 6 if c.rolling else 4 if c.drilling else resists
        try:
            A, B = self._geom_of_body(pair), self._geom_of_base(pair)
        except InputError as error:
            raise error.within(pair.contact) from None
        return PeerContact(A.name, B.name, c.mu, torsional, c.rolling, pair.restitution.restitution, resists)

    def _across(self, pair: ContactPair) -> float:
        """Return half the width along y, m, of the terrain of a contact in the plane."""
        return 2.0 * pair.shape_A.reference_length

    def _geom_of_body(self, pair: ContactPair) -> PeerGeom:
        flat = pair.shape_B.representations.flat
        key = pair.body_A, id(pair.shape_A), pair.center_A
        if key not in self.geoms:
            form = body_form(pair.shape_A, flat, 0.5 * pair.shape_A.reference_length)
            place = lift(np.asarray(pair.center_A or (0.0,) * self.model.d, dtype=np.float64))
            self.geoms[key] = self._geom(pair.body_A, form, place)
        return self.geoms[key]

    def _geom_of_base(self, pair: ContactPair) -> PeerGeom:
        key = pair.body_B, id(pair.shape_B), (0.0,) * self.model.d
        if key not in self.geoms:
            _, p = self.system.relative_pose(self.start.x, self.system.number(pair.contact), self.start.atlas)
            reach = self.reach or 20.0 * pair.shape_A.reference_length
            window = FormWindow(np.asarray(p), reach, self.cells, self._across(pair))
            form = ground_form(pair.shape_B, window)
            if form.kind == "heights":
                width = 2e3 * form.size[0] / self.cells
                self.notes.append(f"{pair.body_B}: heights every {width:.3g} mm, within {reach:.3g} m of the start")
            self.geoms[key] = self._geom(pair.body_B, form, np.zeros(3))
        return self.geoms[key]

    def _geom(self, frame: str, form: Form, place: FloatArray) -> PeerGeom:
        body, R, p = self._frame(frame)
        taken = [geom.name for geom in self.geoms.values()]
        name = next(n for n in (frame, *(f"{frame}-{k}" for k in range(2, 1000))) if n not in taken)
        if form.kind == "hull":
            self.notes.append(f"{name}: the hull of {len(form.points)} points")
        return PeerGeom(name, body, form, p + R @ (place + form.at), R @ form.R)

    def _pin(self, body: int, at: tuple[float, ...]) -> tuple[str, FloatArray]:
        name, R, p = self._frame(self.model.specs[body].name)
        return name, p + R @ lift(np.asarray(at, dtype=np.float64))

    def _note_rules(self) -> None:
        rules = self.system.rules
        if rules.on_slip == "ignore":
            self.notes.append(
                "on_slip = 'ignore': rolls here whatever the friction, slips there beyond its coefficient"
            )
        if rules.on_separation == "ignore":
            self.notes.append("on_separation = 'ignore': contacts pull here where they have to, not there")
