"""Planned references: tasks go to goals, at rest at each, within torque limits and friction cones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.control import MotionQuantity
from trundle.control.inverse_dynamics import tasks as tk
from trundle.errors import InputError, SimulationError
from trundle.models import Start
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import Dynamics
from trundle.numerics.nlp.nlp import solve
from trundle.numerics.ode.step import rk4_step
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem
from trundle.optimal.transcription.transcription import NodeTrajectory, Transcription
from trundle.status import Status
from trundle.systems.planar.scenario.schema_control import ReferencePlanTable
from trundle.systems.planar.signals import Sampled

_TOLERANCE = 1e-6  # scaled, of the plan's program
_GUESSES = (0.5, 0.25, 0.75)
"""Durations that are guessed one after another, as parts of the way from the shortest to the longest."""
_DRIFT = 5.0
"""1/s, feedback of gaps and misalignments."""
_STEPS = 10
"""Of integration, an interval of the guess."""
_SAMPLES = 10
"""Of the references, an interval of the plan."""


class Planned(NamedTuple):
    """References (one a task), the times (s) at which the goals are reached, and the iterations it took."""

    signals: list[Sampled]
    reached: list[float]
    iterations: int


class _TaskMotion(NamedTuple):
    """A rolling motion by the rates y' of its tasks: x = (q, s, y') of poses q and contact coordinates s.

    nu is the solution of  J nu = -k gap, J_tasks nu = y'  (k against drift), so the motion rolls whatever x is.
    """

    x: ca.SX
    rate: ca.SX
    speed: ca.SX
    value: ca.SX
    start: FloatArray
    full: ca.Function
    model: TreeModel

    @classmethod
    def of(
        cls, model: TreeModel, dynamics: Dynamics, quantities: Sequence[MotionQuantity], start: FloatArray
    ) -> _TaskMotion:
        """Return the motion of tasks that are as many as the degrees of freedom."""
        rates = ("velocity", "angular_velocity", "rate")
        kept = [np.r_[place] for key, place in model.layout.items() if key.rpartition(".")[2] not in rates]
        places = np.concatenate(kept).tolist()
        names = ("J", "bias", "value", "rate")
        J_tasks, bias, value, now = (ca.vertcat(*(getattr(q, name) for q in quantities)) for name in names)
        J, free = dynamics.terms.J, model.nv - dynamics.terms.J.shape[0]
        if J_tasks.shape[0] != free:
            raise InputError("controller.tasks", len(quantities), f"{free}: a plan is of as many tasks as are free")
        speed = ca.SX.sym("speed", free)
        nu = ca.solve(ca.vertcat(J, J_tasks), ca.vertcat(-_DRIFT * dynamics.terms.position, speed))
        s = ca.vertcat(ca.SX(0, 1), *(one.s for one in model.constraints))
        full = ca.Function("full", [model.x, speed], [model.replace_contacts(s, nu)])
        x = ca.vertcat(model.x[places], speed)
        moved = ca.vertcat(dynamics.xdot[places], J_tasks @ dynamics.nudot + bias)
        rate = ca.Function("rate", [model.x, model.u], [moved])(full(model.x, speed), model.u)
        first = np.append(start[places], np.array(ca.Function("now", [model.x], [now])(start)))
        return cls(x, rate, speed, value, first, full, model)

    def at(self, expression: ca.SX) -> ca.SX:
        """Return an expression of the model's state and inputs in those of the motion."""
        of = ca.Function("of", [self.model.x, self.model.u], [expression])
        return of(self.full(self.model.x, self.speed), self.model.u)

    def straight(self, goals: FloatArray, times: FloatArray) -> list[NodeTrajectory]:
        """Return the motions whose tasks go straight from each goal to the next, whatever torques that needs."""
        u, k, length = np.zeros(self.model.u.shape[0]), goals.shape[1], times[-1]
        function = ca.Function("rate", [self.x, self.model.u], [self.rate, self.at(self.value)], {"cse": True})
        guess, x, h = [], self.start, length / (len(times) - 1) / _STEPS
        for goal in goals:
            way = np.pi / (2 * length) * (goal - np.array(function(x, u)[1]).ravel())

            def roll_along(y: FloatArray, t: float, way: FloatArray = way) -> FloatArray:
                speed = way * np.sin(np.pi * t / length)
                return np.append(np.array(function(np.append(y[:-k], speed), u)[0]).ravel()[:-k], np.zeros(k))

            arc = [x]
            for i in range((len(times) - 1) * _STEPS):
                arc.append(
                    rk4_step(lambda y, part, i=i, roll_along=roll_along: roll_along(y, (i + part) * h), arc[-1], h)
                )
            motion = np.array(arc)[::_STEPS]
            motion[:, -k:] = np.outer(np.sin(np.pi * times / length), way)
            if not np.isfinite(motion).all():
                raise SimulationError("no plan: the tasks cannot be moved straight from goal to goal", Status.FAILED)
            guess.append(NodeTrajectory(times, motion, np.zeros((len(times), len(u)))))
            x = motion[-1]
        return guess


