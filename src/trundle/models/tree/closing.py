"""Closing: where a tree starts, with the contacts it is told to have closed by Newton's iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.proximity import Nearness
from trundle.errors import InputError
from trundle.models.curvature_check import too_large
from trundle.models.tree.approach import Approach, approach_at, place_approach, refine_approach, with_charts
from trundle.models.tree.loops import Pinned
from trundle.models.tree.system import Atlas, ContactPair, ContactSystem
from trundle.models.tree.touching import inertia_at, loop_speeds, loops_at, touch_function, velocities_changed

_STEPS = 60  # of Newton's method at most
_CLOSED = 1e-11
"""Gap, in sizes of the smallest shape, that counts as closed."""
_ROUND = 2e-15
"""Round-off of a gap, over the size of the coordinates that it is the difference of: ten roundings of a sum."""
_NOTHING = float(np.finfo(np.float64).tiny)
"""A size that is nothing, but may be divided by."""
_SETTLED = 1e-12
"""Part of the coordinates from which on a gap that no longer shrinks is as small as it gets."""
_CANCELLED = 1e-13
"""Round-off of a slip, of the largest entry of J and the largest velocity."""
_ROLLS = 1e-9
"""Slip that is left, over the size of the terms that it is the sum of."""
_OVERLAP = 1e-6
"""Overlap, in sizes of a shape, that the search for nearest points may be wrong by."""
_RANK = 1e-10  # of the largest singular value: closures that depend on each other


@dataclass(frozen=True)
class Closure:
    """A state in which contacts are being closed: x (n_x,), its charts, and the contacts' numbers."""

    system: ContactSystem
    contacts: tuple[int, ...]
    x: FloatArray
    atlas: Atlas

    def with_approaches(self, near: dict[int, Approach]) -> tuple[Closure, dict[int, Approach]]:
        """Return the closure with the contacts' coordinates at their nearest approaches, and these."""
        x, atlas, found = self.x, self.atlas, {}
        for contact in self.contacts:
            before = near.get(contact)
            seen = None
            if before is not None:
                seen = refine_approach(self.system, atlas, x, contact, before.coordinates, before.charts)
            seen = seen or nearest(self.system, atlas, x, contact)
            if seen is None:
                contact_pair = self.system.contact_pairs[contact]
                why = "a contact whose shapes have nearest points: none was found here" + too_large(contact_pair)
                raise InputError("contacts", contact_pair.contact, why)
            atlas = with_charts(atlas, contact, seen.charts)
            x = place_approach(self.system, atlas, x, contact, seen)
            found[contact] = seen
        return Closure(self.system, self.contacts, x, atlas), found

    def rows(self) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
        """Return J (d, nv) and the normal (d,) of each contact, world, and M (nv, nv)."""
        M = inertia_at(self.system, self.atlas, self.x)
        values = [touch_function(self.system, self.atlas, i)(self.x) for i in self.contacts]
        return [np.asarray(v[0]) for v in values], [np.asarray(v[2]).ravel() for v in values], M

    def given_velocity(self, nu: FloatArray) -> FloatArray:
        """Return the part of the velocities of contacts and pins that bodies make which move as they are told.

        That is all of v_A - v_B but J nu, (d a contact, then d a pin), m/s.
        """
        values = [touch_function(self.system, self.atlas, i)(self.x) for i in self.contacts]
        parts = [np.asarray(v[1]).ravel() - np.asarray(v[0]) @ nu for v in values]
        pins, speeds = loop_speeds(self.system, self.atlas, self.x)
        return np.concatenate([np.zeros(0), *parts, speeds - pins @ nu])


