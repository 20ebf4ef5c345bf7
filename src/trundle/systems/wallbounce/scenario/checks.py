"""Whether the tables of kind `wallbounce` fit together, and its boxes as planners keep out of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import casadi as ca
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
    from trundle.systems.wallbounce.scenario.schema import (
        BalancerControllerTable,
        DiscObstacleTable,
        Tables,
        WallbounceNavigate,
    )


#: Keys of the errors below, as they are in a file.
MOVED = {key: key for key in ("goal.position", "controller.rules.shortest", "controller.levels")}


def check_robot(robot: BallBalancer) -> None:
    """Refuse hands as large as their arms, arms that reach the floor, a rest posture beyond the joints' limits.

    Raises
    ------
    InputError
    """
    if robot.hand_radius >= robot.forearm:
        raise InputError("hand_radius", robot.hand_radius, f"smaller than the forearm of {robot.forearm:g} m")
    hip, reach = float(np.asarray(robot.shoulder)[2]) + robot.ball_radius, robot.upper_arm + robot.forearm
    if not 0.0 < reach + robot.hand_radius < hip:
        longer = "upper_arm" if robot.upper_arm >= robot.forearm else "forearm"
        allowed = f"an arm that hangs above the floor: both links and the hand below the shoulder's {hip:g} m"
        raise InputError(longer, getattr(robot, longer), allowed)
    if robot.height <= 2.5 * robot.ball_radius:
        raise InputError("height", robot.height, f"above 2.5 radii of the ball, {2.5 * robot.ball_radius:g} m")
    low, rest, high = (np.asarray(getattr(robot, f"joint_{name}")) for name in ("lower", "rest", "upper"))
    if np.any(rest < low) or np.any(rest > high):
        raise InputError("joint_rest", robot.joint_rest, "within joint_lower and joint_upper")


def check_places(tables: Tables, robot: BallBalancer, walls: list[Wall], starts: Sequence[FloatArray]) -> None:
    """Refuse walls through the robot at a start (2,), m, a box that appears in it, and a goal inside a wall.

    Raises
    ------
    InputError
    """
    torso, hands = tables.plant.torso_radius, rest_hands(robot)
    for (i, wall), start in product(enumerate(walls), starts):
        key, point = f"walls[{i}].point", tables.walls[i].point
        if _gap(wall, robot, start) <= torso * math.hypot(wall.normal[0], wall.normal[1]):
            raise InputError(key, point, "a wall that is not in the robot")
        lowest = min(float(wall.normal @ hand) for hand in hands) + float(wall.normal[:2] @ start)
        deepest = lowest - wall.offset - robot.hand_radius
        if deepest <= 0.0:
            allowed = f"a wall that is not in the arms at rest (robot.joint_rest): {-deepest:.3g} m further away"
            raise InputError(key, point, allowed)
    if tables.task != "navigate":
        return
    for i, wall in enumerate(walls):
        if _gap(wall, robot, np.asarray(tables.goal.position)) <= torso * math.hypot(wall.normal[0], wall.normal[1]):
            raise InputError("goal.position", tables.goal.position, f"a place in front of walls[{i}]")
    for i, box in enumerate(tables.obstacles):
        spans = zip((box.ahead, box.aside), box.half_size[:2], strict=True)
        least = math.hypot(*(max(0.0, low - half, -high - half) for (low, high), half in spans))
        if box.position is None and least <= torso:
            allowed = f"a place beside the robot: the box would appear in its torso of {torso:g} m radius"
            raise InputError(f"obstacles[{i}].ahead", box.ahead, allowed)


def check_rules(controller: BalancerControllerTable) -> None:
    """Refuse a shortest contact that no plan is long enough for.

    Raises
    ------
    InputError
    """
    horizon, rules = controller.stages * controller.step, controller.rules
    if controller.levels == "two-level" and not rules.horizon and rules.shortest > horizon:
        allowed = f"at most the plans' length of {horizon:g} s, or rules.horizon = true: else no contact is ever kept"
        raise InputError("controller.rules.shortest", rules.shortest, allowed)


def disc_of(table: DiscObstacleTable, center: ArrayLike, torso_radius: float, hand_radius: float) -> KeepOutDisc:
    """Return what plans keep out of: the longer middle line of the box, grown by half its width, the robot's, a margin.

    Parameters
    ----------
    table : DiscObstacleTable
    center : (2,) m
    torso_radius, hand_radius : float, m
    """
    half = np.array(table.half_size[:2])
    width = float(np.min(half))
    body, hands = width + torso_radius + table.margin, width + hand_radius + table.hand_margin
    return KeepOutDisc(np.asarray(center), body, hands, half - width)


def side_of_table(table: DiscObstacleTable, sideways: FloatArray) -> FloatArray | None:
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


def rest_hands(robot: BallBalancer) -> list[FloatArray]:
    """Return the hands' places (3,), m, world axes, of the robot upright and at rest at the origin."""
    x = ca.SX(ca.DM(robot.rest()))
    up = np.array([0.0, 0.0, robot.ball_radius])
    return [np.array(ca.evalf(ca.SX(r))).ravel() + up for r, _ in robot.hands(x)]


def _gap(wall: Wall, robot: BallBalancer, place: FloatArray) -> float:
    """Distance of the axis of a robot upright at a place (2,) from a wall, m."""
    heights = (robot.ball_radius, robot.height)
    return min(float(wall.normal @ [*place, height]) - wall.offset for height in heights)
