"""Trapezoidal profiles: their integrals, their motion in the simulator, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import trundle as tr
from trundle.errors import InputError
from trundle.systems.juggling.throw.profiles import Profile, Pulse, two_pulses

PROFILE = Profile(
    (
        (Pulse(0.0, 0.4, 12.0, 0.1), Pulse(0.3, 0.2, -30.0, 0.05)),
        (Pulse(0.1, 0.3, -2.0, 0.15),),
        (),
    )
)


def test_a_pulse_gains_height_times_duration_less_one_ramp() -> None:
    pulse = Pulse(0.2, 0.5, 3.0, 0.1)
    assert pulse.gain == pytest.approx(3.0 * 0.4)
    one = Profile(((), (pulse,), ()))
    assert one.twist(2.0)[0, 1] == pytest.approx(pulse.gain, rel=1e-14)
    assert one.duration == pulse.end == pytest.approx(0.7)


def test_integrals_are_those_of_the_acceleration() -> None:
    t = np.linspace(0.0, 0.7, 7001)
    a = PROFILE.acceleration(t)
    v = cumulative_simpson(a, x=t, axis=0, initial=0)
    p = cumulative_simpson(v, x=t, axis=0, initial=0)
    assert np.allclose(PROFILE.twist(t), v, atol=1e-9)
    assert np.allclose(PROFILE.travel(t), p, atol=1e-9)
    assert np.allclose(PROFILE.largest, np.max(np.abs(a), axis=0), rtol=1e-6)


def test_overlapping_pulses_add() -> None:
    t = np.array([0.05, 0.32, 0.35, 0.45])
    first, second = PROFILE.pulses[0]
    assert np.allclose(PROFILE.acceleration(t)[:, 0], first.at(t) + second.at(t))


@pytest.mark.parametrize(("gain", "travel"), [(-0.4, 0.02), (0.0, -0.1), (1.5, 0.0)])
def test_two_pulses_add_the_velocity_and_the_travel_asked_for(gain: float, travel: float) -> None:
    pulses = two_pulses(0.3, 0.2, 0.01, gain, travel)
    profile = Profile(((), (), pulses))
    assert profile.twist(0.5)[0, 2] == pytest.approx(gain, abs=1e-14)
    assert profile.travel(0.5)[0, 2] == pytest.approx(travel, abs=1e-14)
    assert pulses[0].end == pytest.approx(pulses[1].start)


def test_a_simulated_hand_ends_with_the_twist_and_the_angle_of_its_profile() -> None:
    hand = tr.Hand(tr.Line(), motion=PROFILE.motion())
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.03), 0.1), hand, on_slip="ignore", on_separation="ignore")
    run = tr.simulate(pair, pair.place(), 0.6, relative_tolerance=1e-11)
    twist = PROFILE.twist(0.6)[0]
    assert np.allclose(-run["hand_angular_velocity"][-1, 1], twist[0], atol=1e-9)
    angle = PROFILE.travel(0.6)[0, 0]
    assert np.allclose(run["hand_quaternion"][-1], [np.cos(angle / 2), 0, -np.sin(angle / 2), 0], atol=1e-9)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert np.allclose(run["hand_velocity"][-1, [0, 2]], turn @ twist[1:], atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pulse(-0.1, 1.0, 1.0, 0.1),
        lambda: Pulse(0.0, 0.0, 1.0, 0.1),
        lambda: Pulse(0.0, 1.0, float("nan"), 0.1),
        lambda: Pulse(0.0, 1.0, 1.0, 0.6),
        lambda: Pulse(0.0, 1.0, 1.0, 0.0),
        lambda: two_pulses(0.0, 0.2, 0.1, 1.0, 1.0),
        lambda: Profile(((), ())),
        lambda: Profile(((1.0,), (), ())),  # type: ignore[arg-type]
        lambda: PROFILE.twist(-1.0),
        lambda: Pulse(0.0, 1e6, 1.0, 1.0),
        lambda: PROFILE.twist(float("nan")),
    ],
)
def test_bad_numbers_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
