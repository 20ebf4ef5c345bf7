"""Throw and catch: a carry, a release, a flight, a plastic catch that leaves just enough energy to stand up."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, TypedDict, Unpack

import numpy as np

from trundle.bars import reporting
from trundle.checks import FloatArray, array, instance, non_negative, number
from trundle.errors import InputError
from trundle.models.rigid_body import Hand
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.system import ContactSystem, Start
from trundle.parameters import Range, check_parameters, parameter
from trundle.records import Trajectory
from trundle.simulate import simulate
from trundle.simulate.events import HybridState, no_onsets
from trundle.simulate.mode import Method, Mode
from trundle.simulate.record import Log
from trundle.simulate.runner import Runner
from trundle.status import Status
from trundle.systems.juggling.throw.goal import Catch, ThrowGoal, touches
from trundle.systems.juggling.throw.profiles import Profile, Pulse, two_pulses
from trundle.systems.juggling.throw.shooting import SearchParameter, Shooting, Shot, ShotOutcome
from trundle.threads import cached_property

Bounds = Annotated[Sequence[float], Range("two ascending numbers > 0", above=0.0, length=2, order=operator.lt)]
Slip = Annotated[float, Range("a number from 0 to 1e12", minimum=0.0, unit="s")]
Ramp = Annotated[float, Range("a number > 0, at most 1e12", above=0.0, unit="s")]
_STEP = 1e-2  # s between samples of a carry
_FAILED = 200.0  # residual of a shot that could not be simulated

GOALS = ("energy", "place")
MARGINS = (
    "release",
    "slip",
    "normal_force",
    "friction",
    "flight_low",
    "flight_high",
    "retreat",
    "impulse",
    "turn_low",
    "turn_high",
    "sense",
    "edge",
    *(f"{component}_limit_{pulse}" for component in ("rotation", "x", "z") for pulse in (1, 2, 3)),
)


ON_LIMIT = 5e-3
"""Margin below which an attempt counts as on its limit."""
_BOUND_BY = {
    "release": "carry", "slip": "slip", "normal_force": "normal_force", "friction": "friction_use",
    "impulse": "friction_use", "flight_low": "flight", "flight_high": "flight", "retreat": "retreat",
    "turn_low": "turn", "turn_high": "turn", "sense": "turn", "edge": "pair.base", "rotation": "hand_limits.rotation",
    "x": "hand_limits.linear", "z": "hand_limits.linear",
}  # fmt: skip
_SEARCHED = {
    "carry": "carry", "carry_rotation": "hand_limits.rotation", "carry_x": "hand_limits.linear",
    "carry_z": "hand_limits.linear", "retreat": "retreat", "retreat_x": "retreat", "retreat_z": "retreat",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ThrowPlan:
    """A planned throw and catch.

    Attributes
    ----------
    status : Status
        ``SUCCESS`` only if an accurate simulation of the motion reaches the goal and keeps all margins.
    shot : Shot
        Parameters, goals and margins.
    profile : Profile
        The hand's motion, at rest from ``profile.duration`` on.
    catch : Catch or None
        None where the best attempt never flies or never lands.
    trajectory : Trajectory
        Simulated accurately, until the object is about to stand at the goal angle.
    standing : Start or None
        The object at rest at the goal angle on the hand at its catching place: what a controller has to hold. None
        without success.
    """

    status: Status
    shot: Shot
    profile: Profile
    catch: Catch | None
    trajectory: Trajectory
    standing: Start | None
    layout: Mapping[str, slice]

    @property
    def message(self) -> str:
        """How far the best attempt is from its goals, in their tolerances; empty for a success."""
        if self.status is Status.SUCCESS:
            return ""
        if self.catch is None:
            return "the best attempt does not leave the hand, or never lands on it"
        goals = zip(GOALS, self.shot.outcome.goals, strict=True)
        off = ", ".join(f"{name} by {abs(value):.2g} tolerances" for name, value in goals if abs(value) > 1.0)
        return f"the best attempt misses {off}" if off else "the best attempt reaches its goals but not all limits"

    @property
    def binding(self) -> dict[str, str]:
        """Parameter of the task -> how the best attempt runs into it: a limit it violates or ends on."""
        found: dict[str, str] = {}
        for name, value in zip(MARGINS, self.shot.outcome.margins, strict=True):
            if value < ON_LIMIT and self.catch is not None:
                stem = name.rsplit("_limit_", 1)[0]
                found.setdefault(_BOUND_BY[stem], f"{stem.replace('_', ' ')} {'violated' if value < 0 else 'reached'}")
        for one in self.shot.parameters_at_bounds:
            found.setdefault(_SEARCHED[one], f"{one.replace('_', ' ')} at its bound")
        return found

    def catch_errors(self, angle: float, rate: float) -> dict[float, Callable[[FloatArray], FloatArray]]:
        """Return the kick of `simulate` in mid-flight after which the catch has these errors (rad, rad/s)."""
        if self.catch is None:
            raise InputError("plan", self.status.label, "a throw that is caught")
        middle = (self.catch.release + self.catch.time) / 2
        early = number("angle", angle, unit="rad") - number("rate", rate, unit="rad/s") * (self.catch.time - middle)
        layout = self.layout

        def kick(x: FloatArray) -> FloatArray:
            x[layout["object.orientation"]] += early
            x[layout["object.angular_velocity"]] += rate
            return x

        return {middle: kick}


class SearchSettings(TypedDict, total=False):
    """Numbers of a `Shooting`, see there."""

    samples: int
    starts: int
    wanted: int
    seed: int
    max_rollouts: int
    time_limit: float


@dataclass(frozen=True)
class ThrowCatch:
    """A throw that turns a planar object and a catch on the level, resting hand, after which it just stands up.

    The hand carries the object with one trapezoid of acceleration for each of its freedoms (paper 2, VIII-E), then
    accelerates away, comes to rest level at its catching place with two trapezoids each, and waits. After the plastic
    impact without slip the object keeps its angular momentum about the contact; its energy shall be that of rest at
    `goal_angle`, and the contact there be at `goal_place`.

    Parameters
    ----------
    pair : RollingPair
        A planar object on a `Hand` that starts at rest and level, flat where it touches, with on_slip = "slide" and
        on_separation = "fly".
    start : Start
        At rest.
    goal_angle : float, rad
        Object angle, counter-clockwise, at which it shall stand.
    goal_place : float, m
        Abscissa of the contact on the hand then.
    hand_limits : (3,) rad/s2, m/s2
        Largest accelerations: rotation, along x, along z, hand axes.
    carry, retreat : (2,) s
        Shortest and longest duration of the carry and of the retreat.
    flight : (2,) s
        Shortest and longest flight.
    turn : (2,) rad
        Smallest and largest angle left to the goal at the catch.
    friction_use : float
        Largest part of the friction cone to use while carrying and in the impact.
    normal_force : float
        Smallest normal force while carrying, in weights.
    slip : float, s
        How long the contact may slip while the normal force goes to zero at the release; before, it may not.
    ramp : float, s
        Of the retreat's trapezoids; the carry's are a fifth of its duration.
    tolerance : (2,) 1, m
        Of the energy, in parts of what it takes to lift the object from the start to the goal, and of the place.

    Raises
    ------
    InputError
        If a value is out of range or the pair is not of that kind.

    Examples
    --------
    >>> import numpy as np
    >>> ellipse = tr.RigidBody(tr.Ellipse((0.0377, 0.0252)), mass=0.0553)
    >>> hand = tr.Hand(tr.Line(), extent=0.375)
    >>> pair = tr.RollingPair(ellipse, hand, on_slip="slide", on_separation="fly")
    >>> task = tr.juggling.ThrowCatch(pair, pair.place(), goal_angle=np.pi / 2)
    >>> task.parameters[0].name, round(task.profile(np.array([p.guess for p in task.parameters])).duration, 2)
    ('carry', 0.65)
    """

    pair: RollingPair
    start: Start
    goal_angle: float
    goal_place: float = 0.0
    hand_limits: Sequence[float] = (50.0, 10.0, 10.0)
    carry: Bounds = parameter((0.2, 0.6), "s, of the carry")
    retreat: Bounds = parameter((0.1, 0.4), "s, of the hand's way to its catching place")
    flight: Bounds = parameter((0.1, 0.45), "s, of the flight")
    turn: Bounds = parameter((0.2, 0.8), "rad, left to the goal angle at the catch")
    friction_use: float = 0.9
    normal_force: float = 0.1
    slip: Slip = parameter(2e-3, "s, of slip while the normal force vanishes at the release")
    ramp: Ramp = parameter(5e-3, "s, of the trapezoids of the retreat")
    tolerance: Sequence[float] = (5e-3, 5e-3)
    _limits: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pair, hand = self.pair, self.pair.base
        if pair.d != 2 or not isinstance(hand, Hand):
            raise InputError("pair", type(hand).__name__, "a planar object on a Hand")
        if np.any(np.asarray(hand.twist) != 0) or hand.angle != 0:
            raise InputError("pair.base", hand.twist, "a hand that starts level and at rest")
        instance("start", self.start, Start, "a Start, what pair.place(...) returns")
        pair.system.check_start("start", self.start)
        if (pair.on_slip, pair.on_separation) != ("slide", "fly"):
            raise InputError("pair", (pair.on_slip, pair.on_separation), "on_slip = 'slide' and on_separation = 'fly'")
        check_parameters(self)
        number("goal_angle", self.goal_angle, unit="rad")
        number("goal_place", self.goal_place, unit="m")
        object.__setattr__(self, "_limits", array("hand_limits", self.hand_limits, (3,), above=0.0))
        number("friction_use", self.friction_use, above=0.0, maximum=1.0)
        non_negative("normal_force", self.normal_force)
        array("tolerance", self.tolerance, (2,), above=0.0)
        if not self.ramp < self.retreat[0] / 4:
            raise InputError("ramp", self.ramp, f"less than a quarter of the shortest retreat, {self.retreat[0]:g} s")

    @cached_property
    def _goal(self) -> ThrowGoal:
        return ThrowGoal(self.pair, self.start, self.goal_angle)

    @cached_property
    def parameters(self) -> tuple[SearchParameter, ...]:
        """The numbers that make up a motion, with their bounds."""
        rotation, along, up = 0.9 * self._limits
        return (
            SearchParameter("carry", *self.carry),
            SearchParameter("carry_rotation", -rotation, rotation),
            SearchParameter("carry_x", -along, along),
            SearchParameter("carry_z", 0.0, up),
            SearchParameter("retreat", *self.retreat),
            SearchParameter("retreat_x", -0.1, 0.1),
            SearchParameter("retreat_z", 0.0, 0.05),
        )

    def profile(self, values: FloatArray) -> Profile:
        """Return the hand's motion of the parameters `values` (7,)."""
        carry, *heights, retreat, along, down = map(float, values)
        throw = [Pulse(0.0, carry, height, carry / 5) for height in heights]
        turned = float(Profile([[throw[0]], [], []]).travel(carry)[0, 0])
        coast = [pulse.gain * retreat for pulse in throw]
        # Even braking would end half the way of coasting on; the hand ends beside and below that.
        ends = (-turned, coast[1] / 2 + along, coast[2] / 2 - down)
        back = [
            two_pulses(carry, retreat, self.ramp, -pulse.gain, end - way)
            for pulse, end, way in zip(throw, ends, coast, strict=True)
        ]
        return Profile([[pulse, *two] for pulse, two in zip(throw, back, strict=True)])

    def roll_out(self, values: FloatArray, tolerance: float = 1e-8) -> ShotOutcome:
        """Simulate the motion of the parameters `values` (7,) up to the catch and judge it; detail: `Catch` or None."""
        profile = self.profile(values)
        log, system = self._run(profile, float(values[0]), tolerance)
        costs = (np.array([[p.height for p in entry] for entry in profile.pulses]) / self._limits[:, None]).ravel()
        limits = 1.0 - np.abs(costs)
        catch = self._goal.catch(log, system)
        if catch is None:
            far = np.full(len(MARGINS) - len(limits), -1.0)
            return ShotOutcome(np.full(len(GOALS), _FAILED), np.concatenate([far, limits]), costs)
        left = (self.goal_angle - catch.angle) * np.sign(self.goal_angle - self._goal.start_angle)
        spin = float(catch.after[self._goal.at("object.angular_velocity")][0]) * np.sign(self.goal_angle - catch.angle)
        normal, use = self._goal.carry_loads(log, float(values[0]))
        extent = self.pair.system.contact_pairs[0].extent
        edge = np.inf if extent is None else extent[0] / 2
        margins = [
            (catch.release - catch.slipped - float(values[0])) / 0.1,
            (self.slip - catch.slipped) / 0.01,
            normal - self.normal_force,
            self.friction_use - use,
            (catch.flight_time - self.flight[0]) / 0.1,
            (self.flight[1] - catch.flight_time) / 0.1,
            (catch.time - profile.duration) / 0.1 - 0.05,
            self.friction_use - catch.impulse_use,
            left - self.turn[0],
            self.turn[1] - left,
            spin / 5.0,
            min((edge - max(abs(catch.contact), abs(catch.place))) / 0.05 - 0.2, 1.0),
            *limits,
        ]
        goals = [
            catch.surplus / (self._goal.lift * self.tolerance[0]),
            (catch.place - self.goal_place) / self.tolerance[1],
        ]
        return ShotOutcome(np.array(goals), np.array(margins), costs, catch)

    def plan(
        self,
        progress: Callable[[dict[str, float]], object] | None = None,
        verbose: bool = False,
        confirm: float = 1e-10,
        **search: Unpack[SearchSettings],
    ) -> ThrowPlan:
        """Search for a motion and simulate it accurately.

        Parameters
        ----------
        progress, verbose : callable, optional; bool
            See `Shooting.solve`; whether to show a bar.
        confirm : float
            Relative tolerance of the simulation that the status is taken from.
        search : numbers
            Of `Shooting`: samples, starts, seed, max_rollouts, time_limit.
        """
        if not self._rests():
            rest = Profile([[], [], []])
            none = ShotOutcome(np.full(len(GOALS), _FAILED), np.full(len(MARGINS), -1.0))
            shot = Shot({p.name: 0.0 for p in self.parameters}, none, Status.START_INFEASIBLE, 1, 0.0)
            trajectory = self._simulate_profile(rest, 0.1, confirm)
            return ThrowPlan(shot.status, shot, rest, None, trajectory, None, self._goal.layout)
        with reporting(verbose, progress, lambda at: (f"{at['rollouts']} throws", at["share"])) as told:
            shot = Shooting(self.parameters, self.roll_out, **search).solve(told)
        values = np.array(list(shot.parameters.values()))
        outcome = self.roll_out(values, confirm)
        status = outcome.status if shot.status is Status.SUCCESS else shot.status
        profile = self.profile(values)
        catch: Catch | None = outcome.detail
        end = profile.duration + 0.1 if catch is None else catch.time + self._goal.standing_up()
        trajectory = self._simulate_profile(profile, end, confirm)
        standing = None if catch is None or status is not Status.SUCCESS else self._goal.standing(catch)
        judged = replace(shot, outcome=outcome, status=status)
        return ThrowPlan(status, judged, profile, catch, trajectory, standing, self._goal.layout)

    def _simulate_profile(self, profile: Profile, duration: float, tolerance: float) -> Trajectory:
        system = self._system.with_motions({"hand": profile.motion()})
        return simulate(system, self.start, duration, output_step=2e-3, relative_tolerance=tolerance)

    @cached_property
    def _system(self) -> ContactSystem:
        """The system with some profile as its motion: all roll-outs share what it compiles."""
        resting = replace(self.pair.base, motion=Profile([[], [], []]).motion())
        return replace(self.pair, base=resting).system

    def _run(self, profile: Profile, carry: float, tolerance: float) -> tuple[Log, ContactSystem]:
        system = self._system.with_motions({"hand": profile.motion()})
        end = float(profile.pulses[0][0].end + self.flight[1] + 0.1) if carry else 0.1
        samples = np.union1d(np.arange(0.0, end, _STEP), [carry])
        runner = Runner(system, Method(relative_tolerance=tolerance), None, samples, None)
        mode = Mode(tuple(law.name for law in system.start_laws), self.start.atlas)
        first = HybridState(0.0, np.array(self.start.x), mode, no_onsets(system))
        runner.until = lambda before, after: not touches(before) and touches(after)
        if runner.run(first, end) is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return runner.log, system

    def _rests(self) -> bool:
        """Whether the object keeps in contact on the hand that does not move yet."""
        log, _ = self._run(Profile([[], [], []]), 0.0, 1e-8)
        return not log.transitions or log.transitions[0]["time"] > 0.05
