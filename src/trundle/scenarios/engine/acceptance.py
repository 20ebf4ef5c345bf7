"""Metrics of a run compared with the limits of its scenario: the entries of `summary.json`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from trundle.scenarios.engine.summary import MetricEntry
from trundle.scenarios.problems import suggestion

if TYPE_CHECKING:
    from trundle.report import Metric
    from trundle.scenarios.schema import Criterion


def judge(acceptance: Mapping[str, Criterion], metrics: Mapping[str, Metric]) -> dict[str, MetricEntry]:
    """Return the entries of `summary.json`: first the metrics in the scenario's [acceptance], then the others.

    A metric that has a limit but is missing or not finite violates the limit; its value is null.

    Parameters
    ----------
    acceptance : mapping of str to Criterion
        Table [acceptance] of the scenario.
    metrics : mapping of str to Metric
        What was computed from the run.
    """
    return {name: _entry(acceptance.get(name), metrics.get(name)) for name in {**acceptance, **metrics}}


def _entry(criterion: Criterion | None, metric: Metric | None) -> MetricEntry:
    value = metric.value if metric is not None and math.isfinite(metric.value) else None
    sense, limit = (None, None) if criterion is None else limit_of(criterion, None if metric is None else metric.of)
    return {
        "value": value,
        "unit": "" if metric is None else metric.unit,
        "sense": sense,
        "limit": limit,
        "holds": _holds(value, sense, limit),
        "published": None if criterion is None else criterion.published,
        "source": "" if criterion is None else criterion.source,
    }


def _holds(value: float | None, sense: str | None, limit: float | None) -> bool | None:
    if limit is None:
        return None
    return value is not None and (value >= limit if sense == ">=" else value <= limit)


def limit_of(criterion: Criterion, trials: int | None) -> tuple[str | None, float | None]:
    """Return sense and limit of a criterion for a number of `trials`; (None, None) where no limit applies.

    A limit L on a count of N trials becomes, for n trials, at least max(1, floor(n L/N)) or at most ceil(n L/N); a
    baseline is judged only for n >= N.
    """
    sense, limit = (">=", criterion.minimum) if criterion.minimum is not None else ("<=", criterion.maximum)
    if limit is None:
        return None, None
    if criterion.of is None or trials is None or trials == criterion.of:
        return sense, limit
    if criterion.baseline and trials < criterion.of:
        return None, None
    share = limit * trials / criterion.of
    # Round-off of the product must not cost a whole trial.
    return sense, float(max(1, math.floor(share + 1e-9)) if sense == ">=" else math.ceil(share - 1e-9))


def misspelt(acceptance: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return name -> "did you mean ...?" for names in [acceptance] that are no metric but close to one without a limit.

    A metric's name followed by that of a part is left out: the part may not have been computed.
    """
    judged, metrics = set(acceptance), set(known)
    unknown = [name for name in judged - metrics if not name.startswith(tuple(f"{one}_" for one in metrics))]
    hints = {name: suggestion(name, metrics - judged) for name in unknown}
    return {name: hint for name, hint in sorted(hints.items()) if hint.startswith("did")}


def hold(entries: Mapping[str, MetricEntry]) -> bool:
    """Whether every metric that has a limit holds."""
    return all(entry["holds"] is not False for entry in entries.values())
