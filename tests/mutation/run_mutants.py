"""How many small faults of geometry, contact, trees, events and numerics are found by the tests that run their lines.

    python tests/mutation/run_mutants.py --count 1000 --seed 1 --jobs 2

Outcomes go to tests/mutation/mutants.jsonl as they come: a run that was cut off goes on. Only copies are mutated.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutation.mutants import PARTS, Mutant, sample  # noqa: E402
from tests.mutation.score import JOURNAL, Line, explained, read, reason_of, report  # noqa: E402
from tests.mutation.trial import Bench, in_stages  # noqa: E402
from tests.mutation.watch import DECLARED, Map  # noqa: E402

TESTS = ["tests/geometry", "tests/contact", "tests/models", "tests/simulate", "tests/numerics"]
TESTS += ["tests/extension", DECLARED]
STAGES = (
    15.0,
    45.0,
)  # s of computing, under coverage.py, of the tests tried at first, and of those for mutants that live
CONTROLS = 25  # one in so many: the tests that killed the mutant are run on the unmutated file, too

_bench: Bench
_map: Map


def main(arguments: list[str] | None = None) -> int:
    """Try the mutants that the journal has no outcome for, print the score; 1 where it is too low."""
    options = _options(arguments)
    home = options.scratch.resolve()
    (home / "cache").mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ |= {"TRUNDLE_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    watched = Map.read(home / "map.json")
    watched.refresh(home / "map.json", list(PARTS.values()), TESTS, [sys.executable])
    mutants = sample(ROOT, options.seed, options.count)
    done = read(options.journal)
    lived = [line for line in done.values() if not line["outcome"].startswith("killed")]
    living = {line["key"] for line in lived if reason_of(line, explained()) is None}
    waiting = [m for m in mutants if m.key not in done or (options.again and m.key in living)]
    print(f"{len(mutants)} mutants of seed {options.seed}, {len(waiting)} to try", flush=True)
    for line in tried(waiting, watched, home, options):
        done[line["key"]] = line
    judged = [done[m.key] for m in mutants if m.key in done]
    if len(judged) == len(mutants) > 0:  # in the order of the sample, without what is no longer of it
        whole = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in judged)
        options.journal.with_suffix(".new").write_text(whole, encoding="utf-8")
        options.journal.with_suffix(".new").replace(options.journal)
    return report(judged, explained(), len(mutants), options.least)


def tried(waiting: list[Mutant], watched: Map, home: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Yield the outcome of each mutant, after it is in the journal."""
    begin, began = time.monotonic(), _computed()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ProcessPoolExecutor(
        options.jobs, multiprocessing.get_context("fork"), _ready, (Path(folder), home / "cache", watched)
    ) as pool:  # fmt: skip
        stop = begin + options.seconds
        futures = [pool.submit(try_one, m, options.seed, stop) for m in waiting]
        count, killed = 0, 0
        for future in as_completed(futures):
            line = future.result()
            if line is None:
                continue
            with options.journal.open("a", encoding="utf-8") as journal:
                journal.write(json.dumps(line, ensure_ascii=False) + "\n")
            count, killed = count + 1, killed + line["outcome"].startswith("killed")
            if options.verbose or count % 20 == 0:
                wall = (time.monotonic() - begin) / count
                total = f"{wall:.1f} s each, all in {wall * len(waiting) / 3600:.2f} h"
                print(f"{count}/{len(waiting)}: {killed / count:.0%} killed, {total}")
                print(f"    {line['outcome']}: {line['key']} -> {line['after']}", flush=True)
            yield line
    if count:
        cpu, wall = (_computed() - began) / count, (time.monotonic() - begin) / count
        print(f"{count} tried, {cpu:.1f} s of CPU and {wall:.1f} s each")


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ready(folder: Path, cache: Path, watched: Map) -> None:
    global _bench, _map
    own = folder / str(os.getpid())
    own.mkdir()
    _bench, _map = Bench(own, cache), watched
    _bench.collect(TESTS)


def try_one(mutant: Mutant, seed: int, stop: float) -> Line | None:
    """Run a mutant's tests in stages until one fails; none once the time is over."""
    begin = time.monotonic()
    if begin > stop:
        return None
    original, source = (ROOT / mutant.path).read_text(encoding="utf-8"), mutant.source(ROOT)
    name = mutant.path.removeprefix("src/trundle/")
    mirror = str(Path("tests") / Path(name).parent / f"test_{Path(name).name}")
    covering = {test: _map.seconds[test] for test in _map.of(mutant.path, *mutant.statement)}
    outcome, by, used, control = "no test", "", 0, ""
    for stage in in_stages(covering, (mirror, DECLARED), STAGES):
        used += len(stage)
        outcome, by = _bench.judge(mutant.path, source, stage, frozenset(_map.seconds))
        if outcome.startswith("killed"):
            if zlib.crc32(mutant.key.encode()) % CONTROLS == 0:
                control, _ = _bench.judge(mutant.path, original, stage, frozenset(_map.seconds))
                outcome = outcome if control == "survived" else f"not judged: its tests fail unmutated, {control}"
            break
        by = ""
    return {
        "key": mutant.key,
        "part": mutant.part,
        "family": mutant.family,
        "line": mutant.line,
        "after": mutant.after(original, source),
        "outcome": outcome,
        "by": by,
        "control": control,
        "tests": used,
        "of": len(covering),
        "seed": seed,
        "seconds": round(time.monotonic() - begin, 1),
    }


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="mutants of the sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=10_800.0, help="begin no mutant after this wall time")
    parser.add_argument(
        "--again", action="store_true", help="try those again that lived and nobody explained: tests have come since"
    )
    parser.add_argument(
        "--least", type=float, default=0.85, help="the least score, without mutants that change nothing"
    )
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument(
        "--scratch", type=Path, default=ROOT / "runs" / "mutants", help="of the map and of compiled code"
    )
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
