"""The edge of floating point, and sequences of another length: what is refused is refused by its own name."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.scenarios.files import JUGGLING, written
from tests.test_nan_arguments import CALLS, leaves, transfer
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


def chain(folder: Path) -> object:
    """Return a planar chain of 5,000 links."""
    robot, last = tr.Robot(), None
    for i in range(5000):
        last = robot.revolute(last, (0, 0.1), 1.0, 0.01, name=f"link{i}")
    return robot.finish()


def chain_file(folder: Path) -> object:
    """Return the same in space, from a file."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="l{i}">{body}</link>' for i in range(5000))
    ends = (f'<parent link="l{i}"/><child link="l{i + 1}"/>' for i in range(4999))
    joints = "".join(f'<joint name="j{i}" type="continuous">{end}</joint>' for i, end in enumerate(ends))
    return tr.robot_from_urdf(written(folder, f'<robot name="chain">{links}{joints}</robot>', "chain.urdf"))


def placed(folder: Path) -> object:
    """Return a start to within NaN."""
    robot = tr.Robot()
    robot.free(1.0, 0.01, shape=tr.Circle(0.1), name="wheel")
    robot.terrain(tr.Line())
    return robot.finish().place(wheel=(0, 0.1, 0), tolerance=float("nan"))


BEYOND: dict[str, tuple[Callable[[Path], object], str]] = {
    "300 empty parts": (
        lambda folder: tr.load_scenario(written(folder, JUGGLING | {"parts": {f"p{i}": {} for i in range(300)}})),
        r"my\.toml: parts = .*: must be tables of tables, \[parts\.NAME\.TABLE\]: at most 64, none of them empty",
    ),
    "chain of 5,000 links": (chain, r"name = 'link255': must be one of at most 256 bodies"),
    "URDF of 5,000 links": (chain_file, r"chain\.urdf: joint = '4999 that move': must be at most 249"),
    "plan of 1e6 s": (
        lambda folder: transfer({"contact_on_hand": (0.02, 0.0)}, duration=1e6),
        r"duration = 1000000\.0: must be from 1e-09 to 2000 \(s\)",
    ),
    "NaN tolerance": (placed, r"tolerance = nan: must be a finite number > 0"),
    "mass of 1e-308": (
        lambda folder: tr.RigidBody(tr.Sphere(0.1), mass=1e-308),
        r"mass = 1e-308: must be a number from 1e-50",
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_too_much_is_refused_at_once(tmp_path: Path, name: str) -> None:
    make, told = BEYOND[name]
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(tr.InputError, match=told):
        make(tmp_path)
    assert time.process_time() - begin < 5.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB
