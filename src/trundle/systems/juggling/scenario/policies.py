"""Policies of kind `juggling` from [controller] and [noise]: about an equilibrium or along a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from trundle.checks import FloatArray
from trundle.control import (
    Actuated,
    BalancingLQR,
    Camera,
    LocalError,
    Sensed,
    Switching,
    TrackingLQR,
    attraction_level,
)
from trundle.errors import InputError
from trundle.models import RollingPair
from trundle.models.tree.system import Start
from trundle.records import Policy
from trundle.records.policy import AroundPolicy
from trundle.records.reference import Reference
from trundle.scenarios.engine.log import RUN
from trundle.scenarios.faults import guard_policy
from trundle.systems.juggling.scenario.plants import Draw
from trundle.systems.juggling.scenario.schema_control import Controlled
from trundle.systems.juggling.scenario.schema_goals import CameraNoiseTable, StateWeights

_ROUND = 1e-9  # s: round-off of sums of periods


@contextmanager
def _name_weights(tables: Controlled) -> Iterator[None]:
    """Give what no gain stabilises, or weights do not see, the key of the file's weights."""
    try:
        yield
    except InputError as error:
        if error.key not in ("A, B", "policy"):
            raise
        raise InputError("controller.state", tables.controller.state.model_dump(), error.allowed) from None


def regulator(pair: RollingPair, goal: Start, tables: Controlled) -> BalancingLQR:
    """Return the regulator of [controller] about an equilibrium."""
    table = tables.controller
    with _name_weights(tables):
        return BalancingLQR(pair, goal, _weights(table.state, pair, table.rolled), **_settings(pair, tables))


def tracker(pair: RollingPair, reference: Reference, tables: Controlled) -> TrackingLQR:
    """Return the controller along a plan; the weight of its end is as large as the noise of [noise] lets it be."""
    table, noise = tables.controller, None
    Q = _weights(table.state, pair, table.rolled)
    final = {name: table.final * value for name, value in Q.items()}
    if tables.noise is not None:
        error = LocalError(pair, reference.atlas, table.rolled)
        noise = _camera(tables.noise).error_covariance(error, **table.values(Sensed))
    track = TrackingLQR(pair, reference, Q, final=final, noise=noise, **_settings(pair, tables))
    RUN.info("weights of the plan's end: %g times those of the state", table.final * track.final_share)
    return track


@dataclass(eq=False)
class Replanning:
    """Follows a plan, and every so often a new one from the measured state to the goal: a `Policy`.

    Parameters
    ----------
    first : TrackingLQR
    again : callable
        (time, state, time left) -> the controller along a new plan, or None: then the last one goes on.
    every : float, s
        Between plans; there is none over less than that. How long planning takes is not simulated.
    """

    first: TrackingLQR
    again: Callable[[float, FloatArray, float], TrackingLQR | None]
    every: float

    def __post_init__(self) -> None:
        self.reset()

    @property
    def period(self) -> float | None:
        """That of the first policy."""
        return self.first.period

    def reset(self) -> None:
        """Follow the first plan again."""
        self.first.reset()
        self._now, self._plans = self.first, 0

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) of the controller along the latest plan."""
        left = float(self.first.times[-1]) - time
        if time >= self._plans * self.every - _ROUND and left >= self.every - _ROUND:
            self._plans += 1
            self._now = self.again(time, state, left) or self._now
        return self._now(time, state)


def follower(pair: RollingPair, track: Policy, goal: Start | None, tables: Controlled) -> Policy:
    """Return `track`; with `goal` it hands over to the regulator there as [controller] says."""
    if goal is None:
        return track
    table, balance = tables.controller, regulator(pair, goal, tables)
    with _name_weights(tables):
        level = table.switch_factor * attraction_level(balance) if table.switch is True else float(table.switch)
    return Switching(track, balance, level)


def guarded_on(policy: Policy, pair: RollingPair, tables: Controlled, seed: int) -> Policy:
    """Return the policy inside the watchdog and the faults of the tables, on a hand with 3 or 6 inputs."""
    return guard_policy(policy, 3 if pair.d == 2 else 6, tables, seed)


def add_sensors(policy: Policy, pair: RollingPair, tables: Controlled, draw: Draw | None, seed: int = 0) -> Policy:
    """Return the policy as run: measuring by the camera of [noise], if given, and with a trial's bias on its output."""
    noise, table = tables.noise, tables.controller
    policy = guarded_on(policy, pair, tables, seed if draw is None else draw.seed)
    if noise is not None:
        camera = _camera(noise, seed if draw is None else draw.seed)
        policy = Sensed(policy, pair, camera, plant=None if draw is None else draw.pair, **table.values(Sensed))
    return policy if draw is None else Actuated(policy, len(draw.bias), bias=draw.bias)


def _camera(noise: CameraNoiseTable, seed: int = 0) -> Camera:
    """Return the camera of [noise]."""
    return Camera(**noise.values(), delay=noise.camera_delay, seed=seed)


def describe_switching(policy: Policy) -> dict[str, Any]:
    """Return the level of a `Switching` and when it switched, for a run's metadata."""
    while isinstance(policy, AroundPolicy):
        policy = policy.policy
    found = isinstance(policy, Switching)
    return {"switching": {"level": policy.level, "switched_at": policy.switched_at}} if found else {}


def _settings(pair: RollingPair, tables: Controlled) -> dict[str, Any]:
    """Return the arguments that regulators about a plan and about an equilibrium share."""
    table, limits = tables.controller, tables.limits
    bound = [limits.angular_acceleration] * (1 if pair.d == 2 else 3) + [limits.linear_acceleration] * pair.d
    return {
        "R": table.input.model_dump(),
        "period": table.period,
        "freedoms": limits.freedoms if table.freedoms is None else table.freedoms,
        "input_limit": np.array(bound),
        "rolled": table.rolled,
        "lost": table.lost,
        "integral": {name: weight for name, weight in table.integral.model_dump().items() if weight},
    }


def _weights(table: StateWeights, pair: RollingPair, rolled: str) -> dict[str, float]:
    """Return the weights of the error's parts that the pair has."""
    weights = table.model_dump()
    if pair.d == 2:
        del weights["contact" if rolled == "rotation" else "object_rotation"]
    return weights
