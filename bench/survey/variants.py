"""What a run may not depend on: one such change is drawn for each scene, and both runs are compared.

A motion may be chaotic: a third run, whose start is moved by 1e-12, says how far two right runs can be apart. They are
compared while a multiple of that spread is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.survey.described import motion_of
from bench.survey.shapes import LEVEL, plain, shape
from bench.survey.spec import Between, BodySpec, HandSpec, Part, Spec
from tests.oracles.laws import Motion

Array = NDArray[np.float64]

EQUAL = 1e-5
"""In sizes: runs that are right differ by less, where nothing is sensitive."""

SPREAD = 1e5
"""Of the difference that a start moved by 1e-12 makes: integrators are true to 1e-11, and err differently."""

LOST = 1e-2
"""In sizes: where this spread is reached nothing can be compared any more."""


@dataclass(frozen=True)
class Change:
    """A scene that is another only in words, and how its motion is brought back: x -> Q x/l, t -> t/time."""

    spec: Spec
    Q: Array
    length: float = 1.0
    time: float = 1.0


def same(spec: Spec, changed: Spec) -> Change:
    """Return a change that leaves the motion as it is."""
    return Change(changed, np.eye(spec.d))


def bodies_order(spec: Spec, random: np.random.Generator) -> Change | None:
    """Bodies are made in another order, children after their parents."""
    if len(spec.bodies) < 2:
        return None
    left, done = [spec.bodies[i] for i in random.permutation(len(spec.bodies))], []
    while left:
        one = next(b for b in left if b.parent is None or b.parent in {d.name for d in done})
        left.remove(one)
        done.append(one)
    if tuple(done) == spec.bodies:
        done = (
            sorted(done, key=lambda b: -len([1 for d in spec.bodies if d.name < b.name]))
            if all(b.parent is None for b in done)
            else done
        )
    return same(spec, replace(spec, bodies=tuple(done)))


def names_order(spec: Spec, random: np.random.Generator) -> Change | None:
    """`contact(b, a)` in place of `contact(a, b)`."""
    if not spec.pairs:
        return None
    turned = tuple(Between(p.B, p.A, p.friction, p.restitution) for p in spec.pairs)
    return same(spec, replace(spec, pairs=turned))


def contacts_order(spec: Spec, random: np.random.Generator) -> Change | None:
    """Contacts, and shapes of a body after its first, in the other order."""
    if len(spec.pairs) < 2 and all(len(b.parts) < 3 for b in spec.bodies):
        return None
    bodies = tuple(replace(b, parts=(*b.parts[:1], *reversed(b.parts[1:]))) for b in spec.bodies)
    return same(spec, replace(spec, bodies=bodies, pairs=tuple(reversed(spec.pairs))))


def far_body(spec: Spec, random: np.random.Generator) -> Change | None:
    """A ball far away bounces and rolls; beside a robot that is described, which is one tree, there can be none."""
    described = any(part.shape.kind == "Sole" for part in spec.parts.values())
    if described or spec.hand is not None or spec.ground is None or spec.ground.kind not in LEVEL:
        return None
    radius = round(0.7 * spec.size, 6)
    far = 300.0 * spec.size
    mass = spec.bodies[0].mass
    inertia = (0.4 * mass * radius**2,) * (3 if spec.d == 3 else 1)
    place = (far, *(0.0,) * (spec.d - 2), radius + float(random.uniform(0.05, 2.0)) * spec.size)
    turned = (1.0, 0.0, 0.0, 0.0) if spec.d == 3 else (0.0,)
    form = shape("Sphere" if spec.d == 3 else "Circle", radius=radius)
    speed = float(np.sqrt(9.81 * spec.size))
    rate = (*(0.0,) * (3 if spec.d == 3 else 1), 0.3 * speed, *(0.0,) * (spec.d - 1))
    ball = BodySpec("far", mass, inertia, (0.0,) * spec.d, (Part("far", form, (0.0,) * spec.d),),
                    position=(*place, *turned), rate=rate)  # fmt: skip
    return same(spec, replace(spec, bodies=(*spec.bodies, ball)))


def output_step(spec: Spec, random: np.random.Generator) -> Change | None:
    """Five times fewer samples."""
    return same(spec, replace(spec, output_step=spec.duration / 100))


def duration(spec: Spec, random: np.random.Generator) -> Change | None:
    """Three fifths of the duration, the same samples."""
    return same(spec, replace(spec, duration=0.6 * spec.duration, output_step=spec.duration / 500))


def has_own_speed(spec: Spec) -> bool:
    """Return whether a scene has a speed of its own: that over which friction of soft contacts turns."""
    return spec.touch.soft


def scale(spec: Spec, random: np.random.Generator) -> Change | None:
    """Another size at the same gravity: lengths by l, times by sqrt(l), masses by l^3."""
    if has_own_speed(spec):
        return None
    length = float(2.0 ** random.integers(-6, 7))
    return scaled(spec, length, float(np.sqrt(length)), length**3)


def units(spec: Spec, random: np.random.Generator) -> Change | None:
    """Millimetres, grams and milliseconds."""
    if has_own_speed(spec):
        return None
    return scaled(spec, 1e3, 1e3, 1e3)


def scaled(spec: Spec, l: float, t: float, m: float) -> Change:  # noqa: E741
    """Return the scene in other units: lengths by l, times by t, masses by m."""
    d, k = spec.d, 1 if spec.d == 2 else 3
    v, w = l / t, 1 / t

    def body(b: BodySpec) -> BodySpec:
        hinge = b.joint == "revolute"
        push = m * l**2 / t**2 if hinge else m * l / t**2
        way = 1.0 if hinge else l
        if b.joint == "free":
            position = (*times(b.position[:d], l), *b.position[d:])
            rate = (*times(b.rate[:k], w), *times(b.rate[k:], v))
        else:
            position, rate = times(b.position, way), times(b.rate, way / t)
        parts = tuple(replace(p, shape=p.shape.scaled(l), at=times(p.at, l)) for p in b.parts)
        low, high = (None if e is None else e * way for e in (b.low, b.high))
        drive = tuple(v * f for v, f in zip(b.drive, (push * t / way, way / t, push), strict=True)) if b.drive else ()
        return replace(
            b, mass=b.mass * m, inertia=times(b.inertia, m * l * l), center=times(b.center, l), parts=parts,
            at=times(b.at, l), input=b.input * push, low=low, high=high, position=position, rate=rate,
            stiffness=b.stiffness * push / way, rest=b.rest * way, damping=b.damping * push * t / way, dry=b.dry * push,
            drive=drive,
        )  # fmt: skip

    force = m * l / t**2
    touch = replace(
        spec.touch, adhesion=spec.touch.adhesion * force, drilling=spec.touch.drilling * l,
        stiffness=spec.touch.stiffness * force / l**1.5, dissipation=spec.touch.dissipation / v,
    )  # fmt: skip
    pins = tuple(replace(p, at_A=times(p.at_A, l), at_B=times(p.at_B, l)) for p in spec.pins)
    way = {b.name: l if b.joint == "prismatic" else 1.0 for b in spec.bodies}
    gears = tuple(replace(g, ratio=g.ratio * way[g.follower] / way[g.leader]) for g in spec.gears)
    hand = spec.hand
    if hand is not None:
        twist = (*times(hand.twist[:k], w), *times(hand.twist[k:], v))
        swing = (*times(hand.amplitude[:k], w / t), *times(hand.amplitude[k:], v / t))
        hand = HandSpec(times(hand.position, l), hand.rpy, twist, swing, times(hand.frequency, w))
    step = None if spec.output_step is None else spec.output_step * t
    changed = replace(
        spec, gravity=times(spec.gravity, l / t**2), duration=spec.duration * t, output_step=step, size=spec.size * l,
        bodies=tuple(body(b) for b in spec.bodies), ground=None if spec.ground is None else spec.ground.scaled(l),
        lever=spec.lever * l, bounce_speed=spec.bounce_speed * v, hand=hand, touch=touch, pins=pins,
        gears=gears, period=spec.period * t,
        slips=tuple((name, times(slip, v)) for name, slip in spec.slips),
    )  # fmt: skip
    return Change(changed, np.eye(d), l, t)


def times(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
    """Return numbers times a factor."""
    return tuple(v * factor for v in values)


def mirror(spec: Spec, random: np.random.Generator) -> Change | None:
    """The scene in a mirror: y -> -y, in the plane x -> -x."""
    d = spec.d
    S = np.array([1.0, -1.0, 1.0] if d == 3 else [-1.0, 1.0])
    spin = -S if d == 3 else np.array([-1.0])
    k = len(spin)

    def by(values: tuple[float, ...], signs: Array) -> tuple[float, ...]:
        return tuple(float(v * s) + 0.0 for v, s in zip(values, signs, strict=True)) if values else values

    def body(b: BodySpec) -> BodySpec:
        parts = tuple(
            replace(p, shape=p.shape.mirrored(d), at=by(p.at, S), rpy=by(p.rpy, spin) if p.rpy else ()) for p in b.parts
        )
        changed = replace(b, center=by(b.center, S), at=by(b.at, S), parts=parts)
        if b.joint == "free":
            turned = by(b.position[d:], np.array([1.0, *spin]) if d == 3 else spin)
            return replace(changed, position=(*by(b.position[:d], S), *turned),
                           rate=(*by(b.rate[:k], spin), *by(b.rate[k:], S)))  # fmt: skip
        if b.joint == "prismatic" or d == 3:
            return replace(changed, axis=by(b.axis, S if b.joint == "prismatic" else spin))
        ends = (None if b.high is None else -b.high, None if b.low is None else -b.low)
        drive = (b.drive[0], -b.drive[1], b.drive[2]) if b.drive else ()
        return replace(changed, input=-b.input, low=ends[0], high=ends[1], position=by(b.position, spin),
                       rate=by(b.rate, spin), rest=-b.rest, drive=drive)  # fmt: skip

    sign = {b.name: -1.0 if b.joint == "revolute" and d == 2 else 1.0 for b in spec.bodies}
    hand = spec.hand
    if hand is not None:
        both = np.concatenate([spin, S])
        amplitude = by(hand.amplitude, both) if hand.amplitude else ()
        hand = HandSpec(by(hand.position, S), by(hand.rpy, spin), by(hand.twist, both), amplitude, hand.frequency)
    slip = S if d == 3 else np.array([-1.0])
    ground = None if spec.ground is None else spec.ground.mirrored(d)
    changed = replace(
        spec, gravity=by(spec.gravity, S), bodies=tuple(body(b) for b in spec.bodies), ground=ground, hand=hand,
        slips=tuple((name, by(s, slip)) for name, s in spec.slips),
        pins=tuple(replace(p, at_A=by(p.at_A, S), at_B=by(p.at_B, S)) for p in spec.pins),
        gears=tuple(replace(g, ratio=g.ratio * sign[g.follower] * sign[g.leader]) for g in spec.gears),
    )  # fmt: skip
    return Change(changed, np.diag(S))


def turn(spec: Spec, random: np.random.Generator) -> Change | None:
    """Turned about the vertical of a ground that is round about it; what hangs on the world keeps the world's axes."""
    hung = any(b.parent is None and b.joint != "free" for b in spec.bodies)
    if hung or spec.d == 2 or spec.hand is not None or (spec.ground is not None and not spec.ground.round_about_z):
        return None
    angle = float(random.uniform(0.3, 6.0))
    c, s = np.cos(angle), np.sin(angle)
    Q = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def by(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(plain(Q @ np.array(values))) if values else values

    def body(b: BodySpec) -> BodySpec:
        if b.joint != "free":
            return b
        w, x, y, z = b.position[3:]
        h, g = float(np.cos(angle / 2)), float(np.sin(angle / 2))
        turned = (h * w - g * z, h * x - g * y, h * y + g * x, h * z + g * w)
        return replace(b, position=(*by(b.position[:3]), *turned), rate=(*by(b.rate[:3]), *by(b.rate[3:])))

    changed = replace(
        spec, gravity=by(spec.gravity), bodies=tuple(body(b) for b in spec.bodies),
        slips=tuple((name, by(slip)) for name, slip in spec.slips),
        pins=tuple(replace(p, at_B=by(p.at_B)) if p.B is None else p for p in spec.pins),
    )  # fmt: skip
    return Change(changed, Q)


WAYS: dict[str, Callable[[Spec, np.random.Generator], Change | None]] = {
    "order of bodies": bodies_order,
    "order of names": names_order,
    "order of contacts": contacts_order,
    "far body": far_body,
    "mirror": mirror,
    "turn": turn,
    "scale": scale,
    "units": units,
    "output_step": output_step,
    "duration": duration,
}


def compared_ways() -> tuple[str, ...]:
    """Return the names of the changes."""
    return tuple(WAYS)


def drawn_change(spec: Spec, seed: int, number: int, wanted: str | None) -> tuple[str, Change]:
    """Return the one change of a scene: drawn by its seed and number, or `wanted`."""
    random = np.random.default_rng([seed, number, 1_000_003])
    for name in [wanted] if wanted else [tuple(WAYS)[i] for i in random.permutation(len(WAYS))]:
        change = WAYS[name](spec, random)
        if change is not None:
            return name, change
    return "duration", same(spec, replace(spec, duration=0.6 * spec.duration, output_step=spec.duration / 500))


def nudged(spec: Spec) -> Spec:
    """Return the scene with free bodies moved by 1e-12 sizes and speeds."""
    random = np.random.default_rng(0)
    fast = 1e-12 * float(np.sqrt(9.81 * spec.size))
    on_floor = {name for name, _ in spec.slips} | set(spec.closed)

    def body(b: BodySpec) -> BodySpec:
        if b.joint != "free":
            return b
        offset = 1e-12 * spec.size * random.normal(size=spec.d)
        if any(p.name in on_floor for p in b.parts):
            offset[-1] = 0.0
        place = tuple(float(x + e) for x, e in zip(b.position[: spec.d], offset, strict=True))
        rate = b.rate
        if rate and not any(p.name in on_floor for p in b.parts):
            k = len(rate) - spec.d
            rate = (*rate[:k], *(float(v + fast * random.normal()) for v in rate[k:]))
        return replace(b, position=(*place, *b.position[spec.d :]), rate=rate)

    return replace(spec, bodies=tuple(body(b) for b in spec.bodies))


def compare(
    spec: Spec, base: Any, seed: int, number: int, simulate: Callable[[Spec], Any], wanted: str | None = None
) -> tuple[str, str]:
    """Return which change of a scene, whose run is `base`, was compared; and in words how they differ, or nothing."""
    name, change = drawn_change(spec, seed, number, wanted or None)
    first = motion_of(spec, base)
    try:
        run = simulate(change.spec)
    except Exception as error:
        return name, f"{name}: the changed scene is refused: {type(error).__name__}: {str(error)[:200]}"
    near = motion_of(spec, simulate(nudged(spec)))
    other = motion_of(change.spec, run)
    other = brought_back(spec, change, other)
    rows, others, nears = common_times(first.time, other.time, near.time, spec.duration)
    apart = distance(spec, first, rows, other, others)
    spread = np.maximum.accumulate(distance(spec, first, rows, near, nears))
    allowed = EQUAL * spec.size + SPREAD * spread
    told = allowed < LOST * spec.size
    bad = told & (apart > allowed)
    if bad.any():
        k = int(np.argmax(bad))
        worst = float(np.max(np.where(told, apart, 0.0)))
        text = f"{name}: positions differ by {apart[k]:.3g} m at {first.time[rows[k]]:.6g} s (allowed {allowed[k]:.2g})"
        return name, f"{text}, up to {worst:.3g} m; statuses {base.status.label}, {run.status.label}"
    if run.status.label != base.status.label and told.all():
        return name, f"{name}: statuses {base.status.label}, {run.status.label}"
    return name, ""


def brought_back(spec: Spec, change: Change, motion: Motion) -> Motion:
    """Return positions and rotations of the changed run in the scene's own terms, bodies in its order."""
    names = [b.name for b in change.spec.bodies]
    order = [names.index(b.name) for b in spec.bodies]
    position = motion.position[:, order] @ change.Q / change.length
    R = motion.R[:, order]
    R = change.Q.T @ R
    if np.linalg.det(change.Q) < 0:  # bodies are mirrored in their own axes, too
        R = R @ change.Q
    return replace(motion, time=motion.time / change.time, position=position, R=R)


def common_times(first: Array, other: Array, near: Array, whole: float) -> tuple[Array, Array, Array]:
    """Return the rows of samples that three runs share, those of events left out."""
    keys = [np.round(t / whole * 1e7).astype(np.int64) for t in (first, other, near)]
    common = np.intersect1d(np.intersect1d(keys[0], keys[1]), keys[2])
    return tuple(np.array([int(np.searchsorted(k, c)) for c in common], dtype=np.intp) for k in keys)  # type: ignore[return-value]


def distance(spec: Spec, one: Motion, rows: Array, other: Motion, others: Array) -> Array:
    """Return how far bodies of two runs are apart (n,), m: places, and turns times the size."""
    place = np.linalg.norm(one.position[rows] - other.position[others], axis=2)
    turned = np.linalg.norm(one.R[rows] - other.R[others], axis=(2, 3)) / np.sqrt(2.0)
    return np.max(place + spec.size * turned, axis=1)
