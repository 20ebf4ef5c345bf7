"""Random bodies with random contacts, of which only D = J M^-1 J', the velocities before and the frictions are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WORLD = -1
"""The number of what does not move."""


@dataclass(frozen=True)
class Problem:
    """Contacts that meet: what Coulomb's law is asked for.

    Attributes
    ----------
    kind : str
        Of the scene.
    D : (m d, m d)
        J M^-1 J', in each contact's axes, the normal first.
    before : (m, d) m/s
        J nu.
    friction : (m,)
    """

    kind: str
    seed: int
    D: Array
    before: Array
    friction: Array


@dataclass
class Scene:
    """Bodies of one mass and inertia each, and points where they meet.

    Bodies in space have the velocities (angular, linear), bodies in the plane (angle, x, z).
    """

    d: int
    random: np.random.Generator
    centers: list[Array] = field(default_factory=list)
    inverses: list[Array] = field(default_factory=list)
    contacts: list[tuple[int, int, Array, Array]] = field(default_factory=list)

    @property
    def rates(self) -> int:
        """Velocities of one body."""
        return 6 if self.d == 3 else 3

    def body(self, center: Array, mass: float, edges: Array) -> int:
        """Add a box of a mass (kg) and edges (d,) (m), turned at random, and return its number."""
        self.centers.append(np.asarray(center, dtype=np.float64))
        inverse = np.eye(self.rates) / mass
        if self.d == 2:
            inverse[0, 0] = 12.0 / (mass * float(edges @ edges))
        else:
            R = np.linalg.qr(self.random.normal(size=(3, 3)))[0]
            moments = mass / 12.0 * (float(edges @ edges) - edges**2)
            inverse[:3, :3] = R @ np.diag(1.0 / moments) @ R.T
        self.inverses.append(inverse)
        return len(self.centers) - 1

    def contact(self, a: int, b: int, point: Array, normal: Array) -> None:
        """Let two bodies meet at a point; the normal goes out of `b`."""
        self.contacts.append((a, b, np.asarray(point, dtype=np.float64), normal / np.linalg.norm(normal)))

    def unit(self) -> Array:
        """Return a random direction."""
        n = self.random.normal(size=self.d)
        return n / np.linalg.norm(n)

    def axes(self, n: Array) -> Array:
        """Return the normal and tangents as rows."""
        if self.d == 2:
            return np.array([n, [n[1], -n[0]]])
        t = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        t = t / np.linalg.norm(t)
        return np.array([n, t, np.cross(n, t)])

    def matrices(self) -> tuple[Array, Array]:
        """Return J (m d, k) and M^-1 (k, k) of all bodies."""
        k, d = self.rates, self.d
        J = np.zeros((len(self.contacts) * d, len(self.centers) * k))
        inverse = np.zeros((J.shape[1], J.shape[1]))
        for i, own in enumerate(self.inverses):
            inverse[i * k : (i + 1) * k, i * k : (i + 1) * k] = own
        for row, (a, b, p, n) in enumerate(self.contacts):
            for body, sign in ((a, 1.0), (b, -1.0)):
                if body == WORLD:
                    continue
                r = p - self.centers[body]
                if d == 2:
                    of_point = np.array([[-r[1], 1.0, 0.0], [r[0], 0.0, 1.0]])
                else:
                    cross = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
                    of_point = np.hstack([-cross, np.eye(3)])
                J[row * d : (row + 1) * d, body * k : (body + 1) * k] += sign * self.axes(n) @ of_point
        return J, inverse


@dataclass(frozen=True)
class Sizes:
    """How far masses and lengths (powers of ten) of one scene are apart."""

    masses: float
    lengths: float

    def mass(self, random: np.random.Generator) -> float:
        """Draw a mass, kg."""
        return float(10.0 ** random.uniform(-self.masses, self.masses))

    def length(self, random: np.random.Generator) -> float:
        """Draw a length, m."""
        return float(10.0 ** random.uniform(-self.lengths, self.lengths))

    def edges(self, random: np.random.Generator, d: int, size: float) -> Array:
        """Draw edges of a box of about one size, m."""
        return size * random.uniform(0.3, 1.0, d)


def _up(d: int) -> Array:
    return np.eye(d)[-1]


def heap(scene: Scene, sizes: Sizes) -> None:
    """Bodies that touch each other and the ground anywhere, from all sides."""
    random, d = scene.random, scene.d
    bodies = int(random.integers(1, 9))
    across = [sizes.length(random) for _ in range(bodies)]
    for size in across:
        scene.body(random.normal(size=d), sizes.mass(random), sizes.edges(random, d, size))
    for _ in range(int(random.integers(1, 2 * bodies + 2))):
        a = int(random.integers(bodies))
        b = int(random.choice([k for k in range(WORLD, bodies) if k != a]))
        point = scene.centers[a] + across[a] * scene.unit() * random.uniform(0.3, 1.0)
        scene.contact(a, b, point, scene.unit())


def feet(scene: Scene, sizes: Sizes) -> None:
    """Tables that stand on flat ground on two to eight feet each, some upon each other."""
    random, d = scene.random, scene.d
    bodies = int(random.integers(1, 6))
    for k in range(bodies):
        size = sizes.length(random)
        height = size * random.uniform(0.2, 2.0)
        body = scene.body((3.0 * k) * np.eye(d)[0] + height * _up(d), sizes.mass(random), sizes.edges(random, d, size))
        ground = int(random.integers(body)) if body and random.random() < 0.3 else WORLD
        for _ in range(int(random.integers(2, 9 if d == 3 else 5))):
            foot = scene.centers[body] - height * _up(d)
            foot[:-1] += size * random.uniform(-1.0, 1.0, d - 1)
            scene.contact(body, ground, foot, _up(d))


def stack(scene: Scene, sizes: Sizes) -> None:
    """Boxes upon each other, face to face: a contact at each corner."""
    random, d = scene.random, scene.d
    size, top, below = sizes.length(random), 0.0, WORLD
    for _ in range(int(random.integers(1, 11))):
        edges = sizes.edges(random, d, size)
        center = (top + edges[-1] / 2.0) * _up(d)
        center[:-1] = 0.1 * size * random.normal(size=d - 1)
        body = scene.body(center, sizes.mass(random), edges)
        for corner in np.ndindex(*(2,) * (d - 1)):
            at = center - edges[-1] / 2.0 * _up(d)
            at[:-1] += edges[:-1] * (np.array(corner) - 0.5)
            scene.contact(body, below, at, _up(d))
        top, below = top + edges[-1], body


def pinch(scene: Scene, sizes: Sizes) -> None:
    """A body between fingers that are opposite each other, held by the world or by bodies of their own."""
    random, d = scene.random, scene.d
    size = sizes.length(random)
    held = scene.body(np.zeros(d), sizes.mass(random), sizes.edges(random, d, size))
    for _ in range(int(random.integers(1, 4))):
        n = scene.unit()
        for sign in (1.0, -1.0):
            point = sign * size / 2.0 * n
            finger = WORLD
            if random.random() < 0.5:
                finger = scene.body(2.0 * point, sizes.mass(random), sizes.edges(random, d, size))
            for _ in range(int(random.integers(1, 3))):
                aside = 0.1 * size * random.normal(size=d)
                scene.contact(held, finger, point + aside - (aside @ n) * n, -sign * n)


def ring(scene: Scene, sizes: Sizes) -> None:
    """Balls in a closed ring on the ground, each between its neighbours."""
    random, d = scene.random, scene.d
    count = int(random.integers(3, 13))
    size = sizes.length(random)
    radius = size / (2.0 * np.sin(np.pi / count))
    for k in range(count):
        angle = 2.0 * np.pi * k / count
        center = np.zeros(d)
        center[:2] = radius * np.cos(angle), radius * np.sin(angle)
        scene.body(center, sizes.mass(random), np.full(d, size))
    for k in range(count):
        one, other = scene.centers[k], scene.centers[(k + 1) % count]
        scene.contact(k, (k + 1) % count, (one + other) / 2.0, one - other)
        if d == 3:
            scene.contact(k, WORLD, one - size / 2.0 * _up(3), _up(3))


def soles(scene: Scene, sizes: Sizes) -> None:
    """Feet with four corners each, joined to a trunk by a tree's mass matrix: half of the rows are redundant."""
    random, d = scene.random, scene.d
    count = int(random.integers(1, 5))
    size = sizes.length(random)
    for k in range(count):
        body = scene.body(0.5 * k * np.eye(d)[0], sizes.mass(random), sizes.edges(random, d, size))
        for corner in np.ndindex(*(2,) * (d - 1)):
            at = scene.centers[body] - 0.2 * size * _up(d)
            at[:-1] += size * (np.array(corner) - 0.5)
            scene.contact(body, WORLD, at, _up(d))
    # The trunk couples what is inertia of the feet alone so far.
    n = count * scene.rates
    half = random.normal(size=(n, n))
    root = np.zeros((n, n))
    for k, own in enumerate(scene.inverses):
        at = slice(k * scene.rates, (k + 1) * scene.rates)
        root[at, at] = np.linalg.cholesky(own)
    scene.coupled = root @ np.linalg.inv(half @ half.T + np.eye(n)) @ root.T  # pyright: ignore[reportAttributeAccessIssue]


