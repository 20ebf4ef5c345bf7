"""Public names of a package, handed out when they are first read (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names live in modules of it.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        Names, divided by spaces, by the module of the package that defines them.
    """
    home_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}

    def get_name(name: str) -> object:
        """Load a public name; its arguments are checked as `trundle.arguments.guard` says."""
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from trundle.arguments import guard_name

        value = guard_name(getattr(import_module(home_of[name]), name))
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        """List the public names."""
        return sorted(home_of)

    return get_name, list_names, sorted(home_of)
