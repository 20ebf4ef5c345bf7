"""A thin disc that rolls upright: above a speed its lean oscillates, below it grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.classics.classic import Answer, Classic, Quantity, pair_samples, timed
from bench.classics.scene import GRAVITY, Body, Geom, Scene, part, rotation

RADIUS, MASS = 0.1, 0.5
A, C = 0.25 * MASS * RADIUS**2, 0.5 * MASS * RADIUS**2
CRITICAL = np.sqrt(GRAVITY * RADIUS / 3)  # m/s
SPEED, KICK = 1.5 * CRITICAL, 1e-2  # m/s, rad/s of lean
UPRIGHT = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # the axis z of the disc along -y


def squared_rate(speed: float) -> float:
    """Return lambda^2 (1/s^2) of the lean: (m g r - C (C + m r^2) w^2 / A) / (A + m r^2), w = speed / r."""
    w, m, r = speed / RADIUS, MASS, RADIUS
    return (m * GRAVITY * r - C * (C + m * r * r) * w * w / A) / (A + m * r * r)


def quantities() -> tuple[Quantity, ...]:
    """Return critical speed, growth below it and rate of the wobble above it."""
    return (
        Quantity("critical speed", float(CRITICAL), "m/s"),
        Quantity("growth at half of it", float(np.sqrt(squared_rate(0.5 * CRITICAL))), "1/s"),
        Quantity("wobble at 1.5 of it", float(np.sqrt(-squared_rate(SPEED))), "rad/s"),
    )


def scene() -> Scene:
    """Return the disc at `SPEED` along x with a small rate of lean."""
    spin = (KICK, SPEED / RADIUS, 0.0)
    velocity = tuple(np.cross(spin, (0, 0, RADIUS)))
    disc = Geom("disc", (RADIUS,))
    body = Body("coin", MASS, (A, A, C), (0, 0, RADIUS), (disc,), None, UPRIGHT, spin, velocity)
    return Scene((body,), np.linspace(0, 2, 81))


def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the rate of the lean x from x(t + h) + x(t - h) = 2 cos(rate h) x(t), least squares."""
    lean = rotation(part(samples, "quaternion"))[:, 2, 2]
    cosine = np.dot(lean[1:-1], lean[2:] + lean[:-2]) / (2 * np.dot(lean[1:-1], lean[1:-1]))
    return {"wobble at 1.5 of it": float(np.arccos(np.clip(cosine, -1, 1)) / scene.spacing)}


def _pair(speed: float, kick: float = 0.0) -> tuple[Any, Any]:
    import trundle as tr

    body = tr.RigidBody(tr.Disc(RADIUS), MASS, [A, A, C])
    pair = tr.RollingPair(body, tr.Ground(tr.Plane()))
    return pair, pair.place(object_quaternion=UPRIGHT, object_angular_velocity=[kick, speed / RADIUS, 0.0])


def linearised(speed: float) -> float:
    """Return lambda^2 (1/s^2) of trundle's linearised disc, the eigenvalue that is not zero.

    The disc turns: seen from axes that turn with it about its own axis, which it does not feel, the motion is steady.
    """
    import casadi as ca

    import trundle as tr

    pair, start = _pair(speed)
    model = pair.model(start.atlas)
    drift, _ = tr.control_affine(model.dynamics(pair.system.start_laws))
    J = np.asarray(ca.Function("A", [model.x], [ca.jacobian(drift, model.x)])(start.x))
    turning = np.zeros_like(J)  # q' = q * (0, 0, 0, -w) / 2
    q = model.layout["object.orientation"]
    turning[q, q] = -0.5 * speed / RADIUS * np.array([[0, 0, 0, -1], [0, 0, 1, 0], [0, -1, 0, 0], [1, 0, 0, 0]])
    values = np.linalg.eigvals(J - turning)
    return float((values[np.argmax(abs(values))] ** 2).real)


def _trundle() -> Answer:
    import trundle as tr

    slow, fast = linearised(0.5 * CRITICAL), linearised(SPEED)
    share = slow / (slow - fast)  # lambda^2 is linear in the square of the speed
    critical = CRITICAL * np.sqrt(0.25 + share * (2.25 - 0.25))
    pair, start = _pair(SPEED, KICK)
    times = scene().times
    run = tr.simulate(pair, start, times[-1], output_step=times[1])
    values = {"critical speed": float(critical), "growth at half of it": float(np.sqrt(slow))}
    return Answer(values | dict(measure(scene(), pair_samples(run))), timed(run), run.status.label)


CLASSIC = Classic(
    name="coin",
    title="Rolling coin",
    text="A uniform thin disc rolls upright; v^2 > g r / 3 keeps it up.",
    source="Routh, Advanced Rigid Dynamics (1905); Neimark and Fufaev, Dynamics of Nonholonomic Systems (1972)",
    quantities=quantities,
    trundle=_trundle,
    scene=scene,
    measure=measure,
)
