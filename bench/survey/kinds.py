"""The kinds of scenes: drops, pairs, planar, trees, curved ground, hands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bench.survey.curved import on_hand_shape, over_curved
from bench.survey.draw import GRAVITY, PLANE, SIMPLE, SPACE, Pen, base, body, least_gap, rounded, started
from bench.survey.linked import driven, loops, soles
from bench.survey.spec import Between, HandSpec, Spec
from bench.survey.touches import greased, soft, sticky
from bench.survey.trees import tree


def drops(pen: Pen, count: int, kinds: tuple[str, ...] = ()) -> Spec:
    """Balls, dumbbells and boxes, or bodies of `kinds`, fall on a floor; they have nothing to do with each other."""
    spec = base(pen, "drops", 10.0)
    bodies = []
    for i in range(count):
        one = body(pen, f"b{i}", kinds or (SIMPLE[pen.d] if pen.chance(0.7) else PLANE if pen.d == 2 else SPACE))
        bodies.append(started(pen, one, 3.0 * i))
    return on_the_floor(pen, replace(spec, bodies=tuple(bodies)))


def pairs(pen: Pen, count: int, kinds: tuple[str, ...] = ()) -> Spec:
    """Bodies that may touch each other, some or of `kinds`, near each other, mostly over a floor."""
    spec = base(pen, "pairs", 8.0)
    every = PLANE if pen.d == 2 else tuple(k for k in SPACE if k != "Torus")
    kinds = kinds or (tuple(k for k in SIMPLE[pen.d] if k != "Dumbbell") if pen.chance(0.6) else every)
    bodies = []
    for i in range(max(count, 2)):
        one = body(pen, f"b{i}", kinds)
        side = i if pen.chance(0.5) else 0.3 * i
        one = started(pen, one, 2.2 * side, height=2.2 * (i - side), aim=-1.0 if i else 0.0)
        bodies.append(one)
    mu, e = pen.friction(), pen.restitution()
    shapes = [[p.name for p in one.parts] for one in bodies]
    touching = tuple(
        Between(*((a, b) if pen.chance(0.5) else (b, a)), mu, e)
        for i in range(len(bodies))
        for j in range(i)
        for a in shapes[i]
        for b in shapes[j]
    )
    spec = replace(spec, bodies=tuple(bodies), pairs=touching)
    if pen.chance(0.15):
        spec = replace(spec, ground=None, gravity=(0.0,) * pen.d)
    return on_the_floor(pen, spec) if spec.ground is not None else spec


def on_the_floor(pen: Pen, spec: Spec) -> Spec:
    """Return the scene with some of its balls on the floor at the start, rolling or sliding."""
    bodies, closed, slips = list(spec.bodies), [], []
    for i, one in enumerate(bodies):
        part = one.parts[0]
        round_ = len(one.parts) == 1 and part.shape.kind in ("Sphere", "Circle") and not any(one.center)
        if not round_ or not pen.chance(0.35):
            continue
        radius = dict(part.shape.numbers)["radius"]
        place = (*one.position[: spec.d - 1], radius, *one.position[spec.d :])
        turning, velocity = list(one.rate[: -spec.d]), [*one.rate[-spec.d :][:-1], 0.0]
        if spec.d == 3:
            slip = (velocity[0] - turning[1] * radius, velocity[1] + turning[0] * radius, 0.0)
        else:
            slip = (velocity[0] + turning[0] * radius,)
        bodies[i] = replace(one, position=place, rate=(*turning, *velocity))
        closed.append(part.name)
        slips.append((part.name, slip))
    return replace(spec, bodies=tuple(bodies), closed=tuple(closed), slips=tuple(slips))


def ground(pen: Pen, count: int) -> Spec:
    """Bodies fall on curved ground."""
    return over_curved(pen, count)


def hands(pen: Pen, count: int) -> Spec:
    """One body over a hand that moves."""
    spec = base(pen, "hands", 8.0)
    one = started(pen, body(pen, "b0", PLANE if pen.d == 2 else tuple(k for k in SPACE if k != "Torus")), 0.0)
    one = replace(one, parts=one.parts[:1])
    one = replace(one, parts=(replace(one.parts[0], at=(0.0,) * pen.d),))
    k = 1 if pen.d == 2 else 3
    spread = [0.5 * pen.speed / pen.size] * k + [0.3 * pen.speed] * pen.d
    shares = zip(spread, pen.random.normal(size=k + pen.d), strict=True)
    twist = tuple(rounded(float(s * v)) if pen.chance(0.5) else 0.0 for s, v in shares)
    amplitude: tuple[float, ...] = ()
    frequency: tuple[float, ...] = ()
    if pen.chance(0.3):
        rate = pen.speed / pen.size
        swing = [0.2 * GRAVITY / pen.size] * k + [0.2 * GRAVITY] * pen.d
        shares = zip(swing, pen.random.normal(size=k + pen.d), strict=True)
        amplitude = tuple(rounded(float(s * v)) for s, v in shares)
        frequency = tuple(rounded(float(rate * pen.random.uniform(0.1, 0.5))) for _ in range(k + pen.d))
    hand = HandSpec((0.0,) * pen.d, (0.0,) * k, twist, amplitude, frequency)
    return on_hand_shape(pen, replace(spec, bodies=(one,), hand=hand, gravity=base_gravity(pen)))


def base_gravity(pen: Pen) -> tuple[float, ...]:
    """Return gravity straight down."""
    return (*(0.0,) * (pen.d - 1), -GRAVITY)


def trees(pen: Pen, count: int) -> Spec:
    """Bodies with hinges and slides, motors and stops, over a floor."""
    return tree(pen, base(pen, "trees", 8.0), count)


KINDS: dict[str, tuple[Callable[[Pen, int], Spec], tuple[int, ...]]] = {
    "drops": (drops, (3,)),
    "pairs": (pairs, (3,)),
    "planar": (lambda pen, count: replace((drops if pen.chance(0.5) else pairs)(pen, count), kind="planar"), (2,)),
    "trees": (trees, (2, 3)),
    "ground": (ground, (2, 3, 3)),
    "hands": (hands, (2, 3, 3)),
    "sticky": (sticky, (2, 3, 3)),
    "soft": (soft, (2, 3, 3)),
    "greased": (greased, (2, 3, 3)),
    "loops": (loops, (2, 3)),
    "driven": (driven, (2, 3)),
    "soles": (soles, (3,)),
}
"""How a kind is drawn, and in which dimensions."""


def drawn(kind: str, seed: int, number: int, most: int = 4, least: int = 1) -> tuple[Spec, int]:
    """Return scene `number` of a kind and how many draws before it were left out: shapes overlapped at the start."""
    make, dimensions = KINDS[kind]
    return drawn_apart(make, dimensions, (seed, number, list(KINDS).index(kind)), most, least)


def drawn_apart(
    make: Callable[[Pen, int], Spec],
    dimensions: tuple[int, ...],
    key: tuple[int, int, int],
    most: int,
    least: int,
    size: float | None = None,
) -> tuple[Spec, int]:
    """Return the first scene of `key` (seed, number, kind) whose shapes are apart, and how many draws were not.

    Of a `size`, m, which is drawn unless it is given.
    """
    for attempt in range(200):
        random = np.random.default_rng([*key, attempt])
        d = int(dimensions[int(random.integers(len(dimensions)))])
        any_size = 0.1 if random.random() < 0.5 else rounded(10.0 ** float(random.uniform(-3, 1)), 2)
        pen = Pen(random, d, any_size if size is None else size)
        spec = make(pen, int(random.integers(least, most + 1)))
        if least_gap(spec) > (-1e-9 if spec.closed else 1e-4) * pen.size:
            return spec, attempt
    raise ValueError(f"scene {key[1]} of seed {key[0]}: every draw overlaps")
