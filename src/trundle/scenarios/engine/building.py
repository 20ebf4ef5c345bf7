"""From a checked scenario to an experiment: parts that are run one after the other and leave a trajectory each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.scenarios.files import read_table
from trundle.scenarios.overrides import mark
from trundle.scenarios.problems import Toml
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.system import system

if TYPE_CHECKING:
    from trundle.checks import FloatArray
    from trundle.control.tick import ControlTick, NamedEntry, RecordedTicks
    from trundle.models import RollingPair, RollingTree, Start
    from trundle.numerics.ilqr import ControlProblem
    from trundle.records import Policy, Trajectory
    from trundle.scenarios.schema import ParameterTable
    from trundle.simulate.run import Call

PartProgress = Callable[[float], None]
"""Called with the share of a part that is done, from 0 to 1."""


@dataclass(frozen=True)
class Part:
    """One computation of a run that leaves one trajectory.

    Attributes
    ----------
    name : str
        Name of the part; empty for the main run.
    run : callable
        Given a `PartProgress` or None, returns the Trajectory.
    phase : "simulate" or "solve"
        Entry of the wall times that its duration is added to.
    ahead : int
        Number of parts of the experiment that follow, as far as it is known, from which the time left is estimated.
    """

    name: str
    run: Callable[[PartProgress | None], Trajectory]
    phase: str = "simulate"
    ahead: int = 0


class Experiment(Protocol):
    """A scenario, built and checked: its parts, in the order in which they are run."""

    def parts(self) -> Iterator[Part]:
        """Yield the parts one by one, each after the previous one was run: it may use the results of earlier parts."""
        ...


@runtime_checkable
class Regulated(Protocol):
    """An experiment whose controller can be exported."""

    def regulator(self) -> Policy | None:
        """Return the controller, if one is enabled; if it follows a plan, the plan is computed first."""
        ...


@runtime_checkable
class Ticked(Protocol):
    """An experiment with more than one model whose controller can be exported."""

    def recorded_ticks(self) -> Mapping[str, tuple[ControlTick, RecordedTicks]]:
        """Return the controllers' ticks by their names, "" for the main one, each with ticks of a run."""
        ...


@dataclass(frozen=True, eq=False)
class RecordedStages:
    """A discrete-time optimal control problem, with a motion that its optimiser found.

    Attributes
    ----------
    problem : ControlProblem
    x, u, p : (N + 1, n_x), (N, n_u), (N + 1, n_p)
        States, inputs and parameters of the stages and of the end.
    states, inputs : tuple of NamedEntry
        Names and units of the entries of x and u.
    """

    problem: ControlProblem
    x: FloatArray
    u: FloatArray
    p: FloatArray
    states: tuple[NamedEntry, ...]
    inputs: tuple[NamedEntry, ...]


@runtime_checkable
class Staged(Protocol):
    """An experiment whose controller's optimal control problems can be exported, stage by stage."""

    def recorded_stages(self) -> Mapping[str, RecordedStages]:
        """Return the problems by their names, with motions of a run."""
        ...


@dataclass(frozen=True)
class Simulation:
    """A model, its start, and the settings of the integration: the arguments of `trundle.simulate`."""

    model: RollingPair | RollingTree
    initial: Start
    settings: Mapping[str, Any]

    def run(self, **further: Any) -> Trajectory:
        """Return the Trajectory; `further` arguments go to `trundle.simulate`."""
        from trundle.simulate import simulate

        return simulate(self.model, self.initial, **self.settings, **further)

    def parts(self) -> Iterator[Part]:
        """Yield the simulation as the only part."""
        length = self.settings["duration"]

        def run(share: PartProgress | None) -> Trajectory:
            return self.run(**({"progress": lambda t: share(t / length)} if share else {}))

        yield Part("", run)


def simulate_part(
    model: RollingPair | RollingTree,
    start: Start,
    duration: float,
    settings: ParameterTable,
    share: PartProgress | None,
    policy: Policy | None = None,
    kicks: Mapping[float, Callable[[FloatArray], FloatArray]] | None = None,
) -> Trajectory:
    """Simulate for `duration` (s) with the settings of a table [simulation]; `share` is told how much is done."""
    from trundle.simulate import simulate

    return simulate(
        model,
        start,
        duration,
        policy=policy,
        output_step=min(settings.output_step, duration),
        relative_tolerance=settings.relative_tolerance,
        progress=(lambda t: share(t / duration)) if share else None,
        kicks=kicks,
    )


