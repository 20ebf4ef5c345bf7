"""Boxes of a file as planners keep out of them, and whether a way leads round those whose places are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.systems.wallbounce.control.costs import KeepOut, KeepOutDisc
from trundle.systems.wallbounce.control.reference import clearances
from trundle.systems.wallbounce.control.visibility import distance, shortest_path
from trundle.systems.wallbounce.robot import BallBalancer

if TYPE_CHECKING:
    from trundle.systems.wallbounce.schema import ObstacleTable, WallbounceNavigate


def disc_of(table: ObstacleTable, center: ArrayLike, torso_radius: float, hand_radius: float) -> KeepOutDisc:
    """Return what plans keep out of: the longer middle line of the box, grown by half its width, the robot's, a margin.

    Parameters
    ----------
    table : ObstacleTable
    center : (2,) m
    torso_radius, hand_radius : float, m
    """
    half = np.array(table.half_size[:2])
    width = float(np.min(half))
    body, hands = width + torso_radius + table.margin, width + hand_radius + table.hand_margin
    return KeepOutDisc(np.asarray(center), body, hands, half - width)


def side_of_table(table: ObstacleTable, sideways: FloatArray) -> FloatArray | None:
    """Return the unit vector (2,) to the side on which a box is passed, None for either; `sideways` is to the left."""
    return None if table.side == "either" else sideways if table.side == "left" else -sideways


def check_ways(
    tables: WallbounceNavigate,
    robot: BallBalancer,
    walls: Sequence[Wall],
    keep_out: KeepOut,
    starts: Sequence[FloatArray],
    sideways: FloatArray,
) -> None:
    """Refuse boxes of known places that hold start or goal, grown by the torso and their margin, or leave no way.

    Parameters
    ----------
    tables : WallbounceNavigate
    robot : BallBalancer
    walls : sequence of Wall
    keep_out : KeepOut
    starts : sequence of (2,)
        Of the trials, m.
    sideways : (2,)
        Unit vector to the left.

    Raises
    ------
    InputError
    """
    goal, discs, sides = np.asarray(tables.goal.position), [], []
    for i, table in enumerate(tables.obstacles):
        if table.position is None:
            continue
        disc = disc_of(table, table.position, tables.plant.torso_radius, robot.hand_radius)
        for name, place in [("goal", goal), *((f"start of trial {k + 1}", at) for k, at in enumerate(starts))]:
            if float(distance(disc, place)[0]) <= 0.0:
                where = f"the {name}, ({place[0]:.3g}, {place[1]:.3g}) m"
                allowed = f"a place off {where}, which lies in the box grown by torso and margin to {disc.radius:g} m"
                raise InputError(f"obstacles[{i}].position", table.position, allowed)
        discs.append(disc)
        sides.append(side_of_table(table, sideways))
    for k, start in enumerate(starts if discs else ()):
        if shortest_path(start, goal, discs, sides, walls, clearances(robot, keep_out)) is None:
            allowed = (
                f"a place to which a way leads from the start of trial {k + 1}, ({start[0]:.3g}, {start[1]:.3g}) m: "
                "[[obstacles]] grown by torso and margins, their sides and the walls leave none"
            )
            raise InputError("goal.position", tables.goal.position, allowed)
