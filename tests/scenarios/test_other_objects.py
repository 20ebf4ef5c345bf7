"""Other objects, hands, senses and laws through the file alone: each plan reaches its goal, and so does the loop."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from trundle.scenarios import load_scenario, run
from trundle.scenarios.catalogue import text_of

ONE = ["plan.starts=0", "plan.coarse_nodes=0", "plan.printed=false", "parts={}"]
PURE = ['contact.law="pure-rolling"', "contact.torsional_friction=0.01"]
BACK = [f"goal.object_quaternion=[{math.sqrt(0.5)}, {-math.sqrt(0.5)}, 0.0, 0.0]"]
LARGE = ["object.shape.radius=0.2", "limits.friction_margin=0.6", "plan.duration=3.0"]

CASES: dict[str, tuple[str, list[str]]] = {
    "turned the other way": ("plate-reorient", [*ONE, *BACK]),
    "pure rolling": ("plate-reorient", [*ONE, *PURE]),
    "large ball": ("plate-reorient", [*ONE, *LARGE]),
    "large ball, the other way": ("plate-reorient", [*ONE, *LARGE, *BACK]),
    "large ball, pure rolling": ("plate-reorient", [*ONE, *LARGE, *PURE, "contact.torsional_friction=0.1"]),
    "ball in a dish": (
        "plate-reorient",
        [*ONE, 'hand.shape={type="dish", semi_axes=[0.4, 0.4, 0.4]}', "initial.contact_on_hand=[0.0, 0.0, -0.4]",
         "goal.contact_on_hand=[0.0, -0.033, -0.39864]"],
    ),
    "ellipsoid on a plate": (
        "plate-reorient",
        [*ONE, 'object.shape={type="ellipsoid", semi_axes=[0.035, 0.04, 0.045]}', 'limits.freedoms="all"',
         "goal={contact_on_hand=[0.0, -0.033, 0.0]}"],
    ),
    "ball on a sphere": (
        "plate-reorient",
        [*ONE, 'hand.shape={type="sphere", radius=0.3}', "initial.contact_on_hand=[0.0, 0.0, 0.3]",
         'limits.freedoms="all"', "goal={contact_on_hand=[0.0, -0.033, 0.29818]}"],
    ),
    "another ellipse under full gravity": (
        "ellipse-flip-up",
        ["object.shape.semi_axes=[0.05, 0.03]", "initial.contact_on_hand=[-0.0638, 0.0, 0.0]", "trials.count=1",
         "simulation.gravity=[0.0, 0.0, -9.81]", "limits.angular_acceleration=40.0", "limits.linear_acceleration=20.0"],
    ),
    "an egg": (
        "ellipse-damping",
        ['object.shape={type="fourier", radius=0.03, cos=[0.0, 0.1], sin=[0.0, 0.0, 0.03]}'],
    ),
    "an elliptic wing": (
        "butterfly",
        ['hand.shape={type="ellipse", semi_axes=[0.11, 0.07]}', "hand.angle=0.0", "trials.count=0",
         "initial.contact_on_hand=[0.0, 0.0, 0.07]",
         f"goal={{contact_on_hand=[0.0, 0.0, -0.07], hand_angle={-math.pi}}}"],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "overrides"), CASES.values(), ids=CASES)
def test_it_reaches_its_goal(tmp_path: Path, name: str, overrides: list[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text_of(name))
    # The limits of the scenario it is a copy of are not those of another body: reaching the goal is asked for.
    result = run(load_scenario(path, [*overrides, "acceptance={}"]), tmp_path / "out", plots=False)
    assert result.exit_code == 0, result.summary
    assert result.summary["feasible"]
    if "plan" in result.parts:
        left = result.parts["plan"].metadata["plan"]
        assert left["kkt_residual"] < 1e-6
        assert left["goal_position_error"] < 1e-4
        assert left["goal_rotation_error"] <= 1e-3  # rad
        assert left["friction_use"] < 1.0
        assert left["normal_force_min"] > 0.0
