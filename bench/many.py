"""``python -m bench.many [runs]``: runs a second of the ball on the spinning plate, 1 s each, from many starts.

`simulate` in a loop, `simulate_many`, and MuJoCo's rollout with its default settings (a step of 2 ms) and with hard
contacts and a short step. The error is the largest distance from the exact circle at the end, over the circle's radius:
like is beside like where errors are. All cores; compiling is not timed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

import trundle as tr
from bench.reference import BallCase
from trundle.interop.mujoco import Contact, start_of, to_mjcf
from trundle.simulate.mujoco.mjcf import load_mujoco

DURATION = 1.0  # s
LEAST = 50.0  # times as many runs a second as `simulate` in a loop


def cases(count: int) -> list[BallCase]:
    """Return balls that start with other rates."""
    return [BallCase(ball_rate=(w, 0.0, 0.0), duration=DURATION) for w in np.linspace(0.5, 1.5, count)]


def exact(case: BallCase) -> np.ndarray:
    """Return the contact's place (2,) m at the end."""
    c, angle = case.circle_centre, case.circle_rate * DURATION
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return c - turn @ c


def error(found: np.ndarray, balls: Sequence[BallCase]) -> float:
    """Return the largest error of places (n, 2) m over the circles' radii."""
    apart = [np.linalg.norm(at - exact(case)) / case.circle_radius for at, case in zip(found, balls, strict=True)]
    return float(np.max(apart))


def pair_and_starts(balls: Sequence[BallCase]) -> tuple[tr.RollingPair, list[tr.Start]]:
    """Return trundle's pair and the starts."""
    one = balls[0]
    hand = tr.Hand(tr.Plane(), twist=(0, 0, one.plate_rate, 0, 0, 0))
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(one.radius), mass=one.mass), hand, friction=one.friction)
    return pair, [pair.place(object_angular_velocity=case.ball_rate) for case in balls]


def mujoco_places(balls: Sequence[BallCase], step: float, contact: Contact) -> Callable[[], np.ndarray]:
    """Return what rolls all balls out in MuJoCo and returns their places."""
    mujoco = load_mujoco()
    from mujoco import rollout

    pair, starts = pair_and_starts(balls)
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    model = to_mjcf(pair, starts[0], step=step, contact=contact).compile()
    states = np.zeros((len(balls), mujoco.mj_stateSize(model, spec)))
    for state, start in zip(states, starts, strict=True):
        mujoco.mj_getState(model, start_of(to_mjcf(pair, start, step=step, contact=contact).compile()), state, spec)
    threads = [mujoco.MjData(model) for _ in range(os.cpu_count() or 1)]

    def run() -> np.ndarray:
        found, _ = rollout.rollout(model, threads, states, nstep=round(DURATION / step))
        return found[:, -1, 2:4]  # time, the plate's angle, the ball's place

    return run


def timed(run: Callable[[], np.ndarray], balls: Sequence[BallCase], label: str) -> tuple[str, float, float]:
    """Return the label, runs a second and the error."""
    run()
    begin = time.perf_counter()
    found = run()
    return label, len(balls) / (time.perf_counter() - begin), error(found, balls)


def measure(count: int) -> list[tuple[str, float, float]]:
    """Return label, runs a second and error of each."""
    balls = cases(count)
    pair, starts = pair_and_starts(balls)
    few = starts[: max(20, count // 20)]

    def loop() -> np.ndarray:
        return np.array([tr.simulate(pair, start, DURATION)["object_position"][-1, :2] for start in few])

    def many(**options: float) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            runs = tr.simulate_many(pair, starts, DURATION, **options)  # pyright: ignore[reportArgumentType]
            if not runs.success.all():
                raise RuntimeError("a run failed")
            where = pair.system.model().layout["object.position"]
            return runs.states[:, -1, where][:, :2]

        return run

    rows = [timed(loop, balls[: len(few)], "simulate, one after the other")]
    rows.append(timed(many(), balls, "simulate_many"))
    rows.append(timed(many(workers=1), balls, "simulate_many, one thread"))
    rows.append(timed(many(relative_tolerance=1e-4), balls, "simulate_many, tolerance 1e-4"))
    settings: tuple[tuple[float, Contact], ...] = ((2e-3, "default"), (2e-3, "hard"), (1e-4, "hard"))
    for step, contact in settings:
        label = f"MuJoCo rollout, {contact}, {1e3 * step:g} ms"
        try:
            rows.append(timed(mujoco_places(balls, step, contact), balls, label))
        except tr.errors.MissingExtraError:
            rows.append((f"{label}: not installed", np.nan, np.nan))
    return rows


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where `simulate_many` is less than `LEAST` times as fast as the loop."""
    rows = measure(int(arguments[0]) if arguments else 1000)
    table = Table("", "runs/s", "simulated s/s", "error", title="Ball on a spinning plate, 1 s")
    for label, rate, off in rows:
        table.add_row(label, f"{rate:.0f}", f"{rate * DURATION:.0f}", f"{off:.1e}")
    Console(width=120).print(table)
    ratio = rows[1][1] / rows[0][1]
    print(f"simulate_many: {ratio:.0f} times as many runs a second as simulate in a loop")
    return int(ratio < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
