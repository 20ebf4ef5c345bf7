"""What the moving picture of a tree shows, and of a robot by the positions of its joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.numerics.rotations import quaternion_of, quaternions_plane, rotation_by, rotation_matrices, rotation_of
from trundle.records import SceneBody, Trajectory
from trundle.report import recompute, trees
from trundle.report.meshes import MeshPart, checkered_object, extruded_body, extruded_terrain, paint_body
from trundle.report.plane import lift
from trundle.report.staging import (
    Actor,
    Array,
    Stage,
    force_scale,
    frame_times,
    friction_cone,
    sample_columns,
    sample_rotations,
    thin_points,
    unit,
)

if TYPE_CHECKING:
    from trundle.models.urdf.visuals import BodyRecord

_ORANGE = (224, 130, 20)
_STEEL = (96, 108, 118)
_GROUND = (214, 205, 188)
_SLIM = 0.1  # of the robot's size: least extent of a body that is drawn without a shape
_TALL = 1.6
"""How far back, in half heights, the camera sees all of what is tall: the page is wider than high."""


def tree_stage(run: Trajectory) -> Stage:
    """Return the stage of a tree, in the plane or in space; the cone is that of the first contact."""
    times, seconds, lapse = frame_times(run)
    size, plane = trees.size_of(run), run.dimension == 2
    if not plane:  # else small feet would make limbs and forces thin
        size = max(size, _SLIM * float(np.linalg.norm(np.ptp(run["body_position"][0], axis=0))))
    bodies = sorted(trees.moving_bodies(run), key=lambda body: trees.body_index(run, body))
    actors = [_actor(run, body, i, times, size) for i, body in enumerate(bodies)]
    paths = run["contact_position"].reshape(len(run), -1, 2 if plane else 3)
    before = np.array([0.0, -0.26 * size, 0.0]) if plane else np.zeros(3)
    terrain = run.body("terrain")
    if terrain is not None:
        on_it = paths if plane or trees.moving_terrain(run) is None else paths[:0]
        actors.append(_carry_ground(run, _ground(terrain, on_it, times, size, plane), times))
    further = [body for body in run.scene if body.role == "terrain"][1:]
    for k, body in enumerate(further if not plane else (), start=2):
        actors.append(replace(_ground(body, paths[:0], times, size, plane), name=f"terrain{k}"))
    shown = run["body_position"].reshape(len(run) * run["body_position"].shape[1], -1)
    low, high = (lift(value[None])[0] if plane else value for value in (shown.min(axis=0), shown.max(axis=0)))
    look_at = 0.5 * (low + high)
    reach = 0.5 * float(np.linalg.norm(high - low)) + 2 * size
    reach = max(reach, _TALL * (0.5 * float(high[2] - low[2]) + 1.5 * size))
    direction = np.array([0.12, -1.75, 0.42]) if plane else 2.5 * np.array([0.41, -0.73, 0.55])
    first = _first(run, times, plane)
    traces = tuple(
        (thin_points((lift(paths[:, slot]) if plane else paths[:, slot]) + before), _ORANGE, "contact paths")
        for slot in range(paths.shape[1])
    )
    return Stage(
        seconds, lapse, tuple(actors),
        first[0] + before, first[1], first[2],
        force_scale(run["contact_force"].reshape(-1, 2 if plane else 3), size, plane),
        friction_cone(run, size, plane),
        size, look_at, look_at + reach * direction,
        traces,
        _others(run, times, before, plane),
        contacts=tuple(str(name) for name in run["contact"]), mass_centre=_mass_centre(run, times, before),
    )  # fmt: skip


def _mass_centre(run: Trajectory, times: Array, before: Array) -> Array | None:
    """Return the centre of mass (k, 3) of all bodies whose mass the run tells, m."""
    masses = run.metadata.get("physics", {}).get("masses", {})
    weights = np.array([float(masses.get(str(name), 0.0)) for name in run["body"]])
    if not np.any(weights > 0):
        return None
    at = sample_columns(run, np.einsum("j,ijk->ik", weights / np.sum(weights), run["body_position"]), times)
    return (lift(at) if run.dimension == 2 else at) + before


def _first(run: Trajectory, times: Array, plane: bool) -> tuple[Array, Array, Array]:
    """Return point, normal and force of the first contact at the frames' times."""
    up = np.tile([0.0, 0.0, 1.0], (len(times), 1))
    if run["contact_position"].shape[1] == 0:
        return np.zeros_like(up), up, np.zeros_like(up)
    point, force = _at(run, times, 0, plane)
    normal = sample_columns(run, recompute.touch(run).normal, times)
    return point, unit(lift(normal) if plane else normal), force


