"""``python -m bench.ilqr``: milliseconds of the real-time optimiser for both levels of a ball balancer's control.

Medians and 99 % of warm starts, N = 25 stages of 0.04 s, compiled and (with --numpy) without a compiler; CPU time, for
machines that do something else as well; the share of each operation; deadline misses at 40 and 100 Hz. Both levels at a
flat wall and at a pillar (surface=ROUND), and the hybrid one with hard constraints by quadratic programs.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.hybrid_hard import HardHybrid
from tests.control.pushes import random_pushes
from trundle.contact.soft import Wall
from trundle.contact.walls import FLAT, ROUND
from trundle.numerics.ilqr import ControlSolution, Limits
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.schedule import ScheduleRules, contact_schedule

NOISE = np.array([1e-3] * 2 + [2e-3] * 3 + [5e-3] * 6 + [0.3] * 2 + [0.15] * 3)  # m, rad, N s, N m s
PILLAR = Wall([0.5, 0, 0.8], [-1, 0, 0], 1 / 0.3, axis=[0, 0, 1])
DEADLINES = {"contact-implicit": 0.025, "hybrid": 0.010}  # s, of updates at 40 and 100 Hz


def planned(control: ContactImplicit | HybridControl) -> tuple[np.ndarray, np.ndarray, ControlSolution]:
    """Return a start, parameters and the plan whose warm starts are timed."""
    curved = control.surface is ROUND
    implicit = ContactImplicit(surface=control.surface)
    walls, start = [PILLAR if curved else Wall([0.5, 0, 0], [-1, 0, 0])], random_pushes(control.robot, 1)[0]
    p = implicit.parameters(control.robot.rest(), walls)
    plan = implicit.discover(start, p, implicit.still(start))
    if isinstance(control, HybridControl):
        rows = [implicit.observe(plan.states[k], plan.inputs[k], p[k]) for k in range(control.stages)]
        distances, forces = (np.array([np.array(row[i]).ravel() for row in rows]) for i in (0, 1))
        schedule = contact_schedule(forces, distances, control.step, ScheduleRules())
        p = control.parameters(control.robot.rest(), schedule, walls)
        plan = control.solve(start, p, [control.seed(plan, forces, schedule)], Limits(60))
    return start, p, plan


def updates(control: ContactImplicit | HybridControl, iterations: int, count: int, hard: bool = False) -> np.ndarray:
    """Return wall and CPU seconds (count, 2) of warm updates, each from a state off the plan by a loop's noise."""
    rng, (start, p, plan) = np.random.default_rng(0), planned(control)
    limits, seconds = Limits(iterations, tolerance=0.0), []
    programs = HardHybrid(control) if hard and isinstance(control, HybridControl) else None
    if programs is not None:
        programs.solve(start, p, plan.guess(), 1)  # builds the solver
    for _ in range(count):
        state = start + NOISE * rng.normal(size=16)
        begin = time.perf_counter(), time.process_time()
        if programs is None:
            control.optimiser.solve(state, p, plan.guess(0.1), limits)
        else:
            programs.solve(state, p, plan.guess(0.1), iterations)
        seconds.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return np.array(seconds)


def operations(control: ContactImplicit | HybridControl, count: int) -> dict[str, float]:
    """Return the median seconds of each operation of an iteration, from where the last update ended."""
    core = control.optimiser._backend
    core.x_new[0] = core.x[0]
    result = {}
    for name, arguments in (("slope", ()), ("backward", (0.0,)), ("roll", (1.0,))):
        seconds = []
        for _ in range(count):
            begin = time.process_time()
            getattr(core, name)(*arguments)
            seconds.append(time.process_time() - begin)
        result[name] = float(np.median(seconds))
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.ilqr", description=__doc__)
    parser.add_argument("--numpy", action="store_true", help="without a compiler: by numpy if no cores are built")
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    if given.numpy:
        os.environ["TRUNDLE_NO_COMPILER"] = "1"
    console = Console(width=110)
    for kind, surface in (("", FLAT), (", curved wall", ROUND)):
        levels = ("contact-implicit", ContactImplicit(surface=surface)), ("hybrid", HybridControl(surface=surface))
        for level, control in levels:
            table, count = _table(given.count, DEADLINES[level]), given.count
            for iterations in (1, 2, 3, 5):
                table.add_row(str(iterations), *_numbers(updates(control, iterations, count), DEADLINES[level]))
            if level == "hybrid":
                for programs in (1, 3):
                    times = updates(control, programs, max(20, count // 5), hard=True)
                    table.add_row(f"{programs} hard", *_numbers(times, DEADLINES[level]))
            console.print(f"{level}{kind}, N = {control.stages}, back end {control.optimiser.backend}")
            console.print(table)
            shares = operations(control, count)
            found = ", ".join(f"{name} {1e3 * value:.3f} ms" for name, value in shares.items())
            console.print(f"CPU time of its operations, each repeated by itself: {found}")


def _table(count: int, deadline: float) -> Table:
    late = f"later than {1e3 * deadline:.0f} ms, of {count}"
    return Table("iterations", "median ms", "99 % ms", "least ms", "CPU median ms", late)


def _numbers(times: np.ndarray, deadline: float) -> list[str]:
    seconds, cpu = times.T
    values = np.median(seconds), np.quantile(seconds, 0.99), np.min(seconds), np.median(cpu)
    late = f"{int(np.sum(seconds > deadline))}" + (f" of {len(seconds)}" if len(seconds) < 100 else "")
    return [*(f"{1e3 * value:.3f}" for value in values), late]


if __name__ == "__main__":
    main()
