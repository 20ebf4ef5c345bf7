"""The record of a tree: every body, contact and joint by its name, in plane and space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.tree import TreeModel
from trundle.records import make_dataset, tree_view
from trundle.simulate.quantities import OF_BODIES, OF_CONTACTS, Quantities
from trundle.simulate.record.contacts import (
    Recorded,
    along_ground,
    continuous,
    nearest_in_flight,
    quaternions,
    without_a_point,
)
from trundle.simulate.record.scene import describe, tree_scene

if TYPE_CHECKING:
    from trundle.simulate.record.log import Columns, Segment


def record_tree(system: ContactSystem, segments: Sequence[Segment], pushed: Collection[int] = ()) -> Recorded:
    """Return the record of a run of a tree; ``pushed``: contacts that gave an impulse."""
    model = system.model()
    bodies = recorded_bodies(system)
    slots = _slots(system, segments, pushed)
    place = {contact: number for number, contact in enumerate(slots)}
    outputs = [segment.outputs() for segment in segments]
    parts = [_contacts(system, segment, out, place) for segment, out in zip(segments, outputs, strict=True)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    columns |= _bodies(system, np.concatenate([segment.states for segment in segments]), outputs, bodies)
    arrays = _spatial(columns) if system.d == 3 else _planar(columns)
    names = [system.contact_pairs[i].contact for i in slots]
    dataset = make_dataset(
        tree_view(system.d),
        np.concatenate([segment.times for segment in segments]),
        arrays,
        bodies=list(bodies),
        contacts=names,
        joints=tuple(_joints(model)),
    )
    pairs = [system.contact_pairs[i] for i in slots]
    where = {pair.contact: model.carrier(pair.body_B if pair.swapped else pair.body_A)[0] for pair in pairs}
    path = np.vstack([columns["on_B"].reshape(-1, system.d), _seen_from_terrain(system, columns["position"][:, 0])])
    far = {name: _furthest(columns["joint_position"][:, j]) for j, name in enumerate(_joints(model))}
    travels = {body: far.get(joint, 0.0) for body, joint in model.joints.items()}
    scene = tree_scene(system, bodies, path, travels)
    metadata: dict[str, Any] = {"contacts": where, "parents": model.parents}
    if system.d == 3 and slots:
        metadata["surfaces"] = _surfaces(system, slots, bodies)
    return Recorded(dataset, scene, metadata)


def _surfaces(
    system: ContactSystem, slots: Sequence[int], bodies: Mapping[str, tuple[float, ...]]
) -> dict[str, list[dict[str, Any]]]:
    """Return of every contact in space its two surfaces: shape, and place in its body's axes about that one's centre.

    ``body`` is left out of what stands still: its place is that in the world.
    """
    model, found = system.model(), {}
    for contact_pair in (system.contact_pairs[i] for i in slots):
        sides = (
            (contact_pair.body_A, contact_pair.shape_A, contact_pair.center_A),
            (contact_pair.body_B, contact_pair.shape_B, (0.0,) * 3),
        )
        found[contact_pair.contact] = []
        for name, shape, center in reversed(sides) if contact_pair.swapped else sides:
            carrier, R, p = model.carrier(name)
            place = p + R @ np.array(center) - np.array(bodies.get(carrier, (0.0,) * 3))
            surface = {"shape": describe(shape), "turn": R.tolist(), "place": place.tolist()}
            found[contact_pair.contact].append(surface | ({"body": carrier} if carrier in bodies else {}))
    return found


def recorded_bodies(system: ContactSystem) -> dict[str, tuple[float, ...]]:
    """Return centres of mass (d,), m, in their frames, of the bodies in a record.

    All that have mass, then what carries a contact without any, and a base of the contacts that moves.
    """
    model = system.model()
    coms = {body.name: body.com or (0.0,) * model.d for body in model.bodies}
    others = [model.carrier(m.body_A)[0] for m in system.shape_pairs.values()] + list(system.motions)
    return coms | {name: (0.0,) * model.d for name in others if name not in coms}


def _seen_from_terrain(system: ContactSystem, points: FloatArray) -> FloatArray:
    """Return points (n, d), world, m, in the terrain's frame where that is fixed in the world."""
    if not system.shape_pairs or system.motions:
        return points[:0] if system.motions else points
    _, R, p = system.model().carrier(system.contact_pairs[0].body_B)
    return (points - p) @ R


def _furthest(travel: FloatArray) -> float:
    """Return the largest value, or the least where that is further from zero."""
    return float(travel[np.argmax(np.abs(travel))])


def _slots(system: ContactSystem, segments: Sequence[Segment], pushed: Collection[int]) -> list[int]:
    """Return the contacts to record: one of each two shapes, and those further ones that ever touched or pushed."""
    touched = {i for s in segments for i in system.shape_pairs if LAWS[s.phase.mode.laws[i]].touching}
    return sorted({numbers[0] for numbers in system.pairs} | touched | (set(pushed) & system.shape_pairs.keys()))


def _joints(model: TreeModel) -> dict[str, tuple[int, int, int | None]]:
    """Return the joints: where position, rate and torque are in x and u.

    Before them planar free bodies that an external torque turns: their joint with the world.
    """
    free = [name for name in model.driven if name not in model.parents and model.d == 2]
    x, u = model.layout, model.input_layout
    return {
        name: (x[f"{name}.orientation"].start, x[f"{name}.angular_velocity"].start, u[f"{name}.torque"].start)
        for name in free
    } | model.joint_coordinates


