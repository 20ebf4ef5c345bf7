"""Recorder: turns the states of a run into the labelled trajectory of its kind."""

from __future__ import annotations

import time as clock
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from trundle.audit import Report, audit_run
from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, SEPARATED, SLIDING
from trundle.models.tree.system import ContactSystem
from trundle.records import PAIR, ModeSamples, Trajectory, make_dataset, tree_view
from trundle.records.events import with_events
from trundle.simulate.quantities import OF_CONTACTS
from trundle.simulate.record.contacts import Recorded, nearest_in_flight, orientation, without_a_point
from trundle.simulate.record.evidence import batch_evidence, events_of, evidence_of, with_recorded_gaps
from trundle.simulate.record.log import Segment
from trundle.simulate.record.pair import embed_vectors, pair_arrays, say_which_contact
from trundle.simulate.record.plane import body_arrays
from trundle.simulate.record.scene import scene_of
from trundle.simulate.record.tree import record_tree
from trundle.status import Status
from trundle.version import __version__

if TYPE_CHECKING:
    from trundle.records.policy import TimedPolicy
    from trundle.simulate.record.log import Columns, Log

PULL = 1e-9
"""A normal force (N) or cone margin below minus this, times the weight, counts as pulling or slipping; a moment below
that times the size of the largest shape as spinning."""

CREATED = 1e-3
"""A gain of energy on a base that stands still, in parts of the energy that moves, that no integration explains."""

ROUND_OFF = 1e-9
"""A gain of energy, in parts of the energy, that counts as none."""

_SLOTTED = (*OF_CONTACTS, "mode")


def record(system: ContactSystem, log: Log, status: Status, wall_time: dict[str, float], begin: float) -> Trajectory:
    """Return the `Trajectory` of a run: dataset, status, feasibility and statistics.

    A run that reached its end but pulled or slipped where the user's rules ignore that is `Status.INFEASIBLE`; one
    whose body gained energy from nothing, `Status.NOT_A_POINT_CONTACT`.
    ``begin`` is the time of `time.perf_counter` from which the recording counts.
    """
    segments = merge_segments(log.segments)
    pushed = {i for jump in log.jumps for i, impulse in jump.impulses.items() if np.any(impulse)}
    recorded = record_tree(system, segments, pushed) if system.records_joints else _record_pair(system, segments, log)
    status, feasible = judge_run(system, log, status, recorded.created)
    evidence = with_recorded_gaps(evidence_of(system, segments, log), system, segments, recorded.dataset)
    report = audit_run(system, evidence)
    lowest, steps = _lowest(log), max(log.steps, 1)
    metadata: dict[str, Any] = {
        "version": __version__,
        "physics": _physics(system),
        **_own_slipping(segments),
        "statistics": {
            "steps": log.steps,
            "rejected": log.rejected,
            "evaluations": log.evaluations,
            "average_step": float(segments[-1].times[-1] - segments[0].times[0]) / steps,
            "smallest_margins": {name: value for name, value in lowest.items() if np.isfinite(value)},
        },
        "wall_time": wall_time | {"record": clock.perf_counter() - begin},
        "transitions": log.transitions,
    }
    if log.policy is not None and log.policy.calls:
        metadata["policy"] = _loop_times(log.policy)
    if log.message:
        metadata["message"] = log.message
    metadata |= recorded.metadata
    metadata["audit"] = report.table()
    if report.findings:
        feasible, told = False, _summarize_findings(report)
        if status in (Status.SUCCESS, Status.REST):
            status, metadata["message"] = Status.INCONSISTENT, told
            last = str(log.transitions[-1]["to"]) if log.transitions else segments[-1].phase.mode.label
            ending = {"time": float(segments[-1].times[-1]), "from": last, "to": status.label, "reason": told}
            metadata["transitions"] = [*log.transitions, ending]
    dataset = with_events(recorded.dataset, *events_of(system, evidence, log.jumps))
    samples = tuple(
        ModeSamples(s.times, s.states, s.phase.mode.laws, s.phase.mode.atlas, system.model_key) for s in segments
    )
    return Trajectory(dataset, status, feasible, metadata, recorded.scene, samples)


def _summarize_findings(report: Report) -> str:
    """Return the first of what an audit found, and how much more there is."""
    first, more = report.findings[0], len(report.findings) - 1
    return first.text + (f" (and {more} more findings)" if more else "")


