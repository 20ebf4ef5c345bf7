"""Contacts that come apart by less than any gap that counts, and fall back under other forces."""

from __future__ import annotations

import numpy as np

import trundle as tr
from trundle.status import Status


class Hop:
    """Hold a mass of 1 kg inside a ball of 1 kg, but for one period of 4 ms: then lift the ball by it, barely."""

    period = 4e-3

    def reset(self) -> None: ...

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        lifted = 0.02 - 1e-9 <= time < 0.024 - 1e-9
        return np.array([-9.81 * (1 + 1e-7) if lifted else 9.81])


def test_a_hop_that_is_cut_off_lands_again() -> None:
    """It rises by 4e-12 m: too little for its gap to be armed, so nothing but its depth tells that it is back."""
    robot = tr.Robot(gravity=[0, 0, -9.81], on_slip="slide", on_separation="fly")
    ball = robot.free(1.0, shape=tr.Sphere(0.1))
    robot.prismatic(ball, (0, 0, 0), 1.0, [0.01, 0.01, 0.01], axis=(0, 0, 1), name="mass")
    robot.terrain(tr.Plane())
    tree = robot.finish()
    start = tree.place(base=(0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0), mass=0.0)
    run = tr.simulate(tree, start, 0.1, policy=Hop())
    assert run.status is Status.SUCCESS
    assert run["gap"].min() > -2e-7
    assert [t["reason"] for t in run.transitions] == ["the contact force reached zero", "the gap closed"]
    assert run["mode"][-1, 0] == "rolling"
    assert abs(run["contact_force"][-1, 0, 2] - 2 * 9.81) < 1e-6
