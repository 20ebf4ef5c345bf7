"""Planning: transfers as problems, their transcription, refinement and replay; throws by shooting."""

from __future__ import annotations

from trundle.plan.equilibrium import Equilibrium, bearable, standing_still
from trundle.plan.limit_cycle import LimitCycle, StrideMap, limit_cycle
from trundle.plan.refine import Progress, plan
from trundle.plan.rolling_ball import BallPlan, BallTransfer, plan_ball
from trundle.plan.stance_pose import PoseSettings, Stance, StanceError, find_pose
from trundle.plan.stances import StancePlan, SwingRule, TimingRule, Wanted, plan_stances
from trundle.plan.throw import ThrowCatch, ThrowPlan
from trundle.plan.throw_policy import PlayThenHold
from trundle.plan.transfer import ContactLimits, Goal, HandLimits, Transfer, Weights

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
    "limit_cycle",
    "plan",
    "plan_ball",
    "plan_stances",
    "standing_still",
]
