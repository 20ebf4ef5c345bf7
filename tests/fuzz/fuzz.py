"""Mutants of everything that trundle reads, in child processes: no crash, hang, traceback or silent change.

    python tests/fuzz/fuzz.py --count 100000 --seed 1

Mutant n of a seed is the same on every machine. What was tried is kept in --out, and a run that was stopped goes on
from there. What is found is made small and saved to tests/fuzz/corpus/, which tests/fuzz/test_corpus.py reads.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import hashlib
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "corpus"
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

from tests.fuzz.cases import furnish  # noqa: E402
from tests.fuzz.judge import SCENARIOS, SECONDS, Target, targets  # noqa: E402

FORK = multiprocessing.get_context("fork")
COLUMNS = ("refused", "accepted", "changed", "finding", "crash", "hang")
Row = dict[str, Any]


class Worker:
    """A process that makes and reads mutants, one after the other; it may die or hang without harm."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, Path(tempfile.mkdtemp(dir=folder))
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=_work, args=(theirs, seed, self.folder), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, number: int, name: str) -> None:
        """Have it try a mutant."""
        self.number, self.name, self.begun, self.waited = number, name, time.monotonic(), 0.0
        self.pipe.send((number, name))

    def lost(self) -> Row | None:
        """Return the row of a mutant that ended the process, or ends it now: no end after the time of a mutant."""
        hangs = self.waited > 5 * SECONDS  # of waiting; SECONDS are of computing
        if hangs:
            self.process.kill()
        elif self.process.is_alive():
            return None
        self.process.join()
        said = (self.folder / "said").read_text(errors="replace")[-3000:]
        what = "hang" if hangs else "crash"
        row = {"n": self.number, "target": self.name, "what": what, "said": f"exit {self.process.exitcode}\n{said}"}
        return row | {"seconds": round(time.monotonic() - self.begun, 4)}


