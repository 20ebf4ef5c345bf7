"""What several threads share: values that are made once, workspaces that are made once a thread, and locks.

Models, policies and optimisers may be shared by threads. What a call writes to is made anew in every thread
(`PerThread`); what is kept for later calls is made by the first thread that asks (`made_once`, `cached_property`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, MutableMapping
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_guard = threading.Lock()
_locks: WeakValueDictionary[Hashable, threading.RLock] = WeakValueDictionary()


def lock_of(key: Hashable) -> threading.RLock:
    """Return the lock of `key`, one for all threads as long as one of them keeps it; a thread may take it twice."""
    with _guard:
        return _locks.setdefault(key, threading.RLock())


def made_once(kept: MutableMapping[K, T], key: K, make: Callable[[], T]) -> T:
    """Return ``kept[key]``, made by the first thread that asks for it while others wait.

    Every value has a lock of its own: two threads could only wait for each other if two values needed each other.
    """
    try:
        return kept[key]
    except KeyError:
        pass
    with lock_of((id(kept), key)):
        if key not in kept:
            kept[key] = make()
        return kept[key]


if TYPE_CHECKING:
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - stands in for it
        """A property that one thread computes while others wait: functools' own does not lock since Python 3.12."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return made_once(vars(instance), self.attrname, lambda: self.func(instance))


class PerThread(Generic[T]):
    """A workspace for each thread that calls, made at its first call by ``make()`` (final)."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._own = make, threading.local()

    def __call__(self) -> T:
        """Return the workspace of the calling thread."""
        try:
            return self._own.made
        except AttributeError:
            pass
        self._own.made = made = self._make()
        return made

    def __reduce__(self) -> tuple[type[PerThread[T]], tuple[Callable[[], T]]]:
        return type(self), (self._make,)
