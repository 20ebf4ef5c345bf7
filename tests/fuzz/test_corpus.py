"""The files that once broke something, and a few hundred fresh ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.cases import BASES, examine, furnish
from tests.fuzz.mutate import mutated

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.toml"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_corpus_file_is_accepted_or_refused_in_good_order(home: Path, path: Path) -> None:
    outcome, said = examine(path.read_bytes(), home, simulating=True)
    assert outcome in ("accepted", "refused"), said


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
