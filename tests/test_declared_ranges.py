"""Every dataclass of the package refuses what lies outside the ranges that its parameters declare."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import pkgutil
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union

import numpy as np
import pytest

import trundle as tr
from tests.geometry import shape_table
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.sensing.sensing import Sensed
from trundle.geometry.sampled.sampled import SampledSurface
from trundle.geometry.shapes import bodies, curves, surfaces
from trundle.models.feet import Foot
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.parameters import Range, parameters_of
from trundle.systems.juggling.throw.shooting import SearchParameter, Shooting
from trundle.systems.juggling.throw.throw import ThrowCatch
from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
from trundle.systems.planar import signals
from trundle.systems.walking.gait.tracking import Tracking
from trundle.systems.walking.plan.rolling_ball import BallTransfer
from trundle.systems.walking.robots.avatar_feet import Toes

Arguments = dict[str, Any]


@cache
def pair() -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 1.0), tr.Hand(tr.Plane()))


@cache
def flat_pair() -> tr.RollingPair:
    body, hand = tr.RigidBody(tr.Ellipse((0.04, 0.02)), 0.1), tr.Hand(tr.Line(), extent=0.4)
    return tr.RollingPair(body, hand, on_slip="slide", on_separation="fly")


def humanoid() -> Humanoid:
    pytest.importorskip("pinocchio")
    return load_humanoid("g1")


class Resting:
    """A policy that does nothing."""

    period = 1e-3

    def reset(self) -> None: ...

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        return np.zeros(6)


def arm() -> Arguments:
    pytest.importorskip("pinocchio")
    return {"urdf": tr.load_example_robot("ur5_robot"), "link": "tool0"}


MAKERS: dict[type, Callable[[], Arguments]] = {
    tr.juggling.Arm: arm,
    Toes: lambda: {"sole": tr.Sphere(0.04), "center": (0.12, 0.0, -0.05), "joint": (0.11, 0.0, -0.05)},
    signals.Ramp: lambda: {"rate": 1.0},
    signals.SecondOrder: lambda: {"start": 1.0},
    signals.Sine: lambda: {"amplitude": 1.0, "frequency": 1.0},
    bodies.Box: lambda: {"half_extents": (0.1, 0.1, 0.1)},
    bodies.Capsule: lambda: {"radius": 0.1, "length": 0.2},
    bodies.Disc: lambda: {"radius": 0.1},
    bodies.Superellipsoid: lambda: {"semi_axes": (0.1, 0.1, 0.1)},
    curves.Arc: lambda: {"radius": 0.1},
    curves.Circle: lambda: {"radius": 0.1},
    curves.Ellipse: lambda: {"semi_axes": (0.1, 0.2)},
    curves.FourierRadius: lambda: {"radius": 0.1},
    curves.Parabola: lambda: {"curvature": 1.0},
    curves.Sinusoid: lambda: {"amplitude": 0.1, "wavelength": 1.0},
    bodies.Cylinder: lambda: {"radius": 0.1},
    surfaces.Dish: lambda: {"semi_axes": (0.1, 0.1, 0.1)},
    surfaces.Ellipsoid: lambda: {"semi_axes": (0.1, 0.1, 0.1)},
    surfaces.Sphere: lambda: {"radius": 0.1},
    surfaces.Torus: lambda: {"major": 0.2, "minor": 0.1},
    surfaces.Tube: lambda: {"radius": 0.1},
    SampledSurface: lambda: {"points": shape_table.directions(300)},
    Foot: lambda: {"shape": tr.Sphere(0.1)},
    tr.Hand: lambda: {"shape": tr.Plane()},
    tr.RollingPair: lambda: {"body": pair().body, "base": pair().base},
    BalancingLQR: lambda: {"pair": pair(), "state": pair().place(), "Q": np.eye(20), "R": np.eye(6)},
    Sensed: lambda: {"policy": Resting(), "pair": pair()},
    tr.control.Watchdog: lambda: {"policy": Resting(), "size": 3},
    Shooting: lambda: {"parameters": [SearchParameter("a", 0.0, 1.0)], "roll_out": lambda values: None},
    ThrowCatch: lambda: {"pair": flat_pair(), "start": flat_pair().place(), "goal_angle": 1.0},
    BallTransfer: lambda: {"radius": 0.1, "mass": 1.0, "goal": (0.1, 0.0)},
    HumanoidPlant: lambda: {"humanoid": humanoid()},
    Tracking: lambda: {
        "period": 1.2,
        "swing": 0.45,
        "markers": {"toe": np.zeros((9, 2))},
        "places": {"toe": ("foot", 0.1, 0.0)},
        "forces": np.zeros((9, 3)),
    },
}
"""Arguments of classes that cannot be made without any."""


PEERS = ("interop.drake", "interop.pybullet")
"""Modules of packages that the suite does without."""


def declared() -> list[type[Any]]:
    """Return the dataclasses of the package with a parameter that has a range."""
    found: set[type[Any]] = set()
    for module in pkgutil.walk_packages(tr.__path__, "trundle."):
        if not module.name.endswith(("__main__", *PEERS)):
            found |= {one for one in vars(importlib.import_module(module.name)).values() if inspect.isclass(one)}
    ours = [one for one in found if one.__module__.startswith("trundle.") and dataclasses.is_dataclass(one)]
    return sorted((one for one in ours if has_texts(one) and any(wrong_values(one))), key=lambda one: one.__qualname__)


def has_texts(owner: type[Any]) -> bool:
    return any("text" in field.metadata for field in dataclasses.fields(owner))


def wrong_values(owner: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield parameters with a range and a value outside it."""
    for one in parameters_of(owner):
        found = list(ranges(one.type))
        assert found or "Range(" not in repr(one.type), "a range that this test does not find"
        for allowed, kind in found:
            whole = int in (kind, *typing.get_args(kind))
            for number in outside(allowed):
                wrong = int(number) if whole and math.isfinite(number) else number
                if typing.get_origin(kind) in (tuple, Sequence):
                    yield one.name, (wrong,) * (allowed.length or len(typing.get_args(kind)))
                else:
                    yield one.name, wrong


