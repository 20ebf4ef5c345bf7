"""The table of transitions: which margin ends which mode, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.law import Ending
from trundle.contact.laws import LAWS, ROLLING, SEPARATED, SLIDING, is_own, slides
from trundle.models.scales import pace, rest_speed, slip_unit
from trundle.models.tree.approach import place_approach, with_charts
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import (
    Strike,
    face_below,
    free_directions,
    touch_function,
    velocities_changed,
)
from trundle.numerics.space import angular_size
from trundle.simulate.events.advancement import TOUCHED
from trundle.simulate.events.chart_transition import neighbouring_chart, neighbouring_feature
from trundle.simulate.events.patches import approaches, lain_down, landing_feature, landing_with, points_above
from trundle.simulate.events.rest import resting
from trundle.simulate.events.separated import whole_gap
from trundle.simulate.events.states import cone_margin, follow_contact, impact_at, slip_and_spin, slip_directions
from trundle.simulate.events.turning import Given, decide_contacts, held_laws, takes_part, without
from trundle.simulate.mode import Mode
from trundle.simulate.phase import MotionPhase
from trundle.status import Status

_NO_FORCE = 1e-9
"""Normal force, in weights, under which a contact that slips is at the tip of its cone and comes apart."""

_NO_SPIN = 1e-9  # m/s, rad/s: slower turning has no direction
_NO_SLIP = 1e-9
"""Slip (m/s) that is none."""
_HARDLY = 1e-8
"""Slip (m/s) of a contact that comes to rest with another one: slips end at 1e-9 m/s, and levers join them."""
_SOON, _CLOSES = 1e-4, 1e-8
"""A contact that comes apart has a gap that grows as t^3; one that jams loses more than this (sizes) within _SOON (s,
of what is 0.1 m large: `pace`)."""
_A_LITTLE_LATER = (1e-6, 1e-4)
"""s, of what is 0.1 m large: where a force has just reached its bound, what follows is decided so much later: at the
instant itself nothing tells a force that goes on over its bound from one that comes back."""
_LOW_HOPS = 4.0
"""Of the speed of a hop that is too low to be followed: where several contacts are closed at once."""
_BORN_ZERO = {SEPARATED.name: "gap", SLIDING.name: "slip_speed"}


@dataclass(frozen=True)
class HybridState:
    """Where a simulation stands: time, state, mode, and the directions of slips and turnings that are still zero.

    ``onsets`` (contacts, d + k), world, see `no_onsets`; ``unarmed`` names margins that start at zero in this mode,
    at this instant; ``impulses`` and ``moments`` of the jump of the velocities that has just led here: contact
    number -> (d,) N s, (k,) N m s, world, on A; ``strikes`` where such contacts are that cannot be followed.
    """

    t: float
    x: FloatArray
    mode: Mode
    onsets: FloatArray
    unarmed: frozenset[str] = frozenset()
    impulses: Mapping[int, FloatArray] = field(default_factory=dict)
    strikes: Mapping[int, Strike] = field(default_factory=dict)
    moments: Mapping[int, FloatArray] = field(default_factory=dict)

    def was(self, here: Sequence[HybridState]) -> bool:
        """Whether one of the states `here`, of this instant, was in this mode: transitions have led back."""
        return any(one.mode == self.mode and one.unarmed == self.unarmed and self.t - one.t < 1e-12 for one in here)


@dataclass(frozen=True)
class Event:
    """A margin that reached zero: contact number, margin name, and for a touch-down its coordinates and charts.

    ``strike``: where two shapes meet in one point that no contact of theirs can follow.
    """

    contact: int
    margin: str
    coordinates: FloatArray | None = None
    charts: tuple[int, int] | None = None
    strike: Strike | None = None


@dataclass(frozen=True)
class Undecided:
    """An event after which no one contact decides; ``status``: how the run ends where time steps cannot go on."""

    status: Status
    reason: str = ""


def no_onsets(system: ContactSystem) -> FloatArray:
    """Return the onsets (contacts, d + k) of contacts of which none begins to slip or to turn from zero."""
    return np.zeros((len(system.contact_pairs), system.d + angular_size(system.d)))


PAINLEVE = "no force agrees with sliding (Painleve's paradox)"
INDETERMINATE = "more than one motion agrees with sliding (Painleve's paradox)"
Following = HybridState | Status | Undecided
Resolve = Callable[["EventHandler", HybridState, Event, MotionPhase], Following]


class EventHandler:
    """Resolves events of one system.

    Parameters
    ----------
    system : ContactSystem
    phase_of : callable
        Returns the compiled `MotionPhase` of a `Mode`.
    inputs : callable
        Returns the input parameters at a time.
    ignored : callable
        Told the name and the value of a margin that an event has passed and the user's rules ignore.
    """

    def __init__(
        self,
        system: ContactSystem,
        phase_of: Callable[[Mode], MotionPhase],
        inputs: Callable[[float], FloatArray],
        ignored: Callable[[str, float], object],
    ) -> None:
        self.system, self.phase_of, self.inputs, self.ignored = system, phase_of, inputs, ignored
        self.weight = float(system.physics["mass"]) * (float(np.linalg.norm(system.physics["gravity"])) or 1.0)

    def next(self, now: HybridState, event: Event, phase: MotionPhase) -> tuple[Following, str]:
        """Return what follows `event`, and the reason for the record."""
        law = now.mode.laws[event.contact]
        ending = LAWS[law].ending(event.margin)
        if ending is Ending.LEAVES_DATA and self.system.contact_pairs[event.contact].goes_on_beyond(event.margin):
            ending = Ending.LEAVES_CHART
        if isinstance(ending, Status):
            return ending, f"the margin {event.margin!r} of the law {law!r} reached zero"
        reason, resolve = TRANSITIONS[ending]
        sticky = ending is Ending.SEPARATES and self.system.rules.on_slip == "ignore"
        if ending in DECIDED and takes_part(law) and not sticky:
            following = self._decide_bound(now, ending, event, phase)
            opened = isinstance(following, HybridState) and following.mode.laws[event.contact] == SEPARATED.name
            reason = TRANSITIONS[Ending.SEPARATES][0] if opened else reason
        else:
            following = resolve(self, now, event, phase)
            if isinstance(following, HybridState) and ending in STRIKES:
                following = self._held_or_starting(following, event.contact)
        if isinstance(following, HybridState):
            return resting(self, following), reason
        return following, following.reason or reason if isinstance(following, Undecided) else reason

    def without_bounce(self, now: HybridState, event: Event | Undecided) -> HybridState | None:
        """Return the landing of a contact that bounced lower than a gap is known; None if this event is no such one."""
        if not isinstance(event, Event) or not self.system.contact_pairs[event.contact].restitution.restitution:
            return None
        if event.margin not in ("gap", "touch") or not self._hops_low(now, event):
            return None
        after = _land(self, now, event, self.phase_of(now.mode), held=True)
        return resting(self, self.holding(after)) if isinstance(after, HybridState) else None

    def _hops_low(self, now: HybridState, event: Event) -> bool:
        """Whether a contact bounces so slowly that it may be held: what is pressed on comes back at once, too.

        Without gravity no speed is slow: what goes to and fro there is held.
        """
        contact = event.contact
        atlas, x = follow_contact(self.system, now.mode.atlas, now.x, contact, event.coordinates, event.charts)
        _, v, n, *_ = (np.asarray(a).ravel() for a in touch_function(self.system, atlas, contact)(x))
        closing = -float(n @ v)
        back = closing * self.system.contact_pairs[contact].restitution.after(closing)
        slow = rest_speed(self.system, contact)
        return slow == 0.0 or back <= _LOW_HOPS * slow

    def _decide_bound(self, now: HybridState, ending: Ending, event: Event, phase: MotionPhase) -> Following:
        """Return what follows a force or a turning that has reached its bound, or a slip or a turning that is over.

        A joint whose friction holds exactly its bound is held on, until that is not enough.
        """
        contact = event.contact
        slips = ending in (Ending.SLIPS, Ending.SPINS) and self.system.on_slip(contact) != "slide"
        over = frozenset({contact}) if ending is Ending.STICKS else frozenset[int]()
        rate = phase.integrator.system.rate(now.t, now.x, phase.parameters(self.inputs(now.t), now.onsets))
        leaving = contact if ending in (Ending.SLIPS, Ending.SEPARATES) else None
        following: HybridState | Status | None = None
        for after in _A_LITTLE_LATER:
            later = after * pace(self.system)
            state = now.x + later * np.asarray(rate).ravel()
            soon = (now.t + later, state) if np.all(np.isfinite(state)) else None
            following = self.decision(now, contact, over, soon, leaving)
            if following is None or isinstance(following, Status) or following.mode != now.mode:
                break
        if isinstance(following, Status):
            return following
        if slips and not (isinstance(following, HybridState) and following.mode.laws[contact] == SEPARATED.name):
            return Status.SLIPPED if ending is Ending.SLIPS else Status.SPUN
        if following is None:
            return Undecided(Status.JAMMED, PAINLEVE)
        if isinstance(following, HybridState) and self._starts_beside(following):
            return Undecided(Status.STEP_TOO_SMALL)
        if isinstance(following, HybridState) and contact in self.system.rubbing and following.mode == now.mode:
            return replace(following, unarmed=following.unarmed | {f"{self.name(contact)}.{event.margin}"})
        return following

    def _held_or_starting(self, now: HybridState, contact: int) -> HybridState:
        """Return the state after a landing, with what the forces of its island hold, and what they let start."""
        following = self.decision(now, contact)
        if isinstance(following, HybridState) and not self._starts_beside(following):
            return following
        return self.holding(now)

    def decision(
        self,
        now: HybridState,
        contact: int | None = None,
        over: frozenset[int] = frozenset(),
        later: tuple[float, FloatArray] | None = None,
        leaving: int | None = None,
    ) -> HybridState | Status | None:
        """Return what `decide_contacts` finds, with forces that the mode agrees with.

        Given are the moments that it would share.

        Of the island of a `contact` alone, where one is told.
        """
        given: Given = frozenset()
        touching = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching]
        island = touching if contact is None else self.system.island(contact, touching)
        while isinstance(following := decide_contacts(self, now, island, given, over, later, leaving), HybridState):
            beyond = self._beyond(following) - given
            if not beyond:
                break
            given |= beyond
        return following

    def _beyond(self, now: HybridState) -> Given:
        """Return the turnings that a mode holds with moments beyond their bounds."""
        phase = self.phase_of(now.mode)
        values = phase.margin_values(now.t, now.x, phase.parameters(self.inputs(now.t), now.onsets))
        found = set()
        for i, law in enumerate(now.mode.laws):
            if LAWS[law].touching:
                margins = (values.get(f"{self.name(i)}.{what}", 0.0) for what in ("rolling", "torsion"))
                found |= {(i, number) for number, value in enumerate(margins, 1) if value < 0.0}
        return frozenset(found)

    def _starts_beside(self, now: HybridState) -> bool:
        """Whether a slip in space starts beside other contacts: its direction turns with their forces at once."""
        touching = [i for i in self.system.shape_pairs if LAWS[now.mode.laws[i]].touching]
        starts = bool(np.any(now.onsets[touching, : self.system.d]))
        return self.system.d == 3 and len(touching) > 1 and starts and self.steps(now)

    def holding(self, now: HybridState) -> HybridState:
        """Return the state with a turning that is resisted and zero held; one that starts here has an onset."""
        now = self.with_turning_joints(now)
        return replace(now, mode=replace(now.mode, laws=held_laws(self.system, now.mode, now.x, now.onsets)))

    def with_turning_joints(self, now: HybridState) -> HybridState:
        """Return the state in which the dry friction of joints that turn slides."""
        for i in self.system.rubbing:
            rate = float(np.linalg.norm(slip_and_spin(self.system, now.mode.atlas, now.x, i)[1]))
            if rate > _HARDLY * slip_unit(self.system, i):
                now = replace(now, mode=self.with_law(now, i, SLIDING.name))
        return now

    def steps(self, now: HybridState) -> bool:
        """Return whether time steps can go on: contacts may slip and come apart, or there are those of joints alone."""
        rules, model = self.system.rules, self.system.model(now.mode.atlas)
        minimal = any(name.endswith(".relative_velocity") for name in model.layout)
        strict = bool(self.system.shape_pairs) and (rules.on_slip == "stop" or rules.on_separation == "ignore")
        return not (
            minimal or strict or now.mode.rest or any(is_own(law) or LAWS[law].distant for law in now.mode.laws)
        )

    def indeterminate(self, now: HybridState) -> bool:
        """Return whether a push along n - mu e of the one contact, which slides, makes it approach.

        n'D (n - mu e) < 0 with D = J M^-1 J' (Painleve): where sliding has a force, other motions agree, too.
        """
        touching = [i for i in self.system.shape_pairs if LAWS[now.mode.laws[i]].touching]
        if len(touching) != 1 or not slides(now.mode.laws[touching[0]]) or not self.steps(now):
            return False
        i, atlas = touching[0], now.mode.atlas
        J, v, n, _, _, M, *_ = (np.asarray(a) for a in touch_function(self.system, atlas, i)(now.x))
        Z = free_directions(self.system, atlas, now.x)
        J, M = (J, M) if Z is None else (J @ Z, Z.T @ M @ Z)
        slip = v.ravel() - n.ravel() * float(n.ravel() @ v.ravel())
        speed = float(np.linalg.norm(slip))
        e = slip / speed if speed > _NO_SPIN else now.onsets[i, : self.system.d]
        push = J.T @ (n.ravel() - self.system.model(atlas).constraints[i].friction.mu * e)
        return float(n.ravel() @ J @ np.linalg.solve(M, push)) < 0.0

    def with_law(self, now: HybridState, contact: int, law: str) -> Mode:
        """Return the mode with one law changed."""
        laws = tuple(law if i == contact else old for i, old in enumerate(now.mode.laws))
        return replace(now.mode, laws=laws)

    def name(self, contact: int) -> str:
        """Return the contact's name."""
        return self.system.contact_pairs[contact].contact


