"""Files that are read back, damaged: the same again, or one `InputError` that names the file; never anything else."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.judge import Bench, outcome
from tests.fuzz.kind import Damage
from tests.fuzz.kinds import KINDS

FEW, MANY = 6, 1000  # mutants of a kind; `make fuzz` tries 100,000 of all of them


def tried(name: str, folder: Path, damages: tuple[Damage, ...], count: int, exact: bool) -> Counter[str]:
    """Read `count` damaged files; what is `exact` must not come back as another object."""
    bench = Bench(name, folder)
    found, findings = Counter[str](), dict[str, str]()
    for seed in range(count // 4 if count == FEW and (name.endswith(".nc") or bench.kind.share < 3) else count):
        rng = random.Random(f"{name} {seed}")
        what, said = bench.try_on(rng.choice(damages)(bench.good, rng), exact)
        if what == "finding":
            findings.setdefault(str(said).splitlines()[-1][:200], f"mutant {seed}: {str(said)[-3000:]}")
        found[what] += 1
    assert not findings, f"{dict(found)}\n" + "\n\n".join(findings.values())
    return found


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_read_as_it_was_or_refused_by_name(name: str, count: int, tmp_path: Path) -> None:
    kind = KINDS[name]
    found = tried(name, tmp_path, kind.damages, count, kind.exact)
    if kind.exact and name[-3:] in (".nc", "npz"):
        assert found["accepted"] <= 0.02 * count, found  # mutants that are the file itself


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.under_checksum])
def test_wrong_content_under_a_right_checksum_is_refused_by_name_or_can_be_used(
    name: str, count: int, tmp_path: Path
) -> None:
    damage = KINDS[name].under_checksum
    assert damage is not None
    tried(name, tmp_path, (damage,), count, exact=False)


@pytest.mark.parametrize("what", ["pipe", "folder", "link to itself", "device", "nothing"])
@pytest.mark.parametrize("name", [name for name in KINDS if not name.startswith(("library", "report", "options"))])
def test_what_is_no_file_is_refused_by_name_and_at_once(name: str, what: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    (tmp_path / "home").mkdir()
    path = kind.write(tmp_path / "home" / name)
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "link to itself":
        path.symlink_to(path)
    ended, said = outcome(kind, path)
    begun = name in ("rows.jsonl", "sweep.json")  # a new one, where there is nothing
    assert ended == ("accepted" if begun and what == "nothing" else "refused"), said
