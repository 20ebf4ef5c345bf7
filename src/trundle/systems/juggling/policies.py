"""Policies of kind `juggling` from [controller] and [noise]: about an equilibrium or along a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trundle.models import RollingPair
from trundle.models.tree.system import Start
from trundle.problems import Reference
from trundle.systems.juggling.plants import Draw

if TYPE_CHECKING:
    from trundle.control import BalancingLQR
    from trundle.records import Policy
    from trundle.systems.juggling.schema_control import Controlled
    from trundle.systems.juggling.schema_goals import StateWeights


def regulator(pair: RollingPair, goal: Start, tables: Controlled) -> BalancingLQR:
    """Return the regulator of [controller] about an equilibrium."""
    from trundle.control import BalancingLQR

    table = tables.controller
    return BalancingLQR(pair, goal, _weights(table.state, pair, table.rolled), **_settings(pair, tables))


def follower(pair: RollingPair, reference: Reference, goal: Start | None, tables: Controlled) -> Policy:
    """Return the controller along a plan; with `goal` it hands over to the regulator there as [controller] says."""
    from trundle.control import Switching, TrackingLQR, attraction_level

    table = tables.controller
    Q = _weights(table.state, pair, table.rolled)
    final = {name: table.final * value for name, value in Q.items()}
    track = TrackingLQR(pair, reference, Q, final=final, **_settings(pair, tables))
    if goal is None:
        return track
    balance = regulator(pair, goal, tables)
    level = table.switch_factor * attraction_level(balance) if table.switch is True else float(table.switch)
    return Switching(track, balance, level)


def sensed(policy: Policy, pair: RollingPair, tables: Controlled, draw: Draw | None, seed: int = 0) -> Policy:
    """Return the policy as run: measuring by the camera of [noise], if given, and with a trial's bias on its output."""
    from trundle.control import Actuated, Camera, Sensed

    noise, table = tables.noise, tables.controller
    if noise is not None:
        camera = Camera(**noise.values(), delay=noise.camera_delay, seed=seed if draw is None else draw.seed)
        policy = Sensed(policy, pair, camera, plant=None if draw is None else draw.pair, **table.values(Sensed))
    return policy if draw is None else Actuated(policy, len(draw.bias), bias=draw.bias)


def noted(policy: Policy) -> dict[str, Any]:
    """Return the level of a `Switching` and when it switched, for a run's metadata."""
    from trundle.control import Actuated, Sensed, Switching

    while isinstance(policy, Actuated | Sensed):
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
        "integral": table.integral.model_dump(),
    }


def _weights(table: StateWeights, pair: RollingPair, rolled: str) -> dict[str, float]:
    """Return the weights of the error's parts that the pair has."""
    weights = table.model_dump()
    if pair.d == 2:
        del weights["contact" if rolled == "rotation" else "object_rotation"]
    return weights
