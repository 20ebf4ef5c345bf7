"""Metrics, figures and stages of runs as their systems give them, for tests that make runs without a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from trundle.records import Trajectory
from trundle.report import Figure, Metric, RunSet, Stage
from trundle.scenarios import catalogue, load_scenario
from trundle.scenarios.engine import pictures
from trundle.scenarios.system import names, system


def kind_of(run: Trajectory) -> str:
    """The kind of a run; of one that no system made, that of its layout."""
    if run.kind in names():
        return run.kind
    return "juggling" if run.layout == "pair" else "planar" if run.dimension == 2 else "walking"


def measured(name: str, run: Trajectory, parts: Mapping[str, Trajectory] | None = None) -> dict[str, Metric]:
    """The metrics of a run as scenario `name` asks for them; any other name asks for none."""
    asked, kind = frozenset(), kind_of(run)
    if name in catalogue.names():
        scenario = load_scenario(name)
        asked, kind = frozenset(scenario.tables.acceptance), scenario.kind
    return dict(system(kind).metrics(RunSet(run, parts or {}, asked)))


def compute(name: str, run: Trajectory, parts: Mapping[str, Trajectory] | None = None) -> dict[str, float]:
    """The values of `measured`."""
    return {key: metric.value for key, metric in measured(name, run, parts).items()}


def figures_of(run: Trajectory, parts: Mapping[str, Trajectory] | None = None) -> Mapping[str, Figure]:
    """The figures of a run and its parts."""
    return system(kind_of(run)).figures(RunSet(run, parts or {}))


def stage_of(run: Trajectory) -> Stage:
    """What the moving picture of a run shows."""
    return pictures.system(kind_of(run)).stage(run)
