"""What a robot's controller in the plane computes: one program of its tasks, its limits and its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.control import InverseDynamics, Limit, MotionQuantity, Task
from trundle.control.inverse_dynamics import IntegralAction, SlipMonitor, Slipping
from trundle.control.inverse_dynamics import tasks as tk
from trundle.models import RollingTree
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import Terms
from trundle.models.tree.system import Atlas
from trundle.systems.planar.rolling_estimator import RollingEstimator
from trundle.systems.planar.scenario.schema_control import PlanarControllerTable, PlanarTrack, TaskTable

SHARED = 1e-3
"""Compliance of a body's second contact, times the mass: the constraints of two contacts of a body are redundant."""


@dataclass(frozen=True)
class ControlProgram:
    """A controller as its table says, compiled.

    Attributes
    ----------
    model : TreeModel
        The nominal robot, with the share of the friction that the controller may use.
    controller : InverseDynamics
    integral : IntegralAction or None
    slip : SlipMonitor or None
    estimator : RollingEstimator or None
    """

    model: TreeModel
    controller: InverseDynamics
    integral: IntegralAction | None
    slip: SlipMonitor | None
    estimator: RollingEstimator | None

    @classmethod
    def of(cls, tree: RollingTree, atlas: Atlas, tables: PlanarTrack, seed: int) -> ControlProgram:
        """Return the program of a table [controller]; with `seed` the noise of the sensors of [estimator] is drawn."""
        table = tables.controller
        share = table.friction_share
        believed = tree if share == 1.0 else tree.scaled(friction=share)
        model = believed.system.model(atlas)
        driven = ProgramContacts(model, model.terms([LAWS[tree.law]] * len(model.constraints)), tree.system.pairs)
        parts = [f"{task.name}.{part}" for task in table.tasks for part in ("value", "rate", "acceleration")]
        reference = ca.vertcat(*(ca.SX.sym(part) for part in parts))
        last = ca.SX.sym("last", model.u.shape[0]) if table.torque_rate_limit else None
        steered = [(task, quantity_of(tree, model, task)) for task in table.tasks]
        wishes = []
        for i, (task, quantity) in enumerate(steered):
            value, rate, acceleration = ca.vertsplit(reference[3 * i : 3 * i + 3])
            weight = task.weight * driven.while_(task.active, task.contacts)
            gains = {"kp": task.kp, "kd": task.kd, "weight": weight, "level": task.level}
            wishes.append(quantity.tracking(task.name, value, rate, acceleration, **gains))
        sensing, estimator = tables.estimator, None
        if sensing is not None and sensing.enabled:
            body = sensing.body or next(one.name for one in tables.bodies or () if one.parent is None)
            contacts = believed.system, atlas, driven.terms, driven.touching, driven.compliance
            estimator = RollingEstimator(*contacts, body, table.period, sensing.make(), seed)
        settings = table.slip.make() if table.slip is not None and table.slip.enabled else None
        slipping, monitor = None, None
        if settings is not None:
            slipping = Slipping(ca.SX.sym("slipping", 2 * len(driven.names)), share, 1.0 / driven.mass)
            wishes += slipping.tasks(driven.names, driven.terms, settings, min(task.level for task in table.tasks))
            friction = np.array([one.friction.mu / share for one in model.constraints])
            monitor = SlipMonitor(model.x, model.nu, driven.terms, friction, table.period, settings)
        controller = InverseDynamics(
            driven,
            wishes + _secondary(table, driven),
            _limits(table, model, driven, last, slipping),
            reference=reference,
            last=last,
            touching=driven.touching,
            compliance=driven.compliance,
            slipping=slipping,
            baumgarte=table.baumgarte,
            form=table.form,
            solver=table.solver,
            damping=table.damping,
        )
        return cls(model, controller, _integral(steered, driven, reference, table.period), monitor, estimator)


