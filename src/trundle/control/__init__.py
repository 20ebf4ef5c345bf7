"""Controllers: linear-quadratic regulators on chart-free errors, what they sense and move, and inverse dynamics."""

from trundle.arguments import guard
from trundle.control.inverse_dynamics import InverseDynamics, InverseDynamicsPolicy, Limit, MotionQuantity, Task
from trundle.control.regulators import (
    BalancingLQR,
    Linearization,
    LocalError,
    Switching,
    TrackingLQR,
    attraction_level,
    in_rolling_coordinates,
    lqr,
)
from trundle.control.sensing import Actuated, Camera, Encoders, Faults, Faulty, Sensed, Watchdog

__all__ = [
    "Actuated",
    "BalancingLQR",
    "Camera",
    "Encoders",
    "Faults",
    "Faulty",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "Linearization",
    "LocalError",
    "MotionQuantity",
    "Sensed",
    "Switching",
    "Task",
    "TrackingLQR",
    "Watchdog",
    "attraction_level",
    "in_rolling_coordinates",
    "lqr",
]

guard(__name__)
