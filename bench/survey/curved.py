"""Curved ground: waves, dishes, hills, quadrics, height maps, and the hands of that shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.survey.draw import PLANE, SIMPLE, SPACE, Pen, base, body, rounded
from bench.survey.shapes import ShapeSpec, shape
from bench.survey.spec import BodySpec, Spec

SPACE_GROUNDS = ("Waves", "Waves", "Dish", "Sphere", "Ellipsoid", "Quadric", "HeightMap", "Spheroid", "Tube")
PLANE_GROUNDS = ("Sinusoid", "Sinusoid", "Parabola")


def over_curved(pen: Pen, count: int) -> Spec:
    """Return one or two bodies over curved ground; two have nothing to do with each other."""
    spec = base(pen, "ground", 8.0)
    ground = curved_ground(pen)
    straight = (*(0.0,) * (pen.d - 1), -9.81) if ground.kind != "Tube" else (-9.81, 0.0, 0.0)
    bodies = [_thrown(pen, ground, f"b{i}") for i in range(min(count, 2))]
    return replace(spec, ground=ground, gravity=straight, bodies=tuple(bodies))


def curved_ground(pen: Pen) -> ShapeSpec:
    """Return curved ground, some sizes wide and gentle."""
    kind = str(pen.pick(PLANE_GROUNDS if pen.d == 2 else SPACE_GROUNDS))
    wide = pen.length(4.0, 20.0)
    match kind:
        case "Waves" | "Sinusoid":
            return shape(
                kind, amplitude=rounded(wide * pen.number(0.01, 0.08)), wavelength=wide, phase=pen.number(0, 6)
            )
        case "Dish":
            round_ = [wide] * 3 if pen.chance(0.5) else [wide, wide, rounded(0.7 * wide)]
            return shape(kind, axes=round_)
        case "Tube":
            return shape(kind, radius=wide)
        case "Sphere":
            return shape(kind, radius=wide)
        case "Ellipsoid":
            return shape(kind, axes=[wide, rounded(wide * pen.number(0.6, 1.0)), rounded(wide * pen.number(0.4, 1.0))])
        case "Spheroid":
            return shape(kind, across=wide, up=rounded(wide * pen.number(0.4, 1.0)))
        case "Quadric":
            a, b = (rounded(pen.number(0.0, 0.5) / wide) for _ in range(2))
            return shape(kind, a=a, b=b, size=wide)
        case "HeightMap":
            x = [rounded(wide * float(v)) for v in np.linspace(-2, 2, 9)]
            z = wide * 0.03 * pen.random.normal(size=(9, 9))
            return shape(kind, x=x, y=x, z=[[rounded(float(v)) for v in row] for row in z])
        case _:
            return shape(kind, curvature=rounded(pen.number(-0.2, 0.5) / wide))


def height(ground: ShapeSpec, x: float, y: float) -> float:
    """Return the height of the ground (m) over a place."""
    n = dict(ground.numbers)
    match ground.kind:
        case "Plane" | "Line":
            return 0.0
        case "Sphere" | "Ellipsoid" | "Spheroid" | "Dish":
            axes = n.get("axes") or ([n["across"], n["across"], n["up"]] if "up" in n else [n["radius"]] * 3)
            rise = axes[2] * float(np.sqrt(max(1.0 - (x / axes[0]) ** 2 - (y / axes[1]) ** 2, 0.0)))
            return -rise if ground.kind == "Dish" else rise
        case _:
            known = ground.ground()
            place = np.array([[x, 0.0]] if ground.kind in ("Sinusoid", "Parabola") else [[x, y, 0.0]])
            value = known.level
            if value is None:
                raise ValueError(f"{ground.kind} has no height")
            return -float(value[0](place)[0])


def _thrown(pen: Pen, ground: ShapeSpec, name: str) -> BodySpec:
    kinds = SIMPLE[pen.d] if pen.chance(0.4) else PLANE if pen.d == 2 else tuple(k for k in SPACE if k != "Torus")
    return thrown(pen, ground, body(pen, name, kinds))


def thrown(pen: Pen, ground: ShapeSpec, one: BodySpec) -> BodySpec:
    """Return a body over the ground, near its middle, thrown, mostly with a spin."""
    x, y = pen.length(-1.5, 1.5), pen.length(-1.5, 1.5)
    reach = one.size + float(np.linalg.norm(one.center))
    if ground.kind == "Tube":  # its axis is z: from inside against the wall
        place = [rounded(0.3 * x), rounded(0.3 * y), 0.0]
    else:
        over = reach * 1.15 + pen.size * float(pen.random.exponential(0.5))
        place = [x, *([y] if pen.d == 3 else []), rounded(height(ground, x, y) + over, 6)]
    fast = float(pen.pick((0.0, 0.3, 1.0)))
    spin = pen.spin(float(pen.pick((0.0, 0.3, 1.0))))
    return replace(one, position=(*place, *pen.turned(0.3)), rate=(*spin, *pen.vector(0.5 * fast * pen.speed)))


def on_hand_shape(pen: Pen, spec: Spec) -> Spec:
    """Return a scene whose hand is flat, or curved, with its body thrown over it."""
    ground = spec.ground if pen.chance(0.5) else curved_ground(pen)
    if ground is None or ground.kind == "Tube":
        return spec
    return replace(spec, ground=ground, bodies=(thrown(pen, ground, spec.bodies[0]),))
