"""Controllers: linear-quadratic regulators on chart-free errors, what they sense and move, and inverse dynamics."""

from trundle.control.balancing import BalancingLQR
from trundle.control.disturbance import Actuated
from trundle.control.id_policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics import InverseDynamics
from trundle.control.linearization import Linearization
from trundle.control.local_error import LocalError
from trundle.control.lqr import TrackingLQR
from trundle.control.preview import Preview, PreviewWeights
from trundle.control.region import attraction_level
from trundle.control.sensing import Camera, Encoders, Sensed
from trundle.control.switching import Switching
from trundle.control.tasks import Limit, Quantity, Task

__all__ = [
    "Actuated",
    "BalancingLQR",
    "Camera",
    "Encoders",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "Linearization",
    "LocalError",
    "Preview",
    "PreviewWeights",
    "Quantity",
    "Sensed",
    "Switching",
    "Task",
    "TrackingLQR",
    "attraction_level",
]
