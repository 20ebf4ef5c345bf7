"""Metrics beside their limits."""

from __future__ import annotations

import math

import pytest

from trundle.scenarios import catalogue
from trundle.scenarios.engine import acceptance as metrics

GOOD = {"radius_error_percent": 2.9e-8, "centre_drift": 1e-12, "normal_force_error": 1e-13}


@pytest.mark.parametrize("name", catalogue.names())
def test_every_named_scenario_has_limits(name: str) -> None:
    assert metrics.limits(name)
    assert all(sense in ("<=", ">=") and math.isfinite(limit) for sense, limit, _, _ in metrics.limits(name).values())


def test_entry_is_that_of_the_contract() -> None:
    entry = metrics.judge("plate-spinning", GOOD)["radius_error_percent"]
    assert entry == {
        "value": 2.9e-8,
        "unit": "%",
        "sense": "<=",
        "limit": 1e-7,
        "holds": True,
        "published": 5e-6,
        "source": "paper 2, V-C1",
    }


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, 1e-6])
def test_missing_not_finite_or_large_does_not_hold(bad: float | None) -> None:
    values = {key: value for key, value in (GOOD | {"centre_drift": bad}).items() if value is not None}
    entries = metrics.judge("plate-spinning", values)
    assert entries["centre_drift"]["holds"] is False
    assert not metrics.hold(entries)
    assert entries["centre_drift"]["value"] in (None, 1e-6)


def test_a_published_figure_stands_beside_a_value_without_limit() -> None:
    values = {"iteration_ratio": 0.83, "cost_ratio": 0.2}
    entry = metrics.judge("walk-flat-foot", values)["iteration_ratio"]
    assert (entry["value"], entry["unit"], entry["limit"], entry["holds"]) == (0.83, "1", None, None)
    assert entry["published"] == pytest.approx(71 / 175, abs=5e-4)
    assert entry["source"].startswith("paper 1")
    assert metrics.hold(metrics.judge("walk-flat-foot", values))


def test_limit_itself_holds() -> None:
    assert metrics.hold(metrics.judge("plate-spinning", GOOD | {"centre_drift": 1e-8}))


def test_further_values_have_no_limit() -> None:
    entries = metrics.judge("", {"gap": 1.0, "slip": math.nan, "slip_pure_rolling": 0.0, "mine": 1.0})
    assert [entry["unit"] for entry in entries.values()] == ["m", "m/s", "m/s", ""]
    assert entries["gap"]["limit"] is None
    assert entries["gap"]["holds"] is None
    assert entries["slip"]["value"] is None
    assert metrics.hold(entries)
