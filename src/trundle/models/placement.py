"""Where a pair starts: contact points that fit, no penetration, velocities that roll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, number, quaternion
from trundle.contact.contact import kinematics
from trundle.contact.laws import PURE_ROLLING
from trundle.contact.proximity import Proximity
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.sizes import LONGEST, coordinates
from trundle.models.curvature_check import too_large
from trundle.models.rigid_body import Ground, Hand
from trundle.models.tree.conversion import to_matrix, to_world
from trundle.models.tree.system import ContactSystem, Start, least_curvature
from trundle.numerics.space import cross

if TYPE_CHECKING:
    from trundle.models.rolling_pair import RollingPair

_SPIN = 1e-9  # of the angular velocities: spin of pure rolling that is round-off
_ON = 1e-9
"""How far off a surface, over its size and its coordinates, a point on it may be."""
_OVERLAP = 1e-6  # of the body's size: deeper is an overlap, not round-off of a placement
_ALIKE, _DIGITS = 1e-9, 6
"""Difference of two overlaps, over the body's size, that is none; digits in which places that touch alike differ."""
_INSIDE = 1e-9  # of the body's size: a point that is said to touch and does not
_ROUND = 1e-9  # of a curvature: below it a surface counts as flat
_REACH = 0.5  # of the body's size: a point farther off the surface is no imprecise point of contact, but another one


@dataclass(frozen=True)
class ContactPoints:
    """A contact found at the start, or the nearest points of a body in the air.

    Attributes
    ----------
    x_A, x_B : (d,) m
        Contact points in the frames of the body's and the base's shape.
    n_B : (d,)
        Outward normal of the base there, in its frame.
    center_of_mass : (d,) m
        Of the body, world.
    """

    x_A: FloatArray
    x_B: FloatArray
    n_B: FloatArray
    center_of_mass: FloatArray


@dataclass(frozen=True)
class Placement:
    """Pose and velocities of a body in contact with its base.

    Attributes
    ----------
    orientation : (1,) rad or (4,)
        Angle, or quaternion (w, x, y, z), world from body.
    angular_velocity : (k,) rad/s, world
    velocity : (d,) m/s, world
        Of the centre of mass.
    points : ContactPoints
    flies : bool
        Whether the body starts in the air.
    """

    orientation: FloatArray
    angular_velocity: FloatArray
    velocity: FloatArray
    points: ContactPoints
    flies: bool = False


def place_in_space(
    pair: RollingPair,
    contact_on_hand: Sequence[float] = (0.0, 0.0, 0.0),
    object_quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    object_angular_velocity: Sequence[float] = (0.0, 0.0, 0.0),
    slip: Sequence[float] = (0.0, 0.0, 0.0),
) -> Placement:
    """Place an object on a hand or on ground in space; see `RollingPair.place`."""
    wanted = coordinates("contact_on_hand", contact_on_hand, (3,))
    orientation = quaternion("object_quaternion", object_quaternion)
    w = array("object_angular_velocity", object_angular_velocity, (3,), unit="rad/s")
    return _place_on_hand(pair, wanted, orientation, w, slip)


def place_on_planar_hand(
    pair: RollingPair,
    contact_on_hand: Sequence[float] = (0.0, 0.0),
    object_angle: float = 0.0,
    object_angular_velocity: float = 0.0,
    slip: Sequence[float] = (0.0, 0.0),
) -> Placement:
    """Place an object on a hand in the plane; see `RollingPair.place`."""
    wanted = coordinates("contact_on_hand", contact_on_hand, (2,))
    orientation = np.array([number("object_angle", object_angle, unit="rad")])
    w = np.array([number("object_angular_velocity", object_angular_velocity, unit="rad/s")])
    return _place_on_hand(pair, wanted, orientation, w, slip)


def _place_on_hand(
    pair: RollingPair, wanted: FloatArray, orientation: FloatArray, w: FloatArray, slip: Sequence[float]
) -> Placement:
    """Place an object with the given `orientation` and the angular velocity `w` (k,) on the base's point `wanted`."""
    base = pair.base
    x_B, n_B = _onto_base(base.shape, wanted, _REACH * pair.body.shape.reference_length)
    R_base, p_base = np.eye(pair.d), np.zeros(pair.d)
    w_base, v_base = np.zeros(w.size), np.zeros(pair.d)
    if isinstance(base, Hand):
        _inside_extent(base, x_B)
        R_base, p_base = base.R_world_hand, np.asarray(base.position)
        twist = np.asarray(base.twist)
        w_base, v_base = to_world(R_base, twist[: w.size]), R_base @ twist[w.size :]
    points = _fit(pair, to_matrix(orientation), R_base, p_base, x_B, n_B)
    normal = R_base @ n_B
    spin = float(normal @ (w - w_base)) if pair.d == 3 else 0.0
    if pair.law == PURE_ROLLING.name and abs(spin) > _SPIN * float(np.linalg.norm(w) + np.linalg.norm(w_base)):
        raise InputError(
            "object_angular_velocity",
            list(w),
            f"free of spin relative to the hand about the contact normal under pure rolling (it is {spin:.6g} rad/s)",
        )
    P = p_base + R_base @ x_B
    v = (
        v_base
        + _sweep_vector(w_base, P - p_base)
        + _tangential(slip, normal)
        - _sweep_vector(w, P - points.center_of_mass)
    )
    return Placement(orientation, w, v, points)


