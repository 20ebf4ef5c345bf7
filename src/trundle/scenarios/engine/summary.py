"""What `summary.json` holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from trundle.records import Trajectory


class MetricEntry(TypedDict):
    """A metric with its limit and its published value; `value` is None where it is missing or not finite."""

    value: float | None
    unit: str
    sense: str | None
    limit: float | None
    holds: bool | None
    published: float | None
    source: str


class AuditEntry(TypedDict):
    """What an audit checked, the worst of each, and what failed with bodies, time and amount."""

    audit: NotRequired[dict[str, object]]


class PartSummary(AuditEntry):
    """How a part ended; `wall_time` (s) by phase."""

    status: str
    advice: str
    feasible: bool
    wall_time: dict[str, float]


class Summary(AuditEntry):
    """A run: how it ended, its metrics and its parts; `wall_time` (s) by phase."""

    scenario: str
    kind: str
    status: str
    advice: str
    version: str
    seed: int
    wall_time: dict[str, float]
    feasible: bool
    metrics: dict[str, MetricEntry]
    parts: dict[str, PartSummary]


def audit_entry(run: Trajectory | None) -> AuditEntry:
    """Return what the audit of a run says, if it was audited."""
    found = None if run is None else run.metadata.get("audit")
    return {} if found is None else {"audit": found}
