"""Trial results as columns: a system's dataclass of what came of a trial <-> variables of the dataset, a row a trial.

A result declares type, unit and meaning of each field once::

    @dataclass(frozen=True, eq=False)
    class TrialResult:
        status: Annotated[str, column("1", "how the trial ended")]
        lean: Annotated[float, column("rad", "largest lean")]
        goal_time: Annotated[float, column("s", "time to the goal")] = math.nan
        path: Annotated[FloatArray | None, column("m", "way of the ball", "path_point", "xy")] = None

`with_trials` writes them as ``trial_status``, ``trial_lean``, ..., and `read_trials` reads them back. Numbers and truth
values are float64, texts strings. What a trial does not have is NaN or an empty text in the file and NaN, None or an
empty tuple in Python; arrays and tuples of different lengths are padded with it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.records.variables import TRIAL, Variable

if TYPE_CHECKING:
    import xarray
    from _typeshed import DataclassInstance

    from trundle.records.trajectory import Trajectory

    ResultT = TypeVar("ResultT", bound=DataclassInstance)

Value = float | int | bool | str | tuple[str, ...] | FloatArray | None
_PREFIX = "trial_"


class _Column(NamedTuple):
    """A field of a result: its variable, what its values are (float, int, bool or str), and whether None is one."""

    variable: Variable
    kind: type
    nullable: bool


def column(units: str, text: str, *dims: str, frame: str = "none") -> Variable:
    """Return what a field of a result says of itself, for ``Annotated[type, column(...)]``.

    Parameters
    ----------
    units, text : str
        ``"1"`` where there is no unit; what the value is.
    *dims : str
        Dimensions of an array or of a tuple of texts. The first may differ in length from trial to trial.
    frame : str
    """
    return Variable((TRIAL, *dims), units, frame, text)


def with_trials(dataset: xarray.Dataset, results: Sequence[DataclassInstance]) -> xarray.Dataset:
    """Return the dataset with the fields of all results as columns; what no trial has is left out if it may be."""
    columns = {}
    for name, one in _columns(type(results[0])).items():
        values = _stack_trials([getattr(result, name) for result in results], one)
        if one.variable.required or _is_given(values).any():
            columns[_PREFIX + name] = (one.variable.dims, values, one.variable.attributes)
    return dataset.assign(columns)


def read_trials(run: Trajectory, result: type[ResultT]) -> tuple[ResultT, ...]:
    """Return the results of a run's trials.

    Raises
    ------
    InputError
        If the run lacks a column that each result has, or one has other dimensions or values than the result declares.
    """
    known = {name: one for name, one in _columns(result).items() if _PREFIX + name in run}
    lacking = [_PREFIX + name for name, one in _columns(result).items() if one.variable.required and name not in known]
    if lacking:
        key = lacking[0] + (f" and {len(lacking) - 1} more" if len(lacking) > 1 else "")
        allowed = f"in a run of kind {run.kind}: results of its trials. "
        raise InputError(key, "missing", allowed + "The record was made by another version of trundle: run it again")
    for name, one in known.items():
        found = tuple(str(dim) for dim in run.dataset[_PREFIX + name].dims)
        if found != one.variable.dims:
            raise InputError(_PREFIX + name, found, f"of dimensions {one.variable.dims}")
        _check_values(_PREFIX + name, run[_PREFIX + name], one)
    rows = range(run.dataset.sizes[TRIAL])
    cells = {name: (run[_PREFIX + name], one) for name, one in known.items()}
    return tuple(result(**{name: _cell(values[k], one) for name, (values, one) in cells.items()}) for k in rows)


@cache
def _columns(result: type[DataclassInstance]) -> dict[str, _Column]:
    hints, found = typing.get_type_hints(result, include_extras=True), {}
    for field in dataclasses.fields(result):
        declared, variable = typing.get_args(hints[field.name])
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        alternatives = typing.get_args(declared) if isinstance(declared, types.UnionType) else (declared,)
        kind = next((kind for kind in (bool, int, str) if kind in alternatives), float)
        kind = str if tuple[str, ...] in alternatives else kind
        nullable = types.NoneType in alternatives
        found[field.name] = _Column(dataclasses.replace(variable, required=needed), kind, nullable)
    return found


def _stack_trials(cells: Sequence[Value], one: _Column) -> NDArray[np.generic]:
    """Return the values of all trials as one array, padded."""
    text, sizes = one.kind is str, (0,) * (len(one.variable.dims) - 1)
    arrays = [np.zeros(sizes) if cell is None and sizes else np.asarray(cell) for cell in cells]
    shape = np.max([array.shape for array in arrays], axis=0).astype(int) if sizes else ()
    stacked = np.full((len(cells), *shape), "" if text else np.nan, dtype=object if text else np.float64)
    for k, array in enumerate(arrays):
        stacked[(k, *map(slice, array.shape))] = array
    return stacked.astype(np.str_) if text else stacked


def _check_values(name: str, values: NDArray[np.generic], one: _Column) -> None:
    """Raise `InputError` where a column holds what its field cannot be, such as NaN for a required truth value."""
    if values.dtype.kind not in ("U" if one.kind is str else "biuf"):
        raise InputError(name, values, "texts" if one.kind is str else "numbers")
    if one.kind not in (bool, int):
        return
    numbers = np.asarray(values, dtype=np.float64)
    right = np.isin(numbers, (0.0, 1.0)) if one.kind is bool else np.isfinite(numbers) & (numbers == np.rint(numbers))
    if not (right | (one.nullable & np.isnan(numbers))).all():
        what = "0 or 1" if one.kind is bool else "an integer"
        raise InputError(name, values, f"{what} in each trial" + (", or NaN where it has none" if one.nullable else ""))


def _cell(values: NDArray[np.generic], one: _Column) -> Value:
    """Return the value of one trial, its padding taken off."""
    given = _is_given(values)
    if values.ndim == 0:
        return one.kind(values.item()) if given or not one.nullable else None
    filled = np.flatnonzero(given.any(axis=tuple(range(1, values.ndim))))
    kept = values[: filled[-1] + 1 if filled.size else 0]
    if one.kind is str:
        return tuple(str(text) for text in kept)
    return np.asarray(kept, dtype=np.float64) if filled.size or not one.nullable else None


def _is_given(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether each value is one: neither NaN nor an empty text."""
    return np.asarray(values != "") if values.dtype.kind == "U" else ~np.isnan(values)
