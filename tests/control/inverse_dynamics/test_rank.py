"""Tasks that no input can change take nothing from the levels below; what is round-off is judged by its terms."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trundle as tr
from tests.control.inverse_dynamics.cart import cart_controller
from trundle.control.inverse_dynamics.inverse_dynamics import inverse_dynamics
from trundle.control.inverse_dynamics.policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics.tasks import Task, smallest_torques

FORMS = ("torque", "force", "full")


class System:
    """Random equations of motion of bodies of `size` (m) and of mass size^3 (kg), with contacts and a few torques."""

    def __init__(self, seed: int, size: float = 1.0) -> None:
        self.rng = rng = np.random.default_rng(seed)
        nv = self.nv = int(rng.integers(4, 9))
        self.m, self.n_u = int(rng.integers(1, nv - 2)), int(rng.integers(2, nv - 1))
        # Coordinates are lengths or angles: an entry of M is mass times a length for each angle.
        self.unit = np.where(rng.random(nv) < 0.5, 1.0, size)
        root = rng.normal(size=(nv, nv))
        self.M = size**3 * np.outer(self.unit, self.unit) * (root @ root.T + 0.3 * np.eye(nv))
        self.S = np.eye(nv)[:, rng.permutation(nv)[: self.n_u]]
        self.J = rng.normal(size=(self.m, nv)) * self.unit
        self.h = size**3 * self.unit * rng.normal(size=nv)
        self.b = rng.normal(size=self.m)
        self.torque = size**3

    def task(self, name: str, rows: int, level: int) -> Task:
        A = self.rng.normal(size=(rows, self.nv)) * self.unit
        return Task(name, A, self.rng.normal(size=rows), level=level)

    def held(self, name: str, level: int) -> Task:
        """A task that contacts keep from changing."""
        A = self.rng.normal(size=(1, self.m)) @ self.J
        return Task(name, A, self.rng.normal(size=1), level=level)

    def least_torques(self, level: int) -> Task:
        return smallest_torques(self.n_u, 1.0 / self.torque**2, level)

    def command(self, tasks: list[Task], form: str) -> Any:
        found = inverse_dynamics(
            self.M, self.h, self.S, self.J, self.b, [], tasks, form=form, damping=1e-13 / self.torque**2
        )
        assert found.usable, found.solution
        return found


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), form=st.sampled_from(FORMS), size=st.sampled_from([0.01, 1.0]))
def test_a_task_that_contacts_hold_takes_nothing_from_the_levels_below(seed: int, form: str, size: float) -> None:
    system = System(seed, size)
    if system.n_u + system.m > system.nv:  # no torque is free of the contacts then
        return
    below = [system.task("below", 1, 1), system.least_torques(2)]
    first = system.task("first", 1, 0)
    alone = system.command([first, *below], form)
    both = system.command([first, system.held("held", 0), *below], form)
    later = [Task(task.name, task.A, task.target, task.weight, task.level + 1, task.on) for task in (first, *below)]
    before = system.command([system.held("held", 0), *later], form)
    for found in (both, before):
        np.testing.assert_allclose(found.u, alone.u, rtol=1e-5, atol=1e-5 * np.abs(alone.u).max())


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), form=st.sampled_from(FORMS), factor=st.sampled_from([1.0, -3.7, 1e4, 1e-4]))
def test_a_task_that_is_asked_again_takes_nothing_more(seed: int, form: str, factor: float) -> None:
    system = System(seed)
    if system.n_u + system.m > system.nv:
        return
    first, second = system.task("first", 1, 0), system.task("second", 1, 2)
    last = system.least_torques(3)
    again = Task("again", factor * first.A, 5.0 * first.target, level=1, weight=1 / factor**2)
    alone, both = system.command([first, second, last], form), system.command([first, again, second, last], form)
    np.testing.assert_allclose(both.u, alone.u, rtol=1e-5, atol=1e-5 * np.abs(alone.u).max())


@pytest.mark.parametrize("form", FORMS)
def test_the_torques_of_a_brake_do_not_depend_on_a_pitch_that_none_can_change(form: str) -> None:
    """The cart of two wheels: a row of 1e-17 took one of two torques from the speed."""
    levels, together = (cart_controller(level, form) for level in (1, 0))
    x = levels.start.x
    strict, one = levels.controller(x, levels.reference), together.controller(x, together.reference)
    assert strict.usable
    speed = strict.task_errors()["speed"]
    np.testing.assert_allclose(speed, one.task_errors()["speed"], atol=1e-4)
    np.testing.assert_allclose(strict.u, one.u, atol=1e-3 * np.abs(one.u).max())
    assert np.abs(speed).max() < 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_the_task_that_no_torque_can_change_is_named(form: str, caplog: pytest.LogCaptureFixture) -> None:
    cart = cart_controller(1, form)
    assert cart.controller.unchangeable(cart.start.x, cart.reference) == ("pitch",)
    policy = InverseDynamicsPolicy(cart.controller, lambda time: cart.reference, 0.01)
    with caplog.at_level(logging.WARNING, "trundle"):
        run = tr.simulate(cart.tree, cart.start, 0.1, policy=policy)
    assert run.status is tr.Status.SUCCESS
    assert policy.unchangeable == {"pitch": 0.0}
    assert [record.getMessage() for record in caplog.records] == [
        "at 0 s no torque can change the task pitch: it is not served"
    ]
