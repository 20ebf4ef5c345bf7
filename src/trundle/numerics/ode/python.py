"""The stepping loop of `ode_core.c` in Python over CasADi's virtual machine, where that core is not.

Same tableaus, same decisions, same order of operations; the results agree with those of C to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import SimpleNamespace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.interrupts import check, hold_interrupts, opened
from trundle.numerics.compiled.buffered import BufferedCall, dense
from trundle.numerics.ode.events import dip, first_zero
from trundle.numerics.ode.native import (
    ARMED,
    DONE,
    EVENT,
    NOT_FINITE,
    RUNNING,
    SLICE_SECONDS,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    UNWATCHED,
    WAITING,
)
from trundle.numerics.ode.system import OdeSystem
from trundle.numerics.ode.tableaus import Tableau

_HOPELESS = 1e6
"""Error over the tolerance of a step over something that is not smooth."""
_ROUGH = 10.0
"""Error over the tolerance up to which the dense output gives the samples."""
_WORST_AT, _ERROR_OF_SLOPE = 0.65, 1.0 / 7.0
"""Where in a step the slope of its dense output is worst, and the error of a state over that slope's, of a step."""
_CLOSE, _CLOSEST = 1.0 / 32.0, 1.0 / 1024.0
"""How far short of the zero of a margin a step ends, of the time to it: the second time it is known better."""


class _NotFiniteError(Exception):
    """A value became infinite or not a number."""


