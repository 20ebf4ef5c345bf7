"""One trial of kind `wallbounce`: the controlled plant, what is recorded, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.rotations import rotations_ypr
from trundle.simulate.mujoco.plant import PlantRun, PlantView
from trundle.systems.wallbounce.control.plans import BalancerPlan
from trundle.systems.wallbounce.control.two_level import TwoLevel
from trundle.systems.wallbounce.plant import BalancerPlant
from trundle.systems.wallbounce.setup import Guide, Setup, Trial

__all__ = ["QUALITY", "Outcome", "run_trial"]

_AHEAD = 0.4  # s, of the postures that are drawn as ghosts
QUALITY = ("penetration", "slip", "off_wall_force")
_LEVELS = ("implicit", "hybrid")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one trial left.

    Attributes
    ----------
    run : PlantRun
    facts : mapping
        Numbers and texts that judge it; see `_facts`.
    quality : mapping of level to mapping of name to array
        Of planned contacts: penetration, m, slip, m/s, and the force where the hand is more than 5 mm off the wall, N.
    """

    run: PlantRun
    facts: dict[str, Any]
    quality: Mapping[str, Mapping[str, FloatArray]]


class _Watched:
    """The policy, noting every plan that arrives."""

    def __init__(self, policy: TwoLevel, pushes: list[Any]) -> None:
        self.policy, self.pushes = policy, pushes
        self.plans: dict[str, list[BalancerPlan]] = {level: [] for level in _LEVELS}
        self.command = np.zeros(9)

    @property
    def period(self) -> float:
        return self.policy.period

    def reset(self) -> None:
        self.policy.reset()

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        self.command = self.policy(time, state)
        for level in _LEVELS:
            plan = self.policy.plans[level]
            if plan is not None and (not self.plans[level] or self.plans[level][-1] is not plan):
                self.plans[level].append(plan)
        return self.command

    def push(self, time: float) -> FloatArray:
        return sum((p.force for p in self.pushes if p.start <= time < p.start + p.duration), np.zeros(3))


def run_trial(setup: Setup, trial: Trial, progress: Callable[[float], object] | None = None) -> Outcome:
    """Run one trial."""
    plant, guide, pushes = setup.plant(), setup.guide(trial), setup.pushes(trial)
    policy = setup.policy(guide.reference, guide.surroundings)
    watched = _Watched(policy, pushes)
    simulation = setup.tables.simulation
    run = plant.plant(setup.start(trial)).run(
        watched,
        simulation.duration,
        sensors=setup.sensors(plant, trial),
        pushes=pushes,
        actions=guide.actions(plant),
        record=_records(plant, watched),
        output_step=simulation.output_step,
        progress=progress,
    )
    quality = {level: plan_quality(plans) for level, plans in watched.plans.items()}
    return Outcome(run, _facts(setup, trial, guide, run, policy), quality)


def _records(plant: BalancerPlant, watched: _Watched) -> dict[str, Callable[[PlantView], Any]]:
    policy = watched.policy

    def seconds(level: str) -> float:
        taken = policy.counts.seconds[level]
        return taken[-1] if taken else 0.0

    def planned(level: str, name: str) -> Callable[[PlantView], Any]:
        def of(view: PlantView) -> FloatArray:
            plan = policy.plans[level] or policy.following
            return np.zeros(2) if plan is None else _by_hand(plan, name, view.time)

        return of

    def ahead(level: str) -> Callable[[PlantView], Any]:
        def of(view: PlantView) -> FloatArray:
            plan = policy.plans[level] or policy.following
            measured = plant.measure(view)[:11]
            return measured if plan is None else plan.at(view.time + _AHEAD)[0][:11]

        return of

    records: dict[str, Callable[[PlantView], Any]] = {
        "measured": plant.measure,
        "hand_position": plant.hand_positions,
        "torso_distance": plant.torso_distance,
        "hand_force_planned": lambda view: policy.inputs[9:].reshape(2, 3),
        "wall_distance": plant.wall_distances,
        "active_contact": lambda view: policy.contacts(view.time),
        "solve_time_implicit": lambda view: seconds("implicit"),
        "solve_time_hybrid": lambda view: seconds("hybrid"),
        "drive_force": lambda view: [*watched.command[:2], 0.0],
        "push_force": lambda view: watched.push(view.time),
    }
    for level in _LEVELS:
        records |= {f"hand_{name}_{level}": planned(level, name) for name in ("speed", "distance", "press")}
        records[f"ahead_{level}"] = ahead(level)
    return records


def _by_hand(plan: BalancerPlan, name: str, time: float) -> FloatArray:
    """Speed, distance or normal force (2,) of the hands at the stage of a time, of the wall that is nearest."""
    k = int(min(max((time - plan.begin) / plan.step, 0.0), len(plan.inputs) - 1e-9))
    distances = plan.distances[k].reshape(2, -1)
    values = {"speed": plan.speeds, "distance": plan.distances, "press": plan.forces}[name][k].reshape(2, -1)
    return values[[0, 1], np.argmin(distances, axis=1)]