def _integral(
    steered: Sequence[tuple[TaskTable, MotionQuantity]], driven: ProgramContacts, reference: ca.SX, period: float
) -> IntegralAction | None:
    """Return the integral action of the tasks that have one."""
    errors, places, gains, bounds = [], [], [], []
    for i, (task, quantity) in enumerate(steered):
        if task.ki > 0:
            missing = reference[3 * i] - quantity.value if task.kp > 0 else reference[3 * i + 1] - quantity.rate
            errors.append(driven.while_(task.active, task.contacts) * missing)
            places.append(3 * i + 2)
            gains.append(task.ki)
            bounds.append(task.ki_bound)
    if not places:
        return None
    symbols = driven.x, reference, driven.touching
    return IntegralAction(*symbols, ca.vertcat(*errors), places, gains, bounds, period)


def _limits(
    table: PlanarControllerTable,
    model: TreeModel,
    driven: ProgramContacts,
    last: ca.SX | None,
    slipping: Slipping | None,
) -> list[Limit]:
    limits: list[Limit] = []
    bounds = torque_bounds(table, model)
    if np.any(np.isfinite(bounds)):
        limits.append(tk.torque_limit(bounds))
    if last is not None and table.torque_rate_limit is not None:
        limits.append(tk.torque_rate_limit(table.torque_rate_limit, table.period, last))
    if table.cone:
        cones = {"minimum": table.normal_force_min, "price": table.friction_price, "touching": driven.touching}
        if slipping is not None:
            cones["sticking"] = driven.touching * (1 - ca.fabs(slipping.direction))
            cones["coefficients"] = slipping.share * slipping.friction
        limits += tk.contact_limits(model.constraints, driven.terms.kin, driven.terms.split, **cones)
    return limits


def torque_bounds(table: PlanarControllerTable, model: TreeModel) -> FloatArray:
    """Return the largest torques (N m; N of a slide) of the inputs (n_u,), infinite where there is no limit."""
    return np.array([table.torque_limits.get(name, table.torque_limit or np.inf) for name in model.driven])


class ProgramContacts:
    """A model with all its contacts and a symbol for each that says whether it touches: input of `InverseDynamics`.

    Attributes
    ----------
    x, u : (n_x,), (n_u,)
    terms : Terms
    touching : (contacts,) symbols
    compliance : (contacts,) 1/kg
        Positive for a body's second contact, whose rows depend on those of the first; else 0.
    mass : float, kg
        Of all bodies.
    """

    def __init__(self, model: TreeModel, terms: Terms, pairs: Sequence[Sequence[int]]) -> None:
        self.x, self.u, self.terms = model.x, model.u, terms
        self.names = [joined.name for joined in model.constraints]
        self.touching = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in self.names))
        self.mass = sum(body.mass for body in model.bodies)
        self.compliance = [0.0] * len(self.names)
        self.bodies = [""] * len(self.names)
        for numbers in pairs:
            for i in numbers:
                self.bodies[i] = self.names[numbers[0]]
                self.compliance[i] = 0.0 if i == numbers[0] else SHARED / self.mass

    def while_(self, active: str, contacts: Sequence[str] | None) -> float | ca.SX:
        """Return 1 while a task is active, else 0; see `active` and `contacts` of [[controller.tasks]]."""
        if active == "always":
            return 1.0
        asked = [i for i, name in enumerate(self.bodies) if contacts is None or name in contacts]
        apart = ca.SX(1)
        for i in asked:
            apart *= 1 - self.touching[i]
        return apart if active == "apart" else 1 - apart


def quantity_of(tree: RollingTree, model: TreeModel, table: TaskTable) -> MotionQuantity:
    """Return what a table [[controller.tasks]] steers."""
    quantity = _quantity(tree, model, table.type, table.body, table.axis, table.point)
    if table.relative_to is None:
        return quantity
    return quantity - _quantity(tree, model, table.type, table.relative_to, table.axis, table.relative_point)


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


def _secondary(table: PlanarControllerTable, driven: ProgramContacts) -> list[Task]:
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
