"""Trials over processes: order, errors, and the same results for any number of processes."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError, SimulationError
from trundle.report import trajectories
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine.trials import over_processes, run_trials, stream_trials
from trundle.status import Status


def squared(offset: float, x: float) -> float:
    if x < 0:
        raise SimulationError("it fell", Status.FAILED)
    return offset + x * x


def process(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_trials(jobs: int) -> None:
    told: list[float] = []
    with over_processes(jobs):
        assert run_trials(partial(squared, 1.0), [0.0, 1.0, 2.0, 3.0], told.append) == [1.0, 2.0, 5.0, 10.0]
    assert told == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_that_fails_fails_alone(jobs: int) -> None:
    with over_processes(jobs):
        done = list(stream_trials(partial(squared, 1.0), [1.0, -1.0, 2.0]))
    assert (done[0].result(), done[2].result()) == (2.0, 5.0)
    with pytest.raises(SimulationError, match="it fell"):
        done[1].result()


def test_trials_leave_this_process_only_where_they_may() -> None:
    assert run_trials(process, [0, 1]) == [os.getpid()] * 2
    with over_processes(2):
        assert os.getpid() not in run_trials(process, [0, 1])
        assert run_trials(process, [0]) == [os.getpid()]


def test_a_wrong_number_of_processes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="jobs = 0"):
        run("plate-spinning", tmp_path / "out", jobs=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("ellipse-damping", ["trials.count=2", "simulation.duration=0.5"]),
        ("wallbounce-recover", ["trials.count=2", "simulation.duration=0.3"]),
    ],
)
def test_a_scenario_has_the_same_results_for_any_number_of_processes(tmp_path, name, overrides) -> None:
    runs = []
    for jobs in (1, 2):
        run(load_scenario(name, overrides), tmp_path / str(jobs), plots=False, jobs=jobs)
        runs.append(trajectories(tmp_path / str(jobs)))
    one, two = runs
    assert one.keys() == two.keys()
    for part, alone in one.items():
        for variable in map(str, alone.dataset.data_vars):
            if "solve_time" not in variable:  # on this machine
                np.testing.assert_array_equal(alone[variable], two[part][variable], err_msg=f"{part}: {variable}")
