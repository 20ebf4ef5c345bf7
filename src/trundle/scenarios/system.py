"""The protocol of a system, and the register of those that are installed.

A system is everything that knows what one kind of run is: its file format, how it is built, what it records, its
metrics, figures and stage, and the named scenarios that come with it. It is found through the entry-point group
``trundle.systems`` of installed packages; the systems that come with trundle register in the same way::

    [project.entry-points."trundle.systems"]
    yoyo = "my_package:SYSTEM"
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from trundle.errors import InputError

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.report import Figure, Metric, RunSet, Stage
    from trundle.scenarios.engine.building import Experiment
    from trundle.scenarios.scenario import Scenario
    from trundle.scenarios.schema import ScenarioTable

T = TypeVar("T")

GROUP = "trundle.systems"
_log = logging.getLogger("trundle.systems")


@dataclass(frozen=True)
class TaskSpec:
    """One task of a system.

    Parameters
    ----------
    package : str
        Package that holds `schema` and `build`; these are references, so that listing scenarios imports nothing heavy.
    schema : str
        ``"module:Table"``, a subclass of `trundle.scenarios.schema.ScenarioTable`.
    build : str
        ``"module:build"``, a function from `Scenario` to `Experiment`.
    parts : str
        Regular expression of the names of the parts that the experiment yields besides its main run: parts of a
        scenario file may not use these names.
    """

    package: str
    schema: str
    build: str
    parts: str = "(?!)"

    def table(self) -> type[ScenarioTable]:
        """Return the table of a scenario file of this task."""
        return load(f"{self.package}.{self.schema}")

    def builder(self) -> Callable[[Scenario], Experiment]:
        """Return the function that builds a scenario of this task."""
        return load(f"{self.package}.{self.build}")


class System(Protocol):
    """Interface that a package implements to add a kind of scenario.

    A class that inherits from it takes metrics, figures and stage from the functions of these names in the modules of
    these names in its folder (``figures.py``: ``figures``). Without one, or a method of its own, it has the figures and
    the stage of `trundle.report`; see `examples/own_system`.

    Attributes
    ----------
    name : str
        The ``kind`` in a scenario file, and the name of the entry point.
    library : Path
        Folder of its named scenarios, ``<name>.toml`` each.
    tasks : mapping of str to TaskSpec
        By the ``task`` in a scenario file.
    commands : mapping of str to str
        Further commands of ``trundle``: name -> ``"package.module:function"``, arguments declared for typer.
    """

    name: str
    library: Path
    tasks: Mapping[str, TaskSpec]
    commands: Mapping[str, str] = {}

    def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
        """Return value, unit and meaning of every metric of a finished run; their limits are in the scenario file."""
        return self._own("metrics")(runs)

    def figures(self, runs: RunSet) -> Mapping[str, Figure]:
        """Return the figures of a finished run by the names of their files."""
        from trundle.report import figures, figures_of_runs

        return self._own("figures", lambda runs: figures_of_runs(runs, figures))(runs)

    def stage(self, run: Trajectory) -> Stage:
        """Return what the animation of a run shows."""
        from trundle.report import build_stage

        return self._own("stage", build_stage)(run)

    def _own(self, name: str, default: T | None = None) -> T:
        """Return what the system's folder has of this name."""
        if default is not None and not (self.library / f"{name}.py").is_file():
            return default
        return load(f"{type(self).__module__}.{name}:{name}")


_MEMBERS = (*System.__annotations__, "metrics", "figures", "stage")


def load(reference: str) -> T:  # pyright: ignore[reportInvalidTypeVarUse] - the caller knows the type
    """Return the object that ``"package.module:name"`` refers to."""
    return EntryPoint("", reference, "").load()


@cache
def _found() -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: EntryPoint) -> str:
    """Return name and version of the installed package that registers `point`."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


def names() -> list[str]:
    """Return the kinds of scenario, sorted."""
    return list(_found())


@cache
def system(name: str) -> System:
    """Return the system of a kind.

    Raises
    ------
    InputError
        If there is none, several packages register one, or the package that registers it cannot be loaded.
    """
    known = _found()
    if name not in known:
        raise InputError("kind", name, "one of " + ", ".join(repr(kind) for kind in known))
    point, *others = known[name]
    if others:
        several = " and ".join(f"{_package(one)} ({one.value})" for one in known[name])
        raise InputError("kind", name, f"registered by one package only, not by {several}: uninstall all but one")
    try:
        found: System = point.load()
    except Exception as error:  # code of another package may raise anything
        text = f"registered by a package that can be loaded, not by {_package(point)} ({point.value}: {error})"
        raise InputError("kind", name, text) from error
    lacking = [member for member in _MEMBERS if not hasattr(found, member)]
    if lacking or isinstance(found, type):
        text = f", which lacks {', '.join(lacking)}" if lacking else ", a class"
        raise InputError("kind", name, f"registered with a System, not with {point.value} of {_package(point)}{text}")
    if found.name != name:
        raise InputError("kind", name, f"registered under the name of its system, {found.name!r}")
    return found


def systems() -> list[System]:
    """Return every system that can be loaded; one that cannot is logged, once, and left out."""
    return list(_load_systems())


@cache
def _load_systems() -> tuple[System, ...]:
    found = []
    for name in names():
        try:
            found.append(system(name))
        except InputError as error:
            _log.warning("%s", error)
    return tuple(found)