def _stop(status: Status) -> Resolve:
    return lambda board, now, event, phase: status


def _let_go(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase) -> Following:
    """Come apart, whatever others do: contacts of a law of one's own, or with friction without a limit."""
    touching = sum(LAWS[now.mode.laws[i]].touching for i in board.system.pair_of(event.contact))
    if touching == 1 and board.system.on_separation(event.contact) != "fly":
        return Status.SEPARATED
    mode = board.with_law(now, event.contact, SEPARATED.name)
    gap = f"{board.name(event.contact)}.gap"
    return HybridState(now.t, now.x, mode, now.onsets, frozenset({gap}))


def _land(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase, held: bool = False) -> Following:
    """A gap closed: an impact of the new contact and those that are closed.

    Of the corners, edges and faces of a shape the one that touches lands. ``held``: all stay closed.
    """
    event = replace(event, contact=landing_feature(board.system, phase, now.x, event.contact))
    after = _follow_landing(board, now, event, held)
    if isinstance(after, HybridState) and event.contact in board.system.rims:
        return lain_down(board, after, event.contact, held)
    return after


def _onto_face(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase) -> Following:
    """A rim lies flat: the points of its face land in its place, if it has such."""
    if event.contact not in board.system.faces or board.system.touching_law(event.contact).distant:
        return Status.NOT_A_POINT_CONTACT
    face = face_below(board.system, now.x, event.contact)
    apart = replace(now, mode=board.with_law(now, event.contact, SEPARATED.name))
    after = _land(board, apart, Event(face[0], "gap"), phase)
    if isinstance(after, HybridState) and any(after.mode.laws[i] == SEPARATED.name for i in face):
        return Undecided(Status.NOT_A_POINT_CONTACT)  # it rocks on over its face
    return after


