"""Phases: the compiled modes of a system, made once and kept with it."""

from __future__ import annotations

from trundle import interrupts
from trundle.models.tree.system import ContactSystem
from trundle.simulate.compiled_mode import CompiledMode
from trundle.simulate.mode import Method, Mode


def phase_of(system: ContactSystem, mode: Mode, held: bool, method: Method) -> CompiledMode:
    """Return the compiled phase of a mode; systems that differ in their free numbers alone share it.

    ``held``: inputs are those of a policy.
    """
    key = ("phase", mode, held, method.name, method.stabilization, method.end_speed)
    make = interrupts.opened()(lambda: CompiledMode(system, mode, held, method))
    if system.free is None:
        return system.kept(key, make)
    first = system.shared(key, make)
    return system.kept(key, lambda: first.on(system))
