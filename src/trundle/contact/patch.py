"""Flat contact patches: soles and palms, the wrenches they can push with, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import ArrayField, Converted, FloatArray, array, instance, positive, rotation, vector
from trundle.errors import InputError
from trundle.parameters import check_parameters
from trundle.threads import cached_property

_SMALLEST_AREA = 1e-10  # m2
_INNER = 0.5**0.5
"""A pyramid |fx|, |fy| <= mu fz / sqrt(2) lies inside the cone |f_t| <= mu fz and touches it at its edges."""


@dataclass(frozen=True)
class FlatPatch:
    """A convex polygon, or a point, that pushes on a body by Coulomb friction (final).

    As the shape of a `trundle.models.Foot` a rectangle touches with its corners; there friction may be left out. What
    follows needs it. In the patch frame z is the normal INTO the body that is pushed, the polygon lies in z = 0. A
    wrench is (moment (3), force (3)) about the frame's origin. With mu' = mu / sqrt(2) it can be pushed with if

        fz >= 0,  |fx|, |fy| <= mu' fz,
        c fz + b mx - a my >= 0  for each edge  a x + b y + c >= 0  (paper 3, (11): the centre of pressure),

    and with the rows of the yaw moment mz, which the paper leaves out: for a rectangle of half sides X, Y (Caron,
    Pham, Nakamura 2015)

        -mu'(X+Y) fz + |Y fx - mu' mx| + |X fy - mu' my| <= mz <= mu'(X+Y) fz - |Y fx + mu' mx| - |X fy + mu' my|;

    for another polygon all rows are the facets of the cone that forces at its corners span. A point has no moment.

    Parameters
    ----------
    vertices : (k, 2), m
        Corners in order, in the patch frame; a single one, (0, 0), is a point.
    friction : float, optional
        Coulomb's coefficient mu > 0.

    Raises
    ------
    InputError
        For a polygon with no area or that is not convex, and where wrenches are asked for of a patch without friction.

    Examples
    --------
    >>> sole = tr.FlatPatch([[-0.1, -0.03], [0.1, -0.03], [0.1, 0.03], [-0.1, 0.03]], friction=0.6)
    >>> len(sole.vertices)
    4
    """

    vertices: ArrayField = ArrayField()
    friction: float | None = None

    def __post_init__(self) -> None:
        corners = array("vertices", self.vertices, (None, 2), unit="m")
        if self.friction is not None:
            positive("friction", self.friction)
        if len(corners) > 1:
            corners = _order_corners(corners, self.vertices)
        elif np.any(corners):
            raise InputError("vertices", self.vertices, "(0, 0) where there is one: the point is the frame's origin")
        object.__setattr__(self, "vertices", corners)

    @cached_property
    def rows(self) -> FloatArray:
        """(n, 6): a wrench w can be pushed with if rows @ w >= 0; the first is the normal force."""
        corners, mu = self.vertices, self._mu * _INNER
        centre, half = corners.mean(axis=0), self.half_sides
        if len(corners) == 1:
            rows = _force_rows(mu)
        elif half is not None:
            shift = np.eye(6)  # the moment about the rectangle's centre c: m - c x f
            shift[:3, 3:] = [[0, 0, -centre[1]], [0, 0, centre[0]], [centre[1], -centre[0], 0]]
            rows = np.vstack((_force_rows(mu), _edge_rows(corners), _yaw_rows(mu, *half) @ shift))
        else:
            rows = _facets(corners, mu)
        rows.setflags(write=False)
        return rows

    @property
    def half_sides(self) -> tuple[float, float] | None:
        """Half sides, m, along x and y if it is a rectangle along the axes."""
        corners = self.vertices
        half = (corners.max(axis=0) - corners.min(axis=0)) / 2
        off = np.abs(np.abs(corners - corners.mean(axis=0)) - half)
        return (float(half[0]), float(half[1])) if len(corners) == 4 and np.all(off < 1e-12) else None

    @property
    def _mu(self) -> float:
        if self.friction is None:
            raise InputError("friction", None, "given: what a patch can push with depends on it")
        return self.friction

    @classmethod
    def rectangle(
        cls, length: float, width: float, friction: float | None = None, centre: Sequence[float] = (0.0, 0.0)
    ) -> FlatPatch:
        """Return a rectangle of `length` along x and `width` along y, m."""
        x, y = positive("length", length, "m") / 2, positive("width", width, "m") / 2
        at = array("centre", centre, (2,), unit="m")
        return cls(at + np.array([[x, y], [-x, y], [-x, -y], [x, -y]]), friction)

    @classmethod
    def point(cls, friction: float) -> FlatPatch:
        """Return a point: a force and no moment."""
        return cls(((0.0, 0.0),), friction)

    @property
    def is_point(self) -> bool:
        """Whether it is a point."""
        return len(self.vertices) == 1

    @cached_property
    def generators(self) -> FloatArray:
        """Wrenches (6, 4 k) whose non-negative sums are all that `rows` allows: rho at each corner v, moment v x rho.

        rho = (+-mu', +-mu', 1).
        """
        found = _generators(self.vertices, self._mu * _INNER)
        found.setflags(write=False)
        return found

    def friction_use(self, wrench: FloatArray) -> float:
        """Return |f_t| / (mu fz) of Coulomb's round cone: at most 1 where it does not slip; inf where it pulls."""
        f = array("wrench", wrench, (6,))[3:]
        tangential, room = float(np.hypot(f[0], f[1])), self._mu * float(f[2])
        return tangential / room if room > 0 else (0.0 if tangential == 0.0 and f[2] == 0.0 else np.inf)

    def uses(self, wrenches: ArrayLike) -> FloatArray:
        """Return what wrenches (..., 6) use of friction, centre of pressure and yaw, (..., 3): `rows` in three groups.

        Of each group the largest 1 - (row . w) / (row . w0), w0 the same normal force pressed straight on the middle:
        0 there, 1 on a limit. Friction is that of the pyramid, the centre of pressure goes from the middle to the edge,
        and a yaw moment shares its limits with the other components. A point uses friction only. 0 without any
        wrench, inf where there is one but no normal force.
        """
        w = np.asarray(wrenches, dtype=float)
        if w.shape[-1:] != (6,):
            raise InputError("wrenches", w.shape, "an array whose last dimension is 6")
        middle, normal = self.vertices.mean(axis=0), w[..., 5:]
        straight = self.rows @ np.array([middle[1], -middle[0], 0.0, 0.0, 0.0, 1.0])
        with np.errstate(all="ignore"):
            use = 1.0 - (w @ self.rows.T) / (normal * straight)
        use = np.where(normal > 0, use, np.where(np.any(w, axis=-1, keepdims=True), np.inf, 0.0))
        some = np.abs(self.rows) > 1e-9 * np.abs(self.rows).max(axis=1, keepdims=True)
        yaw, tilt = some[:, 2], np.any(some[:, :2], axis=1)
        groups = (~yaw & ~tilt, ~yaw & tilt, yaw)
        return np.stack([np.max(use[..., group], axis=-1, initial=0.0) for group in groups], axis=-1)

    def edge_distance(self, wrench: FloatArray) -> float:
        """Return how far (m) the centre of pressure (-my/fz, mx/fz) is inside the polygon; negative outside.

        Of a point: zero without a moment. Without a normal force: inf without a moment about x and y, else -inf.
        """
        m, fz = (w := array("wrench", wrench, (6,)))[:2], float(w[5])
        if fz <= 0:
            return -np.inf if np.any(m) else np.inf
        centre = np.array([-m[1], m[0]]) / fz
        if self.is_point:
            return -float(np.linalg.norm(centre))
        normals, offsets = _edges(self.vertices)
        return float(np.min(normals @ centre + offsets))


