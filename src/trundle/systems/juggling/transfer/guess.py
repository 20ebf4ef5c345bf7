"""Guesses: where a solver starts."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, choice, non_negative
from trundle.errors import InputError
from trundle.numerics.ode.step import rk4_step
from trundle.optimal.transcription.transcription import NodeTrajectory
from trundle.records.plan import Plan
from trundle.systems.juggling.transfer.formulation import Formulation
from trundle.systems.juggling.transfer.goal import names_of

KINDS = ("stationary", "straight", "smooth")
_FINE = 20
"""Steps of a straight roll for each radian."""


def built_in(formulation: Formulation, kind: str, nodes: int) -> NodeTrajectory:
    """Return a guess for the reduced problem.

    ``stationary``: the start, held. ``straight``: states linear from start to goal. ``smooth``: configurations on a
    quintic from start to goal, with the velocities and inputs that follow it best; for planar and geometric paths.
    """
    choice("guess", kind, KINDS)
    reduction = formulation.hand
    times = np.linspace(0.0, float(np.mean(formulation.task.duration)), nodes + 1)
    x0 = reduction.start
    goal = formulation.goal
    u = np.zeros((nodes + 1, reduction.phase.nu))
    if kind == "stationary" or goal is None:
        arc = NodeTrajectory(times, np.tile(x0, (nodes + 1, 1)), u)
    elif kind == "straight":
        share = (times / times[-1])[:, None]
        arc = NodeTrajectory(times, (1 - share) * x0 + share * goal[reduction.states], u)
    else:
        arc = _smooth(formulation, times, goal)
    if formulation.arm is None:
        return arc
    return NodeTrajectory(times, *formulation.arm.nodes(times, *reduction.full(arc.x, arc.u)))


def perturb_guess(arc: NodeTrajectory, formulation: Formulation, sigma: float, seed: int) -> NodeTrajectory:
    """Return a guess with Gaussian errors: `sigma` in states (rad, chart units, rad/s, m) and inputs (of their bounds).

    The first state stays.
    """
    rng = np.random.default_rng(seed)
    sigma = non_negative("sigma", sigma)
    x = arc.x + sigma * rng.normal(size=arc.x.shape)
    x[0] = arc.x[0]
    bound = formulation.reduction.phase.u_bounds[1]
    bound = np.where(np.isfinite(bound), bound, 1.0)
    return NodeTrajectory(arc.times, x, arc.u + sigma * rng.normal(size=arc.u.shape) * bound)


def from_plan(formulation: Formulation, plan: Plan) -> NodeTrajectory:
    """Return the nodes of an earlier plan (or attempt) of the same kind of task.

    Raises
    ------
    InputError
        If its states are others.
    """
    model = formulation.model
    if plan.states.shape[1] != model.x.shape[0] or plan.inputs.shape[1] != model.u.shape[0]:
        raise InputError("guess", plan.states.shape, f"a plan with {model.x.shape[0]} states, as this task's pair has")
    if plan.atlas != formulation.atlas:
        raise InputError("guess", plan.atlas, f"a plan on the charts {formulation.atlas} of this task")
    times = plan.times - plan.times[0]
    return NodeTrajectory(times, *formulation.reduction.nodes(times, plan.states, plan.inputs))


def _smooth(formulation: Formulation, times: FloatArray, goal: FloatArray) -> NodeTrajectory:
    """Quintic in the configurations; velocities and inputs by least squares from the equations of motion.

    Rates of configurations are linear in velocities, those of velocities affine in inputs.
    """
    reduction, phase = formulation.hand, formulation.hand.phase
    velocity = _velocities(formulation)
    q, v = np.flatnonzero(~velocity), np.flatnonzero(velocity)
    x0, x1 = reduction.start, goal[reduction.states]
    s = times / times[-1]
    blend = s**3 * (10 - 15 * s + 6 * s * s)
    slope = 30 * s * s * (1 - s) ** 2 / times[-1]
    x = np.zeros((len(times), phase.nx))
    x[:, q] = x0[q] + blend[:, None] * (x1 - x0)[q]
    speeds = slope[:, None] * (x1 - x0)[q]
    if formulation.on_belt:
        x[:, q] = _straight(formulation, goal, blend)[:, reduction.states][:, q]
        speeds = np.gradient(x[:, q], times, axis=0)
    rate = ca.Function("rate", [phase.x, phase.u], [phase.rate])
    d_v = ca.Function("d_v", [phase.x, phase.u], [ca.jacobian(phase.rate[q.tolist()], phase.x[v.tolist()])])
    d_u = ca.Function("d_u", [phase.x, phase.u], [ca.jacobian(phase.rate[v.tolist()], phase.u)])
    u = np.zeros((len(times), phase.nu))
    for k in range(len(times)):
        x[k, v] = np.linalg.lstsq(np.asarray(ca.densify(d_v(x[k], u[k]))), speeds[k], rcond=1e-8)[0]
    accelerations = np.gradient(x[:, v], times, axis=0, edge_order=2)
    for k in range(len(times)):
        free = np.asarray(rate(x[k], np.zeros(phase.nu))).ravel()[v]
        u[k] = np.linalg.lstsq(np.asarray(ca.densify(d_u(x[k], u[k]))), accelerations[k] - free, rcond=1e-8)[0]
    return NodeTrajectory(times, x, np.clip(u, *phase.u_bounds))


def _straight(formulation: Formulation, goal: FloatArray, share: FloatArray) -> FloatArray:
    """Return states (n, n_x) at shares (n,) of a straight roll on a hand at rest; what misses the goal is added."""
    model, (body, hand) = formulation.model, names_of(formulation.task)
    rolling, twist = model.layout[f"{body}.relative_velocity"], model.layout[f"{hand}.twist"]
    moving = ca.SX(model.x)
    moving[twist] = 0.0
    moving[rolling] = (formulation.ends.frame.T @ ca.SX(ca.DM(formulation.roll)))[: rolling.stop - rolling.start]
    rate = ca.substitute(formulation.dynamics.xdot, ca.vertcat(model.x, model.u), ca.vertcat(moving, 0 * model.u))
    for velocities in (rolling, twist):
        rate[velocities] = 0.0
    along = ca.Function("along", [model.x], [rate])
    steps = int(np.ceil(_FINE * (1.0 + np.linalg.norm(formulation.roll))))
    step = ca.Function("step", [model.x], [rk4_step(lambda x, _: along(x), model.x, 1.0 / steps)])
    states = np.vstack([formulation.start, np.asarray(step.mapaccum("roll", steps)(formulation.start)).T])
    missing = goal - states[-1]
    for place in (model.layout[f"{body}.spin"].start, model.layout[f"{model.constraints[0].name}.coordinates"].start):
        missing[place] -= 2 * np.pi * np.round(missing[place] / (2 * np.pi))
    even = np.linspace(0.0, 1.0, steps + 1)
    states += even[:, None] * missing
    return np.stack([np.interp(share, even, column) for column in states.T], axis=1)


def _velocities(formulation: Formulation) -> np.ndarray:
    """Return which reduced states are velocities, (n,) of bool."""
    full = np.zeros(formulation.model.x.shape[0], dtype=bool)
    for name, where in formulation.model.layout.items():
        full[where] = name.endswith((".twist", ".relative_velocity", ".velocity", ".angular_velocity"))
    return full[formulation.hand.states]
