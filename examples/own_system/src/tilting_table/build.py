"""Builder of kind `tilting-table`: model, controller and trials from a checked file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

import trundle as tr
from tilting_table.control import Regulator
from tilting_table.record import as_record
from tilting_table.report import is_held
from tilting_table.schema import Balance
from trundle.models import Start
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.scenario import Scenario


def build(scenario: Scenario) -> Experiment:
    """Return the experiment of a scenario: a main run and trials."""
    tables = cast("Balance", scenario.tables)
    ball, trials = tables.ball, tables.trials
    with error_context("ball", scenario):
        body, table = tr.RigidBody(tr.Sphere(ball.radius), ball.mass), tr.Hand(tr.Plane(), extent=(tables.side,) * 2)
        pair = tr.RollingPair(body, table, friction=ball.friction)
        starts = [pair.place(contact_on_hand=(*ball.position, 0.0))]
    for k in range(trials.count):
        x, y, wx, wy = np.random.default_rng([scenario.seed, k]).uniform(-1.0, 1.0, 4)
        place = np.add(tables.controller.target, (trials.distance * x, trials.distance * y))
        spin = (trials.angular_velocity * wx, trials.angular_velocity * wy, 0.0)
        starts.append(pair.place(contact_on_hand=(*place, 0.0), object_angular_velocity=spin))
    return Experiment(tables, pair, Regulator(pair, tables.controller), starts)


@dataclass(frozen=True)
class Experiment:
    """The main run, from the first start, and a trial from each of the others."""

    tables: Balance
    pair: tr.RollingPair
    policy: Regulator
    starts: list[Start]

    def parts(self) -> Iterator[Part]:
        """Yield the main run and the trials."""
        for k, start in enumerate(self.starts):
            yield Part(f"trial-{k}" if k else "", lambda share, start=start: self._run(start, share))

    def _run(self, start: Start, share: PartProgress | None) -> tr.Trajectory:
        duration = self.tables.duration
        progress = (lambda t: share(t / duration)) if share else None
        run = tr.simulate(self.pair, start, duration, output_step=0.02, policy=self.policy, progress=progress)
        run = as_record(run, self.tables)
        missed = run.status is tr.Status.SUCCESS and not is_held(run)
        return replace(run, status=tr.Status.GOAL_NOT_REACHED) if missed else run
