"""Many integrations of one compiled system at once: the loop over runs is in C, a thread takes a share of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.interrupts import check, hold_interrupts
from trundle.numerics.ode import native
from trundle.numerics.ode.ode import STATUS, Integrator
from trundle.numerics.ode.tableaus import tableau
from trundle.status import Status

_CHUNK = 16
"""Runs that a thread takes at a time."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Times in which inputs are held: u = inputs - gains (x - reference), within low and high.

    Attributes
    ----------
    ends : (pieces,) s
        The first begins where the runs begin.
    inputs : (1 or runs, pieces, n_u)
    gains, reference : (1 or runs, pieces, n_u, n), (1 or runs, pieces, n), or None
    low, high : (n_u,)
    """

    ends: FloatArray
    inputs: FloatArray
    gains: FloatArray | None
    reference: FloatArray | None
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class _Given:
    """Where a run has its functions from: they are there."""

    functions: native.Functions

    def __call__(self) -> native.Functions:
        return self.functions

    def count_evaluations(self, evaluations: int) -> None:
        """Return nothing: there are no others."""


@dataclass(frozen=True, eq=False)
class BatchIntegration:
    """What became of many integrations: as `Integration`, run first.

    Attributes
    ----------
    samples : (runs, times, n)
        What a run did not reach is not a number.
    t_end, x_end : (runs,), (runs, n)
    event : (runs,)
        Index of the margin that ended the run; -1: none.
    margin_minimum : (runs, m)
    counts : (runs, 3)
        Steps, rejected steps, evaluations.
    held : (runs, times, n_u)
        The inputs of the samples.
    statuses : tuple of Status
    """

    samples: FloatArray
    t_end: FloatArray
    x_end: FloatArray
    event: NDArray[np.int64]
    margin_minimum: FloatArray
    counts: NDArray[np.int64]
    held: FloatArray
    statuses: tuple[Status, ...]


def integrate_batch(
    integrator: Integrator,
    t0: float,
    x: FloatArray,
    p: FloatArray,
    pieces: Pieces,
    *,
    settings: Mapping[str, float],
    most: NDArray[np.int64],
    absolute_tolerance: float,
    arming_tolerance: FloatArray,
    sample_times: FloatArray,
    watched: NDArray[np.bool_],
    workers: int,
    progress: Callable[[int], object] | None = None,
) -> BatchIntegration | None:
    """Integrate from (t0, x (runs, n)) with the parameters p (runs, n_p), the inputs first, through all pieces.

    A run ends at the end of the last piece, an event or a failure. The numbers of a run are
    those of `Integrator.integrate` piece after piece, with its last step as the next first one. All margins are armed.

    Parameters
    ----------
    settings
        ``step``, ``relative_tolerance``, ``min_step``, ``max_step``, see `Integrator.integrate`.
    most : (pieces,)
        Steps of a piece at most.

    Returns None where C does not run the functions by itself.
    """
    if (core := native.core_library()) is None or (first := integrator.native) is None:
        return None
    armed = np.where(watched, native.ARMED, native.UNWATCHED).astype(np.int64)
    arrays = _arrays(x, p, pieces, len(sample_times), armed, most)
    batch = native.BatchStruct(
        runs=len(x),
        pieces=len(pieces.ends),
        inputs_count=pieces.inputs.shape[2],
        parameters=p.shape[1],
        **{f"{name}_stride": _stride(getattr(pieces, name)) for name in ("inputs", "gains", "reference")},
        **{name: value.ctypes.data for name, value in arrays.items()},
    )
    whole = dict(settings) | {"t0": t0, "t1": t0, "first_step": 0.0, "max_steps": 1}
    tolerances = np.full(x.shape[1], absolute_tolerance)

    def share(chunks: range) -> None:
        """Take every so many-th chunk of runs."""
        points = integrator.event_points or 0
        functions = integrator.native or first  # each thread has work memory of its own
        run = native.NativeRun(
            *(
                core,
                _Given(functions),
                tableau(integrator.method),
                points,
                whole,
                x[0],
                p[0],
                tolerances,
                arming_tolerance,
            ),
            sample_times,
            armed,
        )
        for begin in chunks:
            core.batch(ctypes.byref(run.state), ctypes.byref(batch), begin, min(begin + _CHUNK, len(x)))

    _share_runs(share, len(x), workers, progress)
    found = {name: arrays[name] for name in ("samples", "event", "margin_minimum", "counts", "held")}
    statuses = tuple(STATUS[code] for code in arrays["status"].tolist())
    return BatchIntegration(t_end=arrays["t"], x_end=arrays["x"], statuses=statuses, **found)


def _arrays(
    x: FloatArray, p: FloatArray, pieces: Pieces, samples: int, armed: NDArray[np.int64], most: NDArray[np.int64]
) -> dict[str, np.ndarray]:
    """Return what the struct's pointers of these names point to."""
    runs, n = x.shape
    fields = ("ends", "inputs", "gains", "reference", "low", "high")
    given = {name: value for name in fields if (value := getattr(pieces, name)) is not None}
    whole = {name: np.zeros(runs, dtype=np.int64) for name in ("status", "event", "piece")}
    return {
        **{name: np.ascontiguousarray(value, dtype=np.float64) for name, value in given.items()},
        **whole,
        "x": np.array(x),
        "p": np.array(p),
        "samples": np.full((runs, samples, n), np.nan),
        "held": np.zeros((runs, samples, pieces.inputs.shape[2])),
        "margin_minimum": np.zeros((runs, len(armed))),
        "t": np.zeros(runs),
        "next": np.zeros(runs),
        "counts": np.zeros((runs, 3), dtype=np.int64),
        "armed": armed,
        "most": np.ascontiguousarray(most, dtype=np.int64),
    }


def _stride(values: FloatArray | None) -> int:
    """Return how many numbers a run has of its own: none where all share one row."""
    return 0 if values is None or len(values) == 1 else values[0].size


@hold_interrupts()
def _share_runs(
    share: Callable[[range], None], runs: int, workers: int, progress: Callable[[int], object] | None
) -> None:
    """Give the chunks of runs to threads, a few at a time, and look for Ctrl-C in between."""
    starts = range(0, runs, _CHUNK)
    with ThreadPoolExecutor(workers) as pool:
        for k in range(0, len(starts), 8 * workers):
            some = starts[k : k + 8 * workers]
            for done in [pool.submit(share, some[i::workers]) for i in range(workers)]:
                done.result()
            check()
            if progress is not None:
                progress(min(some[-1] + _CHUNK, runs))
