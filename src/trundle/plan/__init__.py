"""Planning: transfers as problems, their transcription, refinement and replay; throws by shooting."""

from __future__ import annotations

from trundle.plan.limit_cycle import LimitCycle, StrideMap, limit_cycle
from trundle.plan.refine import Progress, plan
from trundle.plan.rolling_ball import BallPlan, BallTransfer, plan_ball
from trundle.plan.throw import ThrowCatch, ThrowPlan
from trundle.plan.throw_policy import PlayThenHold
from trundle.plan.transfer import ContactLimits, Goal, HandLimits, Transfer, Weights

__all__ = [
    "BallPlan",
    "BallTransfer",
    "ContactLimits",
    "Goal",
    "HandLimits",
    "LimitCycle",
    "PlayThenHold",
    "Progress",
    "StrideMap",
    "ThrowCatch",
    "ThrowPlan",
    "Transfer",
    "Weights",
    "limit_cycle",
    "plan",
    "plan_ball",
]
