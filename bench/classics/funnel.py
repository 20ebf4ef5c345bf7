"""A ball rolls inside a cone: it circles and bobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench.classics import oracles
from bench.classics.classic import Answer, Classic, Quantity, pair_samples, timed
from bench.classics.scene import GRAVITY, Body, Geom, Scene, part

SLOPE, RADIUS, MASS, CIRCLE = np.radians(30), 0.02, 0.1, 0.3  # rad, m, kg, m of the steady circle of the centre
FASTER, TIMES = 1.2, np.linspace(0, 5, 501)
PANELS = 360  # flat ones that make the cone of the other engines
S, C = np.sin(SLOPE), np.cos(SLOPE)


def steady_rate(circle: float = CIRCLE, k: float = 0.4) -> float:
    """Return the rate (rad/s) of a circle without spin about the normal: sqrt(g tan(slope) / ((1 + k) circle))."""
    return float(np.sqrt(GRAVITY * np.tan(SLOPE) / ((1 + k) * circle)))


def start(faster: float = FASTER) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return centre, angular velocity and velocity of a ball that begins along y, `faster` than the steady circle."""
    n = np.array([-S, 0.0, C])
    center = np.array([CIRCLE, 0.0, np.tan(SLOPE) * CIRCLE + RADIUS / C])
    v = np.array([0.0, faster * CIRCLE * steady_rate(), 0.0])
    return center, np.cross(n, v) / RADIUS, v


def normal(c: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cone's normal at the contact of a ball at c, and its rate."""
    rho = np.hypot(c[0], c[1])
    out = np.array([c[0], c[1], 0.0]) / rho
    around = np.array([-out[1], out[0], 0.0])
    return C * oracles.Z - S * out, -S * around * (v @ around) / rho


def path(times: np.ndarray = TIMES) -> np.ndarray:
    """Return the exact path (n, 3) of the centre."""
    center, w, _ = start()
    return oracles.ball_inside(normal, RADIUS, center, w, times)[:, :3]


def found(path: np.ndarray) -> dict[str, float]:
    """Return the quantities of a path of the centre."""
    return {
        "angle turned": float(np.ptp(np.unwrap(np.arctan2(path[:, 1], path[:, 0])))),
        "height of the bobbing": float(np.ptp(path[:, 2])),
        "place after 5 s": float(path[-1, 0]),
    }


def quantities() -> tuple[Quantity, ...]:
    """Return angle turned and height in five seconds, and the last x."""
    exact, units = found(path()), ("rad", "m", "m")
    return tuple(
        Quantity(name, value, unit, CIRCLE if name.startswith("place") else None)
        for (name, value), unit in zip(exact.items(), units, strict=True)
    )


def scene() -> Scene:
    """Return the ball inside flat panels that touch the cone."""
    center, w, v = start()
    body = Body("ball", MASS, (0.4 * MASS * RADIUS**2,) * 3, tuple(center), (Geom("sphere", (RADIUS,)),), None)
    body = Body(body.name, MASS, body.inertia, body.position, body.geoms, spin=tuple(w), velocity=tuple(v))
    panels = []
    for angle in 2 * np.pi * np.arange(PANELS) / PANELS:
        # turned by -SLOPE about y (x goes uphill), then about z
        a, b = angle / 2, -SLOPE / 2
        q = (np.cos(a) * np.cos(b), -np.sin(a) * np.sin(b), np.cos(a) * np.sin(b), np.sin(a) * np.cos(b))
        out = 0.4 * C + 0.05 * S
        at = (out * np.cos(angle), out * np.sin(angle), 0.4 * S - 0.05 * C)
        panels.append(Geom("box", (0.4, 0.008, 0.05), at, q))
    return Scene((body,), TIMES, tuple(panels))


def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the quantities of any engine's samples."""
    return found(part(samples, "position"))


def _trundle() -> Answer:
    import casadi as ca

    import trundle as tr

    cone = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - np.tan(SLOPE) * ca.sqrt(x**2 + y**2), size=1.0)
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(RADIUS), MASS), tr.Hand(cone))
    center, w, _ = start()
    where = center - RADIUS * np.array([-S, 0.0, C])
    run = tr.simulate(
        pair, pair.place(contact_on_hand=where, object_angular_velocity=w), TIMES[-1], output_step=TIMES[1]
    )
    return Answer(found(part(pair_samples(run), "position")), timed(run), run.status.label)


CLASSIC = Classic(
    name="funnel",
    title="Ball in a funnel",
    text="A solid ball rolls inside a cone of 30 degrees, 20 % faster than on the steady circle of 0.3 m. In the other "
    f"engines the cone is {PANELS} flat panels.",
    source="Routh, Advanced Rigid Dynamics (1905); its equations integrated at 1e-13",
    quantities=quantities,
    trundle=_trundle,
    scene=scene,
    measure=measure,
)
