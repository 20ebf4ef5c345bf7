"""TreeModel: the equations of motion of a tree of bodies and contacts, and the layout of its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.contact import Contact, Kinematics
from trundle.contact.contacts import ChartContact
from trundle.contact.laws import Friction
from trundle.contact.motion import Motion, free, prescribed, still
from trundle.errors import InputError
from trundle.models.tree.composite import Branch
from trundle.models.tree.joints import BodySpec, fixed_motion, jointed_motion
from trundle.models.tree.multibody import Body, ContactConstraint, Multibody
from trundle.models.tree.rolling_joint import RollingJoint, rolling_motion
from trundle.numerics.space import angular_size, orientation_rate, orientation_rate_body, orientation_size, rotation

_SMALL = 12
"""Up to so many velocities M is summed over the bodies: that is shorter there."""
DRY = 0.02
"""Rate (rad/s, m/s) over which dry friction of a joint turns round."""


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
    motions : dict of name -> Motion
        Frame of every body, resolved.
    to_world : (d, d)
        Resolving axes to world axes.
    columns : dict of name -> int
        First column of nu of every free or jointed body.
    """

    def __init__(
        self,
        d: int,
        gravity: Sequence[float],
        resolve: str,
        bodies: Sequence[BodySpec],
        contacts: Sequence[ContactSpec],
    ) -> None:
        self.d = d
        self.k = angular_size(d)
        self._specs = tuple(bodies)
        self._contact_specs = tuple(contacts)
        self._resolve = resolve
        self.layout: dict[str, slice] = {}
        self.input_layout: dict[str, slice] = {}
        self.columns: dict[str, int] = {}
        self._symbols: dict[str, ca.SX] = {}
        self._count_velocities()
        self._make_symbols()
        self.motions: dict[str, Motion] = {}
        self._joints: dict[str, RollingJoint] = {}
        self.to_world = ca.SX.eye(self.d)
        self._make_motions()
        self.gravity = self.to_world.T @ ca.SX(ca.DM(list(gravity)))
        self.bodies = tuple(
            Body(s.name, self.motions[s.name], s.mass, s.inertia, s.com) for s in self._specs if s.mass > 0
        )
        self.constraints = tuple(
            ContactConstraint(
                m.name,
                m.contact,
                self.motions[self._specs[m.A].name],
                self.motions[self._specs[m.B].name],
                self._symbols[f"{m.name}.coordinates"],
                m.friction,
            )
            for m in self._contact_specs
        )
        self.nu = self._velocities()
        self.S = self._selection()
        self.branches = self._branches() if d == 3 and self.nv > _SMALL else ()
        self.resistance = self._resistance()

    # building -----------------------------------------------------------------------------------------

    def _count_velocities(self) -> None:
        at = 0
        for spec in self._specs:
            if spec.kind == "free" or spec.jointed:
                self.columns[spec.name] = at
                at += self.k + self.d if spec.kind == "free" else 1
        self.nv = at

    def _make_symbols(self) -> None:
        d, k = self.d, self.k
        groups: list[tuple[str, int]] = []
        for spec in self._specs:
            if spec.kind == "prescribed" or (spec.kind == "free" and spec.rolling is None):
                groups += [(f"{spec.name}.position", d), (f"{spec.name}.orientation", orientation_size(d))]
        groups += [(f"{s.name}.joint", 1) for s in self._specs if s.jointed]
        groups += [(f"{s.name}.spin", 1) for s in self._specs if s.rolling is not None and d == 3]
        groups += [(f"{m.name}.coordinates", m.contact.size) for m in self._contact_specs]
        groups += [(f"{s.name}.twist", k + d) for s in self._specs if s.kind == "prescribed"]
        for spec in self._specs:
            if spec.kind == "free" and spec.rolling is None:
                groups += [(f"{spec.name}.angular_velocity", k), (f"{spec.name}.velocity", d)]
            elif spec.kind == "free":
                groups += [(f"{spec.name}.relative_velocity", 2 if spec.rolling == "pure" and d == 3 else k)]
            elif spec.jointed:
                groups += [(f"{spec.name}.rate", 1)]
        self.x = self._stack(groups, self.layout)
        inputs = [(f"{s.name}.twist_rate", k + d) for s in self._specs if s.kind == "prescribed"]
        inputs += [(f"{s.name}.torque", k if s.kind == "free" else 1) for s in self._specs if s.actuated]
        self.u = self._stack(inputs, self.input_layout)

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
        rolling = [s for s in self._specs if s.rolling is not None]
        if self._resolve == "contact":
            if len(rolling) != 1 or any(s.kind == "free" and s.rolling is None for s in self._specs):
                raise InputError("resolve", "contact", "'world' unless the tree has one free body, on a rolling joint")
        for spec in self._specs:
            if spec.kind == "ground":
                self.motions[spec.name] = still(self.d, self.nv)
            elif spec.kind == "prescribed":
                self.motions[spec.name] = self._prescribed(spec)
            elif spec.kind == "free" and spec.rolling is None:
                self.motions[spec.name] = self._free(spec)
        for spec in rolling:
            self._roll(spec)
        for spec in self._specs:
            if spec.jointed or spec.kind == "fixed":
                self.motions[spec.name] = self._joint_motion(spec)

    def _prescribed(self, spec: BodySpec) -> Motion:
        y, name = self._symbols, spec.name
        R = rotation(y[f"{name}.orientation"])
        return prescribed(R, y[f"{name}.position"], y[f"{name}.twist"], y[f"{name}.twist_rate"], self.nv)

    def _free(self, spec: BodySpec) -> Motion:
        y, name = self._symbols, spec.name
        R = rotation(y[f"{name}.orientation"])
        w, v = y[f"{name}.angular_velocity"], y[f"{name}.velocity"]
        return free(R, y[f"{name}.position"], w, v, self.nv, self.columns[name])

    def _joint_motion(self, spec: BodySpec) -> Motion:
        y, name = self._symbols, spec.name
        parent = self.motions[self._specs[spec.parent].name]
        if spec.kind == "fixed":
            return fixed_motion(spec, parent)
        return jointed_motion(spec, parent, y[f"{name}.joint"], y[f"{name}.rate"], self.columns[name])

    def _roll(self, spec: BodySpec) -> None:
        contact_pairs = [m for m in self._contact_specs if self._specs[m.A].name == spec.name]
        if len(contact_pairs) != 1:
            raise InputError("rolling", spec.name, "a body with exactly one contact, in which it is body A")
        contact_pair = contact_pairs[0]
        base = self._specs[contact_pair.B]
        y = self._symbols
        psi = y.get(f"{spec.name}.spin", ca.SX(1, 1))
        if not isinstance(contact_pair.contact, ChartContact):
            raise InputError(
                "contact", type(contact_pair.contact).__name__, "a ChartContact: a rolling joint needs charts"
            )
        joint = RollingJoint(contact_pair.contact, y[f"{contact_pair.name}.coordinates"], psi, spec.rolling == "pure")
        B = self.motions[base.name]
        if self._resolve == "contact":
            self.to_world = B.R @ joint.axes_on_B()
            B = _turned(B, self.to_world)
            self.motions[base.name] = B
        relative = y[f"{spec.name}.relative_velocity"]
        self.motions[spec.name] = rolling_motion(joint, B, relative, self.nv, self.columns[spec.name])
        self._joints[spec.name] = joint

    def _branches(self) -> tuple[Branch, ...]:
        """The bodies, where none has a rolling joint; ground and prescribed bodies do not move with nu."""
        numbers, branches = {}, []
        for i, s in enumerate(self._specs):
            if s.rolling is not None:
                return ()
            if s.kind in ("ground", "prescribed"):
                continue
            numbers[i] = len(branches)
            axis = self.motions[self._specs[s.parent].name].R @ ca.SX(ca.DM(s.axis)) if s.jointed else ca.SX(3, 1)
            motion, column = self.motions[s.name], self.columns.get(s.name, -1)
            com = s.com or (0.0,) * 3
            parent = numbers.get(s.parent, -1)
            branches.append(Branch(parent, s.kind, column, motion, axis, s.mass, s.inertia, com))
        return tuple(branches)

    def _velocities(self) -> ca.SX:
        parts = []
        for spec in self._specs:
            if spec.kind == "free":
                motion = self.motions[spec.name]
                parts += [motion.w, motion.v]
            elif spec.jointed:
                parts.append(self._symbols[f"{spec.name}.rate"])
        return ca.vertcat(*parts) if parts else ca.SX(0, 1)

    def _selection(self) -> ca.SX:
        S = ca.SX(self.nv, self.u.shape[0])
        for spec in self._specs:
            if spec.actuated:
                c, where = self.columns[spec.name], self.input_layout[f"{spec.name}.torque"]
                size = where.stop - where.start
                S[c : c + size, where] = ca.SX.eye(size)
        return S

    def _resistance(self) -> ca.SX | None:
        resisting = [s for s in self._specs if s.damping or s.dry_friction or s.stiffness]
        if not resisting:
            return None
        torque = ca.SX(self.nv, 1)
        for spec in resisting:
            rate = self._symbols[f"{spec.name}.rate"]
            spring = spec.stiffness * (self._symbols[f"{spec.name}.joint"] - spec.rest)
            torque[self.columns[spec.name]] = spec.damping * rate + spec.dry_friction * ca.tanh(rate / DRY) + spring
        return torque

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the jointed bodies."""
        return tuple(spec.name for spec in self._specs if spec.jointed)

    @property
    def joint_names(self) -> dict[str, str]:
        """Names of the joints, by the names of the jointed bodies: the bodies' own where they were not given."""
        return {spec.name: spec.joint or spec.name for spec in self._specs if spec.jointed}

    @property
    def driven(self) -> tuple[str, ...]:
        """Names of the bodies with a torque or force as input, in the order of u."""
        return tuple(spec.name for spec in self._specs if spec.actuated)

    def angle(self, name: str) -> ca.SX:
        """Return the angle (1,) of a body in the plane, world: the sum of the hinges on the way to it."""
        key = f"{name}.orientation"
        if key in self._symbols:
            return self._symbols[key]
        if name not in self.parents:
            return ca.SX(1, 1)
        before = self.angle(self.parents[name])
        return before + self._symbols[f"{name}.joint"] if self.turns(name) else before

    def turns(self, name: str) -> bool:
        """Whether the joint of the body `name` is a hinge."""
        return any(spec.name == name and spec.kind == "revolute" for spec in self._specs)

    @property
    def slides(self) -> dict[str, FloatArray]:
        """Axis (d,) of every body that slides, in its own axes."""
        slides = (spec for spec in self._specs if spec.kind == "prismatic")
        return {
            s.name: np.asarray(s.axis) @ (np.eye(self.d) if s.orientation is None else np.asarray(s.orientation))
            for s in slides
        }

    @property
    def joint_places(self) -> dict[str, tuple[float, ...]]:
        """Where every jointed body is hinged or slides, (d,) m, in its parent's frame."""
        return {s.name: s.at for s in self._specs if s.jointed}

    @property
    def parents(self) -> dict[str, str]:
        """The parent of every jointed body, by name."""
        return {s.name: self._specs[s.parent].name for s in self._specs if s.jointed}

    def carrier(self, name: str) -> tuple[str, FloatArray, FloatArray]:
        """Return the body that the frame `name` is fixed in, and R (d, d), p (d,) m of the frame there.

        Of any other body itself.
        """
        by_name = {spec.name: spec for spec in self._specs}
        R, p, spec = np.eye(self.d), np.zeros(self.d), by_name[name]
        while spec.kind == "fixed":
            orientation = np.eye(self.d) if spec.orientation is None else np.asarray(spec.orientation)
            R, p = orientation @ R, np.asarray(spec.at) + orientation @ p
            spec = self._specs[spec.parent]
        return spec.name, R, p

    # what Multibody asks --------------------------------------------------------------------------------

    def state_rate(self, nudot: ca.SX, kin: Sequence[Kinematics], s_rate: ca.SX) -> ca.SX:
        """Return x' (n_x,)."""
        y, d, k = self._symbols, self.d, self.k
        rate: dict[str, ca.SX] = {}
        for spec in self._specs:
            name = spec.name
            if spec.kind == "prescribed":
                twist = y[f"{name}.twist"]
                rate[f"{name}.position"] = rotation(y[f"{name}.orientation"]) @ twist[k:]
                rate[f"{name}.orientation"] = orientation_rate_body(y[f"{name}.orientation"], twist[:k])
                rate[f"{name}.twist"] = y[f"{name}.twist_rate"]
            elif spec.kind == "free":
                c = self.columns[name]
                al, a = nudot[c : c + k], nudot[c + k : c + k + d]
                if spec.rolling is None:
                    rate[f"{name}.position"] = y[f"{name}.velocity"]
                    rate[f"{name}.orientation"] = orientation_rate(
                        y[f"{name}.orientation"], y[f"{name}.angular_velocity"]
                    )
                    rate[f"{name}.angular_velocity"], rate[f"{name}.velocity"] = al, a
                else:
                    number_of = next(i for i, j in enumerate(self.constraints) if j.A is self.motions[name])
                    spin, relative = self._joints[name].rates(kin[number_of], self.constraints[number_of].B, al)
                    rate[f"{name}.spin"], rate[f"{name}.relative_velocity"] = spin, relative
            elif spec.jointed:
                rate[f"{name}.joint"] = y[f"{name}.rate"]
                rate[f"{name}.rate"] = nudot[self.columns[name]]
        at = 0
        for constraint in self.constraints:
            rate[f"{constraint.name}.coordinates"] = s_rate[at : at + constraint.contact.size]
            at += constraint.contact.size
        return ca.vertcat(*(rate[name] for name in self.layout))

    def moved(self, step: ca.SX) -> ca.SX:
        """Return x with every free pose and joint displaced by `step` (nv,)."""
        y, d, k = self._symbols, self.d, self.k
        changed = dict(y)
        for spec in self._specs:
            name = spec.name
            c = self.columns.get(name, 0)
            if spec.kind == "free" and spec.rolling is None:
                changed[f"{name}.position"] = y[f"{name}.position"] + step[c + k : c + k + d]
                turned = y[f"{name}.orientation"] + orientation_rate(y[f"{name}.orientation"], step[c : c + k])
                changed[f"{name}.orientation"] = turned if d == 2 else turned / ca.norm_2(turned)
            elif spec.jointed:
                changed[f"{name}.joint"] = y[f"{name}.joint"] + step[c]
        return ca.vertcat(*(changed[name] for name in self.layout))

    def replaced(self, s: ca.SX, nu: ca.SX) -> ca.SX:
        """Return x with other contact coordinates and velocities (rolling joints keep theirs)."""
        y, d, k = self._symbols, self.d, self.k
        changed, at = dict(y), 0
        for constraint in self.constraints:
            changed[f"{constraint.name}.coordinates"] = s[at : at + constraint.contact.size]
            at += constraint.contact.size
        for spec in self._specs:
            c = self.columns.get(spec.name, 0)
            if spec.kind == "free" and spec.rolling is None:
                changed[f"{spec.name}.angular_velocity"] = nu[c : c + k]
                changed[f"{spec.name}.velocity"] = nu[c + k : c + k + d]
            elif spec.jointed:
                changed[f"{spec.name}.rate"] = nu[c]
        return ca.vertcat(*(changed[name] for name in self.layout))


def _turned(B: Motion, to_world: ca.SX) -> Motion:
    """Return the motion of B with its vectors resolved in the axes `to_world`'."""
    back = to_world.T
    resolve = (lambda w: w) if B.w.shape[0] == 1 else (lambda w: back @ w)
    return Motion(
        R=back @ B.R,
        p=back @ B.p,
        w=resolve(B.w),
        v=back @ B.v,
        Jw=B.Jw,
        Jv=B.Jv,
        al=resolve(B.al),
        a=back @ B.a,
    )
