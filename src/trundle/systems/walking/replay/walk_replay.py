"""Replay of a planned walk in the simulator: touch-downs are events there, and the policy goes by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray, integer, positive
from trundle.contact.laws import ROLLING
from trundle.errors import ControlLostError
from trundle.geometry.shapes.surfaces import Plane
from trundle.models.feet import Foot
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.system import Start
from trundle.models.urdf.robot import robot_from_urdf
from trundle.numerics.space import dot
from trundle.records import Policy, Trajectory
from trundle.simulate import simulate
from trundle.status import Status
from trundle.systems.walking.replay.walk_gains import (
    WalkGains,
    WalkReference,
    WalkWeights,
    image,
    laws_by,
    on_ground,
    walk_gains,
)
from trundle.systems.walking.robots.avatar import Avatar

if TYPE_CHECKING:
    from trundle.simulate.mujoco.plant import PlantRun
    from trundle.systems.walking.robots.legged import LeggedRobot

PERIOD = 4e-3  # s between calls of the feedback: 250 Hz
TOLERANCE = 1e-6  # relative, of the replay's integrator
_TOUCHES = 1e-7  # m: a foot that is nearer has landed early
_LATE_SWING, _STILL = 0.75, 0.2
_STANDS, _SOFT = 1e-6, 1e-3
_UPRIGHT = np.array([np.inf, 0.2, 0.1, 0.3, 0.3, 0.3])
"""Deviations of the base (m, rad) up to which it counts as walking."""
_FALLEN = 0.8
"""rad of the base away from the plan at which a run ends."""

Around = Callable[[Policy, int], Policy]
"""(policy, number of its inputs) -> the policy that is run."""


def _bare(policy: Policy, size: int) -> Policy:
    return policy


def walking_robot(avatar: Avatar, gravity: FloatArray | None = None, friction: float = 1.0) -> RollingTree:
    """Return the avatar on its rolling feet on a plane, which may slip, leave and land, as `simulate` takes it.

    Toes have their springs. Its base hangs on six joints: x = (q, nu) of a `plan.plan.WalkPlan`.
    """
    foot = {f"{side}_foot": Foot(foot.sole, position=foot.center.tolist()) for side, foot in avatar.feet.items()}
    robot = robot_from_urdf(
        avatar.robot,
        foot,
        Plane(),
        gravity=(0.0, 0.0, -9.81) if gravity is None else gravity.tolist(),
        friction=friction,
        base="joints",
        on_slip="slide",
        on_separation="fly",
    )
    return robot if avatar.toes is None else robot.with_springs(*avatar.springs, {})


class WalkTracking:
    """The policy u = u_plan - K (x - x_plan), with the plan's time going by touch-downs (final).

    A swing foot that touches the ground before its time ends the swing: the plan's time jumps to the landing. One that
    is late finds the ground under the torques of the next phase.

    Parameters
    ----------
    robot, walk, gains : as `walk_gains` takes and returns them
    begin : float, s
        The plan's time at the start.
    period : float, s
    within : float, m
        Gap up to which a foot counts as standing: more where contacts are soft.

    Attributes
    ----------
    steps : int
        Landings after which the foot that landed stood when its double support ended, the base near the plan.
    deviations : list of (time s, (2 n,))
        x - x_plan at every call.
    """

    def __init__(
        self,
        robot: RollingTree,
        walk: WalkReference,
        gains: WalkGains,
        begin: float = 0.0,
        period: float = PERIOD,
        within: float = _STANDS,
    ) -> None:
        self._walk, self._gains, self._begin = walk, gains, begin
        self._period, self._within = positive("period", period, "s"), positive("within", within, "m")
        model = robot.system.model()
        whole, self._own = on_ground(model)
        touches = model.terms([ROLLING] * len(model.constraints)).kin[: len(robot.parts)]
        gaps = [dot(k.n, k.gap) for k in touches]
        x = ca.SX.sym("x", len(self._own))
        between = ca.Function("between", [model.x], [ca.vertcat(*gaps)])
        self._gaps = ca.Function("gaps", [x], [between(whole(x))], {"cse": True})
        self._S = image(walk, 2 * model.nv)
        self._landings = _landings(walk)
        self.reset()

    @property
    def period(self) -> float:
        """Time between two calls, s."""
        return self._period

    @property
    def largest(self) -> FloatArray:
        """Largest |x - x_plan| (2 n,) of all calls."""
        return np.max([np.zeros(len(self._own)), *(np.abs(deviation) for _, deviation in self.deviations)], axis=0)

    def reset(self) -> None:
        """Go back to the start."""
        self.steps, self.deviations = 0, []
        self._now, self._last, self._cycle = self._begin, 0.0, 0
        self._pending: int | None = None

    def reference(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (x (2 n,), u (n_u,), K (n_u, 2 n)) of the plan now."""
        q, nu, _, k = self._walk.at(self._now)
        x, u, K = np.concatenate([q, nu]), self._walk.torque[k], self._gains.at(self._now)
        if self._cycle % 2 and self._walk.mirror is not None:
            torques = self._walk.mirror[6:, 6:]
            x, u, K = self._S @ x, torques @ u, torques @ K @ self._S
        x[0] += self._cycle * (self._walk.q[-1, 0] - self._walk.q[0, 0])
        return x, u, K

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the torques for the measured `state` (q, nu) (2 n,), with contact coordinates in it, too, or not."""
        before, state = self._now, state[self._own] if len(state) > len(self._own) else state
        self._now += time - self._last
        self._last = time
        gaps = np.asarray(self._gaps(state)).ravel()
        for lift, landing, foot in self._landings:
            side = self._walk.order[foot] if self._cycle % 2 and self._walk.mirror is not None else foot
            if lift + _LATE_SWING * (landing - lift) < self._now < landing and gaps[side] < _TOUCHES:
                self._now = landing
            if before < landing <= self._now:
                self._pending = side
        end = self._walk.times[-1]
        if self._now >= end and self._walk.once:
            self._now = float(end)
        elif self._now >= end:
            self._now -= end - self._walk.times[0]
            self._cycle += 1
        x, u, K = self.reference()
        deviation = state - x
        self._count(gaps, deviation)
        self.deviations.append((time, deviation))
        if not (lean := float(np.abs(deviation[3:6]).max())) <= _FALLEN:
            status = Status.NOT_FINITE if np.isnan(lean) else Status.DIVERGED
            raise ControlLostError(f"it fell: the base leans {lean:.2f} rad away from the plan", status)
        return u - K @ deviation

    def _count(self, gaps: FloatArray, deviation: FloatArray) -> None:
        """Count a landing when its double support is over."""
        k = self._walk.at(self._now)[3]
        over = not np.all(_feet(self._walk)[k]) or (self._walk.once and self._now >= self._walk.times[-1])
        if self._pending is not None and over:
            stood = next(contacts for contacts in self._walk.feet if self._pending in contacts)
            good = float(np.min(gaps[stood])) < self._within and bool(np.all(np.abs(deviation[:6]) < _UPRIGHT))
            self.steps += int(good)
            self._pending = None


def _landings(walk: WalkReference) -> list[tuple[float, float, int]]:
    """Return (time of its lift-off, or the start, time, contact) of every landing of a foot in the cycle.

    Of a foot with several contacts it is the one that lands first.
    """
    found, standing = [], _feet(walk)
    for foot, contacts in enumerate(walk.feet):
        for k in range(1, len(standing)):
            if standing[k, foot] and not standing[k - 1, foot]:
                swing = k - 1
                while swing > 0 and not standing[swing - 1, foot]:
                    swing -= 1
                found.append((float(walk.times[swing]), float(walk.times[k]), contacts[0]))
    return sorted(found, key=lambda one: one[1])


def _feet(walk: WalkReference) -> NDArray[np.bool_]:
    """Return whether each foot stands (N, feet), on any of its contacts."""
    standing = np.asarray(walk.standing, dtype=bool)
    return np.stack([np.any(standing[:, contacts], axis=1) for contacts in walk.feet], axis=1)


@dataclass(frozen=True)
class WalkReplay:
    """A walk in the simulator.

    Attributes
    ----------
    run : Trajectory
        Of kind ``spatial``: bodies, joints, torques, forces, gaps, slips, modes.
    steps : int
        Steps that were walked, at most those asked for.
    largest : (2 n,)
        Largest |x - x_plan| (m, rad, m/s, rad/s); of x the way, too, that time got out of step.
    gains : WalkGains
    """

    run: Trajectory
    steps: int
    largest: FloatArray
    gains: WalkGains


def replay_walk(
    robot: RollingTree,
    walk: WalkReference,
    steps: int = 12,
    *,
    weights: WalkWeights | None = None,
    gains: WalkGains | None = None,
    period: float = PERIOD,
    around: Around = _bare,
) -> WalkReplay:
    """Return `steps` steps of a planned walk in the simulator, from the middle of its first swing.

    Of a plan from standing to standing all steps, from its start.
    Feet leave, land (plastic impacts), roll and slide there as forces and gaps have it; the plan only steers.

    Parameters
    ----------
    robot : RollingTree
        `walking_robot` with the walk's gravity.
    walk : WalkReference
    steps : int
    weights, period
        Of `walk_gains` and `WalkTracking`.
    gains : WalkGains, optional
        Those of `walk_gains` for this robot and this walk, where they were designed before.
    around : callable
        (policy, number of inputs) -> the policy that is run, such as a `trundle.control.Watchdog` around it.

    Raises
    ------
    InputError
        If the walk does not fit the robot.
    """
    count = integer("steps", steps, minimum=1)
    gains = walk_gains(robot, walk, weights) if gains is None else gains
    k, duration = _span(walk, count)
    policy = WalkTracking(robot, walk, gains, float(walk.times[k]), period)
    model = robot.system.model()
    laws, whole = tuple(law.name for law in laws_by(walk.standing[k], model)), on_ground(model)[0]
    start = Start(np.asarray(whole(np.concatenate([walk.q[k], walk.nu[k]]))).ravel(), robot.system.first_atlas, laws)
    run = simulate(
        robot,
        start,
        duration,
        policy=around(policy, model.u.shape[0]),
        method="dopri5",
        relative_tolerance=TOLERANCE,
        output_step=0.01,
    )
    return WalkReplay(run, min(policy.steps, count), policy.largest, gains)


def _span(walk: WalkReference, count: int) -> tuple[int, float]:
    """Return the node within the first swing at which a replay begins, and how long (s) `count` steps take from it."""
    if walk.once:
        return 0, float(walk.times[-1] - walk.times[0]) + _STILL
    landings = _landings(walk)
    lift, landing, _ = landings[0]
    cycles = count / len({time for _, time, _ in landings})
    k = int(np.searchsorted(walk.times, (2 * lift + landing) / 3))
    return k, (cycles + 0.25) * float(walk.times[-1] - walk.times[0])


@dataclass(frozen=True, eq=False)
class WalkTrial:
    """A walk in MuJoCo: how it ended, the steps walked (at most those asked for), the largest |x - x_plan| (2 n,)."""

    run: PlantRun
    steps: int
    largest: FloatArray


def replay_in_mujoco(
    robot: LeggedRobot,
    walk: WalkReference,
    steps: int = 6,
    *,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    friction: float = 1.0,
    weights: WalkWeights | None = None,
    period: float = 1e-3,
    around: Around = _bare,
) -> WalkTrial:
    """Return `steps` steps of a planned walk in MuJoCo, from the middle of its first swing; see `replay_walk`.

    The policy, and what is `around` it, is that of `replay_walk`; torques are cut off at the joints' limits.

    Parameters
    ----------
    robot : LeggedRobot
    walk : WalkReference
        With a column of ``standing`` for every contact, as `plan.robot_steps.on_contacts` makes it.
    gravity : (3,) m/s2
    friction : float
    """
    from trundle.simulate.mujoco.sensors import Sensors
    from trundle.systems.walking.replay.mujoco_legged import legged_plant, state_of

    count, tree = integer("steps", steps, minimum=1), robot.on_ground(gravity, friction)
    k, duration = _span(walk, count)
    policy = WalkTracking(tree, walk, walk_gains(tree, walk, weights), float(walk.times[k]), period, _SOFT)
    plant = legged_plant(robot, walk.q[k], walk.nu[k], gravity=gravity, friction=friction)
    watched = around(policy, walk.torque.shape[1])
    run = plant.run(watched, duration, sensors=Sensors(state_of), record={"state": state_of})
    return WalkTrial(run, min(policy.steps, count), policy.largest)
