"""``python -m bench.wallbounce``: the four wall-bouncing scenarios on the contract's trials and on held-out ones.

The contract's trials are drawn with the scenario's own seed, held-out ones with another: what was tuned on the first
is judged on the second. ``tilted`` and ``corner`` are the pushes of ``wallbounce-recover``, five of them, at walls that
lean 20 deg away from and over the robot, and in a corner of two walls. Minutes to an hour; ``--only avoid --count 20``
takes one of them. For the four scenarios ``--rough`` adds noise, delay and a plant with other numbers than the
controller believes, and ``--set`` any key: ``--set 'robot.form="simplified"'``.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from trundle.records import Trajectory
from trundle.scenarios import load_scenario
from trundle.scenarios.scenario import Scenario
from trundle.systems.wallbounce.scenario.build import trajectory
from trundle.systems.wallbounce.scenario.metrics import avoid, general, models, recover, turn
from trundle.systems.wallbounce.scenario.record import results
from trundle.systems.wallbounce.scenario.setup import Setup
from trundle.systems.wallbounce.scenario.trials import run_trial

METRICS = {"recover": recover, "avoid": avoid, "turn": turn, "models": models}
PARTS = {
    "recover": ("drive-only", "implicit-only", "paper-presets", "gentle"),
    "avoid": ("drive-only",),
    "turn": ("drive-only",),
    "models": (),
}
SHOWN = {
    "recover": (
        "falls_two_level",
        "safe_two_level",
        "safe_drive_only",
        "safe_implicit_only",
        "safe_paper_presets",
        "gentle_force_planned",
        "gentle_force_mismatch",
    ),
    "avoid": ("cleared_seeds", "drive_only_hits", "late_contact", "clearance"),
    "turn": ("lateral_time_ratio", "peak_acceleration_ratio", "falls", "goal_time_ratio"),
    "models": ("penetration_p95", "slip_p95", "off_wall_force_p95"),
}


TIMES = ("solve_time_implicit", "solve_time_hybrid")
ROUGH = [
    *(f"noise.{key}={value}" for key, value in (
        ("position", 2e-3), ("angle", 5e-3), ("joint", 0.01), ("velocity", 0.01), ("angular_velocity", 0.01),
        ("joint_rate", 0.05), ("force", 0.5), ("delay", 0.004),
    )),
    "plant.mass=1.05", "plant.inertia=1.05", "plant.com=[0.01, -0.005, 0.02]",
]  # fmt: skip
"""Standard deviations, SI, 4 ms of delay, and a plant 5 % heavier whose centre of mass lies elsewhere."""


def measured(
    name: str, seed: int | None, count: int | None, given: list[str], parts: bool = True
) -> tuple[dict[str, float], int]:
    """Return the metrics of a scenario whose trials are drawn with a seed, and the number of trials."""
    scenario = load_scenario(f"wallbounce-{name}", [*given, *([f"trials.count={count}"] if count else [])])
    main = run(scenario, seed)
    others = {part: run(scenario.parts[part], seed) for part in PARTS[name] if parts}
    return METRICS[name](main, others) | general(main), len(results(main))


def run(scenario: Scenario, seed: int | None) -> Trajectory:
    """Return the trajectory of a scenario's trials; `seed` None: its own."""
    setup = Setup(scenario.tables, scenario.seed if seed is None else seed)
    return trajectory(setup, [run_trial(setup, trial) for trial in setup.trials()])


def leaning(degrees: float) -> list[str]:
    """Set a wall that leans away from the robot (over it where < 0), as far from its torso as upright ones: 0.36 m."""
    a, height = np.deg2rad(degrees), 1.2 if degrees < 0.0 else 0.138  # m, where the torso is nearest
    point, normal = [0.14 + 0.36 / np.cos(a), 0.0, height], [-np.cos(a), 0.0, np.sin(a)]
    return [f"walls=[{{point = {[float(v) for v in point]}, normal = {[float(v) for v in normal]}}}]"]


def walls_of(name: str) -> list[str]:
    """Return what is set in ``wallbounce-recover`` for walls of a name, five pushes each.

    A leaning wall is as far from the torso of the upright robot as that of ``wallbounce-recover``, 0.36 m.
    """
    if name == "corner":
        second = "{point = [0.0, 0.5, 0.0], normal = [0.0, -1.0, 0.0]}"
        walls = [f"walls=[{{point = [0.5, 0.0, 0.0], normal = [-1.0, 0.0, 0.0]}}, {second}]"]
        walls += ["trials.heading=[0.1745, 1.3963]"]  # rad: 45 +- 35 deg
    else:
        walls = leaning({"away 20 deg": 20.0, "over 20 deg": -20.0}[name])
    return [*walls, "trials.count=5", "trials.record=1"]


def oblique(names: tuple[str, ...], seeds: list[int | None]) -> Table:
    """Return a table of what came of five full pushes at walls that are not upright, and in a corner."""
    heads = "walls", "levels", "seed", "falls", "recovered", "torso untouched", "hand over 10 N"
    table = Table(*heads, "torso least m", "force most N", "away most m")
    for name in names:
        for seed in seeds:
            for levels in ("two-level", "drive-only"):
                given = [*walls_of(name), f'controller.levels="{levels}"']
                trials = results(run(load_scenario("wallbounce-recover", given), seed))
                fallen, back = sum(t.fell for t in trials), sum(not t.fell and t.away <= 0.3 for t in trials)
                free, used = sum(t.torso_min > 0.0 for t in trials), sum(t.force_measured > 10.0 for t in trials)
                least, most = min(t.torso_min for t in trials), max(t.force_measured for t in trials)
                numbers = f"{least:.3f}", f"{most:.0f}", f"{max(t.away for t in trials):.2f}"
                counts = (f"{value} of {len(trials)}" for value in (fallen, back, free, used))
                table.add_row(name, levels, "contract" if seed is None else str(seed), *counts, *numbers)
    return table


OBLIQUE = {"tilted": ("away 20 deg", "over 20 deg"), "corner": ("corner",)}


def main() -> None:
    """Print the tables, each as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m bench.wallbounce", description=__doc__)
    parser.add_argument("--only", choices=(*METRICS, *OBLIQUE), action="append")
    parser.add_argument("--seed", type=int, default=100, help="of the held-out trials")
    parser.add_argument("--count", type=int, help="of held-out trials; as in the scenario unless given")
    parser.add_argument("--skip-contract", action="store_true")
    parser.add_argument("--no-parts", action="store_true", help="two-level alone")
    parser.add_argument("--rough", action="store_true", help="noise, delay, plant with other numbers")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    changed = [*(ROUGH if given.rough else []), *given.set]
    console = Console(width=130)
    for name in given.only or (*METRICS, *OBLIQUE):
        if name in OBLIQUE:
            console.print(oblique(OBLIQUE[name], [given.seed] if given.skip_contract else [None, given.seed]))
            continue
        table = Table("scenario", "metric", "contract seeds", f"held-out seeds (from {given.seed})")
        own = ({}, 0) if given.skip_contract else measured(name, None, None, changed, not given.no_parts)
        other = measured(name, given.seed, given.count, changed, not given.no_parts)
        table.add_row(f"wallbounce-{name}", "trials", str(own[1] or "-"), str(other[1]), style="bold")
        for key in (*SHOWN[name], *TIMES):
            cells = (f"{values[key]:.4g}" if key in values else "-" for values, _ in (own, other))
            table.add_row("", key, *cells)
        console.print(table)


if __name__ == "__main__":
    main()
