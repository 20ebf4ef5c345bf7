"""Assembly: rows of a program while they are gathered, and the sparse matrices that place them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from trundle.checks import FloatArray
from trundle.optimal.phase import Condition


@dataclass
class ProgramRows:
    """Rows of the program while they are gathered."""

    A: list[sp.csr_matrix] = field(default_factory=list)
    lower: list[FloatArray] = field(default_factory=list)
    upper: list[FloatArray] = field(default_factory=list)
    names: dict[str, slice] = field(default_factory=dict)
    count: int = 0

    def add(self, name: str, A: sp.csr_matrix, lower: FloatArray, upper: FloatArray) -> slice:
        """Append rows and return where they are."""
        where = slice(self.count, self.count + A.shape[0])
        self.A.append(A)
        self.lower.append(np.broadcast_to(lower, (A.shape[0],)))
        self.upper.append(np.broadcast_to(upper, (A.shape[0],)))
        key = name
        while key in self.names:
            key += "'"
        self.names[key] = where
        self.count = where.stop
        return where


@dataclass(frozen=True)
class EntryPlaces:
    """Where the unknowns of one phase are in z: nodes, middles, duration (-1: fixed).

    Inputs are unknown at nodes and middles (Hermite-Simpson), at nodes, or on intervals (midpoint: ``u_mid``).
    """

    x: np.ndarray
    u: np.ndarray
    x_mid: np.ndarray
    u_mid: np.ndarray
    duration: int


def with_duration(index: np.ndarray, duration: int) -> np.ndarray:
    """Return the places with that of the duration behind each row, unless it is fixed."""
    return index if duration < 0 else np.hstack([index, np.full((len(index), 1), duration)])


def path_rows(
    label: str,
    conditions: Sequence[Condition],
    rows: ProgramRows,
    kept: np.ndarray,
    shape: tuple[int, int],
    first: int,
    size: int,
) -> tuple[slice, sp.csr_matrix]:
    """Add the rows of `conditions`, from output `first` on, at the nodes `kept`; return where they are and B.

    shape: (number of nodes, outputs of each).
    """
    nodes, (count, outputs) = len(kept), shape
    parts, begin, at = [], rows.count, first
    for c in conditions:
        offset = at
        at += c.size
        if not (np.any(np.isfinite(c.lower)) or np.any(np.isfinite(c.upper))):
            continue
        empty = sp.csr_matrix((nodes * c.size, size))
        rows.add(f"{label}: {c.name}", empty, np.tile(c.lower, nodes), np.tile(c.upper, nodes))
        columns = (kept[:, None] * outputs + offset + np.arange(c.size)).ravel()
        ones = np.ones(nodes * c.size)
        parts.append(
            sp.csr_matrix((ones, (np.arange(nodes * c.size), columns)), shape=(nodes * c.size, count * outputs))
        )
    matrix = sp.vstack(parts).tocsr() if parts else sp.csr_matrix((0, count * outputs))
    return slice(begin, rows.count), matrix


def select(places: np.ndarray, size: int) -> sp.csr_matrix:
    """Return the matrix that picks the entries `places` out of z."""
    flat = places.ravel()
    return sp.csr_matrix((np.ones(flat.size), (np.arange(flat.size), flat)), shape=(flat.size, size))


def scatter(values: FloatArray, nodes: np.ndarray, n: int, outputs: int, count: int) -> sp.csr_matrix:
    """Return the matrix whose row (k, i) has values[k n + i] at output i of node nodes[k]."""
    columns = (nodes[:, None] * outputs + np.arange(n)).ravel()
    return sp.csr_matrix((values, (np.arange(columns.size), columns)), shape=(columns.size, count * outputs))


def stack_parts(parts: list[tuple[slice, sp.csr_matrix]], rows: int, columns: int) -> sp.csc_matrix:
    """Return the (rows, columns) matrix with each part at its rows."""
    total = sp.csr_matrix((rows, columns))
    for where, matrix in parts:
        entries = matrix.tocoo()
        total = total + sp.csr_matrix((entries.data, (entries.row + where.start, entries.col)), shape=(rows, columns))
    return total.tocsc()
