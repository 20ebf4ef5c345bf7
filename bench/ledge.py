"""``python -m bench.ledge [SEEDS] [FIRST] [key=value ...]``: the ridge with a hand on the beam, the paper's ablation.

Rows: `humanoid-ledge` as it is, and with the task of the angular momentum off; each with SEEDS trials (10) whose noise
has the seeds FIRST (0), FIRST + 1, ...: crossed, the hand's mean share of the weight, its peak, the deviation of the
centre of mass from the nominal motion, the angular momentum (largest of each trial: median and worst) and processor
times. The scenario was tuned on the seeds 0 to 3: FIRST = 100 are others.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.humanoid import TIMES, seeds_of, times, trial_run
from trundle.systems.multicontact.scenario.metrics import ledge
from trundle.systems.multicontact.scenario.record import results

ROWS = {"as it is": (), "no momentum task": ("controller.gains.momentum=0.0",)}


def main() -> None:
    """Print the table."""
    seeds, first, overrides = seeds_of(sys.argv[1:])
    heads = ("humanoid-ledge", "crossed", "hand's share", "peak (N)", "rms (mm)", "|L| median", "|L| most (kg m2/s)")
    table, console = Table(*heads, *TIMES), Console(width=None if sys.stdout.isatty() else 170)
    for label, changed in ROWS.items():
        run = trial_run("humanoid-ledge", seeds, first, (*overrides, *changed))
        values, trials = ledge(run, {}), results(run)
        momentum = [one.momentum_most for one in trials]
        rms = 1e3 * max(one.com_rms_xy for one in trials if one.survived or not values["seeds_ok"])
        crossed, share = f"{values['seeds_ok']:.0f} of {seeds}", f"{values['hand_load_share']:.3f}"
        row = (label, crossed, share, f"{values['hand_load_most']:.0f}", f"{rms:.1f}")
        table.add_row(*row, f"{np.median(momentum):.2f}", f"{max(momentum):.2f}", *times(run))
    console.print(table)


if __name__ == "__main__":
    main()
