"""One trial of kind `wallbounce`: the controlled plant, what is recorded, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.scenarios.faults import guard_policy
from trundle.simulate.mujoco.plant import PlantRun, Sampled
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.simulate.mujoco.view import PlantView
from trundle.systems.wallbounce.control.plans import BalancerPlan
from trundle.systems.wallbounce.control.two_level import TwoLevel
from trundle.systems.wallbounce.plant import BalancerPlant
from trundle.systems.wallbounce.robot import tilt_of
from trundle.systems.wallbounce.scenario.record import BalancerTrialResult
from trundle.systems.wallbounce.scenario.schema import PUSH
from trundle.systems.wallbounce.scenario.setup import BalancerTrial, Guide, Setup

if TYPE_CHECKING:
    pass


_LATE = 4.0  # s at the end, over which a robot should stay in its place
_AHEAD = 0.4  # s, of the postures that are drawn as ghosts
_PRESSED = 1.0  # N of normal force from which a planned stage is a contact
QUALITY = ("penetration", "slip", "off_wall_force")
SHARES = {"p50": 50, "p95": 95, "max": 100}
"""Of `QUALITY` over plans, in percent."""
_LEVELS = ("implicit", "hybrid")
_OF_HANDS: Mapping[str, Callable[[BalancerPlan], FloatArray]] = {
    "hand_speed": lambda plan: plan.speeds,
    "hand_distance": lambda plan: plan.distances,
    "hand_press": lambda plan: plan.forces,
}


@dataclass(frozen=True, eq=False)
class BalancerOutcome:
    """What one trial left.

    Attributes
    ----------
    run : PlantRun
        Its records are named as the variables of the kind, and "measured", the measurement (n, 28).
    result : BalancerTrialResult
    quality : mapping of level to mapping of name to array
        Of planned contacts: penetration, m, slip, m/s, and the force where the hand is more than 5 mm off the wall, N.
    """

    run: PlantRun
    result: BalancerTrialResult
    quality: Mapping[str, Mapping[str, FloatArray]]


def run_trial(setup: Setup, trial: BalancerTrial, progress: Callable[[float], object] | None = None) -> BalancerOutcome:
    """Run one trial."""
    plant, guide, pushes = setup.plant(), setup.guide(trial), setup.pushes(trial)
    policy = setup.policy(guide.reference, guide.surroundings)
    simulation = setup.tables.simulation
    run = plant.plant(setup.start(trial)).run(
        guard_policy(policy, len(policy.command), setup.tables, trial.seed),
        simulation.duration,
        sensors=setup.sensors(plant, trial),
        pushes=pushes,
        actions=guide.actions(plant),
        record=_records(plant, policy, pushes),
        output_step=simulation.output_step,
        progress=progress,
    )
    quality = {level: plan_quality(plans) for level, plans in policy.received.items()}
    return BalancerOutcome(run, _result(setup, trial, guide, run, policy), quality)


def _records(plant: BalancerPlant, policy: TwoLevel, pushes: Sequence[ForcePulse]) -> dict[str, Sampled]:
    records: dict[str, Sampled] = {
        "measured": plant.measure,
        "hand_position": plant.hand_positions,
        "torso_distance": plant.torso_distance,
        "hand_force_planned": lambda view: policy.inputs[9:].reshape(2, 3),
        "wall_distance": plant.wall_distances,
        "active_contact": lambda view: policy.contacts(view.time),
        "drive_force": lambda view: [*policy.command[:2], 0.0],
        "push_force": lambda view: sum(
            (np.asarray(push.force) for push in pushes if push.acts(view.time)), np.zeros(3)
        ),
    }
    for level in _LEVELS:
        records[f"solve_time_{level}"] = partial(_last_solve_time, policy, level)
        records[f"hand_penetration_{level}"] = partial(_deepest, policy, level)
        records[f"ahead_{level}"] = partial(_ahead, plant, policy, level)
        records |= {f"{name}_{level}": partial(_by_hand, policy, level, of) for name, of in _OF_HANDS.items()}
    return records


def _last_solve_time(policy: TwoLevel, level: str, view: PlantView) -> float:
    taken = policy.counts.seconds[level]
    return taken[-1] if taken else 0.0


def _ahead(plant: BalancerPlant, policy: TwoLevel, level: str, view: PlantView) -> FloatArray:
    """Posture (11,) of the level's plan `_AHEAD` of now; the present one without a plan."""
    plan = policy.plans[level] or policy.following
    return plant.measure(view)[:11] if plan is None else plan.at(view.time + _AHEAD)[0][:11]


def _by_hand(policy: TwoLevel, level: str, of: Callable[[BalancerPlan], FloatArray], view: PlantView) -> FloatArray:
    """Value (2,) of each hand with the wall that is nearest, at the present stage of the level's plan."""
    plan = policy.plans[level] or policy.following
    if plan is None:
        return np.zeros(2)
    k = plan.stage(view.time)
    return of(plan)[k].reshape(2, -1)[[0, 1], np.argmin(plan.distances[k].reshape(2, -1), axis=1)]