def _strike(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase) -> Following:
    """Shapes meet in a point that no contact of theirs can follow: a blow after which they part, or the run ends."""
    contact, system = event.contact, board.system
    gap = f"{board.name(contact)}.gap"
    if event.strike is None or system.rules.on_slip == "ignore" or system.touching_law(contact).distant:
        return Status.NOT_A_POINT_CONTACT
    after = _follow_landing(board, now, event)
    if not isinstance(after, HybridState) or not LAWS[after.mode.laws[contact]].touching:
        return after
    onsets = without(after.onsets, contact)
    mode = board.with_law(after, contact, SEPARATED.name)
    apart = replace(after, mode=mode, onsets=onsets, unarmed=after.unarmed | {gap})
    return apart if _parts(board, apart, contact) else Status.NOT_A_POINT_CONTACT


def _parts(board: EventHandler, now: HybridState, contact: int) -> bool:
    """Whether two shapes that a blow has left without a normal velocity come apart by themselves."""
    flight = board.phase_of(now.mode)
    p = flight.parameters(board.inputs(now.t), now.onsets, np.zeros(len(now.mode.laws)))
    ignored = np.zeros(len(flight.margins), dtype=bool)
    size = board.system.contact_pairs[contact].shape_A.reference_length
    soon = _SOON * pace(board.system)
    done = flight.integrator.integrate(now.t, now.x, now.t + soon, p, step=soon, watched=ignored)
    return whole_gap(board.system, now.mode, done.t_end, done.x_end, contact) > TOUCHED * size


