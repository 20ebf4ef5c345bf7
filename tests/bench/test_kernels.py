"""What `bench.kernels` compares of a scenario's runs: what is decided, not the last digits."""

from __future__ import annotations

from bench.kernels import differences, efforts, ending, spread
from trundle.scenarios.engine.summary import MetricEntry, PartSummary, Summary


def metric(value: float | None, unit: str = "1", limit: float | None = None, holds: bool | None = None) -> MetricEntry:
    return MetricEntry(value=value, unit=unit, sense="<=", limit=limit, holds=holds, published=None, source="")


def summary(status: str = "success", **metrics: MetricEntry) -> Summary:
    part = PartSummary(status="success", advice="", feasible=True, wall_time={})
    return Summary(
        scenario="some", kind="kind", status=status, advice="", version="1", seed=0, wall_time={}, feasible=True,
        metrics=metrics, parts={"other": part},
    )  # fmt: skip


def test_statuses_counts_and_limits_are_compared_and_digits_are_not() -> None:
    one = summary(falls=metric(3.0), error=metric(1.0e-9, "m", 1e-6, True), ticks_missed=metric(4.0))
    two = summary(falls=metric(3.0), error=metric(1.1e-9, "m", 1e-6, True), ticks_missed=metric(9.0))
    endings = {"A": ending(one, 0, 1.0), "B": ending(two, 0, 1.0)}
    assert differences(endings) == []
    share, name = spread(endings)
    assert name == "error"
    assert abs(share - 1e-4) < 1e-12


def test_what_differs_is_told_with_every_kernels_value() -> None:
    first = ending(summary(falls=metric(3.0), error=metric(1.0, "m", 2.0, True), lost=metric(None)), 0, 1.0)
    other = ending(summary("diverged", falls=metric(4.0), error=metric(3.0, "m", 2.0, False), lost=metric(1.0)), 1, 1.0)
    assert differences({"A": first, "B": other}) == [
        "exit code: A 0, B 1",
        "status: A success, B diverged",
        "error holds: A True, B False",
        "lost is known: A False, B True",
        "falls: A 3.0, B 4.0",
    ]


def test_a_length_of_whole_metres_is_no_count() -> None:
    endings = {
        "A": ending(summary(length=metric(2.0, "m")), 0, 1.0),
        "B": ending(summary(length=metric(2.1, "m")), 0, 1.0),
    }
    assert differences(endings) == []


def test_a_share_that_is_whole_but_for_round_off_is_no_count_and_iterations_are_no_result() -> None:
    first = ending(summary(use=metric(1.0), share=metric(0.31), iterations_other=metric(90.0)), 0, 1.0)
    other = ending(summary(use=metric(1.0 - 1e-12), share=metric(0.32), iterations_other=metric(99.0)), 0, 1.0)
    assert differences({"A": first, "B": other}) == []
    assert efforts({"A": first, "B": other}) == ["iterations_other: A 90.0, B 99.0"]
