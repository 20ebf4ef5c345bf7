"""Impacts: velocities jump, positions do not. One law for every blow, however many contacts it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.laws import ROLLING, SLIDING
from trundle.contact.restitution import PLASTIC, Restitution
from trundle.simulate.events.bouncing import bouncing_impulses
from trundle.simulate.events.coulomb import contact_impulses

_NO_BLOW = 1e-12
"""Speed (m/s, or of the fastest where that is more) that is round-off: such a touch changes nothing."""
_AGREES = 1e-9
"""Of the largest speed, impulse or coupling: what counts as zero after an impact, and as solved."""
_BLOWS = 10
"""Blows a contact that may follow each other in one instant: those of unequal balls in a row go to and fro."""
_PULL_BACK = 4.0
"""Of the speed of a hop that is too low to be followed: what a contact may be pulled back by, where others hop, too."""
_COUPLED = 1e-12
"""Of the mobility of two contacts: how much of one's push moves the other where bodies couple them."""


@dataclass(frozen=True)
class Candidate:
    """One contact that takes part in an impact.

    Attributes
    ----------
    J : (d, nv)
        Rows of the relative velocity of the material points, world.
    velocity : (d,) m/s
        That velocity before the impact.
    n : (d,)
        Unit normal, out of B.
    mu : float
    spin : (nv,), or None
        Row of the relative spin about n, for pure rolling.
    spin_rate : float, rad/s
    restitution : Restitution
    rest_speed : float, m/s
        A contact that an impact opens more slowly hops too low to be followed: it stays closed.
    """

    J: FloatArray
    velocity: FloatArray
    n: FloatArray
    mu: float
    spin: FloatArray | None = None
    spin_rate: float = 0.0
    restitution: Restitution = PLASTIC
    rest_speed: float = 0.0

    @property
    def axes(self) -> FloatArray:
        """Return the axes (d, d) of the contact as rows, the normal first."""
        if len(self.n) == 2:
            return np.array([self.n, [self.n[1], -self.n[0]]])
        t = np.cross(self.n, np.eye(3)[int(np.argmin(np.abs(self.n)))])
        t = t / float(np.linalg.norm(t))
        return np.array([self.n, t, np.cross(self.n, t)], dtype=np.float64)

    @property
    def opening(self) -> float:
        """Return the speed (m/s) at which the contact opens; negative: it closes."""
        return float(self.n @ self.velocity)

    def of(self, velocities: NDArray[np.bool_]) -> Candidate:
        """Return the contact with the rows of some of the velocities alone."""
        return replace(self, J=self.J[:, velocities], spin=None if self.spin is None else self.spin[velocities])

    def after(self, jump: FloatArray) -> Candidate:
        """Return the contact after a `jump` (nv,) of the velocities."""
        rate = self.spin_rate if self.spin is None else self.spin_rate + float(self.spin @ jump)
        return replace(self, velocity=self.velocity + self.J @ jump, spin_rate=rate)


@dataclass(frozen=True)
class Impact:
    """Outcome of an impact.

    Attributes
    ----------
    jump : (nv,)
        Change of the velocities.
    laws : dict of contact number -> "rolling", "spinning" (rolling, but a spin that should stop goes on) or "sliding"
        Contacts that stay closed.
    impulses : dict of contact number -> (d,) N s, world, on A
    decided : bool
        False where no impulses were found that agree with Coulomb's law.
    rests : bool
        Whether some contacts stay closed that would hop too low to be followed.
    untouched : frozenset of int
        Closed contacts of other islands: what they do goes on.
    """

    jump: FloatArray
    laws: dict[int, str]
    impulses: dict[int, FloatArray]
    decided: bool = True
    rests: bool = False
    untouched: frozenset[int] = frozenset()


