"""Sensitivities of a run: derivatives of its states by its start, by numbers of the model and by inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import SimulationError
from trundle.models.linear.names import NamedEntry, entries, numbers_of
from trundle.models.numbers.changed import Model, free_numbers, system_of
from trundle.models.tree.system import Start
from trundle.numerics.ode.ode import Integrator
from trundle.numerics.ode.variational import variational
from trundle.records import Trajectory
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.record.log import Leg
from trundle.simulate.run import checked_duration, sample_times
from trundle.simulate.sensitivity.crossing import Crossings
from trundle.simulate.sensitivity.trace import Directions, Trace, directions, runner_of, trace_run
from trundle.status import Status


@final
@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of the states of a run.

    Attributes
    ----------
    run : Trajectory
    times : (N,) s
    states : (N, n_x)
        As ``model.layout`` has them.
    derivatives : (N, n_x, m)
        Of the states at fixed times.
    names : tuple of str
        What the m columns are derivatives by.
    entries : tuple of NamedEntry
        What the n_x states are.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    >>> found = tr.sensitivities(pair, pair.place(), 1.0, parameters=["body.inertia"], initial=False)
    >>> found.of("body.position").shape, found.names
    ((2, 2, 1), ('body.inertia',))
    """

    run: Trajectory
    times: FloatArray
    states: FloatArray
    derivatives: FloatArray
    names: tuple[str, ...]
    entries: tuple[NamedEntry, ...]

    def of(self, state: str) -> FloatArray:
        """Return the derivatives (N, size, m) of states of a name, such as ``"body.position"`` or ``"hip.joint"``."""
        return self.derivatives[:, numbers_of("state", state, self.entries)]


def sensitivities(
    model: Model,
    start: Start,
    duration: float,
    *,
    parameters: Sequence[str] = (),
    initial: bool | Sequence[str] = True,
    inputs: bool = False,
    policy: LinearFeedback | None = None,
    output_step: float | None = None,
    relative_tolerance: float = 1e-10,
) -> Sensitivities:
    """Simulate, and return the derivatives of the states by the start, by numbers of the model and by inputs.

    Between events S = dx/dz follows S' = f_x S + f_q q_z (the variational equation), compiled and integrated with the
    state; at each event it jumps with the saltation matrix, by which the instant of the event moves, too.

    Parameters
    ----------
    model : RollingPair, RollingTree (what `Robot.finish` returns) or ContactSystem
    start : Start
        From ``model.place(...)``. Where a parameter moves its contacts, the run begins on them, as that of `simulate`.
    duration : float, s
    parameters : sequence of str
        Names of `tr.parameters_of(model)`.
    initial : bool, or names of coordinates
        Whether derivatives are taken by independent coordinates of the start, see `LinearModel.states`.
    inputs : bool
        Whether by the rows of the policy's inputs.
    policy : LinearFeedback, optional
    output_step : float, s
        Between samples; start and end alone unless it is given.
    relative_tolerance : float

    Raises
    ------
    InputError
        If an argument is out of range, or there is no such parameter or coordinate.
    SimulationError
        Where a derivative does not exist: an event that only touches zero, two at once, or time steps.

    Examples
    --------
    A disc rolls down a slope from rest, x = a t^2/2 with a = m g s/(m + I/r^2) along it.

    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    >>> found = tr.sensitivities(pair, pair.place(), 1.0, parameters=["body.mass", "body.inertia"], initial=False)
    >>> found.of("body.position")[-1, 0].round(4).tolist()  # m/kg, m/(kg m2)
    [0.2158, -43.1683]
    """
    duration = checked_duration(duration)
    times = sample_times(duration, duration if output_step is None else output_step)
    trace = trace_run(runner_of(free_numbers(system_of(model), parameters), times, policy, relative_tolerance), start)
    return carry_directions(trace, directions(trace, initial, inputs))


def carry_directions(trace: Trace, along: Directions) -> Sensitivities:
    """Return the derivatives of a traced run along directions."""
    samples, found = trace.runner.samples, _Forward(trace, along)
    for leg, following in zip(trace.legs, (*trace.legs[1:], None), strict=True):
        found.leg(leg)
        if leg.end is not None and following is not None:
            found.event(leg, following)
    states, derivatives = np.array(found.states), np.array(found.derivatives)
    model = trace.system.model()
    named = tuple(entries(model, model.layout))
    return Sensitivities(trace.run, samples[: len(states)], states, derivatives, along.names, named)


