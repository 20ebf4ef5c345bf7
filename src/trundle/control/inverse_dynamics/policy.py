"""A policy of sampled inverse dynamics, with what to do when there is no solution."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, non_negative, positive
from trundle.control.inverse_dynamics.command import Command
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.control.inverse_dynamics.integral import IntegralAction
from trundle.control.inverse_dynamics.inverse_dynamics import InverseDynamics
from trundle.control.inverse_dynamics.slip import SlipMonitor
from trundle.control.tick import ControlTick
from trundle.errors import InputError
from trundle.status import Status

Fallback = Callable[[FloatArray, FloatArray], FloatArray]
"""(state, last torques) -> torques (n_u,)."""


FALLBACKS: dict[str, Fallback] = {"hold": lambda state, last: last, "let-go": lambda state, last: np.zeros_like(last)}


class Finder(Protocol):
    """(measured state, which contacts touch) -> the state with its contact coordinates."""

    def reset(self) -> None:
        """Forget what was found before."""
        ...

    def __call__(self, state: FloatArray, touching: FloatArray) -> FloatArray:
        """Return the state (n_x,) with the coordinates of the contacts `touching` (contacts,)."""
        ...


class Estimator(Protocol):
    """(time, state, which contacts touch, inputs since the last call) -> the estimated state."""

    def reset(self) -> None:
        """Forget what was estimated."""
        ...

    def __call__(self, time: float, state: FloatArray, touching: FloatArray, u: FloatArray) -> FloatArray:
        """Return the estimate (n_x,) that readings of sensors in the `state` (n_x,) allow, contact coordinates too."""
        ...


_AT_ONCE = 1e-9  # s: round-off of sums of periods
_log = logging.getLogger("trundle")


class InverseDynamicsPolicy:
    """Calls an `InverseDynamics` once a period and holds its torques.

    A controller with symbols for that gets, at each call, the contacts that touch as they are measured
    (`trundle.records.ContactSensing`); until something is measured all touch.

    Parameters
    ----------
    controller : InverseDynamics
    reference : callable
        Maps time (s) to the controller's reference (n_r,).
    period : float, s
    fallback : "hold", "let-go" or callable
        Torques where no command is usable; what happened is in `statuses` and in `command`.
    finder : Finder, optional
        Gives the measured state its contact coordinates, such as a
        `trundle.control.inverse_dynamics.contact_finder.ContactFinder`; without it the state has them.
    contact_delay : float, s
        Age at which the measurement of contacts arrives, in whole calls.
    integral : IntegralAction, optional
    slip : SlipMonitor, optional
        For a controller with `Slipping`.
    estimator : Estimator, optional
        Makes the state that all else acts on, such as a `trundle.control.sensing.RollingEstimator`.

    Attributes
    ----------
    command : Command or None
        The last one, usable or not.
    statuses : Counter
        How many commands ended with which `Status` since `reset`.
    unchangeable : dict of str to float
        Tasks that no torque can change, and the first time (s) at which they were found so; they are looked for at the
        first command and where other contacts touch or slide. The log names them.
    """

    def __init__(
        self,
        controller: InverseDynamics,
        reference: Callable[[float], ArrayLike],
        period: float,
        fallback: str | Fallback = "hold",
        finder: Finder | None = None,
        contact_delay: float = 0.0,
        integral: IntegralAction | None = None,
        slip: SlipMonitor | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        if not callable(fallback) and fallback not in FALLBACKS:
            raise InputError("fallback", fallback, "'hold', 'let-go' or a function of (state, last torques)")
        self._controller = controller
        self._reference = reference
        self._period = positive("period", period, "s")
        self._fallback = fallback if callable(fallback) else FALLBACKS[fallback]
        self._finder = finder
        self._integral, self.slip, self.estimator = integral, slip, estimator
        self._late = non_negative("contact_delay", contact_delay, "s")
        self.reset()

    @property
    def period(self) -> float:
        """Time between two calls, s."""
        return self._period

    @property
    def idle(self) -> bool:
        """Whether the last call had no program to solve, as what was measured was not finite."""
        return self.command is not None and self.command.status is Status.NOT_FINITE

    def reset(self) -> None:
        """Forget the last torques, the contacts and the counts."""
        if self._finder is not None:
            self._finder.reset()
        for part in (self._integral, self.slip, self.estimator):
            if part is not None:
                part.reset()
        self.command: Command | None = None
        self.statuses: Counter[Status] = Counter()
        self.unchangeable: dict[str, float] = {}
        self._looked: set[bytes] = set()
        self._last = np.zeros(self._controller.layout.n_u)
        self._touching = np.ones(self._controller.contacts)
        self._heard: deque[tuple[float, tuple[bool, ...]]] = deque()

    def control_tick(self) -> ControlTick | str:
        """Return a tick, for `trundle export`; or why there is none."""
        if self._integral is not None and len(self._controller.layout.levels) > 1:
            return "it has integrals beside strict levels"
        parts = {"slip": self.slip, "estimator": self.estimator}
        own = [name for name, part in parts.items() if part is not None]
        if own:
            return f"it remembers more than torques: {' and '.join(own)}"
        finder = self._finder
        if finder is not None and not isinstance(finder, ContactFinder):
            return "its contact coordinates come from a function of your own"
        if self._fallback not in FALLBACKS.values():
            return "its fallback is a function of your own"
        hold = self._fallback is FALLBACKS["hold"]
        return self._controller.control_tick(finder, hold, self._period, self._integral)

    def tick_arguments(self, time: float, state: FloatArray) -> tuple[FloatArray, ...]:
        """Return state, reference and, where the controller asks, which contacts touch, as the last call had them."""
        touching = (self._touching,) if self._controller.contacts else ()
        return state, np.asarray(self._reference(time), dtype=np.float64), *touching

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        """Take note of which contacts touch; they are known from `contact_delay` later on, the first at once."""
        if not self._heard:
            self._heard.append((time, touching))
            self._touching = np.array(touching, dtype=np.float64)
        elif touching != self._heard[-1][1]:
            self._heard.append((time, touching))
        while len(self._heard) > 1 and self._heard[1][0] <= time - self._late + _AT_ONCE:
            self._heard.popleft()
            self._touching = np.array(self._heard[0][1], dtype=np.float64)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the model's input for the measured `state` (n_x,)."""
        last = self._last if self._controller.remembers else ()
        before = self._controller.inputs(self._last)
        known = state if self.estimator is None else self.estimator(time, state, self._touching, before)
        known = known if self._finder is None else self._finder(known, self._touching)
        touching = self._touching if self._controller.contacts else ()
        reference = self._reference(time)
        wanted = reference if self._integral is None else self._integral.correct_reference(reference)
        slipping: tuple[FloatArray, ...] = ()
        if self.slip is not None:
            self.slip.sense(known, self._touching, before)
            slipping = (self.slip.symbols,)
        self.command = command = self._controller(known, wanted, last, touching, *slipping)
        contacts = np.sign(np.concatenate((touching, *slipping)))
        if command.usable and contacts.tobytes() not in self._looked:
            # Once for each set of contacts: a tick has no time for it.
            self._looked.add(contacts.tobytes())
            self._note(time, self._controller.unchangeable(known, wanted, last, touching, *slipping))
        if self._integral is not None:
            self._integral.take(known, reference, touching, command)
        self.statuses[command.status] += 1
        self._last = command.u if command.usable else self._fallback(known, self._last)
        return self._controller.inputs(self._last)

    def _note(self, time: float, names: tuple[str, ...]) -> None:
        """Note and log tasks that no torque can change."""
        for name in names:
            if name not in self.unchangeable:
                self.unchangeable[name] = time
                _log.warning("at %.4g s no torque can change the task %s: it is not served", time, name)
