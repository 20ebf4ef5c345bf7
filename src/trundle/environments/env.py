"""Environments of Gymnasium: many copies of a problem step together in compiled code; one is a vector of one."""

from __future__ import annotations

import os

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from trundle.checks import FloatArray, integer
from trundle.environments.problem import EnvironmentProblem
from trundle.models import Start
from trundle.simulate import LinearFeedback, simulate_many
from trundle.status import Status

Info = dict[str, object]
Flags = NDArray[np.bool_]


class RollingVectorEnv(VectorEnv[FloatArray, FloatArray, "FloatArray | Flags"]):
    """Copies of a problem that step together; one that ended begins anew at its next step.

    Parameters
    ----------
    problem : EnvironmentProblem
    num_envs : int
    workers : int, optional
        Threads (default: the number of cores).

    Examples
    --------
    >>> from trundle.environments import RollingVectorEnv, problem_of
    >>> envs = RollingVectorEnv(problem_of("ellipse-damping"), 8)
    >>> observations, _ = envs.reset(seed=3)
    >>> rewards = envs.step(envs.action_space.sample())[1]
    >>> observations.shape == envs.observation_space.shape, rewards.shape
    (True, (8,))
    """

    def __init__(self, problem: EnvironmentProblem, num_envs: int, workers: int | None = None) -> None:
        self.problem, self.num_envs = problem, integer("num_envs", num_envs, minimum=1)
        self._workers = os.cpu_count() if workers is None else integer("workers", workers, minimum=1)
        example = problem.observation(0.0, problem.start(np.random.default_rng(0)).x)
        self.single_observation_space = Box(-np.inf, np.inf, example.shape, np.float64)
        self.single_action_space = Box(np.asarray(problem.low), np.asarray(problem.high), dtype=np.float64)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self._starts: list[Start] = []
        self._times = np.zeros(self.num_envs)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Info | None = None
    ) -> tuple[FloatArray, Info]:
        """Begin all episodes anew; return the observations (num_envs, n)."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        if isinstance(seed, list):
            self._generators = [np.random.default_rng(one) for one in seed]
        elif seed is not None or not self._starts:
            self._generators = list(self.np_random.spawn(self.num_envs))
        self._starts = [self.problem.start(generator) for generator in self._generators]
        self._times[:], self._over[:] = 0.0, False
        return self._observations(), {}

    def step(self, actions: FloatArray) -> tuple[FloatArray, FloatArray, Flags, Flags, Info]:
        """Hold `actions` (num_envs, n_u) for a period; return observations, rewards, terminated, truncated, infos."""
        p = self.problem
        given = np.clip(np.asarray(actions, dtype=np.float64), np.asarray(p.low), np.asarray(p.high))
        again, going = np.flatnonzero(self._over), np.flatnonzero(~self._over)
        rewards, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)
        statuses = self._move_environments(going, given) if len(going) else []
        for i, status in zip(going.tolist(), statuses, strict=True):
            state = self._starts[i].x
            rewards[i] = -p.period * p.cost(float(self._times[i]), state, given[i])
            finite = bool(np.all(np.isfinite(state))) and np.isfinite(rewards[i])
            lost = p.lost is not None and finite and p.lost(float(self._times[i]), state)
            terminated[i] = status is not Status.SUCCESS or lost or not finite
        for i in again.tolist():
            self._starts[i], self._times[i] = p.start(self._generators[i]), 0.0
        truncated = ~terminated & (self._times >= p.duration - 1e-9)
        self._over = terminated | truncated
        return self._observations(), rewards, terminated, truncated, {}

    def _move_environments(self, going: NDArray[np.intp], inputs: FloatArray) -> list[Status]:
        """Move the environments `going` on by a period; return how their simulations ended."""
        p = self.problem
        runs = simulate_many(
            p.model,
            [self._starts[i] for i in going],
            p.period,
            policies=[LinearFeedback(p.period, inputs[i : i + 1]) for i in going],
            relative_tolerance=p.relative_tolerance,
            workers=self._workers,
        )
        for i, end in zip(going.tolist(), runs.ends, strict=True):
            self._starts[i] = end
        self._times[going] += p.period
        return [one.status for one in runs.outcomes]

    def _observations(self) -> FloatArray:
        times = zip(self._times.tolist(), self._starts, strict=True)
        return np.array([self.problem.observation(time, start.x) for time, start in times])


class RollingEnv(gymnasium.Env[FloatArray, FloatArray]):
    """One copy of a problem, see `RollingVectorEnv`."""

    def __init__(self, problem: EnvironmentProblem) -> None:
        self._one = RollingVectorEnv(problem, 1, 1)
        self.observation_space, self.action_space = self._one.single_observation_space, self._one.single_action_space

    @property
    def problem(self) -> EnvironmentProblem:
        """What is set."""
        return self._one.problem

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[FloatArray, Info]:
        """Begin an episode; return the observation (n,)."""
        super().reset(seed=seed)
        return self._one.reset(seed=seed)[0][0], {}

    def step(self, action: FloatArray) -> tuple[FloatArray, float, bool, bool, Info]:
        """Hold `action` (n_u,) for a period; return observation, reward, terminated, truncated, info."""
        observations, rewards, terminated, truncated, _ = self._one.step(np.asarray(action)[None])
        self._one._over[:] = False  # who asks for a step after the end gets one
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}
