"""Files that are read back, damaged: the same again, or one `InputError` that names the file; never anything else."""

from __future__ import annotations

import os
import random
import resource
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fuzz.cases import limited
from tests.fuzz.kinds import KINDS, Kind
from trundle.errors import InputError, TrundleError
from trundle.scenarios.problems import ScenarioError

FEW, MANY = 20, 1000  # mutants of a kind; of records, which take long to read, FEW of both layouts together
SECONDS, BYTES = 20.0, 1024**3


@contextmanager
def little_memory() -> Iterator[None]:
    """Refuse this process more than a gigabyte beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def outcome(kind: Kind, path: Path) -> tuple[str, object]:
    """Return "read" and what was read, "refused" and the message, or "leak" and what came instead."""
    try:
        with limited(SECONDS), little_memory():
            return "read", kind.read(path)
    except InputError as error:
        text = str(error)
        named = str(path) in text or str(path.parent) in text
        short = isinstance(error, ScenarioError) or "\n" not in text
        return (
            ("refused", text) if named and short and text.isprintable() | ("\n" in text) else ("leak", f"says {text!r}")
        )
    except TrundleError:
        return "leak", traceback.format_exc()
    except BaseException:
        return "leak", traceback.format_exc(limit=-6)


def tried(
    name: str, folder: Path, damage: Callable[[bytes, random.Random], bytes], count: int, exact: bool
) -> Counter[str]:
    """Read `count` damaged files; what is `exact` must not come back as another object."""
    kind = KINDS[name]
    home = folder / "home"
    home.mkdir()
    path = kind.write(home / name)
    good = path.read_bytes()
    found, leaks = Counter[str](), dict[str, str]()
    what, whole = outcome(kind, path)
    assert what == "read", whole
    for seed in range(count // 3 if count == FEW and name.endswith(".nc") else count):
        bad = damage(good, random.Random(f"{name} {seed}"))
        path.unlink(missing_ok=True)
        path.write_bytes(bad)
        what, said = outcome(kind, path)
        if what == "read" and exact and not same(said, whole):
            what, said = "leak", f"another object, without a word: {said}\nnot {whole}"
        if what == "leak":
            leaks.setdefault(str(said).splitlines()[-1][:200], f"mutant {seed}: {str(said)[-3000:]}")
        found[what] += 1
    assert not leaks, f"{dict(found)}\n" + "\n\n".join(leaks.values())
    return found


def same(read: object, whole: object) -> bool:
    """Whether it is what was written; of a journal rows may be lost, which are then computed again."""
    return read.items() <= whole.items() if isinstance(read, dict) and isinstance(whole, dict) else read == whole


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_read_as_it_was_or_refused_by_name(name: str, count: int, tmp_path: Path) -> None:
    kind = KINDS[name]
    ways = kind.damages

    def damage(content: bytes, rng: random.Random) -> bytes:
        return rng.choice(ways)(content, rng)

    found = tried(name, tmp_path, damage, count, kind.exact)
    if kind.exact and name[-3:] in (".nc", "npz"):
        assert found["read"] <= 0.02 * count, found  # mutants that are the file itself
    print(name, dict(found))


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.under_checksum])
def test_wrong_content_under_a_right_checksum_is_refused_by_name_or_can_be_used(
    name: str, count: int, tmp_path: Path
) -> None:
    damage = KINDS[name].under_checksum
    assert damage is not None
    print(name, dict(tried(name, tmp_path, damage, count, exact=False)))


@pytest.mark.parametrize("what", ["pipe", "folder", "link to itself", "device", "nothing"])
@pytest.mark.parametrize("name", [name for name in KINDS if not name.startswith("library")])
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
    assert ended == ("read" if begun and what == "nothing" else "refused"), said