def _follow_landing(board: EventHandler, now: HybridState, event: Event, held: bool = False) -> Following:
    system, contact, rule = board.system, event.contact, board.system.rules.on_slip
    atlas, x = follow_contact(system, now.mode.atlas, now.x, contact, event.coordinates, event.charts)
    if (law := system.touching_law(contact)).distant:  # its force begins at zero
        return HybridState(now.t, x, Mode(board.with_law(now, contact, law.name).laws, atlas), now.onsets)
    closed = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching and not LAWS[law].distant]
    flight = board.phase_of(now.mode)
    p = flight.parameters(board.inputs(now.t), now.onsets)
    landing = landing_with(system, flight, now.t, now.x, p, contact)
    for i, place in landing.items():
        if place is not None:
            atlas = with_charts(atlas, i, place.charts)
            x = place_approach(system, atlas, x, i, place)
    with_it = list(landing)
    strikes = {} if event.strike is None else {contact: event.strike}
    if strikes:
        with_it = [i for i in with_it if i not in system.pair_of(contact)]
    sticky, both = rule == "ignore", [contact, *closed, *with_it]
    above = points_above(system, x, [i for i in both if i in system.rims], True) if held else []
    impact = impact_at(system, atlas, x, contact, both, sticky, held and not above, bool(above), strikes)
    if above and any(impact.laws.get(i, SEPARATED.name) == SEPARATED.name for i in both):
        # A face that is tilted a little and does not come to lie: it rocks on what touches.
        with_it = [i for i in with_it if i not in above]
        both = [i for i in both if i not in above]
        impact = impact_at(system, atlas, x, contact, both, sticky, held, strikes=strikes)
    # What touches in flight flies on where this landing neither brings it nor drives it in; a face lies down whole.
    idle = {i for i in with_it if not np.any(impact.impulses.get(i, 0.0)) and not approaches(system, atlas, x, i)}
    idle -= set(system.rims)
    closed += [i for i in with_it if i not in idle]
    if not impact.decided:
        return Undecided(Status.SECOND_CONTACT if closed else Status.JAMMED)
    if rule == "ignore" and not impact.rests:
        board.ignored(f"{board.name(contact)}.friction", cone_margin(impact.impulses, system, atlas, x))
    x = velocities_changed(system, atlas, x, impact.jump)
    if rule == "stop" and any(slides(law) and _slips(system, atlas, x, i) for i, law in impact.laws.items()):
        return Status.SLIPPED
    taking_part = {contact, *closed} - impact.untouched

    def law_after(i: int, law: str) -> str:
        """Return the law of a contact after the impact: as before in islands that nothing struck."""
        if i not in taking_part or LAWS[law].distant:
            return law
        after = impact.laws.get(i, SEPARATED.name)
        if after == ROLLING.name or (after == SLIDING.name and rule == "stop"):
            return system.touching_law(i).name
        return ROLLING.name if after == "spinning" else after

    laws = tuple(law_after(i, law) for i, law in enumerate(now.mode.laws))
    mode = Mode(system.with_stops(laws), atlas)
    names = [joined.name for joined in system.model(atlas).constraints]
    # What reaches the ground in flight at this very instant lands next: its gap stays armed. What came apart at it
    # before this impact has not been open yet.
    unarmed = {f"{names[i]}.{_BORN_ZERO[laws[i]]}" for i in taking_part if laws[i] in _BORN_ZERO}
    unarmed |= {name for name in now.unarmed if system.number(name) not in taking_part}
    onsets = np.array(now.onsets)
    onsets[list(taking_part)] = 0.0
    onsets[list(taking_part), : system.d] = slip_directions(impact, system, atlas, x)[list(taking_part)]
    return HybridState(now.t, x, mode, onsets, frozenset(unarmed), impact.impulses, strikes)


