"""Wallbounce: a robot that balances on a ball and pushes off walls, under two levels of plans (paper 5).

`robot` is its model, `plant` its MuJoCo twin, `control` both levels and the low level; `setup` and `checks` read a
file, `trials` runs it; `record` holds the variables, `metrics`, `figures` and `stage` judge and show the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.scenarios.system import System, TaskSpec

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.report import Figure, Metric, RunSet, Stage


class Wallbounce(System):
    """A ball balancer that pushes off walls, in MuJoCo."""

    name = "wallbounce"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "recover": TaskSpec(__name__, "schema:WallbounceRecover", "build:build"),
        "navigate": TaskSpec(__name__, "schema:WallbounceNavigate", "build:build"),
    }

    def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
        """Return the metrics of a finished run."""
        from trundle.systems.wallbounce.metrics import metrics

        return metrics(runs)

    def figures(self, runs: RunSet) -> Mapping[str, Figure]:
        """Return the figures of a finished run by the names of their files."""
        from trundle.systems.wallbounce.figures import figures

        return figures(runs)

    def stage(self, run: Trajectory) -> Stage:
        """Return what the moving picture of a run shows."""
        from trundle.systems.wallbounce.stage import wallbounce_stage

        return wallbounce_stage(run)


SYSTEM = Wallbounce()
