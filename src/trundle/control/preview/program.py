"""The quadratic program of a preview window: its pattern is laid out once, a window only writes numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.control.preview.window import Window
from trundle.models.centroidal.samples import STATES
from trundle.numerics.qp.persistent import Entries, PersistentQp
from trundle.numerics.qp.qp import QpSolution, QpSolver
from trundle.status import Status

MOMENT_ARM = 0.1
"""Moments are scaled by this arm (m) times the weight, and the angular momentum by this times the mass."""
_PLAIN = np.eye(STATES, dtype=bool)
_PLAIN[0, 1] = _PLAIN[2, 3] = True
_PLAIN[4, [2, 3]] = _PLAIN[5, [0, 1]] = True
_TURNED = np.array(
    [
        [1, 1, 1, 1, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
    ],
    dtype=bool,
)
_REACHED = np.zeros((STATES, 6), dtype=bool)
_REACHED[[1, 3, 4, 5], 3:] = True
_REACHED[4:, :3] = True
_PLACES, _SPEEDS = np.array([0, 2]), np.array([1, 3])


_SLACK = 1e5
"""Price of the squared slack, scaled."""


class Slot(NamedTuple):
    """Room for a contact: 6 columns (a patch) or 3 (a point), the rows of its cone, and where these are not zero."""

    columns: int
    rows: int
    places: tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Layout:
    """The pattern of a program.

    Attributes
    ----------
    count : int
        Samples K.
    slots : tuple of Slot
    turning : bool
        Whether the privileged axis changes inside the window: fuller blocks, and two rows a sample that want the state
        where it changes to meet what is prescribed afterwards.
    third : bool
        Whether the angular momentum along the privileged axis is an unknown too, linear about the path.
    """

    count: int
    slots: tuple[Slot, ...]
    turning: bool
    third: bool

    @property
    def slack(self) -> int:
        """Slack unknowns of a sample."""
        return 2 * int(self.turning)

    @property
    def inputs(self) -> int:
        """Wrench components of a sample."""
        return sum(slot.columns for slot in self.slots)

    @property
    def width(self) -> int:
        """Unknowns of a sample: wrenches, slack, the third angular momentum, the state at its end."""
        return self.inputs + self.slack + int(self.third) + STATES

    @property
    def rows(self) -> int:
        """Equations of a sample."""
        return 7 + self.slack + int(self.third)


@dataclass(frozen=True)
class Scales:
    """What one unit of the program's unknowns is: `state` (6,), `wrench` (6,) SI, and the weight m g, N."""

    state: FloatArray
    wrench: FloatArray
    weight: float

    @classmethod
    def of(cls, mass: float, gravity: float) -> Scales:
        """Return the scales of a mass (kg) under gravity (m/s2)."""
        weight = mass * max(gravity, 1.0)
        state = mass * np.array([1.0, 1.0, 1.0, 1.0, MOMENT_ARM, MOMENT_ARM])
        return cls(state, weight * np.array([MOMENT_ARM] * 3 + [1.0] * 3), weight)


@dataclass(frozen=True)
class CrossCheck:
    """How far another solver's optimum of the same program is.

    Attributes
    ----------
    solver : str
    status : Status
        Of its answer, by residuals that are recomputed.
    cost : float
        Difference of the costs over max(1, cost); NaN where either has none.
    state : float
        Largest difference of a state of the scaled program: m, m/s, and of L / (0.1 m times the mass), m/s.
    wrench : float
        Largest difference of a force over the weight, or of a moment over 0.1 m times the weight.
    """

    solver: str
    status: Status
    cost: float
    state: float
    wrench: float


