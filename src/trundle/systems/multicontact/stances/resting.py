"""Whether a robot could rest on soles, with a hand where that helps: what every stance of a search must pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import PlacedPatch
from trundle.models.robots.humanoid import Humanoid
from trundle.systems.multicontact.humanoid.limbs import limb
from trundle.systems.multicontact.stances.equilibrium import bearable_place
from trundle.systems.multicontact.stances.footsteps import Place

_REACH = 0.5
"""Of a leg's length: most that the centre of mass is ahead of or beside a sole that stands."""
_ALIKE = 4
"""Decimals (m) to which stances that are one agree."""


@final
class Resting:
    """Static equilibrium of stances over some reachable place of the centre of mass, remembered for those alike.

    Contacts bear the weight within their friction cones (`bearable_place`); the centre of mass is as high over the
    lower sole as at the start, at most half a leg from each sole that stands, and so near to a hold that the arm
    reaches it. So far it is quick, and necessary: poses and torques of what is found are for `pose.find_pose`.

    Parameters
    ----------
    humanoid : Humanoid
    soles : mapping of str to PlacedPatch
        At the start: their patches are those of all stances.
    com : (3,) m
        Centre of mass at the start.
    hold : callable, optional
        From the middle (3,) m of what stands to where a hand may lean, None where it cannot: without, no hand helps.
    """

    def __init__(
        self,
        humanoid: Humanoid,
        soles: Mapping[str, PlacedPatch],
        com: FloatArray,
        hold: Callable[[FloatArray], PlacedPatch | None] | None = None,
    ) -> None:
        self._soles, self._hold, self._humanoid = soles, hold, humanoid
        self._high = float(com[2]) - min(float(sole.position[2]) for sole in soles.values())
        middle = np.mean([sole.position for sole in soles.values()], axis=0)
        self._from_middle = com - middle
        self._room = _REACH * min(limb(humanoid, name).length for name in soles)
        self._known: dict[tuple[object, ...], bool] = {}

    def __call__(self, standing: Mapping[str, Place], helped: bool = False) -> bool:
        """Return whether the robot could rest on these soles, or, if a hand may help, with it."""
        soles = [PlacedPatch(name, self._soles[name].patch, *place) for name, place in standing.items()]
        if any(self._bears([sole]) for sole in soles) or (len(soles) > 1 and self._bears(soles)):
            return True
        return helped and self.find_hold(standing) is not None

    def find_hold(self, standing: Mapping[str, Place]) -> PlacedPatch | None:
        """Return the hold with which the robot could rest on these soles; None if there is none."""
        hold = self._hold and self._hold(np.mean([place[0] for place in standing.values()], axis=0))
        soles = [PlacedPatch(name, self._soles[name].patch, *place) for name, place in standing.items()]
        return hold if hold and self._bears([*soles, hold]) else None

    def _bears(self, contacts: Sequence[PlacedPatch]) -> bool:
        origin = contacts[0].position
        numbers = (np.append(c.position - origin, c.R_world_patch) for c in contacts)
        key = tuple((c.name, *np.round(n, _ALIKE) + 0.0) for c, n in zip(contacts, numbers, strict=True))
        if key not in self._known:
            low, high = self._over(contacts)
            self._known[key] = bearable_place(contacts, low, high, self._humanoid.robot.mass) is not None
        return self._known[key]

    def _over(self, contacts: Sequence[PlacedPatch]) -> tuple[FloatArray, FloatArray]:
        """Return the corners (2,), (2,) m of the rectangle over which the centre of mass may be."""
        ground = min(float(c.position[2]) for c in contacts if c.name in self._soles)
        low, high = np.full(2, -np.inf), np.full(2, np.inf)
        for c in contacts:
            at, room = c.position[:2], self._room
            if c.name not in self._soles:
                arm = limb(self._humanoid, c.name)
                shoulder = arm.root - self._from_middle  # from the centre of mass
                up = ground + self._high + float(shoulder[2]) - float(c.position[2])
                if abs(up) > arm.length:
                    return high, low
                at, room = at - shoulder[:2], float(np.sqrt(arm.length**2 - up**2))
            low, high = np.maximum(low, at - room), np.minimum(high, at + room)
        return low, high
