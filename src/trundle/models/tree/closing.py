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
from trundle.models.tree.approach import Approach, approach_at, placed, refined, with_charts
from trundle.models.tree.system import Atlas, ContactPair, ContactSystem
from trundle.models.tree.touching import inertia_at, loops_at, touch_function, velocities_changed

_STEPS = 60
_CLOSED = 1e-11
_ROLLS = 1e-9
_OVERLAP = 1e-6
_RANK = 1e-10
_BENT = 0.2


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
                seen = refined(self.system, atlas, x, contact, before.coordinates, before.charts)
            seen = seen or nearest(self.system, atlas, x, contact)
            if seen is None:
                contact_pair = self.system.contact_pairs[contact]
                why = "a contact whose shapes have nearest points: none was found here" + too_large(contact_pair)
                raise InputError("contacts", contact_pair.contact, why)
            atlas = with_charts(atlas, contact, seen.charts)
            x = placed(self.system, atlas, x, contact, seen)
            found[contact] = seen
        return Closure(self.system, self.contacts, x, atlas), found

    def rows(self) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
        """Return J (d, nv) and the normal (d,) of each contact, world, and M (nv, nv)."""
        M = inertia_at(self.system, self.atlas, self.x)
        values = [touch_function(self.system, self.atlas, i)(self.x) for i in self.contacts]
        return [np.asarray(v[0]) for v in values], [np.asarray(v[2]).ravel() for v in values], M


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
    size = min((system.contact_pairs[i].shape_A.reference_length for i in contacts), default=1.0)
    C, apart = loops_at(system, closure.atlas, closure.x)
    if not contacts and not len(C):
        return closure.x, closure.atlas
    for _ in range(_STEPS):
        C, apart = loops_at(system, closure.atlas, closure.x)
        gaps = np.append([near[i].gap for i in contacts], apart)
        if np.max(np.abs(gaps)) <= 1e-15 * max(1.0, float(np.max(np.abs(x)))):
            break
        Js, normals, M = closure.rows()
        N = np.vstack([*(n @ J for n, J in zip(normals, Js, strict=True)), C])
        step = _smallest(M, N, gaps, np.eye(len(M))[:, list(free)])
        moved = _moved(system, closure.atlas, closure.x, step)
        closure, near = Closure(system, closure.contacts, moved, closure.atlas).with_approaches(near)
        if float(np.linalg.norm(step)) < 1e-15:
            break
    left = {name: near[i].gap for name, i in zip(names, contacts, strict=True)}
    left |= {"a pin": float(np.max(np.abs(apart)))} if len(C) else {}
    worst = max(left, key=lambda name: abs(left[name]))
    if not abs(left[worst]) <= _CLOSED * size:
        raise InputError(
            "contacts",
            names,
            f"ones that can all be closed near the given pose ({worst} keeps a gap of {left[worst]:.3g} m)",
        )
    return closure.x, closure.atlas


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
        if deepest < -_OVERLAP * contact_pair.shape_A.reference_length:
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
    smallest amount (in the metric M) with which all contacts can.

    Parameters
    ----------
    slips : mapping of contact -> (d,) m/s, world, or (1,) along the terrain
        The normal part does not count.

    Raises
    ------
    InputError
        If they would change by more than a fifth, or no velocities roll.
    """
    Js, normals, M = Closure(system, tuple(slips), x, atlas).rows()
    J = np.vstack([*Js, loops_at(system, atlas, x)[0]])
    if not len(J):
        return x
    over = np.zeros(len(J))
    for i, (slip, n) in enumerate(zip(slips.values(), normals, strict=True)):
        full = slip * np.array([n[1], -n[0]]) if len(slip) == 1 else slip - n * float(n @ slip)
        over[i * len(n) : (i + 1) * len(n)] = full
    nu = np.asarray(_velocities(system, atlas)(x)).ravel()
    # What no motion of the free velocities reaches has to come from the given ones.
    beyond = np.eye(len(J)) - J @ free @ np.linalg.pinv(J @ free, rcond=_RANK)
    missed = beyond @ (J @ nu - over)
    if float(np.max(np.abs(missed))) <= _ROLLS * 1e-3 * float(np.max(np.abs(nu))):
        wish = np.zeros(len(nu))
    else:
        wish = _smallest(M, beyond @ J, missed, kept)
    size = float(wish @ M @ wish)
    if size > _BENT**2 * float(nu @ M @ nu):
        wanted, nearest_by = (", ".join(f"{value:.4g}" for value in kept.T @ values) for values in (nu, nu + wish))
        allowed = f"ones with which every closed contact can roll, such as [{nearest_by}] (angular velocities first)"
        raise InputError("rates", f"[{wanted}]", allowed)
    after = nu + wish
    after = after + _smallest(M, J, J @ after - over, free)
    left = float(np.max(np.abs(J @ after - over)))
    if not left <= _ROLLS * (1.0 + float(np.max(np.abs(nu)))):
        raise InputError("contacts", "all closed", f"ones that can roll together (a slip of {left:.3g} m/s is left)")
    return velocities_changed(system, atlas, x, after - nu)


def _smallest(M: FloatArray, rows: FloatArray, residual: FloatArray, free: FloatArray) -> FloatArray:
    """Return the smallest change (nv,) in the metric M, in the span of `free` (nv, k), that removes the residual."""
    if not free.shape[1]:
        return np.zeros(len(M))
    G = rows @ free
    spread = np.linalg.solve(free.T @ M @ free, G.T)
    return -free @ (spread @ (np.linalg.pinv(G @ spread, rcond=_RANK, hermitian=True) @ residual))


def _moved(system: ContactSystem, atlas: Atlas, x: FloatArray, step: FloatArray) -> FloatArray:
    def build() -> ca.Function:
        model = system.model(atlas)
        symbol = ca.SX.sym("step", model.nv)
        return ca.Function("moved", [model.x, symbol], [model.moved(symbol)])

    return np.asarray(system.kept(("moved", atlas), build)(x, step)).ravel()


def _velocities(system: ContactSystem, atlas: Atlas) -> ca.Function:
    model = system.model(atlas)
    return system.kept(("nu", atlas), lambda: ca.Function("nu", [model.x], [model.nu]))
