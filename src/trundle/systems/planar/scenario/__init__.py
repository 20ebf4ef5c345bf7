"""Planar: bodies and robots that roll on curved terrain in the plane (paper 4), and passive walkers.

`build` makes a body on terrain, `tree` and `control` robots under operational-space control, `walker` limit cycles of
passive walkers; `metrics` and `metrics_walker` evaluate runs, `figures_control` and `figures_walker` draw them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trundle.scenarios.system import System, TaskSpec


class Planar(System):
    """Bodies, robots and passive walkers on terrain in the plane."""

    name = "planar"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "simulate": TaskSpec(__name__, "schema:PlanarSimulate", "build:build"),
        "track": TaskSpec(__name__, "schema_control:PlanarTrack", "control:build"),
        "walk": TaskSpec(__name__, "schema_walker:PlanarWalk", "walker:build", parts=r"cycle|twin"),
    }


SYSTEM = Planar()
