"""``python -m bench.windows [count]``: preview control over random windows: which are lost that Clarabel solves.

Contacts (one to four soles, palms and points that come and go, walks with steps of random lengths), weights over four
decades, grids of 5 to 40 samples and pushes up to 20 N s, that are measured or known before. A window is lost if the
answer misses what is prescribed, or there is none, where Clarabel solves the program as prescribed (residuals
recomputed).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.spatial.transform import Rotation

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.numerics.qp.qp import QpSolver
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState, Push
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held, MassChange, Pushed
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.preview import Preview, PreviewWeights
from trundle.systems.multicontact.preview.window import ReferencePath

GRAVITY = 9.81


@dataclass(frozen=True)
class Case:
    """One window: what `Preview` is made of and called with."""

    preview: Preview
    state: CentroidalState
    forecast: Forecast
    path: ReferencePath


@dataclass(frozen=True)
class Found:
    """What became of it; `other` is Clarabel's status for the program as prescribed, None where it was not asked."""

    status: Status
    other: Status | None
    seconds: float
    words: str
    outside: float
    """Longest time, s, that a contact serves before its start or after its end, where samples suffice."""

    @property
    def lost(self) -> bool:
        """Whether Clarabel solves what the plan does not."""
        return self.status is not Status.SUCCESS and self.other is Status.SUCCESS


def case(number: int) -> Case:
    """Return window `number` of the survey."""
    rng = np.random.default_rng([18, number])
    mass = float(rng.uniform(20.0, 100.0))
    count = int(rng.integers(5, 41))
    length = float(rng.uniform(0.8, 4.0))
    shape = np.sort(rng.uniform(1.0, rng.choice([1.0, 2.0, 6.0]), count))
    names = ("position", "velocity", "angular_momentum", "force", "moment")
    standard = PreviewWeights()
    weights = PreviewWeights(**{name: getattr(standard, name) * 10 ** float(rng.uniform(-2, 2)) for name in names})
    preview = Preview(Centroidal(mass), shape * length / shape.sum(), weights=weights)
    contacts, path = (walked if rng.random() < 0.5 else stood)(rng, length)
    pushes = []
    if rng.random() < 0.3:
        start = float(rng.uniform(0.0, length))
        pushes.append(Pushed(Push(rng.normal(size=3) * 20.0), start, start + float(rng.uniform(0.05, 1.0))))
    masses = [MassChange(float(rng.uniform(0.1, length)), mass + 5.0)] if rng.random() < 0.1 else []
    direction = rng.normal(size=3) * [1.0, 1.0, 0.2]
    push = rng.uniform(0.0, 20.0) * rng.integers(0, 2) * direction / np.linalg.norm(direction)
    place, speed = path(np.array([0.0]))
    velocity = speed[0] + 0.05 * rng.normal(size=3) + push / mass
    state = CentroidalState(place[0] + 0.01 * rng.normal(size=3), velocity, 0.5 * rng.normal(size=3))
    return Case(preview, state, Forecast(contacts, pushes, masses), path)


def sole(rng: np.random.Generator, kind: str) -> FlatPatch:
    """Return a random foot, palm or point."""
    friction = float(rng.uniform(0.3, 1.0))
    if kind == "point":
        return FlatPatch.point(friction)
    length = float(rng.uniform(0.1, 0.25)) if kind == "foot" else float(rng.uniform(0.04, 0.1))
    return FlatPatch.rectangle(length, length * float(rng.uniform(0.3, 1.0)), friction=friction)


def turned(rng: np.random.Generator, tilt: float) -> np.ndarray:
    """Return a rotation by a random angle about the way up and a tilt up to `tilt`, rad."""
    return Rotation.from_euler("zxy", [rng.uniform(-3, 3), *rng.uniform(-tilt, tilt, 2)]).as_matrix()


