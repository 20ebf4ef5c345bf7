"""Multicontact: humanoids that stand, walk and carry under preview and whole-body control (paper 3).

`layout` and `stances` lay out what a robot stands on, `build` and `carry` make the experiments, `trials` runs them in
MuJoCo; `record` holds the variables, `ticks` what exports write; `metrics`, `figures` and `stage` judge and show the
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trundle.scenarios.system import System, TaskSpec


class Multicontact(System):
    """Humanoids with many contacts, in MuJoCo."""

    name = "multicontact"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "stand": TaskSpec(__name__, "schema:MulticontactStand", "build:build"),
        "walk": TaskSpec(__name__, "schema:MulticontactWalk", "build:build"),
        "carry": TaskSpec(__name__, "schema_carry:MulticontactCarry", "build:build"),
    }


SYSTEM = Multicontact()
