"""Where a robot is in its steps: a clock that waits for late ground, what is felt to stand, and where it stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.packed import FrameMotion
from trundle.contact.patch import PlacedPatch
from trundle.parameters import Checked, NonNegative, Positive, parameter
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held
from trundle.systems.multicontact.preview import ReferencePath
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.systems.multicontact.whole_body.stepping import Footsteps, SwingMotion

_LEAD = 0.1
"""Least time ahead, s, at which plans count on a contact that is late: they bear that it comes at the last moment."""
_HIDDEN = 0.1
"""Time, s, for which a contact that should press is not felt before it counts as lost."""
_PRESSED = 5.0
"""Planned normal force of such a contact, in forces that count as a touch."""
_SLOW = 0.08
"""Delay, s, of ground after which the robot settles: its centre of mass has gone on meanwhile."""
_FASTER = 0.05
"""Time, s, in which a sole or hand whose ground is late reaches the speed of its descent."""
_DEEPEST = 0.14
"""How far below its place, m, ground is looked for."""
_SAME = 0.008
"""Height, m, by which ground may be off before it is taken to be elsewhere: the odometry is not better."""
_BACK = 0.5
"""Least time, s, in which a sole that found no ground goes back to where it stood."""


@dataclass(frozen=True)
class Gating(Checked):
    """When a sole or a hand counts as landed, as late and as lost."""

    force: Positive = parameter(8.0, "N, of the ground along the foothold's normal")
    descent: NonNegative = parameter(0.8, "m/s, that a sole or hand reaches whose ground is late")
    patience: NonNegative = parameter(0.4, "s, for which it looks for it; then it is given up, and the robot stops")
    settle: NonNegative = parameter(0.4, "s, for which the robot stays where it stands after late ground was felt")
    early: NonNegative = parameter(0.7, "share of the way after which a force ends it")


class WalkProgress:
    """Which steps have been taken (final): told forces and places at each tick, it says what stands and what travels.

    A sole or a hand that arrives where nothing is felt stops the clock and goes on down for `Gating.patience`; plans do
    not count on it meanwhile. Ground felt higher or lower than expected is taken to be there. If nothing is felt then,
    a sole goes back to where it stood, a hand is left free, and the robot stops there, on both soles: its steps end,
    its centre of mass goes between them. So it does when a contact that should press is not felt any more.

    Parameters
    ----------
    steps : Footsteps
    path : callable
        What the centre of mass should follow.
    gating : Gating
    period : float, s
        Between two calls.

    Attributes
    ----------
    clock : float, s
        Of the steps.
    late, settling : float, s
        For how long it has been waiting for ground, or will stay where it stands since some was late.
    waited : float, s
        By which it is behind.
    standing : tuple of str
        Ends that stand.
    places : mapping of str to PlacedPatch
        Where.
    landed, begun : int
        Travels that have ended, or begun.
    stopped : str
        Why the robot stopped; empty while it has not.
    stopped_at : float, s
        Of the clock; infinite while it has not.
    """

    def __init__(self, steps: Footsteps, path: ReferencePath, gating: Gating, period: float) -> None:
        self.steps, self.path, self.gating, self.period = steps, path, gating, period
        self.clock, self.late, self.settling, self.waited, self.begun, self.landed = 0.0, 0.0, 0.0, 0.0, 0, 0
        self.stopped, self.stopped_at = "", np.inf
        self.places = steps.standing(0.0)
        self.standing = tuple(sorted(self.places))
        self._left: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._done: set[SwingMotion] = set()
        self._hidden: dict[str, float] = {}

    @property
    def forecast(self) -> Forecast:
        """What is counted on from now: late contacts not before they would be given up."""
        forecast = self.steps.forecast
        if self.waited and forecast.pushes:  # forces from outside do not wait
            gone = self.waited
            forecast = replace(
                forecast, pushes=[replace(p, start=p.start - gone, end=p.end - gone) for p in forecast.pushes]
            )
        gone = self._delay
        if not gone:
            return forecast
        soon = self.clock + gone

        def later(time: float) -> float:
            return time + gone if time > self.clock + 1.5 * self.period else time  # not of what has just landed

        held = [
            replace(item, start=soon if self._is_late(item) else later(item.start), end=later(item.end))
            for item in forecast.contacts
        ]
        masses = [replace(change, time=later(change.time)) for change in forecast.masses]
        return replace(forecast, contacts=tuple(held), masses=tuple(masses))

    @property
    def reference(self) -> ReferencePath:
        """What the centre of mass should follow from now: where ground is late it waits as the steps do."""
        path, clock, gone = self.path, self.clock, self._delay
        if not gone:
            return path

        def waiting(times: FloatArray) -> tuple[FloatArray, FloatArray]:
            points, rates = path(np.where(times > clock, np.maximum(times - gone, clock), times))
            return points, np.where((times < clock + gone)[:, None], 0.0, rates)

        return waiting

    @property
    def _delay(self) -> float:
        """Time, s, by which all that is to come waits: late ground comes at the last moment, then the robot settles."""
        return max(_LEAD, self.gating.patience - self.late) if self.late else self.settling

    def _is_late(self, item: Held) -> bool:
        near = self.clock - _LEAD < item.start <= self.clock + self.period
        return item.contact.name not in self.standing and near

    def advance(
        self,
        forces: Mapping[str, FloatArray],
        ends: Mapping[str, FrameMotion],
        planned: Mapping[str, float],
        radii: Mapping[str, float],
        waiting: bool = False,
    ) -> tuple[SwingMotion, ...]:
        """Go on by a period unless the ground is late or the caller is `waiting`; return what travels.

        `forces` (3,) N world are felt, `planned` are normal forces, N, that plans ask of what stands, `radii` (m) those
        of hands' balls.
        """
        self.settling = max(0.0, self.settling - self.period)
        ahead, gate = self.clock + (0.0 if self.settling else self.period), self.gating
        under_way: list[SwingMotion] = []
        for travel in self.steps.travels:
            if travel in self._done or travel.start > ahead:
                continue
            if travel.name not in self._left:
                self.begun += 1
                self._left[travel.name] = (ends[travel.name].p.copy(), ends[travel.name].R.copy())
            share = (ahead - travel.start) / (travel.end - travel.start)
            if self._measure_load(forces, travel.target) > gate.force and share > gate.early:
                self.landed += 1
                if self.late > _SLOW:
                    self.settling = gate.settle
                self._end(self._found(travel, ends[travel.name].p, radii.get(travel.name, 0.0)))
            elif share >= 1.0 and self.late > gate.patience:
                self._end(travel)
                self._stop_missed_end(travel)
                return self.advance(forces, ends, planned, radii, waiting)
            else:
                under_way.append(travel)
        late = any(travel.end <= ahead for travel in under_way)
        self.late = self.late + self.period if late else 0.0
        if late or waiting or self.settling:
            self.waited += self.period
        else:
            self.clock = ahead
        self.places = self.steps.standing(self.clock)
        self.places |= {t.target.name: t.target for t in self._done if t in self.steps.travels and t.end > self.clock}
        self.standing = tuple(sorted(set(self.places) - {travel.name for travel in under_way}))
        self._look(forces, planned)
        return tuple(under_way)

    def target(self, travel: SwingMotion, radius: float) -> BalanceTarget:
        """Return where the end of a travel should be now; `radius` (m) of a hand's ball, whose middle it is."""
        p, R = self._left[travel.name]
        rise = radius * travel.target.R_world_patch[:, 2]
        aim = travel.reference(self.clock, p - rise, R)
        aim = replace(aim, position=aim.position + rise)
        if self.late > 0.0 and travel.end <= self.clock + self.period:
            down, most, faster = travel.target.R_world_patch[:, 2], self.gating.descent, min(self.late / _FASTER, 1.0)
            way = most * (self.late - _FASTER * faster * (1.0 - 0.5 * faster))
            if way > _DEEPEST:
                way, faster = _DEEPEST, 0.0
            return replace(aim, position=aim.position - way * down, velocity=-most * faster * down)
        return aim

    def _found(self, travel: SwingMotion, point: FloatArray, radius: float) -> SwingMotion:
        """Return a travel that has ended: at its target, or above or below it if its ground was felt there."""
        target = travel.target
        normal = target.R_world_patch[:, 2]
        off = float(normal @ (point - target.position)) - radius
        if abs(off) < _SAME:
            return travel
        place = PlacedPatch(target.name, target.patch, target.position + off * normal, target.R_world_patch)
        found = replace(travel, target=place)
        # Out of a hollow it goes as much higher.
        after = next((one for one in self.steps.travels if one.name == travel.name and one.start >= travel.end), None)
        travels = [
            found if one is travel else replace(one, lift=one.lift + max(0.0, -off)) if one is after else one
            for one in self.steps.travels
        ]
        self.steps = replace(self.steps, travels=travels)
        return found

    def _measure_load(self, forces: Mapping[str, FloatArray], place: PlacedPatch) -> float:
        return float(forces[place.name] @ place.R_world_patch[:, 2])

    def _end(self, travel: SwingMotion) -> None:
        self._done.add(travel)
        del self._left[travel.name]

    def _stop_missed_end(self, travel: SwingMotion) -> None:
        """Stop because an end found nothing; a sole goes back."""
        standing = {name: self.places[name] for name in self.standing if name != travel.name}
        back = []
        if travel.name.endswith("_foot") and not self.stopped:
            old = self.steps.standing(np.nextafter(travel.start, -np.inf))[travel.name]
            duration = max(_BACK, travel.end - travel.start)
            back = [SwingMotion(travel.name, self.clock, self.clock + duration, old, travel.lift, travel.aside)]
        self._stop(f"{travel.name} found nothing at its hold", standing, back)

    def _look(self, forces: Mapping[str, FloatArray], planned: Mapping[str, float]) -> None:
        """Stop if a contact that should press has not been felt for a while."""
        for name in self.standing:
            hidden = planned.get(name, 0.0) > _PRESSED * self.gating.force
            hidden = hidden and self._measure_load(forces, self.places[name]) < 0.1 * self.gating.force
            self._hidden[name] = self._hidden.get(name, 0.0) + self.period if hidden else 0.0
        lost = [name for name in self.standing if self._hidden[name] > _HIDDEN]
        if lost and len(lost) < len(self.standing):
            kept = {name: self.places[name] for name in self.standing if name not in lost}
            under_way = [t for t in self.steps.travels if t.name in self._left and t.name.endswith("_foot")]
            self._stop(f"{' and '.join(lost)} lost its hold", kept, under_way)

    def _stop(self, why: str, standing: dict[str, PlacedPatch], travels: list[SwingMotion]) -> None:
        """End the steps with what stands and these last travels; the centre of mass goes between the soles."""
        masses = [change for change in self.steps.masses if change.time <= self.clock]
        self.steps = Footsteps(standing, travels, masses=masses, pushes=self.steps.pushes)
        final = standing | {travel.name: travel.target for travel in travels}
        soles = [place.position for name, place in final.items() if name.endswith("_foot")]
        middle: FloatArray = np.mean(soles or [place.position for place in final.values()], axis=0)
        now = self.path(np.array([self.clock]))[0][0]
        self.path = PointPath([self.clock], [(middle[0], middle[1], now[2])])
        self.places, self.standing, self.late = standing, tuple(sorted(standing)), 0.0
        self._hidden = {}
        if not self.stopped:
            self.stopped, self.stopped_at = why, self.clock
