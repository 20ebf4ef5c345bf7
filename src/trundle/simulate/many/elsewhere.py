"""Outcomes that travel: arrays go through the wire; compiled modes stay where they are and are found again by name."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence

from trundle.models.tree.system import ContactSystem
from trundle.simulate.many.result import Outcome
from trundle.simulate.mode import Mode
from trundle.simulate.phase import MotionPhase


class _Packer(pickle.Pickler):
    """Writes a mode in place of its compiled equations, and nothing in place of the system (final)."""

    def persistent_id(self, obj: object) -> Mode | str | None:
        if isinstance(obj, MotionPhase):
            return obj.mode
        return "system" if isinstance(obj, ContactSystem) else None


class _Unpacker(pickle.Unpickler):
    """Reads what `_Packer` wrote (final)."""

    def __init__(self, file: io.BytesIO, system: ContactSystem, phase: Callable[[Mode], MotionPhase]) -> None:
        super().__init__(file)
        self._system, self._phase = system, phase

    def persistent_load(self, pid: Mode | str) -> MotionPhase | ContactSystem:
        return self._phase(pid) if isinstance(pid, Mode) else self._system


def pack_outcomes(outcomes: Sequence[Outcome]) -> bytes:
    """Return outcomes of one system as bytes."""
    file = io.BytesIO()
    _Packer(file, protocol=pickle.HIGHEST_PROTOCOL).dump(outcomes)
    return file.getvalue()


def unpack_outcomes(data: bytes, system: ContactSystem, phase: Callable[[Mode], MotionPhase]) -> Sequence[Outcome]:
    """Return the outcomes that were `pack_outcomes`, of the same system here; `phase` compiles a mode of it."""
    return _Unpacker(io.BytesIO(data), system, phase).load()
