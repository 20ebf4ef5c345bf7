"""The named scenarios that come with trundle."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

_SYSTEMS = Path(__file__).parents[1] / "systems"
LIBRARY = Path(__file__).parent / "library"
_LIMITS = "metrics"


@dataclass(frozen=True)
class Entry:
    """A named scenario as `trundle list` shows it."""

    name: str
    kind: str
    task: str
    title: str
    paper: str


def names() -> list[str]:
    """Return the names of all scenarios, sorted."""
    return sorted(path.stem for path in _SYSTEMS.glob("*/*.toml"))


def path_of(name: str) -> Path:
    """Return where the file of scenario `name` stands."""
    return next(_SYSTEMS.glob(f"*/{name}.toml"), LIBRARY / f"{name}.toml")


def text_of(name: str) -> str:
    """Return the complete file of scenario `name`, units in its comments."""
    return path_of(name).read_text(encoding="utf-8")


def entries() -> list[Entry]:
    """Return what is known of every named scenario, sorted by name, without checking the files."""
    result = []
    for name in names():
        data = tomllib.loads(text_of(name))
        result.append(Entry(name, data["kind"], data["task"], data["title"], data["paper"]))
    return result


def limits_text() -> str:
    """Return the file with the metrics and limits of the named scenarios."""
    return path_of(_LIMITS).read_text(encoding="utf-8")
