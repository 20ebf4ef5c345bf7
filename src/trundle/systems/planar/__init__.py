"""Planar: bodies and robots that roll on curved terrain in the plane (paper 4), and passive walkers.

`build` makes a body on terrain, `tree` and `control` robots under operational-space control, `walker` limit cycles of
passive walkers; `metrics` and `metrics_walker` evaluate runs, `figures_control` and `figures_walker` draw them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.scenarios.system import System, TaskSpec

if TYPE_CHECKING:
    from trundle.report import Figure, Metric, RunSet


class Planar(System):
    """Bodies, robots and passive walkers on terrain in the plane."""

    name = "planar"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "simulate": TaskSpec(__name__, "schema:PlanarSimulate", "build:build"),
        "track": TaskSpec(__name__, "schema_control:PlanarTrack", "control:build"),
        "walk": TaskSpec(__name__, "schema_walker:PlanarWalk", "walker:build", parts=r"cycle|twin"),
    }

    def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
        """Return the metrics of a finished run."""
        from trundle.systems.planar.metrics import metrics

        return metrics(runs)

    def figures(self, runs: RunSet) -> Mapping[str, Figure]:
        """Return the figures of a finished run by the names of their files."""
        from trundle.systems.planar.figures import figures

        return figures(runs)


SYSTEM = Planar()
