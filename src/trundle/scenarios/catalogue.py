"""The named scenarios that come with the installed systems."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from trundle.scenarios.system import systems


@dataclass(frozen=True)
class Entry:
    """A named scenario as `trundle list` shows it."""

    name: str
    kind: str
    task: str
    title: str
    paper: str


def _files() -> dict[str, Path]:
    found = {path.stem: path for one in systems() for path in one.library.glob("*.toml")}
    return dict(sorted(found.items()))


def names() -> list[str]:
    """Return the names of all scenarios, sorted."""
    return list(_files())


def path_of(name: str) -> Path:
    """Return where the file of scenario `name` stands."""
    return _files()[name]


def text_of(name: str) -> str:
    """Return the complete file of scenario `name`, units in its comments."""
    return path_of(name).read_text(encoding="utf-8")


def entries() -> list[Entry]:
    """Return what is known of every named scenario, sorted by name, without checking the files."""
    result = []
    for name in names():
        data = tomllib.loads(text_of(name))
        result.append(Entry(name, data["kind"], data["task"], data["title"], data.get("paper", "")))
    return result