class PythonRun:
    """One integration in Python; parameters and results as `trundle.numerics.ode.native.NativeRun`."""

    def __init__(
        self,
        system: OdeSystem,
        method: Tableau,
        points: int,
        settings: dict[str, float],
        x0: FloatArray,
        p: FloatArray,
        absolute_tolerance: FloatArray,
        arming_tolerance: FloatArray,
        sample_times: FloatArray,
        armed: np.ndarray,
    ) -> None:
        n, m = len(x0), len(armed)
        self._method, self._points, self._set = method, points, SimpleNamespace(**settings)
        self._rate = _evaluator(system.rate, p)
        self._margins = (lambda t, x: np.zeros(0)) if system.margins is None else _evaluator(system.margins, p)
        self._projection = None if system.projection is None else _evaluator(system.projection, p)
        self._tolerance, self._arming, self._times = absolute_tolerance, arming_tolerance, sample_times
        self._armed = armed.copy()
        self._x, self._x_new = np.array(x0), np.array(x0)
        self._K = np.zeros((method.stages + 1 + method.extra, n))
        self._F = np.zeros((3 + len(method.D), n))
        self._g, self._g_trial = np.zeros((points + 2, m)), np.zeros(m)
        self._after_reject = self._approaches = self._near_zero = False
        self._pressed = 0
        self._h_last = self._error_last = 0.0
        self.arrays = {"samples": np.zeros((len(sample_times), n)), "x": self._x, "g_min": np.zeros(m)}
        self.state = SimpleNamespace(
            t=self._set.t0,
            h_next=self._set.step,
            steps=0,
            rejected=0,
            evaluations=0,
            reached=0,
            status=RUNNING,
            event=-1,
        )

    @hold_interrupts()
    def run(self, progress: Callable[[float], object] | None) -> bool:
        """Integrate to the end; False if the user interrupted."""
        state = self.state
        try:
            with np.errstate(all="ignore"):
                self._start()
                last_call = time.monotonic()
                while state.status == RUNNING:
                    self._advance()
                    if progress is not None and (
                        state.status != RUNNING or time.monotonic() - last_call > SLICE_SECONDS
                    ):
                        with opened():
                            progress(state.t)
                        last_call = time.monotonic()
                    if state.status == RUNNING:
                        check()
        except KeyboardInterrupt:
            return False
        except _NotFiniteError:
            state.status = NOT_FINITE
        return True

    def _start(self) -> None:
        state, settings = self.state, self._set
        if self._armed.size:
            self._g[0] = self._margin(state.t, self._x)
            self.arrays["g_min"][:] = self._g[0]
        self._emit(state.t, 0.0, True)
        at_zero = np.flatnonzero((self._armed == ARMED) & (self._g[0] <= 0.0))
        if at_zero.size:
            state.event, state.status = int(at_zero[0]), EVENT
        elif not settings.t1 > settings.t0:
            state.status = DONE
        else:
            self._K[0] = self._slope(state.t, self._x)
            if not settings.step > 0.0:
                first = settings.first_step
                first = min(first, settings.t1 - settings.t0) if first > 0.0 else self._starting_step()
                state.h_next = min(first, settings.max_step)

    def _advance(self) -> None:
        state, settings, exponent = self.state, self._set, self._method.error_exponent
        if state.steps + state.rejected >= settings.max_steps:
            state.status = TOO_MANY_STEPS
            return
        fixed, h = settings.step > 0.0, state.h_next
        if fixed:
            t_new = settings.t0 + (state.steps + 1) * settings.step
            last = t_new >= settings.t1 - 1e-9 * settings.step
        else:
            t_new = state.t + h
            last = state.t + 1.01 * h >= settings.t1
        if last:
            t_new, h = settings.t1, settings.t1 - state.t
        error, good = 0.0, True
        try:
            self._attempt(h)
            if not fixed:
                error = self._error(t_new, h)
            if error < 1.0:
                self._finish(t_new, not fixed and self._method.E[0, -1] != 0.0)
        except _NotFiniteError:
            good = False
        if not good or error >= 1.0:
            state.rejected += 1
            shorter = 0.0 if fixed else self._short_of_zero(h)
            self._near_zero |= shorter > 0.0
            self._approaches = shorter > 0.0
            least_part = 0.04 if self._after_reject and error > _HOPELESS else 0.2
            by_error = h * (max(least_part, 0.9 * error**-exponent) if good else 0.1)
            state.h_next = shorter if shorter > 0.0 else by_error
            self._after_reject = True
            if fixed or state.h_next < max(settings.min_step, 1.8e-15 * abs(state.t)):
                state.status = STEP_TOO_SMALL if good else NOT_FINITE
            return
        if not fixed:
            factor = self._growth(h, error)
            self._near_zero &= self._approaches
            self._approaches = False
            self._error_last = error
            state.h_next = min(max(state.h_next, h * factor) if last else h * factor, settings.max_step)
        self._accept(h, t_new)

    def _growth(self, h: float, error: float) -> float:
        """Return by what the step grows after one that is good: as ``growth`` in C."""
        exponent, rejected = self._method.error_exponent, self._after_reject
        factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error**-exponent)
        if rejected:
            factor = min(factor, 1.0)
        if self._pressed > 1 and error > 0.0 and self._error_last > 0.0:
            as_before = 0.8 * h / self._h_last * (self._error_last / error**2) ** exponent
            factor = min(factor, max(0.2, as_before))
        if rejected:
            self._pressed += 1
        elif self._pressed < 2 or factor >= 1.0:
            self._pressed = 0
        self._after_reject = False
        return factor

    def _short_of_zero(self, h: float) -> float:
        """Return most of the time in which a margin is about to reach zero, or 0: as ``short_of_zero`` in C."""
        count = self._points + 1
        part = self._h_last / count
        if self._approaches or count < 3 or not part > 0.0:
            return 0.0
        g, last, first = self._g[0], self._g[count - 1], self._g[count - 2]
        slope, bend = (3.0 * g - 4.0 * last + first) / (2.0 * part), (g - 2.0 * last + first) / part**2
        square = slope**2 - 2.0 * bend * g
        falls = (self._armed == ARMED) & (g > 0.0) & (slope < 0.0) & (square >= 0.0)
        soon = float(np.min(2.0 * g[falls] / (np.sqrt(square[falls]) - slope[falls]), initial=h))
        return soon * (1.0 - (_CLOSEST if self._near_zero else _CLOSE)) if soon < h else 0.0

    def _accept(self, h: float, t_new: float) -> None:
        state, dense, event, h_dense = self.state, False, -1, h
        if self._armed.size:
            event, h_event, h_dense, dense = self._watch(t_new, h)
            t_new = state.t + h_event if h_event < h else t_new
        self._emit(t_new, h_dense, dense)
        state.steps += 1
        self._h_last = h
        state.t = t_new
        self._x[:] = self._x_new
        self._K[0] = self._K[self._method.stages]
        self._g[0] = self._g[-1]
        if event >= 0:
            state.event, state.status = event, EVENT
        elif t_new >= self._set.t1:
            state.status = DONE

    # ---- the step

    def _slope(self, t: float, x: FloatArray) -> FloatArray:
        self.state.evaluations += 1
        return _finite(self._rate(t, x))

    def _project(self, t: float, x: FloatArray) -> FloatArray:
        return x if self._projection is None else _finite(self._projection(t, x))

    def _margin(self, t: float, x: FloatArray) -> FloatArray:
        g = self._margins(t, x)
        if np.any(np.isnan(g[self._armed != UNWATCHED])):
            raise _NotFiniteError
        return g

    def _attempt(self, h: float) -> None:
        method, K, t = self._method, self._K, self.state.t
        for i in range(1, method.stages):
            K[i] = self._slope(t + method.c[i] * h, self._x + h * (method.A[i, :i] @ K[:i]))
        self._x_new = _finite(self._x + h * (method.b @ K[: method.stages]))

    def _error(self, t_new: float, h: float) -> float:
        method, s = self._method, self._method.stages
        if method.E[0, s] != 0.0:
            self._K[s] = self._slope(t_new, self._x_new)
        scale = self._scale()
        sums = np.sum(((method.E @ self._K[: s + 1]) / scale) ** 2, axis=1)
        if len(sums) == 1:
            error = abs(h) * math.sqrt(sums[0] / len(scale))
        elif sums[0] == 0.0 and sums[1] == 0.0:
            error = 0.0
        else:
            error = abs(h) * sums[0] / math.sqrt((sums[0] + 0.01 * sums[1]) * len(scale))
        if not math.isfinite(error):
            raise _NotFiniteError
        return float(error)

    def _scale(self) -> FloatArray:
        return self._tolerance + self._set.relative_tolerance * np.maximum(np.abs(self._x), np.abs(self._x_new))

    def _finish(self, t_new: float, have_rate: bool) -> None:
        self._x_new = self._project(t_new, self._x_new)
        if not have_rate or self._projection is not None:
            self._K[self._method.stages] = self._slope(t_new, self._x_new)

    def _densify(self, h: float) -> None:
        method, K, s = self._method, self._K, self._method.stages
        for i in range(method.extra):
            row = s + 1 + i
            x = self._x + h * (method.A_extra[i, :row] @ K[:row])
            K[row] = self._slope(self.state.t + method.c_extra[i] * h, x)
        delta = self._x_new - self._x
        self._F[0] = delta
        self._F[1] = h * K[0] - delta
        self._F[2] = 2.0 * delta - h * (K[s] + K[0])
        self._F[3:] = h * (method.D @ K)

    def _interpolate(self, theta: float, t: float) -> FloatArray:
        value = np.zeros_like(self._x)
        for r in range(len(self._F) - 1, -1, -1):
            value = (value + self._F[r]) * (theta if r % 2 == 0 else 1.0 - theta)
        return self._project(t, self._x + value)

    def _dense_error(self, h: float) -> float:
        """Return the error of the dense output over the tolerance, between the ends of a step: as in C."""
        t, slope, value = self.state.t + _WORST_AT * h, np.zeros_like(self._x), np.zeros_like(self._x)
        try:
            rate = self._slope(t, self._interpolate(_WORST_AT, t))
        except _NotFiniteError:
            return math.inf
        for r in range(len(self._F) - 1, -1, -1):
            factor, sign = (_WORST_AT, 1.0) if r % 2 == 0 else (1.0 - _WORST_AT, -1.0)
            value += self._F[r]
            slope = slope * factor + sign * value
            value *= factor
        return _rms(_ERROR_OF_SLOPE * (slope - h * rate) / self._scale())

    def _step_to(self, t: float) -> FloatArray | None:
        """Return the state at t by a step of its own from the last one, or None; its end stays in x_new."""
        end = self._x_new
        try:
            self._attempt(t - self.state.t)
            return self._project(t, self._x_new)
        except _NotFiniteError:
            return None
        finally:
            self._x_new = end

    def _emit(self, t_new: float, h_dense: float, dense: bool) -> None:
        state, samples = self.state, self.arrays["samples"]
        judged, rough = self._set.step > 0.0, False
        while state.reached < len(self._times) and self._times[state.reached] <= t_new:
            t = float(self._times[state.reached])
            if t >= t_new:
                samples[state.reached] = self._x_new
            else:
                if not dense:
                    self._densify(h_dense)
                    dense = True
                if not judged:
                    rough = not self._dense_error(h_dense) < _ROUGH
                    judged = True
                stepped = self._step_to(t) if rough else None
                theta = (t - state.t) / h_dense
                samples[state.reached] = self._interpolate(theta, t) if stepped is None else stepped
            state.reached += 1

    def _starting_step(self) -> float:
        settings, x, rate = self._set, self._x, self._K[0]
        scale = self._tolerance + settings.relative_tolerance * np.abs(x)
        span = settings.t1 - settings.t0
        d0, d1 = _rms(x / scale), _rms(rate / scale)
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, span)
        try:
            d2 = _rms((self._slope(settings.t0 + h0, x + h0 * rate) - rate) / scale) / h0
        except _NotFiniteError:
            return 1e-3 * h0
        worst = max(d1, d2)
        h1 = max(1e-6, 1e-3 * h0) if worst <= 1e-15 else (0.01 / worst) ** self._method.error_exponent
        return min(100.0 * h0, h1, span)

    # ---- events

    def _watch(self, t_new: float, h: float) -> tuple[int, float, float, bool]:
        """Return the event or -1, its time after t, and over which step the dense output is, if there is one."""
        count, t, event, h_event, h_dense = self._points + 1, self.state.t, -1, h, h
        self._g[count] = self._margin(t_new, self._x_new)
        watched = bool(np.any(self._armed != UNWATCHED))
        if watched:
            self._densify(h)
            for i in range(1, count):
                s = h * i / count
                self._g[i] = self._margin(t + s, self._interpolate(s / h, t + s))
            event, low, high = self._first_crossing(h)
            if event >= 0:
                event, h_event, h_dense = self._settle(event, low, high, h)
                self._g[count] = self._g_trial
        smallest = self.arrays["g_min"]
        smallest[:] = np.minimum(smallest, self._g[count])
        return event, h_event, h_dense, watched

    def _probe(self, h: float, h_dense: float) -> FloatArray:
        t = self.state.t + h
        if h_dense > 0.0:
            x = self._interpolate(h / h_dense, t)
        else:
            self._attempt(h)
            x = self._project(t, self._x_new)
        self._x_new = x
        self._g_trial = self._margin(t, x)
        return self._g_trial

    def _locate(self, j: int, low: float, high: float, h_dense: float) -> float:
        """Return the time after t at which margin j reaches zero in (low, high], or -1: as ``locate`` in C."""
        resolution = 4.5e-16 * (abs(self.state.t) + high)
        try:
            return first_zero(lambda h: float(self._probe(h, h_dense)[j]), low, high, resolution)
        except _NotFiniteError:
            return -1.0

    def _dense_margin(self, j: int, h: float) -> Callable[[float], float]:
        return lambda s: float(self._margin(self.state.t + s, self._interpolate(s / h, self.state.t + s))[j])

    def _first_crossing(self, h: float) -> tuple[int, float, float]:
        """Return the first margin that leaves its range and its bracket; -1 for none. Arms the waiting ones."""
        count, g, armed = self._points + 1, self._g, self._armed
        for i in range(count):
            low, high = h * i / count, h if i + 1 == count else h * (i + 1) / count
            armed[(armed == WAITING) & (g[i] > self._arming)] = ARMED
            for j in np.flatnonzero(armed == ARMED) if i > 0 else ():
                if g[i - 1, j] > 0.0:
                    times = [h * (i - 1) / count, low, high]
                    tip = dip(self._dense_margin(int(j), h), times, [float(g[i + k, j]) for k in (-1, 0, 1)], h)
                    if tip >= 0.0:
                        return int(j), times[0], tip
            crossed = np.flatnonzero((armed == ARMED) & (g[i] > 0.0) & (g[i + 1] <= 0.0))
            if crossed.size:
                return int(crossed[0]), low, high
        armed[(armed == WAITING) & (g[count] > self._arming)] = ARMED
        return -1, 0.0, h

    def _settle(self, j: int, low: float, high: float, h: float) -> tuple[int, float, float]:
        """Return the event, its exact time after t and the step of the dense output; as ``settle`` in C."""
        h_dense, width = 0.0, h / (self._points + 1)
        h_event, up = self._locate(j, low, high, 0.0), high
        while h_event < 0.0 and up < h:
            up = min(up + width, h)
            h_event = self._locate(j, low, up, 0.0)
        if h_event < 0.0:
            h_event = self._locate(j, 0.0, high, 0.0)
        if h_event < 0.0:
            h_dense = h
            h_event = self._locate(j, low, high, h_dense)
        if h_event < 0.0:
            raise _NotFiniteError
        g = self._probe(h_event, h_dense)
        for k in range(len(g)):
            if k == j or self._armed[k] != ARMED or self._g_trial[k] >= 0.0:
                continue
            earlier = self._locate(k, low, h_event, h_dense)
            earlier = earlier if earlier >= 0.0 else self._locate(k, 0.0, h_event, h_dense)
            if earlier >= 0.0:
                h_event, j = earlier, k
            self._probe(h_event, h_dense)
        if h_dense > 0.0:
            return j, h_event, h_dense
        self._K[self._method.stages] = self._slope(self.state.t + h_event, self._x_new)
        self._densify(h_event)
        return j, h_event, h_event


def _evaluator(function: ca.Function, p: FloatArray) -> Callable[[float, FloatArray], FloatArray]:
    """Return ``f(t, x)`` over buffers of CasADi's virtual machine, without its conversions."""
    f = dense(function)
    time_in, x_in, out = np.zeros(1), np.zeros(f.numel_in(1)), np.zeros(f.numel_out(0))
    call = BufferedCall(f, [time_in, x_in, np.array(p, dtype=np.float64)], [out])

    def evaluate(time_: float, state: FloatArray) -> FloatArray:
        time_in[0] = time_
        x_in[:] = state
        call()
        return np.full_like(out, math.nan) if call.failed else out.copy()

    return evaluate


def _finite(value: FloatArray) -> FloatArray:
    if not np.all(np.isfinite(value)):
        raise _NotFiniteError
    return value


def _rms(value: FloatArray) -> float:
    return math.sqrt(float(np.sum(value**2)) / len(value))
