"""What stands between a controller and the world: sensors, an estimator, actuators.

`Sensed` gives a policy the state that a `PoseEstimator` makes of `Camera` images and `Encoders`; `Actuated` delays,
limits and disturbs its inputs.
`Faulty` lets measurements and ticks fail, `Watchdog` stops a robot where they do for long.
"""

from trundle.control.sensing.disturbance import Actuated
from trundle.control.sensing.estimator import PoseEstimator
from trundle.control.sensing.faults import Faults, Faulty, Watchdog
from trundle.control.sensing.sensing import Camera, Encoders, Sensed

__all__ = [
    "Actuated",
    "Camera",
    "Encoders",
    "Faults",
    "Faulty",
    "PoseEstimator",
    "Sensed",
    "Watchdog",
]
