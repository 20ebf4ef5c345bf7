"""Sensors of a MuJoCo plant: what a policy measures, with noise, delay and faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray, array, non_negative

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trundle.simulate.mujoco.view import PlantView


@dataclass(frozen=True)
class Sensors:
    """The measurement that a policy gets.

    Parameters
    ----------
    measure : callable, optional
        From a `PlantView` to numbers (n,); joint positions and velocities of the model unless given.
    deviation : number or (n,)
        Standard deviation of Gaussian noise.
    delay : float, s
        Age of a measurement when the policy gets it.
    seed : int
        Of the noise.
    fault : callable, optional
        From time and measurement to what the policy gets instead: a sensor that fails.
    """

    measure: Callable[[PlantView], FloatArray] | None = None
    deviation: ArrayLike = 0.0
    delay: float = 0.0
    seed: int = 0
    fault: Callable[[float, FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        sigma = array("deviation", np.atleast_1d(np.asarray(self.deviation, dtype=np.float64)), (None,), minimum=0.0)
        object.__setattr__(self, "deviation", sigma)
        non_negative("delay", self.delay, "s")

    def read(self, view: PlantView) -> FloatArray:
        """Return the measurement without noise or delay."""
        if self.measure is not None:
            return self.measure(view)
        return np.concatenate([view.data.qpos, view.data.qvel])


class DelayedReadings:
    """The measurements of one run that are still to be delivered (final).

    Parameters
    ----------
    sensors : Sensors
    step : float, s
        Of the plant.
    every : int
        Steps between two calls of the policy.
    """

    def __init__(self, sensors: Sensors, step: float, every: int) -> None:
        self.sensors, self.step, self.every = sensors, step, every
        self._random = np.random.default_rng(sensors.seed)
        self._late = round(sensors.delay / step)
        self._measured: deque[tuple[int, FloatArray]] = deque()

    def is_needed(self, i: int) -> bool:
        """Whether the measurement at step i will be delivered: that of the start is, until the delay has passed."""
        return i == 0 or (i + self._late) % self.every == 0

    def read(self, i: int, view: PlantView) -> None:
        """Measure at step i, if that is needed."""
        if self.is_needed(i):
            self._measured.append((i, self.sensors.read(view)))

    def deliver(self, i: int) -> FloatArray:
        """Return what the policy gets at step i, with noise and faults."""
        while len(self._measured) > 1 and self._measured[1][0] <= i - self._late:
            self._measured.popleft()
        time, measured = i * self.step, self._measured[0][1]
        sigma = np.asarray(self.sensors.deviation)
        if np.any(sigma):
            measured = measured + sigma * self._random.normal(size=measured.shape)
        return measured if self.sensors.fault is None else self.sensors.fault(time, measured.copy())
