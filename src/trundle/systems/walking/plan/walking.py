"""Planning of a walk: the built-in guess, the solution and its unpacking."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.nlp.nlp import Iterate, Multipliers, ProgramSolution, solve
from trundle.optimal.transcription.transcription import MIDPOINT, NodeTrajectory, Transcription
from trundle.status import Status
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.landing import SPAN
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.gait.stepping import GaitStepping
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.plan.measured import fitted_guess
from trundle.systems.walking.plan.plan import WalkPlan
from trundle.systems.walking.robots.avatar import Avatar, build_avatar

AnySteps = GaitStepping[Gait] | GaitStepping[RobotGait]
Impact = dict[str, str | float | dict[str, list[list[float]]]]
Statistics = dict[str, float | str | list[float] | list[Impact]]
TOLERANCE = 1e-7  # scaled, of the nonlinear program
OPTIONS = {
    "mumps_pivot_order": 5, "mumps_permuting_scaling": 0, "mumps_scaling": 0, "mumps_mem_percent": 100,
    "constr_viol_tol": 1e-9,
}  # fmt: skip
"""METIS: a fourth of the time of MUMPS' own choice. Ten times the memory needed is a tenth slower than twice. The
equations are scaled; with MUMPS' scaling as well steps are so wrong that fine grids and torques alone do not converge.
Forces count in weights: 1e-9 of one is 1e-6 N."""
_PUSHES = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
_NEIGHBOUR = {"mu_strategy": "adaptive", **{f"warm_start_{push}": 1e-2 for push in _PUSHES}}
"""A neighbour's bounds are hit elsewhere: closer to them the solver takes half as many iterations again."""


def plan_walk(
    gait: Gait,
    avatar: Avatar | None = None,
    guess: WalkPlan | None = None,
    *,
    max_iterations: int = 400,
    perturbation: float = 0.0,
    seed: int = 0,
    walking: Walking | None = None,
    made: Transcription | None = None,
    progress: Callable[[Iterate], bool | None] | None = None,
) -> WalkPlan:
    """Return the optimal walk of `avatar` (default: the man of the table).

    Parameters
    ----------
    gait : Gait
    guess : WalkPlan, optional
        A neighbour (another speed or slope, another grid) to start from; the built-in crude guess otherwise.
    perturbation : float
        Standard deviation of noise on joint angles of the guess, rad, for many starts; drawn from `seed`.
    walking : Walking, optional
        The problem, where it was built already from the same avatar and gait.
    made : Transcription, optional
        Its transcription, where it was made already by `transcribe`.
    progress : callable, optional
        Called with each `Iterate`; returning False stops.

    Raises
    ------
    InputError
        If the guess has other joints or phases.
    """
    began = time.perf_counter()
    walking = walking or Walking(avatar or build_avatar(), gait)
    arcs = crude_guess(walking) if guess is None else neighbour(walking, guess)
    if guess is None and walking.tracking is not None:
        arcs = fitted_guess(walking, arcs)
    return optimal_steps(
        walking,
        arcs,
        guess if perturbation == 0.0 else None,
        max_iterations=max_iterations,
        perturbation=perturbation,
        seed=seed,
        made=made,
        progress=progress,
        began=began,
    )


def optimal_steps(
    walking: AnySteps,
    arcs: list[NodeTrajectory],
    near: WalkPlan | None = None,
    *,
    max_iterations: int = 400,
    perturbation: float = 0.0,
    seed: int = 0,
    made: Transcription | None = None,
    progress: Callable[[Iterate], bool | None] | None = None,
    began: float | None = None,
) -> WalkPlan:
    """Return the optimal steps from a guess of them, or from a plan on the same grid that is `near`; see `plan_walk`.

    ``began`` is when building began, by `time.perf_counter`.
    """
    begun = time.perf_counter() if began is None else began
    made = made or transcribe(walking)
    z0 = made.pack(_noisy(arcs, walking, perturbation, seed))
    options, multipliers, rows = dict[str, str | float](OPTIONS), None, made.program.rows
    if near is not None and (len(near.z), len(near.dual)) == (len(z0), rows + len(z0)):
        z0, multipliers = near.z, Multipliers(near.dual[:rows], near.dual[rows:])
        options |= _NEIGHBOUR
    built = time.perf_counter() - begun
    solution = solve(
        made.program,
        z0,
        tolerance=TOLERANCE,
        max_iterations=max_iterations,
        multipliers=multipliers,
        progress=progress,
        options=options,
    )
    return _unpack_solution(walking, made, solution, built)


def transcribe(walking: AnySteps) -> Transcription:
    """Return the program of a walk."""
    return Transcription(walking.problem, meshes(walking), MIDPOINT)


def meshes(walking: AnySteps) -> list[FloatArray]:
    """Return the even mesh of each phase."""
    single, double = walking.gait.intervals
    shares = [support.swing for support in walking.supports]
    counts = [double if share is None else max(2, round(single * (share[1] - share[0]))) for share in shares]
    return [np.linspace(0.0, 1.0, count + 1) for count in counts]


