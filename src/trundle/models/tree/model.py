"""TreeModel: the equations of motion of a tree of bodies and contacts, and the layout of its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, choice
from trundle.contact.contact import Contact, Kinematics
from trundle.contact.contacts import ChartContact
from trundle.contact.laws import Friction
from trundle.contact.motion import Motion, resolved_in, still
from trundle.contact.stops import JointContact
from trundle.errors import InputError
from trundle.models.tree.composite import Branch
from trundle.models.tree.force import Force, Potential, generalized_force
from trundle.models.tree.joint import Joint, Site
from trundle.models.tree.joints import BodySpec, Following
from trundle.models.tree.loops import CouplingSpec, Levelled, Loop, LoopSpec, Pin, Pinned
from trundle.models.tree.multibody import Body, ContactConstraint, Multibody
from trundle.models.tree.rolling_joint import RollingJoint
from trundle.numerics.space import angular_size
from trundle.threads import cached_property

_SMALL = 12  # up to so many velocities M is summed over the bodies: that is shorter there
TIME = "time"
"""Name of the time among the states of a model with a force that depends on it."""
DRY = 0.02
"""Rate (rad/s, m/s) over which smoothed friction of a joint turns round."""


@dataclass(frozen=True)
class ContactSpec:
    """A contact as the builder knows it: bodies by their numbers."""

    name: str
    contact: Contact
    A: int
    B: int
    friction: Friction


class TreeModel(Multibody):
    """The model a `trundle.models.tree.tree.Tree` builds (final).

    x stacks: poses of prescribed and free bodies (position, then angle or quaternion), joint positions,
    spin angles psi of rolling joints, contact coordinates, twists of prescribed bodies (body axes),
    velocities of free bodies ((w, v) in the world; relative angular velocity of a rolling joint, in the
    contact frame) and joint rates. u stacks: twist rates of prescribed bodies (body axes), torques of
    actuated joints. ``layout`` maps names such as ``"object.position"`` to slices of x.

    Attributes
    ----------
    specs, pins, couplings : tuple of BodySpec, tuple of LoopSpec, tuple of CouplingSpec
        What it was built of.
    jointed : list of (Motion, JointContact, str)
        Of the points that joints move: their motion, how they move, and the body on the joint.
    motions : dict of name -> Motion
        Frame of every body, resolved.
    to_world : (d, d)
        Resolving axes to world axes.
    columns : dict of name -> int
        First column of nu of every free or jointed body.
    given : tuple
        What the model was made from, but for its dimension.
    powered : bool
        Whether external forces may give energy: one without a potential, or one that depends on time.
    """

    def __init__(
        self,
        d: int,
        gravity: Sequence[float],
        resolve: str,
        bodies: Sequence[BodySpec],
        contacts: Sequence[ContactSpec],
        forces: Sequence[Force | Potential] = (),
        origins: Mapping[str, Sequence[float]] = MappingProxyType({}),
        loops: Sequence[LoopSpec | CouplingSpec] = (),
    ) -> None:
        self.d, self.k = d, angular_size(d)
        self.given = gravity, resolve, tuple(bodies), tuple(contacts), forces, origins, loops
        self.specs = tuple(bodies)
        self.pins = tuple(one for one in loops if isinstance(one, LoopSpec))
        self.couplings = tuple(one for one in loops if isinstance(one, CouplingSpec))
        self.jointed: list[tuple[Motion, JointContact, str]] = []
        self._contact_specs, self._resolve = tuple(contacts), resolve
        self.layout: dict[str, slice] = {}
        self.input_layout: dict[str, slice] = {}
        self.columns: dict[str, int] = {}
        self._symbols: dict[str, ca.SX] = {}
        self._own: dict[str, dict[str, ca.SX]] = {spec.name: {} for spec in bodies}
        self._count_velocities()
        self._make_symbols()
        self.motions: dict[str, Motion] = {}
        self._sites: dict[str, Site] = {}
        self.to_world = ca.SX.eye(self.d)
        self._make_motions()
        self.gravity = self.to_world.T @ ca.SX(ca.vertcat(*gravity))
        self.bodies = tuple(
            Body(s.name, self.motions[s.name], s.mass, s.inertia, s.com) for s in self.specs if s.mass > 0
        )
        self.constraints = tuple(
            ContactConstraint(
                m.name,
                m.contact,
                *self._sides(m),
                self._symbols[f"{m.name}.coordinates"],
                m.friction,
                self.carrier(self.specs[m.A].name)[0],
            )
            for m in self._contact_specs
        )
        self.hung = frozenset(spec.name for spec in self.specs if not self._root(spec).floating)
        self.loops = (*map(self._make_pin, self.pins), *map(self._make_coupling, self.couplings))
        self.nu = self._velocities()
        self.S = self._selection()
        self.branches = self._branches() if d == 3 and self.nv > _SMALL else ()
        self.resistance = self._resistance()
        self.powered = TIME in self.layout
        if forces:
            self._add_forces(forces, origins)

    # building -----------------------------------------------------------------------------------------

    def _count_velocities(self) -> None:
        at = 0
        for spec in self.specs:
            if spec.joint.size:
                self.columns[spec.name] = at
                at += spec.joint.size
        self.nv = at

    def _make_symbols(self) -> None:
        # Roots before joints before what contacts place; prescribed velocities before those of nu.
        by_place = sorted(self.specs, key=lambda s: 2 if s.joint.by_contact else int(s.parent >= 0))
        by_nu = sorted(self.specs, key=lambda s: s.joint.size > 0)
        groups = [(f"{s.name}.{key}", n) for s in by_place for key, n in s.joint.configuration().items()]
        groups += [(f"{m.name}.coordinates", m.contact.size) for m in self._contact_specs]
        groups += [(f"{s.name}.{key}", n) for s in by_nu for key, n in s.joint.velocity().items()]
        told = [spec.name for spec in self.specs if spec.joint.by_time]
        groups += [(TIME, 1)] if told else []
        self.x = self._stack(groups, self.layout)
        inputs = [(f"{s.name}.{key}", n) for s in self.specs for key, n in s.joint.inputs.items()]
        driven = (s for s in self.specs if s.actuated)
        inputs += [(f"{s.name}.torque", self.k if s.floating else s.joint.size) for s in driven]
        self.u = self._stack(inputs, self.input_layout)
        for name, symbol in self._symbols.items():
            body, _, key = name.rpartition(".")
            if body in self._own:
                self._own[body][key] = symbol
        for name in told:
            self._own[name][TIME] = self._symbols[TIME]

    def _sides(self, m: ContactSpec) -> tuple[Motion, Motion]:
        """Return the motions of both sides of a contact."""
        names = self.specs[m.A].name, self.specs[m.B].name
        if isinstance(m.contact, JointContact):
            return self._moved_by_joint(m.contact, names[0])
        return self.motions[names[0]], self.motions[names[1]]

    def _moved_by_joint(self, contact: JointContact, name: str) -> tuple[Motion, Motion]:
        """Return the motions of the point that the joint of a body moves, and of the flat under it."""
        own = self._own[name]
        point, flat = contact.motions(own["joint"], own["rate"], self.columns[name], self.nv)
        self.jointed.append((point, contact, name))
        return point, flat

    def _make_pin(self, pin: LoopSpec) -> Loop:
        return Loop(self._at(pin.A, pin.at_A), self._at(pin.B, pin.at_B), Pin(self.d), Pinned())

    def _make_coupling(self, one: CouplingSpec) -> Loop:
        follower, leader = one.heights(self.d)
        points = (
            self._moved_by_joint(follower, self.specs[one.A].name)[0],
            self._moved_by_joint(leader, self.specs[one.B].name)[0],
        )
        return Loop(*points, follower, Levelled())

    def _at(self, body: int, point: tuple[float, ...]) -> Motion:
        return self.motions[self.specs[body].name].at(ca.SX(ca.DM(point)))

    def _stack(self, groups: list[tuple[str, int]], layout: dict[str, slice]) -> ca.SX:
        at, symbols = 0, []
        for name, size in groups:
            symbol = ca.SX.sym(name, size)
            self._symbols[name] = symbol
            layout[name] = slice(at, at + size)
            symbols.append(symbol)
            at += size
        return ca.vertcat(*symbols) if symbols else ca.SX(0, 1)

    def _make_motions(self) -> None:
        rolling = [s for s in self.specs if s.joint.by_contact]
        if self._resolve == "contact":
            if len(rolling) != 1 or any(s.floating and s not in rolling for s in self.specs):
                raise InputError("resolve", "contact", "'world' unless the tree has one free body, on a rolling joint")
        world = still(self.d, self.nv)
        for spec in self.specs:
            if spec.parent < 0 and not spec.joint.by_contact:
                self._place(spec, spec.site(world, self.nv, self.columns.get(spec.name, 0)))
        for spec in rolling:
            self._place(spec, self._rolling_site(spec))
        for spec in self.specs:
            if spec.parent >= 0:
                parent = self.motions[self.specs[spec.parent].name]
                self._place(spec, spec.site(parent, self.nv, self.columns.get(spec.name, 0)))

    def _place(self, spec: BodySpec, site: Site) -> None:
        self._sites[spec.name] = site
        self.motions[spec.name] = spec.joint.motion(site, self._own[spec.name])

    def _rolling_site(self, spec: BodySpec) -> Site:
        """Return where a body rolls; B's motion, and with it all of the model, is resolved in the contact if wanted."""
        contact_pairs = [m for m in self._contact_specs if self.specs[m.A].name == spec.name]
        if len(contact_pairs) != 1:
            raise InputError("rolling", spec.name, "a body with exactly one contact, in which it is body A")
        contact_pair = contact_pairs[0]
        base, contact = self.specs[contact_pair.B], contact_pair.contact
        if not isinstance(contact, ChartContact):
            raise InputError("contact", type(contact).__name__, "a ChartContact: a rolling joint needs charts")
        s = self._symbols[f"{contact_pair.name}.coordinates"]
        at, column = ca.SX(self.d, 1), self.columns[spec.name]
        B = self.motions[base.name]
        if self._resolve == "contact":
            self.to_world = B.R @ RollingJoint(contact, s, ca.SX(1, 1), pure=False).axes_on_B()
            B = resolved_in(B, self.to_world)
            self.motions[base.name] = B
        return Site(B, at, None, self.nv, column, contact, s)

    def _root(self, spec: BodySpec) -> BodySpec:
        """Return the body without a parent that carries a body, itself if it has none."""
        while spec.parent >= 0:
            spec = self.specs[spec.parent]
        return spec

    def _branches(self) -> tuple[Branch, ...]:
        """The bodies, where none has a rolling joint; ground and prescribed bodies do not move with nu."""
        numbers, branches = {}, []
        for i, s in enumerate(self.specs):
            if s.joint.by_contact:
                return ()
            if s.parent < 0 and not s.floating:
                continue
            numbers[i] = len(branches)
            motion, column = self.motions[s.name], self.columns.get(s.name, -1)
            com = s.com or (0.0,) * 3
            parent = numbers.get(s.parent, -1)
            branches.append(Branch(parent, column, s.joint.size, motion, s.mass, s.inertia, com))
        return tuple(branches)

    def _velocities(self) -> ca.SX:
        parts = []
        for spec in self.specs:
            if spec.floating:
                motion = self.motions[spec.name]
                parts += [motion.w, motion.v]
            elif spec.jointed:
                parts.append(self._symbols[f"{spec.name}.rate"])
        return ca.vertcat(*parts) if parts else ca.SX(0, 1)

    def _selection(self) -> ca.SX:
        S = ca.SX(self.nv, self.u.shape[0])
        for spec in self.specs:
            if spec.actuated:
                c, where = self.columns[spec.name], self.input_layout[f"{spec.name}.torque"]
                size = where.stop - where.start
                S[c : c + size, where] = ca.SX.eye(size)
        return S

    def _resistance(self) -> ca.SX | None:
        resisting = [s for s in self.specs if s.damping or s.smooth_friction or s.stiffness]
        if not resisting:
            return None
        torque = ca.SX(self.nv, 1)
        for spec in resisting:
            own, at = self._own[spec.name], self.columns[spec.name]
            q, rate = own["joint"], own["rate"]
            if spec.stiffness and q.shape != rate.shape:
                raise InputError("stiffness", spec.name, "of a joint with as many coordinates as velocities")
            spring = spec.stiffness * (q - spec.rest) if q.shape == rate.shape else 0.0
            smooth = spec.smooth_friction * ca.tanh(rate / DRY)
            torque[at : at + spec.joint.size] = spec.damping * rate + smooth + spring
        return torque

    def _add_forces(self, forces: Sequence[Force | Potential], origins: Mapping[str, Sequence[float]]) -> None:
        """Count external forces as resistance; time is a state of the model where they depend on it."""
        t = self._symbols.get(TIME, ca.SX.sym(TIME))
        Q, self.potential = generalized_force(self, forces, self.motions, self.to_world, t, origins)
        self.resistance = -Q if self.resistance is None else self.resistance - Q
        self.powered = self.powered or any(isinstance(force, Force) for force in forces)
        if TIME not in self.layout and ca.depends_on(
            ca.vertcat(Q, *([] if self.potential is None else [self.potential])), t
        ):
            self.powered = True
            self.layout[TIME] = slice(self.x.shape[0], self.x.shape[0] + 1)
            self._symbols[TIME] = t
            self.x = ca.vertcat(self.x, t)

    @property
    def joints(self) -> dict[str, str]:
        """Names of the joints by those of the bodies that they move: their own, else the body's."""
        return {spec.name: spec.joint_name or spec.name for spec in self.specs if spec.jointed}

    @property
    def joint_coordinates(self) -> dict[str, tuple[int, int, int | None]]:
        """Places in x, of position and rate, and in u of the joints' coordinates, by the names they are recorded under.

        That is the joint's name, with a number where it has several. Of a joint whose configuration is no vector the
        poses of bodies tell.
        """
        found = {}
        for name, joint in self.joints.items():
            q, rate = (self.layout[f"{name}.{key}"] for key in ("joint", "rate"))
            force, size = self.input_layout.get(f"{name}.torque"), rate.stop - rate.start
            for i in range(size) if q.stop - q.start == size else ():
                label = joint if size == 1 else f"{joint}_{i + 1}"
                found[label] = (q.start + i, rate.start + i, None if force is None else force.start + i)
        return found

    @property
    def driven(self) -> tuple[str, ...]:
        """Names of the bodies with a torque or force as input, in the order of u."""
        return tuple(spec.name for spec in self.specs if spec.actuated)

    def angle(self, name: str) -> ca.SX:
        """Return the angle (1,) of a body in the plane, world: the sum of the hinges on the way to it."""
        key = f"{name}.orientation"
        if key in self._symbols:
            return self._symbols[key]
        named = {spec.name: spec for spec in self.specs}
        spec = named[choice("name", name, named)]
        if spec.parent < 0:
            return ca.SX(1, 1)
        angle = self.angle(self.specs[spec.parent].name)
        if spec.orientation is not None:
            angle += np.arctan2(spec.orientation[1][0], spec.orientation[0][0])
        if isinstance(spec.joint, Following):
            return angle + spec.joint.joint.angle(spec.joint.coordinates(self._symbols[TIME])[0])
        return angle + self._joints[name].angle(self._symbols[f"{name}.joint"]) if self.turns(name) else angle

    @cached_property
    def _joints(self) -> dict[str, Joint]:
        """The joints of the jointed bodies."""
        return {s.name: s.joint for s in self.specs if s.jointed and isinstance(s.joint, Joint)}

    def turns(self, name: str) -> bool:
        """Whether the joint of the body `name` turns it; of a body without a joint False."""
        return name in self._joints and self._joints[name].turns

    @cached_property
    def slides(self) -> dict[str, FloatArray]:
        """Axis (d,) of every body that slides, in its own axes."""
        found = {s.name: (s, self._joints[s.name].slide) for s in self.specs if s.name in self._joints}
        return {
            name: axis @ (np.eye(self.d) if s.orientation is None else np.asarray(s.orientation))
            for name, (s, axis) in found.items()
            if axis is not None
        }

    @property
    def joint_places(self) -> dict[str, tuple[float, ...]]:
        """Where every jointed body is hinged or slides, (d,) m, in its parent's frame."""
        return {s.name: s.at for s in self.specs if s.jointed}

    @property
    def parents(self) -> dict[str, str]:
        """The parent of every jointed body, by name."""
        return {s.name: self.specs[s.parent].name for s in self.specs if s.jointed}

    def carrier(self, name: str) -> tuple[str, FloatArray, FloatArray]:
        """Return the body that the frame `name` is fixed in, and R (d, d), p (d,) m of the frame there.

        Of any other body itself.
        """
        by_name = {spec.name: spec for spec in self.specs}
        R, p, spec = np.eye(self.d), np.zeros(self.d), by_name[choice("name", name, by_name)]
        while spec.welded:
            orientation = np.eye(self.d) if spec.orientation is None else np.asarray(spec.orientation)
            R, p = orientation @ R, np.asarray(spec.at) + orientation @ p
            spec = self.specs[spec.parent]
        return spec.name, R, p

    # what Multibody asks --------------------------------------------------------------------------------

    def state_rate(self, nudot: ca.SX, kin: Sequence[Kinematics], s_rate: ca.SX) -> ca.SX:
        """Return x' (n_x,)."""
        rate: dict[str, ca.SX] = {}
        for spec in self.specs:
            c, motion = self.columns.get(spec.name, 0), self.motions[spec.name]
            touching = (i for i, joined in enumerate(self.constraints) if joined.A is motion)
            first = next(touching, None) if spec.joint.by_contact else None
            contact = None if first is None else kin[first]
            nudot_own = nudot[c : c + spec.joint.size]
            rates = spec.joint.rates(self._sites[spec.name], self._own[spec.name], nudot_own, contact)
            rate |= {f"{spec.name}.{key}": value for key, value in rates.items()}
        rate[TIME] = ca.SX(1)
        at = 0
        for constraint in self.constraints:
            rate[f"{constraint.name}.coordinates"] = s_rate[at : at + constraint.contact.size]
            at += constraint.contact.size
        return ca.vertcat(*(rate[name] for name in self.layout))

    def displace(self, step: ca.SX) -> ca.SX:
        """Return x with every free pose and joint displaced by `step` (nv,)."""
        changed = dict(self._symbols)
        for spec in self.specs:
            c = self.columns.get(spec.name, 0)
            places = spec.joint.displace(self._own[spec.name], step[c : c + spec.joint.size])
            changed |= {f"{spec.name}.{key}": value for key, value in places.items()}
        return ca.vertcat(*(changed[name] for name in self.layout))

    def replace_contacts(self, s: ca.SX, nu: ca.SX) -> ca.SX:
        """Return x with other contact coordinates and velocities (rolling joints keep theirs)."""
        changed, at = dict(self._symbols), 0
        for constraint in self.constraints:
            changed[f"{constraint.name}.coordinates"] = s[at : at + constraint.contact.size]
            at += constraint.contact.size
        for spec in self.specs:
            c = self.columns.get(spec.name, 0)
            velocities = spec.joint.with_velocity(nu[c : c + spec.joint.size])
            changed |= {f"{spec.name}.{key}": value for key, value in velocities.items()}
        return ca.vertcat(*(changed[name] for name in self.layout))
