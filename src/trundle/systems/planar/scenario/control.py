"""Builder of kind `planar`, task `track`: a tree of bodies under sampled inverse dynamics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trundle.checks import FloatArray
from trundle.control import Actuated, InverseDynamics, InverseDynamicsPolicy
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.errors import InputError
from trundle.interrupts import hold_interrupts
from trundle.models import RollingTree, Start
from trundle.models.tree.model import TreeModel
from trundle.scenarios.engine.building import Part, PartProgress, data, error_context, name_data_file
from trundle.scenarios.faults import guard_policy
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.simulate import simulate
from trundle.simulate.wrappers import Delayed, Noisy
from trundle.status import Status
from trundle.systems.planar.plant_error import PlantError
from trundle.systems.planar.scenario.build import settings
from trundle.systems.planar.scenario.estimates import record_estimates
from trundle.systems.planar.scenario.metrics import missed_goals
from trundle.systems.planar.scenario.planned import Planned, plan_tasks
from trundle.systems.planar.scenario.program import ControlProgram, quantity_of, torque_bounds
from trundle.systems.planar.scenario.schema_control import (
    GOAL,
    PlanarNoiseTable,
    PlanarTrack,
    PlannedReferenceTable,
    ReferenceTable,
    SampledReferenceTable,
)
from trundle.systems.planar.scenario.tree import build_tree, start_of
from trundle.systems.planar.signals import Constant, Sampled, Signal
from trundle.systems.planar.state_adapter import ModelStateAdapter
from trundle.threads import cached_property

if TYPE_CHECKING:
    from trundle.records import Policy, Trajectory

_TOLD = ("name", "type", "body", "axis", "relative_to", "kp", "kd", "tolerance", "active", "contacts")
"""Keys of a task that the record keeps."""


def build(scenario: Scenario) -> TrackExperiment:
    """Return the experiment of a scenario of task `track`, its controller compiled."""
    tree, start = build_tree(scenario)
    work = TrackExperiment(scenario, tree, start)
    if not work.has_plan:  # that is made when the run begins
        _ = work.signals
    with error_context("controller", scenario):
        _ = work.controller
    _ = work.plant
    return work


@dataclass(frozen=True)
class TrackExperiment:
    """A robot, its start and the tables of its controller."""

    scenario: Scenario
    tree: RollingTree
    start: Start

    @property
    def tables(self) -> PlanarTrack:
        """The scenario's tables."""
        return self.scenario.read(PlanarTrack)

    def parts(self) -> Iterator[Part]:
        """Yield the controlled run as the only part."""
        yield Part("", self._run)

    def _run(self, share: PartProgress | None) -> Trajectory:
        tables = self.tables
        length = tables.simulation.duration
        progress = (lambda t: share(t / length)) if share else None
        inner = None if self.controller is None else self._make_policy(self.controller)
        policy = None if inner is None else self._wrap_policy(inner)
        plant, start = self.plant
        with hold_interrupts():
            run = simulate(plant, start, **settings(tables), policy=policy, progress=progress)
            run = replace(run, metadata=dict(run.metadata) | {"control": self._describe_controller(inner)})
            if inner is not None and self.program.estimator is not None and self.program.estimator.log:
                run = record_estimates(run, self.program.estimator.log)
            return run if inner is None else _judge_ending(run, inner.statuses)

    @cached_property
    def plant(self) -> tuple[RollingTree, Start]:
        """The simulated robot with its errors, and its start: the pose of [initial], closed onto the plant's ground."""
        table = self.tables.plant
        values = table.values()
        if table.terrain is not None:
            values["terrain"] = shape_of(self.scenario, table.terrain, "plant.terrain")
        error = PlantError(**values)
        if error == PlantError():
            return self.tree, self.start
        moved = {name: f"plant.{key}" for key, name in table.names().items()}
        with error_context("plant", self.scenario, moved | {"base": "plant.terrain", "contact": "plant.terrain"}):
            plant = error.of(self.tree)
        return plant, self._close_start(plant) if error.geometric else self.start

    def _close_start(self, plant: RollingTree) -> Start:
        """Return the start on the plant's ground; an error names the body that does not fit, and what changed it."""
        table = self.tables.plant
        place = "terrain" if table.terrain is not None else "curve_size" if table.curve_size else "center_of_mass"
        try:
            return start_of(self.scenario, plant, "plant")
        except InputError as error:
            body = error.key.removeprefix("plant.")
            if body == error.key or body not in {part.name for part in plant.parts}:
                raise
            raise InputError(f"plant.{place}", f"{body}: {error.value}", error.allowed, error.file) from None

    # the controller -------------------------------------------------------------------------------------

    @cached_property
    def program(self) -> ControlProgram:
        """What the controller computes, compiled."""
        return ControlProgram.of(self.tree, self.start.atlas, self.tables, self.scenario.seed)

    @property
    def controller(self) -> InverseDynamics | None:
        """The compiled controller; None if it is not enabled."""
        return self.program.controller if self.tables.controller.enabled else None

    def regulator(self) -> Policy | None:
        """Return the controller, for export; None if it is not enabled."""
        return None if self.controller is None else self._make_policy(self.controller)

    def _make_policy(self, controller: InverseDynamics) -> InverseDynamicsPolicy:
        table = self.tables.controller
        late = self.tables.noise.contact_delay
        program, signals = self.program, follow(self.signals)
        finder = None if program.estimator else ContactFinder(self.tree.system, self.start.atlas)
        parts = {"integral": program.integral, "slip": program.slip, "estimator": program.estimator}
        return InverseDynamicsPolicy(controller, signals, table.period, table.fallback, finder, late, **parts)

    @cached_property
    def signals(self) -> list[Signal]:
        """The reference signal of each task."""
        if self.planned is not None:
            return list(self.planned.signals)
        given = self.tables.reference
        return [self._signal(task.name, given.get(task.name)) for task in self.tables.controller.tasks]

    @property
    def has_plan(self) -> bool:
        """Whether the references are planned."""
        return any(isinstance(one, PlannedReferenceTable) for one in self.tables.reference.values())

    @cached_property
    def planned(self) -> Planned | None:
        """The plan that the tasks follow, if their references are planned."""
        table, model = self.tables.controller, self.program.model
        given = [self.tables.reference.get(task.name) for task in table.tasks]
        goals = [one.goals for one in given if isinstance(one, PlannedReferenceTable)]
        if not goals:
            return None
        quantities = [quantity_of(self.tree, model, task) for task in table.tasks]
        laws = self.start.laws or (self.tree.law,) * len(model.constraints)
        limits = torque_bounds(table, model), table.normal_force_min
        with error_context("plan", self.scenario, {"controller.tasks": "controller.tasks"}):
            return plan_tasks(model, self.start, laws, quantities, np.transpose(goals), *limits, self.tables.plan)

    def _signal(self, name: str, table: ReferenceTable | None) -> Signal:
        if table is None or isinstance(table, PlannedReferenceTable):
            return Constant()
        if not isinstance(table, SampledReferenceTable):
            return table.make()
        key = f"reference.{name}.file"
        with name_data_file(key, table.file, self.scenario):
            t, y = data(self.scenario, key, table.file, ("time", "value")).T
            return Sampled(t.tolist(), y.tolist())

    def _wrap_policy(self, policy: Policy) -> Policy:
        """Return the policy with the noise of its sensors, its delay, and the errors of the drives."""
        noise, table, size = self.tables.noise, self.tables.plant, len(self.program.model.driven)
        policy = guard_policy(policy, size, self.tables, self.scenario.seed)
        deviation = deviations(self.program.model, noise)
        if np.any(deviation):
            policy = Noisy(policy, deviation, self.scenario.seed)
        if self.plant[0] is not self.tree:
            policy = ModelStateAdapter(policy, self.tree, self.plant[0])
        if noise.delay:
            policy = Delayed(policy, noise.delay, np.zeros(size))
        drives = {"gain": table.actuator_gain, "bias": table.actuator_bias, "limit": table.actuator_limit}
        if drives == {"gain": 1.0, "bias": 0.0, "limit": None}:
            return policy
        return Actuated(policy, size, **drives)

    def _describe_controller(self, policy: InverseDynamicsPolicy | None) -> dict[str, Any]:
        """Return what metrics and figures need to know of the controller."""
        table = self.tables.controller
        offsets = self.tables.plant.center_of_mass
        coms = {b.name: np.add(b.center_of_mass, offsets.get(b.name, (0.0, 0.0))) for b in self.tables.bodies or ()}
        tasks = []
        first = min(task.level for task in table.tasks)
        for task, follows in zip(table.tasks, self.signals, strict=True):
            entry = {key: getattr(task, key) for key in _TOLD}
            if task.tolerance is None and task.kp > 0 and task.level == first and follows.has_goal:
                entry["tolerance"] = GOAL
            entry["arm"] = (np.array(task.point) - coms[task.body]).tolist()
            if task.relative_to is not None:
                entry["relative_arm"] = (np.array(task.relative_point) - coms[task.relative_to]).tolist()
            tasks.append(
                {key: value for key, value in entry.items() if value is not None} | {"reference": follows.table()}
            )
        statuses = {} if policy is None else {status.label: n for status, n in policy.statuses.items()}
        unchangeable = {} if policy is None else {"unchangeable": dict(policy.unchangeable)}
        plan = self.planned
        planned = {} if plan is None else {"plan": {"reached": plan.reached, "iterations": plan.iterations}}
        slides = [name for name in self.program.model.joints if not self.program.model.turns(name)]
        return {
            "tasks": tasks,
            "slides": slides,
            "enabled": table.enabled,
            "solver": table.solver,
            "statuses": statuses,
            **unchangeable,
            **planned,
            **self._describe_slip(),
        }

    def _describe_slip(self) -> dict[str, Any]:
        """Return in how many calls the controller found slip, and the friction that it believes in at the end."""
        monitor = self.program.slip if self.tables.controller.enabled else None
        if monitor is None:
            return {}
        names = [one.name for one in self.program.model.constraints]
        return {"slip": {"ticks": monitor.ticks, "friction": dict(zip(names, monitor.friction.tolist(), strict=True))}}


