"""Gradients of a cost of a run: one sweep back along it, whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trundle.checks import FloatArray, array, number
from trundle.contact.laws import LAWS
from trundle.errors import InputError, SimulationError
from trundle.models.numbers.changed import Model, free_numbers, system_of
from trundle.models.tree.system import Start
from trundle.numerics.ode.ode import Integrator
from trundle.numerics.ode.variational import adjoint
from trundle.records import Trajectory
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.record.log import Leg
from trundle.simulate.run import checked_duration, sample_times
from trundle.simulate.sensitivity.crossing import Crossings
from trundle.simulate.sensitivity.forward import policy_change
from trundle.simulate.sensitivity.trace import Directions, Trace, directions, runner_of, trace_run
from trundle.status import Status

StateCost = Callable[[FloatArray, FloatArray], tuple[float, FloatArray]]
_NODES = 4
"""Parts of a leg, at least, that are integrated back each from its own state."""
_HALVES = 0.5 ** np.arange(1.0, 31.0)
"""Where a slip in space is near its begin or end its direction is unstable back in time: ever shorter parts."""


@final
@dataclass(frozen=True, eq=False)
class Gradient:
    """A cost of a run and its derivatives.

    Attributes
    ----------
    run : Trajectory
    value : float
    names : tuple of str
    derivatives : (m,)
        By what `names` says.

    Examples
    --------
    >>> robot = tr.Robot()
    >>> arm = robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0.2, 0.0), name="arm")  # kg, kg m2, m
    >>> tree = robot.finish()
    >>> def squares(times, states):
    ...     return 0.5 * np.sum(states**2), states
    >>> found = tr.gradient(tree, tree.place(arm=-1.0), 0.5, squares, parameters=["arm.mass"])
    >>> found.names, found.derivatives.shape
    (('arm.joint', 'arm.rate', 'arm.mass'), (3,))
    """

    run: Trajectory
    value: float
    names: tuple[str, ...]
    derivatives: FloatArray


def gradient(
    model: Model,
    start: Start,
    duration: float,
    cost: StateCost,
    *,
    parameters: Sequence[str] = (),
    initial: bool | Sequence[str] = True,
    inputs: bool = False,
    policy: LinearFeedback | None = None,
    output_step: float | None = None,
    relative_tolerance: float = 1e-10,
) -> Gradient:
    """Simulate, and return a cost of the states with its derivatives by start, parameters and inputs.

    With the costate l = dC/dx it goes backwards, -l' = f_x'l, and through each event with the transposed saltation
    matrix: the work does not grow with the number of derivatives, as that of `sensitivities` does.

    Parameters
    ----------
    cost : callable
        Of the samples' times (N,), s, and states (N, n_x); returns the cost and its gradient (N, n_x) by these states.
    model, start, duration, parameters, initial, inputs, policy, output_step, relative_tolerance
        See `sensitivities`, also for what is raised.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    >>> def travel(times, states):  # x at the end, m, and its gradient
    ...     return states[-1, 0], np.eye(*states.shape)[::-1] * [1.0, *np.zeros(states.shape[1] - 1)]
    >>> found = tr.gradient(pair, pair.place(), 1.0, travel, parameters=["body.mass", "body.inertia"], initial=False)
    >>> found.derivatives.round(4).tolist()  # m/kg, m/(kg m2)
    [0.2158, -43.1683]
    """
    duration = checked_duration(duration)
    times = sample_times(duration, duration if output_step is None else output_step)
    trace = trace_run(runner_of(free_numbers(system_of(model), parameters), times, policy, relative_tolerance), start)
    states = trace.runner.log.states_at(times)
    if len(states) < len(times):
        raise SimulationError("the run ends before its duration", trace.run.status)
    if not callable(cost):
        raise InputError("cost", cost, "a function of times and states")
    value, by_states = cost(times, states)
    along = directions(trace, initial, inputs)
    back = _Backward(trace, along, array("cost", by_states, states.shape))
    for k in reversed(range(len(trace.legs))):
        back.leg(k)
    found = back.total()
    found.setflags(write=False)
    return Gradient(trace.run, number("cost", value), along.names, found)


class _Backward:
    """State of a sweep back along the legs: the costate, and the gradients gathered of what is held along them."""

    def __init__(self, trace: Trace, along: Directions, by_states: FloatArray) -> None:
        self.trace, self.along, self.by_states = trace, along, by_states
        self.crossings = Crossings(trace)
        self.costate = np.zeros(by_states.shape[1])
        first = trace.legs[0]
        self.by_numbers = np.zeros(len(trace.values))
        self.by_inputs = np.zeros(first.phase.input_count)
        self.by_onsets = np.zeros(first.begin.onsets.size)
        self.by_table = np.zeros(along.table.shape[:2])
        self.by_time = 0.0  # of the instant of a chain of events
        self._ticks = self._legs_with_ticks()

    def leg(self, k: int) -> None:
        """Go from after the event that ends leg k, or from its end, to its begin."""
        leg, last = self.trace.legs[k], k + 1 == len(self.trace.legs)
        if leg.end is not None and not last:
            self._event(leg, self.trace.legs[k + 1])
        if leg.done.t_end > leg.begin.t:
            self._flow(leg)
            before = self.trace.legs[k - 1] if k else None
            if before is not None and before.end is not None:  # S = T - f dt*
                self.by_time -= float(self.costate @ self.crossings.rate(leg, leg.begin.t, leg.begin.x))
        if k in self._ticks:
            self._tick(leg)

    def total(self) -> FloatArray:
        """Return the gradient (m,) after the first leg."""
        if self.trace.legs[0].begin.t == 0.0 and self.trace.runner.samples[0] == 0.0:
            self.costate = self.costate + self.by_states[0]
        whole = self.costate @ self.crossings.start(self.along) + self.by_numbers @ self.along.numbers
        return whole + np.tensordot(self.by_table, self.along.table, 2) if self.by_table.size else whole

    def _flow(self, leg: Leg) -> None:
        """Integrate back along a leg, from node to node."""
        begin, done, n = leg.begin, leg.done, len(leg.begin.x)
        samples, method = self.trace.runner.samples, self.trace.runner.method
        inside = (samples > begin.t) & (samples <= done.t_end)
        chosen = self._choose_parameters(leg)
        parts = np.linspace(0.0, 1.0, max(_NODES, done.steps) + 1)[1:]
        if self.trace.system.d == 3 and any(LAWS[law].slipping for law in begin.mode.laws):
            parts = np.union1d(parts, np.concatenate([_HALVES, 1.0 - _HALVES]))
        nodes = np.union1d(samples[inside], begin.t + parts * (done.t_end - begin.t))
        nodes[-1] = done.t_end
        relative, absolute = method.relative_tolerance, method.relative_tolerance * 1e-2
        ignored = np.zeros(len(leg.phase.margins), dtype=bool)
        states = leg.phase.integrator.integrate(
            *(begin.t, begin.x, done.t_end, leg.p),
            relative_tolerance=relative,
            absolute_tolerance=absolute,
            sample_times=nodes,
            watched=ignored,
        ).states
        gathered = np.zeros(len(chosen))
        rows = {float(t): self.by_states[i] for i, t in enumerate(samples) if inside[i]}
        back = self._integrator(leg, chosen)
        for low, high, x in zip([begin.t, *nodes[:-1]][::-1], nodes[::-1], states[::-1], strict=True):
            if (row := rows.get(float(high))) is not None:
                self.costate = self.costate + row
            y = np.concatenate([x, self.costate, gathered])
            given = 0.0, y, high - low, np.append(leg.p, high)
            found = back.integrate(*given, relative_tolerance=relative, absolute_tolerance=absolute)
            if found.status is not Status.SUCCESS:
                raise SimulationError(f"the derivatives end at {high:.6g} s", found.status)
            self.costate, gathered = found.x_end[n : 2 * n], found.x_end[2 * n :]
        by_p = np.zeros(len(leg.p))
        by_p[chosen] = gathered
        self._gather(leg, by_p)

    def _event(self, leg: Leg, following: Leg) -> None:
        """Go back through the event that ends a leg."""
        n, chosen = len(leg.begin.x), self._choose_parameters(leg)
        size = n + len(chosen) + 1
        T, Q, time = np.zeros((n, size)), np.zeros((len(leg.p), size)), np.zeros(size)
        T[:, :n], Q[chosen, n : size - 1], time[-1] = np.eye(n), np.eye(len(chosen)), 1.0
        state, onsets = self.crossings.after(leg, following, T, Q, time)
        whole = self.costate @ state + self.by_onsets @ onsets
        self.costate, self.by_onsets = whole[:n], np.zeros_like(self.by_onsets)
        self.by_time += float(whole[-1])
        by_p = np.zeros(len(leg.p))
        by_p[chosen] = whole[n : size - 1]
        if leg.done.t_end > leg.begin.t:
            self.by_time += float(self.costate @ self.crossings.rate(leg, leg.done.t_end, leg.done.x_end))
            by_state, by_parameters = self.crossings.instant(leg)
            self.costate = self.costate + self.by_time * by_state
            by_p += self.by_time * by_parameters
            self.by_time = 0.0
        else:
            self.crossings.refuse_two(leg)
        self._gather(leg, by_p)

    def _gather(self, leg: Leg, by_p: FloatArray) -> None:
        first, n = leg.phase.input_count, len(self.by_numbers)
        self.by_inputs = self.by_inputs + by_p[:first]
        self.by_numbers = self.by_numbers + by_p[first : first + n]
        self.by_onsets = self.by_onsets + by_p[first + n : first + n + len(self.by_onsets)]

    def _tick(self, leg: Leg) -> None:
        """Go back through a call of the policy at the begin of a leg."""
        policy = self.trace.runner.policy
        if not isinstance(policy, LinearFeedback):
            return
        n_u, k = len(self.by_inputs), policy.index(leg.begin.t)
        answers = policy_change(policy, leg.begin.t, leg.begin.x, np.eye(len(leg.begin.x)), np.zeros((0, 0, 0)))
        self.costate = self.costate + self.by_inputs @ answers
        if len(self.by_table):
            table = np.broadcast_to(np.eye(n_u), (len(self.by_table), n_u, n_u))
            none = np.zeros((len(leg.begin.x), n_u))
            self.by_table[k] += self.by_inputs @ policy_change(policy, leg.begin.t, leg.begin.x, none, table)
        self.by_inputs = np.zeros(n_u)

    def _choose_parameters(self, leg: Leg) -> list[int]:
        """Return which parameters p of a leg may change: inputs of a policy, free numbers, directions of slips."""
        first, n = leg.phase.input_count, len(self.by_numbers)
        inputs = range(first) if self.trace.runner.policy is not None else ()
        return [*inputs, *range(first, first + n), *(first + n + np.flatnonzero(leg.begin.onsets)).tolist()]

    def _legs_with_ticks(self) -> set[int]:
        policy = self.trace.runner.policy
        found: set[int] = set()
        latest = -1
        for k, leg in enumerate(self.trace.legs if policy is not None and policy.period is not None else ()):
            period = policy.period if policy is not None and policy.period is not None else 1.0
            tick = round(leg.begin.t / period)
            if tick > latest and abs(leg.begin.t / period - tick) < 1e-9:
                latest = tick
                found.add(k)
        return found

    def _integrator(self, leg: Leg, chosen: list[int]) -> Integrator:
        phase = leg.phase
        key = ("adjoint", phase.mode, phase.held, phase.method.end_speed, tuple(chosen))
        make = lambda: Integrator(adjoint(phase.fused.equations, chosen), phase.method.name)  # noqa: E731
        return self.trace.system.share(key, make)
