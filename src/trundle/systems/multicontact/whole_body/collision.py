"""Rows of whole-body control that keep limbs apart, and away from what is around: distances by coal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.contact.packed import FrameMotion
from trundle.errors import InputError, MissingExtraError
from trundle.models.robots.capsules import Clearance, LimbCapsule
from trundle.systems.multicontact.humanoid.obstacles import Obstacle

if TYPE_CHECKING:
    import coal

_HARDEST = 1e3
"""Most that a row may ask for, m/s2."""


@dataclass(frozen=True, eq=False)
class PairDistance:
    """How near two bodies are: d' = J nu, and d'' = J nudot + bias but for the turning of the normal.

    Attributes
    ----------
    names : tuple of two str
    distance : float, m
        Negative where they overlap.
    points : (2, 3) m, world
        The nearest ones.
    J : (nv,)
        Gradient of the distance.
    rate : float, m/s
    bias : float, m/s2
    """

    names: tuple[str, str]
    distance: float
    points: FloatArray
    J: FloatArray
    rate: float
    bias: float


class CollisionRows:
    """Rows A nudot >= low over chosen pairs (final), for `WholeBodyController`.

    A velocity damper: the distance d approaches its margin no faster than rate * (d - margin),

        d' + horizon d'' >= -rate (d - margin)

    which does not overshoot if horizon * rate <= 1/4. Pairs farther apart than the reach have no row (low = -inf). The
    turning of the normal is left out of d'': it is of the order of a sliding speed's square over the axes' distance.

    Parameters
    ----------
    clearance : Clearance
    obstacles : sequence of Obstacle
    rate : float, 1/s
    horizon : float, s

    Raises
    ------
    InputError
        For an obstacle against an unknown capsule, or with a name that is taken.
    MissingExtraError
        If coal, which comes with Pinocchio, is not installed.
    """

    def __init__(
        self, clearance: Clearance, obstacles: Sequence[Obstacle] = (), *, rate: float = 5.0, horizon: float = 0.05
    ) -> None:
        self.clearance, self.obstacles = clearance, tuple(obstacles)
        self.rate, self.horizon = positive("rate", rate, "1/s"), positive("horizon", horizon, "s")
        try:
            import coal
        except ModuleNotFoundError:
            raise MissingExtraError("coal", "robots") from None
        self._coal = coal
        self._shapes: dict[str, coal.CollisionGeometry] = {}
        self._capsules: dict[str, LimbCapsule] = dict(clearance.capsules)
        pairs = list(clearance.pairs)
        taken = set(self._capsules)
        for obstacle in self.obstacles:
            if obstacle.name in taken:
                others = "another name than those of the robot's capsules and of the other obstacles"
                raise InputError(f"{obstacle.name}.name", obstacle.name, others)
            taken.add(obstacle.name)
            for name in obstacle.against:
                if name not in self._capsules:
                    allowed = "capsules of the robot: " + ", ".join(self._capsules)
                    raise InputError(f"{obstacle.name}.against", name, allowed)
                pairs.append((name, obstacle.name))
        self.pairs: tuple[tuple[str, str], ...] = tuple(pairs)
        self._fixtures = {obstacle.name: obstacle for obstacle in self.obstacles}
        bounds = {name: c.length / 2 + c.radius for name, c in self._capsules.items()}
        bounds |= {name: o.bound for name, o in self._fixtures.items()}
        self._turns = {name: c.turned for name, c in self._capsules.items()}
        for name, c in self._capsules.items():
            self._shapes[name] = coal.Capsule(c.radius, c.length)
        for name, o in self._fixtures.items():
            self._shapes[name] = _shape(o)
        self._ask = coal.DistanceRequest()
        # Bodies in pairs, those of the robot first: their centres are found at once.
        named = tuple(dict.fromkeys(name for pair in self.pairs for name in pair))
        self._moving = tuple(name for name in named if name in self._capsules)
        self._bodies = (*self._moving, *(name for name in named if name in self._fixtures))
        self._middles = np.array([self._capsules[name].middle for name in self._moving]).reshape(-1, 3, 1)
        self._fixed = np.array([self._fixtures[name].position for name in self._bodies[len(self._moving) :]]).reshape(
            -1, 3
        )
        first, second = ([self._bodies.index(pair[i]) for pair in self.pairs] for i in (0, 1))
        self._ends = np.array(first, dtype=int), np.array(second, dtype=int)
        limits = [bounds[a] + bounds[b] + clearance.reach for a, b in self.pairs]
        self._within = np.array(limits) ** 2

    @property
    def links(self) -> tuple[str, ...]:
        """Links whose motions are needed, each once."""
        return tuple(dict.fromkeys(self._capsules[name].link for name in self._capsules if name in self._moving))

    def distances(self, motions: Mapping[str, FrameMotion], nu: FloatArray) -> list[PairDistance | None]:
        """Return each pair's nearness, None where it is out of reach, from the motions of `links`."""
        found: list[PairDistance | None] = [None] * len(self.pairs)
        if not found:
            return found
        moved = [motions[self._capsules[name].link] for name in self._moving]
        R, p = np.array([motion.R for motion in moved]), np.array([motion.p for motion in moved])
        centres = np.concatenate((p + (R @ self._middles)[..., 0], self._fixed))
        apart = centres[self._ends[1]] - centres[self._ends[0]]
        placed: dict[str, coal.Transform3s] = {}
        for i in np.flatnonzero((apart * apart).sum(axis=1) <= self._within).tolist():
            found[i] = self._pair(*self.pairs[i], motions, nu, (centres, placed))
        return found

    def write(self, A: FloatArray, low: FloatArray, motions: Mapping[str, FrameMotion], nu: FloatArray) -> None:
        """Write the rows into A (k, >= nv) and low (k,)."""
        A[:], low[:] = 0.0, -np.inf
        for i, one in enumerate(self.distances(motions, nu)):
            if one is not None:
                A[i, : len(one.J)] = one.J
                wanted = -self.rate * (one.distance - self.clearance.margin) - one.rate
                low[i] = min(wanted / self.horizon - one.bias, _HARDEST)

    def _pair(
        self,
        a: str,
        b: str,
        motions: Mapping[str, FrameMotion],
        nu: FloatArray,
        places: tuple[FloatArray, dict[str, coal.Transform3s]],
    ) -> PairDistance | None:
        place_a, place_b = (self._place_body(name, motions, *places) for name in (a, b))
        answer = self._coal.DistanceResult()
        distance = self._coal.distance(self._shapes[a], place_a, self._shapes[b], place_b, self._ask, answer)
        if not distance <= self.clearance.reach:
            return None
        points = np.array([answer.getNearestPoint1(), answer.getNearestPoint2()])
        n = np.array(answer.normal)
        # Of points on the axes: a round surface rolls under its nearest point, which the axis does not.
        one, other = self._capsules[a], self._capsules.get(b)
        J, bias = _along(n, motions[one.link], points[0] - one.radius * n)
        J, bias = -J, -bias
        if other:
            second = _along(n, motions[other.link], points[1] + other.radius * n)
            J += second[0]
            bias += second[1]
        return PairDistance((a, b), float(distance), points, J, float(J @ nu[: len(J)]), bias)

    def _place_body(
        self, name: str, motions: Mapping[str, FrameMotion], centres: FloatArray, placed: dict[str, coal.Transform3s]
    ) -> coal.Transform3s:
        """Return the place of a body for coal, made once a tick."""
        if name not in placed:
            fixed = self._fixtures.get(name)
            R = fixed.R_world_obstacle if fixed else motions[self._capsules[name].link].R @ self._turns[name]
            placed[name] = self._coal.Transform3s(R, centres[self._bodies.index(name)])
        return placed[name]


