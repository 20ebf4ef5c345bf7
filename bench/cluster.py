"""``python -m bench.cluster [repeats]``: a sweep, trials and `simulate_many` on one and on two workers of Dask.

Schedulers and workers are processes on this machine, a thread each. Efficiency is the time on one worker over twice
that on two. Busy is the share of the two workers' time in which they computed a task: it says the same where something
else takes the processors, which makes tasks longer but adds no waiting between them. The aim is 0.9.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

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
                raise RuntimeError("Dask's scheduler did not start: pip install '.[scale]'")
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], started
    finally:
        for process in started:
            process.kill()
            process.wait()


def swept(address: str, folder: Path) -> None:
    """Sweep 32 runs of 10 s."""
    over, longer = ["object.mass=0.1:0.4:32"], ["simulation.duration=10.0"]
    if not sweep("plate-spinning", over, folder, scheduler=address, overrides=longer).complete:
        raise RuntimeError("the sweep is not complete")


def tried(address: str, folder: Path) -> None:
    """Run 12 trials of a controller, without what comes before and after them in a run."""
    del folder
    scenario = tr.load_scenario("wallbounce-recover", ["trials.count=12", "simulation.duration=0.5"])
    with over_processes(None, address):
        for part in build_all(scenario)[""].parts():
            part.run(None)


@cache
def thrown(count: int = 96) -> tuple[tr.RollingPair, list[tr.Start]]:
    """Return ellipsoids that fall, bounce, slide and roll: a dozen changes of the mode in each run."""
    body = tr.RigidBody(tr.Ellipsoid([0.1, 0.08, 0.07]), mass=1.0, inertia="solid")
    floor = tr.Hand(tr.Plane())
    pair = tr.RollingPair(body, floor, friction=0.2, on_slip="slide", on_separation="fly", restitution=0.3)
    turning = {"object_position": (0, 0, 0.3), "object_angular_velocity": (3, 1, 2)}
    return pair, [pair.place(**turning, object_velocity=(v, 0, 0)) for v in np.linspace(0.2, 1.0, count)]


def many(address: str, folder: Path) -> None:
    """Simulate 96 starts for 2 s."""
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
    """Print a line for each kind of work; 1 where the workers are busy for less than the aim."""
    repeats, least = int(arguments[0]) if arguments else 3, 1.0
    print(f"{'':8}{'1 worker':>10}{'2 workers':>12}{'efficiency':>12}{'busy':>8}{'load':>8}")
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as two,
        dask_cluster(Path(one), 1) as (alone, _),
        dask_cluster(Path(two), 2) as (both, _),
    ):
        for work in (swept, tried, many):
            measured(work, both)  # what is compiled is kept
            rounds = np.array([(*measured(work, alone), *measured(work, both)) for _ in range(repeats)])
            first, _, second, computed = rounds.T
            efficiency, busy = np.median(first / (2 * second)), float(np.median(computed / (2 * second)))
            times = f"{np.median(first):8.2f} s{np.median(second):10.2f} s"
            print(f"{work.__name__:8}{times}{efficiency:12.2f}{busy:8.2f}{os.getloadavg()[0]:8.1f}", flush=True)
            least = min(least, busy)
    print(f"aim: busy for {AIM}; load: processes that run or wait, of {os.cpu_count()} processors")
    return int(least < AIM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