def _work(pipe: Connection, seed: int, folder: Path) -> None:
    """Try what the pipe says; whatever a library prints goes to a file and counts as a finding."""
    said = os.open(folder / "said", os.O_RDWR | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(said, stream)
    faulthandler.enable(file=said)
    known: dict[str, Target] = {}
    while True:
        try:
            number, name = pipe.recv()
        except EOFError:
            return
        if name not in known:
            place = folder / name.replace(" ", "-")
            place.mkdir()
            known[name] = Target(name, furnish(place) if name in SCENARIOS else place)
        os.ftruncate(said, 0)
        os.lseek(said, 0, os.SEEK_SET)
        pipe.send(_tried(known[name], seed, number, folder / "said"))


def _tried(target: Target, seed: int, number: int, printed: Path) -> Row:
    content = target.mutant(random.Random(f"{seed} {number} {target.name}"))
    begun = time.perf_counter()
    what, said = target.read(content)
    row: Row = {"n": number, "target": target.name, "what": what, "seconds": round(time.perf_counter() - begun, 4)}
    sys.stdout.flush()
    sys.stderr.flush()
    if what != "finding" and printed.stat().st_size:
        what, said = "finding", "printed: " + printed.read_text(errors="replace")
    if what == "finding":
        row |= {"what": "hang" if "_TooLong" in str(said) else what, "said": str(said)[-3000:]}
        alike = _mark(str(said))
        if row["what"] == "finding" and "printed: " not in str(said):
            content = smaller(content, lambda less: _mark(str(target.read(less).said)) == alike)
        row["file"] = _save(target.name, content, row["said"])
    return row


def smaller(content: bytes, bad: Callable[[bytes], bool], most: int = 300) -> bytes:
    """Return less of a content that is still bad: lines, then bytes, are left out as long as it stays so."""
    for pieces in (content.splitlines(keepends=True), None):
        pieces = pieces if pieces is not None else [bytes([b]) for b in content]
        size = len(pieces) // 2
        while size:
            i = 0
            while i < len(pieces) and most > 0:
                less = pieces[:i] + pieces[i + size :]
                most -= 1
                if bad(b"".join(less)):
                    pieces = less
                else:
                    i += size
            size //= 2
        content = b"".join(pieces)
    return content


def _mark(said: str) -> str:
    """Return the last line of a traceback, without its numbers and names: what makes a finding a new one."""
    lines = [line for line in said.strip().splitlines() if line.strip()] or [""]
    return lines[0 if lines[0].startswith("says") else -1][:60]


def _save(target: str, content: bytes, said: str) -> str:
    name = hashlib.sha256(_mark(said).encode()).hexdigest()[:12]
    path = CORPUS / (f"{name}.toml" if target in SCENARIOS else f"{target.partition(' ')[0]}/{name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(content)
    return path.name


def schedule(only: str) -> list[str]:
    """Return the targets in the order in which mutants take turns, each as often as its share says."""
    names = [name for name, share in targets().items() if only in name for _ in range(share)]
    random.Random(0).shuffle(names)
    return names


def campaign(numbers: Iterator[int], names: list[str], seed: int, jobs: int, folder: Path) -> Iterator[Row]:
    """Yield the rows of the mutants as they are tried."""
    busy: list[Worker] = []

    def begin(worker: Worker) -> None:
        number = next(numbers, None)
        if number is None:
            worker.process.kill()
        else:
            worker.give(number, names[number % len(names)])
            busy.append(worker)

    for _ in range(jobs):
        begin(Worker(seed, folder))
    try:
        yield from _rows(busy, begin, seed, folder)
    finally:
        for worker in busy:
            worker.process.kill()


def _rows(busy: list[Worker], begin: Callable[[Worker], None], seed: int, folder: Path) -> Iterator[Row]:
    while busy:
        begun = time.monotonic()
        ready = wait([worker.pipe for worker in busy], timeout=min(1.0, SECONDS))
        for worker in list(busy):
            worker.waited += min(time.monotonic() - begun, 2.0)  # a machine that slept is no hang
            row = None
            if worker.pipe in ready:
                try:
                    row = worker.pipe.recv()
                except EOFError:
                    worker.process.join()
            lost = worker.lost() if row is None else None
            if row or lost:
                busy.remove(worker)
                yield row or lost or {}
                begin(Worker(seed, folder) if lost else worker)


def main(arguments: list[str] | None = None) -> int:
    """Try the mutants, print a table, return 1 if something was found."""
    options = _options(arguments)
    names = schedule(options.only)
    journal = options.out / f"seed-{options.seed}{options.only and '-' + options.only}.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    if journal.exists() and not options.fresh:
        rows = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
    done = {row["n"] for row in rows}
    numbers = [n for n in range(options.count) if n not in done]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary, journal.open("w" if options.fresh else "a") as file:
        made = campaign(iter(numbers), names, options.seed, options.jobs, Path(temporary))
        for row in track(made, "fuzzing", len(numbers), console=Console(stderr=True), transient=True):
            rows.append(row)
            print(json.dumps(row), file=file, flush=True)
            if time.monotonic() - begun > options.seconds:
                break
    wall, new = time.monotonic() - begun, len(rows) - len(done)
    _show(rows)
    rate = max(new, 1) / max(wall, 1e-9)
    print(
        f"seed {options.seed}: {new} mutants in {wall:.0f} s, {rate:.0f} a second: 100,000 in {1e5 / rate / 60:.0f} min"
    )
    return int(any(row["what"] in COLUMNS[3:] for row in rows))


def _show(rows: list[Row]) -> None:
    table = Table("target", "mutants", *COLUMNS, "ms each", "slowest s")
    counts = collections.Counter((row["target"], row["what"]) for row in rows)
    for name in [*dict.fromkeys(sorted(row["target"] for row in rows)), "all"]:
        own = [row for row in rows if name in ("all", row["target"])]
        times = [row["seconds"] for row in own]
        found = [sum(counts[target, what] for target in {row["target"] for row in own}) for what in COLUMNS]
        cells = [len(own), *found, f"{1e3 * sum(times) / len(own):.1f}" if own else "", f"{max(times, default=0):.2f}"]
        table.add_row(name, *map(str, cells))
    Console(width=120).print(table)
    findings = {(row["target"], _mark(row["said"])): row for row in rows if row["what"] in COLUMNS[3:]}
    for (name, _), row in findings.items():
        print(f"\n--- {name}, mutant {row['n']}, {row['what']}, {row.get('file', '')}\n{row['said'][-1500:]}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--only", default="", help="targets with this in their names")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this wall time; the next run goes on")
    parser.add_argument("--out", type=Path, default=ROOT / "runs/fuzz", help="folder of what was tried")
    parser.add_argument("--fresh", action="store_true", help="do not go on with what was tried before")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
