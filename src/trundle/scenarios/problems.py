"""From a validation error of a scenario file to lines that name file, key, value and what is allowed."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from types import GenericAlias, UnionType
from typing import NamedTuple, Union, cast

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from trundle.errors import InputError, printable
from trundle.parameters import Range

Toml = Union[None, bool, int, float, str, date, time, "Sequence[Toml]", "Mapping[str, Toml]"]
"""A value of a TOML file; None stands for what is left out."""

Form = type | UnionType | GenericAlias | None
"""The annotated type of a key."""

_LINES = 5  # most problems printed for one file; a file of another kind has dozens


@dataclass(frozen=True)
class Allowed:
    """What a key may be, as a phrase that completes "must be ..."; metadata of a field's type."""

    text: str


@dataclass(frozen=True)
class Problem:
    """One key of a file that cannot be accepted: dotted `key`, the `value` as printed, `fault` as printed."""

    key: str
    value: Toml | _Missing
    fault: str

    def line(self, file: str | None) -> str:
        """Return the one line a user reads."""
        where = f"{file}: " if file else ""
        if not self.key:
            return printable(f"{where}{self.fault}")
        value = "" if self.value is MISSING else f" = {show(self.value)}"
        return printable(f"{where}{_readable(self.key)}{value}: {self.fault}")


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


class ScenarioError(InputError):
    """A scenario file is not acceptable: one `Problem`, or several of the same file.

    Parameters
    ----------
    problems : iterable of Problem
        What is wrong, the first problem first; at least one.
    file : str, optional
        The file, as the user named it.
    """

    def __init__(self, problems: Iterable[Problem], file: str | None = None) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.key, first.value, first.fault, file)

    def __str__(self) -> str:
        lines = [problem.line(self.file) for problem in self.problems[:_LINES]]
        if len(self.problems) > _LINES:
            lines.append(f"... and {len(self.problems) - _LINES} more")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[object, ...]]:
        return type(self), (self.problems, self.file)


def show(value: Toml | _Missing) -> str:
    """Return `value` as it would stand in a TOML file, on one line and cut to a readable length."""
    return _readable(_toml(value, 6))


def _readable(text: str) -> str:
    text = printable(text[:1000])
    return text if len(text) <= 120 else text[:117] + "..."


def _toml(value: Toml | _Missing, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**18:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return '"' + value[:200].replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        if depth == 0:
            return "{...}"
        return "{" + ", ".join(f"{k} = {_toml(v, depth - 1)}" for k, v in list(value.items())[:20]) + "}"
    if isinstance(value, list | tuple):
        return "[...]" if depth == 0 else "[" + ", ".join(_toml(v, depth - 1) for v in value[:40]) + "]"
    return str(value)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'mass'?", or the known names where none is close."""
    names = sorted(known)
    close = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return "known here: " + ", ".join(names) if names else "nothing is known here"


def problems_of(error: ValidationError, schema: type[BaseModel], data: Toml) -> list[Problem]:
    """Return the problems of `data`, at most one for each key, in the order of the file's tables."""
    found: dict[str, Problem] = {}
    for item in error.errors(include_url=False, include_context=True):
        problem = _problem(item, schema, data)
        found.setdefault(problem.key, problem)
    # A misspelt key is also reported as a missing one: keep the first report, which explains the second.
    unknown = {key.rpartition(".")[0] for key, p in found.items() if "did you mean" in p.fault}
    return [p for key, p in found.items() if not (p.value is MISSING and key.rpartition(".")[0] in unknown)] or list(
        found.values()
    )


def _problem(item: ErrorDetails, schema: type[BaseModel], data: Toml) -> Problem:
    place = _locate(schema, item["loc"], data)
    key, value = ".".join(place.path), place.value
    if item["type"] == "extra_forbidden":
        return Problem(key, value, "unknown key; " + suggestion(place.path[-1], place.known))
    if item["type"] == "missing" and isinstance(item["loc"][-1], str):
        return Problem(key, MISSING, f"is missing; must be {place.allowed}")
    if item["type"] == "trundle":
        context = item.get("ctx", {})
        inner = str(context["key"])
        value = _inside(place.value, inner) if inner else place.value
        return Problem(".".join([*place.path, inner]) if inner else key, value, str(context["fault"]))
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return _tag_problem(place)
    return Problem(key, value, f"must be {place.allowed}")


def _inside(value: Toml | _Missing, key: str) -> Toml | _Missing:
    """Return the value at a key such as ``initial.angle`` or ``bodies[2].parent`` of a table."""
    for step in key.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, list | tuple) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, Mapping):
            value = value.get(step, MISSING)
    return value


def _tag_problem(place: _Place) -> Problem:
    tags = sorted(place.members)
    if not isinstance(place.value, Mapping) or "type" not in place.value:
        return Problem(".".join([*place.path, "type"]), MISSING, "is missing; must be one of " + _names(tags))
    tag = place.value["type"]
    hint = ""
    if isinstance(tag, str):
        close = difflib.get_close_matches(tag[:100], tags, n=1, cutoff=0.6)
        hint = f"; did you mean '{close[0]}'?" if close else ""
    return Problem(".".join([*place.path, "type"]), tag, "must be one of " + _names(tags) + hint)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


