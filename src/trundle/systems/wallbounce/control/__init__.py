"""Control of the wall-bouncing robot: plans on two levels over a fast low level.

`level` is the problem both plans share, with the costs of `costs`; `ContactImplicit` finds contacts by soft forces,
`schedule` reads them off its plan, `HybridControl` keeps them. `plans` calls both from measured states along the
`reference`, whose path leads round boxes on the side that `visibility` finds shorter. `TwoLevel` runs them in time and
`LowLevel` follows the newest plan.
"""

from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.costs import BalancerWeights, KeepOut, KeepOutDisc
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.low_level import LowLevel, LowLevelGains
from trundle.systems.wallbounce.control.plans import NO_FORCE, BalancerPlan, ImplicitPlanner, TrackingPlanner
from trundle.systems.wallbounce.control.ready import ready
from trundle.systems.wallbounce.control.reference import (
    PassedObstacle,
    PathPlanner,
    PathRules,
    TimedGoal,
    clearances,
)
from trundle.systems.wallbounce.control.schedule import PAPER, ScheduleRules, contact_schedule, on_grid
from trundle.systems.wallbounce.control.two_level import Reference, Surroundings, Timing, TwoLevel
from trundle.systems.wallbounce.control.visibility import distance, shortest_path

__all__ = [
    "NO_FORCE",
    "PAPER",
    "BalancerPlan",
    "BalancerWeights",
    "ContactImplicit",
    "HybridControl",
    "ImplicitPlanner",
    "KeepOut",
    "KeepOutDisc",
    "LowLevel",
    "LowLevelGains",
    "PassedObstacle",
    "PathPlanner",
    "PathRules",
    "Reference",
    "ScheduleRules",
    "Surroundings",
    "TimedGoal",
    "Timing",
    "TrackingPlanner",
    "TwoLevel",
    "clearances",
    "contact_schedule",
    "distance",
    "on_grid",
    "ready",
    "shortest_path",
]
