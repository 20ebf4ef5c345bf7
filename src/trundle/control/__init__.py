"""Controllers: linear-quadratic regulators on chart-free errors, what they sense and move, and inverse dynamics."""

from trundle.control.inverse_dynamics.inverse_dynamics import InverseDynamics
from trundle.control.inverse_dynamics.policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics.tasks import Limit, Quantity, Task
from trundle.control.preview.preview import Preview, PreviewWeights
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.linearization import Linearization
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.region import attraction_level
from trundle.control.regulators.switching import Switching
from trundle.control.regulators.tracking import TrackingLQR
from trundle.control.sensing.disturbance import Actuated
from trundle.control.sensing.sensing import Camera, Encoders, Sensed
from trundle.control.whole_body.collision import CollisionRows
from trundle.control.whole_body.nominal import NominalPath, gross_path, nominal_path
from trundle.control.whole_body.policy import HumanoidPolicy
from trundle.control.whole_body.stepping import Footsteps, SwingMotion, straight_walk
from trundle.control.whole_body.target import BalanceTarget
from trundle.control.whole_body.whole_body import WholeBodyController, WholeBodyGains, WholeBodyTarget

__all__ = [
    "Actuated",
    "BalanceTarget",
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
    "SwingMotion",
    "Switching",
    "Task",
    "TrackingLQR",
    "WholeBodyController",
    "WholeBodyGains",
    "WholeBodyTarget",
    "attraction_level",
    "gross_path",
    "nominal_path",
    "straight_walk",
]
