"""Iterative direct collocation as paper 2 prints it (VI, appendix C, table II), to be compared with `plan`."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, integer, non_negative, positive
from trundle.errors import InputError
from trundle.numerics.nlp.nlp import solve
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem
from trundle.optimal.transcription.transcription import NodeTrajectory, Transcription
from trundle.records import Trajectory
from trundle.status import Status
from trundle.systems.juggling.transfer.formulation import Formulation
from trundle.systems.juggling.transfer.goal import names_of
from trundle.systems.juggling.transfer.guess import built_in, perturb_guess
from trundle.systems.juggling.transfer.reduction import reduce_phase
from trundle.systems.juggling.transfer.replay import Replayer
from trundle.systems.juggling.transfer.transfer import Transfer
from trundle.threads import cached_property

TABLE_II = np.array([1.0] * 3 + [10.0] * 2 + [1000.0] * 2 + [10.0] + [1.0] * 3 + [10.0] * 5)
"""Weights: hand's angles (3), contact on object (2) and hand (2), spin, the hand's rates (3), contact rates (5)."""


@dataclass(frozen=True)
class Mesh:
    """One solution of the iteration: intervals, wall time (s), iterations, and ``|s(t_f) - s_goal|`` of its replay."""

    nodes: int
    wall_time: float
    iterations: int
    state_error: float
    status: Status


@dataclass(frozen=True, eq=False)
class PrintedPlan:
    """What the iteration came to: SUCCESS where the replayed state is within the tolerance of the goal."""

    status: Status
    meshes: tuple[Mesh, ...]
    arc: NodeTrajectory
    trajectory: Trajectory

    @property
    def wall_time(self) -> float:
        """Of all meshes, s."""
        return sum(mesh.wall_time for mesh in self.meshes)

    @property
    def figures(self) -> dict[str, float]:
        """What the paper prints, too: times (s) by the mesh's number and of all, meshes, error of the state."""
        times = {f"printed_time_{k}": mesh.wall_time for k, mesh in enumerate(self.meshes, 1)}
        last = {"printed_meshes": float(len(self.meshes)), "printed_state_error": self.meshes[-1].state_error}
        return times | {"printed_time": self.wall_time} | last


