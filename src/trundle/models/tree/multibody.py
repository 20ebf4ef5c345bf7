"""Multibody: inertia, contacts and constrained dynamics of any set of bodies given by their motions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import overload

import casadi as ca

from trundle.checks import FloatArray
from trundle.contact.contact import Contact, Kinematics, kinematics
from trundle.contact.laws import SEPARATED, Friction, Law, laws_of
from trundle.contact.motion import Motion
from trundle.contact.stops import JointContact, JointFriction, JointStop
from trundle.errors import InputError
from trundle.models.tree.composite import Branch, composite_inertia
from trundle.models.tree.constrained import corrections, solve
from trundle.models.tree.loops import Loop
from trundle.numerics.expressions import HoldsExpressions
from trundle.numerics.space import angular_cross, angular_size, dot, lever
from trundle.numerics.symbol import Symbol, value_of
from trundle.threads import cached_property, made_once

Mode = str | Law | Sequence[str | Law]
"""Laws of contacts, by their names or themselves; one for a model of one contact."""

PROXIMAL = 1e-6
"""Size, in parts of 1/mass, of the term that makes the multipliers of redundant contacts unique."""

_FREE = {"allow_free": True}  # functions of the state alone: numbers of the model may be symbols

INDEPENDENT = {2: 2, 3: 1}
"""So many contacts of different bodies are taken to be independent: more may depend on each other (three wheels)."""


@dataclass(frozen=True)
class Body(HoldsExpressions):
    """A body with inertia: its frame, mass (kg), inertia about the centre of mass in body axes (kg m2).

    ``com`` (d,) m is the centre of mass in the body's frame; ``inertia`` is (k, k), or one number.
    """

    name: str
    motion: Motion
    mass: float
    inertia: FloatArray | float
    com: tuple[float, ...]


@dataclass(frozen=True)
class ContactConstraint(HoldsExpressions):
    """A contact of the model: body A, a frame fixed in the body `carrier`, touches B with the coordinates `s`."""

    name: str
    contact: Contact
    A: Motion
    B: Motion
    s: ca.SX
    friction: Friction
    carrier: str = ""


class KinematicsOf(Sequence[Kinematics]):
    """The kinematics of contacts, each made when it is asked for: of one that is apart often nobody does.

    Parameters
    ----------
    made : sequence of callable
        Each returns the kinematics of one contact.
    """

    def __init__(self, made: Sequence[Callable[[], Kinematics]]) -> None:
        self._made = tuple(made)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, contact: int) -> Kinematics: ...
    @overload
    def __getitem__(self, contact: slice) -> KinematicsOf: ...
    def __getitem__(self, contact: int | slice) -> Kinematics | KinematicsOf:
        return KinematicsOf(self._made[contact]) if isinstance(contact, slice) else self._made[contact]()

    def __repr__(self) -> str:
        return f"KinematicsOf({tuple(self)})"

    def __reduce__(self) -> tuple[Callable[..., KinematicsOf], tuple[Kinematics, ...]]:
        return _known_kinematics, tuple(self)


def _known_kinematics(*kinematics: Kinematics) -> KinematicsOf:
    """Return kinematics that are made already."""
    return KinematicsOf([partial(_itself, one) for one in kinematics])


def _itself(one: Kinematics) -> Kinematics:
    return one


@dataclass(frozen=True)
class Terms(HoldsExpressions):
    """M nudot + h = S u + G'lam and J nudot + b = 0, with what they were made of.

    Attributes
    ----------
    M, h, S : (nv, nv), (nv,), (nv, n_u)
    J, G, b : (m, nv), (m, nv) or None (G = J), (m,)
    velocity, position : (m,)
        The rows one and two derivatives lower, see `trundle.contact.laws.Rows`.
    kin : sequence of Kinematics
        One a contact, made when it is asked for.
    split : tuple of slice
        The rows of each contact.
    stored : scalar J, or None
        Energy that contacts give back.
    """

    M: ca.SX
    h: ca.SX
    S: ca.SX
    J: ca.SX
    b: ca.SX
    G: ca.SX | None
    velocity: ca.SX
    position: ca.SX
    kin: Sequence[Kinematics]
    split: tuple[slice, ...]
    stored: ca.SX | None = None


@dataclass(frozen=True)
class Dynamics(HoldsExpressions):
    """The equations of motion of a model in one mode, as expressions of (x, u).

    Attributes
    ----------
    x, u : (n_x,), (n_u,)
    xdot : (n_x,)
    nudot, lam : (nv,), (m,)
    forces, moments : tuple of (d,) N and scalars N m
        On A of each contact, resolved; torsional moments about B's normal.
    margins : dict of name -> scalar
        Positive while the mode is valid; names are ``<contact>.<margin>``.
    kin, terms : see `Terms`
    energy : scalar J
        Kinetic plus potential energy of the bodies with inertia, and what contacts and forces store.
    """

    x: ca.SX
    u: ca.SX
    xdot: ca.SX
    nudot: ca.SX
    lam: ca.SX
    forces: tuple[ca.SX, ...]
    moments: tuple[ca.SX, ...]
    margins: dict[str, ca.SX]
    kin: Sequence[Kinematics]
    terms: Terms
    energy: ca.SX


class Multibody(HoldsExpressions, ABC):
    """A model made of bodies and contacts.

    Contract for a subclass:

    1. Attributes: ``d``, ``nv``, ``x`` (n_x,), ``u`` (n_u,), ``nu`` (nv,), ``bodies`` (tuple of `Body`),
       ``constraints`` (tuple of `ContactConstraint`), ``S`` (nv, n_u), ``gravity`` (d,) m/s2, resolved.
    2. ``state_rate(nudot, kin, s_rate)`` returns x' (n_x,) from nudot, the kinematics of the contacts and
       the rates of all contact coordinates, stacked.
    3. ``displace(step)`` returns x after its poses moved by `step` (nv,) = nu dt, to first order.
    4. ``replace_contacts(s, nu)`` returns x with other contact coordinates and velocities.

    Derived: M, h, J, b, the constrained dynamics, energy, projections and impacts.
    """

    d: int
    nv: int
    x: ca.SX
    u: ca.SX
    nu: ca.SX
    bodies: tuple[Body, ...]
    constraints: tuple[ContactConstraint, ...]
    S: ca.SX
    gravity: ca.SX
    loops: tuple[Loop, ...] = ()
    """Pins that close loops, then couplings of joints; their rows follow those of the contacts, in every mode."""
    branches: tuple[Branch, ...] = ()
    """Bodies and joints of a tree with many joints, each after its parent: its M is formed from composite bodies."""
    hung: frozenset[str] = frozenset()
    """Bodies on joints of the world, which may be unable to move the way that a contact's row asks for."""
    resistance: ca.SX | None = None
    """Torques (nv,) with which joints resist their rates and positions, less external forces; part of h."""
    potential: ca.SX | None = None
    """Energy (J) of external forces that have one."""

    @abstractmethod
    def state_rate(self, nudot: ca.SX, kin: Sequence[Kinematics], s_rate: ca.SX) -> ca.SX:
        """Return x' (n_x,)."""

    @abstractmethod
    def displace(self, step: ca.SX) -> ca.SX:
        """Return x (n_x,) with every pose displaced by `step` (nv,)."""

    @abstractmethod
    def replace_contacts(self, s: ca.SX, nu: ca.SX) -> ca.SX:
        """Return x with the contact coordinates `s` (all contacts, stacked) and the velocities `nu`."""

    def inertia_terms(self) -> tuple[ca.SX, ca.SX]:
        """Return M (nv, nv) and h (nv,) of M nudot + h = S u + J'f.

        M = sum m Jv'Jv + Jw'I Jw and h = sum m Jv'(a - g) + Jw'(I al + w x I w), each body taken at its
        centre of mass. For a tree with many joints M comes from composite bodies, h from `inverse_dynamics`.
        """
        return self._inertia_terms

    @cached_property
    def _inertia_terms(self) -> tuple[ca.SX, ca.SX]:
        if self.branches:
            return composite_inertia(self.branches, self.nv), self._generalized_forces(None, ca.SX(0, 1), ca.SX(0, 1))
        M, h = ca.SX(self.nv, self.nv), ca.SX(self.nv, 1)
        for body in self.bodies:
            at_com = _at_com(body)
            inertia = _resolved_inertia(body)
            M += body.mass * (at_com.Jv.T @ at_com.Jv) + at_com.Jw.T @ (inertia @ at_com.Jw)
            spin = inertia @ at_com.al
            if not isinstance(body.inertia, float | Symbol):
                spin = spin + angular_cross(at_com.w, inertia @ at_com.w)
            h += body.mass * (at_com.Jv.T @ (at_com.a - self.gravity)) + at_com.Jw.T @ spin
        return M, h if self.resistance is None else h + self.resistance

    def inverse_dynamics(self, mode: Mode, nudot: ca.SX, lam: ca.SX) -> ca.SX:
        """Return tau (nv,) = M nudot + h - J'lam without forming M or J.

        By virtual power: with the bodies' forces f = m (a - g) and moments n = I al + w x I w at the acceleration
        nudot, and the multipliers lam of the contacts' rows,

            tau = d/dnu [sum f'v + n'w - lam'(J nu)],    f, n, lam held constant,

        which one reverse sweep through the velocities gives; a = (a at nudot = 0) + J nudot is a forward sweep.

        Parameters
        ----------
        mode : law, or sequence of laws
            One a contact, by its name or itself; without sliding ones.
        nudot : (nv,)
        lam : (m,)
            Multipliers of the rows of `terms`, stacked.
        """
        mode = laws_of(self.constraints, mode)
        if self.loops:
            raise InputError("robot", "one with closed loops", "a tree: loops are for simulation")
        joined = enumerate(zip(self.constraints, mode, strict=True))
        rows = [law.rows(self._kinematics(i, law), j.friction) for i, (j, law) in joined]
        if any(r.GA is not None or r.applied is not None for r in rows):
            allowed = "laws that push where they constrain: none that slides"
            raise InputError("mode", [law.name for law in mode], allowed)
        return self._generalized_forces(nudot, ca.vertcat(*(r.velocity for r in rows)), lam)

    def _generalized_forces(self, nudot: ca.SX | None, velocity: ca.SX, lam: ca.SX) -> ca.SX:
        """Return d/dnu of the power of inertia, gravity and the multipliers; nudot None: zero."""
        d, k = self.d, angular_size(self.d)
        bodies = [(body, _at_com(body), _resolved_inertia(body)) for body in self.bodies]
        twists = ca.vertcat(*(ca.vertcat(at.w, at.v) for _, at, _ in bodies))
        rates = ca.SX(*twists.shape) if nudot is None else ca.jtimes(twists, self.nu, nudot)
        pushes, at = [], 0
        for body, here, inertia in bodies:
            al, a = here.al + rates[at : at + k], here.a + rates[at + k : at + k + d]
            moment = inertia @ al
            if not isinstance(body.inertia, float | Symbol):
                moment = moment + angular_cross(here.w, inertia @ here.w)
            pushes += [moment, body.mass * (a - self.gravity)]
            at += k + d
        tau = ca.jtimes(ca.vertcat(twists, velocity), self.nu, ca.vertcat(*pushes, -lam), True)
        return tau if self.resistance is None else tau + self.resistance

    def energy(self) -> ca.SX:
        """Return the kinetic and potential energy of all bodies with inertia, J."""
        total = ca.SX(1, 1)
        for body in self.bodies:
            at_com = _at_com(body)
            spin = _resolved_inertia(body) @ at_com.w
            total += (body.mass * ca.sumsqr(at_com.v) + dot(at_com.w, spin)) / 2
            total -= body.mass * dot(self.gravity, at_com.p)
        return total if self.potential is None else total + self.potential

    def terms(self, mode: Mode, align: float = 0.0) -> Terms:
        """Return the terms of the equations of motion with one law a contact, by its name or itself."""
        mode = laws_of(self.constraints, mode)
        M, h = self.inertia_terms()
        parts: list[tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]] = []
        kin = KinematicsOf([partial(self._kinematics, i, law, align) for i, law in enumerate(mode)])
        split, at, pushed, stored = [], 0, False, None
        for i, (constraint, law) in enumerate(zip(self.constraints, mode, strict=True)):
            if law is SEPARATED:
                split.append(slice(at, at))
                continue
            k = kin[i]
            rows = law.rows(k, constraint.friction)
            JA, JB = ca.vertcat(constraint.A.Jw, constraint.A.Jv), ca.vertcat(constraint.B.Jw, constraint.B.Jv)
            J = G = rows.LA @ JA - rows.LB @ JB
            if rows.GA is not None and rows.GB is not None:
                G, pushed = rows.GA @ JA - rows.GB @ JB, True
            if rows.applied is not None:
                h = h - _generalize_forces(rows.applied, k, JA, JB)
            if rows.stored is not None:
                stored = rows.stored if stored is None else stored + rows.stored
            parts.append((J, G, rows.b, rows.velocity, rows.position))
            split.append(slice(at, at + J.shape[0]))
            at += J.shape[0]
        for J, b, velocity, position in (loop.rows for loop in self.loops):
            parts.append((J, J, b, velocity, position))
        columns = list(zip(*parts, strict=True)) or [(ca.SX(0, n),) for n in (self.nv, self.nv, 1, 1, 1)]
        J, G, b, velocity, position = (ca.vertcat(*rows) for rows in columns)
        push = G if pushed else None
        return Terms(M, h, self.S, J, b, push, velocity, position, kin, tuple(split), stored)

    def _kinematics(self, contact: int, law: Law, align: float = 0.0) -> Kinematics:
        """Return the kinematics of a contact as its law asks for them, made once: modes share most of them."""

        def make_kinematics() -> Kinematics:
            c, options = self.constraints[contact], {"slipping": law.slipping, "distant": law.distant}
            return kinematics(c.contact, c.A, c.B, c.s, align=align, **options)

        return made_once(self._made, (contact, law.slipping, law.distant, align), make_kinematics)

    @cached_property
    def _made(self) -> dict[tuple[int, bool, bool, float], Kinematics]:
        return {}

    def dynamics(
        self, mode: Mode, *, align: float = 0.0, baumgarte: float = 0.0, far: Collection[int] = ()
    ) -> Dynamics:
        """Return the constrained dynamics in a mode.

        Parameters
        ----------
        mode : law, or sequence of laws
            ``"rolling"``, ``"sliding"``, ``"separated"``, ...: one a contact, or one a pair: its first point's.
        align : float, 1/s
            Feedback on the misalignment of contact coordinates.
        baumgarte : float, 1/s
            Adds 2 beta J nu + beta^2 gap to the rows (theory, "Drift").
        far : collection of int
            Contacts that are apart and whose gap is not needed.
        """
        mode = laws_of(self.constraints, mode)
        terms = self.terms(mode, align)
        b = terms.b
        if baumgarte:
            b = b + 2 * baumgarte * terms.velocity + baumgarte**2 * terms.position
        nudot, lam = solve(
            terms.M,
            terms.J,
            terms.S @ self.u - terms.h,
            -b,
            terms.G,
            self._proximal(mode, terms),
            leaves_first=bool(self.branches),
        )
        forces, moments, margins = [], [], {}
        for i, (constraint, law, rows) in enumerate(zip(self.constraints, mode, terms.split, strict=True)):
            if law is SEPARATED:
                forces.append(ca.SX(self.d, 1))
                moments.append(ca.SX(1, 1))
                if i not in far:
                    margins[f"{constraint.name}.gap"] = terms.kin[i].distance
                continue
            k = terms.kin[i]
            force, moment = law.wrench(k, lam[rows], constraint.friction)
            forces.append(force)
            moments.append(moment)
            named = law.margins(k, lam[rows], constraint.friction)
            if law.touching:
                named = {**named, **constraint.contact.limits(constraint.A, constraint.B, constraint.s)}
                if k.curvature is not None:
                    named["curvature"] = k.curvature
            margins.update({f"{constraint.name}.{name}": value for name, value in named.items()})
        return Dynamics(
            x=self.x,
            u=self.u,
            xdot=self.state_rate(nudot, terms.kin, self.coordinate_rates(terms.kin, mode)),
            nudot=nudot,
            lam=lam,
            forces=tuple(forces),
            moments=tuple(moments),
            margins=margins,
            kin=terms.kin,
            terms=terms,
            energy=self.energy() if terms.stored is None else self.energy() + terms.stored,
        )

    def coordinate_rates(self, kin: Sequence[Kinematics], mode: Sequence[Law]) -> ca.SX:
        """Return the rates of all contact coordinates; of a contact that is apart they wait until it is found again."""
        sizes = [constraint.contact.size for constraint in self.constraints]
        if len(kin) != len(sizes):
            raise InputError("kin", len(kin), f"the kinematics of {len(sizes)} contacts")
        return ca.vertcat(*(kin[i].rates if law.touching else ca.SX(sizes[i], 1) for i, law in enumerate(mode)))

    def project(self, mode: Mode) -> ca.SX:
        """Return x put back onto the constraints of `mode`, by one Newton step (theory, "Drift").

        First the contact coordinates (alignment), then the poses (gap), then, at the new poses, the
        velocities; each by the smallest change in the metric M.
        """
        mode = laws_of(self.constraints, mode)
        terms = self.terms(mode)
        smallest = corrections(terms.M, terms.J, self._proximal(mode, terms), leaves_first=bool(self.branches))
        touching = [law.touching for law in mode]
        aligned = [
            constraint.contact.restore(constraint.s + terms.kin[i].shift) if on else constraint.s
            for i, (constraint, on) in enumerate(zip(self.constraints, touching, strict=True))
        ]
        positioned = self.displace(smallest(terms.position))
        if any(s.shape[0] for s in aligned):
            on_contacts = ca.Function("moved", [self.x], [positioned], _FREE)
            positioned = on_contacts(self.replace_contacts(ca.vertcat(*aligned), self.nu))
        s, nu = ca.vertcat(*(j.s for j in self.constraints)), self.nu + smallest(terms.velocity)
        return ca.Function("adjusted", [self.x, self.u], [self.replace_contacts(s, nu)], _FREE)(positioned, self.u)

    def _proximal(self, mode: Sequence[Law], terms: Terms) -> float | ca.SX:
        """Contacts that may depend on each other need unique multipliers.

        Rows of a joint's stop, friction or coupling have a unit of their own: their terms are in parts of what they
        move, or of one where they move nothing.
        """
        bodies = [constraint.carrier for constraint, law in zip(self.constraints, mode, strict=True) if law.touching]
        alone = len(set(bodies)) == len(bodies) <= INDEPENDENT[self.d] and not self.hung.intersection(bodies)
        both = [(one.contact, law.touching) for one, law in zip(self.constraints, mode, strict=True)]
        rubs = any(isinstance(contact, JointFriction) and touching for contact, touching in both)
        if not self.loops and alone and not rubs:
            return 0.0
        size = PROXIMAL / sum(value_of(body.mass) for body in self.bodies)
        jointed = [isinstance(contact, JointContact) and touching for contact, touching in both]
        count = terms.J.shape[0]
        coupled = sum(isinstance(loop.contact, JointStop) for loop in self.loops)  # the last ones, of a row each
        if not any(jointed) and not coupled:
            return size
        sizes = ca.SX.ones(count, 1) * size
        of_contacts = (row for rows in compress(terms.split, jointed) for row in range(rows.start, rows.stop))
        for row in (*of_contacts, *range(count - coupled, count)):
            J = terms.J[row, :]
            sizes[row] = PROXIMAL * (1.0 if J.is_zero() else ca.sum2(J**2 / ca.diag(terms.M).T))
        return sizes


def _generalize_forces(applied: ca.SX, k: Kinematics, JA: ca.SX, JB: ca.SX) -> ca.SX:
    """Force (nv,) of a moment and a force on A, and of their opposites on B, both at A's contact point."""
    size = k.wrel.shape[0]
    moment, force = applied[:size], applied[size:]
    on_A, on_B = k.LA.T @ force, k.LB.T @ force
    on_A[:size] += moment
    on_B[:size] += moment + lever(k.gap).T @ force
    return JA.T @ on_A - JB.T @ on_B


def _at_com(body: Body) -> Motion:
    return body.motion.at(ca.SX(ca.vertcat(*body.com))) if any(body.com) else body.motion


def _resolved_inertia(body: Body) -> ca.SX:
    if isinstance(body.inertia, float | Symbol):
        return body.inertia * ca.SX.eye(body.motion.w.shape[0])
    if body.motion.w.shape[0] == 1:
        return ca.SX(body.inertia)
    return body.motion.R @ ca.SX(body.inertia) @ body.motion.R.T
