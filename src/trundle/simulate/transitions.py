"""The table of transitions: which margin ends which mode, and what comes next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.choice import contact_coordinates
from trundle.contact.laws import LAWS
from trundle.models.conversion import pose_of, rolling_values
from trundle.models.system import Atlas, ContactSystem
from trundle.simulate.impact import Candidate, Impact, plastic_impact
from trundle.simulate.phase import Mode, Phase
from trundle.status import Status


@dataclass(frozen=True)
class Instant:
    """Where a simulation stands: time, state, mode, and the directions of slips that are still zero.

    ``onsets`` (contacts, d); ``unarmed`` names margins that start at zero in this mode.
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


Resolve = Callable[["Switchboard", Instant, Event, Phase], "Instant | Status"]


class Switchboard:
    """Resolves events of one system.

    Parameters
    ----------
    system : ContactSystem
    phase_of : callable
        Returns the compiled `Phase` of a `Mode`.
    inputs : callable
        Returns the input parameters at a time.
    """

    def __init__(
        self, system: ContactSystem, phase_of: Callable[[Mode], Phase], inputs: Callable[[float], FloatArray]
    ) -> None:
        self.system, self.phase_of, self.inputs = system, phase_of, inputs

    def next(self, now: Instant, event: Event, phase: Phase) -> tuple[Instant | Status, str]:
        """Return what follows `event`, and the reason for the record."""
        law = now.mode.laws[event.contact]
        family = event.margin.split("_")[0] if event.margin.startswith(("chart", "data", "extent")) else event.margin
        reason, resolve = TRANSITIONS[(law, family)]
        return resolve(self, now, event, phase), reason

    def with_law(self, now: Instant, contact: int, law: str) -> Mode:
        """Return the mode with one law changed."""
        laws = tuple(law if i == contact else old for i, old in enumerate(now.mode.laws))
        return replace(now.mode, laws=laws)

    def name(self, contact: int) -> str:
        """Return the contact's name."""
        return self.system.meetings[contact].contact


def _stop(status: Status) -> Resolve:
    return lambda board, now, event, phase: status


def _separate(board: Switchboard, now: Instant, event: Event, phase: Phase) -> Instant | Status:
    touching = sum(LAWS[law].touching for law in now.mode.laws)
    if touching == 1 and board.system.rules.on_separation != "fly":
        return Status.SEPARATED
    mode = board.with_law(now, event.contact, "separated")
    gap = f"{board.name(event.contact)}.gap"
    return Instant(now.t, now.x, mode, np.zeros_like(now.onsets), frozenset({gap}))


def _slip(board: Switchboard, now: Instant, event: Event, phase: Phase) -> Instant | Status:
    if board.system.rules.on_slip != "slide":
        return Status.SLIPPED
    return _start_sliding(board, now, event.contact, phase)


def _start_sliding(board: Switchboard, now: Instant, contact: int, phase: Phase) -> Instant:
    """Slide from zero slip: friction opposes the slip, so the slip starts against the friction force."""
    force, normal = _force(board, now, contact, phase)
    tangential = force - normal * float(normal @ force)
    size = float(np.linalg.norm(tangential))
    onsets = np.zeros_like(now.onsets)
    if size > 0:
        onsets[contact] = -tangential / size
    mode = board.with_law(now, contact, "sliding")
    return Instant(now.t, now.x, mode, onsets, frozenset({f"{board.name(contact)}.slip_speed"}))


def _spin(board: Switchboard, now: Instant, event: Event, phase: Phase) -> Instant | Status:
    if board.system.rules.on_slip != "slide":
        return Status.SPUN
    return Instant(now.t, now.x, board.with_law(now, event.contact, "rolling"), now.onsets)


def _stick(board: Switchboard, now: Instant, event: Event, phase: Phase) -> Instant | Status:
    """Sliding came to rest: roll if the force of rolling is inside the cone, slide on the other way if not."""
    mode = board.with_law(now, event.contact, "rolling")
    rolling = board.phase_of(mode)
    p = rolling.parameters(board.inputs(now.t))
    stopped = _project(rolling, now.t, now.x, p)
    after = Instant(now.t, stopped, mode, np.zeros_like(now.onsets))
    margin = rolling.margin_values(now.t, stopped, p)[f"{board.name(event.contact)}.friction"]
    return after if margin >= 0 else _start_sliding(board, after, event.contact, rolling)


