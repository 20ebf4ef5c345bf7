"""Throw and catch: a carry, a release, a flight, a plastic catch that leaves just enough energy to stand up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, non_negative, number, positive
from trundle.contact.laws import LAWS
from trundle.errors import InputError
from trundle.models.rigid_body import Hand
from trundle.models.rolling_pair import RollingPair
from trundle.models.system import Atlas, ContactSystem, Start
from trundle.plan.profiles import Profile, Pulse, two_pulses
from trundle.plan.shooting import Outcome, Parameter, Shooting, Shot
from trundle.records import Trajectory
from trundle.simulate import simulate
from trundle.simulate.phase import Method, Mode
from trundle.simulate.runner import Log, Runner, Segment
from trundle.simulate.states import contact_points, touch_function, velocities_changed
from trundle.simulate.transitions import Instant
from trundle.simulate.watch import Watch
from trundle.status import Status

_STEP = 1e-2
_FAILED = 200.0
_ARC = 17

GOALS = ("energy", "place")
MARGINS = (
    "release",
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
    "rotation_limit",
    "x_limit",
    "z_limit",
)


@dataclass(frozen=True, eq=False)
class Catch:
    """A throw up to and including the catch.

    Attributes
    ----------
    release, time : float, s
        When the contact came apart and when it closed again.
    before, after : (n_x,)
        States just before and just after the plastic impact.
    angle, rate : float, rad, rad/s
        Of the object just before the impact, counter-clockwise.
    contact : float, m
        Abscissa of the contact on the hand.
    place : float, m
        The same when the object has rolled on to the goal angle.
    surplus : float, J
        Energy after the impact beyond that of rest at the goal angle.
    impulse_use : float
        |L_t| / (mu L_n) of an impact without slip.
    slipped : float, s
        How long the contact slipped just before it came apart.
    """

    release: float
    time: float
    before: FloatArray
    after: FloatArray
    angle: float
    rate: float
    contact: float
    place: float
    surplus: float
    impulse_use: float
    slipped: float

    @property
    def flight_time(self) -> float:
        """Time between release and catch, s."""
        return self.time - self.release


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
    """

    status: Status
    shot: Shot
    profile: Profile
    catch: Catch | None
    trajectory: Trajectory


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
    ramp : float, s
        Of the retreat's trapezoids; the carry's are a fifth of its duration.
    tolerance : (2,) 1, m
        Of the energy, in parts of what it takes to lift the object from the start to the goal, and of the place.

    Raises
    ------
    InputError
        If a value is out of range or the pair is not of that kind.
    """

    pair: RollingPair
    start: Start
    goal_angle: float
    goal_place: float = 0.0
    hand_limits: Sequence[float] = (50.0, 10.0, 10.0)
    carry: Sequence[float] = (0.2, 0.6)
    retreat: Sequence[float] = (0.08, 0.3)
    flight: Sequence[float] = (0.1, 0.35)
    turn: Sequence[float] = (0.2, 0.8)
    friction_use: float = 0.9
    normal_force: float = 0.1
    ramp: float = 5e-3
    tolerance: Sequence[float] = (5e-3, 5e-3)
    _limits: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pair, hand = self.pair, self.pair.base
        if pair.d != 2 or not isinstance(hand, Hand):
            raise InputError("pair", type(hand).__name__, "a planar object on a Hand")
        if np.any(np.asarray(hand.twist) != 0) or hand.angle != 0:
            raise InputError("pair.base", hand.twist, "a hand that starts level and at rest")
        if (pair.on_slip, pair.on_separation) != ("slide", "fly"):
            raise InputError("pair", (pair.on_slip, pair.on_separation), "on_slip = 'slide' and on_separation = 'fly'")
        number("goal_angle", self.goal_angle, unit="rad")
        number("goal_place", self.goal_place, unit="m")
        object.__setattr__(self, "_limits", array("hand_limits", self.hand_limits, (3,), above=0.0))
        for name in ("carry", "retreat", "flight", "turn"):
            low, high = array(name, getattr(self, name), (2,), above=0.0)
            if not low < high:
                raise InputError(name, getattr(self, name), "two ascending numbers > 0")
        number("friction_use", self.friction_use, above=0.0, maximum=1.0)
        non_negative("normal_force", self.normal_force)
        array("tolerance", self.tolerance, (2,), above=0.0)
        if not positive("ramp", self.ramp, "s") < self.retreat[0] / 4:
            raise InputError("ramp", self.ramp, f"less than a quarter of the shortest retreat, {self.retreat[0]:g} s")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers that make up a motion, with their bounds."""
        rotation, along, up = 0.9 * self._limits
        return (
            Parameter("carry", *self.carry),
            Parameter("carry_rotation", -rotation, rotation),
            Parameter("carry_x", -along, along),
            Parameter("carry_z", 0.0, up),
            Parameter("retreat", *self.retreat),
            Parameter("retreat_x", -0.1, 0.1),
            Parameter("retreat_z", 0.0, 0.05),
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

    def roll_out(self, values: FloatArray, tolerance: float = 1e-8) -> Outcome:
        """Simulate the motion of the parameters `values` (7,) up to the catch and judge it; detail: `Catch` or None."""
        profile = self.profile(values)
        log, system = self._run(profile, float(values[0]), tolerance)
        limits = 1.0 - profile.largest / self._limits
        costs = profile.largest / self._limits
        catch = self._catch(log, system)
        if catch is None:
            far = np.full(len(MARGINS) - 3, -1.0)
            return Outcome(np.full(len(GOALS), _FAILED), np.concatenate([far, limits]), costs)
        left = (self.goal_angle - catch.angle) * np.sign(self.goal_angle - self._start_angle)
        spin = float(catch.after[self._at("object.angular_velocity")][0]) * np.sign(self.goal_angle - catch.angle)
        normal, use = self._carried(log, float(values[0]))
        edge = np.inf if self.pair.base.extent is None else float(np.ravel(self.pair.base.extent)[0]) / 2  # type: ignore[union-attr]
        margins = [
            (catch.release - catch.slipped - float(values[0])) / 0.1,
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
            catch.surplus / (self._lift * self.tolerance[0]),
            (catch.place - self.goal_place) / self.tolerance[1],
        ]
        return Outcome(np.array(goals), np.array(margins), costs, catch)

    def plan(
        self, progress: Callable[[dict[str, float]], object] | None = None, confirm: float = 1e-10, **search: Any
    ) -> ThrowPlan:
        """Search for a motion and simulate it accurately.

        Parameters
        ----------
        progress : callable, optional
            See `Shooting.solve`.
        confirm : float
            Relative tolerance of the simulation that the status is taken from.
        search : numbers
            Of `Shooting`: samples, starts, seed, max_rollouts, time_limit.
        """
        if not self._rests():
            rest = Profile([[], [], []])
            none = Outcome(np.full(len(GOALS), _FAILED), np.full(len(MARGINS), -1.0))
            shot = Shot({p.name: 0.0 for p in self.parameters}, none, Status.START_INFEASIBLE, 1, 0.0)
            return ThrowPlan(shot.status, shot, rest, None, self._simulated(rest, 0.1, confirm))
        shot = Shooting(self.parameters, self.roll_out, **search).solve(progress)
        values = np.array(list(shot.parameters.values()))
        outcome = self.roll_out(values, confirm)
        status = outcome.status if shot.status is Status.SUCCESS else shot.status
        profile = self.profile(values)
        catch: Catch | None = outcome.detail
        end = profile.duration + 0.1 if catch is None else catch.time + self._standing_up()
        trajectory = self._simulated(profile, end, confirm)
        return ThrowPlan(status, replace(shot, outcome=outcome, status=status), profile, catch, trajectory)

    def _simulated(self, profile: Profile, duration: float, tolerance: float) -> Trajectory:
        system = self.pair.system.moved({"hand": profile.motion()})
        return simulate(system, self.start, duration, output_step=2e-3, relative_tolerance=tolerance)

    @cached_property
    def _system(self) -> ContactSystem:
        """The system with some profile as its motion: all roll-outs share what it compiles."""
        return self.pair.system.moved({"hand": Profile([[], [], []]).motion()})

    def _run(self, profile: Profile, carry: float, tolerance: float) -> tuple[Log, ContactSystem]:
        system = self._system.moved({"hand": profile.motion()})
        end = float(profile.pulses[0][0].end + self.flight[1] + 0.1) if carry else 0.1
        samples = np.union1d(np.arange(0.0, end, _STEP), [carry])
        runner = Runner(system, Method(relative_tolerance=tolerance), None, samples, None)
        mode = Mode(tuple(law.name for law in system.start_laws), self.start.atlas)
        first = Instant(0.0, np.array(self.start.x), mode, np.zeros((len(mode.laws), system.d)))
        runner.until = lambda before, after: not _touch(before) and _touch(after)
        if runner.run(first, end) is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return runner.log, system

    def _rests(self) -> bool:
        """Whether the object keeps in contact on the hand that does not move yet."""
        log, _ = self._run(Profile([[], [], []]), 0.0, 1e-8)
        return not log.transitions or log.transitions[0]["time"] > 0.05

    def _at(self, name: str) -> slice:
        return self._system.model(self.start.atlas).layout[name]

    @cached_property
    def _start_angle(self) -> float:
        return float(self.start.x[self._at("object.turn")][0])

    @cached_property
    def _goal_height(self) -> float:
        return self._height(self.pair.place(contact_on_hand=(0.0, 0.0), object_angle=self.goal_angle).x)

    @cached_property
    def _lift(self) -> float:
        """Energy to lift the object from the start to the goal, J."""
        return self._weight * max(abs(self._goal_height - self._height(self.start.x)), 1e-6)

    @property
    def _weight(self) -> float:
        return self.pair.body.mass * float(np.linalg.norm(self.pair.gravity))

    def _height(self, x: FloatArray) -> float:
        return float(x[self._at("object.position")][1] - x[self._at("hand.position")][1])

    def _catch(self, log: Log, system: ContactSystem) -> Catch | None:
        """Find the first flight and its landing."""
        leaving = next((k for k, change in enumerate(log.transitions) if change["to"] == "separated"), None)
        if leaving is None or leaving + 1 == len(log.transitions):
            return None
        release, time = log.transitions[leaving]["time"], log.transitions[leaving + 1]["time"]
        slips = [change["time"] for change in log.transitions[:leaving] if change["to"] == "sliding"]
        flown = next(s for s in reversed(log.segments) if s.times[-1] <= time and not _touch(s.phase.mode))
        x, atlas = self._touching(system, flown)
        J, v, n, _, _, M, *_ = (np.asarray(value) for value in touch_function(system, atlas, 0)(x))
        push = np.linalg.solve(J @ np.linalg.solve(M, J.T), -v.ravel())  # without slip, whatever friction it takes
        after = velocities_changed(system, atlas, x, np.linalg.solve(M, J.T @ push))
        normal = float(n.ravel() @ push)
        angle = float(x[self._at("object.turn")][0])
        contact = float(contact_points(system, atlas, x, 0)[1][0])
        return Catch(
            release=release,
            time=time,
            before=np.array(x),
            after=after,
            angle=angle,
            rate=float(x[self._at("object.angular_velocity")][0]),
            contact=contact,
            place=contact - self._rolled(angle),
            surplus=self._surplus(after),
            impulse_use=float(np.linalg.norm(push - normal * n.ravel())) / max(self.pair.friction * normal, 1e-12),
            slipped=release - min(slips, default=release),
        )

    def _touching(self, system: ContactSystem, flown: Segment) -> tuple[FloatArray, Atlas]:
        """Return the last state of a flight with the coordinates of the contact that closes, and its charts."""
        x, mode = np.array(flown.states[-1]), flown.phase.mode
        where = self._at("contact.coordinates")
        near = Watch(system, mode).nearest(x) if where.stop > where.start else None
        if near is None:
            return x, mode.atlas
        x[where] = near.coordinates
        return x, (near.charts, *mode.atlas[1:])

    def _rolled(self, angle: float) -> float:
        """How far (m) the contact moves to the left on the hand while the object turns from `angle` to the goal."""
        turns = np.linspace(angle, self.goal_angle, _ARC)
        outline = [self.pair.body.shape.points_with_normal(np.array([-np.sin(a), -np.cos(a)]))[0] for a in turns]
        length = float(np.sum(np.linalg.norm(np.diff(outline, axis=0), axis=1)))
        return length * float(np.sign(self.goal_angle - angle))

    def _surplus(self, x: FloatArray) -> float:
        """Energy (J) at `x` on a resting hand beyond that of rest at the goal angle."""
        v, w = x[self._at("object.velocity")], float(x[self._at("object.angular_velocity")][0])
        moving = self.pair.body.mass * float(v @ v) / 2 + float(self.pair.body.moments) * w**2 / 2
        return moving + self._weight * (self._height(x) - self._goal_height)

    def _standing_up(self) -> float:
        """Time (s) in which the object has all but come to stand after the catch."""
        return 4.0 * float(np.sqrt(self._goal_height / np.linalg.norm(self.pair.gravity)))

    def _carried(self, log: Log, carry: float) -> tuple[float, float]:
        """Return the smallest normal force, in weights, and the largest friction use |f_t| / (mu f_n) while carrying."""
        normal, use = np.inf, 0.0
        for segment in log.segments:
            until = segment.times <= carry
            if not _touch(segment.phase.mode) or not np.any(until):
                continue
            out = segment.phase.outputs(segment.times[until], segment.states[until], segment.parameters[until])
            force, n = out["contact.force"], out["contact.normal"]
            f_n = np.einsum("ij,ij->i", force, n)
            f_t = np.linalg.norm(force - f_n[:, None] * n, axis=1)
            normal = min(normal, float(np.min(f_n)) / self._weight)
            use = max(use, float(np.max(f_t / np.maximum(self.pair.friction * f_n, 1e-12))))
        return min(normal, 10.0), min(use, 10.0)


def _touch(mode: Mode) -> bool:
    return any(LAWS[law].touching for law in mode.laws)
