"""Environments from scenarios: what `simulate` is called with under a policy, taken before it runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

import gymnasium
import numpy as np

from trundle.checks import FloatArray, non_negative
from trundle.environments.env import RollingEnv, RollingVectorEnv
from trundle.environments.problem import Cost, EnvironmentProblem
from trundle.errors import InputError
from trundle.models import RollingPair, RollingTree, Start
from trundle.models.linear.equilibrium import displace_start
from trundle.models.tree.system import ContactSystem
from trundle.records.policy import inner_policies
from trundle.scenarios import catalogue, load_scenario
from trundle.scenarios.engine.building import main_simulation
from trundle.scenarios.scenario import Scenario


@runtime_checkable
class Costed(Protocol):
    """A policy that minimises a cost of state and input, which it tells."""

    def running_cost(self, time: float, state: FloatArray, inputs: FloatArray) -> float:
        """Return the cost of a second at a state (n_x,) and input (n_u,)."""
        ...

    @property
    def input_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The least and largest inputs (n_u,)."""
        ...


def problem_of(
    scenario: str | Path | Scenario,
    *,
    spread: float = 0.02,
    cost: Cost | None = None,
    bounds: tuple[float, float] | None = None,
) -> EnvironmentProblem:
    """Return what the policy of a scenario has to do: its model, start, period, duration, and the cost it minimises.

    A plan that the policy follows is computed first. Works for scenarios whose main run is one of `trundle.simulate`
    under a policy.

    Parameters
    ----------
    scenario : str, Path or Scenario
        A name, a file, or what `trundle.load_scenario` returns.
    spread : float
        Standard deviation of the starts in independent coordinates (m, rad, m/s, rad/s) about the scenario's.
    cost : callable, optional
        In place of the policy's own, see `EnvironmentProblem`.
    bounds : (low, high), optional
        Of every input, in place of the policy's limits.

    Raises
    ------
    InputError
        If the scenario has no such run, or its policy tells no cost or bounds and none is given.
    """
    non_negative("spread", spread)
    read = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    call = main_simulation(read)
    if call is None or isinstance(call.model, ContactSystem) or call.policy is None or call.policy.period is None:
        raise InputError("scenario", read.name, "one whose main run is a simulation under a policy")
    own = next((policy for policy in inner_policies(call.policy) if isinstance(policy, Costed)), None)
    low, high = _bounds(call.model.system.model().u.shape[0], own, bounds)
    running = cost or (None if own is None else own.running_cost)
    if running is None:
        raise InputError("cost", None, "a function of time, state and input: the scenario's policy tells none")
    start = partial(_near, call.model, call.start, spread)
    return EnvironmentProblem(call.model, start, call.policy.period, call.duration, low, high, running)


def _bounds(size: int, own: Costed | None, given: tuple[float, float] | None) -> tuple[FloatArray, FloatArray]:
    low, high = own.input_bounds if given is None and own is not None else given or (-np.inf, np.inf)
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        raise InputError("bounds", given, "two finite numbers: the scenario's policy has no limits of its own")
    return np.broadcast_to(low, (size,)).astype(np.float64), np.broadcast_to(high, (size,)).astype(np.float64)


def _near(model: RollingPair | RollingTree, start: Start, spread: float, rng: np.random.Generator) -> Start:
    return displace_start(model, start, lambda n: spread * rng.standard_normal(n))


def register() -> list[str]:
    """Register every named scenario as ``trundle/<name>-v0`` and return these names.

    `import trundle.environments` does this. ``gymnasium.make`` builds a scenario when it is asked for; arguments go to
    `problem_of`.
    """
    found = []
    for name in catalogue.names():
        key = f"trundle/{name}-v0"
        if key not in gymnasium.registry:
            gymnasium.register(key, partial(_one, name), vector_entry_point=partial(_vector, name))
        found.append(key)
    return found


def _one(name: str, **options: float) -> RollingEnv:
    return RollingEnv(problem_of(name, **options))  # pyright: ignore[reportArgumentType]


def _vector(name: str, num_envs: int = 1, **options: float) -> RollingVectorEnv:
    return RollingVectorEnv(problem_of(name, **options), num_envs)  # pyright: ignore[reportArgumentType]
