"""The examples in the docstrings of models run and print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "models.rigid_body",
    "models.rolling_pair",
    "models.tree.tree",
    "models.tree.joint",
    "models.feet",
    "systems.multicontact.centroidal.centroidal",
    "systems.multicontact.centroidal.forecast",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(import_module(f"trundle.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
