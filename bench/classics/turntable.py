"""A ball on a turntable runs on circles at 2/7 of its rate: the case of `bench.reference`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench.classics.classic import Answer, Classic, Quantity, timed
from bench.classics.scene import Body, Geom, Joint, Scene, part
from bench.reference import BallCase

CASE = BallCase()


def quantities() -> tuple[Quantity, ...]:
    """Return rate and radius of the circle, and the distance from the exact place after ten seconds."""
    return (
        Quantity("rate", CASE.circle_rate, "rad/s"),
        Quantity("radius", CASE.circle_radius, "m"),
        Quantity("place after 10 s", 0.0, "m", CASE.circle_radius),
    )


def scene() -> Scene:
    """Return ball and plate, whose inertia the ball does not feel."""
    plate = Geom("box", (2.0, 2.0, 0.1))
    hinge = Joint(None, "hinge", (0.0, 0.0, 1.0), rate=CASE.plate_rate)
    inertia = (CASE.inertia,) * 3
    bodies = (
        Body("plate", 300.0, (400, 400, 800), (0, 0, -0.1), (plate,), hinge),
        Body(
            "ball",
            CASE.mass,
            inertia,
            (0, 0, CASE.radius),
            (Geom("sphere", (CASE.radius,)),),
            spin=CASE.ball_rate,
            velocity=tuple(CASE.start_velocity),
        ),
    )
    return Scene(bodies, np.linspace(0, 10, 1001), (), bodies_touch=True)


def found(times: np.ndarray, path: np.ndarray) -> dict[str, float]:
    """Return the quantities of a path (n, 2), m, of the ball's centre or contact."""
    away = path - CASE.circle_centre
    angle = np.unwrap(np.arctan2(away[:, 1], away[:, 0]))
    turned = CASE.circle_rate * times[-1]
    c, s = np.cos(turned), np.sin(turned)
    last = CASE.circle_centre + np.array([[c, -s], [s, c]]) @ -CASE.circle_centre
    return {
        "rate": float((angle[-1] - angle[0]) / times[-1]),
        "radius": float(np.linalg.norm(away[-1])),
        "place after 10 s": float(np.linalg.norm(path[-1] - last)),
    }


def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the quantities of any engine's samples."""
    return found(scene.times, part(samples, "position", 1)[:, :2])


def _trundle() -> Answer:
    import trundle as tr

    body = tr.RigidBody(tr.Sphere(CASE.radius), CASE.mass)
    pair = tr.RollingPair(body, tr.Hand(tr.Plane(), twist=[0, 0, CASE.plate_rate, 0, 0, 0]))
    run = tr.simulate(pair, pair.place(object_angular_velocity=CASE.ball_rate), CASE.duration)
    return Answer(found(run.time, np.asarray(run["object_position"])[:, :2]), timed(run), run.status.label)


CLASSIC = Classic(
    name="turntable",
    title="Ball on a turntable",
    text="A solid ball rolls on a plate that spins: circles at two sevenths of the plate's rate.",
    source="Earnshaw, Dynamics (1844); Weltner, Am. J. Phys. 47 (1979) 984",
    quantities=quantities,
    trundle=_trundle,
    scene=scene,
    measure=measure,
)
