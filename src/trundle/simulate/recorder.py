"""Recorder: turns the states of a run into the labelled trajectory of its kind."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from trundle import __version__
from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.system import ContactSystem
from trundle.records import Trajectory, make_dataset
from trundle.simulate.record_juggling import juggling_arrays, lifted, say_which_contact
from trundle.simulate.record_planar import planar_arrays
from trundle.simulate.scene import scene_of
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.runner import Log, Segment

PULL = 1e-9
"""A normal force (N) or cone margin below minus this, times the weight, counts as pulling or slipping."""

CREATED = 1e-3
"""A gain of energy on a base that stands still, in parts of the energy that moves, that no integration explains."""

ROUND_OFF = 1e-9
"""A gain of energy, in parts of the energy, that counts as none."""

_SEARCH_EVERY = 10
"""In flight the nearest points are followed, and looked for afresh at every so many samples."""

_OF_CONTACT = ("point", "normal", "force", "moment", "gap", "slip", "on_A", "on_B")
_SLOTTED = (*_OF_CONTACT, "mode")
_FEASIBILITY = ("normal_force", "friction", "torsion")


def record(system: ContactSystem, log: Log, status: Status, wall_time: dict[str, float], begin: float) -> Trajectory:
    """Return the `Trajectory` of a run: dataset, status, feasibility and statistics.

    A run that reached its end but pulled or slipped where the user's rules ignore that is `Status.INFEASIBLE`; one
    whose body gained energy from nothing, `Status.NOT_A_POINT_CONTACT`.
    ``begin`` is the time of `time.perf_counter` from which the recording counts.
    """
    segments = _merged(log.segments)
    parts = [_arrays(system, segment) for segment in segments]
    times = np.concatenate([segment.times for segment in segments])
    slots = max(part["contacts"] for part in parts)
    columns = {
        name: np.concatenate([_widened(name, part[name], slots) for part in parts])
        for name in parts[0]
        if name != "contacts"
    }
    arrays = juggling_arrays(columns, log.controlled) if system.kind == "juggling" else planar_arrays(columns, system)
    dataset = make_dataset(
        system.kind,
        times,
        arrays,
        bodies=(system.meetings[0].body_A,),
        contacts=tuple(meeting.contact for meeting in system.meetings[:slots]),
    )
    if system.kind == "juggling" and slots > 1:
        say_which_contact(dataset)
    weight = float(system.physics["mass"]) * float(np.linalg.norm(system.physics["gravity"])) or 1.0
    lowest = _lowest(log)
    feasible = all(lowest.get(name, 0.0) >= -PULL * weight for name in _FEASIBILITY)
    if status is Status.SUCCESS and not feasible:
        status = Status.INFEASIBLE
    if status in (Status.SUCCESS, Status.INFEASIBLE) and log.accurate and _created(columns, system):
        status = Status.NOT_A_POINT_CONTACT
    steps = max(log.steps, 1)
    metadata: dict[str, Any] = {
        "kind": system.kind,
        "version": __version__,
        "physics": _physics(system),
        "statistics": {
            "steps": log.steps,
            "rejected": log.rejected,
            "evaluations": log.evaluations,
            "average_step": float(times[-1] - times[0]) / steps,
            "smallest_margins": {name: value for name, value in lowest.items() if np.isfinite(value)},
        },
        "wall_time": wall_time | {"record": clock.perf_counter() - begin},
        "transitions": log.transitions,
    }
    scene = scene_of(system, columns["on_B" if system.kind == "juggling" else "point"][:, 0])
    return Trajectory(dataset, status, feasible, metadata, scene)


def _physics(system: ContactSystem) -> dict[str, Any]:
    """Return the numbers of the model in the dimension of its record."""
    physics = dict(system.physics)
    if system.kind == "juggling" and system.d == 2:
        physics["gravity"] = tuple(float(g) for g in lifted(np.array(physics["gravity"])))
    return physics


def _created(columns: dict[str, Any], system: ContactSystem) -> bool:
    """Whether a body gains energy (n,) on a base that stands still: only a contact point that jumps does that."""
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


def _merged(segments: list[Segment]) -> list[Segment]:
    """Join consecutive segments of one phase: a policy makes one at each of its calls."""
    merged: list[Segment] = []
    for _, group in groupby(segments, key=lambda segment: id(segment.phase)):
        run = list(group)
        times, states, parameters = (
            np.concatenate([getattr(s, name) for s in run]) for name in ("times", "states", "parameters")
        )
        merged.append(replace(run[0], times=times, states=states, parameters=parameters))
    return merged


def _arrays(system: ContactSystem, segment: Segment) -> dict[str, Any]:
    """Quantities of one phase; contact quantities have a slot axis (n, slots, ...), touching contacts first."""
    phase = segment.phase
    out = phase.outputs(segment.times, segment.states, segment.parameters)
    laws = phase.mode.laws
    order = sorted(range(len(laws)), key=lambda i: not LAWS[laws[i]].touching)
    touching = max(sum(LAWS[law].touching for law in laws), 1)
    names = [system.meetings[i].contact for i in order[:touching]]
    meeting = system.meetings[0]
    layout = phase.model.layout
    bodies = {}
    for role, body in (("A", meeting.body_A), ("B", meeting.body_B)):
        key = f"{body}.turn"
        turn = segment.states[:, layout[key]] if key in layout else _turn(out[f"{body}.rotation"])
        bodies[f"{role}.turn"] = turn
        for quantity in ("position", "velocity", "angular_velocity"):
            bodies[f"{role}.{quantity}"] = out[f"{body}.{quantity}"]
    center = np.array(meeting.center_A)
    contact = {quantity: np.stack([out[f"{name}.{quantity}"] for name in names], axis=1) for quantity in _OF_CONTACT}
    contact["on_A"] = contact["on_A"] - center
    _without_a_point(contact, bodies["A.position"])
    if not LAWS[laws[order[0]]].touching and meeting.form != "support":
        _nearest_in_flight(system, segment, contact)
    names_of_laws = ["rest" if phase.mode.rest else laws[i] for i in order[:touching]]
    modes = [names_of_laws] * len(segment.times)
    return {
        **bodies,
        **contact,
        "energy": out["energy"][:, 0],
        "input": out["input"],
        "mode": np.array(modes, dtype=np.str_),
        "contacts": touching,
    }


def _without_a_point(contact: dict[str, FloatArray], position: FloatArray) -> None:
    """Where bodies touch along a face there is no contact point: take the body's centre of mass (n, d) for it."""
    bad = ~np.all(np.isfinite(contact["point"]), axis=2)
    contact["point"][bad] = np.broadcast_to(position[:, None], contact["point"].shape)[bad]
    for quantity in ("force", "moment", "gap", "slip", "on_A", "on_B"):
        contact[quantity][bad] = np.where(np.isfinite(contact[quantity][bad]), contact[quantity][bad], 0.0)


