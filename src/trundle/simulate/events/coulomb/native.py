"""The impulses of contacts in C (`coulomb_core.c`): what starts near an answer lead to, of redundant ones the least."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import CompileError
from trundle.numerics.compiled.compile import load_core
from trundle.simulate.events.coulomb.contacts import ContactImpulses, Contacts, IntArray

_NUMBER, _POINTER = ctypes.c_longlong, ctypes.c_void_p


class CoulombCore:
    """The loaded core.

    Parameters
    ----------
    library : ctypes.CDLL
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._impulses = library["coulomb_impulses"]
        self._impulses.argtypes = [_NUMBER] * 2 + [_POINTER] * 6 + [ctypes.c_double] + [_POINTER] * 3
        self._resisted = library["resisted_impulses"]
        self._resisted.argtypes = [_NUMBER] * 3 + [_POINTER] * 5 + [_NUMBER, _POINTER, ctypes.c_double] + [_POINTER] * 2

    def impulses(self, contacts: Contacts, guess: FloatArray | None, speed: float) -> tuple[ContactImpulses, bool]:
        """Return the best impulses found, and whether they are an answer; `speed` (m/s) is there elsewhere."""
        c = contacts
        given = [np.ascontiguousarray(value) for value in (c.D, c.before, c.friction, c.least, c.slips)]
        start = None if guess is None else np.ascontiguousarray(guess, dtype=np.float64)
        impulses, velocities, residual = np.empty((c.m, c.d)), np.empty((c.m, c.d)), np.empty(1)
        answered = self._impulses(
            c.m,
            c.d,
            *(value.ctypes.data for value in given),
            None if start is None else start.ctypes.data,
            speed,
            *(value.ctypes.data for value in (impulses, velocities, residual)),
        )
        if answered < 0:
            raise MemoryError("no room for the impulses of contacts")
        return ContactImpulses(impulses, velocities, float(residual[0])), bool(answered)

    def solve_resisted(
        self,
        D: FloatArray,
        before: FloatArray,
        begin: IntArray,
        bounds: FloatArray,
        rays: FloatArray,
        starts: FloatArray,
        content: float,
    ) -> tuple[FloatArray, float]:
        """Return the best of what Newton's method makes of `starts` (k, m K), the first within `content`; its residual.

        Of scaled contacts of `trundle.simulate.events.coulomb.resisted`: ``begin`` (groups + 1,) of columns.
        """
        (m, K), groups = before.shape, len(begin) - 1
        given = [np.ascontiguousarray(value, dtype=np.float64) for value in (D, before, bounds, rays, starts)]
        D_at, before_at, bounds_at, rays_at, starts_at = (value.ctypes.data for value in given)
        numbers = np.ascontiguousarray(begin, dtype=np.int64)
        found, residual = np.empty((m, K)), np.empty(1)
        failed = self._resisted(
            *(m, K, groups, numbers.ctypes.data, D_at, before_at, bounds_at, rays_at),
            *(len(starts), starts_at, content, found.ctypes.data, residual.ctypes.data),
        )
        if failed:
            raise MemoryError("no room for the impulses of contacts")
        return found, float(residual[0])


def core() -> CoulombCore | None:
    """Return the core, or None where it did not come with the package and there is no compiler."""
    library = load_core("trundle.simulate.events.coulomb", "coulomb_core")
    return None if library is None else _core(library)


def needed_core() -> CoulombCore:
    """Return the core; without it nothing that touches can be decided."""
    found = core()
    if found is None:
        raise CompileError("contacts need the core that comes with the package, or a C compiler")
    return found


@lru_cache(maxsize=2)
def _core(library: ctypes.CDLL) -> CoulombCore:
    return CoulombCore(library)
