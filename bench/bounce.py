"""``python -m bench.bounce``: both levels of wall-bouncing updated as in a loop, on the model with noise.

20 pushes of 18-32 N s near a wall; the robot follows each plan with its feedback while noise is added to what is
measured. Printed: how good the hybrid plans are at their contacts (median and 95 % over stages in contact), the
milliseconds of updates, deadline misses, and what plans at events cost beside the optimum of a guess with contact.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from rich.console import Console
from rich.table import Table

from bench.ilqr import NOISE
from tests.control.pushes import random_pushes
from tests.control.test_curved_walls import ipopt, pressed
from trundle.contact.soft import SoftLaw, Wall
from trundle.numerics.ilqr import ControlSolution, Guess, Limits
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.costs import BalancerWeights, KeepOut
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.schedule import ScheduleRules, contact_schedule, on_grid
from trundle.systems.wallbounce.robot import BallBalancer

WALL = Wall([0.5, 0, 0], [-1, 0, 0])
PERIOD, EVERY, LENGTH = 0.01, 4, 0.9  # s of a hybrid update, updates of an implicit one, s of a run


def now() -> np.ndarray:
    """Return wall and CPU time, s."""
    return np.array([time.perf_counter(), time.process_time()])


@dataclass
class Seen:
    """What the runs gathered: wall and CPU seconds of updates, and numbers of stages in contact."""

    implicit: list[np.ndarray] = field(default_factory=list)
    hybrid: list[np.ndarray] = field(default_factory=list)
    depth: list[float] = field(default_factory=list)
    slip: list[float] = field(default_factory=list)
    away: list[float] = field(default_factory=list)
    press: list[float] = field(default_factory=list)


@dataclass
class Levels:
    """The two controllers and what they plan with."""

    implicit: ContactImplicit
    hybrid: HybridControl
    law: SoftLaw = field(default_factory=SoftLaw)
    rules: ScheduleRules = field(default_factory=ScheduleRules)
    weights: BalancerWeights = field(default_factory=BalancerWeights)
    keep_out: KeepOut = field(default_factory=KeepOut)

    def run(self, start: np.ndarray, seen: Seen, rng: np.random.Generator) -> None:
        """Update both levels over a run and note what they planned."""
        implicit, hybrid, robot = self.implicit, self.hybrid, self.implicit.robot
        given = {"weights": self.weights, "keep_out": self.keep_out}
        p = implicit.parameters(robot.rest(), [WALL], self.law, **given)
        plan = implicit.discover(start, p, implicit.still(start))
        step = ca.Function("step", [hybrid.problem.x, hybrid.problem.u, hybrid.problem.p], [hybrid.problem.step])
        state, own, age = start, None, 0
        for k in range(int(LENGTH / PERIOD)):
            measured = state + (NOISE * rng.normal(size=16) if k else 0.0)
            guesses: list[Guess] = []
            if k and k % EVERY == 0:
                begin = now()
                plan = implicit.solve(measured, p, plan.guess(EVERY * PERIOD / implicit.step))
                seen.implicit.append(now() - begin)
            if k % EVERY == 0:
                forces, schedule = self._schedule(plan, p, measured)
                guesses, age = [hybrid.seed(plan, forces, schedule)], 0
            flags = on_grid(schedule, implicit.step, age * PERIOD + implicit.step * np.arange(hybrid.stages))
            ph = hybrid.parameters(robot.rest(), flags, [WALL], self.law.largest, **given)
            guesses += [own.guess(PERIOD / hybrid.step)] if own is not None else []
            begin = now()
            own = hybrid.solve(measured, ph, guesses)
            seen.hybrid.append(now() - begin)
            self._note(own, ph, flags, seen)
            u = own.inputs[0] + own.gains[0] @ (state - own.states[0])
            state = state + (np.array(step(state, u, ph[0])).ravel() - state) * PERIOD / hybrid.step
            age += 1

    def _schedule(self, plan: ControlSolution, p: np.ndarray, measured: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = [self.implicit.observe(plan.states[k], plan.inputs[k], p[k]) for k in range(self.implicit.stages)]
        distances, forces = (np.array([np.array(row[i]).ravel() for row in rows]) for i in (0, 1))
        touching = (distances[0] < 0.005) & (forces[0] > self.rules.off)
        return forces, contact_schedule(forces, distances, self.implicit.step, self.rules, touching)

    def _note(self, own: ControlSolution, p: np.ndarray, flags: np.ndarray, seen: Seen) -> None:
        for k in np.flatnonzero(np.any(flags, axis=1)):
            distance, press, _, _, _, slip = (
                np.array(v) for v in self.hybrid.observe(own.states[k], own.inputs[k], p[k])
            )
            for i in np.flatnonzero(flags[k]):
                d, f = float(distance[i, 0]), float(press[i, 0])
                seen.depth.append(1e3 * max(0.0, -d))
                seen.slip.append(1e3 * float(slip[i, 0]))
                seen.away.append(f if d > 0.005 else 0.0)
                seen.press.append(f)


@dataclass
class Events:
    """Plans at events from a guess without contact, one a start.

    Attributes
    ----------
    ratios : list of float
        Cost over the least from guesses with a hand out.
    seconds : list of (2,)
        Wall and CPU time.
    iterations : list of int
    press : list of float
        Largest planned force of a hand at the wall, N.
    optima : list of float
        Cost, solved to the end, over that of IPOPT's optimum of the same stages, less 1; of the first starts.
    """

    ratios: list[float] = field(default_factory=list)
    seconds: list[np.ndarray] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    press: list[float] = field(default_factory=list)
    optima: list[float] = field(default_factory=list)


def events(control: ContactImplicit, starts: list[np.ndarray], compared: int = 2) -> Events:
    """Return what homotopy finds from a guess at rest, all inputs zero."""
    p, robot = control.parameters(control.robot.rest(), [WALL]), control.robot
    result = Events()
    for k, start in enumerate(starts):
        guess, best = control.still(start), np.inf
        for out in ([1, 1], [1, 0], [0, 1]):
            states = np.array(guess.states)
            states[:, 5:11] = np.concatenate([[0.2, 1.2, 0.4] if side else robot.joint_rest for side in out])
            best = min(best, control.solve(start, p, Guess(guess.inputs, states), Limits(200, tolerance=1e-6)).cost)
        begin = now()
        found = control.discover(start, p, guess)
        result.seconds.append(now() - begin)
        result.ratios.append(found.cost / best)
        result.iterations.append(found.iterations)
        result.press.append(float(np.max(pressed(control, found, p))))
        if k < compared:
            end = control.discover(start, p, guess, Limits(60, tolerance=1e-9))
            result.optima.append(end.cost / ipopt(control.problem, start, p, end.guess()) - 1.0)
    return result


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.bounce", description=__doc__)
    parser.add_argument("--pushes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    robot, rng, seen = BallBalancer(), np.random.default_rng(given.seed), Seen()
    levels = Levels(ContactImplicit(robot), HybridControl(robot))
    for start in random_pushes(robot, given.pushes, given.seed):
        levels.run(start, seen, rng)
    found = events(levels.implicit, random_pushes(robot, given.pushes, given.seed))
    console = Console(width=110)
    table = Table("in contact, hybrid plans", "median", "95 %", "most", "limit of 95 %")
    for name, values, limit in (
        ("penetration mm", seen.depth, "5"),
        ("slip mm/s", seen.slip, "20"),
        ("force > 5 mm off the wall N", seen.away, "3"),
        ("normal force N", seen.press, ""),
    ):
        table.add_row(name, *(f"{np.quantile(values, q):.2f}" for q in (0.5, 0.95, 1.0)), limit)
    console.print(table)
    table = Table("updates", "number", "median ms", "99 % ms", "CPU median ms", "limit of it", "late", "deadline ms")
    for name, values, limit, deadline in (
        ("implicit, 5 iterations", seen.implicit, "2", 0.025),
        ("hybrid, 3 iterations from each guess", seen.hybrid, "1", 0.010),
        ("event: homotopy", found.seconds, "", 0.025),
    ):
        row, cpu = 1e3 * np.array(values).T
        late, numbers = int(np.sum(row > 1e3 * deadline)), [*np.quantile(row, [0.5, 0.99]), np.median(cpu)]
        cells = *(f"{x:.2f}" for x in numbers), limit, str(late), f"{1e3 * deadline:.0f}"
        table.add_row(name, str(len(row)), *cells)
    console.print(table)
    within, pressed_hard = (int(np.sum(v)) for v in (np.array(found.ratios) <= 1.01, np.array(found.press) > 10.0))
    count = len(found.ratios)
    console.print("events, from a guess without contact; limit of each count: 19 of 20")
    console.print(f"  a hand at the wall with over 10 N in {pressed_hard} of {count}")
    console.print(
        f"  cost over that of guesses with a hand out: at most {max(found.ratios):.4f}, within 1 % in {within}"
    )
    optima = f"{max(np.abs(found.optima)):.1e} in {len(found.optima)}"
    console.print(
        f"  against the cost of IPOPT's optimum, relative: {optima}; iterations at most {max(found.iterations)}"
    )


if __name__ == "__main__":
    main()
