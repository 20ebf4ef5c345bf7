"""Columns: tables (n, ...) of many instants in memory by columns, the instants of each one after the other.

Numpy's loops then run along the instants; along two or three components or bodies an operation takes five times as
long. Reductions over the last, short axis are an operation a column, for the same reason.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from trundle.audit.evidence import Columns, Flags, Numbers
from trundle.checks import FloatArray

_FEW = 16
"""Columns up to which this pays."""


def by_columns(table: FloatArray) -> FloatArray:
    """Return a table (n, ...) in this order; what is computed of such tables is in it, too."""
    return np.asfortranarray(table)


def empty(*shape: int) -> FloatArray:
    """Return a table (n, ...) in this order to write to."""
    return np.empty(shape, order="F")


def rows_of(table: FloatArray, rows: Numbers) -> FloatArray:
    """Return rows (k, ...) of a table (n, ...)."""
    return table.T.take(rows, axis=-1).T


def columns_of(table: FloatArray, numbers: Numbers) -> FloatArray:
    """Return columns (n, k, ...) of a table (n, m, ...)."""
    return table.T.take(numbers, axis=-2).T


def side_by_side(*tables: FloatArray) -> FloatArray:
    """Return tables (n, ...) as one (n, m): of each its columns by its last axis first."""
    return np.concatenate([table.T.reshape(-1, len(table)) for table in tables]).T


def split(table: FloatArray, *shapes: tuple[int, ...]) -> list[FloatArray]:
    """Return the parts (n, *shape) of a table (n, m) that was put `side_by_side`."""
    found, at = [], 0
    for shape in shapes:
        size = math.prod(shape)
        found.append(table.T[at : at + size].reshape(*shape[::-1], len(table)).T)
        at += size
    return found


def view_of(numbers: Numbers) -> Columns:
    """Return columns that follow each other as a slice, whose columns are a view in place of a copy."""
    if len(numbers) and np.array_equal(numbers, np.arange(numbers[0], numbers[0] + len(numbers))):
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


def shared_view(numbers: Numbers) -> Columns:
    """Return a slice of one column, to be broadcast, where all numbers are the same; else as `view_of`."""
    if len(numbers) and np.all(numbers == numbers[0]):
        return slice(int(numbers[0]), int(numbers[0]) + 1)
    return view_of(numbers)


def greatest(table: FloatArray) -> FloatArray:
    """Return the largest numbers (n, ...) of a table (n, ..., m), m > 0."""
    return _reduce_last_axis(np.maximum, table)


def sum_last_axis(table: FloatArray) -> FloatArray:
    """Return the sums (n, ...) of a table (n, ..., m)."""
    return _reduce_last_axis(np.add, table) if table.shape[-1] else table.sum(axis=-1)


def any_last_axis(table: Flags) -> Flags:
    """Return which rows (n, ...) of a table (n, ..., m) have a true flag."""
    return _reduce_last_axis(np.logical_or, table) if table.shape[-1] else np.zeros(table.shape[:-1], dtype=bool)


def _reduce_last_axis(operation: np.ufunc, table: np.ndarray) -> np.ndarray:
    m = table.shape[-1]
    if m > _FEW:
        return operation.reduce(table, axis=-1)
    return reduce(operation, (table[..., k] for k in range(m))) if m > 1 else table[..., 0]
