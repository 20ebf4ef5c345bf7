"""Names, units and meaning of the entries of states, inputs and contact forces, for the header of an export."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from trundle.control.tick import NamedEntry
from trundle.models.linear.coordinates import is_quaternion
from trundle.models.tree.model import TIME, TreeModel
from trundle.numerics.space import angular_size

_UNITS = {
    "position": "m",
    "orientation": "rad",
    "coordinates": "m or rad, of the chart",
    "spin": "rad",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "relative_velocity": "rad/s",
}


def states(model: TreeModel) -> list[NamedEntry]:
    """Return the entries of x."""
    return list(_entries(model, model.layout))


def inputs(model: TreeModel) -> list[NamedEntry]:
    """Return the entries of u."""
    return list(_entries(model, model.input_layout))


def forces(model: TreeModel) -> list[NamedEntry]:
    """Return the entries of the contact forces on the first body of each contact, world axes."""
    return [NamedEntry(f"{constraint.name}.{axis}", "N") for constraint in model.constraints for axis in _axes(model.d)]


def enumeration(prefix: str, entries: Sequence[NamedEntry]) -> str:
    """Return the C enumeration of entries: PREFIX_NAME counts from 0, PREFIX_COUNT is how many."""
    lines, taken = [], {"COUNT"}
    for number, entry in enumerate(entries):
        name = re.sub(r"[^A-Z0-9]+", "_", entry.name.upper()).strip("_")
        name = name if name not in taken else f"{name}_{number}"  # names that differ in their signs alone
        taken.add(name)
        lines.append(f"    {prefix}_{name} = {number}, /* {_comment(entry)} */\n")
    return f"enum {{\n{''.join(lines)}    {prefix}_COUNT = {len(entries)}\n}};\n"


def _comment(entry: NamedEntry) -> str:
    return f"{entry.name}, {entry.unit}".replace("*/", "* /").encode("ascii", "replace").decode()


def _axes(d: int) -> tuple[str, ...]:
    return ("x", "z") if d == 2 else ("x", "y", "z")


def _entries(model: TreeModel, layout: Mapping[str, slice]) -> Iterator[NamedEntry]:
    for key, where in layout.items():
        if key == TIME:
            yield NamedEntry(key, "s")
            continue
        size = where.stop - where.start
        for part, unit in _parts(model, key, size):
            yield NamedEntry(f"{key}.{part}" if part else key, unit)


def _parts(model: TreeModel, key: str, size: int) -> list[tuple[str, str]]:
    """Return (component, unit) of each entry of one key of a layout."""
    body, _, kind = key.rpartition(".")
    axes, k = _axes(model.d), angular_size(model.d)
    turns = not (body in model.joints and not model.turns(body))
    if key in model.layout and is_quaternion(model, key):
        return [(part, "unit quaternion") for part in "wxyz"]
    if kind in ("twist", "twist_rate"):
        angular, linear = ("rad/s", "m/s") if kind == "twist" else ("rad/s^2", "m/s^2")
        around = [f"angular_{axis}" for axis in "xyz"] if k == 3 else ["angular"]
        return [(part, angular) for part in around] + [(f"linear_{axis}", linear) for axis in axes]
    units = _UNITS | {
        "joint": "rad" if turns else "m",
        "rate": "rad/s" if turns else "m/s",
        "torque": "N m" if turns else "N",
    }
    named = axes if size == model.d and kind in ("position", "velocity", "angular_velocity") else range(size)
    return [(str(part) if size > 1 else "", units[kind]) for part in named]
