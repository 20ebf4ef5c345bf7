"""Gap and slip of a recorded run, found again from poses, velocities and shapes.

Nothing here knows how the run was computed: the points of nearest approach come from a Newton iteration on the
shapes' level sets (space) or curves (plane), the slip from the rigid-body velocity field at those points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_matrices
from trundle.records import SceneBody, Trajectory
from trundle.report.implicit import Curve, LevelSet, curve, level_set
from trundle.report.plane import PlanarView, lies_in_plane, lift, planar_view
from trundle.report.trees import body_index, moving_terrain, of_contact

Array = NDArray[np.float64]

_BALL = 1e-2
"""Radius (m) of the ball whose middle stands for a point."""


@dataclass(frozen=True)
class RecordedTouch:
    """What was found again at each of n samples.

    Parameters
    ----------
    gap : (n,)
        Distance of the surfaces along the normal of the hand or terrain, positive apart, m.
    slip : (n, d)
        Velocity of the object's material point minus that of the hand or terrain, world, m/s.
    normal : (n, d)
        Unit normal out of the hand or terrain, world.
    lever : (n, d)
        From the object's centre of mass to its contact point, world, m.
    exact : (n,) of bool
        Whether the sample's points come from the shapes; else from the points that the run recorded.
    """

    gap: Array
    slip: Array
    normal: Array
    lever: Array
    exact: NDArray[np.bool_]

    def with_found(self, found: NDArray[np.bool_], gap: Array, *vectors: Array) -> RecordedTouch:
        """Return what is stored here, replaced where a contact was found by its gap, slip, normal and lever."""
        kept = zip(vectors, (self.slip, self.normal, self.lever), strict=True)
        slip, normal, lever = (np.where(found[:, None], new, old) for new, old in kept)
        return RecordedTouch(np.where(found, gap, self.gap), slip, normal, lever, found)


def touch(trajectory: Trajectory, slot: int = 0) -> RecordedTouch:
    """Find gap, slip and normal of every sample again, of the contact in `slot` where a planar run has several.

    Where a shape has no simple form here, or no point of nearest approach is found, the recorded contact points take
    its place: in space the gap is then the distance between the two recorded material points.
    """
    if trajectory.layout == "tree" and trajectory.dimension == 3:
        return _touch_tree(trajectory, slot)
    if not lies_in_plane(trajectory):
        return _touch_space(trajectory)
    found = _touch_plane(planar_view(trajectory, slot))
    if trajectory.layout == "tree":
        return found
    return replace(found, slip=lift(found.slip), normal=lift(found.normal), lever=lift(found.lever))


def _touch_recorded(run: Trajectory, slot: int) -> RecordedTouch:
    """Take the contact's points from the record of a tree in space; the slip is that of its poses and velocities."""
    body = of_contact(run, slot)
    k = 0 if body is None else body_index(run, body)
    point = run["contact_position"][:, slot] + run["gap"][:, slot, None] * run["contact_normal"][:, slot]
    lever = point - run["body_position"][:, k]
    slip = run["body_velocity"][:, k] + np.cross(run["body_angular_velocity"][:, k], lever)
    b = moving_terrain(run)
    if b is not None:
        arm = run["contact_position"][:, slot] - run["body_position"][:, b]
        slip = slip - run["body_velocity"][:, b] - np.cross(run["body_angular_velocity"][:, b], arm)
    return RecordedTouch(
        run["gap"][:, slot], slip, run["contact_normal"][:, slot], lever, np.zeros(len(run), dtype=bool)
    )


