"""Whether the robot of a file of kind `multicontact` can take the stances of its steps: checked before the start."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trundle.errors import InputError
from trundle.plan.stances.checks import most_turn, rests_everywhere, turns
from trundle.plan.stances.pose import StanceError

if TYPE_CHECKING:
    from trundle.systems.multicontact.carry import CarryExperiment
    from trundle.systems.multicontact.experiment import MulticontactExperiment


def check_stances(work: MulticontactExperiment) -> None:
    """Raise `InputError` where the robot of a `MulticontactExperiment` cannot rest at some stance of its steps.

    Poses at rest along the way of the centre of mass (`steps.rest`) are stricter: nothing is left to check.
    """
    if work.rests is not None:
        return
    try:
        rests_everywhere(work.controller.humanoid, work.steps.forecast, _height(work), work.start, work.duration)
    except StanceError as error:
        if not work.steps.travels:
            lowered = work.tables.robot.lowered
            allowed = f"a height at which the robot can stand: {error}"
            raise InputError("robot.lowered", lowered, allowed, work.scenario.file) from None
        value = getattr(getattr(work.tables, work.way), work.reached)
        allowed = f"steps at each of which the robot can rest: {error}"
        raise InputError(f"{work.way}.{work.reached}", value, allowed, work.scenario.file) from None


def check_turn(work: CarryExperiment) -> None:
    """Raise `InputError` where the legs of a robot that carries cannot turn as far a step as its route says."""
    route = work.file.route
    count = max(route.turn_steps - 1, 1)
    if not route.turn or not work.moves:
        return
    stance = work.controller.humanoid, work.soles, _height(work), work.start
    if turns(*stance, abs(route.turn) / count):
        return
    try:
        each = most_turn(*stance)
    except StanceError as error:
        allowed = f"a height at which the robot can stand: {error}"
        raise InputError("robot.lowered", work.tables.robot.lowered, allowed, work.scenario.file) from None
    most = math.floor(100 * each * count) / 100
    allowed = f"from {-most:g} to {most:g} (rad) with route.turn_steps = {route.turn_steps}"
    allowed += f": the robot turns a sole by {each:.2f} rad while the other stands"
    raise InputError("route.turn", route.turn, allowed, work.scenario.file)


def _height(work: MulticontactExperiment) -> float:
    """Return how high (m) the centre of mass is over the lower sole as the steps begin."""
    ground = min(float(place.position[2]) for place in work.steps.start.values())
    return float(work.com[2]) - work.tables.robot.lowered - ground