def _bodies(
    system: ContactSystem, states: FloatArray, outputs: Sequence[Quantities], bodies: Mapping[str, tuple[float, ...]]
) -> Columns:
    """Return centres of mass, orientations and velocities (n, bodies, ...), joints, torques and energy."""
    model, n, names = system.model(), len(states), list(bodies)
    d = model.d
    position, velocity, w, R = (np.concatenate([out.bodies_of(what, names) for out in outputs]) for what in OF_BODIES)
    inputs, energy = (np.concatenate([out[what] for out in outputs]) for what in ("input", "energy"))
    R = R.reshape(n, -1, d, d).swapaxes(2, 3)
    arm = (R @ np.array(list(bodies.values()), dtype=np.float64).reshape(-1, d, 1))[..., 0]
    around = np.stack([-arm[..., 1], arm[..., 0]], axis=2) if d == 2 else None
    stacked = {
        "position": position + arm,
        "velocity": velocity + (np.cross(w, arm) if around is None else w * around),
        "angular_velocity": w,
        "orientation": _angles(system, states, tuple(bodies)) if d == 2 else quaternions(R),
    }
    joints = _joints(model)
    torque = np.zeros((n, len(joints)))
    for i, (_, _, force) in enumerate(joints.values()):
        if force is not None:
            torque[:, i] = inputs[:, force]
    external = [name for name in model.driven if name not in model.parents]
    if d == 3 and external:
        stacked["body_torque"] = np.zeros((n, len(bodies), 3))
        for name in external:
            stacked["body_torque"][:, names.index(name)] = inputs[:, model.input_layout[f"{name}.torque"]]
    return {
        **stacked,
        "energy": energy[:, 0],
        "torque": torque,
        "joint_position": states[:, [q for q, _, _ in joints.values()]],
        "joint_velocity": states[:, [rate for _, rate, _ in joints.values()]],
    }


def _angles(system: ContactSystem, states: FloatArray, bodies: tuple[str, ...]) -> FloatArray:
    """Return the angles (n, bodies, 1) of bodies in the plane, which count turns."""

    def build() -> ca.Function:
        model = system.model()
        return ca.Function("angles", [model.x], [ca.vertcat(*(model.angle(name) for name in bodies))])

    return np.asarray(system.keep(("angles", bodies), build)(states.T)).T[:, :, None]


def _contacts(system: ContactSystem, segment: Segment, out: Quantities, slots: Mapping[int, int]) -> Columns:
    """Return the quantities (n, slots, ...) of the contacts; of flights those of the nearest points.

    ``slots``: contact number -> its place in the record.
    """
    phase = segment.phase
    laws, n = phase.mode.laws, len(segment.times)
    contact_pairs = system.contact_pairs
    if not slots:
        return {
            **{quantity: np.zeros((n, 0, system.d)) for quantity in OF_CONTACTS},
            "mode": np.zeros((n, 0), dtype="<U16"),
        }
    known = (contact_pairs[i].contact for i in slots)
    firsts = (contact_pairs[system.pair_of(i)[0]].contact for i in slots)
    places = [out.contacts[name if name in out.contacts else first] for name, first in zip(known, firsts, strict=True)]
    contact = {quantity: out.of_contacts[quantity][:, places] for quantity in OF_CONTACTS}
    without_a_point(contact, out[f"{contact_pairs[next(iter(slots))].body_A}.position"])
    touching = {i for i, law in enumerate(laws) if LAWS[law].touching}
    for numbers in system.pairs:
        on = [i for i in numbers if i in touching]
        if not on and contact_pairs[numbers[0]].form != "support" and numbers[0] not in phase.near:
            nearest_in_flight(system, segment, numbers, contact, slots[numbers[0]])
        # A second place that does not touch is recorded as the first one, without force, and the other way round.
        shown = slots[on[0] if on else numbers[0]]
        others = [slots[i] for i in numbers if i in slots and i not in touching and slots[i] != shown]
        for values in contact.values() if others else ():
            values[:, others] = values[:, [shown]]
    apart = [place for i, place in slots.items() if i not in touching]
    contact["force"][:, apart] = contact["moment"][:, apart] = 0.0
    modes = np.array(["rest" if phase.mode.rest else laws[i] for i in slots], dtype="<U16")
    _in_the_users_order(contact, [contact_pairs[i].swapped for i in slots])
    return {**contact, "mode": np.tile(modes, (n, 1))}


def _in_the_users_order(contact: Columns, swapped: Sequence[bool]) -> None:
    """Tell contacts whose sides are swapped as the user named them: forces on the first, normals out of the second.

    The moment about the normal stays: both change their signs.
    """
    turned = np.flatnonzero(swapped)
    contact["point"][:, turned] += contact["normal"][:, turned] * contact["gap"][:, turned]
    for quantity in ("normal", "force", "slip"):
        contact[quantity][:, turned] *= -1.0


def _planar(columns: Columns) -> Columns:
    return {
        **_common(columns),
        "body_angle": columns["orientation"][..., 0],
        "body_angular_velocity": columns["angular_velocity"][..., 0],
        "slip": along_ground(columns),
    }


def _spatial(columns: Columns) -> Columns:
    return {
        **_common(columns),
        "body_quaternion": continuous(columns["orientation"]),
        "body_angular_velocity": columns["angular_velocity"],
        "contact_moment": columns["moment"][..., 0],
        "slip": columns["slip"],
        **{name: columns[name] for name in ("body_torque",) if name in columns},
    }


def _common(columns: Columns) -> Columns:
    return {
        "body_position": columns["position"],
        "body_velocity": columns["velocity"],
        "contact_position": columns["point"],
        "contact_normal": columns["normal"],
        "contact_force": columns["force"],
        "gap": columns["gap"][..., 0],
        "energy": columns["energy"],
        "mode": columns["mode"],
        "torque": columns["torque"],
        "joint_position": columns["joint_position"],
        "joint_velocity": columns["joint_velocity"],
    }
