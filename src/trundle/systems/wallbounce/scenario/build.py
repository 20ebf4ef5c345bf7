"""Builder of kind `wallbounce`: trials of a robot that balances on a ball and pushes walls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trundle.control.tick import NamedEntry
from trundle.errors import InputError
from trundle.scenarios.engine.building import Part, PartProgress, RecordedStages, error_context
from trundle.scenarios.engine.trials import run_trials
from trundle.scenarios.scenario import Scenario
from trundle.status import Status
from trundle.systems.wallbounce.scenario.checks import MOVED
from trundle.systems.wallbounce.scenario.setup import Setup
from trundle.systems.wallbounce.scenario.trials import QUALITY, SHARES, BalancerOutcome, run_trial

if TYPE_CHECKING:
    from trundle.records import Trajectory

_HANDS = ("left", "right")
_PLANNED = 0.3
"""s, by when both levels have planned."""
_PAIRS = {"implicit": "part of the normal force", "hybrid": "N"}
"""Levels, and the unit of their inputs of a hand and a wall."""
_ARMS = [f"{hand}_{i}" for hand in _HANDS for i in (1, 2, 3)]
_STATES = (
    *(NamedEntry(f"ball.{axis}", "m") for axis in "xy"),
    *(NamedEntry(angle, "rad") for angle in ("yaw", "pitch", "roll")),
    *(NamedEntry(joint, "rad") for joint in _ARMS),
    *(NamedEntry(f"momentum.{axis}", "kg m/s") for axis in "xy"),
    *(NamedEntry(f"angular_momentum.{axis}", "kg m^2/s") for axis in "xyz"),
)
_INPUTS = (
    *(NamedEntry(f"drive.{axis}", "N") for axis in "xy"),
    NamedEntry("yaw_torque", "N m"),
    *(NamedEntry(f"{joint}.rate", "rad/s") for joint in _ARMS),
)


def build(scenario: Scenario) -> TrialsExperiment:
    """Return the experiment of a `wallbounce` scenario."""
    setup = Setup.of(scenario)
    moved = {"off": "controller.rules.off", "far": "controller.rules.far"}
    moved["range"] = "controller.torso_range"
    moved |= {level: f"controller.timing.{level}" for level in ("implicit", "hybrid")}
    with error_context("robot", scenario, moved | MOVED):
        try:
            setup.check()
        except InputError as error:
            if error.key.startswith(("walls[", "obstacles[")):
                raise InputError(error.key, error.value, error.allowed, scenario.file) from None
            raise
    return TrialsExperiment(scenario, setup)


@dataclass(frozen=True, eq=False)
class TrialsExperiment:
    """The trials of a scenario; one of them is the trajectory."""

    scenario: Scenario
    setup: Setup

    def parts(self) -> Iterator[Part]:
        """Yield one part: all trials."""
        yield Part("", self._run)

    def recorded_stages(self) -> dict[str, RecordedStages]:
        """Return both levels' problems with the plans that they have after `_PLANNED` s of the first trial."""
        setup, trial = self.setup, self.setup.trials()[0]
        plant, guide = setup.plant(), setup.guide(trial)
        policy = setup.policy(guide.reference, guide.surroundings)
        plant.plant(setup.start(trial)).run(policy, _PLANNED, sensors=setup.sensors(plant, trial))
        found = {}
        for (name, unit), level in zip(_PAIRS.items(), setup.levels(), strict=True):
            pairs = [f"pair_{i + 1}.{j + 1}" for i in range(level.pairs) for j in range(level.inputs_of_pair)]
            inputs = (*_INPUTS, *(NamedEntry(pair, unit) for pair in pairs))
            found[name] = RecordedStages(level.problem, *level.optimiser.iterate, _STATES, inputs)
        return found

    def _run(self, share: PartProgress | None) -> Trajectory:
        return trajectory(self.setup, run_trials(partial(run_trial, self.setup), self.setup.trials(), share))