def stood(rng: np.random.Generator, length: float) -> tuple[list[Held], PointPath]:
    """One or two feet that stay, up to two hands on walls; some come or go."""
    feet = [Held(PlacedPatch("left", sole(rng, "foot"), (0.0, 0.1, 0.0), turned(rng, 0.2)))]
    middle = 0.1
    if rng.random() < 0.8:
        spans = [
            (-np.inf, np.inf),
            (float(rng.uniform(0, length)), np.inf),
            (-np.inf, float(rng.uniform(0.01, length))),
        ]
        at = (float(rng.uniform(-0.2, 0.2)), -0.1, float(rng.uniform(-0.1, 0.1)))
        span = spans[rng.integers(3)]
        feet.append(Held(PlacedPatch("right", sole(rng, "foot"), at, turned(rng, 0.3)), *span))
        middle = 0.0 if span[1] == np.inf and span[0] == -np.inf else 0.05
    hands = []
    for i in range(rng.integers(0, 3)):
        start = float(rng.uniform(-1, length))
        wall = Rotation.from_euler("x", rng.uniform(0.5, 1.6) * (-1) ** i).as_matrix()
        at = (0.3, 0.4 * (-1) ** i, float(rng.uniform(0.5, 1.0)))
        placed = PlacedPatch(f"hand {i}", sole(rng, ("palm", "point")[rng.integers(2)]), at, wall)
        hands.append(Held(placed, start, start + float(rng.uniform(0.2, 3.0))))
    return [*feet, *hands], PointPath([0.0], [(float(rng.uniform(-0.05, 0.05)), middle, float(rng.uniform(0.5, 1.0)))])


def walked(rng: np.random.Generator, length: float) -> tuple[list[Held], PointPath]:
    """A walk with steps of random times and places, that the window finds on its way."""
    single, double, step = (float(rng.uniform(*r)) for r in ((0.3, 1.0), (0.05, 0.4), (0.0, 0.3)))
    foot, before = sole(rng, "foot"), float(rng.uniform(0.0, 3.0))
    count = 3 + int((length + before) / (single + double))
    held = []
    for i in range(count):
        start, end = i * (single + double) - double - before, (i + 2) * (single + double) - single - before
        at = (step * i + 0.02 * rng.normal(), 0.1 * (-1) ** i, 0.05 * rng.normal())
        held.append(Held(PlacedPatch(f"foot {i}", foot, at, turned(rng, 0.1)), start if i else -np.inf, end))
    held += [replace_end(held.pop())]
    last = count * (single + double)
    speed, height = step / (single + double), float(rng.uniform(0.5, 1.0))
    return held, PointPath([-before, last - before], [(0.0, 0.0, height), (speed * last, 0.0, height)])


def replace_end(held: Held) -> Held:
    """Return a contact that stays."""
    return Held(held.contact, held.start)


def found(number: int, other: QpSolver) -> Found:
    """Solve one window, and where that fails its program as prescribed by `other`."""
    one = case(number)
    begin = time.thread_time()
    plan = one.preview(0.0, one.state, one.forecast, one.path)
    seconds = time.thread_time() - begin
    words = f"{plan.solution.solver_status}, error {plan.solution.error:.1e}, {dict(plan.given_up)}"
    serves = np.abs(plan.wrenches[..., 5]) > 1e-6 * GRAVITY * one.preview.model.mass
    start, end = one.forecast.spans.T
    early = np.maximum(start - plan.times[:-1, None], plan.times[1:, None] - end)
    enough = len(one.forecast.changes) < len(plan.times) - 1  # else samples must be of several stances
    outside = float(early[serves].max(initial=0.0)) if enough else 0.0
    if plan.status is Status.SUCCESS:
        return Found(plan.status, None, seconds, words, outside)
    (program,) = one.preview._programs.values()
    force, layout = plan.window.samples.privileged_force, program.layout
    per = 7 + 2 * layout.turning
    program.qp.e[6::per] = np.where(plan.window.held.any(axis=1), force / program.scales.weight, 0.0)
    return Found(plan.status, program.qp.solved_by(other).status, seconds, words, outside)


def main() -> int:
    """Print what became of the windows; 1 if one was lost."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    console, other = Console(), QpSolver("clarabel")
    outcomes: Counter[str] = Counter()
    lost, seconds, outside = [], [], []
    for number in track(range(count), "windows", console=Console(stderr=True)):
        one = found(number, other)
        said = one.status.name.lower()
        outcomes[said if one.other is None else f"{said}, Clarabel {one.other.name.lower()}"] += 1
        outcomes["by the second solver"] += not one.words.startswith("PIQP")
        seconds.append(one.seconds)
        outside.append(one.outside)
        if one.lost:
            lost.append(number)
            console.print(f"{number}: {one.words}", highlight=False)
    for words, times in outcomes.most_common():
        console.print(f"{times:6d} {words}", highlight=False)
    console.print(f"longest time outside its span that a contact serves: {1e3 * max(outside):.1f} ms", highlight=False)
    console.print(
        f"lost: {len(lost)} of {count}; first call, set-up included: median {1e3 * np.median(seconds):.1f} ms"
    )
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
