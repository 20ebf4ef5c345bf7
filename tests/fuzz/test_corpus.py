"""The files that once broke something, and a few hundred fresh ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import fuzz
from tests.fuzz.cases import BASES, examine, furnish
from tests.fuzz.judge import Bench
from tests.fuzz.mutate import mutated

CORPUS = sorted(path for path in fuzz.CORPUS.glob("*.toml") if path.is_file())
FILES = sorted(path.name for path in fuzz.CORPUS.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_corpus_file_is_accepted_or_refused_in_good_order(home: Path, path: Path) -> None:
    outcome, said = examine(path.read_bytes(), home, simulating=True)
    assert outcome in ("accepted", "refused"), said


@pytest.mark.parametrize("name", FILES)
def test_files_that_once_broke_a_reader_are_refused_or_can_be_used(tmp_path: Path, name: str) -> None:
    """By name: what is refused is listed in ``refused``; the rest, valid files that were refused or broke, is read."""
    bench = Bench(name, tmp_path)
    for path in sorted((fuzz.CORPUS / name).iterdir()):
        what, said = bench.try_on(path.read_bytes(), exact=False)
        assert what != "finding", f"{path.name}: {said}"


def test_a_worker_that_dies_or_hangs_is_a_row_of_the_table_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import os
    import time

    def read(self: fuzz.Target, bad: bytes) -> tuple[str, object]:
        self.count = getattr(self, "count", 0) + 1
        if self.count == 3:
            os.abort()
        if self.count == 2 and (self.folder.parent / "late").exists():
            time.sleep(60)
        (self.folder.parent / "late").touch()
        return "refused", ""

    monkeypatch.setattr(fuzz.Target, "read", read)
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)
    arguments = ["--count", "6", "--jobs", "1", "--only", "points", "--out", str(tmp_path)]
    assert fuzz.main(arguments) == 1
    said = capsys.readouterr().out
    assert "hang" in said
    assert fuzz.main([*arguments, "--seconds", "0"]) == 1  # nothing is tried again
    assert "0 mutants" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(3))
def test_fresh_mutations_are_accepted_or_refused_in_good_order(home: Path, seed: int) -> None:
    rng = random.Random(1000 + seed)
    for _ in range(100):
        content = mutated(rng.choice(list(BASES.values())), rng)
        outcome, said = examine(content, home, building=False)
        assert outcome in ("accepted", "refused"), said + content.decode("utf-8", "backslashreplace")


def test_every_base_is_accepted(home: Path) -> None:
    import tomli_w

    for name, base in BASES.items():
        outcome, said = examine(tomli_w.dumps(base).encode(), home, building=False)
        assert outcome == "accepted", f"{name}: {said}"
