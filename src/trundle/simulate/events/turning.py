"""Turning: how a relative rotation against rolling resistance or drilling friction stops, is held and starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.law import relative_turning
from trundle.contact.laws import LAWS, SEPARATED, STILL_RATE, Sticking, rolling_law
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.simulate.compiled_mode import CompiledMode, projected
from trundle.simulate.mode import Mode
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.events.transitions import Event, EventHandler, HybridState


def held_laws(system: ContactSystem, mode: Mode, x: FloatArray, onsets: FloatArray) -> tuple[str, ...]:
    """Return the laws of a mode with every turning held that is resisted and zero; one with an onset starts."""
    laws = list(mode.laws)
    for i, constraint in enumerate(system.model(mode.atlas).constraints):
        law, friction = LAWS[laws[i]], constraint.friction
        if not isinstance(law, Sticking) or not (friction.rolling or friction.drilling) or np.any(onsets[i]):
            continue
        rolling, spin = _rates(system, mode.atlas, x, i)
        stands = bool(friction.drilling) and system.d == 3 and spin <= 2 * STILL_RATE
        rests = bool(friction.rolling) and rolling <= 2 * STILL_RATE
        laws[i] = rolling_law(law.holds_spin or stands, law.holds_rolling or rests).name
    return tuple(laws)


def _rates(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> tuple[float, float]:
    """Rates (rad/s) of rolling and of spin, without sign."""

    def build() -> ca.Function:
        model = system.model(atlas)
        k = model.terms([SEPARATED] * len(model.constraints)).kin[contact]
        turning, spin = relative_turning(k)
        return ca.Function("turning", [model.x], [ca.norm_2(turning), ca.fabs(spin)])

    rolling, spin = system.kept(("turning", atlas, contact), build)(x)
    return float(rolling), float(spin)


def spin(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """Spin from zero rate, where slips are followed."""
    return Status.SPUN if board.system.rules.on_slip != "slide" else _turn(board, now, event, phase, rolls=False)


def roll(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """Roll from zero rate."""
    return _turn(board, now, event, phase, rolls=True)


def _turn(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode, rolls: bool) -> HybridState:
    """Turn from zero rate: against the moment that held, about the tangents (`rolls`) or about the normal."""
    i, law, onsets = event.contact, LAWS[now.mode.laws[event.contact]], np.array(now.onsets)
    after = rolling_law(law.holds_spin and rolls, law.holds_rolling and not rolls)
    p = phase.parameters(board.inputs(now.t), now.onsets)
    onset = -phase.held_moment(i, now.t, now.x, p, rolls)
    onsets[i] = 0.0
    onsets[i, : len(onset)] = onset / max(float(np.linalg.norm(onset)), 1e-300)
    rate = f"{board.name(i)}.{'rolling' if rolls else 'spin'}_rate"
    return replace(now, mode=board.with_law(now, i, after.name), onsets=onsets, unarmed=now.unarmed | {rate})


def stop_turning(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """A turning that is resisted came to rest: it is held, and released where the moment for that is too large."""
    law, rolls = LAWS[now.mode.laws[event.contact]], event.margin.startswith("rolling")
    after = rolling_law(law.holds_spin or not rolls, law.holds_rolling or rolls)
    mode, onsets = board.with_law(now, event.contact, after.name), without(now.onsets, event.contact)
    held = board.phase_of(mode)
    x = projected(held, now.t, now.x, held.parameters(board.inputs(now.t), onsets))
    return replace(now, x=x, mode=mode, onsets=onsets, unarmed=frozenset())


def without(onsets: FloatArray, contact: int) -> FloatArray:
    """Return the onsets (contacts, d) with none at one contact."""
    return np.where(np.arange(len(onsets))[:, None] == contact, 0.0, onsets)
