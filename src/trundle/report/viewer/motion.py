"""What moves in the page and how it is sent: columns over the frames, 16 bits a number, and what the camera fits."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_matrices
from trundle.report.staging import Actor, Stage, corners
from trundle.report.style import COMPONENTS, PALETTE

Array = NDArray[np.float64]
_FITTED = 200  # frames, and directions of extreme points


@dataclass(frozen=True)
class Track:
    """An attribute of a node of the scene over k frames: values (k, n)."""

    node: str
    attribute: str
    values: Array


def pack_columns(columns: Sequence[Array]) -> tuple[list[dict[str, object]], str]:
    """Return heads and data of columns (k, n), each of 65,536 steps from its least value to its largest.

    The data are the steps from frame to frame, low bytes before high ones, deflated, in base64.
    """
    heads: list[dict[str, object]] = []
    parts = []
    for values in columns:
        low, span = values.min(axis=0), np.ptp(values, axis=0)
        step = span / 65535
        levels = np.rint((values - low) / np.where(step > 0, step, 1.0)).astype("<u2")
        parts.append(np.diff(levels, axis=0, prepend=np.zeros_like(levels[:1])).T.ravel())
        heads.append({"rows": len(values), "low": low.tolist(), "step": step.tolist()})
    whole = np.concatenate([*parts, np.zeros(0, dtype="<u2")]).astype("<u2")
    data = whole.view(np.uint8).reshape(-1, 2).T.tobytes()
    return heads, base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def focus(stage: Stage) -> Array:
    """Return what a camera follows (k, 3), world, m: the centre of mass, or the first body."""
    return stage.actors[0].positions if stage.mass_centre is None else stage.mass_centre


def extremes(stage: Stage) -> Array:
    """Return points (m, 3) of which the motion's hull is about made: corners of hand and what moves, tips of forces."""
    moving = [actor for actor in stage.actors if _moves(actor)] or list(stage.actors)
    points = np.concatenate([corners(actor, _FITTED) for actor in moving])
    for hand in (actor for actor in stage.actors if actor.label == "hand" and not _moves(actor)):
        R = rotation_matrices(hand.quaternions[:1])[0]
        points = np.vstack([points, *(part.vertices @ R.T + hand.positions[0] for part in hand.parts)])
    arrows = [(stage.contact, stage.forces), *stage.others, *((foot, force) for foot, force, _, _ in stage.arrows)]
    for foot, force in arrows:
        if np.any(force != 0.0):
            size = np.linalg.norm(force, axis=1)
            usual = (size > 0) & (size <= np.quantile(size[size > 0], 0.98))
            points = np.vstack([points, (foot + stage.force_scale * force)[usual]])
    ways = np.random.default_rng(0).normal(size=(_FITTED, 3))
    return points[np.unique(np.argmax(points @ ways.T, axis=0))]


def legible(stage: Stage) -> Stage:
    """Return the stage with forces, cones and marks up to 4 times as large if the motion is far wider than the body."""
    wide = float(np.max(np.ptp(extremes(stage), axis=0)))
    times = min(max(1.0, wide / (10 * stage.size)), 4.0)
    cone = None if stage.cone is None else times * stage.cone
    return replace(stage, size=times * stage.size, force_scale=times * stage.force_scale, cone=cone)


def _moves(actor: Actor) -> bool:
    return bool(np.any(np.ptp(actor.positions, axis=0) > 0) or np.any(np.ptp(actor.quaternions, axis=0) > 0))


def curves(stage: Stage) -> list[tuple[str, list[tuple[str, str, Array]]]]:
    """Return the plots under the time bar: title with its unit, and of each line name, colour and values (k,)."""
    forces = [stage.forces, *(force for _, force in stage.others)]
    names = stage.contacts or ["contact", *(f"contact {i + 2}" for i in range(len(stage.others)))]
    pushes = [
        (name, PALETTE[i % len(PALETTE)], force) for i, (name, force) in enumerate(zip(names, forces, strict=True))
    ]
    pushes += [(label, "#{:02x}{:02x}{:02x}".format(*colour), force) for _, force, colour, label in stage.arrows]
    loads = [(name, colour, np.linalg.norm(force, axis=1)) for name, colour, force in pushes if np.any(force != 0.0)]
    at = focus(stage)
    axes = enumerate(zip("xyz", COMPONENTS, strict=True))
    way = [(name, colour, at[:, i] - at[0, i]) for i, (name, colour) in axes if np.ptp(at[:, i]) > 1e-9]
    first = {"bodies": "base", "links": "base"}.get(stage.actors[0].label, stage.actors[0].label)
    what = "centre of mass" if stage.mass_centre is not None else first
    found = [("forces (N)", loads), (f"{what}, way from its start (m)", way)]
    return [strip for strip in found if strip[1]]
