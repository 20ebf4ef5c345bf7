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
_ROUND_OFF = 1e-14
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
    slip, rub = lengths(v[:, 1:]), lengths(L[:, 1:])
    limited = np.isfinite(scaled.friction)
    size = float(np.abs(L).max())
    # What parts, and what jams or only touches without a limit of friction, keeps its impulse.
    touches = v[:, 0] <= _SAME * speed
    closed = (L[:, 0] > 0.0) | (touches & (limited | (slip <= _SAME * speed)))
    if size == 0.0 or rub[~closed].any():
        return None
    # A contact that sticks to round-off is inside its cone.
    room = np.where(limited, scaled.friction, 0.0) * L[:, 0]
    slides = (slip > _SAME * speed) & limited & (rub >= (1.0 - _EDGE) * room)
    # The ray of an answer is its own to round-off; where it has no push, it is that of the slip.
    along = np.where((rub > 0.0)[:, None], -L[:, 1:], v[:, 1:])
    e = np.where(slides[:, None], along / np.maximum(lengths(along), 1e-300)[:, None], scaled.slips)
    friction = np.where(limited, scaled.friction, _UNLIMITED)
    at = np.flatnonzero(closed)
    rows = (scaled.D.reshape(-1, *L.shape) / unit)[:, at].reshape(len(scaled.D), -1)
    start = L[at] / size
    x = _without_cones(rows, start, slides[at] | scaled.slides[at], e[at], friction[at])
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
    kept, L = np.ones((m, d), dtype=bool), L.copy()
    at = np.flatnonzero(slides)
    if len(at):
        rays = np.hstack([np.ones((len(at), 1)), -friction[at, None] * e[at]])
        root = np.sqrt(np.sum(rays * rays, axis=1))
        rows = rows.reshape(-1, m, d).copy()
        rows[:, at, 0] = np.einsum("kia,ia->ki", rows[:, at], rays / root[:, None])
        L[at, 0] *= root
        kept[at, 1:] = False
        rows = rows.reshape(-1, m * d)[:, kept.ravel()]
    _, values, turned = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
    open_rows = turned[int(np.sum(values > _RANK * values[0])) :]
    own = L[kept]
    L[kept] = own - open_rows.T @ (open_rows @ own)
    if len(at):
        L[at] = (L[at, 0] / root)[:, None] * rays
    outside = np.where(slides, 0.0, lengths(L[:, 1:]) - friction * L[:, 0])
    return L if float(max(outside.max(), -L[:, 0].min())) <= _INSIDE else None


def _in_cones(cones: FrictionCones, rows: FloatArray, L: FloatArray) -> FloatArray:
    """Return P_K(Q q) (m, d) for the q at which |P_K(Q q)|^2/2 - q'Q'L is least."""
    _, values, turned = np.linalg.svd(rows, full_matrices=False)
    Q = turned[values > _RANK * values[0]].T
    target, own = Q.T @ L.ravel(), Q.reshape(*L.shape, -1)

    def value(q: FloatArray) -> tuple[float, FloatArray, Projection]:
        at = cones.projected((Q @ q).reshape(L.shape))
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
