"""Trace: a run with what it integrated, and what its derivatives are taken by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray, instance
from trundle.errors import InputError, SimulationError
from trundle.models.linear.names import entries, numbers_of
from trundle.models.linear.point import OperatingPoint
from trundle.models.tree.system import ContactSystem, Start
from trundle.records import Trajectory
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.record.log import Leg
from trundle.simulate.run import chosen_method, first_of, run_and_record
from trundle.simulate.runner import Runner
from trundle.simulate.stepping import STEPPING
from trundle.status import Status


@dataclass(frozen=True, eq=False)
class Trace:
    """A run, its runner and what was integrated."""

    runner: Runner
    run: Trajectory
    legs: tuple[Leg, ...]

    @property
    def system(self) -> ContactSystem:
        """The system, with the numbers that derivatives are taken by free."""
        return self.runner.system

    @property
    def values(self) -> FloatArray:
        """The free numbers (n,)."""
        return np.zeros(0) if self.system.free is None else self.system.free.values


def runner_of(
    system: ContactSystem, times: FloatArray, policy: LinearFeedback | None, relative_tolerance: float
) -> Runner:
    """Return what runs a system and samples it at `times`, from 0 on."""
    if policy is not None and not isinstance(policy, LinearFeedback):
        raise InputError("policy", policy, "a LinearFeedback: a policy whose derivative is known")
    method = chosen_method(float(times[-1]), relative_tolerance, None, None, "projection")
    return Runner(system, method, policy, times, None)


def trace_run(runner: Runner, start: Start) -> Trace:
    """Return the run from a start.

    Raises
    ------
    SimulationError
        If the run fails, or goes on in time steps where events end.
    """
    instance("start", start, Start, "a Start, what model.place(...) returns")
    runner.log.legs = []
    run = run_and_record(runner, first_of(runner.system, start), float(runner.samples[-1]))
    stepped = [one["time"] for one in runner.log.transitions if one["to"] == STEPPING]
    if stepped:
        raise SimulationError(
            f"at {stepped[0]:.6g} s the run goes on in time steps, which have no derivative", Status.SECOND_CONTACT
        )
    if not runner.log.legs:
        raise SimulationError("the run ended at its start", run.status)
    return Trace(runner, run, tuple(runner.log.legs))


@dataclass(frozen=True, eq=False)
class Directions:
    """What derivatives are taken by, a column each: coordinates of the start, parameters, then inputs by period.

    Attributes
    ----------
    names : tuple of str
    start : (n_x, m)
        Change of the start's state.
    numbers : (n, m)
        Change of the free numbers.
    table : (rows, n_u, m)
        Change of the policy's inputs.
    """

    names: tuple[str, ...]
    start: FloatArray
    numbers: FloatArray
    table: FloatArray


def directions(trace: Trace, initial: bool | Sequence[str], inputs: bool) -> Directions:
    """Return the directions of a trace: independent coordinates of its start, its free numbers, its policy's inputs."""
    system, begin = trace.system, trace.legs[0].begin
    model = system.model(begin.mode.atlas)
    free, policy = system.free, trace.runner.policy
    names: list[str] = []
    X = np.zeros((len(begin.x), 0))
    if initial:
        at = Start(begin.x, begin.mode.atlas, begin.mode.laws)
        wanted = () if initial is True else initial
        found, _, X = OperatingPoint.of(system, at).independent(begin.x, np.zeros(model.u.shape[0]), wanted)
        if initial is not True:
            found = found[
                : len({i for name in initial for i in numbers_of("initial", name, found)})
            ]  # those come first
        names, X = [entry.name for entry in found], X[:, : len(found)]
    names += [] if free is None else free.names
    table = np.zeros((0, model.u.shape[0]))
    if inputs:
        if not isinstance(policy, LinearFeedback):
            raise InputError("inputs", inputs, "False without a policy, whose inputs they are")
        table = np.asarray(policy.inputs)
        labels = [entry.name for entry in entries(model, model.input_layout)]
        names += [f"{label} at {k * policy.period:g} s" for k in range(len(table)) for label in labels]
    m, n = len(names), len(trace.values)
    if not m:
        raise InputError("parameters", (), "at least one parameter, initial coordinate or input")
    first, size = X.shape[1], table.size
    start, numbers = np.zeros((len(begin.x), m)), np.zeros((n, m))
    start[:, :first], numbers[:, first : first + n] = X, np.eye(n)
    changes = np.zeros((*table.shape, m))
    changes[..., m - size :] = np.eye(size).reshape(*table.shape, size)
    return Directions(tuple(names), start, numbers, changes)
