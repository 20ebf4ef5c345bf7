"""What a system hands on of its runs: metrics with their units, figures with their captions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from trundle.records import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Runs = Mapping[str, Trajectory]
DrawRun = Callable[[Trajectory, "Axes"], object]
DrawRuns = Callable[[Runs, "Axes"], object]
Values = Mapping[str, float]


class Quantity(NamedTuple):
    """Unit and meaning of a metric; declared once, beside the function that computes it."""

    unit: str
    meaning: str = ""


class Count(float):
    """A number of trials, with out of how many."""

    of: int

    def __new__(cls, value: float, of: int) -> Count:
        """Return `value` out of `of`."""
        self = super().__new__(cls, value)
        self.of = of
        return self

    @classmethod
    def true(cls, holds: Iterable[bool]) -> Count:
        """Return in how many of them something holds."""
        found = list(holds)
        return cls(sum(found), len(found))


@dataclass(frozen=True)
class Metric:
    """A number computed from a run.

    Parameters
    ----------
    value : float
    unit, meaning : str
    of : int, optional
        Of a count of trials: out of how many.
    """

    value: float
    unit: str
    meaning: str = ""
    of: int | None = None


@dataclass(frozen=True)
class RunSet:
    """The trajectories of one run of a scenario.

    Parameters
    ----------
    main : Trajectory
        The main run.
    parts : mapping of str to Trajectory
        Comparison runs and trials, by name.
    asked : frozenset of str
        Metrics that the scenario's table [acceptance] names.
    known : set of str
        Names of all metrics that the system has for such runs, computed or not; `measure` adds them.
    """

    main: Trajectory
    parts: Runs = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    known: set[str] = field(default_factory=set, compare=False)

    @property
    def all(self) -> dict[str, Trajectory]:
        """Every trajectory, the main run under the empty name."""
        return {"": self.main, **self.parts}


@dataclass(frozen=True)
class MetricGroup:
    """Metrics that one function computes for some runs of a system.

    Parameters
    ----------
    quantities : mapping of str to Quantity
        What it may compute.
    compute : callable
        (main run, parts) -> values by name.
    always : bool
        Whether it is computed though the scenario asks for none of them.
    applies : callable, optional
        (main run, parts) -> whether it means something for them.
    """

    quantities: Mapping[str, Quantity]
    compute: Callable[[Trajectory, Runs], Values]
    always: bool = False
    applies: Callable[[Trajectory, Runs], bool] | None = None


def measure(
    runs: RunSet,
    groups: Sequence[MetricGroup],
    general: Callable[[Trajectory], Values],
    quantities: Mapping[str, Quantity],
    trial: Callable[[str], bool] = lambda part: False,
) -> dict[str, Metric]:
    """Return the metrics of a run: the general ones, those of its groups, and the general ones of its parts.

    Parameters
    ----------
    runs : RunSet
    groups : sequence of MetricGroup
        Computed where the scenario asks for one of their metrics, or always; later ones win.
    general : callable
        Metrics of one trajectory. Those of a part carry its name behind: ``slip_pure_rolling``.
    quantities : mapping of str to Quantity
        Of the general metrics.
    trial : callable
        Whether a part, by its name, is a trial: those have no metrics of their own.
    """
    values: dict[str, float] = dict(general(runs.main))
    known = dict(quantities)
    runs.known.update(quantities)
    for group in groups:
        runs.known.update(group.quantities)
        wanted = group.always or bool(runs.asked & group.quantities.keys())
        if wanted and (group.applies is None or group.applies(runs.main, runs.parts)):
            values |= group.compute(runs.main, runs.parts)
            known |= group.quantities
    for part, run in runs.parts.items():
        if not trial(part):
            suffix = part.replace("-", "_")
            values |= {f"{name}_{suffix}": value for name, value in general(run).items()}
    return {name: _metric(name, value, known) for name, value in values.items()}


def _metric(name: str, value: float, known: Mapping[str, Quantity]) -> Metric:
    stem = max((key for key in known if name == key or name.startswith(f"{key}_")), key=len, default="")
    unit, meaning = known.get(stem, Quantity(""))
    if isinstance(value, Count):
        return Metric(float(value), f"of {value.of}", meaning, value.of)
    return Metric(float(value), unit, meaning)


@dataclass(frozen=True)
class Figure:
    """A figure of a run.

    Parameters
    ----------
    draw : callable
        Draws into the axes that it is given.
    size : (float, float)
        Inches.
    caption : str
        One sentence.
    """

    draw: Callable[[Axes], object]
    size: tuple[float, float] = (7.0, 4.4)
    caption: str = ""


SIZES: dict[Callable[..., object], tuple[float, float]] = {}
"""Drawing function -> the size of its figure in inches, where it is not the usual one; see `size_figure`."""


def size_figure(width: float, height: float) -> Callable[[DrawRun], DrawRun]:
    """Give the figure that a function draws a size (inches) of its own."""

    def keep(draw: DrawRun) -> DrawRun:
        SIZES[draw] = (width, height)
        return draw

    return keep


def figure(draw: DrawRun | DrawRuns, data: Trajectory | Runs) -> Figure:
    """Return the figure of a drawing function and what it draws; its caption is the function's first sentence."""
    function = draw.func if isinstance(draw, partial) else draw
    text = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
    return Figure(partial(draw, data), SIZES.get(function, Figure.size), text)  # pyright: ignore[reportArgumentType]


def figures_of_runs(
    runs: RunSet,
    of_run: Callable[[Trajectory], Mapping[str, DrawRun]],
    of_all: Callable[[Runs], Mapping[str, DrawRuns]] | None = None,
    trial: Callable[[str], bool] = lambda part: False,
) -> dict[str, Figure]:
    """Return the figures of every run but trials, with the part's name in front, then those that compare runs."""
    found: dict[str, Figure] = {}
    for part, run in runs.all.items():
        if not trial(part):
            prefix = f"{part}-" if part else ""
            found |= {f"{prefix}{name}": figure(draw, run) for name, draw in of_run(run).items()}
    compared = {} if of_all is None else of_all(runs.all)
    return found | {name: figure(draw, runs.all) for name, draw in compared.items()}
