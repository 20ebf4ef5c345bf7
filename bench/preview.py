"""``python -m bench.preview [ticks]``: preview control, milliseconds of the processor's time a tick, from Python.

A tick is everything from the measured state to the judged plan; solve is PIQP alone, the renewal of its numbers
included. Every tick starts from another state and another time, contacts come and go, and no program is rebuilt.
The paper: about 20 ms a tick for 20 samples over 3 s. The real-time factor says how often the median tick fits into
the 40 ms between two plans. Clarabel solves the program of every tenth tick again, off the clock: the
largest relative difference of the optimal costs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial.transform import Rotation

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.preview import Preview

MASS = 33.3  # kg
SOLE = FlatPatch.rectangle(0.156, 0.056, friction=0.54)  # m
PALM = FlatPatch.rectangle(0.06, 0.04, friction=0.54)
TIP = FlatPatch.point(0.54)
LIMIT_SOLVE, LIMIT_TICK = 2.0, 2.0  # ms, median at 20 samples
PERIOD = 40.0  # ms between two plans


@dataclass(frozen=True)
class Times:
    """Milliseconds of processor time over all ticks of a case."""

    case: str
    samples: int
    window: float  # s
    unknowns: int
    rows: int
    solve: float
    solve_p99: float
    tick: float
    tick_p99: float
    iterations: float
    failed: int
    programs: int
    clarabel: float  # largest relative difference of the optimal costs

    @property
    def real_time_factor(self) -> float:
        """How often a tick fits into the time between two plans."""
        return PERIOD / self.tick

    def as_dict(self) -> dict:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)


class Timed:
    """PIQP's solver with a clock around it."""

    def __init__(self, solver: Any) -> None:
        self._solver, self.spent = solver, 0.0

    def __getattr__(self, name: str) -> Any:
        what = getattr(self._solver, name)
        if name not in ("setup", "update", "solve"):
            return what

        def timed(*given: Any, **more: Any) -> Any:
            begin = time.thread_time()
            result = what(*given, **more)
            self.spent += time.thread_time() - begin
            return result

        return timed


def standing(contacts: int, points: bool = False) -> Forecast:
    """Feet, then hands on walls: patches or points."""
    hand = TIP if points else PALM
    turn = [Rotation.from_euler("x", angle).as_matrix() for angle in (1.2, -1.0)]
    placed = [
        PlacedPatch("left", SOLE, (0.0, 0.1, 0.0)),
        PlacedPatch("right", SOLE, (0.1, -0.1, 0.02)),
        PlacedPatch("left hand", hand, (0.3, 0.4, 0.7), turn[0]),
        PlacedPatch("right hand", hand, (0.3, -0.4, 0.7), turn[1]),
    ]
    return Forecast([Held(c) for c in placed[:contacts]])


