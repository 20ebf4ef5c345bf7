"""Explicit Runge-Kutta integration of compiled systems, with events, projection and dense output."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle import checks
from trundle.checks import FloatArray
from trundle.errors import CompileError, InputError
from trundle.interrupts import opened
from trundle.numerics.compiled.compile import FLAGS, NativeFunction, compile_library, find_compiler, library_source
from trundle.numerics.compiled.interpreter import InterpretedFunction, interpret_function
from trundle.numerics.ode import native as ode_native
from trundle.numerics.ode.python import PythonRun
from trundle.numerics.ode.system import NativeSystem, OdeSystem
from trundle.numerics.ode.tableaus import tableau
from trundle.status import Status
from trundle.threads import made_once

STATUS = {
    ode_native.RUNNING: Status.INTERRUPTED,
    ode_native.DONE: Status.SUCCESS,
    ode_native.EVENT: Status.SUCCESS,
    ode_native.STEP_TOO_SMALL: Status.STEP_TOO_SMALL,
    ode_native.TOO_MANY_STEPS: Status.TOO_MANY_STEPS,
    ode_native.NOT_FINITE: Status.NOT_FINITE,
}


AT_ONCE, WORTH_COMPILING = 5_000, 35_000
"""Instructions up to which functions are compiled before the first run, and at all.