def crude_guess(walking: Walking) -> list[NodeTrajectory]:
    """Return legs that swing by 22 degrees each way in half a second, knees that bend, and a base that glides."""
    gait, arcs, begin = walking.gait, [], 0.0
    single, double = (float(np.clip(t, *b)) for t, b in ((0.45, gait.single), (0.1, gait.double)))
    step = single + double
    for support, mesh in zip(walking.supports, meshes(walking), strict=True):
        times = mesh * (double if support.swing is None else single * (support.swing[1] - support.swing[0]))
        shares = (begin + times) / step
        q = np.array([_posture(walking, s) for s in shares])
        nu = np.array([(_posture(walking, s + 1e-4) - _posture(walking, s - 1e-4)) / (2e-4 * step) for s in shares])
        nu[:, 0] += gait.speed
        u, places = np.zeros((len(mesh) - 1, walking.problem.phases[0].nu)), walking.places()
        for side, mode in support.stances.items():
            where, points = places[f"force-{side}-{mode}"], len(walking.stances[side, mode].points)
            u[:, where.start + 2 : where.stop : 3] = 1.0 / len(support.stances) / points
        arcs.append(NodeTrajectory(times, walking.states(q, nu), u))
        begin += times[-1]
    return arcs


def _posture(walking: Walking, share: float) -> FloatArray:
    """Return q at a time over that of a step; 1 is the mirror image of 0."""
    hip, lift = np.deg2rad(22.0) * np.cos(np.pi * share), np.deg2rad(45.0) * np.sin(np.pi * share) ** 2
    swings = {"left": int(np.floor(share)) % 2 == 1, "right": int(np.floor(share)) % 2 == 0}
    angles: dict[str, float] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        knee = np.deg2rad(10.0) + (lift if swings[side] else 0.0)
        angles |= {f"{side}_hip_pitch": -sign * hip, f"{side}_knee": knee, f"{side}_elbow": -0.4}
        angles |= {f"{side}_ankle_pitch": sign * hip - knee, f"{side}_shoulder_pitch": 0.5 * sign * hip}
    q = np.zeros(walking.n)
    q[2] = walking.avatar.base_height - 0.03
    for name, angle in angles.items():
        q[6 + walking.joints.index(name)] = angle
    return q


def neighbour(walking: Walking, plan: WalkPlan) -> list[NodeTrajectory]:
    """Return the arcs of another plan; its forces and multipliers on this grid."""
    if plan.joints != walking.joints or len(plan.phases) != len(walking.supports):
        raise InputError("guess", plan.phases, "a plan of the same avatar with the same phases")
    if plan.settings.get("gait", {}).get("sole") != walking.gait.sole:
        raise InputError(
            "guess", plan.settings.get("gait", {}).get("sole"), f"a plan with the sole {walking.gait.sole}"
        )
    arcs, places, contacts = [], walking.places(), list(walking.soles)
    for number, support in enumerate(walking.supports):
        within = np.flatnonzero((plan.phase == number) & (np.diff(plan.times) > 0))
        nodes = np.append(within, within[-1] + 1)
        times = plan.times[nodes] - plan.times[nodes[0]]
        x = walking.states(plan.q[nodes], plan.nu[nodes])
        speed = plan.length / plan.duration
        x[:, 0] -= speed * plan.times[nodes]
        x[:, walking.n] += walking.gait.speed - speed
        u = np.zeros((len(within), walking.problem.phases[0].nu))
        u[:, places["acceleration"]] = plan.acceleration[within]
        u[:, places["torque"]] = plan.torque[within] / walking.references
        for side, mode in support.stances.items():
            where = places[f"force-{side}-{mode}"]
            points = len(walking.stances[side, mode].points)
            share = plan.force[within, contacts.index(side)] / walking.weight / points
            u[:, where] = np.tile(share, (1, points))
        arcs.append(NodeTrajectory(times, x, u))
    return arcs


def _noisy(arcs: list[NodeTrajectory], walking: AnySteps, sigma: float, seed: int) -> list[NodeTrajectory]:
    if sigma == 0.0:
        return arcs
    rng = np.random.default_rng(seed)
    offset = np.zeros(walking.x.numel())
    offset[6 : walking.n] = sigma * rng.normal(size=walking.n - 6)
    stretch = float(np.exp(0.2 * rng.normal()))
    return [NodeTrajectory(arc.times * stretch, arc.x + offset, arc.u) for arc in arcs]


