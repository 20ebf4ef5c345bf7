"""Quantities: what records keep of samples, of all bodies and of all contacts at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray

OF_BODIES = ("position", "velocity", "angular_velocity", "rotation")
OF_CONTACTS = ("point", "on_A", "on_B", "normal", "force", "moment", "gap", "slip")
"""What `trundle.simulate.outputs` tells of each body and of each contact."""


@dataclass(frozen=True, eq=False)
class Quantities(Mapping[str, FloatArray]):
    """Quantities of n samples; as a mapping ``<body>.position`` -> (n, size), ``<contact>.gap``, ``energy``, ....

    Attributes
    ----------
    bodies, contacts : mapping of str -> int
        Places of bodies and contacts by their names; contacts that a mode does not show have none.
    of_bodies, of_contacts : mapping of str -> (n, places, size)
        By what it is: `OF_BODIES`, `OF_CONTACTS`.
    others : mapping of str -> (n, size)
    """

    bodies: Mapping[str, int]
    contacts: Mapping[str, int]
    of_bodies: Mapping[str, FloatArray]
    of_contacts: Mapping[str, FloatArray]
    others: Mapping[str, FloatArray]

    @classmethod
    def of(cls, values: FloatArray, names: Sequence[str], ends: Sequence[int]) -> Quantities:
        """Return quantities from columns: ``values[:, ends[i] : ends[i + 1]]`` is what ``names[i]`` says."""
        columns = {name: values[:, ends[i] : ends[i + 1]] for i, name in enumerate(names)}

        def gather_columns(kinds: Sequence[str]) -> tuple[dict[str, int], dict[str, FloatArray]]:
            first = f".{kinds[0]}"
            owners = [name.removesuffix(first) for name in names if name.endswith(first)]
            found: dict[str, FloatArray] = {}
            for kind in kinds if owners else ():
                found[kind] = np.stack([columns.pop(f"{owner}.{kind}") for owner in owners], axis=1)
            return {owner: place for place, owner in enumerate(owners)}, found

        (bodies, of_bodies), (contacts, of_contacts) = gather_columns(OF_BODIES), gather_columns(OF_CONTACTS)
        return cls(bodies, contacts, of_bodies, of_contacts, columns)

    def __getitem__(self, key: str) -> FloatArray:
        owner, _, what = key.rpartition(".")
        if what in self.of_contacts and owner in self.contacts:
            return self.of_contacts[what][:, self.contacts[owner]]
        if what in self.of_bodies and owner in self.bodies:
            return self.of_bodies[what][:, self.bodies[owner]]
        return self.others[key]

    def __iter__(self) -> Iterator[str]:
        yield from (f"{owner}.{what}" for owner in self.bodies for what in self.of_bodies)
        yield from (f"{owner}.{what}" for owner in self.contacts for what in self.of_contacts)
        yield from self.others

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def at(self, rows: np.ndarray) -> Quantities:
        """Return the quantities of some samples, by their numbers or as a mask."""

        def rows_of(part: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
            return {what: values[rows] for what, values in part.items()}

        of_bodies, of_contacts = rows_of(self.of_bodies), rows_of(self.of_contacts)
        return replace(self, of_bodies=of_bodies, of_contacts=of_contacts, others=rows_of(self.others))

    def with_contacts(self, names: Sequence[str], **given: FloatArray) -> Quantities:
        """Return the same with other quantities (n, contacts, size) of contacts, in the order of `names`."""
        rows = [names.index(name) for name in self.contacts]
        return replace(self, of_contacts={**self.of_contacts, **{what: one[:, rows] for what, one in given.items()}})

    def bodies_of(self, what: str, names: Sequence[str]) -> FloatArray:
        """Return a quantity (n, bodies, size) of bodies in the order of their names."""
        return self.of_bodies[what][:, [self.bodies[name] for name in names]]
