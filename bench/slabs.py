"""``python -m bench.slabs [layouts]``: a G1 walks across random slabs with gaps between; which it crosses, or refuses.

Each lane has slabs of random length, gap and height of its own: footholds that would lie across an edge are moved onto
a face, and a layout where that takes more than 10 cm, or a pose that the legs do not reach, is refused before anything
runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tomli_w
from rich.console import Console

import trundle as tr
from trundle.errors import InputError
from trundle.systems.multicontact.scenario.record import results

LENGTH, STEPS = 0.14, 12


def layout(seed: int) -> dict:
    """Return a scenario: two lanes of slabs between a start and a goal."""
    rng = np.random.default_rng([3, seed])
    blocks = []

    def block(name: str, start: float, end: float, side: float = 0.0, top: float = 0.0) -> None:
        centre, size = [(start + end) / 2, 0.25 * side, top - 0.1], [end - start, 0.498 if side else 1.0, 0.2]
        blocks.append({"name": name, "center": [round(v, 6) for v in centre], "size": [round(v, 6) for v in size]})

    block("start", -0.6, 0.2)
    for lane, side in (("left", 1.0), ("right", -1.0)):
        x = 0.2
        while x < 1.2:
            x += float(rng.uniform(0.02, 0.06))
            end = x + float(rng.uniform(0.3, 0.5))
            block(f"{lane} {len(blocks)}", x, end, side, float(rng.uniform(-0.02, 0.02)))
            x = end
        block(f"goal {lane}", x + 0.02, x + 2.5, side)
    return {
        "schema": 1,
        "kind": "multicontact",
        "task": "walk",
        "title": f"slabs {seed}",
        "terrain": {"floor": False, "blocks": blocks},
        "steps": {"count": STEPS, "length": LENGTH, "lift": 0.08, "search": True},
        "trials": {"count": 2},
    }


def walked(seed: int) -> str:
    """Return what came of a layout."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "slabs.toml"
        path.write_text(tomli_w.dumps(layout(seed)))
        try:
            run = tr.run(path, Path(folder) / "run", plots=False)
        except InputError as error:
            return f"refused: {str(error).removeprefix(folder)}"
    trials = results(run.trajectory)
    return "; ".join("walked" if one.survived else f"{one.status}, {one.reason}" for one in trials)


def main() -> int:
    """Print what came of the layouts; 1 if fewer than 8 of 10 were walked."""
    count, console, good = int(sys.argv[1]) if len(sys.argv) > 1 else 10, Console(), 0
    for seed in range(count):
        said = walked(seed)
        good += set(said.split("; ")) == {"walked"}
        console.print(f"{seed}: {said}", highlight=False)
    console.print(f"walked: {good} of {count}", highlight=False)
    return int(good < 0.8 * count)


if __name__ == "__main__":
    sys.exit(main())