def build(scenario: Scenario) -> Experiment:
    """Return the experiment of `scenario` without its parts; each part is a scenario of its own and built by itself.

    Raises
    ------
    InputError
        If the tables do not fit each other (a start in penetration, a shape that is not convex where it has to be,
        a data file that cannot be read); the message names file, key, value and what is allowed.
    """
    with from_file(scenario):
        return system(scenario.kind).tasks[scenario.task].builder()(scenario)


def build_all(scenario: Scenario) -> dict[str, Experiment]:
    """Return the experiments of `scenario`, under "", and of its parts, by their names.

    The main scenario is built first: an error in a part is then due to the part's changes, and its key names the part.
    """
    _check_names(scenario)
    experiments = {"": build(scenario)}
    for name, part in scenario.parts.items():
        try:
            experiments[name] = build(part)
        except InputError as error:
            raise error.within(f"parts.{name}") from None
    return experiments


def all_parts(scenario: Scenario, experiments: Mapping[str, Experiment]) -> Iterator[Part]:
    """Yield the parts of the main run, then those of the scenario's parts, named "part" or "part-own"."""
    told = from_file(scenario)
    with from_file(scenario):
        for number, (name, experiment) in enumerate(experiments.items(), 1):
            for part in experiment.parts():
                named = "-".join(word for word in (name, part.name) if word)
                yield replace(part, name=named, run=told(part.run), ahead=part.ahead + len(experiments) - number)


def main_simulation(scenario: Scenario) -> Call | None:
    """Return what the main run of `scenario` calls `trundle.simulate` with, which does not simulate; None if not.

    Parts that come before it, such as a plan that it follows, are run.
    """
    from trundle.simulate.run import capture_call

    def run() -> None:
        for part in build(scenario).parts():
            part.run(None)
            if not part.name:
                return

    return capture_call(run)


def _check_names(scenario: Scenario) -> None:
    """Refuse parts whose trajectory would have the same name as that of another part."""
    own = re.compile(system(scenario.kind).tasks[scenario.task].parts)
    for name in scenario.parts:
        owners = ["", *(f"{other}-" for other in scenario.parts)]
        if any(name.startswith(owner) and own.fullmatch(name[len(owner) :]) for owner in owners):
            raise InputError(
                f"parts.{name}", name, "another name: a part that this task makes bears this one", scenario.file
            )


@contextmanager
def error_context(prefix: str, scenario: Scenario, rename: Mapping[str, str] | None = None) -> Iterator[None]:
    """Rewrite the keys of constructors' errors as scenario keys: `prefix` before the key, or what `rename` says."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        place = (rename or {}).get(error.key)
        if place is not None:
            raise _reword_error(error, place, _look_up_key(scenario, place), scenario) from None
        head, _, rest = error.key.partition(".")
        if rest and rename and head in rename:
            raise _reword_error(error, f"{rename[head]}.{rest}", error.value, scenario) from None
        inside = error.key == prefix or error.key.startswith(f"{prefix}.")
        raise _reword_error(error, error.key if inside else error.within(prefix).key, error.value, scenario) from None


@contextmanager
def from_file(scenario: Scenario) -> Iterator[None]:
    """Give errors that name no file the scenario's, and their key its tables where it stands in one place only.

    For all that is found late: while models are built, planned and simulated.
    """
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        places = [key for key in _keys(scenario.resolve()) if f".{key}".endswith(f".{error.key}")]
        raise _reword_error(error, places[0] if len(places) == 1 else error.key, error.value, scenario) from None


def _keys(tables: Mapping[str, Toml], before: str = "") -> Iterator[str]:
    for key, value in tables.items():
        yield f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _keys(value, f"{before}{key}.")


def _reword_error(error: InputError, key: str, value: Toml, scenario: Scenario) -> InputError:
    return type(error)(key, value, error.allowed + mark(key, scenario.set_keys), scenario.file)


def _look_up_key(scenario: Scenario, key: str) -> Toml:
    """Return the value of the dotted `key` in the resolved scenario."""
    value: Toml = scenario.resolve()
    for step in key.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


@contextmanager
def name_data_file(key: str, name: str, scenario: Scenario) -> Iterator[None]:
    """Rewrite errors of a shape or motion made from the data file `name`: their key is the one that names the file."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        allowed = f"a file of data in which {error.key} is {error.allowed}{mark(key, scenario.set_keys)}"
        raise type(error)(key, name, allowed, scenario.file) from None


def data(scenario: Scenario, key: str, name: str, columns: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the numbers (rows, columns) of the CSV file `name` that `key` names."""
    return read_table(scenario.data_path(key, name), columns, key, name, scenario.file)
