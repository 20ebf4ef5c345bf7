"""The bench of wall-bouncing: it needs no tests, and its leaning walls are as far from the torso as upright ones."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from bench import wallbounce
from trundle.scenarios import load_scenario
from trundle.systems.wallbounce.scenario.setup import Setup


def test_it_imports_nothing_from_the_tests() -> None:
    tree = ast.parse(Path(wallbounce.__file__).read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not {name for name in names if name.split(".")[0] == "tests"}


@pytest.mark.parametrize("degrees", [-20.0, 20.0])
def test_a_leaning_wall_is_as_far_from_the_torso_as_an_upright_one(degrees: float) -> None:
    nearest = []
    for given in ([], wallbounce.leaning(degrees)):
        setup = Setup.of(load_scenario("wallbounce-recover", given))
        (wall,), radius = setup.walls, setup.tables.plant.torso_radius
        ends = np.array([[radius, 0.0, height] for height in (0.138, setup.robot.height)])  # of the torso, m
        nearest.append(np.min((ends - wall.point) @ wall.normal))
    assert nearest[1] == pytest.approx(nearest[0], abs=1e-9)
