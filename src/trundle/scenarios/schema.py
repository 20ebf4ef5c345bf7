"""What every scenario file shares: strict tables and the types of their keys."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING as MISSING_DEFAULT
from dataclasses import is_dataclass, replace
from inspect import get_annotations
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError, PydanticUndefined

from trundle import parameters as ranges
from trundle.checks import choice
from trundle.parameters import Parameter, Range, parameters_of
from trundle.scenarios.problems import MISSING, Allowed, Problem, ScenarioError, Toml, suggestion
from trundle.scenarios.system import names, system

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Array = BeforeValidator(_tuple)


def require_order(order: Callable[[float, float], bool]) -> AfterValidator:
    """Return what refuses numbers of which one and the next do not keep an order, such as `operator.le`."""

    def check(value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(map(order, value, value[1:])):
            raise ValueError
        return value

    return AfterValidator(check)


def key_type(kind: Any, allowed: Range | None = None) -> Any:
    """Return the type of a key that holds a parameter of type `kind`: within its range, sequences as tuples."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return Annotated[key_type(inner[0], *(one for one in inner[1:] if isinstance(one, Range))), *inner[1:]]
    if origin in (tuple, Sequence):
        length = allowed.length if allowed else None
        parts = inner if origin is tuple else inner * length if length else (*inner, ...)
        made = tuple[tuple(one if one is ... else key_type(one, allowed) for one in parts)]  # pyright: ignore[reportInvalidTypeArguments]
        made = Annotated[made, Array, Field(max_length=64)] if ... in parts else Annotated[made, Array]
        return Annotated[made, require_order(allowed.order)] if allowed and allowed.order else made
    if origin in (typing.Union, UnionType):
        return typing.Union[tuple(key_type(one, allowed) for one in inner)]  # noqa: UP007
    if allowed is None or kind not in (int, float):
        return kind
    bounded = Annotated[kind, Field(**_bounds(allowed))]
    return typing.Union[Annotated[kind, Field(ge=0, le=0)], bounded] if allowed.or_zero else bounded  # noqa: UP007


def _bounds(allowed: Range) -> dict[str, Any]:
    """Return the bounds of a number in a file."""
    low, high = allowed.in_files
    least = {"gt": allowed.above} if allowed.above >= low else {"ge": max(allowed.minimum, low)}
    return least | ({"lt": allowed.below} if allowed.below <= high else {"le": min(allowed.maximum, high)})


def _unit(value: tuple[float, ...]) -> tuple[float, ...]:
    norm = math.hypot(*value)
    if abs(norm - 1.0) > 1e-3:
        raise fault("", f"must be a unit quaternion (w, x, y, z), norm 1 within 1e-3; its norm is {norm:.6g}")
    return value


def in_files(kind: Any) -> Any:
    """Return the bounds, as pydantic takes them, of a number of type `kind`, such as `trundle.parameters.Positive`."""
    return Field(**_bounds(next(entry for entry in typing.get_args(kind) if isinstance(entry, Range))))


