"""Judging a solution by its replay: nothing the solver or the transcription says is taken for granted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import SimulationError
from trundle.models.tree.touching import touch_function
from trundle.numerics.nlp.nlp import ProgramSolution
from trundle.optimal.transcription.transcription import NodeTrajectory
from trundle.records import Trajectory
from trundle.records.reference import Reference
from trundle.status import Status
from trundle.systems.juggling.arm.arm_numbers import JOINT_USE
from trundle.systems.juggling.arm.demands import record_joints
from trundle.systems.juggling.transfer.formulation import Formulation
from trundle.systems.juggling.transfer.goal import ERRORS, RATES, names_of
from trundle.systems.juggling.transfer.replay import Dense, Replayer
from trundle.systems.juggling.transfer.settings import Settings

_NAMES = {name: f"goal_{name}_error" for name in (*ERRORS, *RATES)}
_UNITS = {"position": "m", "rotation": "rad", "velocity": "m/s", "angular_velocity": "rad/s"}
RESIDUALS = (
    "kkt_residual", "constraint_violation", "cost", "friction_use", "torsional_use", "normal_force_min",
    *_NAMES.values(), "replay_position_difference",
)  # fmt: skip
RELEASE_FORCE = 0.01
"""What may be left of the contact force at a release, over the object's weight."""
_SLIP, _EDGE = 1e-6, 1e-4
_RANK = {Status.SUCCESS: 4, Status.GOAL_NOT_REACHED: 3, Status.INFEASIBLE: 3, Status.NOT_OPTIMAL: 2}


@dataclass(frozen=True)
class Judgement:
    """A solution with what its replay says.

    Attributes
    ----------
    arc : NodeTrajectory
        Reduced nodes.
    status : Status
    residuals : dict
        See `trundle.records.plan.Plan`.
    feasible : bool
        Whether the program's constraints hold: a finer mesh makes sense.
    trajectory, reference : of the replay, or None
    message : str
    """

    arc: NodeTrajectory
    status: Status
    residuals: dict[str, float]
    feasible: bool
    trajectory: Trajectory | None
    reference: Reference | None
    message: str

    @classmethod
    def without_solution(cls, formulation: Formulation, arc: NodeTrajectory, status: Status, message: str) -> Judgement:
        """Return what can be said where nothing was solved."""
        return cls(arc, status, dict.fromkeys(RESIDUALS, float("nan")), False, None, None, message)


def judge(
    formulation: Formulation, replayer: Replayer, arc: NodeTrajectory, solution: ProgramSolution, settings: Settings
) -> Judgement:
    """Replay a solution and say whether it is a plan."""
    residuals = dict.fromkeys(RESIDUALS, float("nan"))
    residuals["kkt_residual"] = solution.kkt_residual
    residuals["constraint_violation"] = solution.constraint_violation
    residuals["cost"] = solution.objective
    feasible = solution.status in (Status.SUCCESS, Status.NOT_OPTIMAL)
    status, message = solution.status, "" if feasible else _at_edge(formulation, arc) or solution.worst
    trajectory, reference = None, None
    if np.all(np.isfinite(solution.z)):
        trajectory, reference = _replay_arc(formulation, replayer, arc, residuals)
    if status is Status.SUCCESS:
        status, message = _judge_replay(residuals, trajectory, settings, RELEASE_FORCE * formulation.physics["weight"])
    return Judgement(arc, status, residuals, feasible, trajectory, reference, message)


