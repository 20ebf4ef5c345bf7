"""Painleve's rod, the bouncing ball and Newton's cradle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.classics import oracles
from bench.classics.classic import Answer, Classic, Quantity, timed
from bench.classics.scene import GRAVITY, Body, Geom, Scene, part, rotation

# Painleve's rod: uniform, its tip a small circle about the rod's end, which slides towards -x

HALF, TIP, MASS = 0.5, 1e-3, 1.0  # m half length, m radius of the tip, kg
INERTIA = MASS * HALF**2 / 3
STEEP, SLIP, FRICTION = float(np.arctan(2.0)), -4.0, 1.0  # rad above the ground, m/s, below the critical friction
ROD_TIMES = np.linspace(0, 0.2, 101)


def push(angle: float, rate: float, friction: float) -> float:
    """Return the normal force (N) while the tip slides towards -x: its denominator vanishes at the paradox.

    N (1/m + l c (l c - mu (l s + r)) / I) = g - l s w^2 for the tip's centre to keep its height.
    """
    c, s = HALF * np.cos(angle), HALF * np.sin(angle)
    return float((GRAVITY - s * rate**2) / (1 / MASS + c * (c - friction * (s + TIP)) / INERTIA))


def critical_friction(angle: float = STEEP) -> float:
    """Return the friction at which the denominator vanishes; 4/3 at tan(angle) = 2 for a sharp tip."""
    c, s = HALF * np.cos(angle), HALF * np.sin(angle)
    return float((INERTIA / MASS + c * c) / (c * (s + TIP)))


def rod_motion() -> np.ndarray:
    """Return angle, rate and the centre of mass's velocity along x (n, 3) of the sliding rod."""

    def rate(y: np.ndarray) -> np.ndarray:
        N = push(y[0], y[1], FRICTION)
        moment = N * (-HALF * np.cos(y[0]) + FRICTION * (HALF * np.sin(y[0]) + TIP))
        return np.array([y[1], moment / INERTIA, FRICTION * N / MASS])

    return oracles.integrate(rate, np.array([STEEP, 0.0, SLIP]), ROD_TIMES)


def rod_quantities() -> tuple[Quantity, ...]:
    """Return critical friction and normal force at tan(angle) = 2 and the sliding motion."""
    last = rod_motion()[-1]
    return (
        Quantity("critical friction", critical_friction(), ""),
        Quantity("normal force at the start", push(STEEP, 0.0, FRICTION), "N"),
        Quantity("angle at 0.2 s", float(last[0]), "rad"),
        Quantity("speed at 0.2 s", float(last[2]), "m/s"),
    )


def rod_scene() -> Scene:
    """Return the rod with a sphere at its end, in the x-z plane."""
    half = -STEEP / 2
    centre = (HALF * np.cos(STEEP), 0.0, HALF * np.sin(STEEP) + TIP)
    q = (float(np.cos(half)), 0.0, float(np.sin(half)), 0.0)
    tip = (Geom("sphere", (TIP,), (-HALF, 0.0, 0.0)),)
    body = Body("rod", MASS, (1e-4, INERTIA, INERTIA), centre, tip, quaternion=q, velocity=(SLIP, 0, 0))
    return Scene((body,), ROD_TIMES, friction=FRICTION)


