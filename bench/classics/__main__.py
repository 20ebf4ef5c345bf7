"""``python -m bench.classics [name ...]``: classics of contact in trundle, MuJoCo, PyBullet and Drake.

Prints a table a classic and writes classics.json to the results folder, where classics that are not asked for keep
their numbers; `--page FILE` writes the page of the documentation, too. Every engine runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.classics import HOMES, named, page
from bench.classics.classic import NotYetError
from bench.classics.engines import ENGINES
from bench.machine import description

SECONDS = 180.0  # of one engine on one classic
PACKAGES = {"drake": "pydrake"}


def arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench.classics", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="classics: " + ", ".join(HOMES) + " (default: all)")
    parser.add_argument("--only", nargs="+", choices=("trundle", *ENGINES), help="engines (default: all)")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="results folder")
    parser.add_argument("--page", type=Path, help="file to write the page of the documentation to")
    parser.add_argument("--worker", nargs=2, metavar=("ENGINE", "NAME"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for name in asked.names:
        if name not in HOMES:
            parser.error(f"name: {name!r} is none of {', '.join(HOMES)}")
    return asked


def work(engine: str, name: str) -> None:
    """Run one engine on one classic and print one JSON line a setting."""
    chosen = named(name)
    if engine == "trundle":
        _say("", chosen.trundle)
        return
    from importlib import import_module

    if chosen.scene is None:
        print(json.dumps({"setting": "", "note": f"not yet: {chosen.peers_note}"}), flush=True)
        return
    module = import_module(f"bench.classics.engines.{engine}")
    spacing = chosen.scene().spacing
    for i, setting in enumerate(module.SETTINGS):
        _say(setting.label(spacing), lambda i=i: chosen.in_engine(engine, i))


def _say(setting: str, run: Any) -> None:
    """Print what a run finds, or why it does not; an engine's failure is a result of the benchmark."""
    try:
        answer = run()
        found = {"values": dict(answer.values), "seconds": answer.seconds, "note": answer.note}
    except NotYetError as missing:
        found = {"note": f"not yet: {missing}"}
    except Exception as problem:
        found = {"note": f"failed: {type(problem).__name__}: {problem}".splitlines()[0][:200]}
    print(json.dumps({"setting": setting} | found), flush=True)


def run_engine(engine: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of an engine on a classic, from a process of its own."""
    if engine != "trundle" and find_spec(PACKAGES.get(engine, engine)) is None:
        return [{"engine": engine, "setting": "", "note": "not installed"}]
    command = [sys.executable, "-m", "bench.classics", "--worker", engine, name]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, env=os.environ | single
        )
        out, why = done.stdout, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]
    except subprocess.TimeoutExpired as late:
        raw = late.stdout or b""
        out, why = raw.decode(errors="replace") if isinstance(raw, bytes) else raw, f"stopped after {SECONDS:g} s"
    rows = [{"engine": engine} | json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return rows or [{"engine": engine, "setting": "", "note": f"failed: {why}"}]


def result_of(name: str, engines: tuple[str, ...]) -> dict[str, Any]:
    """Return what all engines find on a classic, with digits."""
    chosen = named(name)
    quantities = chosen.quantities()
    rows = [row for engine in engines for row in run_engine(engine, name)]
    for row in rows:
        known = {q.name: q.digits(row["values"][q.name]) for q in quantities if q.name in row.get("values", {})}
        row["digits"] = known
    return {
        "name": name,
        "quantities": [{"name": q.name, "exact": q.exact, "unit": q.unit} for q in quantities],
        "rows": rows,
    }


def table(result: dict[str, Any]) -> Table:
    """Return the table of a classic."""
    columns = (q["name"] for q in result["quantities"])
    shown = Table("", "", *columns, "seconds", title=named(result["name"]).title)
    units = (page.number(q["exact"]) + f" {q['unit']}" for q in result["quantities"])
    shown.add_row("exact", "", *units, "")
    for row in result["rows"]:
        cells = [page.cell(row, q["name"]) for q in result["quantities"]]
        shown.add_row(row["engine"], row["setting"], *cells, page.seconds(row))
    return shown


def main() -> int:
    """Run what was asked for; 1 if trundle failed on a classic."""
    asked = arguments()
    if asked.worker:
        work(*asked.worker)
        return 0
    console = Console(width=None if sys.stdout.isatty() else 200)
    begin, results = time.perf_counter(), []
    for name in asked.names or list(HOMES):
        results.append(result_of(name, tuple(asked.only or ("trundle", *ENGINES))))
        console.print(table(results[-1]), highlight=False)
        for row in results[-1]["rows"]:
            if row.get("note"):
                console.print(f"{row['engine']}: {row['note']}", highlight=False, markup=False, soft_wrap=True)
    file = asked.out / "classics.json"
    kept = json.loads(file.read_text(encoding="utf-8"))["classics"] if file.exists() else []
    all_of_them = {r["name"]: r for r in [*kept, *results]}
    ordered = [all_of_them[name] for name in HOMES if name in all_of_them]
    content = {"machine": description(), "classics": ordered, "wall_time": time.perf_counter() - begin}
    asked.out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")
    if asked.page:
        asked.page.write_text(page.page(content), encoding="utf-8")
    console.print(f"{content['wall_time']:.0f} s; {file}", highlight=False)
    failed = [r for c in results for r in c["rows"] if r["engine"] == "trundle" and r["note"].startswith("failed")]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
