"""A ball runs over a crest, leaves the track and flies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from bench.classics.classic import Answer, Classic, Quantity, timed
from bench.classics.scene import GRAVITY, Body, Geom, Scene, part

RADIUS, MASS, K = 0.03, 0.2, 0.4  # m, kg, moment of inertia over m r^2
AMPLITUDE, LENGTH = 0.1, 1.0  # m: the track is z = A sin(2 pi x / L)
BEGIN, SPEED = 0.1, 1.9  # m of the contact, m/s of the centre at the start
TIMES = np.linspace(0, 0.18, 91)
WAVE = 2 * np.pi / LENGTH


def track(x: float) -> tuple[float, float, float]:
    """Return height, slope and second derivative of the track."""
    s, c = np.sin(WAVE * x), np.cos(WAVE * x)
    return AMPLITUDE * s, AMPLITUDE * WAVE * c, -AMPLITUDE * WAVE**2 * s


def center(x: float) -> np.ndarray:
    """Return the centre (2,) of the ball that touches at x."""
    z, slope, _ = track(x)
    return np.array([x, z]) + RADIUS * np.array([-slope, 1.0]) / np.hypot(1, slope)


def speed(x: float) -> float:
    """Return the centre's speed from the energy (1 + k) m v^2 / 2 + m g z."""
    return float(np.sqrt(SPEED**2 - 2 * GRAVITY * (center(x)[1] - center(BEGIN)[1]) / (1 + K)))


def normal_force(x: float) -> float:
    """Return the normal force over the mass: g cos(slope) + v^2 times the curvature of the centre's path."""
    _, slope, bend = track(x)
    curvature = bend / (1 + slope**2) ** 1.5
    return float(GRAVITY / np.hypot(1, slope) + speed(x) ** 2 * curvature / (1 - RADIUS * curvature))


def leaving() -> tuple[float, float]:
    """Return where (m, of the contact) and when (s) the ball leaves."""
    x = float(brentq(normal_force, BEGIN, 0.25 * LENGTH, xtol=1e-15))

    def slowness(x: float) -> float:
        _, slope, bend = track(x)
        curvature = bend / (1 + slope**2) ** 1.5
        return float(np.hypot(1, slope) * (1 - RADIUS * curvature) / speed(x))

    return x, float(quad(slowness, BEGIN, x, epsabs=1e-14, epsrel=1e-14)[0])


def landing() -> np.ndarray:
    """Return the centre (2,) in flight at the last time."""
    x, when = leaving()
    _, slope, _ = track(x)
    v = speed(x) * np.array([1.0, slope]) / np.hypot(1, slope)
    t = TIMES[-1] - when
    return center(x) + v * t - 0.5 * GRAVITY * t * t * np.array([0, 1])


def quantities() -> tuple[Quantity, ...]:
    """Return time and place of leaving and the place in flight."""
    x, when = leaving()
    last = landing()
    return (
        Quantity("leaves at x", x, "m"),
        Quantity("leaves after", when, "s"),
        Quantity("x at 0.18 s, in flight", float(last[0]), "m"),
        Quantity("z at 0.18 s, in flight", float(last[1]), "m", AMPLITUDE),
    )


def scene() -> Scene:
    """Return a ball on boxes whose upper faces are chords of the track, 2 mm long."""
    knots = np.linspace(-0.1, 1.1, 601)
    heights = np.array([track(x)[0] for x in knots])
    boxes = []
    for x, z, dx, dz in zip(knots[:-1], heights[:-1], np.diff(knots), np.diff(heights), strict=True):
        length, angle = np.hypot(dx, dz), np.arctan2(dz, dx)
        at = (x + dx / 2 + 0.05 * dz / length, 0.0, z + dz / 2 - 0.05 * dx / length)
        turn = (float(np.cos(angle / 2)), 0.0, float(-np.sin(angle / 2)), 0.0)
        boxes.append(Geom("box", (length / 2, 0.1, 0.05), at, turn))
    x, z = center(BEGIN)
    _, slope, _ = track(BEGIN)
    v = SPEED * np.array([1.0, 0.0, slope]) / np.hypot(1, slope)
    ball = (Geom("sphere", (RADIUS,)),)
    spin = (0.0, SPEED / RADIUS, 0.0)
    body = Body("ball", MASS, (K * MASS * RADIUS**2,) * 3, (x, 0, z), ball, spin=spin, velocity=tuple(v))
    return Scene((body,), TIMES, tuple(boxes), friction=5.0)


def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the place in flight."""
    x, _, z = part(samples, "position")[-1]
    return {"x at 0.18 s, in flight": float(x), "z at 0.18 s, in flight": float(z)}


def _trundle() -> Answer:
    import trundle as tr

    body = tr.RigidBody(tr.Circle(RADIUS), MASS, K * MASS * RADIUS**2)
    ground = tr.Ground(tr.Sinusoid(amplitude=AMPLITUDE, wavelength=LENGTH))
    pair = tr.RollingPair(body, ground, friction=5.0, on_separation="fly", on_slip="ignore")
    run = tr.simulate(pair, pair.place(contact_x=BEGIN, angular_velocity=-SPEED / RADIUS), TIMES[-1])
    left = next(t for t in run.transitions if t["to"] == "separated")
    at = int(np.searchsorted(run.time, left["time"] * (1 - 1e-12)))
    x, z = np.asarray(run["body_position"])[-1, 0]
    values = {
        "x at 0.18 s, in flight": float(x),
        "z at 0.18 s, in flight": float(z),
        "leaves after": float(left["time"]),
    }
    values["leaves at x"] = float(np.asarray(run["contact_position"])[at, 0, 0])
    note = f"{run.status.label}: before it leaves, rolling asks for more than friction gives"
    return Answer(values, timed(run), note)


CLASSIC = Classic(
    name="roller-coaster",
    title="Roller coaster",
    text="A ball rolls at 1.9 m/s up a sinusoid and leaves it before the crest, where the track bends away faster than "
    "the ball falls. Friction cannot hold the last of it; it is taken to roll to the end. In the other engines the "
    "track is chords of 2 mm.",
    source="energy of rolling and the centre's path, a parallel curve of the track; time by quadrature",
    quantities=quantities,
    trundle=_trundle,
    scene=scene,
    measure=measure,
)
