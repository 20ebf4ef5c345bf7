"""What the moving picture shows, as plain arrays: bodies, poses over time, arrows, paths, camera."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.numerics.rotations import quaternions_plane, rotation_matrices
from trundle.records import SceneBody, Trajectory
from trundle.report import recompute
from trundle.report.meshes import (
    checkered_object,
    checkered_surface,
    extruded_body,
    extruded_hand,
    extruded_terrain,
)
from trundle.report.plane import PlanarView, PlanePose, flat, lies_in_plane, lift, planar_view
from trundle.report.staging import (
    Actor,
    Stage,
    force_scale,
    frame_times,
    friction_cone,
    sample_columns,
    sample_rotations,
    thin_points,
    unit,
)
from trundle.report.tree_stage import sticks, tree_stage
from trundle.report.trees import is_tree

Array = NDArray[np.float64]

_ORANGE, _BLUE = (224, 130, 20), (33, 102, 172)


def build_stage(run: Trajectory) -> Stage:
    """Return the stage of a pair or a tree.

    Raises
    ------
    InputError
        If the record holds no surfaces to draw.
    """
    if not run.scene:
        raise InputError("scene", "empty", "filled with the bodies' surfaces, for a moving picture")
    if is_tree(run):
        return tree_stage(run)
    return _stage_plane(run) if lies_in_plane(run) else _stage_space(run)


def _stage_space(run: Trajectory) -> Stage:
    times, seconds, lapse = frame_times(run)
    body, hand = _role(run, "object"), _role(run, "hand")
    size = float(np.max(np.linalg.norm(body.vertices - np.asarray(body.center_of_mass), axis=1)))
    q, hand_q = (sample_rotations(run, run[f"{who}_quaternion"], times) for who in ("object", "hand"))
    com = sample_columns(run, run["object_position"], times)
    origin = com - rotation_matrices(q) @ np.asarray(body.center_of_mass)
    on_hand = run["contact_on_hand"]
    line = thin_points(on_hand + 0.018 * size * _hand_normals(run))
    surface = checkered_surface(hand, on_hand, _hand_normals(run), size)
    actors = (
        Actor("object", checkered_object(body), origin, q, label="object"),
        Actor(
            "hand",
            surface,
            sample_columns(run, run["hand_position"], times),
            hand_q,
            ((line, _BLUE, "contact path on the hand"),),
            "hand",
        ),
    )
    arm = run.metadata.get("arm")
    if arm:
        index = np.clip(np.searchsorted(run.time, times), 0, len(run) - 1)
        base, hand = np.tile(np.asarray(arm["base"], dtype=np.float64), (len(times), 1)), np.zeros((len(times), 1))
        shapes = {one.name: one for one in run.scene if one.role == "link"}
        joints = np.hstack([base, run["joint_position"][index], hand])
        actors += tuple(sticks(arm["bodies"], joints, shapes, "arm", 0.3 * size))
    resting = thin_points(run["contact_position"] + 0.022 * size * run["contact_normal"])
    moving = np.any(np.ptp(run["hand_quaternion"], axis=0) > 0) or np.any(np.ptp(run["hand_position"], axis=0) > 0)
    R = rotation_matrices(run["hand_quaternion"][:1])[0]
    shown = np.vstack([run["object_position"], run["hand_position"][0] + on_hand @ R.T])
    low, high = _view(shown, np.tile(_touching(run), 2), size)
    look_at = 0.5 * (low + high)
    reach = 0.5 * float(np.linalg.norm(high - low)) + size
    direction = np.array([0.45, -0.8, 0.62])
    return Stage(
        seconds, lapse, actors,
        sample_columns(run, run["contact_position"], times),
        unit(sample_columns(run, run["contact_normal"], times)),
        sample_columns(run, run["contact_force"], times),
        force_scale(run["contact_force"], size, plane=False),
        friction_cone(run, size, plane=False),
        size, look_at, look_at + 2.5 * reach * direction / np.linalg.norm(direction),
        ((resting, _ORANGE, "contact path in space"),) if moving else (), mass_centre=com,
    )  # fmt: skip


def _stage_plane(run: Trajectory) -> Stage:
    times, seconds, lapse = frame_times(run)
    view = planar_view(run)
    if view.body is None or view.base is None:
        raise InputError("scene", [b.role for b in run.scene], "with a body and what it touches")
    com = np.asarray(view.body.center_of_mass)
    size = float(np.max(np.linalg.norm(view.body.vertices - com, axis=1)))
    thickness = 0.45 * size
    centre, q = _sampled_pose(run, view.of_body, times)
    origin = centre - flat(rotation_matrices(q) @ lift(com[None])[0])
    # Base and body are flush in front; what is drawn of the contact lies before both.
    before = np.array([0.0, -0.5 * thickness - 0.03 * size, 0.0])
    actors = (
        Actor(view.body.role, extruded_body(view.body, thickness), lift(origin), q, label=view.body.role),
        _base_actor(run, view, times, before, size),
    )
    low, high = _view(_find_visible_points(view), np.resize(_touching(run), len(_find_visible_points(view))), size)
    low, high = low - 1.2 * size, high + 1.2 * size
    middle = 0.5 * (low + high)
    look_at = np.array([middle[0], 0.0, middle[1]])
    reach = max(0.5 * (high[0] - low[0]), 0.9 * (high[1] - low[1]))
    normal = recompute.touch(run).normal
    return Stage(
        seconds, lapse, actors,
        lift(sample_columns(run, view.contact, times)) + before,
        unit(sample_columns(run, normal if normal.shape[1] == 3 else lift(normal), times)),
        lift(sample_columns(run, view.force, times)),
        force_scale(view.force, size, plane=True),
        friction_cone(run, size, plane=True),
        size, look_at, look_at + reach * np.array([0.12, -1.75, 0.42]), mass_centre=lift(centre) + before,
    )  # fmt: skip


def _sampled_pose(run: Trajectory, pose: PlanePose, times: Array) -> tuple[Array, Array]:
    """Return positions (k, 2) and quaternions (k, 4) at the frames' times."""
    return sample_columns(run, pose.position, times), quaternions_plane(np.interp(times, run.time, pose.angle))


