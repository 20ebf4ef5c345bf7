"""A Dask scheduler and workers as processes of their own, as on machines of one's own, but all on this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.scenarios.engine.test_processes import waited

ROOT = Path(__file__).resolve().parents[1]
Process = subprocess.Popen[bytes]


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[Process]]]:
    """Start Dask's own commands on 127.0.0.1; yield the scheduler's address, and scheduler and workers."""
    file = folder / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    shared = ["--host", "127.0.0.1", "--scheduler-file", str(file)]
    at = {"env": environment, "cwd": folder, "stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    started: list[Process] = []

    def start(role: str, *options: str) -> None:
        started.append(subprocess.Popen([sys.executable, "-m", "dask", role, *shared, *options], **at))

    try:
        start("scheduler", "--port", "0", "--no-dashboard")
        for _ in range(workers):
            start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
        assert waited(lambda: file.exists() and file.read_text().endswith("}"), 60.0)
        yield json.loads(file.read_text())["address"], started
    finally:
        for process in started:
            process.kill()
            process.wait()
