"""One scene by trundle and every simulator: rows of numbers, made in a child process that may hang or crash."""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from bench.survey.described import motion_of, scene_of
from bench.survey.peers.engines import Setting, engine_run, handed, peer_motion
from bench.survey.peers.scenes import OUTPUT
from bench.survey.source import placed
from bench.survey.spec import Spec
from bench.survey.work import WHOLE, reason_of
from tests.oracles.laws import Amounts, measure

TRUNDLE = "trundle"


@dataclass(frozen=True)
class Row:
    """A run of a scene: by whom, with which step (s; none: events), how it ended, what it missed laws by, CPU s.

    ``amounts``: None where there is no run; ``reason``: why it did not run its whole time as right.
    """

    label: str
    step: float | None
    scene: int
    ended: str
    whole: bool
    amounts: Amounts | None = None
    seconds: float = np.nan
    reason: str = ""


def own_row(number: int, spec: Spec) -> Row:
    """Return the row of trundle's own run; its time is that of a model that has run for one sample before."""
    import trundle as tr

    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(placed(spec), "<scene>", "exec"), names)  # the script is the survey's own text
        tr.simulate(names["tree"], names["start"], OUTPUT, output_step=OUTPUT)  # the model's functions are made
        begin = time.process_time()
        run: Any = tr.simulate(names["tree"], names["start"], spec.duration, output_step=OUTPUT)
        seconds = time.process_time() - begin
    amounts = measure(scene_of(spec), motion_of(spec, run))
    label = run.status.label
    return Row(TRUNDLE, None, number, label, label in WHOLE, amounts, seconds, reason_of(run))


def peer_rows(number: int, spec: Spec, settings: Sequence[Setting]) -> Iterator[Row]:
    """Yield the rows of the simulators' runs."""
    scene, judged = handed(spec), scene_of(spec)
    for setting in settings:
        found = engine_run(scene, spec, setting)
        amounts = measure(judged, peer_motion(spec, scene, found, setting.actual_step))
        whole = bool(np.all(np.isfinite(found.bodies))) and not found.note
        ended = found.note or ("end" if whole else "not finite")
        yield Row(setting.label, setting.actual_step, number, ended, whole, amounts, found.seconds)


def _child(number: int, spec: Spec, settings: Sequence[Setting], limit: float, end: Connection) -> None:
    """Send all rows of a scene, trundle's last: it may take more time than there is."""
    for row in peer_rows(number, spec, settings):
        end.send(row)
    used = int(np.ceil(time.process_time() + limit))
    resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
    try:
        end.send(own_row(number, spec))
    except Exception as error:  # the table says so
        end.send(Row(TRUNDLE, None, number, f"{type(error).__name__}: {str(error)[:120]}", False))
    end.close()


def rows_of(number: int, spec: Spec, settings: Sequence[Setting], limit: float) -> list[Row]:
    """Return the rows of a scene; those of runs that took their child process with them say so."""
    ours, theirs = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=_child, args=(number, spec, settings, limit, theirs), daemon=True
    )
    child.start()
    theirs.close()
    rows: list[Row] = []
    try:
        while len(rows) <= len(settings):
            rows.append(ours.recv())
    except EOFError:
        child.join()
    finally:
        ours.close()
        child.join()
    names = [(setting.label, setting.actual_step) for setting in settings] + [(TRUNDLE, None)]
    lost = f"the process ended with {child.exitcode}"
    return rows + [Row(label, step, number, lost, False) for label, step in names[len(rows) :]]
