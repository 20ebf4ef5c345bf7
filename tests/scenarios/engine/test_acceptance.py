"""Metrics beside their limits."""

from __future__ import annotations

import math

import pytest

from trundle.errors import InputError
from trundle.report import Metric
from trundle.scenarios import catalogue, load_scenario
from trundle.scenarios.engine.acceptance import hold, judge, limit_of, misspelt
from trundle.scenarios.scenario import scenario_from
from trundle.scenarios.schema import Criterion

GOOD = {
    "radius_error_percent": Metric(2.9e-8, "%", "largest deviation"),
    "radius_error_percent_two_minutes": Metric(2.9e-8, "%", "largest deviation"),
    "centre_drift": Metric(1e-12, "m"),
    "normal_force_error": Metric(1e-13, "N"),
}


@pytest.fixture(scope="module")
def spinning() -> dict[str, Criterion]:
    return load_scenario("plate-spinning").tables.acceptance


@pytest.mark.parametrize("name", catalogue.names())
def test_every_named_scenario_has_limits(name: str) -> None:
    found = load_scenario(name).tables.acceptance
    limits = [limit for c in found.values() for limit in (c.minimum, c.maximum) if limit is not None]
    assert limits
    assert all(map(math.isfinite, limits))


def test_entry_is_that_of_the_contract(spinning) -> None:
    entry = judge(spinning, GOOD)["radius_error_percent_two_minutes"]
    assert entry == {
        "value": 2.9e-8,
        "unit": "%",
        "sense": "<=",
        "limit": 1e-7,
        "holds": True,
        "published": 5e-6,
        "source": "paper 2, V-C1: less, ode45 over 120 s",
    }


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, 1e-6])
def test_missing_not_finite_or_large_does_not_hold(spinning, bad: float | None) -> None:
    values = dict(GOOD)
    del values["centre_drift"]
    if bad is not None:
        values["centre_drift"] = Metric(bad, "m")
    entries = judge(spinning, values)
    assert entries["centre_drift"]["holds"] is False
    assert not hold(entries)
    assert entries["centre_drift"]["value"] in (None, 1e-6)


def test_a_published_figure_stands_beside_a_value_without_limit() -> None:
    values = {"drift_velocity": Metric(0.0350, "m/s"), "drift_velocity_error": Metric(1e-9, "1")}
    entries = judge(load_scenario("plate-tilted").tables.acceptance, values)
    entry = entries["drift_velocity"]
    assert (entry["value"], entry["unit"], entry["limit"], entry["holds"]) == (0.0350, "m/s", None, None)
    assert entry["published"] == 0.035
    assert entry["source"] == "paper 2, V-C2"
    assert hold(entries)


