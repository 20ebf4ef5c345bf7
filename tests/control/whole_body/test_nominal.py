"""Coarse paths of the centre of mass: over the soles at constant velocity, step by step or all the way."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.systems.multicontact.whole_body.nominal import gross_path
from trundle.systems.multicontact.whole_body.stepping import Footsteps, straight_walk

SOLE = FlatPatch.rectangle(0.2, 0.08, friction=0.7)
COM = np.array([0.01, 0.0, 0.8])


def steps(count: int) -> Footsteps:
    feet = (("left_foot", 0.1), ("right_foot", -0.1))
    return straight_walk({name: PlacedPatch(name, SOLE, (0.0, y, 0.0)) for name, y in feet}, steps=count, length=0.2)


def test_pieces_go_from_stance_to_stance_while_a_sole_travels() -> None:
    walk = steps(4)
    path = gross_path(walk, COM, lowered=0.02, shape="piecewise")
    for travel in walk.travels:
        ends = path(np.array([travel.start, travel.end]))[0]
        inside = path(np.linspace(travel.start + 0.01, travel.end - 0.01, 5))[1]
        assert np.ptp(inside, axis=0) == pytest.approx(np.zeros(3), abs=1e-9), "one velocity"
        assert inside[0, 0] == pytest.approx((ends[1, 0] - ends[0, 0]) / (travel.end - travel.start), rel=1e-4)
        soles = [place.position for place in walk.standing(travel.end).values()]
        assert ends[1] - np.mean(soles, axis=0) == pytest.approx([0.0, 0.0, 0.78], abs=1e-6)
    between = (walk.travels[0].end + walk.travels[1].start) / 2
    assert path(np.array([between]))[1][0] == pytest.approx(np.zeros(3), abs=1e-9), "at rest on both"


def test_one_velocity_leads_from_the_first_stance_to_the_last() -> None:
    walk = steps(4)
    path = gross_path(walk, COM, shape="constant")
    begin, end = walk.travels[0].start, walk.travels[-1].end
    points, rates = path(np.linspace(begin + 0.01, end - 0.01, 7))
    assert np.ptp(rates, axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    last = np.mean([place.position for place in walk.standing(end).values()], axis=0)
    assert rates[0, 0] == pytest.approx(last[0] / (end - begin), rel=1e-4)
    assert points[:, 1:] == pytest.approx(np.tile([0.0, 0.8], (7, 1)))


@pytest.mark.parametrize("shape", ["piecewise", "constant"])
def test_who_only_stands_stays_over_the_soles(shape: str) -> None:
    path = gross_path(steps(0), COM, shape=shape)  # type: ignore[arg-type]
    assert path(np.array([0.0]))[0][0] == pytest.approx(COM)
    assert path(np.array([5.0]))[0][0] == pytest.approx([0.0, 0.0, 0.8])
