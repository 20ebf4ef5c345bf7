"""The verb `simulate`: integrates a system through its modes and records what happened."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from trundle import interrupts
from trundle.bars import reporting
from trundle.checks import FloatArray, array, choice, instance, number
from trundle.errors import InputError
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.system import ContactSystem, Start
from trundle.records import Policy, Trajectory
from trundle.records.policy import held_alone
from trundle.simulate.events import HybridState, no_onsets
from trundle.simulate.mode import Method, Mode, Stabilization
from trundle.simulate.record import record
from trundle.simulate.runner import Runner
from trundle.simulate.watching import notifying
from trundle.status import Status

_SAMPLES, _STEPS = 1_000_000, 100_000_000


def simulate(
    model: RollingPair | RollingTree | ContactSystem,
    initial: Start,
    duration: float,
    *,
    policy: Policy | None = None,
    output_step: float | None = None,
    relative_tolerance: float | None = None,
    step: float | None = None,
    method: str | None = None,
    stabilization: Stabilization = "projection",
    progress: Callable[[float], object] | None = None,
    verbose: bool = False,
    kicks: Mapping[float, Callable[[FloatArray], FloatArray]] | None = None,
) -> Trajectory:
    """Simulate bodies in contact through rolling, sliding, flight, impact and rest.

    Parameters
    ----------
    model : RollingPair, RollingTree (what `Robot.finish` returns) or ContactSystem
    initial : Start, from ``model.place(...)``
    duration : float, s
    policy : Policy, optional
        Called every ``policy.period`` with (time, state); its input (torques of actuated joints; the derivative
        of a hand's twist in place of its motion) is held until the next call. How long the calls took is in
        ``metadata["policy"]``. Without a policy joints have no torque.
    output_step : float, s
        Between recorded samples (default: duration / 500), from duration / 1e6 to duration. The end is always recorded.
    relative_tolerance, step : float; float, s
        Of the adaptive integrator (default 1e-11); or a fixed step in its place, from duration / 1e8 to duration.
    method, stabilization : str
        ``"dop853"`` (default), ``"dopri5"`` or ``"rk4"`` (default with a fixed step). ``"projection"`` onto gap and
        slip after every step, ``"baumgarte"`` or ``"none"``.
    progress, verbose : callable, optional; bool
        Called now and then with the simulated time (s); whether to show a bar.
    kicks : mapping of time (s) -> callable
        At that time the run goes on from what it returns for the state (n_x,), which has to keep the constraints.

    The status of the trajectory says how the run ended; an interrupt (Ctrl-C) keeps what was computed. An argument of
    another type or out of range (those of a scenario file) raises `InputError`.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane(), rpy=(0, 0.5, 0)))
    >>> tr.simulate(pair, pair.place(), duration=0.5).status.label
    'success'
    """
    _kinds(model, initial, policy, progress)
    if _capturing.get():
        raise _Captured(Call(model, initial, duration, policy))
    duration = checked_duration(duration)
    chosen = chosen_method(duration, relative_tolerance, step, method, stabilization)
    system = model if isinstance(model, ContactSystem) else model.system
    with reporting(verbose, progress, lambda t: (f"simulate: {t:.3g} s of {duration:g} s", t / duration)) as told:
        runner = Runner(system, chosen, policy, _with_kicks(duration, output_step, kicks), told)
        runner.kicks = dict(kicks or {})
        return run_and_record(runner, first_of(system, initial), duration)


@dataclass(frozen=True, eq=False)
class Call:
    """What `simulate` was called with."""

    model: RollingPair | RollingTree | ContactSystem
    start: Start
    duration: float
    policy: Policy | None

    @property
    def system(self) -> ContactSystem:
        """The models in all modes."""
        return self.model if isinstance(self.model, ContactSystem) else self.model.system


class _Captured(BaseException):
    def __init__(self, call: Call | None) -> None:
        super().__init__()
        self.call = call


_capturing: ContextVar[bool] = ContextVar("capturing", default=False)


def capture_call(run: Callable[[], object]) -> Call | None:
    """Return what `run` first calls `simulate` with, which does not simulate; None if it runs something else."""
    token = _capturing.set(True)
    try:
        run()
    except _Captured as found:
        return found.call
    finally:
        _capturing.reset(token)
    return None


def not_captured() -> None:
    """Say that a run of something else begins: `capture_call` ends with None."""
    if _capturing.get():
        raise _Captured(None)


def first_of(system: ContactSystem, initial: Start) -> HybridState:
    """Return the instant a run begins at."""
    system.check_start("initial", initial)
    x = array("initial", initial.x, (system.model(initial.atlas).x.shape[0],))
    mode = Mode(initial.laws or tuple(law.name for law in system.start_laws), initial.atlas)
    return HybridState(0.0, x, mode, no_onsets(system))


def run_and_record(runner: Runner, first: HybridState, duration: float) -> Trajectory:
    """Run and record, with the wall time of each; the first mode is compiled before the clock of the run starts."""
    begin = clock.perf_counter()
    runner.progress = notifying(runner.progress, lambda: _so_far(runner))
    _ = runner.phase(first.mode).integrator
    with held_alone(runner.policy), interrupts.hold_interrupts() as outermost:
        built = clock.perf_counter()
        status = runner.run(first, duration)
        done = clock.perf_counter()
        wall_time = {"build": built - begin, "simulate": done - built}
        run = record(runner.system, runner.log, status, wall_time, done)
        try:
            if outermost:  # else who holds the interrupt saves the record first
                interrupts.check()
        except KeyboardInterrupt:
            return replace(run, status=Status.INTERRUPTED)
        return run


def _so_far(runner: Runner) -> Trajectory | None:
    """Return the record of a run that goes on, if there are samples."""
    log = runner.log
    return record(runner.system, log, Status.SUCCESS, {}, clock.perf_counter()) if log.segments else None


def _kinds(model: object, initial: object, policy: object, progress: object) -> None:
    """Refuse arguments of another type."""
    kinds = RollingPair | RollingTree | ContactSystem
    instance("model", model, kinds, "a RollingPair, a RollingTree or a ContactSystem")
    instance("initial", initial, Start, "a Start, what model.place(...) returns")
    if policy is not None and not isinstance(policy, Policy):
        allowed = (
            "a Policy: called with time and state, with a period and reset(); FunctionPolicy makes one of a function"
        )
        raise InputError("policy", policy, allowed)
    if progress is not None and not callable(progress):
        raise InputError("progress", progress, "a function of the simulated time")


def checked_duration(duration: float) -> float:
    """Return the duration of a run, s, or raise `InputError`."""
    return _time("duration", duration, 1e-9, 1e9, "1e-9 to 1e9")


def _time(key: str, value: float, low: float, high: float, allowed: str) -> float:
    try:
        return number(key, value, minimum=low, maximum=high)
    except InputError:
        raise InputError(key, value, f"a time > 0, from {allowed} (s)") from None


def chosen_method(
    duration: float,
    relative_tolerance: float | None,
    step: float | None,
    method: str | None,
    stabilization: Stabilization,
) -> Method:
    """Return how to integrate, from the arguments of `simulate`."""
    if step is not None and relative_tolerance is not None:
        raise InputError("step", step, "left out when relative_tolerance is given")
    name = choice("method", method or ("rk4" if step is not None else "dop853"), ("dop853", "dopri5", "rk4"))
    if name == "rk4" and step is None:
        raise InputError("step", step, "given with the method 'rk4', which has a fixed step (s)")
    least = duration / _STEPS
    allowed = f"{least:g} (1e8 steps) to duration = {duration:g}"
    fixed = None if step is None else _time("step", step, least, duration, allowed)
    made = Method(name, fixed, stabilization=stabilization)
    return made if relative_tolerance is None else replace(made, relative_tolerance=relative_tolerance)


def _with_kicks(duration: float, output_step: float | None, kicks: Mapping[float, object] | None) -> FloatArray:
    """Return the times to record, those of kicks among them."""
    times = array("kicks", sorted(kicks or {}), (None,), above=0.0, unit="s")
    return np.union1d(sample_times(duration, output_step), times[times < duration])


def sample_times(duration: float, output_step: float | None) -> FloatArray:
    """Return the times (n,), s, to record; the last is `duration`."""
    least = duration / _SAMPLES
    allowed = f"{least:g} (a million samples) to duration = {duration:g}"
    spacing = duration / 500 if output_step is None else _time("output_step", output_step, least, duration, allowed)
    count = int(np.floor(duration / spacing * (1 + 1e-12)))
    times: FloatArray = np.arange(count + 1, dtype=np.float64) * spacing
    if times[-1] < duration * (1 - 1e-12):
        return np.concatenate([times, [duration]])
    times[-1] = duration
    return times