PRINTED = {  # by the papers of what is measured; their settings are in the files
    ("walk-flat", "heel_strike"): (40.0, "paper 1, 4.2"),
    ("walk-up", "heel_strike"): (55.0, "paper 1, 4.2"),
    ("walk-down", "heel_strike"): (55.0, "paper 1, 4.2"),
    ("walk-flat", "planning_time"): (1200.0, "paper 1, 4.2"),
    ("walk-up", "planning_time"): (1200.0, "paper 1, 4.2"),
    ("walk-down", "planning_time"): (1200.0, "paper 1, 4.2"),
    ("plate-spinning", "radius_error_percent_two_minutes"): (5e-6, "paper 2, V-C1"),
    ("plate-spinning", "average_step_two_minutes"): (0.01, "paper 2, V-C1"),
    ("plate-spinning", "radius_error_percent_bullet"): (34.0, "paper 2, V-C1"),
    ("plate-spinning", "circle_radius"): (0.1, "paper 2, V-C1"),
    ("plate-spinning", "circle_centre_x"): (0.1, "paper 2, V-C1"),
    ("plate-spinning", "orbit_rate"): (2.0, "paper 2, V-C1"),
    ("plate-spinning", "orbit_period"): (3.14159265, "paper 2, V-C1"),
    ("plate-tilted", "drift_velocity"): (0.035, "paper 2, V-C2"),
    ("plate-tilted", "cycloid_period"): (3.14159265, "paper 2, V-C2"),
    ("plate-reorient", "printed_meshes"): (3, "paper 2, VI-A"),
    ("plate-reorient", "printed_time_1"): (171.0, "paper 2, VI-A"),
    ("plate-reorient", "printed_time_2"): (346.0, "paper 2, VI-A"),
    ("plate-reorient", "printed_time_3"): (946.0, "paper 2, VI-A"),
    ("plate-reorient", "printed_time"): (1440.0, "paper 2, VI-A"),
    ("plate-reorient", "printed_state_error"): (0.1, "paper 2, table II"),
    ("ellipse-flip-up", "closed_loop_successes"): (12, "paper 2, VIII-D"),
    ("ellipse-flip-up", "open_loop_successes"): (0, "paper 2, VIII-D"),
    ("ellipse-flip-up", "balanced_until"): (7.0, "paper 2, VIII-D"),
    ("humanoid-walk", "solve_time_wholebody"): (5e-3, "paper 3, V-A"),
    ("humanoid-walk", "solve_time_wholebody_p99"): (5e-3, "paper 3, V-A"),
    ("humanoid-walk", "solve_time_preview"): (20e-3, "paper 3, V-A"),
    ("rock-hill", "tick_median_no_cone"): (3e-3, "paper 4, III-B"),
    ("rock-hill", "tick_max_no_cone"): (3e-3, "paper 4, III-B"),
    ("rover-sinusoid", "settling_time"): (1.0, "paper 4, III-D"),
    ("rover-sinusoid-4legs", "settling_time"): (1.0, "paper 4, III-D"),
    ("wallbounce-recover", "solve_time_implicit"): (10.99e-3, "paper 5, VII-A"),
    ("wallbounce-recover", "solve_time_hybrid"): (1.98e-3, "paper 5, VII-A"),
    ("wallbounce-recover", "gentle_force_planned"): (20.0, "paper 5, VII-C"),
    ("wallbounce-models", "penetration_max_implicit_only"): (0.05, "paper 5, VII-B"),
}


def test_what_the_papers_print_stands_beside_ours() -> None:
    found = {
        (entry.name, metric): (one.published, one.source.partition(":")[0])
        for entry in catalogue.entries()
        for metric, one in load_scenario(entry.name).tables.acceptance.items()
        if one.published is not None
    }
    assert found == PRINTED


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("walk-flat", "paper 1, 4.2"),
        ("walk-up", "paper 1, 4.2"),
        ("walk-down", "paper 1, 4.2"),
        ("walk-flat-foot", "paper 1, abstract and 1"),
        ("plate-spinning", "paper 2, V-C1"),
        ("plate-tilted", "paper 2, V-C2"),
        ("ellipsoid-dish", "paper 2, V-D"),
        ("plate-reorient", "paper 2, VI-A and VII-A"),
        ("ellipse-damping", "paper 2, VIII-C"),
        ("ellipse-flip-up", "paper 2, VIII-D"),
        ("ellipse-throw-catch", "paper 2, VIII-E"),
        ("humanoid-walk", "paper 3, V-A"),
        ("humanoid-ledge", "paper 3, V-B"),
        ("humanoid-carry", "paper 3, IV and V-C"),
        ("rock-undulating", "paper 4, III-A"),
        ("rock-hill", "paper 4, III-B"),
        ("leg-balance", "paper 4, III-C"),
        ("rover-sinusoid", "paper 4, III-D"),
        ("rover-sinusoid-4legs", "paper 4, III-D"),
        ("wallbounce-turn", "paper 5, figure 1"),
        ("wallbounce-models", "paper 5, VII-B"),
        ("wallbounce-recover", "paper 5, VII-C"),
        ("wallbounce-stay", "paper 5, VII-C"),
        ("wallbounce-avoid", "paper 5, VII-D"),
    ],
)
def test_scenarios_name_the_sections_they_are_of(name: str, section: str) -> None:
    assert next(entry.paper for entry in catalogue.entries() if entry.name == name) == section


