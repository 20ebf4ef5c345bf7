"""Impacts and slips that have no simple end: several contacts, slips that stop, slips that jam."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.contact.law import Ending
from trundle.contact.laws import LAWS, SLIP_END
from trundle.simulate.compiled_mode import CompiledMode
from trundle.simulate.events.impact import Candidate, resolve_impact
from trundle.simulate.mode import Method, Mode

UP = np.array([0.0, 0.0, 1.0])


def four_feet(seed: int, mu: float) -> tuple[np.ndarray, dict[int, Candidate]]:
    """A random inertia and four contacts of which three were closed and one lands."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(18, 18))
    M, nu = root @ root.T + 4 * np.eye(18), rng.normal(size=18)
    J = rng.normal(size=(4, 3, 18))
    held = np.vstack(J[:3])
    nu = nu - np.linalg.pinv(held) @ held @ nu
    if UP @ J[3] @ nu > 0:
        nu = -nu
    return M, {i: Candidate(J[i], J[i] @ nu, UP, mu) for i in range(4)}


@pytest.mark.parametrize("mu", [0.1, 0.4, 0.8])
def test_a_landing_on_the_fourth_foot_is_decided(mu: float) -> None:
    """Feet that rolled may slide after it: impulses in the cones, nothing approaches, no energy comes in."""
    for seed in range(12):
        M, contacts = four_feet(seed, mu)
        impact = resolve_impact(M, contacts)
        assert impact.decided, seed
        if impact.rests:
            continue  # too slow to rock on: all stay closed, whatever the shares of their impulses
        gain = 0.0
        for i, c in contacts.items():
            after = c.velocity + c.J @ impact.jump
            push = impact.impulses.get(i, np.zeros(3))
            assert push[2] >= -1e-9
            assert np.linalg.norm(push[:2]) <= mu * push[2] + 1e-8
            assert after[2] >= -1e-8
            assert i in impact.laws or after[2] > 0
            gain += float(push @ (c.velocity + after)) / 2
        assert gain < 0


def test_an_inaccurate_run_sees_a_slip_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ball that slides and spins sideways: it rolls at last, at any tolerance, at the same time."""
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    ball = tr.RigidBody(tr.Sphere(0.1), 1.0)
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.3, on_slip="slide")
    start = pair.place(contact_on_hand=[0, 0, 0], object_angular_velocity=[3.0, -2.0, 4.0], slip=[0.4, 0.7, 0.0])
    times = []
    for tolerance in (1e-11, 1e-7, 1e-6):
        run = tr.simulate(pair, start, 0.6, relative_tolerance=tolerance)
        times.append(next(t["time"] for t in run.transitions if t["reason"] == "the slip came to rest"))
        assert run["mode"][-1] == "rolling"
    np.testing.assert_allclose(times, times[0], atol=1e-4)
    assert LAWS["sliding"].ending(SLIP_END) is LAWS["sliding"].ending("slip_speed") is Ending.STICKS
    phase = CompiledMode(pair.system, Mode(("sliding",), ((0, 0),)), False, Method(relative_tolerance=1e-7))
    assert phase.margins == ("contact.normal_force", "contact.slip_speed", f"contact.{SLIP_END}")
    held = CompiledMode(pair.system, Mode(("sliding",), ((0, 0),)), True, Method(relative_tolerance=1e-7))
    assert held.margins == phase.margins, "a walk's policy cuts it into pieces of 4 ms: in one of them a foot may stop"
