"""What plays a planned throw and hands over to a controller after the catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.records import Policy
from trundle.systems.juggling.throw.profiles import Profile, SampledProfile


@dataclass(eq=False)
class PlayThenHold:
    """Plays a profile open loop and, once `ready`, hands over to another policy for good.

    Over each period the input is the profile's mean, so that the hand's twist is exact whenever it is sampled.

    Parameters
    ----------
    profile : Profile or SampledProfile
    after : Policy
        Its period has to be a multiple of this one's, or the same.
    ready : callable
        Takes time (s) and state (n_x,); asked after the profile's end.
    period : float, s

    Examples
    --------
    >>> import numpy as np
    >>> from trundle.systems.juggling.throw.profiles import Profile, Pulse
    >>> class Rest:
    ...     period = 1e-3
    ...
    ...     def reset(self):
    ...         pass
    ...
    ...     def __call__(self, time, state):
    ...         return np.zeros(3)
    >>> up = Profile([[], [], [Pulse(0.0, 0.1, 2.0, ramp=0.02)]])  # m/s2 along z
    >>> policy = tr.juggling.PlayThenHold(up, Rest(), ready=lambda time, state: True)
    >>> [policy(t, np.zeros(8)).round(6).tolist() for t in (0.05, 0.2)]
    [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
    """

    profile: Profile | SampledProfile
    after: Policy
    ready: Callable[[float, FloatArray], bool]
    period: float = 1e-3
    handed_over: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.period = positive("period", self.period, "s")

    def reset(self) -> None:
        """Begin with the profile again."""
        self.handed_over = None
        self.after.reset()

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,), rad/s2 and m/s2."""
        if self.handed_over is None and time >= self.profile.duration and self.ready(time, state):
            self.handed_over = time
        if self.handed_over is not None:
            return self.after(time, state)
        before, behind = self.profile.twist(np.array([time, time + self.period]))
        return (behind - before) / self.period
