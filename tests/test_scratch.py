"""Temporary folders: gone with their process, even a killed one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from trundle import scratch

_CHILD = """
import sys, time
from pathlib import Path
from trundle.scratch import lasting_scratch, scratch
lasting_scratch()
with scratch("build-", Path(sys.argv[1])) as folder, scratch():
    (folder / "library.so").write_text("half")
    print("up", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_what_a_killed_process_left_is_removed_and_nothing_else(home: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(home)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    (home / "trundle-results").mkdir()
    (home / "build-mine").mkdir()
    link = home / f"trundle-{child.pid}-abcdefgh"
    link.symlink_to(home / "trundle-results")
    before = set(home.iterdir())
    assert len(before) == 6
    scratch.clear()
    scratch.clear("build-", home)
    assert set(home.iterdir()) == before, "the process lives"
    child.kill()
    child.communicate()
    with scratch.scratch() as live:
        scratch.clear()
        scratch.clear("build-", home)
        assert set(home.iterdir()) == {home / "trundle-results", home / "build-mine", link, live}
    os.utime(home / "build-mine", (0, 0))
    os.utime(home / "trundle-results", (0, 0))
    scratch.clear()
    scratch.clear("build-", home)
    assert set(home.iterdir()) == {home / "trundle-results", link}


def test_where_locks_do_not_work_only_old_folders_are_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "fcntl", None)
    with scratch.scratch() as live:
        scratch.clear()
        assert live.is_dir()
        os.utime(live, (0, 0))
        scratch.clear()
        assert not live.exists()
