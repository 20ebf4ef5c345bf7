"""What happens when a damaged file is read, and whether that is right: read as it was or can be used, or refused."""

from __future__ import annotations

import random
import resource
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.cases import BASES, SECONDS, examine, limited
from tests.fuzz.kind import Damage, Kind
from tests.fuzz.kinds import KINDS
from tests.fuzz.mutate import mutated
from trundle.errors import InputError, TrundleError, TrundleWarning
from trundle.scenarios.problems import ScenarioError

BYTES = 1024**3
SCENARIOS = {"scenarios": 10, "scenarios built": 1}
"""Targets that are no `Kind`, with their shares: mutants of the tables of all tasks, loaded, and their models built."""


class Outcome(NamedTuple):
    """What came of a mutant, and what was said: accepted, changed (accepted as other than the good file), refused, or a
    finding."""

    what: str
    said: object


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


def outcome(kind: Kind, path: Path) -> Outcome:
    """Read a file: "accepted" and what was read, "refused" and the message, or "finding" and what came instead."""
    try:
        with warnings.catch_warnings(), limited(SECONDS), little_memory():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", TrundleWarning)
            return Outcome("accepted", kind.read(path))
    except InputError as error:
        text = str(error)
        named = str(path) in text or str(path.parent) in text
        short = isinstance(error, ScenarioError) or "\n" not in text
        if named and short and (text.isprintable() or "\n" in text):
            return Outcome("refused", text)
        return Outcome("finding", f"says {text!r}\n{traceback.format_exc(limit=-4)}")
    except TrundleError:
        return Outcome("finding", traceback.format_exc())
    except BaseException:
        return Outcome("finding", traceback.format_exc(limit=-6))


def same(read: object, whole: object) -> bool:
    """Whether it is what was written; of a journal rows may be lost, which are then computed again."""
    return read.items() <= whole.items() if isinstance(read, dict) and isinstance(whole, dict) else read == whole


class Bench:
    """The good file of a kind in a folder, and its damaged copies, one after the other."""

    def __init__(self, name: str, folder: Path) -> None:
        self.kind = KINDS[name]
        home = folder / "home"
        home.mkdir(parents=True)
        self.path = self.kind.write(home / name)
        self.good = self.path.read_bytes()
        first = outcome(self.kind, self.path)
        assert first.what == "accepted", first.said
        self.whole = first.said

    def try_on(self, bad: bytes, exact: bool) -> Outcome:
        """Read a damaged file; what is `exact` must not come back as another object."""
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(bad)
        what, said = outcome(self.kind, self.path)
        if what != "accepted" or same(said, self.whole):
            return Outcome(what, said)
        if exact:
            return Outcome("finding", f"another object, without a word: {said}\nnot {self.whole}"[:3000])
        return Outcome("changed", said)


def targets() -> dict[str, int]:
    """Return the targets and their shares: each kind of file, and each with a checksum under a right one."""
    found = dict(SCENARIOS)
    for name, kind in KINDS.items():
        found[name] = kind.share
        if kind.under_checksum is not None:
            found[f"{name} sealed"] = max(1, kind.share // 3 if name.endswith(".nc") else kind.share)
    return found


class Target:
    """A target in a folder of its own; `try_one` makes and reads the mutant of a random generator."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        file, _, sealed = name.partition(" ")
        self.bench = None if name in SCENARIOS else Bench(file, folder)
        self.sealed = bool(sealed)

    def mutant(self, rng: random.Random) -> bytes:
        """Return a damaged file."""
        if self.bench is None:
            return mutated(rng.choice(list(BASES.values())), rng)
        kind = self.bench.kind
        ways: tuple[Damage, ...] = kind.damages
        if self.sealed and kind.under_checksum is not None:
            ways = (kind.under_checksum,)
        return rng.choice(ways)(self.bench.good, rng)

    def read(self, bad: bytes) -> Outcome:
        """Read a damaged file."""
        if self.bench is None:
            return Outcome(*examine(bad, self.folder, self.name.endswith("built")))
        return self.bench.try_on(bad, self.bench.kind.exact and not self.sealed)