@dataclass(frozen=True)
class PlacedPatch:
    """A patch that lies somewhere in the world and does not move: a foothold, a handhold.

    Parameters
    ----------
    name : str
        Of the link or frame that holds it.
    patch : FlatPatch
    position : (3,), m
        Origin of the patch frame, world.
    R_world_patch : (3, 3)
        Its third column is the normal into the robot.

    Examples
    --------
    >>> point = tr.FlatPatch([[0.0, 0.0]], friction=0.6)
    >>> tr.PlacedPatch("left_hand", point, position=[0.3, 0.2, 0.9]).name
    'left_hand'
    """

    name: str
    patch: FlatPatch
    position: ArrayField = vector("m")
    R_world_patch: Converted[ArrayLike | None, FloatArray] = Converted(
        None, keep=lambda key, value: rotation(key, np.eye(3) if value is None else value)
    )

    def __post_init__(self) -> None:
        instance("patch", self.patch, FlatPatch, "a FlatPatch")
        check_parameters(self)

    @property
    def corners(self) -> FloatArray:
        """Corners (k, 3), world."""
        flat = np.column_stack((self.patch.vertices, np.zeros(len(self.patch.vertices))))
        return self.position + flat @ self.R_world_patch.T

    def world(self, wrench: FloatArray) -> FloatArray:
        """Return a wrench of the patch frame as (moment about the world's origin, force), world."""
        m, f = (self.R_world_patch @ part for part in (wrench[:3], wrench[3:]))
        return np.concatenate((m + np.cross(self.position, f), f))