def groove(scene: Scene, sizes: Sizes) -> None:
    """Bars in V grooves, and contacts that are there twice."""
    random, d = scene.random, scene.d
    for k in range(int(random.integers(1, 4))):
        size = sizes.length(random)
        body = scene.body(4.0 * k * np.eye(d)[0], sizes.mass(random), sizes.edges(random, d, size))
        slope = random.uniform(0.1, 1.5)
        for side in (1.0, -1.0):
            n = np.zeros(d)
            n[0], n[-1] = side * np.sin(slope), np.cos(slope)
            for _ in range(int(random.integers(1, 4))):
                along = np.zeros(d)
                if d == 3:
                    along[1] = size * random.uniform(-1.0, 1.0)
                for _ in range(1 + int(random.random() < 0.3)):
                    scene.contact(body, WORLD, scene.centers[body] - size / 2.0 * n + along, n)


KINDS: dict[str, Callable[[Scene, Sizes], None]] = {
    "heap": heap,
    "feet": feet,
    "stack": stack,
    "pinch": pinch,
    "ring": ring,
    "soles": soles,
    "groove": groove,
}
MOST = 40
"""Contacts of a problem."""


def _velocities(scene: Scene) -> Array:
    """Return velocities of all bodies: anyhow, a fall, a slip, or what a step of gravity leaves of rest."""
    random, d, k = scene.random, scene.d, scene.rates
    count = len(scene.centers)
    what = random.integers(4)
    nu = np.zeros((count, k))
    if what == 0:
        nu = random.normal(size=(count, k))
    elif what == 1:
        nu[:, -1] = -1.0
        nu += random.choice([0.0, 1e-3, 0.3]) * random.normal(size=nu.shape)
    elif what == 2:
        nu[:, -1] = -0.1
        nu[:, k - d] = 1.0
    else:
        nu[:, -1] = -9.81e-3
        nu[int(random.integers(count))] += random.normal(size=k)
    return nu.ravel() * 10.0 ** random.uniform(-2.0, 1.0)