def _others(run: Trajectory, times: Array, before: Array, plane: bool) -> tuple[tuple[Array, Array], ...]:
    """Return points and forces of the other contacts at the frames' times."""
    found = (_at(run, times, slot, plane) for slot in range(1, run["contact_position"].shape[1]))
    return tuple((point + before, force) for point, force in found)


def _at(run: Trajectory, times: Array, slot: int, plane: bool) -> tuple[Array, Array]:
    """Return point and force of a contact at the frames' times; no force between two samples of which one has none."""
    force = run["contact_force"][:, slot]
    point, pushed = (sample_columns(run, values, times) for values in (run["contact_position"][:, slot], force))
    touching = np.any(force != 0.0, axis=1).astype(float)
    pushed[np.interp(times, run.time, touching) < 1.0 - 1e-9] = 0.0
    return (lift(point), lift(pushed)) if plane else (point, pushed)


def _actor(run: Trajectory, body: SceneBody, number: int, times: Array, size: float) -> Actor:
    k = trees.body_index(run, body)
    centre = sample_columns(run, run["body_position"][:, k], times)
    com = np.asarray(body.center_of_mass)
    if run.dimension == 2:
        q = quaternions_plane(np.interp(times, run.time, run["body_angle"][:, k]))
        com, centre = lift(com[None])[0], lift(centre)
        parts = _slabs(body, size)
    else:
        q = sample_rotations(run, run["body_quaternion"][:, k], times)
        parts = _limb(body, 0.3 * size) if body.faces is None else checkered_object(body)
        if body.faces is not None and (body.role == "link" or body.shape.get("type") == "segment"):
            parts = paint_body(body, _STEEL)
    origin = centre - rotation_matrices(q) @ com
    return Actor(
        f"{body.role}_{body.name}_{number}", parts, origin, q, label={"body": "bodies"}.get(body.role, "links")
    )


