"""Thousands of mutated scenario files: no traceback, no hang, nothing dropped or altered in an accepted file.

    python tests/fuzz/fuzz_scenarios.py --count 10000 --seed 1 --seconds 600

What is found is saved to tests/fuzz/corpus/ and replayed by tests/fuzz/test_corpus.py.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "corpus"
sys.path.insert(0, str(ROOT))

from tests.fuzz.cases import BASES, examine, furnish  # noqa: E402
from tests.fuzz.mutate import mutated  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Run the cases, print a summary, return 1 if something was found."""
    options = _options(arguments)
    rng = random.Random(options.seed)
    outcomes: collections.Counter[str] = collections.Counter()
    slowest, begin = 0.0, time.monotonic()
    findings: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as temporary:
        home = furnish(Path(temporary))
        for number in range(options.count):
            if time.monotonic() - begin > options.seconds:
                print(f"stopped after {number} cases: {options.seconds:g} s are over")
                break
            content = mutated(rng.choice(list(BASES.values())), rng)
            clock = time.monotonic()
            outcome, said = examine(content, home, not options.load_only, options.simulate)
            slowest = max(slowest, time.monotonic() - clock)
            outcomes[outcome] += 1
            if outcome == "finding":
                findings.setdefault(_kind_of(said), content)
                _save(content, said)
    total = sum(outcomes.values())
    wall = time.monotonic() - begin
    print(f"seed {options.seed}: {total} files in {wall:.0f} s, slowest {slowest:.2f} s: {dict(outcomes)}")
    for said, content in findings.items():
        print(f"\n--- {said}\n{content[:1500].decode('utf-8', 'backslashreplace')}")
    return 1 if findings else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="files to try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1800.0, help="stop after this wall time")
    parser.add_argument("--load-only", action="store_true", help="do not build models of accepted files")
    parser.add_argument("--simulate", action="store_true", help="also run half a second of accepted files (slow)")
    return parser.parse_args(arguments)


def _kind_of(said: str) -> str:
    """Return the last lines of a traceback, or the message: what makes a finding a new one."""
    lines = [line for line in said.strip().splitlines() if line.strip()]
    return "\n".join(lines[-3:])


def _save(content: bytes, said: str) -> None:
    CORPUS.mkdir(exist_ok=True)
    name = hashlib.sha256(_kind_of(said).encode()).hexdigest()[:12]
    path = CORPUS / f"{name}.toml"
    if not path.exists():
        path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