def judge_run(system: ContactSystem, log: Log, status: Status, created: bool) -> tuple[Status, bool]:
    """Return the status of a run whose body `created` energy or not, and whether its forces are feasible."""
    weight = float(system.physics["mass"]) * float(np.linalg.norm(system.physics["gravity"])) or 1.0
    lowest = _lowest(log)
    length = max((pair.shape_A.reference_length for pair in system.contact_pairs), default=1.0)
    least = {"normal_force": -PULL * weight, "friction": -PULL * weight, "torsion": -PULL * weight * length}
    feasible = all(lowest.get(name, 0.0) >= bound for name, bound in least.items())
    if status is Status.SUCCESS and not feasible:
        status = Status.INFEASIBLE
    if status in (Status.SUCCESS, Status.INFEASIBLE) and log.accurate and created:
        status = Status.NOT_A_POINT_CONTACT
    return status, feasible


def created_in(system: ContactSystem, segments: list[Segment]) -> list[bool]:
    """Return whether the bodies of runs of one segment each created energy: all of one phase are looked at together."""
    found = [False] * len(segments)
    if system.records_joints:
        return found
    phases = {id(segment.phase): segment.phase for segment in segments}
    for key in phases:
        numbers = [i for i, segment in enumerate(segments) if id(segment.phase) == key]
        (whole,) = merge_segments([segments[i] for i in numbers])
        columns, ends = _arrays(system, whole), np.cumsum([len(segments[i].times) for i in numbers])
        parts = {name: np.split(values, ends[:-1]) for name, values in columns.items()}
        for k, i in enumerate(numbers):
            found[i] = _gains_energy({name: values[k] for name, values in parts.items()}, system)
    return found


def inconsistent_in(system: ContactSystem, segments: list[Segment]) -> list[bool]:
    """Return whether runs of one segment each break a law: all of one phase are looked at together."""
    found = [False] * len(segments)
    phases = dict.fromkeys(id(segment.phase) for segment in segments)
    for key in phases:
        numbers = [i for i, segment in enumerate(segments) if id(segment.phase) == key]
        (whole,) = merge_segments([segments[i] for i in numbers])
        for finding in audit_run(system, batch_evidence(system, whole)).findings:
            found[numbers[finding.run]] = True
    return found


def _record_pair(system: ContactSystem, segments: list[Segment], log: Log) -> Recorded:
    """Return what is recorded of one body on a hand or on terrain."""
    parts = [_arrays(system, segment) for segment in segments]
    times = np.concatenate([segment.times for segment in segments])
    slots = max(part["point"].shape[1] for part in parts)
    columns = {name: np.concatenate([_widen_slots(name, part[name], slots) for part in parts]) for name in parts[0]}
    arrays = pair_arrays(columns, log.policy is not None) if system.view == "pair" else body_arrays(columns)
    dataset = make_dataset(
        PAIR if system.view == "pair" else tree_view(system.d),
        times,
        arrays,
        bodies=(system.contact_pairs[0].body_A,),
        contacts=tuple(contact_pair.contact for contact_pair in system.contact_pairs[:slots]),
    )
    if system.view == "pair" and slots > 1:
        say_which_contact(dataset)
    path = columns["on_B" if system.view == "pair" else "point"][:, 0]
    return Recorded(dataset, scene_of(system, path), created=_gains_energy(columns, system))


def _loop_times(policy: TimedPolicy) -> dict[str, float]:
    """Return how long the calls of a policy that decided took (s), and how many took longer than its period."""
    calls = np.array(policy.calls)
    return {
        "period": policy.period,
        "calls": len(calls),
        "median": float(np.median(calls)),
        "p99": float(np.quantile(calls, 0.99)),
        "max": float(np.max(calls)),
        "missed": int(np.sum(calls > policy.period)),
    }


def _own_slipping(segments: list[Segment]) -> dict[str, list[str]]:
    """Return the names of laws other than sliding that let contacts slip: a record is read where they are not known."""
    names = {n for segment in segments for n in segment.phase.mode.laws if LAWS[n].slipping and n != SLIDING.name}
    return {"slipping_laws": sorted(names)} if names else {}


def _physics(system: ContactSystem) -> dict[str, Any]:
    """Return the numbers of the model in the dimension of its record."""
    physics = dict(system.physics)
    if system.view == "pair" and system.d == 2:
        physics["gravity"] = tuple(float(g) for g in embed_vectors(np.array(physics["gravity"])))
    return physics


