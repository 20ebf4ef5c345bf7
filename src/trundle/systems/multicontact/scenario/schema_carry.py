"""Scenario files of kind `multicontact`, task `carry`: a humanoid picks a box up, carries it and sets it down."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.parameters import parameters_of
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Angle, Array, Place3, Positive, PositiveFraction, Seconds, Sizes3, Table, table_of
from trundle.systems.multicontact.scenario.schema import (
    HumanoidTrialsTable,
    Length,
    Lift,
    MulticontactTables,
)
from trundle.systems.multicontact.whole_body.pick_and_place import Durations, Grip
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyGains

Few = Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")]
Ways = Annotated[tuple[Length, ...], Array, Field(max_length=500), Allowed("at most 500 lengths from -2 to 2 (m)")]
Heaviness = Annotated[float, Field(ge=0.1, le=20), Allowed("a mass from 0.1 to 20 (kg)")]


class CarriedBoxTable(Table):
    """A box of even density, between the pads of both hands; x ahead, y between the hands."""

    size: Sizes3 = Field(default=(0.2, 0.24, 0.2), description="m, whole sides")
    mass: Heaviness = Field(default=2.0, description="kg, as the controller knows it")
    preview: Literal["body", "force", "unknown"] = Field(
        default="body",
        description="what the preview takes it for: 'body', a part of what moves; 'force', a weight where it should "
        "be; 'unknown', nothing. Centre of mass and momentum are the robot's own but for 'body'",
    )
    held: Place3 | None = Field(
        default=None,
        description="m, its centre while it is carried, from the centre of mass of robot and box, x ahead; left out: "
        "by the robot's arms, see `trundle.systems.multicontact.stances.arms.arms`",
    )


class StandsTable(Table):
    """Where the box is picked up and set down, ahead of the robot; what is left out follows from the robot's arms."""

    pick_ahead: Length | None = Field(default=None, description="m, from the middle of the soles to the box")
    pick_height: Positive | None = Field(
        default=None, description="m, top of the first stand, over the ground at the robot"
    )
    place_ahead: Length | None = Field(
        default=None, description="m, from the soles to the box at the end of the way; left out: as pick_ahead"
    )
    place_height: Positive | None = Field(default=None, description="m, its top; left out: as pick_height")
    width: Positive = Field(default=0.12, description="m, side of the square stands")


_DURATIONS = [one.name for one in parameters_of(Durations) if one.name != "carry"]
_GRIP = {key: key for key in ("gap", "force", "press", "support", "descent", "patience")} | {"press": "squeeze"}
_NOT_ZERO = {"gap": Positive, "press": Positive, "descent": Positive}


class HandsTable(table_of(Grip, _GRIP, narrower=_NOT_ZERO, base=table_of(Durations, _DURATIONS))):
    """What the hands do when: durations of the phases, s, and how they take hold; see `whole_body.handling`."""

    pause: Seconds = Field(default=0.5, description="s, after the lift, and after the last step")


_OBJECT = {"place": "object", "turn": "object_turn", "kp": "object_kp", "kd": "object_kd"}


class CarriedObjectTable(table_of(WholeBodyGains, _OBJECT)):
    """Weights and gains of the box in the whole-body program."""


class RouteTable(Table):
    """The way with the box: a turn in place, then steps ahead along x over the terrain."""

    turn: Angle = Field(default=0.0, description="rad, turn in place; the robot starts turned by its opposite")
    turn_steps: Few = Field(default=0, description="steps of the turn")
    ways: Ways = Field(default=(), description="m, ahead: each is gone by the right sole, then by the left one")
    single: Seconds = Field(default=0.8, description="s, on one foot")
    double: Seconds = Field(default=0.4, description="s, on both feet between two steps")
    lift: Lift = Field(default=0.06, description="m, height of the soles' way on level ground")
    lift_uneven: Lift = Field(default=0.1, description="m, where a sole changes its height")
    sway: Annotated[float, Field(ge=0, le=1.5), Allowed("a number from 0 to 1.5")] = Field(
        default=0.6, description="share of the way to the standing foot that the coarse path of the centre goes"
    )
    back: Lift = Field(
        default=0.0,
        description="m, by which that path is behind the middle of the soles: ankles can brake less far ahead",
    )
    rise: PositiveFraction = Field(
        default=0.3, description="share of a step's height that the coarse path has risen meanwhile"
    )


class MulticontactCarry(MulticontactTables):
    """A humanoid that carries a box from stand to stand; without steps it lifts it and sets it down again."""

    task: Literal["carry"]
    box: CarriedBoxTable = Field(default=CarriedBoxTable())
    stands: StandsTable = Field(default=StandsTable())
    hands: HandsTable = Field(default=HandsTable())
    object: CarriedObjectTable = Field(default=CarriedObjectTable())
    route: RouteTable = Field(default=RouteTable())
    hold: Seconds = Field(default=3.0, description="s, that the box is held where there are no steps")
    trials: HumanoidTrialsTable = Field(default=HumanoidTrialsTable())