def _slips(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> bool:
    """Whether a contact slips at a state; one without friction may slide at zero slip."""
    return float(np.linalg.norm(slip_and_spin(system, atlas, x, contact)[1])) > _NO_SLIP


def _lock(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase) -> Following:
    """Nearly straight ground: the point of an edge runs to its end at once, which time steps follow."""
    if event.contact in board.system.beside:
        return Undecided(Status.CURVATURE_LOCKED)
    return Status.CURVATURE_LOCKED


def _rechart(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase) -> Following:
    """Go on with the neighbouring charts; pose and velocities stay."""
    p = phase.parameters(board.inputs(now.t), now.onsets)
    after = neighbouring_chart(
        board.system, phase.integrator.system.rate, now.t, now.x, p, now.mode.atlas, event.contact
    )
    if after is None:
        return Status.OFF_THE_SURFACE
    x, atlas = after
    return replace(now, x=x, mode=Mode(now.mode.laws, atlas))


def _onto_feature(board: EventHandler, now: HybridState, event: Event, phase: MotionPhase) -> Following:
    """The corner, edge or face beside the one that touched goes on as that did, or opens: normals jump at edges."""
    contact, p = event.contact, phase.parameters(board.inputs(now.t), now.onsets)
    rate = np.asarray(phase.integrator.system.rate(now.t, now.x, p)).ravel()
    after = neighbouring_feature(board.system, now.x, rate, contact)
    if after is None:
        return Undecided(Status.NOT_A_POINT_CONTACT)  # it touches along a line, where the ground is straight
    laws, onsets, unarmed = list(now.mode.laws), np.array(now.onsets), now.unarmed
    touched = LAWS[laws[after]].touching
    if not touched and _opens(board, now, after):
        if board.system.on_separation(contact) != "fly":
            return Status.SEPARATED
        unarmed |= {f"{board.name(i)}.gap" for i in (contact, after)}
    elif not touched:
        laws[after], onsets[after] = laws[contact], onsets[contact]
    laws[contact], onsets[contact] = SEPARATED.name, 0.0
    return replace(now, mode=replace(now.mode, laws=tuple(laws)), onsets=onsets, unarmed=unarmed)


def _opens(board: EventHandler, now: HybridState, contact: int) -> bool:
    """Return whether the points of a contact go away from each other, faster than in a hop too low to be followed."""
    _, v, n, *_ = (np.asarray(a).ravel() for a in touch_function(board.system, now.mode.atlas, contact)(now.x))
    return float(n @ v) > max(rest_speed(board.system, contact), _HARDLY)


DECIDED = frozenset(
    {
        *(Ending.SEPARATES, Ending.SLIPS, Ending.STICKS, Ending.SPINS),
        *(Ending.STOPS_SPINNING, Ending.ROLLS, Ending.STOPS_ROLLING),
    }
)
"""Endings after which all contacts of an island are decided together, whichever of them reached its end."""
STRIKES = frozenset({Ending.LANDS, Ending.IS_NO_POINT, Ending.TOUCHES_BLUNTLY})
"""Endings after which velocities may have jumped."""

TRANSITIONS: dict[Ending, tuple[str, Resolve]] = {
    Ending.SEPARATES: ("the contact force reached zero", _let_go),
    Ending.LOCKS: ("the relative curvature reached zero", _lock),
    Ending.IS_NO_POINT: ("the contact is no longer a point", _onto_face),
    Ending.LEAVES_CHART: ("the chart's edge was reached", _rechart),
    Ending.LEAVES_FEATURE: ("the contact left its corner, edge or face", _onto_feature),
    Ending.LEAVES_DATA: ("the data of the surface end here", _stop(Status.OFF_THE_SURFACE)),
    Ending.LEAVES_HAND: ("the contact left the hand", _stop(Status.OFF_THE_HAND)),
    Ending.SLIPS: ("the contact force left the friction cone", _stop(Status.SLIPPED)),
    Ending.STICKS: ("the slip came to rest", _stop(Status.JAMMED)),
    Ending.SPINS: ("the torsional moment left its bound", _stop(Status.SPUN)),
    Ending.STOPS_SPINNING: ("the spin came to rest", _stop(Status.JAMMED)),
    Ending.ROLLS: ("the moment against rolling left its bound", _stop(Status.JAMMED)),
    Ending.STOPS_ROLLING: ("the rolling came to rest", _stop(Status.JAMMED)),
    Ending.LANDS: ("the gap closed", _land),
    Ending.TOUCHES_BLUNTLY: (
        "the shapes meet where no point of contact of theirs can be followed",
        _strike,
    ),
    Ending.OVERLAPS: ("the bodies overlap where they touch next", _stop(Status.SECOND_CONTACT)),
}
"""What ends a law -> (reason for the record, what resolves it)."""