def _order_corners(corners: FloatArray, given: ArrayLike) -> FloatArray:
    """Return the corners counter-clockwise."""
    x, y = corners.T
    area = 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
    if len(corners) < 3 or abs(area) < _SMALLEST_AREA:
        raise InputError("vertices", given, "corners of a polygon with an area, or the one point (0, 0)")
    if area < 0:
        corners = corners[::-1]
    side = np.roll(corners, -1, axis=0) - corners
    turn = side[:, 0] * np.roll(side[:, 1], -1) - side[:, 1] * np.roll(side[:, 0], -1)
    if np.any(turn <= 1e-12 * np.abs(area)):
        raise InputError("vertices", given, "corners of a convex polygon, in order, none on the line of two others")
    corners = np.array(corners)
    corners.setflags(write=False)
    return corners


def _edges(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return unit inward normals (k, 2) and offsets (k,): normals @ x + offsets >= 0 inside."""
    side = np.roll(corners, -1, axis=0) - corners
    normals = np.column_stack((-side[:, 1], side[:, 0])) / np.linalg.norm(side, axis=1)[:, None]
    return normals, -np.sum(normals * corners, axis=1)


def _force_rows(mu: float) -> FloatArray:
    rows = np.zeros((5, 6))
    rows[:, 5] = [1.0, mu, mu, mu, mu]
    rows[1:3, 3], rows[3:5, 4] = (1.0, -1.0), (1.0, -1.0)
    return rows


def _edge_rows(corners: FloatArray) -> FloatArray:
    (normals, offsets), rows = _edges(corners), np.zeros((len(corners), 6))
    rows[:, 0], rows[:, 1], rows[:, 5] = normals[:, 1], -normals[:, 0], offsets
    return rows


def _yaw_rows(mu: float, x: float, y: float) -> FloatArray:
    rows = []
    for bound in (1.0, -1.0):  # mz >= ..., mz <= ...
        for s in (1.0, -1.0):
            for t in (1.0, -1.0):
                rows.append([s * mu * bound, t * mu * bound, bound, -s * y, -t * x, mu * (x + y)])
    return np.array(rows)


def _generators(corners: FloatArray, mu: float) -> FloatArray:
    rho = np.array([[a * mu, b * mu, 1.0] for a in (1, -1) for b in (1, -1)])
    at = np.column_stack((corners, np.zeros(len(corners))))
    force = np.tile(rho, (len(at), 1))
    return np.hstack((np.cross(np.repeat(at, 4, axis=0), force), force)).T


def _facets(corners: FloatArray, mu: float) -> FloatArray:
    """Return the rows of the cone that `_generators` span: facets of its section fz = 1, by Qhull."""
    from scipy.spatial import ConvexHull

    size = float(np.abs(corners).max())
    section = _generators(corners, mu)[:5].T / np.array([size, size, mu * size, mu, mu])
    found = ConvexHull(section, qhull_options="Qx").equations
    rounded = np.unique(np.round(found, 9), axis=0)
    # One facet may be split in several that differ by round-off: the mean of each group is kept.
    groups = [found[np.all(np.abs(found - row) < 1e-7, axis=1)].mean(axis=0) for row in rounded]
    rows = -np.array(groups) / np.array([size, size, mu * size, mu, mu, 1.0])
    _, first = np.unique(np.round(rows / np.linalg.norm(rows, axis=1)[:, None], 7), axis=0, return_index=True)
    return np.vstack((_force_rows(mu)[:1], rows[np.sort(first)]))
