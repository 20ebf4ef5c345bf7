"""Begin: the mode a run starts in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.contact.laws import LAWS, SLIDING
from trundle.models.tree.approach import round_on_both_sides
from trundle.simulate.compiled_mode import project_state
from trundle.simulate.events.jumps import with_impulses
from trundle.simulate.events.states import slip_and_spin
from trundle.simulate.events.transitions import HybridState
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.runner import Runner

_SLIPS, _ROUND = 1e-9, 1e-9


def begun_mode(runner: Runner, now: HybridState) -> HybridState | Status:
    """Decide the first mode: a body may start with a slip, or on a line or a face."""
    touching = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching]
    values = runner.phase(now.mode).margin_values(now.t, now.x, runner.parameters(now))
    for i in touching:
        roundness = values.get(f"{runner.board.name(i)}.roundness", 1.0)
        if round_on_both_sides(runner.system.contact_pairs[i]):
            roundness = abs(roundness)
        if not roundness > _ROUND:
            runner.note(now, Status.NOT_A_POINT_CONTACT.label, "the contact is no longer a point")
            return Status.NOT_A_POINT_CONTACT
    if any(name.endswith(".relative_velocity") for name in runner.system.model(now.mode.atlas).layout):
        return now  # minimal coordinates cannot slip
    touching = [i for i in touching if not LAWS[now.mode.laws[i]].distant]  # those may slip
    now = runner.board.with_turning_joints(now)
    touching = [i for i in touching if i not in runner.system.rubbing]
    rule, reason = runner.system.rules.on_slip, "the start slips"
    frictions = [constraint.friction for constraint in runner.system.model(now.mode.atlas).constraints]
    slips = [slip_and_spin(runner.system, now.mode.atlas, now.x, i)[1] for i in touching]
    slipping = [i for i, slip in zip(touching, slips, strict=True) if float(np.linalg.norm(slip)) > _SLIPS]
    if rule == "slide":  # without friction nothing keeps a slip at zero
        for i in (i for i in touching if frictions[i].frictionless):
            now = replace(now, mode=runner.board.with_law(now, i, SLIDING.name))
    if not slipping:
        # A start is placed to within the accuracy of a search; the run begins on its constraints.
        stabilized = runner.method.stabilization == "projection"
        return _onto_constraints(runner, now) if stabilized else now
    if rule == "stop":
        runner.note(now, Status.SLIPPED.label, reason)
        return Status.SLIPPED
    if rule == "slide":
        runner.note(now, SLIDING.name, reason)
        for i in slipping:
            now = replace(now, mode=runner.board.with_law(now, i, SLIDING.name))
        return now
    # Friction without limit stops the slip at once, as it stops that of an impact.
    runner.note(now, now.mode.label, reason)
    for i in slipping:
        runner.log.lower(f"{runner.board.name(i)}.friction", -np.inf)
    after = with_impulses(runner.system, now, _onto_constraints(runner, now))
    runner.log.add_jump(now, after)
    return after


def _onto_constraints(runner: Runner, now: HybridState) -> HybridState:
    return replace(now, x=project_state(runner.phase(now.mode), now.t, now.x, runner.parameters(now)))
