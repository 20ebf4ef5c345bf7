"""Corners of the table: the tip of the cone, jamming, landings that slip, spins, planar and spatial slides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.models.rigid_body import HandMotion
from trundle.simulate.events import states
from trundle.simulate.events.impact import Candidate, resolve_impact
from trundle.status import Status

Z = np.array([0.0, 0.0, 1.0])


def ball() -> tr.RigidBody:
    return tr.RigidBody(tr.Sphere(0.1), 0.5, "solid")


def shaken(**how: Any) -> tr.RollingPair:
    """A hand that drops away under a ball, and comes back."""
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([0, 0, 0, 0, 0, -20.0], [2.0] * 6))
    return tr.RollingPair(ball(), hand, friction=0.3, **how)


@pytest.mark.parametrize("rule", ["stop", "slide", "ignore"])
def test_a_ball_that_is_dropped_separates_and_does_not_slip(rule: str) -> None:
    """Force and cone margin vanish together at the tip of the cone."""
    run = tr.simulate(shaken(on_slip=rule), shaken().place(), 1.0)
    assert run.status is Status.SEPARATED
    assert run.time[-1] == pytest.approx(np.arcsin(9.81 / 20) / (4 * np.pi), abs=1e-8)
    assert run.feasible


def test_instant_of_landing_is_where_two_parabolas_meet() -> None:
    run = tr.simulate(shaken(on_separation="fly"), shaken().place(), 0.5, relative_tolerance=1e-12)
    away, landed = (t["time"] for t in run.transitions)
    om = 4 * np.pi

    def hand(t: float) -> float:
        return -20.0 / om * (t - np.sin(om * t) / om)

    def ball_height(t: float) -> float:
        speed = -20.0 / om * (1 - np.cos(om * away))
        return hand(away) + speed * (t - away) - 9.81 / 2 * (t - away) ** 2

    assert hand(landed) == pytest.approx(ball_height(landed), abs=1e-11)
    at = int(np.searchsorted(run.time, landed))
    np.testing.assert_allclose(run["object_velocity"][at + 1 :, 2], run["hand_velocity"][at + 1 :, 2], atol=1e-12)


@pytest.mark.parametrize(("rule", "status"), [("stop", "slipped"), ("slide", "success")])
def test_a_landing_that_slips_obeys_the_rule(rule: str, status: str) -> None:
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([0, 0, 0, 9.0, 0, -30.0], [2, 2, 2, 1.1, 2, 2]))
    pair = tr.RollingPair(ball(), hand, friction=5.0, on_separation="fly")
    away = tr.simulate(pair, pair.place(), 0.6).transitions[0]["time"]
    low = tr.RollingPair(ball(), hand, friction=0.02, on_slip=rule, on_separation="fly")
    run = tr.simulate(low, low.place(), away * 0.5)
    if rule == "slide":
        run = tr.simulate(low, low.place(), 0.6)
        assert "sliding" in [t["to"] for t in run.transitions if t["reason"] == "the gap closed"]
    assert run.status.label == status


@pytest.mark.parametrize("angle", [0.8, 1.0, 1.2])
def test_painleves_rod_stops_by_an_impact_without_collision(angle: float) -> None:
    """A rod slides on its tip, mu = 2 above 4/3: no force agrees; D L = -v stops the tip at once, L in the cone."""
    half, mass, mu = 0.5, 1.0, 2.0
    inertia = mass * (2 * half) ** 2 / 12
    body = tr.RigidBody(tr.Circle(1e-6), mass, inertia, center_of_mass=[half * np.cos(angle), half * np.sin(angle)])
    pair = tr.RollingPair(body, tr.Ground(tr.Line(0.0, 0.0)), friction=mu, on_slip="slide", on_separation="fly")
    run = tr.simulate(pair, pair.place(slip=-1.0), 1e-3, output_step=1e-5)
    assert run.status is Status.SUCCESS
    assert [t["to"] for t in run.transitions] == ["sliding", "time stepping", "rolling"]
    assert "Painleve" in run.transitions[1]["reason"]
    J = np.array([[1.0, 0.0, half * np.sin(angle)], [0.0, 1.0, -half * np.cos(angle)]])
    D = J @ np.diag([1 / mass, 1 / mass, 1 / inertia]) @ J.T
    assert D[1, 1] + mu * D[1, 0] < 0.0, "Painleve's condition"
    push = np.linalg.solve(D, [1.0, 0.0])
    assert push[1] > 0.0
    assert abs(push[0]) <= mu * push[1]
    np.testing.assert_allclose(run["body_angular_velocity"][1, 0], (J.T @ push)[2] / inertia, atol=2e-3)
    assert np.diff(run["energy"].ravel()).max() < 1e-9


def test_a_wheel_with_its_mass_off_centre_and_much_friction_goes_on() -> None:
    body = tr.RigidBody(tr.Circle(0.1), 0.5, 0.001, center_of_mass=[0.05, 0.0])
    pair = tr.RollingPair(body, tr.Ground(tr.Line(0.0, 0.0)), friction=5.0, on_slip="slide", on_separation="fly")
    run = tr.simulate(pair, pair.place(angular_velocity=-20.0), 1.0)
    assert run.status is Status.SUCCESS
    assert run["gap"].min() > -1e-9
    assert np.diff(run["energy"].ravel()).max() < 1e-8


@pytest.mark.parametrize("torsional", [0.0, 0.002])
def test_after_a_slide_pure_rolling_goes_on_when_the_spin_has_ended(torsional: float) -> None:
    body = tr.RigidBody(tr.Ellipsoid([0.12, 0.1, 0.09]), 0.5, "solid")
    how = {"law": "pure-rolling", "friction": 0.4, "torsional_friction": torsional, "on_slip": "slide"}
    pair = tr.RollingPair(body, tr.Hand(tr.Plane()), **how)
    run = tr.simulate(pair, pair.place(slip=[0.5, 0.2, 0.0], object_angular_velocity=[1.0, 3.0, 0.0]), 1.0)
    stuck = next(t for t in run.transitions if t["reason"] == "the slip came to rest")
    # An unbounded moment stops the spin at once, a bounded one cannot.
    assert stuck["to"] == ("pure-rolling" if torsional == 0.0 else "rolling")


def test_a_block_slid_up_a_slope_turns_back_through_zero_slip() -> None:
    """Disc thrown up a steep slope without spin: friction reverses its sign when the slip does."""
    slope, mu, g = 1.2, 0.1, 9.81
    angle = np.arctan(slope)
    body = tr.RigidBody(tr.Circle(0.1), 0.5, "solid")
    pair = tr.RollingPair(body, tr.Ground(tr.Line(slope, 0.0)), friction=mu, on_slip="slide")
    run = tr.simulate(pair, pair.place(slip=1.0), 1.0)
    # Going up, friction acts downhill on the disc and spins it; slip v - r w falls by g sin + mu g cos + 2 mu g cos.
    rest = 1.0 / (g * np.sin(angle) + 3 * mu * g * np.cos(angle))
    assert [t["to"] for t in run.transitions] == ["sliding", "sliding"]
    assert run.transitions[1]["time"] == pytest.approx(rest, abs=1e-8)
    along = run["contact_force"][:, 0] @ [np.cos(angle), np.sin(angle)]
    before = run.time < rest - 1e-6
    assert np.all(along[before] < 0)
    assert np.all(along[run.time > rest + 1e-6] > 0)


def test_friction_of_a_slide_opposes_the_slip_in_space() -> None:
    body = tr.RigidBody(tr.Ellipsoid([0.12, 0.1, 0.09]), 0.5, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Sphere(0.4)), friction=0.2, on_slip="slide")
    start = pair.place(contact_on_hand=[0.1, 0.0, 0.387], slip=[0.5, 0.4, 0.0], object_angular_velocity=[1.0, 0, 2.0])
    run = tr.simulate(pair, start, 0.2)
    slides = run["mode"] == "sliding"
    assert slides.sum() > 50
    f, n, slip = (run[name][slides] for name in ("contact_force", "contact_normal", "slip"))
    f_n = np.einsum("ij,ij->i", f, n)
    f_t = f - n * f_n[:, None]
    e = slip / np.linalg.norm(slip, axis=1)[:, None]
    np.testing.assert_allclose(f_t[1:], (-0.2 * f_n[:, None] * e)[1:], atol=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.3, 5.0])
def test_impacts_lose_energy_and_obey_coulomb(mu: float) -> None:
    """On random bodies: no approach left, an impulse in the cone, and no more energy than before."""
    rng, decided = np.random.default_rng(7), 0
    for _ in range(50):
        A = rng.normal(size=(6, 6))
        M = A @ A.T + np.eye(6)
        J, nu = rng.normal(size=(3, 6)), rng.normal(size=6)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        if n @ J @ nu > 0:
            nu = -nu
        impact = resolve_impact(M, {0: Candidate(J, J @ nu, n, mu)})
        decided += impact.decided
        if not impact.decided:
            continue
        after = nu + impact.jump
        assert abs(n @ J @ after) < 1e-10
        assert after @ M @ after <= nu @ M @ nu + 1e-10
        push = impact.impulses[0]
        normal = n @ push
        assert np.linalg.norm(push - normal * n) <= mu * normal * (1 + 1e-9) + 1e-12
        if impact.laws[0] == "sliding":
            slip = J @ after - n * (n @ J @ after)
            e = slip / np.linalg.norm(slip)
            np.testing.assert_allclose(push - normal * n, -mu * normal * e, atol=1e-8 * max(1.0, normal))
    assert decided >= 40


class Poisoned(HandMotion):
    """A motion whose numbers go wrong at t = 0.5 s."""

    size = 1

    def rate(self, t: Any, p: Any) -> Any:
        import casadi as ca

        return ca.vertcat(0, 0, 0, p[0], 0, 0)

    def parameters(self, t: float) -> tuple[np.ndarray, float]:
        return (np.array([0.1]), 0.5) if t < 0.5 else (np.array([np.nan]), np.inf)


def test_a_motion_that_becomes_nan_is_never_a_success() -> None:
    pair = tr.RollingPair(ball(), tr.Hand(tr.Plane(), motion=Poisoned()), friction=5.0)
    with pytest.raises(tr.TrundleError, match="p"):
        tr.simulate(pair, pair.place(), 1.0)


def test_an_impact_without_a_solution_ends_the_run_and_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: Any) -> None:
        np.linalg.inv(np.zeros((2, 2)))

    monkeypatch.setattr(states, "resolve_impact", singular)
    run = tr.simulate(shaken(on_separation="fly"), shaken().place(), 0.5)
    assert run.status is Status.NOT_FINITE
    assert run.transitions[-1]["reason"] == "Singular matrix"
    assert len(run) > 2