@dataclass(frozen=True, eq=False)
class PrintedCollocation:
    """Trapezoid collocation with a soft goal, N -> 2N, the first mesh with Q, the others without.

    The cost is (s(t_f) - s_goal)' P1 (s(t_f) - s_goal) / 2 + int (s - s_des)' Q (s - s_des) / 2 + u' R u / 2 with s_des
    linear from start to goal. The state s is the paper's, hand angles, contact coordinates, the hand's angular velocity
    and the contact's rates; the charts are those of `plan`, stereographic on a ball, where the paper's has poles.

    Parameters
    ----------
    task : Transfer
        In space, to a given pose of the object; its weights are not used.
    nodes, iterations : int
        Intervals of the first mesh; meshes at most.
    tolerance : float
        Of ``|s(t_f) - s_goal|`` after an accurate replay.
    P1, Q : (16,)
        Diagonals.
    R : float
    sigma : float
        Error put on the stationary guess: with exact derivatives the exact one stays on a symmetric line.

    Raises
    ------
    InputError
        If a number is out of range or the task has no state as its goal.
    """

    task: Transfer
    nodes: int = 50
    iterations: int = 4
    tolerance: float = 0.1
    P1: ArrayLike = field(default_factory=lambda: 1000.0 * TABLE_II)
    Q: ArrayLike = field(default_factory=lambda: TABLE_II / 100.0)
    R: float = 1e-3
    sigma: float = 1e-2

    def __post_init__(self) -> None:
        if self.task.d != 3 or self.formulation.goal is None:
            raise InputError("task", self.task, "a Transfer in space to a contact_on_hand and an object_quaternion")
        integer("nodes", self.nodes, minimum=2)
        integer("iterations", self.iterations, minimum=1, maximum=10)
        positive("tolerance", self.tolerance)
        for name in ("P1", "Q"):
            array(name, getattr(self, name), (len(TABLE_II),), minimum=0.0)
        non_negative("R", self.R)
        non_negative("sigma", self.sigma)

    @cached_property
    def formulation(self) -> Formulation:
        """The transfer in rolling coordinates."""
        return Formulation(self.task)

    @cached_property
    def _state(self) -> ca.SX:
        """The paper's state (16,) as an expression of the model's."""
        model, (body, hand) = self.formulation.model, names_of(self.task)
        where = model.layout
        q0, q1, q2, q3 = ca.vertsplit(model.x[where[f"{hand}.orientation"]])
        angles = ca.vertcat(
            ca.atan2(2 * (q0 * q1 + q2 * q3), 1 - 2 * (q1**2 + q2**2)),
            ca.asin(2 * (q0 * q2 - q3 * q1)),
            ca.atan2(2 * (q0 * q3 + q1 * q2), 1 - 2 * (q2**2 + q3**2)),
        )
        places = [where[f"{model.constraints[0].name}.coordinates"], where[f"{body}.spin"]]
        q = ca.vertcat(*(model.x[place] for place in places))
        rates = ca.vertcat(*(self.formulation.dynamics.xdot[place] for place in places))
        return ca.vertcat(angles, q, model.x[where[f"{hand}.twist"]][:3], rates)

    @cached_property
    def _at(self) -> ca.Function:
        return ca.Function("s", [self.formulation.model.x, self.formulation.model.u], [self._state])

    def state(self, x: FloatArray) -> FloatArray:
        """Return the paper's state (16,) at a state of the model."""
        return np.asarray(self._at(x, np.zeros(self.formulation.model.u.shape[0]))).ravel()

    def phase(self, tracked: bool) -> Phase:
        """Return the printed problem, with Q or without; its last state is the share of the time that is over."""
        f = self.formulation
        start, goal = self.state(f.start), self.state(f.goal if f.goal is not None else f.start)
        share = ca.SX.sym("share")
        weights = np.asarray(self.Q if tracked else np.zeros(len(TABLE_II)), dtype=np.float64)
        off = self._state - ca.DM(start) - share * ca.DM(goal - start)
        missed = self._state - ca.DM(goal)
        running = (ca.dot(ca.DM(weights), off**2) + self.R * ca.sumsqr(f.phase.u)) / 2
        terminal = ca.dot(ca.DM(np.asarray(self.P1, dtype=np.float64)), missed**2) / 2
        whole = replace(
            f.phase,
            x=ca.vertcat(f.phase.x, share),
            rate=ca.vertcat(f.phase.rate, 1.0 / self.task.duration[1]),
            running=running,
            terminal=terminal,
            start=[*f.phase.start, Condition("share", share)],
            end=[],
            x_bounds=tuple(np.append(side, bound) for side, bound in zip(f.phase.x_bounds, (0.0, 1.0), strict=True)),
        )
        held = {i: 0.0 for i in range(f.model.u.shape[0]) if i not in self.task.hand_limits.components(3)}
        return reduce_phase(whole, np.append(f.start, 0.0), held).phase

    def solve(self) -> PrintedPlan:
        """Run the iteration from the stationary guess."""
        f, replayer = self.formulation, Replayer(self.formulation)
        goal = self.state(f.goal if f.goal is not None else f.start)
        arc = perturb_guess(built_in(f, "stationary", self.nodes), f, self.sigma, 0)
        meshes: list[Mesh] = []
        for k in range(self.iterations):
            begin = clock.perf_counter()
            times = np.linspace(0.0, 1.0, self.nodes * 2**k + 1)
            made = Transcription(OptimalControlProblem([self.phase(k == 0)]), [times], "trapezoid")
            shared = replace(arc, x=np.column_stack([arc.x, arc.times / arc.times[-1]]))
            found = solve(made.program, made.pack([shared]), max_iterations=500)
            arc = made.unpack(found.z)[0]
            arc = replace(arc, x=arc.x[:, :-1])
            fine = replayer.dense(arc).states[-1]
            error = float(np.linalg.norm(self.state(fine) - goal)) if np.all(np.isfinite(fine)) else np.inf
            meshes.append(Mesh(len(times) - 1, clock.perf_counter() - begin, found.iterations, error, found.status))
            if error < self.tolerance or found.status is Status.INTERRUPTED:
                break
        status = Status.SUCCESS if meshes[-1].state_error < self.tolerance else Status.GOAL_NOT_REACHED
        return PrintedPlan(status, tuple(meshes), arc, replayer.simulate_arc(arc))
