"""The drawing kit: metrics recomputed from records, figures, moving pictures, and the files they go to.

Nothing here knows a kind of scenario: a system chooses what it shows of its runs (`RunSet`) from `measure`,
`figures_of_runs` and the functions of `metrics`, `plots` and `scene`, and adds its own.
"""

from __future__ import annotations

from trundle.arguments import guard
from trundle.report import style
from trundle.report.files import trajectories, write_figures
from trundle.report.metrics import QUANTITIES, general
from trundle.report.plots import figures, variable
from trundle.report.runs import (
    Count,
    Figure,
    Metric,
    MetricGroup,
    Quantity,
    RunSet,
    figures_of_runs,
    measure,
    size_figure,
)
from trundle.report.scene import build_stage
from trundle.report.staging import Stage
from trundle.report.viewer import write_viewer

__all__ = [
    "QUANTITIES",
    "Count",
    "Figure",
    "Metric",
    "MetricGroup",
    "Quantity",
    "RunSet",
    "Stage",
    "build_stage",
    "figures",
    "figures_of_runs",
    "general",
    "measure",
    "size_figure",
    "style",
    "trajectories",
    "variable",
    "write_figures",
    "write_viewer",
]

guard(__name__)
