"""Quadrature: integrals between samples of what is known at them, with an estimate of their errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from trundle.audit import tolerances
from trundle.audit.columns import any_last_axis, by_columns, greatest
from trundle.audit.evidence import Flags, Numbers
from trundle.checks import FloatArray
from trundle.threads import cached_property

_ORDER = 6
"""Samples of a stencil."""
_SINGULAR = 1.0 / tolerances.QUADRATURE
"""Part of the change of a rate within an interval that may be an error of its mean, where a rate ends like a root of
time; times what all errors are multiplied by, it is the whole change."""
SHORT = 3
"""Samples of a stretch too short to tell how its rates bend."""
_BALANCED = 0.8
"""Part of its neighbours' differences of two quadratures up to which one is small, see `_jumps`: of one force that is
wrong it is as large as they."""
_STEEP, _SEEN, _JUMPED = 20.0, 1e-3, 33.0
"""How many times the difference beside it a jump is (65 of a jump alone), the least part of a rate that counts as one,
and the error of a jump over the difference beside it: half of 65."""
_EVEN = 1e-6
"""Part by which spacings may differ to count as even."""
_INSTANT = 1e-5
"""Part of the spacing beside it up to which an interval is an instant: rates have round-off, which such a stencil makes
larger by the inverse of it."""
_GAUSS = (0.5 + np.sqrt(0.15) * np.array([-1.0, 0.0, 1.0]), np.array([5.0, 8.0, 5.0]) / 18.0)
"""Places and weights (Gauss) between 0 and 1 that integrate polynomials through `_ORDER` samples exactly."""


class Intervals:
    """Intervals between neighbouring samples of one stretch.

    Attributes
    ----------
    left, right : (k,)
        Numbers of their samples.
    before, after : slice or (k,)
        The same, as slices where all samples are of one stretch.
    h : (k,) s
    doubt : float
        What the errors of all quadratures are multiplied by.
    """

    def __init__(self, time: FloatArray, stretch: Numbers, doubt: float = 1.0) -> None:
        self.doubt = doubt
        together = (stretch[1:] == stretch[:-1]) & (stretch[1:] >= 0) & (np.diff(time) > 0.0)
        self.left = np.flatnonzero(together)
        self.right = self.left + 1
        whole = len(self.left) and len(self.left) == self.left[-1] - self.left[0] + 1
        self.before = slice(int(self.left[0]), int(self.right[-1])) if whole else self.left
        self.after = slice(int(self.right[0]), int(self.right[-1]) + 1) if whole else self.right
        self.h = time[self.right] - time[self.left]
        # Runs of intervals that follow each other: the samples a stencil may use. An instant of round-off is a run of
        # its own: beside it a stencil would ask how rates change within it.
        if not len(self.left):
            return
        new = np.diff(self.left, prepend=-2) != 1
        ratio = self.h[1:] / self.h[:-1]
        new[1:] |= (ratio < _INSTANT) | (ratio > 1.0 / _INSTANT)
        group = np.cumsum(new) - 1
        first = self.left[new]
        last = np.append(self.left[np.flatnonzero(new)[1:] - 1], self.left[-1]) + 1
        self.begin, self.count = first[group], (last - first + 1)[group]
        self._group, self._time = group, time
        self._rule, self._difference = self._rules()

    def __len__(self) -> int:
        return len(self.left)

    def integrals(
        self,
        rates: FloatArray,
        singular: Flags | None = None,
        bend: Callable[[], FloatArray] | None = None,
        sizes: FloatArray | None = None,
        hidden: Flags | None = None,
        slopes: Callable[[], FloatArray] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the integrals (k, m) of rates (n, m), and bounds of their errors (k, m).

        ``singular`` (n,): samples at which the rates may be no smooth functions of time, where a stretch ends there.
        ``bend`` () -> (n, m): about how large second derivatives are, for stretches too short to show it.
        ``sizes`` (n, m): of what rates are made of.
        ``hidden`` (k,): intervals within which a rate may go from one value to the other at any instant.
        ``slopes`` () -> (n, m): derivatives of the rates, for stretches of two samples: between these a rate may rise
        and come back, which the trapezoid misses by h^2/12 (r'(h) - r'(0)) + O(h^5).
        """
        differences = by_columns(self._difference @ rates)
        error = np.abs(differences)
        steep = np.zeros(len(self), dtype=bool) if hidden is None else hidden & (self.count > 2)
        if singular is not None:
            steep = steep | (self._ends & singular[self.right])
        if steep.any():
            there = np.flatnonzero(steep)
            change = self._change(rates, there)
            if sizes is not None:  # what turns changes in all directions
                whole = np.maximum(sizes[self.right[there]], sizes[self.left[there]])
                parts = change / np.where(whole > 0.0, whole, np.inf)
                change = whole * np.max(parts, axis=1, keepdims=True, initial=0.0)
            error[there] += _SINGULAR * self.h[there, None] * change
        two = np.flatnonzero(self.count == 2)
        if len(two):  # of two samples no more is known than that the rate goes from one to the other
            h, left, right = self.h[two, None], self.left[two], self.right[two]
            error[two] = h / 2 * np.abs(rates[right] - rates[left])
            if slopes is not None:
                slope = slopes()
                error[two] += h * h / 12 * np.abs(slope[right] - slope[left])
        if bend is not None and len(short := np.flatnonzero(self.count <= SHORT)):
            error[short] += self.h[short, None] ** 3 / 12 * bend()[self.right[short]]
        error = tolerances.QUADRATURE * self.doubt * self._widest(error)
        return by_columns(self._rule @ rates), error + self._jumps(differences, rates, sizes)

    @property
    def first(self) -> Flags:
        """Which intervals (k,) are the first one of their stretch."""
        return self.left == self.begin

    @cached_property
    def _ends(self) -> Flags:
        """Which intervals are the first or last one of their stretch, of three samples at least."""
        return ((self.left == self.begin) | (self.left == self.begin + self.count - 2)) & (self.count > 2)

    def _change(self, rates: FloatArray, rows: Numbers) -> FloatArray:
        """Return by how much rates (n, m) may change within intervals.

        By what both samples show, and as in the interval before on and back again: so a slip that ends turns about.
        """
        left, right = self.left[rows], self.right[rows]
        before = np.maximum(left - 1, self.begin[rows])
        return np.abs(rates[right] - rates[left]) + 2.0 * np.abs(rates[left] - rates[before])

    def _jumps(self, differences: FloatArray, rates: FloatArray, sizes: FloatArray | None) -> FloatArray | float:
        """Return the errors (k, m) where a rate jumps between two samples, as a force does where a curvature jumps.

        Any quadrature takes the mean of both sides there, and two of them agree; around it they differ, on one side as
        much as on the other with the opposite sign. What jumps in one direction may do so in all.
        """
        if len(self) < _ORDER or sizes is None:
            return 0.0
        before, here, after = differences[:-2], differences[1:-1], differences[2:]
        jumps = (before * after < 0.0) & ((self._group[2:] == self._group[:-2]) & (self.count[1:-1] >= _ORDER))[:, None]
        rows = np.flatnonzero(any_last_axis(jumps))
        if not len(rows):
            return 0.0
        before, here, after, jumps = before[rows], here[rows], after[rows], jumps[rows]
        left, right, h = self.left[rows + 1], self.right[rows + 1], self.h[rows + 1, None]
        around = np.minimum(np.abs(before), np.abs(after))
        change = h * np.abs(rates[right] - rates[left])
        jumps &= (np.abs(here) <= _BALANCED * around) & (change > _STEEP * around)
        jumps &= change > _SEEN * h * np.maximum(sizes[left], sizes[right])
        there = np.flatnonzero(any_last_axis(jumps))
        found = np.zeros(differences.shape, order="F")
        widest = np.maximum(np.abs(before[there]), np.abs(after[there]))
        found[rows[there] + 1] = change[there] / 2 + _JUMPED * widest
        return found

    def _widest(self, error: FloatArray) -> FloatArray:
        """Return the largest errors of neighbours: at a zero of the difference the error is not zero."""
        wide = error.copy(order="K")
        for shift in (1, 2):
            if len(error) > shift:
                same = self._group[shift:] == self._group[:-shift]
                before, after = error[:-shift], error[shift:]
                if not same.all():
                    before, after = (np.where(same[:, None], one, 0.0) for one in (before, after))
                np.maximum(wide[shift:], before, out=wide[shift:])
                np.maximum(wide[:-shift], after, out=wide[:-shift])
        return wide

    def _rules(self) -> tuple[csr_array, csr_array]:
        """Return two matrices (k, n): integrals of polynomials through six samples; the same less those through four.

        In short stretches through as many samples as there are, and two fewer.
        """
        k = len(self)
        index = np.repeat(self.begin[:, None], _ORDER, axis=1)
        rule, difference = np.zeros((k, _ORDER)), np.zeros((k, _ORDER))
        size = np.minimum(self.count, _ORDER)
        for order in np.flatnonzero(np.bincount(size)).tolist():
            rows = np.flatnonzero(size == order)
            begin = _stencil(self.left[rows], self.begin[rows], self.count[rows], order)
            samples, at = begin[:, None] + np.arange(order), self.left[rows] - begin
            index[rows, :order] = samples
            rule[rows, :order], difference[rows, :order] = self._weights(rows, samples, at)
        shape, ends = (k, len(self._time)), _ORDER * np.arange(k + 1)
        h = self.h[:, None]
        return tuple(csr_array(((h * w).ravel(), index.ravel(), ends), shape=shape) for w in (rule, difference))

    def _weights(self, rows: Numbers, samples: Numbers, at: Numbers) -> tuple[FloatArray, FloatArray]:
        """Return the weights (k, order) of `samples`, the interval begins at number `at` of them, in parts of it."""
        order = samples.shape[1]
        rule, difference = (table[at] for table in _even_weights(order))
        # From the interval's own beginning: of instants some round-off apart their middle is one of them.
        places = (self._time[samples] - self._time[self.left[rows], None]) / self.h[rows, None]
        steady = np.arange(order) - at[:, None]
        uneven = np.flatnonzero(greatest(np.abs(places - steady)) >= _EVEN)
        if len(uneven):
            rule[uneven], difference[uneven] = _moment_weights(places[uneven], at[uneven])
        return rule, difference


