"""A wheel with a pole learns to stand: CMA-ES finds the gains of a linear law on 32 environments at once.

``pip install "trundle[learn]"``, then ``python examples/learn_to_balance.py``. Nothing is told of the model: the law
begins with gains of zero, and an episode's reward is all that is known of it. Under a minute on two cores.
"""

from __future__ import annotations

import sys
import time

import cma
import numpy as np

import trundle as tr
from trundle.environments import EnvironmentProblem, RollingVectorEnv

PERIOD, DURATION = 0.02, 4.0  # s
POPULATION, STARTS = 16, 2
ALIVE = 1.0
"""Reward of a step without a fall: the longer it stands, the better, and then the cheaper."""


def problem() -> EnvironmentProblem:
    """Return a pole on the axle of a wheel that rolls on level ground; a motor turns one against the other."""
    robot = tr.Robot()
    wheel = robot.free(2.0, 0.01, shape=tr.Circle(0.1), name="wheel")  # kg, kg m2, m
    robot.revolute(wheel, (0, 0), 3.0, 0.05, center_of_mass=(0, 0.35), name="pole")
    robot.terrain(tr.Line(), friction=1.0)
    tree = robot.finish()

    def start(rng: np.random.Generator) -> tr.Start:
        return tree.place(wheel=(0, 0.1, 0), pole=rng.uniform(-0.15, 0.15))  # m, rad

    where = tree.model().layout

    def seen(_: float, x: np.ndarray) -> np.ndarray:
        """Return lean, place, rate of the lean and speed, rad, m, rad/s, m/s."""
        lean = x[where["wheel.orientation"]] + x[where["pole.joint"]]
        rate = x[where["wheel.angular_velocity"]] + x[where["pole.rate"]]
        return np.array([lean[0], x[where["wheel.position"]][0], rate[0], x[where["wheel.velocity"]][0]])

    def cost(t: float, x: np.ndarray, u: np.ndarray) -> float:
        lean, place, rate, speed = seen(t, x)
        return float(10 * lean**2 + place**2 + 0.1 * rate**2 + 0.1 * speed**2 + 1e-3 * u @ u)

    def lost(t: float, x: np.ndarray) -> bool:
        return bool(abs(seen(t, x)[0]) > 1.0)

    return EnvironmentProblem(tree, start, PERIOD, DURATION, [-10.0], [10.0], cost, lost, seen)  # N m


def returns(envs: RollingVectorEnv, gains: np.ndarray, seed: int) -> np.ndarray:
    """Return the rewards of an episode in each environment under the law u = gains . observation, gains (n, 4)."""
    observed, _ = envs.reset(seed=seed)
    total, over = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=bool)
    for _ in range(round(DURATION / PERIOD)):
        observed, rewards, terminated, _, _ = envs.step(np.sum(gains * observed, axis=1, keepdims=True))
        over |= terminated
        total += np.where(over, 0.0, ALIVE + rewards)
        if over.all():
            break
    return total


def learn(generations: int = 25, seed: int = 1) -> tuple[np.ndarray, float]:
    """Return the gains that were found, and the share of 32 new starts from which they stand to the end."""
    task = problem()
    envs = RollingVectorEnv(task, POPULATION * STARTS)
    search = cma.CMAEvolutionStrategy(np.zeros(4), 20.0, {"popsize": POPULATION, "seed": seed, "verbose": -9})
    for generation in range(generations):
        asked = np.array(search.ask())
        found = returns(envs, np.repeat(asked, STARTS, axis=0), seed=generation).reshape(POPULATION, STARTS)
        search.tell(list(asked), (-found.mean(axis=1)).tolist())
    gains = np.asarray(search.result.xfavorite)
    last = returns(envs, np.tile(gains, (envs.num_envs, 1)), seed=10_000)
    return gains, float(np.mean(last > 0.9 * ALIVE * DURATION / PERIOD))


if __name__ == "__main__":
    begin = time.perf_counter()
    gains, standing = learn()
    print(f"gains {np.round(gains, 2).tolist()}: stands from {standing:.0%} of new starts")
    print(f"{time.perf_counter() - begin:.0f} s")
    sys.exit(int(standing < 1.0))
