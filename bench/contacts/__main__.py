"""``python -m bench.contacts [NAME ...]``: what runs cost whose contacts change, beside MuJoCo, Exudyn and Siconos.

A scene runs in a process of its own: twice, of which the first is that of a new model with everything imported and
with the kernels of its kinds there (a process before it made them, unless `--cold`). Times are wall times of
`simulate` with record and audit; those of other simulators are processor times of their steps alone, with what is
wrong with their runs. Limits (`bench.contacts.scenes`) are scaled by what the plate's 120 s
take in the same run of this command.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

from bench.contacts.peers import peer_times
from bench.contacts.scene import PLATE
from bench.contacts.scenes import SCENES
from bench.contacts.statement import PeerTime
from bench.machine import description

AGAIN = 3
"""Runs after the first, of which the shortest counts, where they are short."""
BRIEF = 5.0  # s


def arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench.contacts", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="scenes: " + ", ".join(SCENES) + " (default: all)")
    parser.add_argument("--limit", type=float, default=120.0, help="s a run may take (default: 120)")
    parser.add_argument("--cold", action="store_true", help="no process before that makes the kernels")
    parser.add_argument("--no-peers", action="store_true", help="trundle alone")
    parser.add_argument("--worker", choices=SCENES, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for name in asked.names:
        if name not in SCENES:
            parser.error(f"name: {name!r} is none of {', '.join(SCENES)}")
    return asked


def work(name: str) -> None:
    """Run one scene and print a line of JSON after each run."""
    warnings.simplefilter("ignore")
    if name != "plate":
        SCENES["plate"].build().run()  # everything is imported
    case = SCENES[name].build()
    for again in range(1 + AGAIN):
        begin = time.perf_counter()
        found = case.run()
        took = time.perf_counter() - begin
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB
        ended = case.told(found)
        told = {"seconds": took, "ended": ended.words, "memory": memory, "places": dict(ended.places)}
        print(json.dumps(told), flush=True)
        if again and took > BRIEF:
            break


def runs_of(name: str, limit: float) -> list[dict[str, Any]]:
    """Return the runs of a scene that ended within `limit` (s) each."""
    command = [sys.executable, "-m", "bench.contacts", "--worker", name]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=2 * limit, check=False, env=os.environ | single
        )
        out = done.stdout
    except subprocess.TimeoutExpired as late:
        raw = late.stdout or b""
        out = raw.decode() if isinstance(raw, bytes) else raw
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def seconds(value: float | None, limit: float) -> str:
    """Return a time as the table has it."""
    if value is None:
        return f"> {limit:.0f} s"
    return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"


def told(one: PeerTime) -> str:
    """Return what another simulator took and how true it is."""
    took = "-" if one.seconds is None else seconds(one.seconds, 0.0)
    return f"{'':12}{one.label:20}{took:>10}  {one.note}"


def main() -> int:
    """Run what was asked for; return 1 where a limit that must hold does not."""
    asked = arguments()
    if asked.worker:
        work(asked.worker)
        return 0
    print({key: value for key, value in description().items() if key != "versions"}, flush=True)
    names, scale, over = asked.names or list(SCENES), 1.0, 0
    if "plate" in names:
        names = ["plate", *(name for name in names if name != "plate")]
    print(f"{'scene':12}{'first':>12}{'again':>12}{'at most':>12}{'aim':>10}{'memory':>9}  ended")
    for name in names:
        scene = SCENES[name]
        if not asked.cold:
            runs_of(name, asked.limit)
        runs = runs_of(name, asked.limit)
        first = runs[0]["seconds"] if runs else None
        again = min((run["seconds"] for run in runs[1:]), default=None)
        if name == "plate" and again is not None:
            scale = again / PLATE
        must = None if scene.must is None else scene.must * (1.0 if name == "plate" else scale)
        aim = None if scene.aim is None else scene.aim * scale
        beyond = must is not None and (again is None or again > must)
        over += beyond
        limits = (
            f"{'-' if value is None else seconds(value, 0.0):>{width}}" for value, width in ((must, 12), (aim, 10))
        )
        memory = f"{runs[-1]['memory']:.0f} MB" if runs else "-"
        print(
            f"{name:12}{seconds(first, asked.limit):>12}{seconds(again, asked.limit):>12}{''.join(limits)}{memory:>9}"
            f"  {runs[-1]['ended'] if runs else '-'}{'  <- over' if beyond else ''}",
            flush=True,
        )
        if not asked.no_peers:
            places = runs[-1]["places"] if runs else {}
            print(*(told(one) for one in peer_times(scene, places)), sep="\n", flush=True)
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