def rod_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return angle and speed at the end."""
    along = rotation(part(samples, "quaternion"))[-1, :, 0]
    return {
        "angle at 0.2 s": float(np.arctan2(along[2], along[0])),
        "speed at 0.2 s": float(part(samples, "velocity")[-1, 0]),
    }


def _slide(friction: float, duration: float) -> Any:
    import trundle as tr

    body = tr.RigidBody(tr.Circle(TIP), MASS, INERTIA, (HALF, 0.0))
    pair = tr.RollingPair(body, tr.Ground(tr.Line()), friction=friction, on_slip="slide", on_separation="fly")
    return tr.simulate(pair, pair.place(angle=STEEP, slip=SLIP), duration)


def _rod() -> Answer:
    run = _slide(FRICTION, ROD_TIMES[-1])
    force = [float(np.asarray(_slide(mu, 1e-3)["contact_force"])[0, 0, 1]) for mu in (0.5, FRICTION)]
    values = {
        "critical friction": 0.5 + (FRICTION - 0.5) / (1 - force[0] / force[1]),  # 1/N is linear in the friction
        "normal force at the start": force[1],
        "angle at 0.2 s": float(run["body_angle"][-1, 0]),
        "speed at 0.2 s": float(run["body_velocity"][-1, 0, 0]),
    }
    paradox = _slide(1.5, 0.01)
    words = ", ".join(f"{t['to']} ({t.get('reason', '')})" for t in paradox.transitions) or "no transition"
    note = f"{run.status.label}; at friction 1.5, inside the paradox: {paradox.status.label}, {words}"
    return Answer(values, timed(run), note)


# The bouncing ball

HEIGHT, BOUNCE, RADIUS = 1.0, 0.8, 0.05  # m of fall, coefficient of restitution, m
BALL_TIMES = np.linspace(0, 5, 1001)


def ball_quantities() -> tuple[Quantity, ...]:
    """Return two heights and the time at which infinitely many bounces are over: sqrt(2 h / g) (1 + e) / (1 - e)."""
    e = BOUNCE
    return (
        Quantity("first height", HEIGHT * e**2, "m"),
        Quantity("third height", HEIGHT * e**6, "m"),
        Quantity("at rest after", float(np.sqrt(2 * HEIGHT / GRAVITY) * (1 + e) / (1 - e)), "s"),
    )


def ball_scene() -> Scene:
    """Return the ball in the air."""
    body = Body("ball", 1.0, (1e-3,) * 3, (0, 0, HEIGHT + RADIUS), (Geom("sphere", (RADIUS,)),))
    return Scene((body,), BALL_TIMES, restitution=BOUNCE)


def ball_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the heights of the tops of bounces, parabolas through three samples, and the last time off the ground."""
    z = part(samples, "position")[:, 2] - RADIUS
    tops = [i for i in range(1, len(z) - 1) if z[i - 1] <= z[i] > z[i + 1] and z[i] > 1e-3]
    heights = [z[i] + (z[i + 1] - z[i - 1]) ** 2 / (8 * (2 * z[i] - z[i - 1] - z[i + 1])) for i in tops]
    moving = np.flatnonzero(abs(part(samples, "velocity")[:, 2]) > 1e-2)
    ends = scene.times[moving[-1]] if moving[-1] + 1 < len(z) else float("nan")
    heights += [float("nan")] * 3
    return {"first height": float(heights[0]), "third height": float(heights[2]), "at rest after": float(ends)}


def _ball() -> Answer:
    import trundle as tr

    body, ground = tr.RigidBody(tr.Sphere(RADIUS), 1.0), tr.Ground(tr.Plane())
    pair = tr.RollingPair(body, ground, restitution=BOUNCE, bounce_speed=1e-5, on_separation="fly")
    start = pair.place(object_position=[0, 0, HEIGHT + RADIUS], object_velocity=[0, 0, 0])
    run = tr.simulate(pair, start, BALL_TIMES[-1], output_step=BALL_TIMES[1])
    from bench.classics.classic import pair_samples

    samples = pair_samples(run)[np.searchsorted(run.time, BALL_TIMES * (1 - 1e-12))]
    values = {**ball_measure(ball_scene(), samples), "at rest after": float(run.transitions[-1]["time"])}
    return Answer(values, timed(run), f"{run.status.label}, {len(run.transitions)} impacts")


# Newton's cradle, as five balls in a row without gravity

BALLS, HIT = 5, 1.0  # m/s of the first
CRADLE_TIMES = np.linspace(0, 0.2, 101)


def cradle_quantities() -> tuple[Quantity, ...]:
    """Return the speeds after elastic impacts one after the other; all at once, Newton's law gives others."""
    return (
        Quantity("last ball", HIT, "m/s"),
        Quantity("first ball", 0.0, "m/s", HIT),
        Quantity("fourth ball", 0.0, "m/s", HIT),
    )