def trajectory(setup: Setup, outcomes: list[BalancerOutcome]) -> Trajectory:
    """Return the trajectory of the trial `trials.record` with the results of all trials."""
    from trundle.records import Trajectory, make_dataset, with_trials
    from trundle.systems.wallbounce.scenario.record import VIEW, robot_numbers

    shown = min(setup.tables.trials.record, len(outcomes)) - 1
    run = outcomes[shown].run
    y = run.records["measured"]
    n = len(run.time)
    flat = np.zeros((n, 1))
    arrays = {name: values for name, values in run.records.items() if name in VIEW.variables} | {
        "base_position": np.column_stack([y[:, :2], np.full(n, setup.robot.ball_radius)]),
        "base_velocity": np.column_stack([y[:, 11:13], flat]),
        "base_rpy": y[:, [4, 3, 2]],
        "joint_position": y[:, 5:11],
        "hand_force_measured": y[:, 22:28].reshape(n, 2, 3),
    }
    joints = [f"{side}_{i}" for side in _HANDS for i in (1, 2, 3)]
    dataset = make_dataset(VIEW, run.time, arrays, contacts=_HANDS, joints=joints)
    worst = next((o.run.status for o in outcomes if o.run.status is Status.NOT_FINITE), run.status)
    metadata = {
        "kind": "wallbounce",
        "message": _message(setup, outcomes, shown),
        "shown": shown,
        "plan_quality": _quality(outcomes),
        "robot": robot_numbers(setup.robot),
        "torso_radius": setup.tables.plant.torso_radius,
        "levels": setup.tables.controller.levels,
        "walls": [{"point": wall.point.tolist(), "normal": wall.normal.tolist()} for wall in setup.walls],
        "boxes": [{"half_size": list(box.half_size), "appears": box.appears} for box in setup.obstacles],
        "task": setup.tables.task,
    }
    # The plant's contacts neither pull nor leave their cones: what it did can be done.
    return Trajectory(with_trials(dataset, [outcome.result for outcome in outcomes]), worst, True, metadata)


def _message(setup: Setup, outcomes: list[BalancerOutcome], shown: int) -> str:
    """Return what went wrong, if anything: falls, late and unusable plans, lost measurements."""
    results = [outcome.result for outcome in outcomes]
    late, rejected = sum(one.plans_late for one in results), sum(one.plans_rejected for one in results)
    bad = sum(one.bad_measurements for one in results)
    texts = [outcomes[shown].run.reason] if outcomes[shown].run.reason else []
    others = [o.run.reason for k, o in enumerate(outcomes) if o.run.status is not Status.SUCCESS and k != shown]
    if others:
        texts.append(f"{len(others)} of {len(outcomes) - 1} other trials failed, the first: {others[0]}")
    if late:
        horizon = setup.tables.controller.stages * setup.tables.controller.step
        texts.append(f"plans that came when their {horizon:g} s were over, dropped: {late}")
    if rejected:
        texts.append(f"plans that were not finite, dropped: {rejected}")
    if late or rejected:
        alone = sum(one.without_plan for one in results) * setup.tables.controller.timing.low
        texts.append(f"the low level balanced without a plan for {alone:.3g} s")
    if bad:
        texts.append(f"measurements that were not finite, replaced by the last before: {bad}")
    return "; ".join(texts)


def _quality(outcomes: list[BalancerOutcome]) -> dict[str, dict[str, float | None]]:
    """Return median, 95th percentile and maximum of each measure over all plans of all trials, by level."""
    result: dict[str, dict[str, float | None]] = {}
    for level in ("implicit", "hybrid"):
        result[level] = {}
        for name in QUALITY:
            values = np.concatenate([outcome.quality[level][name] for outcome in outcomes])
            result[level][f"{name}_count"] = float(values.size)
            for share, percent in SHARES.items():
                result[level][f"{name}_{share}"] = float(np.percentile(values, percent)) if values.size else None
    return result
