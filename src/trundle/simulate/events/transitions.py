"""The table of transitions: which margin ends which mode, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, SLIP_END
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import velocities_changed
from trundle.simulate.compiled_mode import CompiledMode, projected
from trundle.simulate.events.chart_transition import has_neighbour, neighbouring_chart
from trundle.simulate.events.impact import REST_SPEED
from trundle.simulate.events.mode_selection import select_modes
from trundle.simulate.events.patches import landing_with
from trundle.simulate.events.rest import Hold, can_rest
from trundle.simulate.events.states import (
    cone_margin,
    impact_at,
    normal_speed,
    rolling_law,
    slip_and_spin,
    slip_directions,
)
from trundle.simulate.mode import Mode
from trundle.status import Status

_NO_FORCE = 1e-9
"""Normal force, in weights, under which a contact that slips is at the tip of its cone and comes apart."""

_NO_SPIN = _SAME = 1e-9
_STILL = 1e-14
"""Rates (rad/s, m/s) of a hand that stands still: only round-off is left of a zero."""
_SOON, _CLOSES = 1e-4, 1e-9
"""A contact that comes apart has a gap that grows as t^3; one that jams loses more than this (m) within _SOON (s)."""
JAM = "the slip jammed and stopped"
_ROLLS = ("rolling", "pure-rolling")
_BORN_ZERO = {"separated": "gap", "sliding": "slip_speed"}


@dataclass(frozen=True)
class HybridState:
    """Where a simulation stands: time, state, mode, and the directions of slips that are still zero.

    ``onsets`` (contacts, d); ``unarmed`` names margins that start at zero in this mode, at this instant.
    """

    t: float
    x: FloatArray
    mode: Mode
    onsets: FloatArray
    unarmed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Event:
    """A margin that reached zero: contact number, margin name, and for a touch-down its coordinates and charts."""

    contact: int
    margin: str
    coordinates: FloatArray | None = None
    charts: tuple[int, int] | None = None


Resolve = Callable[["EventHandler", HybridState, Event, CompiledMode], "HybridState | Status"]


class EventHandler:
    """Resolves events of one system.

    Parameters
    ----------
    system : ContactSystem
    phase_of : callable
        Returns the compiled `CompiledMode` of a `Mode`.
    inputs : callable
        Returns the input parameters at a time.
    ignored : callable
        Told the name and the value of a margin that an event has passed and the user's rules ignore.
    """

    def __init__(
        self,
        system: ContactSystem,
        phase_of: Callable[[Mode], CompiledMode],
        inputs: Callable[[float], FloatArray],
        ignored: Callable[[str, float], object],
    ) -> None:
        self.system, self.phase_of, self.inputs, self.ignored = system, phase_of, inputs, ignored
        self.weight = float(system.physics["mass"]) * (float(np.linalg.norm(system.physics["gravity"])) or 1.0)

    def next(self, now: HybridState, event: Event, phase: CompiledMode) -> tuple[HybridState | Status, str]:
        """Return what follows `event`, and the reason for the record."""
        law = now.mode.laws[event.contact]
        family = event.margin.split("_")[0] if event.margin.startswith(("chart", "data", "extent")) else event.margin
        if family == "data" and has_neighbour(self.system.contact_pairs[event.contact], event.margin):
            family = "chart"
        if family == "friction" and self._at_the_tip(now, event, phase):
            family = "normal_force"
        reason, resolve = TRANSITIONS.get((law, family)) or _other(law, family)
        following = resolve(self, now, event, phase)
        stays = isinstance(following, HybridState) and following.mode.laws[event.contact] != "separated"
        return following, JAM if stays and resolve is _separate and law == "sliding" else reason

    def settle(self, here: Sequence[HybridState]) -> HybridState | None:
        """Return how the last of the instants `here` of one time goes on, decided for all contacts at once, or None.

        Margins decide one contact after the other; of several that share a body each may take back what the other
        one did. Contacts that touched at one of these instants and that do not move apart are decided together.
        """
        now = here[-1]
        model, atlas = self.system.model(now.mode.atlas), now.mode.atlas
        if any(one.mode.atlas != atlas for one in here):
            return None
        touched = {i for one in here for i, law in enumerate(one.mode.laws) if LAWS[law].touching}
        closed = [i for i in sorted(touched) if normal_speed(self.system, atlas, now.x, i) <= _SAME]
        phase = self.phase_of(now.mode)
        p = phase.parameters(self.inputs(now.t), now.onsets)
        u = phase.outputs(np.array([now.t]), now.x[None, :], p[None, :])["input"][0]
        found = select_modes(self.system, atlas, now.x, u, closed, self.system.rules.on_slip == "ignore")
        if found is None:
            return None
        names = {"rolling": rolling_law(self.system)}
        laws = tuple(
            names.get(law, law) for law in (found.laws.get(i, "separated") for i in range(len(model.constraints)))
        )
        onsets = np.zeros_like(now.onsets)
        for i, onset in found.onsets.items():
            onsets[i] = onset
        born = {i: law for i, law in found.laws.items() if law == "separated" or i in found.onsets}
        unarmed = frozenset(f"{self.name(i)}.{_BORN_ZERO[law]}" for i, law in born.items())
        return HybridState(now.t, now.x, Mode(self.system.with_stops(laws), atlas), onsets, unarmed)

    def _at_the_tip(self, now: HybridState, event: Event, phase: CompiledMode) -> bool:
        """Whether the cone was left at its tip, where the contact comes apart: both margins reach zero there."""
        name = f"{self.name(event.contact)}.normal_force"
        if name not in phase.margins or not phase.watched[phase.margins.index(name)]:
            return False
        force, normal = _force(self, now, event.contact, phase)
        return float(normal @ force) <= _NO_FORCE * self.weight

    def with_law(self, now: HybridState, contact: int, law: str) -> Mode:
        """Return the mode with one law changed."""
        laws = tuple(law if i == contact else old for i, old in enumerate(now.mode.laws))
        return replace(now.mode, laws=laws)

    def name(self, contact: int) -> str:
        """Return the contact's name."""
        return self.system.contact_pairs[contact].contact


