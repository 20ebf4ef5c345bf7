"""Picking an object up with two hands, carrying it and setting it down: which phase when, and what hands do in each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from trundle.checks import FloatArray, array, number, positive
from trundle.contact.packed import FrameMotion
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.numerics.rotations import cross, rotation_by, rotation_vector, rotation_z
from trundle.parameters import Checked, Fraction, NonNegative, Range, Seconds, parameter
from trundle.systems.multicontact.centroidal.centroidal import GRAVITY, Push
from trundle.systems.multicontact.centroidal.forecast import MassChange, Pushed
from trundle.systems.multicontact.whole_body.carried_object import Load
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.systems.multicontact.whole_body.stepping import SwingMotion, minimum_jerk
from trundle.threads import cached_property

HANDS = ("left_hand", "right_hand")
PHASES = ("wait", "reach", "close", "squeeze", "load", "lift", "carry", "lower", "unload", "release", "open", "retreat")
"""In their order; the last one does not end."""
_POINT = FlatPatch.point(1.0)


@dataclass(frozen=True)
class ObjectPose:
    """Where an object is: its centre (3,) m, and its turn about the vertical (rad)."""

    position: FloatArray
    yaw: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", array("position", self.position, (3,), unit="m"))
        number("yaw", self.yaw, unit="rad")

    @cached_property
    def R(self) -> FloatArray:  # noqa: N802
        """Its axes (3, 3)."""
        return rotation_z(self.yaw)


@dataclass(frozen=True)
class Durations(Checked):
    """Of the phases, s."""

    wait: Seconds = parameter(0.5, "s, before they move")
    reach: Seconds = parameter(1.5, "s, to beside the box")
    close: Seconds = parameter(0.8, "s, to the box")
    squeeze: Seconds = parameter(0.4, "s, until they press as much as they should")
    load: Seconds = parameter(0.5, "s, in which the weight is taken over")
    lift: Seconds = parameter(1.5, "s, from the stand to before the body")
    carry: Seconds = parameter(3.0, "s, from the end of the lift to the start of the way down")
    lower: Seconds = parameter(1.5, "s, to the stand")
    unload: Seconds = parameter(0.5, "s, in which the weight is given up")
    release: Seconds = parameter(0.3, "s, until they press no more")
    open: Seconds = parameter(0.8, "s, from the box")
    retreat: Seconds = parameter(1.2, "s, back to the body")


@dataclass(frozen=True)
class Grip(Checked):
    """How hands take hold."""

    gap: NonNegative = parameter(0.05, "m, between pads and box before and after")
    force: NonNegative = parameter(2.0, "N, from which a hand feels the box")
    squeeze: NonNegative = parameter(25.0, "N, least normal force of each hand that holds")
    support: Fraction = parameter(0.5, "share of the box's weight below which it is set down")
    descent: NonNegative = parameter(0.03, "m/s, of a box whose stand is late")
    patience: NonNegative = parameter(1.5, "s, most that is waited for a force")
    steps: Annotated[int, Range("an integer > 0", minimum=1)] = parameter(5, "in which the box's mass is taken over")
    smoothing: NonNegative = parameter(0.02, "s, time constant of the measured forces")


@dataclass(frozen=True)
class PickAndPlace:
    """What is to be carried from where to where (final).

    Parameters
    ----------
    mass : float, kg
    inertia : (3, 3) kg m2
    width : float, m
        Between the sides that the pads press, along the object's y axis.
    pick, place : ObjectPose
        On the stands.
    held : (3,) m
        Centre of the object while it is carried, from the centre of mass of robot and object, in axes turned with the
        robot's heading.
    durations : Durations
    grip : Grip
    counted : bool
        Whether the centre of mass that is steered, also that of `held`, is that of robot and object, or the robot's.
    """

    mass: float
    inertia: FloatArray
    width: float
    pick: ObjectPose
    place: ObjectPose
    held: FloatArray
    durations: Durations = Durations()
    grip: Grip = Grip()
    counted: bool = True
    starts: Mapping[str, float] = field(init=False, repr=False, compare=False)
    """When each phase begins, s."""

    def __post_init__(self) -> None:
        positive("mass", self.mass, "kg")
        positive("width", self.width, "m")
        object.__setattr__(self, "inertia", array("inertia", self.inertia, (3, 3), unit="kg m2"))
        object.__setattr__(self, "held", array("held", self.held, (3,), unit="m"))
        times = np.cumsum([0.0, *(getattr(self.durations, name) for name in PHASES[:-1])])
        object.__setattr__(self, "starts", dict(zip(PHASES, times.tolist(), strict=True)))

    @property
    def duration(self) -> float:
        """Until the hands are back, s."""
        return self.starts["retreat"] + self.durations.retreat

    def phase(self, time: float) -> str:
        """Return the phase at `time` (s)."""
        return [name for name, start in self.starts.items() if start <= time + 1e-9 or name == "wait"][-1]

    def part(self, name: str, time: float) -> float:
        """Return the part, 0 to 1, of a phase that is over at `time` (s)."""
        return min(max((time - self.starts[name]) / getattr(self.durations, name), 0.0), 1.0)

    def share(self, time: float) -> float:
        """Return the share of the object's weight that the hands carry at `time` (s): a staircase up, then down."""
        n = self.grip.steps
        up, down = (
            min(math.floor(self.part(name, time) * n + 1e-9) + (time + 1e-9 >= self.starts[name]), n)
            for name in ("load", "unload")
        )
        return (up - down) / n

    def mass_changes(self, mass: float) -> tuple[MassChange, ...]:
        """Return the changes of what moves for a robot of `mass` (kg), each with the part of the object that joins."""
        n, changes = self.grip.steps, []
        for name, place, levels in (("load", self.pick, range(1, n + 1)), ("unload", self.place, range(n - 1, -1, -1))):
            for k, level in enumerate(levels):
                time = self.starts[name] + k / n * getattr(self.durations, name)
                changes.append(MassChange(time, mass + level / n * self.mass, place.position))
        return tuple(changes)

    def weights(
        self, times: Iterable[float], stance: Callable[[float], tuple[FloatArray, float]]
    ) -> tuple[Pushed, ...]:
        """Return the object's weight as known forces on the robot, with their moments about its centre of mass.

        They are constant between `times` (s) and changes of the weight; `stance` gives the place (3,) of the centre of
        mass and the heading (rad) then, as far as they are known before.
        """
        n, begin, end = self.grip.steps, self.starts["load"], self.starts["release"]
        parts = ("load", "lift", "lower", "unload")
        knots = {self.starts[name] + k / n * getattr(self.durations, name) for name in parts for k in range(n)}
        knots |= {time for time in times if begin < time < end}
        found = []
        for a, b in pairwise(sorted({*knots, end})):
            time = (a + b) / 2
            centre, yaw = stance(time)
            place, s = self.progress_at(time)[:2]
            out = s * (rotation_z(yaw) @ self.held) + (1 - s) * (place.position - centre)
            weight = np.array([0.0, 0.0, -GRAVITY * self.share(time) * self.mass])
            found.append(Pushed(Push(weight, cross(out, weight)), a, b))
        return tuple(found)

    def progress_at(self, time: float) -> tuple[ObjectPose, float, float, float]:
        """Return the stand in question, the part of the way from it to `held`, and its derivatives, 1/s, 1/s2."""
        down = time >= self.starts["lower"]
        T = self.durations.lower if down else self.durations.lift
        s, ds, dds = minimum_jerk(self.part("lower" if down else "lift", time))
        s, ds, dds = (1 - s, -ds, -dds) if down else (s, ds, dds)
        return (self.place if down else self.pick), s, ds / T, dds / T**2

    def patch(self, hand: str, at: ObjectPose, gap: float = 0.0) -> PlacedPatch:
        """Return where a pad lies on the object, or `gap` (m) beside it; z out of the object, x along its own x."""
        side = 1.0 if hand.startswith("left") else -1.0
        R = at.R @ np.column_stack(([1.0, 0.0, 0.0], [0.0, 0.0, -side], [0.0, side, 0.0]))
        return PlacedPatch(hand, _POINT, at.position + (self.width / 2 + gap) * R[:, 2], R)


