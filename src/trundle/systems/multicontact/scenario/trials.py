"""One trial of kind `multicontact`: the controlled plant, what is recorded, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.models.robots.humanoid import Humanoid
from trundle.models.urdf.examples import example_name
from trundle.models.urdf.visuals import body_records, visual_bodies
from trundle.scenarios.faults import guard_policy
from trundle.simulate.mujoco.plant import PlantRun, Sampled
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.simulate.mujoco.view import PlantView
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import GRAVITY
from trundle.systems.multicontact.humanoid.limits import largest_demand
from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
from trundle.systems.multicontact.scenario.obstacles import with_obstacles
from trundle.systems.multicontact.scenario.record import HumanoidTrialResult
from trundle.systems.multicontact.scenario.schema import MulticontactStand
from trundle.systems.multicontact.scenario.stances import stance_records
from trundle.systems.multicontact.whole_body.policy import HumanoidPolicy

if TYPE_CHECKING:
    from trundle.records import SceneBody, Trajectory
    from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment
    from trundle.systems.multicontact.scenario.schema import HumanoidTrialsTable

_SHIFTED = 0.03
"""Displacement of a sole, m, beyond which a robot that should stand has stepped."""
_LOOK = 0.05
"""Sampling period of the clearance among the robot's bodies, s."""
_PRESSED = 1.0
"""Planned normal force, N, below which the use of the cone is not recorded."""
_AHEAD = np.linspace(0.0, 0.6, 13)
"""Prediction times, s, at which the angular momentum of plans is recorded."""
_FAN = 0.2
"""Time between two recorded predictions, s."""
_LATE = 0.5
"""Time before the end, s, in which plans tell what a robot that falls lacks."""
_STILL = 0.15
"""Speed of the base, m/s, below which a pushed robot has come to rest."""


@dataclass(frozen=True)
class HumanoidTrial:
    """Seed, mass factor and push (N s, world) with its axis of one trial."""

    seed: int
    mass_factor: float
    push: tuple[float, ...] = (0.0, 0.0, 0.0)
    axis: str = ""


def make_trials(seed: int, table: HumanoidTrialsTable) -> list[HumanoidTrial]:
    """Return the trials of a table: their seeds follow `seed`, mass factors come in turn."""
    factors = table.mass_factors
    return [HumanoidTrial(seed + k, factors[k % len(factors)]) for k in range(table.count)]


@dataclass(frozen=True, eq=False)
class HumanoidOutcome:
    """The recorded run of a trial and its result."""

    run: PlantRun
    result: HumanoidTrialResult


def run_trial(experiment: MulticontactExperiment, trial: HumanoidTrial) -> HumanoidOutcome:
    """Run one trial."""
    tables, plant, policy = experiment.tables, experiment.plant(trial), experiment.policy()
    pushes = experiment.forces()
    if any(trial.push) and isinstance(tables, MulticontactStand):
        table = tables.pushes
        force = np.array(trial.push) / table.duration
        pushes.append(ForcePulse("base", np.zeros(3), force, table.start, table.duration))
    made = plant.plant(experiment.start, lowest=tables.plant.fallen_height, tilt=tables.plant.fallen_tilt)
    size = len(experiment.controller.humanoid.robot.joints)
    run = made.run(
        guard_policy(policy, size, tables, trial.seed),
        experiment.duration,
        sensors=plant.sensors(experiment.noise(), tables.noise.delay, trial.seed),
        pushes=pushes,
        record=_records(experiment, plant, policy),
        output_step=tables.simulation.output_step,
        extended=lambda: experiment.duration + policy.progress.waited,
    )
    result = _with_lean(_result(experiment, trial, run, policy), experiment, trial, run)
    return HumanoidOutcome(run, with_obstacles(result, plant, run.records))


def binding_limit(experiment: MulticontactExperiment, trial: HumanoidTrial) -> str:
    """Return which limit of a joint makes a trial fail: the one that it uses most where it has none, and holds then.

    Where it fails then, too, the limit of a contact that plans used most before the end.
    """
    robot, free = experiment.controller.humanoid.robot, experiment.without_limits().outcome(trial)
    if not free.result.survived:
        return f"no limit of a joint binds, it fails without any; {_contact_limit(experiment, free.run)}"
    torques, state = free.run.records["joint_torque"], free.run.records["state"]
    part, rates = experiment.controller.gains.torque_part, state[:, robot.nq + 6 :]
    most = largest_demand(robot, angles=state[:, 7 : robot.nq], rates=rates, torques=torques, torque_part=part)
    return f"without limits of its joints it holds: {most if most.use > 1.0 else 'all of them are kept'}"


def _contact_limit(experiment: MulticontactExperiment, run: PlantRun) -> str:
    """Return which limit of a contact (friction, pressure, yaw) plans used most, on average, in the last `_LATE` s."""
    late = run.records["planned"][run.time >= run.time[-1] - _LATE, 6:]
    uses = late.reshape(len(late), 3, -1, 3)[:, 2].mean(axis=0)
    end, kind = np.unravel_index(int(np.argmax(uses)), uses.shape)
    name, limit = tuple(experiment.controller.humanoid.ends)[end], ("friction", "pressure", "yaw")[kind]
    return f"its plans use {uses[end, kind]:.2f} of the {limit} of {name} in the last {_LATE:g} s"


def _records(experiment: MulticontactExperiment, plant: HumanoidPlant, policy: HumanoidPolicy) -> Mapping[str, Sampled]:
    ends = plant.ends

    def truth(view: PlantView) -> FloatArray:
        """Return centre of mass, its rate, angular momentum, points and slips of the ends, from the true state."""
        m, motions = experiment.momentum(*plant.state(view))
        forces = plant.forces(view)
        loaded = np.linalg.norm(forces, axis=1) > 1.0
        points = np.array([motions[name].p for name in ends])
        slip = np.array([motions[name].v for name in ends]) * loaded[:, None]
        return np.concatenate([m.com, m.com_rate, m.angular, points.ravel(), slip.ravel()])

    def state(view: PlantView) -> FloatArray:
        return np.concatenate(plant.state(view))

    def margin(_: PlantView) -> float:
        return np.inf if policy.plan is None else policy.plan.cone_margin

    return {
        "truth": truth,
        "planned": lambda _: _in_force(policy, tuple(ends)),
        "state": state,
        "contact_force": plant.forces,
        "gap": plant.gaps,
        "joint_torque": lambda view: view.data.ctrl.copy(),
        "com_position_nominal": lambda _: experiment.path(np.array([policy.diagnostics.plan_time]))[0][0],
        "base_position_estimated": lambda _: policy.diagnostics.base,
        "phase": lambda _: policy.diagnostics.begun,
        "plan_time": lambda _: policy.diagnostics.plan_time,
        "box": plant.box_pose,
        "nearness": plant.nearness,
        "standing": lambda _: np.array([name in policy.diagnostics.standing for name in ends], dtype=np.float64),
        "angular_momentum_estimated": lambda _: policy.diagnostics.momentum,
        "ahead": lambda _: np.array([policy.predict_angular_momentum(late) for late in _AHEAD]),
        "solve_time_wholebody": lambda _: policy.diagnostics.solve_time,
        "solve_time_preview": lambda _: policy.diagnostics.preview_time,
        "margin": margin,
    }


def _in_force(policy: HumanoidPolicy, ends: tuple[str, ...]) -> FloatArray:
    """Sample of the current plan: position, momentum; force, normal, cone use of each end (zero if open), packed."""
    position, on = policy.current_plan()
    table = np.zeros((3, len(ends), 3))
    for i, name in enumerate(ends):
        if name in on:
            contact, wrench = on[name]
            table[:2, i] = contact.R_world_patch @ wrench[3:], contact.R_world_patch[:, 2]
            if wrench[5] > _PRESSED:
                table[2, i] = contact.patch.uses(wrench)
    return np.concatenate([position, policy.predict_angular_momentum(), table.ravel()])


