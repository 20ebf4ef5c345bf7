"""From a checked scenario to what `simulate` takes; one short builder a kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.scenarios.files import read_table
from trundle.scenarios.overrides import mark
from trundle.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from trundle.records import Trajectory

BUILDERS: dict[tuple[str, str], str] = {
    ("juggling", "simulate"): "trundle.systems.juggling.build:build",
    ("juggling", "transfer"): "trundle.systems.juggling.control:build_transfer",
    ("juggling", "balance"): "trundle.systems.juggling.control:build_balance",
    ("juggling", "throw"): "trundle.systems.juggling.throw:build",
    ("multicontact", "stand"): "trundle.systems.multicontact.build:build",
    ("multicontact", "walk"): "trundle.systems.multicontact.build:build",
    ("multicontact", "carry"): "trundle.systems.multicontact.build:build",
    ("wallbounce", "recover"): "trundle.systems.wallbounce.build:build",
    ("wallbounce", "navigate"): "trundle.systems.wallbounce.build:build",
    ("planar", "simulate"): "trundle.systems.planar.build:build",
    ("planar", "track"): "trundle.systems.planar.control:build",
    ("planar", "walk"): "trundle.systems.planar.walker:build",
    ("walking", "simulate"): "trundle.systems.walking.robot:build",
    ("walking", "walk"): "trundle.systems.walking.build:build",
    ("walking", "transfer"): "trundle.systems.walking.ball_transfer:build",
}
"""(kind, task) -> its builder; a new kind or task is one line here."""
JOBS: dict[tuple[str, str], str] = {
    ("juggling", "transfer"): r"plan|open-loop|coarse-(open|closed)-loop|(open|closed)-loop-\d+",
    ("juggling", "balance"): r"uncontrolled|closed-loop-\d+",
    ("juggling", "throw"): r"plan|closed-loop-\d+",
    ("planar", "walk"): "cycle|twin",
    ("walking", "walk"): "replay",
}
"""(kind, task) -> the names of its jobs beside the main run: a part of such a name would overwrite what they left."""


PartProgress = Callable[[float], None]
"""Called with the share of a job that is done, from 0 to 1."""


@dataclass(frozen=True)
class Part:
    """One computation of a run that leaves one trajectory.

    Attributes
    ----------
    name : str
        Of the part; empty for the main run.
    run : callable
        Given a `PartProgress` or None, returns the Trajectory.
    phase : "simulate" or "solve"
        Under which wall time it counts.
    """

    name: str
    run: Callable[[PartProgress | None], Trajectory]
    phase: str = "simulate"


class Experiment(Protocol):
    """What a scenario asks for, built and checked: jobs, in the order they are done."""

    def jobs(self) -> Iterator[Part]:
        """Yield the jobs one by one, each after the last was run: a later one may read what an earlier one left."""
        ...


@dataclass(frozen=True)
class Simulation:
    """A model, its start, and the settings of the integration: the arguments of `trundle.simulate`."""

    model: Any
    initial: Any
    settings: Mapping[str, Any]

    def run(self, **further: Any) -> Trajectory:
        """Return the Trajectory; `further` arguments go to `trundle.simulate`."""
        from trundle.simulate import simulate

        return simulate(self.model, self.initial, **self.settings, **further)

    def jobs(self) -> Iterator[Part]:
        """Yield the simulation as the only job."""
        length = self.settings["duration"]

        def run(share: PartProgress | None) -> Trajectory:
            return self.run(**({"progress": lambda t: share(t / length)} if share else {}))

        yield Part("", run)


def build(scenario: Scenario) -> Experiment:
    """Return the work of `scenario` (without its parts; give a part for that part).

    Raises
    ------
    InputError
        If the tables do not fit each other (a start in penetration, a shape that is not convex where it has to be,
        a data file that cannot be read); the message names file, key, value and what is allowed.
    """
    module, _, name = BUILDERS[scenario.kind, scenario.task].partition(":")
    return getattr(import_module(module), name)(scenario)


def build_all(scenario: Scenario) -> dict[str, Experiment]:
    """Return the works of `scenario`, under "", and of its parts, by their names.

    The whole is built first: what is wrong in a part then is what its own table changes, so errors name that table.
    """
    _check_names(scenario)
    works = {"": build(scenario)}
    for name, part in scenario.parts.items():
        try:
            works[name] = build(part)
        except InputError as error:
            raise error.within(f"parts.{name}") from None
    return works


def _check_names(scenario: Scenario) -> None:
    """Refuse parts whose trajectories would bear the name of another one's."""
    jobs = re.compile(JOBS.get((scenario.kind, scenario.task), "(?!)"))
    for name in scenario.parts:
        owners = ["", *(f"{other}-" for other in scenario.parts)]
        if any(name.startswith(owner) and jobs.fullmatch(name[len(owner) :]) for owner in owners):
            raise InputError(f"parts.{name}", name, "another name: a job of this task bears this one", scenario.file)


@contextmanager
def keys(prefix: str, scenario: Scenario, moved: Mapping[str, str] | None = None) -> Iterator[None]:
    """Give errors of constructors the keys of the file: `prefix` before the key, or its place in `moved`."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        place = (moved or {}).get(error.key)
        if place is not None:
            raise _told(error, place, _given(scenario, place), scenario) from None
        head, _, rest = error.key.partition(".")
        if rest and moved and head in moved:
            raise _told(error, f"{moved[head]}.{rest}", error.value, scenario) from None
        inside = error.key == prefix or error.key.startswith(f"{prefix}.")
        raise _told(error, error.key if inside else error.within(prefix).key, error.value, scenario) from None


def _told(error: InputError, key: str, value: Any, scenario: Scenario) -> InputError:
    return type(error)(key, value, error.allowed + mark(key, scenario.set_keys), scenario.file)


def _given(scenario: Scenario, key: str) -> Any:
    """Return what the file says of the dotted `key`."""
    value: Any = scenario.resolved()
    for step in key.split("."):
        value = value.get(step)
    return value


@contextmanager
def measured(key: str, name: str, scenario: Scenario) -> Iterator[None]:
    """Give errors of a shape or motion made from the data file `name` the key that names the file."""
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