def _frictions(random: np.random.Generator, m: int, unlimited: bool) -> Array:
    """Return coefficients of friction: one for all or one each, some zero, some without limit."""
    mu = random.uniform(0.0, 2.0, m)
    if random.random() < 0.5:
        mu[:] = mu[0]
    if random.random() < 0.2:
        mu[random.random(m) < 0.5] = 0.0
    if random.random() < 0.05:
        mu[:] = 0.0
    if unlimited and random.random() < 0.15:
        mu[random.random(m) < 0.5] = np.inf
    return mu


def drawn(seed: int, kind: str | None = None, unlimited: bool = True, wide: bool | None = None) -> Problem:
    """Return the problem of a seed."""
    random = np.random.default_rng([20261128, seed])
    names = list(KINDS)
    kind = names[int(random.integers(len(names)))] if kind is None else kind
    wide = bool(random.random() < 0.4) if wide is None else wide
    sizes = Sizes(3.0, 1.0) if wide else Sizes(0.5, 0.3)
    scene = Scene(2 if random.random() < 0.4 else 3, random)
    KINDS[kind](scene, sizes)
    order = random.permutation(len(scene.contacts))[:MOST]
    scene.contacts = [scene.contacts[i] for i in order]
    J, inverse = scene.matrices()
    inverse = getattr(scene, "coupled", inverse)
    if wide:  # the scene as a whole, too, from millimetres to kilometres and from milligrams to tonnes
        inverse = inverse * 10.0 ** random.uniform(-6.0, 6.0)
    m = len(scene.contacts)
    D = J @ inverse @ J.T
    return Problem(
        kind, seed, (D + D.T) / 2.0, (J @ _velocities(scene)).reshape(m, scene.d), _frictions(random, m, unlimited)
    )


def problems(count: int, seed: int) -> Iterator[Problem]:
    """Yield problems of all kinds in turn."""
    names = list(KINDS)
    for k in range(count):
        yield drawn(seed * 1_000_003 + k, names[k % len(names)])