def place_in_plane(
    pair: RollingPair,
    contact_x: float = 0.0,
    angle: float = 0.0,
    angular_velocity: float = 0.0,
    slip: float = 0.0,
) -> Placement:
    """Place a body on terrain in the plane; see `RollingPair.place`. ``slip`` (m/s) is along the terrain."""
    x = number("contact_x", contact_x, minimum=-LONGEST, maximum=LONGEST, unit="m")
    theta = number("angle", angle, unit="rad")
    w = number("angular_velocity", angular_velocity, unit="rad/s")
    x_B, n_B = _terrain_at(pair.base.shape, x)
    points = _fit(pair, to_matrix(np.array([theta])), np.eye(2), np.zeros(2), x_B, n_B)
    tangent = np.array([n_B[1], -n_B[0]])
    v = number("slip", slip, unit="m/s") * tangent - _sweep_vector(np.array([w]), x_B - points.center_of_mass)
    return Placement(np.array([theta]), np.array([w]), v, points)


def flight_names(pair: RollingPair) -> list[str]:
    """Return what a start in the air is given by: position, orientation, velocity, angular velocity."""
    prefix = "" if pair.d == 2 and isinstance(pair.base, Ground) else "object_"
    turn = "angle" if pair.d == 2 else "quaternion"
    return [prefix + name for name in ("position", turn, "velocity", "angular_velocity")]


def place_in_the_air(pair: RollingPair, given: Mapping[str, ArrayLike]) -> Placement:
    """Place a body in the air over its base, by the names of `flight_names`; see `RollingPair.place`."""
    base, d = pair.base, pair.d
    position, turn, velocity, turning = flight_names(pair)
    center = coordinates(position, given[position], (d,))
    v = array(velocity, given.get(velocity, np.zeros(d)), (d,), unit="m/s")
    if d == 2:
        orientation = np.array([number(turn, given.get(turn, 0.0), unit="rad")])
        w = np.array([number(turning, given.get(turning, 0.0), unit="rad/s")])
    else:
        orientation = quaternion(turn, given.get(turn, (1.0, 0.0, 0.0, 0.0)))
        w = array(turning, given.get(turning, np.zeros(3)), (3,), unit="rad/s")
    R_base, p_base = (base.R_world_hand, np.asarray(base.position)) if isinstance(base, Hand) else (np.eye(d), 0.0)
    R = to_matrix(orientation)
    origin = R_base.T @ (center - R @ np.asarray(pair.body.center_of_mass) - p_base)
    near = Proximity(pair.body.shape, base.shape).local_minima(R_base.T @ R, origin)[0]
    refuse_overlap(pair, center, near.gap)
    return Placement(orientation, w, v, ContactPoints(near.x_A, near.x_B, near.n_B, center), flies=True)


def refuse_overlap(pair: RollingPair, center: FloatArray, gap: float) -> None:
    """Raise `InputError` if a body that is to start in the air is inside its base."""
    if gap < -_INSIDE * pair.body.shape.reference_length:
        raise InputError(flight_names(pair)[0], center, f"clear of the base (the bodies overlap by {-gap:.3g} m)")


