"""Many runs of one model: those that stay in one mode side by side in C, the others one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.bars import reporting
from trundle.checks import FloatArray, array, integer
from trundle.cluster import Cluster, connect_scheduler
from trundle.contact.laws import LAWS
from trundle.errors import InputError, SimulationError
from trundle.models.numbers.changed import at_values, free_numbers, system_of
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.approach import round_on_both_sides
from trundle.models.tree.system import ContactSystem, Start
from trundle.numerics.ode.batch import BatchIntegration, Pieces, integrate_batch
from trundle.records.policy import TimedPolicy
from trundle.simulate.divergence import has_diverged
from trundle.simulate.events import ContactDetector, HybridState, no_onsets
from trundle.simulate.many.elsewhere import pack_outcomes, unpack_outcomes
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.many.result import Outcome, Runs
from trundle.simulate.mode import Method, Mode, Stabilization
from trundle.simulate.phase import MotionPhase
from trundle.simulate.record import Log, Segment
from trundle.simulate.run import checked_duration, chosen_method, first_of, sample_times
from trundle.simulate.runner import ACCURATE, MAX_STEPS, Runner
from trundle.status import Status

_SLIPS, _ROUND, _NO_LOAD, _AT_SEAM = 1e-9, 1e-9, 1e-9, 1e-7
_SHARES = 8
"""Shares of the runs that each thread of a cluster gets: the last ones end at about the same time."""


def simulate_many(
    model: RollingPair | RollingTree | ContactSystem,
    starts: Sequence[Start],
    duration: float,
    *,
    policies: LinearFeedback | Sequence[LinearFeedback] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    output_step: float | None = None,
    relative_tolerance: float | None = None,
    step: float | None = None,
    method: str | None = None,
    stabilization: Stabilization = "projection",
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int], object] | None = None,
    verbose: bool = False,
) -> Runs:
    """Simulate one model from many starts, under many policies and with many parameters, on all cores or on a cluster.

    Runs that stay in one mode are integrated in C, a thread a core; a run that changes its mode, and every run where C
    cannot, is one of `simulate`. Numbers are those of `simulate`, bit by bit, wherever they are computed;
    with `parameters` those of the model `with_parameters`, to round-off.

    Parameters
    ----------
    model : RollingPair, RollingTree (what `Robot.finish` returns) or ContactSystem
    starts : sequence of Start, one a run, from ``model.place(...)``
    duration, output_step : float, s
        Of a run; between recorded samples: only start and end are recorded unless it is given.
    policies : LinearFeedback, or one a run, of one period; optional
    parameters : mapping of names of `parameters_of` to (runs,), optional
    relative_tolerance, step, method, stabilization : see `simulate`
    workers, scheduler : int, str
        Threads (default: the number of cores), or address of a Dask scheduler whose workers take shares of the runs.
    progress, verbose : callable of the number of runs that are done; bool, whether to show a bar

    Returns
    -------
    Runs
        A status and the states of each; ``runs[i]`` is the whole `Trajectory`. An argument out of range, or a start of
        another model, raises `InputError`.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane(), twist=(0, 0, 7, 0, 0, 0)))
    >>> starts = [pair.place(object_angular_velocity=(w, 0, 0)) for w in np.linspace(0.5, 1.5, 20)]
    >>> runs = tr.simulate_many(pair, starts, 1.0)
    >>> len(runs), runs.success.all(), runs["object_position"].shape  # run, time, axis
    (20, np.True_, (20, 2, 3))
    """
    system = free_numbers(system_of(model), list(parameters or {}))
    numbers = _numbers(system, parameters or {}, n := len(starts))
    duration = checked_duration(duration)
    chosen = chosen_method(duration, relative_tolerance, step, method, stabilization)
    times = sample_times(duration, duration if output_step is None else output_step)
    each = _policies(policies, n, system)
    job = _Job(system, chosen, times, each, numbers, _threads(workers))
    with (
        connect_scheduler(scheduler) as cluster,
        reporting(verbose, progress, lambda k: (f"{k} of {n}", k / n)) as told,
    ):
        return Runs(system, times, job.outcomes(_starts(starts), told, cluster))


@dataclass(frozen=True, eq=False)
class _Job:
    """What all runs share."""

    system: ContactSystem
    method: Method
    times: FloatArray
    policies: Sequence[LinearFeedback]
    numbers: FloatArray | None
    workers: int

    def outcomes(
        self, starts: Sequence[Start], progress: Callable[[int], object] | None, cluster: Cluster | None = None
    ) -> tuple[Outcome, ...]:
        """Return what became of every run."""
        if cluster is not None:
            return self.elsewhere(cluster, starts, progress)
        found: list[Outcome | None] = [None] * len(starts)
        groups: dict[Mode, list[int]] = {}
        for i, start in enumerate(starts):
            groups.setdefault(first_of(self.system, start).mode, []).append(i)
        for mode, numbers in groups.items():
            together = self.together(mode, [starts[i].x for i in numbers], numbers, progress)
            for i, one in zip(numbers, together, strict=True):
                found[i] = one
        rest = [i for i, one in enumerate(found) if one is None]
        with ThreadPoolExecutor(self.workers) as pool:
            for i, one in zip(rest, pool.map(lambda i: self.alone(starts[i], i), rest), strict=True):
                found[i] = one
        return tuple(one for one in found if one is not None)

    def policy(self, i: int) -> LinearFeedback | None:
        """Return the policy of a run."""
        return self.policies[i % len(self.policies)] if self.policies else None

    def values(self, i: int) -> FloatArray | None:
        """Return the free numbers of a run."""
        return None if self.numbers is None else self.numbers[i]

    def alone(self, start: Start, i: int) -> Outcome:
        """Return what `simulate` makes of one start."""
        values = self.values(i)
        system = self.system if values is None else at_values(self.system, values)
        runner = Runner(system, self.method, self.policy(i), self.times, None)
        status = runner.run(first_of(system, start), float(self.times[-1]))
        log = runner.log
        last = log.segments[-1]
        return Outcome(log.states_at(self.times), last.states[-1], last.phase.mode, status, partial(_own, log), values)

    def elsewhere(
        self, cluster: Cluster, starts: Sequence[Start], progress: Callable[[int], object] | None
    ) -> tuple[Outcome, ...]:
        """Return what became of every run, by the workers of a scheduler."""
        size = -(-len(starts) // (_SHARES * cluster.slots)) or 1
        cuts = range(0, len(starts), size)
        each = [self.policies[i : i + size] if len(self.policies) > 1 else self.policies for i in cuts]
        own = [None if self.numbers is None else self.numbers[i : i + size] for i in cuts]
        shares = [(starts[i : i + size], policies, rows) for i, policies, rows in zip(cuts, each, own, strict=True)]
        runner = Runner(self.system, self.method, self.policy(0), self.times, None)
        found: dict[int, Sequence[Outcome]] = {}
        free, system = self.system.free, replace(self.system, free=None)  # symbols do not travel, names do
        job = replace(self, system=system, policies=(), numbers=None, workers=1)
        for number, sent in cluster.run(partial(job.share, free.names if free else ()), shares, ordered=False):
            if sent is None:
                raise SimulationError(f"workers died of the runs from {cuts[number]} on", Status.FAILED)
            found[number] = unpack_outcomes(sent, self.system, runner.phase)
            if progress is not None:
                progress(sum(map(len, found.values())))
        return tuple(one for number in sorted(found) for one in found[number])

    def share(
        self, free: Sequence[str], given: tuple[Sequence[Start], Sequence[LinearFeedback], FloatArray | None]
    ) -> bytes:
        """Return, packed, what became of a share of the runs, of whose model the numbers of these names are free."""
        starts, policies, numbers = given
        job = replace(self, system=free_numbers(self.system, free), policies=policies, numbers=numbers)
        return pack_outcomes(job.outcomes(starts, None))

    def together(
        self, mode: Mode, states: list[FloatArray], numbers: list[int], progress: Callable[[int], object] | None
    ) -> list[Outcome | None]:
        """Return what became of the runs of one mode that stay in it, None for each other."""
        none: list[Outcome | None] = [None] * len(states)
        runner = Runner(self.system, self.method, self.policy(0), self.times, None)
        phase, watch = runner.phase(mode), ContactDetector(self.system, mode)
        if watch.needed or watch.full or any(c.friction.dissipates for c in phase.model.constraints):
            return none
        if self.numbers is not None and not phase.takes_numbers:
            return none
        ends, inputs = self._ends(runner)
        rows = None if self.numbers is None else self.numbers[numbers]
        begun = _begin_runs(runner, phase, np.array(states), _parameters(phase, inputs[0], rows, len(states)))
        fast = np.flatnonzero(begun.ready)
        if not len(fast):
            return none
        done = self._integrate_runs(runner, phase, begun, fast, [numbers[i] for i in fast], ends, inputs, progress)
        if done is None:
            return none
        for k, i in enumerate(fast):
            diverges = bool(self.policies) and has_diverged(self.system, mode, self.times, done.samples[k])
            if done.statuses[k] is Status.SUCCESS and done.event[k] < 0 and not diverges:
                make = partial(self._log, phase, done, int(k), begun.p[i], self.policy(numbers[i]))
                samples = done.samples[k]
                none[i] = Outcome(samples, samples[-1], mode, Status.SUCCESS, make, self.values(numbers[i]))
        return none

    def _log(
        self, phase: MotionPhase, done: BatchIntegration, k: int, p: FloatArray, policy: LinearFeedback | None
    ) -> Log:
        """Return what run k of a batch gathered."""
        step, tolerance = self.method.step, self.method.relative_tolerance
        accurate = step is None and tolerance <= ACCURATE and self.method.stabilization == "projection"
        log = Log(accurate, policy=None if policy is None else TimedPolicy(policy))
        log.steps, log.rejected, log.evaluations = done.counts[k].tolist()
        for name, least in zip(phase.margins, done.margin_minimum[k].tolist(), strict=True):
            log.lower(name, least)
        parameters = np.repeat(p[None], len(self.times), axis=0)
        parameters[:, : done.held.shape[2]] = done.held[k]
        steady = len(parameters) and bool(np.all(parameters == parameters[0]))  # else inputs jumped between samples
        first = HybridState(0.0, done.samples[k][0], phase.mode, no_onsets(self.system))
        log.segments.append(Segment(phase, self.times, done.samples[k], parameters, since=first if steady else None))
        return log

    def _ends(self, runner: Runner) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the times in which inputs are held, and the inputs there of a motion (pieces, n)."""
        t, ends, inputs = 0.0, [], []
        while t < self.times[-1]:
            values, until = runner.inputs(t)
            t = min(float(self.times[-1]), float(until))
            ends.append(t)
            inputs.append(values)
        return np.array(ends), np.array(inputs)

    def _integrate_runs(
        self,
        runner: Runner,
        phase: MotionPhase,
        begun: _Begun,
        fast: NDArray[np.intp],
        numbers: list[int],
        ends: FloatArray,
        inputs: FloatArray,
        progress: Callable[[int], object] | None,
    ) -> BatchIntegration | None:
        held = [policy for i in numbers if (policy := self.policy(i)) is not None]
        step, tolerance = self.method.step, self.method.relative_tolerance
        spans = np.diff(np.concatenate([[0.0], ends]))
        first = HybridState(0.0, begun.x[fast[0]], phase.mode, no_onsets(self.system))
        steps = runner.stepping.most(first, MAX_STEPS)(spans) if step is None else MAX_STEPS + spans / step
        return integrate_batch(
            phase.integrator,
            *(0.0, begun.x[fast], begun.p[fast]),
            _pieces(ends, inputs, held),
            settings={
                "step": step or 0.0,
                "relative_tolerance": tolerance,
                "min_step": 0.0,
                "max_step": np.inf,
            },
            most=steps.astype(np.int64),
            absolute_tolerance=tolerance * 1e-2,
            arming_tolerance=phase.arming,
            sample_times=self.times,
            watched=phase.watched,
            workers=self.workers,
            progress=progress,
        )


