"""Preview control: the motion of the centre of mass that contacts ahead can bear, as one linear-quadratic program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray, array, integer, non_negative, number, positive
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.numerics.qp.qp import QpSolution, QpSolver
from trundle.parameters import Checked, NonNegative, Positive, Range, parameter
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState, projection_frame
from trundle.systems.multicontact.centroidal.forecast import Forecast, align_grid
from trundle.systems.multicontact.centroidal.samples import STATES
from trundle.systems.multicontact.preview.plan import PreviewPlan, momenta, roll_states, row_sizes
from trundle.systems.multicontact.preview.program import Layout, PreviewProgram, ProgramScales, Slot
from trundle.systems.multicontact.preview.window import PreviewWindow, ReferencePath, make_window, slots_of
from trundle.threads import PerThread

GRID = tuple([0.05] * 6 + [0.15] * 6 + [0.225] * 8)
"""Durations (s) of 20 samples over 3 s that walked a robot: fine at first."""


Pair = Annotated[tuple[float, float], Range("2 numbers, each from 0 to 1e12", minimum=0.0)]


@dataclass(frozen=True)
class PreviewWeights(Checked):
    """Prices of half squares.

    Of position (1/m2), velocity (s2/m2), the two components of the angular momentum across the privileged axis
    (1/(kg m2/s)2), contact forces (1/N2) and moments (1/(N m)2). The two axes across it are the first two rows of
    `projection_frame`: x and y of the world where it is the way up.

    The angular momentum wants a weight near 1: with 1e-3 a robot that re-plans from its measured state fell, because
    plans spent angular momentum that a body cannot deliver.

    Examples
    --------
    >>> PreviewWeights(position=50.0).velocity
    3.0
    """

    position: NonNegative = parameter(30.0, "weight, 1/m^2")
    velocity: NonNegative = parameter(3.0, "weight, s^2/m^2")
    angular_momentum: NonNegative = parameter(1.0, "weight, 1/(kg m^2/s)^2")
    third: NonNegative = parameter(1.0, "weight, 1/(kg m^2/s)^2, of its component along the privileged axis")
    force: Positive = parameter(1e-7, "weight, 1/N^2")
    moment: Positive = parameter(1e-5, "weight, 1/(N m)^2")
    axes: Pair = parameter((1.0, 1.0), "factors of position and velocity, of the first and the second axis")
    momentum_axes: Pair = parameter((1.0, 1.0), "factors of angular_momentum about these two axes")


class Preview:
    """Preview control of a centroidal model (final): one program a call, its pattern kept from call to call.

    Threads may share one: each keeps patterns and solvers of its own.

    Over K samples, wrenches w held in each,

        minimise 1/2 sum_k |x_k - xbar_k|^2_Wx + |w_k|^2_Wu   subject to   the exact samples of the model,
        sum_i w3.f_i = F3_k,  every wrench in its cone

    with motion and force along the privileged axis w3 prescribed, which makes the model linear (paper 3, (7)-(11)).

    Parameters
    ----------
    model : Centroidal
        Its mass holds until the first `MassChange` of the forecast.
    durations : (K,) s
    axis : (3,)
        Privileged axis, world; the way up unless said.
    weights : PreviewWeights
    least_normal_force : float, N
        Of every contact that holds.
    pull : float, 1/s
        How fast a difference of the measured height from the path's dies out.
    align : bool
        Move borders of samples onto the instants at which the forecast changes (`forecast.align_grid`).
    accuracy, max_iterations
        Of the solver, in scaled unknowns.
    check : str, optional
        A second solver, such as "clarabel", that solves every program again: see `PreviewPlan.checked`.
        For tests and measurements: it costs more than the plan.

    Examples
    --------
    >>> import numpy as np
    >>> from trundle.contact.patch import FlatPatch, PlacedPatch
    >>> from trundle.systems.multicontact.centroidal.forecast import Forecast, Held
    >>> from trundle.systems.multicontact.preview.paths import PointPath
    >>> sole = FlatPatch.rectangle(0.2, 0.1, friction=0.7)
    >>> feet = [Held(PlacedPatch(name, sole, (0.0, y, 0.0))) for name, y in (("left", 0.1), ("right", -0.1))]
    >>> preview = Preview(Centroidal(30.0))
    >>> path = PointPath([0.0, 1.0], [(0, 0, 0.8), (0, 0.05, 0.8)])
    >>> plan = preview(0.0, CentroidalState((0, 0, 0.8)), Forecast(feet), path)
    >>> plan.status.label, bool(abs(plan.position[-1, 1] - 0.05) < 0.01)
    ('success', True)
    """

    def __init__(
        self,
        model: Centroidal,
        durations: ArrayLike = GRID,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        weights: PreviewWeights | None = None,
        least_normal_force: float = 0.0,
        pull: float = 6.0,
        align: bool = True,
        accuracy: float = 1e-7,
        max_iterations: int = 60,
        check: str | None = None,
    ) -> None:
        if not isinstance(model, Centroidal):
            raise InputError("model", model, "a Centroidal")
        self.model = model
        self.durations = array("durations", durations, (None,), above=0.0, unit="s")
        if not len(self.durations):
            raise InputError("durations", durations, "at least one sample (s)")
        self.axis = array("axis", axis, (3,))
        self.weights = weights or PreviewWeights()
        self.least = non_negative("least_normal_force", least_normal_force, "N")
        self.pull = number("pull", pull, minimum=0.0, unit="1/s")
        self.align = bool(align)
        self.accuracy = positive("accuracy", accuracy)
        self.max_iterations = integer("max_iterations", max_iterations, minimum=1)
        self._second = None if check is None else QpSolver(check)
        self._fallback = QpSolver("clarabel")
        self._frames = np.broadcast_to(projection_frame(self.axis), (len(self.durations), 3, 3))
        self._grid = np.concatenate(([0.0], np.cumsum(self.durations)))
        self._scales = ProgramScales.of(model.mass, float(np.linalg.norm(model.gravity)))
        self._memory = PerThread(_Memory)

    def __call__(self, time: float, state: CentroidalState, forecast: Forecast, path: ReferencePath) -> PreviewPlan:
        """Return the plan from the measured `state` at `time` (s); `path` is what the centre of mass should follow.

        Nothing is raised for a program without a solution: see `PreviewPlan.status`.

        Raises
        ------
        InputError
            For inputs of the wrong kind, size, or with NaN.
        """
        window = self.window(time, state, forecast, path)
        known = self._look(forecast)
        index = known.index(window.held)
        places = known.positions[index] - window.origin
        reach = window.stages.reach(places, known.rotations[index], window.middles)
        solution, program = self._solve_window(window, known, index, reach)
        plan = self._make_plan(state, window, known, reach, solution, program)
        return replace(plan, checked=program.compare_solvers(solution, self._second)) if self._second else plan

    def window(self, time: float, state: CentroidalState, forecast: Forecast, path: ReferencePath) -> PreviewWindow:
        """Return the samples, resets and references of a window: what the program is made of."""
        if not isinstance(state, CentroidalState) or not isinstance(forecast, Forecast):
            wrong = ("state", state, "a CentroidalState") if isinstance(forecast, Forecast) else None
            raise InputError(*(wrong or ("forecast", forecast, "a Forecast")))
        borders = number("time", time, unit="s") + self._grid
        within = _SHORTEST * float(self.durations.min())
        if self.align:
            borders = align_grid(borders, self._look(forecast).changes, within)
        first = (self.model.mass, self._frames)
        return make_window(borders, state, forecast, path, first, self.model.gravity, self.pull, within)

    @property
    def _programs(self) -> dict[Layout, PreviewProgram]:
        return self._memory().programs

    def _look(self, forecast: Forecast) -> _Known:
        memory = self._memory()
        if memory.known is None or memory.known.forecast is not forecast:
            memory.known = _Known(forecast, self._scales, self.least)
        return memory.known

    def _solve_window(
        self, window: PreviewWindow, known: _Known, index: NDArray[np.intp], reach: FloatArray
    ) -> tuple[QpSolution, PreviewProgram]:
        """Solve with the prescribed force, or the nearest that contacts bear, by PIQP; where it fails by Clarabel."""
        program = self._program(known, window)
        program.cones(index, known.tables)
        program.write(window, reach, known.bearable(window))
        solution = program.qp.solve()
        if solution.status in (Status.SUCCESS, Status.NOT_FINITE):
            return solution, program
        return program.qp.solved_by(self._fallback), program

    def _program(self, known: _Known, window: PreviewWindow) -> PreviewProgram:
        programs, masses, turning = known.programs, window.samples.masses, bool(window.turns.any())
        if turning not in programs:
            third = self.weights.third > 0.0 and not turning
            layout, kept = Layout(len(self.durations), known.slots, turning, third), self._programs
            if layout not in kept:
                kept[layout] = PreviewProgram(layout, self._scales, self.accuracy, self.max_iterations)
            programs[turning] = kept[layout]
        program = programs[turning]
        if program.weighed_for is None or (program.weighed_for != masses).any():
            w = self.weights
            (a, b), pair = w.axes, np.array([w.position, w.velocity])
            state = np.concatenate((a * pair, b * pair, w.angular_momentum * np.array(w.momentum_axes)))
            program.weigh(state, np.array([w.moment] * 3 + [w.force] * 3), w.third, masses)
        return program

    def _make_plan(
        self,
        state: CentroidalState,
        window: PreviewWindow,
        known: _Known,
        reach: FloatArray,
        solution: QpSolution,
        program: PreviewProgram,
    ) -> PreviewPlan:
        contacts, K = known.contacts, len(self.durations)
        wrenches = np.zeros((K, len(contacts), 6))
        if solution.status is not Status.SUCCESS:
            wrenches[:] = np.nan
            nothing = np.full((K + 1, 6), np.nan)
            arrays = (wrenches, nothing, nothing[:-1], nothing[:, :3], nothing[:-1, :3])
            return PreviewPlan(window.borders, contacts, *arrays, solution.status, {}, solution, window)
        found = program.wrenches(solution.x)
        k, slot, contact = known.places
        wrenches[k, contact] = found[k, slot]
        gains = (reach @ found[..., None])[..., 0].sum(axis=1)
        states, starts = roll_states(window, gains[:, :STATES])
        momentum = momenta(window, states, starts, gains, state.angular_momentum)
        given_up = self._given_up(window, gains[:, STATES], program, solution)
        status = Status.LIMITS_RELAXED if given_up else Status.SUCCESS
        return PreviewPlan(
            window.borders, contacts, wrenches, states, starts, *momentum, status, given_up, solution, window
        )

    def _given_up(
        self, window: PreviewWindow, along: FloatArray, program: PreviewProgram, solution: QpSolution
    ) -> dict[str, float]:
        """Return what was prescribed and is missed, recomputed from the wrenches; empty if nothing is."""
        missed = np.abs(along - window.samples.privileged_force).max()
        found = {"privileged_force": float(missed)} if missed > _MET * self._scales.weight else {}
        if program.layout.turning:
            misses = np.abs(program.slacks(solution.x)[:, -2:]).max(axis=0)
            names = ("axis_position", "axis_velocity")
            found |= {name: float(m) for name, m in zip(names, misses, strict=True) if m > _MET}
        return found


_MET = 1e-5
"""A prescribed value is met within this part of the weight, or this many m and m/s."""
_SHORTEST = 0.02
"""Changes so near to another, in shortest samples of the grid, are one."""
_POINT = 3.0
"""Rows of a point's cone are scaled by this: with a walker's hand PIQP takes an eighth fewer steps."""
INSIDE = 1e-4
"""A force that contacts cannot bear is moved this part of the weight into what they can: a cone's tip is no place."""


