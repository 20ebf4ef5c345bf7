"""``python -m bench.ilqr``: milliseconds of the real-time optimiser for both levels of a ball balancer's control.

Medians and 99 % of warm starts, N = 25 stages of 0.04 s, compiled and (with --numpy) without a compiler; the share of
each operation; deadline misses at 40 and 100 Hz.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from trundle.contact.soft import Wall
from trundle.control.contact_implicit import ContactImplicit
from trundle.control.hybrid_mpc import HybridControl
from trundle.numerics.ilqr import Guess, Limits

DEADLINES = {"contact-implicit": 0.025, "hybrid": 0.010}  # s, of updates at 40 and 100 Hz


def updates(control: ContactImplicit | HybridControl, iterations: int, count: int) -> np.ndarray:
    """Return the seconds of `count` warm updates, each from a state a little off the plan."""
    rng = np.random.default_rng(0)
    walls = [Wall([0.5, 0, 0], [-1, 0, 0])]
    start = control.robot.rest()
    start[11:13] = 15.0, 3.0
    guess = ContactImplicit().still(start)
    if isinstance(control, HybridControl):
        pushing = np.zeros((control.stages, control.pairs), dtype=bool)
        pushing[6:16] = True
        p = control.parameters(control.robot.rest(), pushing, walls)
        guess = Guess(np.zeros((control.stages, control.nu)), guess.states)
    else:
        p = control.parameters(control.robot.rest(), walls)
    plan = control.optimiser.solve(start, p, guess, Limits(60))
    limits, seconds = Limits(iterations, tolerance=0.0), []
    for _ in range(count):
        state = start + 1e-3 * rng.normal(size=16)
        begin = time.perf_counter()
        control.optimiser.solve(state, p, plan.guess(0.1), limits)
        seconds.append(time.perf_counter() - begin)
    return np.array(seconds)


def operations(control: ContactImplicit | HybridControl, count: int) -> dict[str, float]:
    """Return the median seconds of each operation of an iteration, from where the last update ended."""
    core = control.optimiser._backend
    core.x_new[0] = core.x[0]
    result = {}
    for name, arguments in (("slope", ()), ("backward", (0.0,)), ("roll", (1.0,))):
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            getattr(core, name)(*arguments)
            seconds.append(time.perf_counter() - begin)
        result[name] = float(np.median(seconds))
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.ilqr", description=__doc__)
    parser.add_argument("--numpy", action="store_true", help="without a compiler")
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    if given.numpy:
        os.environ["TRUNDLE_NO_COMPILER"] = "1"
    console = Console()
    for level, control in (("contact-implicit", ContactImplicit()), ("hybrid", HybridControl())):
        table = Table("iterations", "median ms", "99 % ms", "late of " + str(given.count))
        for iterations in (1, 2, 3, 5):
            seconds = updates(control, iterations, given.count)
            median, worst = 1e3 * np.median(seconds), 1e3 * np.quantile(seconds, 0.99)
            late = int(np.sum(seconds > DEADLINES[level]))
            table.add_row(str(iterations), f"{median:.3f}", f"{worst:.3f}", str(late))
        console.print(f"{level}, N = {control.stages}, back end {control.optimiser.backend}")
        console.print(table)
        shares = operations(control, given.count)
        console.print(", ".join(f"{name} {1e3 * value:.3f} ms" for name, value in shares.items()))


if __name__ == "__main__":
    main()
