"""``python -m bench.wallbounce``: the four wall-bouncing scenarios on the contract's trials and on held-out ones.

The contract's trials are drawn with the scenario's own seed, held-out ones with another: what was tuned on the first
is judged on the second. Minutes to an hour; ``--only avoid --count 20`` takes one of them.
"""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from trundle.records import Trajectory
from trundle.report.metrics_wallbounce import avoid, models, recover, turn
from trundle.scenarios import load_scenario
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.wallbounce import trajectory
from trundle.scenarios.wallbounce_setup import Setup
from trundle.scenarios.wallbounce_trials import run_trial

METRICS = {"recover": recover, "avoid": avoid, "turn": turn, "models": models}
PARTS = {"recover": ("drive-only", "gentle"), "avoid": ("drive-only",), "turn": ("drive-only",), "models": ()}
SHOWN = {
    "recover": (
        "falls_two_level",
        "safe_two_level",
        "safe_drive_only",
        "gentle_force_planned",
        "gentle_force_mismatch",
    ),
    "avoid": ("cleared_seeds", "drive_only_hits", "late_contact", "clearance"),
    "turn": ("lateral_time_ratio", "peak_acceleration_ratio", "falls", "goal_time_ratio"),
    "models": ("penetration_p95", "slip_p95", "off_wall_force_p95"),
}


def measured(name: str, seed: int | None, count: int | None) -> tuple[dict[str, float], int]:
    """Return the metrics of a scenario whose trials are drawn with a seed, and the number of trials."""
    scenario = load_scenario(f"wallbounce-{name}", [f"trials.count={count}"] if count else [])
    main = run(scenario, seed)
    parts = {part: run(scenario.parts[part], seed) for part in PARTS[name]}
    return METRICS[name](main, parts), len(main.metadata["trials"])


def run(scenario: Scenario, seed: int | None) -> Trajectory:
    """Return the trajectory of a scenario's trials; `seed` None: its own."""
    setup = Setup(scenario.tables, scenario.seed if seed is None else seed)
    return trajectory(setup, [run_trial(setup, trial) for trial in setup.trials()])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.wallbounce", description=__doc__)
    parser.add_argument("--only", choices=tuple(METRICS), action="append")
    parser.add_argument("--seed", type=int, default=100, help="of the held-out trials")
    parser.add_argument("--count", type=int, help="of held-out trials; as in the scenario unless given")
    parser.add_argument("--skip-contract", action="store_true")
    given = parser.parse_args()
    table = Table("scenario", "metric", "contract seeds", f"held-out seeds (from {given.seed})")
    for name in given.only or METRICS:
        own = ({}, 0) if given.skip_contract else measured(name, None, None)
        other = measured(name, given.seed, given.count)
        table.add_row(f"wallbounce-{name}", "trials", str(own[1] or "-"), str(other[1]), style="bold")
        for key in SHOWN[name]:
            cells = (f"{values[key]:.4g}" if key in values else "-" for values, _ in (own, other))
            table.add_row("", key, *cells)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
