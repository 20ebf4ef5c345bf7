"""Reports: metrics recomputed from a run's record, figures, the moving picture, and the files they go to."""

from __future__ import annotations

from trundle.report.files import trajectories, write_plots, write_report
from trundle.report.metrics import compute, general

__all__ = ["compute", "general", "trajectories", "write_plots", "write_report"]
