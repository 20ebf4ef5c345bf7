"""Contact schedules read off a contact-implicit plan: which hand is at which wall, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray, array, positive
from trundle.errors import InputError
from trundle.parameters import NonNegative, Range, check_parameters, parameter

Flags = NDArray[np.bool_]
Reach = Annotated[float, Range("a number from 0 to 1e12", minimum=0.0, infinite=True)]
"""A distance; infinite: it does not count."""


@dataclass(frozen=True)
class ScheduleRules:
    """When a planned force is a contact of the schedule (final).

    `off` must exceed the soft law's force at the surface, else only the distance ends a contact. The duration of a
    contact that reaches the plan's end is not known. Stages of a plan that is made anew each time would put off the
    arrival of a hand for ever: hence `arrives`. And a contact that lasts would end later each time: without `keep_end`
    what a plan leaves for its end, such as a last push against the lean, never comes.
    """

    on: NonNegative = parameter(3.0, "N, a contact begins above it")
    off: NonNegative = parameter(1.2, "N, it ends below")
    near: Reach = parameter(0.02, "m, it begins only within this distance")
    far: Reach = parameter(0.04, "m, it ends beyond")
    arrives: NonNegative = parameter(0.04, "m, nearer a hand that touches in the next stage touches in this; 0: never")
    shortest: NonNegative = parameter(0.12, "s, shorter ones are dropped")
    credit: bool = parameter(True, "a contact that lasts counts with the time it has lasted")
    horizon: bool = parameter(True, "a contact that reaches the plan's end is kept however short")
    keep_end: bool = parameter(False, "a contact that lasts ends no later than planned when it began")

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.off > self.on:
            raise InputError("off", self.off, f"from 0 to on = {self.on:g} (N)")
        if self.far < self.near:
            raise InputError("far", self.far, f">= near = {self.near} (m)")


PAPER = ScheduleRules(near=np.inf, far=np.inf, arrives=0.0, shortest=0.5, horizon=False)
"""The rules of the wall-bouncing paper: forces alone, contacts of at least 0.5 s."""


def contact_schedule(
    forces: ArrayLike,
    distances: ArrayLike,
    step: float,
    rules: ScheduleRules,
    touching: ArrayLike = False,
    elapsed: ArrayLike = 0.0,
    ends: ArrayLike = np.inf,
) -> Flags:
    """Return the flags (N, m) of planned contacts.

    Parameters
    ----------
    forces, distances : (N, m)
        Planned normal forces, N, and signed distances, m, of m pairs of a hand and a wall.
    step : float, s
        Of the plan's stages.
    rules : ScheduleRules
    touching : bool or (m,)
        Measured contact now: the plan then begins in contact.
    elapsed : float or (m,), s
        For how long it has lasted.
    ends : float or (m,), s
        From the plan's start: a contact in which the plan begins is over in stages whose middle is later.

    Raises
    ------
    InputError
        If shapes differ or a value is not finite.

    Notes
    -----
    Source: Wall-bouncing paper, VI-C; distance test and horizon rule added.
    """
    f = array("forces", forces, (None, None))
    d = array("distances", distances, f.shape)
    h = positive("step", step, "s")
    start = np.broadcast_to(np.asarray(touching, dtype=bool), f.shape[1:])
    lasted = array("elapsed", np.broadcast_to(elapsed, f.shape[1:]), f.shape[1:], minimum=0.0, unit="s")
    until = np.broadcast_to(np.asarray(ends, dtype=np.float64), f.shape[1:])
    if np.any(np.isnan(until)):
        raise InputError("ends", ends, "times (s), infinite where there is no end")
    columns = [
        _column(f[:, i], d[:, i], h, rules, bool(start[i]), float(lasted[i]), float(until[i]))
        for i in range(f.shape[1])
    ]
    return np.stack(columns, axis=1) if columns else np.zeros(f.shape, dtype=bool)


def on_grid(flags: Flags, step: float, times: ArrayLike) -> Flags:
    """Return the flags at `times` (M,), s from the plan's start: mapped by time, the last stage held.

    Parameters
    ----------
    flags : (N, m)
    step : float, s
        Of the stages of `flags`; stage k lasts from k step to (k + 1) step.
    times : (M,) s
    """
    at = np.floor(array("times", times, (None,), minimum=0.0, unit="s") / positive("step", step, "s") + 1e-9)
    return np.asarray(flags, dtype=bool)[np.minimum(at.astype(int), len(flags) - 1)]


def first_end(flags: Flags) -> NDArray[np.int_]:
    """Return the stage (m,) at which the contact ends in which a schedule (N, m) begins; 0 without one."""
    closed = np.vstack([np.asarray(flags, dtype=bool), np.zeros((1, flags.shape[1]), dtype=bool)])
    return np.argmin(closed, axis=0)


def _column(
    f: FloatArray, d: FloatArray, step: float, rules: ScheduleRules, touching: bool, elapsed: float, until: float
) -> Flags:
    on, raw = touching, np.zeros(len(f), dtype=bool)
    for k in range(len(f)):
        on = (f[k] >= rules.off and d[k] <= rules.far) if on else (f[k] > rules.on and d[k] <= rules.near)
        raw[k] = on
    edges = np.flatnonzero(np.diff(np.concatenate([[False], raw, [False]]).astype(int)))
    for begin, end in edges.reshape(-1, 2):
        if begin > 0 and 0.0 < rules.arrives >= d[begin - 1] and d[begin] <= 0.0:
            begin -= 1
            raw[begin] = True
        if begin == 0 and (end - 0.5) * step > until:
            first = max(0, int(np.ceil(until / step - 0.5)))
            raw[first:end], end = False, first
        duration = (end - begin) * step
        if rules.credit and begin == 0 and touching:
            duration += elapsed
        if duration < rules.shortest - 1e-9 and not (rules.horizon and end == len(f)):
            raw[begin:end] = False
    return raw
