"""Runs of kind `juggling` that throw in space, catch, and bring to rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.models import RollingPair
from trundle.models.tree.system import Start
from trundle.records import Trajectory
from trundle.records.reference import Reference
from trundle.scenarios.engine.building import Part, PartProgress, simulate_part
from trundle.scenarios.engine.trials import stream_trials, trial_parts
from trundle.status import Status
from trundle.systems.juggling.scenario.plants import Draw, moved_start
from trundle.systems.juggling.scenario.policies import add_sensors, regulator
from trundle.systems.juggling.scenario.schema_control import CatchTable, JugglingTransfer
from trundle.systems.juggling.throw.catch import SpatialCatch, plan_catch
from trundle.systems.juggling.throw.policy import PlayThenHold
from trundle.threads import cached_property

_SETTLE = 5e-3
"""Time (s) after the landing at which the regulator takes over."""


@dataclass(frozen=True, eq=False)
class PlannedCatch:
    """A planned throw whose object the hand catches and brings to rest; the throw itself is open loop."""

    pair: RollingPair
    start: Start
    throw: Reference
    tables: JugglingTransfer
    table: CatchTable

    @cached_property
    def planned(self) -> SpatialCatch:
        """The hand's motion."""
        table = self.table
        place = np.asarray(table.contact_on_hand, dtype=np.float64)
        return plan_catch(self.pair, self.start, self.throw, table.flight, place, table.away, table.waits)

    def parts(self, trials: Sequence[Draw]) -> Iterator[Part]:
        """Yield the main run and the trials."""
        yield Part("", lambda share: self.run(None, share), ahead=len(trials))
        yield from trial_parts(stream_trials(self.run, trials), len(trials))

    def run(self, draw: Draw | None, share: PartProgress | None = None) -> Trajectory:
        """Return the run of the model, or of a trial."""
        from trundle.systems.juggling.scenario.metrics import SETTLED, missed_goal

        catch = self.planned
        pair, start = self.pair, self.start
        if draw is not None:
            pair, start = draw.pair, moved_start(draw.pair, self.tables, draw.contact, draw.turn)
        after = add_sensors(regulator(self.pair, catch.standing, self.tables), self.pair, self.tables, draw)

        def ready(t: float, x: FloatArray) -> bool:
            return t > catch.landing + _SETTLE

        policy = PlayThenHold(catch.profile, after, ready, period=self.tables.controller.period)
        hold = self.tables.controller.hold
        run = simulate_part(pair, start, catch.landing + hold, self.tables.simulation, share, policy)
        goal = {"contact_on_hand": list(self.table.contact_on_hand)}
        run = replace(run, metadata=dict(run.metadata) | {"goal": goal, "handed_over": policy.handed_over})
        missed = missed_goal(run, min(hold, SETTLED)) if run.status in (Status.SUCCESS, Status.REST) else ""
        if not missed:
            return run
        return replace(run, status=Status.GOAL_NOT_REACHED, metadata=dict(run.metadata) | {"message": missed})
