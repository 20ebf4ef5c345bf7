"""Evidence of a run, as the audit judges it: gathered from the samples and jumps of its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from trundle.audit import BodyFrames, Claims, Evidence, Jumps, Samples, anatomy_of
from trundle.audit.columns import by_columns, empty
from trundle.audit.evidence import embed_in_space, lifted_rotation, lifted_turning
from trundle.audit.mechanics import cross
from trundle.audit.pushes import Pushes
from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, is_own
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.numerics.space import angular_size, dot
from trundle.simulate.mode import Method
from trundle.simulate.quantities import Quantities

if TYPE_CHECKING:
    import xarray

    from trundle.simulate.record.log import Jump, Log, Segment

_COARSE = 1e-7
"""Relative accuracy of a fixed step: what it loses between two samples is not known before."""


_SAME = 1e-12
"""s: times of a step and of a sample that are the same."""


def evidence_of(system: ContactSystem, segments: Sequence[Segment], log: Log) -> Evidence:
    """Return what a run says of itself; `segments` are those of its log, joined by mode."""
    return _make_evidence(
        system, segments[0].phase.method, samples_of(system, segments), _jumps(system, segments, log.jumps)
    )


def with_recorded_gaps(
    evidence: Evidence, system: ContactSystem, segments: Sequence[Segment], dataset: xarray.Dataset
) -> Evidence:
    """Return the same with the gaps that a record tells of it; of several contacts in slots it cannot be said whose."""
    names = [contact.name for contact in anatomy_of(system).contacts]
    gap = dataset["gap"].values
    if gap.ndim == 1 and len(names) == 1:
        recorded = gap[:, None]
        columns = [0]
    elif gap.ndim == 2 and system.records_joints:
        recorded = gap
        columns = [names.index(name) for name in dataset["contact"].values.tolist()]
    else:
        return evidence
    shown = np.concatenate([segment.witness.shown for segment in segments])
    found = np.full((len(shown), len(names)), np.nan, order="F")
    rows = np.flatnonzero(shown)
    for k, column in enumerate(columns):
        found[rows, column] = recorded[:, k]
    return replace(evidence, samples=replace(evidence.samples, recorded_gap=found))


def batch_evidence(system: ContactSystem, whole: Segment) -> Evidence:
    """Return what many runs of one segment each say of themselves: a segment that was joined of theirs."""
    samples = samples_of(system, [whole])
    sizes = [len(part.times) + (0 if part.inner is None else len(part.inner[0])) for part in whole.parts]
    samples = replace(samples, run=np.repeat(np.arange(len(sizes)), sizes))
    return _make_evidence(system, whole.phase.method, samples, _jumps(system, [whole], []))


def _make_evidence(system: ContactSystem, method: Method, samples: Samples, jumps: Jumps) -> Evidence:
    rules = system.rules
    return Evidence(
        samples=samples,
        jumps=jumps,
        accuracy=accuracy_of(method),
        stabilized=method.stabilization == "projection",
        slips_ignored=rules.on_slip == "ignore",
        separations_ignored=rules.on_separation == "ignore",
        beginning=method.beginning_slip,
    )


def accuracy_of(method: Method) -> float:
    """Return the relative accuracy that a method of integration declares."""
    return method.relative_tolerance if method.step is None else _COARSE


def samples_of(system: ContactSystem, segments: Sequence[Segment]) -> Samples:
    """Return the samples of segments, those at which smooth stretches begin among them."""
    anatomy = anatomy_of(system)
    known = [segment.witness for segment in segments]
    outs, count = [one.outputs for one in known], [len(one.times) for one in known]
    names = [contact.name for contact in anatomy.contacts]
    states = np.concatenate([one.states for one in known])

    def of_contacts(what: str, size: int) -> FloatArray:
        """Return a quantity (n, contacts, size); of pieces that a mode does not show nothing."""
        found = np.zeros((sum(count), len(names), size), order="F")
        at = 0
        for one, n in zip(outs, count, strict=True):
            seen = [i for i, name in enumerate(names) if name in one.contacts]
            if seen:
                found[at : at + n, seen] = one.of_contacts[what][:, [one.contacts[names[i]] for i in seen]]
            at += n
        if what != "force":  # of a rim that lies flat no point is known; a force that is no number is condemned
            found[~np.isfinite(found)] = 0.0
        return found

    d, claims = system.d, _claims(segments, count)
    stretch, first = [], 0
    for one in known:
        stretch.append(np.where(one.stretch < 0, -1, one.stretch + first))
        first += int(one.stretch.max(initial=-1)) + 1
    return Samples(
        time=np.concatenate([one.times for one in known]),
        stretch=np.concatenate(stretch),
        run=np.zeros(sum(count), dtype=np.intp),
        frames=_frames(anatomy.names, outs, d),
        point=embed_in_space(of_contacts("point", d)),
        normal=embed_in_space(of_contacts("normal", d)),
        force=embed_in_space(of_contacts("force", d)),
        moment=of_contacts("moment", 1)[..., 0],
        gap=np.where(claims.touches, of_contacts("gap", 1)[..., 0], 0.0),
        claims=claims,
        inputs=np.concatenate([one["input"] for one in outs]),
        joints=states[:, [q for q, _ in anatomy.joints]],
        rates=states[:, [rate for _, rate in anatomy.joints]],
    )


def _claims(segments: Sequence[Segment], count: Sequence[int]) -> Claims:
    names = [field.name for field in fields(Claims)]
    claimed = {law: _claims_of_law(law) for law in {law for one in segments for law in one.phase.mode.laws}}
    rows = [[[claimed[law][name] for law in one.phase.mode.laws] for name in names] for one in segments]
    table = np.repeat(np.array(rows, dtype=bool).transpose(1, 2, 0), count, axis=2)
    return Claims(*(part.T for part in table))


def _claims_of_law(name: str) -> dict[str, bool]:
    """Return what the law of a name claims."""
    law = LAWS[name]
    return {
        "touches": law.touching,
        "slides": law.slipping and law.touching,
        "holds_spin": law.holds_spin,
        "holds_rolling": law.holds_rolling,
        "compliant": law.distant,
        "own": is_own(law.name),
    }


def _frames(names: Sequence[str], outs: Sequence[Quantities], d: int) -> BodyFrames:
    n = [len(out[f"{names[0]}.position"]) for out in outs]

    def stack_frames(what: str) -> FloatArray:
        """Return a quantity (n, bodies, size) of all segments, in memory by columns."""
        found = empty(sum(n), len(names), outs[0][f"{names[0]}.{what}"].shape[1])
        found[...] = np.concatenate([out.bodies_of(what, names) for out in outs])
        return found

    columns = stack_frames("rotation")
    rotations = empty(sum(n), len(names), d, d)
    for k in range(d * d):  # R is recorded column by column
        rotations[:, :, k % d, k // d] = columns[..., k]
    return BodyFrames(
        by_columns(embed_in_space(stack_frames("position"))),
        by_columns(lifted_rotation(rotations)),
        by_columns(embed_in_space(stack_frames("velocity"))),
        by_columns(lifted_turning(stack_frames("angular_velocity"))),
    )


def _frames_at(system: ContactSystem, atlases: Sequence[Atlas], states: FloatArray) -> BodyFrames:
    """Return the frames at states (m, n_x), each on its charts."""
    names, found = anatomy_of(system).names, {}
    for atlas in dict.fromkeys(atlases):
        rows = [k for k, one in enumerate(atlases) if one == atlas]
        function, ends = _frame_function(system, atlas)
        values = np.split(np.asarray(function(states[rows].T)).T, ends[:-1], axis=1)
        for what, value in zip(("position", "rotation", "velocity", "angular_velocity"), values, strict=True):
            found.setdefault(what, np.zeros((len(states), value.shape[1])))[rows] = value
    n, k, d = len(states), len(names), system.d
    turning = found["angular_velocity"].reshape(n, k, -1)
    return BodyFrames(
        embed_in_space(found["position"].reshape(n, k, d)),
        lifted_rotation(np.swapaxes(found["rotation"].reshape(n, k, d, d), 2, 3)),
        embed_in_space(found["velocity"].reshape(n, k, d)),
        lifted_turning(turning),
    )


def _frame_function(system: ContactSystem, atlas: Atlas) -> tuple[ca.Function, list[int]]:
    def build() -> tuple[ca.Function, list[int]]:
        """Build the function of one atlas."""
        model = system.model(atlas)
        W, motions = model.to_world, [model.motions[name] for name in anatomy_of(system).names]
        parts = [
            ca.vertcat(*(W @ one.p for one in motions)),
            ca.vertcat(*(ca.vec(W @ one.R) for one in motions)),
            ca.vertcat(*(W @ one.v for one in motions)),
            ca.vertcat(*(one.w if model.d == 2 else W @ one.w for one in motions)),
        ]
        function = ca.Function("frames", [model.x], [ca.densify(ca.vertcat(*parts))])
        return function, np.cumsum([part.shape[0] for part in parts]).tolist()

    return system.keep(("audit frames", atlas), build)


def _jumps(system: ContactSystem, segments: Sequence[Segment], jumps: Sequence[Jump]) -> Jumps:
    """Return what the jumps did, with the places of their contacts."""
    anatomy, d, n = anatomy_of(system), system.d, len(jumps)
    none = np.zeros((0, segments[0].states.shape[1]))
    x_before = np.array([one.before for one in jumps]) if n else none
    x_after = np.array([one.after for one in jumps]) if n else none
    before = _frames_at(system, [one.atlases[0] for one in jumps], x_before) if n else _no_frames(len(anatomy.names))
    after = _frames_at(system, [one.atlases[1] for one in jumps], x_after) if n else before
    of_jump, contact, impulse, turning, nothing = [], [], [], [], np.zeros(angular_size(d))
    for k, one in enumerate(jumps):
        for i, push in one.impulses.items():
            of_jump.append(k)
            contact.append(i)
            impulse.append(np.asarray(push).ravel())
            turning.append(one.moments.get(i, nothing))
    numbers, contacts = np.array(of_jump, dtype=np.intp), np.array(contact, dtype=np.intp)
    point, normal, gap = _places(system, jumps, after, numbers, contacts)
    pushes = embed_in_space(np.array(impulse).reshape(len(impulse), d))
    moments = lifted_turning(np.array(turning).reshape(len(turning), -1 if turning else len(nothing)))
    # A rim that lies flat has no one point; where it pushed nothing nothing is to be said of it.
    told = np.all(np.isfinite(normal), axis=1) | np.any(pushes != 0.0, axis=1)
    numbers, contacts = numbers[told], contacts[told]
    point, normal, gap, pushes, moments = (values[told] for values in (point, normal, gap, pushes, moments))
    held = {i: system.d == 3 and system.touching_law(i).holds_spin for i in dict.fromkeys(contacts.tolist())}
    holds = [held[i] for i in contacts.tolist()]
    none = np.zeros(system.model().u.shape[0])
    inputs = np.array([none if one.inputs is None else one.inputs for one in jumps]).reshape(n, len(none))
    joints, rates = ([j[k] for j in anatomy.joints] for k in (0, 1))
    return Jumps(
        begin=np.array([one.begin for one in jumps]),
        end=np.array([one.end for one in jumps]),
        run=np.zeros(n, dtype=np.intp),
        before=before,
        after=after,
        kick=np.array([one.kick for one in jumps], dtype=bool),
        share=np.array([one.share for one in jumps]),
        jump=numbers,
        contact=contacts,
        point=point,
        normal=normal,
        gap=gap,
        impulse=pushes,
        moment=moments,
        holds_spin=np.array(holds, dtype=bool),
        inputs=inputs,
        joints=x_before[:, joints],
        rates=x_before[:, rates],
        rates_after=x_after[:, rates],
    )


def _no_frames(bodies: int) -> BodyFrames:
    none = np.zeros((0, bodies, 3))
    return BodyFrames(none, np.zeros((0, bodies, 3, 3)), none, none)


def _places(
    system: ContactSystem, jumps: Sequence[Jump], after: BodyFrames, numbers: np.ndarray, contacts: np.ndarray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return points on B and normals (k, 3), world, and gaps (k,), m, of the contacts that pushed.

    A face that lands at a tilt is pushed where it is, above or below the points on B. Those of a time step pushed in
    its middle: such a point is carried along with A to the end of the step.
    """
    names, d = list(anatomy_of(system).names), system.d
    point, normal, gap = np.zeros((len(numbers), 3)), np.zeros((len(numbers), 3)), np.zeros(len(numbers))
    if not len(numbers):
        return point, normal, gap
    states, there = np.array([one.after for one in jumps]), after
    if any(one.pushed is not None for one in jumps):
        states = np.array([one.after if one.pushed is None else one.pushed for one in jumps])
        there = _frames_at(system, [one.atlases[1] for one in jumps], states)
    groups: dict[tuple[Atlas, int], list[int]] = defaultdict(list)
    for row, (jump, contact) in enumerate(zip(numbers.tolist(), contacts.tolist(), strict=True)):
        if (strike := jumps[jump].strikes.get(contact)) is None:
            groups[jumps[jump].atlases[1], contact].append(row)
            continue
        B = names.index(_bodies(system, contact)[1])
        R_B = there.rotation[jump, B]
        point[row] = there.position[jump, B] + R_B @ embed_in_space(strike.x_B[None])[0]
        normal[row] = R_B @ embed_in_space(strike.n_B[None])[0]
    for (atlas, contact), rows in groups.items():
        at = numbers[rows]
        free = () if system.free is None else (system.free.values,)
        values = np.asarray(_place_function(system, atlas, contact)(states[at].T, *free)).T
        gap[rows], values = values[:, -1], embed_in_space(values[:, :-1].reshape(-1, 2, d))
        A, B = (names.index(name) for name in _bodies(system, contact))
        carried = after.position[at, A] - there.position[at, A]
        point[rows] = there.position[at, B] + np.einsum("kij,kj->ki", there.rotation[at, B], values[:, 1]) + carried
        normal[rows] = values[:, 0]
    return point, normal, gap


