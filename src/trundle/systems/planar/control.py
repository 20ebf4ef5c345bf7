"""Builder of kind `planar`, task `track`: a tree of bodies under sampled inverse dynamics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.control import Actuated, InverseDynamics, InverseDynamicsPolicy, Limit, MotionQuantity, Task
from trundle.control.inverse_dynamics import tasks as tk
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.control.inverse_dynamics.signals import Constant, Signal
from trundle.control.inverse_dynamics.state_adapter import ModelStateAdapter
from trundle.errors import InputError
from trundle.interrupts import held
from trundle.models import RollingTree, Start
from trundle.models.plant_error import PlantError
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import Terms
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.simulate import simulate
from trundle.simulate.wrappers import Delayed, Noisy
from trundle.status import Status
from trundle.systems.planar.build import settings
from trundle.systems.planar.metrics import missed_goals
from trundle.systems.planar.schema_control import GOAL, PlanarControllerTable, PlanarNoiseTable, PlanarTrack, TaskTable
from trundle.systems.planar.tree import build_tree, start_of
from trundle.threads import cached_property

if TYPE_CHECKING:
    from trundle.records import Policy, Trajectory

SHARED = 1e-3
"""Compliance of a body's second contact, times the mass: the constraints of two contacts of a body are redundant."""


_TOLD = ("name", "type", "body", "axis", "relative_to", "kp", "kd", "tolerance", "active", "contacts")
"""Keys of a task that the record keeps."""


def build(scenario: Scenario) -> TrackExperiment:
    """Return the experiment of a scenario of task `track`, its controller compiled."""
    tree, start = build_tree(scenario)
    work = TrackExperiment(scenario, tree, start)
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
        inner = None if self.controller is None else self._sampled(self.controller)
        policy = None if inner is None else self._wrapped(inner)
        plant, start = self.plant
        with held():
            run = simulate(plant, start, **settings(tables), policy=policy, progress=progress)
            run = replace(run, metadata=dict(run.metadata) | {"control": self._described(inner)})
            return run if inner is None else _ended(run, inner.statuses)

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
        return plant, self._closed(plant) if error.geometric else self.start

    def _closed(self, plant: RollingTree) -> Start:
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
    def controller(self) -> InverseDynamics | None:
        """The compiled controller; None if it is not enabled."""
        table = self.tables.controller
        if not table.enabled:
            return None
        model = self._model
        driven = Contacts(model, model.terms([LAWS[self.tree.law]] * len(model.constraints)), self.tree.system.pairs)
        reference = ca.SX.sym("reference", 3 * len(table.tasks))
        last = ca.SX.sym("last", model.u.shape[0]) if table.torque_rate_limit else None
        wishes = []
        for i, task in enumerate(table.tasks):
            wish = task_of(self.tree, model, task, reference[3 * i : 3 * i + 3])
            wishes.append(replace(wish, weight=task.weight * driven.while_(task.active, task.contacts)))
        return InverseDynamics(
            driven,
            wishes + _secondary(table, driven),
            self._limits(driven, last),
            reference=reference,
            last=last,
            touching=driven.touching,
            compliance=driven.compliance,
            baumgarte=table.baumgarte,
            form=table.form,
            solver=table.solver,
            damping=table.damping,
        )

    @cached_property
    def _model(self) -> TreeModel:
        """The controller's model: the nominal robot, with the share of the friction that it may use."""
        share = self.tables.controller.friction_share
        believed = self.tree if share == 1.0 else self.tree.scaled(friction=share)
        return believed.system.model(self.start.atlas)

    def _limits(self, driven: Contacts, last: ca.SX | None) -> list[Limit]:
        table, terms = self.tables.controller, driven.terms
        limits: list[Limit] = []
        bounds = [table.torque_limits.get(name, table.torque_limit or np.inf) for name in self._model.driven]
        if np.any(np.isfinite(bounds)):
            limits.append(tk.torque_limit(np.array(bounds)))
        if last is not None and table.torque_rate_limit is not None:
            limits.append(tk.torque_rate_limit(table.torque_rate_limit, table.period, last))
        if table.cone:
            cones = {"minimum": table.normal_force_min, "price": table.friction_price, "touching": driven.touching}
            limits += tk.contact_limits(self._model.constraints, terms.kin, terms.split, **cones)
        return limits

    def _sampled(self, controller: InverseDynamics) -> InverseDynamicsPolicy:
        table = self.tables.controller
        finder = ContactFinder(self.tree.system, self.start.atlas)
        late = self.tables.noise.contact_delay
        return InverseDynamicsPolicy(controller, follow(self.signals), table.period, table.fallback, finder, late)

    @property
    def signals(self) -> list[Signal]:
        """The reference signal of each task."""
        given = self.tables.reference
        return [given[task.name].make() if task.name in given else Constant() for task in self.tables.controller.tasks]

    def _wrapped(self, policy: Policy) -> Policy:
        """Return the policy with the noise of its sensors, its delay, and the errors of the drives."""
        noise, table, size = self.tables.noise, self.tables.plant, len(self._model.driven)
        deviation = deviations(self._model, noise)
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

    def _described(self, policy: InverseDynamicsPolicy | None) -> dict[str, Any]:
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
        slides = [name for name in self._model.joints if not self._model.turns(name)]
        return {
            "tasks": tasks,
            "slides": slides,
            "enabled": table.enabled,
            "solver": table.solver,
            "statuses": statuses,
        }


