"""What `summary.json` holds."""

from __future__ import annotations

from typing import TypedDict


class MetricEntry(TypedDict):
    """A metric with its limit and its published value; `value` is None where it is missing or not finite."""

    value: float | None
    unit: str
    sense: str | None
    limit: float | None
    holds: bool | None
    published: float | None
    source: str


class PartSummary(TypedDict):
    """How a part ended; `wall_time` (s) by phase."""

    status: str
    advice: str
    feasible: bool
    wall_time: dict[str, float]


class Summary(TypedDict):
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
