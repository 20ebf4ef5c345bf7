"""``python -m bench.ledge [SEEDS] [FIRST]``: the ridge with a hand on the beam, and the paper's ablation.

Rows: `humanoid-ledge` as it is, and with the task of the angular momentum off; each with SEEDS trials (10) whose noise
has the seeds FIRST (0), FIRST + 1, ...: crossed, the hand's mean share of the weight, its peak, the deviation of the
centre of mass from the nominal motion, the largest angular momentum of the recorded trial and the real-time factor.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from trundle.report.metrics_multicontact import ledge, trials
from trundle.scenarios import build, load_scenario

ROWS = {"as it is": (), "no momentum task": ("controller.gains.momentum=0.0",)}


def main() -> None:
    """Print the table."""
    seeds, first = (int(sys.argv[i]) if len(sys.argv) > i else start for i, start in ((1, 10), (2, 0)))
    table = Table("humanoid-ledge", "crossed", "hand's share", "peak (N)", "rms (mm)", "|L| (kg m2/s)", "real time")
    for label, overrides in ROWS.items():
        scenario = load_scenario("humanoid-ledge", [f"trials.count={seeds}", f"seed={first}", *overrides])
        (job, *_) = build(scenario).jobs()
        run = job.run(None)
        values, facts = ledge(run, {}), trials(run)
        momentum = float(np.abs(run["angular_momentum"]).max())
        rms = 1e3 * max(one["com_rms_xy"] for one in facts if one["survived"] or not values["seeds_ok"])
        speed = sum(one["simulated"] for one in facts) / sum(one["spent"] for one in facts)
        crossed, share = f"{values['seeds_ok']:.0f} of {seeds}", f"{values['hand_load_share']:.3f}"
        table.add_row(
            label, crossed, share, f"{values['hand_load_most']:.0f}", f"{rms:.1f}", f"{momentum:.2f}", f"{speed:.2f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
