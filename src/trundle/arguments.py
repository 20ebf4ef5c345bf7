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
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import Converted
from trundle.errors import InputError, TrundleError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_NAMES = {float: "a number", int: "an integer", bool: "true or false", str: "a text", types.NoneType: "None"}


def guard(package: str) -> None:
    """Guard the public names of a package: called at the end of its ``__init__``."""
    home = sys.modules[package]
    for name in vars(home)["__all__"]:
        setattr(home, name, guard_name(getattr(home, name)))


def guard_name(public: object) -> object:
    """Return a public function guarded, or a public class with its methods guarded, those it inherits too."""
    if inspect.isfunction(public):
        made = _guard_function(public)
        setattr(sys.modules[public.__module__], public.__name__, made)  # where pickle looks for it
        return made
    if not isinstance(public, type) or issubclass(public, Exception) or hasattr(public, "model_fields"):
        return public
    for owner in inspect.getmro(public):
        for name, member in list(vars(owner).items()) if owner.__module__.startswith("trundle.") else ():
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and (name in ("__init__", "__call__") or not name.startswith("_")):
                made = _guard_function(function)
                setattr(owner, name, made if function is member else type(member)(made))
    return public


def _guard_function(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
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


def _refuse(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], cause: Exception
) -> None:
    """Raise InputError for the first argument that is not of the declared type, or else no array where one is meant."""
    try:
        given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except TypeError:
        return  # not called as declared: Python's own words are the best
    hints = {name: _hint(function, name) for name in given}
    for fits in (_fits, _fits_exactly):
        for name, value in given.items():
            if not fits(value, hints[name]):
                raise InputError(name, value, _words(hints[name])) from cause


def _hint(function: Callable[..., object], name: str) -> object:
    """Return the type that a parameter declares; object where it cannot be known."""
    declared = types.SimpleNamespace(__annotations__={name: getattr(function, "__annotations__", {}).get(name, object)})
    try:
        hint = typing.get_type_hints(declared, localns=_Names(function), include_extras=True)[name]
    except (NameError, AttributeError, TypeError):
        return object
    while typing.get_origin(hint) is Converted:
        hint = typing.get_args(hint)[0]
    return hint


class _Names(dict[str, object]):
    """Names in annotations: those that a module imports for type checkers alone are found in the others."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.known = {**vars(builtins), **vars(sys.modules[function.__module__])}

    def __missing__(self, name: str) -> object:
        if name in self.known:
            return self.known[name]
        modules = [module for key, module in list(sys.modules.items()) if key.startswith("trundle.")]
        return next((vars(module)[name] for module in modules if name in vars(module)), object)


def _fits(value: object, hint: object) -> bool:
    """Whether a value is of a declared type."""
    from beartype.door import is_bearable

    parts = _parts(hint)
    if _arrays(parts):
        others = {part for part in parts if not _arrays({part})} - set(typing.get_args(ArrayLike))
        return _is_array(value) or any(_fits(value, part) for part in others)
    if parts & {float, int} and isinstance(value, Real | np.bool_) and bool not in parts:
        return _is_number(value) and (float in parts or isinstance(value, Integral))
    try:
        return bool(is_bearable(value, hint))  # pyright: ignore[reportArgumentType] - any type, at run time
    except Exception:  # what an object's own methods raise
        return False


def _fits_exactly(value: object, hint: object) -> bool:
    """Whether a value that is as declared is an array with entries, where one is declared."""
    return (
        not (_arrays(_parts(hint)) and _is_array(value)) or np.size(np.asarray(value)) * np.ndim(np.asarray(value)) > 0
    )


def _parts(hint: object) -> set[object]:
    """Return the types of a union, without what is noted beside them."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    return set(typing.get_args(hint)) if typing.get_origin(hint) in (typing.Union, types.UnionType) else {hint}


def _arrays(parts: set[object]) -> bool:
    """Whether one of the types is an array's."""
    return parts >= set(typing.get_args(ArrayLike)) or any(typing.get_origin(part) is np.ndarray for part in parts)


def _is_array(value: object) -> bool:
    try:
        return not isinstance(value, bool) and np.asarray(value).dtype.kind in "biuf"
    except Exception:  # what an object's own conversion raises
        return False


def _is_number(value: Real | np.bool_) -> bool:
    try:
        return not isinstance(value, bool) and not math.isnan(value)
    except OverflowError:
        return False


def _words(hint: object) -> str:
    """Return what a type allows, as a phrase that completes "must be ..."."""
    texts = [one.text for one in typing.get_args(hint)[1:] if isinstance(getattr(one, "text", None), str)]
    parts = _parts(hint)
    if texts or _arrays(parts):
        return next(iter(texts), "an array of numbers")
    if len(parts) > 1:
        return " or ".join(sorted({_words(part) for part in parts}))
    kind = next(iter(parts))
    if typing.get_origin(kind) is typing.Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(kind)))
    origin, entries = typing.get_origin(kind) or kind, [getattr(one, "__name__", "") for one in typing.get_args(kind)]
    if origin is Callable:
        return "a function"
    inside = f"[{', '.join(entries)}]" if entries and all(entries) else ""
    return _NAMES.get(kind) or f"of type {getattr(origin, '__name__', kind)}{inside}"
