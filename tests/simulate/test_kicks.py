"""Kicks: a run goes on from another state."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError

G = 9.81
FALLING = tr.SampledMotion(np.array([0.0, 1.0]), np.array([[0.0, 0.0, -20.0]] * 2))
PAIR = tr.RollingPair(
    tr.RigidBody(tr.Circle(0.1), 0.2), tr.Hand(tr.Line(), motion=FALLING), gravity=G, on_separation="fly"
)
LAYOUT = PAIR.system.model().layout


def push(x: np.ndarray) -> np.ndarray:
    x[LAYOUT["object.velocity"]] += [0.3, 1.0]
    x[LAYOUT["object.angular_velocity"]] += 2.0
    return x


def test_a_kick_in_flight_changes_the_motion_from_then_on() -> None:
    run = tr.simulate(PAIR, PAIR.place(), 0.4, output_step=0.03, kicks={0.2: push})
    assert 0.2 in run.time
    t = run.time
    late = np.maximum(t - 0.2, 0.0)
    assert np.allclose(run["object_position"][:, 0], 0.3 * late, atol=1e-12)
    assert np.allclose(run["object_position"][:, 2], 0.1 - G / 2 * t**2 + late, atol=1e-9)
    assert np.allclose(run["object_angular_velocity"][:, 1], np.where(t > 0.2, -2.0, 0.0), atol=1e-12)


def test_the_mode_goes_on_and_the_record_is_one() -> None:
    run = tr.simulate(PAIR, PAIR.place(), 0.4, kicks={0.1: push, 0.3: push})
    assert run.status is tr.Status.SUCCESS
    assert [change["to"] for change in run.transitions] == ["separated"]
    assert np.all(np.diff(run.time) >= 0)
    assert run["object_velocity"][-1, 0] == pytest.approx(0.6)


def test_a_kick_after_the_end_does_nothing() -> None:
    plain = tr.simulate(PAIR, PAIR.place(), 0.2)
    late = tr.simulate(PAIR, PAIR.place(), 0.2, kicks={0.5: push})
    assert np.array_equal(plain["object_position"], late["object_position"])


@pytest.mark.parametrize("kicks", [{0.0: push}, {float("nan"): push}, {0.1: lambda x: x[:2]}])
def test_bad_kicks_are_refused(kicks: dict) -> None:
    with pytest.raises(InputError):
        tr.simulate(PAIR, PAIR.place(), 0.2, kicks=kicks)
