"""Planning: transfers as problems, their transcription, refinement and replay; throws by shooting."""

from __future__ import annotations

from trundle.plan.refine import Progress, plan
from trundle.plan.throw import ThrowCatch, ThrowPlan
from trundle.plan.throw_policy import PlayThenHold
from trundle.plan.transfer import ContactLimits, Goal, HandLimits, Transfer, Weights

__all__ = [
    "ContactLimits",
    "Goal",
    "HandLimits",
    "PlayThenHold",
    "Progress",
    "ThrowCatch",
    "ThrowPlan",
    "Transfer",
    "Weights",
    "plan",
]
