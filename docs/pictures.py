"""``make pictures``: the pictures of README and documentation, in docs/images, from runs of scenarios and examples.

Runs are kept in runs/docs and used again; ``python docs/pictures.py NAME ...`` draws some of `PICTURES`, or of the
cards of the gallery, alone.
"""

from __future__ import annotations

import hashlib
import inspect
import runpy
import sys
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from gallery import Card, cards
from kept_runs import KEPT, ROOT, kept
from matplotlib.figure import Figure as Canvas
from PIL import Image

import trundle as tr
from trundle.records import Trajectory, load_trajectory
from trundle.report import Stage
from trundle.report.picture import by_motion, draw_stage
from trundle.report.video import write_video
from trundle.scenarios.engine.pictures import stage

IMAGES = ROOT / "docs" / "images"
SIZE, DPI = (4.0, 3.0), 120  # inches
STILL = (400, 300)  # pixels, at most
#: What makes a run short of which one motion is drawn.
SHORTER = {
    **{"trials.count": 1, "trials.record": 1, "plan.starts": 1},
    **{"pushes.fore_aft": [10.0], "pushes.lateral": [15.0], "pushes.axes": ["lateral"]},
}
#: Of the gallery without a picture, and why; the page shows their files alone.
NOT_DRAWN = {"measured_walk.toml": "its recording is not part of trundle"}


@dataclass(frozen=True)
class Picture:
    """A picture: the scenario or file it shows, changes to it, and the part that is drawn."""

    scenario: str
    overrides: tuple[str, ...] = ()
    part: str = ""
    moving: bool = False

    def file(self, name: str) -> Path:
        """Return where the picture is."""
        return IMAGES / f"{name}{'.gif' if self.moving else '.png'}"


PICTURES = {
    "ball-on-plate": Picture("plate-spinning", ("simulation.duration=4.0",), moving=True),
    "juggling": Picture("plate-reorient", ("plan.starts=2",)),
    "planar": Picture("rover-sinusoid"),
    "walking": Picture("walk-flat", ("replay.steps=0",)),
    "multicontact": Picture("humanoid-carry", ("trials.count=1",)),
    "wallbounce": Picture("wallbounce-recover", ("trials.count=1",)),
    "own-robot": Picture("solo_trots.toml"),
}


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all."""
    for name in [one for one in PICTURES if not names or one in names]:
        one = PICTURES[name]
        folder = kept(one.scenario, *one.overrides, plots=False)
        file = folder / ("trajectory.nc" if not one.part else f"trajectory-{one.part}.nc")
        shown = stage(load_trajectory(file))
        if one.moving:
            write_video(shown, one.file(name), width=480, height=360)
        else:
            still(shown).savefig(one.file(name))
        print(one.file(name).relative_to(ROOT), flush=True)
    for card in [one for one in cards() if (one.name in names if names else one.name not in NOT_DRAWN)]:
        file = BytesIO()
        if card.scenario:
            still(stage(main_run(card))).savefig(file)
        else:
            drawing = runpy.run_path(str(card.file))["main"]
            if "plot" not in inspect.signature(drawing).parameters:
                continue
            try:
                drawing(file)
            except ModuleNotFoundError as error:
                print(f"as it was: {card.name}: {error}", file=sys.stderr, flush=True)
                continue
        image = Image.open(file).convert("RGB")
        image.thumbnail(STILL, Image.Resampling.LANCZOS)
        card.picture.parent.mkdir(exist_ok=True)
        image.save(card.picture, quality=80, method=6)
        print(card.picture.relative_to(ROOT), flush=True)


def still(shown: Stage) -> Canvas:
    """Return a picture of a few instants between which what is shown moves equally far."""
    canvas = Canvas(figsize=SIZE, dpi=DPI)
    ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    draw_stage(shown, ax, by_motion(shown), aspect=SIZE[0] / SIZE[1])
    ax.set_axis_off()
    return canvas


def main_run(card: Card) -> Trajectory:
    """Return the main run of a scenario with few trials, kept in runs/docs/stills while the scenario is the same."""
    overrides: list[str] = []
    found = tr.load_scenario(card.file).resolved()
    for key, value in SHORTER.items():
        table, _, name = key.partition(".")
        if isinstance(found.get(table), dict) and found[table].get(name, value) != value:
            overrides.append(f"{key}={value}")
    scenario = tr.load_scenario(card.file, overrides)
    digest = hashlib.sha256(f"{tr.__version__} {scenario.resolved_toml()}".encode()).hexdigest()[:10]
    file = KEPT / "stills" / f"{card.name}-{digest}.nc"
    if not file.is_file():
        print(f"run: {card.name} {' '.join(overrides)}", file=sys.stderr, flush=True)
        parts = tr.scenarios.build(scenario).parts()
        run = next(run for part in parts for run in [part.run(None)] if not part.name)
        told = {"kind": scenario.kind, "scenario": scenario.name}
        file.parent.mkdir(parents=True, exist_ok=True)
        replace(run, metadata={**run.metadata, **told}).save(file)
    return load_trajectory(file)


if __name__ == "__main__":
    main(sys.argv[1:])