def follow(signals: list[Signal]) -> Callable[[float], list[float]]:
    """Return the function from time to the controller's reference: value, rate, acceleration of each task."""
    if all(isinstance(one, Constant) for one in signals):
        fixed = [float(value) for one in signals for value in one.at(0.0)]
        return lambda time: fixed
    return lambda time: [float(value) for one in signals for value in one.at(time)]


def deviations(model: TreeModel, noise: PlanarNoiseTable) -> FloatArray:
    """Return the standard deviation (n_x,) of every measured state; contact coordinates are not measured."""
    sigma = np.zeros(model.x.shape[0])
    slides = {name for name in model.joints if not model.turns(name)}
    of: Mapping[str, float] = {
        "position": noise.position,
        "turn": noise.angle,
        "velocity": noise.velocity,
        "angular_velocity": noise.angular_velocity,
    }
    for key, where in model.layout.items():
        name, _, quantity = key.rpartition(".")
        if quantity in ("joint", "rate"):
            linear = (noise.position, noise.velocity) if name in slides else (noise.angle, noise.angular_velocity)
            sigma[where] = linear[quantity == "rate"]
        else:
            sigma[where] = of.get(quantity, 0.0)
    return sigma


def _judge_ending(run: Trajectory, commands: Counter[Status]) -> Trajectory:
    """Return the run; no success if most calls gave no usable command, or if a task is not at its goal."""
    if run.status is not Status.SUCCESS:
        return run
    lost = Counter({s: n for s, n in commands.items() if s not in (Status.SUCCESS, Status.LIMITS_RELAXED)})
    if 2 * sum(lost.values()) > sum(commands.values()):
        return replace(run, status=lost.most_common(1)[0][0])
    missed = missed_goals(run)
    if not missed:
        return run
    return replace(run, status=Status.GOAL_NOT_REACHED, metadata=dict(run.metadata) | {"message": missed})
