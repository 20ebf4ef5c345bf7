"""Figures of the circle on a spinning plate, from closed forms, and what scenarios set as the paper does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from trundle.scenarios import load_scenario
from trundle.scenarios.engine.run import run


def test_circle_and_drift_are_measured_on_the_path(tmp_path: Path) -> None:
    metrics = run("plate-spinning", tmp_path / "level", plots=False).summary["metrics"]
    found = {name: entry["value"] for name, entry in metrics.items()}
    assert found["circle_radius"] == pytest.approx(0.1, rel=1e-9)
    assert found["circle_centre_x"] == pytest.approx(0.1, rel=1e-9)
    assert found["orbit_rate"] == pytest.approx(2.0, rel=1e-9)  # 2/7 of the plate's 7 rad/s
    assert found["orbit_period"] == pytest.approx(math.pi, rel=1e-9)
    assert found["radius_error_percent_two_minutes"] < 1e-7
    assert metrics["radius_error_percent"]["published"] is None  # over 10 s; the paper's is over 120 s
    tilted = run("plate-tilted", tmp_path / "tilted", plots=False).summary["metrics"]
    assert tilted["drift_velocity"]["value"] == pytest.approx(2.5 * 9.81 * math.sin(0.01) / 7, rel=1e-9)
    assert tilted["cycloid_period"]["value"] == pytest.approx(math.pi, rel=1e-9)


def test_settings_are_the_printed_ones() -> None:
    spinning, tilted, reorient, flip = (
        load_scenario(name).resolve()
        for name in ("plate-spinning", "plate-tilted", "plate-reorient", "ellipse-flip-up")
    )
    for plate in (spinning, tilted):  # V-C1
        assert (plate["object"]["shape"]["radius"], plate["object"]["mass"]) == (0.2, 0.1)
        assert plate["hand"]["angular_velocity"] == [0.0, 0.0, 7.0]
        assert plate["initial"]["object_angular_velocity"] == [1.0, 0.0, 0.0]  # -0.2 m/s in y
    assert spinning["parts"]["two-minutes"]["simulation"]["duration"] == 120.0
    assert (tilted["hand"]["rpy"], tilted["simulation"]["duration"]) == ([0.01, 0.0, 0.0], 10.0)  # V-C2
    # VI-A and Table II
    assert reorient["goal"]["contact_on_hand"] == [0.0, -0.033, 0.0]
    assert reorient["limits"]["angular_acceleration"] == 50.0
    assert (reorient["plan"]["duration"], reorient["plan"]["coarse_nodes"]) == (2.0, 50)
    # VIII-A and VIII-D
    assert flip["object"]["shape"]["semi_axes"] == [0.0754 / 2, 0.0504 / 2]
    assert (flip["object"]["mass"], flip["hand"]["extent"]) == (0.0553, 0.375)
    assert flip["simulation"]["gravity"][2] == pytest.approx(-0.4 * 9.81)
    assert (flip["controller"]["period"], flip["noise"]["camera_period"]) == (1 / 1000, 1 / 250)
    assert flip["initial"]["contact_on_hand"][0] == pytest.approx(-0.1994 / 4, rel=1e-2)  # a quarter of its outline
    assert flip["trials"]["count"] == 12
