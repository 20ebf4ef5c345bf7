"""Wallbounce: a robot that balances on a ball and pushes off walls, under two levels of plans (paper 5).

`robot` is its model, `plant` its MuJoCo twin, `control` both levels and the low level; `setup` and `checks` read a
file, `trials` runs it; `record` holds the variables, `metrics`, `figures` and `stage` judge and show the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trundle.scenarios.system import System, TaskSpec


class Wallbounce(System):
    """A ball balancer that pushes off walls, in MuJoCo."""

    name = "wallbounce"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "recover": TaskSpec(__name__, "schema:WallbounceRecover", "build:build"),
        "navigate": TaskSpec(__name__, "schema:WallbounceNavigate", "build:build"),
    }


SYSTEM = Wallbounce()
