"""Stepping: phases in which some feet stand and others swing, tied into a cycle, by inverse dynamics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import pairwise
from typing import Generic, TypeVar

import casadi as ca
import numpy as np
from scipy.linalg import block_diag

from trundle.checks import FloatArray
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.models.tree.tree import TreeModel
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem, PhaseLinkage, continuous
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.gait.soles import FootStance, Sole
from trundle.systems.walking.gait.supports import GaitSupport
from trundle.threads import cached_property

G = TypeVar("G", Gait, RobotGait)
_ROUND_OFF = 1e-9  # of the phase: round-off of node times
_DRIFT = 0.1
"""m/s: largest multiplier eta. Free ones lift a body uphill between nodes for nothing where torques cost alone."""


class GaitStepping(ABC, Generic[G]):
    """The problem of a cycle of steps of a body with feet (abstract).

    States x = (q, nu): coordinates of the tree with ``base="joints"`` (x, y, z, yaw, pitch, roll of the base, then
    joints) and their rates. Inputs u = (nudot, torques over their references, forces of each foot over the weight,
    eta). With the implicit midpoint rule,

        q' = nu - v e_x + e_z eta_0 + sum_i (d gap_i/dq)' eta_i,   nu' = nudot,
        0 = ID(q, nu, nudot, forces) - (0_6, torques);

    x is measured in a frame that moves at the mean speed v, so that a step is periodic. At the nodes the gaps of
    the feet that stand, and the velocities of their points, are zero: eta are the multipliers that make room for
    both (Gear, Leimkuhler & Gupta 1985); they are of the order h^2, and bounded.

    Contract: a class says which `model` on which `soles` goes through which `supports`, at which `gait`, with which
    `references` and `efforts` of its torques, `bounds`, and `mirror`; then it calls `build`.

    Attributes
    ----------
    gait : what is asked of the steps
    gravity : (3,) m/s2
    model : TreeModel
    weight : float, N
    joints : tuple of str
    soles : mapping of contact to Sole
    supports : tuple of GaitSupport
    stretch : further constant states of the soles
    problem : OptimalControlProblem
    """

    gait: G
    gravity: FloatArray
    model: TreeModel
    weight: float
    joints: tuple[str, ...]
    soles: dict[str, Sole]
    supports: tuple[GaitSupport, ...]
    stretch: ca.SX
    problem: OptimalControlProblem

    # what a class says ---------------------------------------------------------------------------------

    @abstractmethod
    def motion(self, contact: str) -> Motion:
        """Return the motion of the frame in which the sole of a contact is given."""

    @cached_property
    @abstractmethod
    def references(self) -> FloatArray:
        """Reference torque of each joint (n - 6,), N m: a cost of 1 each."""

    @cached_property
    @abstractmethod
    def efforts(self) -> FloatArray:
        """Largest torque of each joint (n - 6,), N m."""

    @cached_property
    @abstractmethod
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest states."""

    @cached_property
    @abstractmethod
    def mirror(self) -> FloatArray:
        """The mirror image in the plane y = 0, of q and of nu: (n, n)."""

    @cached_property
    @abstractmethod
    def springs(self) -> FloatArray:
        """Stiffness and damping (2, n - 6) of the joints, N m/rad and N m s/rad; part of the dynamics."""

    @abstractmethod
    def image(self, support: GaitSupport) -> GaitSupport:
        """Return the mirror image of a support."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, object]:
        """What a plan keeps of the walker and its gait, JSON-able."""

    def foot_of(self, contact: str) -> str:
        """Return the foot that a contact is part of."""
        return contact

    def lands(self, number: int) -> bool:
        """Return whether phase `number` begins with an impact."""
        return False

    @cached_property
    def clock(self) -> ca.SX:
        """Share of the phase that is over; below it what else depends on time."""
        return ca.SX.sym("clock")

    @cached_property
    def running(self) -> ca.SX:
        """Squares of torques over their references, of accelerations, and of forces over the weight."""
        inputs = self.inputs
        forces = [symbol for name, symbol in inputs.items() if name.startswith("force")]
        running = ca.sumsqr(inputs["torque"]) + self.gait.acceleration * ca.sumsqr(inputs["acceleration"])
        return running + self.gait.force * sum(ca.sumsqr(force) for force in forces)

    def begins(self, number: int) -> list[Condition]:
        """Return what else holds where phase `number` begins."""
        return [Condition("origin", self.q[0])] if number == 0 else []

    def nodal(self, number: int) -> list[Condition]:
        """Return what else holds at the nodes of phase `number`."""
        return []

    @property
    def total(self) -> tuple[float, float]:
        """Least and largest duration of all phases, s."""
        return 0.0, np.inf

    def signals(self, number: int) -> FloatArray | None:
        """Return the rows of what else `clock` has in phase `number`."""
        return None

    def link(self, number: int, before: Phase, after: Phase) -> PhaseLinkage:
        """Return what ties phase `number` to the next one."""
        return continuous(before, after, number)

    # symbols and expressions ---------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.model.nu.shape[0]

    @property
    def speed(self) -> float:
        """Mean speed, m/s."""
        return self.gait.speed or 0.0

    @property
    def durations(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Least and largest duration, s, of a swing and of the time on all feet."""
        single, double = self.gait.single, self.gait.double
        if single is None or double is None:
            raise InputError("gait", self.gait, "a gait that says how long swings last")
        return single, double

    @property
    def sole(self) -> Sole:
        """The first sole."""
        return next(iter(self.soles.values()))

    @property
    def q(self) -> ca.SX:
        """Coordinates (n,)."""
        return self.model.x[: self.n]

    @property
    def nu(self) -> ca.SX:
        """Their rates (n,)."""
        return self.model.nu

    @property
    def x(self) -> ca.SX:
        """State of every phase: q, nu and, where the sole's semi-axes are free, their constant factors."""
        return ca.vertcat(self.q, self.nu, self.stretch)

    def states(self, q: FloatArray, nu: FloatArray) -> FloatArray:
        """Return rows of `x` from rows of q and nu, with the walker's own sole."""
        return np.hstack([q, nu, np.ones((len(q), self.stretch.numel()))])

    @cached_property
    def stances(self) -> dict[tuple[str, str], FootStance]:
        """Every way any foot can stand in the cycle."""
        used = {(side, mode) for support in self.supports for side, mode in support.stances.items()}
        used |= {(contact, sole.modes[0]) for contact, sole in self.soles.items()}
        return {(side, mode): self.soles[side].stance(self.motion(side), mode) for side, mode in sorted(used)}

    @cached_property
    def inputs(self) -> dict[str, ca.SX]:
        """Symbols by name: acceleration, torque, force-<side>-<mode> (over the weight), lift, eta-<side>-<mode>."""
        made = {"acceleration": ca.SX.sym("a", self.n), "torque": ca.SX.sym("tau", self.n - 6)}
        for (side, mode), stance in self.stances.items():
            made[f"force-{side}-{mode}"] = ca.SX.sym(f"f_{side}_{mode}", stance.size)
        made["lift"] = ca.SX.sym("eta_z")
        for (side, mode), stance in self.stances.items():
            made[f"eta-{side}-{mode}"] = ca.SX.sym(f"eta_{side}_{mode}", stance.gaps.numel())
        return made

    def places(self) -> dict[str, slice]:
        """Return where each of `inputs` stands in u."""
        at, places = 0, {}
        for name, symbol in self.inputs.items():
            places[name] = slice(at, at + symbol.numel())
            at += symbol.numel()
        return places

    @cached_property
    def residual(self) -> ca.SX:
        """Inverse dynamics (n,): of the base over the weight, of joints over their references, minus torques."""
        inputs = self.inputs
        balance = self.model.inverse_dynamics([], inputs["acceleration"], ca.SX(0, 1))
        for (side, mode), stance in self.stances.items():
            force = self.weight * inputs[f"force-{side}-{mode}"]
            balance = balance - ca.jtimes(ca.vertcat(*stance.velocities), self.nu, force, True)
        scaled = balance[6:] / ca.SX(ca.DM(self.references)) - inputs["torque"]
        return ca.vertcat(balance[:6] / self.weight, scaled)

    @cached_property
    def rate(self) -> ca.SX:
        """Rates of x."""
        forward = ca.vertcat(self.speed, ca.DM.zeros(self.n - 1, 1))
        up = ca.vertcat(0, 0, 1, ca.DM.zeros(self.n - 3, 1))
        velocity = self.nu - forward + up * self.inputs["lift"]
        for (side, mode), stance in self.stances.items():
            slopes = ca.jacobian(stance.gaps, self.q)
            velocity += slopes.T @ self.inputs[f"eta-{side}-{mode}"]
        return ca.vertcat(velocity, self.inputs["acceleration"], ca.SX(*self.stretch.shape))

    # the problem ---------------------------------------------------------------------------------------

    def build(self) -> OptimalControlProblem:
        """Return the problem of the cycle."""
        every = Phase(
            name="every",
            x=self.x,
            u=ca.vertcat(*self.inputs.values()),
            rate=self.rate,
            residual=self.residual,
            running=self.running,
            clock=self.clock,
            duration=self.durations[0],
            x_bounds=self.bounds,
        )
        phases = [self._phase(every, i) for i in range(len(self.supports))]
        links = [self.link(i, a, b) for i, (a, b) in enumerate(pairwise(phases))]
        links.append(self.cycle(len(phases) - 1))
        return OptimalControlProblem(phases, links, mean=True, total=self.total)

    def _phase(self, every: Phase, number: int) -> Phase:
        support, gait = self.supports[number], self.gait
        after = self.supports[(number + 1) % len(self.supports)]
        if number + 1 == len(self.supports) and gait.periodicity == "mirrored":
            after = self.image(after)
        nodes: list[Condition] = []
        start, end = [], []
        for side, mode in support.stances.items():
            # A foot that comes to stand on its face at the end has the rows of the face there, which imply the edge's.
            face = self.soles[side].modes[0]
            settles = mode != face and after.stances.get(side) == face
            nodes += [replace(row, inner=settles) for row in self._rows(side, mode)]
            end += self._rows(side, after.stances[side]) if settles else []
        nodes += self._clearances(support, every.clock[0])  # type: ignore[index]
        nodes += self.nodal(number)
        for contact in support.landing:
            start += self._rows(contact, support.stances[contact])
        if self.lands(number):
            start += [
                self._rows(side, mode)[1] for side, mode in support.stances.items() if side not in support.landing
            ]
        start += self.begins(number)
        single = support.swing is not None
        path = self._loads(support) + [
            Condition(
                f"force {side}", self.stances[side, mode].margins(self._force(side, mode), gait.friction), 0, np.inf
            )
            for side, mode in support.stances.items()
        ]
        return replace(
            every,
            name=support.name,
            duration=self._duration(support),
            share=None if single or gait.double_share is None else gait.double_share,
            path=path,
            nodes=nodes,
            start=start,
            end=end,
            u_bounds=self._u_bounds(support),
            signals=self.signals(number),
        )

    def _duration(self, support: GaitSupport) -> tuple[float, float]:
        """Return the bounds (s) of a phase: single support in several phases may spend it all in one of them."""
        single, double = self.durations
        if support.swing is None:
            return double
        return single if support.swing == (0.0, 1.0) else (min(single[0], double[0]), single[1])

    def _clearances(self, support: GaitSupport, clock: ca.SX) -> list[Condition]:
        """Return heights of what does not bear: of a swing foot at least the bump over the whole swing."""
        gait, found, bump = self.gait, [], ca.SX(1, 1)
        stands = {self.foot_of(contact) for contact in support.stances}
        if support.swing is not None:
            begin, end = support.swing
            share = clock if (begin, end) == (0.0, 1.0) else begin + (end - begin) * clock
            bump = 4 * gait.clearance * share * (1 - share)
            if gait.clearance_power == 2:
                bump *= 4 * share * (1 - share)
            from_end = ca.fmin(share, 1 - share)
            bump = ca.if_else(from_end > gait.clearance_ends - _ROUND_OFF, bump, 0.0)
        for contact in support.list_lifted(self.soles):
            height = self.soles[contact].clearance(self.motion(contact))
            least = 0.0 if self.foot_of(contact) in stands else bump
            ends = support.swing is not None and support.swing[1] < 1.0 and self.foot_of(contact) not in stands
            found.append(Condition(f"clearance {contact}", height - least, 0.0, np.inf, inner=not ends))
        return found

    def _loads(self, support: GaitSupport) -> list[Condition]:
        """Return the bound of each foot's normal force, where several points bear it."""
        total = {side: ca.sum1(self._force(side, mode)[2::3]) for side, mode in support.stances.items()}
        points = {side: len(self.stances[side, mode].points) for side, mode in support.stances.items()}
        return [
            Condition(f"load {side}", load, -np.inf, self.gait.load) for side, load in total.items() if points[side] > 1
        ]

    def _force(self, side: str, mode: str) -> ca.SX:
        return self.inputs[f"force-{side}-{mode}"]

    def _rows(self, side: str, mode: str) -> list[Condition]:
        stance = self.stances[side, mode]
        return [Condition(f"gap {side}", stance.gaps), Condition(f"slip {side}", stance.rows)]

    def _u_bounds(self, support: GaitSupport) -> tuple[FloatArray, FloatArray]:
        """What does not act in this phase is zero."""
        places = self.places()
        upper = np.zeros(sum(symbol.numel() for symbol in self.inputs.values()))
        upper[places["acceleration"]] = np.inf
        upper[places["torque"]] = self.efforts / self.references
        stands = list(support.stances.items())
        for side, mode in stands:
            upper[places[f"force-{side}-{mode}"]] = np.inf
        # The height of the whole body takes up the gap of the foot that stood first: dynamics do not feel it.
        lifted = self.sole.modes[0] == "rolling"
        upper[places["lift"]] = _DRIFT if lifted else 0.0
        for side, mode in stands[1:] if lifted else stands:
            upper[places[f"eta-{side}-{mode}"]] = _DRIFT
        lower = -upper
        for side, mode in stands:
            where = places[f"force-{side}-{mode}"]
            lower[where][2::3], upper[where][2::3] = 0.0, self.gait.load
        return lower, upper

    def cycle(self, last: int) -> PhaseLinkage:
        """Return what ties the end to the start."""
        size = self.x.numel()
        x_end, x_start = ca.SX.sym("x_end", size), ca.SX.sym("x_start", size)
        one = self.mirror if self.gait.periodicity == "mirrored" else np.eye(self.n)
        image = ca.SX(ca.sparsify(ca.DM(block_diag(one, one, np.eye(self.stretch.numel()))))) @ x_start
        return PhaseLinkage(last, 0, x_end, x_start, Condition(self.gait.periodicity, x_end - image))