@dataclass
class _Place:
    """Where an error is: the key's path, its raw value, and what the key's type allows."""

    path: list[str]
    value: Toml | _Missing
    allowed: str
    known: tuple[str, ...] = ()
    members: Mapping[str, type[BaseModel]] = field(default_factory=dict)


class _Kind(NamedTuple):
    """What a key may hold: its type, the tables of a union by their tags, and the phrase that errors use for it."""

    form: Form
    members: Mapping[str, type[BaseModel]]
    allowed: str


def _locate(schema: type[BaseModel], loc: tuple[int | str, ...], data: Toml) -> _Place:
    """Follow `loc` down the schema; steps that name a member of a union are not keys of the file."""
    place = _Place([], data, "a table")
    kind: Form = schema
    rest = list(loc)
    while rest:
        step = rest.pop(0)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            fields = keys_of(kind)
            place.known = tuple(fields)
            place.path.append(str(step))
            place.value = place.value.get(str(step)) if isinstance(place.value, Mapping) else place.value
            info = fields.get(str(step))
            if info is None:
                place.allowed = "a known key"
                return place
            kind, place.members, place.allowed = _field(info)
        elif place.members:
            kind, place.members = place.members.get(str(step)), {}
        else:
            inside = _inside_of(kind)
            if inside is None or not (inside.members or _is_table(inside.form)):
                return place
            if isinstance(step, int) and isinstance(place.value, list | tuple):
                place.path[-1] += f"[{step}]"
                place.value = place.value[step] if step < len(place.value) else MISSING
            elif isinstance(step, str) and isinstance(place.value, Mapping):
                place.path.append(step)
                place.value = place.value.get(step, MISSING)
            else:
                return place
            kind, place.members, place.allowed = inside
    return place


def keys_of(schema: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the keys of a table as they stand in a file, each with its field."""
    return {info.alias or name: info for name, info in schema.model_fields.items()}


def _field(info: FieldInfo) -> _Kind:
    kind, inner = _unless_left_out(cast("Form", info.annotation))
    tagged = any(isinstance(entry, FieldInfo) and entry.discriminator for entry in inner)
    members = _members(kind) if info.discriminator or tagged else {}
    said = [m.text for m in (*inner, *info.metadata) if isinstance(m, Allowed | Range)]
    return _Kind(kind, members, said[-1] if said else _phrase(kind, members))


def _unless_left_out(kind: Form) -> tuple[Form, list[FieldInfo | Allowed | Range]]:
    """Return the type of an optional key without its None, and the metadata of that type."""
    parts = [part for part in typing.get_args(kind) if part is not type(None)]
    if typing.get_origin(kind) not in (typing.Union, UnionType) or len(parts) != 1:
        return kind, []
    if typing.get_origin(parts[0]) is not typing.Annotated:
        return parts[0], []
    inner, *metadata = typing.get_args(parts[0])
    return inner, metadata


def _inside_of(kind: Form) -> _Kind | None:
    """Return the type of what stands in an array, or in a table whose keys are free names; None of anything else."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin not in (dict, tuple) or not args:
        return None
    inner = args[1] if origin is dict else args[0]
    inner = typing.get_args(inner)[0] if typing.get_origin(inner) is typing.Annotated else inner
    members = _members(inner)
    return _Kind(inner, members, _phrase(inner, members))


def _is_table(kind: Form) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _members(kind: Form) -> dict[str, type[BaseModel]]:
    """Return tag -> model for a union of models that differ by their key `type`."""
    if typing.get_origin(kind) not in (typing.Union, UnionType):
        return {}
    result = {}
    for member in typing.get_args(kind):
        if not (isinstance(member, type) and issubclass(member, BaseModel)):
            return {}
        result[typing.get_args(member.model_fields["type"].annotation)[0]] = member
    return result


def _phrase(kind: Form, members: Mapping[str, type[BaseModel]]) -> str:
    if members:
        return "a table with `type` one of " + _names(sorted(members))
    if typing.get_origin(kind) is typing.Literal:
        return "one of " + _names(str(a) for a in typing.get_args(kind))
    if kind is bool:
        return "true or false"
    if typing.get_origin(kind) in (typing.Union, UnionType):
        return ", or ".join(_phrase_of_type(part) for part in typing.get_args(kind))
    if typing.get_origin(kind) is dict:
        return _table_phrase(*typing.get_args(kind))
    return "a table" if isinstance(kind, type) and issubclass(kind, BaseModel) else "of another type"


def _table_phrase(key: Form, value: Form) -> str:
    """Return the phrase for a table with free keys: "a table by the names 'knee', 'elbow': each a number > 0"."""
    names = f" by the names {_names(typing.get_args(key))}" if typing.get_origin(key) is typing.Literal else " by names"
    return f"a table{names}: each {_phrase_of_type(value)}"


def _phrase_of_type(kind: Form) -> str:
    """Return the phrase given in a type's metadata, or else the one derived from the type."""
    said = [m.text for m in typing.get_args(kind)[1:] if isinstance(m, Allowed | Range)]
    return said[-1] if said else _phrase(kind, {})
