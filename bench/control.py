"""``python -m bench.control``: time to compute gains, and what a closed loop costs per simulated second.

Processor time of this process, best of five, so that a busy machine does not spoil it.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import trundle as tr
from trundle.control import Linearization, LocalError
from trundle.control.regulators.linearization import dynamics_of
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.records.reference import Reference

Q = {
    "hand_rotation": 10.0,
    "hand_position": 100.0,
    "object_rotation": 10.0,
    "contact": 1e4,
    "hand_angular_velocity": 1.0,
    "hand_velocity": 10.0,
    "relative_velocity": 0.5,
}
R = {"hand_angular_acceleration": 0.01, "hand_acceleration": 0.01}
DURATION = 2.0


def best(call: Callable[[], object], count: int = 5) -> float:
    """Return the smallest processor time of a call, s."""
    times = []
    for _ in range(count):
        begin = clock.process_time()
        call()
        times.append(clock.process_time() - begin)
    return min(times)


def flow(rate: Any, x: np.ndarray, u: np.ndarray, duration: float, steps: int = 10) -> np.ndarray:
    """Return the state after `duration` under a held input, by Runge and Kutta's fourth-order rule."""
    h = duration / steps
    for _ in range(steps):
        k1 = rate(x, u)
        k2 = rate(x + h / 2 * k1, u)
        k3 = rate(x + h / 2 * k2, u)
        k4 = rate(x + h * k3, u)
        x = np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)).ravel()
    return x


def plate(law: str) -> tuple[tr.RollingPair, Reference]:
    """Woodruff & Lynch's ball on a plate that tilts there and back within 2 s, and what it does then."""
    import casadi as ca

    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216), tr.Hand(tr.Plane()), law=law, friction=0.5)
    start = in_rolling_coordinates(pair, pair.place())
    error = LocalError(pair, start.atlas)
    rate = ca.Function("rate", [error.model.x, error.model.u], [dynamics_of(error).xdot])
    times = np.linspace(0.0, DURATION, 201)
    h, w = times[1], np.pi / DURATION
    tilt = 0.04 / 7 * 8 * w**4 * (4 * np.cos(4 * w * times) - np.cos(2 * w * times))
    inputs = np.zeros((201, 6))
    inputs[:, 0], inputs[:, 1], inputs[:, 2] = 0.5 * tilt, tilt, np.sin(2 * w * times)
    states = [start.x]
    for before, after in pairwise(inputs):
        states.append(flow(rate, states[-1], (before + after) / 2, h, 1))
    return pair, Reference(times, np.array(states), inputs, start.atlas)


def main() -> None:
    """Print the lines."""
    for law in ("rolling", "pure-rolling"):
        pair, reference = plate(law)
        policy = tr.TrackingLQR(pair, reference, Q, R)
        gains = best(lambda: tr.TrackingLQR(pair, reference, Q, R))  # noqa: B023
        linear = best(lambda: Linearization(policy.error).along(reference.states, reference.inputs))  # noqa: B023
        start = pair.place(contact_on_hand=[0.004, 0.0, 0.0])
        call = best(lambda: [policy(1.0, start.x) for _ in range(1000)]) / 1000  # noqa: B023
        loop = best(lambda: tr.simulate(pair, start, DURATION, policy=policy), 3) / DURATION  # noqa: B023
        sensed = tr.control.Sensed(policy, pair, tr.control.Camera(delay=0.004, position_sigma=5e-4, angle_sigma=5e-3))
        seen = best(lambda: tr.simulate(pair, start, DURATION, policy=sensed), 3) / DURATION  # noqa: B023
        print(f"plate, {law}: {policy.error.size} errors, 6 inputs, {DURATION:g} s at 1 kHz")
        print(f"  gains                          {gains:8.3f} s  (of which 201 linearisations {linear:.3f} s)")
        print(f"  one call of the policy         {1e6 * call:8.0f} us")
        print(f"  closed loop, a simulated second{loop:8.3f} s  (with camera and estimator {seen:.3f} s)")


if __name__ == "__main__":
    main()