def _limb(body: SceneBody, radius: float) -> tuple[MeshPart, ...]:
    """Return the hull of balls at a link's joints: a rod between two, a trunk between many."""
    from scipy.spatial import ConvexHull

    turns = np.linspace(0, 2 * np.pi, 13)[:-1]
    ring = np.stack([np.cos(turns), np.sin(turns), 0 * turns], axis=1)
    ups = (-0.9, -0.5, 0.0, 0.5, 0.9)
    ball = radius * np.vstack([ring * np.sqrt(1 - up * up) + (0.0, 0.0, up) for up in ups])
    points = (body.vertices[:, None] + ball).reshape(-1, 3)
    hull = ConvexHull(points)
    a, b, c = (points[hull.simplices[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces = np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)
    return (MeshPart(points, faces.astype(np.int64), _STEEL, sharp=True),)


def _slabs(body: SceneBody, size: float) -> tuple[MeshPart, ...]:
    if body.role == "body":
        return extruded_body(body, 0.45 * size)
    pieces = trees.bars(body, trees.bar_radius(size))
    return tuple(part for piece in pieces for part in extruded_body(piece, 0.2 * size, (_STEEL, _STEEL)))


def _ground(terrain: SceneBody, paths: Array, times: Array, size: float, plane: bool) -> Actor:
    still = np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
    if plane:
        parts = extruded_terrain(terrain, paths.reshape(-1, 2), -0.225 * size, 6 * size)
    else:
        vertices = terrain.vertices
        if terrain.shape.get("type") == "plane":  # on which all of the paths lie
            middle, wide = (np.min(vertices, axis=0) + np.max(vertices, axis=0)) / 2, np.ptp(vertices, axis=0)
            far = float(np.max(np.linalg.norm(paths.reshape(-1, 3) - middle, axis=1), initial=0.0))
            vertices = middle + max(1.0, 2.2 * far / float(np.sort(wide)[1])) * (vertices - middle)
        parts = (MeshPart(vertices, np.asarray(terrain.faces), _GROUND, 0.9, True),)
    return Actor("terrain", parts, np.zeros((len(times), 3)), still, label="ground")


def _carry_ground(run: Trajectory, ground: Actor, times: Array) -> Actor:
    """Return the ground where it is at the frames' times, if it moves."""
    k = trees.moving_terrain(run)
    if k is None:
        return ground
    places = sample_columns(run, run["body_position"][:, k], times)
    return replace(ground, positions=places, quaternions=sample_rotations(run, run["body_quaternion"][:, k], times))


def sticks(
    bodies: Sequence[BodyRecord], q: Array, shapes: Mapping[str, SceneBody], label: str = "robot", width: float = 0.03
) -> list[Actor]:
    """Return an actor for each body: its shape, or bars from its joint to the next ones and its centre of mass."""
    at = {key: np.array([body[key] for body in bodies], dtype=np.float64) for key in ("R", "p", "axis", "com")}
    ends: list[list[Array]] = [[com] for com in at["com"]]
    for i, body in enumerate(bodies[1:], start=1):
        ends[body["parent"]].append(at["p"][i])
    places = np.zeros((len(bodies), len(q), 3))
    turns = np.zeros((len(bodies), len(q), 3, 3))
    places[0], turns[0] = q[:, :3], [rotation_of(state[3:7]) for state in q]
    for i, body in enumerate(bodies[1:], start=1):
        R, axis, slides, above = at["R"][i], at["axis"][i], body["slides"], body["parent"]
        slide = q[:, 6 + i, None] * axis if slides else np.zeros((len(q), 3))
        places[i] = places[above] + np.einsum("kij,kj->ki", turns[above], at["p"][i] + slide @ R.T)
        own = [np.eye(3) if slides else rotation_by(angle * axis) for angle in q[:, 6 + i]]
        turns[i] = turns[above] @ R @ np.array(own)
    actors = []
    for body, reach, place, turn in zip(bodies, ends, places, turns, strict=True):
        shape, parts = shapes.get(body["name"]), tuple(_bar(end, width) for end in reach if np.linalg.norm(end) > 0.01)
        if shape is not None and shape.faces is not None:
            rods = parts if 2 * len(shapes) < len(bodies) else ()  # too few shapes to show the robot
            parts = (*paint_body(shape, shade(body["name"])), *rods)
        if parts:
            actors.append(Actor(body["name"], parts, place, np.array([quaternion_of(R) for R in turn]), label=label))
    return actors


def _bar(end: Array, width: float) -> MeshPart:
    """Return a square bar from the origin to `end` (3,)."""
    along = end / np.linalg.norm(end)
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side = width * side / np.linalg.norm(side)
    other = np.cross(along, side)
    ring = np.array([side, other, -side, -other])
    faces = [[i, (i + 1) % 4, 4 + (i + 1) % 4] for i in range(4)] + [[i, 4 + (i + 1) % 4, 4 + i] for i in range(4)]
    faces += [[0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7]]
    corners = np.asarray(np.vstack([ring, ring + end]), dtype=np.float64)
    return MeshPart(corners, np.array(faces), (120, 130, 142), None, True, True)


def shade(name: str) -> tuple[int, int, int]:
    """Dark feet and hands, light torso: parts are told apart by their brightness."""
    if any(word in name for word in ("ankle", "hand", "gripper", "sole", "head")):
        return (58, 64, 72)
    return (176, 184, 192) if any(word in name for word in ("torso", "pelvis", "base", "waist")) else (120, 130, 142)
