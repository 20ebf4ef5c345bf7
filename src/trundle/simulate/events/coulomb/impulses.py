"""The impulses of contacts by Coulomb's law: from guesses that cost little to those that cannot fail."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import ContactImpulses, Contacts
from trundle.simulate.events.coulomb.least import least_impulses
from trundle.simulate.events.coulomb.natural_map import NaturalMap
from trundle.simulate.events.coulomb.proximal import ProximalPoints

_STEPS, _POLISH = 60, 30
_RANK = 1e-10
"""Of the largest singular value of D: contacts below it are redundant."""
_CLOSER = 0.3
"""Of the best residual of a proximal point: where Newton's method is tried again."""
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
    no impulses, and then from proximal points (`ProximalPoints`), which come near an answer from anywhere. Contacts that
    no moving body couples are solved apart. Of redundant contacts, whose velocities leave the impulses open, those with
    the least sum of squares are taken, whatever the order of the contacts. Nothing is raised: `residual` says what holds.
    What is not `exact` does not feed in energy either, sum L . (before + v) <= 0.

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
    islands = list(contacts.islands())
    if len(islands) == 1:
        return _solved(contacts, guess, 0.0)
    speed = float(np.abs(contacts.before).max(initial=0.0))
    impulses = np.zeros((m, d))
    for numbers in islands:
        own = None if guess is None else guess[numbers]
        impulses[numbers] = _solved(contacts.island(numbers), own, speed).impulses
    return contacts.judged(impulses)


def _solved(contacts: Contacts, guess: FloatArray | None, speed: float) -> ContactImpulses:
    """Return the answer of contacts that are coupled; `speed` (m/s) is there elsewhere."""
    scaled, unit = contacts.scaled()
    stuck, _, rank, _ = np.linalg.lstsq(scaled.D, -scaled.before.ravel(), rcond=_RANK)
    regular = bool(rank == len(scaled.D))
    best = contacts.judged(scaled.least[:, None] * unit * np.eye(1, contacts.d), speed)
    for L in _answers(scaled, regular, stuck, None if guess is None else (guess / unit).ravel()):
        found = contacts.judged(unit * L.reshape(contacts.before.shape), speed)
        if found.residual < best.residual:
            best = found
        if found.exact:
            break
    if not best.exact:
        return _without_gain(contacts, best, speed)
    if regular or contacts.least.any():
        return best
    chosen = contacts.judged(unit * least_impulses(scaled, unit, best.impulses / unit), speed)
    return chosen if chosen.exact else best


def _answers(
    scaled: Contacts, regular: bool, stuck: FloatArray, guess: FloatArray | None
) -> Iterator[FloatArray]:
    """Yield impulses (m d,), what costs little first."""
    near = NaturalMap(scaled, regular)
    if guess is not None:
        yield near.newton(guess, _STEPS)
    yield near.newton(stuck, _STEPS)
    yield near.newton(np.zeros_like(stuck), _STEPS)
    best = np.inf
    for L in ProximalPoints(scaled):
        yield L
        residual = scaled.judged(L.reshape(scaled.before.shape)).residual
        if residual > _CLOSER * best:
            continue
        best = residual
        yield near.newton(L, _POLISH, patient=False)
        if scaled.unlimited.any():
            yield from _jams(scaled, regular, L)


def _jams(scaled: Contacts, regular: bool, L: FloatArray) -> Iterator[FloatArray]:
    """Yield answers in which those contacts without limit of friction are jammed that slip at a proximal point."""
    v = scaled.before + (scaled.D @ L).reshape(scaled.before.shape)
    push = L.reshape(v.shape)
    slips = np.sqrt(np.sum(v[:, 1:] ** 2, axis=1)) > _SLIPS
    jammed = scaled.unlimited & slips & np.any(push != 0.0, axis=1)
    if not jammed.any():
        return
    start = push.copy()
    start[jammed, 0] = 0.0
    yield NaturalMap(scaled, regular, jammed).newton(start.ravel(), _POLISH)


def _without_gain(contacts: Contacts, found: ContactImpulses, speed: float) -> ContactImpulses:
    """Return impulses that are no answer, as far as kinetic energy does not grow through them."""
    L, v = found.impulses, found.velocities
    if contacts.least.any() or float(np.sum(L * (contacts.before + v))) <= 0.0:
        return found
    power, own = float(np.sum(L * contacts.before)), float(np.sum(L * (v - contacts.before)))
    return contacts.judged(max(0.0, min(1.0, -2.0 * power / own)) * L, speed)