def _deepest(policy: TwoLevel, level: str, view: PlantView) -> FloatArray:
    """Deepest penetration (2,), m, of each hand at the contacts of the level's plan, over all its stages."""
    plan = policy.plans[level] or policy.following
    if plan is None:
        return np.zeros(2)
    deep = np.where(plan.forces > _PRESSED, np.maximum(-plan.distances, 0.0), 0.0)
    return deep.reshape(len(deep), 2, -1).max(axis=(0, 2))


def plan_quality(plans: list[BalancerPlan]) -> dict[str, FloatArray]:
    """Return penetration, slip and off-wall force over all planned contacts of all plans; on the wall the last is 0.

    A contact is a stage and a pair of a hand and a wall with a planned normal force above 1 N, at either level; a
    hybrid plan has forces only where its schedule closes a contact.
    """
    found: dict[str, list[FloatArray]] = {name: [] for name in QUALITY}
    for plan in plans:
        on = plan.forces > _PRESSED
        found["penetration"].append(np.maximum(-plan.distances[on], 0.0))
        found["slip"].append(plan.slips[on])
        found["off_wall_force"].append(np.where(plan.distances[on] > 0.005, plan.forces[on], 0.0))
    return {name: np.concatenate(values) if values else np.zeros(0) for name, values in found.items()}


def _result(setup: Setup, trial: BalancerTrial, guide: Guide, run: PlantRun, policy: TwoLevel) -> BalancerTrialResult:
    y, planned, counts = run.records["measured"], run.records["hand_force_planned"], policy.counts
    implicit, event, hybrid = (counts.seconds[name] for name in ("implicit", "event", "hybrid"))
    measured = y[:, 22:28].reshape(-1, 2, 3)
    size, real = np.linalg.norm(planned, axis=2), np.linalg.norm(measured, axis=2)
    on, apart = size > 3.0, np.linalg.norm(measured - planned, axis=2)
    away = np.linalg.norm(y[:, :2] - guide.goal, axis=1)
    thinned = slice(None, None, max(1, len(run.time) // 60))
    result = BalancerTrialResult(
        status=run.status.label,
        reason=run.reason,
        torso_min=float(np.min(run.records["torso_distance"])),
        away=float(away[-1]),
        away_late=float(np.max(away[run.time >= run.time[-1] - _LATE])),
        lean=float(np.max(np.linalg.norm(y[:, 3:5], axis=1))),
        force_planned=float(np.max(size)),
        force_measured=float(np.max(real)),
        force_mismatch=_median(apart[on] / size[on]),
        hand_used=bool(np.max(real) > 1.0),
        plans_implicit=len(implicit) + len(event),
        plans_hybrid=len(hybrid),
        plans_late=counts.late,
        plans_rejected=counts.rejected,
        events=len(event),
        bad_measurements=counts.bad_measurements,
        without_plan=counts.without_plan,
        solve_time_implicit=_median(implicit),
        solve_time_event=_median(event),
        solve_time_hybrid=_median(hybrid),
        path_time=run.time[thinned],
        path=y[thinned, :2],
    )
    if trial.push is not None:
        push = dict(zip(PUSH, trial.push, strict=True))
        bound = setup.bound(push["length"], push["height"])
        return replace(result, push_bound=bound, **{f"push_{name}": value for name, value in push.items()})
    result = replace(result, speed=trial.speed)
    return result if setup.trip is None else _with_trip(result, setup, guide, run)


def _with_trip(result: BalancerTrialResult, setup: Setup, guide: Guide, run: PlantRun) -> BalancerTrialResult:
    """Return the result with what came of a trip."""
    y = run.records["measured"]
    real = np.linalg.norm(y[:, 22:28].reshape(-1, 2, 3), axis=2)
    change = min((box.appears for box in setup.obstacles), default=setup.trip.goal.turn_at if setup.trip else None)
    begin = 0.0 if change is None else change
    after = run.time >= begin - 1e-9
    origin = y[after, :2][0] if after.any() else y[-1, :2]  # a run may end before anything changes
    aside = np.abs((y[:, :2] - origin) @ setup.sideways)
    near = np.linalg.norm(y[:, :2] - guide.goal, axis=1) < 0.25
    step = float(run.time[1] - run.time[0])
    late = after & (run.time > begin + 1.0) & np.any(real > 1.0, axis=1)
    com = y[:, :2] + setup.robot.com[2] * tilt_of(*y[:, 2:5].T)
    speed = np.gradient(com, run.time, axis=0)
    push = np.linalg.norm(np.gradient(speed, run.time, axis=0), axis=1)
    return replace(
        result,
        boxes=guide.centers(),
        goal=guide.goal,
        change=begin,
        along=float(np.max(y[:, :2] @ setup.forward)),
        late_contact=float(np.sum(late) * step),
        lateral_time=_first(run.time, after & (aside >= 0.25), begin),
        goal_time=_first(run.time, after & near, begin),
        peak_acceleration=float(np.max(_smooth(push, 3)[after])) if after.any() else np.nan,
    )


def _smooth(values: FloatArray, half: int) -> FloatArray:
    width = 2 * half + 1
    return np.convolve(np.pad(values, half, mode="edge"), np.ones(width) / width, mode="valid")


def _first(time: FloatArray, there: NDArray[np.bool_], begin: float) -> float:
    return float(time[int(np.argmax(there))] - begin) if np.any(there) else np.nan


def _median(values: Sequence[float] | FloatArray) -> float:
    return float(np.median(values)) if len(values) else np.nan
