"""A walk by direct multiple shooting with constrained dynamics: a second transcription, for comparison."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from trundle.errors import InputError
from trundle.numerics.nlp.nlp import ProgramSolution, solve
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem
from trundle.optimal.transcription.transcription import CONSTRAINED, NodeTrajectory, Transcription
from trundle.systems.walking.gait.walking import GaitSupport, Walking
from trundle.systems.walking.plan.plan import WalkPlan
from trundle.systems.walking.plan.walking import OPTIONS, TOLERANCE, meshes, neighbour

_NEAR = {"mu_init": 1e-3, "bound_push": 1e-3, "bound_frac": 1e-3, "slack_bound_push": 1e-3}
"""The guess is nearly optimal."""


def eliminate_forces(walking: Walking) -> OptimalControlProblem:
    """Return the walk with torques as its only inputs.

    Accelerations a and the forces f of the feet that stand follow from

        M a + b = S'tau + J'f,   J a + gamma = 0,

    the material acceleration of the contact point being zero. A foot lands with zero gap and velocity; both then
    stay so but for the error of integration, so that nodes have no rows of their own. Grids must be fine: a body on
    rolling feet falls at rates up to 50 1/s, and near h = 2 / rate the implicit midpoint rule cannot be solved for
    what an interval does (8 + 4 intervals did not converge in 30 iterations).

    Raises
    ------
    InputError
        With a flat sole, whose forces the equations do not fix; with impacts or measurements.
    """
    gait = walking.gait
    if gait.sole != "rolling":
        raise InputError("sole", gait.sole, "'rolling': equations do not fix the forces of a flat sole")
    if gait.impacts:
        raise InputError("impacts", True, "False: feet that land at rest")
    if walking.tracking is not None:
        raise InputError("tracking", walking.tracking, "None: measurements are tracked by the midpoint rule alone")
    phases = [
        _shot(walking, phase, support) for phase, support in zip(walking.problem.phases, walking.supports, strict=True)
    ]
    return OptimalControlProblem(phases, walking.problem.links, mean=True)


def shoot(
    walking: Walking, guess: WalkPlan, max_iterations: int = 100
) -> tuple[ProgramSolution, tuple[NodeTrajectory, ...]]:
    """Return the optimal walk by multiple shooting, started from a plan of it: solution and arcs of (x, torques)."""
    made = Transcription(eliminate_forces(walking), meshes(walking), CONSTRAINED)
    torques = walking.places()["torque"]
    z0 = made.pack([replace(arc, u=arc.u[:, torques]) for arc in neighbour(walking, guess)])
    options = dict[str, str | float](OPTIONS) | _NEAR
    solution = solve(made.program, z0, tolerance=TOLERANCE, max_iterations=max_iterations, options=options)
    return solution, made.unpack(solution.z)


def _shot(walking: Walking, phase: Phase, support: GaitSupport) -> Phase:
    inputs, places, load = walking.inputs, walking.places(), walking.gait.load
    standing = [f"force-{side}-{mode}" for side, mode in support.stances.items()]
    implied = ["acceleration", *standing]
    absent = [name for name in inputs if name not in ("torque", *implied)]

    def present(expression: ca.SX) -> ca.SX:
        symbols = [inputs[name] for name in absent]
        return ca.substitute([expression], symbols, [ca.SX.zeros(symbol.shape) for symbol in symbols])[0]

    rate = present(phase.rate)
    slips = ca.vertcat(*(walking.stances[stance].velocities[0] for stance in support.stances.items()))
    bounds = [Condition(f"load {name}", inputs[name][2], -load, load) for name in standing]
    torque = places["torque"]
    return replace(
        phase,
        u=inputs["torque"],
        implied=ca.vertcat(*(inputs[name] for name in implied)),
        rate=rate,
        residual=ca.vertcat(present(phase.residual), ca.jtimes(slips, phase.x, rate)),
        running=present(phase.running),
        path=[replace(c, expression=present(c.expression)) for c in phase.path] + bounds,
        nodes=[c for c in phase.nodes if c.name.startswith("clearance")],
        u_bounds=(phase.u_bounds[0][torque], phase.u_bounds[1][torque]),
    )