def _threads(workers: int | None) -> int:
    return integer("workers", os.cpu_count() if workers is None else workers, minimum=1)


def _starts(starts: Sequence[Start]) -> list[Start]:
    """Return a list of starts."""
    for i, start in enumerate(starts):
        if not isinstance(start, Start):
            raise InputError(f"starts[{i}]", start, "a Start, what model.place(...) returns")
    return list(starts)


def _own(log: Log) -> Log:
    return log


def _numbers(system: ContactSystem, given: Mapping[str, ArrayLike], runs: int) -> FloatArray | None:
    """Return the free numbers (runs, n), checked."""
    columns = [array(f"parameters[{name!r}]", value, (runs,)) for name, value in given.items()]
    if not columns:
        return None
    for least_or_most in (np.min, np.max) if runs else ():
        at_values(system, least_or_most(columns, axis=1))  # refuses what is out of range
    return np.array(columns).T


def _policies(
    given: LinearFeedback | Sequence[LinearFeedback] | None, runs: int, system: ContactSystem
) -> Sequence[LinearFeedback]:
    """Return no policy, one for all runs or one for each, checked."""
    if given is None:
        return ()
    policies = [given] if isinstance(given, LinearFeedback) else list(given)
    if len(policies) not in (1, runs):
        raise InputError("policies", len(policies), f"one LinearFeedback, or {runs}: one a run")
    n_u, n_x, first = system.model().u.shape[0], system.model().x.shape[0], policies[0]
    for i, one in enumerate(policies):
        name = f"policies[{i}]"
        if not isinstance(one, LinearFeedback):
            raise InputError(name, one, "a LinearFeedback")
        if np.shape(one.inputs)[1] != n_u or (one.states is not None and np.shape(one.states)[1] != n_x):
            raise InputError(name, np.shape(one.inputs), f"of {n_u} inputs and {n_x} states")
        if one.period != first.period or (one.gains is None) != (first.gains is None):
            raise InputError(name, one, "of one period with the others, all with gains or none")
        if not (np.array_equal(one.low, first.low) and np.array_equal(one.high, first.high)):
            raise InputError(name, one, "of the same limits as the others")
    return policies


