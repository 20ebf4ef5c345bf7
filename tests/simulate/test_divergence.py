"""Closed loops that drive bodies faster without end stop early, and say which body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from trundle.models.tree.touching import speeds_at


def cart() -> tr.RollingTree:
    robot = tr.Robot()
    slider = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")
    robot.revolute(slider, (0, 0), 0.2, 0.005, center_of_mass=(0, 0.5), name="pole", actuated=False)
    return robot.finish()


def test_speed_is_that_of_the_center_of_mass_and_of_turning_at_the_radius_of_gyration() -> None:
    tree = cart()
    x = tree.place(pole=0.3, rates={"cart": 2.0, "pole": -4.0}).x
    velocity = np.array([2.0, 0.0]) - 4.0 * 0.5 * np.array([-np.cos(0.3), -np.sin(0.3)])
    pole = np.linalg.norm(velocity) + 4.0 * np.sqrt(0.005 / 0.2)
    found = speeds_at(tree.system, tree.system.first_atlas, x)
    assert found == pytest.approx({"terrain": 0.0, "cart": 2.0, "pole": pole})


def test_a_loop_that_diverges_ends_early_and_names_what_runs_away() -> None:
    tree, calls = cart(), []

    def law(time: float, state: np.ndarray) -> np.ndarray:
        """Feedback at eight times the gain that its period bears."""
        calls.append(time)
        return 8.0 * stable(time, state)

    stable = tr.lqr(tree, tree.place(), {"cart.joint": 20.0, "pole.joint": 10.0}, {"cart.torque": 1.0}, 0.05)
    run = tr.simulate(tree, tree.place(pole=0.2), 60.0, policy=tr.FunctionPolicy(0.05, law))
    assert run.status is tr.Status.DIVERGED
    end = run.transitions[-1]
    assert end["to"] == "diverged"
    assert "cart moves at" in end["reason"] == run.metadata["message"]
    assert len(calls) < 20
    assert run["time"][-1] == end["time"] < 1.0
    assert 1e3 < np.abs(run["joint_velocity"][-1]).max() < 1e6
    assert tr.simulate(tree, tree.place(pole=0.2), 2.0, policy=stable).status is tr.Status.SUCCESS


def test_a_loop_of_the_wrong_sign_whose_force_is_limited_goes_on() -> None:
    """In t a force u brings a mass m at most u t / m: nothing runs away, and the pole swings below the cart."""
    tree, most = cart(), 20.0
    stable = tr.lqr(tree, tree.place(), {"cart.joint": 20.0, "pole.joint": 10.0}, {"cart.torque": 1.0}, 0.02)
    wrong = replace(stable, gains=-np.asarray(stable.gains), low=-most, high=most)
    run = tr.simulate(tree, tree.place(pole=0.2), 20.0, policy=wrong)
    assert (run.status, run.time[-1]) == (tr.Status.SUCCESS, 20.0)
    assert np.abs(run["joint_position"][-1, 1]) > 0.5
    assert np.abs(run["joint_velocity"][:, 0]).max() < most * 20.0 / 1.2


def test_many_runs_diverge_as_one_does() -> None:
    tree = cart()
    law = tr.lqr(tree, tree.place(), {"cart.joint": 20.0, "pole.joint": 10.0}, {"cart.torque": 1.0}, 0.05)
    starts = [tree.place(pole=0.2), tree.place(pole=1e-3)]
    runs = tr.simulate_many(tree, starts, 0.52, policies=replace(law, gains=8.0 * np.asarray(law.gains)))
    assert [runs[i].status for i in (0, 1)] == [tr.Status.DIVERGED, tr.Status.SUCCESS]
    assert "cart moves at" in runs[0].metadata["message"]


def test_a_body_that_starts_fast_or_falls_long_does_not_diverge() -> None:
    robot = tr.Robot()
    robot.free(1.0, 0.01, name="probe")
    tree = robot.finish()
    idle = tr.FunctionPolicy(10.0, lambda time, state: np.zeros(0))
    for speed, duration in ((1e6, 100.0), (0.0, 3000.0)):
        start = tree.place(rates={"probe": (0.0, speed, 0.0)})
        assert tr.simulate(tree, start, duration, policy=idle).status is tr.Status.SUCCESS, speed
