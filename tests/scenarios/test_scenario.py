"""Loading: files, overrides, parts, and the resolved file that gives the same scenario."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scenarios.files import JUGGLING, PLANAR, changed, written
from trundle.errors import InputError
from trundle.scenarios import Scenario, build, catalogue, load_scenario
from trundle.scenarios.problems import ScenarioError
from trundle.scenarios.scenario import scenario_from

HERE = Path(__file__).parent
HEIGHTS = {"type": "heightmap", "file": "bumps.csv"}


@pytest.mark.parametrize("name", catalogue.names())
def test_named_scenarios_load_and_say_where_they_come_from(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.tables.paper.startswith("paper ")


@pytest.mark.parametrize("name", catalogue.names())
def test_resolved_file_gives_the_same_scenario(tmp_path: Path, name: str) -> None:
    scenario = load_scenario(name)
    again = load_scenario(written(tmp_path, scenario.resolved_toml()))
    assert again.resolve() == scenario.resolve()
    assert {k: p.resolve() for k, p in again.parts.items()} == {k: p.resolve() for k, p in scenario.parts.items()}


numbers = st.floats(-1e12, 1e12)
sizes = st.floats(1e-7, 1e7)
vectors = st.lists(numbers, min_size=3, max_size=3)


@given(
    radius=sizes,
    mass=sizes,
    position=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    velocity=vectors,
    friction=st.floats(0, 1e12) | st.integers(0, 10**12),
    amplitude=st.lists(numbers, min_size=6, max_size=6),
    title=st.text(max_size=50).filter(lambda t: t.isprintable()),
    seed=st.integers(0, 2**53),
)
def test_resolved_values_are_the_values_given(**given_: Any) -> None:
    motion = {"type": "sinusoid", "amplitude": given_["amplitude"], "frequency": [1.0] * 6}
    data = changed(
        JUGGLING,
        title=given_["title"],
        seed=given_["seed"],
        object__shape__radius=given_["radius"],
        object__mass=given_["mass"],
        hand__position=given_["position"],
        hand__velocity=given_["velocity"],
        hand__motion=motion,
        contact__friction=given_["friction"],
    )
    scenario = scenario_from(data, folder=HERE, file="my.toml")
    read = tomllib.loads(scenario.resolved_toml())
    assert read["title"] == given_["title"]
    assert read["seed"] == given_["seed"]
    assert read["object"]["shape"]["radius"] == given_["radius"]
    assert read["object"]["mass"] == given_["mass"]
    assert read["hand"]["position"] == given_["position"]
    assert read["hand"]["velocity"] == given_["velocity"]
    assert read["hand"]["motion"]["amplitude"] == given_["amplitude"]
    assert read["contact"]["friction"] == given_["friction"]
    assert scenario_from(read, folder=HERE, file="my.toml").resolve() == scenario.resolve()


def test_overrides_set_values_and_reach_the_parts() -> None:
    scenario = load_scenario("ellipsoid-dish", ["contact.friction=2", 'title="mine"'], seed=7)
    assert scenario.resolve()["contact"]["friction"] == 2.0
    assert scenario.resolve()["title"] == "mine"
    part = scenario.parts["pure-rolling"]
    assert part.resolve()["contact"]["friction"] == 2.0
    assert part.resolve()["contact"]["law"] == "pure-rolling"
    assert (scenario.seed, part.seed) == (7, 7)


def test_an_override_wins_over_what_a_part_says() -> None:
    scenario = load_scenario("ellipsoid-dish", ["contact.torsional_friction=0.5"])
    assert scenario.parts["pure-rolling"].resolve()["contact"]["torsional_friction"] == 0.5


def test_tolerance_replaces_step_and_step_tolerance() -> None:
    adaptive = load_scenario("rock-undulating", ["simulation.relative_tolerance=1e-9"]).resolve()["simulation"]
    assert "step" not in adaptive
    fixed = load_scenario("rock-undulating", ["simulation.step=0.002"]).resolve()["simulation"]
    assert fixed["step"] == 0.002


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("contact.frction=1", "contact.frction = 1: unknown key; did you mean 'friction'? (from --set)"),
        ("object.mass=-1", "object.mass = -1: must be a mass > 0, from 1e-9 to 1e9 (kg) (from --set)"),
        ("hand.position=[0, 0, 1e9]", "hand.position = [0, 0, 1000000000.0]: must be 3 numbers, each from -1e6 to 1e6"),
        (
            "object.shape.radius=0.0",
            "object.shape.radius = 0.0: must be a length > 0, from 1e-7 to 1e7 (m) (from --set)",
        ),
        ("contact.law=pure-rolling", "--set contact.law = 'pure-rolling': must be a TOML value; a text needs quotes"),
        ("contact.friction", "--set = 'contact.friction': must be of the form table.key=value"),
        ("contact.friction=1\nx=2", "--set contact.friction = '1\\nx=2': must be a TOML value"),
        ("title.x=1", "--set = 'title.x=1': must be a key of a table"),
    ],
)
def test_wrong_overrides_are_one_line(override: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        load_scenario("plate-spinning", [override])
    assert str(caught.value).startswith(f"plate-spinning: {line}")
    assert "--set" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_of_a_builder_names_the_option_too() -> None:
    with pytest.raises(InputError) as caught:
        build(load_scenario("plate-spinning", ["initial.contact_on_hand=[0, 0, 5]"]))
    assert str(caught.value).startswith("plate-spinning: initial.contact_on_hand = [0.0, 0.0, 5.0]: must be on the")
    assert str(caught.value).endswith("(it is 5 m off) (from --set)")


def test_an_error_of_the_file_does_not_blame_the_option(tmp_path: Path) -> None:
    path = written(tmp_path, changed(JUGGLING, object__mass=-1.0))
    with pytest.raises(InputError) as caught:
        load_scenario(path, ["contact.friction=0.5", "object.masses=1"])
    first, second = str(caught.value).splitlines()
    assert "--set" not in first
    assert second.endswith("(from --set)")


def _inputs(tmp_path: Path) -> dict[str, tuple[Path | str, str]]:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    return {
        "missing": (tmp_path / "none.toml", "no such file"),
        "folder": (tmp_path, "it is a folder"),
        "pipe": (pipe, "it is a pipe or device"),
        "large": (written(tmp_path, "#" * 300_000, "large.toml"), "at most 256,000 bytes"),
        "latin": (written(tmp_path, b'title = "\xe9"', "latin.toml"), "a text in UTF-8 (byte 9 is not)"),
        "syntax": (written(tmp_path, "kind = ", "syntax.toml"), "must be valid TOML: Invalid value (at"),
        "deep": (written(tmp_path, "x = " + "[" * 5000, "deep.toml"), "must be TOML that is not nested that deep"),
        "dotted": (written(tmp_path, "a" + ".a" * 5000 + " = 1", "dotted.toml"), "at most 200 dots in a line"),
        "nested": (written(tmp_path, "a" + ".a" * 50 + " = 1", "nested.toml"), "nested at most 16 tables deep"),
        "digits": (written(tmp_path, "seed = " + "1" * 5000, "digits.toml"), "must be valid TOML"),
        "zero byte": ("a\0b.toml", "not a file name"),
        "name": ("plate-spining", "no such scenario and no such file; did you mean 'plate-spinning'?"),
    }


@pytest.mark.parametrize(
    "case",
    [*"missing folder pipe large latin syntax deep dotted nested digits name".split(), "zero byte"],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, case: str) -> None:
    path, said = _inputs(tmp_path)[case]
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_data_files_outside_the_folder_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    written(tmp_path, "0,0,0\n", "bumps.csv")
    (home / "link.csv").symlink_to(tmp_path / "bumps.csv")
    for name in ("../bumps.csv", str(tmp_path / "bumps.csv"), "link.csv", "/etc/passwd"):
        path = written(home, changed(JUGGLING, hand__shape={**HEIGHTS, "file": name}))
        with pytest.raises(InputError, match="must be a file inside the scenario's folder") as caught:
            load_scenario(path)
        assert caught.value.key == "hand.shape.file"
        assert caught.value.file == str(path)
    scenario = load_scenario(
        written(home, changed(JUGGLING, hand__shape={**HEIGHTS, "file": "../bumps.csv"})), allow_path=[tmp_path]
    )
    assert scenario.data_files() == {"../bumps.csv": tmp_path / "bumps.csv"}


def test_file_of_a_part_is_checked_too(tmp_path: Path) -> None:
    parts = {"a": {"hand": {"shape": {"type": "heightmap", "file": "../x.csv"}}}}
    with pytest.raises(InputError, match="inside the scenario's folder"):
        load_scenario(written(tmp_path, changed(JUGGLING, parts=parts)))


def test_a_part_replaces_a_table_of_another_type(tmp_path: Path) -> None:
    parts = {"ball": {"object": {"shape": {"type": "ellipsoid", "semi_axes": [1.0, 1.0, 1.0]}}}}
    scenario = load_scenario(written(tmp_path, changed(JUGGLING, parts=parts)))
    assert scenario.parts["ball"].resolve()["object"]["shape"] == {"type": "ellipsoid", "semi_axes": [1.0, 1.0, 1.0]}
    assert scenario.resolve()["object"]["shape"]["type"] == "sphere"


def test_with_seed_changes_only_the_seed(tmp_path: Path) -> None:
    scenario: Scenario = load_scenario(written(tmp_path, PLANAR))
    assert scenario.with_seed(3).resolve() == {**scenario.resolve(), "seed": 3}


def test_limits_come_from_the_file_alone_not_from_its_name(tmp_path: Path) -> None:
    assert not load_scenario(written(tmp_path, JUGGLING, "plate-spinning.toml")).tables.acceptance
    assert not load_scenario(written(tmp_path, changed(PLANAR, name="plate-spinning"))).tables.acceptance


@pytest.mark.parametrize("parts", [{"same": {}}, {f"p{i}": {"contact": {"friction": 0.4}} for i in range(65)}])
def test_parts_without_a_difference_and_too_many_are_refused(parts, tmp_path) -> None:
    with pytest.raises(ScenarioError, match="at most 64, none of them empty"):
        load_scenario(written(tmp_path, changed(JUGGLING, parts=parts)))
