"""What a shell offers at the tab key: names of scenarios and files, and the keys of a scenario for `--set`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

_ARGUMENTS = ("scenario", "file", "scene", "source")  # of the commands, which name a scenario or its file
_SCRIPTS: dict[str, str] = getattr(getattr(typer, "_completion_shared", None), "_completion_scripts", {})
if "zsh" in _SCRIPTS:  # its file is read at the first tab key, and would only register the function
    _SCRIPTS["zsh"] += '[[ $zsh_eval_context[-1] != loadautofunc ]] || %(complete_func)s "$@"\n'


def complete_scenario(incomplete: str) -> list[str]:
    """Return the named scenarios that begin like a word."""
    from trundle.scenarios import catalogue

    return [name for name in catalogue.names() if name.startswith(incomplete)]


def scenarios(incomplete: str) -> list[str]:
    """Return the named scenarios, and the files and folders, that begin like a word; of a single folder what is in it.

    Shells put a space after the only thing that is offered, which a folder is not to have.
    """
    found = complete_scenario(incomplete) + list(_files(incomplete))
    return found + list(_files(found[0])) if len(found) == 1 and found[0].endswith(os.sep) else found


def kinds(incomplete: str) -> list[str]:
    """Return the kinds of scenarios that begin like a word."""
    from trundle.scenarios.system import names

    return [name for name in names() if name.startswith(incomplete)]


def keys(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the keys of the scenario on the line that begin like a word, as ``table.key=``, with their values.

    A single one is also offered with its value, if that is a number: no space comes after the equals sign then.
    """
    from trundle.scenarios import catalogue

    given = [*ctx.args, *(str(ctx.params[name]) for name in _ARGUMENTS if ctx.params.get(name))]
    if not given:
        return []
    path = catalogue.path_of(given[0]) if given[0] in catalogue.names() else Path(given[0])
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    found = [(key, value) for key, value in _leaves(tables) if key.startswith(incomplete)]
    offered = [(f"{key}=", str(value)) for key, value in found]
    if len(found) == 1 and isinstance(found[0][1], int | float):
        offered.append((f"{found[0][0]}={str(found[0][1]).lower()}", "as it is"))
    return offered


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
