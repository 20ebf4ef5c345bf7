"""Parameters declared once: name, type, range, unit, default and one sentence stand at the field of a dataclass.

The constructor's check (`check_parameters`), the keys of a scenario file and their errors
(`trundle.scenarios.schema.table_of`), and what `trundle show` and the documentation say of them are derived from it::

    @dataclass(frozen=True)
    class Gating:
        force: NonNegative = parameter(8.0, "N, of the ground along the foothold's normal")

        def __post_init__(self) -> None:
            check_parameters(self)
"""

from __future__ import annotations

import dataclasses
import math
import typing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from trundle.checks import number

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST = 1e12
"""Largest magnitude of any number in a file; every integer below it is an exact float."""


@dataclass(frozen=True)
class AllowedRange:
    """Numbers in ``[minimum, maximum]`` and above `above`; `text` completes "must be ..." in errors of files."""

    text: str
    minimum: float = -math.inf
    maximum: float = math.inf
    above: float = -math.inf


NonNegative = Annotated[float, AllowedRange("a number from 0 to 1e12", minimum=0.0)]
Positive = Annotated[float, AllowedRange("a number > 0, at most 1e12", above=0.0)]
PositiveFraction = Annotated[float, AllowedRange("a share > 0, at most 1", above=0.0, maximum=1.0)]
Fraction = Annotated[float, AllowedRange("a number from 0 to 1", minimum=0.0, maximum=1.0)]


@dataclass(frozen=True)
class Parameter:
    """A field of a dataclass: what it may be, its default, and a sentence that begins with its unit."""

    name: str
    type: Any
    default: Any
    text: str

    @property
    def range(self) -> AllowedRange | None:
        """Range of a number, None of anything else."""
        found = typing.get_args(self.type)[1:] if typing.get_origin(self.type) is Annotated else ()
        return next((entry for entry in found if isinstance(entry, AllowedRange)), None)


def parameter(default: Any, text: str) -> Any:
    """Return a dataclass field with a default and a sentence."""
    return dataclasses.field(default=default, metadata={"text": text})


@cache
def parameters_of(owner: type[DataclassInstance]) -> tuple[Parameter, ...]:
    """Return the parameters of a dataclass whose fields are made by `parameter`."""
    types = typing.get_type_hints(owner, include_extras=True)
    return tuple(
        Parameter(field.name, types[field.name], field.default, field.metadata["text"])
        for field in dataclasses.fields(owner)
        if "text" in field.metadata
    )


def check_parameters(owner: DataclassInstance) -> None:
    """Check every number of a dataclass against its range.

    Raises
    ------
    InputError
        That names the parameter, its value and what is allowed.
    """
    for one in parameters_of(type(owner)):
        allowed = one.range
        if allowed is not None:
            value, low, high = getattr(owner, one.name), allowed.minimum, allowed.maximum
            number(one.name, value, minimum=low, maximum=high, above=allowed.above)
