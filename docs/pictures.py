"""``make pictures``: the pictures of README and documentation, in docs/images, from runs of scenarios and examples.

Runs are kept in runs/docs and used again; ``python docs/pictures.py NAME ...`` draws some of `MOVING`, or of the
cards of the gallery, alone.
"""

from __future__ import annotations

import hashlib
import inspect
import runpy
import sys
from dataclasses import replace
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
STILL, SMALL = (400, 300), (320, 240)  # pixels, at most; of moving ones but the first
#: What makes a run short of which one motion is drawn.
SHORTER = {
    **{"trials.count": 1, "trials.record": 1, "plan.starts": 1},
    **{"pushes.fore_aft": [10.0], "pushes.lateral": [15.0], "pushes.axes": ["lateral"]},
}
#: Of the gallery without a picture, and why; the page shows their files alone.
NOT_DRAWN = {"measured_walk.toml": "its recording is not part of trundle"}
#: Name of a small moving picture of README and landing page -> the scenario or example that it shows.
MOVING = {
    "juggling": "plate-reorient",
    "planar": "rover-sinusoid",
    "walking": "walk-flat",
    "multicontact": "humanoid-carry",
    "wallbounce": "wallbounce-recover",
    "own-robot": "solo_trots.toml",
}
FRAMES, LONGEST = 30, 5.0  # of a small moving picture: most frames, and s that it lasts at most


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all."""
    if not names or "ball-on-plate" in names:
        run = load_trajectory(kept("plate-spinning", "simulation.duration=4.0", plots=False) / "trajectory.nc")
        write_video(stage(run), IMAGES / "ball-on-plate.gif", width=480, height=360)
        print("docs/images/ball-on-plate.gif", flush=True)
    by_name = {card.name: card for card in cards()}
    for name in [one for one in names or MOVING if one in MOVING]:
        moving(stage(main_run(by_name[MOVING[name]])), IMAGES / f"{name}.webp")
        print(f"docs/images/{name}.webp", flush=True)
    for card in [one for one in cards() if (one.name in names if names else one.name not in NOT_DRAWN)]:
        file = BytesIO()
        if card.scenario:
            still(stage(main_run(card))).savefig(file)
        else:
            drawing = runpy.run_path(str(card.file))["main"]
            if "plot" not in inspect.signature(drawing).parameters:
                continue
            drawing(file)
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


def moving(shown: Stage, path: Path) -> None:
    """Write a small moving picture as WebP; what is long is shown faster than it was."""
    count, every = len(shown.contact), -(-len(shown.contact) // FRAMES)
    canvas, frames = still(shown), []
    (ax,) = canvas.axes
    limits = ax.get_xlim(), ax.get_ylim()
    for k in range(0, count, every):
        ax.clear()
        draw_stage(shown, ax, [k])
        ax.set_axis_off()
        ax.set(xlim=limits[0], ylim=limits[1])
        canvas.savefig(file := BytesIO())
        frames.append(Image.open(file).convert("RGB").resize(SMALL, Image.Resampling.LANCZOS))
    lasts = min(count * shown.seconds, LONGEST) / len(frames)  # s, of a frame
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1e3 * lasts), loop=0, quality=60, method=4
    )


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
