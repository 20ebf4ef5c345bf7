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

from trundle.models.robots.humanoid import HUMANOIDS, Humanoid, load_humanoid
from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.scenario.carry import CarryExperiment
from trundle.systems.multicontact.whole_body.carried_object import Load
from trundle.systems.multicontact.whole_body.collision import CollisionRows
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController, WholeBodyTarget

LIMIT, LIMIT_LOADED = 1.0, 2.0  # ms, median


class Case:
    """One robot on some soles, and what its ticks took.

    `extra`: "2 kg" in the hands, "apart" for the pairs of limbs of the robot's file, or "".
    """

    def __init__(self, humanoid: Humanoid, standing: tuple[str, ...], extra: str) -> None:
        self.row, self.limit = (humanoid.name, str(len(standing)), extra), LIMIT_LOADED if extra == "2 kg" else LIMIT
        rows = CollisionRows(humanoid.clearance) if extra == "apart" and humanoid.clearance else None
        loaded = extra == "2 kg"
        self.controller = WholeBodyController(humanoid.gripping() if loaded else humanoid, collisions=rows)
        robot, self.rng = self.controller.humanoid.robot, np.random.default_rng(0)
        self.q = carrying(humanoid.name) if loaded else self.controller.humanoid.standing()
        self.spent, self.failed = [], 0
        terms, ends = self.controller.terms(self.q, np.zeros(robot.nv))
        if terms.momentum is None:
            raise RuntimeError("no momentum")
        away = {n: BalanceTarget(ends[n].p, R=ends[n].R) for n in ("left_foot", "right_foot") if n not in standing}
        com, load = terms.momentum.com, None
        if loaded:
            hands = ("left_hand", "right_hand")
            p = (ends[hands[0]].p + ends[hands[1]].p) / 2
            load = Load(2.0, np.diag([0.016, 0.013, 0.016]), p, np.eye(3), BalanceTarget(p), hands, squeeze=25.0)
            com = load.combined_momentum(terms.momentum, robot.mass).com
        self.aim = WholeBodyTarget(com, np.eye(3), standing, away, load=load)

    def tick(self) -> None:
        """Time one tick at a random state near the posture."""
        nv = self.controller.humanoid.robot.nv
        state, rate = self.q.copy(), 0.1 * self.rng.normal(size=nv)
        state[7:] += 0.02 * self.rng.normal(size=nv - 6)
        begin = time.thread_time()
        command = self.controller(state, rate, self.aim)
        self.spent.append(1e3 * (time.thread_time() - begin))
        self.failed += not command.usable

    def told(self) -> list[str]:
        """Return the table's row."""
        low, median, high = np.percentile(self.spent[1:], [10, 50, 99])
        figures = (f"{value:.2f}" for value in (low, median, high))
        return [*self.row, *figures, str(self.failed), f"{self.limit:g}", "yes" if median <= self.limit else "no"]


def carrying(name: str) -> np.ndarray:
    """Return the state in which a robot of `HUMANOIDS` holds the box of `humanoid-carry`, palms towards each other."""
    still = ["route.turn=0.0", "route.turn_steps=0", "route.ways=[]"]
    work = build(load_scenario("humanoid-carry", [f'robot.name="{name}"', *still]))
    if not isinstance(work, CarryExperiment):
        raise TypeError(f"humanoid-carry is built by {type(work).__name__}")
    return np.concatenate([work.start[:7], work.joints["carry"]])


def main() -> None:
    """Print the table; the cases take turns, so that what else the machine does meets all of them."""
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    cases = []
    for name in HUMANOIDS:
        humanoid = load_humanoid(name)
        extras = ("", *(["2 kg"] if humanoid.pads else []), *(["apart"] if humanoid.clearance else []))
        for extra in extras:
            cases += [Case(humanoid, standing, extra) for standing in (("left_foot", "right_foot"), ("left_foot",))]
    for _ in range(ticks + 1):
        for case in cases:
            case.tick()
    heads = ("robot", "soles", "object or pairs", "10 % (ms)", "median", "99 %", "no solution", "limit (ms)", "held")
    table = Table(*heads)
    for case in cases:
        table.add_row(*case.told())
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
