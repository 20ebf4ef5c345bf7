"""``python -m bench.cluster [repeats]``: a sweep, trials and `simulate_many` on one and on two workers of Dask.

Schedulers and workers are processes on this machine, a thread each. Efficiency is the time on one worker over twice
that on two. Busy is the share of the two workers' time in which they computed a task: it says the same where something
else takes the processors, which makes tasks longer but adds no waiting between them. The aim is 0.9.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

import trundle as tr
from trundle.scenarios.engine.building import build_all
from trundle.scenarios.engine.sweep import sweep
from trundle.scenarios.engine.trials import over_processes

AIM = 0.9
ROOT = Path(__file__).resolve().parents[1]
Process = subprocess.Popen[bytes]


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[Process]]]:
    """Start Dask's own commands on 127.0.0.1; yield the scheduler's address, and the scheduler and its workers."""
    file = folder / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    shared = ["--host", "127.0.0.1", "--scheduler-file", str(file), "--no-dashboard"]
    started: list[Process] = []

    def start(role: str, *options: str) -> None:
        command = [sys.executable, "-m", "dask", role, *shared, *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, env=environment, cwd=folder, **quiet))

    try:
        start("scheduler", "--port", "0")
        for _ in range(workers):
            start("worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        end = time.monotonic() + 60.0
        while not (file.exists() and file.read_text().endswith("}")):
            if time.monotonic() > end or started[0].poll() is not None:
                raise RuntimeError("Dask's scheduler did not start: pip install 'trundle[scale]'")
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], started
    finally:
        for process in started:
            process.kill()
            process.wait()


def swept(address: str, folder: Path) -> None:
    """Sweep 40 runs of 20 s."""
    over, longer = ["object.mass=0.1:0.4:40"], ["simulation.duration=20.0"]
    if not sweep("plate-spinning", over, folder, scheduler=address, overrides=longer).complete:
        raise RuntimeError("the sweep is not complete")


def tried(address: str, folder: Path) -> None:
    """Run 16 trials of a controller, without what comes before and after them in a run."""
    del folder
    scenario = tr.load_scenario("wallbounce-recover", ["trials.count=16", "simulation.duration=0.6"])
    with over_processes(None, address):
        for part in build_all(scenario)[""].parts():
            part.run(None)


@cache
def thrown(count: int = 128) -> tuple[tr.RollingPair, list[tr.Start]]:
    """Return ellipsoids that fall, bounce, slide and roll: a dozen changes of the mode in each run."""
    body = tr.RigidBody(tr.Ellipsoid([0.1, 0.08, 0.07]), mass=1.0, inertia="solid")
    floor = tr.Hand(tr.Plane())
    pair = tr.RollingPair(body, floor, friction=0.2, on_slip="slide", on_separation="fly", restitution=0.3)
    turning = {"object_position": (0, 0, 0.3), "object_angular_velocity": (3, 1, 2)}
    return pair, [pair.place(**turning, object_velocity=(v, 0, 0)) for v in np.linspace(0.2, 1.0, count)]


def many(address: str, folder: Path) -> None:
    """Simulate 128 starts for 2 s."""
    del folder
    tr.simulate_many(*thrown(), 2.0, scheduler=address)


def measured(work: Callable[[str, Path], None], address: str) -> tuple[float, float]:
    """Return how long work took (s), and how long tasks of it were computed (s)."""
    import distributed

    with (
        TemporaryDirectory() as folder,
        distributed.Client(address, set_as_default=False) as client,
        distributed.get_task_stream(client) as stream,
    ):
        begin = time.perf_counter()
        work(address, Path(folder, "out"))
        took = time.perf_counter() - begin
    spans = [span for task in stream.data for span in task["startstops"] if span["action"] == "compute"]
    return took, sum(span["stop"] - span["start"] for span in spans)


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where the workers are busy for less than the aim."""
    repeats = int(arguments[0]) if arguments else 3
    table = Table("", "1 worker, s", "2 workers, s", "efficiency", "busy", title=f"Dask, {os.cpu_count()} processors")
    least = 1.0
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        with dask_cluster(Path(one), 1) as (alone, _), dask_cluster(Path(two), 2) as (both, _):
            for work in (swept, tried, many):
                measured(work, alone), measured(work, both)  # what is compiled is kept
                rounds = [(*measured(work, alone), *measured(work, both)) for _ in range(repeats)]
                t1, t2 = (statistics.median(one[i] for one in rounds) for i in (0, 2))
                busy = statistics.median(computed / (2 * took) for _, _, took, computed in rounds)
                efficiency = statistics.median(r[0] / (2 * r[2]) for r in rounds)
                table.add_row(work.__name__, f"{t1:.2f}", f"{t2:.2f}", f"{efficiency:.2f}", f"{busy:.2f}")
                least = min(least, busy)
    Console(width=100).print(table)
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    return int(least < AIM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
