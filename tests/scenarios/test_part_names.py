"""Parts of a file keep off the names that its task gives to its own parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trundle
from trundle.errors import InputError
from trundle.scenarios import load_scenario
from trundle.scenarios.catalogue import text_of
from trundle.scenarios.engine.building import build_all
from trundle.scenarios.system import systems

SOURCES = Path(trundle.__file__).parent / "systems"


def made() -> dict[str, set[str]]:
    """Return module -> the names of the parts it yields, but the main run's."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        names = re.findall(r'yield Part\(f?"([^"]+)"', path.read_text())
        if names:
            module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
            # A loop is open or closed; everything else in braces is a number.
            found[module] = {re.sub(r"\{[^}]+\}", "7", name.replace("{loop}", "open")) for name in names}
    return found


def test_every_own_part_of_a_task_is_reserved() -> None:
    reserved: dict[str, list[str]] = {}
    for one in systems():
        for task in one.tasks.values():
            for module in (f"{one.name}.{task.build.split(':')[0]}", one.name):
                reserved.setdefault(module, []).append(task.parts)
    assert len(made()) >= 4
    for module, names in made().items():
        patterns = "|".join(reserved.get(module) or reserved[module.split(".")[0]])
        assert all(re.fullmatch(patterns, name) for name in names), module


@pytest.mark.parametrize(
    ("scenario", "parts", "wrong"),
    [
        ("plate-reorient", ["plan"], "plan"),
        ("plate-reorient", ["closed-loop-3"], "closed-loop-3"),
        ("plate-reorient", ["slow", "slow-plan"], "slow-plan"),
        ("ellipse-damping", ["uncontrolled"], "uncontrolled"),
        ("passive-walker", ["twin"], "twin"),
        ("walk-flat", ["replay"], "replay"),
    ],
)
def test_a_part_with_such_a_name_is_refused_before_anything_runs(tmp_path, scenario, parts, wrong):
    text = text_of(scenario)
    text += "".join(f"\n[parts.{part}]\ntitle = 'Another'\n" for part in parts)
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"parts\.{wrong}\b.*another name"):
        build_all(load_scenario(str(file)))


def test_such_names_are_free_where_the_task_makes_no_parts():
    scenario = load_scenario("wallbounce-recover")
    assert scenario.parts
    task = next(one for one in systems() if one.name == scenario.kind).tasks[scenario.task]
    assert not re.fullmatch(task.parts, "plan")
