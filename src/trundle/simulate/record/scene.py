"""The bodies of a system as pictures and metrics see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.sampled.sampled import SampledCurve
from trundle.geometry.shape import Shape
from trundle.models.tree.system import ContactPair, ContactSystem
from trundle.records.scenebodies import SceneBody

_TYPES = {
    "FourierRadius": "fourier",
    "CurveSum": "sum",
    "SampledCurve": "spline",
    "SampledSurface": "samples",
    "HeightMap": "heightmap",
}
_MARGIN = 1.4  # of the path's radius: how much ground is shown around it
_MEASURED = 1000
"""Points of a measured curve up to which a record keeps them: its metrics find contacts again from them."""


class MeshWindow(NamedTuple):
    """Around which point, and how far (m), an endless shape is drawn."""

    around: FloatArray
    radius: float


def scene_of(system: ContactSystem, path_on_B: FloatArray) -> tuple[SceneBody, ...]:
    """Return both bodies of a pair; an endless base is cut around the contact's path on it (n, d), m."""
    contact_pair = system.contact_pairs[0]
    roles = ("object", "hand") if system.view == "pair" else ("body", "terrain")
    com = -np.array(contact_pair.center_A)
    return (
        _body(system, contact_pair.shape_A, contact_pair.body_A, roles[0], com),
        _body(system, contact_pair.shape_B, contact_pair.body_B, roles[1], None, _window(contact_pair, path_on_B)),
    )


def tree_scene(
    system: ContactSystem,
    bodies: Mapping[str, tuple[float, ...]],
    path: FloatArray,
    travels: Mapping[str, float] | None = None,
) -> tuple[SceneBody, ...]:
    """Return the shapes of a tree, its links as lines between joints, and terrain around the points `path` (n, d).

    ``bodies``: their centres of mass; ``path`` is in the terrain's frame; ``travels`` (m): how far, at most, bodies
    slide; their rods are so long.
    """
    model = system.model()
    coms = {name: np.array(com) for name, com in bodies.items()}
    scene, drawn = [], set[tuple[str, int, tuple[float, ...]]]()
    for numbers in system.pairs:
        contact_pair = system.contact_pairs[numbers[0]]
        name, R, p = model.carrier(contact_pair.body_A)
        center = np.array(contact_pair.center_A)
        # A shape that may touch several others is drawn once.
        if (one := (contact_pair.body_A, id(contact_pair.shape_A), contact_pair.center_A)) in drawn:
            continue
        drawn.add(one)
        scene.append(_turn_shape(_body(system, contact_pair.shape_A, name, "body"), R, coms[name] - p - R @ center))
    pairs = list(system.shape_pairs.values())
    carriers = {model.carrier(contact_pair.body_A)[0] for contact_pair in pairs}
    for contact_pair in pairs:  # a body that others touch
        name, R, p = model.carrier(contact_pair.body_B)
        if name in coms and name not in carriers | system.motions.keys() and _is_bounded(contact_pair.shape_B):
            carriers.add(name)
            scene.append(_turn_shape(_body(system, contact_pair.shape_B, name, "body"), R, coms[name] - p))
    for name, com in coms.items():
        if name in system.motions:
            continue
        joints = [np.array(at) for child, at in model.joint_places.items() if model.parents[child] == name]
        own = [np.zeros(model.d)] if name in model.parents else []
        if name in model.slides:
            own = [-(travels or {}).get(name, 0.0) * model.slides[name], *own]
        joints += _centers_apart(system, name, [*own, *joints])
        if own and not joints and name not in carriers:
            joints = [com]  # the last link of a chain, without a shape: as far as its centre of mass
        if len(joints) == 1 and not own and _far(joints[0], com):
            joints = [*joints, com]  # nothing but its centre of mass says where the rest of the body is
        points = [*own, *joints]
        if len(points) > 1:
            line = np.array(points) if own else np.array(points)[np.lexsort(np.array(points).T)]
            scene.append(SceneBody(name, "link", line, closed=False, center_of_mass=com))
    fixed = [m for m in pairs if (b := model.carrier(m.body_B)[0]) not in coms or b in system.motions]
    if fixed:
        sizes = [contact_pair.shape_A.reference_length for contact_pair in pairs]
        radius = _MARGIN * (float(np.linalg.norm(np.ptp(path, axis=0))) / 2 + 1.5 * max(sizes))
        middle = (path.min(axis=0) + path.max(axis=0)) / 2
        for ground in {(m.body_B, id(m.shape_B)): m for m in reversed(fixed)}.values():
            _, R, p = model.carrier(ground.body_B)
            window = MeshWindow(R.T @ (middle - p), radius)
            terrain = _body(system, ground.shape_B, ground.body_B, "terrain", None, window)
            scene.append(replace(terrain, vertices=terrain.vertices @ R.T + p))
    return tuple(scene)


