"""Scenario files of kind `planar` that are controlled: task `track`, inverse dynamics of a tree of bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import le
from typing import Annotated, Literal

from pydantic import Field

from trundle.control import Task
from trundle.control.inverse_dynamics import SlipSensing
from trundle.scenarios.faults import ControlledTable
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    DataFile,
    Delay,
    Factor,
    NonNegative,
    Period,
    Positive,
    PositiveFraction,
    Real,
    Table,
    Vector2,
    fault,
    require_order,
    table_of,
)
from trundle.scenarios.schema_shapes import FILE, FileName, GroundCurve
from trundle.systems.planar.plant_error import PlantError
from trundle.systems.planar.rolling_estimator import RollingSensors
from trundle.systems.planar.scenario.schema import LinkTable, Name, Named, PlanarTable
from trundle.systems.planar.signals import Constant, Ramp, SecondOrder, Sine

Factors = Annotated[dict[str, Factor], Allowed("a table of factors > 0, at most 100, by the bodies' names")]
Offsets = Annotated[dict[str, Vector2], Allowed("a table of points [x, z] (m) by the bodies' names")]
GOAL = 0.1
"""Largest error (m, rad) at the end, unless a task says otherwise."""
Level = Annotated[int, Field(ge=0, le=20), Allowed("an integer from 0 to 20")]


class TaskTable(table_of(Task, ["weight", "level"], narrower={"weight": NonNegative, "level": Level})):
    """A task: acceleration = reference acceleration + kp (reference - value) + kd (reference rate - rate)."""

    name: Name = Field(description="of the task and of its [reference]")
    type: Literal["position", "angle", "joint"] = Field(
        description="position of a point along an axis (m), angle of a body (rad), or its joint's position (rad, m)"
    )
    body: Name = Field(description="the body that the task moves")
    axis: Literal["x", "z"] = Field(default="x", description="of a position")
    point: Vector2 = Field(default=(0.0, 0.0), description="m, of a position, in the body's frame")
    relative_to: Name | None = Field(default=None, description="a body whose value is subtracted; left out: the world")
    relative_point: Vector2 = Field(default=(0.0, 0.0), description="m, of a position, in that body's frame")
    kp: NonNegative = Field(default=0.0, description="1/s^2; 0: only the rate is followed")
    kd: NonNegative = Field(default=0.0, description="1/s")
    ki: NonNegative = Field(default=0.0, description="1/s^3, of the integral of the error; 1/s^2 where kp = 0")
    ki_bound: Positive = Field(default=10.0, description="m/s^2 (rad/s^2), most that the integral adds")
    tolerance: Positive | None = Field(
        default=None,
        description="m or rad (m/s, rad/s where a rate alone is followed), largest error over the last tenth of a run "
        f"that succeeds; left out: {GOAL:g} for a first-level task with a goal, else none",
    )
    active: Literal["always", "touching", "apart"] = Field(
        default="always", description="always, while any of `contacts` touches the terrain, or while none of them does"
    )
    contacts: Annotated[tuple[Name, ...] | None, Array, Allowed("a list of names of bodies that have a curve")] = Field(
        default=None, description="bodies whose contact `active` depends on; left out: all that have a curve"
    )

    def _check(self) -> None:
        for key in ("axis", "point", "relative_point"):
            if self.type != "position" and getattr(self, key) != type(self).model_fields[key].default:
                raise fault(key, "must be left out: it belongs to a task of type 'position'")
        if self.type == "joint" and self.relative_to is not None:
            raise fault("relative_to", "must be left out for a task of type 'joint'")
        if self.contacts is not None and (self.active == "always" or not self.contacts):
            raise fault("contacts", "must be left out, or given (not empty) beside active = 'touching' or 'apart'")


class SlipTable(table_of(SlipSensing)):
    """Slip that the controller senses; left out: it takes all contacts that touch for rolling ones."""

    enabled: bool = Field(default=True, description="false: slip is not sensed")


class PlanarControllerTable(Table):
    """Sampled inverse dynamics: one quadratic program per period, whose torques are held until the next."""

    enabled: bool = Field(default=True, description="false: no torques, for comparison")
    period: Period = Field(default=0.01, description="s, between two calls")
    tasks: Annotated[
        tuple[TaskTable, ...], Array, Field(min_length=1, max_length=64), Allowed("1 to 64 tables [[controller.tasks]]")
    ] = Field(description="the tasks that the controller tracks")
    torque_limit: Positive | None = Field(default=None, description="N m (N of a slide), of every joint")
    torque_limits: Named = Field(default={}, description="N m (N), by the bodies' names, instead of torque_limit")
    torque_rate_limit: Positive | None = Field(default=None, description="N m/s, of every joint")
    cone: bool = Field(default=True, description="whether contact forces are kept in the friction cone")
    friction_share: PositiveFraction = Field(
        default=1.0, description="part of the coefficient of friction that may be used"
    )
    normal_force_min: NonNegative = Field(default=0.0, description="N, least normal force of every contact")
    friction_price: Positive | None = Field(
        default=None,
        description="1/N^2, weight of leaving the friction cone where no torques keep it; left out: a hard limit",
    )
    slip: SlipTable | None = Field(default=None, description="how slip is sensed and met; left out: it is not")
    secondary: Literal["damping", "torques", "tangential-forces", "equal-forces"] = Field(
        default="damping", description="what fixes forces that no task fixes; all but damping add a level of tasks"
    )
    damping: Positive = Field(default=1e-8, description="weight of the squared unknowns of the program")
    baumgarte: NonNegative = Field(default=0.0, description="1/s, feedback of slip and gap in the program's rows")
    form: Literal["torque", "force", "full"] = Field(default="torque", description="unknowns of the program")
    solver: Literal["daqp", "proxqp", "piqp"] = Field(default="daqp", description="of the quadratic program")
    fallback: Literal["hold", "let-go"] = Field(
        default="hold", description="torques where the program has no solution: the last good ones, or none"
    )


class ConstantTable(table_of(Constant, tag="constant")):
    """A constant."""


class RampTable(table_of(Ramp, tag="ramp")):
    """Start + rate t: a constant velocity."""


class SineTable(table_of(Sine, tag="sinusoid")):
    """Mean + amplitude sin(2 pi frequency t + phase)."""


class SecondOrderTable(table_of(SecondOrder, tag="second-order")):
    """The linear response y'' = kp (goal - y) - kd y' from `start`, `start_rate`."""


