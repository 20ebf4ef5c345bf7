"""Impacts and slips that have no simple end: several contacts, slips that stop, slips that jam."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import SLIP_END
from trundle.simulate.chatter import chatters
from trundle.simulate.impact import plastic_impact
from trundle.simulate.impact_cone import by_cones, cone_guesses
from trundle.simulate.impact_sets import Candidate
from trundle.simulate.phase import Method, Mode, Phase
from trundle.simulate.transitions import JAM, TRANSITIONS, Instant, _still_starting

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
        impact = plastic_impact(M, contacts, 3)
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


def test_cones_know_what_sets_know() -> None:
    """The projections find the law of a single contact that slides, with its direction."""
    contact = Candidate(np.eye(3), np.array([1.0, 0.5, -1.0]), UP, 0.2)
    found = list(cone_guesses(np.diag([1.0, 1.0, 2.0]), {0: contact}))[-1]
    assert found.laws == {0: "sliding"}
    np.testing.assert_allclose(found.ways[0], np.array([1.0, 0.5, 0.0]) / np.sqrt(1.25), atol=1e-9)
    np.testing.assert_allclose(found.impulses[0], [-0.4 * found.ways[0][0], -0.4 * found.ways[0][1], 2.0], atol=1e-9)
    assert not list(cone_guesses(np.eye(3), {0: Candidate(np.eye(3), contact.velocity, UP, np.inf)}))


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
    assert TRANSITIONS[("sliding", SLIP_END)][1] is TRANSITIONS[("sliding", "slip_speed")][1]
    phase = Phase(pair.system, Mode(("sliding",), ((0, 0),)), False, Method(relative_tolerance=1e-7))
    assert phase.margins == ("contact.normal_force", "contact.slip_speed", f"contact.{SLIP_END}")
    held = Phase(pair.system, Mode(("sliding",), ((0, 0),)), True, Method(relative_tolerance=1e-7))
    assert held.margins == phase.margins, "a walk's policy cuts it into pieces of 4 ms: in one of them a foot may stop"


def test_chatter_is_told_from_a_busy_run() -> None:
    jam = {"time": 0.5, "reason": JAM}
    other = {"time": 0.5, "reason": "the gap closed"}
    assert chatters([jam, other] * 12)
    assert not chatters([jam, other] * 11)
    assert not chatters([other] * 100)
    assert not chatters([{**jam, "time": 1e-3 * i} for i in range(40)])


def two_soles(turning: float, mu: float) -> tuple[np.ndarray, dict[int, Candidate]]:
    """Two flat soles on legs that fall flat, with their loads far behind the toes; `turning` (rad/s) about the up."""
    M = np.zeros((12, 12))
    candidates: dict[int, Candidate] = {}
    for k in range(2):
        at = slice(6 * k, 6 * k + 6)  # twist (angular, linear) of a foot at its centre of mass
        M[at, at] = np.diag([0.02, 0.03, 0.02, 2.0, 2.0, 2.0])
        M[at, at][1, 3] = M[at, at][3, 1] = 0.1  # what hangs above it leans: a push upwards moves the sole along it
        for j, (x, y) in enumerate(((0.3, 0.03), (0.1, 0.03), (0.1, -0.03), (0.3, -0.03))):
            r = np.array([x, y, -0.2])
            J = np.zeros((3, 12))
            J[:, at] = np.hstack([[[0, r[2], -r[1]], [-r[2], 0, r[0]], [r[1], -r[0], 0]], np.eye(3)])
            twist = np.zeros(12)
            twist[[6 * k + 2, 6 * k + 5]] = turning, -0.3
            candidates[4 * k + j] = Candidate(J, J @ twist, UP, mu)
    return M, candidates


@pytest.mark.parametrize("mu", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("turning", [0.0, 0.5])
def test_two_soles_that_land_and_slide_at_once_are_decided(turning: float, mu: float) -> None:
    """No slip before: the direction of the one that begins follows from all impulses together."""
    M, contacts = two_soles(turning, mu)
    impact = plastic_impact(M, contacts, 1, [(0, 1, 2, 3), (4, 5, 6, 7)])
    assert impact.decided
    if impact.rests:
        return
    gain = 0.0
    for i, c in contacts.items():
        after = c.velocity + c.J @ impact.jump
        push = impact.impulses.get(i, np.zeros(3))
        assert np.linalg.norm(push[:2]) <= mu * push[2] + 1e-8
        assert after[2] >= -1e-8
        if impact.laws.get(i) == "sliding":
            np.testing.assert_allclose(push[:2] * np.linalg.norm(after[:2]), -mu * push[2] * after[:2], atol=1e-8)
        gain += float(push @ (c.velocity + after)) / 2
    assert gain < 0


@pytest.mark.parametrize("mu", [0.2, 0.7])
def test_slips_that_begin_obey_coulomb_in_their_accelerations(mu: float) -> None:
    """Of accelerations instead of velocities; the contact 0 slips already, in a direction that stays."""
    for seed in range(6):
        M, contacts = four_feet(seed, mu)
        rng = np.random.default_rng(100 + seed)
        free = {i: c.J @ rng.normal(size=18) - 3.0 * UP for i, c in contacts.items()}
        contacts = {i: replace(c, velocity=free[i]) for i, c in contacts.items()}
        contacts[0] = replace(contacts[0], velocity=UP * free[0][2], way=np.array([0.6, -0.8, 0.0]))
        found = by_cones(M, contacts)
        assert found is not None
        pushed = sum((contacts[i].J.T @ push for i, push in found.impulses.items()), np.zeros(18))
        np.testing.assert_allclose(M @ found.jump, pushed, atol=1e-9)
        for i, c in contacts.items():
            after, push = c.velocity + c.J @ found.jump, found.impulses.get(i, np.zeros(3))
            assert push[2] >= -1e-8
            assert after[2] >= -1e-8
            assert abs(push[2] * after[2]) < 1e-7
            if i == 0:
                np.testing.assert_allclose(push, push[2] * (UP - mu * c.way), atol=1e-8)
            elif np.linalg.norm(after[:2]) > 1e-8:
                along = after[:2] / np.linalg.norm(after[:2])
                np.testing.assert_allclose(push[:2], -mu * push[2] * along, atol=1e-6)
            else:
                assert np.linalg.norm(push[:2]) <= mu * push[2] + 1e-8


def test_a_pushed_weight_begins_to_slide_where_it_is_pushed() -> None:
    """2 kg, 5 N beyond friction: a = (F - mu m g)/m along the push; less than friction moves nothing."""
    weight, way = 2 * 9.81, np.array([0.6, 0.8, 0.0])
    for force, law in ((0.3 * weight + 5.0, "sliding"), (0.3 * weight - 1.0, "rolling")):
        found = by_cones(2.0 * np.eye(3), {0: Candidate(np.eye(3), force / 2 * way - 9.81 * UP, UP, 0.3)})
        assert found is not None
        assert found.laws == {0: law}
        expected = 2.5 * way if law == "sliding" else np.zeros(3)
        np.testing.assert_allclose(force / 2 * way - 9.81 * UP + found.jump, expected, atol=1e-9)


def test_gaps_that_open_at_an_instant_stay_open_when_a_slip_begins_there() -> None:
    class Named:
        def name(self, contact: int) -> str:
            """Return the contact's name."""
            return f"sole-{contact}"

    now = Instant(0.0, np.zeros(1), Mode(("rolling", "separated"), ((0, 0), (0, 0))), np.zeros((2, 3)))
    kept = _still_starting(Named(), now, frozenset({"sole-0.gap", "sole-1.gap"}))  # type: ignore[arg-type]
    assert kept == {"sole-1.gap"}
