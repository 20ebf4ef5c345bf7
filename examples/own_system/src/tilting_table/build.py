"""Builder of kind `tilting-table`: model, controller, and the trials, from a checked file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import trundle as tr
from tilting_table.control import Regulator
from tilting_table.record import as_record
from tilting_table.report import held
from tilting_table.schema import BallBalance
from trundle.models import Start
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.scenario import Scenario


def build(scenario: Scenario) -> Experiment:
    """Return the experiment of a scenario: the main run, and its trials."""
    tables = scenario.tables
    if not isinstance(tables, BallBalance):
        raise TypeError("not a scenario of kind tilting-table")
    with error_context("ball", scenario, {"friction": "table.friction"}):
        body = tr.RigidBody(tr.Sphere(tables.ball.radius), mass=tables.ball.mass)
        pair = tr.RollingPair(body, tr.Hand(tr.Plane(), extent=(tables.table.side,) * 2), friction=tables.table.friction)
    weights = tables.controller
    errors = {
        "hand_rotation": weights.tilt,
        "contact": weights.position,
        "hand_angular_velocity": weights.tilt_rate,
        "relative_velocity": weights.velocity,
    }
    goal = pair.place(contact_on_hand=(*tables.target, 0.0))
    limit = tables.table.angular_acceleration
    policy = Regulator(pair, goal, errors, weights.acceleration, limit, weights.period)
    starts = [pair.place(contact_on_hand=(*tables.start, 0.0))]
    for k in range(tables.trials.count):
        rng = np.random.default_rng([scenario.seed, k])
        place = tables.target + rng.uniform(-1, 1, 2) * tables.trials.position
        spin = rng.uniform(-1, 1, 2) * tables.trials.angular_velocity
        starts.append(pair.place(contact_on_hand=(*place, 0.0), object_angular_velocity=(*spin, 0.0)))
    return Experiment(tables, pair, policy, tuple(starts))


@dataclass(frozen=True)
class Experiment:
    """The main run, from the first start, and a trial from each of the others."""

    tables: BallBalance
    pair: tr.RollingPair
    policy: Regulator
    starts: tuple[Start, ...]

    def regulator(self) -> Regulator:
        """Return the controller, for `trundle export`."""
        return self.policy

    def parts(self) -> Iterator[Part]:
        """Yield the main run and the trials."""
        for k, start in enumerate(self.starts):
            yield Part(f"trial-{k}" if k else "", lambda share, start=start: self._run(start, share))

    def _run(self, start: Start, share: PartProgress | None) -> tr.Trajectory:
        table = self.tables.simulation
        run = tr.simulate(
            self.pair,
            start,
            table.duration,
            output_step=min(table.output_step, table.duration),
            policy=self.policy,
            progress=(lambda t: share(t / table.duration)) if share else None,
        )
        run = as_record(run, self.tables.target, table.tolerance)
        missed = run.status is tr.Status.SUCCESS and not held(run)
        return replace(run, status=tr.Status.GOAL_NOT_REACHED) if missed else run