class SampledReferenceTable(Table):
    """The spline through the samples of a CSV file; before and after them their first and last value."""

    type: Literal["samples"]
    file: Annotated[FileName, FILE, DataFile("t, value")] = Field(
        description="CSV: time (s), value in the task's unit; two rows or more, time increasing"
    )


class PlannedReferenceTable(Table):
    """From the start to goals, at rest at each, as [plan] finds it; of all tasks or of none."""

    type: Literal["planned"]
    goals: Annotated[
        tuple[Real, ...], Array, Field(min_length=1, max_length=20), Allowed("1 to 20 numbers (m or rad)")
    ] = Field(description="m or rad, values of the task, one after another; as many for every task")


class ReferencePlanTable(Table):
    """Settings of the plan that makes references of type `planned`: durations are free, torques and cones bounded."""

    duration: Annotated[tuple[Positive, Positive], Array, require_order(le), Allowed("[shortest, longest] > 0 (s)")] = (
        Field(default=(1.0, 10.0), description="s, shortest and longest duration from one goal to the next")
    )
    nodes: Annotated[int, Field(ge=4, le=1000), Allowed("an integer from 4 to 1000")] = Field(
        default=40, description="intervals of the collocation from one goal to the next"
    )
    share: PositiveFraction = Field(
        default=0.9, description="part of torque limits and of the controller's friction that the plan may use"
    )


ReferenceTable = Annotated[
    ConstantTable | RampTable | SineTable | SecondOrderTable | SampledReferenceTable | PlannedReferenceTable,
    Field(discriminator="type"),
]
References = Annotated[
    dict[str, ReferenceTable],
    Allowed(
        "a table by the tasks' names of tables with `type` one of "
        "'constant', 'planned', 'ramp', 'samples', 'second-order', 'sinusoid'"
    ),
]


class PlanarNoiseTable(Table):
    """Gaussian noise of the measured state, drawn with the seed, and delays of the controller."""

    position: NonNegative = Field(default=0.0, description="m, sigma, of bodies without parent and slides")
    angle: NonNegative = Field(default=0.0, description="rad, sigma, of bodies without parent and hinges")
    velocity: NonNegative = Field(default=0.0, description="m/s, sigma")
    angular_velocity: NonNegative = Field(default=0.0, description="rad/s, sigma")
    delay: Delay = Field(default=0.0, description="s, from measurement to torque")
    contact_delay: Delay = Field(
        default=0.0, description="s, delay with which the controller learns which bodies touch the terrain"
    )


class EstimatorTable(table_of(RollingSensors)):
    """Encoders and an inertial unit, from whose readings the controller estimates the state; left out: it knows it."""

    enabled: bool = Field(default=True, description="false: the controller knows the state, with [noise]")
    body: Name | None = Field(
        default=None, description="that has the unit, at its centre of mass; left out: the first without a parent"
    )


