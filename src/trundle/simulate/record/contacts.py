"""What every kind of record has in common: contacts in flight and without a point, and what is handed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.models.tree.approach import Approach, with_charts
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.records import SceneBody
from trundle.simulate.compiled_mode import CompiledMode
from trundle.simulate.events.advancement import Look
from trundle.simulate.events.contact_detection import PairDetector
from trundle.simulate.events.separated import SeparatedPairs, agrees, approach_of, separated_pair
from trundle.simulate.mode import Mode
from trundle.simulate.phase import MotionPhase

if TYPE_CHECKING:
    import xarray

    from trundle.simulate.record.log import Segment

"""The attribute ``kind`` of the written dataset, by view and dimension; the record layer takes this over."""

_SEARCH_EVERY = 10
"""In flight the nearest points are followed, and looked for afresh at every so many samples."""


@dataclass(frozen=True)
class Recorded:
    """The record of one run: its dataset, its scene, further metadata, and whether energy came from nothing."""

    dataset: xarray.Dataset
    scene: tuple[SceneBody, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created: bool = False


def without_a_point(contact: dict[str, FloatArray], position: FloatArray) -> None:
    """Where bodies touch along a face there is no contact point: take the body's centre of mass (n, d) for it."""
    bad = ~np.all(np.isfinite(contact["point"]), axis=2)
    contact["point"][bad] = np.broadcast_to(position[:, None], contact["point"].shape)[bad]
    for quantity in ("force", "moment", "gap", "slip", "on_A", "on_B"):
        contact[quantity][bad] = np.where(np.isfinite(contact[quantity][bad]), contact[quantity][bad], 0.0)


def nearest_in_flight(
    system: ContactSystem, segment: Segment, numbers: Sequence[int], contact: dict[str, FloatArray], slot: int = 0
) -> None:
    """Replace the frozen contact of a flight by the nearest points of two shapes.

    Parameters
    ----------
    numbers : sequence of int
        The contacts between the two shapes.
    contact : dict
        Quantities (n, slots, ...) of the contacts; those of `slot` are replaced.
    """
    first, phase = numbers[0], segment.phase
    contact_pair = system.contact_pairs[first]
    found, alone = _in_flight(system, segment, numbers)
    for charts, places in found.items():
        atlas = with_charts(phase.mode.atlas, first, charts)
        other = phase if atlas == phase.mode.atlas else _phase_on(system, phase, atlas)
        rows = [i for i, _ in places]
        moved = np.array(segment.states[rows])
        moved[:, other.model.layout[f"{contact_pair.contact}.coordinates"]] = [s for _, s in places]
        out = other.outputs(segment.times[rows], moved, segment.parameters[rows])
        seen = {
            name: out[f"{contact_pair.contact}.{name}"] for name in ("point", "normal", "gap", "slip", "on_A", "on_B")
        }
        seen["on_A"] = seen["on_A"] - np.array(contact_pair.center_A)
        for quantity, values in seen.items():
            contact[quantity][rows, slot] = values
    for i, look in alone.items():
        contact["point"][i, slot] = look.B.p + look.B.R @ look.apart.x_B
        contact["normal"][i, slot], contact["gap"][i, slot] = look.normal, look.gap
        contact["slip"][i, slot] = look.velocity
        contact["on_A"][i, slot], contact["on_B"][i, slot] = look.apart.x_A, look.apart.x_B
        contact["force"][i, slot], contact["moment"][i, slot] = 0.0, 0.0
    # Where a line or a face lies parallel no one point is nearest: the sample before or after stands for it.
    good = np.flatnonzero(np.all([np.isfinite(contact[name][:, slot]).all(axis=1) for name in contact], axis=0))
    if good.size:
        nearest = good[np.clip(np.searchsorted(good, np.arange(len(segment.times)), side="right") - 1, 0, None)]
        for name in contact:
            contact[name][:, slot] = contact[name][nearest, slot]


def _in_flight(
    system: ContactSystem, segment: Segment, numbers: Sequence[int]
) -> tuple[dict[tuple[int, int], list[tuple[int, FloatArray]]], dict[int, Look]]:
    """Return where two whole shapes are nearest at the samples of a flight.

    As coordinates of a contact of theirs, by its charts, with the numbers of the samples; and, by these, as looks where
    no contact is there.
    """
    mode, times, states = segment.phase.mode, segment.times, segment.states
    watch, last = PairDetector(system, mode, numbers), len(times) - 1
    pairs = SeparatedPairs(system, mode, [separated_pair(system, numbers)])
    near: Approach | None = None
    look: Look | None = None
    approaches: dict[int, Approach] = {}
    alone: dict[int, Look] = {}
    begin = 0
    for i, x in enumerate(states):
        afresh = i % _SEARCH_EVERY == 0 or i == last
        followed = None if near is None else watch.follow(x, near)
        here = pairs.look(0, times[i], x)
        # Normals that point the other way, and points of the far sides, are opposite as well.
        astray = followed is not None and followed.gap < here.apart_at_least - here.pair.touched
        if followed is not None and not afresh and not astray:
            approaches[i] = near = followed
            continue
        if not afresh and look is not None and near is None:
            alone[i] = look = here.follow(look)
            continue
        look = here
        if followed is not None and not agrees(followed, look):
            # Nearest points that were followed since the last look at the shapes are no longer the nearest.
            for k in range(begin, i):
                approaches.pop(k, None)
                alone[k] = pairs.look(0, times[k], states[k])
        near, begin = approach_of(system, mode, look, x), i
        if near is None:
            alone[i] = look
        else:
            approaches[i] = near
    found: dict[tuple[int, int], list[tuple[int, FloatArray]]] = {}
    for i, one in approaches.items():
        found.setdefault(one.charts, []).append((i, one.coordinates))
    return found, alone


def _phase_on(system: ContactSystem, phase: MotionPhase, atlas: Atlas) -> CompiledMode:
    mode = Mode(phase.mode.laws, atlas)
    held = phase.input_count > sum(motion.size for motion in system.motions.values())
    key = ("phase", mode, held, phase.method.name, phase.method.stabilization, phase.method.end_speed)
    return system.keep(key, lambda: CompiledMode(system, mode, held, phase.method))


def orientation(rotations: FloatArray) -> FloatArray:
    """Return angles (n, 1) or quaternions (n, 4), continuous in time, of vec(R) (n, d*d), column major."""
    d = 2 if rotations.shape[1] == 4 else 3
    R = np.swapaxes(rotations.reshape(-1, d, d), 1, 2)
    if d == 2:
        return np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))[:, None]
    return quaternions(R)


def quaternions(R: FloatArray) -> FloatArray:
    """Return unit quaternions (..., 4), scalar first, of rotations (..., 3, 3)."""
    return Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(scalar_first=True).reshape(*R.shape[:-2], 4)


def continuous(quaternions: FloatArray) -> FloatArray:
    """Return quaternions (n, ..., 4) of which none jumps to the other sign of the same rotation."""
    signs = np.sign(np.einsum("i...j,i...j->i...", quaternions[1:], quaternions[:-1]))
    flips = np.cumprod(np.concatenate([np.ones_like(quaternions[:1, ..., 0]), np.where(signs < 0, -1.0, 1.0)]), axis=0)
    return quaternions * flips[..., None]


def along_ground(columns: Mapping[str, FloatArray]) -> FloatArray:
    """Return the slips (n, contacts) of contacts in the plane, m/s, along the tangents to the right."""
    n = columns["normal"]
    return np.einsum("ijk,ijk->ij", columns["slip"], np.stack([n[..., 1], -n[..., 0]], axis=-1))
