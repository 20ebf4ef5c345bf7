"""One mutant against its tests, in a copy of the sources and a process of its own."""

from __future__ import annotations

import compileall
import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "bench", "examples", "pyproject.toml", "Makefile")
LOADED = "numpy casadi scipy.linalg scipy.optimize scipy.spatial.transform scipy.integrate pytest pydantic"
LOADED += " hypothesis.strategies beartype matplotlib.figure pandas xarray rich typer clarabel piqp daqp qpsolvers"
PATIENCE = 600.0  # s of wall time, for what waits without computing
SLACK = 10.0  # s of computing that a test may take beyond five times its usual time
MEMORY = 12 << 30  # bytes of addresses

_SIGPROF_KILLED, _PASSED, _FAILED, _NONE_LEFT = -signal.SIGPROF, 0, 1, 5


class Chosen:
    """A plug-in of pytest: the chosen tests in their order, each within its time; it notes the last one."""

    def __init__(self, seconds: dict[str, float], known: frozenset[str], said: Path) -> None:
        self.seconds, self.known, self.said = seconds, known, said

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        # A mutant may rename the cases of a test: what nobody knows and has the function of a chosen one is run, too.
        functions = {name.split("[")[0] for name in self.seconds}
        order = {name: i for i, name in enumerate(self.seconds)}
        ours = [
            i
            for i in items
            if i.nodeid in order or (i.nodeid not in self.known and i.nodeid.split("[")[0] in functions)
        ]
        items[:] = sorted(ours, key=lambda i: order.get(i.nodeid, len(order)))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, SLACK + 5.0 * self.seconds.get(nodeid, 1.0))
        self.said.write_text(nodeid, encoding="utf-8")  # the last one is that which failed, or never ended


class Bench:
    """A copy of the project in a temporary folder, in which one file at a time is mutated."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.root, self.cache = folder / "tree", cache
        self.said, self.output = folder / "said.txt", folder / "output.txt"
        self.own_cache = folder / "cache"
        for name in COPIED:
            source, target = ROOT / name, self.root / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
            else:
                shutil.copy2(source, target)
        compileall.compile_dir(self.root / "src", quiet=1)
        for name in LOADED.split():
            importlib.import_module(name)

    def collect(self, tests: list[str]) -> None:
        """Import all tests once, unmutated, so that their rewritten bytecode is there."""
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, **self._environment(self.cache)}
        subprocess.run(command, cwd=self.root, env=environment, check=True, stdout=subprocess.DEVNULL)

    def judge(self, path: str, source: str, tests: dict[str, float], known: frozenset[str]) -> tuple[str, str]:
        """Return how the tests, with their seconds, end when the file has this text, and the test that ended them."""
        target, cache = self.root / path, self.cache
        if "numerics/compiled" in path:  # it writes the cache: it may spoil one of its own
            cache = self.own_cache
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(self.cache, cache, copy_function=os.link)
            cache.chmod(0o700)
        target.write_text(source, encoding="utf-8")
        self.said.write_text("import", encoding="utf-8")
        try:
            code = self._in_a_child(tests, known, cache)
        finally:
            shutil.copy2(ROOT / path, target)
        return self._outcome(code), self.said.read_text(encoding="utf-8")

    @staticmethod
    def _outcome(code: int) -> str:
        if code == _PASSED:
            return "survived"
        if code < 0:
            return "killed: never ends" if code == _SIGPROF_KILLED else f"killed: signal {-code}"
        return {_FAILED: "killed", _NONE_LEFT: "no test left"}.get(code, "killed: at import")

    def _environment(self, cache: Path) -> dict[str, str]:
        path = os.pathsep.join([str(self.root / "src"), os.environ.get("PYTHONPATH", "")])
        return {"PYTHONPATH": path, "TRUNDLE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}

    def _in_a_child(self, tests: dict[str, float], known: frozenset[str], cache: Path) -> int:
        child = os.fork()
        if child == 0:
            os._exit(self._run(tests, known, cache))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.05)
        try:
            os.killpg(child, signal.SIGKILL)  # also what the tests started
        except ProcessLookupError:
            pass
        if time.monotonic() >= end:
            os.waitpid(child, 0)
            return _SIGPROF_KILLED
        return os.waitstatus_to_exitcode(status)

    def _run(self, tests: dict[str, float], known: frozenset[str], cache: Path) -> int:
        """Be the child: pytest, away from the terminal and the tree."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        out = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.environ.update(self._environment(cache))
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        os.chdir(self.root)
        sys.path[:] = [
            str(self.root / "src"),
            str(self.root),
            *(p for p in sys.path if Path(p or ".").resolve() != ROOT),
        ]
        for name in [n for n in sys.modules if n.split(".")[0] in ("trundle", "tests")]:
            del sys.modules[name]
        import pytest

        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        options = [
            "-x",
            "-q",
            "--tb=short",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "--rootdir",
            str(self.root),
        ]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported already
        options += ["--basetemp", str(self.root.parent / "temporary")]
        try:
            return int(pytest.main([*options, *files], plugins=[Chosen(tests, known, self.said)]))
        except BaseException:
            traceback.print_exc()
            return 3
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


def in_stages(tests: dict[str, float], first: tuple[str, ...], limits: tuple[float, ...]) -> list[dict[str, float]]:
    """Return the tests in stages of so many seconds: of the files `first`, then the quickest of each in turn.

    Of the other files those of the first one's package come before the rest.
    """
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda t: (tests[t], t)):
        by_file[test.split("::")[0]].append(test)
    own = [f for f in by_file if f.endswith(first)]
    others = [(rank, t) for f, ts in by_file.items() if f not in own for rank, t in enumerate(ts)]
    package = "/".join(first[0].split("/")[:2]) + "/"
    others.sort(key=lambda turn: (not turn[1].startswith(package), turn[0], tests[turn[1]], turn[1]))
    queue = [t for f in own for t in by_file[f]] + [t for _, t in others]
    stages: list[dict[str, float]] = []
    for limit in limits:
        stage, total = [], 0.0
        while queue and (total + tests[queue[0]] <= limit or not stage):
            total += tests[queue[0]]
            stage.append(queue.pop(0))
        files = list(
            dict.fromkeys(t.split("::")[0] for t in stage)
        )  # a file's tests together: its fixtures are made once
        if stage:
            stages.append({t: tests[t] for t in sorted(stage, key=lambda t: files.index(t.split("::")[0]))})
    return stages
