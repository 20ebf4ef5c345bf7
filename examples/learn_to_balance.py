"""A wheel with a pole learns to stand: CMA-ES finds the gains of a linear law on 32 environments at once.

Needs ``pip install '.[learn]'`` from the clone.
The law begins with gains of zero; all that is told of an episode is its reward.
"""

from __future__ import annotations

import numpy as np

import trundle as tr

PERIOD, DURATION = 0.02, 4.0  # s
POPULATION, STARTS, GENERATIONS = 16, 2, 25
ALIVE = 1.0  # reward of a step without a fall: the longer it stands, the better, and then the cheaper


def problem() -> tr.environments.EnvironmentProblem:
    """Return a pole on the axle of a wheel on level ground; a motor turns one against the other."""
    robot = tr.Robot()
    wheel = robot.free(2.0, 0.01, shape=tr.Circle(0.1), name="wheel")  # kg, kg m2, m
    robot.revolute(wheel, (0, 0), 3.0, 0.05, center_of_mass=(0, 0.35), name="pole")
    robot.terrain(tr.Line(), friction=1.0)
    tree = robot.finish()
    where = tree.model().layout

    def seen(_: float, x: np.ndarray) -> np.ndarray:
        """Return lean, place, rate of the lean and speed, rad, m, rad/s, m/s."""
        lean = x[where["wheel.orientation"]] + x[where["pole.joint"]]
        rate = x[where["wheel.angular_velocity"]] + x[where["pole.rate"]]
        return np.array([lean[0], x[where["wheel.position"]][0], rate[0], x[where["wheel.velocity"]][0]])

    def cost(t: float, x: np.ndarray, u: np.ndarray) -> float:
        return float([10, 1, 0.1, 0.1] @ seen(t, x) ** 2 + 1e-3 * u @ u)

    def start(rng: np.random.Generator):
        return tree.place(wheel=(0, 0.1, 0), pole=rng.uniform(-0.15, 0.15))  # m, rad

    return tr.environments.EnvironmentProblem(
        tree, start, PERIOD, DURATION, [-10.0], [10.0], cost, lambda t, x: bool(abs(seen(t, x)[0]) > 1.0), seen
    )  # torques up to 10 N m; over where it leans by more than 1 rad


def returns(envs: tr.environments.RollingVectorEnv, gains: np.ndarray, seed: int) -> np.ndarray:
    """Return the rewards of an episode in each environment under u = gains . observation, gains (n, 4)."""
    observed, _ = envs.reset(seed=seed)
    total, over = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=bool)
    for _ in range(round(DURATION / PERIOD)):
        observed, rewards, terminated, _, _ = envs.step(np.sum(gains * observed, axis=1, keepdims=True))
        over |= terminated
        total += np.where(over, 0.0, ALIVE + rewards)
        if over.all():
            break
    return total


def main() -> float:
    """Learn, and return the share of new starts from which it falls."""
    import cma

    envs = tr.environments.RollingVectorEnv(problem(), POPULATION * STARTS)
    search = cma.CMAEvolutionStrategy(np.zeros(4), 20.0, {"popsize": POPULATION, "seed": 1, "verbose": -9})
    for generation in range(GENERATIONS):
        asked = np.array(search.ask())
        found = returns(envs, np.repeat(asked, STARTS, axis=0), seed=generation).reshape(POPULATION, STARTS)
        search.tell(list(asked), (-found.mean(axis=1)).tolist())
    gains = np.asarray(search.result.xfavorite)
    last = returns(envs, np.tile(gains, (envs.num_envs, 1)), seed=10_000)
    falls = float(np.mean(last < 0.9 * ALIVE * DURATION / PERIOD))
    print(f"gains of lean, place and their rates: {np.round(gains, 1).tolist()} N m")
    print(f"falls from {falls:.1e} of {envs.num_envs} new starts")
    return falls


if __name__ == "__main__":
    main()
