"""The impulses of contacts by Coulomb's law: from guesses that cost little to those that cannot fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import ContactImpulses, Contacts
from trundle.simulate.events.coulomb.existence import keeps_apart
from trundle.simulate.events.coulomb.least import least_impulses
from trundle.simulate.events.coulomb.native import core
from trundle.simulate.events.coulomb.natural_map import NaturalMap
from trundle.simulate.events.coulomb.proximal import ProximalPoints

_STEPS, _POLISH = 60, 30
_RANK = 1e-10
"""Of the largest singular value of D: contacts below it are redundant."""
_POINTS = 400
"""Proximal points that are tried at most."""
_PATIENCE = 120
"""Proximal points after which the search ends where none came nearer."""
_STIFFER = 2.0  # factor between starts of different stiffness
_STIFF = 8.0 * _STIFFER ** np.arange(15)
"""Frictions that lead to one without limit."""
_JAMS = 30.0
"""Friction from which on what slips may be jammed."""
_SAME = 1e-13
"""Of the largest impulse: where those of contacts that all stick are what was found."""
_CLOSER = 0.3
"""Of the best residual of a proximal point: where Newton's method is tried again."""
_CONTENT = 2e-11
"""Residual with which the search ends: a part of what is called exact."""
_NEARLY = 1e-6
"""Residual (scaled) of impulses that are refined."""
_SLIPS = 1e-6
"""Of the speeds: what slips where friction without limit may jam."""


def contact_impulses(
    D: FloatArray,
    before: FloatArray,
    friction: FloatArray,
    least: FloatArray | None = None,
    guess: FloatArray | None = None,
    sliding: FloatArray | None = None,
) -> ContactImpulses:
    """Return impulses L (m, d) and velocities v = before + D L (m, d) of m contacts that obey Coulomb's law.

        0 <= L_n,  0 <= v_n,  L_n v_n = 0,   |L_t| <= mu L_n,   v_t = 0 or L_t = -mu L_n v_t / |v_t|,

    of contacts that slide, L_t = -mu L_n e in place of the last two. Contacts without friction (mu = 0) have no
    tangential impulse at all. Without a limit (mu = inf) contacts that push do not slip; where that would have them
    pull they jam, as the limit of large mu does: L_n = 0 = v_n, and L_t against what slip is left.

    Zeros of the natural map (`NaturalMap`) by Newton's method, started from `guess`, from contacts that all stick, from
    no impulses, and then from proximal points (`ProximalPoints`), which come near an answer from anywhere. Contacts
    that no moving body couples are solved apart. Of redundant contacts, whose velocities leave the impulses open, those
    with the least sum of squares are taken, whatever the order of the contacts. Nothing is raised: `residual` says what
    holds. What is not `exact` does not feed in energy either, sum L . (before + v) <= 0.

    An answer exists if a velocity w of the bodies has J w + before in the dual cones, w_n >= mu |w_t|
    (Acary, Cadoux, Lemarechal & Malick 2011); `before` = J nu of what the contacts rest on at rest has one, -nu.

    Parameters
    ----------
    D : (m d, m d) 1/kg
        Symmetric, positive semidefinite: J M^-1 J'.
    before : (m, d) m/s
        In each contact's axes, the normal first.
    friction : (m,)
    least : (m,) N s, optional
        Normal impulses that are given at least: L_n - least in place of L_n in the first three conditions.
    guess : (m, d) N s, optional
        Where the iteration starts first.
    sliding : (m, d - 1), optional
        Unit directions e of slips that go on, in the tangential axes; zeros where a contact may stick or slip.
    """
    m, d = before.shape
    contacts = Contacts(
        np.asarray(D, dtype=np.float64),
        np.asarray(before, dtype=np.float64),
        np.asarray(friction, dtype=np.float64),
        np.zeros(m) if least is None else np.asarray(least, dtype=np.float64),
        np.zeros((m, d - 1)) if sliding is None else np.asarray(sliding, dtype=np.float64),
    )
    found = None
    if (in_c := core()) is not None:
        found, answered = in_c.impulses(contacts, guess, 0.0)
        if answered:
            return found
    islands = list(contacts.islands())
    if len(islands) == 1:
        return _search_impulses(contacts, guess, 0.0, found)
    speed = float(np.abs(contacts.before).max(initial=0.0))
    impulses = np.zeros((m, d))
    for numbers in islands:
        own = None if guess is None else guess[numbers]
        impulses[numbers] = _solve_coupled(contacts.island(numbers), own, speed).impulses
    return contacts.judge(impulses)


def _solve_coupled(contacts: Contacts, guess: FloatArray | None, speed: float) -> ContactImpulses:
    """Return the answer of contacts that are coupled; `speed` (m/s) is there elsewhere."""
    found = None
    if (in_c := core()) is not None:
        found, answered = in_c.impulses(contacts, guess, speed)
        if answered:
            return found
    return _search_impulses(contacts, guess, speed, found)