def _nearest_in_flight(system: ContactSystem, segment: Segment, contact: dict[str, FloatArray]) -> None:
    """Replace the frozen contact of a flight by the nearest points of the two bodies."""
    from trundle.simulate.watch import Approach, Watch

    watch, phase, meeting = Watch(system, segment.phase.mode), segment.phase, system.meetings[0]
    near: Approach | None = None
    found: dict[tuple[int, int], list[tuple[int, FloatArray]]] = {}
    for i, x in enumerate(segment.states):
        near = watch.followed(x, near) if near is not None and i % _SEARCH_EVERY else None
        near = near or watch.nearest(x)
        if near is not None:
            found.setdefault(near.charts, []).append((i, near.coordinates))
    for charts, places in found.items():
        atlas = (charts, *phase.mode.atlas[1:])
        other = phase if atlas == phase.mode.atlas else _phase_on(system, phase, atlas)
        rows = [i for i, _ in places]
        moved = np.array(segment.states[rows])
        moved[:, other.model.layout[f"{meeting.contact}.coordinates"]] = [s for _, s in places]
        out = other.outputs(segment.times[rows], moved, segment.parameters[rows])
        for quantity in ("point", "normal", "gap", "slip", "on_A", "on_B"):
            contact[quantity][rows, 0] = out[f"{meeting.contact}.{quantity}"]
        contact["on_A"][rows, 0] -= np.array(meeting.center_A)


def _phase_on(system: ContactSystem, phase: Any, atlas: Any) -> Any:
    from trundle.simulate.phase import Mode, Phase

    mode = Mode(phase.mode.laws, atlas)
    held = phase.input_count > sum(motion.size for motion in system.motions.values())
    key = ("phase", mode, held, phase.method.name, phase.method.stabilization)
    return system.kept(key, lambda: Phase(system, mode, held, phase.method))


def _widened(name: str, values: Any, slots: int) -> Any:
    """Fill the slot axis of a phase with fewer contacts: the last contact again, without force."""
    missing = slots - values.shape[1] if name in _SLOTTED else 0
    if missing == 0:
        return values
    last = np.repeat(values[:, -1:], missing, axis=1)
    if name in ("force", "moment"):
        last = np.zeros_like(last)
    elif name == "mode":
        last = np.full_like(last, "separated", dtype="<U16")
    return np.concatenate([values, last], axis=1)


def _turn(rotations: FloatArray) -> FloatArray:
    """Return angles (n, 1) or quaternions (n, 4), continuous in time, of vec(R) (n, d*d), column major."""
    d = 2 if rotations.shape[1] == 4 else 3
    R = np.swapaxes(rotations.reshape(-1, d, d), 1, 2)
    if d == 2:
        return np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))[:, None]
    return Rotation.from_matrix(R).as_quat(scalar_first=True)
