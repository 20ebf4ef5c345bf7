"""Controllers: linear-quadratic regulators on chart-free errors, what they sense and move, and inverse dynamics."""

from trundle.arguments import guard
from trundle.control.inverse_dynamics import InverseDynamics, InverseDynamicsPolicy, Limit, MotionQuantity, Task
from trundle.control.preview import Preview, PreviewWeights
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
from trundle.control.whole_body import (
    BalanceTarget,
    CollisionRows,
    Footsteps,
    HumanoidPolicy,
    NominalPath,
    SwingMotion,
    WholeBodyController,
    WholeBodyGains,
    WholeBodyTarget,
    gross_path,
    nominal_path,
    straight_walk,
)

__all__ = [
    "Actuated",
    "BalanceTarget",
    "BalancingLQR",
    "Camera",
    "CollisionRows",
    "Encoders",
    "Faults",
    "Faulty",
    "Footsteps",
    "HumanoidPolicy",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "Linearization",
    "LocalError",
    "MotionQuantity",
    "NominalPath",
    "Preview",
    "PreviewWeights",
    "Sensed",
    "SwingMotion",
    "Switching",
    "Task",
    "TrackingLQR",
    "Watchdog",
    "WholeBodyController",
    "WholeBodyGains",
    "WholeBodyTarget",
    "attraction_level",
    "gross_path",
    "in_rolling_coordinates",
    "lqr",
    "nominal_path",
    "straight_walk",
]

guard(__name__)
