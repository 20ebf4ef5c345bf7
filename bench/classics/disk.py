"""Euler's disk: spinning in place at a tilt, down to a thousandth of a radian."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench.classics.classic import Answer, Classic, Quantity, pair_samples
from bench.classics.scene import GRAVITY, Body, Geom, Scene, part, rotation

RADIUS, MASS = 0.0375, 0.44  # m, kg of the toy
ACROSS, ALONG = 0.25 * MASS * RADIUS**2, 0.5 * MASS * RADIUS**2
TILTS = (1.0, 0.1, 0.01, 0.002, 0.001)  # rad
RESISTING, AIR = 1e-4, 1.78e-5  # m, Pa s
SCENE_TILT, FLAT = 0.1, 1e-3  # rad; at the second trundle takes it as lying flat
ENDS = f"flat after, rolling friction {RESISTING:g} m"


def steady_rate(tilt: float) -> float:
    """Return the rate (rad/s) at which the contact runs round, the centre at rest: W^2 = 4 g / (r sin(tilt))."""
    return float(np.sqrt(4 * GRAVITY / (RADIUS * np.sin(tilt))))


def end_times(tilt: float = SCENE_TILT) -> dict[str, float]:
    """Return when a disk is flat, s, under three laws of dissipation; its energy at small tilts a is 3/2 m g r a.

    Rolling friction, a moment mu_r N against the rolling at W a: a^(1/2) falls evenly; the time is until `FLAT`.
    Contour friction, a force mu_c N / r against the contact that runs round at r W (Leine): a^(3/2) does. Air between
    disk and table (Moffatt), power pi eta g r^2 / a^2: a^3 does.
    """
    r, g = RADIUS, GRAVITY
    return {
        ENDS: 1.5 * r**1.5 * (np.sqrt(tilt) - np.sqrt(FLAT)) / (RESISTING * np.sqrt(g)),
        f"flat after, contour friction {RESISTING:g} m": r**1.5 * tilt**1.5 / (2 * RESISTING * np.sqrt(g)),
        "flat after, air alone": tilt**3 * MASS / (2 * np.pi * AIR * r),
    }


def start(tilt: float) -> tuple[tuple[float, ...], np.ndarray]:
    """Return the quaternion of a disk that leans about x, and its angular velocity along the radius to the contact."""
    w = steady_rate(tilt) * np.sin(tilt) * np.array([0.0, np.cos(tilt), np.sin(tilt)])
    return (float(np.cos(tilt / 2)), float(np.sin(tilt / 2)), 0.0, 0.0), w


def name(tilt: float) -> str:
    """Return what the quantity of a tilt is called."""
    return f"rate at {tilt:g} rad"


def quantities() -> tuple[Quantity, ...]:
    """Return the steady rates, how far the centre wanders, and the end with rolling friction."""
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
    body = tr.RigidBody(tr.Disc(RADIUS, flat=FLAT), MASS, moments)
    pair = tr.RollingPair(body, tr.Ground(tr.Plane()), friction=5.0, rolling_friction=RESISTING, on_slip="slide")
    q, w = start(SCENE_TILT)
    end = tr.simulate(pair, pair.place(object_quaternion=q, object_angular_velocity=w), 1.1 * end_times()[ENDS])
    values[ENDS] = float(end.transitions[-1]["time"])
    seconds += float(end.metadata["wall_time"]["simulate"])
    notes.append(f"with rolling friction: {end.status.label}; contour friction and air are no laws of contacts")
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