PLANT = {name: name for name in ("mass", "inertia", "friction", "center_of_mass", "terrain")}
PLANT |= {"curve_size": "size", "joint_damping": "damping", "joint_friction": "dry_friction"}
_PLANT = dict.fromkeys(("mass", "inertia", "friction"), Factor)
_PLANT |= {"center_of_mass": Offsets, "curve_size": Factors, "terrain": GroundCurve}


class PlantErrorTable(table_of(PlantError, PLANT, narrower=_PLANT)):
    """Differences of the simulated robot and its ground from the controller's model."""

    actuator_gain: Factor = Field(default=1.0, description="of every torque")
    actuator_bias: Real = Field(default=0.0, description="N m (N), added to every torque, after its limit")
    actuator_limit: Positive | None = Field(default=None, description="N m (N), largest torque (force) of a drive")


class PlanarTrack(PlanarTable, ControlledTable):
    """A scenario of kind `planar`, task `track`: a tree of bodies follows references by inverse dynamics."""

    task: Literal["track"]
    controller: PlanarControllerTable
    reference: References = Field(default={}, description="by the tasks' names; left out: the constant 0")
    plan: ReferencePlanTable = ReferencePlanTable()
    noise: PlanarNoiseTable = PlanarNoiseTable()
    estimator: EstimatorTable | None = Field(default=None, description="left out: the state is known, with [noise]")
    plant: PlantErrorTable = PlantErrorTable()

    def _check(self) -> None:
        super()._check()
        if not self.bodies:
            raise fault("bodies", "must be given: a controlled robot is a tree of [[bodies]]")
        known = {body.name: body for body in self.bodies}
        seen: set[str] = set()
        for i, task in enumerate(self.controller.tasks):
            key = f"controller.tasks[{i}]"
            if task.name in seen:
                raise fault(f"{key}.name", "must be a name no other task has")
            seen.add(task.name)
            for name, value in (("body", task.body), ("relative_to", task.relative_to)):
                if value is not None and value not in known:
                    raise fault(f"{key}.{name}", "must be one of " + _list_names(known))
            for name in task.contacts or ():
                if name not in known or known[name].curve is None:
                    raise fault(f"{key}.contacts", "must be one of " + _list_names(_list_curved_shapes(known)))
            if task.type == "joint" and known[task.body].parent is None:
                raise fault(f"{key}.body", "must be a body with a parent: it has no joint")
        self._check_references(seen)
        self._check_estimator(known)
        for name in self.plant.center_of_mass:
            if name not in known:
                raise fault(f"plant.center_of_mass.{name}", "must belong to one of " + _list_names(known))
        for name in self.plant.curve_size:
            if name not in known or known[name].curve is None:
                raise fault(
                    f"plant.curve_size.{name}", "must belong to one of " + _list_names(_list_curved_shapes(known))
                )
        driven = [name for name, body in known.items() if body.driven]
        if not driven:
            raise fault("bodies", "must have a joint that is actuated, or an actuated body without parent")
        for name, value in self.controller.torque_limits.items():
            if name not in driven:
                raise fault(f"controller.torque_limits.{name}", f"must belong to one of {_list_names(driven)}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e12:
                raise fault(f"controller.torque_limits.{name}", "must be a number > 0, at most 1e12")

    def _check_references(self, tasks: set[str]) -> None:
        for name in self.reference:
            if name not in tasks:
                raise fault(f"reference.{name}", f"must belong to a task: {_list_names(tasks)}")
        counts = {
            name: len(one.goals) for name, one in self.reference.items() if isinstance(one, PlannedReferenceTable)
        }
        for name in sorted(tasks) if counts else ():
            if name not in counts:
                raise fault(f"reference.{name}", "must be of type 'planned', as another is: a plan is of all tasks")
            if counts[name] != max(counts.values()):
                raise fault(f"reference.{name}.goals", f"must be {max(counts.values())} numbers, as of other tasks")

    def _check_estimator(self, known: Mapping[str, LinkTable]) -> None:
        if self.estimator is None:
            return
        roots = [name for name, body in known.items() if body.parent is None]
        if self.estimator.body not in (None, *roots):
            raise fault("estimator.body", "must be a body without a parent: " + _list_names(roots))
        for key in ("position", "angle", "velocity", "angular_velocity", "delay") if self.estimator.enabled else ():
            if getattr(self.noise, key):
                raise fault(f"noise.{key}", "must be 0 beside [estimator], whose sensors have noise of their own")


def _list_curved_shapes(known: Mapping[str, LinkTable]) -> list[str]:
    return [name for name, body in known.items() if body.curve is not None]


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))
