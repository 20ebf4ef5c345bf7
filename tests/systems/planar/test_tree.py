from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from tests.scenarios.files import on_profile
from trundle.errors import InputError
from trundle.scenarios import build, load_scenario

TREE = """
kind = "planar"
task = "simulate"

[[bodies]]
name = "front"
parent = "bogie"
at = [0.2, -0.1]
mass = 1.0
curve = { type = "circle", radius = 0.12 }

[[bodies]]
name = "base"
mass = 20.0
inertia = 1.2

[[bodies]]
name = "bogie"
parent = "base"
at = [0.4, -0.1]
mass = 2.0
inertia = 0.05

[[bodies]]
name = "middle"
parent = "bogie"
at = [-0.2, -0.1]
mass = 1.0
curve = { type = "circle", radius = 0.12 }

[[bodies]]
name = "rear"
parent = "base"
at = [-0.4, -0.2]
mass = 1.0
curve = { type = "circle", radius = 0.12 }
friction = 0.9

[terrain]
curve = { type = "spline", file = "profile.csv" }

[contact]
friction = 0.8

[initial]
positions = { base = [0.0, 0.33, 0.0] }
rates = { base = [0.0, 0.6, 0.0] }
tolerance = 0.1

[simulation]
duration = 0.3
relative_tolerance = 1e-11
"""


def test_three_wheels_on_a_measured_profile(tmp_path: Path) -> None:
    result = tr.run(on_profile(tmp_path, TREE), out=tmp_path / "out", plots=False)
    assert result.status is tr.Status.SUCCESS
    run = tr.load_trajectory(tmp_path / "out" / "trajectory.nc")
    assert sorted(run["contact"]) == ["front", "middle", "rear"]
    assert sorted(run["joint"]) == ["bogie", "front", "middle", "rear"]
    assert np.abs(run["gap"]).max() < 1e-13
    assert np.abs(run["slip"]).max() < 1e-13
    assert np.ptp(run["energy"]) < 1e-9 * np.abs(run["energy"]).max()
    assert run["contact_force"][..., 1].min() > 0
    again = load_scenario(tmp_path / "out" / "scenario.toml")
    assert again.resolve()["bodies"] == tomllib.loads((tmp_path / "out" / "scenario.toml").read_text())["bodies"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            'parent = "bogie"\nat = [0.2',
            'parent = "bogy"\nat = [0.2',
            "bodies[0].parent = \"bogy\": must be one of 'front',",
        ),
        (
            'name = "base"\n',
            'name = "base"\nparent = "front"\n',
            'bodies[0].parent = "bogie": must lead to a body without',
        ),
        ('name = "middle"', 'name = "front"', 'bodies[3].name = "front": must be a name no other body has'),
        ("mass = 2.0", "mass = 0.0", "bodies[2].mass = 0.0: must be a mass > 0"),
        ("mass = 2.0\ninertia = 0.05", "mass = 2.0", "bodies[2].inertia"),
        ("[0.0, 0.33, 0.0]", "[0.0, 0.15, 0.0]", "initial.positions.rear = '0.1"),
        ("positions = {", "contact_x = 1.0\npositions = {", "initial.contact_x = 1.0: must be left out"),
        ("rates = { base", "rates = { bose", "initial.rates = {"),
        (
            "rates = { base = [0.0, 0.6, 0.0] }",
            "rates = { base = [0.0, 0.6] }",
            "initial.rates.base = [0.0, 0.6]: must be",
        ),
        (
            "positions = { base",
            "positions = { bogy = 0.1, base",
            "initial.positions.bogy = 0.1: must be a position of one",
        ),
        (
            'name = "middle"',
            'name = "front-second"',
            "bodies[3].name = 'front-second': must be a name that does not end",
        ),
        (
            "[terrain]",
            '[body]\nmass = 1.0\ninertia = 1.0\ncurve = { type = "circle", radius = 1.0 }\n[terrain]',
            "bodies",
        ),
        ("radius = 0.12", "radius = -0.12", "bodies[0].curve.radius = -0.12: must be a length > 0"),
    ],
)
def test_faults_name_the_key(tmp_path: Path, old: str, new: str, line: str) -> None:
    assert old in TREE
    with pytest.raises(InputError) as caught:
        build(load_scenario(on_profile(tmp_path, TREE.replace(old, new, 1))))
    assert line in str(caught.value)
    assert "tree.toml" in str(caught.value)


def test_a_profile_that_runs_to_the_left_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"terrain\.curve\.file.*increasing x"):
        build(load_scenario(on_profile(tmp_path, TREE, reverse=True)))
