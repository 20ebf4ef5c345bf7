"""Where the numbers of a model are: by name, in the data of its bodies, contacts, shapes and gravity."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

import casadi as ca
import numpy as np

from trundle.contact.laws import Friction
from trundle.geometry.shape import Shape
from trundle.models.tree.joints import BodySpec
from trundle.models.tree.system import ContactSystem
from trundle.numerics.symbol import Symbol

Owner = TypeVar("Owner")
Path = tuple[str | int, ...]

_OF_CONTACT = {
    "friction": "mu",
    "torsional_friction": "torsional",
    "rolling_friction": "rolling",
    "drilling_friction": "drilling",
    "rolling_viscosity": "rolling_viscous",
    "drilling_viscosity": "drilling_viscous",
    "adhesion": "adhesion",
    "stiffness": "stiffness",
    "dissipation": "dissipation",
}
"""A contact's numbers -> the fields of `Friction`."""
_OF_JOINT = ("damping", "stiffness", "rest")


@dataclass(frozen=True)
class NumberPlace:
    """A number of a model: its value, what kind of data holds it, which ones (by number) and where in these."""

    value: float
    kind: Literal["body", "contact", "joint", "shape", "center", "gravity", "restitution"]
    which: tuple[int, ...]
    path: Path


def places(system: ContactSystem) -> dict[str, NumberPlace]:
    """Return the numbers of a model by name: ``object.mass``, ``contact.friction``, ``terrain.amplitude``, ..."""
    _, _, specs, contacts, *_ = system.model().given
    found: dict[str, NumberPlace] = {}
    for i, spec in enumerate(specs):
        found |= {f"{spec.name}.{name}": NumberPlace(value, "body", (i,), path) for name, value, path in _of_body(spec)}
    for numbers in system.pairs:
        contact, friction = contacts[numbers[0]].name, contacts[numbers[0]].friction
        for name, field in _OF_CONTACT.items():
            found[f"{contact}.{name}"] = NumberPlace(float(getattr(friction, field)), "contact", numbers, (field,))
        bounce = system.contact_pairs[numbers[0]].restitution.restitution
        found[f"{contact}.restitution"] = NumberPlace(bounce, "restitution", numbers, ("restitution",))
    found |= _dry_frictions(system, [contact.friction for contact in contacts])
    found |= _common_friction(system, [contacts[i].friction for i in range(len(contacts))])
    for label, shape in _shapes(system).items():
        found |= {f"{label}.{name}": NumberPlace(v, "shape", (id(shape),), path) for name, v, path in _sizes(shape)}
    for numbers in system.pairs:
        pair = system.contact_pairs[numbers[0]]
        label = pair.contact if system.records_joints else pair.body_A
        center = enumerate(pair.center_A or (0.0,) * system.d)
        found |= {f"{label}.shape_at[{i}]": NumberPlace(float(c), "center", numbers, (i,)) for i, c in center}
    for i, g in enumerate(system.model().given[0]):
        found[f"gravity[{i}]"] = NumberPlace(float(g), "gravity", (), (i,))
    return found


def _of_body(spec: BodySpec) -> Iterator[tuple[str, float, Path]]:
    if spec.mass > 0:
        yield "mass", spec.mass, ("mass",)
        if isinstance(spec.inertia, float):
            yield "inertia", spec.inertia, ("inertia",)
        else:
            for i, moment in enumerate(np.diag(np.asarray(spec.inertia)).tolist()):
                yield f"inertia[{i}]", moment, ("inertia", i)
        for i, c in enumerate(spec.com if spec.jointed else ()):
            yield f"center_of_mass[{i}]", c, ("com", i)
    if spec.jointed:
        yield from ((name, getattr(spec, name), (name,)) for name in _OF_JOINT)


def _dry_frictions(system: ContactSystem, frictions: list[Friction]) -> dict[str, NumberPlace]:
    """Return the dry friction of each joint that has some, of all its coordinates."""
    rubbing: dict[str, list[int]] = {}
    for i in sorted(system.rubbing):
        rubbing.setdefault(system.contact_pairs[i].body_A, []).append(i)
    return {
        f"{body}.dry_friction": NumberPlace(
            float(frictions[numbers[0]].adhesion), "joint", tuple(numbers), ("adhesion",)
        )
        for body, numbers in rubbing.items()
    }


def _common_friction(system: ContactSystem, frictions: list[Friction]) -> dict[str, NumberPlace]:
    """Return Coulomb's coefficient of all contacts, where they have the same."""
    shapes = tuple(system.shape_pairs)
    values = {frictions[i].mu for i in shapes}
    return {"friction": NumberPlace(values.pop(), "contact", shapes, ("mu",))} if len(values) == 1 else {}


def _shapes(system: ContactSystem) -> dict[str, Shape]:
    """Return the shapes by what they are called: a robot's by the contact, others by the body."""
    found: dict[str, Shape] = {}
    for numbers in system.pairs:
        pair = system.contact_pairs[numbers[0]]
        found.setdefault(pair.contact if system.records_joints else pair.body_A, pair.shape_A)
        found.setdefault(pair.body_B, pair.shape_B)
    return found


def _sizes(owner: object) -> Iterator[tuple[str, float, Path]]:
    """Yield name, value and path of every number in the fields of a shape, and of shapes that it is made of."""
    if not dataclasses.is_dataclass(owner):
        return
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        if isinstance(value, float):
            yield field.name, value, (field.name,)
        elif isinstance(value, Shape):
            yield from ((f"{field.name}.{name}", v, (field.name, *path)) for name, v, path in _sizes(value))
        elif isinstance(value, tuple):
            for i, entry in enumerate(value):
                if isinstance(entry, float):
                    yield f"{field.name}[{i}]", entry, (field.name, i)
                elif isinstance(entry, Shape):
                    inner = (
                        (f"{field.name}[{i}].{name}", v, (field.name, i, *path)) for name, v, path in _sizes(entry)
                    )
                    yield from inner


def with_number(owner: Owner, path: Path, value: float | Symbol) -> Owner:
    """Return the same data with another number at `path`; numbers are checked as those of a user, symbols are not."""
    if not path:
        return cast(Owner, value)
    key, rest = path[0], path[1:]
    if isinstance(key, str):
        inner = with_number(getattr(owner, key), rest, value)
        if not isinstance(value, Symbol):
            return dataclasses.replace(cast("Mapping", owner), **{key: inner})  # type: ignore[type-var]
        other = copy.copy(owner)
        object.__setattr__(other, key, inner)
        return other
    if isinstance(owner, tuple):
        return cast(Owner, (*owner[:key], with_number(owner[key], rest, value), *owner[key + 1 :]))
    given = owner if isinstance(owner, ca.SX) else np.array(owner, dtype=np.float64)
    matrix = ca.SX(given) if isinstance(value, Symbol) else given
    matrix[key, key] = value
    return cast(Owner, matrix)