def _result(
    experiment: MulticontactExperiment, trial: HumanoidTrial, run: PlantRun, policy: HumanoidPolicy
) -> HumanoidTrialResult:
    diagnostics, records = policy.diagnostics, run.records
    nq, limit = experiment.controller.humanoid.robot.nq, experiment.controller.humanoid.robot.torque_limit
    off = records["truth"][:, :2] - records["com_position_nominal"][:, :2]
    speed = float(np.linalg.norm(records["state"][-1, nq + 3 : nq + 6]))
    held = run.status is Status.SUCCESS
    landed, margin = policy.landed, float(records["margin"].min())
    shift = _sole_shift(records["truth"], list(experiment.controller.humanoid.ends))
    stood, went = bool(experiment.steps.travels) or shift <= _SHIFTED, landed == len(experiment.steps.travels)
    failings = {
        policy.progress.stopped: not policy.progress.stopped,
        f"a sole slid or stepped {shift:.3f} m": stood,
        f"{landed} of {len(experiment.steps.travels)} travels ended": went,
        f"it moves with {speed:.2f} m/s at the end": speed < _STILL,
    }
    relaxed, previews = policy.previews[Status.LIMITS_RELAXED], policy.previews.total()
    dropped, ahead = _dropped_errors(run) if policy.previews else (np.nan, np.nan)
    return HumanoidTrialResult(
        seed=trial.seed,
        mass_factor=trial.mass_factor,
        push=np.array(trial.push),
        axis=trial.axis,
        status=run.status.label,
        reason=run.reason or "; ".join(why for why, well in failings.items() if not well),
        survived=bool(held and all(failings.values())),
        sole_shift=shift,
        steps=landed,
        end_speed=speed,
        com_rms_xy=float(np.sqrt(np.mean(np.sum(off**2, axis=1)))),
        momentum_most=float(np.linalg.norm(records["truth"][:, 6:9], axis=1).max()),
        drift=float(np.linalg.norm((records["base_position_estimated"] - records["state"][:, :3])[-1, :2])),
        torque_use=max(diagnostics.torque_use, float(np.max(np.abs(records["joint_torque"]) / limit))),
        simulated=float(run.time[-1]),
        solve_time=diagnostics.spent,
        unsolved=int(sum(n for status, n in policy.statuses.items() if status is not Status.SUCCESS)),
        previews_relaxed=relaxed,
        previews_unsolved=previews - relaxed - policy.previews[Status.SUCCESS],
        cone_margin=margin if np.isfinite(margin) else 0.0,
        dropped_error=dropped,
        dropped_error_ahead=ahead,
    )


def _dropped_errors(run: PlantRun) -> tuple[float, float]:
    """Largest errors of the angular momentum about z, which plans see about the path only, against the estimate then.

    Of the current plan, and of its prediction at the end of `_AHEAD`.
    """
    r, most = run.records, float(_AHEAD[-1])
    now = np.abs(r["planned"][:, 5] - r["angular_momentum_estimated"][:, 2])
    later = np.searchsorted(run.time, run.time + most - 1e-9)
    seen = later < len(run.time)
    late = np.abs(r["ahead"][seen, -1, 2] - r["angular_momentum_estimated"][later[seen], 2])
    return float(now.max()), float(late.max(initial=0.0))


def _sole_shift(truth: FloatArray, ends: list[str]) -> float:
    """Largest displacement (m) of the centre of any sole from its start, in the plant."""
    points = truth[:, 9 : 9 + 3 * len(ends)].reshape(len(truth), len(ends), 3)
    feet = points[:, [i for i, name in enumerate(ends) if name.endswith("_foot")]]
    return float(np.linalg.norm(feet - feet[0], axis=2).max())


def _with_lean(
    result: HumanoidTrialResult, experiment: MulticontactExperiment, trial: HumanoidTrial, run: PlantRun
) -> HumanoidTrialResult:
    """Add the loads of leaning hands (the least of their shares) and the clearance among the robot's bodies."""
    tables, humanoid, r = experiment.tables, experiment.controller.humanoid, run.records
    hands = experiment.leaning
    if not hands:
        return result
    weight = trial.mass_factor * humanoid.robot.mass * GRAVITY
    loads, shares, most = list[float](), list[float](), 0.0
    for i in (tuple(humanoid.ends).index(hand) for hand in hands):
        placed, force = r["standing"][:, i] > 0, r["contact_force"][:, i, 2]
        runs = np.split(np.arange(len(placed)), np.flatnonzero(np.diff(placed)) + 1)
        loads += [float(force[one].mean()) for one in runs if placed[one[0]]]
        shares.append(float(force[placed].mean() / weight) if placed.any() else 0.0)
        most = max(most, float(force.max()))
    clearance, pair = min(
        (
            experiment.distances(q)
            for q in r["state"][:: max(1, round(_LOOK / tables.simulation.output_step)), : humanoid.robot.nq]
        ),
        key=lambda one: one[0],
    )
    return replace(
        result,
        placements=int(sum(load > tables.controller.gating.force for load in loads)),
        hand_load_share=min(shares),
        hand_load_most=most,
        self_clearance=clearance,
        nearest=tuple(pair),
    )


def _plans(planned: FloatArray, hands: list[int]) -> dict[str, FloatArray]:
    """Arrays of the current plan, from what `_in_force` packs."""
    forces, normals, uses = planned[:, 6:].reshape(len(planned), 3, -1, 3).swapaxes(0, 1)
    return {
        "com_position_planned": planned[:, :3],
        "angular_momentum_planned": planned[:, 3:6],
        "contact_force_planned": forces,
        "contact_normal_planned": normals,
        "contact_use_planned": uses,
        "hand_load_planned": np.linalg.norm(forces[:, hands], axis=2).sum(axis=1),
    }


