"""Euler's disk: spinning in place at a tilt, down to a thousandth of a radian."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.classics.classic import Answer, Classic, Quantity, pair_samples
from bench.classics.scene import GRAVITY, Body, Geom, Scene, part, rotation

RADIUS, MASS = 0.0375, 0.44  # m, kg of the toy
ACROSS, ALONG = 0.25 * MASS * RADIUS**2, 0.5 * MASS * RADIUS**2
TILTS = (1.0, 0.1, 0.01, 0.002, 0.001)  # rad
RESISTING, RUNNING, AIR = 1e-4, 1e-5, 1.78e-5  # m, of rolling friction; m, of contour friction; Pa s
SCENE_TILT, FLAT = 0.1, 1e-3  # rad; at the second trundle takes it as lying flat
STILL = 1e-3  # rad/s, far below any rate of the disk
AIR_TILT, AIR_FLAT = 0.03, 5e-3  # rad, where the disk that air alone slows starts and ends
ROLLING = f"flat after, rolling friction {RESISTING:g} m"
CONTOUR = f"flat after, contour friction {RUNNING:g} m"
IN_AIR = f"flat after, air from {AIR_TILT:g} rad"


def steady_rate(tilt: float) -> float:
    """Return the rate (rad/s) at which the contact runs round, the centre at rest: W^2 = 4 g / (r sin(tilt))."""
    return float(np.sqrt(4 * GRAVITY / (RADIUS * np.sin(tilt))))


def end_times() -> dict[str, float]:
    """Return how long a disk takes to be flat, s, under three laws of dissipation.

    Its energy at small tilts a is 3/2 m g r a; flat is a = `FLAT`. Rolling friction, a moment mu_r N against the
    rolling at W a: a^(1/2) falls evenly. Contour friction, a force mu_c N / r against the contact that runs round at
    r W (Leine): a^(3/2) does. Air between disk and table (Moffatt), power pi eta g r^2 / a^2: a^3 does, at the rate
    k = 2 pi eta r / m; flat is `AIR_FLAT`, before it would leave the table at a^5 = 2 k^2 r / (9 g), 2.4 mrad, where
    the centre would have to fall faster than a free one.
    """
    r, g = RADIUS, GRAVITY
    return {
        ROLLING: 1.5 * r**1.5 * (np.sqrt(SCENE_TILT) - np.sqrt(FLAT)) / (RESISTING * np.sqrt(g)),
        CONTOUR: r**1.5 * (SCENE_TILT**1.5 - FLAT**1.5) / (2 * RUNNING * np.sqrt(g)),
        IN_AIR: (AIR_TILT**3 - AIR_FLAT**3) * MASS / (2 * np.pi * AIR * r),
    }


def torque(law: str, t: Any, states: Any) -> tuple[np.ndarray, Any]:
    """Return no force, and the torque of a `Force` against the disk's rotation w that takes a law's power away.

    In steady motion |w| is W sin(a), and N m g.
    """
    disk = states["object"]
    w, axis = disk.angular_velocity, disk.rotation[:, 2]
    sine = (axis[0] ** 2 + axis[1] ** 2 + FLAT**4) ** 0.5
    speed = (w[0] ** 2 + w[1] ** 2 + w[2] ** 2 + STILL**2) ** 0.5
    power = {
        CONTOUR: RUNNING * MASS * GRAVITY * speed / sine,
        IN_AIR: np.pi * AIR * GRAVITY * RADIUS**2 / sine**2,
    }[law]
    return np.zeros(3), -power * w / speed**2


def start(tilt: float) -> tuple[tuple[float, ...], np.ndarray]:
    """Return the quaternion of a disk that leans about x, and its angular velocity along the radius to the contact."""
    w = steady_rate(tilt) * np.sin(tilt) * np.array([0.0, np.cos(tilt), np.sin(tilt)])
    return (float(np.cos(tilt / 2)), float(np.sin(tilt / 2)), 0.0, 0.0), w


def name(tilt: float) -> str:
    """Return what the quantity of a tilt is called."""
    return f"rate at {tilt:g} rad"


def quantities() -> tuple[Quantity, ...]:
    """Return the steady rates, how far the centre wanders, and the ends."""
    return (
        *(Quantity(name(tilt), steady_rate(tilt), "rad/s") for tilt in TILTS),
        Quantity("centre wanders", 0.0, "m", RADIUS),
        *(Quantity(name, float(value), "s") for name, value in end_times().items()),
    )


def times(tilt: float) -> np.ndarray:
    """Return the times of twenty turns."""
    return np.linspace(0, 20 * 2 * np.pi / steady_rate(tilt), 401)


def scene() -> Scene:
    """Return the disk at 0.1 rad."""
    q, w = start(SCENE_TILT)
    disc = (Geom("disc", (RADIUS,)),)
    centre = (0.0, 0.0, RADIUS * np.sin(SCENE_TILT))
    body = Body("disk", MASS, (ACROSS, ACROSS, ALONG), centre, disc, quaternion=q, spin=tuple(w))
    return Scene((body,), times(SCENE_TILT), friction=5.0)


def rate(times: np.ndarray, samples: np.ndarray) -> float:
    """Return the rate at which the lowest point of the rim runs round, as seen from the centre."""
    axis = rotation(part(samples, "quaternion"))[:, :2, 2]
    angle = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    return float(abs(angle[-1] - angle[0]) / times[-1])


def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the rate and how far the centre wandered at 0.1 rad."""
    away = np.linalg.norm(part(samples, "position") - part(samples, "position")[0], axis=1)
    return {name(SCENE_TILT): rate(scene.times, samples), "centre wanders": float(away.max())}


