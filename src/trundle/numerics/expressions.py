"""Objects that hold CasADi expressions, and travel with their symbols."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import TypeVar

import casadi as ca

Own = TypeVar("Own", bound="HoldsExpressions")
_context = threading.RLock()  # CasADi has one context a process, in which expressions that share symbols are written
_inside = threading.local()


class HoldsExpressions:
    """Base of classes whose fields are expressions of common symbols: pickled as a whole, never changed.

    Unpickled, it has symbols of its own. A copy is the object itself.
    """

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        if getattr(_inside, "context", False):
            return _make_holder, (type(self), vars(self))
        with _context, ca.global_pickle_context():
            _inside.context = True
            try:
                return _load_holder, (pickle.dumps((type(self), vars(self))),)
            finally:
                _inside.context = False

    def __deepcopy__(self: Own, memo: dict[int, object]) -> Own:
        return self


def _make_holder(kind: type[HoldsExpressions], fields: dict[str, object]) -> HoldsExpressions:
    made = object.__new__(kind)
    vars(made).update(fields)
    return made


def _load_holder(data: bytes) -> HoldsExpressions:
    with _context, ca.global_unpickle_context():
        return _make_holder(*pickle.loads(data))
