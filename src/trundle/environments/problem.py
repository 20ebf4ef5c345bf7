"""What a learner is set: a model, where it starts, what it may do, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray, array, positive
from trundle.errors import InputError
from trundle.models import RollingPair, RollingTree, Start

Cost = Callable[[float, FloatArray, FloatArray], float]
"""(time s, state (n_x,), input (n_u,)) -> cost of a second."""


@dataclass(frozen=True, eq=False)
class EnvironmentProblem:
    """A model that a policy acts on once a period, with inputs that are held.

    Parameters
    ----------
    model : RollingPair or RollingTree
    start : callable of a random generator, returning a Start
    period, duration : float, s
        Between two actions; of an episode.
    low, high : (n_u,)
        Bounds of the inputs, finite; equal ones fix an input.
    cost : callable of (time, state, input)
        Per second; rewards are -period times it.
    lost : callable of (time, state), optional
        Whether an episode is over; one whose simulation ends early is.
    observe : callable of (time, state), optional
        Observation (n,) in place of the state (n_x,).
    relative_tolerance : float
        Of the integration.

    Raises
    ------
    InputError
        If a bound is not finite or of another size, or a time is not positive.

    Examples
    --------
    >>> robot = tr.Robot()
    >>> cart = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")  # kg, kg m2
    >>> _ = robot.revolute(cart, (0, 0), 0.2, 0.005, center_of_mass=(0, 0.5), name="pole", actuated=False)
    >>> tree = robot.finish()
    >>> from trundle.environments import EnvironmentProblem, RollingEnv
    >>> problem = EnvironmentProblem(
    ...     tree,
    ...     lambda rng: tree.place(pole=rng.uniform(-0.1, 0.1)),
    ...     0.02,  # s
    ...     5.0,
    ...     [-10.0],  # N
    ...     [10.0],
    ...     lambda t, x, u: float(x[:2] @ x[:2]),
    ... )
    >>> env = RollingEnv(problem)
    >>> observation, _ = env.reset(seed=1)
    >>> observation.shape, env.step(np.zeros(1))[1] < 0.0
    ((4,), True)
    """

    model: RollingPair | RollingTree
    start: Callable[[np.random.Generator], Start]
    period: float
    duration: float
    low: ArrayLike
    high: ArrayLike
    cost: Cost
    lost: Callable[[float, FloatArray], bool] | None = None
    observe: Callable[[float, FloatArray], FloatArray] | None = None
    relative_tolerance: float = 1e-8

    def __post_init__(self) -> None:
        size = self.model.system.model().u.shape[0]
        if not size:
            raise InputError("model", self.model, "one with inputs: actuated joints, or a hand")
        for name in ("period", "duration"):
            positive(name, getattr(self, name), "s")
        for name in ("low", "high"):
            object.__setattr__(self, name, array(name, getattr(self, name), (size,)))
        if not np.all(np.asarray(self.low) <= np.asarray(self.high)):
            raise InputError("low", np.asarray(self.low).tolist(), "no number above that of high")

    def observation(self, time: float, state: FloatArray) -> NDArray[np.float64]:
        """Return what is observed of a state (n_x,) at `time` (s)."""
        return np.array(state if self.observe is None else self.observe(time, state), dtype=np.float64)
