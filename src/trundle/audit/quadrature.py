"""Quadrature: integrals between samples of what is known at them, with an estimate of their errors."""

from __future__ import annotations

from functools import cache

import numpy as np

from trundle.audit import tolerances
from trundle.audit.evidence import Flags, Numbers
from trundle.checks import FloatArray

_ORDER = 6
"""Samples of a stencil."""
_SINGULAR = 1.0 / tolerances.QUADRATURE
"""Part of the change of a rate within an interval that may be an error of its mean, where a rate ends like a root of
time; times what all errors are multiplied by, it is the whole change."""
_SHORT = 3
"""Samples of a stretch too short to tell how its rates bend."""
_BALANCED = 0.8
"""Part of its neighbours' differences of two quadratures up to which one is small, see `_jumps`: of one force that is
wrong it is as large as they."""
_STEEP, _SEEN, _JUMPED = 20.0, 1e-3, 33.0
"""How many times the difference beside it a jump is (65 of a jump alone), the least part of a rate that counts as one,
and the error of a jump over the difference beside it: half of 65."""
_EVEN = 1e-6
"""Part by which spacings may differ to count as even."""


class Intervals:
    """Intervals between neighbouring samples of one stretch.

    Attributes
    ----------
    left, right : (k,)
        Numbers of their samples.
    h : (k,) s
    """

    def __init__(self, time: FloatArray, stretch: Numbers) -> None:
        together = (stretch[1:] == stretch[:-1]) & (stretch[1:] >= 0) & (np.diff(time) > 0.0)
        self.left = np.flatnonzero(together)
        self.right = self.left + 1
        self.h = time[self.right] - time[self.left]
        # Runs of intervals that follow each other: the samples a stencil may use.
        if not len(self.left):
            return
        new = np.diff(self.left, prepend=-2) != 1
        group = np.cumsum(new) - 1
        first = self.left[new]
        last = np.append(self.left[np.flatnonzero(new)[1:] - 1], self.left[-1]) + 1
        self.begin, self.count = first[group], (last - first + 1)[group]
        self._group, self._time = group, time
        self._stencils: dict[tuple[int, int, int, int], tuple[Numbers, Numbers, FloatArray]] = {}

    def __len__(self) -> int:
        return len(self.left)

    def integrals(
        self,
        rates: FloatArray,
        singular: Flags | None = None,
        bend: FloatArray | None = None,
        sizes: FloatArray | None = None,
        hidden: Flags | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the integrals (k, m) of rates (n, m), and bounds of their errors (k, m).

        ``singular`` (n,): samples at which the rates may be no smooth functions of time, where a stretch ends there.
        ``bend`` (n, m): about how large second derivatives are, for stretches too short to show it; ``sizes`` (n, m):
        of what rates are made of. ``hidden`` (k,): intervals within which a rate may go from one value to the other at
        any instant.
        """
        found, error = np.zeros((len(self), rates.shape[1])), np.zeros((len(self), rates.shape[1]))
        differences = np.zeros((len(self), rates.shape[1]))
        size = np.minimum(self.count, _ORDER)
        for order in np.unique(size):
            rows = np.flatnonzero(size == order)
            fine = self._sum(rates, rows, int(order))
            if order > 2:
                rough = self._sum(rates, rows, max(int(order) - 2, 2))
                differences[rows] = fine - rough
                error[rows] = np.abs(fine - rough)
                steep = np.zeros(len(rows), dtype=bool) if hidden is None else hidden[rows]
                if singular is not None:
                    steep |= self._ends(rows) & singular[self.right[rows]]
                if steep.any():
                    there = rows[steep]
                    change = self._change(rates, there)
                    if sizes is not None:  # what turns changes in all directions
                        whole = np.maximum(sizes[self.right[there]], sizes[self.left[there]])
                        change = whole * np.max(change / np.where(whole > 0.0, whole, np.inf), axis=1, keepdims=True)
                    error[there] += _SINGULAR * self.h[there, None] * change
            else:  # of two samples no more is known than that the rate goes from one to the other
                h = self.h[rows, None]
                error[rows] = h / 2 * np.abs(rates[self.right[rows]] - rates[self.left[rows]])
            if order <= _SHORT and bend is not None:
                error[rows] += self.h[rows, None] ** 3 / 12 * bend[self.right[rows]]
            found[rows] = fine
        error = tolerances.QUADRATURE * self._widest(error)
        return found, error + self._jumps(differences, rates, sizes)

    @property
    def first(self) -> Flags:
        """Which intervals (k,) are the first one of their stretch."""
        return self.left == self.begin

    def _ends(self, rows: Numbers) -> Flags:
        """Return which intervals are the first or last one of their stretch."""
        left, begin = self.left[rows], self.begin[rows]
        return (left == begin) | (left == begin + self.count[rows] - 2)

    def _change(self, rates: FloatArray, rows: Numbers) -> FloatArray:
        """Return by how much rates (n, m) may change within intervals.

        By what both samples show, and as in the interval before on and back again: so a slip that ends turns about.
        """
        left, right = self.left[rows], self.right[rows]
        before = np.maximum(left - 1, self.begin[rows])
        return np.abs(rates[right] - rates[left]) + 2.0 * np.abs(rates[left] - rates[before])

    def _jumps(self, differences: FloatArray, rates: FloatArray, sizes: FloatArray | None) -> FloatArray:
        """Return the errors (k, m) where a rate jumps between two samples, as a force does where a curvature jumps.

        Any quadrature takes the mean of both sides there, and two of them agree; around it they differ, on one side as
        much as on the other with the opposite sign. What jumps in one direction may do so in all.
        """
        found = np.zeros(differences.shape)
        if len(self) < _ORDER or sizes is None:
            return found
        before, here, after = differences[:-2], differences[1:-1], differences[2:]
        around = np.minimum(np.abs(before), np.abs(after))
        left, right, h = self.left[1:-1], self.right[1:-1], self.h[1:-1, None]
        change = h * np.abs(rates[right] - rates[left])
        jumps = (np.abs(here) <= _BALANCED * around) & (before * after < 0.0) & (change > _STEEP * around)
        jumps &= change > _SEEN * h * np.maximum(sizes[left], sizes[right])
        jumps &= ((self._group[2:] == self._group[:-2]) & (self.count[1:-1] >= _ORDER))[:, None]
        widest = np.maximum(np.abs(before), np.abs(after))
        found[1:-1] = np.where(np.any(jumps, axis=1, keepdims=True), change / 2 + _JUMPED * widest, 0.0)
        return found

    def _widest(self, error: FloatArray) -> FloatArray:
        """Return the largest errors of neighbours: at a zero of the difference the error is not zero."""
        wide = error.copy()
        for shift in (1, 2):
            if len(error) > shift:
                same = (self._group[shift:] == self._group[:-shift])[:, None]
                wide[shift:] = np.maximum(wide[shift:], np.where(same, error[:-shift], 0.0))
                wide[:-shift] = np.maximum(wide[:-shift], np.where(same, error[shift:], 0.0))
        return wide

    def _sum(self, rates: FloatArray, rows: Numbers, order: int) -> FloatArray:
        """Return the integrals over some intervals of the polynomials through `order` samples around them."""
        key = order, len(rows), int(rows[0]), int(rows[-1])
        if key not in self._stencils:
            begin, count = self.begin[rows], self.count[rows]
            start = np.clip(self.left[rows] - (order // 2 - 1), begin, begin + count - order)
            index = start[:, None] + np.arange(order)
            self._stencils[key] = rows, index, self._weights(index, self.left[rows], self.h[rows])
        known, index, weights = self._stencils[key]
        if known is not rows and not np.array_equal(known, rows):
            del self._stencils[key]
            return self._sum(rates, rows, order)
        total = weights[:, :1] * rates[index[:, 0]]
        for j in range(1, order):
            total += weights[:, j : j + 1] * rates[index[:, j]]
        return total

    def _weights(self, index: Numbers, left: Numbers, h: FloatArray) -> FloatArray:
        """Return the weights (k, order) of samples, by moments about the middle of the interval."""
        order = index.shape[1]
        middle = (self._time[left] + self._time[left + 1]) / 2
        places = (self._time[index] - middle[:, None]) / h[:, None]
        at = left - index[:, 0]
        steady = (np.arange(order) - at[:, None]) - 0.5
        even = np.abs(places - steady).max(axis=1) < _EVEN
        weights = np.zeros(places.shape)
        for k in range(order - 1):
            rows = even & (at == k)
            if rows.any():
                weights[rows] = _even_weights(order, k)
        if not even.all():
            weights[~even] = _moment_weights(places[~even])
        return weights * h[:, None]


@cache
def _even_weights(order: int, k: int) -> FloatArray:
    """Return the weights (1, order) of even samples over the interval after the sample `k`."""
    places = np.arange(order, dtype=np.float64) - k - 0.5
    return _moment_weights(np.asarray(places[None], dtype=np.float64))


def _moment_weights(places: FloatArray) -> FloatArray:
    """Return weights (k, order) at places (k, order) that integrate powers exactly from -1/2 to 1/2."""
    order = places.shape[1]
    powers = np.arange(order)
    moments = (0.5 ** (powers + 1) - (-0.5) ** (powers + 1)) / (powers + 1)
    vandermonde = places[:, None, :] ** powers[None, :, None]
    return np.linalg.solve(vandermonde, np.broadcast_to(moments[:, None], (len(places), order, 1)))[..., 0]
