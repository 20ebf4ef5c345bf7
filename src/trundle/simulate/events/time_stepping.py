"""Time stepping: Moreau's scheme on the contact rows of a system, over instants that events cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, PURE_ROLLING, ROLLING, SEPARATED, SLIDING, Sticking, slides
from trundle.models.scales import pace, usual_speed
from trundle.models.tree.system import least_curvature
from trundle.models.tree.touching import velocities_changed
from trundle.numerics.compiled.buffered import MatrixFunction
from trundle.numerics.space import angular_size
from trundle.simulate.compiled_mode import CompiledMode, project_state
from trundle.simulate.events.coulomb import ContactImpulses, contact_impulses
from trundle.simulate.events.coulomb.resisted import ResistedContacts, resisted_impulses
from trundle.simulate.events.recontact import crossing
from trundle.simulate.events.states import spins_not
from trundle.simulate.events.transitions import EventHandler, HybridState
from trundle.simulate.events.turning import Resistances, press_joints, resists
from trundle.simulate.instant import GROUPS
from trundle.simulate.mode import Mode

FIRST_STEP, FINE_STEP, LONGEST_STEP = 1e-6, 5e-5, 1e-2
"""s, of what is 0.1 m large on the earth, see `pace`. Each step is a fourth longer than the one before; beyond
`FINE_STEP` as long as nothing changes."""
_CORRECTIONS, _CLOSE = 3, 0.1
"""Times the middle of a step is looked at, and the part by which its change of velocities may differ from the last."""
_EVEN = 1e-6
"""Part by which the impulses of the middle may differ from those of the beginning in a longer step."""
_ROUND_OFF = 1e-12
"""Part of a jump without contacts."""
_GROWTH, _SAME, _SHORTER = 1.25, 5, (1.0, 0.1, 0.01, 0.001)
CLEAR_SLIP = 1e-5
"""Slip (m/s, of what is 0.1 m large on the earth: `usual_speed`) from which an explicit integrator can follow it."""
_NOTHING, _OPENS, _SLIPS = 1e-12, 1e-10, 1e-9
_FAR = 1.0
"""m, in place of a gap without end."""
_SINKS = 1e-7
"""Depth, in sizes, that a contact may sink in within a step: positions move with the mean velocity, the half of which
is that before its landing."""
_INSIDE = 1e-9
"""How far outside its feature (sizes) a point may be."""
_SLOW = 1.0
"""Velocity (rad/s, m/s) to which changes within a step are compared where everything is slower."""
_BEARS = ("normal_force", "friction", "rolling", "torsion")
"""Margins of what contacts bear."""
_LARGEST = 1e50
"""Of the numbers of a state (SI): products of larger ones overflow, they count as not finite."""
_UNSOLVED = 1e-6
"""Residual of Coulomb's law with which no step is taken."""
_RANK, _OFF = 1e-10, 1e-6
"""Of the largest singular value: what no motion has; of the largest speed: how much of it is of second order."""


class _Touching(Sticking):
    """All rows of a contact that may slip and open: its coordinates follow the moving contact point."""

    slipping = True


@dataclass(frozen=True)
class _Terms:
    """M nudot = f; of each contact J, b and velocity (normal first), its gap, its spin row; of pins the same; nu.

    Where turning is resisted also the rows of rolling.
    """

    M: FloatArray
    f: FloatArray
    J: FloatArray
    b: FloatArray
    velocity: FloatArray
    gap: FloatArray
    spin: FloatArray
    spin_b: FloatArray
    spin_rate: FloatArray
    pins: FloatArray
    pins_b: FloatArray
    pins_rate: FloatArray
    nu: FloatArray
    rolling: FloatArray
    rolling_b: FloatArray
    rolling_rate: FloatArray


