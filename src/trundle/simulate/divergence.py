"""Where a closed loop drives bodies faster without end: such a run ends early, by the name of what runs away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.errors import ControlLostError
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import speeds_at
from trundle.simulate.mode import Mode
from trundle.status import Status

_TIMES, _FALLS, _SLOW = 1e4, 10.0, 1e3


class DivergenceCheck:
    """Ends a run under a policy in which some body is faster than 1e4 (1 m/s + v_0) + 10 g t.

    v_0 (m/s) is the speed of the fastest body when the policy is first asked, g t what a fall brings until then.
    """

    def __init__(self, gravity: ArrayLike) -> None:
        self._most: float | None = None
        self._g = float(np.linalg.norm(gravity))

    def check(self, t: float, numbers: FloatArray, speeds: Callable[[], Mapping[str, float]]) -> None:
        """Raise `ControlLostError` if a body is too fast at t (s).

        Numbers (of a state or its velocities) that are all small are not looked at twice.
        """
        if self._most is not None and np.abs(numbers).max(initial=0.0) < _SLOW:
            return
        name, fastest = max(speeds().items(), key=lambda item: item[1], default=("", 0.0))
        if self._most is None:
            self._most = _TIMES * (1.0 + fastest)
        if fastest > self._most + _FALLS * self._g * t:
            raise ControlLostError(f"the loop diverges: {name} moves at {fastest:.3g} m/s", Status.DIVERGED)


def has_diverged(system: ContactSystem, mode: Mode, times: FloatArray, states: FloatArray) -> bool:
    """Whether a closed loop that stays in a mode is too fast at one of some times (n,), in the states (n, n_x)."""
    check = DivergenceCheck(system.physics["gravity"])
    try:
        for t, x in zip(times.tolist(), states, strict=True):
            check.check(t, x, partial(speeds_at, system, mode.atlas, x))
    except ControlLostError:
        return True
    return False