def _land(board: Switchboard, now: Instant, event: Event, phase: Phase) -> Instant | Status:
    """A gap closed: plastic impact of the new contact with those that are closed."""
    system, contact = board.system, event.contact
    atlas, x = now.mode.atlas, np.array(now.x)
    if event.coordinates is not None and event.charts is not None:
        atlas = tuple(event.charts if i == contact else old for i, old in enumerate(atlas))
        x[system.model(atlas).layout[f"{board.name(contact)}.coordinates"]] = event.coordinates
    closed = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching]
    impact = impact_at(system, atlas, x, contact, closed)
    if not impact.decided:
        return Status.SECOND_CONTACT
    model = system.model(atlas)
    x = velocities_changed(system, atlas, x, impact.jump)
    laws = tuple(impact.laws.get(i, "separated") for i in range(len(now.mode.laws)))
    laws = tuple(_base_law(system, i, law) for i, law in enumerate(laws))
    onsets = np.zeros_like(now.onsets)
    for i, law in impact.laws.items():
        if law == "sliding":
            push = impact.impulses[i]
            normal = _normal(system, atlas, x, i)
            tangential = push - normal * float(normal @ push)
            onsets[i] = -tangential / max(float(np.linalg.norm(tangential)), 1e-300)
    unarmed = {f"{joined.name}.gap" for joined, law in zip(model.joined, laws, strict=True) if law == "separated"}
    unarmed |= {f"{joined.name}.slip_speed" for joined, law in zip(model.joined, laws, strict=True) if law == "sliding"}
    return Instant(now.t, x, Mode(laws, atlas), onsets, frozenset(unarmed))


def _rechart(board: Switchboard, now: Instant, event: Event, phase: Phase) -> Instant | Status:
    """Rename the contact coordinates on better charts; pose and velocities stay."""
    system, contact = board.system, event.contact
    meeting = system.meetings[contact]
    model = system.model(now.mode.atlas)
    x_A, x_B, n_B = contact_points(system, now.mode.atlas, now.x, contact)
    coordinates, charts = contact_coordinates(meeting.shape_A, meeting.shape_B, meeting.form, x_A, x_B, n_B)
    if charts == now.mode.atlas[contact]:
        return Status.OFF_THE_SURFACE
    atlas: Atlas = tuple(charts if i == contact else old for i, old in enumerate(now.mode.atlas))
    x = np.array(now.x)
    name = f"{meeting.contact}.coordinates"
    x[model.layout[name]] = coordinates
    if f"{meeting.body_A}.relative_velocity" in model.layout:
        R, _, w, _ = pose_of(model, now.x, meeting.body_A)
        after = system.model(atlas)
        values = {key: x[where] for key, where in after.layout.items()}
        turn = np.array([np.arctan2(R[1, 0], R[0, 0])]) if model.d == 2 else _wxyz(R)
        for key, value in rolling_values(after, values, turn, w).items():
            if key in after.layout:
                x[after.layout[key]] = value
    return replace(now, x=x, mode=Mode(now.mode.laws, atlas))


def _wxyz(R: FloatArray) -> FloatArray:
    from trundle.models.conversion import to_wxyz

    return to_wxyz(R)


_TOUCHING: dict[str, tuple[str, Resolve]] = {
    "normal_force": ("the contact force reached zero", _separate),
    "curvature": ("the relative curvature reached zero", _stop(Status.CURVATURE_LOCKED)),
    "roundness": ("the contact is no longer a point", _stop(Status.NOT_A_POINT_CONTACT)),
    "chart": ("the chart's edge was reached", _rechart),
    "data": ("the data of the surface end here", _stop(Status.OFF_THE_SURFACE)),
    "extent": ("the contact left the hand", _stop(Status.OFF_THE_HAND)),
    "touch": ("another point touched", _land),
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
    ("separated", "gap"): ("the gap closed", _land),
    ("separated", "touch"): ("the gap closed", _land),
}
"""(law, margin) -> (reason for the record, what resolves it)."""


def _base_law(system: ContactSystem, contact: int, law: str) -> str:
    """A contact that rolls after an impact does so under the law the user chose."""
    chosen = next(start.name for start in system.start_laws if start.touching)
    return chosen if law == "rolling" else law


