"""Limit cycles of passive walkers: periodic strides by collocation, judged by the accurate stride map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray, array, integer, positive
from trundle.errors import InputError, SimulationError
from trundle.numerics.nlp.nlp import solve
from trundle.numerics.ode.ode import Integration, Integrator, OdeSystem
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem, PhaseLinkage
from trundle.optimal.transcription.transcription import NodeTrajectory, Transcription
from trundle.status import Status
from trundle.systems.planar.passive_walker import AHEAD, PassiveWalker
from trundle.threads import cached_property

LEAST_ANGLE = 0.05
"""Smallest stance angle (rad) of a cycle that is looked for: standing still is a cycle of angle zero."""

STEADY, TWIN = (2.1, 3.0), (1.6, 2.1)
"""Durations, in sqrt(leg/gravity), between which the stable cycle and its unstable twin are looked for."""

_TOLERANCE = 1e-12  # relative, of a stride's integration
_CLOSED = 1e-9  # of a state: a stride that returns to its start
_LONGEST = 10.0  # units of time, sqrt(leg/gravity), of a stride
_FALLEN = 1.2  # rad of the stance leg
_NEWTON = 20  # steps of Newton's method at most


@final
@dataclass(frozen=True, eq=False)
class LimitCycle:
    """A stride that repeats itself.

    Attributes
    ----------
    status : Status
        SUCCESS only if the accurate stride map gives the start back to 1e-9 and the ground never pulls.
    start : (3,)
        (a, w1, w2) just after touch-down: stance angle (rad; the swing leg is at -a) and rates (rad/s).
    duration : float, s
        Of a stride.
    multipliers : (4,) complex
        Floquet multipliers, the largest first: eigenvalues of the derivative of the stride map.
    derivative : (4, 4)
        Of the stride map in y.
    times, states : (N + 1,) s, (N + 1, 4)
        Nodes of the collocation.
    difference : float
        Largest difference of the collocation's start (times sqrt(leg/gravity) where a rate) and of its duration
        over sqrt(leg/gravity), from the accurate ones.
    iterations : int
        Of the nonlinear program.
    """

    status: Status
    start: FloatArray
    duration: float
    multipliers: NDArray[np.complex128]
    derivative: FloatArray
    times: FloatArray
    states: FloatArray
    difference: float
    iterations: int

    @property
    def largest(self) -> float:
        """Magnitude of the largest multiplier: below 1, the cycle is stable."""
        return float(np.max(np.abs(self.multipliers)))


@final
@dataclass(frozen=True, eq=False)
class StrideMap:
    """The map from one state just after touch-down to the next, by accurate integration.

    Parameters
    ----------
    walker : PassiveWalker
    """

    walker: PassiveWalker

    @cached_property
    def _margins(self) -> ca.SX:
        """Positive until the swing foot lands (its gap, or what it lacks to be ahead), or the stance leg falls."""
        walker = self.walker
        landing = ca.fmax(walker.gap, AHEAD * walker.leg - walker.ahead)
        return ca.vertcat(landing, _FALLEN - ca.fabs(walker.y[0]))

    @cached_property
    def _integrator(self) -> Integrator:
        """Of y, with the landing as event."""
        return self._make_integrator(self.walker.y, self.walker.rate)

    @cached_property
    def _with_slopes(self) -> Integrator:
        """Of y and of its derivative Phi by the start, Phi' = (df/dy) Phi."""
        y, rate = self.walker.y, self.walker.rate
        Phi = ca.SX.sym("Phi", 4, 4)
        slopes = ca.jacobian(rate, y) @ Phi
        return self._make_integrator(ca.vertcat(y, ca.vec(Phi)), ca.vertcat(rate, ca.vec(slopes)))

    def _make_integrator(self, x: ca.SX, rate: ca.SX) -> Integrator:
        t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
        system = OdeSystem(
            rate=ca.Function("rate", [t, x, p], [rate], {"cse": True}),
            margins=ca.Function("margins", [t, x, p], [self._margins], {"cse": True}),
        )
        return Integrator(system)

    @cached_property
    def _ends(self) -> ca.Function:
        """Y -> what is needed at touch-down: y+, its derivative, the gap's derivative, y', impulse."""
        walker = self.walker
        after, impulse = walker.touch_down
        slopes = ca.jacobian(after, walker.y), ca.jacobian(walker.gap, walker.y)
        return ca.Function("ends", [walker.y], [after, *slopes, walker.rate, impulse])

    def _strode(self, integrator: Integrator, x: FloatArray) -> Integration:
        done = integrator.integrate(
            0.0, x, _LONGEST * self.walker.time_unit, np.zeros(0), relative_tolerance=_TOLERANCE,
            absolute_tolerance=_TOLERANCE * 1e-2,
        )  # fmt: skip
        if done.event != 0 or done.status is not Status.SUCCESS:
            raise SimulationError(f"the walker fell: no touch-down within {done.t_end:.3g} s", Status.FAILED)
        return done

    def step(self, y: FloatArray) -> tuple[FloatArray, float]:
        """Return the state (4,) just after the next touch-down and the duration (s) until then.

        Raises
        ------
        SimulationError
            If the stance leg falls (1.2 rad) or the swing foot never lands.
        """
        done = self._strode(self._integrator, array("y", y, (4,)))
        return np.asarray(self._ends(done.x_end)[0]).ravel(), done.t_end

    def derivative(self, y: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Return (next state (4,), duration s, derivative (4, 4)).

        With y+ = D(y-), the instant t* given by g(y-) = 0 and Phi = dy(t*)/dy0:
        dy+/dy0 = D' (I - f g'/(g' f)) Phi.
        """
        done = self._strode(self._with_slopes, np.concatenate([array("y", y, (4,)), np.eye(4).ravel()]))
        after, D, g, f, _ = (np.asarray(v) for v in self._ends(done.x_end[:4]))
        Phi = done.x_end[4:].reshape(4, 4, order="F")
        closing = float((g @ f)[0, 0])
        if not closing < 0.0:
            raise SimulationError("the swing foot touches the ground without speed", Status.NOT_FINITE)
        at_landing = np.eye(4) - f @ g / closing
        return after.ravel(), done.t_end, D @ at_landing @ Phi


def stride_problem(walker: PassiveWalker, durations: tuple[float, float]) -> OptimalControlProblem:
    """Return the problem of a periodic stride: the stance foot rolls, the swing foot lands, the legs swap.

    Unknown are y(t) and the duration between `durations` (s). The end obeys gap = 0, and the impact of the end is the
    start. The cost is zero: as many equations as unknowns.
    """
    after, _ = walker.touch_down
    y_end, y_start = ca.SX.sym("y_end", 4), ca.SX.sym("y_start", 4)
    repeats = ca.substitute(after, walker.y, y_end) - y_start
    phase = Phase(
        name="stride",
        x=walker.y,
        u=ca.SX(0, 1),
        rate=walker.rate,
        duration=durations,
        start=[Condition("stance leg ahead", walker.y[0], LEAST_ANGLE, np.inf)],
        end=[Condition("swing foot on the ground", walker.gap / walker.leg)],
    )
    return OptimalControlProblem([phase], [PhaseLinkage(0, 0, y_end, y_start, Condition("repeats", repeats))])


def limit_cycle(
    walker: PassiveWalker,
    durations: tuple[float, float] = STEADY,
    *,
    nodes: int = 30,
    angle: float = 0.27,
    tolerance: float = 1e-9,
) -> LimitCycle:
    """Find a stride that repeats itself: Hermite-Simpson, then Newton's method on the accurate stride map.

    Parameters
    ----------
    walker : PassiveWalker
    durations : (low, high)
        Between which it is looked for, in sqrt(leg/gravity); `STEADY` has the stable cycle and `TWIN` its unstable
        twin on gentle slopes.
    nodes : int
        Intervals.
    angle : float, rad
        Stance angle of the guess, a straight line.
    tolerance : float
        Of the nonlinear program.

    Raises
    ------
    InputError
        If an argument is out of range.
    SimulationError
        If no cycle was found.
    """
    count, unit = integer("nodes", nodes, minimum=4, maximum=10_000), walker.time_unit
    low, high = array("durations", durations, (2,), above=0.0)
    if low >= high:
        raise InputError("durations", durations, "ascending (sqrt(leg/gravity))")
    a = positive("angle", angle, "rad")
    problem = stride_problem(walker, (low * unit, high * unit))
    transcription = Transcription(problem, [np.linspace(0.0, 1.0, count + 1)])
    length = (low + high) / 2 * unit
    share = np.linspace(0.0, 1.0, count + 1)
    angles = np.outer(1 - 2 * share, [a, -a])
    rates = np.tile([-2 * a / length, 2 * a / length], (count + 1, 1))
    guess = NodeTrajectory(share * length, np.hstack([angles, rates]), np.zeros((count + 1, 0)))
    solution = solve(transcription.program, transcription.pack([guess]), tolerance=tolerance)
    if solution.status is not Status.SUCCESS:
        raise SimulationError(f"no periodic stride: {solution.worst}", solution.status)
    (arc,) = transcription.unpack(solution.z)
    return _judge_cycle(walker, arc, solution.iterations)


def _judge_cycle(walker: PassiveWalker, arc: NodeTrajectory, iterations: int) -> LimitCycle:
    """Return the cycle next to the collocation's, of the accurate stride map."""
    strides, unit = StrideMap(walker), walker.time_unit
    y = arc.x[0]
    for _ in range(_NEWTON):
        after, duration, derivative = strides.derivative(y)
        change = np.linalg.lstsq(derivative - np.eye(4), y - after, rcond=1e-12)[0]
        y = y + change
        y[1] = -y[0]
        if float(np.max(np.abs(change))) < 1e-13:
            break
    after, duration, derivative = strides.derivative(y)
    scale = np.array([1.0, 1.0, unit, unit])
    closed = float(np.max(np.abs(after - y) * scale)) <= _CLOSED
    values = np.asarray(np.linalg.eigvals(derivative), dtype=np.complex128)
    difference = max(float(np.max(np.abs((arc.x[0] - y) * scale))), abs(float(arc.times[-1]) - duration) / unit)
    return LimitCycle(
        status=Status.SUCCESS if closed and _pushes(walker, arc.x) else Status.FAILED,
        start=y[[0, 2, 3]],
        duration=duration,
        multipliers=values[np.argsort(-np.abs(values))],
        derivative=derivative,
        times=arc.times,
        states=arc.x,
        difference=difference,
        iterations=iterations,
    )


def _pushes(walker: PassiveWalker, states: FloatArray) -> bool:
    """Whether the ground pushes everywhere along the states (N, 4), in the cone, also at touch-down."""
    force = np.asarray(ca.Function("force", [walker.y], [walker.force])(states.T))
    impulse = np.asarray(ca.Function("impulse", [walker.y], [walker.touch_down[1]])(states[-1])).ravel()
    both = np.column_stack([force, impulse])
    return bool(np.all(both[1] > 0) and np.all(np.abs(both[0]) <= walker.friction * both[1]))
