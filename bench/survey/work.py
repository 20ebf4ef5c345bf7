"""One scene, from its number to its verdict, in a child process that may hang or crash."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
import traceback
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from bench.survey.described import motion_of, scene_of
from bench.survey.kinds import drawn
from bench.survey.source import script
from bench.survey.spec import Judged, Spec
from bench.survey.variants import compare, compared_ways
from tests.oracles.laws import judge
from trundle.errors import TrundleError

INSIDE = " m inside "
"""What errors of starts that overlap say."""

WHOLE = ("success", "rest")
"""Statuses of runs that claim to be right, to their end or for ever."""


@dataclass(frozen=True)
class Task:
    """A scene to try: drawn by its kind, seed and number, or given as a `spec`."""

    kind: str
    seed: int
    number: int
    most: int = 4
    least: int = 1
    spec: Spec | None = None
    invariance: str | None = ""

    def drawn(self) -> Spec:
        """Return the scene."""
        return self.spec or drawn(self.kind, self.seed, self.number, self.most, self.least)[0]


def simulated(spec: Spec) -> Any:
    """Return the run that the scene's script makes."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script(spec), "<scene>", "exec"), names)  # the script is the survey's own text
    return names["run"]


def tried(task: Task) -> tuple[Judged, Any]:
    """Return the verdict on one scene, without its invariance, and its run (None without one)."""
    spec = task.drawn()
    begin = time.process_time()
    try:
        run = simulated(spec)
    except TrundleError as error:
        # Starts are apart by the judge's geometry: who says that a shape is inside another one is wrong.
        verdict = "refused, wrong" if INSIDE in str(error) else "refused"
        return Judged(task.number, verdict, type(error).__name__, reason=str(error), laws=("refusal",), spec=spec), None
    except Exception as error:  # what no error of the package: a fault by itself
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
        return Judged(task.number, "crash", type(error).__name__, reason=reason, spec=spec), None
    seconds = time.process_time() - begin
    findings = judge(scene_of(spec), motion_of(spec, run))
    label = run.status.label
    verdict = _verdict(label, bool(run.feasible), bool(findings))
    judged = Judged(
        task.number,
        verdict,
        label,
        seconds,
        tuple(str(f) for f in findings),
        tuple(dict.fromkeys(f.law for f in findings)),
        reason_of(run),
        simulated=float(run.time[-1]) / spec.duration,
        spec=spec,
        more={"transitions": len(run.transitions), "first": min((f.time for f in findings), default=spec.duration)},
    )
    return judged, run


def reason_of(run: Any) -> str:
    """Return why a run did not end as it claims to be right, nothing if it did."""
    label = run.status.label
    if label in WHOLE:
        return ""
    if label == "inconsistent":
        found = run.metadata["audit"]["findings"]
        return "the run's own audit: " + "; ".join(f"{one['law']}: {one['text']}" for one in found[:3])
    return run.transitions[-1]["reason"] if run.transitions else ""


def _verdict(label: str, feasible: bool, broken: bool) -> str:
    """Return the row of the table that a run belongs to."""
    if label == "inconsistent":
        return label if broken else f"{label}, the judge finds nothing"
    if label not in WHOLE:
        return label if not broken else f"{label}, wrong"
    if not feasible:
        return "infeasible"
    return "wrong and silent" if broken else "right"


def _child(task: Task, seconds: float, end: Connection) -> None:
    """Send the verdict, then the verdict with its invariance."""
    _may_use(seconds)
    judged, run = tried(task)
    end.send(judged)
    if task.invariance is not None and judged.verdict == "right":
        _may_use(4.0 * seconds)
        way, finding = compare(judged.spec or task.drawn(), run, task.seed, task.number, simulated, task.invariance)
        if finding:
            judged = replace(judged, verdict="wrong and silent", invariance=finding, laws=(f"invariance: {way}",))
        judged = replace(judged, compared=way)
    end.send(judged)
    end.close()


def _may_use(seconds: float) -> None:
    """Let the process use so much more processor time: what other work the machine has counts nothing."""
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(np.ceil(used + seconds)), resource.RLIM_INFINITY))


def watched(task: Task, seconds: float) -> Judged:
    """Run a task in a child of its own; what hangs is ended, what crashes is said.

    A run may take `seconds` of processor time, the judge with it, and 30 times as long by the clock.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(task, seconds, theirs), daemon=True)
    child.start()
    theirs.close()
    judged: Judged | None = None
    try:
        for _ in range(2):  # the run, then its comparison
            if not ours.poll(30.0 * seconds):
                break
            judged = ours.recv()
    except EOFError:
        child.join()
        if judged is None and child.exitcode != -signal.SIGXCPU:
            reason = f"the process died with {child.exitcode}"
            judged = Judged(task.number, "crash", reason=reason, spec=task.drawn())
    finally:
        if child.is_alive():
            child.kill()
        child.join()
        ours.close()
    return judged or Judged(task.number, "time-out", "", seconds, spec=task.drawn())


__all__ = ["Task", "compared_ways", "simulated", "tried", "watched"]
