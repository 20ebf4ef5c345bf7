"""Random numbers of scenes: sizes, shapes, bodies, starts. A scene follows from (seed, number) alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from bench.survey.described import scene_of, turn_of
from bench.survey.shapes import ShapeSpec, shape
from bench.survey.spec import BodySpec, Part, Spec
from tests.oracles.laws import Motion
from tests.oracles.laws.state import State

Array = NDArray[np.float64]
Random = np.random.Generator
GRAVITY = 9.81

SPACE = ("Sphere", "Ellipsoid", "Superellipsoid", "Box", "RoundedBox", "Capsule", "Cylinder", "Disc", "Polytope",
         "RoundedPolytope", "Torus")  # fmt: skip
PLANE = ("Circle", "Ellipse", "Box", "RoundedBox", "Polytope", "RoundedPolytope", "FourierRadius")
SIMPLE = {3: ("Sphere", "Sphere", "Dumbbell", "Box"), 2: ("Circle", "Circle", "Dumbbell", "Box")}


@dataclass(frozen=True)
class Pen:
    """Draws numbers, rounded so that scripts are short: `size` (m) is that of the scene."""

    random: Random
    d: int
    size: float

    def pick(self, values: tuple) -> object:
        """Return one of the values."""
        return values[int(self.random.integers(len(values)))]

    def chance(self, share: float) -> bool:
        """Return True in this share of the cases."""
        return bool(self.random.random() < share)

    def number(self, low: float, high: float) -> float:
        """Return a number between, to three digits."""
        return rounded(float(self.random.uniform(low, high)))

    def length(self, low: float, high: float) -> float:
        """Return a length between these parts of the size."""
        return rounded(self.size * float(self.random.uniform(low, high)))

    def vector(self, spread: float) -> tuple[float, ...]:
        """Return a vector (d,) of this spread."""
        return tuple(rounded(float(v)) for v in spread * self.random.normal(size=self.d))

    @property
    def speed(self) -> float:
        """Speed of a fall from the height of the size, m/s."""
        return float(np.sqrt(GRAVITY * self.size))

    def turned(self, upright: float = 0.2) -> tuple[float, ...]:
        """Return a quaternion, in the plane an angle: none with the chance `upright`."""
        if self.d == 2:
            return (0.0,) if self.chance(upright) else (self.number(-3.0, 3.0),)
        if self.chance(upright):
            return (1.0, 0.0, 0.0, 0.0)
        q = np.round(self.random.normal(size=4), 2)
        q = q / np.linalg.norm(q) if np.any(q) else np.array([1.0, 0.0, 0.0, 0.0])
        return tuple(float(v) for v in q)

    def spin(self, spread: float) -> tuple[float, ...]:
        """Return an angular velocity (3,), in the plane (1,), in units of the speed over the size."""
        rates = spread * self.speed / self.size * self.random.normal(size=1 if self.d == 2 else 3)
        return tuple(rounded(float(v)) for v in rates)

    def friction(self) -> float:
        """Return 0 (often) to 2."""
        if self.chance(0.3):
            return 0.0
        return self.number(0.02, 0.9) if self.chance(0.8) else self.number(0.9, 2.0)

    def restitution(self) -> float:
        """Return 0 (often) to .9."""
        return 0.0 if self.chance(0.45) else self.number(0.1, 0.9)


def rounded(value: float, digits: int = 3) -> float:
    """Return a number with this many digits, 0 without a sign."""
    return float(f"{value:.{digits}g}") + 0.0


def form(pen: Pen, kind: str, scale: float = 1.0) -> ShapeSpec:
    """Return a shape of a kind; its size is about `scale` sizes of the scene."""
    size = pen.size * scale
    d = pen.d

    def part(low: float, high: float) -> float:
        return rounded(size * float(pen.random.uniform(low, high)))

    def points() -> list[list[float]]:
        u = pen.random.normal(size=(int(pen.random.integers(d + 3, 11)), d))
        u = u / np.linalg.norm(u, axis=1, keepdims=True) * pen.random.uniform(0.7, 1.0, size=(len(u), 1))
        return [[rounded(size * float(x)) for x in row] for row in u]

    match kind:
        case "Sphere" | "Circle":
            return shape(kind, radius=part(0.5, 1.0))
        case "Ellipsoid" | "Ellipse":
            return shape(kind, axes=[part(0.4, 1.0) for _ in range(d)])
        case "Superellipsoid":
            e = [pen.number(1.5, 3.0) for _ in range(2)]
            return shape(kind, axes=[part(0.5, 1.0) for _ in range(3)], exponents=e, rounding=part(0.08, 0.2))
        case "Box":
            return shape(kind, half=[part(0.3, 1.0) for _ in range(d)])
        case "RoundedBox":
            return shape(kind, half=[part(0.2, 0.8) for _ in range(d)], radius=part(0.05, 0.2))
        case "Capsule":
            return shape(kind, radius=part(0.2, 0.5), length=part(0.5, 1.5))
        case "Cylinder":
            return shape(kind, radius=part(0.3, 1.0), length=part(0.5, 2.0))
        case "Disc":
            return shape(kind, radius=part(0.5, 1.0), rounding=part(0.05, 0.2) if pen.chance(0.5) else 0.0)
        case "Polytope":
            return shape(kind, vertices=points())
        case "RoundedPolytope":
            return shape(kind, vertices=points(), radius=part(0.05, 0.2))
        case "Torus":
            return shape(kind, major=part(0.6, 0.9), minor=part(0.1, 0.3))
        case _:
            return shape(
                kind, radius=part(0.6, 1.0), cos=[0.0, pen.number(0.0, 0.12)], sin=[0.0, 0.0, pen.number(0, 0.05)]
            )


def body(pen: Pen, name: str, kinds: tuple[str, ...]) -> BodySpec:
    """Return a free body of one to three shapes, at the origin and at rest."""
    kind = str(pen.pick(kinds))
    mass = rounded(float(10.0 ** pen.random.uniform(-0.5, 0.7)) * (pen.size / 0.1) ** 3)
    zero = (0.0,) * pen.d
    if kind == "Dumbbell" or (kind not in ("Torus",) and pen.chance(0.15)):
        return compound(pen, name, mass, kinds)
    made = form(pen, kind)
    center = zero
    if pen.chance(0.15):
        center = tuple(rounded(0.2 * made.body().inner * float(v)) for v in pen.random.uniform(-1, 1, pen.d))
    return BodySpec(name, mass, moments(pen, mass, made.body().surface), center, (Part(name, made, zero),))


def started(pen: Pen, one: BodySpec, side: float, height: float = 0.0, aim: float = 0.0) -> BodySpec:
    """Return a body at `side` sizes along x over the floor, thrown, mostly with a spin."""
    reach = one.size + float(np.linalg.norm(one.center))
    up = rounded(reach * 1.01 + pen.size * (height + float(pen.random.exponential(0.7))))
    place = [rounded(pen.size * side), *(pen.length(-0.3, 0.3) for _ in range(pen.d - 2)), up]
    fast = float(pen.pick((0.0, 0.5, 1.0)))
    velocity = list(pen.vector(0.7 * fast * pen.speed))
    velocity[0] = rounded(velocity[0] + aim * fast * pen.speed)
    spin = pen.spin(float(pen.pick((0.0, 0.3, 1.5))))
    return replace(one, position=(*place, *pen.turned()), rate=(*spin, *velocity))


def compound(pen: Pen, name: str, mass: float, kinds: tuple[str, ...]) -> BodySpec:
    """Return a body of two or three shapes side by side: dumbbells, mostly."""
    ball = "Circle" if pen.d == 2 else "Sphere"
    count = 3 if pen.chance(0.2) else 2
    parts, surface = [], []
    for k in range(count):
        plain = tuple(kind for kind in kinds if kind not in ("Dumbbell", "Torus")) or (ball,)
        made = form(pen, ball if pen.chance(0.7) else str(pen.pick(plain)), 0.5)
        at = [0.0] * pen.d
        angle = 2 * np.pi * k / count
        at[0], at[-1] = (rounded(pen.size * 0.7 * round(float(f(angle)), 6)) for f in (np.cos, np.sin))
        parts.append(Part(name if k == 0 else f"{name}s{k}", made, tuple(at)))
        surface.append(made.body().surface + at)
    return BodySpec(name, mass, moments(pen, mass, np.vstack(surface)), (0.0,) * pen.d, tuple(parts))


def moments(pen: Pen, mass: float, surface: Array) -> tuple[float, ...]:
    """Return principal moments about as of an even mass within these points; possible ones."""
    spread = mass * 0.6 * np.mean((surface - surface.mean(axis=0)) ** 2, axis=0) * pen.number(0.8, 1.2)
    spread = np.maximum(spread, 0.05 * np.max(spread))
    if pen.d == 2:
        return (rounded(float(spread.sum())),)
    return tuple(rounded(float(spread.sum() - s), 6) for s in spread)


def base(pen: Pen, kind: str, duration: float) -> Spec:
    """Return a scene without bodies: gravity, friction, restitution, a flat, for `duration` falls of its size."""
    tilt = pen.number(0.0, 0.5) if pen.chance(0.3) else 0.0
    down = -GRAVITY * np.cos(tilt)
    gravity = (rounded(GRAVITY * np.sin(tilt), 6), *(0.0,) * (pen.d - 2), rounded(float(down), 6))
    time = rounded(duration * float(np.sqrt(pen.size / GRAVITY)), 2)
    ground = shape("Plane" if pen.d == 3 else "Line")
    lever = pen.length(0.01, 0.1) if pen.chance(0.1) else 0.0
    mu = pen.friction()
    return Spec(kind, pen.d, gravity, time, (), ground, mu, pen.restitution(), lever if mu else 0.0, size=pen.size)


def at_start(spec: Spec) -> Motion:
    """Return the start as the judge's arrays: joints are at zero."""
    poses: list[tuple[Array, Array]] = []
    frames: dict[str, tuple[Array, Array]] = {}
    for one in spec.bodies:
        if one.joint != "free":
            R, origin = frames[one.parent] if one.parent else (np.eye(spec.d), np.zeros(spec.d))
            frames[one.name] = R, origin + R @ np.array(one.at)
            poses.append((R, frames[one.name][1] + R @ np.array(one.center)))
            continue
        turned = one.position[spec.d :]
        if spec.d == 2:
            R = turn_of(2, tuple(turned))
        else:
            R = np.asarray(Rotation.from_quat(turned, scalar_first=True).as_matrix())
        frames[one.name] = R, np.array(one.position[: spec.d])
        poses.append((R, frames[one.name][1] + (R @ np.array(one.center) if spec.hand is None else 0.0)))
    R, p = np.array([r for r, _ in poses])[None], np.array([x for _, x in poses])[None]
    zero = np.zeros((1, len(poses), 1 if spec.d == 2 else 3))
    hand = {}
    if spec.hand is not None:
        hand = {"ground_R": turn_of(spec.d, spec.hand.rpy)[None], "ground_p": np.array(spec.hand.position)[None]}
    return Motion(np.zeros(1), p, R, np.zeros_like(p), zero, **hand)


def least_gap(spec: Spec) -> float:
    """Return the least whole-shape gap at the start, m, of free bodies."""
    state = State(scene_of(spec), at_start(spec))
    return min((float(m.gaps.gap[0]) for m in state.meetings), default=1.0)
