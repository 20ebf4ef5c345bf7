"""The tables: a line for each simulator and setting, and one for each way a run of trundle's ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bench.survey.peers.measured import TRUNDLE, Row
from tests.oracles.laws.amounts import CONE, ENERGY, GAP, MOMENTUM, Amounts

AMOUNTS: dict[str, tuple[str, Callable[[Amounts], float]]] = {
    "overlap (mm)": (GAP, lambda amounts: 1e3 * amounts.overlap),
    "momentum": (MOMENTUM, lambda amounts: amounts.momentum),
    "energy": (ENERGY, lambda amounts: amounts.energy),
    "cone": (CONE, lambda amounts: amounts.cone),
}
"""Columns: the law that each is of, and its number."""


def amounts_table(rows: Sequence[Row]) -> str:
    """Return the median and the worst of what runs miss laws by."""
    heads = ["", "step (ms)", *AMOUNTS, "CPU (ms)"]
    lines = []
    for (label, step), found in _groups(rows):
        known = [row.amounts for row in found if row.amounts is not None]
        cells = [_both([number(one) for one in known]) for _, number in AMOUNTS.values()]
        times = [1e3 * row.seconds for row in found if np.isfinite(row.seconds)]
        lines.append([label, _step(step), *cells, f"{np.median(times):.2g}" if times else "-"])
    return _written(heads, lines)


def shares_table(rows: Sequence[Row]) -> str:
    """Return the shares of scenes that run their whole time and hold each law by the judge's tolerances."""
    heads = ["", "step (ms)", "whole", *(law for law, _ in AMOUNTS.values()), "all"]
    lines = []
    for (label, step), found in _groups(rows):
        broken = [row.amounts.broken if row.amounts is not None else frozenset({GAP, MOMENTUM, ENERGY, CONE})
                  for row in found]  # fmt: skip
        shares = [sum(law not in one for one in broken) for law, _ in AMOUNTS.values()]
        every = sum(row.whole and not one for row, one in zip(found, broken, strict=True))
        counts = [sum(row.whole for row in found), *shares, every]
        lines.append([label, _step(step), *(f"{100 * count / len(found):.0f} %" for count in counts)])
    return _written(heads, lines)


def endings(rows: Sequence[Row]) -> str:
    """Return how trundle's runs ended; which ones did not run their whole time or break a law, and which laws."""
    own = [row for row in rows if row.label == TRUNDLE]
    counts = Counter(row.ended for row in own).most_common()
    lines = [f"trundle: {', '.join(f'{count} {ended}' for ended, count in counts)}"]
    lines += [f"  {_told(row)}" for row in own if not row.whole or (row.amounts is not None and row.amounts.broken)]
    lines += [f"{row.label}: {_told(row)}" for row in rows if row.label != TRUNDLE and not row.whole]
    return "\n".join(lines)


def _told(row: Row) -> str:
    """Return the line of one run."""
    broken = sorted(row.amounts.broken) if row.amounts is not None else []
    found = f"breaks {', '.join(broken)}" if broken else "the judge finds nothing" if row.amounts else "no run"
    return f"scene {row.scene}: {row.ended}, {found}" + (f"; {row.reason[:200]}" if row.reason else "")


def _groups(rows: Sequence[Row]) -> list[tuple[tuple[str, float | None], list[Row]]]:
    """Return rows by whom and step, trundle first."""
    keys = sorted(dict.fromkeys((row.label, row.step) for row in rows), key=lambda key: key[0] != TRUNDLE)
    return [(key, [row for row in rows if (row.label, row.step) == key]) for key in keys]


def _both(values: Sequence[float]) -> str:
    return f"{_short(float(np.median(values)))}, {_short(max(values))}" if values else "-"


def _short(value: float) -> str:
    """Return two digits; round-off of what is compared with 1 is none."""
    if value < 1e-13:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{value:.2g}" if 1e-2 <= value < 1e3 else f"{mantissa}e{int(exponent)}"


def _step(step: float | None) -> str:
    return "events" if step is None else f"{1e3 * step:g}"


def _written(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
