"""How a walk of kind `multicontact` is laid out for the robot at hand: where soles and hands go, where supports are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.numerics.rotations import rotation_z
from trundle.scenarios.engine.building import error_context
from trundle.systems.multicontact.humanoid.limbs import Limb, limb
from trundle.systems.multicontact.humanoid.terrain import Block, Terrain
from trundle.systems.multicontact.scenario.schema import MulticontactWalk
from trundle.systems.multicontact.stances.resting import Resting
from trundle.systems.multicontact.whole_body.stepping import Move
from trundle.systems.multicontact.whole_body.tandem_stance import tandem_stance

if TYPE_CHECKING:
    from trundle.scenarios.scenario import Scenario
    from trundle.systems.multicontact.scenario.schema import HandHoldTable, MoveTable, MulticontactTables, StepsTable

_BESIDE = 0.001
"""Room, m, between soles that are moved apart to stand beside each other."""
_OVER = 0.1
"""Of a sole's width: how far beyond the edge of the sole away from the hand the centre of mass is while that one stands
alone, so that the hand has to help, and how far beyond the middle of the other while that one does."""
_HOLDS = 0.5
"""Of the arm's length: most way between two holds."""


Foothold = Callable[[float, float, float], tuple[FloatArray, FloatArray]]


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


def holds_of(table: HandHoldTable, humanoid: Humanoid, length: float) -> Holds:
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
    table: HandHoldTable,
    holds: Holds,
    start: Mapping[str, PlacedPatch],
    steps: Sequence[Move],
    terrain: Terrain,
    friction: float,
) -> list[Move]:
    """Return the steps with the moves of the hand between them, the first before all steps."""
    places, moves = dict(start), []
    for i, step in enumerate(steps):
        if i % holds.every == 0:
            middle: FloatArray = np.mean([place.position for place in places.values()], axis=0)
            try:
                hold = _hold(table, holds, terrain, friction, middle)
            except InputError as error:
                key = "hand.support" if error.key == "block" else "hand.across"
                raise InputError(key, error.value, error.allowed) from None
            moves.append(Move(hold, table.duration, table.pause, table.lift))
        moves.append(step)
        places[step.target.name] = step.target
    return moves


def with_help(
    table: HandHoldTable, resting: Resting, start: Mapping[str, PlacedPatch], steps: Sequence[Move]
) -> tuple[list[Move], int | None]:
    """Return the steps with moves of the hand before those it has to help in, and the number of the last of these."""
    places, moves, last = dict(start), list[Move](), None
    for step in steps:
        stands = {n: (p.position, p.R_world_patch) for n, p in places.items() if n != step.target.name}
        hold = None if resting(stands) else resting.find_hold(stands)
        if hold is not None:
            moves.append(Move(hold, table.duration, table.pause, table.lift))
            last = len(moves)
        moves.append(step)
        places[step.target.name] = step.target
    return moves, last


def hold_at(
    table: HandHoldTable, holds: Holds, terrain: Terrain, friction: float, middle: FloatArray
) -> PlacedPatch | None:
    """Return where a hand leans while what stands has its middle (3,) m there; None where there is no support."""
    try:
        return _hold(table, holds, terrain, friction, middle)
    except InputError:
        return None


def _hold(table: HandHoldTable, holds: Holds, terrain: Terrain, friction: float, middle: FloatArray) -> PlacedPatch:
    point, R = terrain.ground(float(middle[0]) + holds.ahead, holds.across, table.support)
    return PlacedPatch(table.end, FlatPatch.point(friction), point, R)


class ListedMoves(NamedTuple):
    """Moves of a file, when (s) the first begins, and when hands leave for good."""

    moves: list[Move]
    first: float
    releases: dict[str, float]


def listed_moves(
    scenario: Scenario,
    tables: MulticontactWalk,
    ends: Collection[str],
    start: Mapping[str, PlacedPatch],
    foothold: Foothold,
    terrain: Terrain,
) -> ListedMoves:
    """Return the moves of the array `moves`, of the robot's `ends`, from the soles of `start`.

    `foothold` returns where all of a sole lies on one face, from (x, y, yaw).

    Raises
    ------
    InputError
        For an end or a block that is not there, a place where a sole does not lie on one face, or times that do not
        follow each other.
    """
    walk, friction = tables.steps, tables.controller.preview.friction
    moves, releases, first, ready, until = list[Move](), dict[str, float](), walk.first, 0.0, walk.first
    for i, given in enumerate(tables.moves):
        with error_context(f"moves[{i}]", scenario, {"block": f"moves[{i}].support"}):
            if given.end not in ends:
                raise InputError("end", given.end, "one of the robot's ends: " + ", ".join(map(repr, ends)))
            if (given.end in start) == bool(given.support):
                allowed = "left out of a sole" if given.support else "the name of the block on which the hand leans"
                raise InputError("support", given.support, allowed)
            target, aside = _listed_target(given, walk.aside, start, foothold, terrain, friction)
            begin = until if given.start is None else given.start
            if begin < ready:
                raise InputError("start", begin, f"at least {ready:g} s: the one before is on its way until then")
            if given.end in releases:
                raise InputError("end", given.end, f"an end without a release before, at {releases[given.end]:g} s")
            if moves:
                moves[-1] = replace(moves[-1], pause=begin - ready)
            else:
                first = begin
            duration = walk.single if given.duration is None else given.duration
            ready, until = begin + duration, begin + duration + walk.double
            lift = walk.lift if given.lift is None else given.lift
            moves.append(Move(target, duration, walk.double, lift, aside))
            if given.release is not None:
                if given.end in start or given.release <= ready:
                    raise InputError("release", given.release, f"left out of a sole; of a hand above {ready:g} s")
                releases[given.end] = given.release
    return ListedMoves(moves, first, releases)


def _listed_target(
    given: MoveTable,
    aside: float,
    start: Mapping[str, PlacedPatch],
    foothold: Foothold,
    terrain: Terrain,
    friction: float,
) -> tuple[PlacedPatch, FloatArray]:
    """Return where an end goes, and the offset (3,), m, of the middle of its way."""
    (x, y), turn = given.place, rotation_z(given.yaw)
    if given.end in start:
        point, R = foothold(x, y, given.yaw)
        out = np.array([0.0, aside if given.end == "left_foot" else -aside, 0.0])
        return PlacedPatch(given.end, start[given.end].patch, point, R @ turn), turn @ out
    point, R = terrain.ground(x, y, given.support)
    return PlacedPatch(given.end, FlatPatch.point(friction), point, R), np.zeros(3)


def _hand_end(end: str, humanoid: Humanoid) -> str:
    """Return the end if it is one of the robot's hands."""
    if end not in humanoid.ends or not end.endswith("_hand"):
        names = ", ".join(repr(name) for name in humanoid.ends if name.endswith("_hand"))
        raise InputError("end", end, f"one of the robot's hands: {names or 'it has none'}")
    return end


def _across(arm: Limb, out: float) -> float:
    """Return the y (m) that is so many arm's lengths further out than the shoulder."""
    return float(arm.root[1] + np.sign(arm.root[1]) * out * arm.length)
