"""Footholds that are searched for: fewest steps on open ground, gaps crossed, and refusals that are proofs."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trundle.errors import InputError
from trundle.systems.multicontact.humanoid.terrain import Block, Terrain
from trundle.systems.multicontact.stances.footsteps import Foothold, StepReach, footsteps

HALF = (0.1, 0.04)
LINE = StepReach(wide=0.0, narrow=0.0)
START = {name: (np.array([0.0, y, 0.0]), np.eye(3)) for name, y in (("left_foot", 0.12), ("right_foot", -0.12))}


def on(terrain: Terrain) -> Foothold:
    return lambda x, y: terrain.foothold(x, y, HALF, 0.0)


def slabs(edges: list[tuple[float, float]]) -> Terrain:
    return Terrain([Block([(a + b) / 2, 0.0, -0.1], [(b - a) / 2, 0.5, 0.1]) for a, b in edges], floor=False)


def test_open_ground_is_crossed_in_the_length_that_is_asked_for() -> None:
    found = footsteps(START, 0.84, on(Terrain()), 0.14)
    assert [name for name, _ in found] == ["right_foot", "left_foot"] * 3 + ["right_foot"]
    x = [place[0][0] for _, place in found]
    np.testing.assert_allclose(x, [0.14, 0.28, 0.42, 0.56, 0.7, 0.84, 0.84])
    np.testing.assert_allclose([abs(place[0][1]) for _, place in found], 0.12)


def test_a_gap_is_stepped_across_with_whole_soles() -> None:
    terrain = slabs([(-0.5, 0.25), (0.3, 1.5)])
    for name, (point, _) in footsteps(START, 0.84, on(terrain), 0.14):
        assert abs(point[0] - 0.275) >= HALF[0] + 0.025 - 1e-9, name


def test_a_gap_beyond_reach_is_refused_with_what_was_tried() -> None:
    with pytest.raises(InputError, match=r"of \d+ stances that can be reached none is beyond 0.14 m") as caught:
        footsteps(START, 0.84, on(slabs([(-0.5, 0.25), (0.4, 1.5)])), 0.14, StepReach(wide=0.0, narrow=0.0))
    assert caught.value.key == "way"


def test_steps_up_are_as_high_as_they_may_be() -> None:
    stair = Terrain([Block([0.6, 0.0, 0.03], [0.3, 0.5, 0.03])])
    assert max(place[0][2] for _, place in footsteps(START, 0.6, on(stair), 0.14, LINE)) == pytest.approx(0.06)
    with pytest.raises(InputError, match="way"):
        footsteps(START, 0.6, on(stair), 0.14, StepReach(rise=0.05, wide=0.0, narrow=0.0))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(0.22, 0.5), st.floats(0.0, 0.12)), min_size=1, max_size=3))
def test_it_refuses_just_what_a_flood_of_all_stances_does_not_reach(pieces: list[tuple[float, float]]) -> None:
    edges, x = [(-0.5, 0.15)], 0.15
    for length, gap in pieces:
        edges.append((x + gap, x + gap + length))
        x = edges[-1][1]
    terrain = slabs([*edges, (x + 0.02, 3.0)])
    whole = {k for k in range(-40, 60) if _holds(terrain, 0.02 * k)}
    seen, waiting = {(0, 0)}, deque([(0, 0)])  # where the next foot stands, and the other
    while waiting:
        old, other = waiting.popleft()
        for cell in range(other - 1, min(other + 14, 39) + 1):
            if cell in whole and abs(cell - old) <= 28 and (other, cell) not in seen:
                seen.add((other, cell))
                waiting.append((other, cell))
    ends = [k for k in range(25, 40) if (k, k) in seen]
    if not ends:
        with pytest.raises(InputError, match="stances that can be reached"):
            footsteps(START, 0.5, on(terrain), 0.14, LINE)
        return
    last = [round(place[0][0] / 0.02) for _, place in footsteps(START, 0.5, on(terrain), 0.14, LINE)[-2:]]
    assert last[0] == last[1]
    assert last[0] in ends


def _holds(terrain: Terrain, x: float) -> bool:
    try:
        terrain.foothold(x, 0.12, HALF, 0.0)
    except InputError:
        return False
    return True