def _touch_tree(run: Trajectory, slot: int) -> RecordedTouch:
    """Find the touch of a tree in space again where the record says which surfaces its contact is between."""
    stored = _touch_recorded(run, slot)
    sides = run.metadata.get("surfaces", {}).get(str(run["contact"][slot]))
    if sides is None:
        return stored
    (A, radius), (B, _) = (_surface(side["shape"]) for side in sides)
    if A is None or B is None:
        return stored
    (R_A, p_A, v_A, w_A, arm_A), (R_B, p_B, v_B, w_B, arm_B) = (_placed_surface(run, side) for side in sides)
    to_A, to_B = np.swapaxes(R_A, 1, 2), np.swapaxes(R_B, 1, 2)
    on_B, push = run["contact_position"][:, slot], stored.gap[:, None] * stored.normal
    a = _rotate(to_A, on_B + push - radius * stored.normal - p_A)
    found, a, b = common_normal(A, B, to_B @ R_A, _rotate(to_B, p_A - p_B), a, _rotate(to_B, on_B - p_B))
    if not found.any():
        return stored
    a = np.where(found[:, None], a, 0.0)
    b = np.where(found[:, None], b, [0.0, 0.0, 1.0])
    normal, reach, side = _rotate(R_B, B.normal(b)[0]), _rotate(R_A, a), _rotate(R_B, b)
    gap = np.sum(normal * (p_A - p_B + reach - side), axis=1) + radius
    lever = arm_A + (reach if radius == 0 else 0.0 * reach)
    slip = v_A + np.cross(w_A, lever) - v_B - np.cross(w_B, arm_B + side)
    return stored.with_found(found, gap, slip, normal, lever)


def _surface(shape: Mapping[str, Any]) -> tuple[LevelSet | None, float]:
    """Return a shape's level set; a point is the middle of a ball, whose radius (m) comes with it, else zero."""
    if shape.get("type") == "point":
        return level_set({"type": "sphere", "radius": _BALL}), _BALL
    return level_set(shape), 0.0


def _placed_surface(run: Trajectory, side: Mapping[str, Any]) -> tuple[Array, Array, Array, Array, Array]:
    """Return R (n, 3, 3), origin, velocity and angular velocity of its body's centre, and the origin's arm from it."""
    turn, place, n = np.asarray(side["turn"]), np.asarray(side["place"]), len(run)
    if "body" not in side:
        still = np.zeros((n, 3))
        return np.tile(turn, (n, 1, 1)), np.tile(place, (n, 1)), still, still, still
    k = [str(name) for name in run["body"]].index(side["body"])
    R = rotation_matrices(run["body_quaternion"][:, k])
    arm = R @ place
    center = run["body_position"][:, k]
    return R @ turn, center + arm, run["body_velocity"][:, k], run["body_angular_velocity"][:, k], arm


def _rotate(R: Array, x: Array) -> Array:
    return np.einsum("nij,nj->ni", R, x)


def _touch_space(run: Trajectory) -> RecordedTouch:
    body, hand = run.body("object"), run.body("hand")
    com = np.zeros(3) if body is None else np.asarray(body.center_of_mass)
    R_o, R_h = rotation_matrices(run["object_quaternion"]), rotation_matrices(run["hand_quaternion"])
    a, b = run["contact_on_object"].copy(), run["contact_on_hand"].copy()
    n = _rotate(np.swapaxes(R_h, 1, 2), run["contact_normal"])
    exact = np.zeros(len(run), dtype=bool)
    level_o = None if body is None else level_set(body.shape)
    level_h = None if hand is None else level_set(hand.shape)
    if level_o is not None and level_h is not None:
        R = np.swapaxes(R_h, 1, 2) @ R_o
        p_h = run["hand_position"]
        r = _rotate(np.swapaxes(R_h, 1, 2), run["object_position"] - p_h) - R @ com
        exact, a_new, b_new = common_normal(level_o, level_h, R, r, a, b)
        a[exact], b[exact] = a_new[exact], b_new[exact]
        n[exact] = level_h.normal(b[exact])[0]
    lever = _rotate(R_o, a - com)
    lever_hand = _rotate(R_h, b)
    normal = _rotate(R_h, n)
    # Relative positions first: adding a far-away hand's position to both points would cost digits.
    difference = (run["object_position"] - run["hand_position"]) + lever - lever_hand
    gap = np.sum(normal * difference, axis=1)
    away = np.linalg.norm(difference, axis=1)
    gap = np.where(exact, gap, np.copysign(away, gap))
    slip = run["object_velocity"] + np.cross(run["object_angular_velocity"], lever)
    slip = slip - run["hand_velocity"] - np.cross(run["hand_angular_velocity"], lever_hand)
    return RecordedTouch(gap, slip, normal, lever, exact)