class Handling:
    """The hands' part of a robot's controller (final): told the plan's time and what is measured, it says what to do.

    Phases begin at times of the plan's clock, which waits (see `must_wait`) until both hands feel the object, and
    until the stand carries it. While they hold it, its pose follows from the hands' kinematics: it does not slip.

    Parameters
    ----------
    task : PickAndPlace
    joints : mapping of str to (n,) rad
        Postures for the rest, the "pick", the "carry" and the "place".
    """

    def __init__(self, task: PickAndPlace, joints: Mapping[str, FloatArray]) -> None:
        for name in ("rest", "pick", "carry", "place"):
            if name not in joints:
                raise InputError("joints", sorted(joints), f"a posture named {name!r} too")
        self.task, self.joints = task, joints
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.time, self.waited, self.phase = 0.0, 0.0, PHASES[0]
        self.forces = {name: np.zeros(3) for name in HANDS}
        self._left: dict[tuple[str, str], tuple[FloatArray, FloatArray]] = {}
        self._grasp: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._load: Load | None = None

    def must_wait(self, ahead: float, forces: Mapping[str, FloatArray], period: float) -> bool:
        """Return whether the plan's clock must not go on to `ahead` (s), given the measured forces on the hands."""
        grip, task = self.task.grip, self.task
        keep = math.exp(-period / grip.smoothing) if grip.smoothing > 0 else 0.0
        self.forces = {name: keep * self.forces[name] + (1 - keep) * forces[name] for name in HANDS}
        waiting = False
        if self.phase == "close" and ahead >= task.starts["squeeze"] - 1e-9:
            felt = [float(self.forces[name] @ task.patch(name, task.pick).R_world_patch[:, 2]) for name in HANDS]
            waiting = min(felt) < grip.force
        elif self.phase == "lower" and ahead >= task.starts["unload"] - 1e-9:
            carried = -sum(float(self.forces[name][2]) for name in HANDS)
            waiting = carried > grip.support * GRAVITY * task.mass
        waiting = waiting and self.waited < grip.patience
        self.waited = self.waited + period if waiting else 0.0
        return waiting

    def update(self, time: float, ends: Mapping[str, FrameMotion]) -> None:
        """Take note of the plan's `time` (s), and of where the hands are."""
        self.time = time
        phase = self.task.phase(time)
        if phase == self.phase:
            return
        self.phase = phase
        if phase == "squeeze":
            for name in HANDS:
                R, pick = ends[name].R, self.task.pick
                self._grasp[name] = (R.T @ (pick.position - ends[name].p), R.T @ pick.R)
        elif phase == "open":
            self._grasp = {}

    def load(self, ends: Mapping[str, FrameMotion]) -> Load | None:
        """Return the object as the hands hold it, or None; its aim is where it is."""
        if not self._grasp:
            return None
        points, turns = [], []
        for name, (offset, turn) in self._grasp.items():
            points.append(ends[name].p + ends[name].R @ offset)
            turns.append(ends[name].R @ turn)
        p = (points[0] + points[1]) / 2
        R = rotation_by(0.5 * rotation_vector(turns[0], turns[1])) @ turns[0]
        omega = (ends[HANDS[0]].w + ends[HANDS[1]].w) / 2
        v = sum((ends[name].v + cross(ends[name].w, p - ends[name].p) for name in HANDS), np.zeros(3)) / 2
        share = self.task.share(self.time)
        mass = max(share, 0.02) * self.task.mass
        inertia = max(share, 0.2) * self.task.inertia
        grip = self.task.grip.squeeze
        squeeze = grip * self.task.part("squeeze", self.time) * (1.0 - self.task.part("release", self.time))
        if self._load is None:
            aim = BalanceTarget(p, R=R)
            self._load = Load(mass, inertia, p, R, aim, HANDS, v, omega, squeeze, share, self.task.counted)
            return self._load
        state = {"p": p, "R": R, "v": v, "omega": omega}
        return self._load.update(
            mass=mass, inertia=inertia, target=BalanceTarget(p, R=R), squeeze=squeeze, share=share, **state
        )

    def load_target(self, load: Load, com: FloatArray, rate: FloatArray, yaw: float, yaw_rate: float) -> Load:
        """Return the load with its aim: from the stand to its place beside the centre of mass `com` (3,), and down.

        ``rate`` (3,) m/s is that of the centre, `yaw` (rad) and `yaw_rate` those of the robot's heading.
        """
        task = self.task
        turn = rotation_z(yaw)
        held, spin = com + turn @ task.held, np.array([0.0, 0.0, yaw_rate])
        held_rate = rate + cross(spin, turn @ task.held)
        place, s, ds, dds = task.progress_at(self.time)
        offset = held - place.position
        position, velocity = place.position + s * offset, ds * offset + s * held_rate
        if self.phase == "lower" and self.waited > 0.0:
            sunk = np.array([0.0, 0.0, -task.grip.descent])
            position, velocity = position + self.waited * sunk, velocity + sunk
        R = rotation_by(s * rotation_vector(place.R, turn)) @ place.R
        return load.with_target(BalanceTarget(position, velocity, dds * offset, R, s * spin))

    def hand_targets(self, ends: Mapping[str, FrameMotion]) -> dict[str, BalanceTarget]:
        """Return where the hands should be while they are free."""
        if self.phase not in ("reach", "close", "open"):
            return {}
        return {name: self._hand_target(name, ends[name]) for name in HANDS}

    def _hand_target(self, name: str, end: FrameMotion) -> BalanceTarget:
        task, phase = self.task, self.phase
        p, R = self._left.setdefault((name, phase), (end.p.copy(), end.R.copy()))
        start, gap = task.starts[phase], task.grip.gap
        if phase in ("reach", "close"):
            target = task.patch(name, task.pick, gap if phase == "reach" else 0.0)
        else:
            target = task.patch(name, task.place, gap)
        if phase == "close":
            p, R = task.patch(name, task.pick, gap).position, target.R_world_patch
        aim = SwingMotion(name, start, start + getattr(task.durations, phase), target, 0.0).reference(self.time, p, R)
        if phase == "close" and self.waited > 0.0:
            into = -gap / task.durations.close * target.R_world_patch[:, 2]
            aim = replace(aim, position=aim.position + min(self.waited, 1.0) * into)
        return aim

    def posture(self, time: float) -> FloatArray:
        """Return the joints (n,) rad that the posture is drawn to at the plan's `time` (s)."""
        joints = self.joints["rest"]
        for phase, name in (("reach", "pick"), ("lift", "carry"), ("lower", "place"), ("retreat", "rest")):
            joints = joints + minimum_jerk(self.task.part(phase, time))[0] * (self.joints[name] - joints)
        return joints
