"""Trials in several processes, here or on a cluster: the results do not depend on their number."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from trundle.cluster import Cluster, connect_scheduler, once
from trundle.errors import SimulationError, TrundleError
from trundle.extras import command
from trundle.scenarios.engine.building import Part, PartProgress
from trundle.scenarios.engine.log import RUN
from trundle.scenarios.engine.processes import cores, in_processes
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.records import Trajectory

TrialT = TypeVar("TrialT")
ResultT = TypeVar("ResultT")

_jobs: ContextVar[int | None] = ContextVar("jobs", default=1)
_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def over_processes(jobs: int | None, scheduler: str | None = None) -> Iterator[None]:
    """Run trials within the block in `jobs` processes (None: one for each core), or by a Dask scheduler's workers."""
    with connect_scheduler(scheduler) as cluster:
        tokens = _jobs.set(jobs), _cluster.set(cluster)
        try:
            yield
        finally:
            _jobs.reset(tokens[0])
            _cluster.reset(tokens[1])


@dataclass(frozen=True)
class Done(Generic[ResultT]):
    """Outcome of a trial: its result, or the error that ended it."""

    value: ResultT | None = None
    error: TrundleError | None = None

    def result(self) -> ResultT:
        """Return the trial's result, or raise its error."""
        if self.error is not None:
            raise self.error
        return cast("ResultT", self.value)


def run_trials(
    run: Callable[[TrialT], ResultT], trials: Sequence[TrialT], progress: PartProgress | None = None
) -> list[ResultT]:
    """Return ``run(trial)`` of every trial, in their order; `progress` is called with the share that is done.

    See `stream_trials`.
    """
    results: list[ResultT] = []
    for done in stream_trials(run, trials):
        results.append(done.result())
        if progress is not None:
            progress(len(results) / len(trials))
    return results


def stream_trials(run: Callable[[TrialT], ResultT], trials: Sequence[TrialT]) -> Iterator[Done[ResultT]]:
    """Yield the outcome of every trial, in their order, as soon as it is known.

    Parameters
    ----------
    run : callable
        Picklable; its result depends on the trial alone. A worker process unpickles it once and keeps it for its later
        trials, with everything that it has compiled.
    trials : sequence
        Picklable.
    """
    cluster, work = _cluster.get(), partial(_run_trial, run)
    if cluster is not None:
        yield from _yield_outcomes(cluster.run(work, trials, ordered=True))
        return
    jobs = min(_processes(), len(trials)) if len(trials) > 1 else 1
    if jobs < 2:
        yield from map(work, trials)
    else:
        kept = cast("Callable[[TrialT], Done[ResultT]]", partial(once, pickle.dumps(work)))
        yield from _yield_outcomes(in_processes(kept, trials, jobs, ordered=True))


def _yield_outcomes(results: Iterator[tuple[int, Done[ResultT] | None]]) -> Iterator[Done[ResultT]]:
    """Yield the outcomes of trials that other processes ran; one whose process died has an error."""
    for number, done in results:
        died = SimulationError(f"the process of trial {number + 1} died", Status.FAILED)
        yield Done(error=died) if done is None else done


def _processes() -> int:
    """Return how many processes may run trials."""
    jobs = _jobs.get()
    if jobs != 1 and find_spec("joblib") is None:
        RUN.info("trials run one after the other: joblib is not installed: %s", command("scale"))
        return 1
    return cores() if jobs is None else jobs


def trial_parts(done: Iterator[Done[Trajectory]], count: int, loops: Sequence[str] = ("closed",)) -> Iterator[Part]:
    """Yield the parts ``<loop>-loop-<number>`` of `count` trials in each loop: each waits for the next outcome."""

    def take(share: PartProgress | None) -> Trajectory:
        return next(done).result()

    names = [f"{loop}-loop-{k}" for k in range(1, count + 1) for loop in loops]
    for ahead, name in zip(reversed(range(len(names))), names, strict=True):
        yield Part(name, take, ahead=ahead)


def _run_trial(run: Callable[[TrialT], ResultT], trial: TrialT) -> Done[ResultT]:
    try:
        return Done(run(trial))
    except TrundleError as error:
        return Done(error=error)
