"""What a controller looks like to the simulator."""

from __future__ import annotations

import time as clock
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.threads import lock_of


@runtime_checkable
class Policy(Protocol):
    """Maps time and measured state to the model's input, once a period.

    A policy may remember, so runs that share one, or one inside it, come one after the other, whatever their threads;
    a copy (``copy.deepcopy``) has a run of its own.

    The simulator calls `reset` once before a run, then the policy at the times 0, period, 2 period, ...; the input
    is held between calls. A continuous policy, ``period = None``, is for simulators that can call one;
    `trundle.simulate` holds its inputs and raises `InputError`.
    """

    @property
    def period(self) -> float | None:
        """Time between two calls in s; None for a continuous policy, which `trundle.simulate` refuses."""
        ...

    def reset(self) -> None:
        """Forget everything that was learned in an earlier run."""
        ...

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the input (n_u,) for the measured `state` (n_x,) at `time` (s)."""
        ...


def period_of(policy: Policy) -> float:
    """Return the time (s) between two calls of a policy; raise InputError where it is no policy, or continuous."""
    if not isinstance(policy, Policy) or policy.period is None:
        raise InputError("policy", policy, "a Policy with a period: called with time and state, and reset()")
    return float(policy.period)


@runtime_checkable
class ContactSensing(Protocol):
    """A policy that is told which contacts touch, as switches in a robot's feet and wheels would say.

    The simulator tells it before every call. A policy around another passes on what it is told (`tell_contacts`).
    """

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        """Take note of which contacts touch (rolling or sliding) at `time` (s), in the order of the model's."""
        ...


@runtime_checkable
class Idling(Protocol):
    """A policy some of whose calls decide nothing: what they return was decided before."""

    @property
    def idle(self) -> bool:
        """Whether the last call decided nothing."""
        ...


class AroundPolicy(ABC):
    """What a policy around another one, its attribute `policy`, hands on: the period, and which contacts touch."""

    policy: Policy

    @property
    def period(self) -> float | None:
        """The inner policy's."""
        return self.policy.period

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        """Tell the policy inside which contacts touch."""
        tell_contacts(self.policy, time, touching)

    @abstractmethod
    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the input (n_u,)."""


class TimedPolicy:
    """A policy whose calls are timed, those that decide something.

    A call in which any `Idling` policy inside idles does not count: its time says nothing about a controller.

    Parameters
    ----------
    policy : Policy

    Attributes
    ----------
    calls : list of float
        Times of the calls that decided, s.
    period : float
        Between two decisions, s: the longest of the periods of the policy and of those inside it.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy, inside = policy, inner_policies(policy)
        self._idling = [one for one in inside if isinstance(one, Idling)]
        self.period = max((one.period for one in inside if one.period is not None), default=np.inf)
        self.calls: list[float] = []

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the policy's input."""
        begin = clock.perf_counter()
        answer = self._policy(time, state)
        seconds = clock.perf_counter() - begin
        if not any(one.idle for one in self._idling):
            self.calls.append(seconds)
        return answer


@contextmanager
def held_alone(policy: Policy | None) -> Iterator[None]:
    """Keep a policy, and those inside it, for the runs of this thread, once those of others have left them."""
    with ExitStack() as held:
        # In one order for all threads: none has what another waits for while it waits itself.
        for key in sorted(map(id, _within(policy, {}).values())):
            held.enter_context(lock_of(key))
        yield


def inner_policies(policy: Policy) -> list[Policy]:
    """Return a policy and those inside it."""
    return list(_within(policy, {}).values())


def _within(value: object, found: dict[int, Policy]) -> dict[int, Policy]:
    """Add the policies in `value`, itself or in its attributes, to `found` by their identity."""
    if isinstance(value, Policy) and not isinstance(value, type) and id(value) not in found:
        found[id(value)] = value
        for inner in getattr(value, "__dict__", {}).values():
            _within(inner, found)
    return found


def tell_contacts(policy: object, time: float, touching: tuple[bool, ...]) -> None:
    """Tell a policy which contacts touch, if it wants to know."""
    if isinstance(policy, ContactSensing):
        policy.sense_contacts(time, touching)
