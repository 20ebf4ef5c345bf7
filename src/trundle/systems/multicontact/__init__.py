"""Multicontact: humanoids that stand, walk and carry under preview and whole-body control (paper 3).

`layout` and `stances` lay out what a robot stands on, `build` and `carry` make the experiments, `trials` runs them in
MuJoCo; `record` holds the variables, `metrics`, `figures` and `stage` judge and show the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.scenarios.system import System, TaskSpec

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.report import Figure, Metric, RunSet, Stage


class Multicontact(System):
    """Humanoids with many contacts, in MuJoCo."""

    name = "multicontact"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "stand": TaskSpec(__name__, "schema:MulticontactStand", "build:build"),
        "walk": TaskSpec(__name__, "schema:MulticontactWalk", "build:build"),
        "carry": TaskSpec(__name__, "schema_carry:MulticontactCarry", "build:build"),
    }

    def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
        """Return the metrics of a finished run."""
        from trundle.systems.multicontact.metrics import metrics

        return metrics(runs)

    def figures(self, runs: RunSet) -> Mapping[str, Figure]:
        """Return the figures of a finished run by the names of their files."""
        from trundle.systems.multicontact.figures import figures

        return figures(runs)

    def stage(self, run: Trajectory) -> Stage:
        """Return what the moving picture of a run shows."""
        from trundle.systems.multicontact.stage import multicontact_stage

        return multicontact_stage(run)


SYSTEM = Multicontact()