def _onto_base(shape: Shape, wanted: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    """Return the boundary point nearest to `wanted`, at most `reach` (m) away, and its normal, in the base's frame."""
    distance, gradient = shape.distance(wanted[None])
    n = gradient[0]
    allowed = "a point with one nearest point on the hand's surface"
    if not np.all(np.isfinite(n)) or not np.isfinite(distance[0]) or abs(float(np.linalg.norm(n)) - 1.0) > 1e-6:
        raise InputError("contact_on_hand", wanted.tolist(), allowed)
    away = abs(float(distance[0]))
    if away > reach:
        far = f"on the hand's surface or at most {reach:.6g} m off it, half the object's size (it is {away:.6g} m off)"
        raise InputError("contact_on_hand", wanted.tolist(), far)
    x_B = wanted - distance[0] * n
    lost = not abs(float(shape.distance(x_B[None])[0][0])) <= _ON * (
        shape.reference_length + float(np.linalg.norm(x_B))
    )
    if lost or (away > 1e-6 * shape.reference_length and _jumps(shape, wanted, x_B, away)):
        raise InputError("contact_on_hand", wanted.tolist(), allowed)
    return x_B, n


def _jumps(shape: Shape, wanted: FloatArray, x_B: FloatArray, away: float) -> bool:
    """Whether the nearest point is somewhere else for points next to `wanted`, as it is in the middle of a ball."""
    beside = wanted + 1e-4 * away * np.vstack([np.eye(shape.d), -np.eye(shape.d)])
    distance, gradient = shape.distance(beside)
    moved = np.linalg.norm(beside - distance[:, None] * gradient - x_B, axis=1)
    return bool(np.any(moved > 0.1 * away))


def _inside_extent(base: Hand, x_B: FloatArray) -> None:
    widths = np.ravel(np.inf if base.extent is None else base.extent)
    if np.any(np.abs(x_B[: base.shape.d - 1]) > widths / 2):
        raise InputError("contact_on_hand", list(x_B), f"inside the hand's extent {widths.tolist()} (m, centred)")


def _terrain_at(shape: Shape, x: float) -> tuple[FloatArray, FloatArray]:
    """Return the terrain point above the abscissa `x` and its normal."""
    height = shape.representations.height
    if height is None:
        raise InputError("contact_x", x, f"on terrain that is a graph z(x), which {type(shape).__name__} is not")
    z = float(height(x))
    if not np.isfinite(z):
        raise InputError("contact_x", x, "where the terrain is defined")
    point = np.array([x, z])
    distance, gradient = shape.distance(point[None])
    if abs(float(distance[0])) > _ON * (shape.reference_length + float(np.linalg.norm(point))):
        raise InputError("contact_x", x, "where the terrain has data")
    return point, gradient[0]


def _fit(
    pair: RollingPair, R: FloatArray, R_base: FloatArray, p_base: FloatArray, x_B: FloatArray, n_B: FloatArray
) -> ContactPoints:
    """Return the body point that touches `x_B` without penetration."""
    shape, base = pair.body.shape, pair.base.shape
    P = p_base + R_base @ x_B
    origin = np.asarray(pair.body.center_of_mass)
    candidates = shape.points_with_normal(-(R.T @ (R_base @ n_B)))
    if not len(candidates):
        raise InputError("contact", type(shape).__name__, "a body with a point that faces the base in this orientation")
    proximity = Proximity(shape, base)
    overlaps = []
    for x_A in candidates:
        in_base = R_base.T @ (P - R @ x_A - p_base)
        overlaps.append(float(np.min(proximity.gaps(R_base.T @ R, in_base))))
    # Of points that touch alike (a symmetric body has several) the one of least coordinates, whatever the round-off.
    size = shape.reference_length
    alike = np.flatnonzero(np.array(overlaps) >= max(overlaps) - _ALIKE * size)
    best = min(alike.tolist(), key=lambda i: np.round(candidates[i] / size, _DIGITS).tolist())
    if overlaps[best] < -_OVERLAP * shape.reference_length:
        raise InputError(
            "contact",
            f"{type(shape).__name__} on {type(base).__name__}",
            f"free of penetration at the start (the bodies overlap by {-overlaps[best]:.3g} m)"
            + too_large(pair.contact_pair, x_B),
        )
    x_A = candidates[best]
    return ContactPoints(x_A, x_B, n_B, P - R @ (x_A - origin))


def refuse_locked(system: ContactSystem, start: Start, contact: int = 0) -> None:
    """Raise `InputError` where the bodies touch at `start` in more than a point, to second order.

    The relative curvature K_A + K_B has to be more than `least_curvature`. Lines and faces are left to the simulation,
    which ends there with ``not-a-point-contact``.
    """
    model, contact_pair = system.model(start.atlas), system.contact_pairs[contact]
    constraint = model.constraints[contact]
    k = kinematics(constraint.contact, constraint.A, constraint.B, constraint.s)
    if k.curvature is None:
        return
    limits = constraint.contact.limits(constraint.A, constraint.B, constraint.s)
    values = ca.Function("curvature", [model.x], [k.curvature, limits.get("roundness", ca.SX(1))])(start.x)
    curvature, roundness = (float(value) for value in values)  # pyright: ignore[reportGeneralTypeIssues]
    least = least_curvature(constraint.contact, contact_pair.shape_A.reference_length)
    if abs(roundness) > _ROUND and not curvature > least:
        size = contact_pair.shape_A.reference_length if constraint.contact.bends_in_meters else 1.0
        raise InputError(
            "contact",
            f"{type(contact_pair.shape_A).__name__} on {type(contact_pair.shape_B).__name__}",
            "where the bodies touch in one point: their relative curvature times the body's size has to be "
            f"> {size * least:g} (it is {size * curvature:.3g})" + too_large(contact_pair),
        )


def _tangential(slip: Sequence[float], normal: FloatArray) -> FloatArray:
    value = array("slip", slip, normal.shape, unit="m/s")
    return value - normal * float(normal @ value)


def _sweep_vector(w: FloatArray, r: FloatArray) -> FloatArray:
    """Return w x r (d,) of an angular velocity (k,) and a vector (d,)."""
    return np.asarray(ca.evalf(ca.densify(cross(ca.SX(ca.DM(w)), ca.SX(ca.DM(r)))))).ravel()
