"""What one run of one engine is, and how its error is measured: the same for every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np

from bench.reference import BallCase, EllipseCase, ellipse_reference

REPEAT_SECONDS = 0.5
"""A run is timed again until this (s) is used up, at most `REPEATS` times; the best counts."""

REPEATS = 5


@dataclass(frozen=True)
class Samples:
    """What an engine hands back: the body's path on the case's output grid and the time it took to step."""

    position: np.ndarray  # (n, 2): ball centre x, y; ellipse centre x, z (m)
    angle: np.ndarray | None  # (n,) rad counter-clockwise, ellipse only
    wall: float  # s of stepping, model building and first call excluded
    steps: int | None = None


@dataclass(frozen=True)
class Run:
    """One run to do: `execute()` builds the model, steps it and returns its samples."""

    engine: str
    case: str  # "ball" | "ellipse"
    setting: str  # one curve of the plot
    step: str  # the point on the curve: "1 ms" or "1e-10"
    execute: Callable[[], Samples] = field(repr=False)
    quick: bool = False  # part of a quick run, too


@dataclass(frozen=True)
class Point:
    """A measured point; `error` is None where the run failed and `note` says why."""

    engine: str
    case: str
    setting: str
    step: str
    error: float | None
    unit: str
    second: float | None  # ball: distance in time (m); ellipse: angle (rad)
    wall: float | None
    steps: int | None = None
    note: str = ""

    def as_dict(self) -> dict:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)


def milliseconds(step: float) -> str:
    """Return a time step (s) as text in ms."""
    return f"{1e3 * step:g} ms"


def output_grid(case: BallCase | EllipseCase) -> np.ndarray:
    """Return the output times (n,) s of a case."""
    return np.linspace(0.0, case.duration, round(case.duration / case.output_step) + 1)


def ball_error(case: BallCase, samples: Samples) -> tuple[float, float]:
    """Return the largest | |c - centre| - radius | / radius (%) and the largest distance at equal times (m)."""
    time = output_grid(case)
    arm = -case.circle_centre
    angle = case.circle_rate * time
    exact = case.circle_centre + np.stack(
        [np.cos(angle) * arm[0] - np.sin(angle) * arm[1], np.sin(angle) * arm[0] + np.cos(angle) * arm[1]], axis=1
    )
    reach = np.linalg.norm(samples.position - case.circle_centre, axis=1)
    radius = float(np.max(np.abs(reach - case.circle_radius)) / case.circle_radius)
    return 100.0 * radius, float(np.max(np.linalg.norm(samples.position - exact, axis=1)))


def ellipse_error(case: EllipseCase, samples: Samples) -> tuple[float, float]:
    """Return the largest distance of the centre from the reference (m) and of the angle (rad), equal times."""
    reference = ellipse_reference(case)
    distance = float(np.max(np.linalg.norm(samples.position - reference.position, axis=1)))
    turned = float("nan") if samples.angle is None else float(np.max(np.abs(samples.angle - reference.angle)))
    return distance, turned


def measure(run: Run, case: BallCase | EllipseCase) -> Point:
    """Execute a run and compare it with the exact answer; a failure becomes a point with a note."""
    unit = "%" if run.case == "ball" else "m"
    try:
        samples = run.execute()
        wall = samples.wall
        for _ in range(min(REPEATS, int(REPEAT_SECONDS / wall))):
            wall = min(wall, run.execute().wall)
        if not np.all(np.isfinite(samples.position)):
            raise ValueError("the run is not finite")
        error, second = ball_error(case, samples) if isinstance(case, BallCase) else ellipse_error(case, samples)
    except Exception as problem:  # an engine's failure is a result of the benchmark
        note = f"{type(problem).__name__}: {problem}".splitlines()[0][:160]
        return Point(run.engine, run.case, run.setting, run.step, None, unit, None, None, None, note)
    return Point(run.engine, run.case, run.setting, run.step, error, unit, second, wall, samples.steps)
