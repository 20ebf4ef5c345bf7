"""Work in several local processes: if a process dies, only the item it was working on is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def cores() -> int:
    """Return how many processors this process may use: fewer than the machine has, where a container says so."""
    return int(import_module("joblib").cpu_count())


def in_processes(
    run: Callable[[ItemT], ResultT], items: Sequence[ItemT], jobs: int, *, ordered: bool
) -> Iterator[tuple[int, ResultT | None]]:
    """Yield (number of the item, result of ``run(item)``), as the items finish or in their order.

    The result is None for an item whose process died twice: once among the others, once when it was run again alone.

    Parameters
    ----------
    run : callable
        Picklable, as the items have to be.
    items : sequence
    jobs : int
        Number of processes.
    ordered : bool
        Whether results are yielded in the order of the items.
    """
    joblib = import_module("joblib")
    died: type[BaseException] = import_module("joblib.externals.loky.process_executor").TerminatedWorkerError
    left, here = dict(enumerate(items)), os.getpid()
    try:
        mode = "generator" if ordered else "generator_unordered"
        parallel = joblib.Parallel(n_jobs=jobs, return_as=mode, batch_size=1)
        for number, result in parallel(joblib.delayed(_run_numbered)(run, here, *one) for one in left.copy().items()):
            del left[number]
            yield number, result
    except died:
        for one in left.items():
            try:
                yield joblib.Parallel(n_jobs=2)([joblib.delayed(_run_numbered)(run, here, *one)])[0]
            except died:
                yield one[0], None


def _run_numbered(run: Callable[[ItemT], ResultT], parent: int, number: int, item: ItemT) -> tuple[int, ResultT]:
    _end_with(parent)
    return number, run(item)


_watched: set[int] = set()


def _end_with(parent: int) -> None:
    """End this process soon after its parent has, however that ended.

    The system's own signal for this (Linux) comes when the thread that began the process ends: too early.
    """
    if os.getpid() in (parent, *_watched):
        return
    _watched.add(os.getpid())

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="watch of the parent").start()
