"""Switching: from one controller to the next when the measured state enters the region of attraction of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from trundle.checks import FloatArray, positive
from trundle.errors import InputError
from trundle.records import Policy


@runtime_checkable
class Catching(Policy, Protocol):
    """A policy that knows what a state would cost it: a Lyapunov function of its closed loop."""

    def cost_to_go(self, time: float, state: FloatArray) -> float:
        """Return V >= 0 of a measured state at `time` (s)."""
        ...


@dataclass(eq=False)
class Switching:
    """Follows `first` until V(x) < level of `then`, and `then` from there on: a `Policy` (final).

    Parameters
    ----------
    first : Policy
        Such as `TrackingLQR`.
    then : Catching
        Such as `BalancingLQR`.
    level : float
        Of ``then.cost_to_go``; `attraction_level` estimates the largest that is safe.
    leave : float, optional
        Level above which `first` takes over again; must not be below `level`. Default: never.
    earliest : float, s
        Time before which nothing is switched.

    Examples
    --------
    >>> import numpy as np
    >>> class Held:
    ...     period = 0.01
    ...
    ...     def __init__(self, value):
    ...         self.value = value
    ...
    ...     def reset(self):
    ...         pass
    ...
    ...     def cost_to_go(self, time, state):
    ...         return float(state @ state)
    ...
    ...     def __call__(self, time, state):
    ...         return np.array([self.value])
    >>> policy = tr.Switching(Held(1.0), Held(2.0), level=0.5)
    >>> [float(policy(0.0, np.array([x]))[0]) for x in (1.0, 0.1, 1.0)]
    [1.0, 2.0, 2.0]
    """

    first: Policy
    then: Catching
    level: float
    leave: float | None = None
    earliest: float = 0.0

    def __post_init__(self) -> None:
        for name, policy, kind in (("first", self.first, Policy), ("then", self.then, Catching)):
            if not isinstance(policy, kind):
                raise InputError(
                    name, policy, "a Policy" + (" with cost_to_go(time, state)" if kind is Catching else "")
                )
        if self.first.period != self.then.period:
            raise InputError("then", self.then.period, f"a policy of the period of first = {self.first.period} (s)")
        positive("level", self.level)
        if self.leave is not None and not positive("leave", self.leave) >= self.level:
            raise InputError("leave", self.leave, f">= level = {self.level:g}")
        self.switched_at: float | None = None

    @property
    def period(self) -> float | None:
        """That of both policies."""
        return self.first.period

    def reset(self) -> None:
        """Start with `first` again."""
        self.first.reset()
        self.then.reset()
        self.switched_at = None

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) of the policy whose turn it is; ``switched_at`` tells since when it is `then`'s."""
        if self.switched_at is None:
            if time >= self.earliest and self.then.cost_to_go(time, state) < self.level:
                self.switched_at = time
        elif self.leave is not None and self.then.cost_to_go(time, state) > self.leave:
            self.switched_at = None
        return (self.first if self.switched_at is None else self.then)(time, state)
