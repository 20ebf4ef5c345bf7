"""``python -m bench.steps``: the rover of examples/rover_step.toml over sharp steps and grooves, from TOML and CSV.

A table of how each run ends. The exit code is 1 if one crashes, ends with ``not-finite``, or records a NaN.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "rover_step.toml"
EDGE = 1.0
"""Where the step is, m."""
GIVEN_UP = ("not-finite", "failed", "crash", "NaN")


@dataclass(frozen=True)
class Variant:
    """One run: height (m, negative: down) and width (m) of the step or groove, speed (m/s), the wheels' curve."""

    height: float
    width: float
    speed: float
    wheel: str = 'type = "circle", radius = 0.12'
    groove: bool = False

    @property
    def name(self) -> str:
        """What the table calls it."""
        kind = "groove" if self.groove else "step"
        sizes = re.findall(r"[\d.]+", self.wheel)
        return f"{kind} {100 * self.height:+g}/{100 * self.width:g} cm, {self.speed:g} m/s, wheel {' x '.join(sizes)} m"

    def profile(self) -> np.ndarray:
        """Return the measured points (n, 2), m: dense at the edge, wide elsewhere."""
        half = self.width / 2
        away = np.geomspace(1.05 * half, 2.6, 14)
        x = np.concatenate([EDGE - away[::-1], EDGE + half * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), EDGE + away])
        share = np.clip((x - EDGE + half) / self.width, 0.0, 1.0)
        if self.groove:
            share = -(1 - np.abs(2 * share - 1))
        return np.column_stack([x, self.height * share])

    def text(self, folder: Path) -> str:
        """Return the scenario file; its terrain's CSV file is written to the folder."""
        np.savetxt(folder / "terrain.csv", self.profile(), "%.6f", ",", header="x,z", comments="")
        sizes = [float(size) for size in re.findall(r"[\d.]+", self.wheel)]
        text = EXAMPLE.read_text().split("[parts.unaware]")[0]
        changes = {
            'file = "data/step.csv"': 'file = "terrain.csv"',
            'type = "circle", radius = 0.12': self.wheel,
            "base = [0.0, 3.0, 0.0]": f"base = [0.0, {self.speed}, 0.0]",
            "rate = 3.0": f"rate = {self.speed}",
            "rate = -25.0": f"rate = {-self.speed / sizes[0]}",
            "base = [0.0, 0.62, 0.0]": f"base = [0.0, {0.5 + sizes[-1]}, 0.0]",
            "duration = 1.6": f"duration = {1.0 / self.speed + 1.0}",
            "relative_tolerance = 1e-8": "relative_tolerance = 1e-7",
        }
        for old, new in changes.items():
            if old not in text:
                raise RuntimeError(f"{EXAMPLE.name} no longer has {old!r}")
            text = text.replace(old, new)
        return text


def variants(full: bool) -> list[Variant]:
    """Return what is run: some, or all of a grid."""
    few = [
        Variant(0.01, 0.03, 0.6),
        Variant(0.02, 0.01, 0.6),
        Variant(0.04, 0.02, 0.5),
        Variant(0.04, 0.03, 0.3),
        Variant(0.08, 0.03, 0.6),
        Variant(-0.04, 0.03, 0.6),
        Variant(0.06, 0.1, 0.4, groove=True),
        Variant(0.03, 0.03, 0.5, 'type = "ellipse", semi_axes = [0.13, 0.11]'),
    ]
    if not full:
        return few
    grid = [
        Variant(h, w, v)
        for h in (0.01, 0.02, 0.04, 0.08, -0.02, -0.05, -0.08)
        for w in (0.01, 0.03, 0.08)
        for v in (0.3, 0.6, 1.2)
    ]
    sizes = [
        Variant(h, 0.03, 0.4, f'type = "circle", radius = {r}') for h in (0.02, 0.05) for r in (0.05, 0.08, 0.2, 0.3)
    ]
    grooves = [Variant(h, w, 0.4, groove=True) for h in (0.03, 0.08) for w in (0.06, 0.2)]
    ellipses = [Variant(h, 0.03, 0.4, 'type = "ellipse", semi_axes = [0.13, 0.11]') for h in (0.02, 0.04, -0.04)]
    return few + grid + sizes + grooves + ellipses


def ended(variant: Variant) -> tuple[str, Any]:
    """Return how a run ended, and the run (None after a crash or a refused start)."""
    from trundle.errors import TrundleError
    from trundle.scenarios import build, load_scenario

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rover.toml").write_text(variant.text(folder))
        try:
            work: Any = build(load_scenario(folder / "rover.toml"))
        except TrundleError as error:
            return f"refused: {error}", None
        try:
            (job,) = work.parts()
            run: Any = job.run(None)
        except Exception as error:
            return f"crash: {type(error).__name__}: {error}", None
    numbers = [array.values for array in run.dataset.data_vars.values() if array.dtype.kind == "f"]
    finite = all(np.all(np.isfinite(values)) for values in numbers)
    return run.status.label if finite else f"NaN in the record, {run.status.label}", run


def main() -> int:
    """Run the variants, print the table, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.steps", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the whole grid (some 80 runs, an hour) in place of 8 runs")
    parser.add_argument("--only", default="", help="variants whose name contains this")
    options = parser.parse_args()
    table = Table("variant", "ended", "at (s)", "base x (m)", "commands", "transitions", "CPU (s)")
    console, bad = Console(width=160), 0
    for variant in (v for v in variants(options.full) if options.only in v.name):
        begin = time.process_time()
        status, run = ended(variant)
        bad += status.startswith(GIVEN_UP)
        spent = f"{time.process_time() - begin:.1f}"
        if run is None:
            table.add_row(variant.name, status[:80], "", "", "", "", spent)
            print(variant.name, status, flush=True)
            continue
        commands = ", ".join(f"{n} {word}" for word, n in run.metadata["control"]["statuses"].items())
        reached = f"{float(run['body_position'][-1, 0, 0]):.2f}"
        notes = run.metadata["transitions"]
        reason = "" if status == "success" or not notes else f" ({notes[-1]['reason']})"
        row = (variant.name, status + reason, f"{run.time[-1]:.2f}", reached, commands, str(len(notes)), spent)
        table.add_row(*row)
        print(*row, sep=" | ", flush=True)
    console.print(table)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
