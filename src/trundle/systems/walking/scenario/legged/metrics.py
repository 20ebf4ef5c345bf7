"""Metrics of a robot's planned steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trundle.records import Trajectory
from trundle.report import MetricGroup, Quantity


def measure_plan(run: Trajectory, parts: Mapping[str, Trajectory]) -> dict[str, float]:
    """Return what a plan of steps asks of joints and ground, and how many steps of it the simulator walked."""
    steps = run.metadata["steps"]
    force, mu = run["contact_force"][:-1], float(run.metadata["physics"]["friction"])
    n = run["contact_normal"][:-1]
    load = np.sum(force * n, axis=-1)
    stands = load > 1e-6
    use = np.linalg.norm(force - load[..., None] * n, axis=-1)[stands] / (mu * load[stands])
    limits = np.array([np.inf if limit is None else limit for limit in steps["efforts"]])
    h = np.diff(run.time)
    values = {
        "torque_use": float(np.max(np.abs(run["joint_torque"]) / limits)),
        "friction_use": float(np.max(use)),
        "all_feet": 100.0 * float(np.sum(h[stands.all(axis=1)]) / np.sum(h)),
        "step_duration": float(steps["duration"]),
        "step_length": float(steps["length"]),
        **{key: float(steps["statistics"][key]) for key in ("iterations", "cost", "kkt_residual")},
    }
    if "mujoco" in steps:
        values["mujoco_steps"] = float(steps["mujoco"]["steps"])
    replay = parts.get("replay")
    return values | ({} if replay is None else {"replay_steps": float(replay.metadata["replay"]["steps"])})


STEPS = MetricGroup(
    {
        "torque_use": Quantity("1", "largest torque of a joint over its limit"),
        "all_feet": Quantity("%", "of the time on all feet"),
        "replay_steps": Quantity("steps", "plan tracked in the simulator with touch-downs"),
        "mujoco_steps": Quantity("steps", "plan tracked in MuJoCo"),
    },
    measure_plan,
    always=True,
    applies=lambda run, parts: "steps" in run.metadata,
)
