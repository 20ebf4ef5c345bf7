"""One compiled controller for every set of contacts: of one that is apart nothing is left."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from bench import rover as rv
from trundle.contact.laws import ROLLING, SEPARATED
from trundle.control import InverseDynamics, InverseDynamicsPolicy
from trundle.control.inverse_dynamics import tasks as tk
from trundle.records.policy import AroundPolicy

SETS = [(1, 1), (1, 0), (0, 1), (0, 0)]


@pytest.mark.parametrize(("form", "solver"), [("torque", "daqp"), ("force", "piqp"), ("full", "proxqp")])
def test_a_switched_contact_is_one_that_is_not_there(form: str, solver: str) -> None:
    model = rv.rover()
    dynamics = rv.rolling(model)
    x = rv.placed(model, dynamics) + 0.05 * np.random.default_rng(0).normal(size=model.x.shape[0])
    asked, on = rv.wishes(model, dynamics), ca.SX.sym("on", 2)
    cones = {"minimum": 1.0, "price": 1.0}
    options = {"form": form, "solver": solver, "damping": 1e-6, "reference": asked.reference}
    terms = dynamics.terms
    limits = [
        tk.torque_limit(150.0),
        *tk.contact_limits(model.constraints, terms.kin, terms.split, touching=on, **cones),
    ]
    switched = InverseDynamics(dynamics, asked.tasks, limits, touching=on, **options)
    assert switched.contacts == 2
    for touching in SETS:
        there = model.dynamics([ROLLING if one else SEPARATED for one in touching])
        terms = there.terms
        limits = [tk.torque_limit(150.0), *tk.contact_limits(model.constraints, terms.kin, terms.split, **cones)]
        plain = InverseDynamics(there, asked.tasks, limits, **options)
        one, other = switched(x, [0.5, 0.62, 0.0], (), touching), plain(x, [0.5, 0.62, 0.0])
        assert one.status is other.status is tr.Status.SUCCESS
        np.testing.assert_allclose(one.nudot, other.nudot, atol=5e-6)
        np.testing.assert_allclose(one.u, other.u, atol=1e-6)
        forces = one.lam.reshape(2, 2)
        np.testing.assert_array_equal(forces[np.array(touching) == 0], 0.0)
        np.testing.assert_allclose(forces[np.array(touching) == 1].ravel(), other.lam, atol=1e-5)
    np.testing.assert_array_equal(switched(x, [0.5, 0.62, 0.0]).u, switched(x, [0.5, 0.62, 0.0], (), (1, 1)).u)
    assert switched(x, [0.5, 0.62, 0.0], (), (1.0, np.nan)).status is tr.Status.NOT_FINITE


def test_forces_are_shared_among_those_that_touch() -> None:
    model = rv.rover(4)
    dynamics = rv.rolling(model)
    x, terms, on = rv.placed(model, dynamics), dynamics.terms, ca.SX.sym("on", 4)
    asked = rv.wishes(model, dynamics)
    frames = [k.frame for k in terms.kin]
    equal = tk.equal_normal_forces(frames, terms.split, 8, level=1, touching=on)
    limits = tk.contact_limits(model.constraints, terms.kin, terms.split, touching=on)
    run = InverseDynamics(dynamics, [*asked.tasks, equal], limits, reference=asked.reference, touching=on)
    f_n = ca.Function("f", [model.x], [ca.horzcat(*(frame[:, 1] for frame in frames))])(x)
    for touching in ((1, 1, 1, 1), (1, 0, 1, 1)):
        command = run(x, [0.5, 0.62, 0.0], (), touching)
        assert command.status is tr.Status.SUCCESS
        normal = np.sum(np.array(f_n).T * command.lam.reshape(4, 2), axis=1)
        assert normal[np.array(touching) == 0].max(initial=0.0) == 0.0
        held = normal[np.array(touching) == 1]
        assert held.min() > 30.0
        np.testing.assert_allclose(command.task_errors()["equal_forces"][np.array(touching) == 0], 0.0)


def test_wrong_numbers_of_contacts_are_refused() -> None:
    model = rv.rover()
    dynamics = rv.rolling(model)
    asked = rv.wishes(model, dynamics)
    for options in ({"touching": ca.SX.sym("on", 3)}, {"compliance": [0.0]}):
        with pytest.raises(tr.InputError, match=next(iter(options))):
            InverseDynamics(dynamics, asked.tasks, asked.limits, reference=asked.reference, **options)


class Heard:
    """A controller that answers which contacts it was told of."""

    contacts, remembers = 2, False

    def __init__(self) -> None:
        model = rv.rover()
        dynamics = rv.rolling(model)
        asked = rv.wishes(model, dynamics)
        self.real = InverseDynamics(dynamics, asked.tasks, asked.limits, reference=asked.reference)
        self.layout, self.inputs = self.real.layout, self.real.inputs
        self.x, self.told = rv.placed(model, dynamics), []

    def __call__(self, state, reference, last, touching):
        self.told.append(tuple(int(one) for one in touching))
        return self.real(state, reference)

    def unchangeable(self, state, reference, last, touching):
        return self.real.unchangeable(state, reference)


def test_a_policy_learns_of_contacts_late() -> None:
    events = {0: (True, True), 3: (False, True), 5: (False, False), 6: (True, True)}
    for delay, shift in ((0.0, 0), (0.02, 2)):
        heard = Heard()
        policy = InverseDynamicsPolicy(heard, lambda t: [0.5, 0.62, 0.0], 0.01, contact_delay=delay)
        wrapped = tr.Delayed(tr.Noisy(policy, 0.0), 0.01, np.zeros(6))
        wrapped.reset()
        now = (True, True)
        truth = []
        for k in range(10):
            now = events.get(k, now)
            truth.append(tuple(int(one) for one in now))
            wrapped.sense_contacts(0.01 * k, now)
            wrapped(0.01 * k, heard.x)
        assert heard.told == [truth[max(0, k - shift)] for k in range(10)]


class Remembering:
    """A policy on a planar pair that remembers which contacts it was told of."""

    period = 0.01

    def __init__(self) -> None:
        self.told: list[tuple[bool, ...]] = []

    def reset(self) -> None:
        pass

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        self.told.append(touching)

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        return np.zeros(3)


DISC = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.1), tr.Hand(tr.Line()))
AROUND = {
    tr.Noisy: lambda policy: tr.Noisy(policy, 0.0),
    tr.control.Sensed: lambda policy: tr.control.Sensed(policy, DISC, tr.control.Camera(period=0.02)),
    tr.control.Actuated: lambda policy: tr.control.Actuated(policy, 3),
    tr.control.Faulty: lambda policy: tr.control.Faulty(policy, tr.control.Faults()),
    tr.control.Watchdog: lambda policy: tr.control.Watchdog(policy, 3),
}


@pytest.mark.parametrize("kind", AROUND, ids=lambda kind: kind.__name__)
def test_a_policy_around_another_hands_on_contacts_and_has_its_period(kind: type) -> None:
    inner = Remembering()
    policy = AROUND[kind](inner)
    assert policy.period == 0.01
    policy.sense_contacts(0.0, (True, False))
    assert inner.told == [(True, False)]


def test_every_policy_around_another_is_tried() -> None:
    known = {kind for kind in AroundPolicy.__subclasses__() if kind.__module__.startswith("trundle.")}
    assert set(AROUND) == known