Delay = Annotated[ranges.Delay, in_files(ranges.Delay)]
Duration = Annotated[ranges.Duration, in_files(ranges.Duration)]
Fraction = Annotated[ranges.Fraction, in_files(ranges.Fraction)]
Mass = Annotated[ranges.Mass, in_files(ranges.Mass)]
NonNegative = Annotated[ranges.NonNegative, in_files(ranges.NonNegative)]
Period = Annotated[ranges.Period, in_files(ranges.Period)]
Positive = Annotated[ranges.Positive, in_files(ranges.Positive)]
PositiveFraction = Annotated[ranges.PositiveFraction, in_files(ranges.PositiveFraction)]
Real = Annotated[ranges.Real, in_files(ranges.Real)]
Seconds = Annotated[ranges.Seconds, in_files(ranges.Seconds)]
Size = Annotated[ranges.Length, in_files(ranges.Length)]
Factor = Annotated[float, Field(gt=0, le=100), Allowed("a factor > 0, at most 100")]
Tolerance = Annotated[float, Field(ge=1e-14, le=1e-2), Allowed("a number from 1e-14 to 1e-2")]
_Within = Field(ge=-1e6, le=1e6)
Place = Annotated[float, _Within, Allowed("a number from -1e6 to 1e6 (m)")]
Angle = Annotated[float, _Within, Allowed("a number from -1e6 to 1e6 (rad)")]
Place3 = Annotated[tuple[Place, Place, Place], Array, Allowed("3 numbers, each from -1e6 to 1e6 (m)")]
Vector2 = Annotated[tuple[Real, Real], Array, Allowed("2 numbers, each from -1e12 to 1e12")]
Vector3 = Annotated[tuple[Real, Real, Real], Array, Allowed("3 numbers, each from -1e12 to 1e12")]
Vector4 = Annotated[tuple[Real, Real, Real, Real], Array, Allowed("4 numbers, each from -1e12 to 1e12")]
UnitQuaternion = Annotated[Vector4, AfterValidator(_unit)]
Vector6 = Annotated[
    tuple[Real, Real, Real, Real, Real, Real], Array, Allowed("6 numbers, each from -1e12 to 1e12 (angular first)")
]
Sizes2 = Annotated[tuple[Size, Size], Array, Allowed("2 lengths > 0, each from 1e-7 to 1e7 (m)")]
Sizes3 = Annotated[tuple[Size, Size, Size], Array, Allowed("3 lengths > 0, each from 1e-7 to 1e7 (m)")]
Count = Annotated[int, Field(ge=0, le=2**53), Allowed("an integer from 0 to 2^53")]
Text = Annotated[str, Field(max_length=1000), Allowed("a text of at most 1000 characters")]


class DataFile:
    """Metadata of a key that names a data file, which has to be in the scenario's folder.

    If the key may also hold other names, only values that end in `ending` are files.
    """

    def __init__(self, content: str, ending: str = "") -> None:
        self.content, self.ending = content, ending


def fault(key: str, text: str) -> PydanticCustomError:
    """Return the error a validator of a table raises about its key `key`."""
    return PydanticCustomError("trundle", "{key}: {fault}", {"key": key, "fault": text})


def check_multiples(step: float, times: Mapping[str, float]) -> None:
    """Raise the fault of the first of the `times` (key -> s) that is not a multiple of the plant's `step`."""
    for key, time in times.items():
        count = time / step
        if abs(count - round(count)) > 1e-6 * max(count, 1.0):
            raise fault(key, f"must be a multiple of plant.step = {step:g} (s)")


class Table(BaseModel):
    """A table of a scenario file: unknown keys, wrong types, NaN and infinity are refused, nothing can be changed."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    def _check(self) -> None:
        """Raise a `fault` where values do not fit together."""

    @model_validator(mode="after")
    def _check_table(self) -> Self:
        self._check()
        return self


class ParameterTable(Table):
    """A table whose keys are parameters of a dataclass, or of several; see `table_of`.

    In written files and in the JSON schema `name` and `type` come first, then its own keys, then those it inherits.
    """

    model_config = ConfigDict(defer_build=True)

    parameters: ClassVar[tuple[type, Mapping[str, str]]] = (object, {})
    """The dataclass and key -> name of its parameter, for the keys that one call of `table_of` added."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Order the keys: name and type, the table's own, those of the tables it inherits from."""
        keys = dict.fromkeys(key for part in cls.__mro__ for key in get_annotations(part) if key in cls.model_fields)
        for key in sorted(keys, key=lambda key: key not in ("name", "type")):
            cls.model_fields[key] = cls.model_fields.pop(key)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def names(cls, owner: type | None = None) -> dict[str, str]:
        """Return key -> name of the parameters of the dataclass `owner`, or of all whose parameters are keys."""
        parts = [part.__dict__["parameters"] for part in cls.__mro__ if "parameters" in part.__dict__]
        return {key: name for kind, keys in parts if owner in (None, kind) for key, name in keys.items()}

    def values(self, owner: type | None = None) -> dict[str, Any]:
        """Return the parameters that the table gives to the dataclass `owner`, or all, by their names there."""
        return {name: getattr(self, key) for key, name in self.names(owner).items()}

    def make(self) -> Any:
        """Return an instance of the table's one dataclass, made from its values; nested tables are instantiated too.

        Raises
        ------
        TypeError
            If the table has keys of no dataclass, or of several: `values` gives those of each.
        """
        parts = (part.__dict__.get("parameters", (object,))[0] for part in type(self).__mro__)
        owners = {part for part in parts if part is not object}
        if len(owners) != 1:
            found = ", ".join(sorted(one.__name__ for one in owners)) or "none"
            raise TypeError(f"{type(self).__name__} must have the keys of one dataclass to make it; it has: {found}")
        (owner,) = owners
        return owner(**{name: _make_value(value) for name, value in self.values(owner).items()})


