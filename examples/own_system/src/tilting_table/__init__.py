"""A ball on a table that tilts about two axes, held at a target: a kind of scenario in a package of its own.

`schema` is the file format, `build` makes the runs of a file, under `control`, and adds two columns to their records;
`report` has metrics and a figure. The stage is the kit's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trundle.scenarios import System, TaskSpec

if TYPE_CHECKING:
    from trundle.report import Figure, Metric, RunSet


class TiltingTable(System):
    """The system; what is heavy is imported when it is used."""

    name = "tilting-table"
    library = Path(__file__).parent
    tasks: Mapping[str, TaskSpec] = {"balance": TaskSpec(__name__, "schema:Balance", "build:build", parts=r"trial-\d+")}

    def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
        """Return the metrics of a finished run."""
        from tilting_table.report import metrics

        return metrics(runs)

    def figures(self, runs: RunSet) -> Mapping[str, Figure]:
        """Return the figures of a finished run."""
        from tilting_table.report import figures

        return figures(runs)


SYSTEM = TiltingTable()
