"""Controllers: linear-quadratic regulators on chart-free errors, and inverse dynamics with tasks and limits."""

from trundle.control.balancing import BalancingLQR
from trundle.control.id_policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics import InverseDynamics
from trundle.control.linearization import Linearization
from trundle.control.local_error import LocalError
from trundle.control.lqr import TrackingLQR
from trundle.control.tasks import Limit, Quantity, Task

__all__ = [
    "BalancingLQR",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "Linearization",
    "LocalError",
    "Quantity",
    "Task",
    "TrackingLQR",
]