def plan_tasks(
    model: TreeModel,
    start: Start,
    laws: Sequence[str],
    quantities: Sequence[MotionQuantity],
    goals: FloatArray,
    bounds: FloatArray,
    normal_force_min: float,
    table: ReferencePlanTable,
) -> Planned:
    """Plan the motion of a tree from its start to goals, at each of which its tasks are at rest.

    Of all motions in which the bodies that touch at the start roll on, with durations between bounds, one of locally
    least sum of integrals of 1 + |u/bounds|^2, subject to |u| <= share bounds, normal forces of at least the
    controller's and forces in cones of share times its coefficients: Hermite-Simpson collocation, with tasks that move
    straight to their goals as the guess.

    Parameters
    ----------
    model : TreeModel
        The nominal robot, with the friction that its controller may use.
    start : Start
    laws : sequence of str
        Names of the laws of the contacts.
    quantities : sequence of MotionQuantity
        What the tasks move, k numbers.
    goals : (legs, k)
        Their values, in the tasks' units.
    bounds : (n_u,)
        Of the torques (N m; N of slides); infinite: none.
    normal_force_min : float, N
    table : ReferencePlanTable

    Raises
    ------
    InputError
        If the tasks are not as many as the degrees of freedom.
    SimulationError
        If no plan was found.
    """
    dynamics = model.dynamics([LAWS[name] for name in laws], align=_DRIFT)
    motion = _TaskMotion.of(model, dynamics, quantities, start.x)
    problem = _problem(motion, dynamics, goals, bounds, normal_force_min, table)
    mesh = np.linspace(0.0, 1.0, table.nodes + 1)
    transcription = Transcription(problem, [mesh] * len(goals))
    low, high = table.duration
    worst, status = "", Status.FAILED
    for part in _GUESSES:
        guess = transcription.pack(motion.straight(goals, mesh * (low + part * (high - low))))
        found = solve(transcription.program, guess, tolerance=_TOLERANCE)
        if found.status is Status.SUCCESS:
            return _follow_arcs(motion, transcription.unpack(found.z), found.iterations)
        worst, status = found.worst, found.status
    raise SimulationError(f"no plan to the goals: {worst}", status)


def _problem(
    motion: _TaskMotion,
    dynamics: Dynamics,
    goals: FloatArray,
    bounds: FloatArray,
    normal_force_min: float,
    table: ReferencePlanTable,
) -> OptimalControlProblem:
    """Return the problem of `plan_tasks`: a phase to each goal."""
    friction = ca.SX(ca.DM([table.share * one.friction.mu for one in motion.model.constraints]))
    cones = {"minimum": normal_force_min, "coefficients": friction}
    path = [
        Condition(one.name, motion.at(one.A @ dynamics.lam), one.lower, one.upper)
        for one in tk.contact_limits(motion.model.constraints, dynamics.kin, dynamics.terms.split, **cones)
        if isinstance(one.A, ca.SX)
    ]
    weight = sum(body.mass for body in motion.model.bodies) * float(
        np.linalg.norm(np.array(ca.DM(motion.model.gravity)))
    )
    return OptimalControlProblem(
        [
            Phase(
                name=f"leg {i + 1}",
                x=motion.x,
                u=motion.model.u,
                rate=motion.rate,
                duration=table.duration,
                path=path,
                running=1 + ca.sumsqr(motion.model.u / ca.DM(np.where(np.isfinite(bounds), bounds, max(weight, 1.0)))),
                start=[] if i else [Condition("start", motion.x, motion.start, motion.start)],
                end=[Condition("goal", motion.at(motion.value), goal, goal), Condition("rest", motion.speed)],
                u_bounds=(-table.share * bounds, table.share * bounds),
            )
            for i, goal in enumerate(goals)
        ]
    )


def _follow_arcs(motion: _TaskMotion, arcs: Sequence[NodeTrajectory], iterations: int) -> Planned:
    """Return the tasks' values along arcs, one after another, as references."""
    reached = np.cumsum([arc.times[-1] for arc in arcs])
    begins = np.append(0.0, reached[:-1])
    times = np.concatenate([arc.times[i > 0 :] + begins[i] for i, arc in enumerate(arcs)])
    x = np.concatenate([arc.x[i > 0 :] for i, arc in enumerate(arcs)])
    values = np.array(ca.Function("tasks", [motion.x], [motion.at(motion.value)])(x.T)).T
    k = values.shape[1]
    spline = CubicSpline(times, values, bc_type=((1, x[0, -k:]), (1, np.zeros(k))))
    dense = np.interp(np.arange(_SAMPLES * (len(times) - 1) + 1) / _SAMPLES, np.arange(len(times)), times)
    signals = [Sampled(dense.tolist(), column.tolist()) for column in spline(dense).T]
    return Planned(signals, reached.tolist(), iterations)