def _stencil(left: Numbers, begin: Numbers, count: Numbers | int, order: int) -> Numbers:
    """Return where stencils begin: around the intervals after `left`, within stretches of `count` samples."""
    return np.clip(left - (order // 2 - 1), begin, begin + count - order)


@cache
def _even_weights(order: int) -> tuple[FloatArray, FloatArray]:
    """Return the weights (order - 1, order) of even samples over the intervals between them, see `_moment_weights`."""
    at = np.arange(order - 1)
    return _moment_weights(np.arange(order, dtype=np.float64) - at[:, None], at)


def _moment_weights(places: FloatArray, at: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return weights (k, order) at places (k, order) that integrate from 0 to 1: all powers exactly.

    And their differences from those that two fewer samples have; none where there are two.
    """
    order = places.shape[1]
    rule = _exact_weights(places)
    if order == 2:
        return rule, np.zeros(rule.shape)
    difference, fewer = rule.copy(), max(order - 2, 2)
    inner = _stencil(at, np.zeros_like(at), order, fewer)[:, None] + np.arange(fewer)
    rows = np.arange(len(places))[:, None]
    difference[rows, inner] -= _exact_weights(places[rows, inner])
    return rule, difference


def _exact_weights(places: FloatArray) -> FloatArray:
    """Return weights (k, order) at places (k, order) that integrate powers exactly from 0 to 1.

    Integrals of Lagrange's polynomials, products of (x - x_j) / (x_i - x_j): places may be as uneven as instants of
    events are, where a linear system for the weights is singular.
    """
    order = places.shape[1]
    apart = places[:, :, None] - places[:, None, :]
    apart[:, np.arange(order), np.arange(order)] = 1.0
    weights = np.zeros(places.shape)
    for x, weight in zip(_GAUSS[0], _GAUSS[1], strict=True):
        parts = (x - places)[:, None, :] / apart
        parts[:, np.arange(order), np.arange(order)] = 1.0
        weights += weight * np.prod(parts, axis=2)
    return weights