def _stop(status: Status) -> Resolve:
    return lambda board, now, event, phase: status


def _separate(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    touching = sum(LAWS[now.mode.laws[i]].touching for i in board.system.pair_of(event.contact))
    if touching == 1 and board.system.on_separation(event.contact) != "fly":
        return Status.SEPARATED
    if any(event.contact in corners for corners in board.system.patches):
        # Of a patch several corners let go at once.
        together = board.settle([now])
        if together is not None and together.mode.laws[event.contact] == "separated":
            return together
    mode = board.with_law(now, event.contact, "separated")
    gap = f"{board.name(event.contact)}.gap"
    after = HybridState(now.t, now.x, mode, now.onsets, frozenset({gap}))
    if not _falls_in(board, after, gap):
        # Corners of a patch that come apart at one instant all have gaps that are still zero.
        others = {name for name in now.unarmed if name.endswith(".gap") and not _falls_in(board, after, name)}
        return replace(after, unarmed=after.unarmed | others)
    if board.system.rules.on_slip == "slide":
        if now.mode.laws[event.contact] != "sliding":
            return _start_sliding(board, now, event.contact, phase)
        return _stopped_by_a_jam(board, now, event, phase) if board.system.d == 3 else Status.JAMMED
    return Status.JAMMED


def _stopped_by_a_jam(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """A slip in space whose force has grown without bound stops: an impact without approach.

    Sliding has n'D (n - mu e) = 0 there, D = J M^-1 J' (Painleve). A slip that comes to rest may turn so far and stops
    without an impulse. In the plane only too much friction leads there: the run says so and ends.
    """
    after = _landed(board, now, event)
    if isinstance(after, HybridState) and LAWS[after.mode.laws[event.contact]].name.endswith("rolling"):
        return _resting(board, after)
    slip = slip_and_spin(board.system, now.mode.atlas, now.x, event.contact)[1]
    return _stick(board, now, event, phase) if float(np.linalg.norm(slip)) < REST_SPEED else Status.JAMMED


def _falls_in(board: EventHandler, now: HybridState, gap: str) -> bool:
    """Whether the gap closes again at once: then the contact cannot come apart. Only where a margin knows the gap."""
    flight = board.phase_of(now.mode)
    if gap not in flight.margins:
        return False
    p = flight.parameters(board.inputs(now.t), now.onsets, np.zeros(len(now.mode.laws)))
    ignored = np.zeros(len(flight.margins), dtype=bool)
    soon = flight.integrator.integrate(now.t, now.x, now.t + _SOON, p, step=_SOON, watched=ignored)
    return flight.margin_values(soon.t_end, soon.x_end, p)[gap] < -_CLOSES


def _slip(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    if board.system.rules.on_slip != "slide":
        return Status.SLIPPED
    return _start_sliding(board, now, event.contact, phase)


def _start_sliding(board: EventHandler, now: HybridState, contact: int, phase: CompiledMode) -> HybridState:
    """Slide from zero slip: friction opposes the slip, so the slip starts against the friction force.

    Corners of one patch are of one rigid body: they start together.
    """
    corners = next((corners for corners in board.system.patches if contact in corners), (contact,))
    starting = [i for i in corners if now.mode.laws[i] in _ROLLS]
    onsets, mode = np.array(now.onsets), now.mode
    for i in starting:
        force, normal = _force(board, now, i, phase)
        tangential = force - normal * float(normal @ force)
        size = float(np.linalg.norm(tangential))
        if size > 0:
            onsets[i] = -tangential / size
        mode = board.with_law(replace(now, mode=mode), i, "sliding")
    after = HybridState(now.t, now.x, mode, onsets)
    unarmed = _still_starting(board, after, now.unarmed) | {f"{board.name(i)}.slip_speed" for i in starting}
    return replace(after, unarmed=unarmed)


def _still_starting(board: EventHandler, now: HybridState, unarmed: frozenset[str]) -> frozenset[str]:
    """Return the slips of `unarmed` that start at this very instant, from zero, and grow the way they were meant to.

    Of several contacts that begin to slide at once each is decided after the other: what the later ones change may
    turn the slip of an earlier one, which is then decided again.
    """
    sliding = [
        i for i, law in enumerate(now.mode.laws) if law == "sliding" and f"{board.name(i)}.slip_speed" in unarmed
    ]
    if not sliding:
        return frozenset()
    phase = board.phase_of(now.mode)
    p = phase.parameters(board.inputs(now.t), now.onsets)
    soon = now.x + _SOON * np.asarray(phase.integrator.system.rate(now.t, now.x, p)).ravel()
    slips = {i: slip_and_spin(board.system, now.mode.atlas, soon, i)[1] for i in sliding}
    return frozenset(f"{board.name(i)}.slip_speed" for i, slip in slips.items() if float(slip @ now.onsets[i]) > 0)


def _spin(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    if board.system.rules.on_slip != "slide":
        return Status.SPUN
    return HybridState(now.t, now.x, board.with_law(now, event.contact, "rolling"), now.onsets)


def _stick(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """Sliding came to rest: roll if the force of rolling is inside the cone, slide on the other way if not."""
    mode = board.with_law(now, event.contact, _law_after_slip(board.system, now, event.contact))
    rolling = board.phase_of(mode)
    p = rolling.parameters(board.inputs(now.t), now.onsets)
    stopped = projected(rolling, now.t, now.x, p)
    after = HybridState(now.t, stopped, mode, _without(now.onsets, event.contact))
    after = replace(after, unarmed=_still_starting(board, after, now.unarmed))
    margin = rolling.margin_values(now.t, stopped, p)[f"{board.name(event.contact)}.friction"]
    return after if margin >= 0 else _start_sliding(board, after, event.contact, rolling)


def _law_after_slip(system: ContactSystem, now: HybridState, contact: int) -> str:
    """Return the law of rolling to go on with: a bounded moment cannot stop a spin at once."""
    chosen = rolling_law(system)
    _, _, spin = slip_and_spin(system, now.mode.atlas, now.x, contact)
    bounded = system.model(now.mode.atlas).constraints[contact].friction.torsional > 0
    return "rolling" if bounded and abs(spin) > _NO_SPIN else chosen


def _without(onsets: FloatArray, contact: int) -> FloatArray:
    return np.where(np.arange(len(onsets))[:, None] == contact, 0.0, onsets)


def _land(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """A gap closed: plastic impact of the new contact with those that are closed.

    Of a foot that carries a load the impact at another one may open the contact by a hop too short to follow: then it
    stays closed.
    """
    after = _landed(board, now, event)
    if isinstance(after, Status):
        return after
    opened = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching and after.mode.laws[i] == "separated"]
    if any(_falls_in(board, after, f"{board.name(i)}.gap") for i in opened):
        after = _landed(board, now, event, held=True)
    return after if isinstance(after, Status) else _resting(board, after)


def _landed(board: EventHandler, now: HybridState, event: Event, held: bool = False) -> HybridState | Status:
    system, contact, rule = board.system, event.contact, board.system.rules.on_slip
    atlas, x = now.mode.atlas, np.array(now.x)
    if event.coordinates is not None and event.charts is not None:
        atlas = tuple(event.charts if i == contact else old for i, old in enumerate(atlas))
        x[system.model(atlas).layout[f"{board.name(contact)}.coordinates"]] = event.coordinates
    closed = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching]
    closed += landing_with(board.system, now.mode, now.x, contact)
    impact = impact_at(system, atlas, x, contact, closed, sticky=rule == "ignore", held=held)
    if not impact.decided:
        return Status.SECOND_CONTACT if closed else Status.JAMMED
    if rule == "stop" and "sliding" in impact.laws.values():
        return Status.SLIPPED
    if rule == "ignore" and not impact.rests:
        board.ignored(f"{board.name(contact)}.friction", cone_margin(impact.impulses, system, atlas, x))
    x = velocities_changed(system, atlas, x, impact.jump)
    names_of = {"rolling": rolling_law(system), "spinning": "rolling"}
    laws = tuple(impact.laws.get(i, "separated") for i in range(len(now.mode.laws)))
    mode = Mode(system.with_stops(tuple(names_of.get(law, law) for law in laws)), atlas)
    names = [joined.name for joined in system.model(atlas).constraints]
    # What reaches the ground in flight at this very instant lands next: its gap stays armed.
    moved = [law in _BORN_ZERO and (law != "separated" or i in (contact, *closed)) for i, law in enumerate(laws)]
    unarmed = {f"{name}.{_BORN_ZERO[law]}" for name, law, new in zip(names, laws, moved, strict=True) if new}
    return HybridState(now.t, x, mode, slip_directions(impact, system, atlas, x), frozenset(unarmed))


def _resting(board: EventHandler, now: HybridState) -> HybridState:
    """Two contacts lock a planar body: on a base that stays still it rests for good if its forces fit the cones."""
    locked = len(now.mode.laws) > 1 and all(law == "rolling" for law in now.mode.laws)
    if board.system.d != 2 or not locked or not _base_is_still(board, now):
        return now
    if board.system.model(now.mode.atlas).nv > 3:
        return now  # a tree goes on moving about its joints
    phase = board.phase_of(now.mode)
    p = phase.parameters(board.inputs(now.t), now.onsets)
    out = phase.outputs(np.array([now.t]), now.x[None, :], p[None, :])
    sticky = board.system.rules.on_slip == "ignore"
    holds = []
    for joined in phase.model.constraints:
        point, normal, force = (out[f"{joined.name}.{what}"][0] for what in ("point", "normal", "force"))
        holds.append(Hold(point, normal, force, np.inf if sticky else joined.friction.mu))
    return replace(now, mode=replace(now.mode, rest=True)) if can_rest(holds) else now


def _base_is_still(board: EventHandler, now: HybridState) -> bool:
    """Whether the ground, or a hand that neither turns nor moves nor will: under a policy nobody knows."""
    if board.system.motions and board.phase_of(now.mode).held:
        return False
    layout = board.system.model(now.mode.atlas).layout
    return all(
        motion.is_still(now.t) and not np.any(np.abs(now.x[layout[f"{name}.twist"]]) > _STILL)
        for name, motion in board.system.motions.items()
    )


def _rechart(board: EventHandler, now: HybridState, event: Event, phase: CompiledMode) -> HybridState | Status:
    """Go on with the neighbouring charts; pose and velocities stay."""
    p = phase.parameters(board.inputs(now.t), now.onsets)
    after = neighbouring_chart(
        board.system, phase.integrator.system.rate, now.t, now.x, p, now.mode.atlas, event.contact
    )
    if after is None:
        return Status.OFF_THE_SURFACE
    x, atlas = after
    return replace(now, x=x, mode=Mode(now.mode.laws, atlas))


_TOUCHING: dict[str, tuple[str, Resolve]] = {
    "normal_force": ("the contact force reached zero", _separate),
    "curvature": ("the relative curvature reached zero", _stop(Status.CURVATURE_LOCKED)),
    "roundness": ("the contact is no longer a point", _stop(Status.NOT_A_POINT_CONTACT)),
    "chart": ("the chart's edge was reached", _rechart),
    "data": ("the data of the surface end here", _stop(Status.OFF_THE_SURFACE)),
    "extent": ("the contact left the hand", _stop(Status.OFF_THE_HAND)),
}
_ROLLING: dict[str, tuple[str, Resolve]] = {
    **_TOUCHING,
    "friction": ("the contact force left the friction cone", _slip),
}

TRANSITIONS: dict[tuple[str, str], tuple[str, Resolve]] = {
    **{("rolling", margin): rule for margin, rule in _ROLLING.items()},
    **{("pure-rolling", margin): rule for margin, rule in _ROLLING.items()},
    ("pure-rolling", "torsion"): ("the torsional moment left its bound", _spin),
    **{("sliding", margin): rule for margin, rule in _TOUCHING.items()},
    ("sliding", "slip_speed"): ("the slip came to rest", _stick),
    ("sliding", SLIP_END): ("the slip came to rest", _stick),
    ("separated", "gap"): ("the gap closed", _land),
    ("separated", "touch"): ("the gap closed", _land),
    ("separated", "overlap"): ("the bodies overlap where they touch next", _stop(Status.SECOND_CONTACT)),
}
"""(law, margin) -> (reason for the record, what resolves it)."""


def _other(law: str, family: str) -> tuple[str, Resolve]:
    """Return how a law that the table does not have goes on: see `Law`."""
    end = _stop(LAWS[law].endings.get(family, Status.SLIPPED))
    return _TOUCHING.get(family) or (f"the margin {family!r} of the law {law!r} reached zero", end)


def _force(board: EventHandler, now: HybridState, contact: int, phase: CompiledMode) -> tuple[FloatArray, FloatArray]:
    p = phase.parameters(board.inputs(now.t), now.onsets)
    out = phase.outputs(np.array([now.t]), now.x[None, :], p[None, :])
    name = board.name(contact)
    return out[f"{name}.force"][0], out[f"{name}.normal"][0]
