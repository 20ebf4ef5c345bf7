"""``python -m bench.whole_body [ticks]``: whole-body control of humanoids, milliseconds of processor time a tick.

A tick is everything from joint positions and rates to torques: inertia and momentum by Pinocchio, the program's
numbers, its solution by DAQP and the recomputation of its residuals. The paper: below 5 ms. Goal: 1 ms, and 2 ms with
an object between the hands.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from trundle.control.aim import Aim
from trundle.control.collision import CollisionRows
from trundle.control.load import Load
from trundle.control.whole_body import WholeBodyAim, WholeBodyController
from trundle.models.humanoid import HUMANOIDS, Humanoid, load_humanoid

LIMIT, LIMIT_LOADED = 1.0, 2.0  # ms, median


def measured(humanoid: Humanoid, standing: tuple[str, ...], ticks: int, extra: str) -> tuple[float, float, int]:
    """Return median and 99 % of the milliseconds a tick, and how many ticks had no solution.

    `extra`: "2 kg" in the hands, "apart" for the pairs of limbs of the robot's file, or "".
    """
    loaded = extra == "2 kg"
    rows = CollisionRows(humanoid.clearance) if extra == "apart" and humanoid.clearance else None
    controller = WholeBodyController(humanoid.gripping() if loaded else humanoid, collisions=rows)
    robot, rng = controller.humanoid.robot, np.random.default_rng(0)
    q, still = controller.humanoid.standing(), np.zeros(robot.nv)
    terms, ends = controller.terms(q, still)
    if terms.momentum is None:
        raise RuntimeError("no momentum")
    away = {n: Aim(ends[n].p, R=ends[n].R) for n in ("left_foot", "right_foot") if n not in standing}
    com, load = terms.momentum.com, None
    if loaded:
        hands = ("left_hand", "right_hand")
        p = (ends[hands[0]].p + ends[hands[1]].p) / 2
        load = Load(2.0, np.diag([0.016, 0.013, 0.016]), p, np.eye(3), Aim(p), hands, squeeze=25.0)
        com = load.joined(terms.momentum, robot.mass).com
    aim = WholeBodyAim(com, np.eye(3), standing, away, load=load)
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
    table = Table("robot", "soles", "object or pairs", "median (ms)", "99 % (ms)", "no solution", "limit (ms)", "held")
    for name in HUMANOIDS:
        humanoid = load_humanoid(name)
        extras = ("", *(["2 kg"] if humanoid.pads else []), *(["apart"] if humanoid.clearance else []))
        for extra in extras:
            limit = LIMIT_LOADED if extra == "2 kg" else LIMIT
            for standing in (("left_foot", "right_foot"), ("left_foot",)):
                median, most, failed = measured(humanoid, standing, ticks, extra)
                row = (name, str(len(standing)), extra, f"{median:.2f}", f"{most:.2f}", str(failed))
                table.add_row(*row, f"{limit:g}", "yes" if median <= limit else "no")
    Console().print(table)


if __name__ == "__main__":
    main()
