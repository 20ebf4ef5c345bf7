"""Records as tables: a row a sample or a trial, and a column for each number, named ``variable.label.component``."""

from __future__ import annotations

import html
import io
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError, optional
from trundle.records.variables import TRIAL
from trundle.records.whole import write_bytes

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from trundle.records.trajectory import Trajectory


class Column(NamedTuple):
    """A column of the table: its values, unit and frame."""

    values: NDArray[np.generic]
    units: str
    frame: str


def frame_of(dataset: xarray.Dataset, chosen: str | Sequence[str] | None, trials: bool) -> pd.DataFrame:
    """Return the table of a dataset; see `Trajectory.to_dataframe`."""
    import pandas as pd

    columns = _all(dataset, trials)
    if chosen is not None:
        columns = dict(itertools.islice(columns.items(), 1)) | _choose_columns(
            columns, [chosen] if isinstance(chosen, str) else chosen
        )
    frame = pd.DataFrame({name: column.values for name, column in columns.items()})
    frame.attrs = {key: {name: getattr(one, key) for name, one in columns.items()} for key in ("units", "frame")}
    return frame


def _all(dataset: xarray.Dataset, trials: bool) -> dict[str, Column]:
    row = TRIAL if trials else "time"
    if row not in dataset.dims:
        raise InputError("trials", trials, "False: this run has no trials")
    first = np.arange(dataset.sizes[row]) if trials else dataset["time"].values
    found = {row: Column(first, "1" if trials else "s", "none")}
    for name, variable in dataset.data_vars.items():
        if variable.dims[:1] == (row,):
            said = [str(variable.attrs.get(key, "")) for key in ("units", "frame")]
            for index, words in _entries(dataset, [str(dim) for dim in variable.dims[1:]]):
                found[".".join((str(name), *words))] = Column(variable.values[:, *index], *said)
    return found


def _entries(dataset: xarray.Dataset, dims: Sequence[str]) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Yield the index of each entry of a variable and its labels: numbers where a dimension has no labels."""
    axes = []
    for dim in dims:
        labels = [str(label) for label in dataset[dim].values]  # numbers, if it has none
        axes.append(labels if len(set(labels)) == len(labels) else [str(i) for i in range(len(labels))])
    yield from zip(np.ndindex(*map(len, axes)), itertools.product(*axes), strict=True)


def _choose_columns(columns: dict[str, Column], names: Sequence[str]) -> dict[str, Column]:
    """Return the columns that are named, or begin with a name and a dot."""
    found: dict[str, Column] = {}
    for name in names:
        of_name = {key: value for key, value in columns.items() if f"{key}.".startswith(f"{name}.")}
        if not of_name:
            first = name.partition(".")[0]
            known = [key for key in columns if key.partition(".")[0] == first]
            known = known or list(dict.fromkeys(key.partition(".")[0] for key in columns))
            raise InputError("columns", name, "among " + ", ".join(known))
        found |= of_name
    return found


def write_csv(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as CSV, numbers with all their digits."""
    frame.to_csv(text := io.StringIO(), index=False, lineterminator="\n")
    return write_bytes(path, text.getvalue().encode())


def write_parquet(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as Parquet; `frame.attrs` are kept in its metadata."""
    optional("pyarrow", "pyarrow", "data")
    frame.to_parquet(memory := io.BytesIO(), engine="pyarrow", index=False)
    return write_bytes(path, memory.getvalue())


def html_of(run: Trajectory) -> str:
    """Return what a notebook shows of a run: how it ended, its length, and its variables."""
    import pandas as pd

    known = {str(name): variable for name, variable in run.dataset.data_vars.items()}
    rows: list[tuple[str, str, str]] = []
    for name, one in known.items():
        sizes = ", ".join(f"{dim} {size}" for dim, size in one.sizes.items())
        rows.append((name, sizes, one.attrs.get("units", "")))
    table = pd.DataFrame(rows, columns=["variable", "dimensions", "unit"])
    return f"<p>{html.escape(repr(run))}</p>\n{table.to_html(index=False, border=0)}"
