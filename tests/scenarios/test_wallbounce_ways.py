"""What keeps a robot of kind `wallbounce` out of the way: keys of files as the planners read them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.scenarios import build, load_scenario
from trundle.systems.wallbounce.control.schedule import PAPER, ScheduleRules
from trundle.systems.wallbounce.scenario.setup import Setup


def made(*overrides: str) -> Setup:
    scenario = load_scenario("wallbounce-avoid", list(overrides))
    return Setup(scenario.tables, scenario.seed)


def test_the_part_with_the_papers_presets_has_its_rules():
    table: Any = load_scenario("wallbounce-recover").parts["paper-presets"].tables
    rules = ScheduleRules(**table.controller.rules.model_dump())
    assert rules.near > 5.0  # m, further than any hand gets
    assert replace(rules, near=math.inf, far=math.inf) == PAPER


def test_barriers_end_where_the_file_says():
    assert made("controller.torso_range=0.4").keep_out().range == 0.4
    other = load_scenario("wallbounce-recover")
    assert Setup(other.tables, other.seed).keep_out().range == 0.12
    with pytest.raises(InputError, match=r"controller\.torso_range = 0\.01: must be > softness"):
        build(load_scenario("wallbounce-avoid", ["controller.torso_range=0.01"]))


def test_hands_keep_out_of_the_box_by_their_own_margin():
    class View:
        time = 0.5

        def position(self, name: str) -> list[float]:
            return [1.0, 0.0, 0.1]

    class Plant:
        def place_box(self, view: View, number: int, center: np.ndarray) -> None:
            self.center = center

    box = "half_size = [0.12, 0.2, 0.5], margin = 0.2, hand_margin = 0.05, appears = 0.5"
    setup = made(f"obstacles=[{{{box}}}]")
    guide, plant = setup.guide(setup.trials()[0]), Plant()
    guide._box_appears(plant, 0, setup.obstacles[0], View())  # type: ignore[arg-type]
    (disc,) = guide.surroundings(0.6).discs
    assert np.asarray(disc.center) == pytest.approx(plant.center)
    assert disc.radius == pytest.approx(0.12 + 0.14 + 0.2)
    assert disc.hands == pytest.approx(0.12 + 0.03 + 0.05)
    assert disc.half == pytest.approx([0.0, 0.08])
