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


@pytest.mark.parametrize(("m", "s", "kg"), [(1.0, 1.0, 1.0), (1e3, 1e3, 1e3)], ids=["SI", "a thousandth of each unit"])
def test_a_leg_that_jams_lifts_off_and_never_pulled(m: float, s: float, kg: float) -> None:
    """The force on a leg that slides grows like 1/sqrt(t) until no force can hold it (Painleve): it lifts off."""
    inertia, newton = kg * m**2, kg * m / s**2
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81 * m / s**2], on_slip="slide", on_separation="fly")
    trunk = robot.free(3.39 * kg, [0.00389394 * inertia, 0.00802458 * inertia, 0.00683141 * inertia], name="trunk")
    legs = {
        "l0": (robot.revolute, [0.0866, 0.05, -0.05], 0.36, [0.000557868, 0.000557868, 5.38207e-05], 0.0263, -0.0467),
        "l1": (robot.prismatic, [-0.0866, 0.05, -0.05], 0.625, [0.00139261, 0.00139261, 0.00013263], 0.0217, -0.056),
        "l2": (robot.revolute, [0.0, -0.1, -0.05], 0.76, [0.000782207, 0.000782208, 7.98984e-05], 0.0227, -0.0391),
    }
    stops = {"l0": (-0.538, 0.627), "l1": (-0.0664 * m, 0.0687 * m), "l2": (-0.71, 0.284)}
    foot = {"l0": -0.0934, "l1": -0.112, "l2": -0.0781}
    for name, (joint, at, mass, moments, radius, com) in legs.items():
        axis = [0.0, 0.0, 1.0] if name == "l1" else [0.0, 1.0, 0.0]
        leg = joint(
            trunk, [a * m for a in at], mass * kg, [one * inertia for one in moments], axis=axis,
            center_of_mass=[0.0, 0.0, com * m], shape=tr.Sphere(radius * m), shape_at=[0.0, 0.0, foot[name] * m],
            name=name,
        )  # fmt: skip
        robot.resist(leg, low=stops[name][0], high=stops[name][1])
    robot.terrain(tr.Plane(), friction=0.863)
    tree = robot.finish()
    rates = {"trunk": [0.0125 / s, -0.0108 / s, 0.865 / s, 0.0, 0.0, 0.0]}
    start = tree.place(trunk=[0.0, 0.0, 0.41 * m, 1.0, 0.0, 0.0, 0.0], l0=0.0, l1=0.0, l2=0.0, contacts=[], rates=rates)
    u, names = np.zeros(3), tree.model().input_layout
    for name, torque in {"l0": -0.000823 * newton * m, "l1": -0.368 * newton, "l2": -0.256 * newton * m}.items():
        u[names[f"{name}.torque"]] = torque
    policy = tr.FunctionPolicy(0.81 * s, lambda t, x: u)
    run = tr.simulate(tree, start, 0.29 * s, output_step=1e-3 * s, policy=policy)
    assert "the contact force reached zero" in {t["reason"] for t in run.transitions if 0.26 < t["time"] / s < 0.28}
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    n, force = run["contact_normal"], run["contact_force"]
    assert np.min(np.sum(np.asarray(n) * np.asarray(force), axis=-1)) > -1e-5 * newton
