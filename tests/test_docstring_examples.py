"""The examples in the docstrings of the public names run, and every public name has one."""

from __future__ import annotations

import doctest
import inspect
import operator
import sys

import pytest

import trundle

NAMES = sorted(
    [name for name in trundle.__all__ if not name.startswith("__") and name not in trundle._SLICES]
    + [f"{slice_name}.{name}" for slice_name, names in trundle._MOVED.items() for name in names.split()]
)


def examples(name: str) -> list[doctest.DocTest]:
    """The examples of a name's own docstring."""
    thing = operator.attrgetter(name)(trundle)
    names = {**vars(sys.modules[thing.__module__]), "tr": trundle}  # those of its module, as doctest does
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", names, name, None, None)
    return [test] if test.examples else []


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example(name: str) -> None:
    assert examples(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str) -> None:
    for test in examples(name):
        log: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=log.append)
        assert log == []