def _pieces(ends: FloatArray, inputs: FloatArray, held: Sequence[LinearFeedback]) -> Pieces:
    """Return the inputs of runs: those of a motion, or of their policies."""
    unbounded = np.full(inputs.shape[1], np.inf)
    if not held:
        return Pieces(ends, inputs[None], None, None, -unbounded, unbounded)
    own = held[:1] if all(one is held[0] for one in held) else held
    rows = [held[0].index(t) for t in (0.0, *ends[:-1].tolist())]

    def table(name: str) -> FloatArray:
        values = [np.asarray(getattr(one, name)) for one in own]
        return np.array([value[np.minimum(rows, len(value) - 1)] for value in values])

    fed_back = held[0].gains is not None
    gains, states = (table("gains"), table("states")) if fed_back else (None, None)
    return Pieces(ends, table("inputs"), gains, states, np.asarray(held[0].low), np.asarray(held[0].high))


def _parameters(phase: MotionPhase, inputs: FloatArray, numbers: FloatArray | None, count: int) -> FloatArray:
    """Return p (count, n_p) of runs that begin with the same inputs and their own free numbers (count, n)."""
    p = np.repeat(phase.parameters(inputs)[None], count, axis=0)
    if numbers is not None:
        p[:, phase.input_count : phase.input_count + numbers.shape[1]] = numbers
    return p


