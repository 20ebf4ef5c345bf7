"""``make pictures``: the pictures of README and documentation, in docs/images, from runs of scenarios and examples.

Runs are kept in runs/docs and used again; ``python docs/pictures.py NAME ...`` draws some of `PICTURES` alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from kept_runs import ROOT, kept
from matplotlib.figure import Figure as Canvas

from trundle.records import load_trajectory
from trundle.report.picture import by_motion, draw_stage
from trundle.report.video import write_video
from trundle.scenarios.engine.pictures import stage

IMAGES = ROOT / "docs" / "images"
SIZE, DPI = (4.0, 3.0), 120  # inches


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
    for name in names or PICTURES:
        one = PICTURES[name]
        folder = kept(one.scenario, *one.overrides, plots=False)
        file = folder / ("trajectory.nc" if not one.part else f"trajectory-{one.part}.nc")
        shown = stage(load_trajectory(file))
        if one.moving:
            write_video(shown, one.file(name), width=480, height=360)
        else:
            canvas = Canvas(figsize=SIZE, dpi=DPI)
            ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
            draw_stage(shown, ax, by_motion(shown), aspect=SIZE[0] / SIZE[1])
            ax.set_axis_off()
            canvas.savefig(one.file(name))
        print(one.file(name).relative_to(ROOT), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
