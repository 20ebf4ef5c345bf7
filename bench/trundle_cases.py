"""trundle on the two cases, through its public verb `simulate` only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from bench.measure import Run, Samples, milliseconds
from bench.reference import GRAVITY, BallCase, EllipseCase

NAME = "trundle"


def version() -> str:
    """Return the version of the library under test."""
    import trundle

    return trundle.__version__


@lru_cache(maxsize=2)
def ball_pair(case: BallCase) -> tuple[Any, Any]:
    """Return the ball on the plate and its start."""
    import trundle as tr

    body = tr.RigidBody(tr.Sphere(radius=case.radius), mass=case.mass, inertia="solid")
    plate = tr.Hand(tr.Plane(), twist=[0, 0, case.plate_rate, 0, 0, 0])
    pair = tr.RollingPair(body, plate, friction=case.friction, gravity=[0, 0, -GRAVITY])
    start = pair.place(
        contact_on_hand=[0, 0, 0], object_quaternion=[1, 0, 0, 0], object_angular_velocity=list(case.ball_rate)
    )
    return pair, start


@lru_cache(maxsize=2)
def ellipse_pair(case: EllipseCase) -> tuple[Any, Any]:
    """Return the ellipse on the sinusoid and its start."""
    import trundle as tr

    body = tr.RigidBody(tr.Ellipse(semi_axes=case.semi_axes), mass=case.mass, inertia=case.inertia)
    ground = tr.Ground(tr.Sinusoid(amplitude=case.amplitude, wavelength=case.wavelength, phase=0.0))
    pair = tr.RollingPair(body, ground, friction=case.friction, gravity=GRAVITY)
    return pair, pair.place(contact_x=case.contact_x, angle=case.angle, angular_velocity=0.0)


def _simulate(case: BallCase | EllipseCase, **options: Any) -> tuple[Any, float, int | None]:
    """Return the trajectory, the stepping time (s) and the steps of a second run (the first one compiles)."""
    import trundle as tr

    pair, start = ball_pair(case) if isinstance(case, BallCase) else ellipse_pair(case)
    first = max(case.output_step, options.get("step", 0.0))  # a step is at most as long as the run
    tr.simulate(pair, start, duration=first, output_step=case.output_step, **options)
    run = tr.simulate(pair, start, duration=case.duration, output_step=case.output_step, **options)
    if run.status.label != "success":
        raise RuntimeError(f"status {run.status.label}")
    steps = run.metadata.get("statistics", {}).get("steps")
    return run, float(run.metadata["wall_time"]["simulate"]), steps


def ball(case: BallCase, **options: Any) -> Samples:
    """Run the ball on the plate; `options` go to `trundle.simulate`."""
    run, wall, steps = _simulate(case, **options)
    return Samples(np.asarray(run["contact_position"])[:, :2], None, wall, steps)


def ellipse(case: EllipseCase, **options: Any) -> Samples:
    """Run the ellipse on the sinusoid; `options` go to `trundle.simulate`."""
    run, wall, steps = _simulate(case, **options)
    return Samples(np.asarray(run["body_position"])[:, 0], np.asarray(run["body_angle"])[:, 0], wall, steps)


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: fixed steps and tolerances."""
    execute, name = (ball, "ball") if isinstance(case, BallCase) else (ellipse, "ellipse")
    steps = (50e-3, 20e-3, 10e-3, 5e-3, 2e-3, 1e-3, 0.5e-3)
    for step in steps if name == "ball" else steps[1:]:  # 50 ms is too long for the ellipse's contact
        yield Run(
            NAME,
            name,
            "rk4, fixed step",
            milliseconds(step),
            partial(execute, case, step=step),
            quick=step in (10e-3, 1e-3),
        )
    for method in ("dopri5", "dop853"):
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
            yield Run(
                NAME,
                name,
                f"{method}, tolerance",
                f"{tolerance:g}",
                partial(execute, case, method=method, relative_tolerance=tolerance),
                quick=method == "dop853" and tolerance in (1e-6, 1e-10),
            )
