"""Chatter: slips that jam and come back without end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trundle.simulate.transitions import JAM

_COUNT, _TIME = 24, 1e-4


def chatters(transitions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether of the last transitions, within 0.1 ms, a quarter are jams: no motion goes on from there."""
    recent = transitions[-_COUNT:]
    if len(recent) < _COUNT or recent[-1]["time"] - recent[0]["time"] > _TIME:
        return False
    return sum(note["reason"] == JAM for note in recent) >= _COUNT // 4