def _unpack_solution(walking: AnySteps, made: Transcription, solution: ProgramSolution, built: float) -> WalkPlan:
    arcs, places, n = made.unpack(solution.z), walking.places(), walking.n
    points, contacts = _points(walking), list(walking.soles)
    parts: dict[str, list[FloatArray]] = {name: [] for name in ("times", "q", "nu", "acceleration", "torque")}
    act: dict[str, list[FloatArray]] = {name: [] for name in ("force", "moment", "point", "standing", "phase")}
    begin = 0.0
    for number, (arc, support) in enumerate(zip(arcs, walking.supports, strict=True)):
        # An impact is an interval of no length between the rates before and after it.
        ends = number == len(arcs) - 1 or walking.lands(number + 1)
        lasting = np.arange(len(arc.u))
        held = np.insert(lasting, 0, 0) if walking.lands(number) else lasting
        times, x = begin + arc.times, arc.x.copy()
        x[:, 0] += walking.speed * times
        for name, values in (("times", times), ("q", x[:, :n]), ("nu", x[:, n : 2 * n])):
            parts[name].append(values[: None if ends else -1])
        parts["acceleration"].append(arc.u[held][:, places["acceleration"]])
        parts["torque"].append(arc.u[held][:, places["torque"]] * walking.references)
        middle = (x[1:] + x[:-1]) / 2
        wrench = {name: np.zeros((len(arc.u), len(contacts), 3)) for name in ("force", "moment", "point")}
        for side, mode in support.stances.items():
            i = contacts.index(side)
            given = walking.weight * arc.u[:, places[f"force-{side}-{mode}"]]
            found = points[side, mode].map(len(middle))(middle.T, given.T)
            for name, value in zip(("force", "moment", "point"), found, strict=True):
                wrench[name][:, i] = np.array(value).T
        for name, value in wrench.items():
            act[name].append(value[held])
        stands = np.array([side in support.stances for side in contacts])
        act["standing"].append(np.tile(stands, (len(held), 1)))
        act["phase"].append(np.full(len(held), number))
        begin = times[-1]
    return WalkPlan(
        **{name: np.concatenate(values) for name, values in (parts | act).items()},
        phases=tuple(support.name for support in walking.supports),
        joints=walking.joints,
        mirror=walking.mirror if walking.gait.periodicity == "mirrored" else None,
        gravity=walking.gravity,
        status=_status(solution),
        statistics=_statistics(walking, made, solution, built),
        settings=walking.settings,
        z=solution.z,
        dual=np.concatenate([solution.multipliers.c, solution.multipliers.z]),
    )


def _statistics(walking: AnySteps, made: Transcription, solution: ProgramSolution, built: float) -> Statistics:
    statistics: Statistics = {
        "iterations": solution.iterations,
        "cost": solution.objective,
        "kkt_residual": solution.kkt_residual,
        "constraint_violation": solution.constraint_violation,
        "worst": solution.worst,
        "solver": solution.solver_status,
        "variables": made.program.size,
        "rows": made.program.rows,
        "build": built + solution.times["build"],
        "solve": solution.times["solve"],
        "evaluation": solution.times["evaluation"],
    }
    if walking.stretch.numel():
        statistics["stretch"] = made.unpack(solution.z)[0].x[0, 2 * walking.n :].tolist()
    if isinstance(walking, Walking) and walking.gait.impacts:
        statistics["impacts"] = _impacts(walking, made.unpack(solution.z), made.jumps(solution.z))
    return statistics


def _status(solution: ProgramSolution) -> Status:
    """Return the status: residuals relative to large multipliers do not tell a run cut short from an optimum."""
    cut = solution.solver_status == "Maximum_Iterations_Exceeded"
    return Status.ITERATION_LIMIT if cut and solution.status is Status.SUCCESS else solution.status


def _impacts(walking: Walking, arcs: Sequence[NodeTrajectory], jumps: Sequence[FloatArray]) -> list[Impact]:
    """Return each impact: the phase it begins, impulses (points, 3) N s of the feet, and the energy (J) it takes."""
    found = []
    model = walking.model
    energy = ca.Function("energy", [model.x], [model.energy()])
    for number, p in enumerate(jumps):
        if number + 1 == len(arcs) or not walking.lands(number + 1):
            continue
        support, at, impulses = walking.supports[number + 1], 0, {}
        for side, mode in support.stances.items():
            size = walking.stances[side, mode].size
            impulses[side] = (walking.weight * SPAN * p[at : at + size]).reshape(-1, 3).tolist()
            at += size
        before, after = (float(energy(x)) for x in (arcs[number].x[-1], arcs[number + 1].x[0]))
        found.append({"phase": support.name, "impulses": impulses, "energy": before - after})
    return found


def _points(walking: AnySteps) -> dict[tuple[str, str], ca.Function]:
    """Return (x, force (m,)) -> (force (3,), moment (3,), point (3,)) of each way a foot stands."""
    x, found = walking.x, {}
    for (side, mode), stance in walking.stances.items():
        given = ca.SX.sym("f", stance.size)
        found[side, mode] = ca.Function("act", [x, given], list(stance.wrench(given)))
    return found