def _turn_shape(body: SceneBody, R: FloatArray, com: FloatArray) -> SceneBody:
    """Return a body whose shape is turned by R (d, d) in it; ``com`` (d,), m, from the shape's origin, body axes."""
    same = np.array_equal(R, np.eye(len(R)))
    return replace(body, vertices=body.vertices @ R.T, shape=body.shape if same else {}, center_of_mass=com)


def _centers_apart(system: ContactSystem, body: str, known: list[FloatArray]) -> list[FloatArray]:
    """Return where the shapes of a body are centred, away from the points known: what its link also leads to."""
    found: list[FloatArray] = []
    for numbers in system.pairs:
        contact_pair = system.contact_pairs[numbers[0]]
        carrier, R, p = system.model().carrier(contact_pair.body_A)
        center = p + R @ np.array(contact_pair.center_A)
        if carrier == body and all(_far(center, other) for other in [*known, *found]):
            found.append(center)
    return found if known else []


def _far(a: FloatArray, b: FloatArray) -> bool:
    return float(np.linalg.norm(a - b)) > 1e-9


def _window(contact_pair: ContactPair, path: FloatArray) -> MeshWindow:
    if contact_pair.extent and contact_pair.shape_B.d == 2:  # a plate is drawn as wide as it is
        return MeshWindow(np.zeros(2), contact_pair.extent[0] / 2)
    low, high = np.min(path, axis=0), np.max(path, axis=0)
    center = (low + high) / 2
    size = _MARGIN * (float(np.linalg.norm(high - low)) / 2 + 1.5 * contact_pair.shape_A.reference_length)
    return MeshWindow(center, size)


def _body(
    system: ContactSystem,
    shape: Shape,
    name: str,
    role: str,
    com: FloatArray | None = None,
    window: MeshWindow | None = None,
) -> SceneBody:
    bounded, resolution = _is_bounded(shape), 240 if shape.d == 2 else 64
    if bounded or window is None:  # the system has the shape, so that no other has its id
        made = system.keep(("mesh", id(shape)), lambda: shape.mesh(resolution))
    else:
        made = shape.mesh(resolution, *window)
    vertices, faces = (made, None) if shape.d == 2 else made
    closed = bounded or shape.d == 3
    return SceneBody(name, role, vertices, faces, closed, describe(shape), com)


def _is_bounded(shape: Shape) -> bool:
    return shape.representations.support is not None or _is_closed(shape)


def _is_closed(shape: Shape) -> bool:
    charts = shape.representations.charts
    return (
        bool(charts)
        and all(r.bounded for chart in charts for r in chart.ranges)
        and all(chart.ranges or np.isfinite(chart.reach) for chart in charts)
    )


def describe(shape: Shape) -> dict[str, Any]:
    """Return the shape as a scenario file writes it: ``type`` and its sizes; of measured data only short curves."""
    name = type(shape).__name__
    table: dict[str, Any] = {"type": _TYPES.get(name, name.lower())}
    for entry in dataclasses.fields(shape):  # type: ignore[arg-type]
        if not entry.init:
            continue
        value = getattr(shape, entry.name)
        if isinstance(value, Shape):
            table[entry.name] = describe(value)
        elif isinstance(value, tuple) and value and all(isinstance(v, Shape) for v in value):
            table[entry.name] = [describe(v) for v in value]
        elif isinstance(value, tuple) and all(isinstance(v, int | float) for v in value) and len(value) <= 64:
            table[entry.name] = list(value)
        elif isinstance(value, int | float | str):
            table[entry.name] = value
    if isinstance(shape, SampledCurve) and len(shape.points) <= _MEASURED:
        table["points"] = [list(point) for point in shape.points]
    return table
