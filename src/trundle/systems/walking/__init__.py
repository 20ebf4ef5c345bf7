"""Walking: robots with rolling feet in space, optimal walks of the avatar, a ball's transfers (papers 1 and 4).

`robot` simulates a URDF with feet, `build` plans and replays walks, `ball_transfer` a rolling ball; `foot_fit` fits an
equivalent foot to measured gait (`gait_data`); `metrics*`, `figures*` and `stage` evaluate and show the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.scenarios.system import System, TaskSpec

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.report import Figure, Metric, RunSet, Stage


class WalkingSystem(System):
    """Rolling feet in space."""

    name = "walking"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "simulate": TaskSpec(__name__, "schema_robot:WalkingSimulate", "robot:build"),
        "walk": TaskSpec(__name__, "schema:WalkingWalk", "build:build", parts=r"replay"),
        "transfer": TaskSpec(__name__, "schema_ball:WalkingTransfer", "ball_transfer:build"),
    }
    commands: Mapping[str, str] = {"fit-foot": "trundle.systems.walking.cli:fit_foot"}

    def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
        """Return the metrics of a finished run."""
        from trundle.systems.walking.metrics import metrics

        return metrics(runs)

    def figures(self, runs: RunSet) -> Mapping[str, Figure]:
        """Return the figures of a finished run by the names of their files."""
        from trundle.systems.walking.figures import figures

        return figures(runs)

    def stage(self, run: Trajectory) -> Stage:
        """Return what the animation of a run shows."""
        from trundle.report import build_stage
        from trundle.systems.walking.stage import walking_stage

        return walking_stage(run) if "walk" in run.metadata else build_stage(run)


SYSTEM = WalkingSystem()