def at_once(masses: np.ndarray, velocities: np.ndarray) -> np.ndarray:
    """Return the velocities after one impact of touching balls in a row, all contacts reversed at once (Moreau).

    v+ = 2 p - v-, p the nearest velocities (in the metric of the masses) at which no contact closes.
    """
    from scipy.optimize import nnls

    D = np.diff(np.eye(len(masses)), axis=0)  # gap rates
    root = np.sqrt(masses)
    impulses, _ = nnls((D / root).T, -root * velocities)
    return velocities + 2 * D.T @ impulses / masses


def cradle_scene() -> Scene:
    """Return the balls; the first is 20 mm away and moves."""
    ball = (Geom("sphere", (RADIUS,)),)
    bodies = []
    for i in range(BALLS):
        x = 2 * RADIUS * i - (0.02 if i == 0 else 0.0)
        bodies.append(Body(f"ball{i}", 1.0, (1e-3,) * 3, (x, 0, 0), ball, velocity=(HIT if i == 0 else 0.0, 0, 0)))
    return Scene(tuple(bodies), CRADLE_TIMES, (), 0.0, 1.0, (0, 0, 0), bodies_touch=True)


def cradle_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the speeds at the end."""
    v = [float(part(samples, "velocity", i)[-1, 0]) for i in range(BALLS)]
    return {"last ball": v[-1], "first ball": v[0], "fourth ball": v[-2]}


def _cradle() -> Answer:
    import trundle as tr

    made = tr.Robot(gravity=(0.0, 0.0, 0.0), on_slip="slide", on_separation="fly")
    for i in range(BALLS):
        made.free(1.0, 1e-3, shape=tr.Sphere(RADIUS), name=f"ball{i}")
        if i:
            made.contact(f"ball{i - 1}", f"ball{i}", friction=0.0, restitution=1.0)
    tree = made.finish()
    places = {f"ball{i}": (2 * RADIUS * i - (0.02 if i == 0 else 0.0), 0.0, 0.0) for i in range(BALLS)}
    run = tr.simulate(tree, tree.place(rates={"ball0": (0, 0, 0, HIT, 0, 0)}, **places), CRADLE_TIMES[-1])
    v = np.asarray(run["body_velocity"])[-1, :, 0]
    return Answer(
        {"last ball": float(v[-1]), "first ball": float(v[0]), "fourth ball": float(v[-2])},
        timed(run),
        f"{run.status.label}; balls that touch at rest are contacts not closed yet: {len(run.transitions)} impacts, "
        "one after the other",
    )


CLASSICS = (
    Classic(
        "painleve-rod",
        "Painleve rod",
        "A uniform rod slides on its rounded tip, pushed against it. Above a friction of about 4/3 there is no finite "
        "force. Below it the sliding motion is compared; in the other engines it runs at friction 1.",
        "Painleve (1895); Genot and Brogliato, Eur. J. Mech. A 18 (1999) 653; sliding integrated at 1e-13",
        rod_quantities,
        _rod,
        rod_scene,
        rod_measure,
    ),
    Classic(
        "bouncing-ball",
        "Bouncing ball",
        "A ball falls 1 m with restitution 0.8: infinitely many bounces in a finite time.",
        "closed form",
        ball_quantities,
        _ball,
        ball_scene,
        ball_measure,
        "MuJoCo has no coefficient of restitution: a contact spring with the damping that gives 0.8; at the "
        "defaults' step it is soft. Drake has none either; its contact is given no dissipation but what its "
        "time step needs.",
    ),
    Classic(
        "cradle",
        "Newton's cradle",
        "The first of five elastic balls in a row hits four that touch. One impact after the other, the last leaves "
        "alone; all at once, the rigid law sends all of them off: a rigid law cannot know which, the shock's speed "
        "decides.",
        "Herrmann and Seitz, Am. J. Phys. 50 (1982) 977; Moreau's law in `bench.classics.impacts.at_once`",
        cradle_quantities,
        _cradle,
        cradle_scene,
        cradle_measure,
        "Elastic contact is a spring in MuJoCo and restitution 1 in PyBullet; Drake's is given no dissipation but what "
        "its time step needs.",
    ),
)