def _place_function(system: ContactSystem, atlas: Atlas, contact: int) -> ca.Function:
    """X -> (n, x_B, gap): a contact's normal in the world, its point in the frame of B, and how far A's is above it."""

    def build() -> ca.Function:
        """Build the function of one atlas."""
        model = system.expressions(atlas)
        joined = model.constraints[contact]
        on_A, touch = joined.contact.touch(joined.A, joined.B, joined.s)
        gap = dot(touch.n, joined.A.p + on_A.r - joined.B.p - touch.r)
        normal = model.to_world @ touch.n
        symbols = [model.x, *([] if system.free is None else [system.free.symbols])]
        return ca.Function("place", symbols, [ca.densify(ca.vertcat(normal, joined.B.R.T @ touch.r, gap))])

    return system.share(("audit place", atlas, contact), build)


def _bodies(system: ContactSystem, contact: int) -> tuple[str, str]:
    pair = system.contact_pairs[contact]
    return pair.body_A, pair.body_B


def events_of(
    system: ContactSystem, evidence: Evidence, made: Sequence[Jump]
) -> tuple[FloatArray, list[str], tuple[FloatArray, FloatArray, FloatArray]]:
    """Return times (k,), contacts, impulses and velocities (k, 3) before and after of what pushed in a run.

    ``made``: the jumps of its log. Time steps between two samples are one event of each contact, where the last one
    ends; its velocities are those where the bodies touch as the steps begin and as they end.
    """
    anatomy, jumps = anatomy_of(system), evidence.jumps
    none = np.zeros((0, 3))
    if not len(jumps.jump):
        return np.zeros(0), [], (none, none, none)
    pushes = Pushes(anatomy, jumps)
    kept = np.flatnonzero(~pushes.of_joint & (pushes.size > 0.0))
    steps, until = jumps.steps[jumps.jump[kept]], jumps.end[jumps.jump[kept]]
    samples = evidence.samples.time
    after = np.clip(np.searchsorted(samples, until - _SAME), 0, len(samples) - 1)
    groups: dict[tuple[int, int], list[int]] = {}
    for row, step, sample in zip(kept.tolist(), steps, after.tolist(), strict=True):
        key = (sample, int(jumps.contact[row])) if step else (-1 - row, 0)
        groups.setdefault(key, []).append(row)
    first = [rows[0] for rows in groups.values()]
    last = [rows[-1] for rows in groups.values()]
    impulse = np.array([jumps.impulse[rows].sum(axis=0) for rows in groups.values()]).reshape(-1, 3)
    contacts = [anatomy.contacts[jumps.contact[row]] for row in first]
    # As the user named the sides: on the first of the two.
    sign = np.array([-1.0 if contact.pair.swapped else 1.0 for contact in contacts])[:, None]
    before, after = pushes.before[first], pushes.after[last]
    stepped = np.flatnonzero(jumps.steps[jumps.jump[first]])
    if len(stepped):
        for velocities, rows, ended in ((before, first, False), (after, last, True)):
            own = _own_velocities(system, jumps, made, np.array(rows, dtype=np.intp)[stepped], ended)
            velocities[stepped] = np.where(np.isfinite(own), own, velocities[stepped])
    vectors = sign * impulse, sign * before, sign * after
    return jumps.end[jumps.jump[last]], [contact.name for contact in contacts], vectors


