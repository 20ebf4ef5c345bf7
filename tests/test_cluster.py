"""Work on Dask: a real scheduler and two workers, of which one is killed, give what this process gives alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from bench.cluster import dask_cluster
from tests.scenarios.files import JUGGLING, written
from trundle.cluster import Cluster
from trundle.report import trajectories
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine import sweep as sweeps
from trundle.scenarios.engine.sweep_points import axes_of, points_of

pytest.importorskip("distributed")


def table_bytes(folder: Path) -> bytes:
    """The table of a sweep as a file holds it, without how long each run took."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sink = pa.BufferOutputStream()
    parquet.write_table(parquet.read_table(folder / sweeps.TABLE).drop_columns(["wall_time"]), sink)
    return sink.getvalue().to_pybytes()


def killing(process: object, after: int) -> Callable[[int, int], None]:
    """A progress that kills a worker once that many runs are done."""
    return lambda done, count: process.kill() if done == after else None


@pytest.mark.slow
def test_a_sweep_whose_worker_is_killed_has_the_uninterrupted_table(tmp_path: Path) -> None:
    file, over = written(tmp_path, JUGGLING), ["object.mass=0.1:0.5:10", "contact.friction=0.4,-1.0"]
    options = {"overrides": ["simulation.duration=5.0"], "keep": ["object_position", "gap"]}
    sweeps.sweep(file, over, tmp_path / "alone", jobs=1, **options)
    with dask_cluster(tmp_path) as (address, (_, worker, _)):
        kill = killing(worker, 6)
        done = sweeps.sweep(file, over, tmp_path / "there", scheduler=address, progress=kill, **options)
        assert worker.wait(10) == -9
    assert done.complete
    assert done.failed == 10
    assert table_bytes(tmp_path / "there") == table_bytes(tmp_path / "alone")
    alone, there = (
        {p.name: p.read_bytes() for p in (tmp_path / at / sweeps.KEPT).iterdir()} for at in ("alone", "there")
    )
    assert len(alone) == 10
    assert there == alone


@pytest.mark.slow
def test_many_runs_on_workers_of_which_one_is_killed_are_those_of_this_process(tmp_path: Path) -> None:
    ball = tr.RigidBody(tr.Ellipse([0.1, 0.07]), mass=1.0, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Line()), friction=0.2, on_slip="slide", on_separation="fly", restitution=0.3)
    starts = [pair.place(object_angular_velocity=w) for w in np.linspace(0.1, 12.0, 64)]
    alone = tr.simulate_many(pair, starts, 1.0, output_step=0.1, workers=1)
    assert any(run.transitions for run in alone)
    assert not all(run.transitions for run in alone)
    told: list[int] = []
    with dask_cluster(tmp_path) as (address, (_, worker, _)):

        def kill(done: int) -> None:
            told.append(done)
            worker.kill()

        there = tr.simulate_many(pair, starts, 1.0, output_step=0.1, scheduler=address, progress=kill)
    assert told[-1] == 64
    assert len(told) > 8
    assert there.statuses == alone.statuses
    np.testing.assert_array_equal(there.states, alone.states)
    for one, other in zip(there, alone, strict=True):
        assert one.dataset.identical(other.dataset)
        assert one.transitions == other.transitions


@pytest.mark.slow
def test_trials_on_workers_of_which_one_is_killed_are_those_of_this_process(tmp_path: Path) -> None:
    scenario = load_scenario("ellipse-damping", ["trials.count=6", "simulation.duration=1.0"])
    run(scenario, tmp_path / "alone", plots=False, jobs=1)
    told: list[str] = []
    with dask_cluster(tmp_path) as (address, (_, worker, _)):

        def kill(name: str, share: float) -> None:
            told.append(name)
            if len(set(told)) == 2:
                worker.kill()

        run(scenario, tmp_path / "there", plots=False, scheduler=address, progress=kill)
        assert worker.wait(10) == -9
    alone, there = trajectories(tmp_path / "alone"), trajectories(tmp_path / "there")
    assert alone.keys() == there.keys()
    assert len(alone) >= 6
    for part, one in alone.items():
        for name in map(str, one.dataset.data_vars):
            if "solve_time" not in name:  # on this machine
                np.testing.assert_array_equal(one[name], there[part][name], err_msg=f"{part}: {name}")


def test_what_is_no_cluster_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trundle.cluster.ANSWERS", "0.5s")
    with pytest.raises(tr.InputError, match=r"scheduler = 'tcp://127.0.0.1:9': must be the address of a Dask sched"):
        run("plate-spinning", tmp_path / "out", scheduler="tcp://127.0.0.1:9")
    with pytest.raises(tr.InputError, match="scheduler = 'nowhere at all'"):
        sweeps.sweep("plate-spinning", ["object.mass=1"], tmp_path / "out", scheduler="nowhere at all")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_workers_that_do_not_see_the_files_end_a_sweep_that_a_lost_scheduler_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = written(tmp_path, JUGGLING), tmp_path / "out"
    with dask_cluster(tmp_path, workers=1) as (address, (scheduler, _)):

        def kill(done: int, count: int) -> None:
            if done == 2:
                scheduler.kill()

        task = sweeps.SweepTask(str(file), digest="of other files")
        with Cluster(address) as cluster, pytest.raises(tr.InputError, match="the same files at the same paths"):
            list(cluster.run(task.run_elsewhere, points_of(axes_of(["object.mass=1"]), None, 0), ordered=False))
        with Cluster(address) as cluster, monkeypatch.context() as patch:
            patch.setattr("trundle.cluster.__version__", "0.0.0")
            with pytest.raises(tr.InputError, match=r"workers have trundle 0\.0\.0, not 0"):
                list(cluster.run(str, [1, 2], ordered=True))
        with pytest.raises(tr.TrundleError, match="is gone"):
            sweeps.sweep(file, ["object.mass=0.1:0.5:30"], out, scheduler=address, progress=kill)
    again = sweeps.sweep(file, ["object.mass=0.1:0.5:30"], out, jobs=1)
    assert again.complete
    assert 2 <= again.resumed < 30
