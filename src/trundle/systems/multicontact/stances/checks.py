"""Whether a robot can rest at every stance of its steps: reach, weight, torques and soles that do not overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.contact.patch import PlacedPatch
from trundle.models.robots.humanoid import Humanoid
from trundle.numerics.rotations import rotation_of, rotation_z
from trundle.systems.multicontact.centroidal.forecast import Forecast
from trundle.systems.multicontact.stances.equilibrium import bearable_place
from trundle.systems.multicontact.stances.pose import PoseSettings, StanceError, contact_sets, find_pose, refusals_name

_SETTINGS = PoseSettings(tolerance=0.02, angle_tolerance=0.1)
"""Coarse: a stance is refused only where it is clearly impossible."""
_OVERLAP = 0.005
"""How far, m, two soles may overlap: footholds are rounded."""
_ALIKE = 4
"""Stances whose contacts agree to so many decimals (m) are one."""
_DRAWN = 0.15
"""How far, m, along either axis, the centre of mass may be from the middle of the soles where a hand helps."""
_HALVINGS = 7  # of an interval: to a percent
_MOST_TURN = np.pi / 2


def rests_everywhere(humanoid: Humanoid, forecast: Forecast, height: float, q: FloatArray, until: float) -> int:
    """Return how many stances from time 0 to `until` (s) differ, after finding a pose at rest in each of them.

    Of stances that a shift and a turn about the vertical make equal one is tried (`find_pose`, from q (nq,)). The
    centre of mass is over the middle of the soles, which dynamic steps only pass, or with a hand over the place nearest
    to it where contacts bear the weight, `height` (m) above the lowest one.

    Raises
    ------
    StanceError
        If a stance cannot be taken: it is out of reach, its contacts cannot bear the weight within the torques, or two
        soles overlap. It names the ends and the time; `stance` is its number.
    """
    positive("height", height, "m")
    seen, ground = set(), None
    for i, time, standing in contact_sets(forecast, until):
        ground = min(float(c.position[2]) for c in standing) if ground is None else ground
        contacts = _at_start(humanoid, standing, np.array([*q[:2], ground]), q)
        alike = tuple((c.name, *np.round([*c.position, *c.R_world_patch.ravel()], _ALIKE) + 0.0) for c in contacts)
        if alike in seen:
            continue
        seen.add(alike)
        with refusals_name(contacts, time, i):
            _rest(humanoid, contacts, height, q)
    return len(seen)


def most_turn(humanoid: Humanoid, soles: Mapping[str, PlacedPatch], height: float, q: FloatArray) -> float:
    """Return the largest angle (rad) by which one sole of a stance may turn about their middle, in and out.

    The other one stands; the robot rests on both with its centre of mass `height` (m) above them. At most pi / 2.

    Raises
    ------
    StanceError
        If it cannot even rest as it stands.
    """
    low, high = 0.0, _MOST_TURN
    _rest(humanoid, _turn_last_sole(soles, 0.0), height, q)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        try:
            for angle in (middle, -middle):
                _rest(humanoid, _turn_last_sole(soles, angle), height, q)
            low = middle
        except StanceError:
            high = middle
    return low


def turns(humanoid: Humanoid, soles: Mapping[str, PlacedPatch], height: float, q: FloatArray, angle: float) -> bool:
    """Return whether one sole can turn by `angle` (rad) in and out while the other stands, see `most_turn`."""
    if not abs(angle) <= _MOST_TURN:
        return False
    try:
        for each in (angle, -angle):
            _rest(humanoid, _turn_last_sole(soles, each), height, q)
    except StanceError:
        return False
    return True


def _rest(humanoid: Humanoid, contacts: Sequence[PlacedPatch], height: float, q: FloatArray) -> None:
    soles = [c for c in contacts if c.name.endswith("_foot")]
    if len(soles) == 2 and overlap(humanoid, *soles) > _OVERLAP:
        raise StanceError("the soles overlap", {"overlap": overlap(humanoid, *soles)})
    places = np.array([c.position for c in soles or contacts])
    middle = places[:, :2].mean(axis=0)
    if len(soles) < len(contacts):  # a hand that has to help draws the centre of mass towards it
        place = bearable_place(contacts, middle - _DRAWN, middle + _DRAWN, humanoid.robot.mass, middle)
        middle = middle if place is None else place
    com = [*middle, places[:, 2].min() + height]
    find_pose(humanoid, contacts, com, start=q, settings=_SETTINGS)


def overlap(humanoid: Humanoid, a: PlacedPatch, b: PlacedPatch) -> float:
    """Return by how much (m) two whole soles overlap seen from above, 0 where they do not, by separating axes."""
    feet, least = humanoid.feet, np.inf
    one, other = (
        replace(place, patch=feet[place.name.removesuffix("_foot")].patch(1.0)).corners[:, :2] for place in (a, b)
    )
    for place in (a, b):
        for axis in place.R_world_patch[:2, :2].T:
            n = axis / np.linalg.norm(axis)
            mine, theirs = one @ n, other @ n
            least = min(least, float(mine.max() - theirs.min()), float(theirs.max() - mine.min()))
    return max(least, 0.0)


def _at_start(
    humanoid: Humanoid, contacts: Sequence[PlacedPatch], under: FloatArray, q: FloatArray
) -> list[PlacedPatch]:
    """Return contacts shifted and turned about the vertical: the soles' middle at `under`, ahead as q looks."""
    soles = [c for c in contacts if c.name.endswith("_foot")] or list(contacts)
    ahead = np.sum([c.R_world_patch[:, 0] for c in soles], axis=0)
    base = rotation_of(q[3:7]) @ humanoid.R_ahead_base.T[:, 0]
    turn = rotation_z(float(np.arctan2(base[1], base[0]) - np.arctan2(ahead[1], ahead[0])))
    middle = np.mean([c.position for c in soles], axis=0)
    lowest = min(float(c.position[2]) for c in soles)
    centre = np.array([middle[0], middle[1], lowest])
    return [
        replace(c, position=under + turn @ (c.position - centre), R_world_patch=turn @ c.R_world_patch)
        for c in contacts
    ]


def _turn_last_sole(soles: Mapping[str, PlacedPatch], angle: float) -> list[PlacedPatch]:
    """Return the soles, the last one turned by `angle` (rad) about their middle."""
    *others, last = soles.values()
    middle = np.mean([sole.position for sole in soles.values()], axis=0)
    R = rotation_z(angle)
    return [
        *others,
        replace(last, position=middle + R @ (last.position - middle), R_world_patch=R @ last.R_world_patch),
    ]