def _trundle() -> Answer:
    import trundle as tr

    moments = [ACROSS, ACROSS, ALONG]
    body = tr.RigidBody(tr.Disc(RADIUS, flat=1e-4), MASS, moments)
    pair = tr.RollingPair(body, tr.Ground(tr.Plane()), friction=5.0)
    values, notes, seconds = {}, [], 0.0
    for tilt in TILTS:
        q, w = start(tilt)
        begin = pair.place(object_quaternion=q, object_angular_velocity=w)
        run = tr.simulate(pair, begin, times(tilt)[-1], output_step=times(tilt)[1])
        samples = pair_samples(run)
        if tilt == SCENE_TILT:
            values |= measure(scene(), samples)
        if run.status.label == "success":
            values[name(tilt)] = rate(run.time, samples)
        seconds += float(run.metadata["wall_time"]["simulate"])
        notes.append(f"{tilt:g} rad: {run.status.label}")
    for law, end in end_times().items():
        tilt, flat = (AIR_TILT, AIR_FLAT) if law == IN_AIR else (SCENE_TILT, FLAT)
        body = tr.RigidBody(tr.Disc(RADIUS, flat=flat), MASS, moments)
        how: dict[str, Any] = {"rolling_friction": RESISTING}
        if law != ROLLING:
            how = {"forces": [tr.Force("object", partial(torque, law))]}
        pair = tr.RollingPair(body, tr.Ground(tr.Plane()), friction=5.0, on_slip="slide", **how)
        q, w = start(tilt)
        run = tr.simulate(pair, pair.place(object_quaternion=q, object_angular_velocity=w), 1.1 * end)
        values[law] = float(run.transitions[0]["time"])
        seconds += float(run.metadata["wall_time"]["simulate"])
        notes.append(f"{law}: {run.status.label}")
    return Answer(values, seconds, "; ".join(notes))


CLASSIC = Classic(
    name="euler-disk",
    title="Euler's disk",
    text="A thin disc of 37.5 mm spins in place; its contact runs round at sqrt(4 g / (r sin tilt)). With "
    "dissipation it is flat after a finite time. The other engines run the tilt of 0.1 rad.",
    source="Moffatt, Nature 404 (2000) 833; Leine, Arch. Appl. Mech. 79 (2009) 1063 (dissipation laws)",
    quantities=quantities,
    trundle=_trundle,
    scene=scene,
    measure=measure,
)
