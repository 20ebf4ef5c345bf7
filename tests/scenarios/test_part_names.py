"""Parts keep off the names under which a scenario's own jobs leave their trajectories."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trundle
from trundle.errors import InputError
from trundle.scenarios import load_scenario
from trundle.scenarios.catalogue import LIBRARY
from trundle.scenarios.engine.building import BUILDERS, JOBS, build_all

SOURCES = Path(trundle.__file__).parent / "scenarios"


def jobs() -> dict[str, set[str]]:
    """Return module -> the names of the jobs it yields, but the main run's."""
    found = {}
    for path in SOURCES.glob("*.py"):
        names = re.findall(r'yield Part\(f?"([^"]+)"', path.read_text())
        if names:
            found[path.stem] = {re.sub(r"\{\w+\}", "7", name) for name in names}
    return found


def test_every_job_of_a_task_is_reserved() -> None:
    reserved = {}
    for task, pattern in JOBS.items():
        reserved.setdefault(BUILDERS[task].split(":")[0].rsplit(".", 1)[1], []).append(pattern)
    for module, names in jobs().items():
        patterns = "|".join(reserved[module])
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
def test_a_part_with_the_name_of_a_job_is_refused_before_anything_runs(tmp_path, scenario, parts, wrong):
    text = (LIBRARY / f"{scenario}.toml").read_text()
    text += "".join(f"\n[parts.{part}]\ntitle = 'Another'\n" for part in parts)
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"parts\.{wrong}\b.*another name"):
        build_all(load_scenario(str(file)))


def test_such_names_are_free_where_no_job_bears_them():
    scenario = load_scenario("wallbounce-recover")
    assert scenario.parts
    assert (scenario.kind, scenario.task) not in JOBS
