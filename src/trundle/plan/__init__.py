"""Planning: transfers as problems, their transcription, refinement and replay."""

from __future__ import annotations

from trundle.plan.refine import Progress, plan
from trundle.plan.transfer import ContactLimits, Goal, HandLimits, Transfer, Weights

__all__ = ["ContactLimits", "Goal", "HandLimits", "Progress", "Transfer", "Weights", "plan"]
