"""Which test runs which line, and how long each test takes: by coverage.py, measured again where a test file changed.

python tests/mutation/watch.py OUT.json FOLDER... -- TESTS...
"""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DECLARED = "tests/test_declarations.py"  # tests of what is told while modules are imported


def digest(path: Path) -> str:
    """Return what tells one content of a file from another."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


@dataclass
class Map:
    """Seconds of each test, the tests of each line, and the digests of the files they were measured with."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[str]]] = field(
        default_factory=dict
    )  # file, line -> tests; none: run while imported
    sources: dict[str, str] = field(default_factory=dict)
    tests: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Map:
        """Return the map of a file; an empty one if there is none."""
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls()

    def refresh(self, path: Path, folders: list[str], tests: list[str], command: list[str]) -> None:
        """Measure the test files that are new or changed since, forget those that are gone, write the map to `path`."""
        now = {f.relative_to(ROOT).as_posix(): digest(f) for t in tests for f in _files(ROOT / t)}
        changed = [name for name, content in now.items() if self.tests.get(name) != content]
        gone = {*changed, *(set(self.tests) - set(now))}
        self.seconds = {test: s for test, s in self.seconds.items() if test.split("::")[0] not in gone}
        for of_file in self.lines.values():
            for line, names in of_file.items():
                of_file[line] = [test for test in names if test in self.seconds]
        if changed:
            print(f"measuring which lines {len(changed)} files of tests run", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "map.json"
                subprocess.run([*command, __file__, str(out), *folders, "--", *changed], cwd=ROOT, check=True)
                self._add(Map.read(out))
        self.tests = now
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(self)), encoding="utf-8")

    def _add(self, other: Map) -> None:
        self.seconds |= other.seconds
        for name, of_file in other.lines.items():
            mine = self.lines.setdefault(name, {})
            for line, tests in of_file.items():
                mine[line] = [*mine.get(line, ()), *tests]
            self.sources.setdefault(name, other.sources[name])

    def of(self, name: str, first: int, last: int) -> set[str]:
        """Return the tests that run the lines; all of the file for what runs at its import or where it changed."""
        of_file = self.lines.get(name, {})
        lines = [line for line in map(str, range(first, last + 1)) if line in of_file]
        tests = {test for line in lines for test in of_file[line]}
        if self.sources.get(name) != digest(ROOT / name) or (lines and not tests):
            declared = {test for test in self.seconds if test.startswith(DECLARED)}
            return declared.union(*of_file.values())
        return tests


class Watch:
    """A plug-in of pytest: for each test a context of coverage.py, and its seconds of computing."""

    def __init__(self, measured: Any) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.seconds[nodeid] = -time.process_time()
        self.measured.switch_context(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += time.process_time()
        self.measured.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def main(out: str, folders: list[str], tests: list[str]) -> None:
    """Run the tests once under coverage.py and write the map; tests that fail, skip or are slow are not in it."""
    import coverage
    import pytest

    measured = coverage.Coverage(data_file=None, source=[str(ROOT / folder) for folder in folders], config_file=False)
    watch = Watch(measured)
    measured.start()
    for folder in folders:  # what runs at import is of no test, also where a test would be the first to import it
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.stem != "__init__":
                importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    pytest.main(["-q", "-m", "not slow", "-p", "no:cacheprovider", *tests], plugins=[watch])
    measured.stop()
    data, seen = measured.get_data(), Map()
    seen.seconds = {test: round(s, 3) for test, s in watch.seconds.items() if test not in watch.failed}
    for path in map(Path, sorted(data.measured_files())):
        name = path.relative_to(ROOT).as_posix()
        seen.sources[name] = digest(path)
        contexts = sorted(data.contexts_by_lineno(str(path)).items())
        seen.lines[name] = {str(line): sorted(t for t in tests if t in seen.seconds) for line, tests in contexts}
    Path(out).write_text(json.dumps(vars(seen)), encoding="utf-8")


if __name__ == "__main__":
    split = sys.argv.index("--")
    main(sys.argv[1], sys.argv[2:split], sys.argv[split + 1 :])
