"""Solvers of quadratic programs on the rover's inverse dynamics: median, 99th percentile, largest, missed deadlines.

``python -m bench.qp [ticks]``. The programs are those of a closed loop on the sinusoid, one a tick of 10 ms.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.rover import BASE_HEIGHT, PERIOD, SPEED, controller, drive, rolling, rover

PAPER = 3e-3  # s, the paper's bound of one program
SOLVERS = ("daqp", "piqp", "proxqp", "osqp")
REFERENCE = np.array([SPEED, BASE_HEIGHT, 0.0])


@dataclass(frozen=True)
class Times:
    """What was timed over all ticks, us.

    `cpu` is the 99th percentile of the processor's time, without what else the machine was doing; `missed` counts
    ticks over the paper's 3 ms.
    """

    label: str
    unknowns: int
    rows: int
    median: float
    p99: float
    largest: float
    cpu: float
    missed: int
    unsolved: int
    note: str = ""

    def as_dict(self) -> dict:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)


def times(
    label: str, run: Any, call: Callable[[np.ndarray], bool], states: Iterable[np.ndarray], note: str = ""
) -> Times:
    """Time `call` at every state; it tells whether its answer holds."""
    spent, unsolved = [], 0
    for x in states:
        begin = time.perf_counter(), time.thread_time()
        solved = call(x)
        end = time.perf_counter(), time.thread_time()
        spent.append((end[0] - begin[0], end[1] - begin[1]))
        unsolved += not solved
    return _summary(label, run, 1e6 * np.array(spent), unsolved, note)


def _summary(label: str, run: Any, us: np.ndarray, unsolved: int, note: str) -> Times:
    """Return the row of wall and processor times (ticks, 2)."""
    wall, cpu = us.T
    figures = (np.median(wall), np.percentile(wall, 99), wall.max(), np.percentile(cpu, 99))
    missed = int(np.sum(wall > 1e6 * PAPER))
    return Times(label, run.layout.n, run.layout.rows, *(float(f) for f in figures), missed, unsolved, note)


def solver_alone(run: Any, states: Iterable[np.ndarray]) -> Times:
    """Time the solver's own package on programs that are there already, and the data compiled in a C loop."""
    from bench.timing import time_function
    from trundle.errors import CompileError
    from trundle.numerics.qp.backends import ProgramBounds, backend

    equality = np.arange(run.layout.rows) < run.layout.equations
    solve, spent = backend(run.solver), []
    for x in states:
        d = run.assemble(x, REFERENCE)
        begin = time.perf_counter(), time.thread_time()
        solve(d.H, d.g, d.A, ProgramBounds(d.low, d.high, equality), None)
        spent.append((time.perf_counter() - begin[0], time.thread_time() - begin[1]))
    try:
        data = 1e6 * min(time_function(run.function, [x, REFERENCE, np.zeros(0), np.zeros(0)], 2000) for _ in range(5))
        note = f"data {data:.2f} us in C"
    except CompileError as problem:
        data, note = 0.0, f"without the data: {problem}"[:60]
    return _summary(f"{run.solver}: data + solver", run, 1e6 * np.array(spent) + data, 0, note)


def tables(ticks: int = 1000) -> dict[str, list[Times]]:
    """Return the table of solvers and the table of ticks."""
    from trundle.numerics.qp.backends import solvers
    from trundle.numerics.qp.qp import QpSolver
    from trundle.status import Status

    model = rover()
    dynamics = rolling(model)
    fast = controller(model, dynamics)
    states = drive(model, dynamics, fast, ticks)
    compared, whole = [], []
    for name in (name for name in SOLVERS if name in solvers()):
        run = controller(model, dynamics, solver=name, damping=1e-7)
        judge = QpSolver(name, np.arange(run.layout.rows) < run.layout.equations)

        def program(x: np.ndarray, run: Any = run, judge: Any = judge) -> bool:
            d = run.assemble(x, REFERENCE)
            return judge.solve(d.H, d.g, d.A, d.low, d.high, finite=True).status is Status.SUCCESS

        compared += [
            solver_alone(run, states),
            times(f"{name}: judged", run, program, states, "data, solver, residuals"),
        ]
    for form in ("torque", "force", "full"):
        run = controller(model, dynamics, form=form)
        whole.append(times(f"form {form}", run, lambda x, run=run: run(x, REFERENCE).usable, states, "daqp, Python"))
    run = controller(model, dynamics, secondary="tangential")
    whole.append(
        times("two levels", run, lambda x, run=run: run(x, REFERENCE).usable, states, "least tangential forces")
    )
    run, on = controller(model, dynamics, switched=True), np.ones(2)
    tick = "daqp, Python, contacts known at each tick"
    whole.append(times("contacts switched", run, lambda x: run(x, REFERENCE, (), on).usable, states, tick))
    four = rover(legs=4)
    rows = rolling(four)
    run = controller(four, rows)
    many = drive(four, rows, run, max(ticks // 5, 10))
    whole.append(times("four legs", run, lambda x: run(x, REFERENCE).usable, many, "daqp, Python"))
    return {"Solvers, 2-leg rover, unknowns u": compared, "One tick from Python": whole}


def print_table(console: Console, title: str, rows: Iterable[Times]) -> None:
    """Print one table."""
    table = Table(title=f"{title} (us; paper: < {1e6 * PAPER:g})", title_justify="left")
    table.add_column("what")
    for head in ("unknowns", "rows", "median", "p99", "largest", "p99 CPU", "> 3 ms", "unsolved"):
        table.add_column(head, justify="right")
    table.add_column("note")
    for row in rows:
        figures = (f"{value:.1f}" for value in (row.median, row.p99, row.largest, row.cpu))
        counts = (str(row.missed), str(row.unsolved))
        table.add_row(row.label, str(row.unknowns), str(row.rows), *figures, *counts, row.note)
    console.print(table)


def main() -> int:
    """Print both tables; 1 if DAQP left a program unsolved."""
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    console = Console(width=None if sys.stdout.isatty() else 140)
    found = tables(ticks)
    console.print(f"{ticks} ticks of {1e3 * PERIOD:g} ms", highlight=False)
    for title, rows in found.items():
        print_table(console, title, rows)
    return int(any(row.unsolved for row in found["One tick from Python"]))


if __name__ == "__main__":
    sys.exit(main())
