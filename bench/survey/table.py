"""What is printed: a line a scene, and the table."""

from __future__ import annotations

from collections import Counter

import numpy as np

from bench.survey.spec import Judged
from bench.survey.work import Task


def told(task: Task, judged: Judged, whole: bool) -> str:
    """Return the line of one scene; what was found where it is `whole`."""
    spec = judged.spec
    bodies = "" if spec is None else " ".join("+".join(p.shape.kind for p in b.parts) for b in spec.bodies)
    on = "" if spec is None or spec.ground is None else f" on {spec.ground.kind}"
    line = f"{task.kind} {task.number}: {judged.verdict}, {judged.seconds:.1f} s, {bodies}{on}"
    more = [*judged.findings, judged.invariance, judged.reason]
    more = [m for m in more if m]
    if whole:
        return "\n    ".join([line, *more, f"compared: {judged.compared}"])
    return line + (f": {more[0][:150]}" if more else "")


def show(done: list[Judged]) -> None:
    """Print the table: verdicts, laws that were broken, refusals, times."""
    print(f"\n{len(done)} scenes")
    for verdict, count in Counter(j.verdict for j in done).most_common():
        print(f"  {verdict:32s} {count:5d}  {100 * count / len(done):5.1f} %")
    laws = Counter(law for j in done if "wrong" in j.verdict or j.verdict == "inconsistent" for law in j.laws)
    if laws:
        print("laws broken: " + ", ".join(f"{law} {count}" for law, count in laws.most_common()))
    refused = Counter(j.reason.split(" must ")[-1][:70] for j in done if j.verdict.startswith("refused"))
    for reason, count in refused.most_common():
        print(f"  refused {count}: {reason}")
    ways = Counter(j.compared for j in done if j.compared)
    if ways:
        print("compared: " + ", ".join(f"{way} {count}" for way, count in ways.most_common()))
    whole = sum(j.status in ("success", "rest") for j in done)
    print(f"ran to the end as success or rest: {100 * whole / len(done):.1f} %")
    times = np.array([j.seconds for j in done if j.seconds]) if done else np.zeros(0)
    if times.size:
        worst = max(done, key=lambda j: j.seconds)
        print(f"times: median {np.median(times):.2f} s, p90 {np.quantile(times, 0.9):.2f}, worst {times.max():.1f}"
              f" (scene {worst.number})")  # fmt: skip
