"""What a run on estimates records: errors held between calls, metrics, a figure, files that can be read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.report import style
from trundle.systems.planar.scenario import figures_control

CART = Path(__file__).resolve().parents[3] / "examples" / "estimated_cart.toml"


def test_a_run_records_its_estimates(tmp_path: Path) -> None:
    scenario = tr.load_scenario(CART, ["simulation.duration=0.4", "simulation.output_step=0.004"])
    result = tr.run(scenario, tmp_path / "run", plots=False)
    run = tr.load_trajectory(tmp_path / "run" / "trajectory.nc")
    axes = style.new_axes()
    figures_control.figures(run)["estimate_error"](run, axes)
    assert len(axes.lines) >= 8
    metrics = result.summary["metrics"]
    late = run.time >= 0.2
    error = run["estimate_error"][late]
    assert run.dataset["estimated"].values.tolist() == ["x", "z", "angle", "x_rate", "z_rate", "angle_rate"]
    assert metrics["estimate_position_error"]["value"] == np.hypot(error[:, 0], error[:, 1]).max()
    assert metrics["estimate_speed_error"]["value"] == np.hypot(error[:, 3], error[:, 4]).max()
    assert metrics["estimate_angle_error"]["value"] == np.abs(error[:, 2]).max()
    assert metrics["estimate_nees"]["value"] == pytest.approx(run["estimate_nees"].mean())
    # Every second call of the output sees the same call of the controller: 4 ms against 10 ms.
    changes = np.flatnonzero(np.any(np.diff(run["estimate_error"], axis=0) != 0.0, axis=1))
    assert len(changes) <= 40
    assert np.all(run["estimate_sigma"] > 0.0)


@pytest.mark.slow
def test_the_example_holds_and_trusting_wheels_that_slip_is_lost(tmp_path: Path) -> None:
    result = tr.run(CART, tmp_path / "run", plots=False)
    assert result.status is tr.Status.SUCCESS
    found = {key: metric["value"] for key, metric in result.summary["metrics"].items()}
    assert all(metric.get("holds") in (None, True) for metric in result.summary["metrics"].values())
    assert found["estimate_position_error"] < 0.005
    assert found["estimate_position_error_trusting"] > 1.0
