"""Phases: the modes of a system ready to integrate, made once and kept with it."""

from __future__ import annotations

from trundle import interrupts
from trundle.models.tree.system import ContactSystem
from trundle.simulate.compiled_mode import compiled_mode
from trundle.simulate.engine.data_mode import data_mode
from trundle.simulate.mode import Method, Mode
from trundle.simulate.phase import MotionPhase


def phase_of(system: ContactSystem, mode: Mode, held: bool, method: Method) -> MotionPhase:
    """Return the phase of a mode.

    ``held``: inputs are those of a policy.
    """
    key = ("phase", mode, held, method.name, method.stabilization, method.end_speed)

    def make() -> MotionPhase:
        return data_mode(system, mode, held, method) or compiled_mode(system, mode, held, method)

    return system.keep(key, interrupts.opened()(make))
