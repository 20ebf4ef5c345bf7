"""``python -m bench.humanoid SCENARIO [SEEDS] [FIRST] [key=value ...]``: trials of a humanoid, and processor times.

SCENARIO is the name or file of one of kind `multicontact`. SEEDS (10) trials whose noise has the seeds FIRST (0),
FIRST + 1, ...; `key=value` are laid over the file as ``--set`` does. Rows: what came of each trial; then how many held,
the worst deviation of the centre of mass from the nominal motion, and of the recorded trial the median, 99 % and
largest of the processor's time of a whole-body tick and of a preview.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from trundle.records import Trajectory
from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment
from trundle.systems.multicontact.scenario.record import HumanoidTrialResult, results
from trundle.systems.multicontact.scenario.trials import trajectory

HEADS = ("seed", "masses", "push (N s)", "held", "steps", "rms (mm)", "|L| (kg m2/s)", "torque", "real time", "why")
TIMES = ("real time", "tick (ms)", "99 %", "most", "preview (ms)", "99 %", "most")
"""Heads of what `times` returns."""


def trial_run(name: str, seeds: int, first: int, overrides: tuple[str, ...] = ()) -> Trajectory:
    """Return the main run of a scenario with these trials; a scenario of pushes keeps its own.

    A line a trial goes to the error stream as it ends.
    """
    scenario = load_scenario(name, [f"seed={first}", *overrides])
    if scenario.task != "stand":
        scenario = load_scenario(name, [f"trials.count={seeds}", f"seed={first}", *overrides])
    work, outcomes = build(scenario), []
    if not isinstance(work, MulticontactExperiment):
        raise SystemExit(f"{name} is no scenario of kind multicontact")
    for trial in (trial for wave in work.waves(outcomes) for trial in wave):
        outcomes.append(work.outcome(trial))
        print(name, *overrides, *row_of(outcomes[-1].result), sep="  ", file=sys.stderr, flush=True)
    return trajectory(work, outcomes)


def row_of(one: HumanoidTrialResult) -> list[str]:
    """Return what came of a trial, as `HEADS` names it."""
    push = f"{np.linalg.norm(one.push):.0f} {one.axis}" if one.axis else ""
    row = [str(one.seed), f"{one.mass_factor:.2f}", push, "yes" if one.survived else "no", str(one.steps)]
    row += [f"{1e3 * one.com_rms_xy:.1f}", f"{one.momentum_most:.2f}", f"{one.torque_use:.2f}"]
    return [*row, f"{one.simulated / one.solve_time:.2f}", one.reason]


def times(run: Trajectory) -> list[str]:
    """Return simulated over processor time of all trials; median, 99 % and largest (ms) of ticks and previews."""
    trials = results(run)
    found = [f"{sum(one.simulated for one in trials) / sum(one.solve_time for one in trials):.2f}"]
    for key in ("solve_time_wholebody", "solve_time_preview"):
        spent = 1e3 * run[key][run[key] > 0]
        whole = (np.median(spent), np.percentile(spent, 99), spent.max()) if len(spent) else (np.nan,) * 3
        found += [f"{value:.2f}" for value in whole]
    return found


def seeds_of(arguments: list[str], count: int = 10) -> tuple[int, int, tuple[str, ...]]:
    """Return SEEDS, FIRST and the overrides of a command line."""
    numbers = [int(word) for word in arguments if "=" not in word]
    seeds, first = (numbers[i] if len(numbers) > i else start for i, start in ((0, count), (1, 0)))
    return seeds, first, tuple(word for word in arguments if "=" in word)


def main() -> None:
    """Print both tables."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    seeds, first, overrides = seeds_of(sys.argv[2:])
    run = trial_run(sys.argv[1], seeds, first, overrides)
    trials, console = results(run), Console()
    table = Table(*HEADS, title=f"{sys.argv[1]} {' '.join(overrides)}", title_justify="left")
    for one in trials:
        table.add_row(*row_of(one))
    console.print(table)
    held = [one for one in trials if one.survived]
    rms = f"{1e3 * max(one.com_rms_xy for one in held):.1f}" if held else "none held"
    table = Table("held", "rms (mm)", *TIMES)
    table.add_row(f"{len(held)} of {len(trials)}", rms, *times(run))
    console.print(table)


if __name__ == "__main__":
    main()
