"""Redundant contacts: of all impulses with the same velocities, those with the least sum of squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.cones import FrictionCones, Projection
from trundle.simulate.events.coulomb.contacts import BoolArray, ContactImpulses, Contacts, lengths

_SAME = 1e-11
"""Of the largest speed: what parts or slips."""
_EDGE = 1e-6
"""Of the largest friction: what is on the edge of its cone."""
_UNLIMITED = 1e6
"""Friction that stands for one without limit where a contact sticks."""
_RANK = 1e-11
"""Of the largest singular value of D: what redundant contacts leave open."""
_INSIDE = 1e-14
"""Of the largest impulse: how far outside a cone is round-off."""
_STEPS, _HALVINGS = 40, 20
_SMALLEST = 1e-300  # length that is divided by: none is zero
_ROUND_OFF = 1e-14  # steepness, in scaled units, at which a descent ends
_DESCENT, _RIDGE = 1e-4, 1e-2


def least_impulses(scaled: Contacts, unit: FloatArray, found: ContactImpulses, speed: float) -> FloatArray | None:
    """Return the impulses (m, d), N s, with the velocities of an answer and the least sum of squares, or None: its own.

    With the velocities v known, what parts has no impulse, what slips has one along its ray n - mu v_t/|v_t|, what
    sticks one in its cone. Of those x in these K with D x = D L the least is the part of L that D does not lose where
    that is in K, and else

        x = P_K(Q q)   with   Q' P_K(Q q) = Q' L,   Q: orthonormal, of the rows of D,

    where the gradient of a convex function of q is zero, by Newton's method with a search along each step.

    Parameters
    ----------
    scaled, unit (m, 1) N s
        The contacts, and the units of their impulses.
    found
        The answer, not scaled.
    speed : float, m/s
        The largest there is.
    """
    v, L = found.velocities, found.impulses
    size, limit = float(np.abs(L).max()), _SAME * speed
    if size == 0.0:
        return None
    slips, rub = lengths(v[:, 1:]) > limit, lengths(L[:, 1:])
    # What parts keeps its impulse, none.
    closed = (L[:, 0] > 0.0) | (v[:, 0] <= limit)
    # A contact that sticks to round-off is inside its cone.
    friction = np.where(scaled.unlimited, _UNLIMITED, scaled.friction) if scaled.special else scaled.friction
    slides = slips & (rub >= (1.0 - _EDGE) * friction * L[:, 0])
    if scaled.special:
        # So does what jams or only touches without a limit of friction.
        closed &= (L[:, 0] > 0.0) | ~(scaled.unlimited & slips)
        if rub[~closed].any():
            return None
        slides = (slides & ~scaled.unlimited) | scaled.slides
    at, start = np.flatnonzero(closed), L[closed] / size
    e = scaled.slips
    if slides.any():
        # The ray of an answer is its own to round-off; where it has no push, it is that of the slip.
        e = np.where((rub > 0.0)[:, None], -L[:, 1:], np.where(scaled.slides[:, None], e, v[:, 1:]))
        e = np.where(slides[:, None], e / np.maximum(lengths(e), _SMALLEST)[:, None], 0.0)
    rows = (scaled.D.reshape(-1, *L.shape) / unit)[:, at].reshape(len(scaled.D), -1)
    x = _without_cones(rows, start, slides[at], e[at], friction[at])
    if x is None:
        cones = FrictionCones(replace(scaled, friction=friction, slips=e, least=np.zeros(len(L))).island(at))
        x = _in_cones(cones, rows, start)
    if float(np.abs(x - start).max()) <= _INSIDE:
        return None
    chosen = np.zeros_like(L)
    chosen[at] = size * x
    return chosen


def _without_cones(
    rows: FloatArray, L: FloatArray, slides: BoolArray, e: FloatArray, friction: FloatArray
) -> FloatArray | None:
    """Return the least impulses (m, d) along the rays of what slips, any of what sticks; None outside the cones."""
    m, d = L.shape
    at, x = np.flatnonzero(slides), L.copy()
    if not len(at):
        x = _least_part(rows, L.ravel()).reshape(m, d)
        outside = lengths(x[:, 1:]) - friction * x[:, 0]
        return x if float(max(outside.max(), -x[:, 0].min())) <= _INSIDE else None
    # A slip has one unknown, along its ray.
    rays = np.hstack([np.ones((len(at), 1)), -friction[at, None] * e[at]])
    root = lengths(rays)
    rows = rows.reshape(-1, m, d).copy()
    rows[:, at, 0] = np.einsum("kia,ia->ki", rows[:, at], rays / root[:, None])
    kept = np.ones((m, d), dtype=bool)
    kept[at, 1:] = False
    x[at, 0] *= root
    x[kept] = _least_part(rows.reshape(-1, m * d)[:, kept.ravel()], x[kept])
    x[at] = (x[at, 0] / root)[:, None] * rays
    outside = np.where(slides, 0.0, lengths(x[:, 1:]) - friction * x[:, 0])
    return x if float(max(outside.max(), -x[:, 0].min())) <= _INSIDE else None


def _least_part(rows: FloatArray, x: FloatArray) -> FloatArray:
    """Return the part of x that the rows do not lose."""
    _, values, turned = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
    left = turned[int(np.count_nonzero(values > _RANK * values[0])) :]
    return x - left.T @ (left @ x) if len(left) else x


def _in_cones(cones: FrictionCones, rows: FloatArray, L: FloatArray) -> FloatArray:
    """Return P_K(Q q) (m, d) for the q at which |P_K(Q q)|^2/2 - q'Q'L is least."""
    _, values, turned = np.linalg.svd(rows, full_matrices=False)
    Q = turned[values > _RANK * values[0]].T
    target, own = Q.T @ L.ravel(), Q.reshape(*L.shape, -1)

    def value(q: FloatArray) -> tuple[float, FloatArray, Projection]:
        at = cones.project((Q @ q).reshape(L.shape))
        square = float(np.sum(at.pushes * at.trial))  # |P_K x|^2, as x - P_K x is normal to P_K x
        return square / 2.0 - float(q @ target), Q.T @ at.pushes.ravel() - target, at

    q = target
    height, slope, at = value(q)
    for _ in range(_STEPS):
        steep = float(np.abs(slope).max())
        if steep <= _ROUND_OFF:
            break
        turned = (cones.slopes(at) @ own).reshape(L.size, -1)
        # Where contacts have no impulse yet the slope does not change: the ridge, which goes with it, leads there.
        ridge = _RIDGE * float(np.linalg.norm(slope))
        step = -np.linalg.solve(Q.T @ turned + ridge * np.eye(len(q)), slope)
        fall, part = float(slope @ step), 1.0
        for _ in range(_HALVINGS):
            ahead = value(q + part * step)
            if ahead[0] <= height + _DESCENT * part * fall or float(np.abs(ahead[1]).max()) < steep / 2.0:
                break
            part /= 2.0
        else:
            break
        q, (height, slope, at) = q + part * step, ahead
    return at.pushes
