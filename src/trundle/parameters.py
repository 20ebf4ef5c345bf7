"""Parameters declared once: name, type, range, unit, default and one sentence stand at the field of a dataclass.

The constructor's check (`Checked`, `check_parameters`), the keys of a scenario file and their errors
(`trundle.scenarios.schema.table_of`), and what `trundle show` and the documentation say of them are derived from it::

    @dataclass(frozen=True)
    class Gating(Checked):
        force: NonNegative = parameter(8.0, "N, of the ground along the foothold's normal")

A field without a default is ``field(metadata={"text": ...})``. Types may be numbers with a `Range`, bool, a Literal,
and tuples, sequences and unions (with None) of those.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, Union

import numpy as np

from trundle.checks import Converted, Standing, array, choice, integer, number
from trundle.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST = 1e12
"""Largest magnitude of any number in a file; every integer below it is an exact float."""


T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """Numbers in ``[minimum, maximum]`` and ``(above, below)``; `text` completes "must be ..." in errors of files.

    Of a tuple or sequence it holds for each number; `length` is that of a sequence, and `order`, such as `operator.le`,
    what each number and the next must keep. With `or_zero` 0 is allowed too.
    Files allow only numbers in `in_files`: what lies beyond is a slip of the pen. Constructors take infinity where
    `infinite` says so, and say `text` in their errors, too, where `worded` does.
    """

    text: str
    minimum: float = -math.inf
    maximum: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    unit: str = ""
    length: int | None = None
    order: Callable[[float, float], bool] | None = None
    or_zero: bool = False
    in_files: tuple[float, float] = (-LARGEST, LARGEST)
    infinite: bool = False
    worded: bool = False


Real = Annotated[float, Range("a number from -1e12 to 1e12")]
Vector3 = Annotated[Sequence[float], Range("3 numbers, each from -1e12 to 1e12", length=3)]
Duration = Annotated[float, Range("a time > 0, from 1e-9 to 1e9 (s)", above=0.0, unit="s", in_files=(1e-9, 1e9))]
Mass = Annotated[float, Range("a mass > 0, from 1e-9 to 1e9 (kg)", above=0.0, unit="kg", in_files=(1e-9, 1e9))]
Gravity = Annotated[float, Range("a number > 0, at most 1e6 (m/s^2)", above=0.0, unit="m/s2", in_files=(-1e6, 1e6))]
NonNegative = Annotated[float, Range("a number from 0 to 1e12", minimum=0.0)]
Positive = Annotated[float, Range("a number > 0, at most 1e12", above=0.0)]
PositiveFraction = Annotated[float, Range("a share > 0, at most 1", above=0.0, maximum=1.0)]
Fraction = Annotated[float, Range("a number from 0 to 1", minimum=0.0, maximum=1.0)]

Length = Annotated[float, Range("a length > 0, from 1e-7 to 1e7 (m)", above=0.0, unit="m", in_files=(1e-7, 1e7))]
Seconds = Annotated[float, Range("a time > 0, from 1e-9 to 600 (s)", above=0.0, unit="s", in_files=(1e-9, 600.0))]
Period = Annotated[float, Range("a time from 1e-5 to 1 (s)", above=0.0, unit="s", in_files=(1e-5, 1.0))]
Delay = Annotated[float, Range("a time from 0 to 1 (s)", minimum=0.0, unit="s", in_files=(0.0, 1.0))]


@dataclass(frozen=True)
class Parameter:
    """A field of a dataclass: what it may be, its default, and a sentence that begins with its unit."""

    name: str
    type: Any
    default: Any
    text: str

    @property
    def range(self) -> Range | None:
        """Range of a number, None of anything else."""
        found = typing.get_args(self.type)[1:] if typing.get_origin(self.type) is Annotated else ()
        return next((entry for entry in found if isinstance(entry, Range)), None)


def parameter(default: T, text: str) -> T:
    """Return a dataclass field with a default and a sentence."""
    if isinstance(default, Mapping):
        return dataclasses.field(default_factory=lambda: dict(default), metadata={"text": text})  # pyright: ignore[reportReturnType]
    return dataclasses.field(default=default, metadata={"text": text})


def parameter_of(owner: type, name: str) -> float:
    """Return a dataclass field with the default and the sentence of the number `name` of another dataclass."""
    field: dataclasses.Field[float] = owner.__dataclass_fields__[name]
    return dataclasses.field(default=field.default, metadata=dict(field.metadata))  # pyright: ignore[reportReturnType, reportCallIssue, reportArgumentType]


@cache
def parameters_of(owner: type[DataclassInstance]) -> tuple[Parameter, ...]:
    """Return the parameters of a dataclass, its fields with a sentence; MISSING is the default of one without."""
    types = typing.get_type_hints(owner, include_extras=True)
    return tuple(
        Parameter(field.name, types[field.name], _default(field), field.metadata["text"])
        for field in dataclasses.fields(owner)
        if "text" in field.metadata
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def check_parameters(owner: DataclassInstance, prefix: str = "") -> None:
    """Check every parameter of a dataclass against its range; numbers become floats, sequences of them tuples.

    Fields made by `trundle.checks.vector` and the like become what they keep.

    A union of several types, such as ``float | Sequence[float]``, is left to the class.

    Raises
    ------
    InputError
        That names the parameter (behind `prefix`), its value and what is allowed.
    """
    for one in parameters_of(type(owner)):
        clean = check_parameter(prefix + one.name, getattr(owner, one.name), one.type)
        object.__setattr__(owner, one.name, clean)
    for name, keep in _list_kept_fields(type(owner)):
        object.__setattr__(owner, name, keep(prefix + name, getattr(owner, name)))


@cache
def _list_kept_fields(owner: type) -> tuple[tuple[str, Callable[[str, object], object]], ...]:
    """Return the fields of a dataclass that say themselves what is kept of them."""
    fields = ((name, field) for name, field in vars(owner).items() if isinstance(field, Converted))
    return tuple((name, field.keep) for name, field in fields if field.keep is not None)


class Checked:
    """Base of a dataclass whose constructor checks its parameters, and nothing else."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]

    def __post_init__(self) -> None:
        check_parameters(self)


