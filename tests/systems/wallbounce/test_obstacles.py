"""Boxes of a file: what plans keep out of, starts that are drawn, and a run round two of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trundle.numerics.compiled.compile import find_compiler
from trundle.scenarios import load_scenario
from trundle.systems.wallbounce.control.visibility import distance
from trundle.systems.wallbounce.scenario.checks import disc_of
from trundle.systems.wallbounce.scenario.schema import DiscObstacleTable
from trundle.systems.wallbounce.scenario.setup import Setup
from trundle.systems.wallbounce.scenario.trials import run_trial

TWO = Path(__file__).resolve().parents[3] / "examples" / "wallbounce_two_boxes.toml"


def made(*overrides: str) -> Setup:
    scenario = load_scenario(TWO, list(overrides))
    return Setup(scenario.tables, scenario.seed)


@pytest.mark.parametrize("half", [(0.12, 0.12), (0.1, 0.5), (0.5, 0.1)])
def test_what_plans_keep_out_of_touches_no_corner_of_the_box(half: tuple[float, float]) -> None:
    disc = disc_of(DiscObstacleTable(half_size=(*half, 0.5), margin=0.1), (1.0, 0.2), 0.14, 0.03)
    x, y = half
    faces = [[1.0 + x, 0.2], [1.0 - x, 0.2], [1.0, 0.2 + y], [1.0, 0.2 - y]]
    assert distance(disc, faces) == pytest.approx(np.full(4, -0.24))
    corners = [[1.0 + a * x, 0.2 + b * y] for a in (-1, 1) for b in (-1, 1)]
    assert np.max(distance(disc, corners)) == pytest.approx(-0.24 + (np.sqrt(2) - 1) * min(half))


def test_starts_are_drawn_from_their_ranges_and_leave_boxes_where_they_were() -> None:
    setup = made("trials.count=200")
    states = np.array([setup.start(trial) for trial in setup.trials()])
    low, high = states[:, :2].min(axis=0), states[:, :2].max(axis=0)
    assert low == pytest.approx([-0.3, -0.6], abs=0.02)
    assert high == pytest.approx([0.5, 0.5], abs=0.02)
    speeds = np.array([trial.speed for trial in setup.trials()])
    assert np.linalg.norm(states[:, 11:13], axis=1) == pytest.approx(setup.robot.effective_mass * speeds)
    headings = np.arctan2(states[:, 12], states[:, 11])
    assert (headings.min(), headings.max()) == pytest.approx((-0.8, 0.8), abs=0.02)
    avoid = load_scenario("wallbounce-avoid")
    main, other = (Setup(one.tables, one.seed).trials() for one in (avoid, avoid.parts["any-start"]))
    assert [trial.boxes for trial in main] == [trial.boxes for trial in other]


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")
def test_two_boxes_are_passed_on_the_sides_that_suit_the_start() -> None:
    pytest.importorskip("mujoco")
    setup = made("simulation.duration=6.0")
    sides = []
    for number in (1, 2, 3):
        outcome = run_trial(setup, setup.trials()[number - 1])
        result = outcome.result
        assert result.cleared
        assert result.boxes is not None
        path = outcome.run.records["measured"][:, :2]
        sides.append([float(np.interp(x, *path.T)) > y for x, y in result.boxes])
    assert sides == [[True, True], [False, False], [False, True]]
