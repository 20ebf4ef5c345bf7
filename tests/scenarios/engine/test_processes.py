"""Worker processes end with the process that began them, even if it is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

_CHILD = """
import os, sys, time
from pathlib import Path
from trundle.scenarios.engine.processes import in_processes

def wait(item):
    Path(sys.argv[1] if len(sys.argv) > 1 else item, str(os.getpid())).touch()
    time.sleep(100)

if __name__ == "__main__":
    list(in_processes(wait, [sys.argv[1]] * 2, 2, ordered=False))
"""


def alive(process: int) -> bool:
    """Whether a process runs: an ended one whose parent has not asked for it does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def waited(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_workers_of_a_killed_process_end(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path)])
    try:
        assert waited(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        child.kill()
        child.wait()
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert os.getpid() not in workers
    assert waited(lambda: not any(map(alive, workers)), 10.0)
