"""Sensing: noise and delay as stated, runs that repeat, and controllers that live with them."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Q_ELLIPSE, Watched, ball_on_plate, ellipse_on_plate
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.sensing.disturbance import Actuated
from trundle.control.sensing.estimator import Sigmas, rotation_between, turn_orientation
from trundle.control.sensing.sensing import Camera, Encoders, Sensed
from trundle.errors import InputError
from trundle.status import Status

R = {"hand_angular_acceleration": 1e-3, "hand_acceleration": 1e-2}
NOISY = Camera(delay=0.004, position_sigma=5e-4, angle_sigma=5e-3, seed=3)


class Still:
    """A policy that does nothing, and notes what it is told."""

    period = 1e-3

    def __init__(self, inputs: int, say=lambda t: 0.0) -> None:
        self.inputs, self.say, self.seen = inputs, say, []

    def reset(self) -> None:
        self.seen = []

    def __call__(self, time, state):
        self.seen.append((time, state.copy()))
        return np.full(self.inputs, self.say(time))


@pytest.fixture(scope="module")
def upright():
    pair = ellipse_on_plate()
    return pair, BalancingLQR(pair, pair.place(object_angle=np.pi / 2), Q_ELLIPSE, R)


def test_noise_has_the_stated_statistics():
    camera, noise = Camera(position_sigma=2e-3, angle_sigma=1e-2), np.random.default_rng(0)
    turn, count = np.array([0.6, 0.0, 0.8, 0.0]), 4000
    images = [camera.image(np.array([1.0, 2.0, 3.0]), turn, noise) for _ in range(count)]
    places = np.array([p for p, _ in images]) - [1.0, 2.0, 3.0]
    angles = np.array([rotation_between(turn, q) for _, q in images])
    for values, sigma in ((places, 2e-3), (angles, 1e-2)):
        np.testing.assert_allclose(values.std(axis=0), sigma, rtol=0.06)
        assert np.all(np.abs(values.mean(axis=0)) < 4 * sigma / np.sqrt(count))
    encoders = Encoders(rate_sigma=0.1, velocity_sigma=0.02)
    reads = [encoders.reading(np.zeros(2), np.zeros(1), np.zeros(3), noise).twist for _ in range(count)]
    np.testing.assert_allclose(np.std(reads, axis=0), [0.1, 0.02, 0.02], rtol=0.06)
    assert np.linalg.norm(images[0][1]) == pytest.approx(1.0, abs=1e-12)


def test_turns_add_up():
    q = turn_orientation(np.array([0.6, 0.0, 0.8, 0.0]), np.array([0.1, -0.2, 0.3]))
    np.testing.assert_allclose(rotation_between(np.array([0.6, 0.0, 0.8, 0.0]), q), [0.1, -0.2, 0.3], atol=1e-12)
    assert rotation_between(np.array([3.0]), np.array([-3.0]))[0] == pytest.approx(2 * np.pi - 6.0)


def test_gains_are_those_of_the_kalman_filter():
    """Against the algebraic Riccati equation of the filter of a random acceleration."""
    from scipy.linalg import solve_discrete_are

    T, noise, sigma = 0.004, 30.0, 5e-3
    F, G = np.array([[1.0, T], [0.0, 1.0]]), np.array([[T**2 / 2], [T]])
    P = solve_discrete_are(F.T, np.array([[1.0], [0.0]]), noise**2 * G @ G.T, np.array([[sigma**2]]))
    gain = P[:, 0] / (P[0, 0] + sigma**2)
    alpha, beta, along = Sigmas(noise, 0.05, sigma, 1e-3).gains(T)
    np.testing.assert_allclose([alpha, beta / T], gain, rtol=1e-9)
    p = (0.05 * T) ** 2 / 2 + np.sqrt((0.05 * T) ** 4 / 4 + (0.05 * T * 1e-3) ** 2)
    assert along == pytest.approx(p / (p + 1e-6), rel=1e-9)


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_without_noise_the_estimate_is_the_state(law):
    """A ball rolls on a hand that accelerates; the camera is late, the estimate is not."""
    pair = ball_on_plate(law)
    inner = Still(6, lambda t: 2.0 * np.cos(9 * t))
    sensed = Sensed(inner, pair, Camera(delay=0.01))
    seen = Watched(sensed)
    start = pair.place(object_angular_velocity=[1.0, -2.0, 0.0])
    tr.simulate(pair, start, 0.5, policy=seen)
    layout = pair.system.model().layout
    error = np.array([s for _, s in inner.seen]) - np.array(seen.states)
    assert np.abs(error[-1]).max() < 1e-3
    spin = layout["object.angular_velocity"]
    assert np.abs(error[0, spin]).max() == pytest.approx(2.0)  # it did not know of the motion
    known = Sensed(inner, pair, Camera(delay=0.01), initial=start)
    tr.simulate(pair, start, 0.5, policy=Watched(known))
    assert np.abs(known.estimate - seen.states[-1]).max() < 5e-5


def test_what_happens_after_an_exposure_is_not_in_the_image():
    """Two plants part at 50 ms; with a delay of 20 ms their estimates agree until the first image of the difference."""
    pair = ellipse_on_plate()
    tracks = []
    for push in (0.0, 0.3):
        inner = Still(3)
        sensed = Sensed(inner, pair, Camera(delay=0.02), initial=pair.place())
        x = np.array(pair.place().x)
        for i in range(100):
            if i == 50:
                x[pair.system.model().layout["object.orientation"]] += push
            sensed(i * 1e-3, x)
        tracks.append(np.array([s for _, s in inner.seen]))
    apart = np.flatnonzero(np.abs(tracks[0] - tracks[1]).max(axis=1) > 1e-12)
    assert apart[0] == 72  # exposed at 52 ms, the first after 50 ms


def test_a_seed_repeats_a_run_and_another_does_not(upright):
    pair, balance = upright
    start = pair.place(object_angle=np.pi / 2 + 0.03)
    runs = []
    for seed in (3, 3, 4):
        seen = Watched(
            Sensed(balance, pair, Camera(delay=0.004, angle_sigma=5e-3, seed=seed), Encoders(rate_sigma=1e-3))
        )
        for _ in range(2):
            tr.simulate(pair, start, 0.1, policy=seen, relative_tolerance=1e-8)
            runs.append(np.array(seen.inputs))
    for same in (1, 2, 3):
        np.testing.assert_array_equal(runs[0], runs[same])
    assert np.abs(runs[4] - runs[0]).max() > 1e-3


def test_an_ellipse_stays_on_its_tip_with_a_camera_and_a_wrong_model(upright):
    pair, balance = upright
    plant = ellipse_on_plate(0.0377 * 1.05, 0.0252 * 0.95, 1.05, (0.001, 0.0))
    sensed = Sensed(balance, pair, NOISY, plant=plant)
    policy = Watched(Actuated(sensed, 3, limit=[60.0, 10.0, 10.0], bias=[0.3, 0.05, 0.05]))
    run = tr.simulate(plant, plant.place(object_angle=np.pi / 2 + 0.03), 1.5, policy=policy, relative_tolerance=1e-8)
    assert run.status is Status.SUCCESS
    layout = plant.system.model().layout
    angles = np.array([x[layout["object.orientation"]] - x[layout["hand.orientation"]] for x in policy.states[-500:]])
    assert np.abs(angles - np.pi / 2).max() < 0.08


def test_a_body_on_a_curved_hand_is_followed():
    """Contacts with coordinates of their own are found from the poses: charts in the plane, level sets in space."""
    planar = tr.RollingPair(tr.RigidBody(tr.Circle(0.0166), mass=0.05), tr.Hand(tr.Ellipse((0.2, 0.1))), friction=0.8)
    bowl = tr.RollingPair(tr.RigidBody(tr.Sphere(radius=0.03), mass=0.1), tr.Hand(tr.Dish((0.3, 0.25, 0.2))))
    cases = (
        (planar, planar.place(contact_on_hand=[0.02, 0.1]), 3),
        (bowl, bowl.place(contact_on_hand=[0.05, 0.02, -0.2]), 6),
    )
    for pair, start, inputs in cases:
        inner = Still(inputs, lambda t: 0.3 * np.cos(5 * t))
        seen = Watched(Sensed(inner, pair, Camera(delay=0.006)))
        run = tr.simulate(pair, start, 0.25, policy=seen)
        assert run.status is Status.SUCCESS
        assert np.abs(inner.seen[-1][1] - seen.states[-1]).max() < 2e-3


def test_what_cannot_be_sensed_is_refused(upright):
    pair, balance = upright
    with pytest.raises(InputError, match="delay"):
        Camera(delay=-1e-3)
    with pytest.raises(InputError, match="seed"):
        Camera(seed=-1)
    with pytest.raises(InputError, match="rate_sigma"):
        Encoders(rate_sigma=np.nan)
    with pytest.raises(InputError, match=r"camera\.period"):
        Sensed(balance, pair, Camera(period=1e-4))
    with pytest.raises(InputError, match="plant"):
        Sensed(balance, pair, plant=ball_on_plate())
    with pytest.raises(InputError, match="camera"):
        Sensed(balance, pair, camera=3)
    sensed = Sensed(balance, pair)
    with pytest.raises(InputError, match="state"):
        sensed(0.0, np.full(12, np.nan))


@pytest.mark.parametrize("acceleration", [2.0, 20.0, 200.0])
def test_covariance_of_the_settled_filter_is_that_of_its_riccati_equation(acceleration):
    """Constant random accelerations between images: x+ = F x + g a, images of the turn; P after an image."""
    period, delay, sigma = 0.004, 0.006, 2e-3
    F, g = np.array([[1.0, period], [0.0, 1.0]]), np.array([[period**2 / 2], [period]])
    P = np.eye(2)
    for _ in range(5000):
        P = F @ P @ F.T + acceleration**2 * g @ g.T
        P = P - np.outer(P[:, 0], P[0]) / (P[0, 0] + sigma**2)
    late = np.array([[1.0, delay], [0.0, 1.0]])
    found, place = Sigmas(acceleration, 0.02, sigma, 3e-4).covariance(period, delay)
    np.testing.assert_allclose(found, late @ P @ late.T, rtol=1e-9)
    p = 1.0
    for _ in range(5000):
        p = 1.0 / (1.0 / (p + (0.02 * period) ** 2) + 1.0 / 3e-4**2)
    assert place == pytest.approx(p, rel=1e-9)
