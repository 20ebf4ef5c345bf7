"""The edge of floating point, and sequences of another length: what is refused is refused by its own name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.test_nan_arguments import CALLS, leaves
from trundle.errors import TrundleWarning

EDGES = (1e300, -1e300, 1e-300, 5e-324, float("inf"), 1e30)
RUNS = {*"simulate/simulate, fixed step/tree/transfer/angle goal/release/spatial goal".split("/")}
RUNS |= {"balancing", "actuated", "sensed", "hand"}
"""What takes longer to make."""
OTHERS = {  # arguments that make another one wrong
    ("superellipsoid", "rounding"): "exponents",  # 0 is no rounding, which exponents above 2 need
    ("tree", "shape_at"): "wheel",  # the body that is then far from the ground
    ("tree", "at"): "wheel",
    ("tree", "center_of_mass"): "wheel",
}


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return `value` with `new` at `path`."""
    if not path:
        return new
    head, *rest = path
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy[head] = new
        return copy
    if isinstance(value, dict):
        return value | {head: put(value[head], tuple(rest), new)}
    items = list(value)
    items[head] = put(items[head], tuple(rest), new)
    return type(value)(items)


def sequences(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Return (place, sequence) of the sequences among arguments."""
    if isinstance(value, dict):
        return [one for key, part in value.items() for one in sequences(part, (*path, key))]
    return [(path, value)] if isinstance(value, tuple | list | np.ndarray) else []


def tried(name: str, path: tuple[Any, ...], new: Any) -> str:
    """Return what is wrong with the outcome: another error, a warning, an error that names something else."""
    make, arguments = CALLS[name]
    own = [part for part in path if isinstance(part, str)][-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", TrundleWarning)
            make(**put(arguments, path, new))
    except tr.InputError as error:
        wanted = (own, OTHERS.get((name, own), own))
        return "" if any(one in error.key for one in wanted) else f"{name} {path} = {new}: {error}"
    except tr.TrundleError as error:
        return "" if own in str(error) else f"{name} {path} = {new}: {error}"
    except Exception as error:
        return f"{name} {path} = {new}: {type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in RUNS else n for n in CALLS])
def test_a_number_at_the_edge_is_taken_or_refused_by_its_name(name: str) -> None:
    _, arguments = CALLS[name]
    edges = EDGES[:1] if name == "polytope" else EDGES
    wrong = [tried(name, path, new) for path in leaves(arguments) for new in edges]
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in RUNS else n for n in CALLS])
def test_a_sequence_that_is_empty_or_one_longer_is_taken_or_refused_by_its_name(name: str) -> None:
    _, arguments = CALLS[name]
    wrong = []
    for path, value in sequences(arguments):
        longer = np.concatenate([value, value[:1]]) if isinstance(value, np.ndarray) else (*value, *value[:1])
        wrong += [tried(name, path, new) for new in (value[:0], longer)]
    assert not any(wrong), "\n".join(filter(None, wrong))
