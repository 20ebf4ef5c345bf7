"""Walking: robots with rolling feet in space, optimal walks of the avatar, a ball's transfers (papers 1 and 4).

`robot` simulates a URDF with feet, `build` plans and replays walks, of a URDF in `legged`, `ball_transfer` a rolling
ball; `measured` reads measured gait, fits an equivalent foot and estimates forces and torques. `metrics*`, `figures*`
and `stage` evaluate and show the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trundle.scenarios.system import System, TaskSpec


class WalkingSystem(System):
    """Rolling feet in space."""

    name = "walking"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "simulate": TaskSpec(__name__, "schema_robot:WalkingSimulate", "robot:build"),
        "walk": TaskSpec(__name__, "schema:WalkingWalk", "build:build", parts=r"replay"),
        "estimate": TaskSpec(
            __name__, "measured.schema_estimate:WalkingEstimate", "measured.estimate:build", parts=r"left-out"
        ),
        "transfer": TaskSpec(__name__, "schema_ball:WalkingTransfer", "ball_transfer:build"),
    }
    commands: Mapping[str, str] = {
        "fit-foot": "trundle.systems.walking.scenario.cli:fit_foot",
        "walk": "trundle.systems.walking.scenario.legged.cli:walk",
    }


SYSTEM = WalkingSystem()
