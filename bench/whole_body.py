"""``python -m bench.whole_body [ticks]``: whole-body control of humanoids, milliseconds of processor time a tick.

A tick is everything from joint positions and rates to torques: inertia and momentum by Pinocchio, the program's
numbers, its solution by DAQP and the recomputation of its residuals. The paper: below 5 ms. Goal: 1 ms.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from trundle.control.whole_body import Aim, WholeBodyAim, WholeBodyController
from trundle.models.humanoid import HUMANOIDS, load_humanoid

LIMIT = 1.0  # ms, median


def measured(name: str, standing: tuple[str, ...], ticks: int) -> tuple[float, float, int]:
    """Return median and 99 % of the milliseconds a tick, and how many ticks had no solution."""
    controller = WholeBodyController(load_humanoid(name))
    robot, rng = controller.humanoid.robot, np.random.default_rng(0)
    q, still = controller.humanoid.standing(), np.zeros(robot.nv)
    terms, ends = controller.terms(q, still)
    if terms.momentum is None:
        raise RuntimeError("no momentum")
    away = {n: Aim(ends[n].p, R=ends[n].R) for n in ("left_foot", "right_foot") if n not in standing}
    aim = WholeBodyAim(terms.momentum.com, np.eye(3), standing, away)
    spent, failed = [], 0
    for _ in range(ticks):
        state, rate = q.copy(), 0.1 * rng.normal(size=robot.nv)
        state[7:] += 0.02 * rng.normal(size=robot.nv - 6)
        begin = time.thread_time()
        command = controller(state, rate, aim)
        spent.append(1e3 * (time.thread_time() - begin))
        failed += not command.usable
    return float(np.median(spent)), float(np.percentile(spent, 99)), failed


def main() -> None:
    """Print the table."""
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    table = Table("robot", "soles", "median (ms)", "99 % (ms)", "no solution", f"<= {LIMIT:g} ms")
    for name in HUMANOIDS:
        for standing in (("left_foot", "right_foot"), ("left_foot",)):
            median, most, failed = measured(name, standing, ticks)
            row = (name, str(len(standing)), f"{median:.2f}", f"{most:.2f}", str(failed))
            table.add_row(*row, "yes" if median <= LIMIT else "no")
    Console().print(table)


if __name__ == "__main__":
    main()