@dataclass(frozen=True, eq=False)
class _Begun:
    """Starts of one mode as runs begin: x (N, n_x), p (N, n_p), and which a compiled loop may take."""

    x: FloatArray
    p: FloatArray
    ready: NDArray[np.bool_]


def _begin_runs(runner: Runner, phase: MotionPhase, x: FloatArray, p: FloatArray) -> _Begun:
    """Do for many starts what the runner does for one: signs, slips, projection, and which margins are armed."""
    pairs, count, method = runner.system.contact_pairs, len(x), runner.method
    ready = np.ones(count, dtype=bool)

    rows = {name: i for i, name in enumerate(phase.margins)}
    before = phase.margin_rows(x, p).T
    for i, pair in enumerate(pairs):
        row = rows.get(f"{pair.contact}.roundness")
        if row is None or not LAWS[phase.mode.laws[i]].touching:
            continue
        if round_on_both_sides(pair):
            p[:, i - len(pairs)] = np.where(before[row] < 0, -1.0, 1.0)
        ready &= (np.abs(before[row]) if round_on_both_sides(pair) else before[row]) > _ROUND
    projection = phase.integrator.system.projection
    if not any(name.endswith(".relative_velocity") for name in phase.model.layout):
        ready &= _slips(phase, x, p) <= _SLIPS
        if method.stabilization == "projection" and projection is not None:
            free = p.copy()
            free[:, len(free.T) - len(pairs) :] = 0.0
            x = np.stack([np.asarray(projection(0.0, *one)).ravel() for one in zip(x, free, strict=True)])
    now = phase.margin_rows(x, p).T
    least = np.where(phase.loads, _NO_LOAD * runner.board.weight, np.where(phase.seams, _AT_SEAM, 0.0))
    ready &= np.all((np.abs(now) >= least[:, None]) | ~(phase.loads | phase.seams)[:, None], axis=0)
    return _Begun(x, p, ready & bool(phase.arm_margins(frozenset()).all()))


def _slips(phase: MotionPhase, x: FloatArray, p: FloatArray) -> FloatArray:
    """Return the largest slip (N,), m/s, of the contacts that touch."""
    laws = [LAWS[law] for law in phase.mode.laws]
    slipping = [i for i, law in enumerate(laws) if law.touching and not law.distant]
    if not slipping:
        return np.zeros(len(x))
    out, largest = phase.outputs(np.zeros(len(x)), x, p, forces=False), np.zeros(len(x))
    for name in (phase.model.constraints[i].name for i in slipping):
        n, slip = out[f"{name}.normal"], out[f"{name}.slip"]
        along = slip - n * np.sum(n * slip, axis=1, keepdims=True)
        largest = np.fmax(largest, np.linalg.norm(along, axis=1))
    return largest
