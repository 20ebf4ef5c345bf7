"""Stance sequences: contacts and poses one after the other, their timing, and what preview control follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, non_negative, number
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.parameters import Positive, Range, check_parameters, parameter
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.stances.pose import (
    PoseSettings,
    Stance,
    StanceError,
    contact_sets,
    find_pose,
    radius_of,
    refusals_name,
    where,
)
from trundle.systems.multicontact.stances.swing import SwingPath, lifted_waypoint, step_over

Speed = Annotated[float, Range("a number > 0, at most 1e12", above=0.0, unit="m/s")]
Time = Annotated[float, Range("a number > 0, at most 1e12", above=0.0, unit="s")]
LeastTime = Annotated[float, Range("a time > 0, from 1e-9 to 600 (s)", minimum=0.0, unit="s", in_files=(1e-9, 600.0))]


@dataclass(frozen=True)
class TimingRule:
    """How long a transition takes (paper 3, (17)), with a lower clamp.

        dt = max(least, length / speed (1 - (min(t, tau) / alpha)^kappa))

    length: the way of the centre of mass where no contact changes (support), of the foot or hand where one does (move).
    alpha > tau keeps times positive; the defaults (alpha^2 = 50) make the factor go from 1 to 0.68. As printed the rule
    gives 0.13 s for 0.1 m: the least times are about one sample of the preview.
    """

    support_speed: Speed = parameter(0.75, "m/s, of the centre of mass while all soles stand")
    move_speed: Speed = parameter(0.5, "m/s, along the way of a sole or hand")
    tau: Time = parameter(4.0, "s, from which on times do not get shorter")
    alpha: Positive = parameter(50.0**0.5, "s, above tau: a time is shorter by (min(t, tau)/alpha)^kappa")
    kappa: Positive = parameter(2.0, "exponent")
    least_support: LeastTime = parameter(0.15, "s, least time between two ways")
    least_move: LeastTime = parameter(0.15, "s, least time of a way")

    def __post_init__(self) -> None:
        check_parameters(self)
        number("alpha", self.alpha, above=self.tau, unit="s, above tau")

    def duration(self, time: float, length: float, moves: bool) -> float:
        """Return the duration (s) of a transition of `length` (m) that starts at `time` (s) after the first one."""
        speed, least = (self.move_speed, self.least_move) if moves else (self.support_speed, self.least_support)
        return max(least, length / speed * (1 - (min(time, self.tau) / self.alpha) ** self.kappa))


@dataclass(frozen=True)
class SwingRule:
    """How ends go from contact to contact.

    Parameters
    ----------
    lift : m, optional
        Height over the higher end of a step (`swing.step_over`). None: the paper's way-point, lifted.
    along, across : float
        Of the paper's way-point (`lifted_waypoint`).
    bow : (3,) m
        Added to way-points of left ends, mirrored in y for the others.
    """

    lift: float | None = 0.06
    along: float = 0.1
    across: float = 0.15
    bow: FloatArray | tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.lift is not None:
            non_negative("lift", self.lift, "m")
        number("along", self.along)
        number("across", self.across)
        object.__setattr__(self, "bow", array("bow", self.bow, (3,), unit="m"))

    def path(self, name: str, start: FloatArray, end: FloatArray, begin: float, duration: float) -> SwingPath:
        """Return the path of the end `name`."""
        if self.lift is None:
            waypoint = lifted_waypoint(start, end, self.along, self.across)
            between = [waypoint] if float(np.linalg.norm(end - start)) > 1e-9 else ()
            return SwingPath(start, end, begin, duration, between)
        side = np.array([1.0, 1.0 if name.startswith("left") else -1.0, 1.0])
        return step_over(start, end, begin, duration, self.lift, tuple(np.asarray(self.bow) * side))


@dataclass(frozen=True)
class Wanted:
    """What a stance should be: its contacts, and where the centre of mass should be (None: see `find_pose`)."""

    contacts: Sequence[PlacedPatch]
    center_of_mass: ArrayLike | None = None

    def __post_init__(self) -> None:
        items = tuple(self.contacts)
        if not items:
            raise InputError("contacts", (), "at least one contact: a stance without contact cannot rest")
        for item in items:
            if not isinstance(item, PlacedPatch):
                raise InputError("contacts", item, "PlacedPatch objects named by ends")
        object.__setattr__(self, "contacts", items)
        if self.center_of_mass is not None:
            object.__setattr__(self, "center_of_mass", array("center_of_mass", self.center_of_mass, (3,), unit="m"))


@dataclass(frozen=True)
class StancePlan:
    """A timed sequence of stances.

    Attributes
    ----------
    stances : tuple of Stance
    times : (n,) s
        When each is reached; the first at `start`.
    kinds : tuple of str
        Of each transition: "support" (the centre of mass moves, contacts stay) or "move" (a contact changes).
    swings : tuple of (end, SwingPath, PlacedPatch or None)
        The way of each end that leaves a contact, and the contact it goes to.
    """

    stances: tuple[Stance, ...]
    times: FloatArray
    kinds: tuple[str, ...]
    swings: tuple[tuple[str, SwingPath, PlacedPatch | None], ...]

    @property
    def forecast(self) -> Forecast:
        """Contacts over time for preview control.

        A move ends the ones it leaves as it begins, and starts others as it ends. A contact that is left in the
        instant in which it is taken carries nothing, and is left out.
        """
        held: list[Held] = []
        running: dict[str, tuple[PlacedPatch, float]] = {c.name: (c, -np.inf) for c in self.stances[0].contacts}
        for i, stance in enumerate(self.stances[1:]):
            now = {c.name: c for c in stance.contacts}
            for name in set(running) | set(now):
                before = running.get(name)
                if before is not None and name in now and same_place(before[0], now[name]):
                    continue
                if before is not None:
                    held += [Held(before[0], before[1], float(self.times[i]))] if before[1] < self.times[i] else []
                    del running[name]
                if name in now:
                    running[name] = (now[name], float(self.times[i + 1]))
        held += [Held(contact, start) for contact, start in running.values()]
        return Forecast(sorted(held, key=lambda h: (h.start, h.contact.name)))

    def path(self, shape: str = "smooth") -> PointPath:
        """Return the way of the centre of mass through all stances."""
        return PointPath(*self._unique(range(len(self.stances))), shape)

    def gross_path(self, turns: Sequence[int] = ()) -> PointPath:
        """Return the way at constant velocity from the first stance to the last (paper 3, III-C).

        ``turns`` are numbers of stances where the segments of a bent way meet.
        """
        last = len(self.stances) - 1
        for i in turns:
            if not 0 < i < last:
                raise InputError("turns", list(turns), f"numbers of stances between 1 and {last - 1}")
        return PointPath(*self._unique(sorted({0, *turns, last})), "straight")

    def _unique(self, chosen: Iterable[int]) -> tuple[FloatArray, FloatArray]:
        numbers = list(chosen)
        return self.times[numbers], np.array([self.stances[i].center_of_mass for i in numbers])

    def posture(self, time: float) -> FloatArray:
        """Return the joints (n_j,) between the stances around `time` (s), linear."""
        joints = np.array([stance.q[7:] for stance in self.stances])
        return np.array([np.interp(time, self.times, column) for column in joints.T])


def plan_stances(
    humanoid: Humanoid,
    wanted: Sequence[Wanted],
    *,
    start: float = 0.0,
    timing: TimingRule | None = None,
    swing: SwingRule | None = None,
    settings: PoseSettings | None = None,
) -> StancePlan:
    """Return poses, times and swing paths of a sequence of stances.

    Each pose is sought from the one before. Between two stances either no contact changes (support) or some do (move):
    those in both hold throughout, ends in the air swing from where they were to where they land.

    Raises
    ------
    InputError
        For fewer than one stance, a stance without contact, or an end the robot does not have.
    StanceError
        If a stance cannot be taken, or a move has no contact that holds; it names the stance.
    """
    if not wanted:
        raise InputError("wanted", (), "at least one stance")
    timing, swing = timing or TimingRule(), swing or SwingRule()
    stances: list[Stance] = []
    for i, item in enumerate(wanted):
        begin = stances[-1].q if stances else None
        try:
            stances.append(find_pose(humanoid, item.contacts, item.center_of_mass, start=begin, settings=settings))
        except StanceError as error:
            raise StanceError(error.reason, error.misses, i) from None
    times, kinds, swings = [number("start", start, unit="s")], [], []
    for i, (before, after) in enumerate(pairwise(stances)):
        moving = _list_changed_ends(humanoid, before, after)
        if moving and not any(same_place(c, after.contact(c.name)) for c in before.contacts):
            raise StanceError("no contact holds while it is reached", stance=i + 1)
        length = float(np.linalg.norm(after.center_of_mass - before.center_of_mass))
        if moving:
            paths = [swing.path(name, p, q, 0.0, 1.0) for name, p, q, _ in moving]
            length = max(path.length for path in paths)
        duration = timing.duration(times[-1] - start, length, bool(moving))
        swings += [(name, swing.path(name, p, q, times[-1], duration), land) for name, p, q, land in moving]
        times.append(times[-1] + duration)
        kinds.append("move" if moving else "support")
    for i, (earlier, later) in enumerate(pairwise(times)):
        if later <= earlier:
            raise InputError("timing", timing, f"a rule that gives transition {i} some time: least_support > 0")
    return StancePlan(tuple(stances), np.array(times), tuple(kinds), tuple(swings))


def rests(
    humanoid: Humanoid,
    forecast: Forecast,
    path: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    q: FloatArray,
    until: float,
    settings: PoseSettings | None = None,
) -> StancePlan:
    """Return a statically stable pose for every set of contacts of a forecast from time 0 to `until` (s).

    The centre of mass is where `path` (times (n,) -> positions, velocities (n, 3)) has it in the middle of the time
    for which they hold; there the plan's times are. Poses are sought one from the other, the first from q (nq,).

    Raises
    ------
    InputError
        If at some time nothing holds, or the robot does not have an end.
    StanceError
        If a stance cannot be taken: it is out of reach, or its contacts cannot bear the weight within the torques.
    """
    times, stances, begin = [], [], q
    for i, time, contacts in contact_sets(forecast, until):
        com = path(np.array([time]))[0][0]
        with refusals_name(contacts, time, i):
            stances.append(find_pose(humanoid, contacts, com, start=begin, settings=settings))
        times.append(time)
        begin = stances[-1].q
    return StancePlan(tuple(stances), np.array(times), ("move",) * (len(stances) - 1), ())


def same_place(a: PlacedPatch, b: PlacedPatch | None) -> bool:
    """Whether two contacts lie at the same place."""
    if b is None:
        return False
    return bool(np.allclose(a.position, b.position, atol=1e-9) and np.allclose(a.R_world_patch, b.R_world_patch))


def _list_changed_ends(
    humanoid: Humanoid, before: Stance, after: Stance
) -> list[tuple[str, FloatArray, FloatArray, PlacedPatch | None]]:
    """Return (end, from, to, new contact) of ends whose contact is not the same in both stances."""
    found = []
    for name in dict.fromkeys(c.name for c in (*before.contacts, *after.contacts)):
        old, new = before.contact(name), after.contact(name)
        if old is not None and same_place(old, new):
            continue
        p = _touching(humanoid, before, name) if old is None else old.position
        q = _touching(humanoid, after, name) if new is None else new.position
        found.append((name, p, q, new))
    return found


def _touching(humanoid: Humanoid, stance: Stance, name: str) -> FloatArray:
    """Return the point (3,) m where an end in the air would touch: a sole's middle, the lowest point of a ball."""
    return where(humanoid, stance.q, name)[0] - radius_of(humanoid, name) * np.array([0.0, 0.0, 1.0])
