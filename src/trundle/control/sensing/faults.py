"""Faulty: what a controller measures when sensors and ticks fail; Watchdog: the named stop when they do for long."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trundle.checks import FloatArray, array, integer, number
from trundle.control.inverse_dynamics.policy import FALLBACKS, Fallback
from trundle.control.sensing.sensing import Seed
from trundle.errors import ControlLostError, InputError, SimulationError
from trundle.parameters import Checked, Fraction, NonNegative, Real, check_parameters, parameter
from trundle.records import Policy
from trundle.records.policy import AroundPolicy, period_of
from trundle.status import Status

_ROUND = 1e-9  # s: round-off of sums of periods


@dataclass(frozen=True)
class Faults(Checked):
    """What fails between the sensors and a controller, from `begin` to `end`; all of it may fail together (final).

    Parameters
    ----------
    begin, end : float, s
    dropped : float
        Share of measurements that do not arrive: the controller acts on the last one that did.
    nan : float
        Share of measurements that are not a number.
    lost : float
        Share of ticks in which the controller does not run: its last input is held.
    frozen : bool
        Whether all measurements stay what they were at `begin`.
    late : float, s
        Age of measurements.
    bias : float or (n_x,)
        Added to the measurement, in its units.
    entries : sequence of int, optional
        Which numbers of the measurement `nan`, `frozen` and a single `bias` concern; all unless given.
    seed : int
        Of what is drawn; a run repeats exactly.

    Examples
    --------
    >>> blind = tr.control.Faults(begin=1.0, end=1.2, nan=1.0)
    >>> blind.acts(1.1), blind.acts(1.2)
    (True, False)
    """

    begin: NonNegative = parameter(0.0, "s, when the faults begin")
    end: NonNegative | None = parameter(None, "s, when they end; left out: never")
    dropped: Fraction = parameter(0.0, "share of measurements that do not arrive")
    nan: Fraction = parameter(0.0, "share of measurements that are not a number")
    lost: Fraction = parameter(0.0, "share of ticks in which the controller does not run")
    frozen: bool = parameter(False, "whether measurements stay what they were at the begin")
    late: NonNegative = parameter(0.0, "s, age of measurements")
    bias: Real | Sequence[float] = parameter(0.0, "added to what is measured, one number or one for each")
    entries: Sequence[int] | None = parameter(None, "numbers of the measurement that fail; left out: all")
    seed: Seed = parameter(0, "of what is drawn")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end is not None and self.end < self.begin:
            raise InputError("end", self.end, f">= begin = {self.begin:g} (s)")
        bias = array("bias", np.atleast_1d(np.asarray(self.bias, dtype=np.float64)), (None,))
        object.__setattr__(self, "bias", tuple(bias.tolist()))
        if self.entries is not None:
            found = tuple(integer(f"entries[{i}]", one, minimum=0) for i, one in enumerate(self.entries))
            object.__setattr__(self, "entries", found)

    def acts(self, time: float) -> bool:
        """Whether there are faults at `time` (s)."""
        return time >= self.begin - _ROUND and (self.end is None or time < self.end - _ROUND)


@final
@dataclass(eq=False)
class Faulty(AroundPolicy):
    """A policy whose measurements, and ticks, fail as `faults` say.

    Which contacts touch is told as it is.

    Parameters
    ----------
    policy : Policy
    faults : Faults

    Examples
    --------
    >>> import numpy as np
    >>> echo = tr.FunctionPolicy(0.1, lambda time, state: state)
    >>> stuck = tr.control.Faulty(echo, tr.control.Faults(begin=0.1, frozen=True))
    >>> [float(stuck(0.1 * k, np.array([k]))[0]) for k in range(3)]
    [0.0, 1.0, 1.0]
    """

    policy: Policy
    faults: Faults

    def __post_init__(self) -> None:
        period_of(self.policy)
        if not isinstance(self.faults, Faults):
            raise InputError("faults", self.faults, "Faults")
        self.reset()

    def reset(self) -> None:
        """Forget the last run, and begin what is drawn again."""
        self.policy.reset()
        self._random = np.random.default_rng(self.faults.seed)
        self._past: deque[tuple[float, FloatArray]] = deque()
        self._arrived: FloatArray | None = None
        self._stuck: FloatArray | None = None
        self._held: FloatArray | None = None

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the policy's input for what it measures of the `state` (n_x,), or its last input."""
        time = number("time", time, unit="s")
        faults, drawn = self.faults, self._random.random(3)
        now = np.array(state, dtype=np.float64)
        self._past.append((time, now))
        while len(self._past) > 1 and self._past[1][0] <= time - faults.late + _ROUND:
            self._past.popleft()
        acts = faults.acts(time)
        if acts:
            now = self._damage_measurement(self._past[0][1].copy(), drawn)
        self._arrived = now
        if not acts or self._held is None or drawn[2] >= faults.lost:
            self._held = np.array(self.policy(time, now))
        return self._held

    def _damage_measurement(self, measured: FloatArray, drawn: FloatArray) -> FloatArray:
        """Return what arrives of a measurement."""
        faults = self.faults
        some = list(range(len(measured)) if faults.entries is None else faults.entries)
        if max(some, default=0) >= len(measured):
            raise InputError("faults.entries", some, f"numbers below {len(measured)}, the length of the measurement")
        bias = np.array(faults.bias)
        if len(bias) == 1:
            measured[some] += bias
        else:
            measured += array("faults.bias", bias, measured.shape)
        if faults.frozen:
            self._stuck = measured.copy() if self._stuck is None else self._stuck
            measured[some] = self._stuck[some]
        if drawn[0] < faults.dropped and self._arrived is not None:
            return self._arrived
        if drawn[1] < faults.nan:
            measured[some] = np.nan
        return measured


