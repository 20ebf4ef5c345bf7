"""Ticks of controllers with what a trial made of them: what an export writes and compares with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.control.tick import ControlTick, RecordedTicks
from trundle.systems.multicontact.preview.ticking import preview_outputs, preview_tick, preview_values
from trundle.systems.multicontact.whole_body.policy import HumanoidPolicy
from trundle.systems.multicontact.whole_body.ticking import whole_body_tick, whole_body_values

if TYPE_CHECKING:
    from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment

_KEPT, _APART = 20, 10
"""Ticks that an export compares with, and how many are in between: a tick has some thousand numbers."""


class _Kept:
    """A policy that keeps some ticks of each program of its whole-body control, and its previews."""

    def __init__(self, policy: HumanoidPolicy, ends: Sequence[str]) -> None:
        self._policy, self._ends = policy, ends
        self.period = policy.period
        self.rows: dict[int, list[tuple[FloatArray, ...]]] = {}
        self.plans: list[tuple[FloatArray, ...]] = []
        self._count, self._plan = Counter[int](), None

    def reset(self) -> None:
        self._policy.reset()

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        policy = self._policy
        answer, command, plan = policy(time, state), policy.command, policy.plan
        for program in policy.controller.programs:
            if command is not None and command.usable and program.layout is command.layout and not program.held:
                kept = self.rows.setdefault(id(program), [])
                if self._count[id(program)] % _APART == 0 and len(kept) < _KEPT:
                    kept.append((*whole_body_values(program), command.u))
                self._count[id(program)] += 1
        if plan is not None and plan is not self._plan and self._ends and len(self.plans) < _KEPT:
            values = preview_values(plan, policy.progress.reference, self._ends)
            self.plans.append((*values, preview_outputs(plan, self._ends)))
        self._plan = plan
        return answer


def recorded_ticks(experiment: MulticontactExperiment) -> dict[str, tuple[ControlTick, RecordedTicks]]:
    """Return the ticks of whole-body control and of the preview of a trial, until two ends have travelled.

    There is one of whole-body control for all ends that stand and move at once; what holds an object is left out. So is
    the preview where it has more to count on than contacts: forces, loads, axes that change.
    """
    trial, policy = experiment.trials[0][0], experiment.policy()
    plant, forecast, travels = experiment.plant(trial), policy.progress.forecast, policy.steps.travels
    plain = not (forecast.pushes or forecast.masses or forecast.axes) and policy.preview is not None
    patches = {item.contact.name: item.contact.patch for item in forecast.contacts} if plain else {}
    kept = _Kept(policy, list(patches))
    sensors = plant.sensors(experiment.noise(), experiment.tables.noise.delay, trial.seed)
    length = max([_APART * _KEPT * policy.period, *(travel.end for travel in travels[:2])])
    plant.plant(experiment.start).run(kept, min(length, experiment.duration), sensors=sensors)
    found = {}
    for program in policy.controller.programs:
        if rows := kept.rows.get(id(program)):
            tick = whole_body_tick(policy.controller, program, policy.period)
            moving = f"_while_{'_'.join(program.moving)}_moves" if program.moving else ""
            found["_".join(program.standing) + moving if found else ""] = tick, _record_tick(tick, rows)
    if plain and policy.preview is not None:
        preview = preview_tick(policy.preview, patches, policy.periods.preview)
        found["preview"] = preview, _record_tick(preview, kept.plans)
    return found


def _record_tick(tick: ControlTick, rows: Sequence[tuple[FloatArray, ...]]) -> RecordedTicks:
    *arguments, u = (np.array(column) for column in zip(*rows, strict=True))
    return RecordedTicks(dict(zip(tick.arguments, arguments, strict=True)), u)
