"""Controllers of pairs: linear-quadratic regulators on chart-free errors, and what they sense and move."""

from trundle.control.balancing import BalancingLQR
from trundle.control.disturbance import Actuated
from trundle.control.linearization import Linearization
from trundle.control.local_error import LocalError
from trundle.control.lqr import TrackingLQR
from trundle.control.region import attraction_level
from trundle.control.sensing import Camera, Encoders, Sensed
from trundle.control.switching import Switching

__all__ = [
    "Actuated",
    "BalancingLQR",
    "Camera",
    "Encoders",
    "Linearization",
    "LocalError",
    "Sensed",
    "Switching",
    "TrackingLQR",
    "attraction_level",
]
