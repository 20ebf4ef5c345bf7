"""The arm that carries the hand of a transfer: from its table, along runs, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from trundle.report import MetricGroup, Quantity
from trundle.scenarios.engine.building import error_context
from trundle.scenarios.robots import description_of
from trundle.scenarios.scenario import Scenario
from trundle.systems.juggling.arm.arm import Arm
from trundle.systems.juggling.scenario.schema_control import JugglingTransfer

if TYPE_CHECKING:
    from trundle.records import Plan, Trajectory

_USE = "used of the joints' {}, 1 at a limit: closed loop, followed by inverse kinematics"


def arm_of(scenario: Scenario) -> Arm | None:
    """Return the arm of a scenario's table [arm], or None."""
    table = scenario.read(JugglingTransfer).arm
    if table is None:
        return None
    urdf = description_of(scenario, table, "arm")
    with error_context("arm", scenario):
        return Arm(urdf, table.link, dict(table.posture), **table.values(Arm))


def with_joints(run: Trajectory, plan: Plan, arm: Arm | None) -> Trajectory:
    """Return a run of the hand with what the joints of the arm do, near those of the plan."""
    if arm is None or plan.trajectory is None:
        return run
    from trundle.systems.juggling.arm.demands import joint_demands, record_joints

    motion = joint_demands(arm, run, plan.trajectory["joint_position"][0])
    noted = dict(run.metadata) | {"joints": motion.use(), "nearest_limit": motion.worst()}
    return record_joints(replace(run, metadata=noted), motion)


def _joints(run: Trajectory, parts: Mapping[str, Trajectory]) -> dict[str, float]:
    """Return the margins of the plan and the use along the main run."""
    left = {k: float(v) for k, v in parts["plan"].metadata["plan"].items() if k.startswith("joint_") and v is not None}
    return left | {f"tracked_{name}": float(value) for name, value in run.metadata.get("joints", {}).items()}


GROUP = MetricGroup(
    {
        "joint_range_margin": Quantity("rad", "least distance of the arm's joints to an end of their ranges, planned"),
        "joint_speed_margin": Quantity("rad/s", "least distance of their rates to the limits, planned"),
        "joint_torque_margin": Quantity("N m", "least distance of their torques to the limits, planned"),
        "joint_range_use": Quantity("1", "used of the joints' ranges, from the middle, 1 at an end: planned"),
        "joint_speed_use": Quantity("1", "used of the joints' rates, 1 at a limit: planned"),
        "joint_torque_use": Quantity("1", "used of the joints' torques, 1 at a limit: planned"),
        "joint_position_error": Quantity("m", "of the hand against the joints' forward kinematics, planned"),
        "tracked_joint_range_use": Quantity("1", _USE.format("ranges")),
        "tracked_joint_speed_use": Quantity("1", _USE.format("rates")),
        "tracked_joint_torque_use": Quantity("1", _USE.format("torques")),
    },
    _joints,
    always=True,
    applies=lambda run, parts: "joint_speed_use" in parts.get("plan", run).metadata.get("plan", {}),
)
