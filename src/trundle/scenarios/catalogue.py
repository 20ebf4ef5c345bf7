"""The named scenarios that come with the installed systems."""

from __future__ import annotations

import logging
import tomllib
from dataclasses import dataclass
from pathlib import Path

from trundle.scenarios.system import systems

_log = logging.getLogger("trundle.systems")


@dataclass(frozen=True)
class CatalogueEntry:
    """A named scenario as `trundle list` shows it."""

    name: str
    kind: str
    task: str
    title: str
    paper: str


def _files() -> dict[str, Path]:
    """Return the file of every named scenario; of two with the same name the first by kind, and the other is logged."""
    found: dict[str, Path] = {}
    for one in systems():
        for path in one.library.glob("*.toml"):
            if path.stem in found:
                _log.warning("scenario %s: %s is left out, %s has the name", path.stem, path, found[path.stem])
            found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def names() -> list[str]:
    """Return the names of all scenarios, sorted."""
    return list(_files())


def path_of(name: str) -> Path:
    """Return the path of the file of scenario `name`."""
    return _files()[name]


def text_of(name: str) -> str:
    """Return the complete file of scenario `name`, units in its comments."""
    return path_of(name).read_text(encoding="utf-8")


def entries() -> list[CatalogueEntry]:
    """Return the entries of all named scenarios, sorted by name, without checking the files."""
    result = []
    for name in names():
        try:
            data = tomllib.loads(text_of(name))
        except (OSError, ValueError) as error:
            _log.warning("scenario %s cannot be read: %s", name, error)
            continue
        result.append(CatalogueEntry(name, *(str(data.get(key, "")) for key in ("kind", "task", "title", "paper"))))
    return result
