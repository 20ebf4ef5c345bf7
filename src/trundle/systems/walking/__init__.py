"""Walking: robots with rolling feet and their optimal walks (papers 1 and 4).

`gait` states a step as an optimal control problem, `plan` solves it for the avatar (`build_avatar`), for robots of a
URDF (`plan_walk`) and for a ball on a plane (`plan_ball`), `robots` builds what walks, `replay` runs a plan under
feedback. `scenario` has what ``trundle run`` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trundle.lazy import lazy_names

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    from trundle.systems.walking.gait.robot_gait import RobotGait as RobotGait
    from trundle.systems.walking.plan.robot_steps import plan_walk as plan_walk
    from trundle.systems.walking.plan.rolling_ball import BallPlan as BallPlan
    from trundle.systems.walking.plan.rolling_ball import BallTransfer as BallTransfer
    from trundle.systems.walking.plan.rolling_ball import plan_ball as plan_ball
    from trundle.systems.walking.robots.avatar import build_avatar as build_avatar

_HOMES = {
    "gait.robot_gait": "RobotGait",
    "plan.robot_steps": "plan_walk",
    "plan.rolling_ball": "BallPlan BallTransfer plan_ball",
    "robots.avatar": "build_avatar",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)  # pyright: ignore[reportUnsupportedDunderAll]