def walking(steps: int = 40, hand: bool = False) -> tuple[Forecast, PointPath]:
    """Steps of 0.14 m in 0.6 s with double support of 0.2 s; a hand on a rail, moved every two steps."""
    held, single, double = [], 0.6, 0.2
    for i in range(steps):
        y, start, end = 0.1 * (-1) ** i, i * (single + double) - double, (i + 2) * (single + double) - single
        held.append(Held(PlacedPatch(f"foot {i}", SOLE, (0.14 * i, y, 0.0)), start if i else -np.inf, end))
    for i in range(steps // 2 if hand else 0):
        at = PlacedPatch(f"hand {i}", TIP, (0.28 * i + 0.2, 0.38, 0.66))
        held.append(Held(at, 1.6 * i + 0.3 if i else -np.inf, 1.6 * i + 1.7))
    last = steps * (single + double)
    return Forecast(held), PointPath([0.0, last], [(0.0, 0.0, 0.7), (0.14 * steps, 0.0, 0.7)])


def cases() -> dict[str, tuple[Forecast, PointPath]]:
    """Return the contact schedules."""
    still = PointPath([0.0], [(0.02, 0.0, 0.7)])
    found = {"1 patch": (standing(1), PointPath([0.0], [(0.0, 0.1, 0.7)]))}
    found |= {f"{n} patches": (standing(n), still) for n in (2, 3, 4)}
    found["2 patches + 2 points"] = standing(4, points=True), still
    return found | {"walking": walking(), "walking + hand": walking(hand=True)}


def ticks_of(path: PointPath, count: int) -> Iterator[tuple[float, CentroidalState]]:
    """Yield times and measured states: about the path, another one at each tick."""
    rng = np.random.default_rng(0)
    for i in range(count):
        now = 0.04 * i if len(path.times) > 1 else 0.0
        centre = path(np.array([now]))[0][0] + 0.01 * rng.normal(size=3)
        yield now, CentroidalState(centre, 0.05 * rng.normal(size=3))


def measure(case: str, forecast: Forecast, path: PointPath, grid: np.ndarray, ticks: int) -> Times:
    """Time a case; in the first calls the program is laid out."""
    preview = Preview(Centroidal(MASS), grid)
    spent, iterations, failed = [], [], 0
    for i, (now, state) in enumerate(ticks_of(path, ticks + 3)):
        clocks = [_clocked(program.qp) for program in preview._programs.values()]
        before, begin = sum(c.spent for c in clocks), time.thread_time()
        plan = preview(now, state, forecast, path)
        whole = time.thread_time() - begin
        if i >= 3:
            spent.append((sum(c.spent for c in clocks) - before, whole))
            iterations.append(plan.solution.iterations)
            failed += not plan.usable
    solve, tick = 1e3 * np.array(spent).T
    qp = next(iter(preview._programs.values())).qp
    figures = (np.median(solve), np.percentile(solve, 99), np.median(tick), np.percentile(tick, 99))
    sizes = (len(grid), float(grid.sum()), qp.n, len(qp.e) + len(qp.low))
    counts = (float(np.mean(iterations)), failed, len(preview._programs))
    return Times(case, *sizes, *(float(f) for f in figures), *counts, cross_check(forecast, path, grid, ticks))


def _clocked(qp: Any) -> Timed:
    if not isinstance(qp._solver, Timed):
        qp._solver = Timed(qp._solver)
    return qp._solver


def cross_check(forecast: Forecast, path: PointPath, grid: np.ndarray, ticks: int) -> float:
    """Return the largest relative difference of the cost from Clarabel's over every tenth tick."""
    preview = Preview(Centroidal(MASS), grid, check="clarabel")
    some = list(ticks_of(path, ticks + 3))[::10]
    plans = (preview(now, state, forecast, path) for now, state in some)
    return float(np.max([np.nan if plan.checked is None else plan.checked.cost for plan in plans]))


def grids() -> list[np.ndarray]:
    """Return sample durations: 10, 20 and 40 samples over 1.5, 3 and 4 s; fine at first."""
    found = []
    for count in (10, 20, 40):
        for length in (1.5, 3.0, 4.0):
            shape = np.repeat([1.0, 3.0, 4.5], [round(0.3 * count), round(0.3 * count), count - 2 * round(0.3 * count)])
            found.append(shape * length / shape.sum())
    return found


def tables(ticks: int = 200) -> Iterator[tuple[str, list[Times]]]:
    """Yield the cases on the grid of 20 samples over 3 s, then one to four patches on all grids."""
    known, standard = cases(), np.array([0.05] * 6 + [0.15] * 6 + [0.225] * 8)
    yield "20 samples over 3 s", [measure(name, *given, standard, ticks) for name, given in known.items()]
    patches = {name: given for name, given in known.items() if name.endswith(("patch", "patches"))}
    some = max(ticks // 2, 20)
    yield "Grids", [measure(name, *given, grid, some) for grid in grids() for name, given in patches.items()]


def print_table(console: Console, title: str, rows: list[Times]) -> None:
    """Print one table."""
    table = Table(title=f"Preview control, {title} (ms of CPU)", title_justify="left")
    table.add_column("contacts")
    heads = (
        "samples",
        "window",
        "unknowns",
        "rows",
        "solve",
        "p99",
        "tick",
        "p99",
        "real time",
        "iterations",
        "failed",
    )
    for head in (*heads, "programs", "Clarabel"):
        table.add_column(head, justify="right")
    for row in rows:
        sizes = (str(row.samples), f"{row.window:g} s", str(row.unknowns), str(row.rows))
        figures = (f"{value:.2f}" for value in (row.solve, row.solve_p99, row.tick, row.tick_p99))
        counts = (f"{row.real_time_factor:.0f}", f"{row.iterations:.1f}", str(row.failed), str(row.programs))
        table.add_row(row.case, *sizes, *figures, *counts, f"{row.clarabel:.0e}")
    console.print(table)


def main() -> int:
    """Print both tables; 1 if a plan failed."""
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    console = Console(width=None if sys.stdout.isatty() else 150)
    found: list[Times] = []
    for title, rows in tables(ticks):
        print_table(console, title, rows)
        found += rows
    judged = [row for row in found if row.samples == 20]
    late = sorted(
        {f"{row.case} over {row.window:g} s" for row in judged if row.solve > LIMIT_SOLVE or row.tick > LIMIT_TICK}
    )
    said = f"limits at 20 samples, median: solve {LIMIT_SOLVE:g} ms, tick {LIMIT_TICK:g} ms; missed by "
    console.print(said + (", ".join(late) or "none"), highlight=False)
    worst = {name: max(getattr(row, name) for row in judged) for name in ("solve", "solve_p99", "tick", "tick_p99")}
    console.print("worst at 20 samples: " + ", ".join(f"{k} {v:.2f} ms" for k, v in worst.items()), highlight=False)
    return int(any(row.failed for row in found))


if __name__ == "__main__":
    sys.exit(main())
