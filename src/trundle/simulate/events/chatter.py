"""Chatter: transitions that undo each other, slips that jam and come back without end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trundle.contact.laws import LAWS
from trundle.simulate.events.transitions import JAM, HybridState

if TYPE_CHECKING:
    from trundle.simulate.record.log import Transition

_COUNT, _TIME = 24, 1e-4
_SAME = 1e-9


def chatters(transitions: Sequence[Transition]) -> bool:
    """Whether of the last transitions, within 0.1 ms, a quarter are jams: no motion goes on from there."""
    recent = transitions[-_COUNT:]
    if len(recent) < _COUNT or recent[-1]["time"] - recent[0]["time"] > _TIME:
        return False
    return sum(note["reason"] == JAM for note in recent) >= _COUNT // 4


def cycles(instants: list[HybridState]) -> bool:
    """Whether the last of the `instants` of one time, with several contacts, was there before: same mode and state."""
    last = instants[-1]
    return sum(LAWS[law].touching for law in last.mode.laws) > 1 and any(
        one.mode == last.mode
        and one.unarmed == last.unarmed
        and np.allclose(one.onsets, last.onsets, atol=_SAME, rtol=0)
        and np.allclose(one.x, last.x, atol=_SAME, rtol=_SAME)
        for one in instants[:-1]
    )
