"""Names, units and meaning of the entries of states, inputs and contact forces, for the header of an export."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trundle.control.tick import NamedEntry
from trundle.models.linear.names import axes_of, entries
from trundle.models.tree.model import TreeModel


def states(model: TreeModel) -> list[NamedEntry]:
    """Return the entries of x."""
    return [NamedEntry(entry.name, entry.unit) for entry in entries(model, model.layout)]


def inputs(model: TreeModel) -> list[NamedEntry]:
    """Return the entries of u."""
    return [NamedEntry(entry.name, entry.unit) for entry in entries(model, model.input_layout)]


def forces(model: TreeModel) -> list[NamedEntry]:
    """Return the entries of the contact forces on the first body of each contact, world axes."""
    axes = axes_of(model.d)
    return [NamedEntry(f"{constraint.name}.{axis}", "N") for constraint in model.constraints for axis in axes]


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
