"""Overrides of a scenario's tables: `--set table.key=value`, and the changes that a part makes to the main run."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from trundle.errors import InputError
from trundle.scenarios.problems import Toml

_EXCLUDES = {"step": "relative_tolerance", "relative_tolerance": "step"}  # of [simulation]: setting one drops the other

_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def split(option: str, text: str, form: str) -> tuple[str, str]:
    """Return the dotted key and the text of the value that an option sets; `form` says what is allowed."""
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key.strip()):
        raise InputError(option, text, form)
    return key.strip(), value.strip()


def parse(text: str) -> tuple[tuple[str, ...], Toml]:
    """Return the path and value of ``table.key=value``, the value read as TOML.

    Raises
    ------
    InputError
        If it is not of that form.
    """
    key, value = split("--set", text, "of the form table.key=value")
    try:
        read = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        read = {}
    if list(read) != ["value"]:
        hint = f"; a text needs quotes: --set '{key}=\"{value}\"'" if re.fullmatch(r"[\w./-]+", value) else ""
        raise InputError(f"--set {key}", value, f"a TOML value{hint}")
    return tuple(key.split(".")), read["value"]


def apply(data: dict[str, Toml], overrides: Iterable[str]) -> dict[str, Toml]:
    """Return `data` with the `overrides` set; a part that changes the same key takes the new value too."""
    result = copy.deepcopy(data)
    for text in overrides:
        path, value = parse(text)
        _put(result, path, value, text)
        parts = result.get("parts")
        if path[0] == "parts" or not isinstance(parts, dict):
            continue
        for part in parts.values():
            if isinstance(part, dict) and _has(part, path):
                _put(part, path, value, text)
    return result


def mark(key: str, keys: Iterable[str]) -> str:
    """Return " (from --set)" if the dotted `key`, in the main run or a part, is one of `keys`, inside or around one."""
    own = re.sub(r"^parts\.[^.]+\.", "", key)
    for known in keys:
        for name in (key, own):
            if name == known or name.startswith((f"{known}.", f"{known}[")) or known.startswith(f"{name}."):
                return " (from --set)"
    return ""


def merge(base: Mapping[str, Toml], change: Mapping[str, Toml]) -> dict[str, Toml]:
    """Return `base` updated by `change`, table by table; a table of another `type` replaces the old one.

    In arrays of tables that all have a `name`, tables of the same name are updated and new ones are added.
    """
    result = dict(base)
    for key, value in change.items():
        old = result.get(key)
        if (
            isinstance(old, Mapping)
            and isinstance(value, Mapping)
            and value.get("type", old.get("type")) == old.get("type")
        ):
            result[key] = merge(old, value)
        elif _is_named_array(old) and _is_named_array(value):
            result[key] = _merged_by_name(old, value)
        else:
            result[key] = copy.deepcopy(value)
    for key, other in _EXCLUDES.items():
        if key in change and other not in change:
            result.pop(other, None)
    return result


def _is_named_array(value: Toml) -> TypeGuard[Sequence[dict[str, Toml]]]:
    """Whether `value` is an array of tables that each have a name of their own."""
    if not isinstance(value, list | tuple) or not value:
        return False
    names = [table.get("name") for table in value if isinstance(table, Mapping)]
    texts = [name for name in names if isinstance(name, str)]
    return len(texts) == len(value) == len(set(texts))


def _merged_by_name(base: Sequence[dict[str, Toml]], change: Sequence[dict[str, Toml]]) -> list[Toml]:
    changes = {str(table["name"]): table for table in change}
    merged = [merge(table, changes.pop(str(table["name"]), {})) for table in base]
    return [*merged, *(copy.deepcopy(table) for table in changes.values())]


def _put(table: dict[str, Toml], path: tuple[str, ...], value: Toml, text: str) -> None:
    data: Toml = table
    for step in path[:-1]:
        if isinstance(data, dict):
            data = data.setdefault(step, {})
        elif _is_named_array(data):
            data = _by_name(data, step)
        if not (isinstance(data, dict) or _is_named_array(data)):
            raise InputError("--set", text, f"a key of a table ('{step}' is none)")
    if not isinstance(data, dict):
        raise InputError("--set", text, f"a key of one of the tables in '{path[-2]}'")
    data[path[-1]] = copy.deepcopy(value)
    data.pop(_EXCLUDES.get(path[-1], ""), None)


def _by_name(tables: Sequence[dict[str, Toml]], name: str) -> dict[str, Toml] | None:
    """Return the table of that name in an array of tables, or None."""
    return next((table for table in tables if table["name"] == name), None)


def _has(data: Mapping[str, Toml], path: tuple[str, ...]) -> bool:
    value: Toml = data
    for step in path:
        if _is_named_array(value):
            value = _by_name(value, step)
            continue
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True
