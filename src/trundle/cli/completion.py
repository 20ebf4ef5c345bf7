"""What a shell offers at the tab key: names of scenarios and files, and the keys of a scenario for `--set`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

_ARGUMENTS = ("scenario", "file", "scene", "source")  # of the commands, which name a scenario or its file


def named(incomplete: str) -> list[str]:
    """Return the named scenarios that begin like a word."""
    from trundle.scenarios import catalogue

    return [name for name in catalogue.names() if name.startswith(incomplete)]


def scenarios(incomplete: str) -> list[str]:
    """Return the named scenarios, and the files and folders, that begin like a word."""
    return named(incomplete) + list(_files(incomplete))


def kinds(incomplete: str) -> list[str]:
    """Return the kinds of scenarios that begin like a word."""
    from trundle.scenarios.system import names

    return [name for name in names() if name.startswith(incomplete)]


def keys(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the keys of the scenario on the line that begin like a word, as ``table.key=``, with their values."""
    from trundle.scenarios import catalogue

    given = [*ctx.args, *(str(ctx.params[name]) for name in _ARGUMENTS if ctx.params.get(name))]
    if not given:
        return []
    path = catalogue.path_of(given[0]) if given[0] in catalogue.names() else Path(given[0])
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [(f"{key}=", str(value)) for key, value in _leaves(tables) if key.startswith(incomplete)]


def _files(incomplete: str) -> Iterator[str]:
    folder, begun = os.path.split(incomplete)
    try:
        found = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")):
            path = os.path.join(folder, entry.name)
            if entry.is_dir():
                yield path + os.sep
            elif entry.name.endswith(".toml"):
                yield path


def _leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        elif prefix:
            yield prefix + key, value
