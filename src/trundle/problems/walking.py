"""Walking: phases of single and double support of an avatar, tied into a cycle, by inverse dynamics."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.linalg import block_diag

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.robots.avatar import Avatar
from trundle.models.urdf.robot import robot_from_urdf
from trundle.problems.gait import Gait
from trundle.problems.landing import landing
from trundle.problems.phase import Condition, Phase
from trundle.problems.problem import OptimalControlProblem, PhaseLinkage, continuous
from trundle.problems.soles import FlatSole, FootStance, RollingSole, Sole
from trundle.problems.supports import SIDES, Support, bare, other, side_of, supports, swapped
from trundle.problems.tracking import Tracked, Tracking
from trundle.threads import cached_property

_ROUND_OFF = 1e-9
_DRIFT = 0.1
"""m/s: largest multiplier eta. Free ones lift a body uphill between nodes for nothing where torques cost alone."""


class Walking:
    """The walking problem of an avatar (final).

    States x = (q, nu): coordinates of the tree with ``base="joints"`` (x, y, z, yaw, pitch, roll of the base, then
    joints) and their rates. Inputs u = (nudot, torques over their references, forces of each foot over the weight,
    eta). With the implicit midpoint rule,

        q' = nu - v e_x + e_z eta_0 + sum_i (d gap_i/dq)' eta_i,   nu' = nudot,
        0 = ID(q, nu, nudot, forces) - (0_6, torques);

    x is measured in a frame that moves at the mean speed v, so that a step is periodic. At the nodes the gaps of
    the feet that stand, and the velocities of their points, are zero: eta are the multipliers that make room for
    both (Gear, Leimkuhler & Gupta 1985); they are of the order h^2, and bounded. With `Gait.stretch` the factors s of
    the rolling sole's semi-axes are three more states, s' = 0.

    Attributes
    ----------
    avatar, gait, tracking : as given
    model : TreeModel
    supports : tuple of Support
    problem : OptimalControlProblem
    """

    def __init__(self, avatar: Avatar, gait: Gait, tracking: Tracking | None = None) -> None:
        self.avatar, self.gait, self.tracking = avatar, gait, tracking
        self.gravity = 9.81 * np.array([-np.sin(gait.slope), 0.0, -np.cos(gait.slope)])
        robot = robot_from_urdf(avatar.robot, gravity=self.gravity.tolist(), base="joints")
        self.model = (robot if avatar.toes is None else robot.with_springs(*avatar.springs, {})).model()
        self.weight = 9.81 * avatar.robot.mass
        self.n = self.model.nu.shape[0]
        self.joints = tuple(_joint_names(avatar))
        self.stretch = ca.SX.sym("stretch", 0 if gait.stretch is None else 3)
        free = None if gait.stretch is None else self.stretch
        self.soles: dict[str, Sole] = {
            side: RollingSole.of(foot, free) if gait.sole == "rolling" else FlatSole(foot.flat)
            for side, foot in avatar.feet.items()
        }
        self.sole = self.soles["left"]
        self.supports = supports(gait, self.sole, avatar.toes is not None)
        self.problem = self._problem()

    # symbols and expressions ---------------------------------------------------------------------------

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
        """Return rows of `x` from rows of q and nu, with the avatar's own sole."""
        return np.hstack([q, nu, np.ones((len(q), self.stretch.numel()))])

    @cached_property
    def references(self) -> FloatArray:
        """Reference torque of each joint (n - 6,), N m."""
        return np.array([self.gait.torques[bare(name)] for name in self.joints])

    @cached_property
    def springs(self) -> FloatArray:
        """Stiffness and damping (2, n - 6) of the joints, N m/rad and N m s/rad; part of the dynamics."""
        joints = {joint.name: joint.child for joint in self.avatar.robot.joints}
        return np.array([[given.get(joints[name], 0.0) for name in self.joints] for given in self.avatar.springs])

    @cached_property
    def stances(self) -> dict[tuple[str, str], FootStance]:
        """Every way either foot can stand in the cycle."""
        used = {(side, mode) for support in self.supports for side, mode in support.stances.items()}
        used |= {(contact, self.sole.modes[0]) for contact in self.soles}
        return {
            (side, mode): self.soles[side].stance(self.model.motions[f"{side}_foot"], mode)
            for side, mode in sorted(used)
        }

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
        forward = ca.vertcat(self.gait.speed, ca.DM.zeros(self.n - 1, 1))
        up = ca.vertcat(0, 0, 1, ca.DM.zeros(self.n - 3, 1))
        velocity = self.nu - forward + up * self.inputs["lift"]
        for (side, mode), stance in self.stances.items():
            slopes = ca.jacobian(stance.gaps, self.q)
            velocity += slopes.T @ self.inputs[f"eta-{side}-{mode}"]
        return ca.vertcat(velocity, self.inputs["acceleration"], ca.SX(*self.stretch.shape))

    @cached_property
    def tracked(self) -> Tracked:
        """Residuals of `tracking`."""
        if self.tracking is None:
            raise InputError("tracking", None, "the measurements of a walk")
        feet = {
            side: (self.stances[side, self.sole.modes[0]].points[0], self._force(side, self.sole.modes[0]))
            for side in SIDES
        }
        return self.tracking.residuals(self.model.motions, feet)

    def _arms(self) -> ca.SX:
        """Return the sum of squares of what shoulders differ from their share of the hips, rad2."""
        share, total = self.gait.arm_swing[0], ca.SX(1, 1)
        for side in SIDES:
            shoulder, hip = (6 + self.joints.index(f"{side}_{name}_pitch") for name in ("shoulder", "hip"))
            total += (self.q[shoulder] + share * self.q[hip]) ** 2
        return total

    # the problem ---------------------------------------------------------------------------------------

    def _problem(self) -> OptimalControlProblem:
        inputs = self.inputs
        clock = ca.SX.sym("clock")
        forces = [symbol for name, symbol in inputs.items() if name.startswith("force")]
        running = ca.sumsqr(inputs["torque"]) + self.gait.acceleration * ca.sumsqr(inputs["acceleration"])
        running += self.gait.force * sum(ca.sumsqr(force) for force in forces)
        running += self.gait.arm_swing[1] * self._arms()
        if self.tracking is not None:
            running = self.tracking.regularization * running + ca.sumsqr(self.tracked.residuals)
            clock = ca.vertcat(clock, self.tracked.measured)
        every = Phase(
            name="every",
            x=self.x,
            u=ca.vertcat(*inputs.values()),
            rate=self.rate,
            residual=self.residual,
            running=running,
            clock=clock,
            duration=self.gait.single,
            x_bounds=self._x_bounds(),
        )
        phases = [self._phase(every, i) for i in range(len(self.supports))]
        links = [
            self._landing(i) if self.lands(i + 1) else continuous(a, b, i) for i, (a, b) in enumerate(pairwise(phases))
        ]
        links.append(self._cycle(len(phases) - 1))
        return OptimalControlProblem(phases, links, mean=True)

    def lands(self, number: int) -> bool:
        """Return whether phase `number` begins with an impact."""
        return self.gait.impacts and bool(self.supports[number].landing)

    def _landing(self, number: int) -> PhaseLinkage:
        after = self.supports[number + 1]
        return landing(
            number,
            self.model,
            [self.stances[side, mode] for side, mode in after.stances.items()],
            self.stances[after.landing, after.stances[after.landing]],
            scales=[*[self.weight] * 6, *self.references],
            weight=self.weight,
            friction=self.gait.friction,
            cost=self.gait.force,
        )

    def _phase(self, every: Phase, number: int) -> Phase:
        support, gait = self.supports[number], self.gait
        after = self.supports[(number + 1) % len(self.supports)]
        if number + 1 == len(self.supports) and gait.periodicity == "mirrored":
            after = swapped(after)
        nodes: list[Condition] = []
        start, end = [], []
        for side, mode in support.stances.items():
            # A foot that comes to stand on its face at the end has the rows of the face there, which imply the edge's.
            settles = mode != self.sole.modes[0] and after.stances.get(side) == self.sole.modes[0]
            nodes += [replace(row, inner=settles) for row in self._rows(side, mode)]
            end += self._rows(side, after.stances[side]) if settles else []
        nodes += self._clearances(support, every.clock[0])  # type: ignore[index]
        if support.landing:
            start += self._rows(support.landing, support.stances[support.landing])
            start += self._imposed(support.landing, gait.landing)
        if self.lands(number):
            start += [self._rows(side, mode)[1] for side, mode in support.stances.items() if side != support.landing]
        if number == 0 and self.tracking is None:
            start.append(Condition("origin", self.q[0]))
        single = support.swing is not None
        if support.swing == (0.0, 1.0):
            start += self._imposed(next(iter(support.stances)), gait.rolling_on, lateral=False)
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
            signals=None if self.tracking is None else self.tracking.signals(number, gait),
        )

    def _duration(self, support: Support) -> tuple[float, float]:
        """Return the bounds (s) of a phase: single support in several phases may spend it all in one of them."""
        single, double = self.gait.single, self.gait.double
        if support.swing is None:
            return double
        return single if support.swing == (0.0, 1.0) else (min(single[0], double[0]), single[1])

    def _clearances(self, support: Support, clock: ca.SX) -> list[Condition]:
        """Return heights of what does not bear: of a swing foot at least the bump over the whole swing."""
        gait, found, bump = self.gait, [], ca.SX(1, 1)
        stands = {side_of(contact) for contact in support.stances}
        if support.swing is not None:
            begin, end = support.swing
            share = clock if (begin, end) == (0.0, 1.0) else begin + (end - begin) * clock
            bump = 4 * gait.clearance * share * (1 - share)
            if gait.clearance_power == 2:
                bump *= 4 * share * (1 - share)
            from_end = ca.fmin(share, 1 - share)
            bump = ca.if_else(from_end > gait.clearance_ends - _ROUND_OFF, bump, 0.0)
        for contact in support.lifted(self.soles):
            height = self.soles[contact].clearance(self.model.motions[f"{contact}_foot"])
            least = 0.0 if side_of(contact) in stands else bump
            ends = support.swing is not None and support.swing[1] < 1.0 and side_of(contact) not in stands
            found.append(Condition(f"clearance {contact}", height - least, 0.0, np.inf, inner=not ends))
        return found

    def _loads(self, support: Support) -> list[Condition]:
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

    def _imposed(self, side: str, at: float | None, lateral: bool = True) -> list[Condition]:
        sole = self.soles[side]
        if at is None or not isinstance(sole, RollingSole) or side != side_of(side):
            return []
        local = sole.local(self.model.motions[f"{side}_foot"])
        wanted = [at, 0.0] if lateral else [at]
        return [Condition(f"contact {side}", local[: len(wanted)], wanted, wanted)]

    def _x_bounds(self) -> tuple[FloatArray, FloatArray]:
        joints = {joint.name: joint for joint in self.avatar.robot.joints}
        roll, pitch, yaw = self.gait.pelvis
        upper = [5.0, 1.0, 2.0 * self.avatar.base_height, yaw, pitch, roll]
        lower = [-5.0, -1.0, 0.3 * self.avatar.base_height, -yaw, -pitch, -roll]
        for name in self.joints:
            low, high = self.gait.ranges.get(bare(name), (-np.inf, np.inf))
            if name.startswith("right_") and joints[name].axis[1] == 0.0:
                low, high = -high, -low
            lower.append(max(low, joints[name].lower))
            upper.append(min(high, joints[name].upper))
        rates = [10.0] * 6 + [joints[name].rate for name in self.joints]
        least, most = ([bound] * self.stretch.numel() for bound in self.gait.stretch or (1.0, 1.0))
        return np.array([*lower, *(-rate for rate in rates), *least]), np.array([*upper, *rates, *most])

    def _u_bounds(self, support: Support) -> tuple[FloatArray, FloatArray]:
        """What does not act in this phase is zero."""
        joints = {joint.name: joint for joint in self.avatar.robot.joints}
        places = self.places()
        upper = np.zeros(sum(symbol.numel() for symbol in self.inputs.values()))
        upper[places["acceleration"]] = np.inf
        upper[places["torque"]] = [joints[name].torque for name in self.joints] / self.references
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

    def _cycle(self, last: int) -> PhaseLinkage:
        size = self.x.numel()
        x_end, x_start = ca.SX.sym("x_end", size), ca.SX.sym("x_start", size)
        one = self.mirror if self.gait.periodicity == "mirrored" else np.eye(self.n)
        image = ca.SX(ca.sparsify(ca.DM(block_diag(one, one, np.eye(self.stretch.numel()))))) @ x_start
        return PhaseLinkage(last, 0, x_end, x_start, Condition(self.gait.periodicity, x_end - image))

    @cached_property
    def mirror(self) -> FloatArray:
        """The mirror image in the plane y = 0, of q and of nu: (n, n)."""
        M = np.zeros((self.n, self.n))
        M[range(6), range(6)] = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
        axes = {joint.name: joint.axis for joint in self.avatar.robot.joints}
        for i, name in enumerate(self.joints):
            M[6 + i, 6 + self.joints.index(other(name))] = 1.0 if axes[name][1] else -1.0
        return M


def _joint_names(avatar: Avatar) -> list[str]:
    from trundle.models.urdf.tree import urdf_tree

    return list(urdf_tree(avatar.robot).joints)
