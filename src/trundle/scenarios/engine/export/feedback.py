"""A controller that is a schedule of gains on the local error, as arrays and one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control import BalancingLQR, TrackingLQR


@dataclass(frozen=True)
class Feedback:
    """Sampled feedback u = held - K e: arrays over N + 1 sampling times, of which row N applies after the end.

    Attributes
    ----------
    law : casadi.Function
        (x, features of the reference, held input, K by rows) -> u.
    period, first, last : float s
    reference, held, gains : (N + 1, n_phi), (N + 1, n_u), (N + 1, n_used * n_e)
    """

    law: ca.Function
    policy: BalancingLQR | TrackingLQR
    period: float
    first: float
    last: float
    reference: FloatArray
    held: FloatArray
    gains: FloatArray

    def __str__(self) -> str:
        """Return what was written."""
        used, size = len(self.policy.used), self.policy.error.size
        return f"{type(self.policy).__name__}, {len(self.gains)} gains of {used} x {size}"


def feedback_of(policy: BalancingLQR | TrackingLQR) -> Feedback | str:
    """Return a linear controller as arrays; or why it cannot be written."""
    error, used = policy.error, list(policy.used)
    last_one = policy if isinstance(policy, BalancingLQR) else policy.after
    if last_one is not None and len(last_one.regulator.C):
        return "its integrals have a state of their own (leave out controller.integral)"
    if isinstance(policy, BalancingLQR):
        reference = error.of_reference(policy.target.x)[None]
        held, gains = np.zeros((1, error.inputs)), policy.regulator.K[None]
        first, last = 0.0, 0.0
    else:
        reference = error.of_reference(policy.states)
        # As TrackingLQR does: the mean of the reference's inputs over each period, none after the end.
        held = np.vstack([(policy.inputs[:-1] + policy.inputs[1:]) / 2, np.zeros((1, error.inputs))])
        final = policy.schedule.K[-1]
        if policy.after is not None:
            final = policy.after.regulator.K
            reference = np.vstack([reference[:-1], policy.after.error.of_reference(policy.after.target.x)])
        gains = np.concatenate([policy.schedule.K[: len(held) - 1], final[None]])
        first, last = float(policy.times[0]), float(policy.times[-1])
    law = _law(policy, used)
    flat = gains.reshape(len(gains), -1)
    return Feedback(law, policy, policy.period, first, last, np.atleast_2d(reference), held, flat)


def _law(policy: BalancingLQR | TrackingLQR, used: Sequence[int]) -> ca.Function:
    """Return (x, reference, held, K) -> u: the local error, the gains and the limits."""
    error = policy.error
    candidates = error.feature_functions()
    x = ca.SX.sym("x", candidates[0].size1_in(0))
    features, amiss = candidates[0](x)
    for function in candidates[1:]:
        # The state does not say which charts it is on: they are those for which the bodies touch.
        other, distance = function(x)
        nearer = distance < amiss
        features, amiss = ca.if_else(nearer, other, features), ca.if_else(nearer, distance, amiss)
    reference, held = ca.SX.sym("reference", features.shape[0]), ca.SX.sym("held", error.inputs)
    K = ca.SX.sym("K", len(used) * error.size)
    u = ca.SX(held)
    u[list(used)] -= ca.reshape(K, error.size, len(used)).T @ error.expression(reference, features)
    for i, (low, high) in enumerate(zip(policy.limit.low, policy.limit.high, strict=True)):
        u[i] = ca.fmin(u[i], float(high)) if np.isfinite(high) else u[i]
        u[i] = ca.fmax(u[i], float(low)) if np.isfinite(low) else u[i]
    names = (["x", "reference", "held", "K"], ["u"])
    return ca.Function("law", [x, reference, held, K], [ca.densify(u)], *names, {"cse": True})
