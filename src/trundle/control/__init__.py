"""Controllers: linear-quadratic regulators on chart-free errors, what they sense and move, and inverse dynamics."""

from trundle.control.aim import Aim
from trundle.control.balancing import BalancingLQR
from trundle.control.collision import CollisionRows
from trundle.control.disturbance import Actuated
from trundle.control.humanoid_policy import HumanoidPolicy
from trundle.control.id_policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics import InverseDynamics
from trundle.control.linearization import Linearization
from trundle.control.local_error import LocalError
from trundle.control.lqr import TrackingLQR
from trundle.control.nominal import NominalPath, gross_path, nominal_path
from trundle.control.preview import Preview, PreviewWeights
from trundle.control.region import attraction_level
from trundle.control.sensing import Camera, Encoders, Sensed
from trundle.control.stepping import Footsteps, Travel, straight_walk
from trundle.control.switching import Switching
from trundle.control.tasks import Limit, Quantity, Task
from trundle.control.whole_body import WholeBodyAim, WholeBodyController, WholeBodyGains

__all__ = [
    "Actuated",
    "Aim",
    "BalancingLQR",
    "Camera",
    "CollisionRows",
    "Encoders",
    "Footsteps",
    "HumanoidPolicy",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "Linearization",
    "LocalError",
    "NominalPath",
    "Preview",
    "PreviewWeights",
    "Quantity",
    "Sensed",
    "Switching",
    "Task",
    "TrackingLQR",
    "Travel",
    "WholeBodyAim",
    "WholeBodyController",
    "WholeBodyGains",
    "attraction_level",
    "gross_path",
    "nominal_path",
    "straight_walk",
]
