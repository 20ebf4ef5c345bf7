"""Kind multicontact: footholds that are searched for, and a hand that leans where soles alone cannot rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from trundle.errors import InputError
from trundle.scenarios import build, load_scenario

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

HAND = """
[hand]
end = "left_hand"
support = "rail"
"""
RAMP = """
schema = 1
kind = "multicontact"
task = "walk"

[robot]
pose = "lean_left"

[terrain]
floor = false

[[terrain.blocks]]
name = "low"
center = [-0.35, 0.0, -0.1]
size = [1.0, 0.6, 0.2]

[[terrain.blocks]]               # 28 cm long, 21.5 degrees: steeper than soles alone bear at the friction of plans
name = "ramp"
center = [0.3266, 0.0, -0.0379]
size = [0.3009, 0.6, 0.2]
rpy = [0.0, -0.375, 0.0]

[[terrain.blocks]]
name = "high"
center = [0.93, 0.0, 0.0102]
size = [1.0, 0.6, 0.2]

[[terrain.blocks]]
name = "rail"
center = [0.5, 0.42, 0.75]
size = [2.0, 0.1, 0.06]

[steps]
count = 6
search = true
single = 1.0
double = 0.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "ramp.toml"
    path.write_text(text)
    return path


def test_a_hand_leans_where_soles_alone_cannot_rest(tmp_path: Path) -> None:
    """Each stance of the way that is found has a pose at rest within friction and torques: `build` checks them."""
    work = build(load_scenario(written(tmp_path, RAMP + HAND)))
    travels = work.steps.travels
    assert [travel.name for travel in travels].count("left_hand") == 1, "once, for the step over the ramp"
    lean = next(i for i, travel in enumerate(travels) if travel.name == "left_hand")
    before, after = travels[lean - 1], travels[lean + 1]
    assert before.target.R_world_patch[2, 2] < 0.94, "a sole is on the ramp"
    assert after.target.R_world_patch[2, 2] > 0.999, "the other one goes over it"
    assert after.end < work.steps.releases["left_hand"] < travels[lean + 2].start + 1e-9
    held = work.steps.standing((after.start + after.end) / 2)
    assert set(held) == {before.name, "left_hand"}


@pytest.mark.slow
@pytest.mark.parametrize("hand", ["", HAND + "across = 0.9\n"])
def test_without_a_hold_that_helps_the_way_is_refused_and_the_search_exhausted(tmp_path: Path, hand: str) -> None:
    with pytest.raises(InputError, match=r"steps\.search.*of \d+ stances that can be reached none is beyond 0\.[23]"):
        build(load_scenario(written(tmp_path, RAMP + hand)))
