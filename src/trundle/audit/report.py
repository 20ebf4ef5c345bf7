"""Report: what an audit checked, the worst of each law, and what failed with bodies, time and amount."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from trundle.audit.evidence import Flags, Numbers
from trundle.checks import FloatArray


@dataclass(frozen=True)
class Finding:
    """A law that a run breaks.

    Attributes
    ----------
    law : str
        Name of the check.
    text : str
        What is wrong, with bodies, time and amount.
    bodies : tuple of str
        Bodies or contacts.
    time : float, s
    amount : float
        How much it is off, in the unit of the check.
    unit : str
    excess : float
        That, over what is tolerated.
    run : int
        Number of the run, of many.
    """

    law: str
    text: str
    bodies: tuple[str, ...]
    time: float
    amount: float
    unit: str
    excess: float
    run: int = 0

    def table(self) -> dict[str, object]:
        """Return it as a file holds it."""
        return {
            "law": self.law,
            "text": self.text,
            "bodies": list(self.bodies),
            "time": self.time,
            "amount": self.amount,
            "unit": self.unit,
        }


@dataclass(frozen=True)
class Check:
    """One law over a whole run.

    Attributes
    ----------
    law : str
    unit : str
    count : int
        How many values were judged.
    unjudged : int
        How many could not be, as the samples are too far apart or forces are not recorded.
    worst : float
        The largest of the values, in parts of what is tolerated: up to 1 is good.
    findings : tuple of Finding
        The worst one of each kind of bodies.
    """

    law: str
    unit: str
    count: int
    unjudged: int = 0
    worst: float = 0.0
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Report:
    """All checks of a run."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What failed, the earliest first."""
        return tuple(sorted((f for check in self.checks for f in check.findings), key=lambda f: (f.time, -f.excess)))

    def table(self, run: int = 0) -> dict[str, object]:
        """Return what ``summary.json`` and a record's metadata hold."""
        checked: dict[str, dict[str, float]] = {}
        for check in self.checks:  # a law may be checked in more than one way
            one = checked.setdefault(check.law, {"count": 0, "unjudged": 0, "worst": 0.0})
            one["count"] += check.count
            one["unjudged"] += check.unjudged
            one["worst"] = max(one["worst"], float(f"{check.worst:.3g}"))
        found = [f.table() for f in self.findings if f.run == run]
        return {"checked": checked, "findings": found[:_MOST], "found": len(found), "notes": list(self.notes)}


_MOST = 20
"""Findings that a record holds: the earliest ones."""


@dataclass(frozen=True, eq=False)
class Values:
    """How far judged values are off: k of them, or a table (n, m) with a row an instant and a column a name.

    Attributes
    ----------
    off, allowed : (k,) or (n, m)
    column : (k,) or (1, m)
        Which of the names each is of.
    time : (k,) or (n, 1) s
    run : (k,) or (n, 1)
    known : as `off`, or None
        Which could be judged.
    """

    off: FloatArray
    allowed: FloatArray
    column: Numbers
    time: FloatArray
    run: Numbers
    known: Flags | None = None

    @staticmethod
    def of_table(
        off: FloatArray, allowed: FloatArray, time: FloatArray, run: Numbers, known: Flags | None = None
    ) -> Values:
        """Return the values of a table (n, m) at times (n,) of runs (n,)."""
        return Values(off, allowed, np.arange(off.shape[1])[None], time[:, None], run[:, None], known)

    def pick_rows(self, rows: Numbers) -> Values:
        """Return some of the values, by their numbers in a row."""
        parts = (self.off, self.allowed, self.column, self.time, self.run)
        return Values(*(np.broadcast_to(part, self.off.shape).ravel()[rows] for part in parts))  # pyright: ignore


def judge_values(law: str, unit: str, names: Sequence[tuple[str, ...]], text: str, values: Values) -> Check:
    """Return the check of values, each of one of the `names`.

    `text` takes ``{bodies}``, ``{amount}``, ``{unit}`` and ``{time}``. A value that is not a number fails.
    """
    total = values.off.size
    if not total:
        return Check(law, unit, 0)
    excess = np.abs(values.off) / np.maximum(values.allowed, 1e-300)
    count = total
    if values.known is not None:
        known = np.broadcast_to(values.known, excess.shape)
        excess = np.where(known, excess, 0.0)
        count = int(np.count_nonzero(known))
    worst = float(excess.max())
    if np.isnan(worst):
        excess[np.isnan(excess)] = np.inf
        worst = float(excess.max())
    found = tuple(_findings(law, unit, names, text, values, excess)) if worst > 1.0 else ()
    return Check(law, unit, count, total - count, worst, found)


def _findings(
    law: str, unit: str, names: Sequence[tuple[str, ...]], text: str, values: Values, excess: FloatArray
) -> Iterator[Finding]:
    """Yield one finding of each name in each run: since when, and how bad it gets."""
    bad = np.flatnonzero(excess > 1.0)
    excess, values = excess.ravel()[bad], values.pick_rows(bad)
    groups: dict[tuple[int, int], list[int]] = {}
    for i, key in enumerate(zip(values.run.tolist(), values.column.tolist(), strict=True)):
        groups.setdefault(key, []).append(i)
    for (run, column), rows in groups.items():
        first = min(rows, key=lambda i: values.time[i])
        worst = max(rows, key=lambda i: excess[i])
        amount, bodies, since = float(values.off[worst]), names[column], float(values.time[first])
        told = text.format(bodies=" and ".join(bodies), amount=f"{abs(amount):.3g}", unit=unit, time=f"{since:.6g}")
        if values.time[worst] != since:
            told += f" (worst at {values.time[worst]:.6g} s)"
        yield Finding(law, told, bodies, since, amount, unit, float(excess[worst]), run)