def _at_edge(formulation: Formulation, arc: NodeTrajectory) -> str:
    """Return on which body the contact is at the edge of its chart, which a plan cannot pass, or nothing."""
    model, kept = formulation.model, formulation.reduction.states
    place = model.layout[f"{model.constraints[0].name}.coordinates"]
    low, high = formulation.reduction.phase.x_bounds
    at = np.flatnonzero(np.any((arc.x <= low + _EDGE) | (arc.x >= high - _EDGE), axis=0))
    numbers = [int(i) - place.start for i in kept[at] if place.start <= i < place.stop]
    if not numbers:
        return ""
    body = names_of(formulation.task)[numbers[0] // (model.d - 1)]
    return (
        f"the contact comes to the edge of a chart of the {body}: plan a shorter roll, or several one after the other"
    )


def _replay_arc(
    formulation: Formulation, replayer: Replayer, arc: NodeTrajectory, residuals: dict[str, float]
) -> tuple[Trajectory | None, Reference | None]:
    dense = replayer.dense(arc)
    if not np.all(np.isfinite(dense.states)):
        return None, None
    reference = Reference(dense.times, dense.states, dense.inputs, formulation.atlas)
    residuals |= _contact_use(formulation, dense)
    errors = formulation.goal_errors(*(formulation.instant(dense.states[i]) for i in (0, -1)))
    residuals |= {_NAMES[name]: value for name, value in errors.items()}
    try:
        run = replayer.simulate_arc(arc)
    except SimulationError:
        return None, reference
    if run.time[-1] < arc.times[-1] * (1 - 1e-9):
        residuals |= dict.fromkeys(_NAMES.values(), float("inf"))
        return run, reference
    found = replayer.goal_errors(run)
    residuals |= {_NAMES[name]: value for name, value in found.items()}
    on_hand = formulation.instant(dense.states[-1]).on_hand
    in_run = run.final["contact_on_hand"] if formulation.task.d == 3 else run.final["contact_on_hand"][::2]
    difference = np.linalg.norm(in_run - on_hand)
    residuals["replay_position_difference"] = float(difference)
    residuals |= _worse(residuals, _use_of_run(formulation, run))
    if formulation.arm is not None:
        motion = formulation.arm.motion(run, dense.times, dense.x, dense.u)
        residuals |= motion.use() | motion.margins() | {"joint_position_error": motion.missed}
        run = record_joints(replace(run, metadata=dict(run.metadata) | {"nearest_limit": motion.worst()}), motion)
    return run, reference


def _judge_replay(
    residuals: dict[str, float], trajectory: Trajectory | None, settings: Settings, allowed_force: float
) -> tuple[Status, str]:
    """Return the status of a solved program after its replay."""
    if trajectory is None or not all(np.isfinite(residuals[name]) for name in _NAMES.values()):
        why = "the replay diverged" if trajectory is None else f"the replay ended early: {trajectory.status.label}"
        return Status.GOAL_NOT_REACHED, why
    for name, limit in settings.tolerances.items():
        if not residuals[name] <= limit:
            unit = _UNITS[name.removeprefix("goal_").removeprefix("hand_").removesuffix("_error")]
            return Status.GOAL_NOT_REACHED, f"{name} is {residuals[name]:.3g} {unit}, more than {limit:g} {unit}"
    if "release_force" in residuals and not residuals["release_force"] <= allowed_force:
        force = f"{residuals['release_force']:.3g} N, more than {allowed_force:.3g} N"
        return Status.GOAL_NOT_REACHED, f"the contact force at the release is {force}"
    if not residuals["normal_force_min"] >= 0.0:
        return Status.INFEASIBLE, f"the contact pulls: least normal force {residuals['normal_force_min']:.3g} N"
    for name in ("friction_use", "torsional_use"):
        if not residuals[name] <= 1.0:
            return Status.INFEASIBLE, f"{name} is {residuals[name]:.4g}"
    if not all(value <= 1.0 for name, value in residuals.items() if name in JOINT_USE):
        return Status.INFEASIBLE, str(trajectory.metadata["nearest_limit"])
    return Status.SUCCESS, ""


def _contact_use(formulation: Formulation, dense: Dense) -> dict[str, float]:
    """Return the use of the cones along the dense motion, in rolling coordinates."""
    model = formulation.model
    forces = ca.Function("forces", [model.x, model.u], [formulation.forces()])
    f = np.asarray(forces(dense.states.T, dense.inputs.T)).T * formulation.physics["weight"]
    return _use(formulation, f[:, 0], np.linalg.norm(f[:, 1:-1], axis=1), f[:, -1])


def _use_of_run(formulation: Formulation, run: Trajectory) -> dict[str, float]:
    """Return the same from the forces of the user's pair, in the world."""
    if "contact_normal" not in run:
        return {}
    force, n = run["contact_force"], run["contact_normal"]
    f_n = np.einsum("ij,ij->i", force, n)
    return _use(formulation, f_n, np.linalg.norm(force - f_n[:, None] * n, axis=1), run["contact_moment"])


def _use(formulation: Formulation, f_n: FloatArray, f_t: FloatArray, moment: FloatArray) -> dict[str, float]:
    physics, left = formulation.physics, {}
    if formulation.task.goal.release:
        # At the release itself all of it is zero, and the share of the cone that is used not defined.
        total = np.hypot(f_n, f_t)
        loaded = int(np.max(np.flatnonzero(total > RELEASE_FORCE * physics["weight"]), initial=0)) + 1
        left = {"release_force": float(total[-1])}
        f_n, f_t, moment = f_n[:loaded], f_t[:loaded], moment[:loaded]
    with np.errstate(divide="ignore", invalid="ignore"):
        friction = np.where(f_t > 0, f_t / (physics["friction"] * np.maximum(f_n, 0.0)), 0.0)
        torsion = np.zeros_like(f_n)
        if physics["torsional"] > 0:
            torsion = np.abs(moment) / (physics["torsional"] * np.maximum(f_n, 0.0))
    return {
        "friction_use": float(np.max(friction)),
        "torsional_use": float(np.max(torsion)),
        "normal_force_min": float(np.min(f_n)),
        **left,
    }


def _worse(a: dict[str, float], b: dict[str, float]) -> dict[str, float]:
    return {name: (min if name == "normal_force_min" else max)(a.get(name, value), value) for name, value in b.items()}


def best_of(before: Judgement | None, now: Judgement) -> Judgement:
    """Return the better of two attempts: by status, then by goal error, then by violated constraints."""
    if before is None:
        return now

    def key(j: Judgement) -> tuple[float, ...]:
        r = j.residuals
        values = (r["goal_position_error"] if j.feasible else 0.0, r["constraint_violation"])
        return (-_RANK.get(j.status, 0), *(v if np.isfinite(v) else np.inf for v in values))

    return now if key(now) <= key(before) else before


def start_fault(formulation: Formulation) -> str:
    """Return why no motion can begin at the start, or nothing.

    The start slips, is outside a bound of a state, or no input within its bounds keeps the contact's limits there.
    """
    slip = _slip(formulation)
    if slip > _SLIP:
        return f"the start slips at {slip:.3g} m/s"
    if formulation.task.start_velocities == "free":
        return ""
    phase = formulation.reduction.phase
    x0 = formulation.reduction.start
    outside = np.flatnonzero((x0 < phase.x_bounds[0] - 1e-9) | (x0 > phase.x_bounds[1] + 1e-9))
    if outside.size:
        i = int(outside[0])
        low, high = (bound[i] for bound in phase.x_bounds)
        return f"{_state_name(formulation, i)} is {x0[i]:.4g} at the start, which must be from {low:.4g} to {high:.4g}"
    return _no_input(formulation, x0)


def _no_input(formulation: Formulation, x0: FloatArray) -> str:
    """Return which limit of the path no input keeps at the start, or nothing."""
    phase = formulation.reduction.phase
    if not phase.path:
        return ""
    path = ca.Function("path", [phase.x, phase.u], [ca.vertcat(*(ca.vec(c.expression) for c in phase.path))])
    lower = np.concatenate([np.asarray(c.lower) for c in phase.path])
    upper = np.concatenate([np.asarray(c.upper) for c in phase.path])
    names = [c.name for c in phase.path for _ in range(c.size)]

    def outside(u: FloatArray) -> FloatArray:
        value = np.asarray(path(x0, u)).ravel()
        return np.maximum(np.maximum(lower - value, value - upper), 0.0)

    if np.max(outside(np.zeros(phase.nu))) <= 1e-9:
        return ""
    u, scale = ca.SX.sym("u", phase.nu), np.where(np.isfinite(phase.u_bounds[1]), phase.u_bounds[1], 1.0)
    t = ca.SX.sym("t")
    value = path(x0, u)
    rows = ca.vertcat(*(value[i] + t - lower[i] for i in range(len(lower)) if np.isfinite(lower[i])),
                      *(upper[i] + t - value[i] for i in range(len(upper)) if np.isfinite(upper[i])))  # fmt: skip
    least = ca.nlpsol(
        "least", "ipopt", {"x": ca.vertcat(u, t), "f": t + 1e-6 * ca.sumsqr(u / scale), "g": rows},
        {"ipopt": {"print_level": 0, "sb": "yes"}, "print_time": False, "error_on_fail": False},
    )  # fmt: skip
    bounds = {"lbx": [*phase.u_bounds[0], 0.0], "ubx": [*phase.u_bounds[1], np.inf], "lbg": 0.0, "ubg": np.inf}
    found = np.asarray(least(x0=[*np.zeros(phase.nu), float(np.max(outside(np.zeros(phase.nu))))], **bounds)["x"])
    left = outside(found.ravel()[:-1])
    worst = int(np.argmax(left))
    if left[worst] <= 1e-6:
        return ""
    value = np.asarray(path(x0, found.ravel()[:-1])).ravel()
    # Least is the largest of all: what is nearly as far outside stands in the way as well.
    rows = {names[i]: i for i in np.flatnonzero(left > left[worst] / 2)} | {names[worst]: worst}
    kept = [f"'{name}' ({value[i]:.4g}, from {lower[i]:.4g} to {upper[i]:.4g})" for name, i in rows.items()]
    return f"no input keeps the limit {' and '.join(kept)} at the start"


def _slip(formulation: Formulation) -> float:
    task = formulation.task
    slip = touch_function(task.pair.system, task.start.atlas, 0)(task.start.x)[1]
    return float(np.linalg.norm(np.asarray(slip)))


def _state_name(formulation: Formulation, number: int) -> str:
    full = int(formulation.reduction.states[number])
    if formulation.arm is not None and full < 0:
        joints = formulation.arm.arm.joints
        what = "joint" if number < len(joints) else "the rate of joint"
        return f"{what} {joints[number if number < len(joints) else number - len(formulation.arm.states)]}"
    return next(f"{k}[{full - w.start}]" for k, w in formulation.model.layout.items() if w.start <= full < w.stop)