def plan_quality(plans: list[BalancerPlan]) -> dict[str, FloatArray]:
    """Return penetration, slip and off-wall force over all planned contacts of all plans; on the wall the last is 0.

    A contact is a stage and a pair of a hand and a wall with a planned normal force above 1 N, at either level; a
    hybrid plan has forces only where its schedule closes a contact.
    """
    found: dict[str, list[FloatArray]] = {name: [] for name in QUALITY}
    for plan in plans:
        on = plan.forces > 1.0
        found["penetration"].append(np.maximum(-plan.distances[on], 0.0))
        found["slip"].append(plan.slips[on])
        found["off_wall_force"].append(np.where(plan.distances[on] > 0.005, plan.forces[on], 0.0))
    return {name: np.concatenate(values) if values else np.zeros(0) for name, values in found.items()}


def _facts(setup: Setup, trial: Trial, guide: Guide, run: PlantRun, policy: TwoLevel) -> dict[str, Any]:
    """Return what judges a trial.

    ``torso_min`` (m), ``away`` (m, from the goal at the end), ``lean`` (rad, most), ``force_planned`` and
    ``force_measured`` (N, most), ``force_mismatch`` (median of |measured - planned| / planned over samples with more
    than 3 N planned), of trips also ``late_contact`` (s of a hand on the wall later than 1 s after the change),
    ``lateral_time`` (s from the change to 0.25 m sideways), ``goal_time``, ``peak_acceleration`` (m/s^2), ``along``.
    """
    y, planned = run.records["measured"], run.records["hand_force_planned"]
    measured = y[:, 22:28].reshape(-1, 2, 3)
    size, real = np.linalg.norm(planned, axis=2), np.linalg.norm(measured, axis=2)
    on, apart = size > 3.0, np.linalg.norm(measured - planned, axis=2)
    facts: dict[str, Any] = {
        "status": run.status.label,
        "reason": run.reason,
        "torso_min": float(np.min(run.records["torso_distance"])),
        "away": float(np.linalg.norm(y[-1, :2] - guide.goal)),
        "lean": float(np.max(np.linalg.norm(y[:, 3:5], axis=1))),
        "force_planned": float(np.max(size)),
        "force_measured": float(np.max(real)),
        "force_mismatch": float(np.median(apart[on] / size[on])) if on.any() else None,
        "hand_used": bool(np.max(real) > 1.0),
        "counts": policy.report(),
        "path": _thinned(run.time, y),
    }
    facts |= {"push": list(trial.push)} if trial.push is not None else {"speed": trial.speed}
    if setup.tables.task == "navigate":
        facts |= _trip(setup, guide, run, y, real)
    return facts


def _trip(setup: Setup, guide: Guide, run: PlantRun, y: FloatArray, real: FloatArray) -> dict[str, Any]:
    tables, forward = setup.tables, setup.forward
    sideways = np.array([-forward[1], forward[0]])
    change = tables.goal.turn_at if tables.box is None else tables.box.appears
    begin = 0.0 if change is None else change
    after = run.time >= begin - 1e-9
    origin = y[after, :2][0] if after.any() else y[-1, :2]  # a run may end before anything changes
    aside = np.abs((y[:, :2] - origin) @ sideways)
    near = np.linalg.norm(y[:, :2] - guide.goal, axis=1) < 0.25
    step = float(run.time[1] - run.time[0])
    late = after & (run.time > begin + 1.0) & np.any(real > 1.0, axis=1)
    com = y[:, :2] + _com_offset(setup, y)
    speed = np.gradient(com, run.time, axis=0)
    push = np.linalg.norm(np.gradient(speed, run.time, axis=0), axis=1)
    return {
        "box": None if guide.obstacle is None else np.asarray(guide.obstacle.disc.center).tolist(),
        "goal": np.asarray(guide.goal).tolist(),
        "change": begin,
        "along": float(np.max(y[:, :2] @ forward)),
        "late_contact": float(np.sum(late) * step),
        "lateral_time": _first(run.time, after & (aside >= 0.25), begin),
        "goal_time": _first(run.time, after & near, begin),
        "peak_acceleration": float(np.max(_smooth(push, 3)[after])) if after.any() else None,
    }


def _com_offset(setup: Setup, y: FloatArray) -> FloatArray:
    """Horizontal place (n, 2) of the centre of mass from the ball, upright com."""
    c = float(np.asarray(setup.robot.com)[2])
    return c * np.asarray(rotations_ypr(y[:, 2:5]).as_matrix())[:, :2, 2]


def _smooth(values: FloatArray, half: int) -> FloatArray:
    width = 2 * half + 1
    return np.convolve(np.pad(values, half, mode="edge"), np.ones(width) / width, mode="valid")


def _first(time: FloatArray, there: Any, begin: float) -> float | None:
    return float(time[int(np.argmax(there))] - begin) if np.any(there) else None


def _thinned(time: FloatArray, y: FloatArray) -> list[list[float]]:
    keep = slice(None, None, max(1, len(time) // 60))
    return np.round(np.column_stack([time, y[:, :2]])[keep], 4).tolist()
