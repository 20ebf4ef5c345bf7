"""Crossing: how the instant of an event, and the state after it, change with the state before it and the numbers.

With x-(t) the state before, S- = dx-/dz, g(t, x, q) the margin that reaches zero and x+ = R(t, x-, q) what follows,

    dt*/dz = -(g_x S- + g_q q_z) / (g_t + g_x f-),    T = S- + f- dt*/dz,
    S+ = R_x T + R_q q_z + R_t dt*/dz - f+ dt*/dz,

the saltation matrix (Aizerman & Gantmakher 1958; Kong et al. 2024). R is what the simulation does at the event, all of
it, and its derivative along T is taken by differences; T lies on the event's surface, so R stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.law import Ending
from trundle.contact.laws import LAWS, SEPARATED
from trundle.errors import InputError, SimulationError
from trundle.models.numbers.changed import at_values
from trundle.models.tree.approach import refine_approach
from trundle.models.tree.system import ContactSystem
from trundle.simulate.compiled_mode import project_state
from trundle.simulate.events import Event, EventHandler, HybridState
from trundle.simulate.events.patches import landing_feature, landing_with
from trundle.simulate.phase import MotionPhase
from trundle.simulate.phases import phase_of
from trundle.simulate.record.log import Leg
from trundle.simulate.sensitivity.trace import Directions, Trace
from trundle.status import Status

_STEP = 1e-5
"""Step of a difference in parts of the sizes of what changes: its square and round-off over it are below 1e-9."""
_GRAZES = 1e-9
"""Rate of a margin, in parts of what it is made of, at which an event only touches zero."""
_TOGETHER, _FORCES = 1e-9, ("normal_force", "friction")
"""Margin (m, m/s, or weights) within which an event is at zero."""


class Crossings:
    """The events of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.system = trace, trace.system
        self._boards: dict[bytes, EventHandler] = {}
        self._inputs = np.zeros(0)
        self._length = min((p.shape_A.reference_length for p in self.system.contact_pairs), default=1.0)

    def rate(self, leg: Leg, t: float, x: FloatArray) -> FloatArray:
        """Return x' (n_x,) in the mode of a leg."""
        return np.asarray(leg.phase.integrator.system.rate(t, x, leg.p)).ravel()

    def start(self, along: Directions) -> FloatArray:
        """Return the change (n_x, m) of the state a run begins with: numbers move it with the constraints it is on."""
        begin, found = self.trace.legs[0].begin, along.start.copy()
        if not any(LAWS[law].touching for law in begin.mode.laws) and not self.system.model().loops:
            return found
        for j in np.flatnonzero(np.any(along.numbers != 0.0, axis=0)):

            def begin_moved(step: float, j: int = int(j)) -> FloatArray:
                board = self._board(self.trace.values + step * along.numbers[:, j])
                phase = board.phase_of(begin.mode)
                return _onto(phase, begin, begin.x, phase.parameters(self.trace.legs[0].p[: phase.input_count]))

            found[:, j] = self._slope(begin_moved, np.zeros(1), along.numbers[:, j], 0.0)
        return found

    def time(self, leg: Leg, S: FloatArray, Q: FloatArray) -> FloatArray:
        """Return dt*/dz (m,) of the event that ends a leg, from S (n_x, m) before it and dp/dz (n_p, m)."""
        by_state, by_p = self.instant(leg)
        return by_state @ S + by_p @ Q

    def instant(self, leg: Leg) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the instant of the event that ends a leg, by x- (n_x,) and by p (n_p,)."""
        t, x = leg.done.t_end, leg.done.x_end
        if landing_with(self.system, leg.phase, t, x, leg.p, self._landing(leg)):
            raise SimulationError(f"at {t:.6g} s two events are one: no derivative", Status.JAMMED)
        by_time, by_state, by_p = self._gradient(leg)
        rate = self.rate(leg, t, x)
        speed = by_time + float(by_state @ rate)
        if not abs(speed) > _GRAZES * (abs(by_time) + float(np.abs(by_state) @ np.abs(rate))):
            raise SimulationError(f"at {t:.6g} s an event only touches zero: no derivative", Status.NOT_CONVERGED)
        return -by_state / speed, -by_p / speed

    def refuse_two(self, leg: Leg) -> None:
        """Refuse an event that follows at once only because two things reach zero together: which is first may change.

        One whose margin is below zero follows from what went before.
        """
        end = leg.event
        name = f"{self.system.contact_pairs[end.contact].contact}.{end.margin}"
        value = leg.phase.margin_values(leg.begin.t, leg.begin.x, leg.p).get(name, 0.0)
        if not value < -_TOGETHER * (self.trace.runner.board.weight if end.margin in _FORCES else 1.0):
            raise SimulationError(f"at {leg.begin.t:.6g} s two events are one: no derivative", Status.JAMMED)

    def _gradient(self, leg: Leg) -> tuple[float, FloatArray, FloatArray]:
        """Return the gradient by t, x (n_x,) and p (n_p,) of the margin that ends a leg."""
        t, x, p, end = leg.done.t_end, leg.done.x_end, leg.p, leg.event
        n = len(x)
        charts = end.charts
        if end.coordinates is None or charts is None:
            name = f"{self.system.contact_pairs[end.contact].contact}.{end.margin}"
            if leg.done.event is None and name not in leg.phase.margins:
                # Whole shapes touch, of which one corner, edge or face lands.
                return self._of_gap(leg, leg.begin.mode.atlas, self._landing(leg), x)
            name = name if leg.done.event is None else leg.phase.margins[leg.done.event]
            slopes = np.asarray(self._margin(leg.phase, name)(t, x, p)).ravel()
            return float(slopes[0]), slopes[1 : n + 1], slopes[n + 1 :]
        atlas = tuple(charts if i == end.contact else old for i, old in enumerate(leg.begin.mode.atlas))
        where = self.system.model(atlas).layout[f"{self.system.contact_pairs[end.contact].contact}.coordinates"]
        at = np.array(x)
        at[where] = end.coordinates
        by_time, by_state, by_p = self._of_gap(leg, atlas, end.contact, at)
        by_state[where] = 0.0  # nearest points: the gap does not change with where they are
        return by_time, by_state, by_p

    def _landing(self, leg: Leg) -> int:
        """Return the contact that lands at the end of a leg, where that is a landing; else that of its event."""
        end = leg.event
        if LAWS[leg.begin.mode.laws[end.contact]].ending(end.margin) is not Ending.LANDS:
            return end.contact
        return landing_feature(self.system, leg.phase, leg.done.x_end, end.contact)

    def _of_gap(
        self, leg: Leg, atlas: tuple[tuple[int, int], ...], contact: int, x: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the gradient by t, x (n_x,) and p (n_p,) of the gap of a contact at the state `x`."""
        slopes = np.asarray(self._gap(atlas, contact)(x, self.trace.values)).ravel()
        n, first, by_p = len(x), leg.phase.input_count, np.zeros(len(leg.p))
        by_p[first : first + len(self.trace.values)] = slopes[n:]
        return 0.0, slopes[:n].copy(), by_p

    def _margin(self, phase: MotionPhase, name: str) -> ca.Function:
        system, index = phase.fused.equations, phase.fused.margins.index(name)

        def build() -> ca.Function:
            """Return (t, x, p) -> the gradient of the margin."""
            if system.margins is None:
                raise InputError("phase", phase.mode, "one with margins")
            t, x, p = ca.SX.sym("t"), ca.SX.sym("x", system.size), ca.SX.sym("p", system.parameter_count)
            slope = ca.gradient(system.margins(t, x, p)[index], ca.vertcat(t, x, p))
            return ca.Function("slope", [t, x, p], [ca.densify(slope)])

        return self.system.share(("slope", phase.mode, phase.held, phase.method.end_speed, name), build)

    def _gap(self, atlas: tuple[tuple[int, int], ...], contact: int) -> ca.Function:
        def build() -> ca.Function:
            """Return (x, numbers) -> the gradient of the gap, whose coordinates follow the surfaces."""
            model = self.system.expressions(atlas)
            numbers = ca.SX(0, 1) if self.system.free is None else self.system.free.symbols
            gap = model.terms([SEPARATED] * len(model.constraints)).kin[contact].distance
            # Coordinates that are points of a surface follow it.
            s = ca.vertcat(*(one.contact.restore(one.s) for one in model.constraints))
            followed = ca.Function("gap", [model.x, numbers], [gap])(model.replace_contacts(s, model.nu), numbers)
            slope = ca.gradient(followed, ca.vertcat(model.x, numbers))
            return ca.Function("slope", [model.x, numbers], [ca.densify(slope)])

        return self.system.share(("gap slope", atlas, contact), build)

    def after(
        self, leg: Leg, following: Leg, T: FloatArray, Q: FloatArray, time: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the change (n_x, m) of the state, and that of the directions of slips that begin (contacts d, m).

        Both at the instant of the event that ends a leg, from `T` before it.

        ``Q`` (n_p, m): of the parameters p; ``time`` (m,): of the instant.
        """
        end, size = leg.event, leg.begin.onsets.size
        first, n = leg.phase.input_count, len(self.trace.values)
        ending = LAWS[leg.begin.mode.laws[end.contact]].ending(end.margin)
        if ending is Ending.SEPARATES and np.array_equal(following.begin.x, leg.done.x_end):
            return T, Q[first + n : first + n + size]
        found = np.zeros((len(T) + size, T.shape[1]))
        for j in range(T.shape[1]):

            def reset(step: float, j: int = j) -> FloatArray:
                p = leg.p + step * Q[:, j]
                t, x = leg.done.t_end + step * time[j], leg.done.x_end + step * T[:, j]
                return self._reset(leg, following, t, x, p)

            found[:, j] = self._slope(reset, T[:, j], Q[first : first + n, j], float(time[j]))
        return found[: len(T)], found[len(T) :]

    def _slope(
        self, value: Callable[[float], FloatArray], state: FloatArray, numbers: FloatArray, time: float
    ) -> FloatArray:
        """Return the derivative of `value` by a step along a change of state, numbers and time."""
        scale = np.where(self.trace.values == 0.0, 1.0, np.abs(self.trace.values))
        size = max(
            float(np.abs(state).max(initial=0.0)) / min(1.0, 10.0 * self._length),
            float(np.max(np.abs(numbers) / scale, initial=0.0)),
            abs(time),
        )
        if size == 0.0:
            return 0.0 * value(0.0)
        step = 10.0 ** np.floor(np.log10(_STEP / size))  # few different ones: models of other numbers are kept
        return (value(step) - value(-step)) / (2.0 * step)

    def _reset(self, leg: Leg, following: Leg, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return what follows the event of a leg at another state, on the constraints before and after it.

        The state, then the directions of slips that begin.
        """
        inputs, values, onsets, _ = np.split(p, self._parts(leg))
        board, self._inputs = self._board(values), inputs
        before = board.phase_of(leg.begin.mode)
        now = replace(leg.begin, t=t, onsets=onsets.reshape(leg.begin.onsets.shape))
        if leg.done.t_end > leg.begin.t:
            now = replace(now, unarmed=frozenset())
        now = replace(now, x=_onto(before, now, x, before.parameters(inputs, now.onsets)))
        end = _refine_event(board.system, now, leg.event)
        found = board.next(now, end, before)[0]
        if not isinstance(found, HybridState) or found.mode != following.begin.mode:
            low = board.without_bounce(now, end)
            found = found if low is None else low
        if not isinstance(found, HybridState) or found.mode != following.begin.mode:
            raise SimulationError(f"at {t:.6g} s a small change leads to another mode: no derivative", Status.JAMMED)
        after = board.phase_of(found.mode)
        p = after.parameters(inputs, found.onsets)
        return np.concatenate([_onto(after, found, found.x, p), found.onsets.ravel()])

    def _parts(self, leg: Leg) -> list[int]:
        """Return where in p the free numbers, the directions of slips and the signs begin."""
        sizes = leg.phase.input_count, len(self.trace.values), leg.begin.onsets.size
        return np.cumsum(sizes).tolist()

    def _board(self, values: FloatArray) -> EventHandler:
        key = values.tobytes()
        if key not in self._boards:
            system = at_values(self.system, values) if np.any(values != self.trace.values) else self.system
            held, method = self.trace.runner.policy is not None, self.trace.runner.method
            self._boards[key] = EventHandler(
                system,
                lambda mode: phase_of(system, mode, held, method),
                lambda t: self._inputs,
                lambda name, value: None,
            )
        return self._boards[key]


def _refine_event(system: ContactSystem, now: HybridState, end: Event) -> Event:
    """Return an event with the coordinates of the nearest points at the state `now`, where it has such."""
    if end.coordinates is None or end.charts is None:
        return end
    found = refine_approach(system, now.mode.atlas, now.x, end.contact, end.coordinates, end.charts)
    return end if found is None else replace(end, coordinates=found.coordinates, charts=found.charts)


def _onto(phase: MotionPhase, now: HybridState, x: FloatArray, p: FloatArray) -> FloatArray:
    """Return a state near the constraints of a mode on them."""
    for _ in range(2):
        x = project_state(phase, now.t, x, p)
    return x