def _make_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_make_value(one) for one in value)
    return value.make() if isinstance(value, ParameterTable) else value


def table_of(
    owner: type[DataclassInstance],
    keys: Mapping[str, str] | Sequence[str] | None = None,
    text: str = "",
    tag: str = "",
    narrower: Mapping[str, Any] = MappingProxyType({}),
    defaults: Mapping[str, Any] = MappingProxyType({}),
    base: type[ParameterTable] = ParameterTable,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> type[ParameterTable]:
    """Return a table whose keys are parameters of a dataclass, with their types, ranges, defaults and descriptions.

    Parameters
    ----------
    owner : dataclass
        With fields made by `trundle.parameters.parameter`.
    keys : mapping or sequence of str, optional
        Which parameters, or key -> parameter where a key has another name; all unless given.
    text : str
        What the table is; the dataclass's first sentence unless given.
    tag : str
        Value of the key `type`, by which a union tells its tables apart; without it there is no such key.
    narrower : mapping, optional
        Key -> type, where a file allows less than the dataclass does; if the default is None, None stays allowed.
    defaults : mapping, optional
        Key -> default, where a file has another default than the dataclass.
    base : type, optional
        A table of another dataclass, whose keys the new table has as well.
    texts : mapping, optional
        Key -> sentence, where a file allows something else than the dataclass's sentence says.
    """
    known = {one.name: one for one in parameters_of(owner)} if is_dataclass(owner) else {}
    chosen = keys if isinstance(keys, Mapping) else {name: name for name in (known if keys is None else keys)}
    fields: dict[str, Any] = {"type": (Literal[tag], ...)} if tag else {}  # pyright: ignore[reportInvalidTypeForm]
    for key, name in chosen.items():
        one = known[choice("keys", name, known)]
        one = replace(one, default=defaults.get(key, one.default), text=texts.get(key, one.text))
        fields[key] = _field_of(one, narrower.get(key))
    sentence = text or (owner.__doc__ or "").split("\n")[0]
    made = create_model(f"{owner.__name__}Table", __base__=base, __doc__=sentence, **fields)
    made.parameters = (owner, dict(chosen))
    return made


def _field_of(one: Parameter, narrower: Any) -> tuple[Any, Any]:
    """Return type and default of a parameter as pydantic takes them."""
    default = PydanticUndefined if one.default is MISSING_DEFAULT else one.default
    kind = key_type(one.type) if narrower is None else narrower
    return kind | None if narrower and one.default is None else kind, Field(default=default, description=one.text)


class Criterion(Table):
    """Limit of a metric for a run to be acceptable, and the value published for it."""

    minimum: Real | None = Field(default=None, description="least acceptable value")
    maximum: Real | None = Field(default=None, description="largest acceptable value")
    of: Annotated[int, Field(ge=1, le=10**6), Allowed("an integer from 1 to 1000000")] | None = Field(
        default=None, description="of a count: number of trials the limit refers to; for another number it is scaled"
    )
    baseline: bool = Field(default=False, description="whether the limit applies only with `of` trials or more")
    published: Real | None = Field(default=None, description="published value")
    source: Text = Field(default="", description="where it was published")

    def _check(self) -> None:
        if self.minimum is not None and self.maximum is not None:
            raise fault("maximum", "must be left out beside minimum")
        if self.of is None and self.baseline:
            raise fault("of", "is missing; a baseline is a count of trials")


class ScenarioTable(Table):
    """Keys at the top of every scenario file."""

    schema_: Annotated[int, Field(ge=1, le=1), Allowed("1")] = Field(
        default=1, alias="schema", description="version of this file's format"
    )
    name: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
        Allowed("a name of at most 100 letters, digits, '.', '_' and '-'"),
    ] = Field(default=None, description="name in results; the file's own name if left out")
    title: Text = Field(default="", description="one line about the scenario")
    paper: Text = Field(default="", description="paper and section the scenario comes from")
    seed: Count = Field(default=0, description="seed of everything random in the scenario")
    parts: Annotated[
        dict[str, Annotated[dict[str, Any], Field(min_length=1)]],
        Field(max_length=64),
        Allowed("tables of tables, [parts.NAME.TABLE]: at most 64, none of them empty"),
    ] = Field(
        default={}, description="runs to compare with: [parts.NAME.TABLE] holds the keys that differ from the main run"
    )
    acceptance: dict[str, Criterion] = Field(
        default={},
        description="limits of metrics, and their published values: METRIC = { minimum, maximum, ... }",
    )

    @model_validator(mode="before")
    @classmethod
    def _has_controller(cls, data: Toml) -> Toml:
        for key in ("faults", "watchdog"):
            if isinstance(data, Mapping) and key in data and key not in cls.model_fields:
                raise fault(key, "must be left out: this task has no controller whose measurements could fail")
        return data


