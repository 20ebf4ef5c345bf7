"""The examples in the docstrings of models run and print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "rigid_body",
    "rolling_pair",
    "centroidal.centroidal",
    "centroidal.forecast",
    "tree.tree",
    "tree.joint",
    "feet",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(import_module(f"trundle.models.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
