"""Decision: what contacts that resist their turning do from an instant on, all of them and all at once.

Slip, rolling and spin of a contact that are zero are held, or start: accelerations a and forces F of all contacts that
touch are one problem,

    a = J nudot + b,   0 <= F_n,  0 <= a_n,  F_n a_n = 0,
    |F_g| <= b_g F_n,   a_g = 0 or F_g = -b_g F_n a_g / |a_g|   of each group g that is zero: slip, rolling, spin,
    F_g = -b_g F_n v_g / |v_g|                                   of each one that is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import (
    LAWS,
    SEPARATED,
    STOPPED,
    Sliding,
    Sticking,
    rolling_law,
    sliding_law,
    still_rate,
)
from trundle.models.scales import slip_unit
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import velocities_changed
from trundle.simulate.events.coulomb.resisted import ResistedContacts, resisted_impulses
from trundle.simulate.events.states import spins_not
from trundle.simulate.instant import GROUPS, Instant
from trundle.simulate.mode import Mode
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.events.transitions import EventHandler, HybridState

_NO_SLIP = 1e-8
"""Slip (m/s) that is none: slips end at 1e-9 m/s, and levers join them."""
_SOLVED = 1e-9
"""Residual up to which forces obey the law."""
_MOVES = 1e-8
"""Acceleration, of the largest there is, from which a contact opens or slips, and a turning starts."""
_RANK = 1e-10
"""Of the largest singular value: rows that depend on each other."""
_ROUND_OFF = 1e-12
"""Part of a direction that is none."""
_NO_FORCE = 1e-9
"""Normal force, in weights, under which a contact whose force has reached its bound is at the tip of its cone."""
_SMALLEST = 1e-300  # speed that is divided by: none is zero


def resists(board: EventHandler, mode: Mode) -> bool:
    """Return whether contacts that touch in a mode resist rolling or spin, other than by viscous moments alone."""
    joined = board.system.model(mode.atlas).constraints
    return any(
        isinstance(LAWS[law], Sticking | Sliding) and bool(one.friction.rolling or one.friction.drilling)
        for law, one in zip(mode.laws, joined, strict=True)
    )


Given = frozenset[tuple[int, int]]
"""Groups, by contact and number: 0 slip, 1 rolling, 2 spin."""


def decide_contacts(
    board: EventHandler,
    now: HybridState,
    island: Sequence[int],
    given: Given = frozenset(),
    over: frozenset[int] = frozenset(),
    later: tuple[float, FloatArray] | None = None,
    leaving: int | None = None,
) -> HybridState | Status | None:
    """Return the state from which on every contact that touches does what the law asks for; None: no forces do.

    The laws that `now` has do not matter but for which contacts touch; what is nearly zero is made zero. Where several
    contacts hold a turning the moments of those `given` are from then on the part of their bounds that they are here,
    and the others hold it. The slips of the contacts that are `over` count as zero. Accelerations and forces are those
    of a time and a state a little `later`, where that is told. The force of the contact `leaving` has just reached its
    bound.
    """
    contacts = [i for i in island if takes_part(now.mode.laws[i])]
    if not contacts:
        return now
    phase = board.phase_of(now.mode)
    p = phase.parameters(board.inputs(now.t), now.onsets)
    instant = phase.instant(now.t, now.x, p, contacts)
    soon = instant if later is None else phase.instant(*later, p, contacts)
    inverse, free = soon.mobility()
    J = soon.moving(inverse)
    v, d = instant.velocity, board.system.d
    groups = GROUPS[d]
    zero = _zero_groups(board, now, contacts, v)
    zero[:, 0] |= np.array([i in over for i in contacts], dtype=bool)
    bounds = _bounds(board, now, contacts, zero)
    while True:
        rays = np.zeros_like(v)
        for g, columns in enumerate(groups):
            size = np.sqrt(np.sum(v[:, columns] ** 2, axis=1, keepdims=True))
            rays[:, columns] = np.where(zero[:, g, None], 0.0, v[:, columns] / np.maximum(size, _SMALLEST))
        D = J @ inverse @ J.T
        accelerations = (J @ free).reshape(v.shape) + soon.b
        press_joints(board.system, contacts, D, accelerations)
        problem = ResistedContacts(D, accelerations, groups, bounds, rays)
        found = resisted_impulses(problem)
        if not found.residual <= _SOLVED:
            return None
        scaled = np.abs(found.velocities / problem.roots)
        moves = scaled > _MOVES * max(float(np.abs(problem.before / problem.roots).max()), _SMALLEST)
        starts = np.column_stack([zero[:, g] & np.any(moves[:, columns], axis=1) for g, columns in enumerate(groups)])
        starts &= np.isfinite(bounds)
        # A spin that a contact holds without bound as long as it sticks is free where it slides.
        freed = np.isinf(bounds[:, -1]) & (starts[:, 0] | ~zero[:, 0]) if d == 3 else np.zeros(len(v), dtype=bool)
        if board.system.rules.on_slip != "slide" or not freed.any():
            break
        drilling = [board.system.model(now.mode.atlas).constraints[i].friction.drilling for i in contacts]
        bounds[freed, -1] = np.array(drilling)[freed]
    opens = (found.impulses[:, 0] <= 0.0) & moves[:, 0] & (found.velocities[:, 0] > 0.0)
    opens |= (found.impulses[:, 0] <= _NO_FORCE * board.weight) & np.array([i == leaving for i in contacts], dtype=bool)
    opens &= np.array([_may_open(board, now, i) for i in contacts], dtype=bool)
    share = np.array([[(i, g) in given for g in range(len(groups))] for i in contacts]).reshape(zero.shape)
    parts = _parts(found.impulses, bounds, groups)
    share &= zero & ~starts & np.isfinite(bounds)
    outcome = _Outcome(zero, starts, share, opens, bounds, found.velocities, parts)
    return _following(board, now, contacts, instant, inverse, outcome)


def press_joints(
    system: ContactSystem, contacts: Sequence[int], D: FloatArray, before: FloatArray, times: float = 1.0
) -> None:
    """Let dry friction of joints, among some contacts, be pressed on by its bound, `times` 1 or s: D, `before` change.

    No motion is across such a contact, so that its normal row of D is zero. One in its place and a normal velocity
    before, or acceleration, of minus the bound keep the load at the bound; both are as large as the row of the slip.
    """
    rows = before.shape[1]
    for k, i in enumerate(contacts):
        if i in system.rubbing:
            size = float(D[rows * k + 1, rows * k + 1]) or 1.0
            D[rows * k, rows * k] = size
            before[k, 0] = -size * times * float(system.model().constraints[i].friction.adhesion)


def _parts(L: FloatArray, bounds: FloatArray, groups: Sequence[slice]) -> FloatArray:
    """Return -L_g / (b_g L_n) in the columns of L (m, K): what moments are of their bounds, 0 without one."""
    parts, limited = np.zeros_like(L), np.where(np.isinf(bounds), 0.0, bounds)
    most = limited * np.maximum(L[:, :1], 0.0)
    for g, columns in enumerate(groups):
        some = most[:, g, None] > 0.0
        part = -L[:, columns] / np.where(some, np.maximum(most[:, g, None], _SMALLEST), 1.0)
        parts[:, columns] = np.where(some, part, 0.0)
    return parts


@dataclass(frozen=True)
class _Outcome:
    """What a decision found of m contacts and G groups: what was zero, starts, is given and opens; numbers (m, K)."""

    zero: np.ndarray
    starts: np.ndarray
    given: np.ndarray
    opens: np.ndarray
    bounds: FloatArray
    accelerations: FloatArray
    parts: FloatArray


def _may_open(board: EventHandler, now: HybridState, contact: int) -> bool:
    """Return whether a contact that pulls comes apart: as long as another one of its shapes holds, or where it may.

    Dry friction of a joint never does.
    """
    if contact in board.system.rubbing:
        return False
    together = sum(LAWS[now.mode.laws[i]].touching for i in board.system.pair_of(contact))
    return together > 1 or board.system.on_separation(contact) != "ignore"


def takes_part(law: str) -> bool:
    """Return whether a contact of this law is decided about, or goes on as it is."""
    return isinstance(LAWS[law], Sticking | Sliding) or law == STOPPED.name


def _zero_groups(board: EventHandler, now: HybridState, contacts: Sequence[int], v: FloatArray) -> np.ndarray:
    """Return which groups (m, G) are zero; a spin that is stopped at once by a moment without bound counts as zero."""
    groups = GROUPS[board.system.d]
    found = np.zeros((len(contacts), len(groups)), dtype=bool)
    pairs = board.system.contact_pairs
    no_slip = np.array([_NO_SLIP * slip_unit(board.system, i) for i in contacts])
    still = 2.0 * np.array([still_rate(pairs[i].shape_A.reference_length) for i in contacts])
    for g, columns in enumerate(groups):
        size = np.sqrt(np.sum(v[:, columns] ** 2, axis=1))
        found[:, g] = size <= (no_slip if g == 0 else still)
    if board.system.d == 3:
        unbounded = np.array([_holds_any_spin(board, now, i) for i in contacts], dtype=bool)
        found[:, -1] |= unbounded & found[:, 0]
    return found


def _holds_any_spin(board: EventHandler, now: HybridState, contact: int) -> bool:
    friction = board.system.model(now.mode.atlas).constraints[contact].friction
    return spins_not(board.system, contact) and not friction.spin_bound


def _bounds(board: EventHandler, now: HybridState, contacts: Sequence[int], zero: np.ndarray) -> FloatArray:
    """Return the bounds (m, G) of slip, rolling and spin; what ends a run instead of giving way has none."""
    system = board.system
    joined = system.model(now.mode.atlas).constraints
    found = np.zeros(zero.shape)
    for k, i in enumerate(contacts):
        friction, slips = joined[i].friction, system.on_slip(i) == "slide"
        if now.mode.laws[i] == STOPPED.name:
            continue
        found[k, 0] = friction.mu if slips or not zero[k, 0] else np.inf
        found[k, 1] = friction.rolling
        if system.d == 3:
            found[k, 2] = friction.drilling
            if zero[k, 2] and (spins_not(system, i) or friction.drilling):
                found[k, 2] = (friction.spin_bound or np.inf) if slips else np.inf
    return found


def _following(
    board: EventHandler,
    now: HybridState,
    contacts: Sequence[int],
    instant: Instant,
    inverse: FloatArray,
    found: _Outcome,
) -> HybridState | Status:
    """Return the state with the laws of an outcome, what it holds at zero, and the directions of what starts."""
    system, d = board.system, board.system.d
    laws, onsets = list(now.mode.laws), np.array(now.onsets)
    unarmed = {name for name in now.unarmed if name.endswith(".gap")}
    for k, i in enumerate(contacts):
        name, a = board.name(i), found.accelerations[k]
        onsets[i] = 0.0
        if found.opens[k]:
            alone = sum(LAWS[laws[j]].touching for j in system.pair_of(i)) == 1
            if alone and system.on_separation(i) != "fly":
                return Status.SEPARATED
            laws[i] = SEPARATED.name
            unarmed.add(f"{name}.gap")
        if found.opens[k] or laws[i] == STOPPED.name:
            continue
        held = found.zero[k] & ~found.starts[k] & ~found.given[k] & (found.bounds[k] > 0.0)
        slips = found.starts[k, 0] or not found.zero[k, 0] or found.bounds[k, 0] == 0.0
        laws[i] = (sliding_law if slips else rolling_law)(bool(d == 3 and held[-1]), bool(held[1])).name
        slip, rolling = GROUPS[d][:2]
        if found.starts[k, 0] and found.bounds[k, 0] > 0.0:
            onsets[i, :d] = _direction(a[slip], found.parts[k, slip]) @ instant.axes[k, 1:]
            unarmed.add(f"{name}.slip_speed")
        begins = (found.starts[k] | found.given[k]) & (found.bounds[k] > 0.0)
        if begins[1]:
            part = found.parts[k, rolling]
            direction = part if found.given[k, 1] else _direction(a[rolling], part)
            onsets[i, d:] += direction @ (np.eye(1) if d == 2 else instant.axes[k, 1:])
            unarmed.add(f"{name}.rolling_rate")
        if d == 3 and begins[2]:
            part = found.parts[k, -1:]
            onsets[i, d:] += (part if found.given[k, 2] else _direction(a[-1:], part)) * instant.axes[k, 0]
            unarmed.add(f"{name}.spin_rate")
    mode = replace(now.mode, laws=system.with_stops(tuple(laws)), rest=False)
    after = _at_zero(board, now, contacts, instant, inverse, found)
    return replace(after, mode=mode, onsets=onsets, unarmed=frozenset(unarmed))


def _direction(acceleration: FloatArray, part: FloatArray) -> FloatArray:
    """Return the unit vector along which a group starts: against the whole of its bound, else as it accelerates."""
    size = float(np.linalg.norm(part))
    found = part / size if size > 0.5 else acceleration / max(float(np.linalg.norm(acceleration)), _SMALLEST)
    # Across a slip that grows slowly its friction is stiff: what is round-off must not turn it.
    return np.where(np.abs(found) < _ROUND_OFF, 0.0, found)


def _at_zero(
    board: EventHandler,
    now: HybridState,
    contacts: Sequence[int],
    instant: Instant,
    inverse: FloatArray,
    found: _Outcome,
) -> HybridState:
    """Return the state with what is zero, resisted and closed exactly zero, by the smallest change in the metric M.

    The impulses of that are added to those that have led here.
    """
    v, d = instant.velocity, board.system.d
    rows = np.zeros(v.shape, dtype=bool)
    rows[:, 0] = ~found.opens
    for g, columns in enumerate(GROUPS[d]):
        rows[:, columns] = (found.zero[:, g] & (found.bounds[:, g] > 0.0) & ~found.opens)[:, None]
    at = np.flatnonzero(rows.ravel())
    R = instant.moving(inverse)[at]
    push = inverse @ R.T
    L = np.zeros(v.size)
    L[at] = -np.linalg.pinv(R @ push, rcond=_RANK, hermitian=True) @ v.ravel()[at]
    if not np.any(L):
        return now
    x = velocities_changed(board.system, now.mode.atlas, now.x, push @ L[at])
    impulses, moments = dict(now.impulses), dict(now.moments)
    for i, axes, of_contact in zip(contacts, instant.axes, L.reshape(v.shape), strict=True):
        turning = of_contact[d:] @ (np.eye(1) if d == 2 else np.roll(axes, -1, axis=0))
        impulses[i] = impulses.get(i, 0.0) + of_contact[:d] @ axes
        moments[i] = moments.get(i, 0.0) + turning
    return replace(now, x=x, impulses=impulses, moments=moments)