def kinds() -> list[str]:
    """Return the kinds of scenario, sorted."""
    return names()


def tasks(kind: str) -> list[str]:
    """Return the tasks of `kind`, sorted."""
    return sorted(system(kind).tasks)


def schema_of(data: dict[str, Toml], file: str | None = None) -> type[ScenarioTable]:
    """Return the schema for `data`, read from its keys `kind` and `task`.

    Raises
    ------
    ScenarioError
        If there is no such kind or task.
    """
    kind = _choose_key(data, "kind", kinds(), file)
    return schema_for(kind, _choose_key(data, "task", tasks(kind), file))


def schema_for(kind: str, task: str) -> type[ScenarioTable]:
    """Return the schema of a known (kind, task)."""
    return system(kind).tasks[task].table()


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a scenario file of `kind`, any of its tasks.

    Raises
    ------
    ScenarioError
        If there is no such kind.
    """
    _choose_key({"kind": kind}, "kind", kinds(), None)
    found = [schema_for(kind, task).model_json_schema(by_alias=True) for task in tasks(kind)]
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    if len(found) == 1:
        return dialect | found[0]
    shared: dict[str, Any] = {}
    for one in found:
        shared |= one.pop("$defs", {})
    return dialect | {"anyOf": found, "$defs": shared}


def _choose_key(data: dict[str, Toml], key: str, names: list[str], file: str | None) -> str:
    value = data.get(key, MISSING)
    if isinstance(value, str) and value in names:
        return value
    allowed = "one of " + ", ".join(f"'{n}'" for n in names)
    if value is MISSING:
        raise ScenarioError([Problem(key, value, f"is missing; must be {allowed}")], file)
    hint = suggestion(value, names) if isinstance(value, str) else ""
    hint = "; " + hint if hint.startswith("did") else ""
    raise ScenarioError([Problem(key, value, f"must be {allowed}{hint}")], file)
