"""Whole-body control of robots with feet and hands.

`stepping` says which ends stand when and how the others swing, `nominal` what the centre of mass does meanwhile,
`handling` and `load` what the hands carry. `HumanoidPolicy` estimates the base, follows a preview and asks the
`WholeBodyController` for torques; `collision` adds rows that keep limbs apart.
"""

from trundle.control.whole_body.collision import CollisionRows
from trundle.control.whole_body.handling import HANDS, PHASES, Durations, Grip, Handling, ObjectPose, PickAndPlace
from trundle.control.whole_body.load import Load
from trundle.control.whole_body.nominal import NominalPath, gross_path, nominal_path
from trundle.control.whole_body.policy import ControlPeriods, HumanoidPolicy
from trundle.control.whole_body.progress import Gating
from trundle.control.whole_body.stepping import (
    Footsteps,
    Move,
    SwingMotion,
    in_turn,
    steps_ahead,
    straight_walk,
    timed,
    turn_in_place,
)
from trundle.control.whole_body.tandem import tandem_stance
from trundle.control.whole_body.target import BalanceTarget
from trundle.control.whole_body.whole_body import WholeBodyController, WholeBodyGains, WholeBodyTarget

__all__ = [
    "HANDS",
    "PHASES",
    "BalanceTarget",
    "CollisionRows",
    "ControlPeriods",
    "Durations",
    "Footsteps",
    "Gating",
    "Grip",
    "Handling",
    "HumanoidPolicy",
    "Load",
    "Move",
    "NominalPath",
    "ObjectPose",
    "PickAndPlace",
    "SwingMotion",
    "WholeBodyController",
    "WholeBodyGains",
    "WholeBodyTarget",
    "gross_path",
    "in_turn",
    "nominal_path",
    "steps_ahead",
    "straight_walk",
    "tandem_stance",
    "timed",
    "turn_in_place",
]
