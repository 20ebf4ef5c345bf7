"""Figures of runs of kind `planar`: the default ones, and those of controlled robots and of walkers."""

from __future__ import annotations

from trundle.records import Trajectory
from trundle.report import Figure, RunSet, figures_of_runs
from trundle.report import figures as figures_of_kit
from trundle.report.runs import DrawRun, DrawRuns, Runs
from trundle.systems.planar.scenario import figures_control, figures_walker


def figures(runs: RunSet) -> dict[str, Figure]:
    """Return the figures of a run of kind `planar`."""
    return figures_of_runs(runs, _of_run, _of_all)


def _of_run(run: Trajectory) -> dict[str, DrawRun]:
    return figures_of_kit(run) | figures_control.figures(run) | figures_walker.figures(run)


def _of_all(runs: Runs) -> dict[str, DrawRuns]:
    return figures_control.comparisons(runs) | figures_walker.comparisons(runs)