def _gains_energy(columns: Columns, system: ContactSystem) -> bool:
    """Whether a body gains energy (n,) on a base that stands still: only a contact point that jumps does that."""
    if system.model().powered:
        return False
    if any(np.any(columns[f"B.{name}"] != 0) for name in ("velocity", "angular_velocity")):
        return False
    mass, gravity = float(system.physics["mass"]), np.array(system.physics["gravity"])
    fastest = float(np.max(np.sum(columns["A.velocity"] ** 2, axis=1)))
    turning = float(np.max(np.sum(columns["A.angular_velocity"] ** 2, axis=1))) * np.max(system.physics["inertia"])
    energy = columns["energy"]
    moving = (mass * fastest + float(turning)) / 2 + mass * float(np.ptp(columns["A.position"] @ gravity))
    gain = float(np.max(energy - np.minimum.accumulate(energy)))
    return gain > CREATED * moving + ROUND_OFF * float(np.max(np.abs(energy)))


def _lowest(log: Log) -> dict[str, float]:
    """Smallest value of each kind of margin over the run; one that was not a number counts as -infinity."""
    lowest: dict[str, float] = {}
    for name, value in log.margins.items():
        margin = name.split(".", 1)[1]
        lowest[margin] = min(lowest.get(margin, np.inf), -np.inf if np.isnan(value) else value)
    return lowest


def merge_segments(segments: list[Segment]) -> list[Segment]:
    """Join consecutive segments of one phase: a policy makes one at each of its calls."""
    merged: list[Segment] = []
    for _, group in groupby(segments, key=lambda segment: (id(segment.phase), segment.forces is None)):
        run = list(group)
        times, states = np.concatenate([s.times for s in run]), np.concatenate([s.states for s in run])
        parameters = np.concatenate([s.parameters for s in run])
        forces, spins = (_join_arrays([getattr(s, name) for s in run]) for name in ("forces", "spin_moments"))
        merged.append(Segment(run[0].phase, times, states, parameters, forces, parts=tuple(run), spin_moments=spins))
    return merged


def _join_arrays(parts: list[FloatArray | None]) -> FloatArray | None:
    """Return arrays one after the other; None where one of them is none: the phase knows the values itself."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _arrays(system: ContactSystem, segment: Segment) -> Columns:
    """Quantities of one phase; contact quantities have a slot axis (n, slots, ...), touching contacts first."""
    phase = segment.phase
    out = segment.outputs()
    laws = phase.mode.laws
    order = sorted(range(len(laws)), key=lambda i: not LAWS[laws[i]].touching)
    touching = max(sum(LAWS[law].touching for law in laws), 1)
    names = [system.contact_pairs[i].contact for i in order[:touching]]
    contact_pair = system.contact_pairs[0]
    layout = phase.model.layout
    bodies = {}
    for role, body in (("A", contact_pair.body_A), ("B", contact_pair.body_B)):
        key = f"{body}.orientation"
        bodies[f"{role}.orientation"] = (
            segment.states[:, layout[key]] if key in layout else orientation(out[f"{body}.rotation"])
        )
        for quantity in ("position", "velocity", "angular_velocity"):
            bodies[f"{role}.{quantity}"] = out[f"{body}.{quantity}"]
    center = np.array(contact_pair.center_A)
    places = [out.contacts[name] for name in names]
    contact = {quantity: out.of_contacts[quantity][:, places] for quantity in OF_CONTACTS}
    contact["on_A"] = contact["on_A"] - center
    without_a_point(contact, bodies["A.position"])
    if not LAWS[laws[order[0]]].touching and contact_pair.form != "support":
        nearest_in_flight(system, segment, system.pairs[0], contact)
    names_of_laws = ["rest" if phase.mode.rest else laws[i] for i in order[:touching]]
    modes = [names_of_laws] * len(segment.times)
    return {
        **bodies,
        **contact,
        "energy": out["energy"][:, 0],
        "input": out["input"],
        "mode": np.array(modes, dtype=np.str_),
    }


def _widen_slots(name: str, values: np.ndarray, slots: int) -> np.ndarray:
    """Fill the slot axis of a phase with fewer contacts: the last contact again, without force."""
    missing = slots - values.shape[1] if name in _SLOTTED else 0
    if missing == 0:
        return values
    last = np.repeat(values[:, -1:], missing, axis=1)
    if name in ("force", "moment"):
        last = np.zeros_like(last)
    elif name == "mode":
        last = np.full_like(last, SEPARATED.name, dtype="<U16")
    return np.concatenate([values, last], axis=1)
