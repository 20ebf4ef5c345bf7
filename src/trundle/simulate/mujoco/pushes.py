"""Pushes on bodies of a MuJoCo plant, and other things that happen at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import ArrayField, Converted, FloatArray, choice, non_negative, size, vector
from trundle.parameters import Checked

if TYPE_CHECKING:
    from trundle.simulate.mujoco.view import PlantView


@dataclass(frozen=True)
class ForcePulse(Checked):
    """A force (3,), N, world axes, at a point (3,), m, of a body's frame from `start` for `duration`, s."""

    body: str
    point: ArrayField = vector("m")
    force: ArrayField = vector("N")
    start: Converted[float, float] = Converted(keep=partial(non_negative, unit="s"))
    duration: Converted[float, float] = size("s")

    def acts(self, time: float) -> bool:
        """Whether it acts at a time (s)."""
        return self.start - 1e-9 <= time < self.start + self.duration - 1e-9


@dataclass(frozen=True)
class Action:
    """Something that happens once, at a time (s): a body is put elsewhere, a box appears."""

    time: float
    do: Callable[[PlantView], None]


class AppliedPulses:
    """The pulses of one run, by body numbers (final).

    Raises
    ------
    InputError
        If a pulse names no body of the model.
    """

    def __init__(self, view: PlantView, pulses: Sequence[ForcePulse]) -> None:
        names = {view.model.body(i).name: i for i in range(view.model.nbody)}
        self._pulses = [(names[choice("push.body", one.body, names)], one, one.point, one.force) for one in pulses]

    def apply(self, view: PlantView, time: float) -> None:
        """Write the forces and moments at a time (s) to the plant: about the bodies' centres of mass, world axes."""
        data = view.data
        data.xfrc_applied[:] = 0.0
        for body, pulse, point, force in self._pulses:
            if pulse.acts(time):
                lever: FloatArray = data.xmat[body].reshape(3, 3) @ point + data.xpos[body] - data.xipos[body]
                data.xfrc_applied[body, :3] += force
                data.xfrc_applied[body, 3:] += np.cross(lever, force)