def _own_velocities(
    system: ContactSystem, jumps: Jumps, made: Sequence[Jump], rows: np.ndarray, ended: bool
) -> FloatArray:
    """Return the velocities (k, 3), m/s, of A's points less those of B's, as the time steps of pushes begin or end.

    At their own points of contact: those in the middle of a step have gone on with the bodies.
    """
    anatomy, numbers, contacts = anatomy_of(system), jumps.jump[rows], jumps.contact[rows]
    whole = jumps.after if ended else jumps.before
    frames = BodyFrames(*(part[numbers] for part in whole.parts))
    here = []
    for one in (made[k] for k in numbers.tolist()):
        state, atlas = (one.after, one.atlases[1]) if ended else (one.before, one.atlases[0])
        here.append(replace(one, after=state, atlases=(atlas, atlas), pushed=None))
    at = np.arange(len(rows))
    point, _, _ = _places(system, here, frames, at, contacts)
    found = np.zeros_like(point)
    for sign, side in ((1.0, "A"), (-1.0, "B")):
        body = np.array([getattr(anatomy.contacts[i], side) for i in contacts], dtype=np.intp)
        arm = point - frames.position[at, body]
        found += sign * (frames.velocity[at, body] + cross(frames.angular_velocity[at, body], arm))
    return found
