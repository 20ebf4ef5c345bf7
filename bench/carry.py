"""``python -m bench.carry [SEEDS] [FIRST] [USE] [KEY=VALUE ...]``: the box over step and slope of `humanoid-carry`.

One row a trial, of SEEDS (10), whose noise has the seeds FIRST (0), FIRST + 1, ... and whose masses are 5 % more and
5 % less in turn: whether the box arrived, how far it slipped in the hands and tilted, how far the centre of mass was
from the nominal motion, how much of the torques was used, the ticks without a solution, where it ended and why, and
processor time: of all, and the real-time factor of the controller; then the metrics. USE multiplies the weights of the
box's place and attitude: 1, and 0 for the paper's ablation, in which its use is not penalised. KEY=VALUE are keys of
the scenario: ``python -m bench.carry 10 0 'robot.name="talos"'`` is Talos.
"""

from __future__ import annotations

import sys
import time

from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.scenario.carry import CarryExperiment
from trundle.systems.multicontact.scenario.metrics import carry
from trundle.systems.multicontact.scenario.record import HumanoidTrialResult
from trundle.systems.multicontact.scenario.trials import HumanoidOutcome, trajectory
from trundle.systems.multicontact.whole_body.pick_and_place import PHASES

HEAD = "seed  masses  arrived  slip (mm)  tilt (deg)  rms (mm)  torque  unsolved  phase     CPU (s)  real time  why"


def row(one: HumanoidTrialResult, spent: float) -> str:
    """Return a trial's line of the table; `spent` is its processor time, s."""
    arrived = "yes" if one.crossed else "no"
    size = f"{1e3 * one.slip:9.1f}  {one.tilt:10.1f}  {1e3 * one.com_rms_xy:8.1f}  {one.torque_use:6.2f}"
    where = f"{one.unsolved:8}  {PHASES[one.phase or 0]:8}  {spent:7.1f}  {one.simulated / one.solve_time:9.2f}"
    return f"{one.seed:4}  {one.mass_factor:6.2f}  {arrived:>7}  {size}  {where}  {one.reason}"


def main() -> None:
    """Print the table, each row as soon as its trial is over."""
    given = [float(text) for text in sys.argv[1:] if "=" not in text]
    seeds, first, use = [*given, *(10.0, 0.0, 1.0)[len(given) :]]
    settings = [f"trials.count={int(seeds)}", f"seed={int(first)}"]
    settings += [f"object.{key}={use * 200.0}" for key in ("place", "turn")]
    settings += [text for text in sys.argv[1:] if "=" in text]
    work = build(load_scenario("humanoid-carry", settings))
    if not isinstance(work, CarryExperiment):
        raise TypeError("humanoid-carry is no task carry")
    _ = work.path
    print(HEAD, flush=True)
    outcomes: list[HumanoidOutcome] = []
    for trial in (trial for wave in work.waves(outcomes) for trial in wave):
        begin = time.process_time()
        outcomes.append(work.outcome(trial))
        print(row(outcomes[-1].result, time.process_time() - begin), flush=True)
    for name, value in carry(trajectory(work, outcomes), {}).items():
        print(f"{name} {value:.4g}")


if __name__ == "__main__":
    main()
