"""How a walk of kind `multicontact` is laid out for the robot at hand: where soles and hands go, where supports are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.control.whole_body.stepping import Move
from trundle.control.whole_body.tandem import tandem_stance
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.models.robots.limbs import Limb, limb
from trundle.models.robots.terrain import Block, Terrain
from trundle.systems.multicontact.schema import MulticontactWalk

if TYPE_CHECKING:
    from trundle.systems.multicontact.schema import HandTable, MulticontactTables, StepsTable

_BESIDE = 0.001
"""Room, m, between soles that are moved apart to stand beside each other."""
_OVER = 0.1
"""Of a sole's width: how far beyond the edge of the sole away from the hand the centre of mass is while that one stands
alone, so that the hand has to help, and how far beyond the middle of the other while that one does."""
_HOLDS = 0.5
"""Of the arm's length: most way between two holds."""


class Holds(NamedTuple):
    """Where a hand leans: a hold every so many steps, so far (m) ahead of the robot's middle, at so much y (m)."""

    every: int
    ahead: float
    across: float


def terrain_of(tables: MulticontactTables, humanoid: Humanoid) -> Terrain:
    """Return the terrain of a file, a support of `[hand]` where the robot's arm reaches it unless `across` is given.

    Its top then is `down` arm's lengths below the shoulder of the standing robot, its middle `out` arm's lengths aside.

    Raises
    ------
    InputError
        For a support or an end that is not there (keys "block", "end"), or nothing to stand on (key "place").
    """
    table = tables.terrain
    blocks = [Block(b.center, 0.5 * np.array(b.size), b.rpy, b.name) for b in table.blocks]
    plain = Terrain(blocks, table.floor)
    hand = tables.hand if isinstance(tables, MulticontactWalk) else None
    if hand is None or hand.across is not None:
        return plain
    support, arm = plain.block(hand.support), limb(humanoid, _hand_end(hand.end, humanoid))
    under, _ = Terrain([block for block in blocks if block is not support], table.floor).ground(0.0, 0.0)
    x, y, z = support.center
    top = support.top(x, y)
    if top is None:
        raise InputError("block", hand.support, "a block with a face on which a hand can lean, or a hold by `across`")
    moved = [x, _across(arm, hand.out), z + under[2] + arm.root[2] - hand.down * arm.length - top]
    placed = Block(moved, support.half_size, support.rpy, support.name)
    return Terrain([placed if block is support else block for block in blocks], table.floor)


def steps_of(tables: MulticontactWalk, humanoid: Humanoid, terrain: Terrain) -> StepsTable:
    """Return the table `[steps]` as this robot takes it: with `fit`, soles that overlap at its `width` are laid out.

    Soles that fit beside each other on the ground are moved apart; others go one ahead of the other (`tandem_stance`),
    at times that grow as the root of the way, so that nothing has to be accelerated more. Where a hand helps, the
    centre of mass goes beyond the edge of the sole that is away from it, and over the one beside it.

    Raises
    ------
    InputError
        If the ground is narrower than a sole (key "breadth"), or steps do not go ahead (key "length").
    """
    table, soles = tables.steps, humanoid.feet.values()
    length, width = max(sole.length for sole in soles), max(sole.width for sole in soles)
    if not table.fit or table.width is None or width <= table.width:
        return table
    breadth = terrain.breadth(0.0, 0.0)
    if 2.0 * width + _BESIDE <= breadth:
        return table.model_copy(update={"width": width + _BESIDE})
    if table.length <= 0.0:
        raise InputError("length", table.length, "a length > 0 (m), or fit = false")
    leg = float(np.mean([limb(humanoid, f"{foot}_foot").length for foot in humanoid.feet]))
    line = tandem_stance(length, width, breadth, leg, least=table.length)
    slower = float(np.sqrt(line.length / table.length))
    lean = {}
    if tables.hand is not None:
        side = 1.0 if limb(humanoid, _hand_end(tables.hand.end, humanoid)).root[1] > 0.0 else -1.0
        near, far = ("left_foot", "right_foot") if side > 0.0 else ("right_foot", "left_foot")
        beyond, over = (0.5 + _OVER) * width - 0.5 * line.width, 0.5 * line.width + _OVER * width
        lean = {near: side * beyond, far: side * over}
    update = {"width": line.width, "stagger": line.length, "length": line.length, "aside": line.aside, "lean": lean}
    return table.model_copy(update=update | {"single": slower * table.single, "double": slower * table.double})


def holds_of(table: HandTable, humanoid: Humanoid, length: float) -> Holds:
    """Return the holds of the table `[hand]` with numbers for what it leaves out, for steps of this length (m).

    Holds follow each other by at most `_HOLDS` of the arm's length, each as far ahead of the shoulder when it is taken
    as behind it when it is left.
    """
    arm = limb(humanoid, _hand_end(table.end, humanoid))
    every = table.every or max(1, int(_HOLDS * arm.length / max(abs(length), 1e-9)))
    ahead = arm.root[0] + every * length / 2 if table.ahead is None else table.ahead
    across = _across(arm, table.out) if table.across is None else table.across
    return Holds(min(every, 100), float(ahead), float(across))


def with_hand(
    table: HandTable,
    holds: Holds,
    start: Mapping[str, PlacedPatch],
    steps: Sequence[Move],
    terrain: Terrain,
    friction: float,
) -> list[Move]:
    """Return the steps with the moves of the hand between them, the first before all steps."""
    places, moves, patch = dict(start), [], FlatPatch.point(friction)
    for i, step in enumerate(steps):
        if i % holds.every == 0:
            x = float(np.mean([place.position[0] for place in places.values()])) + holds.ahead
            try:
                point, R = terrain.ground(x, holds.across, table.support)
            except InputError as error:
                key = "hand.support" if error.key == "block" else "hand.across"
                raise InputError(key, error.value, error.allowed) from None
            moves.append(Move(PlacedPatch(table.end, patch, point, R), table.duration, table.pause, table.lift))
        moves.append(step)
        places[step.target.name] = step.target
    return moves


def _hand_end(end: str, humanoid: Humanoid) -> str:
    """Return the end if it is one of the robot's hands."""
    if end not in humanoid.ends or not end.endswith("_hand"):
        names = ", ".join(repr(name) for name in humanoid.ends if name.endswith("_hand"))
        raise InputError("end", end, f"one of the robot's hands: {names or 'it has none'}")
    return end


def _across(arm: Limb, out: float) -> float:
    """Return the y (m) that is so many arm's lengths further out than the shoulder."""
    return float(arm.root[1] + np.sign(arm.root[1]) * out * arm.length)