class PreviewProgram:
    """The program of one layout (final).

    Minimise over wrenches w and states x

        1/2 sum_k (x_k - xbar_k)' Wx (x_k - xbar_k) + w_k' Wu w_k
        x_{k+1} = A_k (E_k x_k + e_k) + B_k w_k + C_k,   sum_i w3.R_i f_i = F3_k,   rows w_ki >= low

    in scaled unknowns, sample after sample. Empty slots have no effect and lie inside their cones, so the pattern never
    changes (paper 3, (8)-(11), sparse; sheet sections 3 and 4).
    """

    def __init__(self, layout: Layout, scales: Scales, accuracy: float, max_iterations: int) -> None:
        self.layout, self.scales = layout, scales
        K, nz = layout.count, layout.width
        self._dense = _TURNED if layout.turning else _PLAIN
        self._reset_rows = np.array([[0, 2], [1, 3]])
        E = Entries(*self._equation_places(), (layout.rows * K, K * nz))
        C = Entries(*self._cone_places(), (K * sum(slot.rows for slot in layout.slots), K * nz))
        self.qp = PersistentQp(
            K * nz, E, C, max_iterations=max_iterations, layout="sparse_ldlt_ineq_cond", accuracy=accuracy
        )
        widths = [slot.columns for slot in layout.slots]
        self._columns = np.concatenate([np.arange(6)[6 - width :] for width in widths] or [[]]).astype(int)
        self._slot = np.repeat(np.arange(len(widths)), widths)
        self._patterns = [_REACHED[:, 6 - width :] for width in widths]
        self._index: NDArray[np.intp] | None = None
        self._tables: Sequence[tuple[FloatArray, FloatArray]] | None = None
        self.weighed_for: FloatArray | None = None
        """Masses (K,) of the weights that were written last."""

    def _equation_places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places of E in the order in which `write` gives the values."""
        layout = self.layout
        K, nz, per = layout.count, layout.width, layout.rows
        k, state = np.arange(K)[:, None], nz - STATES
        rows: list[NDArray[np.intp]] = [k * per + np.arange(STATES)]
        columns: list[NDArray[np.intp]] = [k * nz + state + np.arange(STATES)]
        rows.append(k * per + _PLACES)
        columns.append(k * nz + state + _SPEEDS)
        i, j = np.nonzero(self._dense)
        rows.append(k[1:] * per + i)
        columns.append(k[:-1] * nz + state + j)
        start = 0
        for width, *_ in layout.slots:
            i, j = np.nonzero(_REACHED[:, 6 - width :])
            rows.append(k * per + i)
            columns.append(k * nz + start + j)
            start += width
        start = 0
        for width, *_ in layout.slots:
            rows.append(np.broadcast_to(k * per + STATES, (K, 3)))
            columns.append(k * nz + start + width - 3 + np.arange(3))
            start += width
        if layout.turning:
            for pair in (0, 1):
                rows.append(k * per + 7 + pair)
                columns.append(k * nz + start + pair)
                rows.append(np.broadcast_to(k[1:] * per + 7 + pair, (K - 1, 2)))
                columns.append(k[:-1] * nz + state + self._reset_rows[pair])
        if layout.third:
            own, row = state - 1, per - 1
            inputs = np.arange(layout.inputs)
            rows += [k * per + row, k[1:] * per + row, np.broadcast_to(k * per + row, (K, layout.inputs))]
            columns += [k * nz + own, k[:-1] * nz + own, k * nz + inputs]
        return np.concatenate([part.ravel() for part in rows]), np.concatenate([part.ravel() for part in columns])

    def _cone_places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        layout = self.layout
        K, nz, per = layout.count, layout.width, sum(slot.rows for slot in layout.slots)
        k, row, start = np.arange(K)[:, None], 0, 0
        rows: list[NDArray[np.intp]] = [np.zeros(0, dtype=int)]
        columns: list[NDArray[np.intp]] = [np.zeros(0, dtype=int)]
        for width, height, (i, j) in layout.slots:
            rows.append((k * per + row + np.array(i)).ravel())
            columns.append((k * nz + start + np.array(j)).ravel())
            row, start = row + height, start + width
        return np.concatenate(rows), np.concatenate(columns)

    def weigh(self, state: FloatArray, wrench: FloatArray, third: float, masses: FloatArray) -> None:
        """Write the diagonal: weights of r, v and L (6,), of a wrench (6,), of L3; states hold m r and m v."""
        layout, sx, su = self.layout, self.scales.state, self.scales.wrench
        h = np.zeros((layout.count, layout.width))
        h[:, : layout.inputs] = (wrench * su**2)[self._columns]
        h[:, layout.inputs : layout.inputs + layout.slack] = _SLACK
        if layout.third:
            h[:, -STATES - 1] = third * sx[4] ** 2
        per = np.ones((layout.count, STATES))
        per[:, :4] = 1.0 / masses[:, None]
        h[:, -STATES:] = state * (per * sx) ** 2
        self.qp.write_weights(h.ravel())
        self.weighed_for = np.array(masses)

    def write(
        self,
        window: Window,
        index: NDArray[np.intp],
        inputs: FloatArray,
        placed: tuple[FloatArray, FloatArray],
        force: FloatArray,
    ) -> None:
        """Write the numbers of a window.

        `index` (K, S) says which contact fills each slot, `inputs` (K, S, 6, 6) what its wrench does (`Stages.inputs`),
        `placed` where it is (K, S, 3) and how it lies (K, S, 3, 3), `force` (K,) what all bear along the privileged
        axis, N.
        """
        _, rotations = placed
        layout, sx, su = self.layout, self.scales.state, self.scales.wrench
        K, samples, stages = layout.count, window.samples, window.stages
        empty = index < 0
        A = (stages.A @ window.E) * (sx / sx[:, None])
        C = (stages.C + (stages.A @ window.e[..., None])[..., 0]) / sx
        # A place less half the sample times its speed: forces cancel, a fifth of E is not there, and nothing is lost.
        half = samples.durations[:, None] / 2
        A[:, _PLACES] -= half[..., None] * A[:, _SPEEDS]
        C[:, _PLACES] -= half * C[:, _SPEEDS]
        own = np.repeat(-half, 2, axis=1)
        values: list[FloatArray] = [np.ones(K * STATES), own.ravel(), -A[1:, self._dense].ravel()]
        along = np.zeros((K, len(layout.slots), 3))
        if layout.slots:
            B = inputs * (su / sx[:, None])
            B[empty] = 0.0
            along = (samples.W[:, None, 2:] @ rotations)[:, :, 0]
            along[empty] = 0.0
            nobody = empty.all(axis=1)  # an equation needs a coefficient: the empty slot's normal force is zero
            along[nobody, 0, 2] = 1.0
            for slot, pattern in enumerate(self._patterns):
                values.append(-B[:, slot, :, 6 - pattern.shape[1] :][:, pattern].ravel())
        values += [along[:, slot].ravel() for slot in range(len(layout.slots))]
        e = np.zeros((K, layout.rows))
        e[:, :STATES] = C
        e[0, :STATES] += A[0] @ (window.start / sx)
        e[:, 6] = np.where(empty.all(axis=1), 0.0, force / self.scales.weight)
        if layout.turning:
            self._turn(window, values, e)
        if layout.third:
            self._third(window, empty, along, placed, values, e)
        self.qp.write_equations(np.concatenate(values))
        self.qp.e[:] = e.ravel()
        g = self.qp.g.reshape(K, layout.width)
        g[:, -STATES:] = -self.qp.h.reshape(K, layout.width)[:, -STATES:] * (window.reference / sx)

    def _third(
        self,
        window: Window,
        empty: NDArray[np.bool_],
        along: FloatArray,
        placed: tuple[FloatArray, FloatArray],
        values: list[FloatArray],
        e: FloatArray,
    ) -> None:
        """Rows of L3' = w3.(n - r x pointed + sum_i (p_i - r) x R_i f_i + R_i m_i), r that of the path."""
        s, K, unit = window.samples, self.layout.count, self.scales.state[4]
        w3, T, (positions, rotations) = s.W[:, 2], s.durations, placed
        values += [np.ones(K), -np.ones(K - 1)]
        if self.layout.slots:
            x, y, z = np.moveaxis(positions - window.middles[:, None], -1, 0)
            a, b, c = (w3[:, i, None] for i in range(3))  # written out: numpy's cross is slow on small arrays
            arms = np.stack((b * z - c * y, c * x - a * z, a * y - b * x), axis=-1)
            gains = np.concatenate((along, (arms[:, :, None] @ rotations)[:, :, 0]), axis=2)
            gains[empty] = 0.0
            gains *= (self.scales.wrench / unit) * T[:, None, None]
            values.append(-gains[:, self._slot, self._columns].ravel())
        known = s.moment - (np.cross(window.middles, s.pointed) if s.pointed.any() else 0.0)
        e[:, -1] = T * np.sum(w3 * known, axis=1) / unit
        e[0, -1] += float(w3[0] @ window.spin) / unit

    def _turn(self, window: Window, values: list[FloatArray], e: FloatArray) -> None:
        """Rows that want position and velocity along the new axis to be what is prescribed there."""
        s, K = window.samples, self.layout.count
        sx, turns = self.scales.state, window.turns
        for pair, known in ((0, s.height), (1, s.speed)):
            rows, own = np.zeros((K, 2)), self._reset_rows[pair]
            for k in np.flatnonzero(turns):
                Q, at = s.W[k, 2] @ s.W[k - 1].T, window.axis_changes[int(k)]
                rows[k] = Q[:2] * at.gain[own] * sx[own] / s.masses[k]
                e[k, 7 + pair] = known[k] - Q[2] * at[2 + pair] - Q[:2] @ at.shift[own] / s.masses[k]
            values += [np.full(K, -1.0), rows[1:].ravel()]

    def cones(self, index: NDArray[np.intp], tables: Sequence[tuple[FloatArray, FloatArray]]) -> None:
        """Write the rows of the contacts in the slots, and their lower bounds; nothing if both are those of before.

        `tables` holds for each slot what stands at its places (n + 1, nnz) and the bounds (n + 1, rows), one line a
        contact; the last, reached by the index -1, is that of an empty slot.
        """
        if self._tables is tables and self._index is not None and np.array_equal(index, self._index):
            return
        values, bounds = [np.zeros(0)], [np.zeros((self.layout.count, 0))]
        for slot, (coefficients, low) in enumerate(tables):
            values.append(coefficients[index[:, slot]].ravel())
            bounds.append(low[index[:, slot]])
        self.qp.write_inequalities(np.concatenate(values))
        self.qp.low[:] = np.hstack(bounds).ravel()
        self._index, self._tables = np.array(index), tables

    def wrenches(self, x: FloatArray, index: NDArray[np.intp]) -> FloatArray:
        """Return the wrenches (K, S, 6), SI, of a solution; zero in empty slots."""
        layout = self.layout
        inputs = x.reshape(layout.count, layout.width)[:, : layout.inputs]
        result = np.zeros((layout.count, len(layout.slots), 6))
        result[:, self._slot, self._columns] = inputs * self.scales.wrench[self._columns]
        result[index < 0] = 0.0
        return result

    def compared(self, solution: QpSolution, other: QpSolver) -> CrossCheck:
        """Return what `other` makes of the numbers that were written last, beside `solution`."""
        found = self.qp.solved_by(other)
        costs = [0.5 * float(x @ (self.qp.h * x)) + float(self.qp.g @ x) for x in (solution.x, found.x)]
        apart = np.abs(solution.x - found.x).reshape(self.layout.count, self.layout.width)
        states, wrenches = apart[:, -STATES:], apart[:, : self.layout.inputs]
        cost = abs(costs[0] - costs[1]) / max(1.0, abs(costs[1]))
        return CrossCheck(other.name, found.status, cost, float(states.max()), float(wrenches.max(initial=0.0)))

    def slacks(self, x: FloatArray) -> FloatArray:
        """Return the slack unknowns (K, slack) of a solution."""
        layout = self.layout
        return x.reshape(layout.count, layout.width)[:, layout.inputs : layout.inputs + layout.slack]
