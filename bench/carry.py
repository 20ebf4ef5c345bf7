"""``python -m bench.carry [SEEDS] [FIRST]``: the box over step and slope of `examples/humanoid_carry.toml`.

One row a trial, of SEEDS (10), whose noise has the seeds FIRST (0), FIRST + 1, ... and whose masses are 5 % more and
5 % less in turn: whether the box arrived, how far it slipped in the hands and tilted, how far the centre of mass was
from the nominal motion, the ticks without a solution, where it ended and why, and the real-time factor; then the
metrics.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from trundle.control.handling import PHASES
from trundle.report.metrics_multicontact import carry, trials
from trundle.scenarios import build, load_scenario

EXAMPLE = Path(__file__).parents[1] / "examples" / "humanoid_carry.toml"


def main() -> None:
    """Print the table."""
    seeds, first = (int(sys.argv[i]) if len(sys.argv) > i else start for i, start in ((1, 10), (2, 0)))
    scenario = load_scenario(EXAMPLE, [f"trials.count={seeds}", f"seed={first}"])
    (job, *_) = build(scenario).jobs()
    run = job.run(None)
    names = (
        "seed",
        "masses",
        "arrived",
        "slip (mm)",
        "tilt (deg)",
        "rms (mm)",
        "unsolved",
        "phase",
        "why",
        "real time",
    )
    table = Table(*names)
    for one in trials(run):
        table.add_row(
            str(one["seed"]),
            f"{one['mass_factor']:.2f}",
            "yes" if one["crossed"] else "no",
            f"{1e3 * one['slip']:.1f}",
            f"{one['tilt']:.1f}",
            f"{1e3 * one['com_rms_xy']:.1f}",
            str(one["unsolved"]),
            PHASES[one["phase"]],
            one["reason"],
            f"{one['simulated'] / one['spent']:.2f}",
        )
    console = Console()
    console.print(table)
    for name, value in carry(run, {}).items():
        console.print(f"{name} {value:.4g}")


if __name__ == "__main__":
    main()
