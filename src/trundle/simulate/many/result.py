"""Runs: what came of many runs of one model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import final, overload

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.models.numbers.changed import at_values
from trundle.models.tree.system import ContactSystem, Start
from trundle.records import Trajectory
from trundle.simulate.mode import Mode
from trundle.simulate.record import Log, record
from trundle.simulate.record.log import sample_rows
from trundle.simulate.record.recorder import created_in, inconsistent_in, judge_run
from trundle.status import Status
from trundle.threads import cached_property


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run came to: states (n, n_x) of the samples, the last one (n_x,) and its mode, and more.

    ``status``: before its record is judged; ``make``: how to make its log; ``values``: its numbers, where the model's
    are free; ``kept``: its record, of a run that was copied.
    """

    states: FloatArray
    last: FloatArray
    mode: Mode
    status: Status
    make: Callable[[], Log]
    values: FloatArray | None = None
    kept: Trajectory | None = None

    @cached_property
    def log(self) -> Log:
        """What the run gathered."""
        return self.make()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Many runs of one model, a sequence of `Trajectory`.

    Attributes
    ----------
    system : ContactSystem
    times : (n,) s
        Of the samples.
    outcomes : tuple of Outcome
        One a run.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane(), rpy=(0, 0.1, 0)))
    >>> runs = tr.simulate_many(pair, [pair.place(), pair.place(object_angular_velocity=(0, 1, 0))], 0.2)
    >>> runs[1].status.label, runs.states.shape[:2]
    ('success', (2, 2))
    """

    system: ContactSystem
    times: FloatArray
    outcomes: tuple[Outcome, ...]

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        return f"<Runs: {len(self)} over {self.times[-1]:g} s, {int(self.success.sum())} {Status.SUCCESS.label}>"

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> Trajectory: ...
    @overload
    def __getitem__(self, key: str) -> NDArray[np.float64]: ...
    def __getitem__(self, key: int | str) -> Trajectory | NDArray[np.float64]:
        """Return a run, or a variable (runs, times, ...) of all; what a run did not reach is not a number."""
        if isinstance(key, str):
            return _stack_values([run[key][sample_rows(run.time, self.times)] for run in self], len(self.times))
        one, wall_time = self.outcomes[key], {"build": 0.0, "simulate": 0.0}
        if one.kept is not None:
            return one.kept
        system = self.system if one.values is None else at_values(self.system, one.values)
        return record(system, one.log, one.status, wall_time, time.perf_counter())

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is compiled: the runs travel with their records."""
        kept = tuple(replace(one, make=Log, kept=run) for one, run in zip(self.outcomes, self, strict=True))
        return {"system": self.system, "times": self.times, "outcomes": kept}

    @cached_property
    def statuses(self) -> tuple[Status, ...]:
        """How each run ended."""
        logs = [[] if one.kept else one.log.segments for one in self.outcomes]
        whole = [len(parts) == 1 and parts[0].forces is None for parts in logs]
        whole = [
            one and not out.log.jumps and out.values is None for one, out in zip(whole, self.outcomes, strict=True)
        ]
        single = np.flatnonzero(whole).tolist()
        segments = [logs[i][0] for i in single]
        created = dict(zip(single, created_in(self.system, segments), strict=True))
        broken = dict(zip(single, inconsistent_in(self.system, segments), strict=True))

        def status(i: int, one: Outcome) -> Status:
            """Return how a run ended, as its record has it."""
            if i not in created:
                return self[i].status
            found, _ = judge_run(self.system, one.log, one.status, created[i])
            return Status.INCONSISTENT if broken[i] and found in (Status.SUCCESS, Status.REST) else found

        return tuple(status(i, one) for i, one in enumerate(self.outcomes))

    @property
    def success(self) -> NDArray[np.bool_]:
        """Which runs (runs,) ended with `Status.SUCCESS`."""
        return np.array([status is Status.SUCCESS for status in self.statuses], dtype=bool)

    @property
    def ends(self) -> list[Start]:
        """Where each run ended, to go on from."""
        return [self.system.start(one.last, one.mode.atlas, one.mode.laws) for one in self.outcomes]

    @cached_property
    def states(self) -> FloatArray:
        """States (runs, times, n_x) as ``model.layout`` has them; not a number after a run's end."""
        return _stack_values([one.states for one in self.outcomes], len(self.times))


def _stack_values(values: list[NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    found = np.full((len(values), count, *values[0].shape[1:]), np.nan)
    for row, value in zip(found, values, strict=True):
        row[: len(value)] = value[:count]
    return found