@final
@dataclass(eq=False)
class Watchdog(AroundPolicy):
    """A policy that ends in a safe stop, with a name, when what it measures is lost.

    A tick is bad where the measurement is not finite, or has not changed in any number for `stale`, or where the policy
    inside gives up or answers what is not finite. Then it is not asked, or not heard, and the last good input is held.
    When all ticks of `patience` were bad the policy stops for good: `stop` says its inputs, and after `settle` the run
    ends with `Status.SAFE_STOP`.

    Parameters
    ----------
    policy : Policy
    size : int
        Number of inputs.
    patience : float, s
    stop : "let-go", "hold" or callable
        (measurement, last good inputs) -> inputs (n_u,); numbers that are not finite are those last known.
    settle : float, s
        0: the run ends with the stop; what the robot does without a controller may end it, too, with another name.
    stale : float, s, optional
        Sensors with noise never tell the same numbers twice; unless given unchanged measurements are good ones.

    Attributes
    ----------
    bad : int
        Bad ticks since `reset`.
    stopped_at : float or None
        When it stopped, s.
    reason : str
        Why the last bad tick was one.

    Examples
    --------
    >>> import numpy as np
    >>> push = tr.FunctionPolicy(0.1, lambda time, state: -state)
    >>> watched = tr.control.Watchdog(push, size=1, patience=0.2, settle=0.5)
    >>> told = (1.0, np.nan, np.nan, np.nan)
    >>> [float(watched(0.1 * k, np.array([x]))[0]) for k, x in enumerate(told)]
    [-1.0, -1.0, -1.0, 0.0]
    >>> watched.stopped_at is not None, watched.reason
    (True, 'the measurement is not finite')
    """

    policy: Policy
    size: int
    patience: NonNegative = parameter(0.05, "s, of bad ticks, through which the last good input is held")
    stop: str | Fallback = "let-go"
    settle: NonNegative = parameter(0.0, "s, after the stop, then the run ends")
    stale: NonNegative | None = parameter(None, "s, after which a measurement without change is bad; left out: never")

    def __post_init__(self) -> None:
        period_of(self.policy)
        self.size = integer("size", self.size, minimum=1)
        check_parameters(self)
        if not callable(self.stop) and self.stop not in FALLBACKS:
            raise InputError("stop", self.stop, "'let-go', 'hold' or a function of (measurement, last inputs)")
        self.reset()

    def reset(self) -> None:
        """Forget the last run."""
        self.policy.reset()
        self.bad, self.reason = 0, ""
        self.stopped_at: float | None = None
        self._good_at: float | None = None
        self._last = np.zeros(self.size)
        self._known: FloatArray | None = None
        self._changed_at = -np.inf

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) for the measured `state` (n_x,).

        Raises
        ------
        ControlLostError
            When the stop is over.
        InputError
            For a measurement of another size than the run's first.
        """
        measured = np.asarray(state, dtype=np.float64)
        if self._known is not None and measured.shape != self._known.shape:
            raise InputError("state", state, f"of the shape {self._known.shape}, as the measurements before it")
        before = np.zeros_like(measured) if self._known is None else self._known
        known = np.where(np.isfinite(measured), measured, before)
        if self._known is None or not np.array_equal(known, before):
            self._changed_at = time
        self._known = known
        if self.stopped_at is None:
            answer = self._ask_policy(time, measured)
            if answer is not None:
                self._last, self._good_at = answer, time
                return answer
            self.bad += 1
            self._good_at = time if self._good_at is None else self._good_at
            if time - self._good_at <= self.patience + _ROUND:
                return self._last
            self.stopped_at = time
        if time - self.stopped_at > self.settle + _ROUND:
            raise ControlLostError(f"stopped at {self.stopped_at:.3f} s: {self.reason}", Status.SAFE_STOP)
        stop = self.stop if callable(self.stop) else FALLBACKS[self.stop]
        return array("stop", stop(known, self._last), (self.size,))

    def _ask_policy(self, time: float, measured: FloatArray) -> FloatArray | None:
        """Return the policy's answer; None, and the reason, for a bad tick."""
        if not np.all(np.isfinite(measured)):
            self.reason = "the measurement is not finite"
        elif self.stale is not None and time - self._changed_at > self.stale + _ROUND:
            self.reason = f"the measurement has not changed for {self.stale:g} s"
        else:
            try:
                answer = np.array(self.policy(time, measured), dtype=np.float64)
            except SimulationError as error:
                self.reason = str(error)
                return None
            if np.all(np.isfinite(answer)):
                return answer
            self.reason = "the controller's answer is not finite"
        return None