def _project(phase: Phase, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
    projection = phase.integrator.system.projection
    if projection is None:
        laws = [LAWS[name] for name in phase.mode.laws]
        model = phase.model
        expression = model.projected(laws)
        projection = ca.Function("projection", [ca.SX.sym("t"), model.x, model.u], [expression])
        p = np.zeros(model.u.shape[0])
    return np.asarray(projection(t, x, p)).ravel()


def _force(board: Switchboard, now: Instant, contact: int, phase: Phase) -> tuple[FloatArray, FloatArray]:
    p = phase.parameters(board.inputs(now.t), now.onsets)
    out = phase.outputs(np.array([now.t]), now.x[None, :], p[None, :])
    name = board.name(contact)
    return out[f"{name}.force"][0], out[f"{name}.normal"][0]


def _touch_function(system: ContactSystem, atlas: Atlas, contact: int) -> ca.Function:
    """x -> (J, vrel, n, spin row, spin rate, M, x_A, x_B, n in B) of one contact, world axes."""

    def build() -> ca.Function:
        model = system.model(atlas)
        joined = model.joined[contact]
        W = model.to_world
        law = LAWS["pure-rolling"] if model.d == 3 else LAWS["rolling"]
        laws = [law if i == contact else LAWS["separated"] for i in range(len(model.joined))]
        terms = model.terms(laws)
        k = terms.kin[contact]
        d = model.d
        tA, tB = joined.contact.touch(joined.A, joined.B, joined.s)
        center = ca.SX(ca.DM(system.meetings[contact].center_A))
        spin_row = terms.J[d:, :] if d == 3 else ca.SX(1, model.nv)
        spin_rate = ca.dot(k.n, k.wrel) if d == 3 else ca.SX(1, 1)
        outputs = [
            W @ terms.J[:d, :], W @ k.vrel, W @ k.n, spin_row, spin_rate, terms.M,
            joined.A.R.T @ tA.r - center, joined.B.R.T @ tB.r, joined.B.R.T @ tB.n,
        ]  # fmt: skip
        return ca.Function("touch", [model.x], outputs)

    return system.kept(("touch", atlas, contact), build)


def contact_points(
    system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (x_A, x_B, n_B): the contact's points in the frames of both shapes and B's normal in B's frame."""
    values = _touch_function(system, atlas, contact)(x)
    return tuple(np.asarray(v).ravel() for v in values[6:9])  # type: ignore[return-value]


def points_on_A(system: ContactSystem, atlas: Atlas, states: FloatArray, contact: int) -> FloatArray:
    """Return the contact's points (N, d), m, in the frame of A's shape at the states (N, n_x)."""
    return np.asarray(_touch_function(system, atlas, contact)(states.T)[6]).T


def _normal(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> FloatArray:
    return np.asarray(_touch_function(system, atlas, contact)(x)[2]).ravel()


def impact_at(system: ContactSystem, atlas: Atlas, x: FloatArray, new: int, closed: list[int]) -> Impact:
    """Return the plastic impact at the contact `new` of the state `x`, with the contacts `closed`."""
    model = system.model(atlas)
    candidates: dict[int, Candidate] = {}
    M = np.eye(model.nv)
    chosen = next(start.name for start in system.start_laws if start.touching)
    for i in {new, *closed}:
        J, v, n, spin, rate, mass, *_ = (np.asarray(value) for value in _touch_function(system, atlas, i)(x))
        M = mass
        pure = chosen == "pure-rolling" and model.d == 3
        candidates[i] = Candidate(
            J, v.ravel(), n.ravel(), model.joined[i].friction.mu, spin.ravel() if pure else None, float(rate[0, 0])
        )
    return plastic_impact(M, candidates, new)


def velocities_changed(system: ContactSystem, atlas: Atlas, x: FloatArray, jump: FloatArray) -> FloatArray:
    """Return x with nu + `jump` (nv,) in place of nu."""

    def build() -> ca.Function:
        model = system.model(atlas)
        step = ca.SX.sym("jump", model.nv)
        s = ca.vertcat(*(joined.s for joined in model.joined))
        return ca.Function("changed", [model.x, step], [model.replaced(s, model.nu + step)])

    return np.asarray(system.kept(("changed", atlas), build)(x, jump)).ravel()