def islands_of(M: FloatArray, contacts: Mapping[int, Candidate]) -> list[dict[int, Candidate]]:
    """Return the contacts in islands: a push at one moves the points of the others of its island alone.

    Two contacts are coupled where J_i M^-1 J_j' is not zero: bodies that move join them.
    """
    numbers, d = list(contacts), len(next(iter(contacts.values())).n)
    J = np.vstack([c.J for c in contacts.values()])
    couplings = np.abs(J @ np.linalg.solve(M, J.T)).reshape(len(numbers), d, len(numbers), d).max(axis=(1, 3))
    mobility = np.diag(couplings)
    coupled = couplings > _COUPLED * np.sqrt(np.outer(mobility, mobility))
    island = list(range(len(numbers)))
    for i, j in np.argwhere(np.tril(coupled, -1)).tolist():
        island = [island[i] if k == island[j] else k for k in island]
    groups = dict.fromkeys(island)
    return [{numbers[k]: contacts[numbers[k]] for k in range(len(numbers)) if island[k] == group} for group in groups]


def resolve_impact(M: FloatArray, contacts: Mapping[int, Candidate], held: bool = False) -> Impact:
    """Return the outcome of the blows of one instant at the contacts of one island.

    All contacts that approach take part in one problem: nu+ = nu + M^-1 J'L with impulses and velocities after it that
    obey Coulomb's law (`contact_impulses`) and what each gives back (`bouncing_impulses`); theory, "Collisions and
    sliding". A contact that touches and does not approach takes part as soon as the outcome would make it approach: in
    the same problem where nothing is given back, else in a further one that begins with the velocities after the first.
    So a row of balls at rest passes a blow on, and nothing depends on the order of the contacts. Kinetic energy never
    grows.

    Contacts that open more slowly than their ``rest_speed`` stay closed at last (`_settle`).

    Parameters
    ----------
    M : (nv, nv)
    contacts : mapping of contact number -> Candidate
        All that touch.
    held : bool
        Whether all stay closed, and none gives back, where some would hop for an instant.
    """
    moved = _find_moved_velocities(M, contacts)
    if not moved.all():
        found = resolve_impact(M[np.ix_(moved, moved)], {i: c.of(moved) for i, c in contacts.items()}, held)
        jump = np.zeros(len(M))
        jump[moved] = found.jump
        return replace(found, jump=jump)
    jump = np.zeros(len(M))
    impulses = {i: np.zeros(len(c.n)) for i, c in contacts.items()}
    fastest = max(float(np.linalg.norm(c.velocity)) for c in contacts.values())
    negligible = max(_AGREES * fastest, _NO_BLOW)
    spinning: set[int] = set()
    struck: set[int] = set()
    decided, blows = True, 0
    least = _NO_BLOW * max(1.0, fastest)
    while strikes := {i for i, c in contacts.items() if c.after(jump).opening < -least}:
        blows, least = blows + 1, negligible
        struck |= strikes
        # Blows that go to and fro without end are taken together: then each round has one contact more, or is the last.
        together = struck if blows > _BLOWS * len(contacts) else strikes
        found = _resolve_blow(M, {i: c.after(jump) for i, c in contacts.items()}, together, negligible, held)
        decided = decided and found.decided
        jump = jump + found.jump
        for i, push in found.impulses.items():
            impulses[i] = impulses[i] + push
        spinning = {i for i, law in found.laws.items() if law == "spinning"}
        if not found.decided or blows > (_BLOWS + 1) * len(contacts):  # what still approaches is round-off
            break
    outcome = Impact(jump, _laws_after(contacts, jump, negligible, spinning), impulses, decided)
    return _settle(M, contacts, outcome, negligible, held)


def _find_moved_velocities(M: FloatArray, contacts: Mapping[int, Candidate]) -> NDArray[np.bool_]:
    """Return which velocities (nv,) a push at the contacts changes: theirs, and those that the inertia couples."""
    rows = [row for c in contacts.values() for row in (c.J, c.spin) if row is not None]
    moved, coupled = np.any(np.vstack(rows) != 0.0, axis=0), M != 0.0
    while (more := moved | coupled[moved].any(axis=0)).sum() > moved.sum():
        moved = more
    return moved


def _laws_after(
    contacts: Mapping[int, Candidate], jump: FloatArray, negligible: float, spinning: set[int]
) -> dict[int, str]:
    """Return the laws of the contacts that an impact leaves closed, by their velocities after it."""
    laws = {}
    for i, c in contacts.items():
        after = c.after(jump)
        if after.opening > negligible:
            continue
        slips = float(np.linalg.norm(after.velocity - after.opening * c.n)) > negligible
        held = "spinning" if i in spinning else ROLLING.name
        laws[i] = SLIDING.name if slips or c.mu == 0.0 else held
    return laws


