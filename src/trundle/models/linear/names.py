"""Names and units of the entries of states and inputs: those of linear models, of headers in C, and others' for them.

A joint's entries have its name (``hip.joint``, ``hip.rate``, ``hip.torque``), a body's the body's
(``trunk.position.x``). The columns of records (``joint_position.hip``) and the body that a joint moves
(``shank.joint``) name them too, and a joint or a body alone what `place` means by it: its position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trundle.errors import InputError
from trundle.models.tree.model import TIME, TreeModel
from trundle.numerics.space import angular_size

POSES = ("joint", "orientation", "spin", "position", "coordinates")
"""Kinds of entries that tell where something is."""
_COLUMNS = {"joint": "joint_position", "rate": "joint_velocity", "torque": "torque"}
_ALONE = (*POSES, "torque", "twist_rate")
_UNITS = {
    "position": "m",
    "orientation": "rad",
    "coordinates": "m or rad, of the chart",
    "spin": "rad",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "relative_velocity": "rad/s",
    TIME: "s",
}


@dataclass(frozen=True)
class NamedEntry:
    """An entry of a state or an input: whose it is, by all names of that one, of what kind, which component."""

    owners: tuple[str, ...]
    kind: str
    part: str
    unit: str

    @property
    def name(self) -> str:
        """Its own name."""
        return ".".join(word for word in (self.owners[0], self.kind, self.part) if word)

    def names(self, owner: str) -> tuple[str, ...]:
        """Return all that it is called where its owner is called so."""
        key = f"{owner}.{self.kind}"
        column = (f"{_COLUMNS[self.kind]}.{owner}",) if self.kind in _COLUMNS else ()
        return (f"{key}.{self.part}", key, *column, *([owner] if self.kind in _ALONE else []))


def entries(model: TreeModel, layout: Mapping[str, slice], turns: bool = False) -> list[NamedEntry]:
    """Return the entries of ``model.layout`` or ``model.input_layout``.

    With `turns` a unit quaternion counts as a rotation about three axes, and time is left out.
    """
    return [entry for key, where in layout.items() for entry in entries_of(model, key, where.stop - where.start, turns)]


def entries_of(model: TreeModel, key: str, size: int, turns: bool = False) -> Iterator[NamedEntry]:
    """Yield the entries of one key of a layout."""
    body, _, kind = key.rpartition(".")
    if key == TIME:
        yield from () if turns else (NamedEntry((TIME,), "", "", _UNITS[TIME]),)
        return
    joint, jointed = model.joints.get(body, body), kind in _COLUMNS and body in model.joints
    for i, (part, unit) in enumerate(_parts(model, key, size, turns)):
        numbered = f"{joint}_{i + 1}"  # as in records
        if jointed and part.isdigit():
            yield NamedEntry((numbered, joint, body), kind, "", unit)
        else:
            yield NamedEntry((joint, body) if jointed else (body,), kind, part, unit)


def _parts(model: TreeModel, key: str, size: int, turns: bool) -> list[tuple[str, str]]:
    """Return (component, unit) of each entry of one key of a layout."""
    body, _, kind = key.rpartition(".")
    axes, k = axes_of(model.d), angular_size(model.d)
    if key in model.layout and is_quaternion(model, key):
        return [(part, "rad") for part in "xyz"] if turns else [(part, "unit quaternion") for part in "wxyz"]
    if kind in ("twist", "twist_rate"):
        angular, linear = ("rad/s", "m/s") if kind == "twist" else ("rad/s^2", "m/s^2")
        around = [f"angular_{axis}" for axis in "xyz"] if k == 3 else ["angular"]
        return [(part, angular) for part in around] + [(f"linear_{axis}", linear) for axis in axes]
    slides = body in model.joints and not model.turns(body)
    units = _UNITS | {
        "joint": "m" if slides else "rad",
        "rate": "m/s" if slides else "rad/s",
        "torque": "N" if slides else "N m",
    }
    named = axes if size == model.d and kind in ("position", "velocity", "angular_velocity") else range(size)
    return [(str(part) if size > 1 else "", units[kind]) for part in named]


def axes_of(d: int) -> tuple[str, ...]:
    """Return the names of the axes of the plane or of space."""
    return ("x", "z") if d == 2 else ("x", "y", "z")


def is_quaternion(model: TreeModel, key: str) -> bool:
    """Whether an entry of the layout is a unit quaternion."""
    body, _, kind = key.rpartition(".")
    where = model.layout[key]
    if where.stop - where.start != 4 or model.d == 2:
        return False
    rate = model.layout.get(f"{body}.rate")
    return kind == "orientation" or (kind == "joint" and rate is not None and rate.stop - rate.start == 3)


def numbers_of(key: str, name: str, known: Sequence[NamedEntry], also: Collection[str] = ()) -> list[int]:
    """Return the numbers of the entries that a user calls `name`, all components where none is said.

    A joint comes before a body of its name; `also` is what else an error message lists.
    """
    for level in range(3):
        found = [i for i, e in enumerate(known) if len(e.owners) > level and name in e.names(e.owners[level])]
        found = found or [i for i, e in enumerate(known) if name == e.name]
        if found:
            return found
    raise InputError(key, name, "among " + ", ".join([*also, *(entry.name for entry in known)]))