Ten thousand take 1.5 s to compile, and 6 us a call interpreted against 3 us compiled.
"""
OFTEN = 250_000
"""Evaluations of the rate from which others are compiled: they have taken as long as that by then."""


@dataclass(frozen=True)
class Integration:
    """What an integration gave; the end is `t_end`, `x_end` and is not appended to the samples.

    Attributes
    ----------
    times, states : (k,), (k, n)
        The sample times that were reached and the states there.
    t_end, x_end : float, (n,)
        End of the interval, the event, or the last good state.
    event : int or None
        Index of the margin that ended the integration, None if none did.
    margin_minimum : (m,)
        Smallest value of each margin at the start, the ends of steps and the event; NaN if it once was none.
    steps, rejected, evaluations : int
        Accepted steps, rejected steps, calls of the rate.
    status : Status
        SUCCESS (also for an event), STEP_TOO_SMALL, TOO_MANY_STEPS, NOT_FINITE or INTERRUPTED.
    last_step : float
        The step that would come next, a good `first_step` for going on; the fixed step if it is fixed.
    """

    times: FloatArray
    states: FloatArray
    t_end: float
    x_end: FloatArray
    event: int | None
    margin_minimum: FloatArray
    steps: int
    rejected: int
    evaluations: int
    status: Status
    last_step: float


@dataclass(frozen=True)
class Integrator:
    """Integrator of one system with one method, reusable.

    It runs as C where there is a compiler or where its core came with the package. The functions of the system are
    compiled when it is made if they are small or were compiled before, large ones (`AT_ONCE`) when they have been
    evaluated `OFTEN`; until then, and without a compiler, they are interpreted, with the same numbers.

    Arguments of `integrate`, times in seconds:

    - `step` fixes the step of any method (the last one is shorter) and is required for rk4. Without it the step adapts
      so that the root mean square over the states of ``estimated error / (absolute + relative |x|)`` is below one, with
      `absolute_tolerance` a number or (n,), and stays between `min_step` and `max_step`; `first_step` is estimated if
      it is not given.
    - `sample_times` (k,), ascending from t0: where the dense output is wanted. Those after the end are left out.
    - A margin that reaches zero ends the integration. It is looked at at the end of each step and at `event_points`
      points inside (an adaptive step can be long: `max_step` shortens it where a margin moves faster than the state);
      the event's state is that of a step of the method that ends on it. `watched` (m,) of bool: the
      others only count in `margin_minimum`. `armed` (m,) of bool: a margin that is armed and <= 0 at t0 is an event at
      t0; one that is not arms itself when it has been above `arming_tolerance`, as where a phase begins with zero.
    - `max_steps` limits accepted and rejected steps together.

    Parameters
    ----------
    system : OdeSystem or NativeSystem
    method : str
        ``dop853`` (order 8, adaptive), ``dopri5`` (order 5, adaptive) or ``rk4`` (order 4, fixed step).
    event_points : int, optional
        Inner points of a step at which margins are looked at, so that a short dip below zero is found.
    flags : sequence of str
        Compiler flags.

    Raises
    ------
    InputError, CompileError
    """

    system: OdeSystem | NativeSystem
    method: str = "dop853"
    event_points: int | None = None
    flags: Sequence[str] = FLAGS
    _start: Callable[..., PythonRun | ode_native.NativeRun] = field(init=False, repr=False, compare=False)
    _functions: _Functions | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        points = tableau(self.method).points if self.event_points is None else self.event_points
        points = checks.integer("event_points", points, minimum=0, maximum=1000)
        core, functions = ode_native.core_library(), None
        if isinstance(self.system, NativeSystem):
            if core is None:
                raise CompileError("functions of C need the stepping core, which no C compiler is here for")
            start = partial(ode_native.NativeRun, core, _Ready(self.system))
        elif core is None:
            start = partial(PythonRun, self.system)
        else:
            functions = _Functions(self.system, self.flags)
            start = partial(ode_native.NativeRun, core, functions)
        object.__setattr__(self, "event_points", points)
        object.__setattr__(self, "_functions", functions)
        object.__setattr__(self, "_start", start)

    @property
    def native(self) -> ode_native.Functions | None:
        """The functions of the system, compiled or interpreted; None where C cannot run them by itself."""
        if isinstance(self.system, NativeSystem):
            return self.system.functions()
        return None if self._functions is None else self._functions.native

    @property
    def compiled(self) -> bool:
        """Whether the functions of the system are compiled by now."""
        if isinstance(self.system, NativeSystem):
            return True
        return self._functions is not None and self._functions.compiled is not None

    def __reduce__(self) -> tuple[type[Integrator], tuple[OdeSystem | NativeSystem, str, int | None, Sequence[str]]]:
        return type(self), (self.system, self.method, self.event_points, self.flags)

    def integrate(
        self,
        t0: float,
        x0: ArrayLike,
        t1: float,
        p: ArrayLike = (),
        *,
        relative_tolerance: float = 1e-10,
        absolute_tolerance: ArrayLike = 1e-12,
        step: float | None = None,
        sample_times: ArrayLike = (),
        armed: ArrayLike | None = None,
        watched: ArrayLike | None = None,
        arming_tolerance: ArrayLike = 1e-9,
        max_steps: int = 10_000_000,
        first_step: float | None = None,
        min_step: float = 0.0,
        max_step: float = math.inf,
        progress: Callable[[float], object] | None = None,
    ) -> Integration:
        """Integrate from (t0, x0 (n,)) with the parameters p (n_p,) to t1 >= t0 or to the first event.

        The arguments are those of the class, and `progress` is called with the time reached about ten times a second.
        Ctrl-C ends the run with the status INTERRUPTED and what was computed until then.

        Raises
        ------
        InputError
            If a value has the wrong shape or sign.
        """
        system, begin = self.system, checks.number("t0", t0)
        if self.method == "rk4" and step is None:
            raise InputError("step", step, "a number > 0: rk4 has a fixed step")
        settings = {
            "t0": begin,
            "t1": checks.number("t1", t1, minimum=begin),
            "step": 0.0 if step is None else checks.positive("step", step),
            "first_step": 0.0 if first_step is None else checks.positive("first_step", first_step),
            "relative_tolerance": checks.non_negative("relative_tolerance", relative_tolerance),
            "min_step": checks.non_negative("min_step", min_step),
            "max_step": math.inf if max_step == math.inf else checks.positive("max_step", max_step),
            "max_steps": checks.integer("max_steps", max_steps, minimum=1),
        }
        samples = _sample_times(sample_times, begin)
        state, parameters = checks.array("x0", x0, (system.size,)), _column("p", p, system.parameter_count)
        tolerances = _column("absolute_tolerance", absolute_tolerance, system.size, above=0.0)
        flags = _arming(armed, watched, system.margin_count)
        waits = _column("arming_tolerance", arming_tolerance, system.margin_count)
        if np.any(waits < 0.0):
            raise InputError("arming_tolerance", arming_tolerance, "numbers >= 0")
        arrays = (state, parameters, tolerances, waits, samples, flags)
        run = self._start(tableau(self.method), self.event_points, settings, *arrays)
        return _result(run, samples, finished=run.run(progress))


class _Ready:
    """Functions of C that are there."""

    def __init__(self, system: NativeSystem) -> None:
        self._system = system

    def __call__(self) -> ode_native.Functions:
        """Return those of one run."""
        return self._system.functions()

    def count_evaluations(self, evaluations: int) -> None:
        """Nothing better follows."""


class _Functions:
    """Rate, margins and projection of a system for C: compiled, or interpreted until that is worth it."""

    def __init__(self, system: OdeSystem, flags: Sequence[str]) -> None:
        self._system, self._flags = system, flags
        self._roles = {"rate": system.rate, "margins": system.margins, "projection": system.projection}
        self._evaluations = 0
        self._interpreted: dict[str, InterpretedFunction | None] = {}
        self._worth = system.instructions <= WORTH_COMPILING and find_compiler() is not None
        self.compiled: ode_native.Functions | None = None
        if self._worth:
            self._compile(build=system.instructions <= AT_ONCE)

    def __call__(self) -> ode_native.Functions:
        """Return what a run begins with."""
        self.count_evaluations(0)
        return self.compiled or tuple(self._interpret(role) for role in self._roles)

    @property
    def native(self) -> ode_native.Functions | None:
        """The functions as they are by now; None where one has to be called back."""
        if self.compiled is not None:
            return self.compiled
        found = tuple(self._interpret(role) for role in self._roles)
        return None if any(isinstance(one, ode_native.CalledBackFunction) for one in found) else found

    def count_evaluations(self, evaluations: int) -> ode_native.Functions | None:
        """Count evaluations of the rate; return the functions where they are compiled by now."""
        self._evaluations += evaluations
        if self.compiled is None and self._worth and self._evaluations > OFTEN:
            self._worth = False  # one attempt
            with opened():
                self._compile(build=True)
        return self.compiled

    def _interpret(self, role: str) -> InterpretedFunction | ode_native.CalledBackFunction | None:
        if (function := self._roles[role]) is None:
            return None
        data = made_once(self._interpreted, role, lambda: interpret_function(function))
        return ode_native.CalledBackFunction(function) if data is None else data

    def _compile(self, build: bool) -> None:
        there = {role: function for role, function in self._roles.items() if function is not None}
        names, source = library_source(there, dense=True)
        path = compile_library(f"trundle_{self._system.rate.name()}", source, flags=self._flags, build=build)
        if path is not None:
            natives = {role: NativeFunction(path, name) for role, name in zip(there, names, strict=True)}
            self.compiled = tuple(natives.get(role) for role in self._roles)


def _column(name: str, value: ArrayLike, count: int, above: float = -math.inf) -> FloatArray:
    """Return `value` as (count,); a number stands for that many."""
    if np.ndim(value) == 0:
        value = np.full(count, checks.number(name, value, above=above))
    return checks.array(name, value if np.size(value) else np.zeros(0), (count,), above=above)


def _arming(armed: ArrayLike | None, watched: ArrayLike | None, count: int) -> NDArray[np.int64]:
    flags = []
    for name, value in (("armed", armed), ("watched", watched)):
        flag = np.ones(count, dtype=bool) if value is None else np.asarray(value)
        if flag.dtype != np.bool_ or flag.shape != (count,):
            raise InputError(name, value, f"an array of {count} booleans")
        flags.append(flag)
    waiting = np.where(flags[0], ode_native.ARMED, ode_native.WAITING)
    return np.where(flags[1], waiting, ode_native.UNWATCHED)


def _sample_times(value: ArrayLike, begin: float) -> FloatArray:
    times = checks.array("sample_times", value if np.size(value) else np.zeros(0), (None,))
    if np.any(times[1:] < times[:-1]) or (times.size and times[0] < begin):
        raise InputError("sample_times", value, f"ascending and >= t0 = {begin:g}")
    return times


def _result(run: PythonRun | ode_native.NativeRun, samples: FloatArray, finished: bool) -> Integration:
    state, arrays = run.state, run.arrays
    status = STATUS[state.status] if finished else Status.INTERRUPTED
    values = [samples[: state.reached], arrays["samples"][: state.reached], arrays["x"], arrays["g_min"]]
    times, states, x_end, margin_minimum = (np.array(value) for value in values)
    for value in (times, states, x_end, margin_minimum):
        value.setflags(write=False)
    return Integration(
        times=times,
        states=states,
        t_end=state.t,
        x_end=x_end,
        event=state.event if state.status == ode_native.EVENT else None,
        margin_minimum=margin_minimum,
        steps=state.steps,
        rejected=state.rejected,
        evaluations=state.evaluations,
        status=status,
        last_step=state.h_next,
    )
