"""Arguments of public callables: one of a wrong type is refused by its name, like one with a wrong value.

A callable checks its values itself. Where something breaks inside with another error than `TrundleError`, arguments are
compared with the types that the signature declares, and the first that does not fit is told, the error as its cause:
there is nothing to write but the types, good calls cost nothing more, and a fault of trundle stays what it is.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from trundle.errors import InputError, TrundleError

Arguments = ParamSpec("Arguments")
Public = TypeVar("Public")
Result = TypeVar("Result")
_NAMES = {float: "a number", int: "an integer", bool: "true or false", str: "a text", types.NoneType: "None"}


def guarded(public: Public) -> Public:
    """Return a public function guarded, or a public class with its methods guarded, those it inherits too."""
    if inspect.isfunction(public):
        made = _guarded(public)
        setattr(sys.modules[public.__module__], public.__name__, made)  # where pickle looks for it
        return made  # pyright: ignore[reportReturnType]
    for owner in inspect.getmro(public) if isinstance(public, type) and not issubclass(public, Exception) else ():
        for name, member in list(vars(owner).items()) if owner.__module__.startswith("trundle.") else ():
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and (name in ("__init__", "__call__") or not name.startswith("_")):
                made = _guarded(function)
                setattr(owner, name, made if function is member else type(member)(made))
    return public


def _guarded(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    if hasattr(function, "__wrapped__"):
        return function

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (TrundleError, OSError, MemoryError):
            raise
        except Exception as error:
            _refuse(function, args, kwargs, error)
            raise

    return call


def _refuse(function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, Any], cause: Exception) -> None:
    """Raise InputError for the first argument that is not of the declared type, if there is any."""
    try:
        given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
        hints = typing.get_type_hints(function, localns=_Names(function), include_extras=True)
    except (TypeError, NameError):
        return  # not called as declared: Python's own words are the best
    for name, value in given.items():
        if name in hints and not _fits(value, hints[name]):
            raise InputError(name, value, _words(hints[name])) from cause


class _Names(dict[str, object]):
    """Names in annotations: those that a module imports for type checkers alone are found in the others."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.known = {**vars(builtins), **vars(sys.modules[function.__module__])}

    def __missing__(self, name: str) -> object:
        if name in self.known:
            return self.known[name]
        modules = [module for key, module in list(sys.modules.items()) if key.startswith("trundle.")]
        return next((vars(module)[name] for module in modules if name in vars(module)), object)


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of a declared type."""
    from beartype.door import is_bearable

    from trundle.checks import Converted

    while typing.get_origin(hint) in (Converted, typing.Annotated):
        hint = typing.get_args(hint)[0]
    parts = _parts(hint)
    if any("numpy" in str(part) for part in parts):
        return _is_array(value) or any("numpy" not in str(part) and _fits(value, part) for part in parts - {str, bytes})
    if parts & {float, int} and not isinstance(value, bool) and isinstance(value, Real):
        return isinstance(value, Integral) if float not in parts else not math.isnan(value)
    if isinstance(value, bool) and bool not in parts and parts & {float, int}:
        return False
    return bool(is_bearable(value, hint))


def _parts(hint: Any) -> set[Any]:
    return set(typing.get_args(hint)) if typing.get_origin(hint) in (typing.Union, types.UnionType) else {hint}


def _is_array(value: object) -> bool:
    import numpy as np

    try:
        return not isinstance(value, bool) and np.asarray(value).dtype.kind in "biuf"
    except Exception:  # what an object's own conversion raises
        return False


def _words(hint: Any) -> str:
    """Return what a type allows, as a phrase that completes "must be ..."."""
    inner = typing.get_args(hint)
    text = next((one.text for one in inner[1:] if isinstance(getattr(one, "text", None), str)), "")
    if text or typing.get_origin(hint) in (typing.Annotated,):
        return text or _words(inner[0])
    parts = _parts(hint)
    if any("numpy" in str(part) for part in parts):
        return "an array of numbers"
    if len(parts) > 1:
        return " or ".join(sorted({_words(part) for part in parts}))
    if typing.get_origin(hint) is typing.Literal:
        return "one of " + ", ".join(map(repr, inner))
    return _NAMES.get(hint) or f"of type {getattr(typing.get_origin(hint) or hint, '__name__', hint)}"