def check_parameter(key: str, value: Any, kind: Any, allowed: Range | None = None) -> Any:
    """Return a value as a dataclass keeps it, or raise; what is neither number, sequence nor Literal stays as it is."""
    if isinstance(value, Standing):
        check_parameter(key, value.value, kind, allowed)
        return value
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        found = next((entry for entry in inner[1:] if isinstance(entry, Range)), allowed)
        try:
            return check_parameter(key, value, inner[0], found)
        except InputError:
            if found is None or not found.worded:
                raise
            raise InputError(key, value, found.text) from None
    if origin is Literal:
        return choice(key, value, inner)
    if origin in (Union, UnionType):
        left = [one for one in inner if one is not type(None)]
        free = len(left) > 1 or (value is None and len(left) < len(inner))
        return value if free else check_parameter(key, value, left[0], allowed)
    if kind is bool:
        return _flag(key, value)
    if allowed is None or (allowed.infinite and _is_number(value, math.inf)):
        return value
    if kind is int:
        return integer(key, value, minimum=_whole(allowed.minimum), maximum=_whole(allowed.maximum))
    if origin in (tuple, Sequence):
        count = allowed.length if origin is Sequence else None if Ellipsis in inner else len(inner)
        numbers = array(key, value, (count,), minimum=allowed.minimum, above=allowed.above, unit=allowed.unit)
        if inner[0] is int and np.any(numbers % 1.0):
            raise InputError(key, value, f"{count or ''} integers >= {allowed.minimum:g}".strip())
        if allowed.order and not all(map(allowed.order, numbers, numbers[1:])):
            raise InputError(key, value, allowed.text)
        return tuple(check_parameter(f"{key}[{i}]", one, inner[0], allowed) for i, one in enumerate(value))
    if allowed.or_zero and _is_number(value, 0.0):
        return 0.0
    low, high, above, below = allowed.minimum, allowed.maximum, allowed.above, allowed.below
    return number(key, value, minimum=low, maximum=high, above=above, below=below, unit=allowed.unit)


def _is_number(value: Any, wanted: float) -> bool:
    """Whether a value is one number, not a boolean, and equal to the `wanted` one."""
    return np.ndim(value) == 0 and not isinstance(value, bool | np.bool_ | str) and bool(value == wanted)


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(key, value, "true or false")
    return value


def _whole(bound: float) -> int | None:
    return int(bound) if math.isfinite(bound) else None
