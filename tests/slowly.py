"""Parametrized tests of which `make test` runs some values and `make test-all` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Return all values for `pytest.mark.parametrize`; those that are not in `quick` are marked slow."""
    found = list(values)
    missing = [value for value in quick if value not in found]
    if missing:
        raise ValueError(f"no values of the test: {missing}")
    return [
        value
        if value in quick
        else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
        for value in found
    ]
