"""A sweep killed from outside leaves nothing that goes on, and is gone on with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.engine.test_processes import alive, waited
from tests.scenarios.files import JUGGLING, written


def children(process: int) -> set[int]:
    """All processes below one, from /proc."""
    above = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                above[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found, new = set(), {process}
    while new:
        new = {child for child, parent in above.items() if parent in new} - found
        found |= new
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_sweep_killed_in_the_middle_leaves_no_process_and_resumes(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    pytest.importorskip("pyarrow")
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    command = [sys.executable, "-c", "import sys; from trundle.cli import main; main(sys.argv[1:])", "sweep"]
    command += [str(written(tmp_path, JUGGLING)), "--over", "object.mass=1:6:24"]
    command += ["--out", str(out), "--jobs", "2", "--quiet", "--set", "simulation.duration=20.0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(temporary)}
    child = subprocess.Popen(command, env=environment)
    rows = out / "rows.jsonl"
    try:
        assert waited(lambda: rows.is_file() and len(rows.read_text().splitlines()) >= 3, 60.0)
        below = children(child.pid)
        assert len(below) >= 2
    finally:
        child.kill()
        child.wait()
    done = rows.read_text().splitlines()[:-1]
    assert len(done) < 24, "it was killed too late to show anything"
    assert waited(lambda: not any(map(alive, below)), 15.0)
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert rows.read_text().splitlines()[: len(done)] == done, "rows that were there are kept"
    assert sorted(row["run"] for row in found) == list(range(24))
    assert not [path for path in temporary.iterdir() if path.name.startswith("trundle")]
