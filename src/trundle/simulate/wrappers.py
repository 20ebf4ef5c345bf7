"""Policies around functions and policies: answers that come late, states that are measured with noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import array, integer, non_negative, positive
from trundle.errors import InputError
from trundle.records import Policy, tell_contacts
from trundle.records.policy import AroundPolicy, period_of

_PARTS = 100  # largest denominator of a delay in periods


@final
@dataclass(frozen=True)
class FunctionPolicy:
    """A function as a policy: u = law(t, x) once a period, held until the next.

    Parameters
    ----------
    period : float, s
    law : callable of the time (s) and the measured state (n_x,)
        Returns the input (n_u,), or a number where there is one. ``model.layout`` says what is where in the state,
        ``model.input_layout`` in the input. A law that remembers needs a class of its own, with a ``reset()``.

    Raises
    ------
    InputError
        If the period is not positive or the law is no function.

    Examples
    --------
    >>> robot = tr.Robot()
    >>> _ = robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0, 0.5), name="pole")  # m, kg, kg m2
    >>> tree = robot.finish()
    >>> angle, rate = (tree.model().layout[name] for name in ("pole.joint", "pole.rate"))
    >>> upright = tr.FunctionPolicy(0.01, lambda t, x: -30.0 * x[angle] - 5.0 * x[rate])  # N m
    >>> run = tr.simulate(tree, tree.place(pole=0.1), 3.0, policy=upright)
    >>> run.status.label, bool(abs(run["joint_position"][-1, 0]) < 1e-3)
    ('success', True)
    """

    period: float
    law: Callable[[float, NDArray[np.float64]], ArrayLike]

    def __post_init__(self) -> None:
        positive("period", self.period, "s")
        if not callable(self.law):
            raise InputError("law", self.law, "a function of the time (s) and the state (n_x,)")

    def reset(self) -> None:
        """Forget nothing: a function has no memory."""

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the law answers (n_u,)."""
        return np.atleast_1d(np.asarray(self.law(time, state), dtype=np.float64))


@final
class Delayed:
    """A policy whose answer to the state at t is applied from t + delay on.

    Parameters
    ----------
    policy : Policy
        Called at its own period.
    delay : float, s
        Of computation and transport; a multiple of a hundredth of the period or coarser parts of it.
    first : (n_u,)
        The input until the first answer arrives.

    Attributes
    ----------
    period : float, s
        Between calls: the policy's own period or a whole part of it.
    idle : bool
        Whether the last call asked the policy nothing: there are calls that only hand over what arrives.

    Examples
    --------
    >>> import numpy as np
    >>> class Push:
    ...     period = 0.01
    ...
    ...     def reset(self):
    ...         pass
    ...
    ...     def __call__(self, time, state):
    ...         return np.array([time])
    >>> late = tr.Delayed(Push(), delay=0.01, first=[0.0])
    >>> late.reset()
    >>> [round(float(late(0.01 * k, np.zeros(2))[0]), 3) for k in range(3)]
    [0.0, 0.0, 0.01]
    """

    def __init__(self, policy: Policy, delay: float, first: ArrayLike) -> None:
        self.policy = policy
        own = period_of(policy)
        ratio = Fraction(non_negative("delay", delay, "s") / own).limit_denominator(_PARTS)
        self._first = array("first", first, (None,))
        self._every, self._late = ratio.denominator, ratio.numerator
        self.period = own / self._every
        self.reset()

    def reset(self) -> None:
        """Forget all answers that are under way."""
        self.policy.reset()
        self._ticks = 0
        self.idle = False
        self._waiting: deque[tuple[int, NDArray[np.float64]]] = deque()
        self._held = self._first

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        """Tell the policy inside which contacts touch."""
        tell_contacts(self.policy, time, touching)

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the input that has arrived by `time`."""
        self.idle = self._ticks % self._every > 0
        if not self.idle:
            self._waiting.append((self._ticks + self._late, np.array(self.policy(time, state), dtype=np.float64)))
        while self._waiting and self._waiting[0][0] <= self._ticks:
            self._held = self._waiting.popleft()[1]
        self._ticks += 1
        return self._held


@final
class Noisy(AroundPolicy):
    """A policy that sees the state with Gaussian noise added.

    Parameters
    ----------
    policy : Policy
    deviation : number or (n_x,)
        Standard deviations in the units of the state.
    seed : int
        The same seed gives the same noise after every `reset`.

    Examples
    --------
    >>> import numpy as np
    >>> class Echo:
    ...     period = 0.01
    ...
    ...     def reset(self):
    ...         pass
    ...
    ...     def __call__(self, time, state):
    ...         return state
    >>> noisy = tr.Noisy(Echo(), deviation=0.1, seed=1)
    >>> noisy.reset()
    >>> bool(np.any(noisy(0.0, np.zeros(2)) != 0.0))
    True
    """

    def __init__(self, policy: Policy, deviation: ArrayLike, seed: int = 0) -> None:
        period_of(policy)
        self.policy = policy
        values = np.atleast_1d(np.asarray(deviation, dtype=np.float64))
        self._deviation = array("deviation", values, (None,))
        if np.any(self._deviation < 0):
            raise InputError("deviation", deviation, "numbers >= 0")
        self._seed = integer("seed", seed, minimum=0)
        self.reset()

    def reset(self) -> None:
        """Begin the noise again."""
        self.policy.reset()
        self._random = np.random.default_rng(self._seed)

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the policy's answer to the noisy state."""
        return self.policy(time, state + self._deviation * self._random.normal(size=state.shape))
