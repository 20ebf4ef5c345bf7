"""``python -m bench.small``: what is too short for a bench of its own: passive walker, foot from gait, ball balancer.

Numbers that the scenarios and tests hold against their limits, and the CPU seconds they take (with what they compile
already in the cache). The gait is a synthetic one, of a sole that is a circle of 0.28 m with noise of 1 mm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.systems.walking import test_foot_fit as gait
from tests.systems.wallbounce import test_robot as balancer
from trundle.scenarios import load_scenario
from trundle.scenarios.engine.run import measure

Row = tuple[str, float, str]
"""What it is, its value, its limit as text."""


def walker() -> list[Row]:
    """Return the metrics of `passive-walker`."""
    entries = measure(load_scenario("passive-walker"))["metrics"]
    return [
        (
            f"passive-walker {name}",
            float("nan") if entry["value"] is None else float(entry["value"]),
            str(entry["limit"]),
        )
        for name, entry in entries.items()
        if entry.get("limit") is not None
    ]


def foot() -> list[Row]:
    """Return the error of the radius of an equivalent foot and its spread."""
    with TemporaryDirectory() as folder:
        found = gait.fitted(gait.file_of(Path(folder) / "gait.txt", gait.synthetic(0.28, noise=0.001)), samples=400)
    return [
        ("fit-foot radius error, m", abs(found.circle.radius - 0.28), f"{0.03 * 0.28:.1e}"),
        ("fit-foot spread of the radius (bootstrap), m", float(np.std(found.radii)), ""),
    ]


def model() -> list[Row]:
    """Return the ball balancer's model against Lagrange's equations and against the simulator."""
    turn, place, _ = balancer.mujoco_difference()
    return [
        (
            "ball balancer against Lagrange, 200 states",
            balancer.lagrange_error(balancer.functions(balancer.ROBOT)),
            "1e-10",
        ),
        ("ball balancer against MuJoCo, 0.2 s, rotation", turn, "2e-4"),
        ("ball balancer against MuJoCo, 0.2 s, place, m", place, "2e-4"),
    ]


def main() -> None:
    """Print the table."""
    parts: tuple[Callable[[], list[Row]], ...] = walker, foot, model
    table = Table("what", "value", "limit", "CPU s of the group")
    for part in parts:
        begin = time.process_time()
        rows = part()
        seconds = time.process_time() - begin
        for i, (what, value, limit) in enumerate(rows):
            table.add_row(what, f"{value:.3g}", limit, "" if i else f"{seconds:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