class TimeStepping:
    """Steps of a system whose contacts may slip, stick, open and close within each step (Moreau 1988; Jean 1999).

        M (nu' - nu) = h f + J'L,   v = J nu' + (h/2) b + n gap / h,   (L, v) obey Coulomb's law,

    with M, f, J in the middle of the step, positions with the mean velocity. Without a stiff direction of slips that
    begin or end; of second order between such instants. L_n is the load: the push and, of contacts that touch as the
    step begins, h times their adhesion, which pulls back.

    Parameters
    ----------
    board : EventHandler
    now : HybridState
    contacts : sequence of int
        Those that may touch: the other ones stay apart. Of those in flight the ones that give back take no part, nor do
        those that come in fast: their landing is an event (`first_landing`).
    plastic : set of int
        Contacts in flight that take part, whatever they do.
    """

    def __init__(
        self, board: EventHandler, now: HybridState, contacts: Sequence[int], plastic: Set[int] = frozenset()
    ) -> None:
        self.board, self.system, self.now = board, board.system, now
        self.contacts = tuple(contacts)
        self.plastic = np.array([i in plastic for i in self.contacts], dtype=bool)
        self.may_push = np.array([not self._bounces(i) for i in self.contacts], dtype=bool) | self.plastic
        self.active = self.may_push
        self.phase = board.phase_of(now.mode)
        sticky = self.system.rules.on_slip == "ignore"
        frictions = [joined.friction for joined in self.phase.model.constraints]
        endless = frozenset(self.contacts) - self.system.rubbing if sticky else frozenset()
        self.friction = np.array([np.inf if i in endless else frictions[i].mu for i in self.contacts])
        self.adhesion = np.array([frictions[i].adhesion for i in self.contacts])
        self._pull = np.zeros(len(self.contacts))
        self.resistances = Resistances(self.system, [frictions[i] for i in self.contacts])
        pure = [spins_not(self.system, i) and frictions[i].spin_bound == 0.0 for i in self.contacts]
        self.pure = np.array(pure, dtype=bool)
        self.spins = self.pure & np.array([now.mode.laws[i] == PURE_ROLLING.name for i in self.contacts], dtype=bool)
        self.pace, self.fast = pace(self.system), usual_speed(self.system)
        self.h, self.same, self.begin = FIRST_STEP * self.pace, 0, now.t
        self.slowest = np.inf
        self._forces: FloatArray | None = None
        self._pushed_at = now.t, now.x
        self._asked = 0.0

    def _bounces(self, contact: int) -> bool:
        """Whether a contact is in flight and gives something back when it lands."""
        return self._flies(contact) and self.system.contact_pairs[contact].restitution.restitution > 0.0

    def _flies(self, contact: int) -> bool:
        """Whether a contact is in flight; where one touches in its place it goes on with that."""
        laws = self.now.mode.laws
        return not any(LAWS[laws[i]].touching for i in (contact, *self.system.in_place_of(contact)))

    def on(self, contacts: Sequence[int], now: HybridState | None = None) -> TimeStepping:
        """Return the same steps with other contacts that may touch, or on other charts (`now`), from here on."""
        other = TimeStepping(self.board, now or self.now, contacts)
        other.h, other.begin, other._asked = self.h, self.begin, self._asked
        return other

    def first_landing(self, before: HybridState) -> tuple[float, int] | None:
        """Return when, since `before`, the first of the contacts in flight that took no part landed, and which."""
        if self.active.all():
            return None
        p = self.phase.parameters(self.board.inputs(before.t))

        def gap(t: float, k: int) -> float:
            """Return a gap at a time in the step; of what cannot touch there it is endless."""
            return min(float(self._terms(t, self.state_at(before, t), p).gap[k]), _FAR)

        first, last = (self._terms(at.t, at.x, p).gap for at in (before, self.now))
        # What begins below zero, by round-off, and opens has just landed.
        landed = np.flatnonzero(~self.active & (last < 0.0) & (last < first))
        instants = [crossing(lambda t, k=int(k): gap(t, k), before.t, self.now.t) for k in landed]
        return min(zip(instants, (self.contacts[k] for k in landed), strict=True), default=None)

    def _taking_part(self, begin: _Terms, h: float) -> NDArray[np.bool_]:
        """Return which contacts (m,) may push in a step h (s): not those in flight that come in fast."""
        apart = np.array([self._flies(i) for i in self.contacts], dtype=bool)
        sizes = np.array([self.system.contact_pairs[i].shape_A.reference_length for i in self.contacts])
        fast = -begin.velocity[:: self.system.d] * h / 2 > _SINKS * sizes
        return self.may_push & ~(apart & fast & ~self.plastic)

    def state_at(self, before: HybridState, t: float) -> FloatArray:
        """Return the state at a time in the step since `before`: velocities linear, positions with their rates."""
        h, now = self.now.t - before.t, self.now
        part = min((t - before.t) / h, 1.0)
        p, drift = self.phase.parameters(self.board.inputs(before.t)), self._function("drift")
        ones = np.ones(self.phase.model.nv)
        velocities = velocities_changed(self.system, before.mode.atlas, before.x, ones) != before.x
        begin, end = (h * drift(at.t, at.x, p)[0].ravel() for at in (before, now))
        straight = before.x + part * (now.x - before.x)
        bent = part * (1 - part) * ((1 - part) * (begin - now.x + before.x) + part * (now.x - before.x - end))
        return np.where(velocities, straight, straight + bent)

    def step(self, longest: float) -> HybridState | None:
        """Take one step of at most `longest` (s); return the state after it, or None where no forces were found."""
        forces = self._forces
        for part in _SHORTER:
            h, self._forces = part * min(self.h, longest), forces
            if self.now.t + h == self.now.t:
                return None  # the state runs away faster than time can be told
            if (found := self._step(h)) is not None:
                mode, slowest, even, x = found
                if h > FINE_STEP * self.pace and not (even and mode == self.now.mode):
                    continue  # what changes on the way is to be seen when it does
                self.same = self.same + 1 if mode == self.now.mode else 0
                self.slowest, self.now = slowest, HybridState(self.now.t + h, x, mode, np.zeros_like(self.now.onsets))
                longest_next = self.pace * (LONGEST_STEP if even else FINE_STEP)
                self.h = min((self.h if part == 1.0 else h) * _GROWTH, longest_next)
                return self.now
        return None

    def _step(self, h: float) -> tuple[Mode, float, bool, FloatArray] | None:
        """Return the mode that a step h (s) ends in, its slowest slip, whether the motion is even, and the state."""
        now, system, atlas, u = self.now, self.system, self.now.mode.atlas, self.board.inputs(self.now.t)
        p, drift = self.phase.parameters(u), self._function("drift")
        begin = self._terms(now.t, now.x, p)
        self.active = self._taking_part(begin, h)
        self._pull = np.array([0.0 if self._flies(i) else a for i, a in zip(self.contacts, self.adhesion, strict=True)])
        jump, freely, found, opens = self._impulses(begin, h, begin.gap)
        # Once more with what is in the middle of the step, at the mean velocities; and again where these were others.
        again, corrections = jump, 0
        while True:
            used, corrections = again, corrections + 1
            middle = velocities_changed(system, atlas, now.x, used / 2)
            middle = middle + h / 2 * drift(now.t, middle, p)[0].ravel()
            if not np.all(np.abs(middle) < _LARGEST):
                return None
            center = self._terms(now.t + h / 2, middle, p)
            again, more_freely, found, opens = self._impulses(center, h, begin.gap, used / 2)
            self._pushed_at = now.t + h / 2, middle
            # Contacts that keep their velocities to round-off bear nothing that could be unsolved.
            speed, still = np.abs(found.velocities).max(initial=0.0), _ROUND_OFF * np.abs(center.nu).max(initial=0.0)
            if not (found.residual < _UNSOLVED or speed <= still) or not np.all(np.isfinite(again)):
                return None
            close = np.abs(again - used).max(initial=0.0) <= _CLOSE * np.abs(again).max(initial=0.0)
            if close or corrections == _CORRECTIONS:
                break
        if np.abs(more_freely - freely).max(initial=0.0) > np.abs(center.nu).max(initial=0.0) + _SLOW:
            return None  # bodies turn round within the step
        middle = velocities_changed(system, atlas, middle, (again - used) / 2)
        x = velocities_changed(system, atlas, now.x, again)
        x = x + h * drift(now.t + h / 2, middle, p)[0].ravel()
        if not np.all(np.abs(x) < _LARGEST):
            return None
        apart, size = np.abs(again - jump).max(initial=0.0), np.abs(again).max(initial=0.0)
        rests = max(apart, size) <= _ROUND_OFF * np.abs(freely).max(initial=0.0)  # contacts bear all that acts
        return *self._read(found, opens), bool(rests or apart <= _EVEN * size), x

    @property
    def middle(self) -> tuple[float, FloatArray]:
        """The middle of the last step, s, and the state (n_x,) there, at which its contacts pushed."""
        return self._pushed_at

    def forces(self) -> FloatArray:
        """Return the forces (contacts, d) N, world, on A of all contacts in the last step."""
        return self._in_the_world(0)

    def moments(self) -> FloatArray:
        """Return the moments (contacts, k) N m, world, on A against the turning of all contacts in the last step."""
        return self._in_the_world(self.system.d)

    def spin_moments(self) -> FloatArray:
        """Return the moments (contacts,) N m on A about the normals of all contacts in the last step."""
        found = np.zeros(len(self.now.mode.laws))
        if self.system.d == 3 and self.resistances.any and self._forces is not None:
            found[list(self.contacts)] = self._forces[:, -1]
        return found

    def _in_the_world(self, first: int) -> FloatArray:
        """Return the forces, or what of the pushes is in the columns from `first` on, of all contacts in the world."""
        now, d = self.now, self.system.d
        size = d if not first else angular_size(d)
        found = np.zeros((len(now.mode.laws), size))
        pushes = self._forces
        if pushes is None or not self.contacts or pushes.shape[1] < first + size:
            return found
        pushes = np.array(pushes[:, first : first + size])
        if not first:
            pushes[:, 0] -= self._pull
        if size == 1:
            found[list(self.contacts)] = pushes
            return found
        axes = self._axes(*self._pushed_at)
        if first:  # rolling about the tangents, then the spin about the normal
            axes = np.roll(axes, -1, axis=1)
        found[list(self.contacts)] = np.einsum("ija,ij->ia", axes, pushes)
        return found

    def forces_at(self, t: float, x: FloatArray) -> FloatArray:
        """Return the same at a state `x` (n_x,) in the step: normals and planes of contact turn on curved ground.

        Normal forces and the sizes of friction are those of the whole step.
        """
        found, own = self.forces(), list(self.contacts)
        if self._forces is None or not own:
            return found
        n, there, push = self._axes(*self._pushed_at)[:, 0], self._axes(t, x)[:, 0], found[own]
        normal = np.einsum("ia,ia->i", n, push)
        friction = push - normal[:, None] * n
        size = np.linalg.norm(friction, axis=1)
        along = friction - np.einsum("ia,ia->i", there, friction)[:, None] * there
        along *= (size / np.maximum(np.linalg.norm(along, axis=1), np.finfo(np.float64).tiny))[:, None]
        pushes = np.any(push != 0.0, axis=1)
        found[own] = np.where(pushes[:, None], normal[:, None] * there + along, push)
        return found

    def _axes(self, t: float, x: FloatArray) -> FloatArray:
        """Return normals and tangents (contacts, d, d), world, at a state."""
        p = self.phase.parameters(self.board.inputs(self.now.t))
        return self._function("axes")(t, x, p)[0].reshape(-1, self.system.d, self.system.d)

    def _terms(self, t: float, x: FloatArray, p: FloatArray) -> _Terms:
        values = self._function("terms")(t, x, p)
        matrices = (0, 2, 6, 9, 13)  # M and Jacobians
        return _Terms(*(value if k in matrices else value.ravel() for k, value in enumerate(values)))

    def _impulses(
        self, terms: _Terms, h: float, gap: FloatArray, half: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, ContactImpulses, FloatArray]:
        """Return the jump of nu (nv,), that without contacts, the impulses, and the speeds (m,) at which gaps open.

        ``gap`` (m,) as the step begins; ``half`` (nv,): the terms are those of the middle, where nu has changed by it.
        """
        d = self.system.d
        change, ahead = (0.0, h) if half is None else (half, h / 2)
        inverse = np.asarray(np.linalg.inv(terms.M), dtype=np.float64)
        nudot = inverse @ terms.f
        held = np.flatnonzero(self.spins)
        C = np.vstack([terms.spin[held], terms.pins])
        if len(C):
            lever = inverse @ C.T @ np.linalg.pinv(C @ inverse @ C.T, rcond=1e-10, hermitian=True)
            b, rate = np.append(terms.spin_b[held], terms.pins_b), np.append(terms.spin_rate[held], terms.pins_rate)
            nudot = nudot - lever @ (C @ (nudot - change / h) + (ahead * b + rate) / h)
            inverse = np.asarray(inverse - lever @ C @ inverse, dtype=np.float64)
        # Where others touch in place of a feature its point may be anywhere: it takes no part and stays open.
        near = self.active & np.isfinite(gap) & np.isfinite(terms.gap)
        there = near[self.active]
        size = d + (self.resistances.rows if self.resistances.any else 0)
        impulses, velocities = np.zeros((len(there), size)), np.zeros((len(there), size))
        velocities[:, 0] = np.inf
        guess = None if self._forces is None else h * self._forces[near]
        self._forces = np.zeros((len(self.contacts), size))
        if not near.any():
            return h * nudot, h * nudot, ContactImpulses(impulses, velocities, 0.0), velocities[:, 0]
        rows = np.repeat(near, d)
        J = terms.J[rows]
        free = _with_bias(terms.velocity[rows] + J @ (h * nudot - change), J, ahead * terms.b[rows])
        free[::d] += np.maximum(gap[near], 0.0) / h
        pulled = -inverse @ J[::d].T @ (h * self._pull[near])
        free += J @ pulled
        if self.resistances.any:
            turning = self._turning(terms, near, h * nudot + pulled - change, ahead)
            found, jump = self._solve_resisted(near, (J, free.reshape(-1, d)), turning, inverse, h, guess)
            jump = h * nudot + pulled + jump
        else:
            push = inverse @ J.T
            D, before = J @ push, free.reshape(-1, d)
            here = [self.contacts[k] for k in np.flatnonzero(near)]
            press_joints(self.system, here, D, before, h)
            found = contact_impulses(D, before, self.friction[near], guess=guess)
            jump = h * nudot + pulled + push @ found.impulses.ravel()
        self._forces[near] = found.impulses / h
        impulses[there], velocities[there] = found.impulses, found.velocities
        made = ContactImpulses(impulses, velocities, found.residual)
        return jump, h * nudot, made, velocities[:, 0]

    def _turning(
        self, terms: _Terms, near: NDArray[np.bool_], jump: FloatArray, ahead: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return J (m, rows, nv), the rates (m, rows) in `terms`, and those after a `jump` without pushes."""
        J, rate, b = (part[near] for part in self.resistances.turning(terms))
        return J, rate, rate + J @ jump + ahead * b

    def _solve_resisted(
        self,
        near: NDArray[np.bool_],
        sliding: tuple[FloatArray, FloatArray],
        turning: tuple[FloatArray, FloatArray, FloatArray],
        inverse: FloatArray,
        h: float,
        guess: FloatArray | None,
    ) -> tuple[ContactImpulses, FloatArray]:
        """Return pushes and velocities (m, K) of contacts of which some resist their turning, and their jump of nu.

        ``sliding``: rows J (m d, nv) and velocities (m, d) without a push; ``turning``: see `_turning`.
        """
        d, resistances = self.system.d, self.resistances
        here = [self.contacts[k] for k in np.flatnonzero(near)]
        laws = [LAWS[self.now.mode.laws[i]] for i in here]
        touches, holds_spin = (np.array([getattr(law, what) for law in laws]) for what in ("touching", "holds_spin"))
        turn, rate, rate_after = turning
        m, rows = rate.shape
        J = np.concatenate([sliding[0].reshape(m, d, -1), turn], axis=1).reshape(m * (d + rows), -1)
        before, push = np.hstack([sliding[1], rate_after]), inverse @ J.T
        # Viscous moments are those of the rates in `terms`.
        viscous = np.zeros_like(before)
        viscous[:, d:] = -h * resistances.viscous[near] * touches[:, None] * rate
        D = J @ push
        before = before + (D @ viscous.ravel()).reshape(before.shape)
        press_joints(self.system, here, D, before, h)
        bounds = np.column_stack([self.friction[near], resistances.bounds(holds_spin, near)])
        problem = ResistedContacts(D, before, GROUPS[d], bounds, np.zeros_like(before))
        found = resisted_impulses(problem, guess)
        pushes = found.impulses + viscous
        return ContactImpulses(pushes, found.velocities, found.residual), push @ pushes.ravel()

    def _read(self, found: ContactImpulses, opens: FloatArray) -> tuple[Mode, float]:
        """Return what the contacts did in a step as a mode, and the slowest slip, or turning on its body, m/s."""
        laws, d = [SEPARATED.name] * len(self.now.mode.laws), self.system.d
        largest = float(np.abs(found.impulses[:, :d]).max(initial=0.0))
        slips = np.linalg.norm(found.velocities[:, 1:d], axis=1)
        active = np.flatnonzero(self.active)
        slowest: list[float] = []
        for k, i in enumerate(self.contacts[j] for j in active):
            if found.impulses[k, 0] <= _NOTHING * largest and opens[k] > _OPENS * self.fast:
                continue
            friction = self.friction[active[k]]
            sliding = friction == 0.0 or (slips[k] > _SLIPS * self.fast and np.isfinite(friction))
            pure = bool(self.pure[active[k]])
            self.spins[active[k]] = pure and not sliding
            laws[i] = SLIDING.name if sliding else PURE_ROLLING.name if pure else ROLLING.name
            if self.resistances.any:
                rates, held = found.velocities[k, d:], bool(self.spins[active[k]])
                length = self.system.contact_pairs[i].shape_A.reference_length
                laws[i], rate = self.resistances.law(int(active[k]), rates, bool(sliding), held, length)
                slowest.append(rate * length)
        mode = replace(self.now.mode, laws=self.system.with_stops(tuple(laws)), rest=False)
        rubs = [slides(laws[self.contacts[j]]) and self.friction[j] > 0.0 for j in active]
        return mode, float(min([*slowest, *slips[np.array(rubs, dtype=bool)].tolist()], default=np.inf))

    def find_settled_state(self, least: float) -> HybridState | None:
        """Return where events can go on from, or None.

        That is after the same laws for some steps and at least a time `least` (s), with no slip so slow that its
        direction turns at once, and forces that agree with the laws.
        """
        now = self.now
        least = max(least, self._asked * _GROWTH)
        if self.same < _SAME or now.t - self.begin < least or self.slowest < CLEAR_SLIP * self.fast:
            return None
        self._asked = now.t - self.begin
        if self.board.indeterminate(now):
            return None
        if self.resistances.any and resists(self.board, now.mode):
            return self._decide_laws(now)
        phase = self.board.phase_of(now.mode)
        p = phase.parameters(self.board.inputs(now.t))
        names = [self.board.name(i) for i, law in enumerate(now.mode.laws) if LAWS[law].touching]

        def margins(x: FloatArray) -> dict[str, float] | None:
            """Return the margins, or None if a force does not agree."""
            values = phase.margin_values(now.t, x, p)
            forces = (values.get(f"{name}.{what}", 0.0) for name in names for what in _BEARS)
            return values if all(value >= 0.0 for value in forces) else None

        if margins(now.x) is None or (values := margins(x := project_state(phase, now.t, now.x, p))) is None:
            return None
        gaps = frozenset(name for name, value in values.items() if name.endswith(".gap") and value < _SLIPS)
        return replace(now, x=x, unarmed=gaps)

    def _decide_laws(self, now: HybridState) -> HybridState | None:
        """Return the state with the laws of a decision, if contacts do what they did in the steps, else None."""
        after = self.board.decision(now)
        if not isinstance(after, HybridState) or np.any(after.onsets[:, : self.system.d]):
            return None
        held = replace(now, onsets=after.onsets, mode=replace(now.mode, laws=after.mode.laws))
        phase = self.board.phase_of(held.mode)
        p = phase.parameters(self.board.inputs(now.t), held.onsets)
        if [slides(one) for one in after.mode.laws] != [slides(one) for one in now.mode.laws]:
            return None
        x = project_state(phase, now.t, after.x, p)
        values = phase.margin_values(now.t, x, p)
        names = [self.board.name(i) for i, law in enumerate(held.mode.laws) if LAWS[law].touching]
        if any(values.get(f"{name}.{what}", 0.0) < 0.0 for name in names for what in _BEARS):
            return None
        gaps = frozenset(name for name, value in values.items() if name.endswith(".gap") and value < _SLIPS)
        return replace(after, x=x, unarmed=after.unarmed | gaps)

    def _function(self, name: str) -> MatrixFunction:
        atlas, held = self.now.mode.atlas, self.phase.held
        key = ("time stepping", atlas, self.contacts, held)
        return self.system.keep(key, lambda: _functions(self.phase.fused, self.contacts))[name]


def _with_bias(free: FloatArray, J: FloatArray, bias: FloatArray) -> FloatArray:
    """Return velocities (n,), m/s, of contacts plus a change that is theirs to first order of a step.

    What of it no motion of the bodies has is left out where it is little: the points of a rigid body do not part along
    the line between them. Contacts that stick would push against it without end.
    """
    U, sizes, _ = np.linalg.svd(J)
    none = U[:, int(np.count_nonzero(sizes > _RANK * sizes.max(initial=0.0))) :]
    off = none @ (none.T @ bias)
    little = np.abs(off).max(initial=0.0) <= _OFF * np.abs(free).max(initial=0.0)
    return free + bias - off if little else free + bias


def _functions(phase: CompiledMode, contacts: Sequence[int]) -> dict[str, MatrixFunction]:
    """(t, x, p) -> terms, and (t, x, p) -> x' at constant velocities."""
    model, d = phase.model, phase.model.d
    resisted = any(model.constraints[i].friction.dissipates for i in contacts)
    touching = _Touching("touching", holds_spin=True, holds_rolling=resisted)
    laws = [touching if i in contacts else SEPARATED for i in range(len(model.constraints))]
    terms = model.terms(laws)
    rows: list[list[ca.SX]] = [[] for _ in range(10)]
    for i in contacts:
        k, at = terms.kin[i], terms.split[i]
        axes = ca.horzcat(k.n, k.T).T
        J, b, velocity = terms.J[at, :], terms.b[at], terms.velocity[at]
        # Along the normal, which turns as the contact goes on over curved ground; along the plane of the middle.
        bias = axes @ b[:d] + ca.vertcat(ca.dot(k.ndot, k.vrel), ca.SX(d - 1, 1))
        gap = ca.dot(k.n, k.gap)
        if i in phase.system.beside:  # a feature that others touch in place of is as good as far away
            joined = model.constraints[i]
            outside = joined.contact.limits(joined.A, joined.B, joined.s)["feature"] < -_INSIDE
            gap = ca.if_else(outside, np.inf, gap)
            # Along an edge its point runs to the end at once where the ground is nearly straight: gaps alone tell.
            if k.curvature is not None:
                least = least_curvature(joined.contact, phase.system.contact_pairs[i].shape_A.reference_length)
                b, bias = (ca.if_else(k.curvature < least, 0.0, change) for change in (b, bias))
        spin = d + (d - 1 if resisted else 0)
        parts = [axes @ J[:d, :], bias, axes @ velocity[:d], gap, J[spin:, :], b[spin:], velocity[spin:]]
        parts += [J[d:spin, :], b[d:spin], velocity[d:spin]]
        for gathered, part in zip(rows, parts, strict=True):
            gathered.append(part)
    last = terms.split[-1].stop if terms.split else 0
    pins = terms.J[last:, :], terms.b[last:], terms.velocity[last:]
    drift = model.state_rate(ca.SX(model.nv, 1), terms.kin, model.coordinate_rates(terms.kin, laws))
    axes = [(model.to_world @ ca.horzcat(terms.kin[i].n, terms.kin[i].T)).T for i in contacts]
    h = model.inertia_terms()[1]  # what contacts resist by their state alone acts only where they touch
    of_contacts = [ca.vertcat(*part) for part in rows]
    outputs = [terms.M, terms.S @ model.u - h, *of_contacts[:7], *pins, model.nu, *of_contacts[7:]]
    functions = {"terms": outputs, "drift": [drift], "axes": [ca.vertcat(*axes)]}
    return {name: MatrixFunction(phase.function(name, *values)) for name, values in functions.items()}