def test_limit_itself_holds(spinning) -> None:
    assert hold(judge(spinning, GOOD | {"centre_drift": Metric(1e-8, "m")}))


def test_further_values_have_no_limit() -> None:
    entries = judge({}, {"gap": Metric(1.0, "m"), "slip": Metric(math.nan, "m/s")})
    assert [entry["unit"] for entry in entries.values()] == ["m", "m/s"]
    assert entries["gap"]["limit"] is None
    assert entries["gap"]["holds"] is None
    assert entries["slip"]["value"] is None
    assert hold(entries)


@pytest.mark.parametrize(
    ("criterion", "trials", "expected"),
    [
        ({"minimum": 10, "of": 12}, 12, (">=", 10.0)),
        ({"minimum": 10, "of": 12}, 2, (">=", 1.0)),  # floor(10/12 2)
        ({"minimum": 10, "of": 12}, 1, (">=", 1.0)),  # one success of one is a success
        ({"minimum": 18, "of": 20}, 10, (">=", 9.0)),
        ({"minimum": 18, "of": 20}, 40, (">=", 36.0)),
        ({"maximum": 0, "of": 20}, 3, ("<=", 0.0)),
        ({"maximum": 9, "of": 20}, 2, ("<=", 1.0)),  # ceil(9/20 2)
        ({"maximum": 9, "of": 20, "baseline": True}, 19, (None, None)),  # reported, not judged
        ({"maximum": 9, "of": 20, "baseline": True}, 20, ("<=", 9.0)),
        ({"maximum": 9, "of": 20, "baseline": True}, 40, ("<=", 18.0)),
        ({"published": 5e-6}, None, (None, None)),
    ],
)
def test_limits_of_counts_scale_with_the_trials(criterion, trials, expected) -> None:
    assert limit_of(Criterion(**criterion), trials) == expected


def test_a_missing_count_does_not_hold() -> None:
    assert judge({"closed_loop_successes": Criterion(minimum=10, of=12)}, {})["closed_loop_successes"]["holds"] is False


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"minimum": 1, "maximum": 2}, "acceptance.gap.maximum.*must be left out beside minimum"),
        ({"maximum": "1"}, "acceptance.gap.maximum"),
        ({"least": 1}, "acceptance.gap.least"),
        ({"maximum": 1, "baseline": True}, "acceptance.gap.of.*is missing"),
        ({"minimum": 1, "of": 0}, "acceptance.gap.of = 0: must be an integer from 1 to 1000000"),
    ],
)
def test_wrong_limits_are_refused_by_key(tmp_path, entry, line) -> None:
    data = load_scenario("plate-spinning").resolve() | {"acceptance": {"gap": entry}}
    with pytest.raises(InputError, match=line):
        scenario_from(data, folder=tmp_path, file="mine.toml")


def test_a_copied_scenario_keeps_its_limits_under_any_name(tmp_path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(catalogue.text_of("ellipse-flip-up"))
    assert load_scenario(own).tables.acceptance == load_scenario("ellipse-flip-up").tables.acceptance
    assert "acceptance" in load_scenario(own).resolved_toml()


def test_only_names_that_are_no_metrics_and_close_to_one_are_misspelt() -> None:
    known = {"slip", "settling_time", "goal_position_error"}
    asked = ["settling_tme", "slip", "energy", "goal_rotation_error"]
    assert misspelt(asked, known) == {
        "goal_rotation_error": "did you mean 'goal_position_error'?",
        "settling_tme": "did you mean 'settling_time'?",
    }
    assert misspelt(["slip_plan"], {"slip"}) == {}
