"""Which symbols an expression may contain."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from trundle.errors import InputError


def check_symbols(entries: Iterable[tuple[str, ca.SX, ca.SX, str]]) -> None:
    """Raise where an expression contains a symbol it must not: inside a solver that would be an obscure failure.

    Parameters
    ----------
    entries : iterable of (key, expression, known, names)
        `known` (n,) holds the symbols that are allowed, `names` what to call them.

    Raises
    ------
    InputError
        With the key and the names of the stray symbols.
    """
    for key, expression, known, names in entries:
        stray = [str(s) for s in ca.symvar(expression) if not ca.depends_on(known, s)]
        if stray:
            raise InputError(key, stray, f"an expression of {names} only")
