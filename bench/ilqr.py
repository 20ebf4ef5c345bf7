"""``python -m bench.ilqr``: milliseconds of the real-time optimiser for the contact-implicit plan of a ball balancer.

Medians and 99 % of warm starts, N = 25 stages of 0.04 s, compiled and (with --numpy) without a compiler; the share of
each operation; deadline misses at 25 ms (40 Hz).
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
from trundle.numerics.ilqr import Limits

DEADLINE = 0.025  # s, of an update at 40 Hz


def updates(control: ContactImplicit, iterations: int, count: int) -> np.ndarray:
    """Return the seconds of `count` warm updates, each from a state a little off the plan."""
    rng = np.random.default_rng(0)
    p = control.parameters(control.robot.rest(), [Wall([0.5, 0, 0], [-1, 0, 0])])
    start = control.robot.rest()
    start[11:13] = 15.0, 3.0
    plan = control.discover(start, p, control.still(start))
    limits, seconds = Limits(iterations, tolerance=0.0), []
    for _ in range(count):
        state = start + 1e-3 * rng.normal(size=16)
        begin = time.perf_counter()
        control.solve(state, p, plan.guess(0.1), limits)
        seconds.append(time.perf_counter() - begin)
    return np.array(seconds)


def operations(control: ContactImplicit, count: int) -> dict[str, float]:
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
    control = ContactImplicit()
    table = Table("iterations", "median ms", "99 % ms", "late of " + str(given.count))
    for iterations in (1, 2, 5):
        seconds = updates(control, iterations, given.count)
        median, worst = 1e3 * np.median(seconds), 1e3 * np.quantile(seconds, 0.99)
        table.add_row(str(iterations), f"{median:.3f}", f"{worst:.3f}", str(int(np.sum(seconds > DEADLINE))))
    console = Console()
    console.print(f"contact-implicit, N = {control.stages}, back end {control.optimiser.backend}")
    console.print(table)
    shares = operations(control, given.count)
    console.print(", ".join(f"{name} {1e3 * value:.3f} ms" for name, value in shares.items()))


if __name__ == "__main__":
    main()
