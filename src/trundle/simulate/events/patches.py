"""Touches of one instant: what reaches the ground together lands together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, SEPARATED
from trundle.models.tree.approach import Approach
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import (
    face_below,
    gap_of,
    lies_flat,
    may_touch,
    near_features,
    open_gap,
    touch_function,
)
from trundle.simulate.compiled_mode import project_state
from trundle.simulate.events.separated import SeparatedPairs, approach_of, separated_pair
from trundle.simulate.events.turning import without
from trundle.simulate.mode import Mode
from trundle.simulate.phase import MotionPhase

if TYPE_CHECKING:
    from trundle.simulate.events.transitions import EventHandler, HybridState

_AT_ONCE = 1e-9
"""Gap, in sizes of the shape, at which a contact lands together with another one: round-off of poses."""
_AT_A_RIM = 1e3
"""Of that gap: what is further below a face of another polytope stands on the one beside it."""
_TOUCH = 1e-5
"""Distance, in sizes, of whole shapes of which parts may touch: the search for it is as accurate."""
_ON_FACE = 1e-8
"""How much higher, in sizes, points of a face are that do not touch."""
_NEWTON = 4
"""Steps that turn a tilt of 0.1 rad to round-off."""
_TOUCHES = 1e-3
"""Distance, in sizes, within which parts of a shape are that may be those that have just touched."""
_APPROACHES = 1e-9
"""Speed (m/s) from which a contact approaches: slower ones touch without a blow."""


def landing_feature(system: ContactSystem, phase: MotionPhase, x: FloatArray, contact: int) -> int:
    """Return the contact that lands where the shapes of `contact` touch: of corners, edges and faces the nearest."""
    if contact not in system.beside:
        return contact
    free = phase.free_features(contact)
    near = near_features(system, x, free, _TOUCHES * system.contact_pairs[contact].shape_A.reference_length) or free
    return min(near, key=lambda i: open_gap(system, x, i, phase.least_inside(i)))


def landing_with(
    system: ContactSystem, phase: MotionPhase, t: float, x: FloatArray, p: FloatArray, contact: int
) -> dict[int, Approach | None]:
    """Return the other contacts in flight whose gap is zero as well at the very instant at which `contact` lands.

    And where they touch, of those with coordinates.

    Corners of a patch, feet of a robot, bodies that have nothing to do with each other. One that does not approach
    touches all the same: what the landing does may drive it in (a link between its stop and the ground). Of a rim that
    lies flat it is its face; of corners, edges and faces that are parts of each other one touches in place of the
    others.
    """
    mode = phase.mode
    if contact in system.rims and lies_flat(system, x, contact):
        face = face_below(system, x, system.rims[contact])
        down = dict.fromkeys(i for i in face if i != contact and mode.laws[i] == SEPARATED.name)
        return down | _meeting(system, mode, t, x, contact)
    touching = [i for i, law in enumerate(mode.laws) if LAWS[law].touching]
    found = [contact]
    for i in _near(system, phase, t, x, p):
        taken = system.beside.get(i, ()) if system.in_place_of(i) else ()
        beside = any(k in taken for k in (*found, *touching))
        if (
            i not in found
            and i not in system.rims
            and not beside
            and may_touch(system, x, i)
            and gap_of(system, x, i) < _reach(system, i)
            and not (i in system.beside and gap_of(system, x, i) < -_AT_A_RIM * _reach(system, i))
        ):
            found.append(i)
    return dict.fromkeys(found[1:]) | _meeting(system, mode, t, x, contact)


def _meeting(system: ContactSystem, mode: Mode, t: float, x: FloatArray, contact: int) -> dict[int, Approach]:
    """Return the contacts with coordinates whose shapes touched nowhere and meet now, without those of `contact`.

    What touches and does not approach is met by a blow that runs along a row, next.
    """
    flying, joined = [], system.model(mode.atlas).constraints
    for numbers in system.pairs:
        first = system.contact_pairs[numbers[0]]
        apart = contact not in numbers and not any(LAWS[mode.laws[i]].touching for i in numbers)
        if apart and joined[numbers[0]].contact.size and first.joint is None and first.ahead is None:
            flying.append(separated_pair(system, numbers))
    found: dict[int, Approach] = {}
    if not flying:
        return found
    for look in SeparatedPairs(system, mode, flying).close(t, x, _TOUCH):
        number = look.pair.number
        near = approach_of(system, mode, look, x) if look.speed < -_APPROACHES else None
        if near is not None and abs(near.gap) < _reach(system, number):
            found[number] = near
    return found


def _near(system: ContactSystem, phase: MotionPhase, t: float, x: FloatArray, p: FloatArray) -> list[int]:
    """Return the contacts in flight whose gap may be zero: those a margin says it of, and features of near shapes."""
    gaps = phase.gap_values(t, x, p)
    apart = [i for i, law in enumerate(phase.mode.laws) if law == SEPARATED.name]
    near = _features_near(system, phase.mode, t, x)
    return [i for i in apart if i in near or (i not in system.beside and gaps.get(i, np.inf) < _reach(system, i))]


def _features_near(system: ContactSystem, mode: Mode, t: float, x: FloatArray) -> set[int]:
    """Return the contacts of features, which share one margin, of shapes that touch as wholes."""
    meetings = [numbers for numbers in system.pairs if numbers[0] in system.beside]
    if not meetings:
        return set()
    pairs = SeparatedPairs(system, mode, [separated_pair(system, numbers) for numbers in meetings])
    near: set[int] = set()
    for look, numbers in zip(pairs.looks(t, x), meetings, strict=True):
        closest = _TOUCH * look.pair.size
        if look.apart_at_least < closest and look.gap < closest:
            near.update(near_features(system, x, numbers, closest))
    return near


def _reach(system: ContactSystem, contact: int) -> float:
    return _AT_ONCE * system.contact_pairs[contact].shape_A.reference_length


def lain_down(board: EventHandler, after: HybridState, contact: int, held: bool) -> HybridState:
    """Return what follows a landing of a face, which took part as a whole though it was tilted a little.

    A body that stays on all points of its face is put onto them. Else it hops on: the points are on a circle, which
    touches between them; where hops are too low to be followed it stays on the lowest ones.
    """
    system = board.system
    face = face_below(system, after.x, system.rims[contact])
    stays = [i for i in face if LAWS[after.mode.laws[i]].touching]
    if len(stays) < len(face):
        for i in points_above(system, after.x, stays, held):
            mode = board.with_law(after, i, SEPARATED.name)
            after = replace(after, mode=mode, onsets=without(after.onsets, i))
        if not held:
            return after
    down, x = board.phase_of(after.mode), after.x
    p = down.parameters(board.inputs(after.t), after.onsets)
    for _ in range(_NEWTON):
        x = project_state(down, after.t, x, p)
    return replace(after, x=x)


def points_above(system: ContactSystem, x: FloatArray, face: Sequence[int], lowest: bool) -> list[int]:
    """Return which of the points of a face are above the ground, or ``lowest``: above the lowest one of them."""
    gaps = {i: gap_of(system, x, i) for i in face}
    least = min(gaps.values(), default=0.0) if lowest else 0.0
    return [i for i, gap in gaps.items() if gap - least > _ON_FACE * system.contact_pairs[i].shape_A.reference_length]


def approaches(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> bool:
    """Return whether a contact closes at the state `x`."""
    _, v, n, *_ = (np.asarray(value).ravel() for value in touch_function(system, atlas, contact)(x))
    return float(n @ v) < -_APPROACHES
