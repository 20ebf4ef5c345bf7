"""Names of a hand's freedoms, the same for plans and controllers."""

from __future__ import annotations

import pytest

import trundle as tr
from trundle.control.regulators.balancing import BalancingLQR
from trundle.errors import InputError
from trundle.models.hand_freedoms import hand_freedoms


def test_words_names_and_numbers():
    assert hand_freedoms(3) == (0, 1, 2, 3, 4, 5)
    assert hand_freedoms(3, "planar") == (1, 3, 5)
    assert hand_freedoms(2, "rotations") == (0,)
    assert hand_freedoms(3, ["vz", "wx"]) == (0, 5)
    assert hand_freedoms(2, ("w", 2)) == (0, 2)


@pytest.mark.parametrize("wrong", ["wx", [], ["wx", "wx"], ["up"], [0, "wx"], [6], [True], 3, None])
def test_what_is_not_known_is_named(wrong):
    with pytest.raises(InputError, match=r"somewhere\.freedoms"):
        hand_freedoms(3, wrong, "somewhere.freedoms")


def test_plans_and_controllers_mean_the_same():
    ellipse = tr.RigidBody(tr.Ellipse((0.0377, 0.0252)), mass=0.0553)
    pair = tr.RollingPair(ellipse, tr.Hand(tr.Line()), friction=0.8)
    Q = dict.fromkeys(("hand_rotation", "hand_position", "object_rotation", "relative_velocity"), 1.0)
    R = {"hand_angular_acceleration": 1.0, "hand_acceleration": 1.0}
    for freedoms in ("all", ("w", "vx")):
        policy = BalancingLQR(pair, pair.place(), Q, R, freedoms=freedoms)
        assert policy.used == tr.juggling.HandLimits(freedoms=freedoms).components(2)