def _resolve_blow(
    M: FloatArray, contacts: Mapping[int, Candidate], strikes: set[int], negligible: float, held: bool
) -> Impact:
    """Return the impact in which the contacts that strike take part, and those that a plastic blow reaches."""
    part = set(strikes)
    while True:
        e = {i: 0.0 if held else contacts[i].restitution.after(-contacts[i].opening) for i in sorted(part)}
        taking_part = {i: contacts[i] for i in e}
        if any(e.values()):
            return _bounce(M, taking_part, e)
        found = _stop_spins(M, taking_part)
        reached = {i for i, c in contacts.items() if i not in part and c.after(found.jump).opening < -negligible}
        if not reached:
            return found
        part |= reached


def _bounce(M: FloatArray, contacts: Mapping[int, Candidate], restitution: Mapping[int, float]) -> Impact:
    """Return the impact of contacts that give back; spins about the normals go on."""
    cs = list(contacts.values())
    J = np.vstack([c.axes @ c.J for c in cs])
    before = np.array([c.axes @ c.velocity for c in cs])
    spread = np.linalg.solve(M, J.T)
    most = max(restitution, key=lambda i: restitution[i])
    found = bouncing_impulses(
        J @ spread,
        before,
        np.array([c.mu for c in cs]),
        np.array(list(restitution.values())),
        contacts[most].restitution.hypothesis,
    )
    pushes = {i: c.axes.T @ push for (i, c), push in zip(contacts.items(), found.impulses, strict=True)}
    spins = {i: "spinning" for i, c in contacts.items() if c.spin_rate != 0.0}
    return Impact(spread @ found.impulses.ravel(), spins, pushes, found.residual <= _AGREES)


def _stop_spins(M: FloatArray, contacts: Mapping[int, Candidate]) -> Impact:
    """Return the plastic impact; a spin that should stop does so at the contacts that then roll."""
    held = [i for i, c in contacts.items() if c.spin is not None]
    while True:
        found = _by_coulomb(M, contacts, held)
        slid = [i for i in held if found.laws.get(i) != ROLLING.name]
        if not slid and found.decided:
            break
        if not held:
            return found
        held = [i for i in held if i not in slid] if slid else []
    free = [i for i, c in contacts.items() if c.spin is not None and i not in held]
    return replace(
        found, laws={i: "spinning" if i in free and law == ROLLING.name else law for i, law in found.laws.items()}
    )


def _by_coulomb(M: FloatArray, contacts: Mapping[int, Candidate], held: Sequence[int]) -> Impact:
    """Return the plastic impact that Coulomb's law gives, with the spins of the contacts `held` stopped."""
    numbers, cs = list(contacts), list(contacts.values())
    inverse = np.linalg.inv(M)
    first = np.zeros(len(M))
    spins = [c.spin for i, c in contacts.items() if i in held and c.spin is not None]
    if spins:
        C = np.vstack(spins)
        lever = inverse @ C.T @ np.linalg.pinv(C @ inverse @ C.T, hermitian=True)
        first = -lever @ np.array([contacts[i].spin_rate for i in held])
        inverse = inverse - lever @ C @ inverse
    J = np.vstack([c.axes @ c.J for c in cs])
    before = np.concatenate([c.axes @ (c.velocity + c.J @ first) for c in cs]).reshape(len(cs), -1)
    found = contact_impulses(J @ inverse @ J.T, before, np.array([c.mu for c in cs]))
    jump = first + inverse @ J.T @ found.impulses.ravel()
    scale = max(float(np.abs(before).max()), _NO_BLOW)
    laws = {}
    for i, push, after in zip(numbers, found.impulses, found.velocities, strict=True):
        if push[0] > 0.0 or after[0] <= _AGREES * scale:
            laws[i] = SLIDING.name if float(np.linalg.norm(after[1:])) > _AGREES * scale else ROLLING.name
    pushes = {i: c.axes.T @ push for i, c, push in zip(numbers, cs, found.impulses, strict=True)}
    return Impact(jump, laws, pushes, found.residual <= _AGREES)