def common_normal(
    A: LevelSet, B: LevelSet, R: Array, r: Array, a: Array, b: Array, iterations: int = 12
) -> tuple[NDArray[np.bool_], Array, Array]:
    """Find the points a (n, 3) of body A and b (n, 3) of body B with a common normal by Newton's method.

    Solves f_A(a) = 0, f_B(b) = 0, T'(R n_A(a) + n_B(b)) = 0 and T'(R a + r - b) = 0, T tangent to B at b, for n
    configurations at once.

    Parameters
    ----------
    A, B : LevelSet
        The surfaces, each in its own frame.
    R, r : array (n, 3, 3), (n, 3)
        Pose of A's frame in B's frame.
    a, b : array (n, 3)
        Where to start, each in its body's frame.

    Returns
    -------
    found : (n,) of bool
        Whether the iteration converged to round-off.
    a, b : (n, 3)
        The points.
    """
    a, b = a.copy(), b.copy()
    size = 1.0 + np.linalg.norm(b, axis=1)
    residual = np.full(len(a), np.inf)
    for _ in range(iterations):
        f_a, g_a = A.value(a)
        f_b, g_b = B.value(b)
        n_a, N_a = A.normal(a)
        n_b, N_b = B.normal(b)
        T = _tangents(n_b)
        d = _rotate(R, a) + r - b
        right = np.concatenate([f_a[:, None], f_b[:, None], _rotate(T, _rotate(R, n_a) + n_b), _rotate(T, d)], axis=1)
        residual = np.max(np.abs(right), axis=1) / size
        K = np.zeros((len(a), 6, 6))
        K[:, 0, :3], K[:, 1, 3:] = g_a, g_b
        K[:, 2:4, :3], K[:, 2:4, 3:] = T @ R @ N_a, T @ N_b
        K[:, 4:, :3] = T @ R
        K[:, 4:, 3:] = -T - np.sum(n_b * d, axis=1)[:, None, None] * (T @ N_b)
        if not np.all(np.isfinite(K)) or np.all(residual < 1e-15):
            break
        try:
            step = np.linalg.solve(K, -right[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        a, b = a + step[:, :3], b + step[:, 3:]
        if np.max(np.abs(step)) < 1e-16:
            break
    with np.errstate(invalid="ignore"):
        return residual < 1e-12, a, b


def _tangents(n: Array) -> Array:
    """Return two unit rows (n, 2, 3) orthogonal to each normal."""
    helper = np.zeros_like(n)
    helper[np.arange(len(n)), np.argmin(np.abs(n), axis=1)] = 1.0
    first: Array = np.cross(n, helper)
    first = first / np.linalg.norm(first, axis=1, keepdims=True)
    second: Array = np.cross(n, first)
    return np.stack([first, second], axis=1)


def _touch_plane(view: PlanarView) -> RecordedTouch:
    stored = _touch_stored(view)
    outline = None if view.body is None else curve(view.body.shape)
    ground = None if view.base is None else curve(view.base.shape)
    if view.body is None or outline is None or ground is None:
        return stored
    of_body, of_base, com = view.of_body, view.of_base, np.asarray(view.body.center_of_mass)
    R_body, R_base = of_body.R, of_base.R
    apart = of_body.position - of_base.position
    on_body = _rotate(np.swapaxes(R_body, 1, 2), view.contact - of_body.position) + com
    on_base = _rotate(np.swapaxes(R_base, 1, 2), view.contact - of_base.position)
    R = np.swapaxes(R_base, 1, 2) @ R_body
    origin = _rotate(np.swapaxes(R_base, 1, 2), apart) - R @ com
    found, u, p = common_tangent(outline, ground, R, origin, outline.parameter(on_body), ground.parameter(on_base))
    u, p = np.where(found, u, 0.0), np.where(found, p, 0.0)
    foot, along, _ = ground.at(p)
    normal = _rotate(R_base, ground.side * _left(along / np.linalg.norm(along, axis=1, keepdims=True)))
    lever, lever_base = _rotate(R_body, outline.at(u)[0] - com), _rotate(R_base, foot)
    gap = np.sum(normal * (apart + lever - lever_base), axis=1)
    return stored.with_found(found, gap, _slip(view, lever, lever_base), normal, lever)


def _slip(view: PlanarView, lever: Array, lever_base: Array) -> Array:
    """Return the velocity (n, 2) of the body's material point minus that of the base's."""
    body, base = view.of_body, view.of_base
    of_body = body.velocity + body.angular_velocity[:, None] * _left(lever)
    return of_body - (base.velocity + base.angular_velocity[:, None] * _left(lever_base))


def _left(x: Array) -> Array:
    """Return vectors (n, 2) turned by a right angle counter-clockwise."""
    return np.stack([-x[:, 1], x[:, 0]], axis=1)


def common_tangent(
    A: Curve, B: Curve, R: Array, r: Array, u: Array, p: Array, iterations: int = 15
) -> tuple[NDArray[np.bool_], Array, Array]:
    """Find the parameters u (n,) of outline A and p (n,) of terrain B with a common normal by Newton's method.

    Solves B'(p) . (R A(u) + r - B(p)) = 0 and B'(p) x R A'(u) = 0.
    """
    found = np.zeros(len(u), dtype=bool)
    for _ in range(iterations):
        P_a, D_a, E_a = (_rotate(R, x) for x in A.at(u))
        P_b, D_b, E_b = B.at(p)
        d = P_a + r - P_b
        e = [np.sum(D_b * d, axis=1), _cross(D_b, D_a)]
        a11, a12 = np.sum(D_b * D_a, axis=1), np.sum(E_b * d, axis=1) - np.sum(D_b * D_b, axis=1)
        a21, a22 = _cross(D_b, E_a), _cross(E_b, D_a)
        determinant = a11 * a22 - a12 * a21
        with np.errstate(divide="ignore", invalid="ignore"):
            du = -(a22 * e[0] - a12 * e[1]) / determinant
            dp = -(a11 * e[1] - a21 * e[0]) / determinant
        scale = np.linalg.norm(D_a, axis=1) * np.linalg.norm(D_b, axis=1)
        found = np.maximum(np.abs(e[0]) / np.linalg.norm(D_b, axis=1), np.abs(e[1]) / scale) < 1e-11
        if not np.all(np.isfinite(du)) or not np.all(np.isfinite(dp)):
            break
        u, p = u + du, p + dp
        if max(np.max(np.abs(du)), np.max(np.abs(dp))) < 1e-15:
            break
    return found, u, p


def _cross(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _touch_stored(view: PlanarView) -> RecordedTouch:
    """Take gap and contact point from the record where no closed form of the curves is known."""
    lever, lever_base = view.contact - view.of_body.position, view.contact - view.of_base.position
    normal = _base_normals(view.base, view.contact, view.force) if view.normal is None else view.normal
    return RecordedTouch(view.gap, _slip(view, lever, lever_base), normal, lever, np.zeros(len(lever), dtype=bool))


def _base_normals(base: SceneBody | None, contact: Array, force: Array) -> Array:
    """Return the normals of terrain, which stands still, at points (n, 2) on it."""
    if base is None:
        size = np.linalg.norm(force, axis=1, keepdims=True)
        return np.where(size > 0, force / np.where(size > 0, size, 1.0), [0.0, 1.0])
    middle = 0.5 * (base.vertices[1:] + base.vertices[:-1])
    step = np.diff(base.vertices, axis=0)
    nearest = [int(np.argmin(np.sum((middle - point) ** 2, axis=1))) for point in contact]
    return _left(step[nearest] / np.linalg.norm(step[nearest], axis=1, keepdims=True))