def ranges(kind: Any) -> Iterator[tuple[Range, Any]]:
    """Yield the ranges inside a type, each with the type it is of."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        yield from ((entry, inner[0]) for entry in inner[1:] if isinstance(entry, Range))
    elif origin in (Union, UnionType):
        for one in inner:
            yield from ranges(one)


def outside(allowed: Range) -> list[float]:
    """Return numbers outside a range: NaN, and one beyond each of its bounds."""
    bounds = {allowed.minimum - 1.0, allowed.maximum + 1.0, allowed.above, allowed.below}
    if allowed.or_zero:
        bounds -= {0.0}
    return [math.nan, *sorted(bound for bound in bounds if math.isfinite(bound))]


@pytest.mark.parametrize("owner", declared(), ids=lambda owner: owner.__qualname__)
def test_a_value_outside_the_range_of_a_parameter_is_refused_by_its_name(owner: type[Any]) -> None:
    if inspect.isabstract(owner):
        assert set(owner.__subclasses__()) & set(declared())
        return
    arguments = MAKERS.get(owner, dict)()
    owner(**arguments)  # what is refused below is refused for the one value alone
    keys = {(name, repr(wrong)): refused(owner, arguments | {name: wrong}) for name, wrong in wrong_values(owner)}
    assert {given: key for given, key in keys.items() if given[0] not in re.split(r"[.\[]", key)} == {}


def refused(owner: type[Any], arguments: Arguments) -> str:
    """Return the key of the error of a constructor, empty if it takes the arguments."""
    try:
        owner(**arguments)
    except tr.InputError as error:
        return error.key
    return ""
