"""Plastic impacts with friction: velocities jump, positions do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import ROLLING, SLIDING
from trundle.simulate.events.coulomb import contact_impulses
from trundle.simulate.force_distribution import distributed_impulses

REST_SPEED = 1e-3
"""Separation speed (m/s) below which an impact leaves both contacts closed: rocking impacts are Zeno."""
_SLOW_BLOW = 10.0 * REST_SPEED
"""Speed (m/s) of a blow so slow that it stops slips, too, where contacts are left that slowly."""
_NO_BLOW = 1e-12
"""Speed (m/s) that is round-off: such a touch closes the contact and changes nothing."""
_AGREES = 1e-9


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
    """

    J: FloatArray
    velocity: FloatArray
    n: FloatArray
    mu: float
    spin: FloatArray | None = None
    spin_rate: float = 0.0

    @property
    def axes(self) -> FloatArray:
        """Return the axes (d, d) of the contact as rows, the normal first."""
        if len(self.n) == 2:
            return np.array([self.n, [self.n[1], -self.n[0]]])
        t = np.cross(self.n, np.eye(3)[int(np.argmin(np.abs(self.n)))])
        t = t / float(np.linalg.norm(t))
        return np.array([self.n, t, np.cross(self.n, t)], dtype=np.float64)


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
        Whether the speeds were too small to go on rocking, and all contacts stay closed.
    """

    jump: FloatArray
    laws: dict[int, str]
    impulses: dict[int, FloatArray]
    decided: bool = True
    rests: bool = False


def plastic_impact(M: FloatArray, contacts: dict[int, Candidate], new: int) -> Impact:
    """Return the outcome of an impact at the contact `new` while the others were closed.

    nu+ = nu + M^-1 J'L with impulses and velocities after it that obey Coulomb's law (`contact_impulses`; theory,
    "Collisions and sliding"). First only the new contact takes part: it is accepted if the others come apart. Otherwise
    all stay closed and roll, if their impulses fit the cones. Otherwise some come apart or slide.

    Parameters
    ----------
    M : (nv, nv)
    contacts : dict of contact number -> Candidate
        The new contact and those that were closed.
    """
    if all(float(np.linalg.norm(c.velocity)) < _NO_BLOW for c in contacts.values()):
        return held_impact(M, contacts)
    fastest = max(float(np.linalg.norm(c.velocity)) for c in contacts.values())
    if all(abs(float(c.n @ c.velocity)) < _NO_BLOW * max(1.0, fastest) for c in contacts.values()):
        return _by_coulomb(M, contacts)  # no blow, but a slip, which goes on
    alone = _by_coulomb(M, {new: contacts[new]})
    others = [i for i in contacts if i != new]
    after = [contacts[i].velocity + contacts[i].J @ alone.jump for i in others]
    leaving = [float(contacts[i].n @ velocity) for i, velocity in zip(others, after, strict=True)]
    if not others or (alone.decided and all(speed > REST_SPEED for speed in leaving)):
        return alone
    together = _together(M, contacts)
    fast = [i for i, speed in zip(others, leaving, strict=True) if speed > REST_SPEED]
    if alone.decided and fast and not together.decided:  # those that the blow parts take no part
        found = _by_coulomb(M, {i: c for i, c in contacts.items() if i not in fast})
        parted = (float(contacts[i].n @ (contacts[i].velocity + contacts[i].J @ found.jump)) for i in fast)
        if found.decided and all(speed > REST_SPEED for speed in parted):
            return found
    # Slower than the threshold, rocking from one contact to the other has no end in time: it rests on both.
    slow = -float(contacts[new].n @ contacts[new].velocity) < _SLOW_BLOW
    speeds = leaving if slow else [-float(np.linalg.norm(velocity)) for velocity in after]
    if alone.decided and all(speed > -REST_SPEED for speed in speeds):
        return replace(together, decided=True, rests=True)
    return together if together.decided else _by_coulomb(M, contacts)


def held_impact(M: FloatArray, contacts: dict[int, Candidate]) -> Impact:
    """Return the impact after which all contacts stay closed, where some would hop for an instant.

    The impulses it takes to hold them are those of their next landings, which follow at once.
    """
    return replace(_together(M, contacts), decided=True, rests=True)


def _by_coulomb(M: FloatArray, contacts: dict[int, Candidate]) -> Impact:
    """Return the impact that Coulomb's law gives; a spin that should stop does so at the contacts that roll."""
    held = [i for i, c in contacts.items() if c.spin is not None]
    while True:
        found = _with_spins(M, contacts, held)
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


def _with_spins(M: FloatArray, contacts: dict[int, Candidate], held: Sequence[int]) -> Impact:
    """Return the impact with the spins of some contacts stopped."""
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
    return Impact(jump, laws, {i: pushes[i] for i in laws}, found.residual <= _AGREES)


def _together(M: FloatArray, contacts: dict[int, Candidate]) -> Impact:
    """Return the impact with all contacts closed and rolling: the smallest impulses that do it, shared by the cones."""
    numbers = list(contacts)
    rows = np.vstack([c.J for c in contacts.values()])
    before = np.concatenate([c.velocity for c in contacts.values()])
    spread = np.linalg.solve(M, rows.T)
    impulse = -np.linalg.pinv(rows @ spread, rcond=1e-10, hermitian=True) @ before
    normals, frictions = [c.n for c in contacts.values()], [c.mu for c in contacts.values()]
    pushes = dict(zip(numbers, distributed_impulses(rows, normals, impulse, frictions), strict=True))
    round_off = _AGREES * max(float(np.linalg.norm(impulse)), 1e-12)
    decided = all(_inside(contacts[i], push, round_off) for i, push in pushes.items())
    return Impact(spread @ impulse, dict.fromkeys(numbers, ROLLING.name), pushes, decided)


def _inside(c: Candidate, push: FloatArray, round_off: float) -> bool:
    """Whether an impulse (d,), N s, lies inside the friction cone of a contact, but for a `round_off`."""
    normal = float(c.n @ push)
    tangential = float(np.linalg.norm(push - normal * c.n))
    return normal >= -round_off and (np.isinf(c.mu) or tangential <= c.mu * normal + round_off)
