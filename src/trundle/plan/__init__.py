"""Planning: transfers as problems, their transcription, refinement and replay; throws by shooting."""

from __future__ import annotations

from trundle.arguments import guard
from trundle.plan.arm.demands import joint_demands
from trundle.plan.stances.equilibrium import Equilibrium, bearable, standing_still
from trundle.plan.stances.pose import PoseSettings, Stance, StanceError, find_pose
from trundle.plan.stances.stances import StancePlan, SwingRule, TimingRule, Wanted, plan_stances
from trundle.plan.throw.policy import PlayThenHold
from trundle.plan.throw.throw import ThrowCatch, ThrowPlan
from trundle.plan.transfer.refine import Progress, plan
from trundle.plan.transfer.rolling_ball import BallPlan, BallTransfer, plan_ball
from trundle.plan.transfer.transfer import ContactLimits, Goal, HandLimits, Transfer, Weights
from trundle.plan.walk.limit_cycle import LimitCycle, StrideMap, limit_cycle
from trundle.plan.walk.robot_steps import plan_walk

__all__ = [
    "BallPlan",
    "BallTransfer",
    "ContactLimits",
    "Equilibrium",
    "Goal",
    "HandLimits",
    "LimitCycle",
    "PlayThenHold",
    "PoseSettings",
    "Progress",
    "Stance",
    "StanceError",
    "StancePlan",
    "StrideMap",
    "SwingRule",
    "ThrowCatch",
    "ThrowPlan",
    "TimingRule",
    "Transfer",
    "Wanted",
    "Weights",
    "bearable",
    "find_pose",
    "joint_demands",
    "limit_cycle",
    "plan",
    "plan_ball",
    "plan_stances",
    "plan_walk",
    "standing_still",
]

guard(__name__)
