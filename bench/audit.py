"""What the audit costs: of each run its time, that of the audit, and what may be: the larger of 10 % and 5 ms.

Run with ``python -m bench.audit [NAME ...]``; times are CPU times, the least of several. Exit code 1 where one is over.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import trundle as tr
from trundle.audit import audit_run
from trundle.models.tree.system import Start
from trundle.simulate.record.evidence import evidence_of
from trundle.simulate.record.recorder import merge_segments
from trundle.simulate.run import Runner, chosen_method, first_of, sample_times

SHARE, LEAST = 0.1, 5e-3
"""Part of a run's time, and s, that an audit may take."""
REPEATS = 5


class Scene(NamedTuple):
    """A model, a start, how long (s) it runs and how often (s) it is recorded."""

    model: tr.RollingPair | tr.RollingTree
    start: Start
    duration: float
    step: float | None = None


def plate() -> Scene:
    """A ball on a spinning plate: the fastest run there is."""
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), mass=0.1), tr.Hand(tr.Plane(), twist=(0, 0, 7, 0, 0, 0)))
    return Scene(pair, pair.place(object_angular_velocity=(1.0, 0, 0)), 10.0, 0.01)


def dish() -> Scene:
    """An ellipsoid slides and rolls in a dish."""
    body, hand = tr.RigidBody(tr.Ellipsoid([0.2, 0.15, 0.1]), mass=0.1), tr.Hand(tr.Dish([1, 1, 0.8]))
    pair = tr.RollingPair(body, hand, friction=0.3, on_slip="slide", on_separation="fly")
    return Scene(pair, pair.place(contact_on_hand=[0.3, 0, -0.75], object_angular_velocity=(1.0, 2, 0)), 2.0)


def billiards() -> Scene:
    """Three balls on a table."""
    robot, r = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly"), 0.0286
    for name in "abc":
        robot.free(0.17, shape=tr.Sphere(r), name=name)
    robot.terrain(tr.Plane(), friction=0.2)
    for one, other in ("ab", "bc", "ac"):
        robot.contact(one, other, friction=0.05, restitution=0.95)
    tree = robot.finish()
    pose = {"a": (-0.3, 0, r), "b": (0, 0.01, r), "c": (0.1, -0.01, r)}
    rates = {"a": (0, 2.0 / r, 0, 2.0, 0, 0)}
    return Scene(
        tree, tree.place(**{k: (*v, 1, 0, 0, 0) for k, v in pose.items()}, rates=rates, contacts=list("abc")), 0.5
    )


def quadruped() -> Scene:
    """A trunk on four legs with balls for feet lands."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    trunk = robot.free(5.0, (0.05, 0.1, 0.12), name="trunk")
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("rl", -0.2, 0.1), ("rr", -0.2, -0.1)):
        leg = robot.prismatic(trunk, (x, y, -0.2), 0.3, (1e-3,) * 3, axis=(0, 0, 1), shape=tr.Sphere(0.03), name=name)
        robot.resist(leg, stiffness=2000.0, damping=60.0)
    robot.terrain(tr.Plane(), friction=0.7)
    tree = robot.finish()
    return Scene(tree, tree.place(trunk=(0, 0, 0.26, 1, 0, 0, 0), contacts=[]), 0.5)


def three_wheels() -> Scene:
    """A trunk on three wheels rolls down a slope."""
    robot = tr.Robot(gravity=(1.0, 0, -9.7), on_slip="slide", on_separation="fly")
    trunk = robot.free(4.0, (0.04, 0.05, 0.06), name="trunk")
    for name, x, y in (("front", 0.2, 0.0), ("left", -0.1, 0.15), ("right", -0.1, -0.15)):
        robot.revolute(trunk, (x, y, -0.05), 0.3, (4e-4, 7e-4, 4e-4), shape=tr.Ellipsoid([0.06, 0.02, 0.06]), name=name)
    robot.terrain(tr.Plane(), friction=0.8)
    tree = robot.finish()
    return Scene(tree, tree.place(trunk=(0, 0, 0.11)), 2.0)


SCENES: dict[str, Callable[[], Scene]] = {
    one.__name__: one for one in (plate, dish, billiards, quadruped, three_wheels)
}


def cost(scene: Scene) -> tuple[float, float]:
    """Return the CPU times (s) of a run with its record's quantities, and of its audit."""
    system, runs, audits = scene.model.system, [], []
    method = chosen_method(scene.duration, None, None, None, "projection")
    for _ in range(REPEATS):
        begin = time.process_time()
        runner = Runner(system, method, None, sample_times(scene.duration, scene.step), None)
        runner.run(first_of(system, scene.start), scene.duration)
        segments = merge_segments(runner.log.segments)
        for segment in segments:
            segment.outputs()
        done = time.process_time()
        audit_run(system, evidence_of(system, segments, runner.log))
        runs.append(done - begin)
        audits.append(time.process_time() - done)
    return float(np.min(runs)), float(np.min(audits))


def main(names: list[str]) -> int:
    """Print a line for each scene; return how many cost too much."""
    over = 0
    print(f"{'scene':14}{'run (ms)':>10}{'audit (ms)':>12}{'allowed (ms)':>14}")
    for name, make in SCENES.items():
        if names and name not in names:
            continue
        run, audit = cost(make())
        allowed = max(SHARE * run, LEAST)
        over += audit > allowed
        said = "  <- over" if audit > allowed else ""
        print(f"{name:14}{1e3 * run:10.1f}{1e3 * audit:12.1f}{1e3 * allowed:14.1f}{said}")
    return over


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
