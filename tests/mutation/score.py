"""What the stored outcomes say: how many mutants are killed, and which of those that live nobody has explained.

python tests/mutation/score.py
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
JOURNAL = HERE / "mutants.jsonl"
Line = dict[str, Any]


def explained() -> list[Line]:
    """Return the entries of explained.toml."""
    return tomllib.loads((HERE / "explained.toml").read_text(encoding="utf-8"))["mutant"]


def read(journal: Path) -> dict[str, Line]:
    """Return the last outcome of each mutant in a journal; half a line at its end is none."""
    done = {}
    for text in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        if text.endswith("}"):
            line = json.loads(text)
            done[line["key"]] = line
    return done


def reason_of(line: Line, reasons: list[Line]) -> Line | None:
    """Return the entry of explained.toml whose `key` is part of the mutant's and whose `after` is of its line."""
    return next((e for e in reasons if e["key"] in line["key"] and e.get("after", "") in line["after"]), None)


def report(judged: list[Line], reasons: list[Line], of: int, least: float) -> int:
    """Print the score of all and of each part, then the survivors that nobody has explained."""
    living = [line for line in judged if not line["outcome"].startswith("killed")]
    entries = {line["key"]: reason_of(line, reasons) for line in living}
    equivalent = {key for key, entry in entries.items() if entry is not None and entry["equivalent"]}
    for part in (*sorted({line["part"] for line in judged}), "all"):
        lines = [line for line in judged if part in ("all", line["part"])]
        kept = [line for line in lines if line["key"] not in equivalent]
        print(f"{part:10} {score(lines):32} {score(kept)} without {len(lines) - len(kept)} that change nothing")
    print("outcomes:", dict(Counter(line["outcome"] for line in judged)), f"of {of}")
    controls = [line["control"] for line in judged if line["control"]]
    print(f"{controls.count('survived')} of {len(controls)} controls: tests that kill pass where nothing is mutated")
    open_ones = [line for line in living if entries[line["key"]] is None]
    print(f"{len(living)} survivors, {len(living) - len(open_ones)} explained in tests/mutation/explained.toml")
    for line in open_ones:
        print(f"  {line['outcome']}: {line['key']} -> {line['after']}")
    counted = [line for line in judged if line["key"] not in equivalent]
    killed = sum(line["outcome"].startswith("killed") for line in counted)
    return int(not counted or killed < least * len(counted))


def score(lines: list[Line]) -> str:
    """Say which part of the mutants is killed, with Wilson's interval of 95 %."""
    from scipy.stats import binomtest

    if not lines:
        return "none tried"
    killed = sum(line["outcome"].startswith("killed") for line in lines)
    interval = binomtest(killed, len(lines)).proportion_ci(method="wilson")
    return f"{killed}/{len(lines)} = {killed / len(lines):.1%} [{interval.low:.1%}, {interval.high:.1%}]"


if __name__ == "__main__":
    stored = list(read(JOURNAL).values())
    sys.exit(report(stored, explained(), len(stored), 0.0))
