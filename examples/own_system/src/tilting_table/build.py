"""Builder of kind `tilting-table`: model, controller, trials and their record, from a checked file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

import trundle as tr
from tilting_table.control import Regulator
from tilting_table.report import is_held
from tilting_table.schema import Balance
from trundle.scenarios import PAIR, Part, PartProgress, Scenario, Start, Variable, View, error_context, make_dataset

OWN = {
    "target_distance": Variable(("time",), "m", "hand", "distance of the contact from its target on the table"),
    "table_tilt": Variable(("time",), "rad", "world", "angle between the table's normal and the vertical"),
}
VIEW = View("tilting-table", {**PAIR.variables, **OWN})


def build(scenario: Scenario) -> Experiment:
    """Return the experiment of a scenario: a main run and trials."""
    tables = cast("Balance", scenario.tables)
    ball, trials = tables.ball, tables.trials
    with error_context("ball", scenario):
        body, table = tr.RigidBody(tr.Sphere(ball.radius), ball.mass), tr.Hand(tr.Plane(), extent=(tables.side,) * 2)
        pair = tr.RollingPair(body, table, friction=ball.friction)
        starts = [pair.place(contact_on_hand=(*ball.position, 0.0))]
    for k in range(trials.count):
        draw = np.random.default_rng([scenario.seed, k]).uniform(-1.0, 1.0, (2, 2))
        place, spin = tables.controller.target + trials.distance * draw[0], trials.angular_velocity * draw[1]
        starts.append(pair.place(contact_on_hand=(*place, 0.0), object_angular_velocity=(*spin, 0.0)))
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
        run = tr.simulate(self.pair, start, duration, output_step=duration / 150, policy=self.policy, progress=progress)
        run = as_record(run, self.tables)
        missed = run.status is tr.Status.SUCCESS and not is_held(run)
        return replace(run, status=tr.Status.GOAL_NOT_REACHED) if missed else run


def as_record(run: tr.Trajectory, tables: Balance) -> tr.Trajectory:
    """Return the run of a pair as a record of this kind."""
    arrays = {name: run[name] for name in PAIR.variables if name in run}
    _, x, y, _ = run["hand_quaternion"].T
    arrays["target_distance"] = np.linalg.norm(run["contact_on_hand"][:, :2] - tables.controller.target, axis=1)
    arrays["table_tilt"] = 2 * np.arcsin(np.minimum(np.hypot(x, y), 1.0))
    known = dict(run.metadata) | {"tolerance": tables.tolerance}
    return replace(run, dataset=make_dataset(VIEW, run.time, arrays), metadata=known)
