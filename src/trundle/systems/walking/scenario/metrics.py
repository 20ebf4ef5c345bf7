"""Metrics of walks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trundle.errors import InputError
from trundle.records import Trajectory
from trundle.report import Metric, MetricGroup, Quantity, RunSet, measure
from trundle.report.metrics import QUANTITIES as GENERAL
from trundle.report.metrics import general as general_of_kit
from trundle.systems.walking.scenario.legged.metrics import STEPS
from trundle.systems.walking.scenario.measured.metrics_estimate import ESTIMATE, measure_estimate
from trundle.systems.walking.scenario.metrics_ball import BALL
from trundle.systems.walking.scenario.recomputed import Walk


def general(run: Trajectory) -> dict[str, float]:
    """Return the metrics of one walk.

    ``base_residual`` (N, N m) and ``torque_residual`` (N m): inverse dynamics at the middles of the intervals, of the
    six coordinates of the base and of the joints; ``acceleration_share`` of the cost; ``stance_gap_nodes``,
    ``stance_gap_between`` (m), ``slip_nodes`` (m/s) of feet that stand; ``swing_clearance`` (m) at mid-swing;
    ``friction_use``; ``energy_balance``: joint work, gravity's work, change of kinetic energy and impacts' losses over
    the run, divided by all joint work; of impacts, ``impact_residual`` (N s) and ``impact_loss`` (J); gait parameters:
    ``touch_down_behind`` and ``lift_off_ahead`` (m, from ankle to contact), ``arm_leg_phase`` (deg), ``heel_strike``
    (% of the cycle from lift-off), ``cost_of_transport``.
    """
    walk = Walk(run)
    values = {
        **walk.dynamics(),
        **walk.contacts(),
        "friction_use": walk.friction_use(),
        **walk.energy(),
        **walk.impacts(),
        **walk.looks(),
    }
    statistics = run.metadata["walk"]["statistics"]
    values |= {key: float(statistics[key]) for key in ("iterations", "cost", "kkt_residual") if key in statistics}
    if "solve" in statistics:
        values["planning_time"] = float(statistics["build"]) + float(statistics["solve"])
    return values | (measure_estimate(run) if "estimate" in run.metadata else {})


def walk_flat(run: Trajectory, parts: Mapping[str, Trajectory]) -> dict[str, float]:
    """Return the metrics of the walk on level ground: number of steps that its replay in the simulator has walked."""
    replay = parts.get("replay")
    return {} if replay is None else {"replay_steps": float(replay.metadata.get("replay", {}).get("steps", 0))}


def flat_foot(run: Trajectory, parts: Mapping[str, Trajectory]) -> dict[str, float]:
    """Return iterations and cost of the plan with rolling feet, divided by those with flat feet.

    The main run's to those of the part ``rolling``; for each slope that both feet walk on, the cheapest plan's of each.
    """
    if "rolling" not in parts:
        raise InputError("parts", sorted(parts), "with the part 'rolling'")
    flat, rolling = (one.metadata["walk"]["statistics"] for one in (run, parts["rolling"]))
    values = {
        "iteration_ratio": rolling["iterations"] / flat["iterations"],
        "cost_ratio": rolling["cost"] / flat["cost"],
    }
    walks = [one.metadata["walk"] for one in (run, *parts.values()) if "walk" in one.metadata]
    for name, sign in (("flat", 0.0), ("up", 1.0), ("down", -1.0)):
        least: dict[bool, float] = {}
        for walk in walks:
            if np.sign(walk["gait"]["slope"]) == sign:
                rolls, cost = walk["sole"]["type"] != "flat", float(walk["statistics"]["cost"])
                least[rolls] = min(cost, least.get(rolls, np.inf))
        if len(least) == 2:
            values[f"cost_ratio_{name}"] = least[True] / least[False]
    return values


QUANTITIES = {
    **GENERAL,
    **ESTIMATE,
    "base_residual": Quantity("N", "largest residual of the base's dynamics, recomputed with Pinocchio"),
    "torque_residual": Quantity("N m", "largest residual of the joints' dynamics, recomputed with Pinocchio"),
    "acceleration_share": Quantity("1", "of the cost: the term of accelerations"),
    "stance_gap": Quantity("m", "largest |gap| of feet that stand, at nodes and between them"),
    "slip_nodes": Quantity("m/s", "largest speed of the contact points of feet that stand, at nodes"),
    "swing_clearance": Quantity("m", "least height of the swing foot at mid-swing"),
    "energy_balance": Quantity("1", "error of joint work + gravity work = change of kinetic energy + losses, relative"),
    "impact_residual": Quantity("N s", "of the impact equations"),
    "impact_loss": Quantity("J", "kinetic energy lost at touch-downs"),
    "touch_down_behind": Quantity("m", "distance of the contact behind the ankle at touch-down"),
    "lift_off_ahead": Quantity("m", "distance of the contact ahead of the ankle at lift-off"),
    "arm_leg_phase": Quantity("deg", "phase of the arm relative to the leg of the same side"),
    "heel_strike": Quantity("%", "of the cycle from lift-off"),
    "cost_of_transport": Quantity("1", "joint work per weight and distance"),
    "double_support": Quantity("%", "of the cycle"),
    "step_duration": Quantity("s", "from touch-down to touch-down"),
    "step_length": Quantity("m", "way of the body in a step"),
    "iterations": Quantity("1", "from the built-in guess"),
    "planning_time": Quantity("s", "building and solving the program"),
    "kkt_residual": Quantity("1", "of the plan, scaled, recomputed"),
    "cost": Quantity("", "of the plan"),
}
GROUPS = (
    MetricGroup({"replay_steps": Quantity("steps", "plan tracked in the simulator with touch-downs")}, walk_flat),
    MetricGroup(
        {
            "iteration_ratio": Quantity("1", "iterations of the rolling foot over the flat foot's"),
            "cost_ratio": Quantity("1", "cost of the rolling foot over the flat foot's, same problem otherwise"),
            **{
                f"cost_ratio_{slope}": Quantity("1", f"the same of the cheapest plans {where}")
                for slope, where in (("flat", "on the flat"), ("up", "uphill"), ("down", "downhill"))
            },
        },
        flat_foot,
        always=True,
        applies=lambda run, parts: "walk" in run.metadata and "rolling" in parts,
    ),
    BALL,
    STEPS,
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run of kind `walking`."""
    return measure(runs, GROUPS, _of_run, QUANTITIES)


def _of_run(run: Trajectory) -> dict[str, float]:
    if "steps" in run.metadata:  # `STEPS` has them
        return {}
    return general(run) if "walk" in run.metadata else general_of_kit(run)
