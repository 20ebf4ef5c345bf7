"""Places: where the shapes of a system are, and how they move, at many instants at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.geometry.queries.cloud import Cover
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.simulate.events.advancement import CHANGES, PairPlace, WatchedPair

_STILL = 1e-15
"""m, a way that is none: round-off of bodies at rest."""


@dataclass(frozen=True, eq=False)
class TouchPlaces:
    """Poses and twists, world, of shapes at N instants.

    Attributes
    ----------
    R : (N, shapes, d, d)
    p : (N, shapes, d) m
        Origins.
    w : (N, shapes, k) rad/s
    v : (N, shapes, d) m/s
        Velocities of the centres.
    c : (N, shapes, d) m
        Centres: of a ball around the shape, or the origin where there is none.
    """

    R: FloatArray
    p: FloatArray
    w: FloatArray
    v: FloatArray
    c: FloatArray

    def of(self, instant: int, shape: int) -> PairPlace:
        """Return one of them."""
        return PairPlace(*(values[instant, shape] for values in (self.R, self.p, self.w, self.v, self.c)))


class PairShapes:
    """The shapes of some pairs on their bodies, each once (final).

    Attributes
    ----------
    sides : (2, pairs)
        Numbers of the shapes A and B of each pair.
    radii, arms : (shapes,) m
        See `WatchedPair`.
    """

    def __init__(self, system: ContactSystem, pairs: Sequence[WatchedPair]) -> None:
        self.system = system
        numbers: dict[tuple[str, int, tuple[float, ...]], int] = {}
        bodies, origins, centers, radii, arms = [], [], [], [], []
        sides = np.zeros((2, len(pairs)), dtype=np.intp)
        for column, pair in enumerate(pairs):
            contact = system.contact_pairs[pair.number]
            told = (contact.body_A, pair.A, contact.center_A), (contact.body_B, pair.B, (0.0,) * system.d)
            for side, (body, shape, origin) in enumerate(told):
                key = (body, id(shape), origin)
                if key not in numbers:
                    numbers[key] = len(numbers)
                    bodies.append(body)
                    origins.append(origin)
                    centers.append(pair.centers[side] + np.array(origin))
                    radii.append(pair.radii[side])
                    arms.append(pair.arms[side])
                sides[side, column] = numbers[key]
        self._bodies = bodies
        self._origins, self._centers = (np.array(one).reshape(-1, system.d) for one in (origins, centers))
        self.sides, self.radii, self.arms = sides, np.array(radii), np.array(arms)

    def at(self, states: FloatArray, atlas: Atlas) -> TouchPlaces:
        """Return where they are at the states (N, n_x)."""
        frames = self.system.frames(states, atlas)
        at = [frames.place[name] for name in self._bodies]
        R, p, w, v = (values[:, at] for values in (frames.R, frames.p, frames.w, frames.v))
        to_center = (R @ self._centers[:, :, None])[..., 0]
        origin = p + (R @ self._origins[:, :, None])[..., 0]
        return TouchPlaces(R, origin, w, v + turns(w, to_center), p + to_center)


def turns(w: FloatArray, r: FloatArray) -> FloatArray:
    """Return w x r (..., d)."""
    if r.shape[-1] == 2:
        return w * np.stack([-r[..., 1], r[..., 0]], axis=-1)
    (a, b, c), (x, y, z) = np.moveaxis(w, -1, 0), np.moveaxis(r, -1, 0)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)


def doubtful(
    pairs: Sequence[WatchedPair], shapes: PairShapes, times: FloatArray, at: TouchPlaces
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of which intervals (N - 1) and pairs balls around the shapes do not show that nothing touches.

    And in which of them the two move beside each other at all: those that do not go on as they are.
    """
    doubt, moves = np.ones((2, len(times) - 1, len(pairs)), dtype=bool)
    lasted = np.diff(times)[:, None]
    endless = ~np.isfinite(shapes.radii[shapes.sides])
    for some in (_balls(shapes, at, endless), *_beside_endless(pairs, shapes, at, endless)):
        least = some.gaps[1:] + some.gaps[:-1]
        ways = (np.maximum(some.speeds[1:], some.speeds[:-1]) + CHANGES * some.changes) * lasted
        doubt[:, some.columns] = ~(least > ways) | ~(np.minimum(some.gaps[1:], some.gaps[:-1]) > 0)
        moves[:, some.columns] = ~(ways <= _STILL)
    return doubt, moves


@dataclass(frozen=True, eq=False)
class _Apart:
    """Of m pairs lower bounds (N, m) of gaps, m, and upper ones of speeds, m/s, and (N - 1, m) of how they changed."""

    columns: NDArray[np.intp]
    gaps: FloatArray
    speeds: FloatArray
    changes: FloatArray


def _balls(shapes: PairShapes, at: TouchPlaces, endless: NDArray[np.bool_]) -> _Apart:
    """Return what two balls around shapes that have an end say."""
    columns = np.flatnonzero(~endless.any(axis=0))
    a, b = shapes.sides[:, columns]
    gaps = np.linalg.norm(at.c[:, a] - at.c[:, b], axis=2) - shapes.radii[a] - shapes.radii[b]
    relative = at.v[:, a] - at.v[:, b]
    arms = np.where(np.isfinite(shapes.arms), shapes.arms, 0.0)
    turning = np.linalg.norm(at.w, axis=2) * arms
    turned = np.linalg.norm(np.diff(at.w, axis=0), axis=2) * arms
    speeds = np.linalg.norm(relative, axis=2) + turning[:, a] + turning[:, b]
    changes = np.linalg.norm(np.diff(relative, axis=0), axis=2) + turned[:, a] + turned[:, b]
    return _Apart(columns, gaps, speeds, changes)


def _beside_endless(
    pairs: Sequence[WatchedPair], shapes: PairShapes, at: TouchPlaces, endless: NDArray[np.bool_]
) -> Iterator[_Apart]:
    """Yield what a ball beside a shape without an end says, as that one sees it, which carries its centre with it."""
    for side in (0, 1):
        one = np.flatnonzero(endless[side] & ~endless[1 - side])
        for base in np.unique(shapes.sides[side, one]):
            columns = one[shapes.sides[side, one] == base]
            inner = shapes.sides[1 - side, columns]
            shape = (pairs[columns[0]].A, pairs[columns[0]].B)[side]
            local = (at.c[:, inner] - at.p[:, [base]]) @ at.R[:, base]
            away = Cover(shape).exactly(local.reshape(-1, local.shape[2]))[0].reshape(local.shape[:2])
            arm, arms = at.c[:, inner] - at.c[:, [base]], shapes.arms[inner]
            relative = at.v[:, inner] - at.v[:, [base]] - turns(at.w[:, [base]], arm)
            spin = at.w[:, inner] - at.w[:, [base]]
            speeds = np.linalg.norm(relative, axis=2) + arms * np.linalg.norm(spin, axis=2)
            changes = np.linalg.norm(np.diff(relative, axis=0), axis=2)
            changes += arms * np.linalg.norm(np.diff(spin, axis=0), axis=2)
            yield _Apart(columns, away - shapes.radii[inner], speeds, changes)
