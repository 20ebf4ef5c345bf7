"""The quadratic program of a preview window: its pattern is laid out once, a window only writes numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.numerics.qp.qp import QpSolution, QpSolver
from trundle.status import Status
from trundle.systems.multicontact.centroidal.samples import STATES
from trundle.systems.multicontact.preview.persistent import Entries, PersistentQp
from trundle.systems.multicontact.preview.window import PreviewWindow

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
_REACHED = np.zeros((STATES + 2, 6), dtype=bool)
_REACHED[[1, 3, 4, 5, 6, 7], 3:] = True
_REACHED[[4, 5, 7], :3] = True
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
class ProgramScales:
    """What one unit of the program's unknowns is: `state` (6,), `wrench` (6,) SI, and the weight m g, N."""

    state: FloatArray
    wrench: FloatArray
    weight: float

    @classmethod
    def of(cls, mass: float, gravity: float) -> ProgramScales:
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

    def __init__(self, layout: Layout, scales: ProgramScales, accuracy: float, max_iterations: int) -> None:
        self.layout, self.scales = layout, scales
        K, nz = layout.count, layout.width
        self._dense = np.flatnonzero(_TURNED if layout.turning else _PLAIN)
        self._reset_rows = np.array([[0, 2], [1, 3]])
        self._reached = self._reached_places()
        rows, columns = self._equation_places()
        at, under = (np.concatenate([part.ravel() for part in parts]) for parts in (rows, columns))
        E = Entries(at, under, (layout.rows * K, K * nz))
        # What changes is written into parts of one array; the slack, and a third component before, have -1.
        self._values = np.ones(len(E.rows))
        ends = np.cumsum([part.size for part in rows])
        self._parts = [v.reshape(part.shape) for v, part in zip(np.split(self._values, ends[:-1]), rows, strict=True)]
        for part in (*(self._parts[4:8:2] if layout.turning else ()), *(self._parts[-1:] if layout.third else ())):
            part[:] = -1.0
        C = Entries(*self._cone_places(), (K * sum(slot.rows for slot in layout.slots), K * nz))
        self.qp = PersistentQp(
            K * nz, E, C, max_iterations=max_iterations, layout="sparse_ldlt_ineq_cond", accuracy=accuracy
        )
        self._steered = self.qp.g.reshape(K, nz)[:, -STATES:]
        widths = [slot.columns for slot in layout.slots]
        self._columns = np.concatenate([np.arange(6)[6 - width :] for width in widths] or [[]]).astype(int)
        self._components = self._columns + 6 * np.repeat(np.arange(len(widths)), widths)
        self._units = scales.wrench[self._columns]
        # An equation of a sample in flight needs a coefficient: the first slot's normal force is zero.
        self._normal = np.flatnonzero(
            (self._reached[1] == STATES) & (self._reached[2] == widths[0] - 1 if widths else 0)
        )
        self._index: NDArray[np.intp] | None = None
        self.weighed_for: FloatArray | None = None
        """Masses (K,) of the weights that were written last."""

    def _equation_places(self) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        """Rows and columns of E, in parts (K or K - 1, m)."""
        layout = self.layout
        K, nz, per = layout.count, layout.width, layout.rows
        k, state = np.arange(K)[:, None], nz - STATES
        rows: list[NDArray[np.intp]] = [k * per + np.arange(STATES)]
        columns: list[NDArray[np.intp]] = [k * nz + state + np.arange(STATES)]
        rows.append(k * per + _PLACES)
        columns.append(k * nz + state + _SPEEDS)
        i, j = np.divmod(self._dense, STATES)
        rows.append(k[1:] * per + i)
        columns.append(k[:-1] * nz + state + j)
        _, i, j, _ = self._reached
        rows.append(k * per + i)
        columns.append(k * nz + j)
        start = layout.inputs
        if layout.turning:
            for pair in (0, 1):
                rows.append(k * per + 7 + pair)
                columns.append(k * nz + start + pair)
                rows.append(np.broadcast_to(k[1:] * per + 7 + pair, (K - 1, 2)))
                columns.append(k[:-1] * nz + state + self._reset_rows[pair])
        if layout.third:
            own, row = state - 1, per - 1
            rows += [k * per + row, k[1:] * per + row]
            columns += [k * nz + own, k[:-1] * nz + own]
        return rows, columns

    def _reached_places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Return of what wrenches do in a sample (`Stages.reach`) the places in it, rows, columns and factors."""
        layout, scales = self.layout, self.scales
        units = np.concatenate((-scales.state, [scales.weight, -scales.state[4]]))
        taken, start = [(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0))], 0
        for slot, (width, *_) in enumerate(layout.slots):
            i, j = np.nonzero(_REACHED[: STATES + 1 + layout.third, 6 - width :])
            component = j + 6 - width
            place = (slot * (STATES + 2) + i) * 6 + component
            row = np.where(i > STATES, layout.rows - 1, i)
            taken.append((place, row, start + j, scales.wrench[component] / units[i]))
            start += width
        place, row, column, factor = (np.concatenate(parts) for parts in zip(*taken, strict=True))
        return place, row, column, factor

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
        self._pull = -h[:, -STATES:] / sx
        self.qp.write_weights(h.ravel())
        self.weighed_for = np.array(masses)

    def write(self, window: PreviewWindow, reach: FloatArray, force: FloatArray) -> None:
        """Write the numbers of a window.

        `reach` (K, S, 8, 6) says what the wrench of each slot does (`Stages.reach` about the path), `force` (K,) what
        all bear along the privileged axis, N.
        """
        layout, sx = self.layout, self.scales.state
        K, samples, stages = layout.count, window.samples, window.stages
        A, C = stages.A, stages.C
        if len(window.resets):
            A, C = A @ window.E, C + (A @ window.e[..., None])[..., 0]
        A, C = A * (sx / sx[:, None]), C / sx
        # A place less half the sample times its speed: forces cancel, a fifth of E is not there, and nothing is lost.
        half = samples.durations[:, None] / 2
        A[:, 0:4:2] -= half[..., None] * A[:, 1:4:2]
        C[:, 0:4:2] -= half * C[:, 1:4:2]
        own, states, pushed = self._parts[1:4]
        own[:] = -half
        np.negative(A.reshape(K, STATES * STATES)[1:].take(self._dense, 1, mode="clip"), out=states)
        place, *_, factor = self._reached
        wrench = reach.reshape(K, reach.shape[1] * (STATES + 2) * 6)
        np.multiply(wrench.take(place, 1, mode="clip"), factor, out=pushed)
        e = self.qp.e.reshape(K, len(self.qp.e) // K)
        e[:, :STATES], e[:, STATES] = C, force / self.scales.weight
        e[0, :STATES] += A[0] @ (window.start / sx)
        flying = np.flatnonzero(~window.held.any(axis=1))
        if len(flying):
            e[flying, STATES] = 0.0
            pushed[flying[:, None], self._normal] = 1.0
        if layout.turning:
            self._turn(window, e)
        if layout.third:
            known = samples.moment
            if samples.pointed.any():
                known = known - np.cross(window.middles, samples.pointed)
            e[:, -1] = samples.durations * (samples.W[:, 2] * known).sum(axis=1) / sx[4]
            e[0, -1] += float(samples.W[0, 2] @ window.spin) / sx[4]
        self.qp.write_equations(self._values)
        np.multiply(self._pull, window.reference, out=self._steered)

    def _turn(self, window: PreviewWindow, e: FloatArray) -> None:
        """Rows that want position and velocity along the new axis to be what is prescribed there."""
        s = window.samples
        sx, turns = self.scales.state, window.turns
        for pair, known in ((0, s.height), (1, s.speed)):
            rows, own = self._parts[5 + 2 * pair], self._reset_rows[pair]
            rows[:] = e[:, 7 + pair] = 0.0
            for k in np.flatnonzero(turns):
                Q, at = s.W[k, 2] @ s.W[k - 1].T, window.axis_changes[int(k)]
                rows[k - 1] = Q[:2] * at.gain[own] * sx[own] / s.masses[k]
                e[k, 7 + pair] = known[k] - Q[2] * at[2 + pair] - Q[:2] @ at.shift[own] / s.masses[k]

    def cones(self, index: NDArray[np.intp], tables: Sequence[FloatArray]) -> None:
        """Write the rows of the contacts in the slots, and their lower bounds; nothing if `index` is that of before.

        `tables` holds for each slot what stands at its places and the bounds (n + 1, nnz + rows), one line a contact;
        the last, reached by the index -1, is that of an empty slot. Rows are the smaller the
        more contacts the sample has: PIQP takes up to a tenth fewer steps.
        """
        if index is self._index:
            return
        self._index, held = index, (index >= 0).sum(axis=1, keepdims=True)
        share = 0.5 / np.maximum(held, 1.0) ** 1.5
        values, bounds = [np.zeros(0)], [np.zeros((self.layout.count, 0))]
        for i, (slot, table) in enumerate(zip(self.layout.slots, tables, strict=True)):
            numbers = share * table[index[:, i]]
            values.append(numbers[:, : -slot.rows].ravel())
            bounds.append(numbers[:, -slot.rows :])
        self.qp.write_inequalities(np.concatenate(values))
        self.qp.low[:] = np.concatenate(bounds, axis=1).ravel()

    def wrenches(self, x: FloatArray) -> FloatArray:
        """Return the wrenches (K, S, 6), SI, of a solution; what empty slots have is without effect."""
        count, slots = self.layout.count, len(self.layout.slots)
        result = np.zeros((count, slots * 6))
        result[:, self._components] = x.reshape(count, len(x) // count)[:, : len(self._units)] * self._units
        return result.reshape(count, slots, 6)

    def compare_solvers(self, solution: QpSolution, other: QpSolver) -> CrossCheck:
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
