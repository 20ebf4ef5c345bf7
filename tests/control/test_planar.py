"""In the plane: an ellipse stops wobbling and stays on its tip; errors know the tie of contact and angle."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Q_ELLIPSE, Watched, ellipse_on_plate, flow, rate_function
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.linearization import Linearization
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.control.regulators.tracking import TrackingLQR
from trundle.control.sensing.disturbance import Actuated
from trundle.records.reference import Reference
from trundle.status import Status

SOFT = {"hand_angular_acceleration": 0.1, "hand_acceleration": 0.1}


@pytest.mark.parametrize("rolled", ["rotation", "contact"])
@pytest.mark.parametrize("hand", [tr.Line(), tr.Ellipse((0.15, 0.1))])
def test_matrices_are_derivatives_of_the_flow(hand, rolled):
    pair = tr.RollingPair(tr.RigidBody(tr.Ellipse((0.04, 0.03)), mass=0.2), tr.Hand(hand))
    error = LocalError(pair, rolled=rolled)
    assert error.size == 8
    model, rate = error.model, rate_function(error)
    rng = np.random.default_rng(4)
    x, u = 0.3 * rng.normal(size=model.x.shape[0]), rng.normal(size=3)
    A, B, X = (part[0] for part in Linearization(error).with_directions(x[None], u[None]))
    h, step = 2e-4, 1e-5

    def error_rate(at, by):
        ends = [
            error.between(*(error.of_reference(flow(rate, *z, s * h)) for z in ((x, u), (at, by)))) for s in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * h)

    for i in range(8):
        found = (error_rate(x + step * X[:, i], u) - error_rate(x - step * X[:, i], u)) / (2 * step)
        np.testing.assert_allclose(A[:, i], found, atol=5e-6 * np.abs(A).max())
    for i, unit in enumerate(np.eye(3)):
        found = (error_rate(x, u + step * unit) - error_rate(x, u - step * unit)) / (2 * step)
        np.testing.assert_allclose(B[:, i], found, atol=5e-6 * np.abs(B).max())


@pytest.mark.slow
def test_a_wobble_ends():
    """Woodruff & Lynch's ellipse: at least 100 times less wobble (rms over the last second) than let alone."""
    pair = ellipse_on_plate()
    policy = BalancingLQR(pair, pair.place(), Q_ELLIPSE, SOFT)
    idle = Actuated(policy, 3, limit=1e-300)
    part = policy.error.blocks["object_rotation"]
    wobble = []
    for chosen in (policy, idle):
        seen = Watched(chosen)
        run = tr.simulate(pair, pair.place(object_angle=0.41), 5.0, policy=seen, relative_tolerance=1e-8)
        assert run.status is Status.SUCCESS
        angles = np.array([policy.deviation(0.0, x)[part] for x in seen.states[-1000:]])
        wobble.append(np.sqrt(np.mean(angles**2)))
    assert wobble[1] == pytest.approx(0.29, rel=0.1)
    assert wobble[0] < wobble[1] / 100


def test_a_reference_may_turn_as_often_as_it_likes():
    """A cylinder rolls three turns along the plate: the error stays small and the angle never jumps."""
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.2), tr.Hand(tr.Line()))
    start = pair.place(object_angular_velocity=-12.0)
    rolling = in_rolling_coordinates(pair, start)
    error = LocalError(pair, rolling.atlas)
    rate, x, states = rate_function(error), rolling.x, [rolling.x]
    times = np.linspace(0.0, 1.6, 161)
    for _ in times[1:]:
        x = flow(rate, x, np.zeros(3), 0.01)
        states.append(x)
    reference = Reference(times, np.array(states), np.zeros((161, 3)), rolling.atlas)
    policy = TrackingLQR(pair, reference, Q_ELLIPSE, SOFT, rolled="rotation")
    seen = Watched(policy)
    tr.simulate(pair, pair.place(object_angular_velocity=-11.8), 1.6, policy=seen, relative_tolerance=1e-8)
    e = np.array([policy.deviation(t, s) for t, s in zip(seen.times, seen.states, strict=True)])
    assert abs(seen.states[-1][pair.system.model().layout["object.orientation"]][0]) > 15
    assert np.abs(np.diff(e[:, 3])).max() < 1e-3
    assert np.abs(e[-1, 3]) < 0.5 * np.abs(e[:, 3]).max()
