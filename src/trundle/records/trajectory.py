"""The record of one run: a labelled dataset, how it ended, and what is needed to draw and judge it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.records import mcap, tables
from trundle.records.files import Record, read_record, write_record
from trundle.records.model_key import ModelKey
from trundle.records.scenebodies import SceneBody
from trundle.status import Status

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.axes import Axes


class _Metadata(dict[str, Any]):
    """Metadata, in which a key that a picture or a metric needs and the record lacks is an error of input."""

    def __missing__(self, key: str) -> Any:
        raise InputError(f"metadata.{key}", "missing", f"in this record, which has {', '.join(self)}")


@final
@dataclass(frozen=True, eq=False)
class ModeSamples:
    """States of a run while it was in one mode.

    Attributes
    ----------
    times : (n,) s
    states : (n, n_x)
        See ``model.layout``.
    laws : tuple of str
    atlas : tuple
        Law and pair of chart numbers of each contact.
    of : ModelKey or None
        What the states are states of, see `trundle.models.Start`.
    """

    times: NDArray[np.float64]
    states: NDArray[np.float64]
    laws: tuple[str, ...]
    atlas: tuple[tuple[int, int], ...]
    of: ModelKey | None = None


@final
@dataclass(frozen=True, repr=False)
class Trajectory:
    """One run over time.

    Parameters
    ----------
    dataset : xarray.Dataset
        The variables of the run's view, see `trundle.records.make_dataset`, and what came of its trials, see
        `trundle.records.trials`; SI units, world frame unless the variable's attribute ``frame`` says otherwise.
    status : Status
        How the run ended.
    feasible : bool
        Whether the contact force stayed inside the friction cone and never pulled.
    metadata : mapping
        JSON-able. Known keys are ``kind`` (name of the system that made the run, if one did), ``scenario``,
        ``part`` (its name in the scenario, none of the main run), ``seed``, ``version``, ``physics`` (gravity,
        friction, torsional_friction, mass, inertia, law), ``statistics`` (steps, evaluations, average_step),
        ``wall_time`` (s, by phase) and ``transitions`` (a list of ``{"time", "from", "to", "reason"}``).
    scene : tuple of SceneBody
        Surfaces or outlines of the bodies.
    samples : tuple of ModeSamples
        States of the model, mode after mode, of a run that was simulated here; files do not hold them.

    Examples
    --------
    >>> ball = tr.RigidBody(tr.Sphere(radius=0.2), mass=0.1, inertia="solid")
    >>> pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.8)
    >>> run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0], object_angular_velocity=[0, 1, 0]), 1.0)
    >>> run.status.label, run["object_position"][-1].round(9).tolist()
    ('success', [0.2, 0.0, 0.2])
    """

    dataset: xarray.Dataset
    status: Status
    feasible: bool
    metadata: Mapping[str, Any]
    scene: tuple[SceneBody, ...] = field(default=())
    samples: tuple[ModeSamples, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        """Copy the metadata, so that a later change of the argument changes nothing here."""
        object.__setattr__(self, "metadata", _Metadata(copy.deepcopy(dict(self.metadata))))
        object.__setattr__(self, "scene", tuple(self.scene))
        object.__setattr__(self, "feasible", bool(self.feasible))

    @property
    def kind(self) -> str:
        """Name of the system that made the run; of a run by `trundle.simulate`, its `layout`."""
        return str(self.metadata.get("kind", self.layout))

    @property
    def layout(self) -> Literal["pair", "tree", "other"]:
        """What the record is of: an object on a hand, a tree of bodies, or what a system recorded in its own way."""
        if "object_position" in self.dataset:
            return "pair"
        return "tree" if "body_position" in self.dataset else "other"

    @property
    def dimension(self) -> int:
        """2 in the plane, else 3; a pair lies in the plane if its object is an outline."""
        if self.layout == "pair":
            body = self.body("object")
            return 3 if body is None else body.dimension
        return 2 if "xz" in self.dataset.dims else 3

    @property
    def time(self) -> NDArray[np.float64]:
        """Times (n,) in s."""
        return self.dataset["time"].values

    @property
    def final(self) -> dict[str, NDArray[Any]]:
        """Every variable over time at the last sample, by name."""
        found = self.dataset.data_vars.items()
        return {str(name): variable.values[-1] for name, variable in found if variable.dims[:1] == ("time",)}

    @property
    def transitions(self) -> list[dict[str, Any]]:
        """Changes of mode: ``time`` (s), ``from``, ``to`` and ``reason``."""
        return list(self.metadata.get("transitions", []))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the variable `name` as a read-only array, time (or trial) first."""
        if name not in self.dataset.variables:
            known = ", ".join(str(variable) for variable in self.dataset.data_vars)
            raise InputError("name", name, f"one of time, {known}")
        return self.dataset[name].values

    def __contains__(self, name: object) -> bool:
        """Whether there is a variable `name`."""
        return name in self.dataset.variables

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self.time.size)

    def __repr__(self) -> str:
        """Return kind, length and outcome in one line."""
        length = self.time[-1] - self.time[0]
        outcome = f"{self.status.label}, {'feasible' if self.feasible else 'not feasible'}"
        return f"<Trajectory {self.kind}: {len(self)} samples over {length:g} s, {outcome}>"

    def _repr_html_(self) -> str:
        """Return outcome and variables as a notebook shows them."""
        return tables.html_of(self)

    def keys(self) -> list[str]:
        """Return the names of the variables, ``time`` first: ``dict(run)`` has the array of each."""
        return ["time", *map(str, self.dataset.data_vars)]

    def body(self, role: str) -> SceneBody | None:
        """Return the first body of the scene with this `role`, or None."""
        return next((body for body in self.scene if body.role == role), None)

    def save(self, path: str | Path) -> Path:
        """Write a NetCDF4 file; it appears under its name only when it is complete.

        Raises
        ------
        InputError
            If the folder does not exist or cannot be written to.
        """
        return write_record(Record(self.dataset, self.status, self.feasible, self.metadata, self.scene), path)

    def to_dataframe(self, columns: str | Sequence[str] | None = None, *, trials: bool = False) -> pd.DataFrame:
        """Return the run as a table: one row a sample, one column a number.

        A column is named by its variable and, after dots, the labels of its body, contact or joint and of its
        component: ``energy``, ``joint_position.fork``, ``contact_force.front.x``. Axes without labels count from 0.

        Parameters
        ----------
        columns : str or sequence of str, optional
            Which to keep, and in which order: names of columns or how they begin, as ``contact_force`` or
            ``contact_force.front``. The times (or numbers of the trials) come first in any case.
        trials : bool
            Whether to return what came of the trials instead, one row a trial.

        Returns
        -------
        pandas.DataFrame
            Its ``attrs`` hold ``units`` and ``frame`` (of reference) of each column.

        Raises
        ------
        InputError
            If there is no such column, or there are no trials.

        Examples
        --------
        >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(radius=0.2), mass=0.1), tr.Hand(tr.Plane()), friction=0.8)
        >>> run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0], object_angular_velocity=[0, 1, 0]), 1.0)
        >>> table = run.to_dataframe(["object_position.x", "mode"])
        >>> print(table.iloc[-1].to_list(), table.attrs["units"]["object_position.x"])
        [1.0, 0.2, 'rolling'] m
        """
        return tables.frame_of(self.dataset, columns, trials)

    def to_csv(self, path: str | Path, columns: str | Sequence[str] | None = None, *, trials: bool = False) -> Path:
        """Write the table of `to_dataframe` as CSV, numbers with all their digits, and return the path.

        Raises
        ------
        InputError
            As `to_dataframe`, or if the folder does not exist or cannot be written to.
        """
        return tables.write_csv(self.to_dataframe(columns, trials=trials), path)

    def to_parquet(self, path: str | Path, columns: str | Sequence[str] | None = None, *, trials: bool = False) -> Path:
        """Write the table of `to_dataframe` as Parquet, units included, and return the path.

        Raises
        ------
        InputError
            As `to_csv`.
        MissingExtraError
            If the extra ``data`` is not installed.
        """
        return tables.write_parquet(self.to_dataframe(columns, trials=trials), path)

    def to_mcap(self, path: str | Path, columns: str | Sequence[str] | None = None) -> Path:
        """Write the run as MCAP, which Foxglove plays, and return the path.

        The file has a message for each row of `to_dataframe` (topic ``/run``, JSON), the frames of the bodies
        (``/transforms``, at the centres of mass of objects and bodies, and of the hand at its own origin) and their
        surfaces (``/scene``). Numbers that are not finite are left out, which JSON cannot hold.

        Raises
        ------
        InputError
            As `to_csv`, or if there are times below 0.
        MissingExtraError
            If the extra ``data`` is not installed.
        """
        return mcap.write_mcap(self, self.to_dataframe(columns), path)

    def plot(self, name: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw one variable, or one of the report's figures by its name, into `ax`.

        Without a `name` the run's main picture is drawn. See `trundle.scenarios.engine.pictures.draw`.
        """
        return _pictures().draw(self, name, ax)

    def view(self) -> Path:
        """Open the moving picture in the browser and return the page's file.

        Raises
        ------
        MissingExtraError
            If the extra ``viewer`` is not installed.
        """
        return _pictures().open_viewer(self)


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a file that `Trajectory.save` wrote.

    Raises
    ------
    InputError
        If the file is missing, no NetCDF4 file, or no complete trajectory.

    Examples
    --------
    >>> import tempfile, pathlib, trundle as tr
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(radius=0.2), mass=0.1, inertia="solid"), tr.Hand(tr.Plane()))
    >>> run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0]), 0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = tr.load_trajectory(run.save(pathlib.Path(folder) / "run.nc"))
    >>> len(again) == len(run)
    True
    """
    return Trajectory(*read_record(path))


def _pictures() -> ModuleType:
    # The one agreed step up the floors: a record can draw itself, and learns how only when it is asked to.
    import importlib

    return importlib.import_module("trundle.scenarios.engine.pictures")