class Contacts:
    """A model with all its contacts and a symbol for each that says whether it touches: input of `InverseDynamics`.

    Attributes
    ----------
    x, u : (n_x,), (n_u,)
    terms : Terms
    touching : (contacts,) symbols
    compliance : (contacts,) 1/kg
        Positive for a body's second contact, whose rows depend on those of the first; else 0.
    """

    def __init__(self, model: TreeModel, terms: Terms, pairs: Sequence[Sequence[int]]) -> None:
        self.x, self.u, self.terms = model.x, model.u, terms
        self.names = [joined.name for joined in model.constraints]
        self.touching = ca.SX.sym("touching", len(self.names))
        mass = sum(body.mass for body in model.bodies)
        self.compliance = [0.0] * len(self.names)
        self.bodies = [""] * len(self.names)
        for numbers in pairs:
            for i in numbers:
                self.bodies[i] = self.names[numbers[0]]
                self.compliance[i] = 0.0 if i == numbers[0] else SHARED / mass

    def while_(self, active: str, contacts: Sequence[str] | None) -> float | ca.SX:
        """Return 1 while a task is active, else 0; see `active` and `contacts` of [[controller.tasks]]."""
        if active == "always":
            return 1.0
        asked = [i for i, name in enumerate(self.bodies) if contacts is None or name in contacts]
        apart = ca.SX(1)
        for i in asked:
            apart *= 1 - self.touching[i]
        return apart if active == "apart" else 1 - apart


def follow(signals: list[Signal]) -> Callable[[float], list[float]]:
    """Return the function from time to the controller's reference: value, rate, acceleration of each task."""
    if all(isinstance(one, Constant) for one in signals):
        fixed = [float(value) for one in signals for value in one.at(0.0)]
        return lambda time: fixed
    return lambda time: [float(value) for one in signals for value in one.at(time)]


def task_of(tree: RollingTree, model: TreeModel, table: TaskTable, reference: ca.SX) -> Task:
    """Return the task of a table [[controller.tasks]] that follows `reference` (3,): value, rate, acceleration."""
    quantity = _quantity(tree, model, table.type, table.body, table.axis, table.point)
    if table.relative_to is not None:
        quantity -= _quantity(tree, model, table.type, table.relative_to, table.axis, table.relative_point)
    value, rate, acceleration = ca.vertsplit(reference)
    gains = {"kp": table.kp, "kd": table.kd, "weight": table.weight, "level": table.level}
    return quantity.tracking(table.name, value, rate, acceleration, **gains)


def _quantity(
    tree: RollingTree, model: TreeModel, kind: str, body: str, axis: str, point: Sequence[float]
) -> MotionQuantity:
    motion = model.motions[body]
    if kind == "position":
        at = np.add(tree.origins[body], point)
        return tk.position(motion, at.tolist(), axes=[[1.0, 0.0]] if axis == "x" else [[0.0, 1.0]])
    if kind == "angle":
        return tk.angle(motion, model.angle(body))
    row = np.zeros((1, model.nv))
    row[0, model.columns[body]] = 1.0
    place, rate = (model.x[model.layout[f"{body}.{name}"]] for name in ("joint", "rate"))
    return tk.joints(ca.SX(ca.DM(row)), place, rate)


def _secondary(table: PlanarControllerTable, driven: Contacts) -> list[Task]:
    """Return the tasks of the last level, which determine forces and torques that no other task determines."""
    terms = driven.terms
    level = 1 + max(task.level for task in table.tasks)
    frames, columns, size = [k.frame for k in terms.kin], terms.split, terms.J.shape[0]
    if table.secondary == "torques":
        return [tk.smallest_torques(terms.S.shape[1], level=level)]
    if table.secondary == "tangential-forces" and frames:
        return [tk.smallest_tangential_forces(frames, columns, size, level=level)]
    if table.secondary == "equal-forces" and len(frames) > 1:
        return [tk.equal_normal_forces(frames, columns, size, level=level, touching=driven.touching)]
    return []


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


def _ended(run: Trajectory, commands: Counter[Status]) -> Trajectory:
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