class _Forward:
    """State of a sweep along the legs: S, or T with dt* at the instant of an event."""

    def __init__(self, trace: Trace, along: Directions) -> None:
        self.trace, self.along = trace, along
        self.crossings = Crossings(trace)
        self.S = self.crossings.start(along)
        self.onsets = np.zeros((trace.legs[0].begin.onsets.size, self.S.shape[1]))
        self.time: FloatArray | None = None  # not None: S is the derivative at the moving instant of an event
        self.states: list[FloatArray] = []
        self.derivatives: list[FloatArray] = []
        self._held, self._tick = np.zeros((0, 0)), -1

    def leg(self, leg: Leg) -> None:
        """Go to the end of a leg."""
        begin, done = leg.begin, leg.done
        if begin.t == 0.0 and not self.states:
            self.states.append(begin.x)
            self.derivatives.append(self.S)
        if done.t_end <= begin.t:
            return
        if self.time is not None:
            self.S = self.S - np.outer(self.crossings.rate(leg, begin.t, begin.x), self.time)
            self.time = None
        Q, chosen = self.changes(leg)
        n, m = self.S.shape
        integrator = self._integrator(leg, chosen)
        samples = self.trace.runner.samples
        inside = samples[(samples > begin.t) & (samples <= done.t_end)]
        method = self.trace.runner.method
        found = integrator.integrate(
            begin.t,
            np.concatenate([begin.x, self.S.ravel(order="F")]),
            done.t_end,
            np.concatenate([leg.p, Q[list(chosen)].ravel(order="F")]),
            relative_tolerance=method.relative_tolerance,
            absolute_tolerance=method.relative_tolerance * 1e-2,
            sample_times=inside,
        )
        if found.status is not Status.SUCCESS:
            raise SimulationError(f"the derivatives end at {found.t_end:.6g} s", found.status)
        self.states += list(found.states[:, :n])
        self.derivatives += [row[n:].reshape(n, m, order="F") for row in found.states]
        self.S = found.x_end[n:].reshape(n, m, order="F")

    def event(self, leg: Leg, following: Leg) -> None:
        """Go through the event that ends a leg."""
        Q, _ = self.changes(leg)
        if leg.done.t_end <= leg.begin.t:
            self.crossings.refuse_two(leg)
            if self.time is None:  # at the start, or where an input is renewed
                self.time = np.zeros(self.S.shape[1])
        if self.time is None:
            self.time = self.crossings.time(leg, self.S, Q)
            self.S = self.S + np.outer(self.crossings.rate(leg, leg.done.t_end, leg.done.x_end), self.time)
        self.S, self.onsets = self.crossings.after(leg, following, self.S, Q, self.time)

    def changes(self, leg: Leg) -> tuple[FloatArray, tuple[int, ...]]:
        """Return dp/dz (n_p, m) of a leg and which of the parameters p change."""
        first, n, size = leg.phase.input_count, len(self.trace.values), len(self.onsets)
        Q = np.zeros((len(leg.p), self.S.shape[1]))
        Q[first : first + n], Q[first + n : first + n + size] = self.along.numbers, self.onsets
        starting = (first + n + np.flatnonzero(leg.begin.onsets)).tolist()
        policy = self.trace.runner.policy
        if not isinstance(policy, LinearFeedback):
            return Q, (*range(first, first + n), *starting)
        tick = round(leg.begin.t / policy.period)
        if tick > self._tick and abs(leg.begin.t / policy.period - tick) < 1e-9:
            self._tick, self._held = tick, policy_change(policy, leg.begin.t, leg.begin.x, self.S, self.along.table)
        Q[:first] = self._held
        return Q, (*range(first + n), *starting)

    def _integrator(self, leg: Leg, chosen: tuple[int, ...]) -> Integrator:
        phase, count = leg.phase, self.S.shape[1]
        key = ("variational", phase.mode, phase.held, phase.method.end_speed, count, chosen)
        system = phase.fused.equations
        return self.trace.system.share(key, lambda: Integrator(variational(system, count, chosen), phase.method.name))


def policy_change(policy: LinearFeedback, time: float, x: FloatArray, S: FloatArray, table: FloatArray) -> FloatArray:
    """Return the change (n_u, m) of what a policy answers, from that of the state (n_x, m) and of its inputs' rows."""
    k, u = policy.index(time), policy(time, x)
    change = table[k] if len(table) else np.zeros((len(u), S.shape[1]))
    if policy.gains is not None:
        change = change - np.asarray(policy.gains)[k] @ S
    limited = (u <= np.asarray(policy.low)) | (u >= np.asarray(policy.high))
    return np.where(limited[:, None], 0.0, change)