def nearest(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> Approach | None:
    """Return the approach with the smallest gap between the two shapes of a contact, or None."""
    R, p = system.relative_pose(x, contact, atlas)
    apart = system.separation(contact).apart(R, p)
    whole = Nearness(apart.gap, apart.x_A, apart.x_B, apart.normal)
    for near in (whole, *system.proximity(contact).local_minima(R, p)):
        found = approach_at(system, atlas, x, contact, near)
        if found is not None:
            return found
    return None


def close_gaps(
    system: ContactSystem,
    x: FloatArray,
    contacts: Sequence[int],
    tolerance: FloatArray,
    free: Sequence[int],
) -> tuple[FloatArray, Atlas]:
    """Return the state next to `x` whose gaps are zero, and its charts.

    Each step is dq = -M^-1 N'(N M^-1 N')^+ gap with N = n'J, the gaps' derivative: the smallest change in the
    metric M of the coordinates that may change, until the gaps are round-off.

    Parameters
    ----------
    tolerance : (contacts,) m
        How far from touching the shapes may be at `x`.
    free : sequence of int
        Columns of nu that may change.

    Raises
    ------
    InputError
        If a shape is farther from or deeper in the other than `tolerance`, or the gaps do not close.
    """
    closure, near = Closure(system, tuple(contacts), x, system.first_atlas).with_approaches({})
    names = [system.contact_pairs[i].contact for i in contacts]
    for name, contact, allowed in zip(names, contacts, tolerance, strict=True):
        _refuse_far(name, system.contact_pairs[contact], near[contact].gap, float(allowed))
    C, apart = loops_at(system, closure.atlas, closure.x)
    if not contacts and not len(C):
        return closure.x, closure.atlas
    before = np.inf
    for _ in range(_STEPS):
        C, apart = loops_at(system, closure.atlas, closure.x)
        gaps = np.append([near[i].gap for i in contacts], apart)
        extent = extent_at(system, closure.atlas, closure.x)
        sizes = np.append([extent + _reach(system, i, near[i]) for i in contacts], np.full(len(apart), extent))
        left = float(np.max(np.abs(gaps) / np.maximum(sizes, _NOTHING)))
        if left <= 0.5 * _ROUND or before * 0.5 < left <= _SETTLED:
            break
        before = left
        Js, normals, M = closure.rows()
        N = np.vstack([*(n @ J for n, J in zip(normals, Js, strict=True)), C])
        step = _smallest(M, N, gaps, np.eye(len(M))[:, list(free)])
        moved = _displace_state(system, closure.atlas, closure.x, step)
        closure, near = Closure(system, closure.contacts, moved, closure.atlas).with_approaches(near)
    _refuse_open(closure, near, names)
    return closure.x, closure.atlas


def _reach(system: ContactSystem, contact: int, near: Approach) -> float:
    """Return how far the points of a contact are from the bodies' origins, at least a size of the shape, m."""
    return max(near.reach, system.contact_pairs[contact].shape_A.reference_length)


def _refuse_open(closure: Closure, near: Mapping[int, Approach], names: Sequence[str]) -> None:
    """Raise `InputError` where a contact or a pin is farther apart than a part of its size and round-off."""
    system, contacts = closure.system, closure.contacts
    extent = extent_at(system, closure.atlas, closure.x)
    smallest = min((system.contact_pairs[i].shape_A.reference_length for i in contacts), default=extent)
    sizes = {i: extent + _reach(system, i, near[i]) for i in contacts}
    gaps = {name: (near[i].gap, sizes[i]) for name, i in zip(names, contacts, strict=True)}
    _refuse_open_loops(closure, _CLOSED * smallest + _ROUND * extent + _NOTHING)
    beyond = {name: abs(gap) / (_CLOSED * smallest + _ROUND * size + _NOTHING) for name, (gap, size) in gaps.items()}
    worst = max(beyond, key=lambda name: beyond[name], default="")
    if beyond and not beyond[worst] <= 1.0:
        raise InputError(
            "contacts",
            names,
            f"ones that can all be closed near the given pose ({worst} keeps a gap of {gaps[worst][0]:.3g} m)",
        )


def _refuse_open_loops(closure: Closure, allowed: float) -> None:
    """Raise `InputError` where a pin or a coupling is off by more than `allowed`."""
    loops = closure.system.model(closure.atlas).loops
    _, apart = loops_at(closure.system, closure.atlas, closure.x)
    sizes = [loop.rows[3].shape[0] for loop in loops]
    parts = np.split(apart, np.cumsum(sizes)[:-1]) if loops else []
    for number, (loop, part) in enumerate(zip(loops, parts, strict=True), 1):
        off = float(np.max(np.abs(part), initial=0.0))
        if off <= allowed:
            continue
        if isinstance(loop.law, Pinned):
            told = f"whose pins can be closed near it (pin {number} keeps a gap of {off:.3g} m)"
        else:
            told = f"that joints can be coupled near (coupling {number} is off by {off:.3g}, rad or m)"
        raise InputError("positions", "the given pose", f"one {told}")


def _refuse_far(name: str, contact_pair: ContactPair, gap: float, allowed: float) -> None:
    base = contact_pair.body_B
    if gap < -allowed:
        raise _inside(contact_pair, gap)
    if gap > allowed:
        raise InputError(
            name,
            f"{gap:.4g} m away from {base}",
            f"at most {allowed:.3g} m away where it is to touch: move the start, raise tolerance, or leave it out of "
            "contacts",
        )


def _inside(contact_pair: ContactPair, gap: float) -> InputError:
    allowed = f"outside {contact_pair.body_B}: move the start up or bend a joint" + too_large(contact_pair)
    return InputError(contact_pair.contact, f"{-gap:.4g} m inside {contact_pair.body_B}", allowed)


def refuse_overlaps(system: ContactSystem, x: FloatArray, atlas: Atlas) -> None:
    """Raise `InputError` where shapes overlap at the start."""
    for numbers in system.pairs:
        contact_pair = system.contact_pairs[numbers[0]]
        R, p = system.relative_pose(x, numbers[0], atlas)
        deepest = system.separation(numbers[0]).apart(R, p).gap
        if deepest < -_OVERLAP * contact_pair.shape_A.reference_length - _ROUND * extent_at(system, atlas, x):
            raise _inside(contact_pair, deepest)


def roll(
    system: ContactSystem,
    x: FloatArray,
    atlas: Atlas,
    slips: Mapping[int, FloatArray],
    kept: FloatArray,
    free: FloatArray,
) -> FloatArray:
    """Return the state `x` with velocities that slip as said at the contacts `slips`: J nu = slip.

    Those in the span of `kept` (nv, r) stay if the others, of `free` (nv, nv - r), can follow; else they change by the
    smallest amount (in the metric M) with which all contacts can. How much that is, the caller judges.

    Parameters
    ----------
    slips : mapping of contact -> (d,) m/s, world, or (1,) along the terrain
        The normal part does not count.

    Raises
    ------
    InputError
        If no velocities roll.
    """
    Js, normals, M = Closure(system, tuple(slips), x, atlas).rows()
    J = np.vstack([*Js, loops_at(system, atlas, x)[0]])
    if not len(J):
        return x
    over = np.zeros(len(J))
    for i, (slip, n) in enumerate(zip(slips.values(), normals, strict=True)):
        full = slip * np.array([n[1], -n[0]]) if len(slip) == 1 else slip - n * float(n @ slip)
        over[i * len(n) : (i + 1) * len(n)] = full
    nu = np.asarray(velocities_at(system, atlas)(x)).ravel()
    if any(spec.joint.by_time for spec in system.model(atlas).specs):
        over -= Closure(system, tuple(slips), x, atlas).given_velocity(nu)
    # What no motion of the free velocities reaches has to come from the given ones.
    beyond = np.eye(len(J)) - J @ free @ np.linalg.pinv(J @ free, rcond=_RANK)
    missed = beyond @ (J @ nu - over)
    if float(np.max(np.abs(missed))) <= _no_slip(J, nu, over, _ROLLS * 1e-3):
        wish = np.zeros(len(nu))
    else:
        wish = _smallest(M, beyond @ J, missed, kept)
    after = nu + wish
    after = after + _smallest(M, J, J @ after - over, free)
    left = float(np.max(np.abs(J @ after - over)))
    if not left <= _no_slip(J, after, over, _ROLLS):
        raise InputError("contacts", "all closed", f"ones that can roll together (a slip of {left:.3g} m/s is left)")
    return velocities_changed(system, atlas, x, after - nu)


def _no_slip(J: FloatArray, nu: FloatArray, over: FloatArray, part: float) -> float:
    """Return up to what J nu - over, m/s, is nothing: a `part` of its terms.

    Columns of a body on which both points of a pin are have cancelled to round-off, which counts beside all others.
    """
    terms = float(np.max(np.abs(J) @ np.abs(nu) + np.abs(over)))
    return max(part * terms, _CANCELLED * float(np.max(np.abs(J)) * np.max(np.abs(nu))))


def _smallest(M: FloatArray, rows: FloatArray, residual: FloatArray, free: FloatArray) -> FloatArray:
    """Return the smallest change (nv,) in the metric M, in the span of `free` (nv, k), that removes the residual."""
    if not free.shape[1]:
        return np.zeros(len(M))
    G = rows @ free
    spread = np.linalg.solve(free.T @ M @ free, G.T)
    return -free @ (spread @ (np.linalg.pinv(G @ spread, rcond=_RANK, hermitian=True) @ residual))


def _displace_state(system: ContactSystem, atlas: Atlas, x: FloatArray, step: FloatArray) -> FloatArray:
    def build() -> ca.Function:
        model = system.model(atlas)
        symbol = ca.SX.sym("step", model.nv)
        return ca.Function("moved", [model.x, symbol], [model.displace(symbol)])

    return np.asarray(system.keep(("moved", atlas), build)(x, step)).ravel()


def extent_at(system: ContactSystem, atlas: Atlas, x: FloatArray) -> float:
    """Return how far (m) from the world's origin bodies are at most, and pins from theirs: what gaps are made of."""

    def build() -> ca.Function:
        model = system.model(atlas)
        pins = [point for pin in model.pins for point in (pin.at_A, pin.at_B)]
        places = ca.vertcat(*(one.p for one in model.motions.values()))
        return ca.Function("extent", [model.x], [ca.norm_inf(places) + float(np.max(np.abs(pins), initial=0.0))])

    return float(system.keep(("extent", atlas), build)(x))


def velocities_at(system: ContactSystem, atlas: Atlas) -> ca.Function:
    """Return the function x -> nu (nv,)."""
    model = system.model(atlas)
    return system.keep(("nu", atlas), lambda: ca.Function("nu", [model.x], [model.nu]))
