"""``python -m bench.survey --scenes N --seed S [--kind drops]``: which laws random scenes break."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.survey.kinds import KINDS
from bench.survey.shrink import shrunk
from bench.survey.table import show, told
from bench.survey.work import Task, compared_ways, watched


def main() -> None:
    """Draw, run, judge and tell."""
    given = arguments()
    import trundle as tr  # noqa: F401  (loaded once, before the children are forked)
    import trundle.simulate  # noqa: F401

    kinds = [given.kind] if given.kind else list(KINDS)
    low, _, high = given.bodies.rpartition("-")
    numbers = given.only if given.only is not None else range(given.scenes)
    invariance = None if given.no_invariance else given.invariance or ""
    tasks = [
        Task(kinds[n % len(kinds)], given.seed, n, int(high), int(low or 1), invariance=invariance) for n in numbers
    ]
    done = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for task, judged in zip(tasks, pool.map(lambda task: watched(task, given.limit), tasks), strict=True):
            done.append(judged)
            print(told(task, judged, bool(given.only)), flush=True)
    show(done)
    shown: set[tuple[str, ...]] = set()
    for task, judged in zip(tasks, done, strict=True):
        kind = (task.kind, judged.verdict, *judged.laws[:1])
        if "wrong" not in judged.verdict and judged.verdict not in ("crash", "time-out"):
            continue
        if kind in shown and not given.every:
            continue
        shown.add(kind)
        text = shrunk(task, judged, given.limit, given.shrink)
        print("\n" + text, flush=True)
        if given.out:
            given.out.mkdir(parents=True, exist_ok=True)
            law = (judged.laws[0] if judged.laws else judged.verdict).replace(": ", "_").replace(" ", "_")
            (given.out / f"{task.kind}_{law}_{task.seed}_{task.number}.py").write_text(text, encoding="utf-8")


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.survey", description=__doc__)
    parser.add_argument("--scenes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(KINDS), help="all in turn unless given")
    parser.add_argument("--bodies", default="1-4", help="how many, such as 1-8")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="s of processor time that a run may take")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of scenes")
    parser.add_argument("--invariance", choices=compared_ways(), help="in place of the one that is drawn")
    parser.add_argument("--no-invariance", action="store_true", help="judge single runs alone")
    parser.add_argument("--shrink", type=float, default=120.0, help="s to spend on making a failing scene smaller")
    parser.add_argument("--every", action="store_true", help="print every failing scene, not one of each kind")
    parser.add_argument("--out", type=Path, help="folder to write the scripts of failing scenes to")
    return parser.parse_args()


if __name__ == "__main__":
    main()
