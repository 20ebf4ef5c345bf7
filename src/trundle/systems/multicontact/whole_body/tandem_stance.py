"""Tandem stance: one foot ahead of the other, for soles that do not fit beside each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import non_negative, positive
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.systems.multicontact.whole_body.stepping import SwingMotion

_ROOM = 0.1
"""Of a sole's width: how much more a foot takes than its sole, and how much nearer it may come than it was told."""
_STRIDE = 0.15
"""Of a leg's length: how much longer than its sole a step is, so that the knees of bent legs keep apart."""
_SAMPLES = 401  # of a step's way


@dataclass(frozen=True)
class TandemStance:
    """Where the soles go, m.

    Attributes
    ----------
    width : float
        Between the middles of the soles, across.
    length : float
        Of a step; the soles are as far apart along the way whenever both stand.
    aside : float
        How much further out a sole passes the other, see `trundle.multicontact.SwingMotion`.
    """

    width: float
    length: float
    aside: float


def tandem_stance(length: float, width: float, breadth: float, leg: float, least: float = 0.0) -> TandemStance:
    """Return steps of soles of this length and width (m) along ground of this breadth (m).

    Across, the soles lie as far apart as whole soles may on the ground: breadth - width. Along the way a step is longer
    than a sole by `_STRIDE` of the leg's length (m), and no shorter than `least` (m). A sole goes round the other:
    while the feet are beside each other they keep apart by `_ROOM` of a sole's width more than the soles need.

    Raises
    ------
    InputError
        If the ground is narrower than a sole.
    """
    for name, value in (("length", length), ("width", width), ("leg", leg)):
        positive(name, value, "m")
    apart = non_negative("breadth", breadth, "m") - width
    if apart < 0.0:
        raise InputError("breadth", breadth, f"at least the width of a sole, {width:g} m")
    apart, step, room = min(apart, width), max(length + _STRIDE * leg, least), _ROOM * width
    target = PlacedPatch("foot", FlatPatch.point(1.0), [2.0 * step, 0.0, 0.0])
    swing = SwingMotion("foot", 0.0, 1.0, target, 0.0, np.array([0.0, 1.0, 0.0]))
    points = np.array([swing.reference(t, np.zeros(3), np.eye(3)).position for t in np.linspace(0.0, 1.0, _SAMPLES)])
    beside = np.abs(points[:, 0] - step) < length + room
    out = max(width + room - apart, 0.0)
    return TandemStance(apart, step, float(out / points[beside, 1].min()))
