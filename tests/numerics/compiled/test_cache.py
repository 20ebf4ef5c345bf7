from __future__ import annotations

import errno
import hashlib
import logging
import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import pytest

from trundle.numerics.compiled import cache
from trundle.numerics.compiled.compile import compile_function, find_compiler

KEY = "ab" * 32


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUNDLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_advised", set())
    return tmp_path / "cache"


class Builder:
    def __init__(self, content=b"library"):
        self.calls = 0
        self.content = content

    def __call__(self, path):
        self.calls += 1
        path.write_bytes(self.content)


def test_directory_is_made_private(own_cache):
    assert cache.cache_directory() == own_cache
    assert stat.S_IMODE(own_cache.stat().st_mode) == 0o700


def test_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("TRUNDLE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_directory() == tmp_path / "xdg" / "trundle"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_directory() == tmp_path / ".cache" / "trundle"


def test_built_once_and_kept_with_its_checksum(own_cache):
    build = Builder()
    path = cache.fetch("f", KEY, build)
    assert cache.fetch("f", KEY, build) == path
    assert build.calls == 1
    assert path.with_suffix(".sha256").read_text().strip() == hashlib.sha256(b"library").hexdigest()
    assert not list(own_cache.glob("build-*"))


@pytest.mark.parametrize("damage", ["library", "checksum", "no checksum", "symlink", "empty"])
def test_tampered_library_is_built_again(damage, tmp_path):
    build = Builder()
    path = cache.fetch("f", KEY, build)
    if damage == "library":
        path.write_bytes(b"other code")
    elif damage == "checksum":
        path.with_suffix(".sha256").write_text("0" * 64)
    elif damage == "no checksum":
        path.with_suffix(".sha256").unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        (tmp_path / "elsewhere").write_bytes(b"library")
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
    assert not cache.verify_checksum(path)
    assert cache.fetch("f", KEY, build) == path
    assert build.calls == 2
    assert path.read_bytes() == b"library"
    assert not path.is_symlink()


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_tampered_compiled_function_gives_the_right_numbers(own_cache):
    x = ca.SX.sym("x")
    f = ca.Function("tampered", [x], [3 * x])
    compile_function(f)
    (path,) = own_cache.glob("trundle_tampered*.so")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.unlink()
    path.write_bytes(data)
    assert float(compile_function(f)(2.0)) == 6.0
    assert cache.verify_checksum(path)


def test_failed_build_stores_nothing(own_cache):
    def fail(path):
        path.write_bytes(b"half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.fetch("f", KEY, fail)
    assert not list(own_cache.glob("f-*"))
    assert not list(own_cache.glob("build-*"))


@pytest.mark.parametrize("problem", ["writable", "symlink", "file", "foreign", "unwritable"])
def test_unsafe_directory_is_refused(problem, own_cache, tmp_path, monkeypatch, caplog):
    if problem == "writable":
        own_cache.mkdir()
        own_cache.chmod(0o777)
    elif problem == "symlink":
        (tmp_path / "real").mkdir(mode=0o700)
        own_cache.symlink_to(tmp_path / "real")
    elif problem == "file":
        own_cache.write_text("a file")
    elif problem == "foreign":
        own_cache.mkdir(mode=0o700)
        monkeypatch.setattr(cache.os, "getuid", lambda: os.geteuid() + 1)
    else:
        own_cache.mkdir(mode=0o700)
        monkeypatch.setattr(cache.os, "access", lambda *args: False)
    with caplog.at_level(logging.WARNING, logger="trundle"):
        used = cache.cache_directory()
        assert cache.cache_directory() == used
    assert used != own_cache
    assert stat.S_IMODE(used.stat().st_mode) == 0o700
    assert len(caplog.records) == 1
    assert "TRUNDLE_CACHE" in caplog.text
    build = Builder()
    assert cache.fetch("f", KEY, build).parent == used
    cache._remove(cache.fetch("f", KEY, build))


def test_old_libraries_make_room(monkeypatch):
    first = cache.fetch("old", "1" * 64, Builder(b"x" * 1000))
    os.utime(first, (1, 1))
    second = cache.fetch("new", "2" * 64, Builder(b"x" * 1000))
    monkeypatch.setattr(cache, "MAXIMUM_SIZE", 2500)
    third = cache.fetch("newest", "3" * 64, Builder(b"x" * 1000))
    assert cache.entries() == sorted([second, third])
    assert not first.with_suffix(".sha256").exists()


SCRIPT = """
import casadi as ca
from trundle.numerics.compiled.compile import compile_function
x = ca.SX.sym("x")
for k in range(4):
    assert float(compile_function(ca.Function("f", [x], [k * ca.sin(x)]))(1.0)) == k * float(ca.sin(1.0))
print("good")
"""


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_two_processes_at_once(own_cache):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert out.decode().strip() == "good", err.decode()
    found = cache.entries(own_cache)
    assert sum(path.name.startswith("trundle_f_") for path in found) == 4
    assert all(cache.verify_checksum(path) for path in found)


def test_a_build_that_was_killed_is_cleared_at_the_next_start(own_cache):
    code = "import os; from trundle.numerics.compiled.cache import fetch; "
    code += "fetch('f', 'ab' * 32, lambda p: os.kill(os.getpid(), 9))"
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -9
    assert len(list(own_cache.glob("build-*"))) == 1
    cache.fetch("f", KEY, Builder())
    assert not list(own_cache.glob("build-*"))


def test_a_lock_that_another_process_holds_is_named_and_not_waited_for_without_end(own_cache, monkeypatch, caplog):
    monkeypatch.setattr(cache, "_PATIENCE", 0.1)
    monkeypatch.setattr(cache, "_LONGEST", 0.3)
    lock = cache.cache_directory() / "lock-a"
    with cache._lock_file(lock), caplog.at_level(logging.WARNING, logger="trundle"):
        assert cache.fetch("f", KEY, Builder()).is_file()
    (said,) = [record.getMessage() for record in caplog.records]
    assert str(lock) in said
    assert f"held by process {os.getpid()}" in said


@pytest.fixture
def fresh(monkeypatch):
    """Let the module remember no full disk and no folder of this process."""
    for name, empty in (("_full", {}), ("_fallback", {}), ("_cleared", set())):
        monkeypatch.setattr(cache, name, empty)


def full(monkeypatch, code, *homes):
    """Refuse what is written to files in the folders `homes`, and new ones."""
    real_open, real_write = os.open, os.write

    def refuse(name):
        if any(str(name).startswith(str(home)) for home in homes):
            raise OSError(code, os.strerror(code))

    def opened(path, flags, *others, **named):
        if flags & os.O_CREAT:
            refuse(path)
        return real_open(path, flags, *others, **named)

    def written(handle, content):
        refuse(os.readlink(f"/proc/self/fd/{handle}"))
        return real_write(handle, content)

    monkeypatch.setattr(os, "write", written)
    if code == errno.EROFS:
        monkeypatch.setattr(os, "open", opened)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_on_a_full_or_read_only_disk_a_temporary_folder_serves_and_it_is_said_once(
    code, own_cache, monkeypatch, caplog
):
    cache.cache_directory()
    full(monkeypatch, code, own_cache)
    with caplog.at_level(logging.WARNING, logger="trundle"):
        first = cache.fetch("f", KEY, build := Builder())
        assert cache.fetch("f", KEY, build) == first
        other = cache.fetch("g", KEY, build)
    assert build.calls == (2 if code == errno.EROFS else 3)  # the first one twice, where its disk takes empty files
    assert first.parent == other.parent != own_cache
    assert cache.verify_checksum(first)
    (said,) = [record.getMessage() for record in caplog.records]
    assert str(own_cache) in said
    assert os.strerror(code).lower() in said.lower()
    assert "set TRUNDLE_CACHE" in said


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.usefixtures("fresh")
def test_where_no_disk_has_room_functions_run_without_a_compiler(own_cache, tmp_path, monkeypatch, caplog):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    cache.cache_directory()
    full(monkeypatch, errno.ENOSPC, tmp_path)
    x = ca.SX.sym("x")
    f = ca.Function("roomless", [x], [3 * x])
    with caplog.at_level(logging.WARNING, logger="trundle"):
        assert compile_function(f) is f
        assert compile_function(f) is f
    assert [record.getMessage() for record in caplog.records if "has no place" in record.getMessage()] != []
    assert len(caplog.records) == 2
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".so", ".part", ".c")]


@pytest.mark.usefixtures("fresh")
def test_threads_that_need_a_temporary_folder_share_one(own_cache, monkeypatch):
    made = []
    real = cache.scratch.lasting_scratch

    def slow():
        time.sleep(0.05)
        made.append(real())
        return made[-1]

    monkeypatch.setattr(cache.scratch, "lasting_scratch", slow)
    own_cache.write_text("no folder")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.cache_directory(), range(8)))
    assert set(found) == set(made)
    assert len(made) == 1


@pytest.mark.usefixtures("fresh")
def test_the_temporary_folder_goes_with_the_process_that_made_it(own_cache, monkeypatch):
    at_exit = []
    monkeypatch.setattr(cache.atexit, "register", at_exit.append)
    own_cache.write_text("no folder")
    used = cache.cache_directory()
    (leave,) = at_exit
    with monkeypatch.context() as forked:
        forked.setattr(cache.os, "getpid", lambda: -1)
        leave()
    assert used.is_dir()
    leave()
    assert not used.exists()