def _along(n: FloatArray, motion: FrameMotion, point: FloatArray) -> tuple[FloatArray, float]:
    """Return J (nv,) and bias of the point (3,) of a body along n: n.v = J nu, n.a = J nudot + bias.

    In plain numbers: numpy is slow on three of them.
    """
    (nx, ny, nz), (rx, ry, rz), (wx, wy, wz) = n.tolist(), (point - motion.p).tolist(), motion.w.tolist()
    (ax, ay, az), (bx, by, bz) = motion.a.tolist(), motion.al.tolist()
    tx, ty, tz = ry * nz - rz * ny, rz * nx - rx * nz, rx * ny - ry * nx  # r x n
    wr, wn = wx * rx + wy * ry + wz * rz, wx * nx + wy * ny + wz * nz
    rn, ww = rx * nx + ry * ny + rz * nz, wx * wx + wy * wy + wz * wz
    bias = nx * ax + ny * ay + nz * az + tx * bx + ty * by + tz * bz + wr * wn - rn * ww
    return n @ motion.Jv + np.array((tx, ty, tz)) @ motion.Jw, bias


def _shape(obstacle: Obstacle) -> coal.CollisionGeometry:
    import coal

    size = obstacle.size
    if obstacle.kind == "box":
        return coal.Box(*size)
    if obstacle.kind == "capsule":
        return coal.Capsule(size[0], size[1])
    return coal.Sphere(size[0]) if obstacle.kind == "sphere" else coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
