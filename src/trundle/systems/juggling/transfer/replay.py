"""Replay: a plan's inputs simulated accurately, by means that know nothing of the transcription."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.models.rigid_body import SampledMotion
from trundle.models.tree.conversion import pose_of, to_matrix, to_wxyz
from trundle.models.tree.system import ContactSystem, Start
from trundle.numerics.ode.step import rk4_step
from trundle.optimal.transcription.transcription import NodeTrajectory
from trundle.records import Trajectory
from trundle.simulate import simulate
from trundle.systems.juggling.transfer.formulation import Formulation
from trundle.systems.juggling.transfer.goal import HandInstant, names_of

SPACING = 2e-3
"""Longest time (s) between samples of a reference."""

_STEP = 1e-3  # s: longest half step


@dataclass(frozen=True)
class Dense:
    """An accurate motion in rolling coordinates: times (n,), full states (n, n_x) and inputs (n, n_u) of the twin.

    ``starts`` (N + 1,) says which samples are the nodes; `x` and `u` are the states and inputs that are planned.
    """

    times: FloatArray
    states: FloatArray
    inputs: FloatArray
    starts: np.ndarray
    x: FloatArray
    u: FloatArray


class Replayer:
    """Replays of one transfer (final); what is built and compiled is shared by them.

    Parameters
    ----------
    formulation : Formulation
    """

    def __init__(self, formulation: Formulation) -> None:
        self.formulation = formulation
        self._system: ContactSystem | None = None
        phase = formulation.reduction.phase
        self._step = _rk4_step(ca.Function("f", [phase.x, phase.u], [phase.rate], {"cse": True}))

    def dense(self, arc: NodeTrajectory) -> Dense:
        """Return the motion from the start under the inputs of `arc` (reduced, linear between its nodes)."""
        times, starts = _fine_times(arc.times)
        u = arc.at(times).u
        x = _integrate_steps(self._step, arc.x[0], times, u)
        states, inputs = self.formulation.reduction.full(x, u)
        return Dense(times, states, inputs, starts, x, u)

    def local_errors(self, arc: NodeTrajectory, lengths: FloatArray) -> FloatArray:
        """Return the error (N,) each interval of the transcription adds: its end state against an accurate one's.

        The largest over the states, each over its scale in `lengths` (n_x,).
        """
        h = np.diff(arc.times)
        count = int(np.ceil(float(np.max(h)) / (2 * _STEP)))
        x = arc.x[:-1].T
        for i in range(count):
            share = np.array([i, i + 1]) / count
            u = [(arc.u[:-1] * (1 - s) + arc.u[1:] * s).T for s in share]
            x = np.asarray(self._step(x, u[0], u[1], h[None, :] / count))
        return np.max(np.abs(x.T - arc.x[1:]) / lengths, axis=1)

    def simulate_arc(self, arc: NodeTrajectory) -> Trajectory:
        """Return the run of the user's own pair, in the user's coordinates, under the inputs of `arc`."""
        task = self.formulation.task
        if self.formulation.arm is None:
            motion = SampledMotion(arc.times, self.formulation.reduction.full(arc.x, arc.u)[1])
        else:  # the joints' accelerations are linear between nodes, those of the hand are not
            dense = self.dense(arc)
            motion = SampledMotion(dense.times, dense.inputs)
        if self._system is None:
            base = replace(task.pair.base, motion=motion)
            pair = replace(task.pair, base=base, on_slip="ignore", on_separation="ignore")
            self._system = pair.system
        else:
            self._system = self._system.with_motions(dict.fromkeys(self._system.motions, motion))
        length = float(arc.times[-1])
        return simulate(self._system, self.start(arc), length, output_step=min(SPACING, length / 10))

    def start(self, arc: NodeTrajectory) -> Start:
        """Return the start of the user's pair: the task's, or the one with the velocities that the plan chose."""
        formulation, task = self.formulation, self.formulation.task
        if task.start_velocities == "given":
            return task.start
        now = formulation.instant(formulation.reduction.full(arc.x[:1], arc.u[:1])[0][0])
        pair = replace(task.pair, base=replace(task.pair.base, twist=now.hand_twist))
        if task.d == 3:
            return pair.place(
                contact_on_hand=now.on_hand, object_quaternion=to_wxyz(now.R), object_angular_velocity=now.w
            )
        turned = pose_of(task.pair.system.model(task.start.atlas), task.start.x, names_of(task)[0])[0]
        angle = float(np.arctan2(turned[1, 0], turned[0, 0]))
        return pair.place(contact_on_hand=now.on_hand, object_angle=angle, object_angular_velocity=float(now.w[0]))

    def goal_errors(self, run: Trajectory) -> dict[str, float]:
        """Return `Formulation.goal_errors` of a run of the user's pair."""
        return self.formulation.goal_errors(self._instant(run, 0), self._instant(run, -1))

    def _instant(self, run: Trajectory, sample: int) -> HandInstant:
        def at(name: str) -> FloatArray:
            return np.asarray(run[name][sample])

        R, R_hand = to_matrix(at("object_quaternion")), to_matrix(at("hand_quaternion"))
        w, v = at("object_angular_velocity"), at("object_velocity")
        w_hand, v_hand = at("hand_angular_velocity"), at("hand_velocity")
        on_hand, p_hand = at("contact_on_hand"), at("hand_position")
        if self.formulation.task.d == 3:
            return HandInstant(on_hand, R, R_hand, p_hand, w, v, np.concatenate([R_hand.T @ w_hand, R_hand.T @ v_hand]))
        # Recorded in space, as x and z; counter-clockwise there is about -y.
        R, R_hand = R[::2, ::2], R_hand[::2, ::2]
        twist = np.concatenate([-w_hand[1:2], R_hand.T @ v_hand[::2]])
        return HandInstant(on_hand[::2], R, R_hand, p_hand[::2], -w[1:2], v[::2], twist)


def _fine_times(nodes: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Return times with at least the nodes among them, at most `SPACING` apart, and where the nodes are."""
    parts, starts = [], [0]
    for a, b in pairwise(nodes):
        count = int(np.ceil((b - a) / SPACING - 1e-9))
        parts.append(a + (b - a) * np.arange(count) / count)
        starts.append(starts[-1] + count)
    return np.concatenate([*parts, nodes[-1:]]), np.array(starts)


def _rk4_step(f: ca.Function) -> ca.Function:
    """Return (x, u0, u1, h) -> x after two steps of RK4 with the input linear from u0 to u1."""
    x, h = ca.MX.sym("x", f.size1_in(0)), ca.MX.sym("h")
    u0, u1 = ca.MX.sym("u0", f.size1_in(1)), ca.MX.sym("u1", f.size1_in(1))
    state = x
    for half in range(2):
        a, b = u0 + (u1 - u0) * half / 2, u0 + (u1 - u0) * (half + 1) / 2
        inputs = {0.0: a, 0.5: (a + b) / 2, 1.0: b}
        state = rk4_step(lambda x, s, u=inputs: f(x, u[s]), state, h / 2)
    return ca.Function("step", [x, u0, u1, h], [state])


def _integrate_steps(step: ca.Function, x0: FloatArray, times: FloatArray, u: FloatArray) -> FloatArray:
    """Return states (n, n_x) at `times` (n,)."""
    run = step.mapaccum("run", len(times) - 1)
    found = np.asarray(run(x0, u[:-1].T, u[1:].T, np.diff(times)[None, :])).T
    return np.vstack([x0, found])
