"""What a controller looks like to the simulator."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Policy(Protocol):
    """Maps time and measured state to the model's input, once a period.

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


@runtime_checkable
class ContactSensing(Protocol):
    """A policy that is told which contacts touch, as switches in a robot's feet and wheels would say.

    The simulator tells it before every call. A policy around another passes on what it is told (`tell_contacts`).
    """

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        """Take note of which contacts touch (rolling or sliding) at `time` (s), in the order of the model's."""
        ...


def tell_contacts(policy: object, time: float, touching: tuple[bool, ...]) -> None:
    """Tell a policy which contacts touch, if it wants to know."""
    if isinstance(policy, ContactSensing):
        policy.sense_contacts(time, touching)
