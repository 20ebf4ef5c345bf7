"""Rows of whole-body control that keep limbs apart, and away from boxes of the surroundings: distances by coal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.contact.packed import FrameMotion
from trundle.errors import InputError, MissingExtraError
from trundle.models.capsules import Capsule, Clearance, Obstacle

_HARDEST = 1e3
"""Most that a row may ask for, m/s2."""


@dataclass(frozen=True, eq=False)
class Nearness:
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
        For an obstacle against an unknown capsule.
    MissingExtraError
        If coal, which comes with Pinocchio, is not installed.
    """

    def __init__(
        self, clearance: Clearance, obstacles: Sequence[Obstacle] = (), *, rate: float = 5.0, horizon: float = 0.05
    ) -> None:
        self.clearance, self.obstacles = clearance, tuple(obstacles)
        self.rate, self.horizon = positive("rate", rate, "1/s"), positive("horizon", horizon, "s")
        self._coal = _coal()
        self._shapes: dict[str, Any] = {}
        self._capsules: dict[str, Capsule] = dict(clearance.capsules)
        pairs = list(clearance.pairs)
        for obstacle in self.obstacles:
            for name in obstacle.against:
                if name not in self._capsules:
                    allowed = "capsules of the robot: " + ", ".join(self._capsules)
                    raise InputError(f"{obstacle.name}.against", name, allowed)
                pairs.append((name, obstacle.name))
        self.pairs: tuple[tuple[str, str], ...] = tuple(pairs)
        self._boxes = {obstacle.name: obstacle for obstacle in self.obstacles}
        self._bound = {name: c.length / 2 + c.radius for name, c in self._capsules.items()}
        self._bound |= {name: float(np.linalg.norm(o.size)) / 2 for name, o in self._boxes.items()}
        self._turns = {name: c.turned for name, c in self._capsules.items()}
        for name, c in self._capsules.items():
            self._shapes[name] = self._coal.Capsule(c.radius, c.length)
        for name, o in self._boxes.items():
            self._shapes[name] = self._coal.Box(*o.size)
        self._ask, self._answer = self._coal.DistanceRequest(), self._coal.DistanceResult()

    @property
    def links(self) -> tuple[str, ...]:
        """Links whose motions are needed, each once."""
        named = {name for pair in self.pairs for name in pair if name in self._capsules}
        return tuple(dict.fromkeys(self._capsules[name].link for name in self._capsules if name in named))

    def near(self, motions: Mapping[str, FrameMotion], nu: FloatArray) -> list[Nearness | None]:
        """Return each pair's nearness, None where it is out of reach, from the motions of `links`."""
        placed: dict[str, tuple[FloatArray, Any]] = {}
        return [self._pair(a, b, motions, nu, placed) for a, b in self.pairs]

    def write(self, A: FloatArray, low: FloatArray, motions: Mapping[str, FrameMotion], nu: FloatArray) -> None:
        """Write the rows into A (k, >= nv) and low (k,)."""
        A[:], low[:] = 0.0, -np.inf
        for i, one in enumerate(self.near(motions, nu)):
            if one is not None:
                A[i, : len(one.J)] = one.J
                wanted = -self.rate * (one.distance - self.clearance.margin) - one.rate
                low[i] = min(wanted / self.horizon - one.bias, _HARDEST)

    def _pair(
        self, a: str, b: str, motions: Mapping[str, FrameMotion], nu: FloatArray, placed: dict[str, Any]
    ) -> Nearness | None:
        (at_a, place_a), (at_b, place_b) = (self._placed(name, motions, placed) for name in (a, b))
        apart = at_b - at_a
        if apart @ apart > (self._bound[a] + self._bound[b] + self.clearance.reach) ** 2:
            return None
        answer = self._answer
        answer.clear()
        distance = self._coal.distance(self._shapes[a], place_a, self._shapes[b], place_b, self._ask, answer)
        if not distance <= self.clearance.reach:
            return None
        points = np.array([answer.getNearestPoint1(), answer.getNearestPoint2()])
        n = np.array(answer.normal)
        # Of points on the axes: a round surface rolls under its nearest point, which the axis does not.
        one, other = self._capsules[a], self._capsules.get(b)
        J, bias = _toward(-n, motions[one.link], points[0] - one.radius * n)
        if other:
            second = _toward(n, motions[other.link], points[1] + other.radius * n)
            J, bias = J + second[0], bias + second[1]
        return Nearness((a, b), float(distance), points, J, float(J @ nu[: len(J)]), bias)

    def _placed(self, name: str, motions: Mapping[str, FrameMotion], placed: dict[str, Any]) -> Any:
        """Return the centre (3,) of a body, and its place for coal; made once a tick."""
        if name not in placed:
            if name in self._boxes:
                R, centre = self._boxes[name].R_world_box, self._boxes[name].position
            else:
                capsule, motion = self._capsules[name], motions[self._capsules[name].link]
                R, centre = motion.R @ self._turns[name], motion.p + motion.R @ capsule.middle
            placed[name] = centre, self._coal.Transform3s(R, centre)
        return placed[name]


def _toward(n: FloatArray, motion: FrameMotion, point: FloatArray) -> tuple[FloatArray, float]:
    """Return J (nv,) and bias of the point (3,) of a body along n: n.v = J nu, n.a = J nudot + bias."""
    r = point - motion.p
    turn = np.array([r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0]])  # r x n
    w = motion.w
    round_off = (w @ r) * (w @ n) - (r @ n) * (w @ w)
    return n @ motion.Jv + turn @ motion.Jw, float(n @ motion.a + turn @ motion.al + round_off)


def _coal() -> Any:
    try:
        return import_module("coal")
    except ModuleNotFoundError:
        raise MissingExtraError("coal", "robots") from None