def _search_impulses(
    contacts: Contacts, guess: FloatArray | None, speed: float, found: ContactImpulses | None
) -> ContactImpulses:
    """Return the same, by the searches in Python; ``found``: the best of what C has tried, if there is a core."""
    scaled, unit = contacts.scale()
    # Of contacts that all stick the least impulses, N s, in the units of the scaled ones.
    units = np.repeat(unit, contacts.d)
    least, _, rank, _ = np.linalg.lstsq(scaled.D / units, -scaled.before.ravel(), rcond=_RANK)
    stuck, least = least / units, least.reshape(contacts.before.shape)
    regular = bool(rank == len(scaled.D))
    starts = [] if found is not None else [stuck, np.zeros_like(stuck)]
    if guess is not None and found is None:
        starts.insert(0, (guess / unit).ravel())
    best = _best(contacts, _answers(scaled, regular, starts), speed, unit, found)
    if not best.exact:
        return _without_gain(contacts, best, speed)
    if regular or contacts.least.any() or np.abs(best.impulses - least).max() <= _SAME * np.abs(least).max():
        return best
    chosen = least_impulses(scaled, unit, best, max(speed, float(np.abs(contacts.before).max())))
    if chosen is None:
        return best
    chosen = contacts.judge(chosen, speed)
    return chosen if chosen.exact else best


def _answers(scaled: Contacts, regular: bool, starts: list[FloatArray]) -> Iterator[FloatArray]:
    """Yield impulses (m d,), what costs little first."""
    near = NaturalMap(scaled, regular)
    for start in starts:
        yield from _polish_impulses(near, start, _STEPS)
    # What has no answer is not searched for.
    if not scaled.D.any() or not keeps_apart(scaled.D, scaled.before):
        return
    if scaled.unlimited.any():
        yield from _stiff_answers(scaled, regular)
        return
    best, at = np.inf, 0
    for k, L in enumerate(ProximalPoints(scaled, _POINTS)):
        yield L
        residual = scaled.judge(L.reshape(scaled.before.shape)).residual
        if residual <= _CLOSER * best:
            best, at = residual, k
            yield from _polish_impulses(near, L, _POLISH, patient=False)
        elif k - at > _PATIENCE:
            return


def _stiff_answers(scaled: Contacts, regular: bool) -> Iterator[FloatArray]:
    """Yield answers where some friction has no limit, from those with a larger and larger one."""
    near, start = NaturalMap(scaled, regular), np.zeros_like(scaled.before)
    for friction in _STIFF:
        stiff = replace(scaled, friction=np.where(scaled.unlimited, friction, scaled.friction))
        found = _best(stiff, _answers(stiff, regular, [start.ravel()]), 0.0)
        if not found.exact:
            break
        L = found.impulses
        slips = np.sqrt(np.sum(found.velocities[:, 1:] ** 2, axis=1)) > _SLIPS
        jammed = scaled.unlimited & slips & L.any(axis=1)
        if friction >= _JAMS:
            yield from _polish_impulses(near, L.ravel(), _POLISH)
            start = np.where(jammed[:, None] & (np.arange(scaled.d) == 0), 0.0, L)
            yield from _polish_impulses(NaturalMap(scaled, regular, jammed), start.ravel(), _POLISH)
        # What slips pushes along the normal in proportion to 1/friction.
        start = L.copy()
        start[jammed, 0] /= _STIFFER


def _polish_impulses(near: NaturalMap, L: FloatArray, steps: int, patient: bool = True) -> Iterator[FloatArray]:
    """Yield what Newton's method makes of impulses (m d,), and what refines them where they are nearly an answer."""
    L = near.newton(L, steps, patient)
    yield L
    if near.contacts.judge(L.reshape(near.contacts.before.shape)).residual < _NEARLY:
        yield from near.refine(L)


def _best(
    contacts: Contacts,
    answers: Iterator[FloatArray],
    speed: float,
    unit: float | FloatArray = 1.0,
    best: ContactImpulses | None = None,
) -> ContactImpulses:
    """Return the first exact answer of those in units (m, 1), or the one with the least residual, `best` so far."""
    for L in answers:
        found = contacts.judge(unit * L.reshape(contacts.before.shape), speed)
        if found.residual <= _CONTENT:
            return found
        if best is None or found.residual < best.residual:
            best = found
    least = np.zeros_like(contacts.before)
    least[:, 0] = contacts.least
    nothing = contacts.judge(least, speed)
    return nothing if best is None or nothing.residual <= best.residual else best


def _without_gain(contacts: Contacts, found: ContactImpulses, speed: float) -> ContactImpulses:
    """Return impulses that are no answer, as far as kinetic energy does not grow through them."""
    L, v = found.impulses, found.velocities
    if contacts.least.any() or float(np.sum(L * (contacts.before + v))) <= 0.0:
        return found
    power, own = float(np.sum(L * contacts.before)), float(np.sum(L * (v - contacts.before)))
    return contacts.judge(max(0.0, min(1.0, -2.0 * power / own)) * L, speed)
