"""Whole-body control of robots with feet and hands.

`stepping` says which ends stand when and how the others swing, `nominal` what the centre of mass does meanwhile,
`pick_and_place` and `carried_object` what the hands carry. `HumanoidPolicy` estimates the base, follows a preview and
asks the `WholeBodyController` for torques; `collision` adds rows that keep limbs apart.
"""

from trundle.systems.multicontact.whole_body.collision import CollisionRows
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.systems.multicontact.whole_body.nominal import NominalPath, gross_path, nominal_path
from trundle.systems.multicontact.whole_body.policy import HumanoidPolicy
from trundle.systems.multicontact.whole_body.stepping import Footsteps, SwingMotion, straight_walk
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController, WholeBodyGains, WholeBodyTarget

__all__ = [
    "BalanceTarget",
    "CollisionRows",
    "Footsteps",
    "HumanoidPolicy",
    "NominalPath",
    "SwingMotion",
    "WholeBodyController",
    "WholeBodyGains",
    "WholeBodyTarget",
    "gross_path",
    "nominal_path",
    "straight_walk",
]