def _settle(M: FloatArray, contacts: Mapping[int, Candidate], found: Impact, negligible: float, held: bool) -> Impact:
    """Close the contacts that open more slowly than their ``rest_speed``: rocking and rattling have no end in time.

    What really stops them is their next landings, which follow at once: gravity brings back what each took off. Their
    opening speeds u go to zero along the normals, by pushes of the size of u / (n'D n); what slips goes on. Contacts
    that stick keep sticking where the friction of all these pushes bears it.

    ``held``: all of them close.
    """
    after = {i: c.after(found.jump) for i, c in contacts.items()}
    low = {i for i, c in after.items() if held or c.opening <= max(c.rest_speed, negligible)}
    if not any(i not in found.laws for i in low):
        return found
    sticking = {i for i in low if found.laws.get(i, ROLLING.name) != SLIDING.name and contacts[i].mu > 0.0}
    for stuck in (sticking, set[int]()):
        jump, pushes = _hold(M, {i: after[i] for i in sorted(low)}, stuck)
        total = {i: found.impulses[i] + pushes.get(i, 0.0) for i in contacts}
        if not stuck or all(_bears(M, after[i], total[i]) for i in low):
            break
    landed = {i for i, c in after.items() if i not in low and c.after(jump).opening < 0.0}
    if landed:  # what leaves faster does not come back for what hops beside it
        more = {
            i: replace(c, rest_speed=max(c.rest_speed, after[i].opening)) for i, c in contacts.items() if i in landed
        }
        return _settle(M, {**contacts, **more}, found, negligible, held)
    if not held and any(_pulls(M, contacts[i], total[i]) for i in low):
        return found  # points nearly in line have hardly a lever: what hops off their line is not pulled back
    spinning = {i for i, law in found.laws.items() if law == "spinning"}
    laws = _laws_after(contacts, found.jump + jump, negligible, spinning)
    laws |= {i: laws.get(i, SLIDING.name) for i in low}
    return Impact(found.jump + jump, laws, total, found.decided, rests=True)


def _hold(
    M: FloatArray, contacts: Mapping[int, Candidate], stuck: set[int]
) -> tuple[FloatArray, dict[int, FloatArray]]:
    """Return the jump that stops contacts along their normals, those `stuck` altogether, and the pushes that do it."""
    blocks = {i: c.axes if i in stuck else c.axes[:1] for i, c in contacts.items()}
    rows = np.vstack([blocks[i] @ c.J for i, c in contacts.items()])
    before = np.concatenate([blocks[i] @ c.velocity for i, c in contacts.items()])
    spread = np.linalg.solve(M, rows.T)
    impulse = -np.linalg.pinv(rows @ spread, rcond=1e-10, hermitian=True) @ before
    ends = np.cumsum([len(block) for block in blocks.values()])
    parts = np.split(impulse, ends[:-1])
    return spread @ impulse, {i: blocks[i].T @ part for i, part in zip(contacts, parts, strict=True)}


def _pulls(M: FloatArray, c: Candidate, push: FloatArray) -> bool:
    """Whether a contact pulls by more than some hops that are too low to be followed."""
    mobility = float(c.n @ c.J @ np.linalg.solve(M, c.J.T @ c.n))
    return -float(c.n @ push) * mobility > _PULL_BACK * max(c.rest_speed, abs(c.opening) * _AGREES)


def _bears(M: FloatArray, c: Candidate, push: FloatArray) -> bool:
    """Whether friction bears an impulse (d,), N s, but for that of a hop too low to be followed."""
    mobility = float(c.n @ c.J @ np.linalg.solve(M, c.J.T @ c.n))
    unseen = max(c.rest_speed, abs(c.opening)) / max(mobility, 1e-300)
    normal = float(c.n @ push)
    tangential = float(np.linalg.norm(push - normal * c.n))
    return normal >= -unseen and (np.isinf(c.mu) or tangential <= c.mu * (max(normal, 0.0) + unseen))