def _base_actor(run: Trajectory, view: PlanarView, times: Array, before: Array, size: float) -> Actor:
    """Return the ground near the contact's path, or the hand, with the contact's path on it."""
    base = _role(run, "terrain" if run.layout == "tree" else "hand")
    position, q = _sampled_pose(run, view.of_base, times)
    if run.layout == "tree":
        surface, path = extruded_terrain(base, view.contact, -0.225 * size, 3 * size), lift(view.contact)
    else:
        surface, path = extruded_hand(base, 0.45 * size, 0.25 * size), run["contact_on_hand"]
    return Actor(
        base.role, surface, lift(position), q, ((thin_points(path + before), _ORANGE, "contact path"),), base.role
    )


def _find_visible_points(view: PlanarView) -> Array:
    """Return the points (m, 2) that have to be seen: the body's path, and of a moving base where it goes."""
    of_base = view.of_base
    if view.base is None or not (np.ptp(of_base.position) > 0 or np.ptp(of_base.angle) > 0 or view.base.closed):
        return view.of_body.position
    corners = view.base.vertices[:: max(len(view.base.vertices) // 8, 1)]
    moved = of_base.position[:, None] + np.einsum("nij,mj->nmi", of_base.R, corners)
    return np.vstack([view.of_body.position, *np.moveaxis(moved, 1, 0)])


def _touching(run: Trajectory) -> NDArray[np.bool_]:
    return np.any(run["contact_force"].reshape(len(run), -1) != 0, axis=1)


def _view(points: Array, touching: NDArray[np.bool_], size: float) -> tuple[Array, Array]:
    """Return the box to look at: all points (n, d) while touching, and of a long flight what is near those."""
    low, high = points.min(axis=0), points.max(axis=0)
    if touching.any():
        near = points[touching]
        room = 0.5 * float(np.linalg.norm(np.ptp(near, axis=0))) + 2 * size
        low, high = np.maximum(low, near.min(axis=0) - room), np.minimum(high, near.max(axis=0) + room)
    return low, high


def _role(run: Trajectory, role: str) -> SceneBody:
    body = run.body(role)
    if body is None:
        raise InputError("scene", [b.role for b in run.scene], f"with a body of the role {role!r}")
    return body


def _hand_normals(run: Trajectory) -> Array:
    R = rotation_matrices(run["hand_quaternion"])
    return np.einsum("nji,nj->ni", R, run["contact_normal"])