class _Memory:
    """What a thread's calls of a `Preview` leave for its next ones."""

    def __init__(self) -> None:
        self.programs: dict[Layout, PreviewProgram] = {}
        self.known: _Known | None = None


class _Known:
    """A forecast as arrays, with what a program needs of its contacts: made once a forecast."""

    def __init__(self, forecast: Forecast, scales: ProgramScales, least: float) -> None:
        self.forecast, self.changes, self.scales, self.least = forecast, forecast.changes, scales, least
        self.contacts: tuple[PlacedPatch, ...] = tuple(item.contact for item in forecast.contacts)
        self.rows = []
        for contact in self.contacts:
            scaled = contact.patch.rows * scales.wrench / scales.weight
            scaled = (scaled / row_sizes(scaled, 1.0)[:, None])[:, 3 if contact.patch.is_point else 0 :]
            # That the normal force, the first row, is not negative follows from the others.
            self.rows.append(scaled if least > 0 else scaled[1:])
        shapes = [part.shape for part in self.rows]
        sizes = sorted(set(shapes), key=lambda shape: (shape[1], shape[0]), reverse=True)
        self.kinds = np.array([sizes.index(shape) for shape in shapes], dtype=int)
        most = _most_at_once(forecast, self.kinds, len(sizes))
        self.slot_kinds = tuple(kind for kind, count in enumerate(most) for _ in range(count))
        tables = [self._table(size[0], size[1], least / scales.weight) for size in sizes]
        self.slots = tuple(tables[kind][0] for kind in self.slot_kinds)
        self.tables = [tables[kind][1] for kind in self.slot_kinds]
        # The last entry, reached by the index -1, stands for an empty slot: nothing is turned into anything.
        self.positions = np.concatenate((forecast.positions, np.zeros((1, 3))))
        self.rotations = np.concatenate((forecast.rotations, np.zeros((1, 3, 3))))
        rays = [contact.patch.generators[3:, :4] for contact in self.contacts]
        self._rays = np.array([c.R_world_patch @ ray / ray[2] for c, ray in zip(self.contacts, rays, strict=True)])
        self._borne: tuple[FloatArray, FloatArray] | None = None
        self._held: NDArray[np.bool_] | None = None
        self._index: NDArray[np.intp] | None = None
        self._ends: tuple[FloatArray, FloatArray] | None = None
        self.places: tuple[NDArray[np.intp], ...] = ()
        """Sample, slot and contact of all slots that the last index fills."""
        self.programs: dict[bool, PreviewProgram] = {}

    def index(self, held: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return `slots_of` for contacts held (K, n), that of the last call if nothing has changed."""
        if self._held is None or self._index is None or (held != self._held).any():
            self._held, self._index, self._ends = held, slots_of(held, self.kinds, self.slot_kinds), None
            k, slot = (self._index >= 0).nonzero()
            self.places = k, slot, self._index[k, slot]
        return self._index

    def bearable(self, window: PreviewWindow) -> FloatArray:
        """Return the force (K,), N, along the privileged axis: what is prescribed, or the nearest that contacts bear.

        Cones have no end, so the contacts of a sample bear all forces above a least, below a largest, or all there are.
        """
        wanted = window.samples.privileged_force
        if not len(self._rays):
            return wanted
        if self._ends is None or self.forecast.axes:
            self._ends = self._force_range(window)
        (low, high), into = self._ends, INSIDE * self.scales.weight
        return np.where(wanted < low, low + into, np.where(wanted > high, high - into, wanted))

    def _force_range(self, window: PreviewWindow) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest of these forces (K,)."""
        if self._borne is None or self.forecast.axes:
            axes = window.samples.W[: None if window.turns.any() else 1, 2]  # where none turns one is enough
            along = np.tensordot(axes, self._rays, (1, 1))
            least, most = along.min(axis=2), along.max(axis=2)
            free = np.where(least < 0, -np.inf, self.least * least), np.where(most > 0, np.inf, self.least * most)
            self._borne = free
        low, high = (np.where(window.held, part, 0.0).sum(axis=1) for part in self._borne)
        return low, high

    def _table(self, height: int, width: int, least: float) -> tuple[Slot, FloatArray]:
        """Return the slot of cones of this shape, and coefficients and lower bounds of each contact and of none.

        The slot's places are where any of these cones is not zero: a solver has a third less to multiply.
        """
        fitting = [i for i, part in enumerate(self.rows) if part.shape == (height, width)]
        places = np.nonzero(np.any([self.rows[i] != 0.0 for i in fitting], axis=0))
        table = np.zeros((len(self.rows) + 1, len(places[0]) + height))
        coefficients, low = table[:, :-height], table[:, -height:]
        for i in fitting:
            coefficients[i] = self.rows[i][places]
        coefficients[-1] = coefficients[fitting[0]]
        low[:, 0], low[-1] = least, -1.0  # an empty slot lies well inside
        i, j = (tuple(place.tolist()) for place in places)
        return Slot(width, height, (i, j)), (_POINT if width == 3 else 1.0) * table


def _most_at_once(forecast: Forecast, kinds: NDArray[np.intp], count: int) -> list[int]:
    """Return how many contacts of each kind hold at once at most; the number changes only where a contact starts."""
    starts = np.unique(np.append(forecast.spans[:, 0], -np.inf))
    held = forecast.held(starts)
    return [int(held[:, kinds == kind].sum(axis=1).max(initial=0)) for kind in range(count)]
