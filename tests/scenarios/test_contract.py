"""The two scenario files printed in the contract run from file to folder; so do the named ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.named import SIBLINGS, SMALLER, WHOLE_ONLY, NamedRuns
from tests.scenarios.files import written
from tests.slowly import slow_but
from trundle.report import metrics
from trundle.scenarios import build, catalogue, load_scenario, run

JUGGLING = """kind = "juggling"
task = "simulate"
title = "ball on a spinning plate"

[object]
shape = { type = "sphere", radius = 0.2 }
mass = 0.1
inertia = "solid"
center_of_mass = [0.0, 0.0, 0.0]

[hand]
shape = { type = "plane" }
position = [0.0, 0.0, 0.0]
rpy = [0.0, 0.0, 0.0]
angular_velocity = [0.0, 0.0, 7.0]
velocity = [0.0, 0.0, 0.0]
motion = { type = "coast" }

[contact]
law = "rolling"
friction = 1.0
torsional_friction = 0.0
on_slip = "stop"
on_separation = "stop"

[initial]
contact_on_hand = [0.0, 0.0, 0.0]
object_quaternion = [1.0, 0.0, 0.0, 0.0]
object_angular_velocity = [1.0, 0.0, 0.0]

[simulation]
gravity = [0.0, 0.0, -9.81]
duration = 10.0
output_step = 0.01
relative_tolerance = 1e-10
"""

PLANAR = """kind = "planar"
task = "simulate"

[body]
curve = { type = "ellipse", semi_axes = [0.25, 0.12] }
mass = 1.0
inertia = 0.02
center_of_mass = [0.0, 0.0]

[terrain]
curve = { type = "sinusoid", amplitude = 0.06, wavelength = 0.8, phase = 0.0 }

[contact]
friction = 1.0
on_slip = "ignore"
on_separation = "stop"

[initial]
contact_x = 0.3
angle = 0.4
angular_velocity = 0.0

[simulation]
gravity = 9.81
duration = 10.0
output_step = 0.01
step = 0.001
stabilization = "projection"
"""


@pytest.mark.parametrize("text", [JUGGLING, PLANAR], ids=["juggling", "planar"])
def test_file_of_the_contract_runs(tmp_path: Path, text: str) -> None:
    scenario = load_scenario(written(tmp_path, text), ["simulation.duration=0.2"])
    result = run(scenario, tmp_path / "out", plots=False)
    assert result.exit_code == 0
    assert result.trajectory is not None
    assert result.trajectory.time[-1] == pytest.approx(0.2)
    assert abs(result.summary["metrics"]["gap"]["value"]) < 1e-12


def test_relative_spin_at_the_start_of_pure_rolling_is_bad_input(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, JUGGLING), ['contact.law="pure-rolling"'])
    with pytest.raises(ValueError, match=r"initial\.object_angular_velocity = .*spin"):
        build(scenario)


SMALL_RUNS = pytest.mark.parametrize("name", slow_but(catalogue.names(), *sorted({*catalogue.names()} - SIBLINGS)))


@SMALL_RUNS
def test_a_small_run_of_a_named_scenario_holds_its_limits(named: NamedRuns, name: str) -> None:
    found = named(name)
    entries, whole = found.summary["metrics"], WHOLE_ONLY.get(name, frozenset())
    broken = {key: entry for key, entry in entries.items() if entry["holds"] is False and key not in whole}
    assert broken == {}
    assert whole <= {key for key, entry in entries.items() if entry["limit"] is not None}
    assert found.summary["feasible"]
    ended = ("limit-violated", 1) if whole else ("success", 0)
    assert (found.summary["status"], found.exit_code) == ended, json.dumps(found.summary, indent=1)
    assert "failed" not in {part["status"] for part in found.summary["parts"].values()}
    assert not any(entry["holds"] for key, entry in entries.items() if key in whole), "a limit that holds is asked for"
    for key in EVERY_TRIAL - whole:
        assert key not in entries or entries[key]["unit"] != "of 2" or entries[key]["value"] == 2, "neither may fail"
    again = load_scenario(found.directory / "scenario.toml")
    assert again.resolve() == load_scenario(name, list(SMALLER.get(name, ()))).resolve()


EVERY_TRIAL = {
    *("closed_loop_successes", "balanced_successes", "trials_returned_1_percent"),
    *("trials_ok", "seeds_ok", "safe_two_level", "cleared_seeds", "trials_safe"),
}
"""Counts of trials that ended well."""


FEWER = {"humanoid-carry": 3}
"""Scenarios whose trials take most of a minute each, and how many of them are run here: none of these may fail.

`trundle reproduce humanoid-carry` runs the ten that its limit speaks of.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names())
def test_named_scenario_holds_its_limits_and_its_resolved_file_gives_the_same(tmp_path: Path, name: str) -> None:
    overrides = [f"trials.count={FEWER[name]}"] if name in FEWER else []
    first = run(load_scenario(name, overrides), tmp_path / "first")
    assert first.exit_code == 0, json.dumps(first.summary, indent=1)
    if name in FEWER:
        assert first.summary["metrics"]["seeds_ok"]["value"] == FEWER[name], "none of these may fail"
    assert first.summary["feasible"]
    assert {"viewer.html", "log.txt", "plots"} <= {path.name for path in first.directory.iterdir()}
    again = load_scenario(first.directory / "scenario.toml")
    assert again.resolve() == load_scenario(name, overrides).resolve()
    if again.task != "simulate":
        return  # minutes of trials: what a resolved file computes follows from what it says
    second = run(first.directory / "scenario.toml", tmp_path / "second", plots=False)
    assert second.summary["metrics"] == first.summary["metrics"]
    assert second.summary["scenario"] == name
    assert (tmp_path / "second" / "scenario.toml").read_text() == (first.directory / "scenario.toml").read_text()


@SMALL_RUNS
def test_where_a_feasible_run_says_rolling_the_force_is_in_its_cone(named: NamedRuns, name: str) -> None:
    """Also at landings, where an instant has two samples."""
    for part, found in named.parts(name).items():
        if "mode" not in found or not found.feasible:
            continue
        modes = found["mode"].reshape(len(found), -1).astype(str)
        for slot in range(metrics.contacts(found)):
            use = metrics.usage(found, slot=slot).get("friction_use", np.zeros(len(found)))
            rolls = np.char.find(modes[:, slot], "rolling") >= 0
            assert np.max(use[rolls], initial=0.0) <= 1.0 + 1e-6, (part, slot)
