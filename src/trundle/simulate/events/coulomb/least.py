"""Redundant contacts: of all impulses with the same velocities, those with the least sum of squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.cones import FrictionCones
from trundle.simulate.events.coulomb.contacts import ContactImpulses, Contacts

_SAME = 1e-11
"""Of the largest speed: what parts or slips."""
_UNLIMITED = 1e6
"""Friction that stands for one without limit where a contact sticks."""
_RANK = 1e-11
"""Of the largest singular value of D: what redundant contacts leave open."""
_STEPS, _HALVINGS = 40, 20
_ROUND_OFF = 1e-14
_INSIDE = 1e-14
"""Of the largest impulse: how far outside a cone is round-off."""
_DESCENT, _RIDGE = 1e-4, 1e-2


def least_impulses(contacts: Contacts, found: ContactImpulses) -> FloatArray:
    """Return the impulses (m, d) with the velocities of an answer and the least sum of squares.

    With the velocities v known, what parts has no impulse, what slips has one along its ray n - mu v_t/|v_t|, what
    sticks one in its cone. Of those x in these K with D x = D L the least is

        x = P_K(Q q)   with   Q' P_K(Q q) = Q' L,   Q: orthonormal, of the rows of D,

    where the gradient of a convex function of q is zero, by Newton's method with a search along each step.
    """
    v, L = found.velocities, found.impulses
    speed = max(float(np.abs(contacts.before).max()), float(np.abs(v).max()))
    touches = L.any(axis=1) | ((v[:, 0] <= _SAME * speed) & ~contacts.unlimited)
    closed = np.flatnonzero(touches)
    slip = np.sqrt(np.sum(v[:, 1:] ** 2, axis=1)) > _SAME * speed
    rub = np.sqrt(np.sum(L[:, 1:] ** 2, axis=1))
    # The ray of an answer is its own, to round-off.
    slides = slip & (rub > 0.0) & np.isfinite(contacts.friction)
    e = np.where(slides[:, None], -L[:, 1:] / np.where(slides, rub, 1.0)[:, None], contacts.slips)
    friction = np.where(contacts.unlimited, _UNLIMITED, contacts.friction)
    # A slip without a push goes against the push that would come.
    still = slip & (rub == 0.0)
    e[still] = v[still, 1:] / np.sqrt(np.sum(v[still, 1:] ** 2, axis=1))[:, None]
    jammed = contacts.unlimited & (L[:, 0] == 0.0)
    if not L.any() or L[jammed].any():
        return L
    size = float(np.abs(L).max())
    allowed = replace(contacts, friction=friction, slips=e, least=np.zeros(contacts.m)).island(closed)
    rows = allowed.D / np.repeat(np.sqrt(allowed.mobility), allowed.d)[:, None]
    cones, start = FrictionCones(allowed), L[closed] / size
    free = _without_cones(cones, rows, start)
    if free is None:
        return L
    if float(np.abs(free - cones.projected(free).pushes).max()) > _INSIDE:
        _, values, rows = np.linalg.svd(rows)
        free = _least(cones, rows[values > _RANK * values[0]].T, start)
    chosen = np.zeros_like(L)
    chosen[closed] = size * cones.projected(free).pushes
    return chosen


def _without_cones(cones: FrictionCones, rows: FloatArray, L: FloatArray) -> FloatArray | None:
    """Return the least impulses (m, d) along the rays of what slips, any of what sticks, or None where none are open."""
    m, d = L.shape
    spread = np.zeros((m, d, m, d))
    spread[np.arange(m), :, np.arange(m)] = np.eye(d)
    spread[cones.sliding, :, cones.sliding] = 0.0
    spread[cones.sliding, :, cones.sliding, 0] = cones.rays / np.sqrt(cones.squares)[:, None]
    spread = spread.reshape(m * d, m * d)
    spread = spread[:, spread.any(axis=0)]
    _, values, along = np.linalg.svd(rows @ spread)
    count = int(np.sum(values > _RANK * values[0]))
    if count == len(along):
        return None
    left = along[count:]
    open_part = spread @ (left.T @ (left @ (spread.T @ L.ravel())))
    return L - open_part.reshape(L.shape)


def _least(cones: FrictionCones, Q: FloatArray, L: FloatArray) -> FloatArray:
    """Return P_K(Q q) (m, d) for the q at which |P_K(Q q)|^2/2 - q'Q'L is least."""
    target = Q.T @ L.ravel()
    rows = Q.reshape(*L.shape, -1)
    q = target

    def value(q: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        at = cones.projected((Q @ q).reshape(L.shape))
        along = float(np.sum(at.pushes * at.trial))  # |P_K x|^2, as x - P_K x is normal to P_K x
        slope = Q.T @ at.pushes.ravel() - target
        return along / 2.0 - float(q @ target), slope, at

    height, slope, at = value(q)
    for _ in range(_STEPS):
        if float(np.abs(slope).max()) <= _ROUND_OFF:
            break
        turned = (cones.slopes(at) @ rows).reshape(L.size, -1)
        ridge = _RIDGE * float(np.linalg.norm(slope))
        step = -np.linalg.solve(Q.T @ turned + ridge * np.eye(len(q)), slope)
        fall, part = float(slope @ step), 1.0
        for _ in range(_HALVINGS):
            ahead = value(q + part * step)
            if ahead[0] <= height + _DESCENT * part * fall or float(np.abs(ahead[1]).max()) < 0.5 * float(np.abs(slope).max()):
                break
            part /= 2.0
        else:
            break
        q, (height, slope, at) = q + part * step, ahead
    return at.pushes