def _fan(run: PlantRun, step: float) -> dict[str, object]:
    """Predicted angular momentum of a plan every `_FAN` s (paper 3, figure 5)."""
    rows = slice(None, None, max(1, round(_FAN / step)))
    values = np.round(run.records["ahead"][rows], 5)
    return {"ahead": _AHEAD.tolist(), "time": run.time[rows].tolist(), "angular_momentum": values.tolist()}


def _box(poses: FloatArray) -> dict[str, FloatArray]:
    """Arrays of the box's poses (n, 7), if there is a box."""
    return {"box_position": poses[:, :3], "box_quaternion": poses[:, 3:]} if np.all(np.isfinite(poses)) else {}


def describe_robot(humanoid: Humanoid) -> dict[str, object]:
    """Return what drawing the robot needs."""
    bodies = body_records(humanoid.robot)
    description = example_name(humanoid.urdf)
    return {"licence": humanoid.licence, "notice": humanoid.notice, "description": description, "bodies": bodies}


def list_scene_bodies(humanoid: Humanoid) -> tuple[SceneBody, ...]:
    """Return the shapes of a description of one's own, in the axes of the bodies that `describe_robot` names."""
    if example_name(humanoid.urdf):
        return ()
    names = [body.name for body in humanoid.robot.bodies()]
    return tuple(replace(body, name=names[i]) for i, body in visual_bodies(humanoid.urdf).items())


def trajectory(
    experiment: MulticontactExperiment, outcomes: Sequence[HumanoidOutcome], message: str = ""
) -> Trajectory:
    """Return the trajectory of the first trial with the results of all trials, and a message about what failed."""
    from trundle.records import Trajectory, make_dataset, with_trials
    from trundle.systems.multicontact.scenario.record import VIEW

    run, robot, tables = outcomes[0].run, experiment.controller.humanoid.robot, experiment.tables
    plant = experiment.plant(HumanoidTrial(0, 1.0))
    ends = tuple(experiment.controller.humanoid.ends)
    r, n, nq, k = run.records, len(run.time), robot.nq, len(ends)
    q, nu, truth, forces = r["state"][:, :nq], r["state"][:, nq:], r["truth"], r["contact_force"]
    hands = [i for i, name in enumerate(ends) if name.endswith("_hand")]
    arrays = {name: values for name, values in r.items() if name in VIEW.variables} | {
        "com_position": truth[:, :3],
        "com_velocity": truth[:, 3:6],
        "angular_momentum": truth[:, 6:9],
        "contact_position": truth[:, 9 : 9 + 3 * k].reshape(n, k, 3),
        "slip": truth[:, 9 + 3 * k :].reshape(n, k, 3),
        "joint_position": q[:, 7:],
        "joint_velocity": nu[:, 6:],
        "base_position": q[:, :3],
        "base_quaternion": q[:, 3:7],
        "base_velocity": nu[:, 3:6],
        "base_angular_velocity": nu[:, :3],
        "hand_load": np.linalg.norm(forces[:, hands], axis=2).sum(axis=1),
    }
    arrays |= _plans(r["planned"], hands) | _box(r["box"])
    dataset = make_dataset(VIEW, run.time, arrays, contacts=ends, joints=robot.joints)
    metadata = {
        "kind": "multicontact",
        "task": experiment.scenario.task,
        "message": message,
        "robot": tables.robot.name,
        **describe_robot(experiment.controller.humanoid),
        "friction": tables.plant.friction,
        "box": None if plant.box is None else plant.box.size.tolist(),
        "footholds": [
            {"name": c.contact.name, "position": c.contact.position.tolist(), "corners": c.contact.corners.tolist()}
            for c in experiment.steps.forecast.contacts
        ],
        "terrain": plant.terrain.table,
        "obstacles": [one.table for one in plant.obstacles],
        "stances": stance_records(experiment),
        "plans": _fan(run, tables.simulation.output_step) if tables.controller.preview.use else None,
    }
    worst = next((o.run.status for o in outcomes if o.run.status is Status.NOT_FINITE), run.status)
    # The plant's contacts neither pull nor leave their cones: what it did can be done.
    return Trajectory(
        with_trials(dataset, [outcome.result for outcome in outcomes]),
        worst,
        True,
        metadata,
        list_scene_bodies(experiment.controller.humanoid),
    )
