"""Columns: reductions of tables with few columns, an operation a column, and views of some columns.

Numpy's own reductions over a short last axis take ten times as long, and picking columns by numbers copies them.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from trundle.audit.evidence import Columns, Flags, Numbers
from trundle.checks import FloatArray

_FEW = 16
"""Columns up to which this pays."""


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
    return _reduced(np.maximum, table)


def added(table: FloatArray) -> FloatArray:
    """Return the sums (n, ...) of a table (n, ..., m)."""
    return _reduced(np.add, table) if table.shape[-1] else table.sum(axis=-1)


def flagged(table: Flags) -> Flags:
    """Return which rows (n, ...) of a table (n, ..., m) have a true flag."""
    return _reduced(np.logical_or, table) if table.shape[-1] else table.any(axis=-1)


def _reduced(operation: np.ufunc, table: np.ndarray) -> np.ndarray:
    m = table.shape[-1]
    if m > _FEW:
        return operation.reduce(table, axis=-1)
    return reduce(operation, (table[..., k] for k in range(m))) if m > 1 else table[..., 0]
