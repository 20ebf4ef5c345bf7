"""Random drops: convex bodies and robots fall onto flat, tilted and curved ground with friction 0 to 2.

Run with ``python -m bench.drops [--bodies 400] [--robots 100] [--seed 0]``. Prints how the runs ended, medians and
worst of events and time, and the largest rise of the energy in a run.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trundle as tr
from bench.landings import FOLDER, balance
from trundle.errors import TrundleError
from trundle.scenarios import build, load_scenario

Random = np.random.Generator
DURATION = 1.0
ROBOTS = ("a1", "anymal", "bolt", "hyq", "icub", "pendulum", "romeo", "talos", "tiago", "avatar")


@dataclass(frozen=True)
class Drop:
    """How one drop ended: name, status, events, CPU time (s), energy made (of the largest there was), simulated s."""

    name: str
    status: str
    events: int
    seconds: float
    made: float
    simulated: float


def plane_body(random: Random) -> Any:
    """Return a random convex body of the plane."""
    size = random.uniform(0.05, 0.3)
    kinds = [tr.Circle(size), tr.Ellipse([size, size * random.uniform(0.3, 1.0)]),
             tr.FourierRadius(size, [0.0, random.uniform(0.0, 0.15)]),
             tr.Box([size, size * random.uniform(0.2, 1.0)]),
             tr.Polytope(size * random.normal(size=(8, 2)))]  # fmt: skip
    return kinds[random.integers(len(kinds))]


def space_body(random: Random) -> Any:
    """Return a random convex body."""
    size, *parts = random.uniform(0.05, 0.3), *random.uniform(0.3, 1.0, 2)
    axes = [size, size * parts[0], size * parts[1]]
    kinds: list[Callable[[], Any]] = [
        lambda: tr.Sphere(size),
        lambda: tr.Ellipsoid(axes),
        lambda: tr.Superellipsoid(axes, random.uniform(1.5, 3.0), 0.2 * min(axes)),
        lambda: tr.Capsule(0.3 * size, size),
        lambda: tr.Disc(size),
        lambda: tr.Cylinder(size, length=2 * size * parts[0]),
        lambda: tr.Box(axes),
        lambda: tr.Polytope(size * random.normal(size=(9, 3))),
    ]
    return kinds[random.integers(len(kinds))]()


def ground(random: Random, d: int) -> Any:
    """Return flat or curved ground."""
    if d == 2:
        kinds = [tr.Line(0.0, 0.0), tr.Sinusoid(random.uniform(0.05, 0.2), random.uniform(1.5, 4.0)), tr.Parabola(0.4)]
        return kinds[random.integers(len(kinds))]
    kinds = [tr.Plane(), tr.Plane(), tr.Sphere(random.uniform(1.0, 4.0)), tr.Dish(3 * [random.uniform(1.5, 4.0)])]
    return kinds[random.integers(len(kinds))]


def energy_made(run: Any) -> float:
    """Return the largest rise of the energy above all it was before, of the most kinetic energy there was."""
    energy = np.asarray(run["energy"]).ravel()
    return float(np.max(energy - np.minimum.accumulate(energy))) / float(np.max(np.abs(energy)))


def drop_body(number: int, seed: int) -> Drop:
    """Drop one random body."""
    random = np.random.default_rng([seed, number])
    d = 2 if random.random() < 0.3 else 3
    tilt, friction = random.uniform(0.0, 0.6) * (random.random() < 0.5), random.uniform(0.0, 2.0)
    gravity = 9.81 * np.array([np.sin(tilt), -np.cos(tilt)] if d == 2 else [np.sin(tilt), 0.0, -np.cos(tilt)])
    shape, floor = (plane_body(random) if d == 2 else space_body(random)), ground(random, d)
    robot = tr.Robot(gravity=gravity.tolist(), on_slip="slide", on_separation="fly")
    robot.free(random.uniform(0.1, 5.0), "solid", shape=shape, name="body")
    robot.terrain(floor, friction, restitution=random.uniform(0.1, 0.9) if random.random() < 0.25 else 0.0)
    model = robot.finish()
    height = random.uniform(0.4, 0.6) * (2.0 if isinstance(shape, tr.Polytope | tr.Cylinder | tr.Box) else 1.0)
    name = f"{type(shape).__name__} on {type(floor).__name__} {number}"
    spin = random.normal(size=1 if d == 2 else 3) * random.choice([0.0, 1.0, 10.0])
    velocity = random.normal(size=d) * random.choice([0.0, 1.0])
    if isinstance(floor, tr.Sphere):
        height += floor.radius
    elif isinstance(floor, tr.Dish):
        height -= floor.semi_axes[2]
    quaternion = random.normal(size=4)
    turn = random.uniform(-3, 3, 1) if d == 2 else quaternion / np.linalg.norm(quaternion)
    pose = [*(d - 1) * [0.0], height, *turn]
    start = model.place(contacts=[], body=pose, rates={"body": [*spin, *velocity]})
    return run_of(name, lambda: tr.simulate(model, start, DURATION), energy_made)


def drop_robot(number: int, seed: int) -> Drop:
    """Drop one of ten example robots."""
    random = np.random.default_rng([seed, 10_000 + number])
    which = ROBOTS[number % len(ROBOTS)]
    rate = (0.5 * random.normal(size=3)).round(3).tolist()
    overrides = [f"ground.friction={random.uniform(0.0, 2.0):.3f}", f"initial.angular_velocity={rate}"]
    if random.random() < 0.5:
        overrides.append(f"ground.rpy=[{random.uniform(-0.3, 0.3):.3f}, {random.uniform(-0.3, 0.3):.3f}, 0.0]")
    work: Any = build(load_scenario(FOLDER / f"{which}.toml", overrides))
    return run_of(f"{which} {number}", lambda: work.run(None), lambda run: max(0.0, balance(run, work.robot)[1]))


def run_of(name: str, simulate: Callable[[], Any], made: Callable[[Any], float]) -> Drop:
    """Return how one run ended."""
    begin = time.process_time()
    run = simulate()
    seconds = time.process_time() - begin
    finite = all(np.all(np.isfinite(run[key])) for key in ("energy", "contact_force"))
    status = run.status.label if finite else "not finite"
    return Drop(name, status, len(run.transitions), seconds, made(run), float(run.time[-1]))


def show(title: str, drops: list[Drop]) -> None:
    """Print a survey."""
    if not drops:
        return
    print(f"{title}: {len(drops)} drops; " + ", ".join(f"{n} {s}" for s, n in Counter(d.status for d in drops).items()))
    for what in ("events", "seconds", "made"):
        values: NDArray[np.float64] = np.array([getattr(d, what) for d in drops], dtype=np.float64)
        worst = drops[int(np.argmax(values))].name
        print(f"  {what:8s} median {np.median(values):.3g}, worst {np.max(values):.3g} ({worst})")


def main() -> None:
    """Drop them and print what happened."""
    parser = argparse.ArgumentParser(prog="python -m bench.drops", description=__doc__)
    parser.add_argument("--bodies", type=int, default=400)
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", default=None, help="numbers of drops")
    given = parser.parse_args()
    for title, count, drop in (("bodies", given.bodies, drop_body), ("robots", given.robots, drop_robot)):
        done = []
        for number in range(count) if given.only is None else given.only:
            try:
                one = drop(number, given.seed)
            except (TrundleError, ArithmeticError, ValueError, RuntimeError) as error:
                print(f"  {number}: {error}", flush=True)
                one = Drop(str(number), type(error).__name__, 0, 0.0, 0.0, 0.0)
            done.append(one)
            if one.status != "success" or one.seconds > 5.0 or one.made > 1e-3 or given.only is not None:
                times = f"{one.seconds:.2f} s, to {one.simulated:.3f} s"
                print(f"  {one.name}: {one.status}, {one.events} events, {times}, made {one.made:.1e}", flush=True)
        show(title, done)


if __name__ == "__main__":
    main()
