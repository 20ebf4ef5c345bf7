"""Where a throw shall end, and how one is judged: release, flight, plastic catch, what is left to stand up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, SEPARATED, slides
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.approach import place_approach, with_charts
from trundle.models.tree.closing import nearest
from trundle.models.tree.system import Atlas, ContactSystem, Start
from trundle.models.tree.touching import contact_points, touch_function, velocities_changed
from trundle.simulate.mode import Mode
from trundle.simulate.record import Log, Segment
from trundle.threads import cached_property

_ARC = 17
"""Points of the arc that the object has yet to roll."""


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
class ThrowGoal:
    """The object at rest at an angle on the level hand, reached from a start.

    Parameters
    ----------
    pair : RollingPair
        A planar object on a `Hand`.
    start : Start
    angle : float, rad
        Counter-clockwise.
    """

    pair: RollingPair
    start: Start
    angle: float

    def standing(self, catch: Catch) -> Start:
        """Return the goal: the object at rest at its angle on the hand where it catches."""
        x = catch.before
        hand = replace(
            self.pair.base,
            position=x[self.at("hand.position")],
            angle=float(x[self.at("hand.orientation")][0]),
            twist=np.zeros(3),
        )
        there = replace(self.pair, base=hand)
        return there.place(contact_on_hand=(catch.place, 0.0), object_angle=self.angle)

    @property
    def layout(self) -> Mapping[str, slice]:
        """Where the parts of a state are."""
        return self.pair.system.model(self.start.atlas).layout

    def at(self, name: str) -> slice:
        """Return where a part of a state is."""
        return self.layout[name]

    @cached_property
    def start_angle(self) -> float:
        """Angle of the object at the start, rad."""
        return float(self.start.x[self.at("object.orientation")][0])

    @cached_property
    def height(self) -> float:
        """Height of the centre of mass over the hand's frame at the goal, m."""
        return self.height_at(self.pair.place(contact_on_hand=(0.0, 0.0), object_angle=self.angle).x)

    @cached_property
    def lift(self) -> float:
        """Energy to lift the object from the start to the goal, J."""
        return self.weight * max(abs(self.height - self.height_at(self.start.x)), 1e-6)

    @property
    def weight(self) -> float:
        """Weight of the object, N."""
        return self.pair.body.mass * float(np.linalg.norm(self.pair.gravity))

    def height_at(self, x: FloatArray) -> float:
        """Return the height of the centre of mass over the hand's frame at a state, m."""
        return float(x[self.at("object.position")][1] - x[self.at("hand.position")][1])

    def catch(self, log: Log, system: ContactSystem) -> Catch | None:
        """Find the first flight and its landing."""
        leaving = next((k for k, change in enumerate(log.transitions) if change["to"] == SEPARATED.name), None)
        if leaving is None or leaving + 1 == len(log.transitions):
            return None
        release, time = log.transitions[leaving]["time"], log.transitions[leaving + 1]["time"]
        until = log.transitions[:leaving]
        slips = [change["time"] for change in until if change["to"] in LAWS and slides(change["to"])]
        flown = next(s for s in reversed(log.segments) if s.times[-1] <= time and not touches(s.phase.mode))
        x, atlas = self._touching(system, flown)
        J, v, n, _, _, M, *_ = (np.asarray(value) for value in touch_function(system, atlas, 0)(x))
        push = np.linalg.solve(J @ np.linalg.solve(M, J.T), -v.ravel())  # without slip, whatever friction it takes
        after = velocities_changed(system, atlas, x, np.asarray(np.linalg.solve(M, J.T @ push), dtype=np.float64))
        normal = float(n.ravel() @ push)
        angle = float(x[self.at("object.orientation")][0])
        contact = float(contact_points(system, atlas, x, 0)[1][0])
        return Catch(
            release=release,
            time=time,
            before=np.array(x),
            after=after,
            angle=angle,
            rate=float(x[self.at("object.angular_velocity")][0]),
            contact=contact,
            place=contact - self.rolled_distance(angle),
            surplus=self.surplus(after),
            impulse_use=float(np.linalg.norm(push - normal * n.ravel())) / max(self.pair.friction * normal, 1e-12),
            slipped=release - min(slips, default=release),
        )

    def _touching(self, system: ContactSystem, flown: Segment) -> tuple[FloatArray, Atlas]:
        """Return the last state of a flight with the coordinates of the contact that closes, and its charts."""
        x, mode = np.array(flown.states[-1]), flown.phase.mode
        where = self.at("contact.coordinates")
        near = nearest(system, mode.atlas, x, 0) if where.stop > where.start else None
        if near is None:
            return x, mode.atlas
        atlas = with_charts(mode.atlas, 0, near.charts)
        return place_approach(system, atlas, x, 0, near), atlas

    def rolled_distance(self, angle: float) -> float:
        """Return how far (m) the contact moves to the left while the object turns from `angle` to the goal."""
        turns = np.linspace(angle, self.angle, _ARC)
        outline = [self.pair.body.shape.points_with_normal(np.array([-np.sin(a), -np.cos(a)]))[0] for a in turns]
        length = float(np.sum(np.linalg.norm(np.diff(outline, axis=0), axis=1)))
        return length * float(np.sign(self.angle - angle))

    def surplus(self, x: FloatArray) -> float:
        """Return the energy (J) at `x` on a resting hand beyond that of rest at the goal angle."""
        v, w = x[self.at("object.velocity")], float(x[self.at("object.angular_velocity")][0])
        moving = self.pair.body.mass * float(v @ v) / 2 + float(self.pair.body.moments) * w**2 / 2
        return moving + self.weight * (self.height_at(x) - self.height)

    def standing_up(self) -> float:
        """Return the time (s) in which the object has all but come to stand after the catch."""
        return 4.0 * float(np.sqrt(self.height / np.linalg.norm(self.pair.gravity)))

    def carry_loads(self, log: Log, carry: float) -> tuple[float, float]:
        """Return the smallest normal force (weights) and the largest |f_t| / (mu f_n) until the time `carry`."""
        normal, use = np.inf, 0.0
        for segment in log.segments:
            until = segment.times <= carry
            if not touches(segment.phase.mode) or not np.any(until):
                continue
            out = segment.phase.outputs(segment.times[until], segment.states[until], segment.parameters[until])
            force, n = out["contact.force"], out["contact.normal"]
            f_n = np.einsum("ij,ij->i", force, n)
            f_t = np.linalg.norm(force - f_n[:, None] * n, axis=1)
            normal = min(normal, float(np.min(f_n)) / self.weight)
            use = max(use, float(np.max(f_t / np.maximum(self.pair.friction * f_n, 1e-12))))
        return min(normal, 10.0), min(use, 10.0)


def touches(mode: Mode) -> bool:
    """Whether any contact is closed."""
    return any(LAWS[law].touching for law in mode.laws)
