"""Whether the robot of a file of kind `multicontact` can take the stances of its steps: checked before the start."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.systems.multicontact.stances.checks import most_turn, rests_everywhere, turns
from trundle.systems.multicontact.stances.equilibrium import bearable
from trundle.systems.multicontact.stances.pose import StanceError

if TYPE_CHECKING:
    from trundle.systems.multicontact.scenario.carry import CarryExperiment
    from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment


class StanceRecord(TypedDict):
    """A static stance in a record: its contacts, and whether the soles alone would bear it."""

    time: float
    contacts: list[str]
    center_of_mass: list[float]
    torque_use: float
    without_hands: bool


def check_stances(experiment: MulticontactExperiment) -> None:
    """Raise `InputError` where the robot of a `MulticontactExperiment` cannot rest at some stance of its steps.

    Poses at rest along the way of the centre of mass (`steps.rest`) are stricter: nothing is left to check.
    """
    if experiment.rests is not None:
        return
    humanoid, steps, file = experiment.controller.humanoid, experiment.steps, experiment.scenario.file
    try:
        rests_everywhere(humanoid, steps.forecast, _height(experiment), experiment.start, experiment.duration)
    except StanceError as error:
        if not steps.travels:
            lowered = experiment.tables.robot.lowered
            allowed = f"a height at which the robot can stand: {error}"
            raise InputError("robot.lowered", lowered, allowed, file) from None
        allowed = f"steps at each of which the robot can rest: {error}"
        raise InputError(experiment.reach_key, experiment.reached, allowed, file) from None


def check_turn(experiment: CarryExperiment) -> None:
    """Raise `InputError` where the legs of a robot that carries cannot turn as far a step as its route says."""
    route = experiment.tables.route
    count = max(route.turn_steps - 1, 1)
    if not route.turn or not experiment.moves:
        return
    stance = experiment.controller.humanoid, experiment.soles, _height(experiment), experiment.start
    if turns(*stance, abs(route.turn) / count):
        return
    try:
        each = most_turn(*stance)
    except StanceError as error:
        allowed = f"a height at which the robot can stand: {error}"
        raise InputError("robot.lowered", experiment.tables.robot.lowered, allowed, experiment.scenario.file) from None
    most = math.floor(100 * each * count) / 100
    allowed = f"from {-most:g} to {most:g} (rad) with route.turn_steps = {route.turn_steps}"
    allowed += f": the robot turns a sole by {each:.2f} rad while the other stands"
    raise InputError("route.turn", route.turn, allowed, experiment.scenario.file)


def stance_records(experiment: MulticontactExperiment) -> list[StanceRecord]:
    """Return the static stances; `without_hands` is judged on whole soles."""
    if experiment.rests is None:
        return []
    humanoid, found = experiment.controller.humanoid, []
    for time, stance in zip(experiment.rests.times, experiment.rests.stances, strict=True):
        soles = []
        for contact in stance.contacts:
            if contact.name.endswith("_foot"):
                whole = humanoid.feet[contact.name.removesuffix("_foot")].patch(experiment.tables.plant.friction)
                soles.append(PlacedPatch(contact.name, whole, contact.position, contact.R_world_patch))
        alone = bool(soles) and bearable(soles, stance.center_of_mass, humanoid.robot.mass).feasible
        found.append(
            {
                "time": float(time),
                "contacts": [contact.name for contact in stance.contacts],
                "center_of_mass": stance.center_of_mass.tolist(),
                "torque_use": stance.equilibrium.torque_use,
                "without_hands": alone,
            }
        )
    return found


def _height(experiment: MulticontactExperiment) -> float:
    """Return how high (m) the centre of mass is over the lower sole as the steps begin."""
    ground = min(float(place.position[2]) for place in experiment.steps.start.values())
    return float(experiment.com[2]) - experiment.tables.robot.lowered - ground
