"""``python -m bench.planning``: planning times and successes, beside the published ones.

Each line is measured in a process of its own: ``cold`` without a compiler, ``warm`` with compiled functions in the
cache (compiled before the clock starts). Time is that of the verb ``plan``, replay included, imports not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

PUBLISHED = (
    "published for plate-reorient (paper 2, Table II and text): 171 + 346 + 946 s for N = 50, 100, 200 with fmincon in "
    "MATLAB on an i7-4700MQ, goal tolerance 0.1 in the state norm; another machine and solver"
)
CASES = ("plate-reorient", "flip-up", "butterfly")


def task(case: str) -> tuple[Any, dict[str, Any]]:
    """Return the transfer of a case and the arguments of ``plan``."""
    import trundle as tr

    if case == "plate-reorient":
        ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216, inertia="solid")
        pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.5)
        goal = {"contact_on_hand": (0, -0.033, 0), "object_quaternion": (np.sqrt(0.5), np.sqrt(0.5), 0, 0)}
        return tr.juggling.Transfer(pair, {}, goal, 2.0, {"freedoms": ("wx", "wy"), "angular_acceleration": 50.0}), {}
    if case == "flip-up":
        body = tr.RigidBody(tr.Ellipse([0.0377, 0.0252]), mass=0.0553, inertia="solid")
        pair = tr.RollingPair(body, tr.Hand(tr.Line(), extent=0.375), friction=0.8, gravity=0.4 * 9.81)
        return tr.juggling.Transfer(pair, {}, {"object_angle": np.pi / 2}, 1.0, {"linear_acceleration": 10.0}), {}
    hand = tr.Hand(tr.FourierRadius(0.11, cos=[0, -0.04 / 0.11]), angle=np.pi / 2)
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.0166), mass=0.03), hand, friction=0.8)
    goal = {"contact_on_hand": (-0.07, 0), "hand_angle": -np.pi / 2}
    limits = {"angular_acceleration": 100.0, "linear_acceleration": 30.0}
    contact = {"normal_force": 0.4, "friction_margin": 0.5}
    return tr.juggling.Transfer(pair, {"contact_on_hand": (0.07, 0)}, goal, 1.0, limits, contact), {"nodes": 120}


def measure(case: str, starts: int) -> dict[str, Any]:
    """Plan once and time it, then from perturbed stationary guesses."""
    import trundle as tr

    transfer, more = task(case)
    begin = time.perf_counter()
    plan = tr.juggling.plan(transfer, **more)
    took = time.perf_counter() - begin
    reached = sum(
        tr.juggling.plan(transfer, guess="stationary", sigma=0.1, seed=seed, starts=1, **more).success
        for seed in range(starts)
    )
    r = plan.residuals
    names = ("goal_position_error", "goal_rotation_error", "friction_use", "kkt_residual")
    nodes = [entry["nodes"] for entry in plan.history]
    return {"status": plan.status.label, "seconds": took, "nodes": nodes, "reached": reached} | {n: r[n] for n in names}


def compile_case(case: str) -> None:
    """Put the functions of a case into the cache."""
    import trundle as tr

    transfer, more = task(case)
    tr.juggling.plan(transfer, compile=True, max_iterations=1, starts=1, max_refinements=0, **more)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.planning", description=__doc__)
    parser.add_argument("--starts", type=int, default=40, help="perturbed guesses of plate-reorient")
    parser.add_argument("--worker", nargs=2, metavar=("CASE", "STARTS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(measure(given.worker[0], int(given.worker[1]))))
        return
    table = Table(title="Planning", title_justify="left", caption=PUBLISHED, caption_justify="left")
    for head in ("case", "functions", "status", "intervals", "time", "goal error", "friction use", "starts reached"):
        table.add_column(head)
    for case in CASES:
        compile_case(case)
        for label, hidden in (("cold, no compiler", "1"), ("warm", "")):
            starts = given.starts if case == "plate-reorient" and not hidden else 0
            command = [sys.executable, "-m", "bench.planning", "--worker", case, str(starts)]
            environment = os.environ | {"TRUNDLE_NO_COMPILER": hidden}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            r = json.loads(done.stdout.splitlines()[-1])
            error = f"{r['goal_position_error']:.1e} m, {r['goal_rotation_error']:.1e} rad"
            reached = f"{r['reached']} of {starts}" if starts else ""
            nodes = " + ".join(map(str, r["nodes"]))
            use = f"{r['friction_use']:.3f}"
            table.add_row(case, label, r["status"], nodes, f"{r['seconds']:.2f} s", error, use, reached)
    Console().print(table)


if __name__ == "__main__":
    main()
