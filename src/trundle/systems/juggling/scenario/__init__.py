"""Juggling: an object that rolls on a moving hand, in space or in the plane (paper 2).

`build` makes the pair and the start of a scenario, `control` and `throw` the experiments with plans, controllers and
trials (`policies`, `plants`, `goals`); `metrics` and `metrics_passive` evaluate runs, `figures` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trundle.scenarios.system import System, TaskSpec


class Juggling(System):
    """An object on a moving hand."""

    name = "juggling"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {
        "simulate": TaskSpec(__name__, "schema:JugglingSimulate", "build:build"),
        "transfer": TaskSpec(
            __name__,
            "schema_control:JugglingTransfer",
            "control:build_transfer",
            parts=r"plan|printed|open-loop|coarse-(open|closed)-loop|(open|closed)-loop-\d+",
        ),
        "balance": TaskSpec(
            __name__, "schema_control:JugglingBalance", "balance:build", parts=r"uncontrolled|closed-loop-\d+"
        ),
        "throw": TaskSpec(__name__, "schema_control:JugglingThrow", "throw:build", parts=r"plan|closed-loop-\d+"),
    }


SYSTEM = Juggling()
