"""Steps one foot ahead of the other: soles never overlap, neither where they stand nor while they pass."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.systems.multicontact.whole_body.stepping import in_turn, steps_ahead
from trundle.systems.multicontact.whole_body.tandem_stance import tandem_stance

SIZES = [(0.20, 0.12, 0.15, 0.81), (0.20, 0.09, 0.15, 0.68), (0.3, 0.1, 0.1, 1.0), (0.1, 0.14, 0.16, 0.4)]


@pytest.mark.parametrize(("length", "width", "breadth", "leg"), SIZES)
def test_soles_stay_on_the_ground_and_apart(length: float, width: float, breadth: float, leg: float) -> None:
    line = tandem_stance(length, width, breadth, leg)
    assert line.width / 2 + width / 2 == pytest.approx(breadth / 2), "whole soles on the ground, as far out as they may"
    start = {
        name: PlacedPatch(
            name, FlatPatch.rectangle(length, width, 0.6), [side * line.length / 2, side * line.width / 2, 0]
        )
        for name, side in (("left_foot", 1.0), ("right_foot", -1.0))
    }
    moves = steps_ahead(start, 4, line.length, stagger=line.length, aside=line.aside, lift=0.0)
    steps, places = in_turn(start, moves), {name: place.position for name, place in start.items()}
    for travel in steps.travels:
        (other,) = (p for name, p in places.items() if name != travel.name)
        for time in np.linspace(travel.start, travel.end, 101):
            apart = np.abs(travel.reference(float(time), places[travel.name], np.eye(3)).position - other)
            assert apart[0] > length or apart[1] > width, "soles overlap"
        places[travel.name] = travel.target.position
        ahead = np.ptp([p[0] for p in places.values()])
        assert ahead == pytest.approx(line.length)
        assert ahead > length + 0.1 * leg, "knees keep apart"


def test_a_file_may_ask_for_longer_steps_which_pass_nearer() -> None:
    short, far = tandem_stance(0.2, 0.12, 0.15, 0.81), tandem_stance(0.2, 0.12, 0.15, 0.81, least=0.4)
    assert far.length == 0.4
    assert far.width == short.width
    assert far.aside < short.aside


def test_ground_narrower_than_a_sole_is_refused() -> None:
    with pytest.raises(InputError, match=r"0\.12 m"):
        tandem_stance(0.2, 0.12, 0.1, 0.81)
    assert tandem_stance(0.2, 0.12, 0.12, 0.81).width == 0.0
