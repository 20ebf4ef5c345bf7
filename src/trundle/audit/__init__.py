"""Audit: whether a run keeps the laws that it claims to keep, judged from poses, velocities and forces alone.

`evidence` is what a run says of itself, `anatomy` the masses, joints and shapes of its model. `gaps`, `forces`,
`between` and `events` each judge one kind of law and return checks; `report` gathers them; `judge.audit_run` asks all.
`tolerances` has every size by which something may be off, with its reason. Nothing here reads a margin, a mode or an
equation of motion of the engine.
"""

from __future__ import annotations

from trundle.audit.anatomy import Anatomy, anatomy_of
from trundle.audit.evidence import BodyFrames, Claims, Evidence, Jumps, Samples
from trundle.audit.judge import audit_run
from trundle.audit.report import Check, Finding, Report

__all__ = [
    "Anatomy",
    "BodyFrames",
    "Check",
    "Claims",
    "Evidence",
    "Finding",
    "Jumps",
    "Report",
    "Samples",
    "anatomy_of",
    "audit_run",
]
